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


def bench(work, *arguments, environment=None, pass_fds=()):
    done = subprocess.run([BENCH, *arguments], capture_output=True, text=True, timeout=900, cwd=work, env=environment, pass_fds=pass_fds)
    return done.returncode, done.stdout, done.stderr


def rows(work, *arguments):
    """What it records, as {(table, row): {quantity: row}}; `supple bench` hands it such a file."""
    with tempfile.TemporaryFile("a+") as file:
        fd = file.fileno()
        code, _, err = bench(work, *arguments, environment={**os.environ, "SUPPLE_BENCH_ROWS": str(fd)}, pass_fds=(fd,))
        assert code == 0 and err == "", (code, err)
        file.seek(0)
        out = {}
        for line in file:
            row = json.loads(line)
            assert row["bench"] == "subspace", row
            out.setdefault((row["table"], row["row"]), {})[row["quantity"]] = row
        return out


def check_tables(work):
    table = rows(work, "--quick")
    steps = {name: row for name, row in table.items() if "coupling" in row}
    assert len(steps) == 3 and any("6 domains" in row for _, row in steps), list(table)
    for name, r in steps.items():
        parts = sum(r[part]["median"] for part in ("coupling", "cubature", "Cholesky", "read"))
        assert 0 < parts < 1.5 * r["step"]["max"] and r["cubature tets"]["min"] >= 6 and 0 < r["file"]["min"] < 100, (name, r)
        assert 1 <= r["iterations"]["min"] <= 3 and 0 < r["cubature share"]["max"] < 1.1, (name, r)
        assert r["step"]["min"] <= r["step"]["low"] <= r["step"]["median"] <= r["step"]["high"] <= r["step"]["max"], r["step"]
    paper, = [r for name, r in steps.items() if "6 domains" in name[1]]
    assert paper["step"]["paper"] == 11 and paper["coupling by vertices"]["paper"] == 83 and paper["step"]["wanted"] == 11, paper
    crowd, = [r for name, r in table.items() if name[0] == "crowd"]
    assert crowd["steps a second"]["min"] > 0 and crowd["steps a second"]["better"] == "more", crowd
    unreduced, = [r for r in table.values() if "reference" in r]
    assert unreduced["reference / model"]["min"] > 1 and unreduced["reference"]["paper"] == 507000, unreduced
    growth, = [r for name, r in table.items() if "exponent" in r]
    assert 2000 < growth["exponent"]["from"] < growth["exponent"]["to"] < 6000, growth
    assert os.listdir(work) == [], "models were left behind"


def check_training(work):
    again = ("--training", "poses", "--tets", "2000", "--count", "2", "--threads", "1")
    (first,), (second,) = rows(work, *again).values(), rows(work, *again).values()
    assert first["poses before"]["min"] == 0 and first["poses"]["min"] >= 2, first
    assert second["poses before"]["min"] == first["poses"]["min"] and second["poses"]["min"] >= 1, (first, second)
    assert second["pose"]["min"] > 0 and second["peak memory"]["min"] > 1, second


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
