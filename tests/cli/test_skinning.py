#!/usr/bin/env python3
"""test_skinning.py --tool BUILD/supple: the numbers in the outputs, against the independent programs in tests/checks and each
other: every clip of every character, caches, frame ranges, rates, threads."""
import concurrent.futures
import glob
import os
import re
import struct
import sys
import tempfile

import numpy as np

from tool import CHECKS, DATA, QUICK, assets, check, data, same_files, session

sys.path.insert(0, CHECKS)
WORKERS = 2


def checked(program, *arguments):
    """Runs a program of tests/checks, which must be content; its last line is the measured error."""
    code, said = check(program, *arguments)
    assert code == 0, f"{program} {' '.join(map(str, arguments))}: {said}"
    return said


def document(path):
    from gltf import Gltf
    return Gltf(path)


def clip_count(path):
    return len(document(path).j.get("animations", []))


def linear_clip(tool, folder, path, clip, fps):
    out = os.path.join(folder, f"{os.path.basename(path)}.{clip}.{fps}.npy")
    choice = ("--clip", clip) if clip is not None else ()
    tool.good("skin", path, "-o", out, "--method", "linear", "--fps", fps, *choice)
    said = checked("check_linear.py", path, out, "--clip", clip or 0, "--fps", fps)
    os.remove(out)
    return float(re.search(r"max error ([0-9.e+-]+)", said).group(1))


def check_linear(tool, folder, path, fps):
    """Every clip of a character."""
    clips = list(range(clip_count(path))) or [None]
    if QUICK:
        clips = clips[:2]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        errors = list(pool.map(lambda clip: linear_clip(tool, folder, path, clip, fps), clips))
    print(f"    {os.path.basename(path)} at {fps} fps: {len(clips)} clips, largest error {max(errors):.3g} of the diagonal")


def short_clip(path):
    """A clip that is not too long for the slow checks."""
    return {"quadruped.glb": "Walk", "parts.glb": "Nod"}.get(os.path.basename(path), "0")


def check_caches(tool, folder, path, fps):
    """One file with all meshes in .glb and .gltf; .pc2 and .mdd where there is one mesh, else one of them a mesh."""
    base = os.path.join(folder, os.path.basename(path) + f".{fps}")
    choice = ("--clip", short_clip(path)) if clip_count(path) else ()
    endings = ("npy", "pc2", "mdd", "glb", "gltf")
    outputs = [item for ending in endings for item in ("-o", f"{base}.{ending}")]
    tool.good("skin", path, "--method", "linear", "--fps", fps, *choice, *outputs)
    whole = [f"{base}.{ending}" for ending in endings[1:] if os.path.exists(f"{base}.{ending}")]
    if not choice:  # check_caches.py asks a .glb for its first animation
        whole = [name for name in whole if not check_still(name, base)]
    assert os.path.exists(base + ".glb") and os.path.exists(base + ".gltf"), "no glb or gltf"
    print("    " + checked("check_caches.py", base + ".npy", *whole, "--fps", fps).replace("\n", "\n    ").replace(folder + os.sep, ""))
    if base + ".pc2" not in whole:
        check_pieces(path, base)


def check_still(name, base):
    """A .glb or .gltf of the rest pose alone: true if it is one, and equal."""
    if not name.endswith((".glb", ".gltf")):
        return False
    from gltf import Poser, lbs
    g, reference = document(name), np.load(base + ".npy")
    assert "animations" not in g.j and "skins" not in g.j
    error = abs(lbs(g, Poser(g), None, 0) - reference[0]).max() / np.linalg.norm(np.ptp(reference[0], axis=0))
    assert error < 2e-6, f"{error:.3g} of the diagonal"
    return True


def read_cache(path):
    raw = open(path, "rb").read()
    if path.endswith(".pc2"):
        assert raw[:12] == b"POINTCACHE2\0"
        _, vertices, _, _, frames = struct.unpack_from("<iiffi", raw, 12)
        return np.frombuffer(raw, "<f4", offset=32).reshape(frames, vertices, 3)
    frames, vertices = struct.unpack_from(">ii", raw, 0)
    return np.frombuffer(raw, ">f4", offset=8 + 4 * frames).reshape(frames, vertices, 3)


def check_pieces(path, base):
    """base.MESH.pc2 for each mesh instance: together they are the .npy, each slice once."""
    from gltf import instances
    g = document(path)
    sizes = {}
    for node, _, primitive in instances(g):
        sizes[node] = sizes.get(node, 0) + g.j["accessors"][primitive["attributes"]["POSITION"]]["count"]
    reference = np.load(base + ".npy")
    bounds = np.cumsum([0, *sizes.values()])
    assert bounds[-1] == reference.shape[1]
    for ending in ("pc2", "mdd"):
        pieces = {name: read_cache(name) for name in glob.glob(glob.escape(base) + f".*.{ending}")}
        assert len(pieces) == len(sizes), f"{len(pieces)} .{ending} files for {len(sizes)} meshes"
        for first, last in zip(bounds, bounds[1:]):
            match = [name for name, piece in pieces.items() if piece.shape[1] == last - first
                     and np.array_equal(piece, reference[:, first:last])]
            assert match, f"no .{ending} file holds vertices {first} to {last}"
            pieces.pop(match[0])


def check_all_clips(tool, folder, path):
    """--clip all: a file a clip in .npy, the same bytes as clip by clip."""
    inner = tempfile.mkdtemp(dir=folder)
    tool.good("skin", path, "--method", "linear", "--clip", "all", "-o", os.path.join(inner, "all.npy"))
    count = clip_count(path)
    together = sorted(open(name, "rb").read() for name in glob.glob(os.path.join(inner, "all.*.npy")))
    assert len(together) == count, f"{len(together)} files for {count} clips: {sorted(os.listdir(inner))[:8]}"

    def one(clip):
        out = os.path.join(inner, f"one{clip}.npy")
        tool.good("skin", path, "--method", "linear", "--clip", clip, "-o", out)
        return open(out, "rb").read()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        assert sorted(pool.map(one, range(count))) == together


def check_threads(tool, folder, character, method, clip, *endings):
    for threads in (1, 2, 7):
        outputs = [item for ending in endings for item in ("-o", os.path.join(folder, f"t{threads}.{ending}"))]
        tool.good("skin", character, "--method", method, "--clip", clip, "--frames", "0:4", "--threads", threads, *outputs)
    for ending in endings:
        for threads in (2, 7):
            assert same_files(os.path.join(folder, f"t1.{ending}"), os.path.join(folder, f"t{threads}.{ending}")), \
                f".{ending} at {threads} threads differs from one"


def check_frames(tool, folder):
    out = lambda name: os.path.join(folder, name)
    tool.good("skin", "demo:arm", "--method", "linear", "-o", out("all.npy"))
    tool.good("skin", "demo:arm", "--method", "linear", "--frames", "3:9", "-o", out("some.npy"))
    every, some = np.load(out("all.npy")), np.load(out("some.npy"))
    assert some.shape[0] == 7 and np.array_equal(every[3:10], some)
    tool.good("skin", "demo:arm", "--method", "linear", "--frames", "4:4", "-o", out("one.npy"))
    assert np.array_equal(np.load(out("one.npy")), every[4:5])
    assert every.dtype == np.float32 and every.flags.c_contiguous


def check_fps(tool, folder):
    """Frame k is at k / fps: every second frame at 60 is a frame at 30."""
    out = lambda name: os.path.join(folder, name)
    for fps in (30, 60, 12.5):
        tool.good("skin", "demo:hero", "--clip", "walk", "--method", "linear", "--fps", fps, "-o", out(f"{fps}.npy"))
    slow, fast, odd = (np.load(out(f"{fps}.npy")) for fps in (30, 60, 12.5))
    size = np.ptp(slow.reshape(-1, 3), axis=0).max()
    assert abs(fast[::2][:len(slow)] - slow).max() <= 1e-6 * size
    assert len(fast) in (2 * len(slow) - 1, 2 * len(slow)) and 2 < len(odd) < len(slow)
    assert abs(odd[5] - fast[24]).max() <= 1e-6 * size  # 5 / 12.5 s = 24 / 60 s


def check_obj(tool, folder):
    inner = tempfile.mkdtemp(dir=folder)
    tool.good("skin", "demo:arm", "--method", "linear", "--frames", "0:4", "-o", os.path.join(inner, "a.npy"), "-o", os.path.join(inner, "a.obj"))
    reference = np.load(os.path.join(inner, "a.npy"))
    files = sorted(glob.glob(os.path.join(inner, "*.obj")))
    assert len(files) == 5, files
    size = np.ptp(reference.reshape(-1, 3), axis=0).max()
    for frame, name in enumerate(files):
        lines = open(name).read().splitlines()
        x = np.array([line.split()[1:4] for line in lines if line.startswith("v ")], float)
        assert x.shape == reference[frame].shape and abs(x - reference[frame]).max() < 1e-6 * size
        corners = {int(c.split("/")[0]) for line in lines if line.startswith("f ") for c in line.split()[1:]}
        assert min(corners) >= 1 and max(corners) <= len(x), "faces out of range"


def check_dualquat_differs(tool, folder):
    """At a rotation of 150 degrees the two baselines must not agree, and both must keep the rest pose."""
    for method in ("linear", "dualquat"):
        tool.good("skin", "demo:arm", "--method", method, "-o", os.path.join(folder, method + ".npy"))
    linear, dual = (np.load(os.path.join(folder, m + ".npy")) for m in ("linear", "dualquat"))
    size = np.ptp(linear.reshape(-1, 3), axis=0).max()
    assert abs(linear[0] - dual[0]).max() < 1e-5 * size
    assert abs(linear[-1] - dual[-1]).max() > 1e-2 * size


def check_long_clip(tool, folder):
    """More frames than a glb of morph targets may have: components that play within the error that is allowed."""
    from gltf import Poser, morph_frames
    base = os.path.join(folder, "long")
    command = ("skin", "demo:arm", "--method", "linear", "--clip", "0", "--fps", "240")
    tool.bad(2, ["255", "glb-error"], *command, "--set", "glb-error=0", "-o", base + ".glb")
    tool.bad(2, ["glb-error"], *command, "--set", "glb-error=2", "-o", base + ".glb")
    done = tool.good(*command, "-o", base + ".glb", "-o", base + ".npy")
    assert "components; largest error" in done.err, done.err
    reference, g = np.load(base + ".npy"), document(base + ".glb")
    assert len(reference) > 255 and max(len(p["targets"]) for m in g.j["meshes"] for p in m["primitives"]) <= 255
    diagonal = np.linalg.norm(np.ptp(reference.reshape(-1, 3), axis=0))
    error = max(abs(morph_frames(g, Poser(g), 0, k / 240) - reference[k]).max() for k in range(0, len(reference), 50)) / diagonal
    print(f"    {len(reference)} frames: error {error:.3g} of the diagonal")
    assert error < 5e-4, f"{error:.3g} of the diagonal"


def check_small_glb(tool, folder):
    """An error that is allowed makes a short clip smaller too."""
    sizes = []
    for name, choice in (("exact", ()), ("small", ("--set", "glb-error=0.0005"))):
        out = os.path.join(folder, name + ".glb")
        tool.good("skin", "demo:hero", "--method", "linear", *choice, "-o", out)
        sizes.append(os.path.getsize(out))
    assert sizes[1] < 0.5 * sizes[0], sizes


def check_alembic(tool, folder):
    """Every mesh and frame through a reader that shares nothing with the writer."""
    for source in ("demo:arm", data("parts.glb")):
        base = os.path.join(folder, "alembic")
        tool.good("skin", source, "--method", "linear", "--frames", "2:8", "-o", base + ".abc", "-o", base + ".npy")
        checked("check_abc.py", base + ".abc", base + ".npy")


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("frames", check_frames, tool, folder)
        cases.run("fps", check_fps, tool, folder)
        cases.run("obj_sequence", check_obj, tool, folder)
        cases.run("dualquat_is_not_linear", check_dualquat_differs, tool, folder)
        cases.run("clip_of_more_frames_than_targets", check_long_clip, tool, folder)
        cases.run("glb_within_an_error", check_small_glb, tool, folder)
        cases.run("alembic", check_alembic, tool, folder)
        cases.run("threads_linear", check_threads, tool, folder, "demo:hero", "linear", "reach", "npy", "glb", "png", "pc2")
        cases.run("threads_dualquat", check_threads, tool, folder, "demo:hero", "dualquat", "reach", "npy")  # writers are the same
        # Under TSan one character shows what all would, for a tenth of the time.
        paths = [path for path in assets() if os.path.dirname(path) == DATA]  # variants: test_skinning_variants.py
        for path in paths[:1] if os.environ.get("SUPPLE_SANITIZED") == "thread" else paths:
            name = os.path.basename(path)
            for fps in (30,) if QUICK else (30, 24):
                cases.run(f"linear_{name}_{fps}", check_linear, tool, folder, path, fps)
            cases.run(f"caches_{name}", check_caches, tool, folder, path, 30)
            if name in ("parts.glb", "quadruped.glb") and not QUICK:
                cases.run(f"all_clips_{name}", check_all_clips, tool, folder, path)


if __name__ == "__main__":
    main()
