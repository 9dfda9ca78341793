#!/usr/bin/env python3
"""What the sources themselves must keep to (STYLE.md): the direction of includes, sizes, no paths of one machine."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases, Skip

# The rooms of src/ in the order in which a frame walks through them: a room may include itself and the rooms before it.
ORDER = ("core math geom sparse scene rig fem body contact statics subspace methods slide trust sim demo show").split()
# Against the order, each with its reason.
EXCEPTIONS = {
    ("src/scene/writers/", "rig/pose.h"),  # a glb carries the rest pose of the nodes it keeps
}
# What lies at the top of the repository; a new room is a decision, a stray file is not.
TOP = set("""README.md CHANGES.md CONTRIBUTING.md SECURITY.md LICENSE CMakeLists.txt CMakePresets.json Makefile .clang-format .clang-tidy .gitignore
.ci .github include src cli import report tests bench examples docs scripts cmake""".split())
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
FUNCTION_LINES, FILE_LINES = 120, 800


def tracked(root, *patterns):
    """Files of the repository (tracked, or new and not ignored), or every file where there is no git."""
    try:
        out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=root,
                             capture_output=True, check=True).stdout.decode()
        return sorted({name for name in out.split("\0") if name and os.path.isfile(os.path.join(root, name))})
    except (OSError, subprocess.CalledProcessError):
        raise Skip("no git work tree here")


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def includes(root, name):
    return [(quote == "<", path) for quote, path in INCLUDE.findall(read(root, name))]


def wrong_arrows(root, name):
    """Includes of one file under src/ that walk backwards."""
    room = name.split("/")[1]
    for public, path in includes(root, name):
        if public:
            continue
        target = path.split("/")[0] if "/" in path else room
        if target not in ORDER:
            yield f'{name}: "{path}" names no room'
        elif ORDER.index(target) > ORDER.index(room):
            if not any(name.startswith(folder) and path == header for folder, header in EXCEPTIONS):
                yield f'{name} ({room}) includes "{path}", which comes after it'


def check_arrows(root):
    names = [n for n in tracked(root, "src/*.c", "src/*.h") if n.count("/") >= 2]
    assert len(names) > 5, "no sources found"
    unknown = sorted({n.split("/")[1] for n in names} - set(ORDER))
    assert not unknown, f"rooms under src/ that have no place in the order: {unknown}"
    loose = [n for n in tracked(root, "src/*.c", "src/*.h") if n.count("/") < 2]
    assert not loose, f"sources outside a room: {loose}"
    wrong = [line for name in names for line in wrong_arrows(root, name)]
    assert not wrong, "\n    ".join([""] + wrong)


def check_measure(root):
    """How far a mesh passes through itself is measured from triangles alone: by nothing that finds contacts, nor knows of bodies and methods."""
    allowed, names = {"core", "math", "geom", "trust"}, tracked(root, "src/trust/cross*")
    assert len(names) > 4, names
    own = {name[len("src/"):] for name in names}
    wrong = [f"{name}: {path}" for name in names for public, path in includes(root, name)
             if not public and (path.split("/")[0] not in allowed or (path.startswith("trust/") and path not in own))]
    assert not wrong, wrong


def check_outside(root, folder):
    """The tool and the examples stand on the public headers: <supple/...>, the system's, and their own."""
    wrong = []
    for name in tracked(root, f"{folder}/*.c", f"{folder}/*.h"):
        for public, path in includes(root, name):
            beside = os.path.isfile(os.path.join(root, os.path.dirname(name), path)) and not path.startswith("..")
            if not public and not beside:
                wrong.append(f'{name} includes "{path}"')
    assert not wrong, "\n    ".join([""] + wrong)


def check_public(root):
    wrong = [f'{name} includes "{path}"' for name in tracked(root, "include/*.h") for public, path in includes(root, name)
             if not public or (path.startswith("supple/") and not os.path.isfile(os.path.join(root, "include", path)))]
    assert not wrong, "\n    ".join([""] + wrong)


def functions(text):
    """(line, length, signature) of each function: the house style puts its braces alone in the first column."""
    lines, start = text.split("\n"), None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            first = start
            while first > 0 and lines[first - 1].strip() and not lines[first - 1].startswith(("}", "#", "/*", " */")):
                first -= 1
            yield first + 1, i - first + 1, lines[first]
            start = None


def check_functions(root):
    long = []
    for name in tracked(root, "*.c", "*.h"):
        long += [f"{name}:{line}: {length} lines: {signature}" for line, length, signature in functions(read(root, name))
                 if length > FUNCTION_LINES]
    assert not long, "\n    ".join([""] + long)


def check_files(root):
    long = [f"{name}: {count} lines" for name in tracked(root, "*.c", "*.h", "*.py", "*.js", "*.mjs")
            if (count := read(root, name).count("\n")) > FILE_LINES]
    assert not long, "\n    ".join([""] + long)


def check_paths(root):
    """Absolute paths that exist on somebody's machine only. Written so that these lines do not match themselves."""
    pattern = re.compile(r"(?:^|[^a-zA-Z0-9_.$}])/(?:work|farm|root|home|tmp)/", re.M)
    hosts = re.compile(r'"resolved":\s*"https?:')
    wrong = []
    for name in tracked(root):
        text = read(root, name)
        wrong += [f"{name}:{text[:m.start()].count(chr(10)) + 1}: {m.group().strip()}" for m in pattern.finditer(text)]
        wrong += [f"{name}: names a package registry" for _ in hosts.finditer(text[:200000])][:1]
    assert not wrong, "\n    ".join([""] + wrong[:30])


def check_inside(root):
    """Tests bring what they need: they, the scripts and CI say nothing of the folder beside the repository, but for `make corpus`, which is about it.
    Written so that these lines do not match themselves."""
    pattern = re.compile(r"[.]{2}/shared\b|\bshared/(?:assets|bad-inputs|checks)\b|\bSPL_[S]HARED_DIR\b")
    wrong = []
    for name in tracked(root, "tests", "scripts", ".ci", "cmake"):
        if name == "scripts/run-corpus":
            continue
        for number, line in enumerate(read(root, name).split("\n"), 1):
            if pattern.search(line) and not (name.startswith(".ci/") and "corpus" in line):
                wrong.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not wrong, "\n    ".join([""] + wrong[:30])


def check_top(root):
    strays = sorted({name.split("/")[0] for name in tracked(root)} - TOP)
    assert not strays, f"at the top of the repository, and not of the house: {strays}"


def check_executables(root):
    """Scripts that are called by name can be."""
    wrong = [n for n in tracked(root, "scripts/*", ".ci/*")
             if read(root, n).startswith("#!") and not os.access(os.path.join(root, n), os.X_OK) and not n.endswith(".py")]
    assert not wrong, f"not executable: {wrong}"


def install_deps(root, *arguments, path=None):
    environment = dict(os.environ, PATH=path) if path else None
    return subprocess.run([os.path.join(root, "scripts", "install-deps"), *arguments], capture_output=True, text=True, env=environment)


def check_missing(root):
    """`make build` installs nothing: it names packages and the one command for them, without node where nobody asked for a page."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bash", "env", "uname", "sort", "ldconfig", "grep"):
            if shutil.which(name):
                os.symlink(shutil.which(name), os.path.join(folder, name))
        done = install_deps(root, "--check", "build", path=folder)
        assert done.returncode == 1 and len(done.stderr.splitlines()) == 1, done
        assert "cmake" in done.stderr and done.stderr.endswith("; install with: scripts/install-deps build\n"), done.stderr
        assert "node" not in done.stderr and "npm" not in done.stderr, done.stderr
        done = install_deps(root, "--check", "build", "report", path=folder)
        assert " nodejs " in done.stderr and " npm" in done.stderr and "install-deps build report" in done.stderr, done.stderr
    said = subprocess.run(["make", "-n", "build"], cwd=root, capture_output=True, text=True)
    assert "install-deps --check build" in said.stdout and "install-deps build" not in said.stdout, said


def check_groups(root):
    """Every group that something asks for is there."""
    assert install_deps(root, "--check", "moon").returncode == 2
    asked = set()
    for name in ("Makefile", ".ci/run", "README.md", "CONTRIBUTING.md", *tracked(root, "docs/*.md", "scripts/*", "cmake/*", ".github/*")):
        if not os.path.isfile(os.path.join(root, name)):
            continue
        for words in re.findall(r"scripts/install-deps((?: --check)?(?: [a-z]+)*)", read(root, name)):
            asked.update(words.replace("--check", "").split())
    assert {"build", "test", "report", "format"} <= asked, asked
    assert install_deps(root, "--check", *sorted(asked)).returncode in (0, 1), asked


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    root = os.path.abspath(parser.parse_args().root)
    cases = Cases()
    cases.run("includes_under_src_run_one_way", check_arrows, root)
    cases.run("the_measure_of_crossings_stands_alone", check_measure, root)
    for folder in ("cli", "examples"):
        cases.run(f"{folder}_stands_on_public_headers", check_outside, root, folder)
    cases.run("public_headers_stand_alone", check_public, root)
    cases.run(f"no_function_over_{FUNCTION_LINES}_lines", check_functions, root)
    cases.run(f"no_file_over_{FILE_LINES}_lines", check_files, root)
    cases.run("no_paths_of_one_machine", check_paths, root)
    cases.run("tests_read_nothing_beside_the_repository", check_inside, root)
    cases.run("nothing_strays_at_the_top", check_top, root)
    cases.run("scripts_can_be_run", check_executables, root)
    cases.run("what_is_missing_is_named", check_missing, root)
    cases.run("groups_of_packages_are_there", check_groups, root)
    cases.end()


if __name__ == "__main__":
    main()
