// The player: decodes positions in the background, plays the timeline, keeps the stage's windows and labels up to date.
import {clamp, isNumber, pause, short} from './dom.js';
import {readIndex, readMotion, readUv} from './data.js';
import {addDistances, bounds, heatColour, weld} from './shape.js';
import {openContext, seenProportion, sideBySide, Stage, wiped} from './stage.js';
import {buildControls} from './controls.js';

const HEAT_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]; // mm
const SAMPLES = 8; // frames of a clip that the first camera must see

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const reducedMotion = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

class Player {
    constructor(place, report, state) {
        Object.assign(this, {
            report,
            state,
            mode: 'side',
            swapped: false,
            share: 0.5,
            heat: false,
            heatChoice: 'auto',
            wire: false,
            grid: true,
            follow: false,
            playing: false,
            speed: 1,
            loop: true,
            motions: new Map(),
            pending: false,
            last: null,
        });
        this.stats = {draws: 0, posing: 0, drawing: 0};
        this.playable = report.mesh ? report.methods.filter((m) => m.positions?.some((p) => p)) : [];
        this.reference = this.playable.find((m) => m.reference) ?? null;
        const narrow = window.innerWidth < 700;
        for (const m of narrow ? this.playable.slice(0, 4) : this.playable) state.shown.add(m);
        this.chooseAB();
        this.ui = buildControls(this);
        place.append(...this.ui.nodes);
        this.openStage();
        state.listen((what) => this.changed(what));
        document.addEventListener('visibilitychange', () => {
            this.last = null; // no leap after a pause
            this.invalidate();
        });
        this.ui.refresh();
    }

    // A and B to begin with: what is recommended beside plain linear skinning, where there are both.
    chooseAB() {
        const find = (name) => this.playable.find((m) => m.name === name);
        this.b = find(this.report.advice.method) ?? this.playable[1] ?? this.playable[0] ?? null;
        this.a = [find('linear'), ...this.playable].find((m) => m && m !== this.b) ?? this.b;
    }

    openStage() {
        if (!this.playable.length) return this.ui.say('No meshes are stored in this page; pictures, curves and the table are below.');
        const context = openContext(this.ui.canvas);
        if (!context)
            return this.ui.say(
                'This browser shows no 3D here (WebGL 2 is missing or switched off). The timeline, curves, table and pictures work without it.',
            );
        if (!('DecompressionStream' in window))
            return this.ui.say(
                'This browser is too old for the player (no DecompressionStream). Curves, table and pictures work without it.',
            );
        this.stage = new Stage(this.ui.canvas, context, () => this.invalidate());
        this.ui.canvas.addEventListener('dblclick', (e) => this.stage.focus(e.offsetX, e.offsetY) && this.invalidate());
        this.ui.canvas.addEventListener('webglcontextrestored', () => this.invalidate());
        new ResizeObserver(() => this.invalidate()).observe(this.ui.box);
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
            this.ground = null;
            this.invalidate();
        });
        this.ui.say('Loading meshes…');
        this.load().catch((error) => {
            console.error(error);
            this.ui.say(`The meshes cannot be read: ${error.message}`);
        });
    }

    async load() {
        await pause(); // the rest of the page first
        const [index, uv] = [await readIndex(this.report), await readUv(this.report)];
        const first = this.wanted()[0],
            motion = await this.motion(first, this.state.clip.index);
        if (!motion) throw new Error(`${first.name} has no positions in this clip`);
        const last = motion.frames.length - 1;
        this.stage.setMesh(this.report, index, uv, weld(motion, [...new Set([0, last >> 1, last])]));
        this.enter(motion);
        if (!reducedMotion() && this.state.clip.count > 1) this.play(true);
        await this.fetchClip();
    }

    // Methods in the order in which they are needed: shown ones first, then the reference, then the rest.
    wanted() {
        const shown = this.playable.filter((m) => this.state.shown.has(m));
        return [...new Set([...shown, ...(this.reference ? [this.reference] : []), ...this.playable])];
    }

    motion(method, clip) {
        const key = `${method.index}/${clip}`;
        if (!this.motions.has(key)) {
            const entry = {ready: null};
            entry.promise = readMotion(this.report, method, clip).then((motion) => {
                if (motion) motion.id = key;
                return (entry.ready = motion);
            });
            this.motions.set(key, entry);
        }
        return this.motions.get(key).promise;
    }
    ready(method) {
        return this.motions.get(`${method.index}/${this.state.clip.index}`)?.ready ?? null;
    }

    // Decodes all methods of the clip, one after the other; a damaged one is told and left out.
    async fetchClip() {
        const clip = this.state.clip.index,
            failed = [];
        let done = 0;
        for (const method of this.wanted()) {
            if (clip !== this.state.clip.index) return;
            const missing = this.playable.length - done++;
            this.ui.say(`Loading meshes… ${missing} to go`);
            try {
                await this.motion(method, clip);
            } catch (error) {
                failed.push(`${method.name}: ${error.message}`);
            }
            this.invalidate();
        }
        this.ui.say(failed.join('; '));
        this.loaded = clip;
    }

    // A clip is seen for the first time: its bounds set ground, camera and the windows' proportions.
    enter(motion) {
        const boxes = this.sampleBoxes(motion),
            first = boxes[0];
        const travel = Math.max(...boxes.map((b) => Math.hypot(...b.mean.map((v, k) => v - first.mean[k]))));
        this.follow = travel > 0.35 * first.diagonal;
        const moved = (b, k) => (this.follow ? b.mean[k] - first.mean[k] : 0);
        for (const b of boxes) for (let i = 0; i < b.points.length; i++) b.points[i] -= moved(b, i % 3);
        const low = [0, 1, 2].map((k) => Math.min(...boxes.map((b) => b.low[k] - moved(b, k))));
        const high = [0, 1, 2].map((k) => Math.max(...boxes.map((b) => b.high[k] - moved(b, k))));
        this.home = {
            points: boxes.map((b) => b.points),
            low,
            high,
            centre: low.map((l, k) => (l + high[k]) / 2),
            diagonal: Math.hypot(...high.map((h, k) => h - low[k])),
            mean: first.mean,
        };
        const span = motion.step.map((s) => 65535 * s);
        this.groundBox = {low: motion.min, centre: motion.min.map((m, k) => m + span[k] / 2), diagonal: Math.hypot(...span)};
        this.ground = null;
        this.anchor = motion;
        this.resetCamera();
        this.ui.refresh();
    }

    sampleBoxes(motion) {
        const last = motion.frames[motion.frames.length - 1],
            boxes = [];
        for (let s = 0; s < SAMPLES; s++) {
            const frame = Math.round((last * s) / (SAMPLES - 1)),
                points = new Float32Array(3 * motion.vertices);
            motion.write(frame, points);
            boxes.push({...bounds(points), mean: mean(points), points});
        }
        return boxes;
    }

    get proportion() {
        return clamp(seenProportion(this.home), 0.3, 3) * 1.05;
    }

    resetCamera() {
        this.aspect = null;
        this.invalidate();
    }

    // The whole figure in the first window. Until somebody moves the camera it is framed again when the windows change.
    frameCamera() {
        const w = this.stage.windows[0],
            aspect = w ? w.width / w.height : 1;
        if (this.aspect !== null && (this.stage.touched || this.aspect === aspect)) return;
        this.aspect = aspect;
        this.stage.touched = false;
        this.stage.frame(this.home, aspect);
        this.centre = this.home.mean;
    }

    orbit(right, up) {
        if (!this.stage || !this.home) return;
        const {camera, controls} = this.stage,
            away = camera.position.clone().sub(controls.target),
            r = away.length();
        const azimuth = Math.atan2(away.x, away.z) + right,
            elevation = clamp(Math.asin(clamp(away.y / r, -1, 1)) + up, -1.5, 1.5);
        camera.position.copy(controls.target);
        camera.position.x += r * Math.sin(azimuth) * Math.cos(elevation);
        camera.position.y += r * Math.sin(elevation);
        camera.position.z += r * Math.cos(azimuth) * Math.cos(elevation);
        this.stage.touched = true;
        controls.update();
        this.invalidate();
    }
    zoom(factor) {
        if (!this.stage || !this.home) return;
        const {camera, controls} = this.stage;
        camera.position.sub(controls.target).multiplyScalar(factor).add(controls.target);
        this.stage.touched = true;
        controls.update();
        this.invalidate();
    }

    changed(what) {
        if (what === 'clip') {
            this.ui.refresh();
            if (this.stage?.same) this.fetchAndEnter();
        } else if (what === 'shown') this.ui.refresh();
        else this.ui.follow();
        this.invalidate();
    }

    async fetchAndEnter() {
        const clip = this.state.clip,
            first = this.wanted()[0];
        try {
            const motion = await this.motion(first, clip.index);
            if (motion && clip === this.state.clip) this.enter(motion);
        } finally {
            await this.fetchClip();
        }
    }

    play(on = !this.playing) {
        this.playing = on && this.state.clip.count > 1;
        if (this.playing && !this.loop && this.state.frame === this.state.clip.count - 1) this.state.setFrame(0);
        this.last = null;
        this.ui.refresh();
        this.invalidate();
    }
    stop() {
        this.play(false);
    }

    // From here on: where the character is now is where the camera is at home.
    setFollow(on) {
        if (on && this.anchor) this.centre = this.meanAt(this.state.frame);
        this.set({follow: on});
    }

    // Any option: set({wire: true}).
    set(options) {
        Object.assign(this, options);
        this.ui.refresh();
        this.invalidate();
    }

    invalidate() {
        if (this.pending || document.hidden) return;
        this.pending = true;
        requestAnimationFrame((now) => {
            this.pending = false;
            this.advance(now);
            this.draw();
            if (this.playing) this.invalidate();
        });
    }

    advance(now) {
        if (!this.playing) return;
        if (this.last === null) {
            this.last = now;
            return;
        }
        const steps = Math.floor(((now - this.last) / 1000) * this.report.fps * this.speed);
        if (steps < 1) return;
        this.last += (steps * 1000) / (this.report.fps * this.speed);
        const count = this.state.clip.count,
            next = this.state.frame + steps;
        if (next < count || this.loop) this.state.setFrame(next % count);
        else {
            this.state.setFrame(count - 1);
            this.stop();
        }
    }

    // mm at the hot end: what the frames of the clip reach at the median, or what was chosen.
    get heatFull() {
        if (this.heatChoice !== 'auto') return Number(this.heatChoice);
        const {offset, count} = this.state.clip;
        const peaks = this.playable
            .filter((m) => !m.reference && m.error)
            .flatMap((m) =>
                m.error
                    .slice(offset, offset + count)
                    .map((e) => e?.max)
                    .filter((v) => isNumber(v) && v > 0),
            );
        const wanted = peaks.length ? 1000 * median(peaks) : 20 * this.home.diagonal * this.report.metres;
        return HEAT_STEPS.findLast((s) => s <= wanted) ?? HEAT_STEPS[0];
    }

    // Windows for the mode. Those whose meshes are not decoded yet are empty and keep their place.
    arrange() {
        const {clientWidth: width, clientHeight: height} = this.ui.box,
            stage = this.stage;
        if (stage.width !== width || stage.height !== height) stage.resize(Math.max(1, width), Math.max(1, height));
        const [a, b] = this.swapped ? [this.b, this.a] : [this.a, this.b];
        if (this.mode === 'side')
            stage.windows = sideBySide(
                this.playable.filter((m) => this.state.shown.has(m)),
                width,
                height,
                this.proportion,
            );
        else if (this.mode === 'wipe') stage.windows = wiped(a, b, width, height, this.share);
        else stage.windows = [{x: 0, y: 0, width, height, methods: this.mode === 'swap' || a === b ? [a] : [a, b]}];
        const rows = new Set(stage.windows.map((w) => w.y)).size || 1;
        stage.controls.panSpeed = rows; // a window is a part of the canvas's height
    }

    draw() {
        const stage = this.stage;
        if (!stage?.same || !this.home) return;
        if (!this.ui.box.clientWidth || !this.ui.box.clientHeight) return; // not laid out: windows would have no size
        const start = performance.now(),
            {frame} = this.state;
        this.arrange();
        this.frameCamera();
        this.followCharacter(frame);
        const heating = this.heat && this.reference && this.ready(this.reference) && this.mode !== 'overlay';
        const full = this.heat ? this.heatFull : 1;
        for (const method of new Set(stage.windows.flatMap((w) => w.methods))) {
            const motion = this.ready(method);
            if (!motion) continue;
            stage.pose(method, motion, frame);
            if (heating) stage.paint(method, this.distances(motion, frame), full / 1000 / this.report.metres);
        }
        if (!this.ground) {
            this.ground = true;
            stage.setGround(this.groundBox, this.home.diagonal, css('--stage-grid'));
        }
        const posed = performance.now();
        stage.draw({
            ready: (m) => this.ready(m),
            background: css('--stage'),
            gap: css('--line'),
            wire: this.wire,
            grid: this.grid,
            heat: Boolean(heating),
        });
        this.stats.draws++;
        this.stats.posing += posed - start;
        this.stats.drawing += performance.now() - posed;
        this.label(full);
    }

    // Distances from the reference. It may have been solved in some frames only: between them the distances are interpolated, since a pose in
    // between would be no solution.
    distances(motion, frame) {
        const reference = this.ready(this.reference),
            n = 3 * motion.vertices,
            {a, b, t} = reference.around(frame);
        this.scratch ??= {x: new Float32Array(n), y: new Float32Array(n), d: new Float32Array(n / 3)};
        const {x, y, d} = this.scratch;
        d.fill(0);
        for (const [stored, weight] of t === 0
            ? [[a, 1]]
            : [
                  [a, 1 - t],
                  [b, t],
              ]) {
            motion.write(reference.frames[stored], x);
            reference.write(reference.frames[stored], y);
            addDistances(x, y, weight, d);
        }
        return d;
    }

    // A walking character stays in its window: the camera moves with the mean of the vertices.
    followCharacter(frame) {
        if (!this.follow || !this.anchor) return;
        const to = this.meanAt(frame),
            delta = to.map((v, k) => v - this.centre[k]);
        this.centre = to;
        if (delta.some((d) => d !== 0)) this.stage.shift(delta);
    }

    meanAt(frame) {
        this.means ??= new Map();
        const key = `${this.anchor.id}:${frame}`;
        if (!this.means.has(key)) {
            const x = new Float32Array(3 * this.anchor.vertices);
            this.anchor.write(frame, x);
            this.means.set(key, mean(x));
        }
        return this.means.get(key);
    }

    // What to say where a frame is not stored.
    inBetween(motion, frame) {
        const {a, b, t} = motion.around(frame),
            number = (i) => this.state.clip.first + motion.frames[i];
        if (t !== 0) return `between frames ${number(a)} and ${number(b)}`;
        return motion.frames[a] === frame ? '' : `frame ${number(a)}`;
    }

    label(full) {
        const {windows, dolls} = this.stage,
            {clip, frame} = this.state,
            mm = 1000 * this.report.metres;
        this.ui.label(
            windows.map((w) => {
                const s = w.scissor ?? w;
                return {
                    x: s.x,
                    y: s.y,
                    width: s.width,
                    lines: w.methods.map((m, i) => {
                        if (!this.ready(m))
                            return {method: m, tint: -1, text: this.loaded === clip.index ? 'no mesh in this clip' : 'loading…'};
                        const ms = m.frames[clip.offset + frame]?.ms?.total,
                            far = dolls.get(m)?.largest;
                        const words = [
                            isNumber(ms) ? `${short(ms)} ms` : '',
                            isNumber(far) && !m.reference ? `off by ${short(far * mm)} mm` : '',
                            this.inBetween(this.ready(m), frame),
                        ];
                        return {method: m, tint: w.methods.length > 1 ? i : -1, text: words.filter(Boolean).join(' · ')};
                    }),
                };
            }),
        );
        this.ui.legend(this.heat && this.reference && this.mode !== 'overlay' ? {full, colour: heatColour} : null);
    }
}

function mean(x) {
    const sum = [0, 0, 0];
    for (let i = 0; i < x.length; i += 3) for (let k = 0; k < 3; k++) sum[k] += x[i + k];
    return sum.map((s) => (3 * s) / x.length);
}

export function showPlayer(place, report, state) {
    return new Player(place, report, state);
}
