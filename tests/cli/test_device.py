#!/usr/bin/env python3
"""test_device.py --tool BUILD/supple: 200 frames with contact on an OpenCL device are the processor's, on the built-in hero and on MakeHuman, at default
settings (docs/device.md). Slow: not where SUPPLE_TEST_QUICK is set."""
import json
import os

import numpy as np

from tool import QUICK, SANITIZED, Skip, session, shared

BOUND = 1e-4  # of the diagonal


def play(tool, folder, character, name, *options):
    """Positions, contacts by frame and what was said."""
    out, metrics = os.path.join(folder, f"{name}.npy"), os.path.join(folder, f"{name}.json")
    done = tool.good("skin", *character, "--method", "projective", "--dynamics", "on", *options, "-o", out, "--metrics", metrics, timeout=900)
    with open(metrics, encoding="utf-8") as file:
        contacts = [frame["contacts"] for frame in json.load(file)["frames"]]
    return np.load(out).astype(float), contacts, done.err


def check_agreement(tool, folder, character, least_contact):
    if QUICK or SANITIZED:
        raise Skip("slow, and a device is no place for sanitizers")
    there, contacts, said = play(tool, folder, character, "there", "--device", "cl")
    if "processor goes on" in said:
        raise Skip(f"no device here: {said.splitlines()[0]}")
    here, _, _ = play(tool, folder, character, "here", "--set", "solver=pcg")
    assert len(there) >= 200 and there.shape == here.shape, there.shape
    touching = sum(count > 0 for count in contacts)
    assert touching >= least_contact, f"only {touching} frames with contact"
    off = np.linalg.norm(there - here, axis=2).max(axis=1) / np.linalg.norm(np.ptp(here[0], axis=0))
    assert off.max() <= BOUND, f"{off.max():.2e} of the diagonal in frame {off.argmax()}; {(off > BOUND).sum()} frames above {BOUND}"
    assert off.max() > 0, "the device had no part in it"


def main():
    with session(__doc__) as (tool, cases, folder):
        def hero():
            check_agreement(tool, folder, ("demo:hero", "--clip", "reach", "--fps", 50), 150)

        def make_human():
            character = shared("assets", "MakeHuman_Male_CMU.glb")
            check_agreement(tool, folder, (character, "--clip", "dance_05_02", "--fps", 30, "--frames", "0:199"), 150)

        cases.run("hero_on_a_device_is_the_processors_for_200_frames", hero)
        cases.run("makehuman_on_a_device_is_the_processors_for_200_frames", make_human)


if __name__ == "__main__":
    main()
