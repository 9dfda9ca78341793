// The player's controls and keys. Each control is made here once; refresh() brings all of them to the player's state.
import {byId, clamp, el} from './dom.js';

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const MODES = [
    ['side', 'Side by side'],
    ['wipe', 'A | B, wipe'],
    ['overlay', 'A and B, overlaid'],
    ['swap', 'A or B, swapped'],
];
const HEATS = ['auto', '0.1', '0.5', '1', '2', '5', '10', '20', '50', '100'];

function labelled(text, control) {
    if (!control.hasAttribute('aria-label')) control.setAttribute('aria-label', text);
    return el('label.field', {}, el('span', {}, text), control);
}
function options(select, items, value) {
    select.replaceChildren(...items.map(([v, text]) => el('option', {value: v}, text)));
    select.value = value;
}
function button(text, label, action, title = label) {
    return el('button', {type: 'button', 'aria-label': label, title, onclick: action}, text);
}
function check(text, change) {
    const input = el('input', {type: 'checkbox', onchange: () => change(input.checked)});
    return {input, node: el('label.check', {}, input, el('span', {}, text))};
}

class Controls {
    constructor(player) {
        this.player = player;
        this.state = player.state;
        this.canvas = el('canvas', {
            'aria-label': 'Meshes of the methods at the frame; drag to turn, wheel to zoom, right drag to pan',
            role: 'img',
        });
        this.labels = el('div.labels', {'aria-hidden': 'true'});
        this.status = el('p.status', {role: 'status'});
        this.divider = el('div.divider', {hidden: true});
        this.box = el('div.stage', {}, this.canvas, this.labels, this.divider, this.status);
        this.heatLegend = el('div.heat-legend', {hidden: true});
        this.nodes = [this.methodsBar(), this.box, this.heatLegend, this.transport(), this.lookBar()];
        this.bindDivider();
        this.helpDialog();
        document.addEventListener('keydown', (event) => this.key(event));
    }

    transport() {
        const {state, player} = this,
            step = (by) => () => {
                player.stop();
                state.setFrame(state.frame + by);
            };
        this.playButton = button('▶', 'Play', () => player.play(), 'Play or pause (space)');
        this.timeline = el('input.timeline', {
            type: 'range',
            step: 1,
            'aria-label': 'Frame',
            oninput: () => {
                player.stop();
                state.setFrame(Number(this.timeline.value) - state.clip.first);
            },
        });
        this.number = el('input.number', {
            type: 'number',
            step: 1,
            'aria-label': 'Frame number',
            onchange: () => {
                player.stop();
                state.setFrame(Number(this.number.value) - state.clip.first);
                this.follow();
            },
        });
        this.clip = el('select', {onchange: () => state.setClip(Number(this.clip.value))});
        this.clipField = labelled('Clip', this.clip);
        this.speed = el('select', {onchange: () => player.set({speed: Number(this.speed.value)})});
        options(
            this.speed,
            SPEEDS.map((s) => [s, `${s} ×`]),
            1,
        );
        this.loop = check('Loop', (on) => player.set({loop: on}));
        this.total = el('span.quiet', {});
        return el(
            'div.transport',
            {role: 'group', 'aria-label': 'Timeline'},
            this.playButton,
            button('‹', 'One frame back', step(-1), 'One frame back (←)'),
            button('›', 'One frame on', step(1), 'One frame on (→)'),
            this.timeline,
            el('span.frame', {}, this.number, this.total),
            this.clipField,
            labelled('Speed', this.speed),
            this.loop.node,
        );
    }

    methodsBar() {
        const {player, state} = this;
        this.checks = player.playable.map((method, i) => {
            const one = check(method.name, (on) => state.toggle(method, on));
            one.input.after(el('kbd', {'aria-hidden': 'true'}, i < 9 ? String(i + 1) : ''), method.swatch());
            one.node.title = method.summary;
            return one;
        });
        this.shownGroup = el('fieldset.methods', {}, el('legend', {}, 'Methods shown'), ...this.checks.map((c) => c.node));
        this.mode = el('select', {onchange: () => player.set({mode: this.mode.value})});
        options(this.mode, MODES, 'side');
        const pick = (which) => {
            const select = el('select', {onchange: () => player.set({[which]: player.playable[Number(select.value)]})});
            options(
                select,
                player.playable.map((m, i) => [i, m.name]),
                0,
            );
            return select;
        };
        [this.a, this.b] = [pick('a'), pick('b')];
        this.share = el('input', {
            type: 'range',
            min: 0,
            max: 100,
            'aria-label': 'Place of the divider between A and B',
            oninput: () => player.set({share: this.share.value / 100}),
        });
        this.shareField = labelled('Divider', this.share);
        this.abGroup = el(
            'span.ab',
            {},
            labelled('A', this.a),
            labelled('B', this.b),
            this.shareField,
            button('Swap', 'Swap A and B', () => player.set({swapped: !player.swapped}), 'Swap A and B (X)'),
        );
        const bar = el('div.bar.modes', {}, labelled('View', this.mode), this.abGroup, this.shownGroup);
        bar.hidden = !player.playable.length;
        return bar;
    }

    lookBar() {
        const {player} = this;
        this.colour = el('select', {onchange: () => player.set({heat: this.colour.value === 'heat'})});
        options(
            this.colour,
            [
                ['material', 'material'],
                ['heat', 'distance from reference'],
            ],
            'material',
        );
        if (!player.reference)
            Object.assign(this.colour.options[1], {disabled: true, textContent: 'distance (reference did not take part)'});
        this.heatScale = el('select', {onchange: () => player.set({heatChoice: this.heatScale.value})});
        options(
            this.heatScale,
            HEATS.map((h) => [h, h === 'auto' ? 'auto' : `${h} mm`]),
            'auto',
        );
        this.heatField = labelled('Full colour at', this.heatScale);
        this.wire = check('Wireframe', (on) => player.set({wire: on}));
        this.grid = check('Ground', (on) => player.set({grid: on}));
        this.followBox = check('Follow', (on) => player.setFollow(on));
        this.followBox.node.title = 'the camera moves with the character';
        const bar = el(
            'div.bar',
            {},
            labelled('Colour by', this.colour),
            this.heatField,
            this.wire.node,
            this.grid.node,
            this.followBox.node,
            button('Reset view', 'Reset view', () => player.resetCamera(), 'The whole character in view (F)'),
            button('?', 'Help: keys and mouse', () => byId('help').showModal(), 'Help (?)'),
        );
        return (this.looks = bar);
    }

    // The wipe's divider can be dragged in the picture itself.
    bindDivider() {
        const move = (event) => {
            const box = this.box.getBoundingClientRect();
            this.player.set({share: clamp((event.clientX - box.left) / box.width, 0, 1)});
        };
        this.divider.addEventListener('pointerdown', (event) => {
            this.divider.setPointerCapture(event.pointerId);
            event.preventDefault();
        });
        this.divider.addEventListener('pointermove', (event) => this.divider.hasPointerCapture(event.pointerId) && move(event));
    }

    helpDialog() {
        const keys = [
            ['Space', 'play or pause'],
            ['← →', 'one frame back or on'],
            ['Home End', 'first or last frame'],
            ['1 … 9', 'show or hide a method'],
            ['X', 'swap A and B'],
            ['F', 'frame the character again'],
            ['W', 'wireframe'],
            ['Shift + arrows', 'turn the camera'],
            ['+ −', 'zoom'],
            ['?', 'this help'],
            ['drag', 'turn; right drag or two fingers: pan'],
            ['wheel, pinch', 'zoom'],
            ['double click', 'look at that point'],
        ];
        const dialog = byId('help');
        dialog.replaceChildren(
            el(
                'div.bar',
                {},
                el('h2', {id: 'help-title'}, 'Keys and mouse'),
                button('✕', 'Close help', () => dialog.close(), 'Close'),
            ),
            el('dl.keys', {}, ...keys.flatMap(([k, what]) => [el('dt', {}, el('kbd', {}, k)), el('dd', {}, what)])),
        );
        dialog.onclick = (event) => event.target === dialog && dialog.close();
    }

    key(event) {
        const target = event.target,
            kind = target.tagName === 'INPUT' ? target.type : target.tagName?.toLowerCase();
        if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
        if (['select', 'number', 'textarea'].includes(kind)) return;
        if (event.key === ' ' && ['button', 'checkbox', 'summary'].includes(kind)) return; // theirs
        if (kind === 'range' && /^(Arrow|Home|End)/.test(event.key)) return;
        if (target.closest?.('.scroll') && /^(Arrow|Home|End)/.test(event.key) && kind !== 'svg') return; // scrolls
        if (this.act(event)) event.preventDefault();
    }

    act(event) {
        const {player, state} = this,
            go = (frame) => {
                player.stop();
                state.setFrame(frame);
            };
        const turn = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1]}[event.key];
        if (event.shiftKey && turn) player.orbit(...turn);
        else if (event.key === ' ') player.play();
        else if (event.key === 'ArrowLeft') go(state.frame - 1);
        else if (event.key === 'ArrowRight') go(state.frame + 1);
        else if (event.key === 'Home') go(0);
        else if (event.key === 'End') go(state.clip.count - 1);
        else if (/^[1-9]$/.test(event.key) && player.playable[event.key - 1]) state.toggle(player.playable[event.key - 1]);
        else if (event.key === 'f' || event.key === 'F') player.resetCamera();
        else if (event.key === 'w' || event.key === 'W') player.set({wire: !player.wire});
        else if (event.key === 'x' || event.key === 'X') player.set({swapped: !player.swapped});
        else if (event.key === '+' || event.key === '=') player.zoom(1 / 1.15);
        else if (event.key === '-') player.zoom(1.15);
        else if (event.key === '?') byId('help').showModal();
        else return false;
        return true;
    }

    say(text) {
        this.status.textContent = text;
        this.status.hidden = !text;
        this.box.classList.toggle('empty', Boolean(text) && !this.player.stage);
    }

    // The frame only: many times a second.
    follow() {
        const {clip, frame} = this.state;
        this.timeline.value = clip.first + frame;
        if (document.activeElement !== this.number) this.number.value = clip.first + frame;
    }

    refresh() {
        const {player, state} = this,
            {clip} = state,
            clips = player.report.clips;
        for (const input of [this.timeline, this.number]) Object.assign(input, {min: clip.first, max: clip.first + clip.count - 1});
        this.timeline.disabled = clip.count < 2;
        this.total.textContent = ` of ${clip.first + clip.count - 1}`;
        if (this.clip.options.length !== clips.length)
            options(
                this.clip,
                clips.map((c) => [c.index, c.name]),
                clip.index,
            );
        this.clip.value = clip.index;
        this.clipField.hidden = clips.length < 2;
        this.playButton.textContent = player.playing ? '❚❚' : '▶';
        this.playButton.setAttribute('aria-label', player.playing ? 'Pause' : 'Play');
        this.playButton.disabled = clip.count < 2;
        this.speed.value = player.speed;
        this.checks.forEach((c, i) => (c.input.checked = state.shown.has(player.playable[i])));
        this.mode.value = player.mode;
        this.abGroup.hidden = player.mode === 'side';
        this.shareField.hidden = player.mode !== 'wipe';
        this.shownGroup.hidden = player.mode !== 'side';
        [this.a.value, this.b.value] = [player.playable.indexOf(player.a), player.playable.indexOf(player.b)];
        this.share.value = Math.round(100 * player.share);
        this.divider.hidden = player.mode !== 'wipe';
        this.divider.style.left = `${100 * player.share}%`;
        this.colour.value = player.heat ? 'heat' : 'material';
        this.heatField.hidden = !player.heat;
        this.heatScale.value = player.heatChoice;
        for (const [box, on] of [
            [this.wire, player.wire],
            [this.grid, player.grid],
            [this.followBox, player.follow],
            [this.loop, player.loop],
        ])
            box.input.checked = on;
        this.looks.hidden = !player.stage && !player.playable.length;
        this.follow();
    }

    // Names in the windows; rebuilt only when something in them changed.
    label(windows) {
        const key = JSON.stringify(windows.map((w) => [w.x, w.y, w.width, ...w.lines.flatMap((l) => [l.method.index, l.text, l.tint])]));
        if (key === this.labelKey) return;
        this.labelKey = key;
        this.labels.replaceChildren(
            ...windows.map((w, i) => {
                const wipeRight = this.player.mode === 'wipe' && i === 1;
                const node = el(
                    'div.label',
                    {},
                    ...w.lines.map((l) =>
                        el(
                            l.tint < 0 ? 'div' : `div.tint-${l.tint}`,
                            {},
                            l.method.swatch(),
                            el('b', {}, l.method.name),
                            el('span', {}, l.text),
                        ),
                    ),
                );
                Object.assign(node.style, {
                    top: `${w.y}px`,
                    maxWidth: `${Math.max(0, w.width)}px`,
                    left: wipeRight ? 'auto' : `${w.x}px`,
                    right: wipeRight ? '0' : 'auto',
                });
                return node;
            }),
        );
        if (!windows.length && this.player.mode === 'side' && !this.status.textContent)
            this.labels.append(el('div.label', {}, 'No method is chosen.'));
    }

    legend(heat) {
        this.heatLegend.hidden = !heat;
        if (!heat || this.heatKey === heat.full) return;
        this.heatKey = heat.full;
        const bar = el('span.ramp', {'aria-hidden': 'true'}),
            stops = Array.from({length: 9}, (_, i) => `rgb(${heat.colour(i / 8).join(' ')})`);
        bar.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
        const marks = [0, 0.25, 0.5, 0.75, 1].map((t) => el('span', {}, `${t === 1 ? '≥ ' : ''}${Number((t * heat.full).toPrecision(3))}`));
        this.heatLegend.replaceChildren(
            el('span', {}, 'Distance from reference, mm'),
            el('span.scale', {}, bar, el('span.marks', {}, ...marks)),
        );
    }
}

export function buildControls(player) {
    return new Controls(player);
}
