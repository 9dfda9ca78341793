#!/usr/bin/env python3
"""test_faults.py --tool BUILD/supple: what must never happen to a user's files: an input written over, a half file left behind, an error that
is not told. Files under two names, full disks, closed pipes, signals."""
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tool import SLOWER, session  # noqa: E402


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Files:
    """A small character and the files that go with it, in a folder."""

    def __init__(self, tool, folder):
        os.makedirs(folder)
        self.tool, self.folder = tool, folder
        self.arm = self.path("arm.glb")
        tool.good("demo", "arm", "--detail", "0.3", "-o", self.arm)
        self.material = write(self.path("material.json"), json.dumps({"default": {"young": 1e4}}))
        self.collider = write(self.path("collider.json"), json.dumps({"colliders": [{"plane": {"point": [0, -9, 0], "normal": [0, 1, 0]}}]}))
        self.mesh = self.path("flesh.mesh")
        tool("mesh", self.arm, "--resolution", "12", "-o", self.mesh)
        self.model = write(self.path("model.supple"), "a model")

    def path(self, name):
        return os.path.join(self.folder, name)

    def refused(self, *words):
        """The command is a wrong one (exit 2), and no file is touched."""
        names = sorted(os.listdir(self.folder))
        before = [bytes_of(self.path(name)) for name in names]
        self.tool.bad(2, [], *words)
        assert sorted(os.listdir(self.folder)) == names, "a file came or went"
        assert [bytes_of(self.path(name)) for name in names] == before, "a file was changed"


def check_metrics_over_inputs(f):
    skin = ("skin", f.arm, "--method", "linear", "-o", f.path("o.npy"))
    f.refused(*skin, "--metrics", f.arm)
    f.refused(*skin, "--material", f.material, "--metrics", f.material)
    f.refused(*skin, "--model", f.model, "--metrics", f.model)
    f.refused(*skin, "--collider", f.collider, "--metrics", f.collider)
    f.refused(*skin, "--body", f.mesh, "--metrics", f.mesh)
    f.refused(*skin, "--metrics", f.path("o.npy"))
    f.refused("weights", f.arm, "-o", f.path("w.glb"), "--metrics", f.arm)


def check_outputs_over_inputs(f):
    f.refused("skin", f.arm, "--method", "linear", "-o", f.arm)
    f.refused("mesh", f.mesh, "-o", f.mesh)
    f.refused("weights", f.arm, "-o", f.arm)
    f.refused("train", f.arm, "-o", f.arm)
    f.refused("skin", f.arm, "-o", f.path("x.glb"), "-o", os.path.join(f.folder, ".", "x.glb"))


def check_links(f):
    """One file under two names is one file."""
    os.link(f.arm, f.path("hard.glb"))
    os.symlink("arm.glb", f.path("soft.glb"))
    for name in ("hard.glb", "soft.glb"):
        f.refused("skin", f.arm, "--method", "linear", "-o", f.path(name))
        f.refused("skin", f.arm, "--method", "linear", "-o", f.path("o.npy"), "--metrics", f.path(name))
    os.unlink(f.path("hard.glb")), os.unlink(f.path("soft.glb"))


def check_full_stdout(f):
    for words in (("info", f.arm, "--json"), ("info", f.arm), ("--help",), ("mesh", f.arm, "--resolution", "12", "--json")):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([f.tool.path, *words], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 4 and "standard output" in done.stderr, (words, done)


def check_device(f):
    """What is no regular file cannot be replaced by one: told before any work, and no output is left."""
    f.tool.bad(4, ["/dev/full", "regular"], "skin", f.arm, "--method", "linear", "-o", f.path("o.npy"), "--metrics", "/dev/full")
    assert not os.path.exists(f.path("o.npy"))


def check_closed_stdout(f):
    """Like `supple info ... | head -0`: no message, and the exit that shells know."""
    read, out = os.pipe()
    os.close(read)
    done = subprocess.run([f.tool.path, "info", f.arm, "--json"], stdout=out, stderr=subprocess.PIPE, text=True)
    os.close(out)
    assert done.returncode == -signal.SIGPIPE and done.stderr == "", done


def partials(f):
    return glob.glob(f.path("*.partial-*"))


def start(f, *more, **options):
    """A run that takes a while, and has begun to write."""
    process = subprocess.Popen([f.tool.path, "skin", f.arm, "--method", "mixed", "--resolution", "40", "--clip", "all", "-o", f.path("o.pc2"),
                                "--no-cache", *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL), **options)  # whoever runs the tests by nohup
    end = time.monotonic() + 60 * SLOWER
    while not partials(f) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    assert process.poll() is None and partials(f), f"it did not begin to write: {process.poll()}"
    return process


def check_signal(f, number):
    process = start(f)
    process.send_signal(number)
    words = process.communicate(timeout=60 * SLOWER)[1]
    assert process.returncode == 128 + number, (process.returncode, words)
    assert not partials(f) and not os.path.exists(f.path("o.pc2")), os.listdir(f.folder)


def check_file_limit(f):
    """A file over its limit (ulimit -f) is a full disk, not the end of the program."""
    for name, most, told in (("o.pc2", 8192, "o.pc2"), ("o.obj", 8192, "o.obj"), ("o.obj", 16, "o.mtl")):
        limit = lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        done = subprocess.run([f.tool.path, "skin", f.arm, "--method", "linear", "-o", f.path(name), "--no-cache"], capture_output=True, text=True,
                              preexec_fn=limit)
        assert done.returncode == 4 and f"{f.path(told)}: cannot be written" in done.stderr, done
        assert not partials(f) and not glob.glob(f.path("o.*")), os.listdir(f.folder)


def check_sweep(f):
    """What kill -9 leaves goes with the next run to the same name, but not what a living run is writing."""
    process = start(f)
    left = partials(f)
    f.tool.good("skin", f.arm, "--method", "linear", "--frames", "0:1", "-o", f.path("o.pc2"))
    assert partials(f) == left, "a file that is being written was taken away"
    process.kill()
    process.communicate()
    assert partials(f) == left
    f.tool.good("skin", f.arm, "--method", "linear", "--frames", "0:1", "-o", f.path("o.pc2"))
    assert not partials(f), partials(f)


def check_sweep_folder(f):
    """Likewise of a sequence, which is gathered in a folder; other folders are let alone."""
    words = ("skin", f.arm, "--method", "mixed", "--resolution", "40", "--clip", "all", "--no-cache", "-o", f.path("o.obj"))
    again = ("skin", f.arm, "--method", "linear", "--frames", "0:1", "-o", f.path("o.obj"))
    process = subprocess.Popen([f.tool.path, *words], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60 * SLOWER
    while not glob.glob(f.path("*.partial-*/0001.obj")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    left = partials(f)
    assert process.poll() is None and len(left) == 1, (process.poll(), left)
    f.tool.good(*again)
    assert partials(f) == left, "a folder that is being written was taken away"
    process.kill()
    process.wait()
    os.makedirs(f.path("o.mine.partial-12345678"))
    write(f.path("o.mine.partial-12345678/notes.txt"), "mine")
    f.tool.good(*again)
    assert partials(f) == [f.path("o.mine.partial-12345678")] and os.path.exists(f.path("o.mine.partial-12345678/notes.txt")), partials(f)
    shutil.rmtree(f.path("o.mine.partial-12345678"))


def main():
    with session(__doc__) as (tool, cases, folder):
        f = Files(tool, os.path.join(folder, "files"))
        cases.run("metrics_over_inputs", check_metrics_over_inputs, f)
        cases.run("outputs_over_inputs", check_outputs_over_inputs, f)
        cases.run("links_are_the_file", check_links, f)
        cases.run("a_full_standard_output", check_full_stdout, f)
        cases.run("metrics_to_a_device", check_device, f)
        cases.run("a_closed_standard_output", check_closed_stdout, f)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            cases.run(f"{number.name.lower()}_leaves_nothing", check_signal, f, number)
        cases.run("a_limit_of_file_size", check_file_limit, f)
        cases.run("the_next_run_sweeps", check_sweep, f)
        cases.run("the_next_run_sweeps_folders", check_sweep_folder, f)
        shutil.rmtree(f.folder)


if __name__ == "__main__":
    main()
