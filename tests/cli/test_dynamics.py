#!/usr/bin/env python3
"""test_dynamics.py --tool BUILD/supple: flesh in motion and in contact through the tool: options, refusals, loops, gravity, colliders, metrics,
dumps."""
import base64
import json
import os
import struct

import numpy as np

from tool import session

SACK = ("skin", "demo:sack", "--resolution", 12, "--size", "file")
BALL = {"colliders": [{"sphere": {"center": [0, 0.35, 0.22], "radius": 0.15}}]}


def box(path, whole=True, slide=0.0):
    """A cube as a .gltf with its buffer inside, without its last triangle unless whole, sliding by x within a second."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype="<f4") * 0.1 + np.array([0, 0.35, 0.18], dtype="<f4")
    faces = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
    triangles = struct.pack("<36H", *faces)
    times, moves = struct.pack("<2f", 0, 1), struct.pack("<6f", 0, 0, 0, slide, 0, 0)
    data = corners.tobytes() + triangles + times + moves
    views, at = [], 0
    for part in (corners.tobytes(), triangles, times, moves):
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(part)})
        at += len(part)
    low, high = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    scene = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "name": "crate"}],
             "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
             "animations": [{"channels": [{"sampler": 0, "target": {"node": 0, "path": "translation"}}], "samplers": [{"input": 2, "output": 3}]}],
             "accessors": [{"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": low, "max": high},
                           {"bufferView": 1, "componentType": 5123, "count": 36 if whole else 33, "type": "SCALAR"},
                           {"bufferView": 2, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
                           {"bufferView": 3, "componentType": 5126, "count": 2, "type": "VEC3"}],
             "bufferViews": views,
             "buffers": [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(scene, file)
    return path


def ball(folder):
    path = os.path.join(folder, "ball.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(BALL, file)
    return path


def play(tool, folder, name, *arguments):
    """Frames and metrics of a run of the sack; by `projective` unless they say otherwise."""
    out, metrics = os.path.join(folder, f"{name}.npy"), os.path.join(folder, f"{name}.json")
    method = () if "--method" in arguments else ("--method", "projective")
    tool.good(*SACK, *method, "-o", out, "--metrics", metrics, *arguments, timeout=400)
    with open(metrics, encoding="utf-8") as file:
        return np.load(out), json.load(file)["frames"]


def check_refusals(tool, folder):
    out = os.path.join(folder, "o.npy")
    skin = ("skin", "demo:arm", "--clip", "bend", "--resolution", 12, "-o", out)
    for words, arguments in (
            (["dynamics", "mixed", "projective"], ("--method", "mixed", "--dynamics", "on")),
            (["dynamics", "linear"], ("--method", "linear", "--dynamics", "on")),
            (["--dynamics", "perhaps"], ("--dynamics", "perhaps")),
            (["--preroll"], ("--preroll", "1")),
            (["--loop"], ("--loop",)),
            (["--root-inertia"], ("--dynamics", "on", "--root-inertia", "2")),
            (["--preroll"], ("--dynamics", "on", "--preroll", "-1")),
            (["--gravity"], ("--gravity=much",)),
            (["gravity", "linear"], ("--method", "linear", "--gravity")),
            (["--collide"], ("--collide", "everything")),
            (["collisions", "dualquat"], ("--method", "dualquat", "--collide", "self")),
            (["--collider"], ("--collide", "self", "--collider", "x.json"))):
        tool.bad(2, words, *skin, *arguments)
    assert not os.path.exists(out)


def check_bad_colliders(tool, folder):
    out = os.path.join(folder, "o.npy")
    skin = ("skin", "demo:sack", "--clip", "hop", "--method", "mixed", "--resolution", 12, "--frames", "0:1", "-o", out, "--collider")
    tool.bad(3, ["crate", "open", "3 border edges"], *skin, box(os.path.join(folder, "open.gltf"), whole=False))
    tool.bad(3, ["missing.json"], *skin, os.path.join(folder, "missing.json"))
    tool.bad(3, ["missing.glb"], *skin, os.path.join(folder, "missing.glb"))
    wrong = os.path.join(folder, "wrong.json")
    with open(wrong, "w", encoding="utf-8") as file:
        file.write('{"colliders": [{"sphere": {"center": [0, 0, 0]}}]}')
    tool.bad(3, ["wrong.json", "radius"], *skin, wrong)
    assert not os.path.exists(out)


def check_jiggle(tool, folder):
    """A hop swings on with dynamics and not without; the rates agree; two runs are the same bytes. Flesh as it is: trust is by the frames of a file, and
    other rates have other frames."""
    clip = ("--clip", "hop", "--collide", "none", "--set", "trust=off")
    still, _ = play(tool, folder, "still", *clip, "--fps", 30)
    moving, frames = play(tool, folder, "moving", *clip, "--fps", 30, "--dynamics", "on")
    again, _ = play(tool, folder, "again", *clip, "--fps", 30, "--dynamics", "on", "--threads", 1)
    coarse, _ = play(tool, folder, "coarse", *clip, "--fps", 15, "--dynamics", "on")
    size = np.linalg.norm(np.ptp(still[0], axis=0))
    swing = np.abs(moving - still).max() / size
    print(f"    swing {swing:.3f} of the diagonal")
    assert np.array_equal(moving[0], still[0]) and swing > 3e-3
    assert np.array_equal(moving, again) and np.array_equal(moving[::2][:len(coarse)], coarse)
    assert np.isfinite(moving).all() and all(frame["iterations"] > 0 for frame in frames[1:])


def check_gravity(tool, folder):
    clip = ("--clip", "hop", "--frames", "0:0", "--collide", "none")
    light, _ = play(tool, folder, "light", *clip)
    heavy, _ = play(tool, folder, "heavy", *clip, "--gravity")
    moon, _ = play(tool, folder, "moon", *clip, "--gravity", 1.62)
    down = [float((run[0, :, 1] - light[0, :, 1]).mean()) for run in (heavy, moon)]
    print(f"    sunk by {down[0]:.5f}, on the moon {down[1]:.5f}")
    assert down[0] < 2 * down[1] < 0


def check_loop(tool, folder):
    out = os.path.join(folder, "loop.npy")
    done = tool.good("skin", "demo:turtle", "--resolution", 16, "--method", "projective", "--collide", "none", "--dynamics", "on", "--loop", "-o", out,
                     timeout=400)
    frames = np.load(out)
    gap = np.abs(frames[-1] - frames[0]).max() / np.linalg.norm(np.ptp(frames[0], axis=0))
    print(f"    ends {gap:.1e} of the diagonal apart")
    assert "repeats itself after" in done.err and gap < 1e-3, done.err


def check_colliders(tool, folder):
    """Nothing is left inside a ball but a thin layer; a crate that slides away lets go; metrics and dumps have the contacts."""
    clip = ("--clip", "lean", "--frames", "0:2", "--fps", 10)
    centre, radius = np.array(BALL["colliders"][0]["sphere"]["center"]), BALL["colliders"][0]["sphere"]["radius"]
    free, frames = play(tool, folder, "free", *clip, "--collide", "none")
    assert frames[0]["contacts"] is None and frames[0]["ms"]["contact"] is None
    before = (radius - np.linalg.norm(free - centre, axis=2)).max()
    for method in ("projective", "mixed"):
        dump = os.path.join(folder, f"dump_{method}")
        held, frames = play(tool, folder, method, *clip, "--method", method, "--collider", ball(folder), "--dump-sim", dump)
        after = (radius - np.linalg.norm(held - centre, axis=2)).max()
        print(f"    {method}: {1e3 * before:.1f} mm inside the ball, {1e3 * after:.1f} with contacts, {frames[0]['contacts']} of them")
        assert before > 0.01 and after < 0.5 * before
        assert all(frame["contacts"] > 0 and frame["ms"]["contact"] > 0 for frame in frames)
        rows = np.load(os.path.join(dump, "contact_0000.npy"))
        assert rows.shape[1] == 15 and len(rows) > 0 and (rows[:, 1:4] == -1).any()
    crate = box(os.path.join(folder, "crate.gltf"), slide=30.0)
    _, frames = play(tool, folder, "crate", *clip, "--method", "mixed", "--collider", crate)
    assert frames[0]["contacts"] > 0 and frames[-1]["contacts"] == 0, [frame["contacts"] for frame in frames]


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("refusals", check_refusals, tool, folder)
        cases.run("bad_colliders", check_bad_colliders, tool, folder)
        cases.run("jiggle", check_jiggle, tool, folder)
        cases.run("gravity", check_gravity, tool, folder)
        cases.run("loop", check_loop, tool, folder)
        cases.run("colliders", check_colliders, tool, folder)


if __name__ == "__main__":
    main()
