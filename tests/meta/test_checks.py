#!/usr/bin/env python3
"""test_checks.py --tool BUILD/supple: the judges judged. Results that are spoiled by hand, one fault each, are found by the programs of
tests/checks, by the right name; good ones are not. Depths of two spheres that are pushed into each other are known."""
import json
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from tool import CHECKS, SOURCE, Tool, check, session  # noqa: E402

sys.path.insert(0, CHECKS)
from gltf import Gltf, instances  # noqa: E402

FRAMES, FPS = "10:18", 30


class Arm:
    """The built-in arm, small, and nine frames of linear skinning: what results are spoiled from."""

    def __init__(self, tool, folder):
        self.folder = folder
        self.glb, self.linear = os.path.join(folder, "arm.glb"), os.path.join(folder, "linear.npy")
        tool.good("demo", "arm", "--detail", 0.5, "-o", self.glb)
        tool.good("skin", self.glb, "--method", "linear", "--clip", 0, "--fps", FPS, "--frames", FRAMES, "-o", self.linear)
        g = Gltf(self.glb)
        parts = [np.asarray(g.accessor(p["attributes"]["POSITION"]), float) for _, _, p in instances(g)]
        assert len(parts) == 1, "the arm is one primitive"
        self.rest, self.frames = parts[0], np.load(self.linear)
        self.diagonal = np.linalg.norm(np.ptp(self.frames[0], axis=0))
        self.place = np.unique(np.round(self.rest / (1e-6 * self.diagonal)), axis=0, return_inverse=True)[1].ravel()

    def twins(self, vertex):
        """The vertices at a vertex's place: moving all of them opens no seam."""
        return np.nonzero(self.place == self.place[vertex])[0]

    def along(self):
        """How far along its longest axis each vertex lies at rest, from 0 to 1."""
        axis = np.ptp(self.rest, axis=0).argmax()
        return (self.rest[:, axis] - self.rest[:, axis].min()) / np.ptp(self.rest[:, axis])

    def harm(self, frames, *arguments):
        """check_harm's verdict on frames: names of the measures out of bounds, and all of them."""
        path = os.path.join(self.folder, "method.npy")
        np.save(path, frames.astype(np.float32))
        code, said = check("check_harm.py", self.glb, self.linear, path, "--json", *arguments)
        verdict = json.loads(said)
        assert code == (1 if verdict["bad"] else 0), said
        return {word.split()[0] for word in verdict["bad"]}, verdict


def good_results(arm):
    """Linear skinning itself, and flesh that swells by a hundredth of the diagonal, slowly."""
    assert arm.harm(arm.frames)[0] == set()
    centre = arm.frames.mean(axis=1, keepdims=True)
    out = arm.frames - centre
    swell = np.sin(np.linspace(0, np.pi, len(arm.frames)))[:, None, None]
    bad, verdict = arm.harm(arm.frames + 0.01 * arm.diagonal * swell * out / np.linalg.norm(out, axis=2, keepdims=True))
    assert bad == set() and 0.005 < verdict["far"] < 0.02, verdict


def torn(arm):
    frames = arm.frames.copy()
    frames[4, arm.twins(100)] += 0.1 * arm.diagonal
    bad, verdict = arm.harm(frames)
    assert "torn" in bad and verdict["at"]["torn"] == 4 and "cracks" not in bad and "lost" not in bad, verdict


def stretched(arm):
    """A part of the forearm is pulled to 2.4 times its length: nothing is torn."""
    frames, size = arm.frames.copy(), np.ptp(arm.rest, axis=0)
    frames[4] = arm.rest
    frames[4, :, size.argmax()] += 1.4 * np.clip(arm.along() - 0.7, 0, 0.1) * size.max()
    bad, verdict = arm.harm(frames, "--bounds", "torn=0,stretched=0.003,cracks=0.002,folded=0.01")
    assert bad == {"stretched"} and verdict["at"]["stretched"] == 4, verdict


def folded(arm):
    """A band around the forearm is turned back over itself."""
    frames, along = arm.frames.copy(), arm.along()
    axis = np.ptp(arm.rest, axis=0).argmax()
    band = (along > 0.7) & (along < 0.76)
    frames[4] = arm.rest
    frames[4, band, axis] = 2 * arm.rest[band, axis].mean() - arm.rest[band, axis]
    bad, verdict = arm.harm(frames, "--bounds", "cracks=0.002,folded=0.01")
    assert bad == {"folded"} and verdict["at"]["folded"] == 4, verdict


def cracked(arm):
    """One of the vertices at a seam leaves the others: by too little to tear anything."""
    count = np.bincount(arm.place)
    seam = np.nonzero(count[arm.place] > 1)[0]
    assert len(seam), "the arm has no seam"
    frames = arm.frames.copy()
    frames[:, seam[0]] += 0.005 * arm.diagonal * np.ones(3) / np.sqrt(3)
    bad, verdict = arm.harm(frames)
    assert bad == {"cracks"} and 0.002 < verdict["cracks"] < 0.005, verdict


def lost(arm):
    bad, verdict = arm.harm(arm.frames + np.float32(0.04 * arm.diagonal) * np.eye(3, dtype=np.float32)[1])
    assert bad == {"lost"} and abs(verdict["lost"] - 0.04) < 1e-4, verdict


def far(arm):
    bad, verdict = arm.harm(arm.frames + np.float32(0.07 * arm.diagonal) * np.eye(3, dtype=np.float32)[1])
    assert bad == {"lost", "far"}, verdict


def popping(arm):
    """The whole arm jumps by a hundredth of the diagonal for one frame, and is back in the next."""
    frames = arm.frames.copy()
    frames[4] += 0.015 * arm.diagonal * np.eye(3)[1]
    bad, verdict = arm.harm(frames)
    assert bad == {"pops"} and verdict["at"]["pops"] in (3, 4, 5), verdict


def not_finite(arm):
    frames = arm.frames.copy()
    frames[2, 7] = np.nan
    bad, _ = arm.harm(frames)
    assert "not" in bad, bad


def crossing(arm):
    """The wall of the forearm is pushed out through the wall on the other side."""
    along, axes = arm.along(), np.delete(np.arange(3), np.ptp(arm.rest, axis=0).argmax())
    pinch = 1 - 1.6 * np.clip(1 - np.abs(along - 0.75) / 0.08, 0, 1) ** 0.25
    frames = np.repeat(arm.rest[None], 3, axis=0)
    band = np.abs(along - 0.75) < 0.08
    centre = arm.rest[band][:, axes].mean(axis=0)
    path = os.path.join(arm.folder, "crossing.npy")
    np.save(path, frames.astype(np.float32))
    code, said = check("check_cross.py", arm.glb, path, "--every", 1, "--bound", 0.5, "--json")
    assert code == 0 and json.loads(said)["pairs_most"] == 0, said
    frames[1][:, axes] = centre + (arm.rest[:, axes] - centre) * np.where(band, pinch, 1)[:, None]
    np.save(path, frames.astype(np.float32))
    code, said = check("check_cross.py", arm.glb, path, "--every", 1, "--bound", 0.5, "--json")
    found = json.loads(said)
    assert code == 1 and found["at_frame"] == 1 and found["pairs_most"] > 10, said


def sphere(centre, radius, rings=24, sectors=48):
    """A closed sphere: vertices, triangles with their fronts outside."""
    polar, turn = np.linspace(0, np.pi, rings + 1)[1:-1], np.arange(sectors) / sectors * 2 * np.pi
    x = np.stack([np.outer(np.sin(polar), np.cos(turn)), np.outer(np.sin(polar), np.sin(turn)),
                  np.outer(np.cos(polar), np.ones(sectors))], axis=2)
    x = np.vstack([x.reshape(-1, 3), [[0, 0, 1], [0, 0, -1]]])
    at = lambda ring, sector: ring * sectors + sector % sectors
    north, south, last = len(x) - 2, len(x) - 1, rings - 2
    triangles = [(north, at(0, s), at(0, s + 1)) for s in range(sectors)] + [(south, at(last, s + 1), at(last, s)) for s in range(sectors)]
    for ring in range(last):
        for s in range(sectors):
            a, b, c, d = at(ring, s), at(ring + 1, s), at(ring + 1, s + 1), at(ring, s + 1)
            triangles += [(a, b, c), (a, c, d)]
    return radius * x + np.asarray(centre), np.array(triangles)


def write_glb(path, position, triangles):
    position, index = position.astype("<f4"), triangles.astype("<u4").ravel()
    data = position.tobytes() + index.tobytes()
    text = json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "buffers": [{"byteLength": len(data)}],
        "bufferViews": [{"buffer": 0, "byteLength": position.nbytes},
                        {"buffer": 0, "byteOffset": position.nbytes, "byteLength": index.nbytes}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": len(position),
                       "min": position.min(0).tolist(), "max": position.max(0).tolist()},
                      {"bufferView": 1, "componentType": 5125, "type": "SCALAR", "count": len(index)}]}).encode()
    text += b" " * (-len(text) % 4)
    with open(path, "wb") as file:
        file.write(struct.pack("<III", 0x46546C67, 2, 28 + len(text) + len(data)))
        file.write(struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data)


def depths(folder):
    """Two spheres of 10 cm, apart at rest, pushed into each other by known depths; rounding by their facets is allowed for."""
    glb, npy = os.path.join(folder, "spheres.glb"), os.path.join(folder, "spheres.npy")
    (a, ta), (b, tb) = sphere((0, 0, 0), 0.1), sphere((0.3, 0, 0), 0.1)
    rest = np.vstack([a, b])
    write_glb(glb, rest, np.vstack([ta, tb + len(a)]))
    for depth in (0, 5, 20, 50):
        frame = rest.copy()
        frame[len(a):, 0] -= 0.1 + depth / 1000 - (0.01 if depth == 0 else 0)
        np.save(npy, frame[None].astype(np.float32))
        code, said = check("check_cross.py", glb, npy, "--every", 1, "--json", "--bound", 0.1)
        found = json.loads(said)
        print(f"    pushed in by {depth} mm: {found['deepest_mm']:.1f} mm")
        assert abs(found["deepest_mm"] - depth) < 0.3 and code == (depth > 0), said


def bodies(folder):
    """The same balls as the surface of a body that was dumped: what bones hold on both sides is counted apart, what they hold on one side is not."""
    dump = os.path.join(folder, "balls")
    os.makedirs(dump)
    (a, ta), (b, tb) = sphere((0, 0, 0), 0.1), sphere((0.3, 0, 0), 0.1)
    rest = np.vstack([[[9.0, 9.0, 9.0]], a, b])  # the first vertex is within the flesh, and of no triangle
    frame = rest.copy()
    frame[1 + len(a):, 0] -= 0.12
    np.save(os.path.join(dump, "surface.npy"), (np.vstack([ta, tb + len(a)]) + 1).astype(np.int32))
    np.save(os.path.join(dump, "rest.npy"), rest)
    np.save(os.path.join(dump, "x_0006.npy"), rest)
    np.save(os.path.join(dump, "x_0007.npy"), frame)
    found = {}
    for name, held in (("free", []), ("one", range(1, 1 + len(a))), ("both", range(len(rest)))):
        bone = np.full(len(rest), -1, np.int32)
        bone[list(held)] = 3
        np.save(os.path.join(dump, "bone.npy"), bone)
        code, said = check("check_cross.py", "--sim", dump, "--every", 1, "--json", "--bound", 0.1)
        found[name] = json.loads(said)
        assert code == (name != "both") and found[name]["frames"] == 2, said
    for name in ("free", "one"):
        f = found[name]
        assert abs(f["deepest_mm"] - 20) < 0.3 and f["at_frame"] == 7 and f["held_most"] == 0 and f["pairs_most"] > 50, f
    assert found["both"]["deepest_mm"] == found["both"]["pairs_most"] == 0 and found["both"]["held_most"] == found["free"]["pairs_most"], found
    assert found["free"]["excused"] == [] and found["free"]["else_crossing"] == [7], found["free"]
    tet = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.05  # in each ball, held; they cross in the second frame
    more = np.vstack([tet - 0.02, tet + [0.28, -0.02, -0.02]])
    np.save(os.path.join(dump, "rest.npy"), np.vstack([rest, more]))
    np.save(os.path.join(dump, "x_0006.npy"), np.vstack([rest, more]))
    for moved, excused in ((0.3, [7]), (0.12, [])):
        now = more.copy()
        now[4:, 0] -= moved - 0.01
        np.save(os.path.join(dump, "x_0007.npy"), np.vstack([frame, now]))
        np.save(os.path.join(dump, "tets.npy"), (np.arange(8).reshape(2, 4) + len(rest)).astype(np.int32))
        np.save(os.path.join(dump, "bone.npy"), np.concatenate([np.full(len(rest), -1), np.repeat([0, 1], 4)]).astype(np.int32))
        f = json.loads(check("check_cross.py", "--sim", dump, "--every", 1, "--json")[1])
        assert f["excused"] == excused and f["else_crossing"] == ([] if excused else [7]), f
    for arguments in ((), ("--sim", dump, "x.glb", "x.npy"), ("x.glb",)):
        assert check("check_cross.py", *arguments)[0] == 2, arguments


def measure(tool, arm):
    """The tool's own measure of what it shows is that of the judge, pair by pair, whichever unit the file is in; the body is judged beside it."""
    files = [os.path.join(arm.folder, name) for name in ("bent.npy", "bent.json", "bent")]
    for method in ("linear", "dualquat", "mixed"):
        for size in ("file", "4"):
            dump = () if method != "mixed" else ("--dump-sim", files[2])
            tool.good("skin", arm.glb, "--method", method, "--clip", 0, "--resolution", 20, "--frames", "37:39", "--size", size, "-o", files[0],
                      "--metrics", files[1], *dump)
            with open(files[1], encoding="utf-8") as file:
                m = json.load(file)
            _, said = check("check_cross.py", arm.glb, files[0], "--every", 1, "--json", "--metres", m["body"]["size_m"])
            found, ours = json.loads(said), 1000 * max(f["max_penetration"] for f in m["frames"])
            print(f"    {method}, --size {size}: {ours:.2f} mm, {found['deepest_mm']:.2f} by the judge")
            assert abs(ours - found["deepest_mm"]) < 0.1 and found["deepest_mm"] > 1, said
            assert max(f["crossed"] for f in m["frames"]) == found["pairs_most"] > 10, said
    _, said = check("check_cross.py", "--sim", files[2], "--every", 1, "--json")
    assert json.loads(said)["frames"] == 3 and json.loads(said)["deepest_mm"] > 1, said


def numbers(tool, arm):
    """check_linear and the readers of caches are content with what the tool wrote, and not with a vertex that is off by a little or is no number."""
    base = os.path.join(arm.folder, "cache")
    # Readers of a .glb play it from its first frame on.
    outputs = [word for ending in ("npy", "pc2", "mdd", "glb", "abc") for word in ("-o", f"{base}.{ending}")]
    tool.good("skin", arm.glb, "--method", "linear", "--clip", 0, "--fps", FPS, "--frames", "0:8", *outputs)
    frames = np.load(base + ".npy")
    off = os.path.join(arm.folder, "off.npy")
    nothing = os.path.join(arm.folder, "nan.npy")
    for path, value in ((off, frames[5, 11, 1] + 1e-4 * arm.diagonal), (nothing, np.nan)):
        spoiled = frames.copy()
        spoiled[5, 11, 1] = value
        np.save(path, spoiled)
    how = ("--clip", 0, "--fps", FPS)
    for reference, expected in ((base + ".npy", 0), (off, 1), (nothing, 1)):
        for program, arguments in (("check_linear.py", (arm.glb, reference, *how)), ("check_abc.py", (base + ".abc", reference)),
                                   *(("check_caches.py", (reference, f"{base}.{e}", "--fps", FPS)) for e in ("pc2", "mdd", "glb"))):
            code, said = check(program, *arguments)
            assert code == expected, f"{program} {arguments}: exit {code}, expected {expected}: {said}"


def equilibrium(tool, arm):
    """Forces balance in what the tool dumped, and no longer when one free vertex is moved, or is nowhere."""
    dump = os.path.join(arm.folder, "dump")
    tool.good("skin", arm.glb, "--method", "mixed", "--clip", 0, "--resolution", 16, "--frames", "20:21",
              "-o", os.path.join(arm.folder, "mixed.npy"), "--dump-sim", dump)
    code, said = check("check_equilibrium.py", dump, "--energy", "mixed")
    assert code == 0, said
    frame = sorted(name for name in os.listdir(dump) if name.startswith("x_"))[-1]
    x, free = np.load(os.path.join(dump, frame)), np.nonzero(np.load(os.path.join(dump, "bone.npy")) < 0)[0]
    for move in (0.005 * arm.diagonal, np.nan):
        x[free[0]] += move
        np.save(os.path.join(dump, frame), x)
        code, said = check("check_equilibrium.py", dump, "--energy", "mixed")
        assert code == 1 and "worst residual" in said, said


def corpus(tool, arm):
    """The loop over a folder counts: one that is unharmed, one that cannot be read."""
    folder = os.path.join(arm.folder, "corpus")
    os.makedirs(folder)
    os.link(arm.glb, os.path.join(folder, "arm.glb"))
    words = (tool.path, folder, os.path.join(arm.folder, "results"), "dualquat", "--frames", "0:4")
    code, said = check("check_corpus.py", *words)
    assert code == 0 and said.endswith("1 unharmed, 0 harmed, 0 failed"), said
    with open(os.path.join(folder, "broken.glb"), "wb") as file:
        file.write(b"glTF")
    code, said = check("check_corpus.py", *words)
    assert code == 1 and "FAILED not read" in said and said.endswith("1 unharmed, 0 harmed, 1 failed"), said


SPOILER = """#!{python}
import subprocess, sys
import numpy as np
words = sys.argv[1:]
code = subprocess.call([{tool!r}, *words])
if code == 0 and words[0] == "skin" and {method!r} in words:
    path = words[words.index("-o") + 1]
    frames = np.load(path)
    frames[2] += 0.1 * np.ptp(frames)
    np.save(path, frames)
sys.exit(code)
"""


def floor(tool, arm):
    """scripts/run-corpus: a harmed character fails it; without trust it is shown, and one that was unharmed fails it; so does wrong linear skinning; none at all is well."""
    folder, listed, empty = (os.path.join(arm.folder, name) for name in ("floor", "listed.txt", "empty.txt"))
    os.makedirs(folder)
    os.link(arm.glb, os.path.join(folder, "arm.glb"))
    for path, text in ((listed, "arm # of the tests\n"), (empty, "# nothing\n")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for method, trust, floor_file, count, expected in ((None, "on", listed, "1 unharmed, 0 harmed\n1 passed, 0 failed", 0),
                                                       ("auto", "off", empty, "0 unharmed, 1 harmed\n1 passed, 0 failed", 0),
                                                       ("auto", "on", empty, "0 unharmed, 1 harmed\n0 passed, 1 failed", 1),
                                                       ("auto", "off", listed, "0 unharmed, 1 harmed\n0 passed, 1 failed", 1),
                                                       ("linear", "on", empty, "0 passed, 1 failed", 1)):
        spoiler = os.path.join(arm.folder, f"spoil-{method}")
        with open(spoiler, "w", encoding="utf-8") as file:
            file.write(SPOILER.format(python=sys.executable, tool=tool.path, method=method))
        os.chmod(spoiler, 0o755)
        done = Tool(sys.executable)(os.path.join(SOURCE, "scripts", "run-corpus"), "--tool", spoiler, "--frames", "0:4", "--floor", floor_file, "--trust", trust,
                                    "--out", os.path.join(arm.folder, f"floor-{method}"), folder)
        assert done.code == expected and done.out.strip().endswith(count), f"{method}, {trust}, {floor_file}: exit {done.code}: {done.out}{done.err}"
    done = Tool(sys.executable)(os.path.join(SOURCE, "scripts", "run-corpus"), os.path.join(arm.folder, "absent"))
    assert done.code == 0 and done.out.count("\n") == 1 and "no characters" in done.out, done.out + done.err


def main():
    with session(__doc__) as (tool, cases, folder):
        arm = Arm(tool, folder)
        for case in (good_results, torn, stretched, folded, cracked, lost, far, popping, not_finite, crossing):
            cases.run(case.__name__, case, arm)
        cases.run("depths_of_two_spheres", depths, folder)
        cases.run("depths_of_bodies", bodies, folder)
        cases.run("measure_of_the_tool", measure, tool, arm)
        cases.run("numbers", numbers, tool, arm)
        cases.run("equilibrium", equilibrium, tool, arm)
        cases.run("corpus", corpus, tool, arm)
        cases.run("corpus_floor", floor, tool, arm)


if __name__ == "__main__":
    main()
