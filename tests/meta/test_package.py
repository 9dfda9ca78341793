#!/usr/bin/env python3
"""test_package.py ROOT BUILD: what others receive: exported symbols, headers usable alone, an installation that hello.c builds on."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases, Skip

COMPILERS = [("gcc", ["-std=c11", "-x", "c"]), ("clang", ["-std=c11", "-x", "c"]),
             ("g++", ["-std=c++11", "-x", "c++"]), ("clang++", ["-std=c++11", "-x", "c++"])]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def call(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, f"{' '.join(command)} exited {done.returncode}:\n{done.stdout}"
    return done.stdout


def check_exports(build):
    table = call("nm", "-D", "--defined-only", os.path.join(build, "libsupple.so"))
    names = [line.split()[-1] for line in table.splitlines() if line.strip()]
    assert len(names) > 10, "hardly anything is exported"
    foreign = [n for n in names if not n.startswith("supple_")]
    assert not foreign, f"exports beyond supple_*: {foreign}"


def check_declared(root, build):
    """Every function of the public headers is there, and nothing is exported that no header declares."""
    table = call("nm", "-D", "--defined-only", os.path.join(build, "libsupple.so"))
    exported = {line.split()[-1] for line in table.splitlines() if line.strip()}
    text = "".join(open(os.path.join(root, "include", "supple", h)).read() for h in os.listdir(os.path.join(root, "include", "supple")))
    declared = set(re.findall(r"SUPPLE_API[^;]*?\b(supple_\w+)\(", text))
    assert exported == declared, f"declared only: {sorted(declared - exported)}, exported only: {sorted(exported - declared)}"


def check_soname(build):
    assert re.search(r"SONAME.*libsupple\.so\.\d+", call("objdump", "-p", os.path.join(build, "libsupple.so")))


def check_compilers():
    """gcc and g++ have to be; clang is a second opinion."""
    missing = sorted({name for name, _ in COMPILERS if not shutil.which(name)})
    assert not [name for name in missing if "clang" not in name], missing
    if missing:
        raise Skip(f"{missing[0]} is not installed")


def check_library_path(path):
    """Libraries come from the system or from beside the program: an empty entry would be the current folder, an absolute one somebody's."""
    for entries in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", call("readelf", "-d", path)):
        wrong = [entry for entry in entries.split(":") if not entry.startswith("$ORIGIN")]
        assert not wrong, f"{os.path.basename(path)}: library path {entries!r}"


def check_hardened(path):
    """What reads strangers' files: no late binding, guarded stacks, checked copies, no executable stack, no fixed addresses."""
    dynamic, symbols, head = call("readelf", "-d", path), call("nm", "-D", "--undefined-only", path), call("readelf", "-hlW", path)
    assert "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*\bNOW\b", dynamic), "binds late"
    assert "GNU_RELRO" in head and re.search(r"GNU_STACK.* RW ", head) and re.search(r"Type:\s+DYN", head), head
    assert "__stack_chk_fail" in symbols, "no stack protector"
    assert re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")), "no _FORTIFY_SOURCE"


def programs(build):
    names = ("supple", "supple-import", "libsupple.so", "libsupple-cholmod.so", "libsupple-mpi.so")
    return [os.path.join(build, name) for name in names if os.path.exists(os.path.join(build, name))]


def check_header(root, header, compiler, flags):
    source = f"#include <supple/{header}>\n#include <supple/{header}>\nint main(void) {{ return 0; }}\n"
    done = subprocess.run([compiler, *flags, *WARNINGS, "-fsyntax-only", "-I", os.path.join(root, "include"), "-"], input=source,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def environment(prefix):
    """Where an installed Supple is found, whatever the distribution calls its library folder."""
    folders = [folder for folder, _, files in os.walk(prefix) if "supple.pc" in files]
    assert len(folders) == 1, f"supple.pc in {folders}"
    library = os.path.dirname(folders[0])
    return dict(os.environ, PKG_CONFIG_PATH=folders[0], LD_LIBRARY_PATH=library)


def check_hello(output):
    assert re.match(r"\d+ vertices, \d+ joints, method \w+\n", output), output
    heights = [float(h) for h in re.findall(r"height ([0-9.]+)", output)]
    assert len(heights) > 5 and max(heights) > min(heights) > 0, f"the arm does not move: {output}"


def check_cmake_package(root, prefix, work):
    build = os.path.join(work, "hello-cmake")
    call("cmake", "-G", "Ninja", "-S", os.path.join(root, "examples"), "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", build)
    check_hello(call(os.path.join(build, "hello"), env=environment(prefix)))


def check_pkg_config(root, prefix, work):
    found = environment(prefix)
    flags = call("pkg-config", "--cflags", "--libs", "supple", env=found).split()
    program = os.path.join(work, "hello-pkg-config")
    call("cc", "-std=c11", os.path.join(root, "examples", "hello.c"), "-o", program, *flags, env=found)
    check_hello(call(program, env=found))


def check_report(build, prefix):
    """The page of `supple compare` lies in share/supple, with one place for its data and nothing to fetch."""
    made = os.path.join(build, "report", "report.html")
    if not os.path.exists(made):
        raise Skip("the page was not built")
    with open(os.path.join(prefix, "share", "supple", "report.html"), encoding="utf-8") as file:
        page = file.read()
    assert page.split("\n").count("<!--supple-report-->") == 1 and page.count("<!--supple-report-->") == 1
    assert not re.search(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=", page), "it fetches something"
    assert "default-src 'none'" in page and "Three.js Authors" in page and "Permission is hereby granted" in page


def check_tool(prefix):
    """The installed tool finds its library by itself."""
    tool = os.path.join(prefix, "bin", "supple")
    check_library_path(tool)
    assert re.search(r"\d+\.\d+\.\d+", call(tool, "--version"))


def check_manual(prefix):
    """The page and the completion are where man and bash look for them, and the page is what the tool says now."""
    with open(os.path.join(prefix, "share", "man", "man1", "supple.1"), encoding="utf-8") as file:
        assert file.read() == call(os.path.join(prefix, "bin", "supple"), "--man")
    completion = os.path.join(prefix, "share", "bash-completion", "completions", "supple")
    call("bash", "-c", f"source '{completion}' && complete -p supple")


def check_moved(prefix, work):
    """An installation may be copied elsewhere."""
    shutil.copytree(prefix, os.path.join(work, "moved here"), symlinks=True)
    call(os.path.join(work, "moved here", "bin", "supple"), "--version")


def check_benches(build, work):
    """Benchmarks are large and installed by their own component only; without them the tool says how to get them."""
    moved = os.path.join(work, "moved here")
    done = subprocess.run([os.path.join(moved, "bin", "supple"), "bench"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == "" and "`make benches`" in done.stderr, done
    if not os.path.exists(os.path.join(build, "bench", "bench_linear")):
        raise Skip("the benchmarks were not built")
    call("cmake", "--install", build, "--prefix", moved, "--component", "bench")
    listed = call(os.path.join(moved, "bin", "supple"), "bench")
    assert re.search(r"^  linear +\S", listed, re.M), listed


def main():
    root, build = (os.path.abspath(path) for path in sys.argv[1:3])
    cases = Cases()
    cases.run("exports_supple_names_only", check_exports, build)
    cases.run("exports_what_the_headers_declare", check_declared, root, build)
    cases.run("has_a_soname", check_soname, build)
    cases.run("every_compiler_is_here", check_compilers)
    for path in programs(build):
        cases.run(f"{os.path.basename(path)}_finds_libraries_by_itself", check_library_path, path)
        if "cholmod" not in path and "mpi" not in path:  # they only pass matrices and messages on
            cases.run(f"{os.path.basename(path)}_is_hardened", check_hardened, path)
    for header in sorted(os.listdir(os.path.join(root, "include", "supple"))):
        for compiler, flags in ((name, flags) for name, flags in COMPILERS if shutil.which(name)):
            cases.run(f"{header}_alone_with_{compiler}", check_header, root, header, compiler, flags)
    with tempfile.TemporaryDirectory() as work:
        prefix = os.path.join(work, "prefix")
        cases.run("installs", call, "cmake", "--install", build, "--prefix", prefix)
        cases.run("installs_the_report", check_report, build, prefix)
        cases.run("installed_tool_runs", check_tool, prefix)
        cases.run("installed_manual_and_completion", check_manual, prefix)
        cases.run("installation_can_be_moved", check_moved, prefix, work)
        cases.run("benchmarks_are_a_component", check_benches, build, work)
        cases.run("hello_by_find_package", check_cmake_package, root, prefix, work)
        cases.run("hello_by_pkg_config", check_pkg_config, root, prefix, work)
    cases.end()


if __name__ == "__main__":
    main()
