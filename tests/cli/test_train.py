#!/usr/bin/env python3
"""test_train.py --tool BUILD/supple: models, through the tool: training that is killed goes on, what is played, motion that nobody trained."""
import argparse
import json
import os
import signal
import subprocess
import tempfile
import time

import numpy as np

from tool import SLOWER, Tool, same_files
from cases import Cases

SMALL = ("--samples", 10, "--rank", 8, "--set", "max-tets=2500", "--set", "modes=12", "--set", "derivatives=4")


def train(tool, path, *arguments):
    done = tool("train", "demo:arm", "-o", path, *SMALL, *arguments, timeout=60 * SLOWER)
    assert done.code == 0, done
    return done.err


def play(tool, folder, name, model, *arguments):
    out, metrics = os.path.join(folder, name + ".npy"), os.path.join(folder, name + ".json")
    tool.good("skin", "demo:arm", "--model", model, "-o", out, "--metrics", metrics, *arguments)
    with open(metrics, encoding="utf-8") as file:
        return np.load(out).astype(float), json.load(file)["frames"]


def check_killed(tool, folder):
    """kill -9 in the middle: solved poses are there, the same command finishes with the same model, and cleans up."""
    whole, cut = os.path.join(folder, "whole.supple"), os.path.join(folder, "cut.supple")
    train(tool, whole)
    poses = cut + ".poses"
    process = subprocess.Popen([tool.path, "train", "demo:arm", "-o", cut, *map(str, SMALL), "--threads", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60 * SLOWER
    solved = []
    while len(solved) < 3 and process.poll() is None and time.monotonic() < end:
        solved = [name for name in os.listdir(poses) if "." not in name] if os.path.isdir(poses) else []
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(solved) >= 3, "nothing was solved in time"
    assert not os.path.exists(cut)
    kept = len([name for name in os.listdir(poses) if name.startswith("pose-") and "." not in name])
    said = train(tool, cut)
    assert 3 <= kept < 10 and f"({kept} found" in said, said
    assert same_files(whole, cut)
    assert not os.path.exists(poses), os.listdir(poses)


def check_quick(tool, folder):
    """--quick keeps no poses, gives the same bits at any number of threads, and its model plays."""
    paths = [os.path.join(folder, f"quick{n}.supple") for n in (1, 2)]
    for n, path in zip((1, 2), paths):
        said = train(tool, path, "--quick", "--threads", n)
        assert "10 poses (0 found, 0 dropped)" in said, said
        assert not os.path.exists(path + ".poses")
    assert same_files(*paths)
    shown, _ = play(tool, folder, "quick", paths[0], "--frames", "0:4")
    assert np.isfinite(shown).all()


def check_threads(tool, folder, model):
    """The same bits at any number of threads, still and in motion."""
    for dynamics in ("off", "on"):
        frames = [play(tool, folder, f"t{n}", model, "--frames", "0:12", "--dynamics", dynamics, "--threads", n)[0] for n in (1, 2, 7)]
        assert all(np.array_equal(frames[0], other) for other in frames[1:])


def check_twin(tool, folder, model):
    """Sandwich transforms and sums over vertices: one trajectory, to what a float holds."""
    fast, _ = play(tool, folder, "fast", model, "--dynamics", "on")
    slow, _ = play(tool, folder, "slow", model, "--dynamics", "on", "--set", "fst=off")
    assert np.abs(fast - slow).max() < 2.5e-7, np.abs(fast - slow).max()


def check_outside(tool, folder):
    """Joints trained to ten degrees and played to 150: finite, bounded, and said."""
    limits, model = os.path.join(folder, "limits.json"), os.path.join(folder, "narrow.supple")
    with open(limits, "w", encoding="utf-8") as file:
        json.dump({"joints": {"*": {"min": [-10, -10, -10], "max": [10, 10, 10]}}}, file)
    train(tool, model, "--limits", limits)
    linear = os.path.join(folder, "linear.npy")
    tool.good("skin", "demo:arm", "--method", "linear", "-o", linear)
    rigid = np.load(linear).astype(float)
    size = np.ptp(rigid.reshape(-1, 3), axis=0).max()
    for dynamics in ("off", "on"):
        x, frames = play(tool, folder, "outside", model, "--dynamics", dynamics)
        assert np.isfinite(x).all()
        assert np.linalg.norm(x - rigid, axis=2).max() < 0.5 * size
        assert max(frame["outside_training"] for frame in frames) > 1.5


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    tool, cases = Tool(parser.parse_args().tool), Cases()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SUPPLE_CACHE"] = os.path.join(folder, "cache")
        model = os.path.join(folder, "arm.supple")
        train(tool, model)
        cases.run("killed_training_goes_on", check_killed, tool, folder)
        cases.run("threads_play", check_threads, tool, folder, model)
        cases.run("quick", check_quick, tool, folder)
        cases.run("without_fast_sandwiches", check_twin, tool, folder, model)
        cases.run("motion_far_outside_the_training", check_outside, tool, folder)
    cases.end()


if __name__ == "__main__":
    main()
