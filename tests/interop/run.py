#!/usr/bin/env python3
"""run.py --tool BUILD/supple --out out/interop: our files in other people's programs: the Khronos glTF validator, Blender, and
three.js in Chromium. Characters of tests/data and every built-in one; the .npy of the same run is the reference. Two programs run at a time."""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from cases import Cases, Skip
from tool import CHECKS, Tool, assets, data

DEMOS = "hero arm beam cylinder torus sack turtle".split()
BLENDER, THREE = 1e-6, 2e-6  # largest errors, of the diagonal, of exact files
ALLOWED = 5e-4  # of files whose frames are components: the tool's glb-error
IMPORTED = 1e-4  # of FBX and Collada against Blender's own import of them: other readers, single precision
FRAMES = 16  # of each clip: enough to see a wrong time or order, little enough for the time there is
WHOLE = ("person", "demo-arm")  # these are played whole
ALONE = ("demo-hero", "demo-arm", "person", "quadruped")  # one mesh: one object and one action in Blender, without its skeleton
SAME = ("arm.glb", "hero.glb")  # files of built-in characters, which are played themselves
IMPORTS = ("hero.fbx", "hero.dae", "posed.fbx", "arm_z.fbx", "creature.fbx")  # Blender reads no text FBX
IMPORT_FPS = 30  # the rate of these files, which Blender takes over from FBX
WORKERS = 2
BLENDER_COMMAND = ("blender", "-b", "--factory-startup", "--python-exit-code", "1", "--python")


def call(log, seconds, *command):
    """Runs another program; what it prints goes to a file, whose end is shown if it fails."""
    with open(log, "w") as file:
        code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, cwd=HERE, timeout=seconds).returncode
    assert code == 0, f"{command[0]} exited {code}; see {log}: {open(log, errors='replace').read()[-600:]}"


class Character:
    """One input, and what we made of it."""

    def __init__(self, tool, source, folder):
        self.allowed = 0
        self.file = None if source.startswith("demo:") else source
        self.name = os.path.splitext(os.path.basename(source))[0] if self.file else source.replace(":", "-")
        self.fps = 24 if self.name == "figure" else 30  # one at another rate
        self.base = os.path.join(folder, self.name)
        outputs = [item for ending in ("glb", "gltf", "npy", "pc2", "mdd") for item in ("-o", f"{self.base}.{ending}")]
        tool.good("skin", source, "--method", "linear", "--fps", self.fps, *self.range(tool, source), *outputs)
        self.picture = os.path.join(os.path.dirname(folder), f"{self.name}.png")
        # New weights for the validator; a character without flesh has none.
        tool("weights", source, "-o", f"{self.base}.weights.glb", "--weights", "heat", "--influences", 8, "--set", "max-tets=8000")

    def range(self, tool, source):
        """The first clip, cut to FRAMES; a count larger than the clip's would be refused, so ask first."""
        clips = json.loads(tool("info", source, "--json").out)["clips"]
        short = not clips or clips[0]["duration"] * self.fps < FRAMES
        return () if short or self.name in WHOLE else ("--frames", f"0:{FRAMES - 1}")

    def job(self):
        caches = [p for p in (self.base + ".pc2", self.base + ".mdd") if os.path.exists(p)]
        files = [self.base + ".glb", self.base + ".gltf"] + [p for p in (self.base + ".weights.glb",) if os.path.exists(p)]
        return {"name": self.name, "input": self.file, "glb": self.base + ".glb", "npy": self.base + ".npy", "fps": self.fps,
                "caches": caches, "files": files, "picture": self.picture,
                "size": [600, 980] if self.name == "demo-hero" else [480, 480]}


class LongClip(Character):
    """A clip of more frames than there are morph targets: principal components, within the error that the tool allows."""

    def __init__(self, tool, name, fps, folder, *choice):
        self.allowed, self.fps = ALLOWED, fps
        self.file = data("hero.glb")
        self.name = f"long-{name}"
        self.base = os.path.join(folder, self.name)
        self.picture = os.path.join(os.path.dirname(folder), f"{self.name}.png")
        outputs = [item for ending in ("glb", "gltf", "npy") for item in ("-o", f"{self.base}.{ending}")]
        tool.good("skin", self.file, "--fps", fps, *choice, *outputs)
        import numpy as np
        frames, vertices, _ = np.load(self.base + ".npy", mmap_mode="r").shape
        size = os.path.getsize(self.base + ".glb")
        print(f"    {self.name}.glb: {frames} frames, {size / 1e6:.1f} MB")
        assert frames > 255 and size < 4 * frames * vertices, f"{size} bytes"  # a third of exact targets


def need(results, name):
    found = [r for r in results if r["name"] == name]
    assert found, "the program stopped before this file"
    for result in found:
        assert "trouble" not in result, result["trouble"]
    return found


def check_validator(results, name):
    for result in need(results, name):
        assert result["count"] == 0, f"{result['file']}: {result['count']} errors that the input has not: {result['fresh']}"


def check_blender(results, character):
    name, limit = character.name, max(BLENDER, character.allowed)
    result, = need(results, name)
    for what in ("glb", "pc2", "mdd"):
        if what in result:
            print(f"    {name}.{what} in Blender: {result[what]['frames']} frames, error {result[what]['error']:.3g} of the diagonal")
            assert result[what]["error"] <= limit, f"{what}: {result[what]['error']:.3g} of the diagonal"
    if name in ALONE:
        objects, actions = result["glb"]["objects"], result["glb"]["actions"]
        assert (objects, actions) == (1, 1), f"{objects} objects and {actions} actions of one mesh with one clip"


def check_three(results, character):
    name = character.name
    result, = need(results, name)
    print(f"    {name}.glb in three.js: {result['frames']} frames, error {result['error']:.3g} of the diagonal")
    assert not result["errors"], result["errors"]
    assert result["error"] <= max(THREE, character.allowed), f"{result['error']:.3g} of the diagonal"
    assert result["covered"] > 0.005, f"the picture is empty: {result['covered']:.4f} of it is drawn"


def picture_of_both(tool, characters, folder):
    """The rasteriser's and three.js' picture of the same frame of the hero."""
    import numpy as np
    hero = [c for c in characters if c.name == "demo-hero"]
    assert hero, "no hero"
    middle = np.load(hero[0].base + ".npy", mmap_mode="r").shape[0] // 2
    ours = os.path.join(folder, "demo-hero.ours.png")
    tool.good("skin", "demo:hero", "--method", "linear", "--frames", f"{middle}:{middle}", "-o", ours)
    call(os.path.join(folder, "compare.log"), 60, "node", "compare.mjs", ours, hero[0].picture, os.path.join(folder, "compare.png"))


def frame_start(kind):
    """What docs/formats.md tells people to set in Blender's Mesh Cache modifier."""
    with open(os.path.join(HERE, "..", "..", "docs", "formats.md"), encoding="utf-8") as file:
        found = re.findall(rf"{kind}: Frame Start (\d+)", file.read())
    assert len(found) == 1, f"docs/formats.md does not say one Frame Start for {kind}"
    return int(found[0])


class Imported:
    """An FBX or Collada file, and its last clip, or two of many, as caches."""

    def __init__(self, tool, source, folder):
        self.source, self.name = source, os.path.basename(source)
        info = json.loads(tool("info", source, "--json").out)
        names = [clip["name"] for clip in info["clips"]]
        space = [f["text"] for f in info["findings"] if f["text"].startswith("the file's unit is ")]
        assert len(space) == 1, "info says nothing of the file's unit and axes"
        words = space[0].split()
        self.unit, self.up = float(words[4]), words[7].upper()
        self.clips = []
        for name in [names[len(names) // 3], names[-1]] if len(names) > 2 else names[-1:]:
            base = os.path.join(folder, f"{self.name}.{len(self.clips)}")
            caches = {"npy": base + ".npy", "pc2": base + ".pc2"}
            tool.good("skin", source, "--method", "linear", "--clip", name, "--fps", IMPORT_FPS, "-o", caches["npy"], "-o", caches["pc2"])
            self.clips.append({"clip": name.split("|")[-1], **caches})

    def job(self):
        return {"name": self.name, "input": self.source, "clips": self.clips, "fps": IMPORT_FPS, "unit": self.unit, "up": self.up,
                "frame_start": frame_start("FBX" if self.name.endswith(".fbx") else "Collada")}


def check_imported(results, name):
    result, = need(results, name)
    for clip in result["clips"]:
        for what in ("armature", "pc2"):
            error, frames = clip[what]["error"], clip[what]["frames"]
            print(f"    {name} {clip['clip']}, {what}: {frames} frames, error {error:.3g} of the diagonal")
            assert error <= (IMPORTED if what == "armature" else BLENDER), f"{what}: {error:.3g} of the diagonal"
        assert clip["armature"]["moved"] > 1e-3, "nothing moves"


def write_imported(tool, cases, out, folder):
    """FBX and Collada: what Blender is to compare with its own import of them."""
    files = []
    for name in IMPORTS:
        cases.run(f"write_{name}", lambda: files.append(Imported(tool, data(name), folder)))
    jobs = os.path.join(out, "imported-jobs.json")
    with open(jobs, "w") as file:
        json.dump([f.job() for f in files], file)
    return files, jobs


def read_pc2(path):
    import numpy as np
    raw = open(path, "rb").read()
    points, frames = np.frombuffer(raw, "<u4", 1, 16)[0], np.frombuffer(raw, "<u4", 1, 28)[0]
    return np.frombuffer(raw, "<f4", offset=32).reshape(frames, points, 3).astype(float)


def check_made(tool, folder, up):
    """Blend shapes, several meshes, vertices without weights: a file that Blender made, against its own import."""
    import numpy as np
    base = os.path.join(folder, f"made-{up}")
    tool.good("skin", base + ".fbx", "--method", "linear", "-o", base + ".pc2")
    played = np.load(base + ".npz")
    assert len(played.files) == 3
    for name in played.files:
        x, theirs = 0.01 * read_pc2(f"{base}.{name}.pc2"), played[name]
        if up == "Y":
            x = np.stack([x[..., 0], -x[..., 2], x[..., 1]], axis=-1)
        diagonal = np.linalg.norm(np.ptp(theirs.reshape(-1, 3), axis=0))
        error, moved = abs(x - theirs).max() / diagonal, abs(theirs - theirs[0]).max() / diagonal
        print(f"    made-{up}.fbx {name}: {len(x)} frames, error {error:.3g} of the diagonal")
        assert moved > 0.1 and error <= IMPORTED, f"{name}: {error:.3g} of the diagonal"


def make(tool, cases, folder, pool):
    sources = [a for a in assets() if os.path.basename(a) not in SAME] + ["demo:" + name for name in DEMOS]
    tasks = {os.path.basename(source): pool.submit(Character, tool, source, folder) for source in sources}
    dance = ("--motion", data("dance.bvh"), "--method", "mixed", "--resolution", 24)
    tasks["long_dance"] = pool.submit(LongClip, tool, "dance", 150, folder, *dance)
    tasks["long_walk"] = pool.submit(LongClip, tool, "walk", 300, folder, "--method", "linear", "--clip", "walk")
    characters = []
    for name, task in tasks.items():
        cases.run(f"write_{name}", lambda: characters.append(task.result()))
    return characters


def check_abc(tool, folder):
    """The project's reader of Alembic files, which knows nothing of ours: exact points."""
    for name, source in (("hero", "demo:hero"), ("parts", data("parts.glb"))):
        base = os.path.join(folder, "abc-" + name)
        tool.good("skin", source, "--method", "linear", "--frames", "0:9", "-o", base + ".abc", "-o", base + ".npy")
        call(base + ".log", 120, "/usr/bin/python3", os.path.join(CHECKS, "check_abc.py"), base + ".abc", base + ".npy")


def check_slide(tool, folder):
    """Skin that slides, played from the .glb by examples/slide-three.js, and from its texture by slide-texture-three.js: the baked picture of
    each frame. Without the plug-ins: glued."""
    base, source = os.path.join(folder, "slide"), os.path.join(folder, "slide-source.glb")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    tool.good("demo", "hero", "-o", source)
    raw = open(source, "rb").read()
    text = json.loads(raw[20:20 + int.from_bytes(raw[12:16], "little")])
    view, start = text["bufferViews"][text["images"][0]["bufferView"]], 28 + int.from_bytes(raw[12:16], "little")
    first = start + view.get("byteOffset", 0)
    with open(base + ".png", "wb") as file:
        file.write(raw[first:first + view["byteLength"]])
    common = (source, "--motion", os.path.join(root, "examples", "look-up.bvh"), "--method", "linear")
    tool.good("skin", *common, "--slide", "--bake-texture", base + ".png", "--bake-dir", base + "-baked", "-o", base + ".glb")
    tool.good("skin", *common, "--slide", "--set", "slide.glb=texture", "-o", base + "-texture.glb")
    tool.good("skin", *common, "-o", base + "-glued.glb")
    baked = sorted(os.path.join(base + "-baked", name) for name in os.listdir(base + "-baked"))
    job = {"components": base + ".glb", "texture": base + "-texture.glb", "glued": base + "-glued.glb", "baked": baked, "fps": 30,
           "frames": [0, 10, len(baked) - 1], "between": 10.5, "pictures": os.path.dirname(folder)}
    with open(base + "-job.json", "w") as file:
        json.dump(job, file)
    with open(base + "-valid.json", "w") as file:
        json.dump([{"name": "slide", "files": [base + ".glb", base + "-texture.glb"]}], file)
    call(base + "-valid.log", 60, "node", "validate.mjs", base + "-valid.json", base + "-validated.json")
    with open(base + "-validated.json") as file:
        check_validator(json.load(file), "slide")
    call(base + ".log", 300, "node", "slide.mjs", base + "-job.json", base + "-result.json")
    with open(base + "-result.json") as file:
        result = json.load(file)
    assert not result["said"], result["said"]
    for shot in result["frames"]:
        print(f"    {shot['kind']}, frame {shot['frame']}: {shot['played']:.1f} dB from the baked picture; glued {shot['glued']:.1f}; without "
              f"the plug-in {shot['bare']:.1f} from glued")
        assert shot["played"] > 35 and shot["bare"] > 35, shot
    assert result["frames"][-1]["glued"] < 30, "nothing slides"
    print(f"    between two frames: {result['between']:.1f} dB from one another")
    assert result["between"] > 60, result  # 48 where only whole frames are shown


def check_usd(tool, folder):
    """tinyusdz parses the .usda, and its points are ours, every bit."""
    for name, source in (("arm", "demo:arm"), ("parts", data("parts.glb"))):
        base = os.path.join(folder, "usd-" + name)
        tool.good("skin", source, "--method", "linear", "--frames", "0:4", "-o", base + ".usda", "-o", base + ".npy")
        call(base + ".log", 300, "node", "usd.mjs", base + ".usda", base + ".npy")


REPORT = """loads hostile_names_are_inert positions_are_decoded normals_are_smooth plays does_not_start_where_motion_is_unwanted orbits_zooms_and_pans
methods_are_switched colours_by_distance keys_work tab_reaches_every_control_and_shows_it every_control_has_a_name curves_follow_and_lead
table_is_sorted strips_are_shown_and_enlarged clips_are_changed nothing_was_said views_are_as_stored narrow_and_wide_fit works_without_webgl
little_is_enough damage_is_told""".split()


def compare_page(tool, path):
    """A page of the tool itself, where it has the verb."""
    if tool("compare", "--help").code != 0:
        raise Skip("this tool has no `supple compare`")
    tool("compare", "demo:arm", "--methods", "linear,mixed", "--frames", "0:9", "--resolution", 30, "-o", path, timeout=300)
    assert os.path.exists(path), "supple compare wrote nothing"


def start_report(tool, cases, out):
    """The page of `supple compare` in Chromium: a sample of ours, and one that the tool made. Its program, to be called later; None without a page."""
    template = os.path.join(os.path.dirname(tool.path), "report", "report.html")
    real, jobs = os.path.join(out, "report-arm.html"), os.path.join(out, "report-jobs.json")

    def check_template():
        if not os.path.exists(template):
            raise Skip("the page was not built (`make report`)")
    cases.run("report_template", check_template)
    if not os.path.exists(template):
        return None
    cases.run("report_of_the_tool", compare_page, tool, real)
    with open(jobs, "w") as file:
        json.dump({"template": template, "out": out, "stored": os.path.join(HERE, "report_sample.png"), "real": real if os.path.exists(real) else None}, file)
    return Outside("report", out, jobs, 900, "node", "report.mjs")


class Outside:
    """One outside program over all jobs; a crash half-way keeps the results so far."""

    def __init__(self, name, folder, jobs, seconds, *command):
        self.name, self.results = name, os.path.join(folder, name + ".json")
        self.arguments = os.path.join(folder, name + ".log"), seconds, *command, jobs, self.results

    def start(self, pool):
        self.task = pool.submit(call, *self.arguments)
        return self

    def collect(self, cases):
        cases.run(f"{self.name}_runs", self.task.result)
        return json.load(open(self.results)) if os.path.exists(self.results) else []


def programs(tool, cases, out, characters, npm, pool):
    """Starts every outside program, two at a time and the longest first, and judges what they say."""
    folder, jobs = os.path.join(out, "data"), os.path.join(out, "jobs.json")
    with open(jobs, "w") as file:
        json.dump([c.job() for c in characters], file)
    script = lambda name: (*BLENDER_COMMAND, os.path.join(HERE, name), "--")
    blender = Outside("blender", out, jobs, 900, *script("blender_check.py")).start(pool)
    cases.run("npm_packages", npm.result)
    page = start_report(tool, cases, out)
    page = page and page.start(pool)
    three = Outside("three", out, jobs, 900, "node", "play.mjs").start(pool)
    made = pool.submit(call, os.path.join(out, "blender_made.log"), 300, *script("blender_made.py"), folder)
    validator = Outside("validator", out, jobs, 300, "node", "validate.mjs").start(pool)
    files, imported_jobs = write_imported(tool, cases, out, folder)
    imported = Outside("blender_import", out, imported_jobs, 600, *script("blender_import.py")).start(pool)
    cases.run("alembic", check_abc, tool, folder)
    cases.run("usd", check_usd, tool, folder)
    cases.run("slide", check_slide, tool, folder)
    blended, played, validated = blender.collect(cases), three.collect(cases), validator.collect(cases)
    for character in characters:
        cases.run(f"validator_{character.name}", check_validator, validated, character.name)
        cases.run(f"blender_{character.name}", check_blender, blended, character)
        cases.run(f"three_{character.name}", check_three, played, character)
    if page:
        results = page.collect(cases)
        for name in REPORT + ["a_page_of_the_tool_plays"]:
            cases.run(f"report_{name}", need, results, name)
    cases.run("picture_of_both", picture_of_both, tool, characters, out)
    results = imported.collect(cases)
    for file in files:
        cases.run(f"blender_import_{file.name}", check_imported, results, file.name)
    cases.run("blender_makes_fbx", made.result)
    for up in "YZ":
        cases.run(f"made_{up}", check_made, tool, folder, up)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    out = os.path.abspath(options.out)
    folder = os.path.join(out, "data")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(folder)
    tool, cases = Tool(options.tool), Cases()
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        # --ignore-scripts: nothing of these packages needs to run at installation, and none may download a browser.
        npm = pool.submit(call, os.path.join(out, "npm.log"), 300, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        programs(tool, cases, out, make(tool, cases, folder, pool), npm, pool)
    cases.end(plain=True)


if __name__ == "__main__":
    main()
