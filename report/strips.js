// Picture strips: a row a method, the same frames and camera in each view; a click enlarges one, arrows go through the methods.
import {byId, el} from './dom.js';
import {pictureUrl} from './data.js';

const WIDTH = 300,
    HEIGHT = 230; // px of a frame at most
const MINIMUM = 480; // px of a strip at least

// Pictures are decoded when they come near the window.
function lazily(image, load) {
    if (!('IntersectionObserver' in window)) return load();
    const watch = new IntersectionObserver(
        (entries) => {
            if (!entries.some((e) => e.isIntersecting)) return;
            watch.disconnect();
            load();
        },
        {rootMargin: '600px'},
    );
    watch.observe(image);
}

function viewClip(report, view) {
    return report.clips[view.clip] ?? report.clips[0] ?? {index: 0, name: '', first: 0, count: 1};
}

// Frame numbers above the pictures; each leads the player there.
function captions(report, view, go) {
    const clip = viewClip(report, view);
    return el(
        'div.captions',
        {},
        ...view.frames.map((frame) =>
            el(
                'button.link',
                {
                    type: 'button',
                    onclick: () => go(clip.index, frame),
                    title: 'show this frame in the player',
                    'aria-label': `Show frame ${clip.first + frame} of ${clip.name} in the player`,
                },
                `${clip.first + frame}`,
            ),
        ),
    );
}

function picture(report, view, method, enlarge) {
    const image = el('img', {alt: `${view.title}: ${method.name}, ${view.frames.length} frames`, decoding: 'async'});
    const button = el(
        'button.picture',
        {type: 'button', 'aria-label': `Enlarge ${view.title}, ${method.name}`, onclick: () => enlarge(method)},
        image,
    );
    lazily(button, () => {
        const url = pictureUrl(report, view.images[method.key]);
        if (url) image.src = url;
        else button.replaceWith(el('p.quiet', {}, 'no picture'));
    });
    return button;
}

function rows(report, view) {
    return report.methods.filter((m) => Object.hasOwn(view.images, m.key) && report.blobs[view.images[m.key]]);
}

function showView(report, view, go) {
    const methods = rows(report, view),
        clip = viewClip(report, view);
    const enlarge = (method) => openLarge(report, view, methods, method);
    const grid = el('div.strip', {});
    grid.style.maxWidth = `${180 + WIDTH * Math.max(2, view.frames.length)}px`; // few frames are not blown up
    grid.addEventListener(
        'load',
        ({target}) => {
            const width = Math.max(MINIMUM, (HEIGHT * target.naturalWidth) / (target.naturalHeight || 1));
            grid.style.maxWidth = `${Math.min(180 + width, parseFloat(grid.style.maxWidth))}px`;
        },
        true,
    );
    grid.append(el('span.corner', {}, report.clips.length > 1 ? `${clip.name}, frame` : 'frame'), captions(report, view, go));
    for (const method of methods) {
        grid.append(el('span.row-name', {}, method.swatch(), method.name), picture(report, view, method, enlarge));
    }
    return el('figure.view', {}, el('figcaption', {}, el('h3', {}, view.title)), el('div.scroll', {}, grid));
}

// The dialog: one method's strip as large as the window, the arrows change the method and nothing else, so that differences jump out.
function openLarge(report, view, methods, first) {
    const dialog = byId('enlarged'),
        urls = new Map();
    let at = methods.indexOf(first);
    const image = el('img', {}),
        title = el('h2', {id: 'enlarged-title'});
    const show = (step) => {
        at = (at + step + methods.length) % methods.length;
        const method = methods[at];
        if (!urls.has(method)) urls.set(method, pictureUrl(report, view.images[method.key]));
        image.src = urls.get(method) ?? '';
        image.alt = `${view.title}: ${method.name}`;
        title.replaceChildren(method.swatch(), `${method.name} · ${view.title}`);
    };
    const button = (text, label, action) => el('button', {type: 'button', 'aria-label': label, onclick: action}, text);
    const bar = el(
        'div.bar',
        {},
        title,
        button('←', 'Previous method', () => show(-1)),
        button('→', 'Next method', () => show(1)),
        button('✕', 'Close', () => dialog.close()),
    );
    dialog.replaceChildren(bar, el('div.scroll', {tabindex: 0, role: 'region', 'aria-label': 'Enlarged picture'}, image));
    dialog.onkeydown = (event) => {
        if (event.key === 'ArrowLeft' || event.key === 'ArrowUp') show(-1);
        else if (event.key === 'ArrowRight' || event.key === 'ArrowDown') show(1);
        else return;
        event.preventDefault();
    };
    dialog.onclick = (event) => event.target === dialog && dialog.close();
    dialog.onclose = () => urls.forEach((url) => url && URL.revokeObjectURL(url));
    show(0);
    dialog.showModal();
}

export function showStrips(place, report, go) {
    const views = report.views.filter((v) => rows(report, v).length);
    if (!views.length) {
        place.hidden = true;
        return;
    }
    place.append(
        el(
            'p.quiet',
            {},
            'The same frames and camera for every method. Click a strip to enlarge it, then change the method with the arrow keys.',
        ),
        ...views.map((view) => showView(report, view, go)),
    );
}
