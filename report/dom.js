// Small helpers: elements made without markup, so that no text of a file can become any, and numbers for people.

// el('div.name', {title: 'x', onclick: f}, child...): text children become text nodes.
export function el(what, attributes = {}, ...children) {
    const [tag, ...classes] = what.split('.');
    const node = document.createElement(tag);
    if (classes.length) node.className = classes.join(' ');
    return set(node, attributes, children);
}

// The same for SVG.
export function svg(tag, attributes = {}, ...children) {
    return set(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function set(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
        else node.setAttribute(key, value === true ? '' : value);
    }
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
}

export const isNumber = (x) => typeof x === 'number' && Number.isFinite(x);
export const byId = (id) => document.getElementById(id);
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// Three significant digits, as people read them: 0.57, 12.3, 4510; less than a thousandth of a unit is just that.
export function short(x) {
    if (!isNumber(x)) return '–';
    if (x === 0) return '0';
    const size = Math.abs(x);
    if (size >= 1e6) return x.toExponential(1);
    if (size < 0.001) return x > 0 ? '<0.001' : '>−0.001';
    if (size >= 99.95) return Math.round(x).toString();
    return Number(x.toPrecision(3)).toString();
}

export const grouped = (x) =>
    isNumber(x)
        ? Math.round(x)
              .toString()
              .replace(/\B(?=(\d{3})+$)/g, '\u202f')
        : '–';

// A time in the unit that suits it.
export function duration(ms) {
    if (!isNumber(ms)) return '–';
    if (ms >= 120e3) return `${short(ms / 60e3)} min`;
    return ms >= 1000 ? `${short(ms / 1000)} s` : `${short(ms)} ms`;
}

// Names in files may hold control characters and directions of writing that would turn the line around them.
export function plain(text) {
    return String(text ?? '').replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

// The tool's sentences: what stands in `backquotes` is a name or an option.
export function sentence(text) {
    return text.split('`').map((part, i, all) => (i % 2 && i < all.length - 1 ? el('code', {}, part) : i % 2 ? `\`${part}` : part));
}

// Lets the page breathe: resolves after the browser had its turn.
export function pause() {
    return new Promise((resolve) => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
            channel.port1.close();
            resolve();
        };
        channel.port2.postMessage(0);
    });
}
