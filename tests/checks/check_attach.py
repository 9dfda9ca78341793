#!/usr/bin/python3
"""Says whether bones hold the flesh of other limbs, from the file's own weights and the arrays of `supple skin --dump-sim`.

    check_attach.py CHARACTER.glb DIR                  one dump
    check_attach.py --run SUPPLE OUT FILE.glb...       makes the dumps (method projective, one frame) and checks all

A held vertex is foreign if the skin around it does not follow its bone's joint, nor a joint merged into that: neither the skin straight beside it (within an
edge, or the nearest: no other skin is between; pieces may overlap inside), nor that within an edge of the boundary vertices nearest to it through the flesh
(along the edges of the tetrahedra, up to half as far again and one edge more) has a weight of 0.1. A tetrahedron is stuck if two joints hold all of its corners. Exit 1 unless there are none of both. Needs NumPy; shares no code with
Supple."""
import glob
import heapq
import os
import subprocess
import sys

import numpy as np

import gltf

LEAST = 0.1


def weights(g, merged):
    """By visual vertex, in the order of Supple's caches: weights by node, each node's given to what it is merged into."""
    rows = []
    for _, node, p in gltf.instances(g):
        count = g.j["accessors"][p["attributes"]["POSITION"]]["count"]
        w = np.zeros((count, len(merged)))
        joints = g.j["skins"][node["skin"]]["joints"] if "skin" in node else []
        k = 0
        while joints and f"JOINTS_{k}" in p["attributes"]:
            index = g.accessor(p["attributes"][f"JOINTS_{k}"]).astype(int)
            value = np.nan_to_num(np.asarray(g.accessor(p["attributes"][f"WEIGHTS_{k}"]), float))
            for c in range(index.shape[1]):
                to = merged[np.array(joints)[index[:, c]]]
                np.add.at(w, (np.arange(count), np.maximum(to, 0)), np.where(to >= 0, value[:, c], 0))
            k += 1
        rows.append(w / np.maximum(w.sum(1, keepdims=True), 1e-12))
    return np.concatenate(rows)


def triangles(g):
    rows, first = [], 0
    for _, _, p in gltf.instances(g):
        count = g.j["accessors"][p["attributes"]["POSITION"]]["count"]
        index = g.accessor(p["indices"])[:, 0].astype(int) if "indices" in p else np.arange(count)
        if p.get("mode", 4) == 4:
            rows.append(index[:len(index) // 3 * 3].reshape(-1, 3) + first)
        first += count
    return np.concatenate(rows)


def samples(x, tri, edge):
    """Points all over the triangles, no farther apart than half an edge: triangle and barycentric coordinates."""
    longest = np.max(np.linalg.norm(x[tri] - x[np.roll(tri, 1, 1)], axis=2), axis=1)
    n = np.clip(np.ceil(2 * longest / edge).astype(int), 1, 60)
    at, bary = [], []
    for k in np.unique(n):
        own = np.where(n == k)[0]
        i, j = np.meshgrid(np.arange(k + 1), np.arange(k + 1))
        keep = i + j <= k
        b = np.stack([i[keep], j[keep], k - i[keep] - j[keep]], 1) / k
        at.append(np.repeat(own, len(b)))
        bary.append(np.tile(b, (len(own), 1)))
    return np.concatenate(at), np.concatenate(bary)


class Grid:
    def __init__(self, points, size):
        self.points, self.size, self.cells = points, size, {}
        for i, key in enumerate(map(tuple, np.floor(points / size).astype(int))):
            self.cells.setdefault(key, []).append(i)

    def near(self, p):
        """Points within a cell's size; the nearest one if there is none."""
        c, found, reach = np.floor(p / self.size).astype(int), [], 1
        while True:
            keys = ((c[0] + i, c[1] + j, c[2] + k) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1) for k in range(-reach, reach + 1))
            found = [i for key in keys for i in self.cells.get(key, ())]
            if found:
                d = np.linalg.norm(self.points[found] - p, axis=1)
                return np.array(found)[d <= max(self.size, d.min() * 1.001)]
            reach += 1


def around(v, near, length, boundary):
    """The boundary vertices nearest to v through the flesh."""
    way, queue, limit, found = {v: 0.0}, [(0.0, v)], np.inf, []
    while queue:
        d, u = heapq.heappop(queue)
        if d > limit:
            break
        if d > way[u]:
            continue
        if boundary[u]:
            found.append(u)
            limit = min(limit, 1.5 * d + length)
        for w, l in near[u]:
            if d + l < way.get(w, np.inf):
                way[w] = d + l
                heapq.heappush(queue, (d + l, w))
    return found


def check(path, folder):
    load = lambda name: np.load(os.path.join(folder, name + ".npy"))
    rest, tets, bone, joint, merged, skin, role = map(load, ("rest", "tets", "bone", "joint", "merged", "skin", "role"))
    tets = tets.astype(int)
    g = gltf.Gltf(path)
    names = [n.get("name", str(i)) for i, n in enumerate(g.j["nodes"])]
    w, tri = weights(g, merged), triangles(g)
    tri = tri[(role[tri] == 0).all(1)]
    ends = np.array([(a, b) for a in range(4) for b in range(a)])
    edges = np.unique(np.sort(tets[:, ends].reshape(-1, 2), 1), axis=0)
    lengths = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
    edge = float(lengths.mean())
    near = [[] for _ in rest]
    for (a, b), l in zip(edges.tolist(), lengths.tolist()):
        near[a].append((b, l))
        near[b].append((a, l))
    boundary = np.zeros(len(rest), bool)
    boundary[load("surface").ravel()] = True
    at, bary = samples(skin, tri, edge)
    grid = Grid(np.einsum("nk,nkc->nc", bary, skin[tri[at]]), edge)
    skin_of = {}

    def follows(u, node):
        if u not in skin_of:
            k = grid.near(rest[u])
            skin_of[u] = np.einsum("nk,nkj->nj", bary[k], w[tri[at[k]]]).max(0)
        return skin_of[u][node] >= LEAST

    foreign = {}
    for v in np.where(bone >= 0)[0]:
        node = joint[bone[v], 0]
        if not follows(int(v), node) and not any(follows(u, node) for u in around(int(v), near, edge, boundary)):
            foreign[names[node]] = foreign.get(names[node], 0) + 1
    held = np.where(bone[tets] >= 0, joint[np.maximum(bone[tets], 0), 0], -1)
    stuck = int(((held >= 0).all(1) & (held != held[:, :1]).any(1)).sum())
    count = sum(foreign.values())
    print(f"{os.path.basename(path):32s} {len(tets):6d} tets, {int((bone >= 0).sum()):5d} held, {count} foreign, {stuck} stuck", foreign or "", flush=True)
    return count + stuck


def run(supple, out, paths):
    bad = 0
    for path in paths:
        folder = os.path.join(out, os.path.splitext(os.path.basename(path))[0])
        os.makedirs(folder, exist_ok=True)
        for old in glob.glob(os.path.join(folder, "*.npy")):
            os.remove(old)
        words = [supple, "skin", path, "--method", "projective", "--frames", "0:0", "--threads", "1", "--dump-sim", folder, "-o", os.path.join(folder, "out.npy")]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            refused = "no flesh" in done.stderr
            print(f"{os.path.basename(path):32s} {'skipped' if refused else 'FAILED'}: {(done.stderr.strip().splitlines() or [''])[-1][:120]}")
            bad += not refused
        else:
            bad += check(path, folder) > 0
    return bad


def main():
    if len(sys.argv) > 4 and sys.argv[1] == "--run":
        return run(sys.argv[2], sys.argv[3], sys.argv[4:])
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    return check(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    sys.exit(int(main() > 0))
