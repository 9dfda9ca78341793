#!/usr/bin/env python3
"""test_playback.py PLAYBACK TOOL ROOT: examples/playback.c on the whole library and on the runtime-only build, which is made and installed here."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases, Skip

PLAYBACK, TOOL, ROOT = (os.path.abspath(path) for path in sys.argv[1:4])

CPLUSPLUS = """
#include <supple/playback.h>
#include <cstdio>
#include <vector>
int main(int, char **argv)
{
    supple_error error;
    supple_model *model = nullptr;
    supple_player *player = nullptr;
    if (supple_model_load(argv[1], nullptr, &model, &error) != SUPPLE_OK) return std::puts(error.message), 1;
    supple_player_config config = supple_player_config_default();
    config.gravity[1] = -9.81;
    config.visual = true;
    if (supple_player_create(model, &config, nullptr, &player, &error) != SUPPLE_OK) return std::puts(error.message), 1;
    std::vector<float> pose(16 * supple_model_joint_count(model)), x(3 * supple_model_visual_vertex_count(model));
    for (int j = 0; j < supple_model_joint_count(model); j++) supple_model_joint_rest(model, j, &pose[16 * j]);
    if (supple_player_step(player, pose.data(), supple_model_joint_count(model), 0, &error) != SUPPLE_OK) return 1;
    supple_player_read_visual_positions(player, x.data(), 3 * sizeof(float));
    std::printf("%d\\n", supple_player_get_stats(player)->converged ? (int)x.size() : 0);
    supple_player_destroy(player);
    supple_model_destroy(model);
}
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    return done.returncode, done.stdout, done.stderr


def call(*command, **options):
    code, out, err = run(*command, **options)
    assert code == 0, f"{' '.join(command)} exited {code}:\n{out}{err}"
    return out


def vertices(path):
    return [[float(x) for x in line.split()[1:]] for line in open(path) if line.startswith("v ")]


def check_example(work):
    """The forearm swings and takes its flesh along; the upper arm's far end stays."""
    out = call(PLAYBACK, "arm.supple", cwd=work)
    assert "forearm" in out and re.match(r"\d+ domains of rank \d+ in all, \d+ vertices", out), out
    out = call(PLAYBACK, "arm.supple", "forearm", "0.25", "bent.obj", cwd=work)
    assert re.match(r"15 steps, \d+ a second; ", out), out
    call(PLAYBACK, "arm.supple", "forearm", "0.5", "straight.obj", cwd=work)
    bent, straight = (vertices(os.path.join(work, name)) for name in ("bent.obj", "straight.obj"))
    way = sorted(sum((a - b) ** 2 for a, b in zip(p, q)) ** 0.5 for p, q in zip(bent, straight))
    assert len(bent) > 100 and way[-1] > 0.1 and way[0] < 0.01, (len(bent), way[0], way[-1])
    call(PLAYBACK, "arm.supple", "forearm", "0.5", "dented.obj", "ball", cwd=work)
    dent = max(sum((a - b) ** 2 for a, b in zip(p, q)) ** 0.5 for p, q in zip(straight, vertices(os.path.join(work, "dented.obj"))))
    assert 1e-4 < dent < 0.1, dent # the ball is a tenth of a thin arm
    faces = [line.split()[1:] for line in open(os.path.join(work, "bent.obj")) if line.startswith("f ")]
    assert all(int(c.split("//")[0]) <= len(bent) for f in faces for c in f) and len(faces) > 200


def check_wrong(work):
    for arguments, code, words in (((), 2, "usage"), (("arm.supple", "forearm", "-1"), 2, "usage"), (("none.supple",), 3, "none.supple"),
                                   (("arm.supple", "forearm", "1", "x.obj", "stone"), 2, "usage"),
                                   (("arm.supple", "tail"), 2, "tail"), (("arm.supple", "forearm", "0.1", "no/such/x.obj"), 4, "no/such"),
                                   (("bent.obj",), 3, "bent.obj")):
        got, out, err = run(PLAYBACK, *arguments, cwd=work)
        assert got == code and words in err, (arguments, got, err)


def make_runtime(work):
    """Built without optimisation: this is about what is in it."""
    build, prefix = os.path.join(work, "runtime"), os.path.join(work, "prefix")
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    call("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DSUPPLE_RUNTIME_ONLY=ON", "-DCMAKE_BUILD_TYPE=Quick", "-DCMAKE_C_FLAGS_QUICK=-O1",
         f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib", *launcher)
    call("cmake", "--build", build, "--parallel", "2")
    call("cmake", "--install", build)
    return prefix


def check_static(work):
    """The static library has all that a program needs of it: docs/embedding.md, -DBUILD_SHARED_LIBS=OFF."""
    build = os.path.join(work, "static")
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    call("cmake", "-G", "Ninja", "-S", ROOT, "-B", build, "-DSUPPLE_RUNTIME_ONLY=ON", "-DBUILD_SHARED_LIBS=OFF", "-DCMAKE_BUILD_TYPE=Quick",
         "-DCMAKE_C_FLAGS_QUICK=-O1", *launcher)
    call("cmake", "--build", build, "--parallel", "2")
    assert os.path.exists(os.path.join(build, "libsupple_playback.a"))
    program = os.path.join(build, "examples", "playback")
    assert "supple" not in call("objdump", "-p", program).split("Dynamic Section")[-1].lower()
    call(program, "arm.supple", "forearm", "0.25", "static.obj", cwd=work)
    one, two = (vertices(os.path.join(work, name)) for name in ("bent.obj", "static.obj"))
    assert len(one) == len(two) and max(abs(a - b) for p, q in zip(one, two) for a, b in zip(p, q)) < 1e-4


def check_runtime(work, prefix):
    """Nothing but playing is in it, and it needs nothing but the system's own libraries."""
    library = os.path.join(prefix, "lib", "libsupple_playback.so")
    names = [line.split()[-1] for line in call("nm", "-D", "--defined-only", library).splitlines()]
    declared = set()
    for header in ("base.h", "playback.h"):
        text = open(os.path.join(prefix, "include", "supple", header)).read()
        declared |= set(re.findall(r"SUPPLE_API[^;]*?\b(supple_\w+)\(", text))
    assert sorted(names) == sorted(declared), set(names) ^ declared
    assert sorted(os.listdir(os.path.join(prefix, "include", "supple"))) == ["base.h", "playback.h"]
    needed = re.findall(r"NEEDED\s+(\S+)", call("objdump", "-p", library))
    assert all(re.match(r"(libm|libc|libpthread|ld-linux.*)\.", n) for n in needed), needed
    assert os.path.getsize(library) < 1 << 20, os.path.getsize(library)


def check_runtime_example(work, prefix):
    """Built on the installation alone, the example plays what the whole library plays."""
    build = os.path.join(work, "example")
    call("cmake", "-G", "Ninja", "-S", os.path.join(prefix, "share", "doc", "supple", "examples"), "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    call("cmake", "--build", build)
    call(os.path.join(build, "playback"), "arm.supple", "forearm", "0.25", "runtime.obj", cwd=work)
    one, two = (vertices(os.path.join(work, name)) for name in ("bent.obj", "runtime.obj"))
    assert len(one) == len(two) and max(abs(a - b) for p, q in zip(one, two) for a, b in zip(p, q)) < 1e-4


def check_cplusplus(work, prefix):
    if not shutil.which("g++"):
        raise Skip("no g++")
    source, program = os.path.join(work, "play.cpp"), os.path.join(work, "play")
    open(source, "w").write(CPLUSPLUS)
    lib = os.path.join(prefix, "lib")
    call("g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(prefix, "include"), source, "-o", program, f"-L{lib}",
         "-lsupple_playback", f"-Wl,-rpath,{lib}")
    assert int(call(program, os.path.join(work, "arm.supple"))) == 3 * len(vertices(os.path.join(work, "bent.obj")))


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as work:
        code, _, err = run(TOOL, "train", "demo:arm", "-o", "arm.supple", "--samples", "4", "--rank", "8", "--resolution", "14", "--set", "modes=12",
                           "--set", "derivatives=4", "--no-cache", cwd=work)
        assert code == 0, err
        cases.run("plays_a_joint", check_example, work)
        cases.run("refuses_what_is_wrong", check_wrong, work)
        if os.environ.get("SUPPLE_SANITIZED"):
            return cases.end() # the rest is about packages
        prefix = make_runtime(work)
        cases.run("runtime_is_playback_alone", check_runtime, work, prefix)
        cases.run("runtime_plays_the_same", check_runtime_example, work, prefix)
        cases.run("runtime_from_cplusplus", check_cplusplus, work, prefix)
        cases.run("static_runtime_plays_the_same", check_static, work)
    cases.end()


if __name__ == "__main__":
    main()
