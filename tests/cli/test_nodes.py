#!/usr/bin/env python3
"""test_nodes.py --tool BUILD/supple: what becomes of a character's nodes in a .glb: joints and channels that nothing uses any more are left out,
what carries something or is named by somebody stays, and what plays is the same."""
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
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder
        self.document, self.binary = read_glb(data("hero.glb"))
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


def main():
    with session(__doc__) as (tool, cases, folder):
        n = Nodes(tool, folder)
        cases.run("joints_are_left_out", check_plain, n)
        cases.run("joints_are_kept_if_asked_for", check_asked_for, n)
        cases.run("channels_of_a_whole_clip", check_whole_clip, n)
        cases.run("what_hangs_on_joints_stays", check_carried, n)
        cases.run("what_is_named_stays", check_named, n)
        cases.run("armatures_and_tips_go", check_armature, n)


if __name__ == "__main__":
    main()
