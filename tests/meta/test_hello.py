#!/usr/bin/env python3
"""test_hello.py HELLO: examples/hello.c as a reader would try it."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases


def hello(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def check_default():
    code, out, err = hello()
    assert code == 0 and err == "", (code, err)
    heights = [float(h) for h in re.findall(r"height ([0-9.]+)", out)]
    assert len(heights) >= 10 and max(heights) > 1.05 * min(heights), f"the arm does not fold: {out}"


def check_missing():
    code, out, err = hello("no-such-file.glb")
    assert code == 3 and out == "" and "no-such-file.glb" in err and err.count("\n") == 1, (code, err)


def main():
    cases = Cases()
    cases.run("plays_the_arm", check_default)
    cases.run("names_a_missing_file", check_missing)
    cases.end()


if __name__ == "__main__":
    main()
