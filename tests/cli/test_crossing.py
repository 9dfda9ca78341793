#!/usr/bin/env python3
"""test_crossing.py --tool BUILD/supple: a hand is laid on a belly, which it goes through by 24 mm by the weights alone. With --collide self
the body never passes through itself, by the independent judge of tests/checks, and the mesh that is shown by less than a millimetre; springs alone let
it. Once the pose is held nothing moves."""
import json
import os
import shutil

import numpy as np

from tool import SOURCE, check, session

MOTION = os.path.join(SOURCE, "examples", "hand-on-belly.bvh")
HELD = 12  # from this frame on the pose stays


def held_longer(folder):
    """The motion, its last pose held for 2.5 seconds more."""
    with open(MOTION, encoding="utf-8") as file:
        lines = file.read().splitlines()
    lines = ["Frames: 120" if line.startswith("Frames:") else line for line in lines]
    first = next(i for i, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    path = os.path.join(folder, "held.bvh")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines + [lines[-1]] * (120 - (len(lines) - first))) + "\n")
    return path


def play(tool, folder, *arguments, motion=MOTION, tets=6000):
    """The frames, how deep the mesh is in itself (mm), the judge's word on the body."""
    out, metrics, dump = (os.path.join(folder, name) for name in ("hand.npy", "hand.json", "dump"))
    tool.good("skin", "demo:hero", "--motion", motion, "--collide", "self", "--set", f"max-tets={tets}", "--set", "trust=off", "-o", out, "--metrics", metrics,
              "--dump-sim", dump, *arguments, timeout=400)
    body = json.loads(check("check_cross.py", "--sim", dump, "--every", 2, "--json")[1])
    shutil.rmtree(dump)
    with open(metrics, encoding="utf-8") as file:
        depth = max(frame["max_penetration"] for frame in json.load(file)["frames"])
    return np.load(out), 1e3 * depth, body


def clear(tool, folder, *arguments, **options):
    frames, depth, body = play(tool, folder, *arguments, **options)
    assert body["pairs_most"] == 0 and not body["excused"], body
    assert depth < 1, f"the mesh is {depth:.2f} mm deep in itself"
    return np.abs(np.diff(frames[HELD:], axis=0)).max(axis=(1, 2))


def quasistatic(tool, folder, method):
    moved = clear(tool, folder, "--method", method, "--frames", "0:19")
    assert moved[-3:].max() <= 1e-5, f"a held pose moves by {moved} m a frame"


def in_motion(tool, folder):
    """Flesh in contact comes to rest; where it slips once more a frame may move. (It went on by 1.1 mm a frame, at 6,000 tetrahedra by 1.8.)"""
    moved = clear(tool, folder, "--method", "projective", "--dynamics", "on", motion=held_longer(folder), tets=5000)
    assert np.median(moved[-30:]) <= 1e-5, f"a held pose does not come to rest: {moved[-30:]} m a frame"


def springs_alone(tool, folder):
    """What the others would find if nothing bounded the steps: the case that shows that they can fail."""
    _, depth, body = play(tool, folder, "--method", "steklov", "--set", "bounded=off", "--frames", "0:19")
    assert body["pairs_most"] > 100 and body["deepest_mm"] > 20 and depth > 5, (depth, body)


def played(tool, folder, *arguments):
    """A trained model, without contact and with it: the mesh that is shown, by the judge; the same at any number of threads."""
    model, hero = os.path.join(folder, "hero.supple"), os.path.join(folder, "hero.glb")
    if not os.path.exists(model):
        tool.good("train", "demo:hero", "--samples", 40, "--set", "max-tets=6000", "--set", "modes=24", "--set", "derivatives=10", "-o", model, timeout=400)
        tool.good("demo", "hero", "-o", hero)
    depth, frames = {}, []
    for collide, threads in (("none", 2), ("self", 1), ("self", 2)):
        out = os.path.join(folder, "played.npy")
        tool.good("skin", "demo:hero", "--motion", MOTION, "--model", model, "--set", "trust=off", "--collide", collide, "--frames", "0:20", "--threads", threads, "-o", out, *arguments)
        depth[collide] = json.loads(check("check_cross.py", hero, out, "--every", 3, "--json")[1])["deepest_mm"]
        frames.append(np.load(out))
    assert depth["none"] > 15 and depth["self"] < 4, depth
    assert np.array_equal(frames[1], frames[2])
    return np.abs(np.diff(frames[1][-4:], axis=0)).max()


def played_still(tool, folder):
    moved = played(tool, folder)
    assert moved < 1e-4, f"a held pose moves by {moved} m a frame"


def played_in_motion(tool, folder):
    moved = played(tool, folder, "--dynamics", "on")
    assert moved < 1e-3, f"a held pose does not calm down: {moved} m a frame"


def main():
    with session(__doc__) as (tool, cases, folder):
        for method in ("steklov", "mixed", "projective"):
            cases.run(f"a_hand_on_a_belly_{method}", quasistatic, tool, folder, method)
        cases.run("a_hand_on_a_belly_in_motion", in_motion, tool, folder)
        cases.run("a_hand_on_a_belly_played", played_still, tool, folder)
        cases.run("a_hand_on_a_belly_played_in_motion", played_in_motion, tool, folder)
        cases.run("springs_alone_let_it_through", springs_alone, tool, folder)


if __name__ == "__main__":
    main()
