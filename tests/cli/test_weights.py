"""`supple weights`: a standard skin in a file that is otherwise the same."""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tool import check, data, session  # noqa: E402

SMALL = ("--resolution", 30)
TYPES = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class Glb:
    """A .glb as JSON and bytes: nothing of the code under test."""

    def __init__(self, path):
        with open(path, "rb") as f:
            raw = f.read()
        magic, version, total = struct.unpack_from("<4sII", raw)
        assert magic == b"glTF" and version == 2 and total == len(raw)
        length, = struct.unpack_from("<I", raw, 12)
        self.json = json.loads(raw[20:20 + length])
        self.bin = raw[28 + length:]

    def view(self, index):
        view = self.json["bufferViews"][index]
        at = view.get("byteOffset", 0)
        return self.bin[at:at + view["byteLength"]], view.get("byteStride", 0)

    def accessor(self, index):
        a = self.json["accessors"][index]
        raw, stride = self.view(a["bufferView"])
        kind, width = np.dtype(TYPES[a["componentType"]]), WIDTH[a["type"]]
        size = kind.itemsize * width
        rows = np.ndarray((a["count"], width), kind, raw, a.get("byteOffset", 0), (stride or size, kind.itemsize))
        return rows.copy()

    def skin(self, attributes):
        sets = [n for n in range(4) if f"JOINTS_{n}" in attributes]
        joints = np.hstack([self.accessor(attributes[f"JOINTS_{n}"]) for n in sets])
        weights = np.hstack([self.accessor(attributes[f"WEIGHTS_{n}"]) for n in sets])
        return joints.astype(int), weights.astype(float)


def same_but_weights(old, new):
    """Every primitive, animation, skin and image is the input's, by value."""
    for mesh, other in zip(old.json["meshes"], new.json["meshes"], strict=True):
        for p, q in zip(mesh["primitives"], other["primitives"], strict=True):
            keys = {k for k in p["attributes"] if not k.startswith(("JOINTS", "WEIGHTS"))}
            assert keys == {k for k in q["attributes"] if not k.startswith(("JOINTS", "WEIGHTS"))}
            for key in keys:
                assert (old.accessor(p["attributes"][key]) == new.accessor(q["attributes"][key])).all(), key
            if "indices" in p:
                assert (old.accessor(p["indices"]) == new.accessor(q["indices"])).all()
    for a, b in zip(old.json.get("animations", []), new.json.get("animations", []), strict=True):
        assert a["channels"] == b["channels"]
        for s, t in zip(a["samplers"], b["samplers"], strict=True):
            assert (old.accessor(s["input"]) == new.accessor(t["input"])).all()
            assert (old.accessor(s["output"]) == new.accessor(t["output"])).all()
    for a, b in zip(old.json["skins"], new.json["skins"], strict=True):
        assert a["joints"] == b["joints"]
        if "inverseBindMatrices" in a:
            assert (old.accessor(a["inverseBindMatrices"]) == new.accessor(b["inverseBindMatrices"])).all()
    for a, b in zip(old.json.get("images", []), new.json.get("images", []), strict=True):
        assert old.view(a["bufferView"])[0] == new.view(b["bufferView"])[0]
    for key in ("nodes", "scenes", "materials", "textures", "samplers"):
        assert old.json.get(key) == new.json.get(key), key


def check_skin(glb, most):
    for mesh in glb.json["meshes"]:
        for p in mesh["primitives"]:
            if "JOINTS_0" not in p["attributes"]:
                continue
            joints, weights = glb.skin(p["attributes"])
            assert joints.shape[1] <= most and (weights >= 0).all()
            assert np.abs(weights.sum(1) - 1).max() < 1e-6
            assert (joints[weights == 0] == 0).all() and joints.max() < len(glb.json["skins"][0]["joints"])


def demo(tool, folder, name):
    path = os.path.join(folder, name + ".glb")
    tool.good("demo", name, "-o", path)
    return path


def check_kinds(tool, folder):
    path = demo(tool, folder, "hero")
    old, seen = Glb(path), []
    for kind in ("bbw", "heat", "own"):
        for influences in (4, 8):
            out = os.path.join(folder, f"{kind}{influences}.glb")
            tool.good("weights", path, "-o", out, "--weights", kind, "--influences", influences, *SMALL)
            new = Glb(out)
            same_but_weights(old, new)
            check_skin(new, influences)
            seen.append(new.skin(new.json["meshes"][0]["primitives"][0]["attributes"])[1][:, :4])
    assert np.abs(seen[0] - seen[2]).max() > 0.05 and np.abs(seen[0] - seen[4]).max() > 0.05


def check_linear(tool, folder):
    """`linear` on the new file is what the weights in it say, by the checker of tests/checks."""
    path, out = demo(tool, folder, "arm"), os.path.join(folder, "arm-bbw.glb")
    tool.good("weights", path, "-o", out, *SMALL)
    frames = os.path.join(folder, "arm.npy")
    tool.good("skin", out, "-o", frames, "--method", "linear", "--clip", 0, "--fps", 8)
    code, said = check("check_linear.py", out, frames, "--clip", 0, "--fps", 8)
    assert code == 0 and float(said.split("max error")[1].split()[0]) < 1e-5, said


def check_own(tool, folder):
    """The file's own weights come back nearly as they were."""
    path, out = demo(tool, folder, "hero"), os.path.join(folder, "hero-own.glb")
    tool.good("weights", path, "-o", out, "--weights", "own", "--influences", 8)
    before, after = os.path.join(folder, "before.npy"), os.path.join(folder, "after.npy")
    for source, target in ((path, before), (out, after)):
        tool.good("skin", source, "-o", target, "--method", "linear", "--clip", "walk", "--fps", 8)
    a, b = np.load(before), np.load(after)
    distance = np.linalg.norm(a - b, axis=2)
    assert distance.mean() < 0.001 * 2.3 and distance.max() < 0.03 * 2.3, (distance.mean(), distance.max())


def check_metrics(tool, folder):
    out, metrics, picture = (os.path.join(folder, n) for n in ("m.glb", "m.json", "m.png"))
    tool.good("weights", "demo:arm", "-o", out, "-o", picture, "--metrics", metrics, *SMALL, "--no-cache")
    with open(metrics) as f:
        m = json.load(f)
    assert m["weights"] == "bbw" and m["influences"] == 4 and m["unfinished"] == 0 and not m["cached"]
    assert m["residual"] <= 1e-6 and m["local_maxima"] >= 0 and m["changed"] > 100 and m["joints"] == 2
    assert set(m["ms"]) == {"body", "weights", "system", "factor", "start", "bounds", "skin"}
    assert m["body"]["tets"] > 1000 and m["body"]["bones"] == 2
    with open(picture, "rb") as f:
        assert f.read(8) == b"\x89PNG\r\n\x1a\n"


def check_threads(tool, folder):
    outputs = [os.path.join(folder, f"threads{n}.glb") for n in (1, 2, 5)]
    for n, out in zip((1, 2, 5), outputs):
        tool.good("weights", "demo:arm", "-o", out, *SMALL, "--no-cache", "--threads", n)
    contents = [open(out, "rb").read() for out in outputs]
    assert contents[0] == contents[1] == contents[2]


def check_refusals(tool, folder):
    path, out = demo(tool, folder, "arm"), os.path.join(folder, "refused.glb")
    tool.bad(2, ["output"], "weights", path)
    tool.bad(2, ["input"], "weights", "-o", out)
    tool.bad(2, ["--weights", "bbw"], "weights", path, "-o", out, "--weights", "painted")
    tool.bad(2, ["--influences"], "weights", path, "-o", out, "--influences", 5)
    tool.bad(2, [".glb"], "weights", path, "-o", os.path.join(folder, "refused.obj"))
    tool.bad(2, ["grade"], "weights", path, "-o", out, "--set", "grade=perhaps")
    tool.bad(3, ["flesh"], "weights", data("strip.gltf"), "-o", out)
    tool.bad(4, ["cannot"], "weights", path, "-o", os.path.join(folder, "none", "x.glb"), *SMALL)
    before = open(path, "rb").read()
    done = tool("weights", path, "-o", path, *SMALL)
    assert done.code != 0 and open(path, "rb").read() == before, done.err
    assert not os.path.exists(out)


def check_asset(tool, folder, name):
    path, out = data(name), os.path.join(folder, name)
    tool.good("weights", path, "-o", out, "--influences", 8, "--set", "max-tets=8000")
    check_skin(Glb(out), 8)


def check_graded(tool, folder):
    sizes = []
    for grade in ("off", "on"):
        done = tool("mesh", "demo:arm", "--resolution", 80, "--set", f"grade={grade}", "--json")
        assert done.code == 0, done.err
        sizes.append(json.loads(done.out))
    fine, graded = sizes
    assert graded["uniform_tets"] == fine["tets"] and fine["uniform_tets"] == 0 and graded["octants"] > 100
    assert graded["tets"] < 0.75 * fine["tets"] and graded["surface_triangles"] == fine["surface_triangles"]
    assert abs(graded["volume"] / fine["volume"] - 1) < 1e-6
    out = [os.path.join(folder, f"{grade}.npy") for grade in ("off", "on")]
    for grade, path in zip(("off", "on"), out):
        tool.good("skin", "demo:arm", "-o", path, "--method", "mixed", "--resolution", 50, "--set", f"grade={grade}", "--frames", "6:6")
    a, b = np.load(out[0]), np.load(out[1])
    assert not (a == b).all() and np.linalg.norm(a - b, axis=2).max() < 0.01 * 0.7


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("kinds", check_kinds, tool, folder)
        cases.run("linear", check_linear, tool, folder)
        cases.run("own", check_own, tool, folder)
        cases.run("metrics", check_metrics, tool, folder)
        cases.run("threads", check_threads, tool, folder)
        cases.run("refusals", check_refusals, tool, folder)
        for name in ("hero.glb", "quadruped.glb", "parts.glb"):
            cases.run(name, check_asset, tool, folder, name)
        cases.run("graded", check_graded, tool, folder)


if __name__ == "__main__":
    main()
