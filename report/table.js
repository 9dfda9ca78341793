// The table: what a method costs and its worst values; sortable, the best of each column marked.
import {duration, el, grouped, isNumber, sentence, short} from './dom.js';
import WORDS from './words.json';

const SHOW = {
    short,
    grouped,
    duration,
    percent: (x) => (isNumber(x) ? short(100 * x) : '–'),
    thousandths: (x) => (isNumber(x) ? short(1000 * x) : '–'),
};
// `worse` says how bad a value is: the smallest is the best, or what is nearest to a value.
const COLUMNS = WORDS.columns.map((column) => ({
    ...column,
    show: SHOW[column.show],
    worse: isNumber(column.best) ? (x) => Math.abs(column.best - x) : (x) => x,
}));

// The best value as it is shown, or null where all are the same; reference is no distance from itself, which is no merit.
function bestOf(column, methods) {
    const values = methods
        .filter((m) => !(column.trivial && m.reference))
        .map((m) => m.table[column.key])
        .filter(isNumber);
    const ranks = values.map(column.worse),
        best = values[ranks.indexOf(Math.min(...ranks))];
    return values.some((v) => column.show(v) !== column.show(best)) ? column.show(best) : null;
}

function cell(column, method, best) {
    const value = method.table[column.key];
    const marked = isNumber(value) && column.show(value) === best && !(column.trivial && method.reference);
    return el(
        marked ? 'td.best' : 'td',
        {},
        column.show(value),
        marked ? el('span.mark', {role: 'img', 'aria-label': 'best', title: 'best of this column'}, '★') : null,
    );
}

function sorted(methods, order) {
    if (!order) return methods;
    const {column, down} = order,
        {worse} = column;
    const rank = (m) => (isNumber(m.table[column.key]) ? worse(m.table[column.key]) : Infinity);
    return [...methods].sort((a, b) => {
        const x = rank(a),
            y = rank(b);
        if (x === Infinity || y === Infinity) return x === y ? a.index - b.index : x === Infinity ? 1 : -1; // unknown stays last
        return (down ? y - x : x - y) || a.index - b.index;
    });
}

function heading(column, order, sort) {
    const state = order?.column === column ? (order.down ? 'descending' : 'ascending') : 'none';
    const arrow = {none: '↕', ascending: '↑', descending: '↓'}[state];
    return el(
        'th',
        {scope: 'col', 'aria-sort': state, title: column.help},
        el(
            'button.sort',
            {type: 'button', onclick: () => sort(column), 'data-key': column.key},
            column.title,
            column.unit ? el('span.unit', {}, ` ${column.unit}`) : null,
            el('span.arrow', {'aria-hidden': 'true'}, arrow),
        ),
    );
}

function row(method, columns, bests, advised) {
    const name = el(
        'th',
        {scope: 'row'},
        method.swatch(),
        method.name,
        method.name === advised ? el('span.chip', {}, 'recommended') : null,
    );
    return el('tr', {}, name, ...columns.map((column, i) => cell(column, method, bests[i])));
}

function notes(methods) {
    const told = methods.filter((m) => m.note || m.summary);
    if (!told.length) return null;
    return el(
        'dl.notes',
        {},
        ...told.flatMap((m) => [
            el('dt', {}, m.swatch(), m.name),
            el('dd', {}, ...sentence(m.summary), m.note ? el('span.note', {}, ...sentence(m.note)) : null),
        ]),
    );
}

export function showTable(place, report) {
    const measured = report.methods.filter((m) => COLUMNS.some((c) => isNumber(m.table[c.key])));
    const columns = COLUMNS.filter((c) => measured.some((m) => isNumber(m.table[c.key])));
    if (measured.length) {
        const scroller = el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': 'Table of cost and quality'});
        const bests = columns.map((c) => bestOf(c, measured));
        let order = null;
        const draw = () => {
            const sort = (column) => {
                order = {column, down: order?.column === column && !order.down};
                draw();
                scroller.querySelector(`[data-key="${column.key}"]`).focus();
            };
            scroller.replaceChildren(
                el(
                    'table',
                    {'aria-label': 'Cost and quality'},
                    el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Method'), ...columns.map((c) => heading(c, order, sort)))),
                    el('tbody', {}, ...sorted(measured, order).map((m) => row(m, columns, bests, report.advice.method))),
                ),
            );
        };
        draw();
        place.append(scroller, el('p.quiet.under', {}, '★ marks the best of a column. Click a heading to sort.'));
    }
    const told = notes(report.methods);
    if (told) place.append(told);
    if (!measured.length && !told) place.hidden = true;
}
