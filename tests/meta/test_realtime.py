#!/usr/bin/env python3
"""test_realtime.py REALTIME: examples/realtime.c as a reader would try it: no allocation in its loops, the same flesh in any company."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases


def realtime(*arguments):
    done = subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def check_characters():
    code, out, err = realtime("demo:arm", 3, 12)
    assert code == 0 and err == "", (code, err)
    places = re.findall(r"vertex 0 at (.*)", out)
    assert len(places) == 3 and len(set(places)) == 3, f"all move alike: {out}"
    assert "allocations in the loops: 0\n" in out, out
    code, alone, err = realtime("demo:arm", 1, 12)
    assert code == 0 and re.findall(r"vertex 0 at (.*)", alone) == places[:1], (out, alone)


def check_wrong():
    for arguments in (("demo:arm", 0), ("demo:arm", 1000), ("demo:arm", 1, 0)):
        code, out, err = realtime(*arguments)
        assert code == 2 and out == "" and "usage" in err, (arguments, code, err)
    code, out, err = realtime("no-such-file.glb")
    assert code == 3 and "no-such-file.glb" in err, (code, err)


def main():
    cases = Cases()
    cases.run("moves_characters_in_threads_without_allocating", check_characters)
    cases.run("refuses_what_is_wrong", check_wrong)
    cases.end()


if __name__ == "__main__":
    main()
