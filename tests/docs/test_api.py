#!/usr/bin/env python3
"""test_api.py ROOT: the library's reference by Doxygen, without a warning; and it holds every public function."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases, Skip  # noqa: E402

ROOT = os.path.abspath(sys.argv[1])


def doxygen(folder, *settings):
    """Doxygen with docs/Doxyfile and a few settings on top; exit code and what it says."""
    with open(os.path.join(ROOT, "docs", "Doxyfile"), encoding="utf-8") as file:
        text = file.read() + "".join(line + "\n" for line in (f"OUTPUT_DIRECTORY={folder}", *settings))
    done = subprocess.run(["doxygen", "-"], input=text, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def check_no_warnings(folder):
    code, said = doxygen(folder, "GENERATE_XML=YES")
    assert code == 0 and said == "", f"exit {code}:\n{said[:3000]}"


def check_functions(folder):
    """Every function of the headers has a text of its own."""
    described = set()
    for path in glob.glob(os.path.join(folder, "xml", "*.xml")):
        with open(path, encoding="utf-8") as file:
            for member in re.findall(r'<memberdef kind="function".*?</memberdef>', file.read(), re.S):
                if re.search(r"<briefdescription>\s*<para>", member):
                    described.add(re.search(r"<name>(\w+)</name>", member).group(1))
    declared = set()
    for path in glob.glob(os.path.join(ROOT, "include", "supple", "*.h")):
        with open(path, encoding="utf-8") as file:
            declared |= set(re.findall(r"SUPPLE_API[^;]*?\b(supple_\w+)\(", file.read()))
    assert len(declared) > 90 and declared <= described, sorted(declared - described)


def check_it_notices(folder):
    """A field, a function and a value without a comment are each an error."""
    for name, text in (("field", "/* A thing. */\ntypedef struct supple_thing {\n    int a; /* one */\n    int b;\n} supple_thing;\n"),
                       ("function", "SUPPLE_API void supple_thing_do(void);\n"),
                       ("macro", "#define SUPPLE_THING 1\n")):
        source = os.path.join(folder, name)
        os.makedirs(source)
        with open(os.path.join(source, "thing.h"), "w", encoding="utf-8") as file:
            file.write("/* Supple: a header. */\n" + text)
        code, said = doxygen(os.path.join(source, "out"), f"INPUT={source}")
        assert code != 0 and "is not documented" in said, f"{name}: exit {code}: {said!r}"


def check_doxygen():
    if not shutil.which("doxygen"):
        raise Skip("doxygen is not installed (scripts/install-deps docs)")


def main():
    cases = Cases()
    cases.run("doxygen_is_here", check_doxygen)
    if not shutil.which("doxygen"):
        cases.end()
    with tempfile.TemporaryDirectory(prefix="supple-api-") as folder:
        cases.run("reference_without_warnings", check_no_warnings, folder)
        cases.run("every_function_is_described", check_functions, folder)
        cases.run("undocumented_is_an_error", check_it_notices, folder)
    cases.end()


if __name__ == "__main__":
    main()
