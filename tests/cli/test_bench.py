#!/usr/bin/env python3
"""test_bench.py --tool supple: `supple bench --json` and `--compare`: the document, what is flagged and what is not, bad files."""
import copy
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tool import SOURCE, session  # noqa: E402
from cases import Skip  # noqa: E402

NAMES = "bench table row quantity kind unit".split()
NUMBERS = "min low median high max runs paper wanted from to".split()
BETTER = {"time": "less", "processor": "less", "memory": "less", "bandwidth": "more", "arithmetic": "more", "rate": "more", "share": "more"}


def row(table="t", name="r", quantity="step", kind="time", value=10.0, spread=0.01, runs=9, bench="made"):
    """A row as bench/record.c writes it; quartiles lie `spread` and twice that from the best value."""
    better = BETTER.get(kind)
    away = [1 + spread * k for k in (0, 1, 2, 3, 4)]
    values = [value * k for k in away] if better != "more" else [value / k for k in reversed(away)]
    out = dict(zip("bench table row quantity kind unit".split(), (bench, table, name, quantity, kind, "ms")), better=better)
    return {**out, **dict(zip("min low median high max".split(), values)), "runs": runs, "paper": None, "wanted": None, "from": None, "to": None}


def limits(slower=1.0):
    return [row("limits", name, f"{k} thread", kind, rate * k / slower, 0.02, 100, "limits")
            for name, kind, rate in (("triad", "bandwidth", 25.0), ("cache", "bandwidth", 120.0), ("multiply-add", "arithmetic", 90.0)) for k in (1, 2)]


def document(rows, slower=1.0, with_limits=True):
    return {"supple": "0.0.0", "date": "2020-01-01T00:00:00Z", "mode": "usual", "seconds": 1.0,
            "machine": {"processor": "Sample", "cores": 2}, "benches": [], "rows": (limits(slower) if with_limits else []) + rows}


def check_document(d, names):
    """The schema of docs/performance.md."""
    assert set(d) >= {"supple", "date", "mode", "seconds", "machine", "benches", "rows"}, list(d)
    assert d["machine"]["cores"] >= 1 and 0 <= d["machine"]["others"] <= 1 and len(d["machine"]["load_before"]) == 3, d["machine"]
    assert [b["name"] for b in d["benches"]] == names and all(b["exit"] == 0 and b["seconds"] > 0 and b["processor_seconds"] > 0 for b in d["benches"]), d["benches"]
    seen = set()
    for r in d["rows"]:
        assert all(isinstance(r[key], str) and r[key] for key in NAMES), r
        assert all(r[key] is None or isinstance(r[key], (int, float)) for key in NUMBERS), r
        assert r["better"] == BETTER.get(r["kind"]), r
        known = [r[key] for key in ("min", "low", "median", "high", "max") if r[key] is not None]
        assert known and known == sorted(known) and r["runs"] >= 1, r
        key = tuple(r[name] for name in NAMES[:4])
        assert key not in seen, f"two rows are called {key}"
        seen.add(key)
    assert {r["bench"] for r in d["rows"]} == {"limits", *names}, d["benches"]


def section_document(s):
    def run(*arguments):
        done = s.tool("bench", *arguments, "--json")
        assert done.code == 0, done
        return json.loads(done.out), done

    def limits_of():
        d, done = run("limits", "--quick")
        check_document(d, ["limits"])
        assert d["mode"] == "quick" and "limits" in done.err, done
        best = {(r["row"], r["quantity"]): r["max"] for r in d["rows"]}
        assert len(best) == 6 and all(0.1 < value < 1e4 for value in best.values()), best

    def linear():
        """Shares of the limit lie below 1 but for noise; what the triad itself reaches is all of it."""
        d, done = run("linear", "--quick")
        check_document(d, ["linear"])
        shares = {r["row"]: r["max"] for r in d["rows"] if r["kind"] == "share"}
        assert {"linear, 1 thread", "dualquat, 2 threads", "triad, 1 thread"} <= set(shares), shares
        assert all(0 < share <= 1.1 for share in shares.values()) and abs(shares["triad, 1 thread"] - 1) < 1e-6, shares
        steps = {r["row"]: r for r in d["rows"] if r["quantity"] == "step"}
        rates = {r["row"]: r for r in d["rows"] if r["quantity"] == "step bandwidth"}
        for name, r in steps.items():  # 48 bytes a vertex, 100,000 of them
            assert abs(rates[name]["max"] * r["min"] - 4.8) < 1e-3 and abs(rates[name]["median"] * r["median"] - 4.8) < 1e-3, name
        exponent, = [r for r in d["rows"] if r["kind"] == "exponent"]
        assert 0.5 < exponent["min"] < 2 and exponent["from"] < exponent["to"] == 100000, exponent
        assert "ns/vertex" in done.err and "ns/vertex" not in done.out, "tables belong on stderr"

    def with_paper():
        d, _ = run("contact", "--quick")
        check_document(d, ["contact"])

    def nothing_left():
        """The rows' file has no name: nothing is left behind, not after Ctrl-C either."""
        here = s.path("rows")
        os.makedirs(here)
        os.environ["TMPDIR"] = here
        try:
            began = []
            done = s.tool("bench", "linear", "--json", "--", "--runs", 100000, interrupt_when=lambda: began.append(0) or len(began) > 150)
            assert done.code == 130 and done.out == "" and os.listdir(here) == [], (done, os.listdir(here))
            os.environ["TMPDIR"] = s.path("absent")
            s.tool.bad(4, ["TMPDIR"], "bench", "limits", "--json")
        finally:
            os.environ.pop("TMPDIR")

    def full_disk():
        with open("/dev/full", "w") as full:
            done = subprocess.run([s.tool.path, "bench", "limits", "--quick", "--json"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 4 and "cannot be written" in done.stderr.splitlines()[-1], done

    def failing():
        done = s.tool("bench", "body", "--json", "--quick", "--", s.path("absent.glb"))
        assert done.code == 3 and done.out == "" and "absent.glb" in done.err, done

    def device():
        """`bench projective --device` goes to the device's benchmark; a name that is none and a device that is not there are told, never as "slower"."""
        done = s.tool("bench", "projective", "--device", "cl:9", "--quick")
        if "without OpenCL" in done.err:
            raise Skip("without OpenCL")
        s.tool.bad(2, ["bench_cl", "moon"], "bench", "projective", "--device", "moon", "--quick")
        assert done.code == 5 and done.out == "" and done.err.startswith("bench_cl: "), done

    for name, case in (("limits", limits_of), ("linear", linear), ("device", device), ("contact", with_paper), ("leaves_nothing", nothing_left), ("full_disk", full_disk), ("fails", failing)):
        s.cases.run(f"json_{name}", case)


def section_compare(s):
    def save(name, content):
        path = s.path(name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def compare(before, after, *options):
        done = s.tool("bench", "--compare", save("before.json", before), save("after.json", after), *options)
        assert done.err == "", done
        return done

    def counts(done):
        """Of the last line: slower, faster, the same and, where there are such, not judged."""
        return [int(word) for word in done.out.splitlines()[-1].replace(",", "").split() if word.isdigit()]

    many = [row(name=f"r{i}", value=5 + i) for i in range(6)]

    def same():
        done = compare(document(many), document(many), "--fail")
        assert done.code == 0 and counts(done) == [0, 0, 6] and "as they were" in done.out, done

    def noise():
        """What lies within both runs' spread is not flagged, however many rows there are."""
        wide = [row(name=f"r{i}", value=5 + i, spread=0.1) for i in range(6)]
        moved = [row(name=f"r{i}", value=(5 + i) * 1.2, spread=0.1) for i in range(6)]
        assert counts(compare(document(wide), document(moved), "--fail")) == [0, 0, 6]
        assert compare(document(wide), document(moved), "--fail").code == 0
        narrow = [row(name=f"r{i}", value=(5 + i) * 1.2) for i in range(6)]
        assert counts(compare(document(many), document(narrow))) == [6, 0, 0]

    def slower():
        after = copy.deepcopy(many)
        after[2] = row(name="r2", value=7 * 1.5)
        after[4] = row(name="r4", value=9 / 1.5)
        done = compare(document(many), document(after))
        assert done.code == 0 and counts(done) == [1, 1, 4], done
        assert "made / t / r2 / step: 7 -> 10.5 ms, 1.50 times as long" in done.out, done.out
        assert compare(document(many), document(after), "--fail").code == 1
        assert compare(document(after), document(after), "--fail").code == 0

    def best_alone():
        """A lucky best of the old run is no regression where the medians agree."""
        before, after = row(), row()
        before["min"] /= 1.5
        before["low"] = before["min"] * 1.01
        assert counts(compare(document([before]), document([after]))) == [0, 0, 1]

    def machine():
        """All is slower by a third, and so are the limits: nothing is flagged, and it is said."""
        after = [row(name=f"r{i}", value=(5 + i) * 4 / 3) for i in range(6)]
        done = compare(document(many), document(after, slower=4 / 3), "--fail")
        assert done.code == 0 and counts(done) == [0, 0, 6] and "33% slower" in done.out, done
        done = compare(document(many), document(after, with_limits=False), "--fail")
        assert done.code == 1 and counts(done) == [6, 0, 0] and "not measured in both" in done.out, done

    def rates():
        before = [row(kind="rate", value=100.0), row(name="m", kind="memory", value=50.0, runs=1), row(name="s", kind="share", value=0.5)]
        after = [row(kind="rate", value=50.0), row(name="m", kind="memory", value=60.0, runs=1), row(name="s", kind="share", value=0.1)]
        done = compare(document(before), document(after))
        assert counts(done) == [2, 0, 0] and "100 -> 50" in done.out and "2.00 times" in done.out, done.out

    def single():
        """One measurement of a wall's time has 15% of noise on each side."""
        for factor, expected in ((1.3, [0, 0, 1]), (1.4, [1, 0, 0])):
            done = compare(document([row(runs=1, spread=0)]), document([row(runs=1, spread=0, value=10 * factor)]))
            assert counts(done) == expected, (factor, done)

    def busy():
        """While others used half of the processors, what was measured once is not judged, and twice as long is within noise."""
        before, after = [row(runs=1, spread=0), row(name="many")], [row(runs=1, spread=0, value=100), row(name="many", value=15)]
        old, new = document(before), document(after)
        new["machine"]["others"] = 0.5
        done = compare(old, new, "--fail")
        assert done.code == 0 and counts(done) == [0, 0, 1, 1] and "50% of the processors" in done.out, done
        after[1] = row(name="many", value=17)
        done = compare(old, {**document(after), "machine": new["machine"]}, "--fail")
        assert done.code == 1 and counts(done) == [1, 0, 0, 1], done
        short = compare(document([row(value=1e-4)]), document([row(value=9e-4)]))
        assert counts(short) == [0, 0, 0, 1], short

    def one_limit():
        """A limit that drifts alone leaves the others' word, but widens the bound."""
        after = document([row(name=f"r{i}", value=(5 + i) * 1.3) for i in range(6)])
        for r in after["rows"]:
            if r["row"] == "triad" and r["quantity"].startswith("2"):
                r["max"] /= 1.5
        done = compare(document(many), after, "--fail")
        assert done.code == 0 and counts(done) == [0, 0, 6] and "as they were" in done.out, done

    def counted():
        before, after = row(kind="count", quantity="iterations", value=8), row(kind="count", quantity="iterations", value=9)
        done = compare(document([before]), document([after]), "--fail")
        assert done.code == 0 and "counts that changed" in done.out and "8 -> 9" in done.out, done

    def missing():
        other = [row(bench="other"), row(bench="made", name="fresh")]
        done = compare(document(many + [row(bench="gone")]), document(many[:4] + other))
        for word in ("missing now", "made / t / r5 / step", "does not have", "made / t / fresh", "not run now: gone"):
            assert word in done.out, (word, done.out)
        assert "other /" not in done.out and counts(done) == [0, 0, 4], done.out

    def as_json():
        done = compare(document(many), document([row(name="r0", value=50)]), "--json", "--fail")
        d = json.loads(done.out)
        assert done.code == 1 and d["slower"] == 1 and abs(d["drift"] - 1) < 1e-9, d
        verdicts = {r["row"]: r["verdict"] for r in d["rows"]}
        assert verdicts["r0"] == "slower" and verdicts["r3"] == "missing", verdicts

    def terminal():
        """A file's names do not reach the terminal as commands."""
        evil = row(name="\x1b[31mred\n")
        done = compare(document([evil]), document([row(name="\x1b[31mred\n", value=100)]))
        assert "\x1b" not in done.out and "?[31mred?" in done.out, repr(done.out)

    def real():
        """A run beside one that is saved: quick enough to see it through."""
        done = s.tool("bench", "linear", "--quick", "--json")
        saved = json.loads(done.out)
        for r in saved["rows"]:  # as if all had been forty times as quick
            if r["bench"] == "linear" and r["kind"] == "time":
                r.update({key: r[key] / 40 for key in ("min", "low", "median", "high", "max")})
        path = save("quick.json", saved)
        # Beside other programs, a row that was measured once is not judged: six in all, and none of them as quick as the saved one.
        done = s.tool("bench", "linear", "--quick", "--compare", path, "--fail")
        slower, faster, equal, *left = counts(done)
        assert done.code == 1 and "ns/vertex" in done.out and slower > 0 and slower + sum(left) == 6 and faster == equal == 0, done
        done = s.tool("bench", "linear", "--quick", "--compare", path, "--json")
        d = json.loads(done.out)
        verdicts = [r["verdict"] for r in d["compared"]["rows"]]
        assert done.code == 0 and d["compared"]["slower"] > 0 and not {"faster", "same"} & set(verdicts) and "slower" in done.err, (verdicts, done)

    def bad_files():
        good = save("good.json", document(many))
        nameless = document([{"bench": "x"}])
        for name, content in (("empty", ""), ("rubbish", "supple {"), ("list", "[]"), ("other", '{"rows": []}'), ("kind", {"supple": "1", "rows": {}}),
                              ("nameless", nameless), ("row", {"supple": "1", "rows": [1]}), ("twice", '{"supple": "1", "supple": "1", "rows": []}'),
                              ("deep", "[" * 100000)):
            bad = save(f"bad-{name}.json", content)
            s.tool.bad(3, [f"bad-{name}.json", "saved"], "bench", "--compare", bad, good)
            s.tool.bad(3, [f"bad-{name}.json"], "bench", "--compare", good, bad)
            s.tool.bad(3, [f"bad-{name}.json"], "bench", "linear", "--quick", "--compare", bad)
        s.tool.bad(3, ["absent.json"], "bench", "--compare", s.path("absent.json"), good)
        s.tool.bad(3, ["saved"], "bench", "--compare", s.folder, good)

    def command_line():
        s.tool.bad(2, ["--compare"], "bench", "linear", "--fail")
        s.tool.bad(2, ["name"], "bench", "--json")
        s.tool.bad(2, ["name"], "bench", "--compare", "x.json")
        s.tool.bad(2, ["no benchmark"], "bench", "x.json")
        s.tool.bad(2, ["--device", "projective"], "bench", "linear", "--device", "cl")
        s.tool.bad(2, ["--device", "projective"], "bench", "all", "--device", "cl")
        s.tool.bad(2, ["name"], "bench", "--device", "cl")

    for name, case in (("same", same), ("noise", noise), ("slower", slower), ("best_alone", best_alone), ("machine", machine), ("rates", rates),
                       ("single", single), ("busy", busy), ("one_limit", one_limit), ("counts", counted), ("missing", missing), ("json", as_json), ("terminal", terminal), ("run", real),
                       ("bad_files", bad_files), ("command_line", command_line)):
        s.cases.run(f"compare_{name}", case)


def section_report(s):
    """scripts/bench-report: every row of a run that it shows, and no file of another kind."""
    def report():
        d = document([row(table="a | table", name="x"), row(name="n", quantity="share", kind="share", value=0.5)])
        d["machine"].update(others=0.25, load_before=[1, 1, 1], load_after=[2, 2, 2], memory_mb=1000)
        d["benches"] = [{"name": "made", "seconds": 61.0, "exit": 0}]
        d["rows"][-2].update(paper=100.0, wanted=20.0)
        path = s.path("report.json")
        with open(path, "w") as file:
            json.dump(d, file)
        text = subprocess.run([sys.executable, os.path.join(SOURCE, "scripts", "bench-report"), path], capture_output=True, text=True)
        assert text.returncode == 0, text
        for word in ("## made", "Sample", "25%", "a \\| table", "50%", "| 10 (10.2) |"):
            assert word in text.stdout, (word, text.stdout)
        for block in text.stdout.split("\n\n"):  # every line of a table is as wide as its head
            widths = {line.replace("\\|", "").count("|") for line in block.splitlines() if line.startswith("|")}
            assert len(widths) <= 1, block

    s.cases.run("report", report)


class Section:
    def __init__(self, tool, cases, folder):
        self.tool, self.cases, self.folder = tool, cases, folder

    def path(self, name):
        return os.path.join(self.folder, name)


def main():
    with session(__doc__) as run:
        s = Section(*run)
        section_compare(s)
        section_document(s)
        section_report(s)


if __name__ == "__main__":
    main()
