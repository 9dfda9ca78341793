#!/usr/bin/env python3
"""test_fixtures.py --tool BUILD/supple: what each file of tests/data stands for (README.md there): a behaviour that is taken out of the
reader, of the importer or of the weights fails the case of its file."""
import copy
import functools
import json
import os
import re
import struct
import subprocess
import sys

import numpy as np

from tool import CHECKS, DATA, Skip, data, session

sys.path[:0] = [CHECKS, DATA]
NEAR = 2e-6  # metres: floats of a character two metres high
QUICK_SECONDS = 10


class Fixtures:
    """The tool on the files, each asked once."""

    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    @functools.lru_cache(maxsize=None)
    def run(self, name, *options):
        """(frames x vertices x 3, what was said) of `linear`."""
        out = os.path.join(self.folder, "out.npy")
        done = self.tool.good("skin", data(name), "-o", out, "--method", "linear", *options)
        return np.load(out).astype(float), done.err

    def need_import(self):
        beside = os.path.join(os.path.dirname(self.tool.path), "supple-import")
        if not os.path.exists(os.environ.get("SUPPLE_IMPORT", beside)):
            raise Skip("built without supple-import")

    def linear(self, name, *options):
        return self.run(name, *options)[0]

    @functools.lru_cache(maxsize=None)
    def facts(self, name):
        done = self.tool("info", data(name), "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    def roles(self, name):
        return {part["name"]: part["role"] for part in self.facts(name)["parts"]}

    def findings(self, name):
        return " | ".join(finding["text"] for finding in self.facts(name)["findings"])


def reader():
    """The independent reader of glTF."""
    import gltf
    return gltf


def apart(a, b):
    assert a.shape == b.shape, f"{a.shape} and {b.shape} are not alike"
    return float(np.abs(a - b).max())


def diagonal(frames):
    return float(np.linalg.norm(np.ptp(frames[0], axis=0)))


# ---- files that say the same ----------------------------------------------------------------------------------------

def check_same(f, name, bound):
    """The same character by another way of writing it down."""
    error = apart(f.linear(f"variants/{name}"), f.linear("variants/plain.glb"))
    assert error <= bound, f"{name} is {error:.3g} m from plain.glb"


def check_scale(f):
    """An armature of scale 1/100 over centimetres: the same metres, for the solver too."""
    check_same(f, "scale100.glb", NEAR)
    here, plain = f.facts("variants/scale100.glb"), f.facts("variants/plain.glb")
    assert abs(here["size_m"] - plain["size_m"]) < 1e-5 and np.abs(np.subtract(here["size"], plain["size"])).max() < 1e-5, here["size"]


def check_other_bind(f):
    check_same(f, "other_bind.glb", NEAR)
    assert "the rest pose is not the bind pose" in f.findings("variants/other_bind.glb")
    assert "bind pose" not in f.findings("variants/plain.glb")
    heads = [{bone["name"]: bone["head"] for bone in f.facts(f"variants/{n}.glb")["bones"]} for n in ("plain", "other_bind")]
    assert max(np.abs(np.subtract(heads[0][k], heads[1][k])).max() for k in heads[0]) < 1e-5, "bones do not lie in the bind pose"


def check_unnormalised(f):
    check_same(f, "unnormalised.glb", NEAR)
    assert "do not sum to 1 (0.5 to 2)" in f.run("variants/unnormalised.glb")[1]


def check_missing_weights(f, name, words):
    """Vertices without weights, or with ones that are no numbers, take those of their neighbours, and it is said in one line; all others are as
    ever."""
    gltf = reader()
    g = gltf.Gltf(data(name))
    weights = np.asarray(g.accessor(g.j["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]))
    bare = ~(weights > 0).any(1)
    frames, said = f.run(name)
    assert bare.sum() == 12 and len([line for line in said.splitlines() if "warning" in line]) == 1 and words in said, said
    plain = f.linear("variants/plain.glb")
    whole = (weights >= 0).all(1) & ~bare
    assert apart(frames[:, whole], plain[:, whole]) < NEAR
    assert apart(frames[:, bare], plain[:, bare]) < 0.02, "the crown is not with the head"


# ---- Draco ----------------------------------------------------------------------------------------------------------

def need_draco(f):
    done = f.tool("info", data("variants/draco.glb"))
    if done.code == 3 and ("libdraco-dev" in done.err or "supple-import" in done.err):
        raise Skip("built without Draco")


def check_draco(f):
    """Streams that round nothing: the same character, bit by bit, and an output without the extension."""
    need_draco(f)
    check_same(f, "draco.glb", 0.0)
    out = os.path.join(f.folder, "draco.glb")
    f.tool.good("skin", data("variants/draco.glb"), "--method", "linear", "--frames", "0:2", "-o", out)
    with open(out, "rb") as file:
        raw = file.read()
    assert b"draco" not in raw, "the output names Draco"


def check_draco_edges(f):
    """The library's own encoder, two primitives: rounded, and the vertices in an order of the decoder's. Each is where the hero has one."""
    need_draco(f)
    out, hero = os.path.join(f.folder, "edges.npy"), os.path.join(f.folder, "hero.npy")
    for name, path in (("variants/draco_edges.glb", out), ("hero.glb", hero)):
        f.tool.good("skin", data(name), "--clip", "walk", "--method", "linear", "--frames", "0:6", "-o", path)
    x, y = np.load(out), np.load(hero)
    facts = f.facts("variants/draco_edges.glb")
    assert [p["triangles"] for p in facts["parts"]] == [1270, 1270] and facts["joints"] == 25, facts["parts"]
    distance = np.linalg.norm(x[0][:, None] - y[0][None], axis=2)
    assert max(distance.min(1).max(), distance.min(0).max()) < 2e-4, "vertices are missing, or too many"
    assert apart(x, y[:, distance.argmin(1)]) < 5e-4


def damaged_draco(name):
    """Copies of a file with something wrong: (what, bytes)."""
    with open(data(name), "rb") as file:
        raw = file.read()
    size = struct.unpack_from("<I", raw, 12)[0]
    document, binary = json.loads(raw[20:20 + size]), raw[28 + size:]

    def glb(changed, data=binary):
        text = json.dumps(changed).encode()
        text += b" " * (-len(text) % 4)
        return struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data

    def primitive(changed):
        return changed["meshes"][0]["primitives"][0]
    changed = copy.deepcopy(document)
    changed["accessors"][primitive(changed)["attributes"]["POSITION"]]["count"] += 1
    yield "another number of vertices", glb(changed)
    changed = copy.deepcopy(document)
    primitive(changed)["extensions"]["KHR_draco_mesh_compression"]["attributes"]["POSITION"] = 99
    yield "an attribute that is not there", glb(changed)
    changed = copy.deepcopy(document)
    primitive(changed)["extensions"]["KHR_draco_mesh_compression"]["bufferView"] = 9999
    yield "a view that is not there", glb(changed)
    view = document["bufferViews"][primitive(document)["extensions"]["KHR_draco_mesh_compression"]["bufferView"]]
    changed = copy.deepcopy(document)
    changed["bufferViews"][primitive(document)["extensions"]["KHR_draco_mesh_compression"]["bufferView"]]["byteLength"] //= 2
    yield "half a stream", glb(changed)
    yield "no stream", glb(document, binary[:view["byteOffset"]] + bytes(view["byteLength"]) + binary[view["byteOffset"] + view["byteLength"]:])
    random = np.random.default_rng(7)
    for k in range(40):
        bytes_ = bytearray(binary)
        for _ in range(1 + k % 4):
            at = view["byteOffset"] + int(random.integers(view["byteLength"] if k % 2 else min(60, view["byteLength"])))
            bytes_[at] = int(random.integers(256))
        yield f"bytes {k}", glb(document, bytes(bytes_))


def check_draco_damaged(f, name):
    """Damage is refused in one line, or it is none: never a crash, never long."""
    need_draco(f)
    path, out, refused = os.path.join(f.folder, "damaged.glb"), os.path.join(f.folder, "damaged.npy"), 0
    for what, raw in damaged_draco(name):
        with open(path, "wb") as file:
            file.write(raw)
        done = f.tool("skin", path, "--clip", "walk", "--method", "linear", "--frames", "0", "-o", out)
        assert done.code in (0, 3) and done.seconds < QUICK_SECONDS, f"{what}: exit {done.code}, {done.seconds:.1f} s: {done.err}"
        assert done.code == 0 or len([line for line in done.err.splitlines() if "warning" not in line]) == 1, f"{what}: {done.err}"
        assert done.code == 3 or what.startswith("bytes"), f"{what} is read"
        refused += done.code == 3
    assert refused >= 12, f"only {refused} are refused"


def check_two_skins(f):
    both, plain = f.linear("variants/two_skins.glb"), f.linear("variants/plain.glb")
    half = plain.shape[1]
    assert apart(both[:, :half], plain) <= NEAR, "the first skin"
    assert apart(both[:, half:], plain + [1, 0, 0]) <= NEAR, "the second skin"


def places(name):
    """The vertices of a file as it has them, part by part."""
    gltf = reader()
    g = gltf.Gltf(data(name))
    return np.concatenate([np.asarray(g.accessor(p["attributes"]["POSITION"]), float) for _, _, p in gltf.instances(g)])


def check_copies(f):
    """Four copies of the skeleton move their parts as the one skeleton does."""
    index = {tuple(p): k for k, p in enumerate(places("variants/plain.glb"))}
    order = [index[tuple(p)] for p in places("variants/copies.glb")]
    assert f.facts("variants/copies.glb")["joints"] == 100 and f.facts("variants/copies.glb")["skins"] == 4
    assert apart(f.linear("variants/copies.glb"), f.linear("variants/plain.glb")[:, order]) <= NEAR


def check_morphs(f):
    """Amounts that the clip moves; where it moves none, those of the mesh."""
    check_independent(f, "variants/morphs.glb", "0")
    check_independent(f, "variants/morphs.glb", "1")
    assert apart(f.linear("variants/morphs.glb", "--clip", "0"), f.linear("variants/plain.glb")) > 0.05


def check_hung(f, name):
    """Joints that hang on the root beside the hips, by channels of place: what is wrong today is the flesh."""
    check_same(f, name, 5e-6)
    assert f.roles(f"variants/{name}") == {"hero": "flesh"}


# ---- other formats --------------------------------------------------------------------------------------------------

def check_format(f, name, unit, z_up, clip):
    """The hero by way of another program and another format."""
    f.need_import()
    plain, frames = f.linear("variants/plain.glb")[:16], unit * f.linear(name)
    frames = frames[:, :, [0, 2, 1]] * [1, 1, -1] if z_up else frames
    error = apart(frames, plain) / diagonal(plain)
    assert error < 1e-5, f"{name} is {error:.3g} of the diagonal from plain.glb"
    facts, rest = f.facts(name), f.facts("variants/plain.glb")["size"]
    size = unit * np.array(facts["size"])[[0, 2, 1] if z_up else [0, 1, 2]]
    assert np.abs(size - rest).max() < 1e-4, f"at rest it is {size} m"
    assert f"unit is {unit:g} m, its {'z' if z_up else 'y'} axis points up" in f.findings(name), f.findings(name)
    assert (facts["joints"], facts["triangles"], [c["name"] for c in facts["clips"]]) == (25, 2540, [clip]), facts["clips"]


def check_text_fbx(f):
    f.need_import()
    assert apart(f.linear("hero.fbx"), f.linear("hero_ascii.fbx")) <= 1e-4, "text and binary are not the same (centimetres)"


def check_posed(f):
    """Nodes that rest in a step, turned to the side, three times as large: the walk is the same, so turned and so large."""
    f.need_import()
    plain = 3 * f.linear("variants/plain.glb")[:4, :, [2, 1, 0]] * [1, 1, -1]
    error = apart(0.01 * f.linear("posed.fbx"), plain) / diagonal(plain)
    assert error < 1e-5, f"{error:.3g} of the diagonal"
    assert "the rest pose is not the bind pose" in f.findings("posed.fbx")
    played = 0.01 * f.linear("posed.fbx", "--motion", data("walk.bvh"))
    size = np.ptp(played[0], axis=0)
    assert size[2] > 1.6 * 3 and size[0] < 0.5 * 3, f"a T-pose that looks along x is not {size} m"


def check_arm_z(f):
    """z up in the file: it is kept, not turned."""
    f.need_import()
    _, first = np.unique(places("arm.glb"), axis=0, return_index=True)
    plain = f.linear("arm.glb", "--clip", "bend")[:30, np.sort(first)]
    frames = 0.01 * f.linear("arm_z.fbx")[:, :, [0, 2, 1]] * [1, 1, -1]
    error = apart(frames, plain) / diagonal(plain)
    assert error < 1e-5, f"{error:.3g} of the diagonal"
    assert "z axis points up" in f.findings("arm_z.fbx")


def check_creature(f):
    """Seven influences, sums from 0.85 to 1.02, nodes of several scales: as the generator's own arithmetic has it."""
    f.need_import()
    from generator.creature import make_creature
    c = make_creature()
    part = c.parts[0]
    weights = part.weights / part.weights.sum(1, keepdims=True)
    frames, bind, rest = f.linear("creature.fbx", "--clip", "Armature|Walk"), c.bind(), np.c_[part.position, np.ones(len(part.position))]
    for k in (0, 7, 20):
        world = c.world(c.pose(0, k / 30))
        blend = np.einsum("nk,nkij->nij", weights, np.array([world[j] @ m for j, m in zip(c.joint, bind)])[part.joints])
        expected = 300 * np.einsum("nij,nj->ni", blend, rest)[:, :3]
        error = np.abs(expected - frames[k]).max() / diagonal(frames)
        assert error < 1e-5, f"frame {k}: {error:.3g} of the diagonal"
    parts = f.facts("creature.fbx")["parts"]
    assert [p["material"] for p in parts] == ["claws", "belly", "back"] and {p["role"] for p in parts} == {"flesh"}
    assert {p["influences"] for p in parts} == {7} and min(p["weight_sum_min"] for p in parts) < 0.86
    assert {c["name"]: round(c["duration"], 2) for c in f.facts("creature.fbx")["clips"]} == {"Armature|ArmatureAction": 0.03, "Armature|Walk": 1.0}


# ---- characters -----------------------------------------------------------------------------------------------------

def check_independent(f, name, clip):
    """`linear` against the independent reader, on some frames of a clip."""
    gltf = reader()
    frames = f.linear(name, "--clip", clip)
    g = gltf.Gltf(data(name))
    poser = gltf.Poser(g)
    for k in sorted({0, len(frames) // 3, len(frames) - 1}):
        error = np.abs(gltf.lbs(g, poser, int(clip), k / 30) - frames[k]).max() / diagonal(frames)
        assert error < 3e-6, f"{name}, frame {k}: {error:.3g} of the diagonal"


def check_hand(f):
    """One closed surface, joints by phalanx, no clip: the rest pose is written, and that is said."""
    facts, (frames, said) = f.facts("hand.glb"), f.run("hand.glb")
    assert frames.shape == (1, facts["vertices"], 3) and "rest pose" in said
    assert facts["joints"] == 26 and f.roles("hand.glb") == {"hand": "flesh"} and facts["parts"][0]["components"] == 1
    assert apart(frames, places("hand.glb")[None]) < 1e-7


def check_quadruped(f):
    """Triangles with corners of their own are welded: one closed animal. Its unit is not the metre."""
    part = f.facts("quadruped.glb")["parts"][0]
    assert (part["vertices"], part["welded_vertices"], part["border_edges"], part["components"]) == (3588, 600, 0, 1), part
    facts = f.facts("quadruped.glb")
    assert part["role"] == "flesh" and facts["size_m"] <= 1 and facts["file_m"] > 20 and "no person" in facts["size_why"], facts["size_m"]
    check_independent(f, "quadruped.glb", "1")


def check_figure(f):
    """Z_UP above all stands it up; scales about one are played."""
    check_independent(f, "figure.glb", "0")
    size = f.facts("figure.glb")["size"]
    assert 1.6 < size[1] < 1.7 and size[2] < 0.3, size


def check_strip(f):
    check_independent(f, "strip.gltf", "0")
    assert f.roles("strip.gltf") == {"strip": "own"} and f.facts("strip.gltf")["method"]["name"] == "linear"


def check_parts(f):
    """Things on bones ride on them; poses of length zero are single frames."""
    check_independent(f, "parts.glb", "0")
    roles, clips = f.roles("parts.glb"), f.facts("parts.glb")["clips"]
    assert [roles[n] for n in ("Hat", "Axe", "Shield", "Cape")] == ["rigid"] * 4 and len(roles) == 10
    assert len(clips) == 12 and sum(c["duration"] == 0 for c in clips) == 3
    assert len(f.linear("parts.glb", "--clip", "T_Pose")) == 1


def check_motion(f, name, frames, high):
    """A capture of 31 joints on the hero; its first frame is a T-pose, its feet stay on the ground but for `high` metres."""
    played, said = f.run("hero.glb", "--motion", data(name))
    assert len(played) == frames and "25 of its 31 joints matched" in said, said
    width, height = np.ptp(played[0], axis=0)[:2]
    assert width > 1.6 and 1.6 < height < 1.9, "the first frame is no T-pose"
    low = played[:, :, 1].min(1)
    assert low.min() > -0.01 and high - 0.02 < low.max() < high + 0.02, f"feet at {low.min():.3f} to {low.max():.3f} m"
    check_own_motion(f, name, played)


def check_own_motion(f, name, played):
    """The capture was made of the hero's own turns: the hero must move so again."""
    import make
    from generator import motion
    hero = make.demo(f.tool.path, "hero", 0.4)
    frames = motion.walk_frames(hero) if name == "walk.bvh" else motion.dance_frames(hero)
    for k in (0, 50, 100, 140):
        turns, hips = frames[k]
        error = np.linalg.norm(played[k + 1] - motion.skinned(hero, turns, hips), axis=1)
        assert error.mean() < 0.02 and error.max() < 0.06, f"frame {k}: {error.mean():.3g} m in the mean, {error.max():.3g} m at most"


def check_loads(f, name, roles, clip="0"):
    """Roles, and `linear`. Shares of the skin add up, and no flesh is none."""
    assert f.roles(name) == roles, f.roles(name)
    facts = f.facts(name)
    parts = [part for part in facts["parts"] if part["role"] != "rigid"]
    area = sum(part["area"] for part in parts)
    for role in ("flesh", "follow"):
        share = sum(part["area"] * part["shares"][role] for part in parts) / area
        assert abs(share - facts[f"{role}_share"]) < 1e-5, (role, share, facts[f"{role}_share"])
    assert (facts["flesh_share"] > 0.5) == ("flesh" in roles.values()), facts["flesh_share"]
    check_independent(f, name, clip)


# ---- tetrahedra, damage, the generator ------------------------------------------------------------------------------

def check_tets(f, name, character, counts):
    """The first vertices are the welded surface, in the order of first occurrence."""
    done = f.tool("mesh", data(name))
    assert done.code == 0 and f"{counts[1]} tetrahedra, {counts[0]} vertices ({counts[2]} on the surface)" in done.out + done.err, done
    x = places(character)
    _, first = np.unique(x, axis=0, return_index=True)
    with open(data(name)) as file:
        lines = file.read().split("\n")
    start = lines.index("Vertices" if name.endswith(".mesh") else "$Nodes") + 2
    column = 0 if name.endswith(".mesh") else 1
    given = np.array([[float(v) for v in line.split()[column:column + 3]] for line in lines[start:start + counts[2]]])
    assert len(first) == counts[2] and apart(given, x[np.sort(first)]) < 1e-6


def check_parts_of_one_name(f):
    """A mesh of three materials: three parts of one name, told apart by number and material, in both forms and in what is found."""
    f.need_import()
    text, parts = f.tool("info", data("creature.fbx")).out, f.facts("creature.fbx")["parts"]
    for k, material in enumerate(("claws", "belly", "back")):
        assert re.search(rf"^  {k} +creature +\[{material}\] +flesh ", text, re.M), text
        assert f"part {k} 'creature' is open" in text, text
        assert (parts[k]["index"], parts[k]["name"], parts[k]["material"]) == (k, "creature", material), parts[k]


BAD = {
    "truncated.glb": "its header says",
    "bad_json.gltf": "not valid JSON",
    "accessor_out_of_range.glb": "do not fit bufferView",
    "nan_vertices.glb": "vertex 3",
    "joint_index_out_of_range.glb": "joint index 5000",
    "cyclic_nodes.gltf": "cycle",
    "weights_all_zero.glb": "all 144 vertices are zero",
    "no_skin.glb": "no skin",
    "truncated.fbx": "cut short",
    "bvh_wrong_channel_count.bvh": "channel 4 of 5",
    "tet_index_out_of_range.mesh": "tet 10: vertex 99999999 is not between 1 and 499",
}


def check_bad(f, name):
    if name.endswith(".fbx"):
        f.need_import()
    path, out = data(os.path.join("bad", name)), os.path.join(f.folder, "bad.npy")
    words = {"bvh": ("skin", "demo:hero", "--motion", path, "-o", out), "mesh": ("mesh", path)}.get(name.split(".")[-1], ("skin", path, "-o", out))
    done = f.tool.bad(3, [BAD[name], name], *words)
    assert done.seconds < QUICK_SECONDS and not os.path.exists(out)


def check_generator(f):
    """The files are what the generator writes."""
    program = os.path.join(DATA, "make.py")
    done = subprocess.run([sys.executable, program, "--check", "--tool", f.tool.path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    assert done.returncode == 0, done.stdout[-1000:]
    total = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(DATA) for name in names if not name.endswith(".pyc"))
    assert total < 5e6, f"{total / 1e6:.1f} MB of test characters"


def variants(cases, f):
    for name in ("embedded.gltf", "separate.gltf", "sparse.glb", "meshopt.glb"):
        cases.run(f"{name.split('.')[0]}_is_plain", check_same, f, name, 0.0)
    cases.run("draco_is_plain", check_draco, f)
    cases.run("draco_of_the_librarys_encoder", check_draco_edges, f)
    for name in ("draco.glb", "draco_edges.glb"):
        cases.run(f"damaged_{name}", check_draco_damaged, f, f"variants/{name}")
    cases.run("quantised_is_plain_to_its_steps", check_same, f, "quantised.glb", 2e-4)
    cases.run("mirrored_bind_is_plain", check_same, f, "mirrored.glb", NEAR)
    cases.run("scale_100_is_plain", check_scale, f)
    cases.run("other_bind_is_plain", check_other_bind, f)
    cases.run("unnormalised_weights_are_normalised", check_unnormalised, f)
    cases.run("zero_weights_are_found_nearby", check_missing_weights, f, "variants/zero_weights.glb", "12 vertices have no weight")
    cases.run("nan_weights_are_found_nearby", check_missing_weights, f, "variants/nan_weights.glb",
              "20 vertices have weights that are no numbers or negative, the first in mesh 0 'hero', primitive 0; ignored: 8 keep their other weights, 12")
    cases.run("two_skins_on_one_mesh", check_two_skins, f)
    cases.run("copies_of_one_skeleton", check_copies, f)
    cases.run("morphs_with_a_clip", check_morphs, f)
    cases.run("feet_on_the_root", check_hung, f, "ik_feet.glb")
    cases.run("thighs_on_the_root", check_hung, f, "thighs_on_root.glb")
    cases.run("hands_at_thighs", check_loads, f, "variants/hands_at_thighs.glb", {"hero": "flesh"})


def characters(cases, f):
    cases.run("hero", check_loads, f, "hero.glb", {"hero": "flesh"})
    cases.run("person", check_loads, f, "person.glb", {"person": "flesh"})
    cases.run("hand", check_hand, f)
    cases.run("quadruped_is_welded", check_quadruped, f)
    cases.run("figure_stands_up", check_figure, f)
    cases.run("strip", check_strip, f)
    cases.run("parts_and_things_on_bones", check_parts, f)
    cases.run("mannequin", check_loads, f, "mannequin.glb", {"mannequin": "own"})
    cases.run("mech", check_loads, f, "mech.glb", {"mech": "own"})
    cases.run("dress", check_loads, f, "dress.glb", {"Head": "flesh", "ArmLeft": "flesh", "ArmRight": "flesh", "LegLeft": "flesh",
                                                     "LegRight": "flesh", "dress": "flesh"})
    cases.run("fish", check_loads, f, "fish.glb", {"trunk": "flesh", "fin": "follow", "eyes": "follow"})
    cases.run("parts_of_one_name", check_parts_of_one_name, f)
    cases.run("walk", check_motion, f, "walk.bvh", 145, 0.0)
    cases.run("dance", check_motion, f, "dance.bvh", 242, 0.05)


def main():
    with session(__doc__) as (tool, cases, folder):
        f = Fixtures(tool, folder)
        variants(cases, f)
        characters(cases, f)
        for name, unit, z_up, clip in (("hero.fbx", 0.01, False, "Armature|walk"), ("hero_ascii.fbx", 0.01, False, "Armature|walk"),
                                       ("hero.dae", 1.0, True, "Armature_Armature")):
            cases.run(f"{name}_is_plain", check_format, f, name, unit, z_up, clip)
        cases.run("fbx_as_text_is_fbx", check_text_fbx, f)
        cases.run("posed.fbx_walks_as_plain", check_posed, f)
        cases.run("arm_z.fbx_is_arm", check_arm_z, f)
        cases.run("creature_of_seven_influences", check_creature, f)
        cases.run("arm.mesh", check_tets, f, "arm.mesh", "arm.glb", (499, 1659, 408))
        cases.run("quadruped.msh", check_tets, f, "quadruped.msh", "quadruped.glb", (723, 2236, 600))
        for name in BAD:
            cases.run(f"bad_{name}", check_bad, f, name)
        cases.run("the_generator_writes_these_files", check_generator, f)


if __name__ == "__main__":
    main()
