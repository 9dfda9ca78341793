"""A person with five fingers on each hand, in a T-pose, with the joint names of the CMU captures. The four fingers of a hand have one joint."""
import numpy as np

from .bodies import FINGERS, finger_places, hand_cones, thumb_places
from .character import FINE, Character, Part, multiply, quat_of, snap, swing
from .gltf_file import whole_weights
from .solid import round_body, weights_by_distance

WRIST = np.array([0.70, 1.42, 0.0])
MIDDLE = [("LowerBack", "Hips", (0, 1.0, 0)), ("Spine", "LowerBack", (0, 1.12, 0)), ("Spine1", "Spine", (0, 1.28, 0)),
          ("Neck", "Spine1", (0, 1.46, 0)), ("Neck1", "Neck", (0, 1.51, 0)), ("Head", "Neck1", (0, 1.57, 0))]
SIDE = [("{0}HipJoint", "Hips", (0.02, 0.93, 0)), ("{1}UpLeg", "{0}HipJoint", (0.1, 0.9, 0)), ("{1}Leg", "{1}UpLeg", (0.11, 0.49, 0)),
        ("{1}Foot", "{1}Leg", (0.12, 0.09, 0)), ("{1}ToeBase", "{1}Foot", (0.12, 0.045, 0.11)), ("{1}Shoulder", "Spine1", (0.03, 1.42, 0)),
        ("{1}Arm", "{1}Shoulder", (0.18, 1.42, 0)), ("{1}ForeArm", "{1}Arm", (0.44, 1.42, 0)), ("{1}Hand", "{1}ForeArm", tuple(WRIST)),
        ("{0}Thumb", "{1}Hand", (0.72, 1.437, 0.005)), ("{1}FingerBase", "{1}Hand", (0.73, 1.42, 0)),
        ("{1}HandFinger1", "{1}FingerBase", (0.79, 1.42, 0))]


def to_arm(p):
    """From the space of the hand that stands up to that at the end of the left arm, thumb up."""
    p = np.asarray(p, float)
    return WRIST + p[..., [1, 0, 2]] * [1, 1.08, 1]


def limbs():
    """(bone, a, b, radii) of the left half and of the middle; what a bone moves."""
    return [("Hips", (0, 0.92, 0), (0.09, 0.94, 0), 0.11, 0.1), ("LowerBack", (0.05, 1.0, 0), (0.05, 1.1, 0), 0.105, 0.105),
            ("Spine", (0.06, 1.12, 0), (0.07, 1.25, 0), 0.105, 0.105), ("Spine1", (0.07, 1.28, 0), (0.09, 1.38, 0), 0.105, 0.085),
            ("Neck", (0, 1.44, 0), (0, 1.5, 0), 0.06, 0.056), ("Neck1", (0, 1.51, 0), (0, 1.56, 0), 0.056, 0.06),
            ("Head", (0, 1.6, 0.01), (0, 1.66, 0.01), 0.085, 0.09), ("{1}Shoulder", (0.06, 1.42, 0), (0.17, 1.42, 0), 0.065, 0.058),
            ("{1}Arm", (0.18, 1.42, 0), (0.43, 1.42, 0), 0.055, 0.043), ("{1}ForeArm", (0.44, 1.42, 0), (0.69, 1.42, 0), 0.043, 0.028),
            ("{1}UpLeg", (0.1, 0.88, 0), (0.11, 0.5, 0), 0.085, 0.06), ("{1}Leg", (0.11, 0.48, 0), (0.12, 0.12, 0), 0.058, 0.042),
            ("{1}Foot", (0.12, 0.07, -0.02), (0.12, 0.05, 0.09), 0.042, 0.042), ("{1}ToeBase", (0.12, 0.045, 0.11), (0.12, 0.042, 0.15), 0.042, 0.04)]


def hand_bones():
    """(bone, a, b) that the vertices of the left hand follow."""
    out = [("{1}Hand", WRIST, to_arm((0, 0.05, 0))), ("{1}FingerBase", to_arm((0.02, 0.06, 0)), to_arm((-0.02, 0.06, 0)))]
    for finger in FINGERS.values():
        places = to_arm(np.array(finger_places(*finger)))
        out.append(("{1}HandFinger1", places[1], places[-1]))
    thumb = to_arm(np.array(thumb_places()))
    return out + [("{0}Thumb", thumb[0], thumb[-1])]


def mirrored(p):
    return np.asarray(p, float) * [-1, 1, 1]


def sides(name):
    """The two names of what both sides have."""
    return [name.format("L", "Left"), name.format("R", "Right")]


def fine_axis(low, high, ranges, coarse, fine):
    """Places from low to high whose steps are fine within the ranges and grow towards the coarse step outside of them."""
    out = [low]
    while out[-1] < high:
        away = min(max(a - out[-1], out[-1] - b, 0) for a, b in ranges)
        out.append(out[-1] + min(coarse, fine + 0.45 * away))
    return np.array(out)


def even(half):
    """An axis that is the same on both sides of zero, which lies within a step."""
    return np.concatenate([-half[::-1], half])


def axes(fine, coarse):
    x = even(fine_axis(coarse / 2, 0.95, [(0.7, 0.95)], coarse, fine))
    y = fine_axis(-0.04, 1.79, [(1.375, 1.515)], coarse, fine)
    z = even(fine_axis(fine / 2, 0.24, [(0, 0.018)], coarse, fine))
    return [x, y, z]


def cones():
    out = [(a, b, ra, rb) for _, a, b, ra, rb in limbs()]
    places = {name: finger_places(*f) for name, f in FINGERS.items()}
    places["thumb"] = thumb_places()
    out += [(to_arm(a), to_arm(b), ra, rb) for a, b, ra, rb in hand_cones(places)]
    return out + [(mirrored(a), mirrored(b), ra, rb) for a, b, ra, rb in out]


def skeleton(c):
    c.add("Hips", -1, snap((0, 0.93, 0)))
    for name, above, place in MIDDLE:
        c.add(name, c.find(above), snap(place))
    for name, above, place in SIDE:
        for n, up, at in zip(sides(name), sides(above), (np.array(place), mirrored(place))):
            c.add(n, c.find(up), snap(at))


HERO = {"Hips": "hips", "LowerBack": "spine", "Spine1": "chest", "Neck1": "neck", "Head": "head"}
HERO_SIDE = {"Shoulder": "shoulder", "Arm": "upper_arm", "ForeArm": "forearm", "Hand": "hand", "UpLeg": "thigh", "Leg": "shin", "Foot": "foot",
             "ToeBase": "toes"}


def walk(c, hero):
    """The hero's walk: turns of the arms are taken from level arms to the hero's first."""
    names = dict(HERO)
    for long, short in (("Left", "L"), ("Right", "R")):
        names.update({long + k: f"{v}.{short}" for k, v in HERO_SIDE.items()})
    channels = dict(hero.clips)["walk"]
    keys = {hero.nodes[node].name: (times, values) for node, path, times, values in channels if path == "rotation"}
    out = []
    for mine, his in names.items():
        if his not in keys:
            continue
        times, values = keys[his]
        if mine.endswith(("Arm", "Hand")):
            level = swing(np.array([1.0 if his.endswith("L") else -1.0, 0, 0]), hero.nodes[hero.find("forearm" + his[-2:])].translation)
            lower, raise_ = quat_of(level), quat_of(level.T)
            values = np.array([multiply(v, lower) if "upper_arm" in his else multiply(raise_, multiply(v, lower)) for v in values])
        out.append((c.find(mine), "rotation", times[::2], snap(values[::2], FINE)))
    return [("walk", out)]


def make_person(hero, fine=0.0064, coarse=0.038):
    c = Character("person")
    skeleton(c)
    position, triangles = round_body(cones(), fine, 0.008, axes(fine, coarse), grid=2.0 ** -18)
    place = {c.nodes[j].name: k for k, j in enumerate(c.joint)}
    parent = [c.joint.index(c.nodes[j].parent) if c.nodes[j].parent >= 0 else -1 for j in c.joint]
    bones = [(n, a, b) for n, a, b, _, _ in limbs()] + hand_bones()
    segments = [(place[n], np.asarray(a, float) * s, np.asarray(b, float) * s) for name, a, b in bones
                for n, s in zip(sides(name), (np.ones(3), np.array([-1, 1, 1])))]
    joints, weights = weights_by_distance(position, segments, parent, 0.035)
    c.parts = [Part("person", position, triangles, joints, whole_weights(weights))]
    c.parts[0].bytes = True
    c.clips = walk(c, hero)
    return c
