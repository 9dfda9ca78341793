"""Named cases for test programs in Python: the twin of tests/test.h. Each case prints one line, the last line counts."""
import os
import sys
import traceback

ONLY = os.environ.get("SUPPLE_TEST_ONLY", "")  # cases with this in their names


class Skip(Exception):
    """Ends a case as skipped, with the reason."""


class Cases:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, name, function, *arguments):
        """Runs one case: it fails if the function raises, is skipped if it raises Skip."""
        if ONLY not in name:
            return
        try:
            function(*arguments)
        except Skip as reason:
            self.skipped += 1
            print(f"skip {name}: {reason}", flush=True)
        except AssertionError as error:
            self.failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            print(f"    {where.filename}:{where.lineno}: {str(error) or where.line}\nFAIL {name}", flush=True)
        except Exception:
            self.failed += 1
            print("    " + traceback.format_exc().replace("\n", "\n    ") + f"\nFAIL {name}", flush=True)
        else:
            self.passed += 1
            print(f"ok   {name}", flush=True)

    def end(self, plain=False):
        """Prints the count and exits; `plain` also prints it in the form of scripts/run-tests."""
        print(f"cases: {self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        if plain:
            print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""))
        sys.exit(self.failed != 0)
