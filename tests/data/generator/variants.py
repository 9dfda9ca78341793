"""One character, the hero without texture seams, in the many ways in which files say the same."""
import numpy as np

from .character import FINE, Node, Part, multiply, quat_matrix, quat_of, snap, turn, welded
from .gltf_file import Writer, attributes, joint_attributes, write_character, write_clips, write_nodes, write_skin
from .parts import cut, single


def make_plain(hero):
    """What the others are compared with."""
    c = welded(hero)
    c.clips = [clip for clip in c.clips if clip[0] == "walk"]
    c.parts[0].bytes = True
    return c


# ---- how the file is written ----------------------------------------------------------------------------------------

def only_primitive(w):
    return w.json["meshes"][0]["primitives"][0]


def sparse(c):
    """A hundred places are wrong in the plain array and right in the sparse one; texture coordinates have no array at all."""
    right, wrong = c.parts[0].position.astype(np.float32), c.copy()
    chosen = np.arange(7, len(right), len(right) // 100)[:100]
    wrong.parts[0].position[chosen] += 0.25
    w = write_character(wrong)
    attribute = only_primitive(w)["attributes"]
    a = w.json["accessors"][attribute["POSITION"]]
    a["min"], a["max"] = right.min(0).tolist(), right.max(0).tolist()
    a["sparse"] = {"count": len(chosen), "indices": {"bufferView": w.view(chosen.astype(np.uint16).tobytes()), "componentType": 5123},
                   "values": {"bufferView": w.view(right[chosen].tobytes())}}
    w.json["accessors"].append({"componentType": 5126, "count": len(right), "type": "VEC2"})
    attribute["TEXCOORD_0"] = len(w.json["accessors"]) - 1
    return w.glb()


def quantised(c):
    """KHR_mesh_quantization: places in 16 bits, their scale in the bind matrices; turns in 16 bits."""
    w, part = Writer(), c.parts[0]
    write_nodes(w, c)
    size = 2.0  # of the 32767 steps
    grid = np.diag([size, size, size, 1])
    write_skin(w, c.joint, [m @ grid for m in c.bind()], c.name)
    w.json["extensionsUsed"] = w.json["extensionsRequired"] = ["KHR_mesh_quantization"]
    attribute = {"POSITION": w.accessor(np.round(32767 * part.position / size).astype(np.int16), bounds=True, target=34962, normalized=True),
                 **joint_attributes(w, part)}
    p = {"attributes": attribute, "indices": w.accessor(part.triangles.reshape(-1, 1).astype(np.uint16), target=34963)}
    w.json["meshes"] = [{"name": part.name, "primitives": [p]}]
    w.json["nodes"].append({"name": part.name, "mesh": 0, "skin": 0})
    w.json["scenes"][0]["nodes"].append(len(w.json["nodes"]) - 1)
    short = [(n, path, t, np.round(32767 * v).astype(np.int16) if path == "rotation" else v) for n, path, t, v in c.clips[0][1]]
    write_clips(w, [("walk", short)])
    return w.glb()


def two_skins(c):
    """One mesh, shown by two nodes, each with a skeleton of its own; the second stands a metre beside the first."""
    w, twin = Writer(), c.copy()
    count = len(c.nodes)
    for node in twin.nodes:
        node.name += "_twin"
        node.parent += count if node.parent >= 0 else 0
    twin.nodes[0].translation = twin.nodes[0].translation + [1, 0, 0]
    both = c.copy()
    both.nodes += twin.nodes
    write_nodes(w, both)
    write_skin(w, c.joint, c.bind(), "first")
    write_skin(w, [j + count for j in c.joint], c.bind(), "second")
    part = c.parts[0]
    p = {"attributes": attributes(w, part), "indices": w.accessor(part.triangles.reshape(-1, 1).astype(np.uint16), target=34963)}
    w.json["meshes"] = [{"name": "hero", "primitives": [p]}]
    for skin in (0, 1):
        w.json["nodes"].append({"name": f"hero{skin}", "mesh": 0, "skin": skin})
        w.json["scenes"][0]["nodes"].append(len(w.json["nodes"]) - 1)
    name, channels = c.clips[0]
    more = [(n + count, path, t, v + np.array([1, 0, 0]) if path == "translation" else v) for n, path, t, v in channels]
    write_clips(w, [(name, channels + more)])
    return w.glb()


def four_pieces(c):
    """Head, trunk and arms, and each leg: parts that are open where they meet."""
    pieces = {part.name: part for part in cut(c, drawn_in=0)}
    trunk = [pieces[n] for n in ("Body", "ArmLeft", "ArmRight")]
    first = np.cumsum([0] + [len(p.position) for p in trunk])
    joined = Part("Body", *(np.concatenate(v) for v in ([p.position for p in trunk], [p.triangles + f for p, f in zip(trunk, first)],
                                                        [p.joints for p in trunk], [p.weights for p in trunk])))
    return [joined, pieces["Head"], pieces["LegLeft"], pieces["LegRight"]]


def copies(c):
    """Four parts, each with its own copy of all joints, of the same names; the clip moves every copy."""
    w, all_nodes, count = Writer(), c.copy(), len(c.nodes)
    all_nodes.nodes = []
    for k in range(4):
        for node in c.copy().nodes:
            node.parent += k * count if node.parent >= 0 else 0
            all_nodes.nodes.append(node)
    write_nodes(w, all_nodes)
    w.json["meshes"] = []
    for k, part in enumerate(four_pieces(c)):
        write_skin(w, [j + k * count for j in c.joint], c.bind(), part.name)
        part.bytes = True
        p = {"attributes": attributes(w, part), "indices": w.accessor(part.triangles.reshape(-1, 1).astype(np.uint16), target=34963)}
        w.json["meshes"].append({"name": part.name, "primitives": [p]})
        w.json["nodes"].append({"name": part.name, "mesh": k, "skin": k})
        w.json["scenes"][0]["nodes"].append(len(w.json["nodes"]) - 1)
    name, channels = c.clips[0]
    write_clips(w, [(name, [(n + k * count, *rest) for k in range(4) for n, *rest in channels])])
    return w.glb()


def morphs(c):
    """Two shapes, a fat belly and a long nose, whose amounts the walk moves; one of them is half there at rest, and so in the pose."""
    posed = c.copy()
    posed.clips.append(("pose", single(c.clips[0][1], 9)))
    w, part = write_character(posed), c.parts[0]
    x = part.position
    fat = np.exp(-((x - [0, 1.05, 0.05]) ** 2).sum(1) / 0.03)[:, None] * [0, 0, 0.12]
    nose = np.exp(-((x - [0, 1.62, 0.1]) ** 2).sum(1) / 0.001)[:, None] * [0, 0, 0.06]
    only_primitive(w)["targets"] = [{"POSITION": w.floats(snap(d), bounds=True, target=34962)} for d in (fat, nose)]
    w.json["meshes"][0]["weights"] = [0, 0.5]
    clip, times = w.json["animations"][0], np.array([0, 0.5, 1.0])
    amounts = np.array([0, 0.5, 1, 0.25, 0, 1.0])
    clip["samplers"].append({"input": w.floats(times.reshape(-1, 1), bounds=True), "output": w.floats(amounts.reshape(-1, 1))})
    node = next(k for k, n in enumerate(w.json["nodes"]) if "mesh" in n)
    clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": {"node": node, "path": "weights"}})
    return w.glb()


# ---- how the rig is built -------------------------------------------------------------------------------------------

def below(c, root):
    """The nodes of a branch."""
    out = [root]
    for k, node in enumerate(c.nodes):
        if node.parent in out:
            out.append(k)
    return out


def scale100(c):
    """Everything in centimetres, below an armature that is scaled by a hundredth."""
    out = c.copy()
    bind = c.bind()
    for node in out.nodes:
        node.translation, node.parent = 100 * node.translation, node.parent + 1
    out.nodes.insert(0, Node("Armature", scale=(0.01, 0.01, 0.01)))
    out.joint = [j + 1 for j in c.joint]
    size = np.diag([100, 100, 100, 1.0])
    out.inverse_bind = [size @ m @ np.linalg.inv(size) for m in bind]
    out.parts[0].position, out.parts[0].node = 100 * out.parts[0].position, 0
    out.clips = [(name, [(n + 1, path, t, 100 * v if path == "translation" else v) for n, path, t, v in channels]) for name, channels in c.clips]
    return write_character(out).glb()


def other_bind(c):
    """The nodes rest in a step of the walk, the skin is bound in the A-pose."""
    out = c.copy()
    out.inverse_bind = c.bind()
    for node, path, _, values in c.clips[0][1]:
        setattr(out.nodes[node], path, values[9])
    return write_character(out).glb()


def mirrored(c):
    """The right arm and the right leg hang on nodes of scale -1: their joints are left-handed, and so are their bind matrices."""
    out, flip = c.copy(), np.array([-1.0, 1, 1])
    tops = [c.find("shoulder.R"), c.find("thigh.R")]
    inside = {k for top in tops for k in below(c, top)}
    for k in inside:
        if k not in tops:
            out.nodes[k].translation = out.nodes[k].translation * flip
    for top in tops:
        out.nodes[top].scale = flip
    turned = np.array([1.0, -1, -1, 1])  # what the mirror makes of a turn
    out.clips = [(name, [(n, path, t, v * turned if path == "rotation" and n in inside and n not in tops else v) for n, path, t, v in channels])
                 for name, channels in c.clips]
    return write_character(out).glb()


def unnormalised(c):
    """Weights that sum to between a half and two."""
    out = c.copy()
    out.parts[0].bytes = False
    factor = 2.0 ** (np.arange(len(out.parts[0].weights)) % 9 / 4 - 1)
    out.parts[0].weights = out.parts[0].weights * snap(factor, 2.0 ** -10)[:, None]
    return write_character(out).glb()


def some_weights(c, value, damaged=0):
    """Twelve vertices of the head have these weights; of some at the feet the weakest is negative or infinite."""
    out = c.copy()
    out.parts[0].bytes = False
    head = np.argsort(-out.parts[0].position[:, 1], kind="stable")[:12]
    out.parts[0].weights = out.parts[0].weights.copy()
    out.parts[0].weights[np.sort(head)] = value
    foot = np.argsort(out.parts[0].position[:, 1], kind="stable")[:damaged]
    out.parts[0].weights[foot, out.parts[0].weights.shape[1] - 1] = np.where(np.arange(damaged) % 2, -0.5, np.inf)
    return write_character(out).glb()


def hung_on_root(c, names):
    """The branches below these joints hang on a root beside the hips; channels of place and turn put them where they were."""
    out = c.copy()
    world = c.world()
    for node in out.nodes:
        node.parent += 1
    out.nodes.insert(0, Node("root"))
    out.joint = [j + 1 for j in c.joint]
    times = c.clips[0][1][0][2]
    poses = [c.world(c.pose(0, t)) for t in times]
    moved, channels = [c.find(n) for n in names], []
    for k in moved:
        out.nodes[k + 1].parent, out.nodes[k + 1].translation = 0, world[k][:3, 3]
        channels.append((k + 1, "translation", times, snap([m[k][:3, 3] for m in poses], FINE)))
        channels.append((k + 1, "rotation", times, snap(one_way([quat_of(m[k][:3, :3]) for m in poses]), FINE)))
    channels += [(n + 1, path, t, v) for n, path, t, v in c.clips[0][1] if n not in moved]
    out.clips = [("walk", channels)]
    out.inverse_bind = c.bind()
    return write_character(out).glb()


def one_way(quats):
    """The same turns with signs that do not jump."""
    out = [quats[0]]
    for q in quats[1:]:
        out.append(-q if q @ out[-1] < 0 else q)
    return np.array(out)


def hands_at_thighs(c):
    """Bound with the arms down, the hands against the thighs; the walk is the same."""
    down = {}
    for side, sign in (("L", 1), ("R", -1)):
        for name, axis, degrees in (("upper_arm", (0, 0, 1), -46), ("forearm", (0, 0, 1), -9), ("hand", (0, 0, 1), -4)):
            down[c.find(f"{name}.{side}")] = turn(axis, sign * degrees)
    local = {}
    for k, q in down.items():
        local[k] = c.nodes[k].matrix()
        local[k][:3, :3] = quat_matrix(q)
    world, bind, part = c.world(local), c.bind(), c.parts[0]
    out = c.copy()
    blend = np.einsum("nk,nkij->nij", part.weights, np.array([world[j] @ m for j, m in zip(c.joint, bind)])[part.joints])
    out.parts[0].position = snap(np.einsum("nij,nj->ni", blend, np.c_[part.position, np.ones(len(part.position))])[:, :3])
    for k, node in enumerate(out.nodes):
        above = world[node.parent][:3, 3] if node.parent >= 0 else 0
        node.translation = snap(world[k][:3, 3]) - snap(above)
    out.clips = [(name, [rebound(c, world, channel) for channel in channels]) for name, channels in c.clips]
    return write_character(out).glb()


def rebound(c, world, channel):
    """A channel of turns, for joints whose rest is turned by `world`: R_parent q R^-1."""
    node, path, times, values = channel
    if path != "rotation":
        return channel
    parent = c.nodes[node].parent
    above = quat_of(world[parent][:3, :3]) if parent >= 0 else np.array([0, 0, 0, 1.0])
    back = quat_of(world[node][:3, :3].T)
    return node, path, times, snap(one_way([multiply(above, multiply(v, back)) for v in values]), FINE)


def variant_files(hero):
    c = make_plain(hero)
    yield "variants/plain.glb", write_character(c).glb()
    yield "variants/embedded.gltf", write_character(c).embedded()
    text, data = write_character(c).separate("separate.bin")
    yield "variants/separate.gltf", text
    yield "variants/separate.bin", data
    for make in (sparse, quantised, two_skins, copies, morphs, scale100, other_bind, mirrored, unnormalised, hands_at_thighs):
        yield f"variants/{make.__name__}.glb", make(c)
    yield "variants/zero_weights.glb", some_weights(c, 0.0)
    yield "variants/nan_weights.glb", some_weights(c, np.nan, 8)
    yield "variants/ik_feet.glb", hung_on_root(c, ["foot.L", "foot.R"])
    yield "variants/thighs_on_root.glb", hung_on_root(c, ["thigh.L", "thigh.R"])
