// A method's mesh at a frame, on the processor: positions, smooth normals, distance from the reference as colour.

// For each vertex the first one in the same place at all of the given frames: texture seams split vertices, and shading must not show them.
export function weld(motion, frames) {
    const n = motion.vertices,
        q = motion.quantised,
        starts = frames.map((f) => 3 * n * f),
        first = new Map(),
        same = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
        let key = '';
        for (const s of starts) key += String.fromCharCode(q[s + i], q[s + n + i], q[s + 2 * n + i]);
        const found = first.get(key);
        if (found === undefined) first.set(key, i);
        same[i] = found ?? i;
    }
    return same;
}

function add(out, at, x, y, z) {
    out[at] += x;
    out[at + 1] += y;
    out[at + 2] += z;
}

// Normals as the sum of the triangles' area vectors, by welded vertex. `corners` is the index with vertices replaced by their first.
export function normals(x, corners, same, out) {
    out.fill(0);
    for (let t = 0; t < corners.length; t += 3) {
        const a = 3 * corners[t],
            b = 3 * corners[t + 1],
            c = 3 * corners[t + 2];
        const ux = x[b] - x[a],
            uy = x[b + 1] - x[a + 1],
            uz = x[b + 2] - x[a + 2];
        const vx = x[c] - x[a],
            vy = x[c + 1] - x[a + 1],
            vz = x[c + 2] - x[a + 2];
        const nx = uy * vz - uz * vy,
            ny = uz * vx - ux * vz,
            nz = ux * vy - uy * vx;
        add(out, a, nx, ny, nz);
        add(out, b, nx, ny, nz);
        add(out, c, nx, ny, nz);
    }
    for (let i = 0, o = 0; i < same.length; i++, o += 3) {
        if (same[i] !== i) continue;
        const s = 1 / (Math.sqrt(out[o] * out[o] + out[o + 1] * out[o + 1] + out[o + 2] * out[o + 2]) || 1);
        for (let k = 0; k < 3; k++) out[o + k] *= s;
    }
    for (let i = 0, o = 0; i < same.length; i++, o += 3) {
        const from = 3 * same[i];
        if (from !== o) for (let k = 0; k < 3; k++) out[o + k] = out[from + k];
    }
}

// Colours of distances, pale to dark in falling lightness: readable in colour blindness, and visible on a light and a dark ground.
const STOPS = [
    [214, 222, 230],
    [250, 226, 140],
    [248, 172, 70],
    [226, 96, 52],
    [178, 34, 66],
    [92, 10, 78],
];
const LEVELS = 256;

export function heatColour(t) {
    const at = Math.min(Math.max(t, 0), 1) * (STOPS.length - 1),
        i = Math.min(Math.floor(at), STOPS.length - 2),
        f = at - i;
    return STOPS[i].map((c, k) => Math.round(c + f * (STOPS[i + 1][k] - c)));
}

const linear = (byte) => ((c) => 255 * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))(byte / 255);
const TABLE = new Uint8Array(3 * LEVELS);
for (let i = 0; i < LEVELS; i++) heatColour(i / (LEVELS - 1)).forEach((c, k) => (TABLE[3 * i + k] = Math.round(linear(c))));

// Distances between two sets of positions, times a weight, added to `out`.
export function addDistances(x, y, weight, out) {
    for (let o = 0, i = 0; o < x.length; o += 3, i++) {
        const dx = x[o] - y[o],
            dy = x[o + 1] - y[o + 1],
            dz = x[o + 2] - y[o + 2];
        out[i] += weight * Math.sqrt(dx * dx + dy * dy + dz * dz);
    }
}

// Colours of distances, `full` being the last colour; returns the largest distance.
export function paint(distances, full, out) {
    let largest = 0;
    const factor = (LEVELS - 1) / full;
    for (let i = 0, c = 0; i < distances.length; i++, c += 4) {
        const d = distances[i];
        if (d > largest) largest = d;
        const level = 3 * Math.min(LEVELS - 1, Math.round(d * factor));
        for (let k = 0; k < 3; k++) out[c + k] = TABLE[level + k];
        out[c + 3] = 255;
    }
    return largest;
}

export function bounds(x) {
    const low = [Infinity, Infinity, Infinity],
        high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < x.length; i += 3) {
        for (let k = 0; k < 3; k++) {
            const v = x[i + k];
            if (v < low[k]) low[k] = v;
            if (v > high[k]) high[k] = v;
        }
    }
    return {low, high, centre: low.map((l, k) => (l + high[k]) / 2), diagonal: Math.hypot(...high.map((h, k) => h - low[k]))};
}
