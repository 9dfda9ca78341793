#!/usr/bin/env python3
"""run.py BUILD [options] [WORD]: runs the tests of a build tree, longest first, and counts their cases.

What there is to run comes from CTest (`ctest --show-only`). A room's program in C (label `cases`) lists its cases and is run in small shares; a
program in Python is run whole. The last line is "N passed, N failed" (", N skipped"); exit 1 if anything failed, crashed, took too long or
counted nothing. Every case with its seconds goes to BUILD/Testing/cases.json.

WORD: only cases with this in their full names, ROOM.FILE.CASE. tests/slow.txt says which cases take long; tests/left-out.txt what the sanitizers
leave out, and why."""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LINE = re.compile(r"^(ok  |FAIL|skip) (\S+?):?(?: (\d+\.\d+) s| (.*))?$")
COUNT = re.compile(r"^cases: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
SHARE = 12  # quick cases that one process is given
NAMED, TOO_LONG = 5.0, 20.0  # seconds from which a case is named at the end, and from which that is a warning

Program = collections.namedtuple("Program", "name command labels folder seconds")
Share = collections.namedtuple("Share", "program cases cost")  # cases: None for all
Case = collections.namedtuple("Case", "name status seconds words")


def read_table(name, columns):
    """Rows of a text file of ours: words, the last of them a sentence; `#` begins a comment."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = (line.split("#")[0].split(None, columns - 1) for line in file)
        return [line for line in lines if len(line) == columns]


def programs(build, wanted, unwanted):
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        labels = properties.get("LABELS", [])
        if wanted and not any(re.search(wanted, label) for label in labels):
            continue
        if unwanted and any(re.search(unwanted, label) for label in labels):
            continue
        yield Program(test["name"], test.get("command"), labels, properties.get("WORKING_DIRECTORY", build), properties.get("TIMEOUT", 600))


def left_out(kind):
    return [pattern for k, pattern, _ in read_table("left-out.txt", 3) if kind and fnmatch.fnmatch(kind, k)]


def is_left_out(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def shares_of(program, slow, patterns, word):
    """What one process runs at a time: a slow case alone, quick ones together, a Python program whole."""
    if not program.command:  # it is not built: no matter if it was not asked for
        return [] if word and not word.startswith(program.name) else [Share(program, None, 0)]
    if "cases" not in program.labels:
        if "." in word and not word.startswith(program.name) and not program.name.startswith(word.rstrip(".")):
            return []
        known = sum(cost for name, cost in slow.items() if name.startswith(program.name + "."))
        return [Share(program, None, known + 1)]
    names = subprocess.run([*program.command, "--list"], capture_output=True, text=True, check=True, cwd=program.folder).stdout.split()
    full = {name: f"{program.name}.{name}" for name in names}
    names = [n for n in names if word in full[n] and not is_left_out(full[n], patterns)]
    cost = lambda n: slow.get(re.sub(r"^scalar\.", "", full[n]), 0)
    alone = [Share(program, [n], cost(n)) for n in names if cost(n)]
    quick = [n for n in names if not cost(n)]
    return alone + [Share(program, quick[i:i + SHARE], 1) for i in range(0, len(quick), SHARE)]


def run_share(share, patterns, word):
    """The cases of one process, its text if something is wrong."""
    program = share.program
    if not program.command:
        return [Case(f"{program.name}.(the program)", "FAIL", 0.0, "is not built")], f"{program.name}: is not built"
    env = dict(os.environ, SUPPLE_TEST_PROGRAM=program.name, SUPPLE_TEST_LEFT_OUT=" ".join(patterns), SUPPLE_TEST_WORD=word)
    env["SUPPLE_TEST_SECONDS"] = str(int(program.seconds))
    process = subprocess.Popen([*program.command, *(share.cases or [])], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               cwd=program.folder, env=env, start_new_session=True)
    try:
        text = process.communicate(timeout=program.seconds * max(1, len(share.cases or [])))[0].decode(errors="replace")
        ended = f"exit {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, ended = process.communicate()[0].decode(errors="replace"), f"took longer than {program.seconds:.0f} s"
    cases = [Case(f"{program.name}.{m[2]}", m[1].strip(), float(m[3] or 0), m[4] or "") for m in map(LINE.match, text.splitlines()) if m]
    counts = COUNT.findall(text)
    failed = sum(case.status == "FAIL" for case in cases)
    if not counts or len(cases) != sum(int(n or 0) for n in counts[-1]) or (process.returncode != 0 and not failed):
        cases.append(Case(f"{program.name}.(the program)", "FAIL", 0.0, ended))
        failed += 1
    return cases, text if failed else ""


class Progress:
    """A line a program when the last of its shares is done."""

    def __init__(self, shares):
        self.open = collections.Counter(share.program.name for share in shares)
        self.cases, self.start = collections.defaultdict(list), time.monotonic()

    def add(self, share, cases, text):
        name = share.program.name
        self.cases[name] += cases
        self.open[name] -= 1
        if text:
            print(text, flush=True)
        if not self.open[name]:
            count = collections.Counter(case.status for case in self.cases[name])
            print(f"{time.monotonic() - self.start:6.0f} s  {name:24s} {count['ok']:4d} passed, {count['FAIL']} failed, {count['skip']} skipped"
                  f"{sum(case.seconds for case in self.cases[name]):8.1f} s of cases", flush=True)

    def all(self):
        return sorted(case for cases in self.cases.values() for case in cases)


def report(cases, build):
    os.makedirs(os.path.join(build, "Testing"), exist_ok=True)
    with open(os.path.join(build, "Testing", "cases.json"), "w", encoding="utf-8") as file:
        json.dump([case._asdict() for case in cases], file, indent=0)
    for case in sorted(cases, key=lambda case: -case.seconds):
        if case.seconds >= NAMED:
            print(f"slow {case.seconds:6.1f} s  {case.name}" + ("  (warning: none should take more than 20 s)" if case.seconds > TOO_LONG else ""))
    for case in cases:
        if case.status != "ok":
            print(f"{case.status} {case.name} {case.words}".rstrip())
    count = collections.Counter(case.status for case in cases)
    print(f"{count['ok']} passed, {count['FAIL']} failed" + (f", {count['skip']} skipped" if count["skip"] else ""))
    return count["FAIL"] > 0 or not cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("-j", type=int, default=int(os.environ.get("TEST_JOBS", os.cpu_count() or 2)), help="processes at once")
    parser.add_argument("-L", default="", metavar="REGEX", help="only programs with such a label")
    parser.add_argument("-LE", default="", metavar="REGEX", help="no programs with such a label")
    parser.add_argument("--leave-out", default="", metavar="KIND", help="what tests/left-out.txt has for address or thread")
    options = parser.parse_intermixed_args()
    slow = {name: float(seconds) for seconds, name in read_table("slow.txt", 2)}
    patterns, unwanted = left_out(options.leave_out), options.LE or ("" if "scalar" in options.L else "scalar")
    shares = [s for p in programs(options.build, options.L, unwanted) if not is_left_out(p.name, patterns)
              for s in shares_of(p, slow, patterns, options.word)]
    shares.sort(key=lambda share: -share.cost)
    progress = Progress(shares)
    # Bodies are kept for one run: the user's own cache may be of another build, and nothing is to be left in it.
    with tempfile.TemporaryDirectory(prefix="supple-cache-") as cache, concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        os.environ["SUPPLE_CACHE"] = cache
        waiting = {pool.submit(run_share, share, patterns, options.word): share for share in shares}
        for done in concurrent.futures.as_completed(waiting):
            progress.add(waiting[done], *done.result())
    return report([case for case in progress.all() if options.word in case.name], options.build)


if __name__ == "__main__":
    sys.exit(main())
