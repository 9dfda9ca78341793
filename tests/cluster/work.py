"""One training in many ways: what the cases of tests/cluster share."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from tool import Tool, same_files  # noqa: E402

# Poses of some 0.1 s (long) and 0.05 s (short) of one core; all are done from files of tetrahedra that the cache has.
LONG = ("demo:hero", "--samples", "100", "--rank", "6", "--set", "max-tets=4000", "--set", "modes=8", "--set", "derivatives=2")
SHORT = ("demo:arm", "--samples", "16", "--rank", "6", "--set", "max-tets=2500", "--set", "modes=8", "--set", "derivatives=2")
BUSY = re.compile(r"(\d+) of \d+ poses solved here, (\d+) of them taken over; busy ([\d.]+)% of ([\d.]+) s")
TOGETHER = re.compile(r"(\d+) of \d+ poses solved by (\d+) processes, busy ([\d.]+)% of ([\d.]+) s")


class Work:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.made = Tool(tool), folder, 0
        self.random = random.Random(28)
        self.models, self.alone = {}, {}
        for kind in (LONG, SHORT):
            path = self.path("alone.supple")
            start = time.monotonic()
            self.tool.good("train", *kind, "-o", path, "--threads", "1", timeout=600)
            self.models[kind], self.alone[kind] = path, time.monotonic() - start

    def path(self, name):
        """A new path: no two cases share a file."""
        self.made += 1
        return os.path.join(self.folder, f"{self.made:03d}-{name}")

    def command(self, kind, *arguments):
        return [self.tool.path, "train", *kind, "--threads", "1", *map(str, arguments)]

    def worker(self, kind, poses, share, *arguments, before=()):
        return subprocess.Popen([*before, *self.command(kind, "--poses", poses, "--solve", share, *arguments)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def finish(self, kind, poses, *arguments):
        """The finish makes the model of one process alone, bit for bit, and leaves no folder; what it said."""
        path = self.path("finished.supple")
        done = self.tool.good(*self.command(kind, "--poses", poses, "--finish", "-o", path, *arguments)[1:], timeout=600)
        self.check(kind, path)
        assert not os.path.exists(poses), os.listdir(poses)
        return done.err

    def check(self, kind, path):
        assert same_files(self.models[kind], path), "another model than that of one process alone"
        os.unlink(path)

    def end(self, worker, code=0, seconds=600):
        err = worker.communicate(timeout=seconds)[1]
        assert worker.returncode == code, f"exit {worker.returncode}, not {code}: {err}"
        return err


def poses_of(folder):
    return [name for name in os.listdir(folder) if re.fullmatch(r"pose-\d+", name)] if os.path.isdir(folder) else []


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


def processor_seconds(children):
    """Of processes that have ended and were waited for, from what the kernel counted before and after."""
    return sum(os.times()[2:4]) - children


def has(*programs):
    return all(shutil.which(p) for p in programs)
