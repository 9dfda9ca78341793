'use strict';
// The page of `supple batch`: a heading sorts its table, a picture grows and shrinks. The page's policy lets in this very text, by its hash.
const ARROWS = {none: '\u2195', ascending: '\u2191', descending: '\u2193'};
const body = document.querySelector('#table tbody');
const headings = [...document.querySelectorAll('#table thead th')];

// A number, or the text; what is not known is null and stays last.
function valueOf(row, column) {
    const cell = row.cells[column];
    if (column === 0) return row.dataset.name;
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    return cell.classList.contains('state') ? cell.textContent : null;
}

function compare(a, b) {
    return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', {numeric: true});
}

function sort(column) {
    const heading = headings[column];
    const down = heading.getAttribute('aria-sort') === 'descending' ? 1 : heading.getAttribute('aria-sort') === 'ascending' ? -1 : column < 3 ? 1 : -1;
    const rows = [...body.rows].map((row) => ({row, value: valueOf(row, column)}));
    rows.sort((a, b) => (a.value === null) - (b.value === null) || (a.value === null ? 0 : down * compare(a.value, b.value)));
    body.append(...rows.map(({row}) => row));
    for (const other of headings) {
        if (!other.hasAttribute('aria-sort')) continue;
        other.setAttribute('aria-sort', other !== heading ? 'none' : down > 0 ? 'ascending' : 'descending');
        other.querySelector('.arrow').textContent = ARROWS[other.getAttribute('aria-sort')];
    }
}

headings.forEach((heading, column) => heading.querySelector('button')?.addEventListener('click', () => sort(column)));
for (const button of document.querySelectorAll('.shot .picture')) button.addEventListener('click', () => button.classList.toggle('large'));
