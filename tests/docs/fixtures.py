"""The folder in which a page's blocks are run: the tool made small, and the files that the pages take for granted."""
import json
import os
import shutil
import struct
import subprocess

# What is added to a command that does not say it itself, so that a page takes seconds. The built-in hero is taken with fewer vertices.
SMALL = {
    "skin": [("--frames", "0:1"), ("--resolution", "24")],
    "mesh": [("--resolution", "24")],
    "weights": [("--resolution", "24")],
    "compare": [("--frames", "0:1"), ("--resolution", "24"), ("--methods", "linear,mixed")],
    "batch": [("--frames", "0:1"), ("--resolution", "24"), ("--no-pictures", None)],
    "train": [("--resolution", "40"), ("--samples", "2"), ("--rank", "4"), ("--from-clips", None), ("--set", "modes=8"), ("--set", "derivatives=2")],
}
# And what is not: another body than the model's, a whole cycle cut, options that do not go together.
UNLESS = {"--resolution": ["--body", "--model", ".msh"], "--frames": ["--loop"], "--from-clips": ["--limits"]}
DETAIL = "0.4"

# In place of the tool: the same command, made small.
WRAPPER = """#!/usr/bin/env python3
import os, sys
small, unless, tool, hero = {small!r}, {unless!r}, {tool!r}, {hero!r}
words = [hero if word == "demo:hero" else word for word in sys.argv[1:]]
words = ["cpu" if i and words[i - 1] == "--device" else word for i, word in enumerate(words)]  # an OpenCL device is not everywhere
given = lambda name: any(w == name or w.startswith(name + "=") or (name[0] == "." and w.endswith(name)) for w in words)
for option, value in small.get(words[0] if words else "", []):
    if (option == "--set" or not given(option)) and not any(map(given, unless.get(option, []))) and "--help" not in words:
        words += [option] if value is None else [option, value]
os.execv(tool, [tool, *words])
"""

BALL = {"colliders": [{"sphere": {"center": [0, 1.05, 0.25], "radius": 0.12}}]}
FLOOR = {"colliders": [{"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}]}
BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0.9 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Chest4
  {
    OFFSET 0 0.3 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT Neck
    {
      OFFSET 0 0.2 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      JOINT Head
      {
        OFFSET 0 0.1 0
        CHANNELS 3 Zrotation Xrotation Yrotation
        End Site
        {
          OFFSET 0 0.2 0
        }
      }
    }
    JOINT LeftShoulder
    {
      OFFSET 0.05 0.2 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0.1 0 0
      }
    }
  }
  JOINT LeftUpLeg
  {
    OFFSET 0.1 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT LeftLeg
    {
      OFFSET 0 -0.4 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0 -0.4 0
      }
    }
  }
  JOINT RightUpLeg
  {
    OFFSET -0.1 0 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    JOINT RightLeg
    {
      OFFSET 0 -0.4 0
      CHANNELS 3 Zrotation Xrotation Yrotation
      End Site
      {
        OFFSET 0 -0.4 0
      }
    }
  }
}
MOTION
Frames: 3
Frame Time: 0.0333333
"""


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{' '.join(command)} exited {done.returncode}: {done.stdout[-2000:]}"
    return done.stdout


def read_glb(path):
    data = open(path, "rb").read()
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20:20 + length]), data[28 + length:]


def write_glb(path, document, binary):
    document["buffers"][0]["byteLength"] = len(binary)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    with open(path, "wb") as file:
        file.write(struct.pack("<3I", 0x46546C67, 2, 28 + len(text) + len(binary)) + struct.pack("<2I", len(text), 0x4E4F534A) + text
                   + struct.pack("<2I", len(binary), 0x004E4942) + binary)


def picture(source, path):
    """The texture of a .glb as a file of its own."""
    document, binary = read_glb(source)
    view = document["bufferViews"][document["images"][0]["bufferView"]]
    with open(path, "wb") as file:
        file.write(binary[view.get("byteOffset", 0):][:view["byteLength"]])


def open_top(document, binary, primitive):
    """Without the triangles within 5 cm of the top."""
    def view(accessor):
        return document["bufferViews"][document["accessors"][accessor]["bufferView"]].get("byteOffset", 0)
    places, indices, binary = view(primitive["attributes"]["POSITION"]), primitive["indices"], bytearray(binary)
    kind = {5123: "H", 5125: "I"}[document["accessors"][indices]["componentType"]]
    count, size = document["accessors"][indices]["count"], struct.calcsize("<3" + kind)
    height = lambda v: struct.unpack_from("<f", binary, places + 12 * v + 4)[0]
    top = document["accessors"][primitive["attributes"]["POSITION"]]["max"][1] - 0.05
    triangles = [struct.unpack_from("<3" + kind, binary, view(indices) + size * t) for t in range(count // 3)]
    kept = [t for t in triangles if min(map(height, t)) < top]
    struct.pack_into(f"<{3 * len(kept)}{kind}", binary, view(indices), *(v for t in kept for v in t))
    document["accessors"][indices].update(count=3 * len(kept))
    return bytes(binary)


def paint(source, path):
    """The hero with every tenth vertex red, a hole on top of the head, and a clip called Walk: somebody's own character."""
    document, binary = read_glb(source)
    binary += b"\0" * (-len(binary) % 4)
    primitive = document["meshes"][0]["primitives"][0]
    attributes = primitive["attributes"]
    count = document["accessors"][attributes["POSITION"]]["count"]
    binary = open_top(document, binary, primitive)
    colours = b"".join(struct.pack("<4f", 1, i % 10 != 0, i % 10 != 0, 1) for i in range(count))
    document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": len(colours)})
    document["accessors"].append({"bufferView": len(document["bufferViews"]) - 1, "componentType": 5126, "count": count, "type": "VEC4"})
    attributes["COLOR_0"] = len(document["accessors"]) - 1
    document["animations"][0]["name"] = "Walk"
    write_glb(path, document, binary + colours)


class Fixtures:
    """Made once; every page gets a copy."""

    def __init__(self, root, build, folder):
        self.root, self.folder = root, os.path.join(folder, "fixtures")
        self.tool = os.path.join(build, "supple")
        os.makedirs(os.path.join(self.folder, "build"))
        self.small = os.path.join(self.folder, "hero.glb")
        run(self.tool, "demo", "hero", "--detail", DETAIL, "-o", self.small)
        self.write_tool(build)
        self.write_files()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_tool(self, build):
        wrapper = self.path("build/supple")
        with open(wrapper, "w", encoding="utf-8") as file:
            file.write(WRAPPER.format(small=SMALL, unless=UNLESS, tool=self.tool, hero=self.small))
        os.chmod(wrapper, 0o755)
        for name in ("examples", "tests", "libsupple.so"):
            os.symlink(os.path.join(build, name), self.path(f"build/{name}"))

    def write_files(self):
        paint(self.small, self.path("my.glb"))
        for name in ("face.glb", "character.glb"):
            shutil.copy(self.path("my.glb"), self.path(name))
        picture(self.small, self.path("skin.png"))
        picture(self.small, self.path("bumps.png"))
        run(self.tool, "demo", "torus", "--detail", "0.4", "-o", self.path("chair.glb"))
        for name, value in (("ball.json", BALL), ("floor.json", FLOOR)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                json.dump(value, file)
        with open(self.path("walk.bvh"), "w", encoding="utf-8") as file:
            file.write(BVH + ("0 0.9 0" + " 0" * (3 * 9) + "\n") * 3)
        run(self.tool, "skin", self.small, "--clip", "walk", "--method", "linear", "--frames", "0:3", "-o", self.path("face.pc2"))
        shutil.copy(self.path("face.pc2"), self.path("simulated.pc2"))

    def copy(self, path):
        shutil.copytree(self.folder, path, symlinks=True)
        for name in ("bench", "examples", "scripts"):
            os.symlink(os.path.join(self.root, name), os.path.join(path, name))
        return path
