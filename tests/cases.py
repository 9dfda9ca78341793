"""Named cases for test programs in Python: the twin of tests/test.h. Each case prints one line, the last line counts."""
import fnmatch
import os
import sys
import time
import traceback

# Set by tests/run.py, or by hand: only cases with this in their names, cases that are left out (patterns of PROGRAM.CASE).
ONLY = os.environ.get("SUPPLE_TEST_ONLY", "")
WORD = os.environ.get("SUPPLE_TEST_WORD", "")
PROGRAM = os.environ.get("SUPPLE_TEST_PROGRAM", "")
LEFT_OUT = os.environ.get("SUPPLE_TEST_LEFT_OUT", "").split()


def is_wanted(name):
    full = f"{PROGRAM}.{name}"
    return ONLY in name and WORD in full and not any(fnmatch.fnmatchcase(full, pattern) for pattern in LEFT_OUT)


class Skip(Exception):
    """Ends a case as skipped, with the reason."""


class Cases:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, name, function, *arguments):
        """Runs one case: it fails if the function raises, is skipped if it raises Skip."""
        if not is_wanted(name):
            return
        start = time.monotonic()
        try:
            function(*arguments)
        except Skip as reason:
            self.skipped += 1
            print(f"skip {name}: {reason}", flush=True)
            return
        except AssertionError as error:
            self.failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            status = f"    {where.filename}:{where.lineno}: {str(error) or where.line}\nFAIL"
        except Exception:
            self.failed += 1
            status = "    " + traceback.format_exc().replace("\n", "\n    ") + "\nFAIL"
        else:
            self.passed += 1
            status = "ok  "
        print(f"{status} {name} {time.monotonic() - start:.2f} s", flush=True)

    def end(self, plain=False):
        """Prints the count and exits; `plain` also prints it in the form of scripts/run-tests."""
        print(f"cases: {self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        if plain:
            print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""))
        sys.exit(self.failed != 0)
