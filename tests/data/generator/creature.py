"""A two-legged animal with a tail, for the FBX exporter: materials by face, up to seven influences, weights that do not sum to one."""
import numpy as np

from .bodies import chain
from .character import Character, Part, snap, turn
from .solid import round_body, weights_by_distance

SPINE = [("pelvis", (0, 2.6, 0)), ("belly", (0, 2.7, 0.7)), ("breast", (0, 2.9, 1.4)), ("neck1", (0, 3.3, 2.0)), ("neck2", (0, 3.8, 2.4)),
         ("skull", (0, 4.1, 2.8))]
TAIL = [(f"tail{k + 1}", (0, 2.6 - 0.12 * k, -0.7 * (k + 1))) for k in range(4)]
LEG = [("thigh", (0.75, 2.3, 0)), ("shin", (0.85, 1.4, 0.35)), ("foot", (0.85, 0.55, -0.05)), ("claw", (0.85, 0.3, 0.4))]
ARM = [("arm", (0.72, 2.6, 1.7)), ("wrist", (0.82, 2.2, 2.1))]
RADIUS = {"pelvis": (0.72, 0.8), "belly": (0.8, 0.75), "breast": (0.72, 0.5), "neck1": (0.5, 0.42), "neck2": (0.42, 0.45), "skull": (0.45, 0.3),
          "tail1": (0.5, 0.42), "tail2": (0.42, 0.35), "tail3": (0.35, 0.3), "tail4": (0.3, 0.27), "thigh": (0.45, 0.33), "shin": (0.33, 0.27),
          "foot": (0.27, 0.27), "claw": (0.28, 0.26), "arm": (0.26, 0.25), "wrist": (0.25, 0.25)}


def skeleton(c):
    root = c.add("root", -1, (0, 0, 0))
    ends = {"skull": (0, 4.0, 3.6), "tail4": (0, 2.1, -3.6), "claw": (0, 0.28, 0.8), "wrist": (0, 2.0, 2.4)}
    bones = []
    for rows, above, sides in ((SPINE, "root", ("",)), (TAIL, "pelvis", ("",)), (LEG, "pelvis", ("_L", "_R")), (ARM, "breast", ("_L", "_R"))):
        for side in sides:
            at = [np.array(p, float) * [-1 if side == "_R" else 1, 1, 1] for _, p in rows]
            names = [n + side for n, _ in rows]
            chain(c, names, at, c.find(above) if above != "root" else root)
            end = np.array(ends[rows[-1][0]], float) + [at[-1][0], 0, 0]
            bones += [(n, a, b, RADIUS[n.split("_")[0]]) for n, a, b in zip(names, at, at[1:] + [end])]
    return bones


def many_weights(position, bones, c):
    """Up to seven influences, some far too small to see, in sums of 0.85 to 1.02."""
    place = {c.nodes[j].name: k for k, j in enumerate(c.joint)}
    parent = [c.joint.index(c.nodes[j].parent) if c.nodes[j].parent >= 0 else -1 for j in c.joint]
    segments = [(place[n], a, b) for n, a, b, _ in bones]
    joints, weights = weights_by_distance(position, segments, parent, 0.9, most=4)
    d = np.array([np.linalg.norm(position - (np.asarray(a) + np.asarray(b)) / 2, axis=1) for _, a, b in segments]).T
    near = np.argsort(np.round(d, 6), axis=1, kind="stable")[:, :7]
    more = np.array([[place[bones[k][0]] for k in row] for row in near])
    out = np.zeros((len(position), len(c.joint)))
    np.put_along_axis(out, more, 0.01, 1)
    for k in range(4):
        out[np.arange(len(position)), joints[:, k]] += np.where(weights[:, k] > 0.02, weights[:, k], 0)
    order = np.argsort(-np.round(out, 6), axis=1, kind="stable")[:, :7]
    taken = np.take_along_axis(out, order, 1)
    total = 0.85 + 0.17 * (np.arange(len(position)) % 18) / 17
    return order, snap(taken / taken.sum(1, keepdims=True) * total[:, None], 2.0 ** -14)


def clip(c, seconds, stride):
    times = np.arange(int(seconds * 30) + 1) / 30
    phase, channels = 2 * np.pi * times / times[-1], []
    for name, axis, degrees in [("neck1", (1, 0, 0), 6 * np.sin(phase)), ("skull", (1, 0, 0), -8 * np.sin(phase))] + \
            [(f"tail{k + 1}", (0, 1, 0), 10 * np.sin(phase - 0.5 * k)) for k in range(4)] + \
            [(f"{n}{s}", (1, 0, 0), f * stride * np.sin(phase + (0 if s == "_L" else np.pi) + shift)) for s in ("_L", "_R")
             for n, f, shift in (("thigh", 1, 0), ("shin", 0.5, 1), ("foot", 0.5, 2))]:
        channels.append((c.find(name), "rotation", times, np.array([turn(axis, d) for d in degrees])))
    return channels


def make_creature():
    c = Character("creature")
    c.materials = ["back", "belly", "claws"]
    bones = skeleton(c)
    position, triangles = round_body([(a, b, *r) for _, a, b, r in bones], 0.3, 0.3)
    joints, weights = many_weights(position, bones, c)
    part = Part("creature", position, triangles, joints, weights)
    middle = position[triangles].mean(1)
    part.face_material = np.where(middle[:, 1] < 0.45, 2, np.where(middle[:, 1] < 2.4, 1, 0))
    c.parts = [part]
    junk = (c.find("root"), "rotation", np.array([0.0, 1 / 30]), np.array([turn((0, 1, 0), d) for d in (0, 1)]))
    c.clips = [("Walk", clip(c, 1.0, 28)), ("ArmatureAction", [junk])]
    return c
