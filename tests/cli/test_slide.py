#!/usr/bin/env python3
"""test_slide.py --tool BUILD/supple: skin that slides, through the tool: after methods and vertex animations, its metrics, what is refused."""
import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

from tool import SOURCE, Tool
from cases import Cases

KEYS = ("slide_steps slide_rejected slide_shortest_ms slide_energy slide_max_speed slide_min_stretch slide_max_stretch slide_broken "
        "slide_spanning slide_iterations slide_factorisations slide_linear_ms").split()


def run(tool, folder, name, *arguments):
    out, metrics = os.path.join(folder, name + ".npy"), os.path.join(folder, name + ".metrics.json")
    tool.good("skin", *arguments, "-o", out, "--metrics", metrics)
    with open(metrics, encoding="utf-8") as file:
        return np.load(out), json.load(file)["frames"]


def check_after_methods(tool, folder):
    """Any method's vertices stay as they are, to the last bit; every frame has the skin's numbers."""
    for method, frames in (("linear", "0:6"), ("mixed", "0:3")):
        common = ("demo:arm", "--method", method, "--clip", 0, "--frames", frames, "--resolution", 12)
        plain, without = run(tool, folder, method, *common)
        slid, skin = run(tool, folder, method + "-slid", *common, "--slide")
        assert np.array_equal(plain, slid)
        for frame in skin:
            assert all(np.isfinite(frame[key]) for key in KEYS), frame
            assert frame["ms"]["slide"] > 0 and frame["slide_broken"] == 0
            assert 0.2 < frame["slide_min_stretch"] <= frame["slide_max_stretch"] < 5
        assert all(frame["ms"]["slide"] is None and "slide_steps" not in frame for frame in without)


def check_animation(tool, folder):
    """A vertex animation: steps of 1 ms as the paper's, and adaptive ones, which are fewer; one thread and three agree."""
    motion, scene = os.path.join(folder, "shake.pc2"), os.path.join(folder, "torus.glb")
    tool.good("demo", "torus", "-o", scene)
    tool.good("skin", scene, "--clip", "shake", "--method", "linear", "--frames", "0:8", "-o", motion)
    common = (scene, "--method", "none", "--motion", motion, "--slide", "--set", "slide.zeta=0", "--set", "slide.inertia=world")
    _, short = run(tool, folder, "short", *common, "--set", "slide.step=1", "--frames", "0:2")
    _, one = run(tool, folder, "one", *common, "--threads", 1)
    _, three = run(tool, folder, "three", *common, "--threads", 3)
    assert [frame["slide_steps"] for frame in short[1:]] == [33, 33]
    assert all(1 <= frame["slide_steps"] <= 16 for frame in one[1:])
    same = [key for key in KEYS if not key.endswith("linear_ms")]
    assert [[frame[key] for key in same] for frame in one] == [[frame[key] for key in same] for frame in three]
    assert max(frame["slide_max_speed"] for frame in one) > 0.01  # it is left behind


def refused(tool, folder, code, text, *arguments):
    out = os.path.join(folder, "no.usda")
    done = tool("skin", "demo:arm", "--method", "linear", "--clip", 0, "--frames", "0:1", "-o", out, *arguments)
    lines = [line for line in done.err.splitlines() if "warning" not in line]
    assert done.code == code and len(lines) == 1 and text in lines[0] and not os.path.exists(out), done


def check_refusals(tool, folder):
    """Wrong options, files and regions are told of in one line, with the right code."""
    def config(name, value):
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file)
        return path

    refused(tool, folder, 2, "goes with --slide", "--slide-config", config("empty", {}))
    refused(tool, folder, 2, "--slide", "--set", "slide.zeta=0.5")
    refused(tool, folder, 2, "slide.zeta", "--slide", "--set", "slide.zeta=7")
    refused(tool, folder, 3, "none.json", "--slide", "--slide-config", os.path.join(folder, "none.json"))
    nowhere = config("nowhere", {"regions": [{"name": "tail", "joint": "tail", "skin": "fixed"}]})
    refused(tool, folder, 3, "region 'tail': matches no skin", "--slide", "--slide-config", nowhere)
    both = config("both", {"regions": [{"name": "here", "mesh": "*", "skin": "fixed"}, {"name": "there", "curve": [0, 1], "skin": "sliding"}]})
    refused(tool, folder, 3, "contradict", "--slide", "--slide-config", both)


def check_regions(tool, folder):
    """Skin that is fixed everywhere is glued: as stretched as the body."""
    path = os.path.join(folder, "all-fixed.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"regions": [{"name": "all", "mesh": "*", "skin": "fixed"}]}, file)
    common = ("demo:arm", "--method", "linear", "--clip", 0, "--frames", "0:12", "--slide")
    _, free = run(tool, folder, "free", *common)
    _, glued = run(tool, folder, "glued", *common, "--slide-config", path)
    most = [max(frame["slide_max_stretch"] for frame in frames) for frames in (free, glued)]
    print(f"    largest stretch of area: {most[0]:.2f} free, {most[1]:.2f} glued")
    assert most[0] < most[1] and all(frame["slide_max_speed"] == 0 for frame in glued)
    shirt = os.path.join(SOURCE, "examples", "hero-shirt.json")
    _, frames = run(tool, folder, "shirt", "demo:hero", "--method", "linear", "--clip", "reach", "--frames", "8:9", "--slide",
                    "--slide-config", shirt)
    assert all(frame["slide_broken"] == 0 and frame["slide_max_speed"] > 0 for frame in frames)


def texture_coordinates(path):
    """Of the corners, frame by frame, in the first mesh of a .usda."""
    with open(path, encoding="utf-8") as file:
        samples = file.read().split("primvars:st.timeSamples = {")[1].split("}")[0]
    numbers = [line.split(": [")[1] for line in samples.splitlines() if ": [" in line]
    return [np.array(re.findall(r"[-+.\de]+", line), float).reshape(-1, 2) for line in numbers]


def write_meshes(base, frames, uv, faces):
    """BASE.glb with the first frame and a texture's coordinates, BASE.pc2 with all frames."""
    parts = [np.asarray(frames[0], "<f4"), np.asarray(uv, "<f4"), np.asarray(faces, "<u4")]
    starts = np.cumsum([0] + [part.nbytes for part in parts]).tolist()
    kinds = ((5126, len(uv), "VEC3"), (5126, len(uv), "VEC2"), (5125, len(faces), "SCALAR"))
    accessors = [{"bufferView": i, "componentType": kind, "count": count, "type": shape} for i, (kind, count, shape) in enumerate(kinds)]
    accessors[0].update(min=parts[0].min(0).tolist(), max=parts[0].max(0).tolist())
    text = json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}], "accessors": accessors,
        "meshes": [{"name": "leaf", "primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2}]}],
        "bufferViews": [{"buffer": 0, "byteOffset": a, "byteLength": part.nbytes} for a, part in zip(starts, parts)],
        "buffers": [{"byteLength": starts[-1]}]}).encode()
    text += b" " * (-len(text) % 4)
    with open(base + ".glb", "wb") as file:
        file.write(struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + starts[-1], len(text), 0x4E4F534A) + text)
        file.write(struct.pack("<II", starts[-1], 0x004E4942) + b"".join(part.tobytes() for part in parts))
    with open(base + ".pc2", "wb") as file:
        file.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(uv), 0.0, 1.0, len(frames)))
        file.write(np.asarray(frames, "<f4").tobytes())


def write_leaf(base):
    """A leaf of 30 x 12 x 1.6 cm that bends sideways, each side a piece of the texture of its own; the coordinates of its corners."""
    around, along, length = 7, 17, 0.3  # vertices of a side, rims included; rows
    side = np.linspace(0, np.pi, around)
    angle, y = np.meshgrid(np.concatenate([side - np.pi, side]), np.linspace(0, length, along))
    x, z = 0.06 * np.cos(angle), -0.008 * np.sin(angle)
    u = np.concatenate([np.linspace(0, 0.4, around), np.linspace(0.6, 1, around)])
    uv = np.stack([np.broadcast_to(u, y.shape), y / length], axis=-1).reshape(-1, 2)
    at = np.arange(uv.shape[0]).reshape(y.shape)
    quads = np.stack([at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[:-1, :-1], at[1:, 1:], at[1:, :-1]], axis=-1)
    faces = np.delete(quads, around - 1, axis=1).ravel()  # but for those from one side's last vertex to the other's first
    frames = []
    for bend in (1e-6, 0.125, 0.25, 0.375):  # radians
        radius = length / bend
        frames.append(np.stack([radius - (radius - x) * np.cos(y / radius), (radius - x) * np.sin(y / radius), z], axis=-1).reshape(-1, 3))
    write_meshes(base, frames, uv, faces)
    return uv[faces]


def check_sharp_edges(tool, folder):
    """A leaf is thin, as ears are, and its sides are pieces of the texture of their own: skin that moves a little stays on its side."""
    base, out = os.path.join(folder, "leaf"), os.path.join(folder, "leaf.usda")
    glued = write_leaf(base)
    _, frames = run(tool, folder, "leaf", base + ".glb", "--motion", base + ".pc2", "--slide", "--size", 1, "-o", out)
    jumped = [int((abs(slid - glued)[:, 0] > 0.2).sum()) for slid in texture_coordinates(out)]  # u: v runs the other way in .usda
    assert jumped == [0, 0, 0, 0], f"corners whose skin is on the other side: {jumped}"
    assert frames[-1]["slide_max_speed"] > 0.01, "nothing slides"


def write_cuff(base):
    """A sleeve of 30 cm that bends, its end turned in by 4 cm as cuffs are; which corners lie on its open borders, and all coordinates."""
    around, length, radius = 24, 0.3, 0.05
    rows = np.array([(radius, y) for y in np.linspace(0, length, 16)] + [(radius - 0.004, length), (radius - 0.004, length - 0.02), (radius - 0.004, length - 0.04)])
    turn = np.linspace(0, 2 * np.pi, around + 1)  # the last column is the first one's place, with a coordinate of its own
    r, y = rows[:, :1], rows[:, 1:] + 0 * turn
    x, z = r * np.cos(turn), r * np.sin(turn)
    x[:, -1], z[:, -1] = x[:, 0], z[:, 0]
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(rows, axis=0), axis=1))])
    uv = np.stack([np.broadcast_to(turn / 7, y.shape), np.broadcast_to(way[:, None] / 0.4, y.shape)], axis=-1).reshape(-1, 2)
    at = np.arange(uv.shape[0]).reshape(y.shape)
    faces = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).ravel()
    frames = []
    for bend in (1e-6, 0.3, 0.6):
        large = length / bend
        frames.append(np.stack([large - (large - x) * np.cos(y / large), (large - x) * np.sin(y / large), z], axis=-1).reshape(-1, 3))
    write_meshes(base, frames, uv, faces)
    return np.isin(faces // (around + 1), (0, len(rows) - 1)), uv[faces]


def check_borders(tool, folder):
    """Skin that is fixed at open borders is drawn where it is, also where facets look away from the mean normal, as in a cuff that is turned in."""
    base, out = os.path.join(folder, "cuff"), os.path.join(folder, "cuff.obj")
    border, rest = write_cuff(base)
    _, frames = run(tool, folder, "cuff", base + ".glb", "--motion", base + ".pc2", "--slide", "--size", 1, "-o", out)
    for frame in range(3):
        off = np.abs(read_obj(os.path.join(folder, f"cuff.{frame:04d}.obj")) - rest).max(axis=1)
        assert off[border].max() < 1e-5, f"frame {frame}: {off[border].max():.2g}"
    assert off.max() > 0.005 and frames[-1]["slide_max_speed"] > 0.01, "nothing slides"


def check_example(tool, folder):
    """A lump that moves under the skin of examples/slide-bodies.py leaves it in place."""
    subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "slide-bodies.py"), "swallow", folder], check=True)
    body = [os.path.join(folder, "swallow" + end) for end in (".glb", ".pc2")]
    with open(os.path.join(folder, "glued.json"), "w", encoding="utf-8") as file:
        json.dump({"regions": [{"name": "all", "mesh": "*", "skin": "fixed"}]}, file)
    _, frames = run(tool, folder, "swallow", body[0], "--motion", body[1], "--slide", "--frames", "8:9")
    _, glued = run(tool, folder, "swallowed", body[0], "--motion", body[1], "--slide", "--frames", "8:9",
                   "--slide-config", os.path.join(folder, "glued.json"))
    slid, stuck = frames[-1]["slide_max_stretch"], glued[-1]["slide_max_stretch"]
    print(f"    largest stretch of area: {slid:.2f}, glued {stuck:.2f}")
    assert slid < 1.1 and stuck > 1.2


def areas(path):
    """Of a .obj's triangles, on the body and in the texture."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.startswith(("v ", "f "))]
    x = np.array([line[1:4] for line in lines if line[0] == "v"], float)
    x = x[[[int(corner.split("/")[0]) - 1 for corner in line[1:]] for line in lines if line[0] == "f"]]
    uv = read_obj(path).reshape(-1, 3, 2)
    a, b = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    return np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1), abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def check_mouth(tool, folder):
    """A mouth that opens (figure 5b): lips hold their skin, what is around them spreads; shut, all is as it was."""
    subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "slide-bodies.py"), "mouth", folder], check=True)
    body, out = [os.path.join(folder, "mouth" + end) for end in (".glb", ".pc2")], os.path.join(folder, "open.obj")
    tool.good("skin", body[0], "--motion", body[1], "--slide", "-o", out)
    (rest, chart), (opened, slid), (_, shut) = (areas(os.path.join(folder, f"open.{frame:04d}.obj")) for frame in (0, 15, 30))

    def variance(skin):  # of the stretch of area, by area at rest
        stretch, part = opened / (rest * skin / chart), rest / rest.sum()
        return (part * (stretch - (part * stretch).sum())**2).sum()

    glued, free = variance(chart), variance(slid)
    print(f"    variance of stretch: {glued:.4f} glued, {free:.4f} slid")
    assert glued > 0.003 and free < glued / 4
    assert abs(shut / chart - 1).max() < 0.05


def read_obj(path):
    """Texture coordinates by corner of a .obj's faces, v down."""
    points, corners = [], []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("vt "):
                points.append([float(word) for word in line.split()[1:3]])
            elif line.startswith("f "):
                corners += [int(word.split("/")[1]) - 1 for word in line.split()[1:]]
    return (np.array(points) * (1, -1) + (0, 1))[corners]


class Glb:
    """As much of a .glb as this needs."""
    def __init__(self, path):
        raw = open(path, "rb").read()
        length, = struct.unpack_from("<I", raw, 12)
        self.json, self.data = json.loads(raw[20:20 + length]), raw[28 + length:]

    def read(self, index):
        a = self.json["accessors"][index]
        view = self.json["bufferViews"][a["bufferView"]]
        width, kind = {"SCALAR": 1, "VEC2": 2}[a["type"]], {5125: "<u4", 5123: "<u2", 5126: "<f4"}[a["componentType"]]
        return np.frombuffer(self.data, kind, a["count"] * width, view.get("byteOffset", 0)).reshape(-1, width).astype(float)


def check_atlas(tool, folder):
    """With a texture that slides every output has the atlas: the basis in the .glb gives back what the .obj has, to a quarter of a texel;
    the image is the .obj's; a .usda has it bound, an .abc beside it; any number of threads makes the same bytes; a limit is kept and said; off, nothing is made."""
    common = ("demo:hero", "--method", "linear", "--clip", 0, "--frames", "0:2", "--slide")
    torus = ("demo:torus", "--method", "linear", "--clip", "squash", "--frames", "0:2", "--slide")
    base = os.path.join(folder, "atlas")
    said = tool.good("skin", *common, "-o", base + ".glb", "-o", base + ".obj").err
    for threads in (1, 3):
        tool.good("skin", *torus, "--threads", threads, "-o", f"{base}{threads}.glb")
    assert open(base + "1.glb", "rb").read() == open(base + "3.glb", "rb").read()
    glb = Glb(base + ".glb")
    primitive = glb.json["meshes"][0]["primitives"][0]
    slide, index = primitive["extras"]["supple_slide"], glb.read(primitive["indices"])[:, 0].astype(int)
    parts = [glb.read(i) for i in slide["components"]]
    weights = glb.read(slide["weights"]).reshape(3, len(parts) - 1)
    view = glb.json["bufferViews"][glb.json["images"][0]["bufferView"]]
    picture = glb.data[view.get("byteOffset", 0):][:view["byteLength"]]
    with open(base + ".texture-0.png", "rb") as file:
        assert file.read() == picture
    size = struct.unpack(">II", picture[16:24])
    at_rest, moved = glb.read(primitive["attributes"]["TEXCOORD_0"]), 0
    for frame in range(3):
        uv = parts[0] + sum(w * part for w, part in zip(weights[frame], parts[1:]))
        theirs = read_obj(f"{base}.{frame:04d}.obj")
        off = np.linalg.norm((uv[index] - theirs) * size, axis=1).max()
        assert off <= 0.26, f"frame {frame}: {off:.3f} texels"
        moved = max(moved, np.linalg.norm((uv - at_rest) * size, axis=1).max())
    print(f"    {len(parts) - 1} components, skin moves by up to {moved:.0f} texels, image {size}")
    assert moved > 3 and "map_Kd atlas.texture-0.png" in open(base + ".mtl", encoding="utf-8").read()
    small = tool.good("skin", *torus, "--set", "slide.atlas=256", "-o", base + "-small.obj", "-o", base + "-bound.usda", "-o", base + "-beside.abc").err
    with open(base + "-small.texture-0.png", "rb") as file, open(base + "-bound.texture-0.png", "rb") as bound, open(base + "-beside.texture-0.png", "rb") as beside:
        assert file.read() == bound.read() == beside.read()
    with open(base + "-bound.usda", encoding="utf-8") as file:
        text = file.read()
    shader = text.split('uniform token info:id = "UsdUVTexture"')[1]
    assert "asset inputs:file = @./atlas-bound.texture-0.png@" in shader and "rel material:binding" in text and 'inputs:varname = "st"' in text
    assert len(texture_coordinates(base + "-bound.usda")) == 3
    with open(base + "-small.texture-0.png", "rb") as file:
        assert max(struct.unpack(">II", file.read(24)[16:])) <= 256
    assert "256 texels a side is hit" in small and "is hit" not in said, small
    tool.good("skin", *torus, "--set", "slide.atlas=off", "-o", base + "-off.obj")
    with open(base + "-off.texture-0.png", "rb") as file:
        assert struct.unpack(">II", file.read(24)[16:]) == (512, 512)


def read_png(path):
    """A picture of 8 bits a channel without alpha, as rows of red, green and blue: PNG's own words (RFC 2083), none of ours."""
    raw, at, packed = open(path, "rb").read(), 8, b""
    width, height, depth, kind = struct.unpack_from(">IIBB", raw, 16)
    assert (depth, kind) == (8, 2), "not plain RGB"
    while at < len(raw):
        length, name = struct.unpack_from(">I4s", raw, at)
        packed += raw[at + 8:at + 8 + length] if name == b"IDAT" else b""
        at += 12 + length
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    rows, above = [], np.zeros(3 * width, int)
    for line in lines:
        row = line[1:].astype(int)
        if line[0] in (1, 3, 4):  # these need the pixel to the left, which is only now known
            for i in range(len(row)):
                left, corner = (row[i - 3], above[i - 3]) if i > 2 else (0, 0)
                guess = left + above[i] - corner
                near = min((abs(guess - left), 0, left), (abs(guess - above[i]), 1, above[i]), (abs(guess - corner), 2, corner))[2]
                row[i] = (row[i] + (left, None, (left + above[i]) // 2, near)[line[0] - 1]) & 255
        elif line[0] == 2:
            row = (row + above) & 255
        rows.append(row)
        above = row
    return np.array(rows).reshape(height, width, 3)


def check_texture(tool, folder):
    """The slide as a texture beside a .glb: looked up as a shader does, at every vertex and frame of every clip it gives what the .obj has, to
    half a step of its 12 bits; skin that has not slid is at its very place; any number of threads makes the same bytes; what is
    glued has none."""
    base = os.path.join(folder, "texture")
    common = ("demo:torus", "--method", "linear", "--clip", "all", "--fps", 6, "--slide", "--set", "slide.glb=texture")
    files = []
    for threads in (1, 3):
        said = tool.good("skin", *common, "--threads", threads, "-o", base + ".glb", "-o", base + ".obj").err
        files.append([open(base + end, "rb").read() for end in (".glb", ".slide.png")])
    assert files[0] == files[1] and "texture.slide.png: sliding skin as a texture" in said, said
    glb, picture = Glb(base + ".glb"), read_png(base + ".slide.png")
    primitive = glb.json["meshes"][0]["primitives"][0]
    slide, index = primitive["extras"]["supple_slide"], glb.read(primitive["indices"])[:, 0].astype(int)
    texture = slide["texture"]
    assert texture["uri"] == "texture.slide.png" and texture["size"] == [picture.shape[1], picture.shape[0]] and "components" not in slide
    place = glb.read(primitive["attributes"][f"TEXCOORD_{texture['set']}"])
    rest = glb.read(primitive["attributes"]["TEXCOORD_0"])
    clips, largest, first, still = [clip["name"] for clip in glb.json["animations"]], 0, 0, 0
    assert len(clips) == len(slide["frames"]) > 1
    view = glb.json["bufferViews"][glb.json["images"][0]["bufferView"]]
    size = struct.unpack_from(">II", glb.data, view.get("byteOffset", 0) + 16)
    for clip, frames in zip(clips, slide["frames"]):
        for frame in range(frames):
            at = place + (0, (first + frame) * texture["rows"] / picture.shape[0])
            column, row = (np.floor(at * texture["size"]).astype(int)).T
            red, green, blue = picture[row, column].T
            steps = np.stack([red * 16 + green // 16, green % 16 * 256 + blue], axis=1) - texture["zero"]
            uv = rest + steps * texture["unit"]
            off = np.linalg.norm((uv[index] - read_obj(f"{base}.{clip}.{frame:04d}.obj")) * size, axis=1).max()
            assert off < 0.5 * np.linalg.norm(texture["unit"] * np.array(size)) + 0.002 < 0.05, f"{clip}, frame {frame}: {off:.4f} texels, a step {texture['unit']} of {size}"
            largest, still = max(largest, np.linalg.norm((uv - rest) * size, axis=1).max()), still + (steps == 0).all(axis=1).sum()
        first += frames
    print(f"    {first} frames, a picture of {texture['size']}, skin moves by up to {largest:.1f} texels; {still} times not at all")
    assert largest > 1 and still > 0 and texture["rows"] > 1 and first * texture["rows"] == picture.shape[0]
    glued, thin = os.path.join(folder, "glued.glb"), os.path.join(folder, "texture-glued.json")
    with open(thin, "w", encoding="utf-8") as file:
        json.dump({"regions": [{"name": "all", "mesh": "*", "skin": "fixed"}]}, file)
    tool.good("skin", "demo:torus", "--method", "linear", "--clip", "squash", "--frames", "0:1", "--slide", "--set", "slide.glb=texture",
              "--slide-config", thin, "-o", glued)
    assert os.path.exists(glued) and not os.path.exists(os.path.join(folder, "glued.slide.png"))
    refused(tool, folder, 2, "slide.glb", "--slide", "--set", "slide.glb=picture")
    refused(tool, folder, 2, "add --slide", "--set", "slide.glb=texture")


def check_nothing_to_see(tool, folder):
    """A character without texture coordinates is told so in one line."""
    for extra, count in (((), 1), (("--set", "show=stretch"), 0)):
        done = tool.good("skin", os.path.join(SOURCE, "tests", "data", "parts.glb"), "--method", "linear", "--frames", "0:0", "--slide",
                         "-o", os.path.join(folder, "bare.png"), *extra)
        assert done.err.count("no texture coordinates") == count, done.err
    done = tool("skin", os.path.join(SOURCE, "tests", "data", "parts.glb"), "--motion", os.path.join(folder, "none.bvh"), "--slide",
                "-o", os.path.join(folder, "bare.usda"))
    assert done.code == 3 and "no texture coordinates" in done.err.splitlines()[0], done  # before anything is computed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    tool = Tool(parser.parse_args().tool)
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SUPPLE_CACHE"] = os.path.join(folder, "cache")
        cases.run("after_methods", check_after_methods, tool, folder)
        cases.run("animation", check_animation, tool, folder)
        cases.run("refusals", check_refusals, tool, folder)
        cases.run("regions", check_regions, tool, folder)
        cases.run("sharp_edges", check_sharp_edges, tool, folder)
        cases.run("borders", check_borders, tool, folder)
        cases.run("example", check_example, tool, folder)
        cases.run("mouth", check_mouth, tool, folder)
        cases.run("atlas", check_atlas, tool, folder)
        cases.run("texture", check_texture, tool, folder)
        cases.run("nothing_to_see", check_nothing_to_see, tool, folder)
    cases.end()


if __name__ == "__main__":
    main()
