#!/usr/bin/env python3
"""test_surroundings.py --tool BUILD/supple: the same commands where their surroundings do not play along: a kernel that refuses filters of system
calls, memory that runs out in the importer, names that are no text, others who write the same files, a cache that cannot be written."""
import ctypes
import errno
import json
import os
import resource
import shutil
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


# ---- names ----

EVIL = (b"\xff\xfe", b"a\nb", b"\x1b[31mred", "\u202egnp".encode(), "\u0085".encode())  # not UTF-8, two lines, a command to terminals, directions


def check_plain(name, *streams):
    for stream in streams:
        text = stream.decode()  # is UTF-8
        assert not any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 or c == "\u202e" for c in text), (name, stream)


def check_names_of_files(p):
    """A file may be called anything: it is read, and nothing but text is printed."""
    character = p.path("plain.glb")
    p.tool.good("demo", "arm", "--detail", "0.3", "-o", character)
    for name in EVIL:
        path = os.path.join(p.folder.encode(), name + b".glb")
        shutil.copy(character.encode(), path)
        for words in (["info", path], ["info", path, "--json"], ["skin", path, "--method", "linear", "--frames", "0:0", "-o", path + b".npy"]):
            done = subprocess.run([p.tool.path, *words], capture_output=True)
            assert done.returncode == 0, (name, done)
            check_plain(name, done.stdout, done.stderr)
            if "--json" in words:
                assert json.loads(done.stdout)["input"].endswith(".glb")


def check_words_of_the_line(p):
    """One line, and plain text, whatever word is wrong."""
    for word in EVIL:
        for words in ([word], ["info", b"--" + word], ["info", word + b"/none.glb"], ["bench", word], ["demo", "arm", "-o", word], ["train", "demo:arm", "-o", word],
                      ["mesh", "demo:arm", "--body", word], ["skin", "demo:arm", "--clip", "bend", "--method", word, "-o", "o.npy"], ["skin", "demo:arm", "--clip", word, "-o", "o.npy"],
                      ["skin", "demo:arm", "-o", word + b"/none/o.npy"], ["compare", "demo:arm", "--methods", word, "-o", "o.html"]):
            done = subprocess.run([p.tool.path, *words], capture_output=True, cwd=p.folder)
            assert done.returncode in (2, 3, 4) and done.stdout == b"" and done.stderr.count(b"\n") == 1, (words, done)
            check_plain(words, done.stderr)


# ---- others at the same files ----

def check_one_output(p):
    """Several runs to one name at once: each file is one run's, whole."""
    endings = ("npy", "glb", "pc2", "abc", "usda")
    words = lambda name: ["skin", "demo:arm", "--method", "linear", "--frames", "0:20"] + [w for e in endings for w in ("-o", p.path(f"{name}.{e}"))]
    p.tool.good(*words("alone"))
    runs = [subprocess.Popen([p.tool.path, *words("shared")], stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for run in runs:
        assert run.wait() == 0, run.stderr.read()
        run.stderr.close()
    for e in endings:
        assert read(p.path(f"shared.{e}")) == read(p.path(f"alone.{e}")), e
    assert not [name for name in os.listdir(p.folder) if ".partial-" in name], os.listdir(p.folder)


def steklov(p, name):
    return ["skin", "demo:arm", "--method", "steklov", "--resolution", "20", "--frames", "0:1", "-o", p.path(name)]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check_one_cache(p):
    """Several runs that fill one cache at once: the same result, no warning, nothing unfinished is left."""
    cache = p.path("shared-cache")
    runs = [subprocess.Popen([p.tool.path, *steklov(p, f"c{i}.npy")], stderr=subprocess.PIPE, text=True, env=dict(os.environ, SUPPLE_CACHE=cache)) for i in range(4)]
    for run in runs:
        words = run.communicate()[1]
        assert run.returncode == 0 and "cache" not in words, words
    p.tool.good(*steklov(p, "alone.npy"), "--no-cache")
    assert all(read(p.path(f"c{i}.npy")) == read(p.path("alone.npy")) for i in range(4))
    assert os.listdir(cache) and all(name.endswith(".store") for name in os.listdir(cache)), os.listdir(cache)


def check_full_cache(p):
    """A disk that is full in the middle of a write to the cache: a warning, no half file, and a later run goes on."""
    mesh = lambda cache, **more: p.run("mesh", "demo:arm", "--resolution", "20", env=dict(os.environ, SUPPLE_CACHE=p.path(cache)), **more)
    assert mesh("roomy").returncode == 0
    sizes = sorted(os.path.getsize(os.path.join(p.path("roomy"), name)) for name in os.listdir(p.path("roomy")))
    assert len(sizes) == 2, sizes
    for kept, most in enumerate((sizes[0] // 2, sum(sizes) // 2)):
        done = mesh("full", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        assert done.returncode == 0 and done.stderr.count("\n") == done.stderr.count("cache: nothing is kept") == 1, done
        names = os.listdir(p.path("full"))
        assert len(names) == kept and all(name.endswith(".store") for name in names), (most, names)
    done = mesh("full")
    assert done.returncode == 0 and done.stderr == "" and len(os.listdir(p.path("full"))) == 2, done


def check_read_only_cache(p):
    """A cache that cannot be written is read all the same."""
    nobody = 65534 if os.geteuid() == 0 else os.geteuid()  # root may write everywhere
    cache, out = p.path("read-only"), p.path("out")
    os.makedirs(cache), os.makedirs(out)
    for folder in (os.path.dirname(p.folder), p.folder):
        os.chmod(folder, 0o711)
    for folder in (cache, out):
        os.chmod(folder, 0o700), os.chown(folder, nobody, -1)
    more = dict(env=dict(os.environ, SUPPLE_CACHE=cache), user=nobody if os.geteuid() == 0 else None)
    words = steklov(p, "out/ro.npy")
    try:
        first = p.run(*words, **more)
    except PermissionError:
        raise Skip("others may not run the tool where it lies")
    kept = sorted(os.listdir(cache))
    assert first.returncode == 0 and "cache" not in first.stderr and kept, first
    os.unlink(os.path.join(cache, next(name for name in kept if name.startswith("weights"))))
    os.chmod(cache, 0o500)
    done = p.run(*words, "--verbose", **more)
    os.chmod(cache, 0o700)
    assert done.returncode == 0 and done.stderr.count("nothing is kept") == 1 and "store is there" in done.stderr, done


def main():
    with session(__doc__) as (tool, cases, folder):
        p = Place(tool, os.path.join(folder, "place"))
        cases.run("verbose_tells_of_the_filter", check_filtered, p)
        cases.run("verbose_warns_where_the_kernel_refuses_it", check_refused_filter, p)
        cases.run("verbose_of_every_verb", check_every_verb, p)
        cases.run("verbose_tells_of_the_cache", check_cache_told, p)
        cases.run("memory_runs_out_in_the_importer", check_import_memory, p)
        cases.run("names_of_files_are_printed_as_text", check_names_of_files, p)
        cases.run("words_of_the_command_line_are_printed_as_text", check_words_of_the_line, p)
        cases.run("several_runs_write_one_output", check_one_output, p)
        cases.run("several_runs_fill_one_cache", check_one_cache, p)
        cases.run("a_full_disk_under_the_cache", check_full_cache, p)
        cases.run("a_cache_that_is_only_read", check_read_only_cache, p)


if __name__ == "__main__":
    main()
