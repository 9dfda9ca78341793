#!/usr/bin/env python3
"""The OpenCL kernels by other eyes than PoCL's: clang for devices that are not here, and a simulator of devices that sees
races, reads beyond buffers and barriers that not all come to. Both are skipped where they are not installed."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases, Skip

KERNELS = "src/methods/projective/cl/kernels"
TARGETS = ("spir", "spir64", "nvptx64", "amdgcn-amd-amdhsa")
WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wdouble-promotion", "-Werror")
SIMULATOR = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
# Files and cases that are small enough to be simulated, and that launch every kernel between them.
SIMULATED = (("projective_cl_twin", "the_devices_step"), ("projective_cl", "rotations_are"), ("projective_cl", "a_small_acc"),
             ("projective_cl_sim", "meshes_are"))


def sources(root):
    """The kernels in the order in which the build joins them."""
    with open(os.path.join(root, "cmake/opencl.cmake"), encoding="utf-8") as file:
        names = re.search(r"foreach\(name ([a-z ]+)\)", file.read()).group(1).split()
    found = {os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(root, KERNELS, "*.cl"))}
    assert set(names) == found, f"the build joins {names}, there are {sorted(found)}"
    return "".join(open(os.path.join(root, KERNELS, name + ".cl"), encoding="utf-8").read() for name in names)


def need(there, name):
    """One case is skipped for a program that is absent, not all that would use it."""
    if not there:
        raise Skip(f"{name} is not installed")


def check_target(root, target):
    clang = shutil.which("clang")
    if target.split("-")[0].startswith(("nvptx", "amdgcn")):
        known = subprocess.run([clang, "--print-targets"], capture_output=True, text=True).stdout
        if target.split("-")[0] not in known:
            raise Skip(f"this clang has no {target}")
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "all.cl"), os.path.join(folder, "all.ll")
        with open(source, "w", encoding="utf-8") as file:
            file.write(sources(root))
        done = subprocess.run([clang, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", target, "-nogpulib",
                               "-S", "-emit-llvm", "-Wno-unused-command-line-argument", *WARNINGS, "-o", out, source],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2000]
        with open(out, encoding="utf-8") as file:
            code = file.read()
    assert code.count("define") > 15 and not re.search(r"\bdouble\b", code), "there is a double in it"


def check_simulated(build, program, case):
    """Data races, invalid reads and writes, diverging barriers, wrong calls: the simulator's log must be empty."""
    path = os.path.join(build, "tests", "test.methods")
    with tempfile.TemporaryDirectory() as folder:
        vendor, log = os.path.join(folder, "oclgrind.icd"), os.path.join(folder, "log")
        with open(vendor, "w", encoding="utf-8") as file:
            file.write(SIMULATOR + "\n")
        env = dict(os.environ, OCL_ICD_VENDORS=vendor, OCLGRIND_CHECK_API="1", OCLGRIND_DATA_RACES="1", OCLGRIND_LOG=log,
                   OCLGRIND_NUM_THREADS="1", SUPPLE_TEST_ONLY=f"{program}.{case}")
        done = subprocess.run([path], env=env, capture_output=True, text=True)
        words = open(log, encoding="utf-8").read() if os.path.exists(log) else ""
    if "1 skipped" in done.stdout:
        raise Skip(done.stdout.splitlines()[0])
    assert not words.strip(), words[:2000]
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("build")
    options = parser.parse_args()
    cases = Cases()
    cases.run("clang_is_here", need, shutil.which("clang"), "clang")
    for target in TARGETS if shutil.which("clang") else ():
        cases.run(f"kernels_compile_for_{target}", check_target, options.root, target)
    cases.run("oclgrind_is_here", need, os.path.exists(SIMULATOR), "oclgrind")
    for program, case in SIMULATED if os.path.exists(SIMULATOR) else ():
        cases.run(f"simulated_{program}_{case}", check_simulated, options.build, program, case)
    cases.end()


if __name__ == "__main__":
    main()
