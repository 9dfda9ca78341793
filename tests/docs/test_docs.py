#!/usr/bin/env python3
"""test_docs.py ROOT BUILD [A-Z]: every code block of README.md, CONTRIBUTING.md and docs/ is run, every link and picture is there. With a range of
letters, only the pages of docs/ that begin so; what is not in docs/, and what is said of all pages, goes with the letter a.

A block's language says what happens to it:

    sh       run by bash in the page's folder, line after line; the first command that fails is the block's failure
    python   run in the same folder
    c        compiled with every warning and run there: a program as it is, statements inside the frame that FRAMES has for the page
    json     parsed; a comment before the block says what it is for:
                 <!-- test: save NAME; COMMAND -->    saved, and then COMMAND must take it
                 <!-- test: keys of FILE.json -->     every key that it shows is in a file that was made further up
    text     output, formulas and drawings: the one kind that is not run. It may not begin like a command, unless
                 <!-- test: lines of COMMAND -->      every line is one of what COMMAND prints

Pages are run in folders of their own, blocks in their order, with the files of fixtures.py. fixtures.SMALL makes commands small, REPLACED
does for what a page says itself, and NOT_RUN lists what is not run here, with the reason.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cases import Cases  # noqa: E402
from fixtures import Fixtures  # noqa: E402
from markdown import Page  # noqa: E402

ROOT, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
SECONDS = 600  # for a machine that does much else; a command takes a second or two
COMMAND = re.compile(r"^(\$ |sudo |(build/)?supple [a-z]|make |cmake |python3 |cc |gcc |apt)")

# Commands that begin so are not run as they are, and why.
NOT_RUN = {
    r"make( |$)": "`make -n` instead: .ci/run has a stage for each, and a build inside a test would build this build",
    r"cmake -S \. -B build-runtime": "tests/meta/test_playback.py configures, builds and installs exactly this, then plays with it",
    r"cmake --build build-runtime": "the same",
    r"sh jobs\.sh": "there is no Slurm here: tests/cli/test_train_many.py runs such a script, tests/cluster with a real one",
    r"cc hello\.c ": "tests/meta/test_package.py builds examples/hello.c so, on an installation of its own",
    r"scripts/run-tests ": "it is what runs this test",
    r"cmake -B build": "the build that this test runs in was made so",
}
# What a page says about sizes, and what is run.
REPLACED = [
    ("--frames 0:15 --method steklov", "--frames 0:1 --method steklov"),
    ("--resolution 60", "--resolution 24"),
    ("supple bench body -- character.glb", "supple bench body --quick -- character.glb"),
]
# Statements stand inside these. What they say about names is what the page says in words.
FRAME = """#include <supple/device.h>
#include <supple/supple.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
struct vertex { float position[3], normal[3]; };
static inline int positions_of(const supple_sim *sim, const float *p)
{
    return supple_sim_device_positions(sim) != NULL && p[0] * p[0] + p[1] * p[1] + p[2] * p[2] > 0;
}
int main(void)
{
    supple_error error = {0};
%s
    (void)error;
    return error.code;
}
"""
FRAMES = {
    "docs/library.md": """    double time = 0;
    struct vertex *vertices = calloc(100000, sizeof *vertices);
%s
    free(vertices);""",
    "docs/dynamics.md": """    supple_scene *scene;
    supple_sim *sim;
    double dt = 1. / 60;
    if (supple_scene_load_file("hero.glb", NULL, &scene, &error) != SUPPLE_OK) return 1;
    if (supple_sim_create(scene, NULL, NULL, &sim, &error) != SUPPLE_OK) return 1;
    int32_t joint_count = supple_scene_joint_count(scene);
    float *matrices = calloc((size_t)joint_count, 16 * sizeof *matrices);
    for (int32_t i = 0; i < 16 * joint_count; i++) matrices[i] = i %% 16 %% 5 == 0;
%s
    free(matrices);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);""",
    "docs/device.md": """    supple_device *open;
    if (getenv("SUPPLE_SANITIZED") || supple_device_open("cl", NULL, &open, NULL) != SUPPLE_OK) return 0; /* none here */
    supple_setting settings[] = {{"accelerate", "none"}};
    supple_body_config body_config = supple_body_config_default();
    body_config.max_tets = 2000;
    supple_sim_config sim_config = supple_sim_config_default();
    sim_config.method = "projective";
    sim_config.dynamics = true;
    sim_config.settings = settings;
    sim_config.setting_count = 1;
    sim_config.body_config = &body_config;
    supple_scene *scene = NULL;
    supple_sim *sim = NULL, *sims[2] = {0};
    if (supple_scene_load_file("hero.glb", NULL, &scene, &error) != SUPPLE_OK) return 1;
    sim_config.shared_device = open;
    for (int i = 0; i < 2; i++)
        if (supple_sim_create(scene, &sim_config, NULL, &sims[i], &error) != SUPPLE_OK) return puts(error.message);
    int32_t clip = 0, count = 2, joints = supple_scene_joint_count(scene), matrix_counts[] = {joints, joints};
    double time = 0, dt = 1. / 60;
    float *pose = calloc((size_t)joints, 16 * sizeof *pose), *host_positions = calloc(100000, 3 * sizeof(float));
    for (int32_t i = 0; i < 16 * joints; i++) pose[i] = i %% 16 %% 5 == 0;
    const float *const matrices[] = {pose, pose};
    (void)sim, (void)clip, (void)time, (void)count, (void)matrix_counts, (void)dt, (void)matrices;
%s
    if (error.code) puts(error.message);
    if (sim && (!supple_sim_on_device(sim) || !positions_of(sim, host_positions))) return 2;
    if (!supple_sim_on_device(sims[0]) || !supple_sim_on_device(sims[1])) return 3;""",
    "docs/embedding.md": """    float dt = 1.f / 60, *matrices = calloc(200, 16 * sizeof *matrices);
    for (int i = 0; i < 16 * 200; i++) matrices[i] = i %% 16 %% 5 == 0;
    struct vertex *vertices = calloc(100000, sizeof *vertices);
%s
    free(vertices);
    free(matrices);""",
}


def environment(folder):
    return dict(os.environ, PATH=os.path.join(folder, "build") + os.pathsep + os.environ["PATH"], LC_ALL="C")


def call(command, folder, what):
    done = subprocess.run(command, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS)
    out = done.stdout.decode(errors="replace")
    assert done.returncode == 0, f"{what}: exit {done.returncode}:\n{out[-1500:]}"
    return out


def run_make(line, where):
    """The targets and variables are there, and every command of theirs can be written down."""
    words = re.sub(r"\s+#.*$", "", line).split()[1:]
    call(["make", "-n", "-C", ROOT, *words], ROOT, f"{where}: {line}")


def run_sh(block, folder):
    """Line by line, so that a failure has a line; what is not run is left out by NOT_RUN alone."""
    for offset, line in enumerate(block.text.replace("\\\n", " ").split("\n"), 1):
        where = f"{block.page}:{block.line + offset}"
        for old, new in REPLACED:
            line = line.replace(old, new)
        if not shutil.which("ffmpeg"):  # optional for users too; CI has it (install-deps docs)
            line = re.sub(r" -o \S+\.mp4\b", "", line)
        reason = next((pattern for pattern in NOT_RUN if re.match(r"(build/)?" + pattern, line)), None)
        if reason:
            if line.startswith("make"):
                run_make(line, where)
        elif line.strip() and not line.startswith("#"):
            call(["bash", "-e", "-o", "pipefail", "-c", line], folder, f"{where}: {line}")


def run_c(block, folder):
    program = block.text
    if "int main(" not in program:
        assert block.page in FRAMES, f"{block.page}:{block.line}: statements without a frame: add one to FRAMES"
        program = FRAME % (FRAMES[block.page] % program)
    source, binary = os.path.join(folder, "block.c"), os.path.join(folder, "block")
    with open(source, "w", encoding="utf-8") as file:
        file.write(program)
    where = f"{block.page}:{block.line}"
    call(["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-I", os.path.join(ROOT, "include"), source, "-o", binary, f"-L{BUILD}", "-lsupple",
          f"-Wl,-rpath,{BUILD}"], folder, where)
    call([binary], folder, where)


def missing_keys(shown, real, path="$"):
    """Keys of an example that a real file does not have, at any depth; a list's first items are compared."""
    if isinstance(shown, dict):
        for key, value in shown.items():
            if not isinstance(real, dict) or (key not in real and not path.endswith("joint_volume")):
                yield f"{path}.{key}"
            elif real.get(key) is not None:
                yield from missing_keys(value, real[key], f"{path}.{key}")
    elif isinstance(shown, list) and shown and isinstance(real, list) and real:
        yield from missing_keys(shown[0], real[0], f"{path}[0]")


def run_json(block, folder):
    value = json.loads(block.text)
    where = f"{block.page}:{block.line}"
    save = re.fullmatch(r"save ([\w.-]+); (.*)", block.test or "")
    keys = re.fullmatch(r"keys of ([\w.-]+)", block.test or "")
    assert save or keys, f"{where}: nothing says what the JSON is for: <!-- test: save NAME; COMMAND --> or <!-- test: keys of FILE -->"
    if save:
        assert save.group(1) in save.group(2), f"{where}: the command does not use {save.group(1)}"
        call(["bash", "-e", "-c", save.group(2)], folder, f"{where}: {save.group(2)}")
    else:
        with open(os.path.join(folder, keys.group(1)), encoding="utf-8") as file:
            missing = list(missing_keys(value, json.load(file)))
        assert not missing, f"{where}: not in {keys.group(1)}: {missing}"


def run_text(block, folder):
    where = f"{block.page}:{block.line}"
    lines = re.fullmatch(r"lines of (.*)", block.test or "")
    if not lines:
        commands = [line for line in block.text.split("\n") if COMMAND.match(line)]
        assert not commands, f"{where}: a command in a block that is not run: {commands[0]!r}; make the block `sh`"
        return
    printed = {" ".join(line.split()) for line in call(["bash", "-e", "-c", lines.group(1)], folder, where).split("\n")}
    wrong = [line for line in block.text.split("\n") if line.strip() and " ".join(line.split()) not in printed]
    assert not wrong, f"{where}: {lines.group(1)} does not print {wrong[0]!r}"


def run_python(block, folder):
    call([sys.executable, "-c", block.text], folder, f"{block.page}:{block.line}")


RUN = {"sh": run_sh, "c": run_c, "json": run_json, "python": run_python, "text": run_text}


def check_form(page):
    unknown = [f"{page.name}:{b.line}: `{b.language}` is none of {', '.join(RUN)}" for b in page.blocks if b.language not in RUN]
    wrong = page.mistakes + unknown
    assert not wrong, "\n    ".join([""] + wrong)


def check_blocks(page, fixtures, folder):
    if not page.blocks:
        return
    here = fixtures.copy(os.path.join(folder, page.name.replace("/", ".")))
    wrong = []
    for block in page.blocks:  # a page may use a file before it shows it
        name = re.match(r"save ([\w.-]+);", block.test or "")
        if name:
            with open(os.path.join(here, name.group(1)), "w", encoding="utf-8") as file:
                file.write(block.text)
    for block in page.blocks:
        try:
            RUN[block.language](block, here)
        except (AssertionError, ValueError, subprocess.TimeoutExpired) as error:
            wrong.append(f"{page.name}:{block.line}: {error}" if not isinstance(error, AssertionError) else str(error))
    assert not wrong, "\n    ".join([""] + wrong)


def check_links(page, pages):
    """Files and anchors; addresses elsewhere are not looked up."""
    wrong = []
    for line, target in page.links():
        if re.match(r"(https?|mailto):", target):
            continue
        path, _, anchor = target.partition("#")
        name = os.path.normpath(os.path.join(os.path.dirname(page.name), path)) if path else page.name
        if not os.path.exists(os.path.join(ROOT, name)):
            wrong.append(f"{page.name}:{line}: no {target}")
        elif anchor and (name not in pages or anchor not in pages[name].anchors()):
            wrong.append(f"{page.name}:{line}: no heading for #{anchor} in {name}")
    assert not wrong, "\n    ".join([""] + wrong)


def check_pictures(pages):
    """Every picture is shown somewhere."""
    shown = {os.path.normpath(os.path.join(os.path.dirname(p.name), target)) for p in pages.values() for _, target in p.links()}
    files = [os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "images", "*"))]
    unused = sorted(set(files) - shown)
    assert not unused, f"shown on no page: {unused}"


def check_mentions(pages):
    """Pages that prose, --help or a header names as docs/NAME.md are there."""
    texts = {p.name: "\n".join(line for _, line in p.prose) for p in pages.values()}
    for pattern in ("include/supple/*.h", "cli/*.c", "cli/*.h"):
        for path in glob.glob(os.path.join(ROOT, pattern)):
            with open(path, encoding="utf-8") as file:
                texts[os.path.relpath(path, ROOT)] = file.read()
    wrong = [f"{name}: {page}" for name, text in texts.items() for page in re.findall(r"\bdocs/[\w-]+\.md", text)
             if not os.path.exists(os.path.join(ROOT, page))]
    assert not wrong, "\n    ".join([""] + wrong)


def check_index(pages):
    """README leads to every page of docs/."""
    linked = {target.partition("#")[0] for _, target in pages["README.md"].links()}
    missing = sorted(name for name in pages if name.startswith("docs/") and name not in linked)
    assert not missing, f"README has no link to {missing}"


def check_options(pages):
    """Every verb stands on the command line's page, and every option of every verb somewhere in the docs."""
    tool = os.path.join(BUILD, "supple")
    texts = {page.name: "\n".join(line for _, line in page.prose) + "\n".join(block.text for block in page.blocks) for page in pages.values()}
    everything = "\n".join(texts.values())
    verbs = re.findall(r"^  supple (\w+) ", subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout, re.M)
    assert len(verbs) >= 7, verbs
    missing = [verb for verb in verbs if not re.search(rf"\bsupple {verb}\b", texts["docs/command-line.md"])]
    for verb in verbs:
        told = subprocess.run([tool, verb, "--help"], capture_output=True, text=True, check=True).stdout.split("\nIN:")[0]
        missing += [f"{verb} {option}" for option in re.findall(r"^  (--[\w-]+)", told, re.M) if not re.search(rf"{option}(?![\w-])", everything)]
    assert not missing, f"not in the docs: {missing}"


def check_walk(pages):
    """Functions that a table names behind their file are defined in it."""
    rows = [(page.name, *row) for page in pages.values() for _, line in page.prose
            for row in re.findall(r"^\| `([\w/]+\.[ch])` \| `(\w+)` \|", line)]
    assert len(rows) > 30, "the walk through the tree is gone"
    wrong = []
    for page, path, function in rows:
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                if not re.search(rf"^[a-z][\w *]*\b{function}\(", file.read(), re.M):
                    wrong.append(f"{page}: {path} has no {function}")
        except OSError:
            wrong.append(f"{page}: no {path}")
    assert not wrong, "\n    ".join([""] + wrong)


def check_tables(pages):
    """What the tables of this test make small or leave out is still on a page."""
    lines = [line for page in pages.values() for block in page.blocks if block.language == "sh" for line in block.text.replace("\\\n", " ").split("\n")]
    left = [pattern for pattern in NOT_RUN if not any(re.match(r"(build/)?" + pattern, line) for line in lines)]
    left += [old for old, _ in REPLACED if not any(old in line for line in lines)]
    assert not left, f"no page has this any more: {left}"


def main():
    names = ["README.md", "CONTRIBUTING.md", "CHANGES.md", *sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "docs", "*.md"))),
             *sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "bench", "*.md")))]
    pages = {}
    for name in names:
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            pages[name] = Page(name, file.read())
    letters = sys.argv[3] if len(sys.argv) > 3 else "a-z"
    letter = lambda name: name[5] if name.startswith("docs/") else "a"
    cases = Cases()
    with tempfile.TemporaryDirectory(prefix="supple-docs-") as folder:
        os.environ["SUPPLE_CACHE"] = os.path.join(folder, "cache")
        fixtures = Fixtures(ROOT, BUILD, folder)
        for name, page in ((n, p) for n, p in pages.items() if letters[0] <= letter(n) <= letters[-1]):
            cases.run(f"form_of_{name}", check_form, page)
            cases.run(f"links_of_{name}", check_links, page, pages)
            if page.blocks:
                cases.run(f"blocks_of_{name}", check_blocks, page, fixtures, folder)
        if letters[0] == "a":
            cases.run("pictures_are_shown", check_pictures, pages)
            cases.run("pages_that_are_named_exist", check_mentions, pages)
            cases.run("every_option_is_in_the_docs", check_options, pages)
            cases.run("functions_are_where_the_walk_says", check_walk, pages)
            cases.run("readme_leads_everywhere", check_index, pages)
            cases.run("tables_are_in_use", check_tables, pages)
    cases.end()


if __name__ == "__main__":
    main()
