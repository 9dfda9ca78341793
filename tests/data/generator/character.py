"""A character in memory: nodes, skinned parts and clips, and the arithmetic of transforms that the fixtures need."""
import copy

import numpy as np

GRID = 2.0 ** -16  # numbers are written as multiples of this: no machine's last bit gets into a file

FINE = 2.0 ** -20  # of times, turns and matrices


def snap(values, grid=GRID):
    """Rounded to the grid, without negative zeros."""
    return np.round(np.asarray(values, float) / grid) * grid + 0.0


class Node:
    def __init__(self, name, parent=-1, translation=(0, 0, 0), rotation=(0, 0, 0, 1), scale=(1, 1, 1)):
        self.name, self.parent = name, parent
        self.translation = np.array(translation, float)
        self.rotation = np.array(rotation, float)  # x y z w
        self.scale = np.array(scale, float)

    def matrix(self):
        m = np.eye(4)
        m[:3, :3] = quat_matrix(self.rotation) * self.scale
        m[:3, 3] = self.translation
        return m


class Part:
    """A surface. Skinned: `joints` are places in the character's list of joints. Rigid: `node` carries it."""

    def __init__(self, name, position, triangles, joints=None, weights=None, normal=None, uv=None, node=None, material=0):
        self.name, self.position, self.triangles = name, np.asarray(position, float), np.asarray(triangles, int)
        self.joints, self.weights, self.normal, self.uv = joints, weights, normal, uv
        self.node, self.material = node, material
        self.bytes = False  # weights are written as 255ths


class Character:
    """`joint`: node of each joint. `inverse_bind`: 4 x 4 of each, None: from the rest pose. `clip`: (name, channels), a channel
    (node, path, times, values)."""

    def __init__(self, name):
        self.name, self.nodes, self.parts, self.joint, self.clips = name, [], [], [], []
        self.inverse_bind = None
        self.materials = ["skin"]

    def copy(self):
        return copy.deepcopy(self)

    def find(self, name):
        return next(i for i, node in enumerate(self.nodes) if node.name == name)

    def add(self, name, parent, place):
        """A joint at a place in the world, without a turn of its own."""
        above = self.nodes[parent].place if parent >= 0 else np.zeros(3)
        node = Node(name, parent, np.asarray(place, float) - above)
        node.place = np.asarray(place, float)
        self.nodes.append(node)
        self.joint.append(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def world(self, local=None):
        """World matrix of every node; `local`: matrices in place of the rest pose's."""
        out = [None] * len(self.nodes)

        def get(i):
            if out[i] is None:
                m = local[i] if local and i in local else self.nodes[i].matrix()
                out[i] = m if self.nodes[i].parent < 0 else get(self.nodes[i].parent) @ m
            return out[i]
        return [get(i) for i in range(len(self.nodes))]

    def bind(self):
        """The inverse bind matrices that the file is to have."""
        world = self.world()
        return self.inverse_bind if self.inverse_bind is not None else [np.linalg.inv(world[j]) for j in self.joint]

    def pose(self, clip, t):
        """Local matrices of the moved nodes at a time of a clip: keys are met or blended linearly, quaternions then made unit."""
        moved = {}
        for node, path, times, values in self.clips[clip][1]:
            k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(times) - 2, 0)))
            s = 0.0 if len(times) < 2 else float(np.clip((t - times[k]) / (times[k + 1] - times[k]), 0, 1))
            v = values[k] if s == 0 else (1 - s) * values[k] + s * values[k + 1]
            moved.setdefault(node, copy.copy(self.nodes[node]))
            setattr(moved[node], path, v / np.linalg.norm(v) if path == "rotation" else v)
        return {i: node.matrix() for i, node in moved.items()}


def quat_matrix(q):
    x, y, z, w = np.asarray(q, float) / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def quat_of(m):
    """The quaternion of a rotation, by its largest component."""
    q = np.array([m[0, 0] - m[1, 1] - m[2, 2], m[1, 1] - m[0, 0] - m[2, 2], m[2, 2] - m[0, 0] - m[1, 1], np.trace(m)])
    k = int(np.argmax(q))
    rows = [[1 + q[0], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2]],
            [m[0, 1] + m[1, 0], 1 + q[1], m[1, 2] + m[2, 1], m[0, 2] - m[2, 0]],
            [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1 + q[2], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], 1 + q[3]]]
    return np.array(rows[k]) / np.linalg.norm(rows[k])


def turn(axis, degrees):
    """The quaternion of a turn about an axis."""
    axis, half = np.asarray(axis, float), np.radians(degrees) / 2
    return np.append(axis / np.linalg.norm(axis) * np.sin(half), np.cos(half))


def swing(a, b):
    """The shortest rotation that takes one direction to another."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    v, c = np.cross(a, b), float(a @ b)
    k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + k + k @ k / (1 + c)


def multiply(a, b):
    """The turn b, then the turn a."""
    x, y, z, w = a
    return np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]]) @ b


def normals(position, triangles):
    """Unit vertex normals, by area."""
    corner = position[triangles]
    face = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    out = np.zeros_like(position)
    for k in range(3):
        np.add.at(out, triangles[:, k], face)
    length = np.linalg.norm(out, axis=1, keepdims=True)
    return np.where(length > 1e-12, out / np.maximum(length, 1e-12), [0.0, 1.0, 0.0])


def weld(position, triangles):
    """(places, triangles, of each vertex its place): one vertex for each place, in the order in which places first occur."""
    _, first, place = np.unique(position, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    place = rank[place.reshape(-1)]
    return position[first[order]], place[triangles], place


def welded(c):
    """The character with one vertex for each place, without normals and texture coordinates."""
    out = c.copy()
    for part in out.parts:
        part.position, part.triangles, place = weld(part.position, part.triangles)
        first = np.unique(place, return_index=True)[1]
        part.joints, part.weights, part.normal, part.uv = part.joints[first], part.weights[first], None, None
    return out
