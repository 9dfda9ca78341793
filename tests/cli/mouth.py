"""A snout whose jaws are closed in the bind pose: the lips' two sheets lie at the same places, vertex upon vertex, and two joints move them."""
import numpy as np

from scaled import write

ALONG, ACROSS, HIGH = 24, 8, 5
CUBE = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
SIDES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (3, 7, 6, 2), (0, 4, 7, 3), (1, 2, 6, 5))


def shape():
    """Positions, the jaw's weights, and triangles of the boundary of two slabs of cubes that are one behind x = 0."""
    x, z, numbers, points, jaw, faces = np.linspace(-1.5, 1.2, ALONG + 1), np.linspace(-0.45, 0.45, ACROSS + 1), {}, [], [], {}

    def vertex(i, j, k, side):
        key = (i, j, k, side if j > 0 or x[i] > 1e-9 else 0)
        if key not in numbers:
            numbers[key] = len(points)
            points.append((x[i], side * 0.1 * j, z[k]))
            jaw.append(min(max((x[i] + 0.15) / 0.3, 0), 1) * {1: 0, 0: 0.5, -1: 1}[key[3]])
        return numbers[key]

    for side in (1, -1):
        for i, j, k in np.ndindex(ALONG, HIGH, ACROSS):
            corner = [vertex(i + a, j + b, k + c, side) for a, b, c in CUBE]
            for quad in SIDES:
                face = [corner[n] for n in quad[::side]]
                faces.setdefault(tuple(sorted(face)), []).append(face)
    quads = np.array([found[0] for found in faces.values() if len(found) == 1])
    used, quads = np.unique(quads, return_inverse=True)
    quads = quads.reshape(-1, 4)
    return np.array(points, np.float32)[used], np.array(jaw, np.float32)[used], np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def make(path):
    """Writes it, with a clip of a second that opens the jaw by 35 degrees; returns which vertices are the tips of the two lips."""
    points, jaw, triangles = shape()
    weights = np.stack([1 - jaw, jaw, 0 * jaw, 0 * jaw], 1)
    bind = np.stack([np.eye(4), np.eye(4)]).astype(np.float32)
    bind[0, 3, 0] = 1.5
    half = np.radians(-35) / 2
    arrays = ((points, 5126, "VEC3"), (triangles.astype(np.uint32).reshape(-1), 5125, "SCALAR"),
              (np.tile(np.array([0, 1, 0, 0], np.uint8), (len(points), 1)), 5121, "VEC4"), (weights, 5126, "VEC4"), (bind, 5126, "MAT4"),
              (np.array([0, 1], np.float32), 5126, "SCALAR"), (np.array([[0, 0, 0, 1], [0, 0, np.sin(half), np.cos(half)]], np.float32), 5126, "VEC4"))
    binary, views, accessors = b"", [], []
    for array, kind, name in arrays:
        views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": array.nbytes})
        accessors.append({"bufferView": len(views) - 1, "componentType": kind, "count": len(array), "type": name})
        binary += array.tobytes() + b"\0" * (-array.nbytes % 4)
    accessors[0].update(min=points.min(0).tolist(), max=points.max(0).tolist())
    accessors[5].update(min=[0], max=[1])
    write(path, {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, 2]}], "buffers": [{"byteLength": len(binary)}],
                 "nodes": [{"name": "Head", "children": [1], "translation": [-1.5, 0, 0]}, {"name": "Jaw", "translation": [1.5, 0, 0]},
                           {"name": "snout", "mesh": 0, "skin": 0}],
                 "meshes": [{"name": "snout", "primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3}, "indices": 1}]}],
                 "skins": [{"joints": [0, 1], "inverseBindMatrices": 4}], "bufferViews": views, "accessors": accessors,
                 "animations": [{"name": "bite", "channels": [{"sampler": 0, "target": {"node": 1, "path": "rotation"}}],
                                 "samplers": [{"input": 5, "output": 6}]}]}, binary)
    tip = (points[:, 0] > 1.1) & (points[:, 1] == 0)
    return tip & (jaw < 0.5), tip & (jaw > 0.5)
