"""Closed surfaces of round limbs: a smooth union of cones of two radii, cut out of a grid by surface nets, and weights by distance."""
import numpy as np

from .character import snap


def cone_distance(p, a, b, ra, rb):
    """Roughly the distance to a capsule whose radius runs from ra to rb."""
    ab = b - a
    t = np.clip((p - a) @ ab / max(float(ab @ ab), 1e-30), 0, 1)
    return np.linalg.norm(p - a - t[:, None] * ab, axis=1) - (ra + t * (rb - ra))


def union_distance(p, cones, blend):
    """The smooth union (polynomial minimum) of cones (a, b, ra, rb)."""
    out = np.full(len(p), np.inf)
    for a, b, ra, rb in cones:
        d = cone_distance(p, np.asarray(a, float), np.asarray(b, float), ra, rb)
        h = np.maximum(blend - np.abs(d - out), 0) / blend
        out = np.where(np.isinf(out), d, np.minimum(out, d) - h * h * blend / 4)
    return out


def grid_axes(cones, cell):
    """Even axes around the cones, with a cell to spare."""
    ends = np.array([np.asarray(p, float) + s * r for a, b, ra, rb in cones for p, r in ((a, ra), (b, rb)) for s in (-1, 1)])
    low, high = ends.min(0) - 1.5 * cell, ends.max(0) + 1.5 * cell
    return [low[k] + cell * np.arange(int(np.ceil((high[k] - low[k]) / cell)) + 1) for k in range(3)]


EDGES = [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)]


def net_vertices(value, axes):
    """One vertex for each cell that the surface crosses: the middle of its crossings. Returns (positions, index by cell)."""
    shape = tuple(n - 1 for n in value.shape)
    corner = [value[i:i + shape[0], j:j + shape[1], k:k + shape[2]] for k in (0, 1) for j in (0, 1) for i in (0, 1)]
    inside = sum((c < 0).astype(int) for c in corner)
    cells = np.argwhere((inside > 0) & (inside < 8))
    v = np.array([c[tuple(cells.T)] for c in corner])
    low = np.array([axes[k][cells[:, k]] for k in range(3)]).T
    size = np.array([axes[k][cells[:, k] + 1] for k in range(3)]).T - low
    total, count = np.zeros((len(cells), 3)), np.zeros(len(cells))
    for a, b in EDGES:
        crossed = (v[a] < 0) != (v[b] < 0)
        t = np.where(crossed, v[a] / np.where(crossed, v[a] - v[b], 1), 0)[:, None]
        pa, pb = (np.array([k & 1, k >> 1 & 1, k >> 2 & 1], float) for k in (a, b))
        total += np.where(crossed[:, None], pa + t * (pb - pa), 0)
        count += crossed
    index = np.full(shape, -1)
    index[tuple(cells.T)] = np.arange(len(cells))
    return low + size * total / count[:, None], index


def net_quads(value, index):
    """A quadrilateral around each grid edge that the surface crosses, counter-clockwise from outside."""
    quads = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        inside = value < 0
        head = np.take(inside, range(value.shape[axis] - 1), axis)
        tail = np.take(inside, range(1, value.shape[axis]), axis)
        for at in np.argwhere(head != tail):
            cell = []
            for du, dv in ((1, 1), (0, 1), (0, 0), (1, 0)):
                k = at.copy()
                k[u] -= du
                k[v] -= dv
                cell.append(index[tuple(k)])
            quads.append(cell if head[tuple(at)] else cell[::-1])
    return np.array(quads)


def surface_nets(distance, axes, pull=2):
    """(positions, quads) of the surface where `distance` is zero; `pull`: how often vertices are pulled onto it."""
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    value = distance(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    position, index = net_vertices(value, axes)
    step = 1e-3 * (axes[0][-1] - axes[0][0])
    for _ in range(pull):
        d = distance(position)
        slope = np.array([distance(position + step * e) - distance(position - step * e) for e in np.eye(3)]).T / (2 * step)
        position = position - 0.8 * d[:, None] * slope / np.maximum((slope * slope).sum(1), 0.25)[:, None]
    return position, net_quads(value, index)


def cut_quads(position, quads):
    """Triangles: each quadrilateral is cut along its shorter diagonal."""
    p = position[quads]
    short = np.linalg.norm(p[:, 0] - p[:, 2], axis=1) <= np.linalg.norm(p[:, 1] - p[:, 3], axis=1) * (1 + 1e-9)
    a = np.where(short[:, None], quads[:, [0, 1, 2]], quads[:, [0, 1, 3]])
    b = np.where(short[:, None], quads[:, [0, 2, 3]], quads[:, [1, 2, 3]])
    return np.stack([a, b], 1).reshape(-1, 3)


def round_body(cones, cell, blend, axes=None, grid=2.0 ** -16):
    """(positions, triangles) of the smooth union of cones; it must come out closed and manifold."""
    position, quads = surface_nets(lambda p: union_distance(p, cones, blend), axes or grid_axes(cones, cell))
    position = snap(position, grid)
    triangles = cut_quads(position, quads)
    check_closed(triangles)
    return position, triangles


def check_closed(triangles):
    """Every edge is used once in each direction, and the triangles about a vertex form one fan."""
    edges = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    key = edges[:, 0] * (triangles.max() + 1) + edges[:, 1]
    back = edges[:, 1] * (triangles.max() + 1) + edges[:, 0]
    assert len(np.unique(key)) == len(key) and np.array_equal(np.sort(key), np.sort(back)), "the surface is not a closed manifold"


# ---- weights --------------------------------------------------------------------------------------------------------

def segment_distance(p, a, b):
    return cone_distance(p, a, b, 0.0, 0.0)


def weights_by_distance(position, segments, parent, reach, most=4):
    """(joints, weights): each vertex follows the nearest bone, and the bones next to it in the skeleton where they are less than
    `reach` farther away. `segments`: (joint, a, b); `parent`: of each joint, by place in the list of joints."""
    d = np.array([segment_distance(position, np.asarray(a, float), np.asarray(b, float)) for _, a, b in segments]).T
    joint = np.array([s[0] for s in segments])
    by_joint = np.full((len(position), len(parent)), np.inf)
    for k, j in enumerate(joint):
        by_joint[:, j] = np.minimum(by_joint[:, j], d[:, k])
    nearest = np.argmin(np.round(by_joint, 9), axis=1)
    beside = np.eye(len(parent), dtype=bool)
    for j, p in enumerate(parent):
        if p >= 0:
            beside[j, p] = beside[p, j] = True
    excess = by_joint - by_joint.min(1, keepdims=True)
    w = np.where(beside[nearest], np.maximum(0, 1 - excess / reach) ** 2, 0)
    order = np.argsort(-np.round(w, 7), axis=1, kind="stable")[:, :most]
    w = np.take_along_axis(w, order, 1)
    return np.where(w > 0, order, 0), w / w.sum(1, keepdims=True)
