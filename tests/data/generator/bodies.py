"""Characters of our own that are not built in: a hand, a four-legged animal, a low-poly figure, a strip."""
import numpy as np

from .character import FINE, Character, Node, Part, normals, snap, turn
from .gltf_file import whole_weights
from .solid import check_closed, round_body, weights_by_distance


def dress(c, position, triangles, segments, reach, most=4, smooth=True):
    """Gives a character its one part, with weights by distance to its bones."""
    place = {node: k for k, node in enumerate(c.joint)}
    parent = [place.get(c.nodes[j].parent, -1) for j in c.joint]
    segments = [(place[c.find(name)], a, b) for name, a, b in segments]
    joints, weights = weights_by_distance(position, segments, parent, reach, most)
    normal = snap(normals(position, triangles), 2.0 ** -10) if smooth else None
    c.parts.append(Part(c.name, position, triangles, joints, whole_weights(weights), normal))


def chain(c, names, places, above):
    """Joints one below the other."""
    for name, place in zip(names, places):
        above = c.add(name, above, snap(place))
    return above


# ---- a hand ---------------------------------------------------------------------------------------------------------

# Of each finger: where it leaves the palm (x across, y along, from the wrist), its length, its slant in degrees, its radius; mm.
FINGERS = {"index": (30, 92, 74, 5.5, 7.6), "middle": (9.5, 96, 82, 1.5, 7.9), "ring": (-11.5, 93, 76, -3, 7.5), "little": (-32, 85, 60, -8, 6.6)}
PHALANGES = ("metacarpal", "proxPhalanx", "intPhalanx", "distPhalanx", "tip")


def finger_places(x, y, length, slant, _):
    """The five joints of a finger, in metres."""
    way = np.array([np.sin(np.radians(slant)), np.cos(np.radians(slant)), 0])
    root = np.array([x, y, 0.0])
    places = [root * [0.5, 0.25, 0]] + [root + way * length * s for s in (-0.16, 0.36, 0.64, 0.84)]
    return [1e-3 * p for p in places]


def thumb_places():
    return [1e-3 * np.array(p, float) for p in ((16, 22, 4), (44, 44, 12), (62, 70, 16), (70, 87, 17.5))]


def hand_cones(places):
    """Fingers, the palm as a fan of broad cones, the heel of the hand."""
    cones = []
    for name, (_, _, _, _, r) in FINGERS.items():
        m, a, b, c, d = places[name]
        cones += [(a, b, 1.02e-3 * r, 0.97e-3 * r), (b, c, 0.97e-3 * r, 0.9e-3 * r), (c, d + 0.45 * (d - c), 0.9e-3 * r, 0.8e-3 * r),
                  (m, a, 0.0125, 0.0105)]
    m, a, b, c = places["thumb"]
    return cones + [(m, a, 0.0135, 0.0105), (a, b, 0.0105, 0.0092), (b, c + 0.4 * (c - b), 0.0092, 0.0078),
                    ((0.012, 0, 0), (-0.012, 0, 0), 0.017, 0.017), ((0.02, 0.03, 0), (-0.015, 0.03, 0), 0.014, 0.014),
                    ((0.02, 0.07, 0), (-0.02, 0.068, 0), 0.012, 0.012)]


def make_hand():
    """A left hand, fingers up, palm towards +z."""
    c = Character("hand")
    wrist = c.add("wrist_L", c.add("root_L", -1, (0, snap(-0.012), 0)), (0, 0, 0))
    places = {name: finger_places(*f) for name, f in FINGERS.items()}
    places["thumb"] = thumb_places()
    segments = [("wrist_L", (0, -0.012, 0), (0, 0.02, 0))]
    for name, joints in places.items():
        kinds = PHALANGES if len(joints) == 5 else PHALANGES[:2] + PHALANGES[3:]
        names = [f"{name}_{kind}_L" for kind in kinds]
        chain(c, names, joints, wrist)
        segments += [(names[k], joints[k], joints[k + 1]) for k in range(len(joints) - 1)]
        segments.append((names[-1], joints[-1], joints[-1] + 0.4 * (joints[-1] - joints[-2])))
    position, triangles = round_body(hand_cones(places), 0.0054, 0.006, grid=2.0 ** -18)
    dress(c, position, triangles, segments, 0.012)
    return c


# ---- a four-legged animal -------------------------------------------------------------------------------------------

TRUNK = [("hip", (0, 62, -42)), ("spine1", (0, 66, -18)), ("spine2", (0, 66, 8)), ("neck", (0, 66, 30)), ("head", (0, 84, 48))]
TAIL = [("tail1", (0, 64, -56)), ("tail2", (0, 58, -74)), ("tail3", (0, 50, -90))]
LEGS = {"fore": ("spine2", (13, 52, 20), (14, 30, 17), (14, 12, 20), (14, 8, 27)),
        "hind": ("hip", (13, 54, -42), (14, 32, -36), (14, 14, -47), (14, 8, -40))}
LEG_PARTS = ("upper", "lower", "foot", "toes")


def add_legs(c):
    bones = []
    for kind, (above, *places) in LEGS.items():
        for side, sign in (("L", 1), ("R", -1)):
            names = [f"{kind}_{part}_{side}" for part in LEG_PARTS]
            at = [np.array(p, float) * [sign, 1, 1] for p in places]
            chain(c, names, at, c.find(above))
            ends = at[1:] + [at[-1] + [0, 0, 6]]
            bones += list(zip(names, at, ends))
    return bones


def quadruped_motion(c, seconds, count, stride, nod, loops=True):
    """Legs that swing one pair after the other, a tail that wags, a head that nods; degrees."""
    times = snap(np.linspace(0, seconds, count))
    phase = 2 * np.pi * times / times[-1]
    channels = []

    def add(name, axis, degrees):
        values = np.array([turn(axis, d) for d in degrees])
        channels.append((c.find(name), "rotation", times, snap(values, FINE)))
    for kind, side, shift in (("fore", "L", 0), ("fore", "R", np.pi), ("hind", "L", np.pi), ("hind", "R", 0)):
        if stride:
            add(f"{kind}_upper_{side}", (1, 0, 0), stride * np.sin(phase + shift))
            add(f"{kind}_lower_{side}", (1, 0, 0), (0.6 if kind == "fore" else -0.6) * stride * (1 - np.cos(phase + shift)))
    for k in range(3):
        add(f"tail{k + 1}", (0, 1, 0), 14 * np.sin((1 if loops else 1.5) * phase - 0.6 * k))
    add("neck", (1, 0, 0), nod * np.sin(phase if loops else 0.8 * phase))
    add("head", (0, 1, 0), 1.5 * nod * np.sin(phase))
    return channels


def make_quadruped():
    """About 150 units long; flat-shaded, every triangle with corners of its own, no indices and no normals."""
    c = Character("quadruped")
    root = c.add("root", -1, (0, 0, 0))
    chain(c, [n for n, _ in TRUNK], [p for _, p in TRUNK], root)
    chain(c, [n for n, _ in TAIL], [p for _, p in TAIL], c.find("hip"))
    trunk = [np.array(p, float) for _, p in TRUNK] + [np.array((0, 80, 66.0))]
    tail = [np.array(p, float) for _, p in TAIL] + [np.array((0, 44, -100.0))]
    bones = [(n, trunk[k], trunk[k + 1]) for k, (n, _) in enumerate(TRUNK)]
    bones += [(n, tail[k], tail[k + 1]) for k, (n, _) in enumerate(TAIL)] + add_legs(c)
    radius = {"hip": (14, 15), "spine1": (15, 15), "spine2": (15, 12), "neck": (11, 10), "head": (10, 6), "tail1": (7, 7),
              "tail2": (7, 7), "tail3": (7, 6), "upper": (9.5, 7.5), "lower": (7.5, 6.5), "foot": (6.5, 6.5), "toes": (6.5, 6.5)}
    cones = [(a, b, *radius[n.split("_")[1] if "_" in n else n]) for n, a, b in bones]
    position, triangles = round_body(cones, 7.8, 6, grid=2.0 ** -8)
    dress(c, position, triangles, bones, 12, smooth=False)
    part = c.parts[0]
    corner = triangles.reshape(-1)
    part.position, part.joints, part.weights = part.position[corner], part.joints[corner], part.weights[corner]
    part.triangles, part.bytes = np.zeros((0, 3), int), True
    c.clips = [("Survey", quadruped_motion(c, 2.5, 26, 0, 12, loops=False)), ("Walk", quadruped_motion(c, 0.75, 19, 24, 4)),
               ("Run", quadruped_motion(c, 0.5, 16, 42, 8))]
    return c


# ---- a figure of few triangles --------------------------------------------------------------------------------------

def blocks_surface(filled, axes):
    """(positions, quads) of the boundary of filled blocks of a grid."""
    padded = np.zeros(tuple(n + 2 for n in filled.shape), bool)
    padded[1:-1, 1:-1, 1:-1] = filled
    corners, quads = {}, []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3, dtype=int)
        for at in np.argwhere(padded):
            for side in (0, 1):
                if padded[tuple(at + (2 * side - 1) * step[axis])]:
                    continue
                base = at - 1 + side * step[axis]
                ring = [base, base + step[u], base + step[u] + step[v], base + step[v]]
                ring = ring if side else ring[::-1]
                quads.append([corners.setdefault(tuple(k), len(corners)) for k in ring])
    position = np.array([[axes[k][corner[k]] for k in range(3)] for corner in corners])
    return position, np.array(quads)


def soften(position, quads, times, amount):
    """Moves vertices towards the middle of their neighbours."""
    for _ in range(times):
        total, count = np.zeros_like(position), np.zeros(len(position))
        for k in range(4):
            for other in (quads[:, (k + 1) % 4], quads[:, (k + 3) % 4]):
                np.add.at(total, quads[:, k], position[other])
                np.add.at(count, quads[:, k], 1)
        position = position + amount * (total / count[:, None] - position)
    return position


FIGURE = [("torso_1", -1, (0, 0, 0.86)), ("torso_2", 0, (0, 0, 1.02)), ("torso_3", 1, (0, 0, 1.2)), ("neck_1", 2, (0, 0, 1.36)),
          ("neck_2", 3, (0, 0, 1.44))]
FIGURE_LIMBS = [("arm", 2, [(0.17, 0, 1.29), (0.35, 0, 1.29), (0.53, 0, 1.29)]),
                ("leg", 0, [(0.09, 0, 0.8), (0.09, 0, 0.46), (0.09, 0, 0.1), (0.09, -0.1, 0.04)])]


def figure_blocks():
    """A person of blocks, z up, facing -y: a grid of 12 x 3 x 10 boxes."""
    x = [-0.66, -0.53, -0.41, -0.28, -0.17, -0.05, 0.05, 0.17, 0.28, 0.41, 0.53, 0.66]
    y = [-0.2, -0.08, 0.08]
    z = [0, 0.1, 0.28, 0.46, 0.64, 0.82, 0.98, 1.14, 1.24, 1.36, 1.44, 1.56, 1.68]
    filled = np.zeros((11, 2, 12), bool)
    filled[4, 1, 0:5] = filled[6, 1, 0:5] = True  # legs
    filled[4, 0, 0] = filled[6, 0, 0] = True  # feet
    filled[4:7, 1, 5:9] = True  # trunk
    filled[:, 1, 8] = True  # arms
    filled[5, 1, 9:12] = True  # neck and head
    filled[4:7, 1, 10:12] = True
    return filled, [x, y, z]


def figure_skeleton(c):
    nodes = []
    for name, above, place in FIGURE:
        nodes.append(c.add(name, 0 if above < 0 else nodes[above], snap(place)))
    bones = [(n, np.array(p), np.array(FIGURE[k + 1][2] if k < 4 else (0, 0, 1.64))) for k, (n, _, p) in enumerate(FIGURE)]
    for kind, above, places in FIGURE_LIMBS:
        for side, sign in (("L", 1), ("R", -1)):
            at = [snap(np.array(p, float) * [sign, 1, 1]) for p in places]
            names = [f"{kind}_{side}_{k + 1}" for k in range(len(at))]
            chain(c, names, at, nodes[above])
            end = at[-1] + (np.array([0.12 * sign, 0, 0]) if kind == "arm" else np.array([0, -0.08, 0]))
            bones += list(zip(names, at, at[1:] + [end]))
    return bones


def figure_clip(c):
    """A walk on the spot; every joint has channels of scale as well, near one."""
    times = snap(np.linspace(0, 1.25, 16))
    phase, channels = 2 * np.pi * times / times[-1], []
    for k, j in enumerate(c.joint):
        name, degrees = c.nodes[j].name, np.zeros(len(times))
        side = 1 if "_L_" in name else -1
        if name.startswith("leg"):
            degrees = side * 26 * np.sin(phase) if name.endswith("1") else 24 * (1 - np.cos(phase)) * name.endswith("2")
        elif name.startswith("arm"):
            degrees = -side * 22 * np.sin(phase) * (name.endswith("1") or name.endswith("2"))
        axis = (1, 0, 0) if name.startswith("leg") else (0, 0, 1) if name.endswith("2") else (0, 1, 0)
        channels.append((j, "rotation", times, snap([turn(axis, d) for d in degrees], FINE)))
        channels.append((j, "scale", times, 1 + snap(np.outer(np.sin(phase + k), [4e-3, -3e-3, 2e-3]), FINE)))
    return channels


def make_figure():
    """Z_UP above both the skeleton and the mesh stands it up."""
    c = Character("figure")
    c.nodes.append(Node("Z_UP", rotation=snap(turn((1, 0, 0), -90), FINE)))
    c.nodes[0].place = np.zeros(3)
    bones = figure_skeleton(c)
    filled, axes = figure_blocks()
    position, quads = blocks_surface(filled, axes)
    position = snap(soften(position, quads, 2, 0.12))
    triangles = quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    check_closed(triangles)
    dress(c, position, triangles, bones, 0.1)
    c.parts[0].node = 0
    # The bind pose is that of the mesh's own space, in which z is up.
    up = c.world()[0]
    c.inverse_bind = [m @ up for m in c.bind()]
    c.clips = [("", figure_clip(c))]
    return c


# ---- a strip --------------------------------------------------------------------------------------------------------

def make_strip():
    """Ten vertices in five rows, open and flat; the upper joint swings to both sides."""
    c = Character("strip")
    c.add("lower", -1, (0, 0, 0))
    c.add("upper", 0, (0, 1, 0))
    position = np.array([(x, 0.5 * row, 0) for row in range(5) for x in (-0.5, 0.5)], float)
    triangles = [t for k in range(0, 8, 2) for t in ((k, k + 1, k + 3), (k, k + 3, k + 2))]
    upper = np.repeat([0, 0.25, 0.5, 0.75, 1.0], 2)
    weights = np.stack([1 - upper, upper, 0 * upper, 0 * upper], 1)
    c.parts = [Part("strip", position, triangles, np.tile([0, 1, 0, 0], (10, 1)), weights)]
    times = 0.5 * np.arange(12)
    degrees = 90 * np.array([0, 0, 0.5, 1, 1, 0.5, 0, -0.5, -1, -1, -0.5, 0])
    c.clips = [("", [(1, "rotation", times, snap([turn((0, 0, 1), d) for d in degrees], FINE))])]
    return c
