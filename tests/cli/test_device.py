#!/usr/bin/env python3
"""test_device.py --tool BUILD/supple: a dance with contact on an OpenCL device is the processor's (docs/device.md).

Short and coarse, so that it takes seconds, but chosen for what it finds. Largest distance on PoCL, of the diagonal: 8.3e-7; where places on edges
are not named by their first triangle (src/contact/shell.c), 2.4e-2 from the 42nd frame on; where the device ends its Newton steps by another rule
than the processor (local.cl), 9.2e-6."""
import json
import os

import numpy as np

from tool import SANITIZED, SOURCE, Skip, data, session

BOUND = 4e-6  # of the diagonal
REST = 1e-4  # the same, at rest
LEAST_CONTACT = 6  # frames


def play(tool, folder, name, *options):
    """Positions, contacts by frame and what was said."""
    out, metrics = os.path.join(folder, f"{name}.npy"), os.path.join(folder, f"{name}.json")
    done = tool.good("skin", data("hero.glb"), "--motion", data("dance.bvh"), "--fps", 30, "--frames", "2:55", "--resolution", 24, "--method",
                     "projective", "--dynamics", "on", *options, "-o", out, "--metrics", metrics)
    with open(metrics, encoding="utf-8") as file:
        contacts = [frame["contacts"] for frame in json.load(file)["frames"]]
    return np.load(out).astype(float), contacts, done.err


def check_agreement(tool, folder):
    if SANITIZED:
        raise Skip("a device is no place for sanitizers")
    there, contacts, said = play(tool, folder, "there", "--device", "cl")
    if "processor goes on" in said:
        raise Skip(f"no device here: {said.splitlines()[0]}")
    here, _, _ = play(tool, folder, "here", "--set", "solver=pcg")
    assert len(there) == 54 and there.shape == here.shape, there.shape
    touching = sum(count > 0 for count in contacts)
    assert touching >= LEAST_CONTACT, f"only {touching} frames with contact"
    off = np.linalg.norm(there - here, axis=2).max(axis=1) / np.linalg.norm(np.ptp(here[0], axis=0))
    print(f"    {off.max():.2e} of the diagonal in frame {off.argmax()}")
    assert off.max() <= BOUND, f"{off.max():.2e} of the diagonal in frame {off.argmax()}; {(off > BOUND).sum()} frames above {BOUND}"
    assert off.max() > 0, "the device had no part in it"


def at_rest(tool, folder):
    """A hand on a belly, each frame in equilibrium: contact does not make much of little. (3e-5; where the body was damped around whole triangles,
    and rounds ended early, 4e-3.)"""
    if SANITIZED:
        raise Skip("a device is no place for sanitizers")
    frames = []
    for name, options in (("there", ("--device", "cl")), ("here", ())):
        out = os.path.join(folder, f"rest-{name}.npy")
        done = tool.good("skin", "demo:hero", "--motion", os.path.join(SOURCE, "examples", "hand-on-belly.bvh"), "--frames", "0:14", "--collide", "self",
                         "--method", "projective", "--set", "max-tets=5000", "--set", "trust=off", *options, "-o", out)
        if "processor goes on" in done.err:
            raise Skip(f"no device here: {done.err.splitlines()[0]}")
        frames.append(np.load(out).astype(float))
    off = np.linalg.norm(frames[0] - frames[1], axis=2).max(axis=1) / np.linalg.norm(np.ptp(frames[1][0], axis=0))
    print(f"    {off.max():.2e} of the diagonal in frame {off.argmax()}")
    assert 0 < off.max() <= REST, f"{off.max():.2e} of the diagonal in frame {off.argmax()}; {(off > REST).sum()} frames above {REST}"


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("a_dance_on_a_device_is_the_processors", check_agreement, tool, folder)
        cases.run("a_hand_at_rest_on_a_device_is_the_processors", at_rest, tool, folder)


if __name__ == "__main__":
    main()
