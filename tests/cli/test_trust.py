#!/usr/bin/env python3
"""test_trust.py --tool BUILD/supple: how much of the flesh is shown, and what `skin` says of its result: --amount, --strict, trust, harm."""
import json
import os

import numpy as np

from tool import check, data, session

ARM = ("--clip", "bend", "--frames", "0:12", "--resolution", 20, "--method", "projective")
GOOD = "nowhere worse than the file's own skinning"


def play(tool, folder, name, character, *options, code=0):
    out = os.path.join(folder, f"{name}.npy")
    done = tool("skin", character, "-o", out, *options, timeout=300)
    assert done.code == code, f"exit {done.code}: {done.err}"
    return np.load(out), done.err


def check_dial(tool, folder):
    """0 is linear skinning, 1 is flesh, bit for bit; a half is in the middle."""
    linear, said = play(tool, folder, "linear", "demo:arm", *ARM[:4], "--method", "linear")
    assert GOOD not in said
    flesh, said = play(tool, folder, "flesh", "demo:arm", *ARM, "--set", "trust=off")
    assert GOOD not in said
    trusted, said = play(tool, folder, "trusted", "demo:arm", *ARM)
    assert said.rstrip().endswith(GOOD), said
    none, _ = play(tool, folder, "none", "demo:arm", *ARM, "--amount", 0)
    half, _ = play(tool, folder, "half", "demo:arm", *ARM, "--amount", 0.5)
    assert (trusted == flesh).all() and (none == linear).all()
    assert abs(half - (linear + flesh) / 2).max() < 1e-6 and abs(flesh - linear).max() > 0.003


def check_parts(tool, folder):
    """A part that is asked for none of it has none; a colour or an attribute says it by vertex; both must be there."""
    arm = os.path.join(folder, "arm.glb")
    tool.good("demo", "arm", "-o", arm)
    linear, _ = play(tool, folder, "linear", arm, *ARM[:4], "--method", "linear")
    none, _ = play(tool, folder, "part", arm, *ARM, "--amount", "a[rR]m=0")
    assert (none == linear).all()
    last, _ = play(tool, folder, "last", arm, *ARM, "--amount", "arm=1", "--amount", "*=0")
    assert (last == linear).all()
    done = tool("skin", arm, "-o", os.path.join(folder, "x.npy"), *ARM, "--amount", "leg=0")
    assert done.code == 2 and "leg" in done.err, done
    for wrong in ("2", "-1", "x", "arm=", "=1", "arm=nan"):
        done = tool("skin", arm, "-o", os.path.join(folder, "x.npy"), "--amount", wrong)
        assert done.code == 2 and "--amount" in done.err, (wrong, done)


def paint(source, target, values):
    """A copy of a .glb whose first primitive has _SUPPLE_AMOUNT."""
    with open(source, "rb") as file:
        blob = file.read()
    size = int.from_bytes(blob[12:16], "little")
    gltf, binary = json.loads(blob[20:20 + size]), bytearray(blob[28 + size:])
    binary += bytes(-len(binary) % 4)
    gltf["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": 4 * len(values)})
    gltf["accessors"].append({"bufferView": len(gltf["bufferViews"]) - 1, "componentType": 5126, "count": len(values), "type": "SCALAR"})
    gltf["meshes"][0]["primitives"][0]["attributes"]["_SUPPLE_AMOUNT"] = len(gltf["accessors"]) - 1
    binary += np.asarray(values, "<f4").tobytes()
    gltf["buffers"][0]["byteLength"] = len(binary)
    text = json.dumps(gltf).encode()
    text += b" " * (-len(text) % 4)
    with open(target, "wb") as file:
        file.write(b"glTF" + (2).to_bytes(4, "little") + (28 + len(text) + len(binary)).to_bytes(4, "little"))
        file.write(len(text).to_bytes(4, "little") + b"JSON" + text + len(binary).to_bytes(4, "little") + b"BIN\0" + bytes(binary))


def check_attribute(tool, folder):
    arm, painted = os.path.join(folder, "arm.glb"), os.path.join(folder, "painted.glb")
    tool.good("demo", "arm", "-o", arm)
    flesh, _ = play(tool, folder, "flesh", arm, *ARM)
    linear, _ = play(tool, folder, "linear", arm, *ARM[:4], "--method", "linear")
    values = np.clip((linear[0, :, 0] - linear[0, :, 0].min()) / np.ptp(linear[0, :, 0]) * 1.4 - 0.2, 0, 1)
    paint(arm, painted, values)
    shown, _ = play(tool, folder, "painted", painted, *ARM)
    wanted = linear + values[None, :, None] * (flesh - linear)
    assert (shown[:, values == 0] == linear[:, values == 0]).all() and (shown[:, values == 1] == flesh[:, values == 1]).all()
    assert abs(shown - wanted).max() < 1e-3, abs(shown - wanted).max()  # copies at a seam take the least of theirs
    paint(arm, painted, np.where(values > 0.5, 7, -1))
    done = tool("skin", painted, "-o", os.path.join(folder, "x.npy"), *ARM)
    assert done.code == 0 and "_SUPPLE_AMOUNT is outside 0 to 1" in done.err, done.err


def check_wreck(tool, folder):
    """A force that no flesh can stand tears it; trust does not show that, and says so."""
    push = os.path.join(folder, "push.json")
    with open(push, "w", encoding="utf-8") as file:
        json.dump({"forces": [{"name": "tear", "sphere": {"center": [-0.15, 0.045, 0], "radius": 0.025}, "force": [0, 3000, 0]}]}, file)
    options = (*ARM, "--size", "file", "--forces", push, "--strict")
    metrics = os.path.join(folder, "m.json")
    torn, said = play(tool, folder, "torn", "demo:arm", *options, "--set", "trust=off", "--metrics", metrics, code=5)
    with open(metrics, encoding="utf-8") as file:
        frames = json.load(file)["frames"]
    assert "worse than the file's own skinning in" in said and "arm is torn" in said, said
    assert max(frame["harm"]["torn"] for frame in frames) > 0 and frames[0]["harm"]["parts"][0]["name"] == "arm"
    whole, said = play(tool, folder, "whole", "demo:arm", *options, "--metrics", metrics)
    with open(metrics, encoding="utf-8") as file:
        frames = json.load(file)["frames"]
    assert GOOD in said and "% of its flesh is trusted in full" in said, said
    assert all(frame["harm"]["torn"] == 0 for frame in frames) and 0.2 < frames[0]["trust"] < 1, frames[0]["trust"]
    assert abs(whole - torn).max() > 0.01
    pictures = [os.path.join(folder, name) for name in ("plain.png", "trust.png", "full.png")]
    tool.good("skin", "demo:arm", *options[:-1], "-o", pictures[0])
    tool.good("skin", "demo:arm", *options[:-1], "-o", pictures[1], "--set", "show=trust")
    tool.good("skin", "demo:arm", *options[:-1], "-o", pictures[2], "--set", "show=trust", "--set", "trust=off")
    seen = [open(picture, "rb").read() for picture in pictures]
    assert len(set(seen)) == 3, "trust is not painted"
    same = (whole == torn).all(axis=(0, 2)).mean()
    print(f"    {100 * same:.0f}% of the vertices are flesh as before")
    assert same > 0.2, same


def check_measure(tool, folder):
    """Our measure and the one that shares no code with it, on characters of tests/data and a torn arm."""
    for name in ("quadruped.glb", "fish.glb", "dress.glb"):
        options = ("--frames", "0:12", "--method", "projective", "--resolution", 30, "--set", "trust=off")
        metrics = os.path.join(folder, "m.json")
        play(tool, folder, "linear", data(name), "--frames", "0:12", "--method", "linear")
        play(tool, folder, "method", data(name), *options, "--metrics", metrics)
        _, text = check("check_harm.py", data(name), os.path.join(folder, "linear.npy"), os.path.join(folder, "method.npy"), "--json")
        theirs = json.loads(text)
        with open(metrics, encoding="utf-8") as file:
            ours = [frame["harm"] for frame in json.load(file)["frames"]]
        for key, slack in (("torn", 0), ("stretched", 1e-4), ("folded", 2e-4), ("lost", 1e-3), ("cracks", 1e-4), ("far", 1e-3)):
            most = max(frame[key] for frame in ours)
            print(f"    {name} {key}: {most:.5g}, by the other {theirs[key]:.5g}")
            assert abs(most - theirs[key]) <= slack + 0.1 * theirs[key], key


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("a_dial_from_linear_to_flesh", check_dial, tool, folder)
        cases.run("parts_have_amounts", check_parts, tool, folder)
        cases.run("vertices_have_amounts", check_attribute, tool, folder)
        cases.run("a_wreck_is_not_shown", check_wreck, tool, folder)
        cases.run("the_measure_agrees_with_another", check_measure, tool, folder)


if __name__ == "__main__":
    main()
