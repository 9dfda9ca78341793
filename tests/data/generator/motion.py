"""Motions as BVH files in the manner of the CMU captures: joints of length zero, a reference pose as the first frame, CRLF."""
import numpy as np

from .character import multiply, quat_matrix, quat_of, swing, turn

UNIT = 0.056  # metres
RATE = 120
BREAST = (0, 0.22, 0.005)  # from the hero's chest to between the shoulders, where captures have their last joint of the spine
BACK = (0, -0.22, -0.005)
# name, parent, the hero's joint whose turn it has, its offset: the hero's joints, by their ways from their parents, and plain ways
LEG = [("{0}HipJoint", "Hips", "hips", ()), ("{1}UpLeg", "{0}HipJoint", "thigh", ("thigh",)), ("{1}Leg", "{1}UpLeg", "shin", ("shin",)),
       ("{1}Foot", "{1}Leg", "foot", ("foot",)), ("{1}ToeBase", "{1}Foot", "toes", ("toes",))]
TRUNK = [("LowerBack", "Hips", "spine", ()), ("Spine", "LowerBack", "chest", ("spine", "chest")), ("Spine1", "Spine", "chest", (BREAST,)),
         ("Neck", "Spine1", "neck", ()), ("Neck1", "Neck", "neck", ("neck", BACK)), ("Head", "Neck1", "head", ("head",))]
ARM = [("{1}Shoulder", "Spine1", "shoulder", ()), ("{1}Arm", "{1}Shoulder", "upper_arm", ("shoulder", "upper_arm", BACK)),
       ("{1}ForeArm", "{1}Arm", "forearm", ("forearm",)), ("{1}Hand", "{1}ForeArm", "hand", ("hand",)),
       ("{1}FingerBase", "{1}Hand", "hand", ()), ("{1}HandIndex1", "{1}FingerBase", "fingers", ("fingers",)), ("{0}Thumb", "{1}Hand", "thumb", ())]
ENDS = {"LeftToeBase": (0, 0, 0.06), "RightToeBase": (0, 0, 0.06), "Head": (0, 0.12, 0), "LeftHandIndex1": (0.05, 0, 0),
        "RightHandIndex1": (-0.05, 0, 0), "LThumb": (0.03, -0.01, 0.04), "RThumb": (-0.03, -0.01, 0.04)}
SPREAD = 20  # degrees between a leg and the vertical where all rotations are zero


def skeleton():
    """(name, parent, hero's joint, hero's joints of the offset) in the order of the file."""
    out = [("Hips", None, "hips", ("hips",))]
    for rows, sides in ((LEG, (("L", "Left"), ("R", "Right"))), (TRUNK, ((None, None),)), (ARM, (("L", "Left"), ("R", "Right")))):
        for short, long in sides:
            end = f".{short}" if short else ""
            middle = ("hips", "spine", "chest", "neck", "head")
            for name, parent, joint, way in rows:
                way = tuple(k if isinstance(k, tuple) else k + end for k in way)
                out.append((name.format(short, long), parent.format(short, long), joint + ("" if joint in middle else end), way))
    return out


def rest_turns(hero):
    """What takes each of the hero's bones from the file's rest pose (arms level, legs apart) to the hero's own."""
    out = {node.name: np.eye(3) for node in hero.nodes}
    for side, sign in (("L", 1), ("R", -1)):
        arm = hero.nodes[hero.find(f"forearm.{side}")].translation
        for name in ("upper_arm", "forearm", "hand", "fingers", "thumb"):
            out[f"{name}.{side}"] = swing(np.array([sign, 0.0, 0.0]), arm)
        for name in ("thigh", "shin", "foot", "toes"):
            out[f"{name}.{side}"] = quat_matrix(turn((0, 0, 1), -sign * SPREAD))
    return out


def offsets(hero, rows, rest):
    """The offset of each joint in the file's units."""
    out = {}
    for name, parent, _, way in rows:
        total = np.zeros(3)
        for k in way if parent else ():
            if isinstance(k, tuple):
                total += k
                continue
            node = hero.nodes[hero.find(k)]
            total += rest[hero.nodes[node.parent].name].T @ node.translation
        out[name] = np.round(total / UNIT, 5) + 0.0
    return out


def write_hierarchy(rows, offset):
    lines = ["HIERARCHY"]
    children = {name: [n for n, p, _, _ in rows if p == name] for name, _, _, _ in rows}

    def triple(v):
        return "0 0 0" if not np.any(v) else " ".join(f"{x:.5f}" for x in v)

    def write(name, depth):
        tab = "\t" * depth
        root = depth == 0
        channels = "6 Xposition Yposition Zposition Zrotation Yrotation Xrotation" if root else "3 Zrotation Yrotation Xrotation"
        lines.extend([f"{tab}{'ROOT' if root else 'JOINT'} {name}", f"{tab}{{"])
        lines.extend([f"{tab}\tOFFSET {triple(offset[name])}", f"{tab}\tCHANNELS {channels}"])
        for child in children[name]:
            write(child, depth + 1)
        if name in ENDS:
            lines.extend([f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\tOFFSET {triple(np.array(ENDS[name]) / UNIT)}", f"{tab}\t}}"])
        lines.append(f"{tab}}}")
    write("Hips", 0)
    return lines


def order(rows):
    """The names in the order in which the hierarchy lists them."""
    out = []

    def walk(name):
        out.append(name)
        for n, p, _, _ in rows:
            if p == name:
                walk(n)
    walk("Hips")
    return out


def euler(m):
    """Degrees about z, y, x with m = Rz Ry Rx."""
    y = np.arcsin(np.clip(-m[2, 0], -1, 1))
    return np.degrees([np.arctan2(m[1, 0], m[0, 0]), y, np.arctan2(m[2, 1], m[2, 2])])


def frame_values(hero, rows, rest, turns, hips):
    """The channels of a frame: `turns` are the hero's local rotations by name, `hips` the place of the hips in metres."""
    local = {hero.find(name): as_matrix(q) for name, q in turns.items()}
    world = hero.world(local)
    turned = {name: world[hero.find(joint)][:3, :3] @ rest[joint] for name, _, joint, _ in rows}
    parent = {name: p for name, p, _, _ in rows}
    values = list(np.asarray(hips, float) / UNIT)
    for name in order(rows):
        values += list(euler(turned[name] if parent[name] is None else turned[parent[name]].T @ turned[name]))
    return values


def as_matrix(q):
    m = np.eye(4)
    m[:3, :3] = quat_matrix(q)
    return m


def skinned(hero, turns, hips):
    """The hero's vertices by linear blending, with these turns and this place of the hips."""
    local = {hero.find(name): as_matrix(q) for name, q in {"hips": (0, 0, 0, 1), **turns}.items()}
    for i, m in local.items():
        m[:3, 3] = hips if hero.nodes[i].name == "hips" else hero.nodes[i].translation
    world, part = hero.world(local), hero.parts[0]
    matrices = np.array([world[j] @ m for j, m in zip(hero.joint, hero.bind())])
    blend = np.einsum("nk,nkij->nij", part.weights, matrices[part.joints])
    return np.einsum("nij,nj->ni", blend, np.c_[part.position, np.ones(len(part.position))])[:, :3]


def numbers(values):
    return " ".join("0" if abs(v) < 5e-5 else f"{v:.4f}" for v in values)


def write_bvh(hero, frames):
    """`frames`: (turns by the hero's joint, place of the hips). The reference pose comes before them."""
    rows, rest = skeleton(), rest_turns(hero)
    offset = offsets(hero, rows, rest)
    reference = {f"upper_arm.{s}": quat_of(rest[f"upper_arm.{s}"].T) for s in "LR"}
    lines = write_hierarchy(rows, offset) + ["MOTION", f"Frames: {len(frames) + 1}", "Frame Time: .0083333"]
    for turns, hips in [(reference, frames[0][1])] + frames:
        lines.append(numbers(frame_values(hero, rows, rest, turns, hips)))
    return ("\r\n".join(lines) + "\r\n").encode()


# ---- the motions ----------------------------------------------------------------------------------------------------

def walk_frames(hero, seconds=1.2, speed=1.15):
    """The hero's walk, and the way that it covers."""
    clip = [name for name, _ in hero.clips].index("walk")
    channels, length = hero.clips[clip][1], hero.clips[clip][1][0][2][-1]
    frames = []
    for k in range(int(round(seconds * RATE))):
        t = (k / RATE) % length
        pose = hero.pose(clip, t)
        turns = {hero.nodes[n].name: quat_of(m[:3, :3]) for n, m in pose.items()}
        place = pose[hero.find("hips")][:3, 3] if any(p == "translation" for _, p, _, _ in channels) else hero.nodes[0].translation
        frames.append((turns, place + [0, 0, speed * k / RATE]))
    return frames


X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


def both(name, axis, degrees):
    """The same for both sides, mirrored in the plane x = 0."""
    sign = 1 if axis == X else -1
    return {f"{name}.L": turn(axis, degrees), f"{name}.R": turn(axis, sign * degrees)}


def dance_keys():
    """(seconds, turns, turn of the whole, height of the lower foot above the ground)."""
    over = {**both("upper_arm", Z, 125), **both("forearm", Z, 20), "chest": turn(X, -8)}
    crossed = {**both("upper_arm", Y, -70), **both("forearm", Y, -75), "upper_arm.L": multiply(turn(Y, -70), turn(X, -20))}
    squat = {**both("thigh", X, -55), **both("shin", X, 100), **both("foot", X, -45), **both("upper_arm", X, 35), "spine": turn(X, 15)}
    lunge = {"thigh.L": turn(X, -40), "shin.L": turn(X, 45), "thigh.R": turn(X, 25), "foot.L": turn(X, -5), "head": turn(Y, 30), "spine": turn(Y, 25)}
    return [(0.0, {}, 0, 0), (0.35, over, 0, 0), (0.75, crossed, 60, 0), (1.05, squat, 150, 0), (1.25, over, 230, 0.05),
            (1.45, squat, 280, 0), (1.75, lunge, 340, 0), (2.0, {}, 360, 0)]


def blend_turns(a, b, s):
    """Between two sets of turns; what is not named does not turn."""
    still, out = np.array([0, 0, 0, 1.0]), {}
    for name in sorted(set(a) | set(b)):
        p, q = a.get(name, still), b.get(name, still)
        q = -q if p @ q < 0 else q
        angle = np.arccos(np.clip(p @ q, -1, 1))
        v = p if angle < 1e-9 else (np.sin((1 - s) * angle) * p + np.sin(s * angle) * q) / np.sin(angle)
        out[name] = v / np.linalg.norm(v)
    return out


def lowest_foot(hero, turns):
    """The height of the lowest joint of the feet, with the hips where the hero has them."""
    local = {hero.find(name): as_matrix(q) for name, q in turns.items()}
    for i in local:
        local[i][:3, 3] = hero.nodes[i].translation
    world = hero.world(local)
    return min(world[hero.find(f"toes.{side}")][1, 3] for side in "LR")


def dance_frames(hero):
    """Arms over the head, crossed arms, a whole turn, a hop."""
    keys, frames = dance_keys(), []
    for k in range(int(2.0 * RATE) + 1):
        t = k / RATE
        i = min(max(n for n, key in enumerate(keys) if key[0] <= t + 1e-9), len(keys) - 2)
        (t0, a, y0, h0), (t1, b, y1, h1) = keys[i], keys[i + 1]
        s = (t - t0) / (t1 - t0)
        s = s * s * (3 - 2 * s)
        turns = blend_turns(a, b, s)
        turns["hips"] = turn(Y, y0 + s * (y1 - y0))
        up = h0 + s * (h1 - h0) + lowest_foot(hero, {}) - lowest_foot(hero, turns)
        frames.append((turns, hero.nodes[0].translation + [0.1 * np.sin(t), up, 0]))
    return frames
