#!/usr/bin/env python3
"""test_units.py --tool BUILD/supple: the same character in any unit gives the same pictures, at rest, in contact and in motion, and what size is taken."""
import json
import os

import numpy as np

import scaled
from tool import QUICK, data, session

SAME = 1e-3  # of the diagonal
PERSON = 1.76
FACTORS = {"hero": (14 / PERSON, 180 / PERSON), "quadruped": (0.04, 0.01)}  # the animal is 205 units long
RUNS = {  # name: (character, options)
    "mixed": ("hero", ("--clip", "reach", "--frames", "60:62", "--method", "mixed", "--collide", "self", "--set", "bounded=off", "--resolution", 30)),
    "projective": ("hero", ("--clip", "reach", "--frames", "60:62", "--method", "projective", "--resolution", 30)),
    "steklov": ("hero", ("--clip", "reach", "--frames", "60:61", "--method", "steklov", "--resolution", 30)),
    "reference": ("hero", ("--clip", "walk", "--frames", "5:6", "--method", "reference", "--resolution", 24)),
    "dynamics": ("hero", ("--clip", "walk", "--frames", "0:8", "--method", "projective", "--resolution", 30, "--dynamics", "on", "--gravity")),
    "animal": ("quadruped", ("--frames", "0:12", "--method", "projective", "--resolution", 30, "--dynamics", "on")),
}


def play(tool, folder, path, *options):
    """(frames, metrics) of a run."""
    out, metrics = os.path.join(folder, "out.npy"), os.path.join(folder, "out.json")
    tool.good("skin", path, "-o", out, "--metrics", metrics, *options, timeout=400)
    with open(metrics, encoding="utf-8") as file:
        return np.load(out).astype(float), json.load(file)


def facts(tool, path):
    done = tool("info", path, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def source(tool, folder, name):
    path = os.path.join(folder, f"{name}.glb")
    if name == "hero" and not os.path.exists(path):
        tool.good("demo", "hero", "-o", path)
    return path if name == "hero" else data(f"{name}.glb")


def check_same(tool, folder, name):
    """Lengths times a factor, and lengths times 100 below a node that undoes it, as FBX comes by way of Blender."""
    character, options = RUNS[name]
    path = source(tool, folder, character)
    plain, metrics = play(tool, folder, path, *options)
    diagonal = np.linalg.norm(np.ptp(plain[0], axis=0))
    for factor, undo in [(f, False) for f in FACTORS[character][:1 if QUICK else 2]] + [(100, True)]:
        other = scaled.scale(path, os.path.join(folder, "scaled.glb"), factor, undo)
        frames, there = play(tool, folder, other, *options)
        error = np.linalg.norm(frames / (1 if undo else factor) - plain, axis=2).max() / diagonal
        sizes = [m["body"]["size_m"] for m in (metrics, there)]
        print(f"    {name} x {factor:.3g}{' and back' if undo else ''}: {error:.1e} of the diagonal")
        assert error < SAME, f"{name} x {factor:.3g} is {error:.2g} of the diagonal away"
        assert sizes[0] is None or np.isclose(*sizes, rtol=1e-5), sizes
    if name == "dynamics":  # it is the size that makes the motion: else the above tells nothing
        frames, _ = play(tool, folder, path, *options, "--size", 14)
        assert np.linalg.norm(frames - plain, axis=2).max() / diagonal > 5 * SAME


def check_subspace(tool, folder):
    """Trained anew in another unit: the same model, and the same motion."""
    shown = {}
    for factor in (1, 8):
        path = scaled.scale(data("arm.glb"), os.path.join(folder, "arm.glb"), factor)
        model = os.path.join(folder, "arm.supple")
        tool.good("train", path, "-o", model, "--samples", 4, "--set", "modes=10", "--resolution", 14)
        for motion in ("off", "on"):
            shown[factor, motion] = play(tool, folder, path, "--method", "subspace", "--model", model, "--dynamics", motion)[0] / factor
    for motion in ("off", "on"):
        diagonal = np.linalg.norm(np.ptp(shown[1, motion][0], axis=0))
        error = np.linalg.norm(shown[8, motion] - shown[1, motion], axis=2).max() / diagonal
        print(f"    dynamics {motion}: {error:.1e} of the diagonal")
        assert error < SAME


def check_statics(tool, folder):
    """Without dynamics and gravity nothing depends on the size, contacts neither."""
    character, options = RUNS["projective"]
    path = source(tool, folder, character)
    plain, _ = play(tool, folder, path, *options)
    large, metrics = play(tool, folder, path, *options, "--size", 230)
    error = np.linalg.norm(large - plain, axis=2).max() / np.linalg.norm(np.ptp(plain[0], axis=0))
    print(f"    at 230 m: {error:.1e} of the diagonal, {metrics['frames'][0]['contacts']} contacts")
    assert error < SAME and metrics["frames"][0]["contacts"] > 0


def check_sizes(tool, folder):
    """What is taken: a person's height, a metre, five centimetres of flesh; and what is asked for."""
    hero = source(tool, folder, "hero")
    giant = scaled.scale(hero, os.path.join(folder, "giant.glb"), 50)
    here, there = facts(tool, hero), facts(tool, giant)
    assert abs(here["metre"] - 1) < 1e-6 and "person" in here["size_why"], here["size_why"]
    assert np.isclose(there["metre"], 0.02, rtol=1e-5) and np.isclose(there["file_m"], 50 * here["size_m"], rtol=1e-5)
    for name in ("figure", "mannequin", "person"):
        assert "a person" in facts(tool, data(f"{name}.glb"))["size_why"], name
    for name in ("quadruped", "fish", "hand", "arm"):
        animal = facts(tool, data(f"{name}.glb"))
        assert "no person" in animal["size_why"] and 0.2 < animal["size_m"] < 1 + 1e-9, (name, animal["size_m"])
    run = ("--clip", "walk", "--frames", "0:0", "--method", "mixed", "--resolution", 12)
    for asked, size in (("file", there["file_m"]), (3, 3)):
        assert np.isclose(play(tool, folder, giant, *run, "--size", asked)[1]["body"]["size_m"], size, rtol=1e-6), asked
    done = tool.good("skin", giant, *run, "-o", os.path.join(folder, "o.npy"))
    assert "taken as a person" in done.err and "--size file" in done.err, done.err
    assert "taken as" not in tool.good("skin", hero, *run, "-o", os.path.join(folder, "o.npy")).err
    tool.bad(2, ["--size", "metres", "file"], "skin", hero, *run, "--size", "large", "-o", os.path.join(folder, "o.npy"))


def check_names(tool, folder):
    """An animal whose joints have a person's names does not stand as a person does."""
    words = {"hip": "Hips", "fore_upper": "UpperArm", "fore_lower": "ForeArm", "fore_foot": "Hand", "hind_upper": "Thigh", "hind_lower": "Shin",
             "hind_foot": "Foot", "hind_toes": "Toes"}
    doc, binary = scaled.read(data("quadruped.glb"))
    for node in doc["nodes"]:
        stem, _, side = node.get("name", "").rpartition("_")
        if node.get("name") in words or stem in words:
            node["name"] = words.get(node["name"]) or f"{words[stem]}.{side}"
    path = os.path.join(folder, "named.glb")
    scaled.write(path, doc, binary)
    assert "no person" in facts(tool, path)["size_why"]


def check_animal(tool, folder):
    """An animal of eight units, four times as quick, stays whole in motion. As one of eight metres it does not: 37 of its tetrahedra turn inside
    out."""
    path = scaled.scale(data("quadruped.glb"), os.path.join(folder, "quick.glb"), 0.04)
    doc, binary = scaled.read(path)
    for index in {sampler["input"] for animation in doc["animations"] for sampler in animation["samplers"]}:
        times = scaled.rows(doc, binary, index, 1)
        times *= 0.25
        doc["accessors"][index].update(min=[float(times.min())], max=[float(times.max())])
    scaled.write(path, doc, binary)
    run = ("--method", "projective", "--resolution", 30, "--dynamics", "on", "--fps", 60)
    worst = [max(frame["inverted"] for frame in play(tool, folder, path, *run, *more)[1]["frames"]) for more in ((), ("--size", "file"))]
    print(f"    inverted: {worst[0]}, at the file's size {worst[1]}")
    assert worst[0] == 0 and worst[1] > 0, worst


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("sizes", check_sizes, tool, folder)
        cases.run("names_alone_make_no_person", check_names, tool, folder)
        cases.run("statics_know_no_size", check_statics, tool, folder)
        cases.run("an_animal_in_motion_stays_whole", check_animal, tool, folder)
        cases.run("same_subspace", check_subspace, tool, folder)
        for name in RUNS:
            cases.run(f"same_{name}", check_same, tool, folder, name)


if __name__ == "__main__":
    main()
