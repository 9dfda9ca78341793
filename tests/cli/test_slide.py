#!/usr/bin/env python3
"""test_slide.py --tool BUILD/supple: skin that slides, through the tool: after methods and vertex animations, its metrics, what is refused."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

from tool import SOURCE, Tool, shared
from cases import Cases

KEYS = ("slide_steps slide_rejected slide_shortest_ms slide_energy slide_max_speed slide_min_stretch slide_max_stretch slide_broken "
        "slide_spanning slide_iterations slide_factorisations slide_linear_ms").split()


def run(tool, folder, name, *arguments):
    out, metrics = os.path.join(folder, name + ".npy"), os.path.join(folder, name + ".json")
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
    path = os.path.join(folder, "glued.json")
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


def check_sharp_edges(tool, folder):
    """The fox's ears are thin, and each side is a piece of the texture of its own: skin that moves a little stays on its side."""
    scene, out = shared("assets", "Fox.glb"), os.path.join(folder, "fox.usda")
    tool.good("skin", scene, "--method", "linear", "--frames", "28:30", "--slide", "-o", out)
    slid = texture_coordinates(out)
    glued = os.path.join(folder, "fixed.json")
    with open(glued, "w", encoding="utf-8") as file:  # but for the tail's end, so that there are samples
        json.dump({"regions": [{"name": "tail", "joint": "b_Tail03_014", "skin": "free"}]}, file)
    tool.good("skin", scene, "--method", "linear", "--frames", "28:30", "--slide", "--slide-config", glued, "-o", out)
    jumped = [int((abs(a - b).max(1) > 0.2).sum()) for a, b in zip(slid, texture_coordinates(out))]
    print(f"    corners whose skin is on another piece of the texture: {jumped}")
    assert len(jumped) == 3 and max(jumped) <= 6


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
        cases.run("example", check_example, tool, folder)
    cases.end()


if __name__ == "__main__":
    main()
