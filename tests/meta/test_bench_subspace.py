#!/usr/bin/env python3
"""test_bench_subspace.py BENCH: `supple bench subspace`, small: its rows hold what they promise, and training is taken up where it was left."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases

BENCH = os.path.abspath(sys.argv[1])


def bench(work, *arguments):
    done = subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=900, cwd=work)
    return done.returncode, done.stdout, done.stderr


def rows(work, *arguments):
    code, out, err = bench(work, *arguments, "--json")
    assert code == 0 and err == "", (code, err)
    return [json.loads(line) for line in out.splitlines()]


def check_tables(work):
    table = rows(work, "--quick")
    steps = [r for r in table if "ms_coupling" in r]
    assert len(steps) == 3 and steps[0]["domains"] == 6 and steps[1]["domains"] == 17, table
    for r in steps:
        parts = r["ms_coupling"] + r["ms_cubature"] + r["ms_cholesky"] + r["ms_read"]
        assert 0 < parts < 1.5 * r["ms_step"] and r["cubature"] >= r["domains"] and 0 < r["mb"] < 100, r
        assert 1 <= r["iterations"] <= 3, r
    crowd, = [r for r in table if "crowd" in r]
    assert crowd["crowd"] == 10 and crowd["steps_per_second"] > 0
    unreduced, = [r for r in table if "ms_reference" in r]
    assert unreduced["ratio"] > 1 and unreduced["newton"] >= 1, unreduced
    assert os.listdir(work) == [], "models were left behind"


def check_training(work):
    first, = rows(work, "--training", "poses", "--tets", "2000", "--count", "2", "--threads", "1")
    again, = rows(work, "--training", "poses", "--tets", "2000", "--count", "2", "--threads", "1")
    assert first["poses_before"] == 0 and first["poses"] >= 2 and again["poses_before"] == first["poses"], (first, again)
    assert again["poses"] >= 1 and again["cpu_s_per_pose"] > 0 and again["peak_mb"] > 1, again


def check_wrong(work):
    for arguments in (("--nonsense",), ("--threads", "0"), ("--steps",)):
        code, out, err = bench(work, *arguments)
        assert code == 2 and out == "" and "usage" in err, (arguments, code, err)
    code, out, err = bench(work, "--model", "absent.supple")
    assert code == 5 and "absent.supple" in err, (code, err)


def main():
    cases = Cases()
    for name, case in (("tables", check_tables), ("training_goes_on", check_training), ("refuses_what_is_wrong", check_wrong)):
        with tempfile.TemporaryDirectory() as work:
            cases.run(name, case, work)
    cases.end()


if __name__ == "__main__":
    main()
