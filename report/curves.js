// Curves over the frames of the clip, one line a method, in SVG of our own. A cursor follows the player; hovering reads another frame,
// a click or a drag leads the player there.
import {clamp, el, isNumber, short, svg} from './dom.js';
import {stroke} from './colours.js';
import WORDS from './words.json';

const HEIGHT = 190,
    LEFT = 46,
    RIGHT = 10,
    TOP = 8,
    BOTTOM = 34;
const scaled = (x, factor) => (isNumber(x) ? factor * x : null);

function jointVolume(frame, joint) {
    const volumes = frame.joint_volume;
    if (!volumes || typeof volumes !== 'object') return null;
    if (joint !== '') return Object.hasOwn(volumes, joint) ? volumes[joint] : null;
    const values = Object.values(volumes).filter(isNumber);
    return values.length ? Math.min(...values) : null;
}

function jointNames(report) {
    const names = new Set();
    for (const m of report.methods) for (const f of m.frames.slice(0, 1)) Object.keys(f.joint_volume ?? {}).forEach((n) => names.add(n));
    return [...names];
}

// What is drawn: `value(method, frame of all clips, choice)` in the unit of words.json; choices are [value, text] of a selector.
function kinds(report) {
    const frame = (m, k) => m.frames[k] ?? {};
    return [
        {
            id: 'volume',
            line: 100,
            span: 4,
            choiceLabel: 'Joint',
            help: '100 is the volume at rest',
            choices: [['', 'lowest of all joints'], ...jointNames(report).map((n) => [n, n])],
            value: (m, k, joint) => jointVolume(frame(m, k), joint),
        },
        {
            id: 'penetration',
            zero: true,
            choiceLabel: 'Of all, or folds',
            choices: [
                ['max_penetration', 'deepest'],
                ['max_fold', 'folds alone'],
            ],
            value: (m, k, which) => frame(m, k)[which],
        },
        {id: 'crossed', zero: true, value: (m, k) => frame(m, k).crossed},
        {id: 'strain', zero: true, value: (m, k) => frame(m, k).max_strain},
        {
            id: 'error',
            zero: true,
            choiceLabel: 'Of all vertices',
            choices: [
                ['max', 'largest'],
                ['mean', 'mean'],
            ],
            value: (m, k, which) => (m.reference ? null : m.error?.[k]?.[which]),
        },
        {id: 'time', log: true, value: (m, k) => frame(m, k).ms?.total},
    ].map((kind) => ({
        ...kind,
        ...WORDS.frames[kind.id],
        value: (...asked) => scaled(kind.value(...asked), WORDS.frames[kind.id].scale),
    }));
}

// Round numbers from low to high, at most `most` of them.
function niceTicks(low, high, most) {
    const rough = (high - low) / most,
        power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999) ?? 10 * power;
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
}

function logTicks(low, high) {
    const ticks = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) ticks.push(10 ** p);
    const inside = ticks.filter((t) => t >= low * 0.999 && t <= high * 1.001);
    return inside.length >= 2
        ? inside.filter((_, i) => i % Math.ceil(inside.length / 6) === 0)
        : niceTicks(low, high, 4).filter((t) => t > 0);
}

// As many digits as the ticks have, which is more than a value is read with.
const tickText = (tick) => (Math.abs(tick) >= 1e6 || (tick !== 0 && Math.abs(tick) < 1e-4) ? tick.toExponential(0) : String(tick));

// The range of all values, with a little air, and its ticks.
function verticalScale(kind, values) {
    let [low, high] = [Infinity, -Infinity];
    for (const v of values) [low, high] = [Math.min(low, v), Math.max(high, v)];
    if (kind.log) {
        low = Math.max(low, high * 1e-6, 1e-6) / 1.3;
        high = Math.max(high, low) * 1.3;
        const a = Math.log(low),
            b = Math.log(high);
        return {ticks: logTicks(low, high), at: (v) => (Math.log(Math.max(v, low)) - a) / (b - a)};
    }
    if (kind.zero) low = Math.min(0, low);
    if (isNumber(kind.line)) [low, high] = [Math.min(low, kind.line), Math.max(high, kind.line)];
    if (kind.span && high - low < kind.span) [low, high] = [(low + high - kind.span) / 2, (low + high + kind.span) / 2]; // a hair is no mountain
    const air = 0.06 * (high - low) || 0.05 * Math.abs(high) || 1;
    [low, high] = [kind.zero && low === 0 ? 0 : low - air, high + air];
    return {ticks: niceTicks(low, high, 5), at: (v) => (v - low) / (high - low)};
}

// On the line between the nearest frames that have a value; null outside of them.
function between(values, frame) {
    let a = frame,
        b = frame;
    while (a >= 0 && !isNumber(values[a])) a--;
    while (b < values.length && !isNumber(values[b])) b++;
    return a >= 0 && b < values.length ? values[a] + ((frame - a) / (b - a)) * (values[b] - values[a]) : null;
}

class Chart {
    constructor(kind, state) {
        this.kind = kind;
        this.state = state;
        this.hover = null; // the frame under the pointer
        this.plot = svg('svg', {class: 'plot', tabindex: 0, role: 'slider', 'aria-label': `${kind.title}: frame`});
        this.legend = el('ul.legend', {});
        this.node = el('figure.chart', {'data-chart': kind.id}, this.caption(), this.plot, this.legend);
        this.bindPointer();
        new ResizeObserver(() => this.draw()).observe(this.node);
    }

    caption() {
        const {kind} = this,
            caption = el('figcaption', {}, el('h3', {}, kind.title, el('span.unit', {}, ` ${kind.unit}`)));
        this.choice = kind.choices?.[0][0];
        if (kind.choices?.length > 1) {
            const select = el(
                'select',
                {
                    'aria-label': `${kind.title}: ${kind.choiceLabel}`,
                    onchange: () => {
                        this.choice = select.value;
                        this.read();
                        this.draw();
                    },
                },
                ...kind.choices.map(([value, text]) => el('option', {value}, text)),
            );
            caption.append(select);
        }
        return caption;
    }

    // Series of this clip; methods without a number are left out.
    read() {
        const {clip, report} = this.state;
        this.series = report.methods
            .map((method) => ({
                method,
                values: Array.from({length: clip.count}, (_, i) => this.kind.value(method, clip.offset + i, this.choice)),
            }))
            .filter((s) => s.values.some(isNumber));
        for (const s of this.series) s.sparse = s.values.length === 1 || s.values.some((v) => !isNumber(v));
        this.node.hidden = !this.series.length;
        this.legend.replaceChildren(
            ...this.series.map((s) => el('li', {}, s.method.swatch(), el('span.name', {}, s.method.name), (s.out = el('output', {})))),
        );
    }

    draw() {
        const width = this.plot.clientWidth || 0;
        if (!width || !this.series?.length) return;
        this.width = width;
        const all = this.series.flatMap((s) => s.values.filter(isNumber));
        this.scale = verticalScale(this.kind, all);
        this.plot.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
        this.plot.replaceChildren(this.axes(), ...this.series.map((s) => this.line(s)), (this.cursor = svg('g', {class: 'cursor'})));
        this.follow();
    }

    x(frame) {
        const last = this.state.clip.count - 1;
        return LEFT + (this.width - LEFT - RIGHT) * (last ? frame / last : 0.5);
    }
    y(value) {
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - this.scale.at(value));
    }

    axes() {
        const {clip} = this.state,
            group = svg('g', {class: 'axes'}),
            text = (x, y, anchor, words) => svg('text', {x, y, 'text-anchor': anchor}, words);
        for (const tick of this.scale.ticks) {
            const y = this.y(tick);
            group.append(
                svg('line', {x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y, class: tick === this.kind.line ? 'rest' : 'grid'}),
                text(LEFT - 6, y + 4, 'end', tickText(tick)),
            );
        }
        const bottom = HEIGHT - BOTTOM,
            wanted = clamp(Math.floor(this.width / 80), 1, 10);
        const ticks = clip.count > 1 ? niceTicks(clip.first, clip.first + clip.count - 1, wanted).filter(Number.isInteger) : [clip.first];
        for (const tick of ticks) {
            const x = this.x(tick - clip.first);
            group.append(
                svg('line', {x1: x, x2: x, y1: bottom, y2: bottom + 4, class: 'tick'}),
                text(x, bottom + 16, 'middle', String(tick)),
            );
        }
        group.append(
            svg('line', {x1: LEFT, x2: this.width - RIGHT, y1: bottom, y2: bottom, class: 'tick'}),
            text((LEFT + this.width - RIGHT) / 2, HEIGHT - 3, 'middle', 'frame'),
        );
        return group;
    }

    // Frames without a value are passed over; a series with such gaps shows its points.
    line({method, values, sparse}) {
        const known = values.map((value, i) => [i, value]).filter(([, value]) => isNumber(value));
        const path = known.map(([i, value], at) => `${at ? 'L' : 'M'}${this.x(i).toFixed(1)} ${this.y(value).toFixed(1)}`);
        const group = svg('g', {class: 'line', 'data-method': method.name}, stroke(svg('path', {d: path.join(''), fill: 'none'}), method));
        if (sparse) group.append(...known.map(([i, value]) => this.dot(method, i, value, 3.2)));
        return group;
    }

    dot(method, i, value, r) {
        const dot = svg('circle', {cx: this.x(i), cy: this.y(value), r});
        dot.style.fill = method.colour;
        return dot;
    }

    // The cursor, and the values beside the names.
    follow() {
        if (!this.scale || !this.cursor) return;
        const {clip} = this.state,
            frame = clamp(this.hover ?? this.state.frame, 0, clip.count - 1),
            x = this.x(frame);
        this.cursor.replaceChildren(svg('line', {x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM}));
        const words = [];
        for (const {method, values, out} of this.series) {
            const value = isNumber(values[frame]) ? values[frame] : between(values, frame),
                mark = isNumber(values[frame]) ? '' : '≈ ';
            out.textContent = isNumber(value) ? `${mark}${short(value)}` : '–';
            if (!isNumber(value)) continue;
            words.push(`${method.name} ${mark}${short(value)} ${this.kind.unit}`);
            if (!mark) this.cursor.append(this.dot(method, frame, value, 3));
        }
        const attributes = {
            'aria-valuemin': clip.first,
            'aria-valuemax': clip.first + clip.count - 1,
            'aria-valuenow': clip.first + frame,
            'aria-valuetext': `frame ${clip.first + frame}: ${words.join(', ') || 'no values'}`,
        };
        for (const [key, value] of Object.entries(attributes)) this.plot.setAttribute(key, value);
    }

    bindPointer() {
        const frameAt = (event) => {
            const box = this.plot.getBoundingClientRect(),
                last = this.state.clip.count - 1;
            return clamp(Math.round(((event.clientX - box.left - LEFT) / Math.max(1, box.width - LEFT - RIGHT)) * last), 0, last);
        };
        this.plot.addEventListener('pointermove', (event) => {
            this.hover = frameAt(event);
            if (event.buttons & 1) this.state.setFrame(this.hover);
            this.follow();
        });
        this.plot.addEventListener('pointerleave', () => {
            this.hover = null;
            this.follow();
        });
        this.plot.addEventListener('pointerdown', (event) => event.button === 0 && this.state.setFrame(frameAt(event)));
    }
}

export function showCurves(place, report, state) {
    const charts = kinds(report).map((kind) => new Chart(kind, state));
    const read = () => {
        for (const chart of charts) {
            chart.read();
            chart.draw();
        }
        place.hidden = charts.every((chart) => chart.node.hidden);
    };
    place.append(
        el('p.quiet', {}, 'The line marks the player’s frame; click or drag to go to another.'),
        el('div.charts', {}, ...charts.map((c) => c.node)),
    );
    read();
    state.listen((what) => {
        if (what === 'clip') read();
        else if (what === 'frame') for (const chart of charts) chart.follow();
    });
}
