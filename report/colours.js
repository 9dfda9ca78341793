// A method's look in curves and labels: a colour from a set that stays apart in colour blindness (Okabe and Ito's, adapted to light and
// dark in style.css) and a dash, so that colour is never alone in telling methods apart. `reference` is the text's colour, thick.
import {el, svg} from './dom.js';

const COLOURS = 7;
const DASHES = ['', '7 3', '2 3', '9 3 2 3', '14 4', '5 2 1 2 1 2', '4 6'];

export function giveLooks(methods) {
    let next = 0;
    for (const method of methods) {
        const i = method.reference ? -1 : next++;
        method.colour = i < 0 ? 'var(--text)' : `var(--method-${i % COLOURS})`;
        method.dash = i < 0 ? '' : DASHES[(i + Math.floor(i / COLOURS)) % DASHES.length];
        method.width = i < 0 ? 2.6 : 1.8;
        method.swatch = () => swatch(method);
    }
}

export function stroke(node, method) {
    node.style.stroke = method.colour;
    node.style.strokeWidth = method.width;
    if (method.dash) node.style.strokeDasharray = method.dash;
    return node;
}

function swatch(method) {
    const line = stroke(svg('line', {x1: 1, x2: 25, y1: 5, y2: 5}), method);
    return el('span.swatch', {'aria-hidden': 'true'}, svg('svg', {width: 26, height: 10, viewBox: '0 0 26 10'}, line));
}
