"""Characters as people really have them: a mannequin of shells, a mech of rigid pieces, a body in a dress, a fish that is open."""
import numpy as np

from .bodies import chain
from .character import Character, Part, normals, snap, turn
from .parts import GROUPS, ball, box, cut, swing_clip
from .solid import check_closed


def ring_tube(a, b, ra, rb, around=10, rows=3, closed=True):
    """A tube from a to b with round ends; without them where it is to be open."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    axis = (b - a) / np.linalg.norm(b - a)
    side = np.cross(axis, [0, 0, 1.0] if abs(axis[2]) < 0.9 else [1.0, 0, 0])
    side /= np.linalg.norm(side)
    other = np.cross(axis, side)
    stations = [(a + (b - a) * t, ra + (rb - ra) * t) for t in np.linspace(0, 1, rows)]
    if closed:
        stations = [(a - 0.7 * ra * axis, 0.7 * ra)] + stations + [(b + 0.7 * rb * axis, 0.7 * rb)]
    angle = 2 * np.pi * np.arange(around) / around
    position = [p + r * (np.cos(t) * side + np.sin(t) * other) for p, r in stations for t in angle]
    triangles = []
    for k in range(len(stations) - 1):
        for i in range(around):
            n, low, high = (i + 1) % around, k * around, (k + 1) * around
            triangles += [(low + i, low + n, high + n), (low + i, high + n, high + i)]
    if closed:
        position += [a - ra * axis, b + rb * axis]
        first, last, top = len(position) - 2, len(position) - 1, (len(stations) - 1) * around
        triangles += [t for i in range(around) for n in [(i + 1) % around] for t in ((first, n, i), (last, top + i, top + n))]
        check_closed(np.array(triangles))
    return snap(position), np.array(triangles)


def joined(c, name, pieces):
    """One part of pieces (position, triangles, joint by name, or joints and weights)."""
    place = {c.nodes[j].name: k for k, j in enumerate(c.joint)}
    position, triangles, joints, weights, first = [], [], [], [], 0
    for p, t, skin in pieces:
        if isinstance(skin, str):
            skin = np.tile([place[skin], 0, 0, 0], (len(p), 1)), np.tile([1.0, 0, 0, 0], (len(p), 1))
        position.append(p)
        triangles.append(np.asarray(t) + first)
        joints.append(skin[0])
        weights.append(skin[1])
        first += len(p)
    position, triangles = np.concatenate(position), np.concatenate(triangles)
    part = Part(name, position, triangles, np.concatenate(joints), np.concatenate(weights), snap(normals(position, triangles), 2.0 ** -10))
    part.bytes = True
    return part


def bones_of(hero):
    """(joint, a, b): from each joint of the hero to its child or a little on."""
    world = hero.world()
    for k, node in enumerate(hero.nodes):
        children = [i for i, n in enumerate(hero.nodes) if n.parent == k]
        a = world[k][:3, 3]
        if children:
            yield node.name, a, world[children[0]][:3, 3]
        else:
            above = world[node.parent][:3, 3]
            yield node.name, a, a + 0.06 * (a - above) / np.linalg.norm(a - above) if "head" not in node.name else a + [0, 0.14, 0]


THICK = {"hips": 0.12, "spine": 0.11, "chest": 0.13, "neck": 0.05, "head": 0.08, "shoulder": 0.05, "upper_arm": 0.05, "forearm": 0.04,
         "hand": 0.035, "fingers": 0.025, "thumb": 0.016, "thigh": 0.075, "shin": 0.055, "foot": 0.04, "toes": 0.035}


def skeleton_of(hero, name):
    c = hero.copy()
    c.name, c.parts = name, []
    c.clips = [clip for clip in c.clips if clip[0] == "walk"]
    return c


def make_mannequin(hero):
    """Each limb is a closed shell that one joint moves; between two shells, inside both, lies a ball."""
    c, shells, balls = skeleton_of(hero, "mannequin"), [], []
    for name, a, b in bones_of(hero):
        r = THICK[name.split(".")[0]]
        gap = min(0.25 * np.linalg.norm(b - a), r)
        way = (b - a) / np.linalg.norm(b - a)
        shells.append((*ring_tube(a + gap * way, b - 0.3 * gap * way, r, 0.85 * r, rows=2), name))
        balls.append((*ball(a, 0.75 * r, 5, 8), name))
    c.parts = [joined(c, "mannequin", shells + balls)]
    return c


def make_mech(hero):
    """Forty closed boxes in one mesh, each moved by one joint."""
    c, pieces, plates = skeleton_of(hero, "mech"), [], []
    for name, a, b in bones_of(hero):
        r = 0.8 * THICK[name.split(".")[0]]
        low, high = np.minimum(a, b) - r, np.maximum(a, b) + r
        pieces.append((*box(snap(low), snap(high)), name))
        if len(plates) < 15 and r > 0.027:  # a plate in front
            front = np.array([0, 0, 1.6 * r])
            plates.append((*box(snap((a + b) / 2 + front - 0.5 * r), snap((a + b) / 2 + front + 0.5 * r)), name))
    assert len(pieces + plates) == 40
    c.parts = [joined(c, "mech", pieces + plates)]
    return c


def dress_weights(c, position):
    """Chest, spine and hips one below the other; the thighs share what hangs below the hips."""
    place = {c.nodes[j].name: k for k, j in enumerate(c.joint)}
    y, x = position[:, 1], position[:, 0]
    w = np.zeros((len(position), len(c.joint)))
    ramp = lambda v, low, high: np.clip((v - low) / (high - low), 0, 1)  # noqa: E731
    chest, spine, hips = ramp(y, 1.1, 1.25), ramp(y, 1.0, 1.1), ramp(y, 0.8, 0.95)
    left = ramp(x, -0.12, 0.12)
    w[:, place["chest"]], w[:, place["spine"]] = chest, (1 - chest) * spine
    rest = (1 - chest) * (1 - spine)
    w[:, place["hips"]] = rest * hips
    w[:, place["thigh.L"]], w[:, place["thigh.R"]] = rest * (1 - hips) * left, rest * (1 - hips) * (1 - left)
    order = np.argsort(-np.round(w, 7), axis=1, kind="stable")[:, :4]
    taken = np.take_along_axis(w, order, 1)
    whole = np.round(255 * taken / taken.sum(1, keepdims=True))
    whole[:, 0] += 255 - whole.sum(1)
    return order, whole / 255


def make_dress(hero):
    """Head, arms and legs without a trunk, and a dress that is open above and below."""
    c = skeleton_of(hero, "dress")
    c.materials = ["skin", "cloth"]
    limbs = {part.name: part for part in cut(hero, drawn_in=0)}
    c.parts = [limbs[name] for name in GROUPS]
    around, rows = 24, [(1.44, 0.1), (1.36, 0.17), (1.2, 0.165), (1.05, 0.16), (0.92, 0.19), (0.75, 0.23), (0.6, 0.27), (0.5, 0.3)]
    angle = 2 * np.pi * np.arange(around) / around
    position = snap([(r * np.cos(t), y, 0.8 * r * np.sin(t) - 0.01) for y, r in rows for t in angle])
    triangles = []
    for k in range(len(rows) - 1):
        for i in range(around):
            n, low, high = (i + 1) % around, k * around, (k + 1) * around
            triangles += [(low + i, low + n, high + n), (low + i, high + n, high + i)]
    dress = joined(c, "dress", [(position, triangles, dress_weights(c, position))])
    dress.material = 1
    c.parts.append(dress)
    for part in c.parts:
        part.bytes = True
    return c


def fish_weights(position):
    """Along z: head, three of the trunk, tail; joints 0 to 4."""
    at = np.clip((0.35 - position[:, 2]) / 0.2, 0, 3.999)
    low = at.astype(int)
    w = np.round(255 * (at - low)) / 255
    zero = np.zeros(len(position), int)
    return np.stack([low, low + 1, zero, zero], 1), np.stack([1 - w, w, 0 * w, 0 * w], 1)


def make_fish():
    """A trunk that is open at the mouth, at the belly and before the fin, a thin fin, two closed eyes; nearly a metre long."""
    c = Character("fish")
    chain(c, ["head", "trunk1", "trunk2", "trunk3", "tail"], [(0, 0, 0.35 - 0.2 * k) for k in range(5)], -1)
    stations = [(0.4, 0.12), (0.31, 0.15), (0.2, 0.17), (0.08, 0.17), (-0.08, 0.15), (-0.22, 0.12), (-0.34, 0.09)]
    around = 16
    angle = 2 * np.pi * np.arange(around) / around
    trunk = snap([(0.6 * r * np.cos(t), r * np.sin(t), z) for z, r in stations for t in angle])
    faces = []
    for k in range(len(stations) - 1):
        for i in (*range(10), *range(14, around)):
            n, low, high = (i + 1) % around, k * around, (k + 1) * around
            faces += [(low + i, high + n, low + n), (low + i, high + i, high + n)]
    fin = snap([(0, y * s, z) for z, y in ((-0.34, 0.05), (-0.42, 0.12), (-0.5, 0.16)) for s in (-1, -0.3, 0.3, 1)])
    web = [t for k in (0, 4) for i in range(3) for a in [k + i] for t in ((a, a + 4, a + 5), (a, a + 5, a + 1))]
    eyes = [(*ball((0.075 * s, 0.05, 0.33), 0.022, 5, 8), "head") for s in (-1, 1)]
    c.parts = [joined(c, "trunk", [(trunk, faces, fish_weights(trunk))]), joined(c, "fin", [(fin, web, fish_weights(fin))]), joined(c, "eyes", eyes)]
    times = snap(np.linspace(0, 1, 13))
    c.clips = [("Swim", [(c.joint[k], "rotation", times, snap([turn((0, 1, 0), 9 * np.sin(2 * np.pi * t - 0.9 * k)) for t in times], 2.0 ** -20))
                         for k in range(5)]),
               ("Bite", swing_clip(c, 0.5, {"head": ((1, 0, 0), 15)}))]
    return c
