"""Runs the supple program as a user would, with a watchdog, and measures it."""
import argparse
import collections
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases, Skip  # noqa: E402

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
CHECKS = os.path.join(SOURCE, "tests", "checks")  # programs that judge results and share no code with the library
DATA = os.path.join(SOURCE, "tests", "data")  # characters and motions of our own; its README.md says what each is for
QUICK = bool(os.environ.get("SUPPLE_TEST_QUICK"))
SANITIZED = bool(os.environ.get("SUPPLE_SANITIZED"))  # slower, and its shadow memory is not the program's
SLOWER = 20 if SANITIZED else 1

Done = collections.namedtuple("Done", "code out err seconds megabytes")


def interrupt(process, when):
    """Ctrl-C, as soon as the condition holds."""
    while process.returncode is None and not when():
        time.sleep(0.01)
    if process.returncode is None:
        os.kill(process.pid, signal.SIGINT)


class Tool:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *arguments, timeout=120, cwd=None, interrupt_when=None):
        """One run: exit code (negative: killed by that signal), both streams, wall time and peak memory."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            start = time.monotonic()
            process = subprocess.Popen([self.path, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd)
            watchdog = threading.Timer(timeout * SLOWER, process.kill)
            watchdog.start()
            if interrupt_when:
                threading.Thread(target=interrupt, args=(process, interrupt_when), daemon=True).start()
            _, status, usage = os.wait4(process.pid, 0)
            watchdog.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - start
            out.seek(0), err.seek(0)
            return Done(process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"), seconds,
                        usage.ru_maxrss / 1024)

    def good(self, *arguments, **options):
        """A run that must succeed, with nothing on stdout."""
        done = self(*arguments, **options)
        assert done.code == 0, f"{' '.join(map(str, arguments))}: exit {done.code}: {done.err.strip()}"
        assert done.out == "", f"stdout carries what was not asked for: {done.out[:200]!r}"
        return done

    def bad(self, codes, words, *arguments, **options):
        """A run that must be refused with one line that has each of the words in it."""
        done = self(*arguments, **options)
        codes = codes if isinstance(codes, tuple) else (codes,)
        said = f"{' '.join(map(str, arguments))}: exit {done.code}, stderr {done.err.strip()!r}"
        assert done.code in codes, f"{said}; expected exit {codes}"
        lines = [line for line in done.err.splitlines() if "warning" not in line.lower() and not line.startswith("supple: note")]
        assert len(lines) == 1 and lines[0].strip(), f"{said}; expected one line"
        assert done.out == "", f"{said}; stdout {done.out[:100]!r}"
        for word in words:
            assert word.lower() in done.err.lower(), f"{said}; expected a word about {word!r}"
        return done


@contextlib.contextmanager
def session(description):
    """The tool that the command line names, the cases, a folder of their own and a cache in it; counts the cases at the end."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--tool", required=True)
    tool, cases = Tool(parser.parse_args().tool), Cases()
    with tempfile.TemporaryDirectory(prefix="supple-") as folder:
        os.environ["SUPPLE_CACHE"] = os.path.join(folder, "cache")
        yield tool, cases, folder
    cases.end()


def data(*parts):
    """A file of tests/data, which is there: its absence is a failure."""
    path = os.path.join(DATA, *parts)
    assert os.path.exists(path), f"no {os.path.join('tests', 'data', *parts)}"
    return path


def check(program, *arguments):
    """Runs a program of tests/checks: exit code and what it printed, both streams together."""
    done = subprocess.run([sys.executable, os.path.join(CHECKS, program), *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    return done.returncode, done.stdout.strip()


def assets():
    """Every glTF of tests/data that is meant to load: what is damaged lies in a folder of its own."""
    folders = (DATA, os.path.join(DATA, "variants"))
    names = [(folder, name) for folder in folders for name in sorted(os.listdir(folder)) if name.endswith((".glb", ".gltf"))]
    assert len(names) > 20, "no characters in tests/data"
    return [os.path.join(folder, name) for folder, name in names]


def same_files(a, b):
    with open(a, "rb") as x, open(b, "rb") as y:
        return x.read() == y.read()
