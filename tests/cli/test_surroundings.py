#!/usr/bin/env python3
"""test_surroundings.py --tool BUILD/supple: the same commands where the machine does not play along: a kernel that refuses filters of system calls,
memory that runs out in the importer."""
import ctypes
import errno
import json
import os
import resource
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tool import SANITIZED, Skip, data, session  # noqa: E402


class Place:
    def __init__(self, tool, folder):
        os.makedirs(folder)
        self.tool, self.folder = tool, folder
        self.importer = os.path.join(os.path.dirname(tool.path), "supple-import")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words, **options):
        return subprocess.run([self.tool.path, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)

    def need_importer(self):
        if not os.path.exists(self.importer):
            raise Skip("built without supple-import")


# ---- --verbose ----

def document(glb):
    return json.loads(glb[20:20 + struct.unpack_from("<I", glb, 12)[0]])


def is_filtered(p):
    """Whether the importer says that it ran behind a filter of system calls."""
    glb = subprocess.run([p.importer, data("hero.dae")], capture_output=True, check=True).stdout
    return document(glb)["asset"]["extras"]["supple"]["sandbox"]


def refuse_filters():
    """In a child before its program: from here on the kernel takes no more filters, as some containers have it."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_load.argtypes = [ctypes.c_void_p]
    library.seccomp_rule_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint]
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    rules = library.seccomp_init(allow)
    for name in (b"seccomp", b"prctl"):
        assert library.seccomp_rule_add(rules, refuse, library.seccomp_syscall_resolve_name(name), 0) == 0
    assert library.seccomp_load(rules) == 0


def check_filtered(p):
    p.need_importer()
    if not is_filtered(p):
        raise Skip("built without libseccomp, under a sanitizer, or on a kernel without filters")
    done = p.run("info", data("hero.dae"), "--verbose")
    assert done.returncode == 0 and "hero.dae: imported behind a filter of system calls" in done.stderr, done
    assert "without a filter" not in done.stderr, done.stderr


def check_refused_filter(p):
    """Only --verbose tells, and the result is the same."""
    p.need_importer()
    if not SANITIZED and not is_filtered(p):
        raise Skip("built without libseccomp, or on a kernel without filters")
    before = None if SANITIZED else refuse_filters  # a sanitized importer has none anyway
    quiet, told = (p.run("info", data("hero.dae"), *more, preexec_fn=before) for more in ((), ("--verbose",)))
    assert quiet.returncode == 0 and quiet.stderr == "", quiet
    assert told.returncode == 0 and told.stdout == quiet.stdout, told
    lines = told.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("supple: warning: ") and "without a filter of system calls" in lines[0], lines


def check_every_verb(p):
    """Each verb that reads a character takes --verbose."""
    p.need_importer()
    character = data("arm_z.fbx")
    for verb, *more in (("skin", "--method", "linear", "--frames", "0:0", "-o", "v.npy"), ("info",), ("mesh", "--resolution", "12"),
                        ("weights", "--resolution", "12", "-o", "v.glb"), ("train", "--clip", "none", "-o", "v.supple"),
                        ("compare", "--methods", "linear", "--frames", "0:0", "--json")):
        done = p.run(verb, character, "--verbose", *more, cwd=p.folder)
        code = 2 if verb == "train" else 0  # which ends once the character is read: there is no such clip
        assert done.returncode == code and "a filter of system calls" in done.stderr, (verb, done)


def check_cache_told(p):
    cache = dict(os.environ, SUPPLE_CACHE=p.path("told"))
    words = ("mesh", "demo:arm", "--resolution", "12", "--verbose")
    first, second = (p.run(*words, env=cache) for _ in range(2))
    assert first.returncode == 0 and f"cache: {p.path('told')}" in first.stderr and "is not there" in first.stderr, first
    assert second.returncode == 0 and "is there" in second.stderr and "is not there" not in second.stderr, second
    assert "cache" not in p.run(*words[:-1], env=cache).stderr


# ---- memory ----

def limited(p, path, kilobytes):
    """What the importer answers with so much memory: "whole", "no memory", or what else it was."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1024 * kilobytes, 1024 * kilobytes))
    done = subprocess.run([p.importer, path], capture_output=True, preexec_fn=limit)
    if done.returncode == 1 and done.stdout.startswith(b"out of memory"):
        return "no memory"
    if done.returncode == 127 or done.stderr.startswith(b"terminate called"):
        return "not begun"  # the system's loader gave up, or the start of a library
    return (done.returncode, done.stdout if done.returncode == 0 else (done.stdout + done.stderr)[:200])


def check_import_memory(p):
    """Memory that runs out inside the importing library is told as that; it never costs a mesh in silence, nor is std::bad_alloc a message."""
    p.need_importer()
    if SANITIZED:
        raise Skip("a sanitizer has the addresses")
    path = data("hero.fbx")
    whole = subprocess.run([p.importer, path], capture_output=True, check=True).stdout
    least = next(k for k in range(8000, 200000, 500) if limited(p, path, k) != "not begun")
    seen = []
    for kilobytes in range(least, 200000, 100):
        seen.append(limited(p, path, kilobytes))
        if seen[-1] == (0, whole):
            break
        assert seen[-1] == "no memory" or seen[-1] == "not begun", f"{kilobytes} kB: {seen[-1]}"
    assert seen.count("no memory") >= 10 and seen[-1] == (0, whole), seen[-3:]


def main():
    with session(__doc__) as (tool, cases, folder):
        p = Place(tool, os.path.join(folder, "place"))
        cases.run("verbose_tells_of_the_filter", check_filtered, p)
        cases.run("verbose_warns_where_the_kernel_refuses_it", check_refused_filter, p)
        cases.run("verbose_of_every_verb", check_every_verb, p)
        cases.run("verbose_tells_of_the_cache", check_cache_told, p)
        cases.run("memory_runs_out_in_the_importer", check_import_memory, p)


if __name__ == "__main__":
    main()
