// The table: what a method costs and its worst values; sortable, the best of each column marked.
import {duration, el, grouped, isNumber, sentence, short} from './dom.js';

const mm = (x) => (isNumber(x) ? short(1000 * x) : '–');
const percent = (x) => (isNumber(x) ? short(100 * x) : '–');

// `worse` says how bad a value is: the smallest is the best.
const COLUMNS = [
    {key: 'setup_ms', title: 'Set-up', show: duration, help: 'everything before the first frame, the body included'},
    {key: 'body_ms', title: 'Body', show: duration, help: 'the part of the set-up that makes the tetrahedra or prisms'},
    {key: 'ms_median', title: 'Frame, median', unit: 'ms', show: short, help: 'time of a frame, the median of all'},
    {key: 'ms_min', title: 'fastest', unit: 'ms', show: short, help: 'time of the fastest frame'},
    {key: 'ms_max', title: 'slowest', unit: 'ms', show: short, help: 'time of the slowest frame'},
    {key: 'peak_mb', title: 'Memory', unit: 'MB', show: grouped, help: 'the largest memory of the run'},
    {
        key: 'min_joint_volume',
        title: 'Joint volume, lowest',
        unit: '%',
        show: percent,
        worse: (x) => Math.abs(1 - x),
        help: 'the flesh around a joint against its volume at rest, lowest of all joints and frames; best is nearest to 100 %',
    },
    {key: 'max_penetration', title: 'Penetration, deepest', unit: 'mm', show: mm, help: 'how deep skin lies in other skin'},
    {key: 'max_strain', title: 'Strain, largest', unit: '%', show: percent, help: 'the largest stretch or squeeze of an element'},
    {key: 'inverted', title: 'Inverted', show: grouped, help: 'elements turned inside out, the most in a frame'},
    {
        key: 'error_mean',
        title: 'Error, mean',
        unit: 'mm',
        show: mm,
        trivial: true,
        help: 'distance of the skin from that of reference, the mean of all vertices and frames',
    },
    {
        key: 'error_max',
        title: 'Error, largest',
        unit: 'mm',
        show: mm,
        trivial: true,
        help: 'distance of the skin from that of reference, the largest of all',
    },
];

// The best value as it is shown, or null where all are the same; reference is no distance from itself, which is no merit.
function bestOf(column, methods) {
    const values = methods
        .filter((m) => !(column.trivial && m.reference))
        .map((m) => m.table[column.key])
        .filter(isNumber);
    const worse = column.worse ?? ((x) => x);
    const ranks = values.map(worse),
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
        worse = column.worse ?? ((x) => x);
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
