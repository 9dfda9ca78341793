#!/usr/bin/env python3
"""test_nodes.py --tool BUILD/supple: what becomes of a character's nodes in a .glb: joints and channels that nothing uses any more are left out,
what carries something or is named by somebody stays, and what plays is the same. A VRM stays one."""
import copy
import json
import os
import struct
import sys

import numpy as np

from tool import CHECKS, data, session

sys.path.insert(0, CHECKS)
import gltf  # noqa: E402

RANGE = ("--method", "linear", "--clip", "walk", "--fps", 30, "--frames", "2:6")


def read_glb(path):
    with open(path, "rb") as file:
        raw = file.read()
    size = struct.unpack_from("<I", raw, 12)[0]
    return json.loads(raw[20:20 + size]), raw[28 + size:]


def write_glb(path, document, binary):
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    with open(path, "wb") as file:
        file.write(b"glTF" + struct.pack("<II", 2, 28 + len(text) + len(binary)) + struct.pack("<I4s", len(text), b"JSON") + text
                   + struct.pack("<I4s", len(binary), b"BIN\0") + binary)


class Nodes:
    def __init__(self, tool, folder, character="hero.glb"):
        self.tool, self.folder = tool, folder
        self.document, self.binary = read_glb(data(character))
        self.joint = {node["name"]: i for i, node in enumerate(self.document["nodes"])}

    def path(self, name):
        return os.path.join(self.folder, name)

    def copy(self):
        return copy.deepcopy(self.document)

    def skin(self, document, *more, choice=RANGE, ending=".glb"):
        """The JSON of the output, which plays what the .npy of the same run has."""
        source, out, npy = self.path("in" + ending), self.path("out" + ending), self.path("out.npy")
        write_glb(source, document, self.binary)
        self.tool.good("skin", source, *choice, *more, "-o", out, "-o", npy)
        g, frames = gltf.Gltf(out), np.load(npy)
        poser = gltf.Poser(g)
        worst = max(np.abs(gltf.lbs(g, poser, 0, k / 30) - frames[k]).max() for k in range(len(frames)))
        assert worst < 2e-6 * np.linalg.norm(np.ptp(frames[0], axis=0)), f"the .glb plays {worst:.3g} from the .npy"
        return g.j


def names(document):
    return {node.get("name") for node in document["nodes"]}


def moved(document):
    """(name of the node, path) of every channel."""
    return {(document["nodes"][c["target"]["node"]].get("name"), c["target"]["path"]) for a in document["animations"] for c in a["channels"]}


def check_plain(n):
    out = n.skin(n.copy())
    assert names(out) == {"hero"} and moved(out) == {("hero", "weights")}, (names(out), moved(out))
    assert out["scenes"][0]["nodes"] == [0] and len(out["animations"]) == 1 and "skins" not in out


def check_asked_for(n):
    out = n.skin(n.copy(), "--keep-rig")
    assert len(out["nodes"]) == len(n.document["nodes"]) and ("hips", "rotation") in moved(out), moved(out)


def check_whole_clip(n):
    """A whole clip keeps its channels as they are, but for those of joints."""
    out = n.skin(n.copy(), choice=("--method", "linear", "--clip", "walk", "--fps", 30))
    assert names(out) == {"hero"} and moved(out) == {("hero", "weights")}, moved(out)
    used = {s[k] for a in out["animations"] for s in a["samplers"] for k in ("input", "output")}
    used |= {i for m in out["meshes"] for p in m["primitives"] for i in [p["indices"], *p["attributes"].values()]}
    used |= {i for m in out["meshes"] for p in m["primitives"] for t in p["targets"] for i in t.values()}
    assert used == set(range(len(out["accessors"]))), "data of joints are carried along"


def above(n, name):
    """A joint and those above it."""
    parent = {c: i for i, node in enumerate(n.document["nodes"]) for c in node.get("children", [])}
    found, at = set(), n.joint[name]
    while at is not None:
        found.add(n.document["nodes"][at]["name"])
        at = parent.get(at)
    return found


def check_carried(n):
    """A mesh, a camera and a light on bones stay where they are, with what moves them; so does a node with extras."""
    document = n.copy()
    document["cameras"] = [{"type": "perspective", "perspective": {"yfov": 1, "znear": 0.1}}]
    document["extensions"] = {"KHR_lights_punctual": {"lights": [{"type": "point"}]}}
    document["extensionsUsed"] = ["KHR_lights_punctual"]
    prop = copy.deepcopy(document["meshes"][0])
    for p in prop["primitives"]:
        p["attributes"] = {"POSITION": p["attributes"]["POSITION"]}
    document["meshes"].append(prop)
    hung = {"hand.L": {"name": "prop", "mesh": len(document["meshes"]) - 1}, "head": {"name": "eye", "camera": 0},
            "foot.R": {"name": "lamp", "extensions": {"KHR_lights_punctual": {"light": 0}}}, "hand.R": {"name": "grip", "extras": {"use": 1}},
            "neck": {"name": "tip"}}
    for joint, node in hung.items():
        document["nodes"][n.joint[joint]].setdefault("children", []).append(len(document["nodes"]))
        document["nodes"].append(node)
    out = n.skin(document)
    expected = {"hero", "prop", "eye", "lamp", "grip"} | above(n, "hand.L") | above(n, "head") | above(n, "foot.R") | above(n, "hand.R")
    assert names(out) == expected, names(out) ^ expected
    assert ("forearm.L", "rotation") in moved(out) and ("shin.L", "rotation") not in moved(out), moved(out)
    assert [node.get("name") for node in out["nodes"]] == [node.get("name") for node in document["nodes"] if node.get("name") in expected]


def check_named(n):
    """Extras that name a joint keep it; extras or extensions with numbers of nodes keep all."""
    document = n.copy()
    document["scenes"][0]["extras"] = {"camera target": "shin.L"}
    assert names(n.skin(document)) == {"hero"} | above(n, "shin.L")
    for change in ({"extras": {"rootBone": 3}}, {"extensions": {"ACME_rig": {"follow": 3}}, "extensionsUsed": ["ACME_rig"]},
                   {"extensionsUsed": ["KHR_animation_pointer"]}):
        out = n.skin({**n.copy(), **change})
        assert [node.get("name") for node in out["nodes"]] == [node.get("name") for node in n.document["nodes"]], change
    document = n.copy()
    document["nodes"][5]["extensions"] = {"ACME_constraint": {"source": 3}}
    assert len(n.skin(document)["nodes"]) == len(document["nodes"])


def check_armature(n):
    """The node above the joints and their tips go with them; what has nothing to do with them stays."""
    document = n.copy()
    first = len(document["nodes"])
    hero = document["scenes"][0]["nodes"]
    document["nodes"] += [{"name": "Armature", "children": [k for k in hero]}, {"name": "room"}, {"name": "hand.L_end"}]
    document["nodes"][n.joint["hand.L"]].setdefault("children", []).append(first + 2)
    document["scenes"][0]["nodes"] = [first, first + 1]
    assert names(n.skin(document)) == {"hero", "room"}


# ---- VRM ------------------------------------------------------------------------------------------------------------

HUMAN = {"hips": "hips", "spine": "spine", "head": "head", "leftUpperLeg": "thigh.L", "leftLowerLeg": "shin.L", "leftFoot": "foot.L",
         "rightUpperLeg": "thigh.R", "rightLowerLeg": "shin.R", "rightFoot": "foot.R", "leftUpperArm": "upper_arm.L", "leftLowerArm": "forearm.L",
         "leftHand": "hand.L", "rightUpperArm": "upper_arm.R", "rightLowerArm": "forearm.R", "rightHand": "hand.R"}


def vrm_zero(n):
    """VRM 0.x: one extension, bones, springs and expressions by number."""
    document, joint = n.copy(), n.joint
    document["extensionsUsed"] = ["VRM", "KHR_materials_unlit"]
    document["extensions"] = {"VRM": {
        "specVersion": "0.0", "meta": {"title": "hero", "author": "nobody", "licenseName": "CC0", "texture": 0},
        "humanoid": {"humanBones": [{"bone": bone, "node": joint[name]} for bone, name in HUMAN.items()]},
        "firstPerson": {"firstPersonBone": joint["head"], "meshAnnotations": [{"mesh": 0, "firstPersonFlag": "Auto"}]},
        "blendShapeMaster": {"blendShapeGroups": [{"name": "Joy", "presetName": "joy", "binds": [{"mesh": 0, "index": 1, "weight": 100}]},
                                                  {"name": "Neutral", "presetName": "neutral", "binds": []}]},
        "secondaryAnimation": {"boneGroups": [{"bones": [joint["neck"]], "center": -1, "colliderGroups": [0]}],
                               "colliderGroups": [{"node": joint["head"], "colliders": [{"offset": {"x": 0, "y": 0, "z": 0}, "radius": 0.1}]}]},
        "materialProperties": [{"name": "skin", "shader": "VRM/MToon", "renderQueue": 2000}]}}
    return document


def vrm_one(n):
    """VRM 1.0: extensions of the file, of nodes and of materials."""
    document, joint = n.copy(), n.joint
    document["extensionsUsed"] = ["VRMC_vrm", "VRMC_springBone", "VRMC_node_constraint", "VRMC_materials_mtoon"]
    mesh = next(i for i, node in enumerate(document["nodes"]) if "mesh" in node)
    document["extensions"] = {
        "VRMC_vrm": {"specVersion": "1.0", "meta": {"name": "hero", "authors": ["nobody"], "licenseUrl": "https://vrm.dev/licenses/1.0/"},
                     "humanoid": {"humanBones": {bone: {"node": joint[name]} for bone, name in HUMAN.items()}},
                     "firstPerson": {"meshAnnotations": [{"node": mesh, "type": "auto"}]},
                     "expressions": {"preset": {"happy": {"isBinary": False, "morphTargetBinds": [{"node": mesh, "index": 1, "weight": 1}]}},
                                     "custom": {"wide": {"morphTargetBinds": [{"node": mesh, "index": 0, "weight": 0.5}]}}}},
        "VRMC_springBone": {"specVersion": "1.0", "colliders": [{"node": joint["head"], "shape": {"sphere": {"offset": [0, 0, 0], "radius": 0.1}}}],
                            "springs": [{"joints": [{"node": joint["neck"]}, {"node": joint["head"]}], "center": joint["hips"]}]}}
    document["nodes"][joint["hand.L"]]["extensions"] = {
        "VRMC_node_constraint": {"specVersion": "1.0", "constraint": {"rotation": {"source": joint["forearm.L"]}}}}
    document.setdefault("materials", [{"name": "skin"}])
    document["materials"][0]["extensions"] = {"VRMC_materials_mtoon": {"specVersion": "1.0", "shadeColorFactor": [1, 0.5, 0.5]}}
    return document


def without_targets(extensions):
    """What is to be left: expressions that move no morph targets."""
    out = copy.deepcopy(extensions)
    for group in out.get("VRM", {}).get("blendShapeMaster", {}).get("blendShapeGroups", []):
        group["binds"] = []
    for kind in out.get("VRMC_vrm", {}).get("expressions", {}).values():
        for expression in kind.values():
            expression.pop("morphTargetBinds", None)
    return out


def check_vrm(n, make, ending):
    """All extensions go on, and every node that they name by number is the same one."""
    document = make(n)
    source, out = n.path("in.vrm"), n.path("out" + ending)
    write_glb(source, document, n.binary)
    done = n.tool.good("skin", source, "--method", "linear", "--frames", "0:3", "-o", out)
    assert "expression" in done.err, done.err
    result = gltf.Gltf(out).j
    assert result["extensions"] == without_targets(document["extensions"]), result["extensions"]
    assert [node.get("name") for node in result["nodes"]][:len(document["nodes"])] == [node.get("name") for node in document["nodes"]]
    for mine, theirs in zip(result["nodes"], document["nodes"]):
        assert mine.get("extensions") == theirs.get("extensions") and ("mesh" in mine) == ("mesh" in theirs)
    used = set(document["extensionsUsed"]) - {"KHR_materials_unlit"}  # that one is named, and used by nothing
    assert set(result["extensionsUsed"]) >= used, result["extensionsUsed"]
    assert [m.get("extensions") for m in result.get("materials", [])] == [m.get("extensions") for m in document.get("materials", [])]
    again = json.loads(n.tool("info", out, "--json").out)
    assert again["vertices"] == json.loads(n.tool("info", source, "--json").out)["vertices"]


def check_vrm_required(n):
    """A file that cannot do without its extensions is read all the same."""
    document = vrm_one(n)
    document["extensionsRequired"] = ["VRMC_vrm", "VRMC_materials_mtoon"]
    write_glb(n.path("in.vrm"), document, n.binary)
    n.tool.good("skin", n.path("in.vrm"), "--method", "linear", "--frames", "0", "-o", n.path("out.npy"))


def check_no_vrm(n):
    n.tool.bad(2, ["is no VRM", ".glb"], "skin", data("hero.glb"), "--clip", "walk", "--method", "linear", "--frames", "0", "-o", n.path("no.vrm"))
    assert not os.path.exists(n.path("no.vrm"))


def main():
    with session(__doc__) as (tool, cases, folder):
        n = Nodes(tool, folder)
        cases.run("joints_are_left_out", check_plain, n)
        cases.run("joints_are_kept_if_asked_for", check_asked_for, n)
        cases.run("channels_of_a_whole_clip", check_whole_clip, n)
        cases.run("what_hangs_on_joints_stays", check_carried, n)
        cases.run("what_is_named_stays", check_named, n)
        cases.run("armatures_and_tips_go", check_armature, n)
        n = Nodes(tool, folder, "variants/morphs.glb")
        for name, make in (("0", vrm_zero), ("1", vrm_one)):
            for ending in (".vrm", ".glb"):
                cases.run(f"vrm_{name}_to_{ending[1:]}", check_vrm, n, make, ending)
        cases.run("vrm_required", check_vrm_required, n)
        cases.run("no_vrm", check_no_vrm, n)


if __name__ == "__main__":
    main()
