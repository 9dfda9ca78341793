#!/usr/bin/env python3
"""test_steklov.py --tool BUILD/supple: steklov through the tool: equilibrium with contacts by tests/checks, what is kept for the next run,
and frames that do not reach their tolerance."""
import argparse
import glob
import json
import os
import re
import tempfile

import numpy as np

from tool import Tool, check
from cases import Cases

FOLDED = ("--method", "steklov", "--clip", "bend", "--resolution", 36, "--frames", "34:40")


def run(tool, folder, name, *arguments):
    """A run with metrics and a dump: its vertices, metrics, dump and what it said."""
    out, metrics, dump = (os.path.join(folder, f"{name}.{ending}") for ending in ("npy", "json", "dump"))
    done = tool.good("skin", "demo:arm", "-o", out, "--metrics", metrics, "--dump-sim", dump, *FOLDED, *arguments, timeout=400)
    with open(metrics, encoding="utf-8") as file:
        return np.load(out), json.load(file), dump, done.err


def worst_residual(dump):
    _, text = check("check_equilibrium.py", dump, "--energy", "exrotated", "--tol", "1e-5")
    said = re.search(r"worst residual (\S+) ", text)
    assert said, text
    return float(said.group(1))


def check_balance(tool, folder, formulation):
    """Folded flesh in contact with itself is in equilibrium by the word of an independent program, and action is reaction."""
    frames, m, dump, _ = run(tool, folder, formulation, "--set", f"formulation={formulation}")
    pairs = [frame["contact_pairs"] for frame in m["frames"]]
    worst = worst_residual(dump)
    print(f"    {m['body']['tets']} tets, {pairs[0]:.0f} to {pairs[-1]:.0f} pairs, worst residual {worst:.1e}")
    assert np.isfinite(frames).all() and pairs[-1] > 10 and worst < 1e-5
    assert max(frame["residual"] for frame in m["frames"]) < 1e-5
    contact = np.load(sorted(glob.glob(os.path.join(dump, "contact_*.npy")))[-1])
    assert len(contact) > 0 and np.allclose(contact[:, 4:7].sum(axis=1), 1)  # what is pulled back is all that pushes


def check_kept(tool, folder):
    """The surface's matrix and the bounded weights of one run serve the next, which gives the same bits; --no-cache keeps nothing."""
    cache = os.path.join(folder, "kept")
    old, os.environ["SUPPLE_CACHE"] = os.environ["SUPPLE_CACHE"], cache
    try:
        run(tool, folder, "off", "--set", "formulation=surface", "--no-cache")
        assert not glob.glob(os.path.join(cache, "*.store"))
        first, one, _, _ = run(tool, folder, "first", "--set", "formulation=surface")
        kept = {kind: glob.glob(os.path.join(cache, f"{kind}-*.store")) for kind in ("steklov", "weights")}
        assert all(len(files) == 1 for files in kept.values()), kept
        second, two, _, said = run(tool, folder, "second", "--set", "formulation=surface")
        print(f"    set-up {one['setup_ms']['factor']:.0f} ms, then {two['setup_ms']['factor']:.0f} ms")
        assert (first == second).all() and "cache" not in said
        with open(kept["steklov"][0], "r+b") as file:
            file.seek(1000)
            file.write(b"damage")
        third, _, _, said = run(tool, folder, "third", "--set", "formulation=surface")
        assert (first == third).all() and "steklov" in said, said
    finally:
        os.environ["SUPPLE_CACHE"] = old


def check_limit(tool, folder):
    """Too few steps: exit code 0, the best state's residual, and a warning that names the worst frame."""
    frames, m, _, said = run(tool, folder, "limit", "--set", "steps=1", "--set", "tolerance=1e-9")
    residuals = [frame["residual"] for frame in m["frames"]]
    assert np.isfinite(frames).all() and max(residuals) > 1e-9
    assert re.search(r"\d+ frames? did not reach the tolerance; the worst is \d+, residual", said), said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    tool, cases = Tool(parser.parse_args().tool), Cases()
    with tempfile.TemporaryDirectory(prefix="supple-") as folder:
        os.environ["SUPPLE_CACHE"] = os.path.join(folder, "cache")
        for formulation in ("volume", "surface"):
            cases.run(f"balance_{formulation}", check_balance, tool, folder, formulation)
        cases.run("kept", check_kept, tool, folder)
        cases.run("limit", check_limit, tool, folder)
    cases.end()


if __name__ == "__main__":
    main()
