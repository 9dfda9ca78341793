// The page's data: the JSON that the tool put in, its blobs, and vertex positions of clips.
import {isNumber, pause, plain} from './dom.js';

const SLICE = 12; // ms of work before the browser gets its turn
const BASE64_CHUNK = 4 * 65536;

// The report with every part in place: lists are lists, names are texts. What is missing is empty or null, never undefined.
export function readReport() {
    const node = document.getElementById('supple-report');
    if (!node) return null;
    return tidy(JSON.parse(node.textContent));
}

const list = (x) => (Array.isArray(x) ? x.filter((item) => item !== null && typeof item === 'object') : []);
const object = (x) => (x !== null && typeof x === 'object' && !Array.isArray(x) ? x : {});
const texts = (x) => (Array.isArray(x) ? x.filter((t) => typeof t === 'string').map(plain) : []);

function tidyClips(clips) {
    let offset = 0;
    return list(clips).map((clip, index) => {
        const count = Math.max(1, Math.floor(clip.frames) || 1);
        const tidied = {
            index,
            name: plain(clip.name || `clip ${index + 1}`),
            first: isNumber(clip.first_frame) ? clip.first_frame : 0,
            count,
            offset,
        };
        offset += count;
        return tidied;
    });
}

function tidyMethod(method, index) {
    const metrics = object(method.metrics);
    return {
        index,
        key: String(method.name ?? ''), // as views name it
        name: plain(method.name || `method ${index + 1}`),
        summary: plain(method.summary),
        note: method.note ? plain(method.note) : '',
        frames: Array.isArray(metrics.frames) ? metrics.frames.map(object) : [],
        metrics,
        table: object(method.table),
        error: Array.isArray(method.error) ? method.error : null,
        positions: Array.isArray(method.positions) ? method.positions : null,
        reference: method.name === 'reference',
    };
}

function tidy(raw) {
    const json = object(raw),
        mesh = json.mesh ? object(json.mesh) : null;
    const views = list(json.views).map((view) => ({
        id: plain(view.id),
        title: plain(view.title || view.id),
        clip: view.clip | 0,
        frames: (view.frames ?? []).filter(isNumber),
        images: object(view.images),
    }));
    const advice = object(json.recommendation);
    return {
        version: plain(json.supple || '?'),
        command: plain(json.command),
        input: {...object(json.input), name: plain(object(json.input).name || 'character')},
        threads: json.threads,
        machine: object(json.machine),
        elapsed: json.elapsed_s,
        fps: isNumber(json.fps) && json.fps > 0 ? json.fps : 30,
        metres: isNumber(json.metres_per_unit) && json.metres_per_unit > 0 ? json.metres_per_unit : 1,
        clips: tidyClips(json.clips),
        blobs: list(json.blobs),
        mesh: mesh && {...mesh, groups: list(mesh.groups)},
        methods: list(json.methods).map(tidyMethod),
        views,
        notes: texts(json.notes),
        advice: {method: plain(advice.method), summary: plain(advice.summary), reasons: texts(advice.reasons)},
    };
}

// The base64 text of a blob, or null.
function blobText(index) {
    return isNumber(index) ? (document.getElementById(`supple-blob-${index}`)?.textContent ?? null) : null;
}

function fromBase64(text) {
    const raw = atob(text),
        bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
}

// Works in slices; call the result between pieces of work.
function slicer() {
    let start = performance.now();
    return async () => {
        if (performance.now() - start < SLICE) return;
        await pause();
        start = performance.now();
    };
}

// A stored picture as an object URL, or null. Only pictures: whatever else a blob may call itself is not shown.
export function pictureUrl(report, index) {
    const type = report.blobs[index]?.type,
        text = blobText(index);
    if (text === null || !['image/png', 'image/jpeg'].includes(type)) return null;
    return URL.createObjectURL(new Blob([fromBase64(text.replace(/\s+/g, ''))], {type}));
}

// The bytes of a "deflate" blob, in slices: base64 goes through the browser's decompressor in pieces.
export async function inflate(report, index) {
    const text = blobText(index)?.replace(/\s+/g, ''),
        turn = slicer();
    if (!text) throw new Error(`blob ${index} is missing`);
    let at = 0;
    const source = new ReadableStream({
        async pull(controller) {
            await turn();
            if (at >= text.length) return controller.close();
            controller.enqueue(fromBase64(text.slice(at, at + BASE64_CHUNK)));
            at += BASE64_CHUNK;
        },
    });
    const expected = report.blobs[index]?.raw;
    let bytes = new Uint8Array(isNumber(expected) ? expected : 1 << 20),
        used = 0;
    const reader = source.pipeThrough(new DecompressionStream('deflate')).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
        if (used + part.value.length > bytes.length) bytes = grown(bytes, used + part.value.length);
        bytes.set(part.value, used);
        used += part.value.length;
        await turn();
    }
    return bytes.subarray(0, used);
}

function grown(bytes, needed) {
    const larger = new Uint8Array(Math.max(needed, 2 * bytes.length));
    larger.set(bytes);
    return larger;
}

function aligned(bytes) {
    // a view of 32-bit numbers must start at a multiple of four
    return bytes.byteOffset % 4 ? bytes.slice() : bytes;
}

export async function readIndex(report) {
    const bytes = aligned(await inflate(report, report.mesh.index)),
        vertices = report.mesh.vertices;
    const index = new Uint32Array(bytes.buffer, bytes.byteOffset, 3 * Math.floor(bytes.length / 12));
    if (index.some((i) => i >= vertices)) throw new Error('a triangle names a vertex that is not there');
    return index;
}

export async function readUv(report) {
    if (!isNumber(report.mesh.uv)) return null;
    const bytes = aligned(await inflate(report, report.mesh.uv));
    return bytes.length >= 8 * report.mesh.vertices ? new Float32Array(bytes.buffer, bytes.byteOffset, 2 * report.mesh.vertices) : null;
}

// One method in one clip: stored frames as planes of 16-bit numbers, and the frame that the player asks for.
export class Motion {
    constructor(meta, vertices, quantised) {
        this.frames = meta.frames;
        this.min = meta.min;
        this.step = meta.step;
        this.vertices = vertices;
        this.quantised = quantised; // frame by frame: all x, all y, all z
    }

    // The two stored frames around a frame, and how far it is from the first to the second.
    around(frame) {
        const frames = this.frames;
        let b = frames.findIndex((f) => f >= frame);
        if (b < 0) b = frames.length - 1;
        const a = frames[b] > frame && b > 0 ? b - 1 : b;
        return {a, b, t: a === b ? 0 : (frame - frames[a]) / (frames[b] - frames[a])};
    }

    // Positions of a frame, x y z by vertex, into `out`.
    write(frame, out) {
        const {a, b, t} = this.around(frame),
            n = this.vertices,
            q = this.quantised;
        for (let k = 0; k < 3; k++) {
            const min = this.min[k],
                step = this.step[k],
                from = (3 * a + k) * n,
                to = (3 * b + k) * n;
            if (t === 0) for (let i = 0, o = k; i < n; i++, o += 3) out[o] = min + step * q[from + i];
            else for (let i = 0, o = k; i < n; i++, o += 3) out[o] = min + step * (q[from + i] + t * (q[to + i] - q[from + i]));
        }
    }
}

function checkMeta(meta, vertices, bytes) {
    const three = (v) => Array.isArray(v) && v.length === 3 && v.every(isNumber);
    if (!three(meta.min) || !three(meta.step) || !Array.isArray(meta.frames) || !meta.frames.length)
        throw new Error('positions without a range');
    if (bytes.length !== 6 * vertices * meta.frames.length)
        throw new Error(`positions of ${bytes.length} bytes for ${meta.frames.length} frames`);
}

// Undoes byte planes and differences between frames, a frame at a time.
async function unpack(bytes, size, frames) {
    const total = size * frames,
        out = new Uint16Array(total),
        turn = slicer();
    for (let f = 0; f < frames; f++) {
        const start = f * size;
        for (let i = start; i < start + size; i++) out[i] = (bytes[i] | (bytes[total + i] << 8)) + (f ? out[i - size] : 0);
        await turn();
    }
    return out;
}

// The positions of a method in a clip; null where there are none.
export async function readMotion(report, method, clip) {
    const meta = method.positions?.[clip],
        vertices = report.mesh?.vertices;
    if (!meta || !isNumber(meta.blob)) return null;
    const bytes = await inflate(report, meta.blob);
    checkMeta(meta, vertices, bytes);
    return new Motion(meta, vertices, await unpack(bytes, 3 * vertices, meta.frames.length));
}
