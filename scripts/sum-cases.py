#!/usr/bin/env python3
"""sum-cases.py REPORT.xml: adds up the cases that the test programs of a ctest run counted in their last line,
"cases: P passed, F failed, S skipped". A program that failed without counting a failure (a crash, a time-out), or that
counted nothing, is one failure."""
import re
import sys
import xml.etree.ElementTree as ElementTree

COUNT = re.compile(r"^cases: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)


def count(case):
    """(passed, failed, skipped, complaint) of one program."""
    counts = COUNT.findall(case.findtext("system-out") or "")
    status, failure = case.get("status"), case.find("failure")
    if not counts:
        return 0, 1, 0, "printed no count of its cases"
    passed, failed, skipped = (int(n or 0) for n in counts[-1])
    if status != "run" and failed == 0:
        reason = failure.get("message") if failure is not None else status
        return passed, 1, skipped, f"failed though its cases passed ({reason or status})"
    return passed, failed, skipped, None


def main(path):
    try:
        cases = ElementTree.parse(path).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"no report of the tests: {error}")
        print("0 passed, 1 failed")
        return 1
    total = [0, 0, 0]
    for case in cases:
        *numbers, complaint = count(case)
        total = [a + b for a, b in zip(total, numbers)]
        if complaint:
            print(f"{case.get('name')}: {complaint}")
        elif numbers[1]:
            print(f"{case.get('name')}: {numbers[1]} failed")
        for reason in re.findall(r"^skip .*$", case.findtext("system-out") or "", re.M):
            print(f"{case.get('name')}: {reason}")
    if not cases:
        total[1] += 1
        print("no tests ran")
    passed, failed, skipped = total
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
