"""The hero cut into parts, with things that hang on bones."""
import numpy as np

from .character import FINE, Part, normals, snap, turn, welded
from .solid import check_closed

GROUPS = {"Head": ("head", "neck"), "ArmLeft": (".L", "upper_arm", "forearm", "hand", "fingers", "thumb"),
          "ArmRight": (".R", "upper_arm", "forearm", "hand", "fingers", "thumb"), "LegLeft": (".L", "thigh", "shin", "foot", "toes"),
          "LegRight": (".R", "thigh", "shin", "foot", "toes")}


def group_of(name):
    for group, (first, *rest) in GROUPS.items():
        if (first[0] == "." and name.endswith(first) and name.split(".")[0] in rest) or (first[0] != "." and name in (first, *rest)):
            return group
    return "Body"


def borders(triangles):
    """The vertices of edges that one triangle has to itself."""
    edges = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    low, high = edges.min(1), edges.max(1)
    _, index, count = np.unique(low * (high.max() + 1) + high, return_inverse=True, return_counts=True)
    return np.unique(edges[count[index] == 1])


def take(part, name, chosen):
    """A part of the triangles that are chosen, with the vertices that they use."""
    used, triangles = np.unique(part.triangles[chosen], return_inverse=True)
    return Part(name, part.position[used], triangles.reshape(-1, 3), part.joints[used], part.weights[used])


def cut(c, drawn_in=0.12):
    """Six parts by the joint that moves each triangle most; the rims of limbs and head are drawn in, as those of sleeves are not."""
    part = c.parts[0]
    strongest = [group_of(c.nodes[c.joint[j]].name) for j in part.joints[np.arange(len(part.joints)), np.argmax(part.weights, axis=1)]]
    names = ["Body", *GROUPS]
    label = np.array([names.index(g) for g in strongest])
    corner = np.sort(label[part.triangles], axis=1)[:, 1]  # the middle one: that of two corners, where two agree
    out = []
    for k, name in enumerate(names):
        piece = take(part, name, corner == k)
        rim = borders(piece.triangles)
        if name != "Body":
            piece.position[rim] = snap(piece.position[rim] + drawn_in * (piece.position[rim].mean(0) - piece.position[rim]))
        piece.normal = snap(normals(piece.position, piece.triangles), 2.0 ** -10)
        out.append(piece)
    return out


def box(low, high):
    """A closed box of twelve triangles."""
    position = np.array([[(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]] for k in (0, 1) for j in (0, 1) for i in (0, 1)], float)
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    check_closed(triangles)
    return position, triangles


def ball(centre, radius, rings=6, around=10):
    """A closed ball, its poles along y."""
    centre = np.asarray(centre, float)
    position = [centre + [0, radius, 0]]
    for i in range(1, rings):
        t = np.pi * i / rings
        position += [centre + radius * np.array([np.sin(t) * np.cos(p), np.cos(t), np.sin(t) * np.sin(p)])
                     for p in 2 * np.pi * np.arange(around) / around]
    position.append(centre - [0, radius, 0])
    triangles, last = [], len(position) - 1
    for k in range(around):
        n = (k + 1) % around
        triangles.append((0, 1 + n, 1 + k))
        for i in range(rings - 2):
            a, b = 1 + i * around, 1 + (i + 1) * around
            triangles += [(a + k, a + n, b + n), (a + k, b + n, b + k)]
        triangles.append((last, last - around + k, last - around + n))
    check_closed(np.array(triangles))
    return snap(position), np.array(triangles)


def sheet(width, height, columns, rows):
    """An open sheet in the plane z = 0, hanging down from the origin."""
    position = [((i / columns - 0.5) * width, -j / rows * height, 0) for j in range(rows + 1) for i in range(columns + 1)]
    triangles = []
    for j in range(rows):
        for i in range(columns):
            a = j * (columns + 1) + i
            b = a + columns + 1
            triangles += [(a, b, b + 1), (a, b + 1, a + 1)]
    return np.array(position), np.array(triangles)


def prop(c, name, bone, position, triangles, material=1):
    position = snap(position)
    return Part(name, position, triangles, normal=snap(normals(position, triangles), 2.0 ** -10), node=c.find(bone), material=material)


def props(c):
    """Rigid things that hang on bones: a hat, an axe, a shield, a cape that is an open sheet."""
    hat, hat_faces = ball((0, 0.21, 0.01), 0.1)
    cape, cape_faces = sheet(0.4, 0.7, 5, 6)
    return [prop(c, "Hat", "head", hat * [1, 0.8, 1], hat_faces), prop(c, "Axe", "hand.R", *box((-0.12, -0.08, -0.02), (-0.08, 0.35, 0.02))),
            prop(c, "Shield", "forearm.L", *box((0.0, -0.25, 0.08), (0.3, 0.1, 0.1))),
            prop(c, "Cape", "chest", cape + [0, 0.2, -0.16], cape_faces)]


# ---- clips ----------------------------------------------------------------------------------------------------------

def every(channels, step, speed=1.0):
    """Every so many keys, and the last."""
    out = []
    for node, path, times, values in channels:
        keys = np.unique(np.append(np.arange(0, len(times), step), len(times) - 1))
        out.append((node, path, snap(times[keys] / speed, FINE), values[keys]))
    return out


def single(channels, at):
    """One pose: one key for each channel, at time zero."""
    return [(node, path, np.zeros(1), values[at:at + 1]) for node, path, times, values in channels]


def backwards(channels):
    return [(node, path, snap(times[-1] - times[::-1], FINE), values[::-1]) for node, path, times, values in channels]


def swing_clip(c, seconds, turns):
    """A clip of single joints that swing out and back: {name: (axis, degrees)}."""
    times = snap(np.linspace(0, seconds, 9))
    curve = np.sin(np.pi * np.linspace(0, 1, 9)) ** 2
    return [(c.find(name), "rotation", times, snap([turn(axis, degrees * s) for s in curve], FINE))
            for name, (axis, degrees) in turns.items()]


def clips(c):
    walk, reach, twist = (dict(c.clips)[name] for name in ("walk", "reach", "twist"))
    x, z = (1, 0, 0), (0, 0, 1)
    up = {"upper_arm.L": (z, 110), "upper_arm.R": (z, -110)}
    sit = {"thigh.L": (x, -85), "thigh.R": (x, -85), "shin.L": (x, 80), "shin.R": (x, 80)}
    return [("Walking_A", every(walk, 3)), ("Walking_B", every(walk, 3, 1.5)), ("Walking_Backwards", backwards(every(walk, 3))),
            ("Reach", every(reach, 6)), ("Twist", every(twist, 6)), ("Cheer", swing_clip(c, 1.5, up)), ("Sit", swing_clip(c, 2, sit)),
            ("Nod", swing_clip(c, 0.4, {"head": (x, 25)})), ("Bow", swing_clip(c, 1, {"spine": (x, 30), "chest": (x, 25)})),
            ("Reach_Pose", single(reach, 60)), ("T_Pose", single(swing_clip(c, 1, {"upper_arm.L": (z, 40), "upper_arm.R": (z, -40)}), 4)),
            ("Walk_Pose", single(walk, 0))]


def make_parts(hero):
    """Six open parts of one skin, four rigid things, twelve clips, three of them single poses of length zero."""
    c = hero.copy()
    c.name, c.materials = "parts", ["skin", "things"]
    c.parts = cut(welded(hero)) + props(hero)
    c.clips = clips(hero)
    return c
