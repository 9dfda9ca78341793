// report_sample.mjs TEMPLATE.html OUT.html [KIND]: a report as `supple compare` writes it, of a tube that bends, without the tool: for the page's
// own tests. KIND: sample (four methods, one that failed, two clips, names that try to become markup), minimal (one method, one frame, nulls
// wherever there may be), large (seven methods of 25,000 vertices and 60 frames).
import fs from 'node:fs';
import zlib from 'node:zlib';
import {PNG} from 'pngjs';

export const HOSTILE = '</script><img src=x onerror="window.hostile=1">';

// Rings of a tube along x, with a seam: its first and last corner are in one place and have two texture coordinates.
function tube(around, along) {
    const rings = along + 1,
        corners = around + 1,
        index = [],
        uv = [],
        rest = [];
    for (let i = 0; i < rings; i++) {
        for (let k = 0; k < corners; k++) {
            uv.push(k / around, i / along);
            rest.push([i / along, (2 * Math.PI * (k % around)) / around]);
            if (i < along && k < around) {
                const a = i * corners + k,
                    b = a + corners;
                index.push(a, a + 1, b, a + 1, b + 1, b);
            }
        }
    }
    return {index: Uint32Array.from(index), uv: Float32Array.from(uv), rest, vertices: rest.length};
}

// The tube at an angle, bent about its middle. `collapse` narrows the bend as linear skinning does, `bulge` swells it.
function pose({rest}, angle, {collapse = 0, bulge = 0, sag = 0}, offset) {
    const out = new Float64Array(3 * rest.length);
    rest.forEach(([s, turn], i) => {
        const t = Math.min(Math.max((s - 0.4) / 0.2, 0), 1),
            a = angle * t,
            near = Math.exp(-(((s - 0.5) / 0.09) ** 2));
        const r = 0.13 * (1 - 0.25 * s) * (1 - near * (angle / 2.4) * (collapse - bulge)),
            cy = r * Math.cos(turn),
            cz = r * Math.sin(turn);
        // The axis: straight, then an arc of 0.2, then straight.
        const bend = angle > 1e-6 ? 0.2 / angle : 0,
            past = Math.max(s - 0.6, 0);
        const x = s < 0.4 ? s : angle > 1e-6 ? 0.4 + bend * Math.sin(a) + past * Math.cos(a) : s;
        const y = s < 0.4 ? 0 : angle > 1e-6 ? bend * (1 - Math.cos(a)) + past * Math.sin(a) : 0;
        out[3 * i] = x - cy * Math.sin(a) + offset[0] - 0.5;
        out[3 * i + 1] = y + cy * Math.cos(a) + 0.3 - sag * near * angle + offset[1];
        out[3 * i + 2] = cz + offset[2];
    });
    return out;
}

class Blobs {
    constructor() {
        this.list = [];
        this.texts = [];
    }
    add(type, bytes, raw = bytes.length) {
        this.texts.push(bytes.toString('base64'));
        return this.list.push({type, bytes: bytes.length, raw}) - 1;
    }
    deflate(bytes) {
        return this.add('deflate', zlib.deflateSync(bytes), bytes.length);
    }
}

// Sixteen bits a coordinate, planes of x, y and z, differences between frames, bytes apart.
function packed(frames, vertices, min, step) {
    const size = 3 * vertices,
        total = size * frames.length,
        out = Buffer.alloc(2 * total);
    let before = new Uint16Array(size);
    frames.forEach((x, f) => {
        const q = new Uint16Array(size);
        for (let k = 0; k < 3; k++) for (let i = 0; i < vertices; i++) q[k * vertices + i] = Math.round((x[3 * i + k] - min[k]) / step[k]);
        for (let i = 0; i < size; i++) {
            const d = (q[i] - before[i]) & 65535;
            out[f * size + i] = d & 255;
            out[total + f * size + i] = d >> 8;
        }
        before = q;
    });
    return out;
}

function range(all) {
    const min = [Infinity, Infinity, Infinity],
        max = [-Infinity, -Infinity, -Infinity];
    for (const x of all)
        for (let i = 0; i < x.length; i++) [min[i % 3], max[i % 3]] = [Math.min(min[i % 3], x[i]), Math.max(max[i % 3], x[i])];
    return {min, step: min.map((m, k) => (max[k] - m) / 65535 || 1)};
}

function picture(width, height, colour) {
    const png = new PNG({width, height});
    for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) png.data.set([...colour(x, y), 255], 4 * (y * width + x));
    return PNG.sync.write(png);
}

function distances(x, y) {
    let sum = 0,
        max = 0;
    for (let i = 0; i < x.length; i += 3) {
        const d = Math.hypot(x[i] - y[i], x[i + 1] - y[i + 1], x[i + 2] - y[i + 2]);
        ((sum += d), (max = Math.max(max, d)));
    }
    return {mean: (3 * sum) / x.length, max};
}

// Numbers of a frame as --metrics has them: invented, smooth, and null where the method has none.
function frameMetrics(clip, frame, bend, {ms, collapse, bulge = 0, physical}) {
    return {
        clip,
        frame,
        time: frame / 30,
        ms: {total: ms * (1 + 0.2 * Math.sin(frame)), pose: 0.01, contact: null, solve: null, upsample: null, slide: null},
        crossed: Math.round((physical ? 4 : 60) * bend),
        max_penetration: physical ? 0.0004 * bend : 0.02 * bend * collapse,
        max_fold: physical ? 0.0004 * bend : 0.01 * bend * collapse,
        max_strain: physical ? 0.2 + 0.3 * bend : null,
        inverted: 0,
        joint_volume: {elbow: 1 - 0.25 * bend * (collapse - bulge), [HOSTILE]: 1 - 0.02 * bend},
    };
}

const SAMPLE = {
    mesh: [16, 40],
    clips: [
        {name: 'bend', frames: 24, from: 0, to: 2.4},
        {name: `walk ${HOSTILE}`, frames: 12, from: 1.6, to: 0.4, travel: 3},
    ],
    methods: [
        {name: 'linear', collapse: 0.55, ms: 0.4},
        {name: 'mixed', collapse: 0.12, bulge: 0.05, ms: 9, physical: true},
        {name: `m&m ${HOSTILE} of a very long name that goes on`, collapse: 0, bulge: 0.35, sag: 0.01, ms: 30, physical: true},
        {name: 'reference', collapse: 0.02, ms: 900, physical: true},
    ],
    failed: [{name: 'subspace', note: `no model was given (--model) ${HOSTILE}`}],
    texture: true,
};
const LARGE = {
    mesh: [124, 199],
    clips: [{name: 'bend', frames: 60, from: 0, to: 2.4}],
    failed: [],
    methods: ['linear', 'dualquat', 'mixed', 'projective', 'steklov', 'subspace', 'reference'].map((name, i) => ({
        name,
        collapse: 0.5 - 0.08 * i,
        ms: 0.5 * 3 ** i,
        physical: i > 1,
    })),
};

function minimal() {
    const blobs = new Blobs(),
        mesh = tube(6, 4),
        x = pose(mesh, 1, {}, [0, 0, 0]),
        {min, step} = range([x]);
    const json = {
        supple: null,
        input: {name: '', vertices: null},
        clips: [{name: '', frames: 1}],
        blobs: blobs.list,
        threads: null,
        machine: null,
        mesh: {vertices: mesh.vertices, index: blobs.deflate(Buffer.from(mesh.index.buffer)), uv: null, groups: []},
        views: null,
        recommendation: null,
        methods: [
            {
                name: 'linear',
                summary: null,
                note: null,
                metrics: null,
                table: null,
                error: null,
                positions: [{blob: blobs.deflate(packed([x], mesh.vertices, min, step)), frames: [0], min, step}],
            },
            null,
            {
                name: 'steklov',
                note: 'failed: the factor is not positive',
                metrics: {frames: [null]},
                table: null,
                error: [null],
                positions: null,
            },
        ],
    };
    return {json, blobs};
}

function posesOf(spec, mesh, clip) {
    return spec.methods.map((method) =>
        Array.from({length: clip.frames}, (_, f) => {
            const t = clip.frames > 1 ? f / (clip.frames - 1) : 0;
            return pose(mesh, clip.from + t * (clip.to - clip.from), method, [(clip.travel ?? 0) * t, 0, 0]);
        }),
    );
}

function made(spec) {
    const blobs = new Blobs(),
        mesh = tube(...spec.mesh),
        reference = spec.methods.findIndex((m) => m.name === 'reference');
    const triangles = mesh.index.length / 3,
        half = triangles >> 1;
    const texture = spec.texture
        ? blobs.add(
              'image/png',
              picture(64, 64, (x, y) => (((x >> 3) + (y >> 3)) % 2 ? [225, 196, 170] : [196, 152, 122])),
          )
        : null;
    const json = {
        supple: '0.1.0',
        input: {name: `tube ${spec.texture ? HOSTILE : ''}`, vertices: mesh.vertices, triangles, joints: 2, size_m: 1.03},
        threads: 2,
        fps: 30,
        machine: {processor: 'a sample', cores: 2},
        elapsed_s: 12.5,
        clips: spec.clips.map((c) => ({name: c.name, first_frame: 1, frames: c.frames})),
        blobs: blobs.list,
        mesh: {
            vertices: mesh.vertices,
            index: blobs.deflate(Buffer.from(mesh.index.buffer)),
            uv: blobs.deflate(Buffer.from(mesh.uv.buffer)),
            groups: [
                {name: 'left', first: 0, count: half, color: [1, 1, 1], double_sided: true, texture},
                {name: HOSTILE, first: half, count: triangles - half, color: [0.2, 0.35, 0.5], double_sided: false, texture: null},
            ],
        },
        methods: spec.methods.map((m) => ({
            name: m.name,
            summary: `a sample called ${m.name}`,
            note: null,
            metrics: {frames: []},
            error: [],
            positions: [],
        })),
        views: [],
        notes: [`the tube is 200 m across: taken as 2 m (--size METRES sets it) ${HOSTILE}`],
        recommendation: {
            method: 'mixed',
            summary: `mixed is near reference at a hundredth of its time. ${HOSTILE}`,
            reasons: ['Volume at the elbow stays above 97 %.', 'A frame takes 9 ms.'],
        },
    };
    spec.clips.forEach((clip, c) => addClip(json, spec, blobs, mesh, clip, c, posesOf(spec, mesh, clip), reference));
    spec.methods.forEach((m, i) => (json.methods[i].table = table(json.methods[i], m)));
    for (const m of spec.failed)
        json.methods.push({...m, summary: 'a model trained from poses', metrics: null, table: null, error: null, positions: null});
    json.views = [
        view('body', 'whole body', 0, [0, 12, 23]),
        view('elbow', `elbow bends by 137 degrees ${HOSTILE}`, 0, [6, 12, 18, 23]),
    ].map((v, i) => ({
        ...v,
        images: Object.fromEntries(
            spec.methods.map((m, k) => [
                m.name,
                blobs.add(
                    'image/png',
                    picture(160 * v.frames.length, 120, (x, y) => [40 * k + 60, (x % 160) + 40, y + 60 * i]),
                ),
            ]),
        ),
    }));
    return {json, blobs};
}

const view = (id, title, clip, frames) => ({id, title, clip, frames});

function addClip(json, spec, blobs, mesh, clip, c, poses, reference) {
    const {min, step} = range(poses.flat()),
        solved = reference < 0 ? [] : storedFrames(clip, c, spec.methods[reference]);
    spec.methods.forEach((m, i) => {
        const method = json.methods[i],
            stored = storedFrames(clip, c, m);
        method.positions.push({
            blob: blobs.deflate(
                packed(
                    stored.map((f) => poses[i][f]),
                    mesh.vertices,
                    min,
                    step,
                ),
            ),
            frames: stored,
            min,
            step,
        });
        poses[i].forEach((x, f) => {
            const t = clip.frames > 1 ? f / (clip.frames - 1) : 0;
            method.metrics.frames.push(frameMetrics(clip.name, f, (clip.from + t * (clip.to - clip.from)) / 2.4, m));
            method.error.push(!solved.includes(f) ? null : distances(x, poses[reference][f]));
        });
    });
}

function table({metrics: {frames}, error}, m) {
    const ms = frames.map((f) => f.ms.total).sort((a, b) => a - b),
        max = (key) => (frames[0][key] === null ? null : Math.max(...frames.map((f) => f[key])));
    const known = error.filter(Boolean);
    return {
        setup_ms: m.physical ? 900 + m.ms : 3,
        body_ms: m.physical ? 700 : null,
        ms_median: ms[ms.length >> 1],
        ms_min: ms[0],
        ms_max: ms[ms.length - 1],
        peak_mb: m.physical ? 150 : 22,
        max_penetration: max('max_penetration'),
        max_fold: max('max_fold'),
        crossed: max('crossed'),
        min_joint_volume: Math.min(...frames.map((f) => f.joint_volume.elbow)),
        max_strain: max('max_strain'),
        inverted: 0,
        error_mean: known.length ? known.reduce((s, e) => s + e.mean, 0) / known.length : null,
        error_max: known.length ? Math.max(...known.map((e) => e.max)) : null,
    };
}

// What the tool does: the marker's line becomes the data.
export function filled(template, {json, blobs}) {
    const text = JSON.stringify(json).replace(/</g, '\\u003c');
    const lines = [
        `<script type="application/json" id="supple-report">${text}</script>`,
        ...blobs.texts.map((b, i) => `<script type="text/plain" id="supple-blob-${i}">${b}</script>`),
    ];
    return template.replace('<!--supple-report-->', () => lines.join('\n'));
}

// What the sample's positions were before they were packed, and which frames are stored.
export function samplePositions() {
    const mesh = tube(...SAMPLE.mesh);
    return SAMPLE.clips.map((clip, c) =>
        posesOf(SAMPLE, mesh, clip).map((frames, m) => ({frames, stored: storedFrames(clip, c, SAMPLE.methods[m])})),
    );
}

// All of the first clip; every second one of others, as of a page that would be too large; reference is solved in every fourth there.
function storedFrames(clip, c, {name}) {
    const every = c === 0 ? 1 : name === 'reference' ? 4 : 2;
    return Array.from({length: clip.frames}, (_, f) => f).filter((f) => f % every === 0 || f === clip.frames - 1);
}

export const KINDS = {sample: () => made(SAMPLE), minimal, large: () => made(LARGE)};

if (process.argv[1]?.endsWith('report_sample.mjs')) {
    const [template, out, kind = 'sample'] = process.argv.slice(2);
    const html = filled(fs.readFileSync(template, 'utf8'), KINDS[kind]());
    fs.writeFileSync(out, html);
    console.log(`${out}: ${(html.length / 1e6).toFixed(2)} MB`);
}
