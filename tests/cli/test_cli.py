#!/usr/bin/env python3
"""test_cli.py --tool BUILD/supple [--only SECTION] [--truncations N]
The command line's contract (DESIGN.md): exit codes, messages, what is left on the disk, bad input, Ctrl-C, help, metrics."""
import argparse
import json
import os
import random
import shutil
import struct
import tempfile
import time

import numpy as np

from tool import QUICK, SANITIZED, SOURCE, Tool, assets, data, same_files
from cases import Cases, Skip

BAD_SECONDS, BAD_MEGABYTES = 10, 500
OPTIONS = {
    "skin": "-o --method --clip --fps --frames --set --threads --metrics --progress".split(),
    "info": ["--json"],
    "demo": ["-o"],
    "mesh": "-o --resolution --part --size --set --no-cache --threads --progress".split(),
    "weights": "-o --weights --influences --resolution --part --set --metrics --no-cache --threads --progress".split(),
    "compare": "-o --methods --clips --model --json --reference-time --page-limit --frames --set --threads --progress".split(),
    "train": "-o --samples --rank --clip --limits --poses --set --no-cache --threads --progress".split(),
    "bench": "--json --compare --fail --quick --full".split(),
}
DEMOS = "hero arm beam cylinder torus sack turtle".split()
METRICS = {
    "": "supple method threads input body setup_ms peak_mb frames".split(),
    "input": "vertices triangles joints".split(),
    "body": "kind vertices tets surface_vertices constrained size_m min_dihedral_deg max_dihedral_deg volume".split(),
    "setup_ms": "load body weights factor flesh rest checks slide other total".split(),
    "frame": ("frame time ms iterations residual energy volume_ratio inverted min_det_f contacts crossed max_penetration max_fold own_penetration max_strain "
              "joint_volume yield_deg yield_m").split(),
    "ms": "total pose contact solve upsample slide".split(),
}


class Section:
    """A group of cases with a folder of its own."""

    def __init__(self, tool, cases, folder, options):
        self.tool, self.cases, self.folder, self.options = tool, cases, folder, options

    def path(self, name):
        return os.path.join(self.folder, name)

    def refused(self, codes, words, *arguments, **options):
        """A refusal that leaves the folder as it was."""
        before = sorted(os.listdir(self.folder))
        done = self.tool.bad(codes, words, *arguments, **options)
        assert sorted(os.listdir(self.folder)) == before, f"left behind: {sorted(set(os.listdir(self.folder)) - set(before))}"
        return done

    def refused_quickly(self, codes, words, *arguments):
        done = self.refused(codes, words, *arguments, timeout=BAD_SECONDS)
        assert SANITIZED or done.megabytes < BAD_MEGABYTES, f"took {done.megabytes:.0f} MB"
        return done


# ---- wrong command lines ---------------------------------------------------------------------------------------------

def section_usage(s):
    out = s.path("o.npy")
    skin = ("skin", "demo:arm", "--clip", "0", "-o", out)

    def refuse(name, words, *arguments, codes=2):
        s.cases.run(name, s.refused, codes, words, *arguments)

    def nothing():
        done = s.tool()
        assert done.code == 2 and "skin" in done.err + done.out, done
    s.cases.run("no_verb", nothing)
    refuse("unknown_verb", ["sking"], "sking", "demo:arm")
    refuse("unknown_method", ["magic", "linear", "dualquat"], *skin, "--method", "magic")
    refuse("unknown_clip", ["moonwalk"], "skin", "demo:arm", "-o", out, "--clip", "moonwalk")
    refuse("clip_index_too_large", ["99"], "skin", "demo:arm", "-o", out, "--clip", "99")
    refuse("unknown_format", [".xyz", ".npy"], "skin", "demo:arm", "-o", s.path("o.xyz"))
    refuse("no_ending", ["o"], "skin", "demo:arm", "-o", s.path("o"))
    refuse("unknown_option", ["--frobnicate"], *skin, "--frobnicate")
    refuse("option_without_value", ["--fps"], *skin, "--fps")
    refuse("option_as_value", ["--dynamics", "on|off"], "skin", "demo:arm", "--dynamics", "-o", out)
    refuse("file_as_verb", ["my.glb", "supple skin"], "my.glb")
    refuse("no_output", ["-o"], "skin", "demo:arm")
    refuse("no_input", [], "skin", "-o", out)
    refuse("two_inputs", [], "skin", "demo:arm", "demo:beam", "-o", out)
    refuse("unknown_setting", ["gravitas"], *skin, "--method", "linear", "--set", "gravitas=1")
    refuse("setting_without_value", ["--set"], *skin, "--method", "linear", "--set", "gravitas")
    for value in ("0", "-3", "nan", "inf", "x", "30x", ""):
        refuse(f"fps_{value or 'empty'}", ["fps"], *skin, "--fps", value)
    for value in ("3:1", "x:y", "-1:2", "1:2:3"):
        refuse(f"frames_{value}", ["frames"], *skin, "--frames", value)
    for value in ("50", "50:60", "50:", "100000:"):
        refuse(f"frames_{value}_are_behind_the_end", ["--frames", "50 frames at 30 fps, 0:49"], *skin, "--clip", "bend", "--frames", value)
    for value in ("-1", "two", "100000000000"):
        refuse(f"threads_{value}", ["threads"], *skin, "--threads", value)
    refuse("unknown_progress", ["progress"], *skin, "--progress", "sometimes")
    refuse("bake_dir_alone", ["--bake-dir", "--bake-texture"], *skin, "--bake-dir", s.path("baked"))
    refuse("bake_texture_alone", ["--bake-texture", "--bake-dir"], *skin, "--bake-texture", "skin.png")
    refuse("bake_without_slide", ["--slide"], *skin, "--bake-texture", "skin.png", "--bake-dir", s.path("baked"))
    refuse("bake_of_what", ["slide.bake", "colour", "normal"], *skin, "--set", "slide.bake=bumps")
    refuse("bake_setting_alone", ["slide.bake", "--bake-texture"], *skin, "--set", "slide.bake=normal")
    refuse("bake_part_alone", ["slide.bake-part", "--bake-texture"], *skin, "--set", "slide.bake-part=head")
    refuse("show_what", ["show", "material", "stretch"], *skin, "--set", "show=bones")
    refuse("show_stretch_without_slide", ["stretch", "--slide"], *skin, "--set", "show=stretch")
    refuse("mistyped_verb", ["sking", "is it skin?"], "sking", "demo:arm")
    refuse("help_on_no_verb", ["skan", "is it skin?"], "help", "skan")
    refuse("mistyped_option", ["--methd", "is it --method?"], *skin, "--methd", "linear")
    refuse("option_of_other_tools", ["--output", "is it -o?"], "skin", "demo:arm", "--output", out)
    refuse("output_without_its_option", ["o.npy", f"supple skin demo:arm -o {out}"[:60]], "skin", "demo:arm", out)
    refuse("clip_nearly_named", ["bemd", "is it one of bend?"], "skin", "demo:arm", "-o", out, "--clip", "bemd")
    refuse("clip_of_a_piece", ["ben", "is it one of bend?"], "skin", "demo:arm", "-o", out, "--clip", "ben")
    refuse("no_such_clip", ["there are bend, twist", "info"], "skin", "demo:arm", "-o", out, "--clip", "moonwalk")
    refuse("training_clip", ["there are bend, twist"], "train", "demo:arm", "-o", s.path("m.supple"), "--clip", "moonwalk")
    for verb, ending in ("skin", "npy"), ("mesh", "msh"), ("weights", "glb"), ("train", "supple"), ("compare", "html"), ("demo", "glb"):
        refuse(f"{verb}_into_no_folder", ["there is no folder", "nowhere"], verb, "arm" if verb == "demo" else "demo:arm",
               "-o", s.path(os.path.join("nowhere", f"o.{ending}")), codes=4)

    def blanks():
        with open(s.path("my arm.glb"), "w") as f:
            f.write("x")
        done = s.tool("info", "my", "arm.glb", cwd=s.folder)
        os.remove(s.path("my arm.glb"))
        assert done.code == 2 and "quotes: 'my arm.glb'" in done.err and done.err.count("\n") == 1, done
    s.cases.run("name_with_blanks", blanks)

    def frames_end():
        """Frames behind the clip's end are left out, and a line says so."""
        arm = ("skin", "demo:arm", "--method", "linear", "--clip", "bend", "-o", out, "--frames")
        for value, count, said in (("47:50", 3, True), ("47:100000", 3, True), ("0:49", 50, False), ("47:", 3, False), (":49", 50, False)):
            done = s.tool.good(*arm, value)
            assert ("note: --frames" in done.err and "bend ends at frame 49 at 30 fps" in done.err) == said, (value, done.err)
            assert len(np.load(out)) == count, value
    s.cases.run("frames_behind_the_end_are_left_out", frames_end)
    s.cases.run("clip_in_other_letters", s.tool.good, "skin", "demo:arm", "--method", "linear", "--clip", "BEND", "-o", out)
    refuse("unknown_demo", ["hydra", "hero", "turtle"], "demo", "hydra", "-o", s.path("o.glb"))
    refuse("unknown_demo_as_input", ["hydra"], "skin", "demo:hydra", "-o", out, codes=(2, 3))


def section_help(s):
    def top():
        done = s.tool("--help")
        assert done.code == 0 and done.err == "", done
        for verb in OPTIONS:
            assert verb in done.out, f"{verb} is not named"

    def verb(name):
        done = s.tool(name, "--help")
        assert done.code == 0 and done.err == "", done
        for option in OPTIONS[name]:
            assert option in done.out, f"{option} is not explained"
        assert max(map(len, done.out.splitlines())) <= 120, "lines too long for a terminal"

    def version():
        done = s.tool("--version")
        assert done.code == 0 and done.err == "" and done.out.startswith("supple ") and done.out.count("\n") == 1, done

        assert s.tool("-V").out == s.tool("version").out == done.out

    def asked_for():
        assert s.tool("help").out == s.tool("--help").out and s.tool("help", "skin").out == s.tool("skin", "--help").out

    s.cases.run("help", top)
    s.cases.run("help_as_a_verb", asked_for)
    for name in OPTIONS:
        s.cases.run(f"help_of_{name}", verb, name)
    s.cases.run("version", version)


# ---- files -----------------------------------------------------------------------------------------------------------

def section_files(s):
    folder = s.path("folder.npy")
    os.mkdir(folder)
    fake = s.path("not-a-folder")
    open(fake, "w").close()
    arm = s.path("arm.glb")
    skin = ("skin", "--method", "linear", "--clip", "0")  # what is left to choose is said in lines of their own
    s.cases.run("demo_writes_a_glb", s.tool.good, "demo", "arm", "-o", arm)
    s.cases.run("missing_file", s.refused, 3, ["nowhere.glb"], *skin, "nowhere.glb", "-o", s.path("o.npy"))
    for name, word in (("walk.bvh", "--motion"), ("scene.blend", ".glb"), ("mesh.OBJ", ".glb")):
        s.cases.run(f"not_a_character_{name}", s.refused, 3, [name, word], *skin, name, "-o", s.path("o.npy"))
    s.cases.run("info_of_missing_file", s.refused, 3, ["nowhere.glb"], "info", "nowhere.glb")
    s.cases.run("directory_as_input", s.refused, 3, ["folder"], *skin, folder, "-o", s.path("o.npy"))
    s.cases.run("directory_as_output", s.refused, 4, ["folder.npy"], *skin, arm, "-o", folder)
    s.cases.run("no_such_output_folder", s.refused, 4, ["gone"], *skin, arm, "-o", s.path("gone/o.npy"))
    s.cases.run("file_as_output_folder", s.refused, 4, ["not-a-folder"], *skin, arm, "-o", os.path.join(fake, "o.npy"))
    s.cases.run("unwritable_output", s.refused, 4, ["/proc"], *skin, arm, "-o", "/proc/supple.npy")
    s.cases.run("unwritable_metrics", s.tool.bad, 4, ["/proc"], *skin, arm, "-o", s.path("o.npy"), "--metrics", "/proc/m.json")
    s.cases.run("one_of_two_outputs_unwritable", s.refused, 4, ["gone"], *skin, arm, "-o", s.path("o.npy"), "-o", s.path("gone/o.pc2"))
    s.cases.run("demo_to_unwritable", s.refused, 4, ["gone"], "demo", "arm", "-o", s.path("gone/arm.glb"))

    def protects(output):
        before = open(arm, "rb").read()
        s.refused((2, 4), [os.path.basename(output)], *skin, arm, "-o", output)
        assert open(arm, "rb").read() == before, "the input was changed"

    s.cases.run("output_is_input", protects, arm)
    s.cases.run("output_is_input_spelled_otherwise", protects, os.path.join(s.folder, ".", "arm.glb"))
    os.symlink("arm.glb", s.path("link.glb"))
    s.cases.run("output_is_a_symlink_to_input", protects, s.path("link.glb"))
    os.link(arm, s.path("hard.glb"))
    s.cases.run("output_is_a_hard_link_to_input", protects, s.path("hard.glb"))

    def replaces():
        s.tool.good(*skin, arm, "-o", s.path("new.npy"))
        with open(s.path("old.npy"), "w") as file:
            file.write("an old file")
        s.tool.good(*skin, arm, "-o", s.path("old.npy"))
        assert same_files(s.path("old.npy"), s.path("new.npy"))

    s.cases.run("an_old_output_is_replaced", replaces)

    def keeps():
        old = open(s.path("new.npy"), "rb").read()
        s.refused(2, [], "skin", arm, "-o", s.path("new.npy"), "--clip", "no such clip")
        assert open(s.path("new.npy"), "rb").read() == old

    s.cases.run("an_old_output_survives_a_failure", keeps)

    def side_files():
        """A .gltf refers to files below its own folder only."""
        document = demo_document(s)
        for uri in ("../secret.bin", "/etc/passwd", "file:///etc/passwd", "https://example.org/x.bin", "missing.bin", "%2e%2e/secret.bin"):
            document["buffers"][0]["uri"] = uri
            path = s.path("side.gltf")
            with open(path, "w") as file:
                json.dump(document, file)
            s.refused(3, [], *skin, path, "-o", s.path("o.npy"))

    s.cases.run("files_of_a_gltf_stay_in_its_folder", side_files)


def read_glb(path):
    raw = open(path, "rb").read()
    assert raw[:4] == b"glTF", "no glb"
    size = struct.unpack_from("<I", raw, 12)[0]
    return json.loads(raw[20:20 + size]), raw[20 + size:]


def write_glb(path, document, rest):
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    with open(path, "wb") as file:
        file.write(b"glTF" + struct.pack("<III", 2, 20 + len(text) + len(rest), len(text)) + b"JSON" + text + rest)


def demo_document(s):
    s.tool.good("demo", "arm", "-o", s.path("document.glb"))
    return read_glb(s.path("document.glb"))[0]


# ---- bad input -------------------------------------------------------------------------------------------------------

BAD_INPUTS = {  # file: (exit codes, words of the message)
    "truncated.glb": (3, ["truncated.glb"]),
    "bad_json.gltf": (3, ["bad_json.gltf", "json"]),
    "accessor_out_of_range.glb": (3, ["accessor_out_of_range.glb", "accessor"]),
    "nan_vertices.glb": (3, ["nan_vertices.glb", "finite"]),
    "joint_index_out_of_range.glb": (3, ["joint_index_out_of_range.glb", "joint"]),
    "cyclic_nodes.gltf": (3, ["cyclic_nodes.gltf", "node"]),
    "no_skin.glb": (3, ["no_skin.glb", "skin"]),
    "truncated.fbx": ((2, 3), ["fbx"]),
}


def section_bad_input(s):
    def listed(name):
        codes, words = BAD_INPUTS[name]
        s.refused_quickly(codes, words, "skin", data("bad", name), "-o", s.path("o.npy"))

    def zero_weights():
        done = s.tool("skin", data("bad", "weights_all_zero.glb"), "-o", s.path("z.npy"), timeout=BAD_SECONDS)
        if done.code == 0:
            assert "warning" in done.err and np.isfinite(np.load(s.path("z.npy"))).all(), done
        else:
            assert done.code == 3 and "weight" in done.err, done

    for name in BAD_INPUTS:
        s.cases.run(f"bad_input_{name}", listed, name)
    s.cases.run("bad_input_weights_all_zero.glb", zero_weights)

    def info_survives(name):
        done = s.tool("info", data("bad", name), timeout=BAD_SECONDS)
        assert done.code in (0, 3), done

    for name in sorted(BAD_INPUTS) + ["weights_all_zero.glb"]:
        if name.endswith((".glb", ".gltf")):
            s.cases.run(f"info_of_{name}", info_survives, name)

    def no_skin():
        """The built-in arm without its skin."""
        document, rest = demo_parts(s)
        document.pop("skins")
        for node in document["nodes"]:
            node.pop("skin", None)
        write_glb(s.path("bare.glb"), document, rest)
        s.refused(3, ["skin"], "skin", s.path("bare.glb"), "-o", s.path("o.npy"))
    s.cases.run("no_skin", no_skin)

    def no_animation(path):
        done = s.tool.good("skin", path, "-o", s.path("rest.npy"), "--method", "linear")
        assert "rest pose" in done.err, f"did not say that it is the rest pose: {done.err!r}"
        assert np.load(s.path("rest.npy")).shape[0] == 1

    def no_animation_demo():
        document, rest = demo_parts(s)
        document.pop("animations")
        write_glb(s.path("still.glb"), document, rest)
        no_animation(s.path("still.glb"))
    s.cases.run("no_animation", no_animation_demo)
    s.cases.run("no_animation_hand", lambda: no_animation(data("hand.glb")))

    def required_extension(name):
        document, rest = demo_parts(s)
        document["extensionsUsed"] = document["extensionsRequired"] = [name]
        write_glb(s.path("extended.glb"), document, rest)
        s.refused(3, [name], "skin", s.path("extended.glb"), "-o", s.path("o.npy"))
    for name in ("KHR_meshopt_compression", "ACME_unheard_of"):
        s.cases.run(f"required_extension_{name}", required_extension, name)

    def hostile_names():
        """Names from the file become neither paths nor terminal commands."""
        document, rest = demo_parts(s)
        for clip in document["animations"]:
            clip["name"] = "../../up\x1b[31m/\u0007\n.. x"
        for thing in document["nodes"] + document["meshes"] + document.get("materials", []):
            thing["name"] = "../../../etc/\x1b]0;title\x07"
        write_glb(s.path("hostile.glb"), document, rest)
        inner = s.path("inner")
        os.mkdir(inner)
        before = sorted(os.listdir(s.folder))
        s.tool.good("skin", s.path("hostile.glb"), "--clip", "all", "--method", "linear", "-o", os.path.join(inner, "o.npy"),
                    "-o", os.path.join(inner, "o.pc2"))
        assert sorted(os.listdir(s.folder)) == before and len(os.listdir(inner)) >= 2, os.listdir(inner)
        done = s.tool("info", s.path("hostile.glb"))
        assert done.code == 0 and "\x1b" not in done.out + done.err and "\x07" not in done.out + done.err, repr(done.out)
        assert isinstance(json.loads(s.tool("info", s.path("hostile.glb"), "--json").out), dict)
    s.cases.run("hostile_names", hostile_names)


def demo_parts(s):
    demo_document(s)
    return read_glb(s.path("document.glb"))


def section_truncations(s):
    def cut(path):
        raw = open(path, "rb").read()
        chance = random.Random(os.path.basename(path))
        length = len(raw.rstrip())
        for _ in range(s.options.truncations):
            place = chance.randrange(length)
            name = s.path("cut" + os.path.splitext(path)[1])
            with open(name, "wb") as file:
                file.write(raw[:place])
            try:
                s.refused_quickly(3, ["cut"], "skin", name, "-o", s.path("o.npy"))
            except AssertionError as error:
                raise AssertionError(f"cut at byte {place}: {error}")

    def cut_demo(name):
        s.tool.good("demo", name, "-o", s.path(name + ".glb"))
        cut(s.path(name + ".glb"))

    for name in ("arm", "turtle"):
        s.cases.run(f"truncations_of_demo_{name}", cut_demo, name)
    for path in assets():
        s.cases.run(f"truncations_of_{os.path.basename(path)}", cut, path)


# ---- what a run says and leaves ------------------------------------------------------------------------------------

def section_runs(s):
    def silent():
        done = s.tool.good("skin", "demo:arm", "-o", s.path("o.npy"), "--method", "linear", "--clip", "0")
        assert done.err == "", f"a clean run into a pipe says: {done.err!r}"

    def says_auto():
        done = s.tool.good("skin", "demo:arm", "-o", s.path("auto.npy"), "--resolution", 20, "--frames", 0)
        assert "auto" in done.err or "method" in done.err, f"does not say which method it chose: {done.err!r}"

    def says_the_same(*more):
        """`supple info` says what `supple skin` will choose, and why; the size of the body is known when it is there."""
        told = [line for line in s.tool("info", "demo:arm", *more).out.splitlines() if line.startswith("method:")]
        done = s.tool.good("skin", "demo:arm", "-o", s.path("same.npy"), "--frames", 0, *more)
        took = [line for line in done.err.splitlines() if "method:" in line]
        reason = told[0] if "budget" in " ".join(map(str, more)) else told[0].split(";")[0].rstrip(")")
        assert len(told) == len(took) == 1 and reason in took[0], (told, took)

    def budget_refused():
        for value in "0", "-1", "nan", "fast", "":
            s.tool.bad(2, ["--budget"], "skin", "demo:arm", "-o", s.path("b.npy"), "--budget", value)
        s.tool.bad(2, ["--budget", "auto"], "skin", "demo:arm", "-o", s.path("b.npy"), "--budget", "5", "--method", "mixed")

    def budget_told():
        """A budget that only a clock can find broken is told after the run; one that holds is not."""
        run = ("skin", "demo:arm", "-o", s.path("told.npy"), "--frames", 0)
        assert "more than the" in s.tool.good(*run, "--budget", 0.001).err
        assert "more than the" not in s.tool.good(*run, "--budget", 1e6, "--resolution", 20).err

    def progress():
        done = s.tool.good("skin", "demo:arm", "-o", s.path("p.npy"), "--method", "linear", "--clip", "0", "--progress", "always")
        assert "frame 1/" in done.err and done.err.splitlines()[-1].endswith(" s") and "wrote " + s.path("p.npy") + ": 50 frames" in done.err, done
        done = s.tool.good("skin", "demo:arm", "-o", s.path("p.npy"), "--method", "linear", "--clip", "0", "--progress", "never")
        assert done.err == "", done.err

    def interrupted(name, *more):
        """A long run, stopped when it has begun to write."""
        before = sorted(os.listdir(s.folder))
        done = s.tool("skin", "demo:hero", "--clip", "0", "--fps", "10000", "--method", "linear", "--threads", "1", "-o", s.path(name),
                      *more, interrupt_when=lambda: sorted(os.listdir(s.folder)) != before)
        assert done.code == 130, f"exit {done.code} after {done.seconds:.2f} s, stderr {done.err!r}"
        assert sorted(os.listdir(s.folder)) == before, f"left behind: {sorted(set(os.listdir(s.folder)) - set(before))}"
        assert done.out == "", done

    s.cases.run("clean_run_says_nothing", silent)
    s.cases.run("auto_says_what_it_chose", says_auto)
    for name, more in ("size", ["--resolution", 20]), ("budget", ["--budget", 12]), ("little", ["--budget", 1]), \
            ("motion", ["--dynamics", "on", "--resolution", 20]), ("contact", ["--collide", "self", "--resolution", 20]):
        s.cases.run(f"info_says_what_auto_does_{name}", says_the_same, *more)
    s.cases.run("budgets_that_are_none", budget_refused)
    s.cases.run("budgets_that_do_not_hold", budget_told)
    s.cases.run("progress_on_request", progress)
    s.cases.run("interrupted_npy", interrupted, "i.npy")
    s.cases.run("interrupted_caches", interrupted, "i.pc2", "-o", s.path("i.mdd"), "--metrics", s.path("i.json"))


def section_metrics(s):
    def has(where, thing, keys):
        missing = [key for key in keys if key not in thing]
        assert not missing, f"{where or 'metrics'} lacks {missing}"

    def keys(character, method):
        path = s.path("m.json")
        s.tool.good("skin", character, "-o", s.path("m.npy"), "--method", method, "--metrics", path, "--threads", "2", "--frames", "1:3")
        text = open(path).read()
        metrics = json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(AssertionError(f"{name} is not JSON")))
        has("", metrics, METRICS[""])
        has("input", metrics["input"], METRICS["input"])
        has("body", metrics["body"], METRICS["body"])
        has("setup_ms", metrics["setup_ms"], METRICS["setup_ms"])
        parts = [ms or 0 for name, ms in metrics["setup_ms"].items() if name != "total"]
        assert min(parts) >= 0 and np.isclose(sum(parts), metrics["setup_ms"]["total"], rtol=1e-6), metrics["setup_ms"]
        assert metrics["method"] == method and metrics["threads"] == 2, metrics
        assert metrics["input"]["vertices"] == np.load(s.path("m.npy")).shape[1]
        assert metrics["peak_mb"] > 0 and metrics["input"]["triangles"] > 0 and metrics["input"]["joints"] > 0, metrics
        assert [frame["frame"] for frame in metrics["frames"]] == [1, 2, 3], "frames by their number in the clip"
        for frame in metrics["frames"]:
            has("frame", frame, METRICS["frame"])
            has("ms", frame["ms"], METRICS["ms"])
            assert abs(frame["time"] - frame["frame"] / 30) < 1e-9 and frame["ms"]["total"] >= 0, frame

    for method in ("linear", "dualquat"):
        s.cases.run(f"metrics_of_{method}", keys, "demo:arm", method)


def section_info(s):
    def text():
        done = s.tool("info", "demo:hero")
        assert done.code == 0, done
        for word in ("walk", "reach", "twist", "vertices", "joints", "flesh", "mixed"):
            assert word in done.out, f"does not mention {word}: {done.out}"

    def parsed(path):
        done = s.tool("info", path, "--json")
        assert done.code == 0, done
        assert isinstance(json.loads(done.out), dict)

    s.cases.run("info_in_words", text)
    s.cases.run("info_as_json", parsed, "demo:hero")
    for path in assets():
        s.cases.run(f"info_as_json_{os.path.basename(path)}", parsed, path)


def section_demos(s):
    def made(name):
        path = s.path(name + ".glb")
        s.tool.good("demo", name, "-o", path)
        document, _ = read_glb(path)
        assert document["skins"] and document["animations"], "no skin or no clip"
        s.tool.good("skin", path, "-o", s.path(name + ".npy"), "--method", "linear", "--frames", "0:1")
        s.tool.good("skin", "demo:" + name, "-o", s.path(name + "-2.npy"), "--method", "linear", "--frames", "0:1")
        assert same_files(s.path(name + ".npy"), s.path(name + "-2.npy")), "demo:NAME and the file of the same name differ"
        again = s.path(name + "-again.glb")
        s.tool.good("demo", name, "-o", again)
        assert same_files(path, again), "not the same file twice"

    def hero():
        document, _ = read_glb(s.path("hero.glb"))
        assert [clip["name"] for clip in document["animations"]] == ["walk", "reach", "twist"]
        joints = sum(len(skin["joints"]) for skin in document["skins"])
        assert 20 <= joints <= 60, f"{joints} joints"
        triangles = sum(document["accessors"][p["indices"]]["count"] // 3 for m in document["meshes"] for p in m["primitives"])
        assert 10000 <= triangles <= 20000, f"{triangles} triangles"

    for name in DEMOS:
        s.cases.run(f"demo_{name}", made, name)
    s.cases.run("hero_is_as_described", hero)


def section_mesh(s):
    os.environ["SUPPLE_CACHE"] = s.path("cache")
    flesh, back = s.path("arm.msh"), s.path("arm.vtk")

    def report():
        done = s.tool("mesh", "demo:arm", "--resolution", 24, "--json", "-o", flesh, "-o", s.path("arm.png"))
        assert done.code == 0, done.err
        said = json.loads(done.out)
        assert said["tets"] > 500 and said["components"] == 1 and said["bones"] == 2 and not said["cached"], said
        assert said["min_dihedral_deg"] > 10 and said["max_dihedral_deg"] < 160, said
        assert abs(said["volume_ratio"] - 1) < 0.05, said
        assert [h["name"] for h in said["holds"]] == ["upper_arm", "forearm"] and said["merged_joints"] == 0, said
        assert sum(h["vertices"] for h in said["holds"]) == said["constrained"] and not any(h["merged_into"] for h in said["holds"]), said
        told = json.loads(s.tool("info", "demo:arm", "--resolution", 24, "--bones", "--json").out)
        assert told["holds"] == said["holds"] and json.loads(s.tool("info", "demo:arm", "--json").out)["holds"] is None, told
        assert f"forearm {said['holds'][1]['vertices']}".split() in [line.split() for line in s.tool("mesh", "demo:arm", "--resolution", 24).out.splitlines()]
        assert open(s.path("arm.png"), "rb").read(8) == b"\x89PNG\r\n\x1a\n"
        again = json.loads(s.tool("mesh", "demo:arm", "--resolution", 24, "--json").out)
        assert again["cached"] and again["tets"] == said["tets"] and again["volume"] == said["volume"]
        afresh = json.loads(s.tool("mesh", "demo:arm", "--resolution", 24, "--json", "--no-cache").out)
        assert not afresh["cached"] and afresh["tets"] == said["tets"]

    def convert():
        first = json.loads(s.tool("mesh", flesh, "--json", "-o", back, "--binary").out)
        second = json.loads(s.tool("mesh", back, "--json").out)
        for key in ("tets", "vertices", "volume", "min_dihedral_deg"):
            assert first[key] == second[key], (key, first[key], second[key])

    def threads():
        for n in 1, 2, 7:
            done = s.tool("mesh", "demo:arm", "--resolution", 20, "--no-cache", "--threads", n, "-o", s.path(f"t{n}.msh"))
            assert done.code == 0, done.err
        one = open(s.path("t1.msh"), "rb").read()
        assert one == open(s.path("t2.msh"), "rb").read() == open(s.path("t7.msh"), "rb").read()

    def progress():
        for mode, said in ("always", True), ("never", False), ("auto", False):
            done = s.tool("mesh", "demo:arm", "--resolution", 20, "--no-cache", "--progress", mode, "--json")
            assert done.code == 0 and json.loads(done.out)["tets"] > 100, done
            assert ("tetrahedra" in done.err) == said, (mode, done.err)
        assert done.err == "", done.err

    def interrupted():
        """Ctrl-C at several times of a run that takes a second or more: nothing is left, and the cache still serves."""
        arguments = ("mesh", "demo:hero", "--resolution", 110, "--json", "-o", s.path("hero.msh"))
        stopped, before = 0, [name for name in os.listdir(s.folder) if name != "cache"]
        for seconds in 0.02, 0.3, 0.6:
            begin = time.monotonic()
            done = s.tool(*arguments, interrupt_when=lambda: time.monotonic() > begin + seconds)
            if done.code == 130:
                stopped += 1
                assert done.out == "" and "cancelled" in done.err and done.err.count("\n") == 1, done
                assert [name for name in os.listdir(s.folder) if name != "cache"] == before, os.listdir(s.folder)
            else:  # a quick machine was done before, or a slow one had not begun to listen
                assert done.code in (0, -2), done
            assert not [name for _, _, files in os.walk(s.path("cache")) for name in files if "tmp" in name]
        assert stopped, "no run could be stopped"
        said, afresh = (json.loads(s.tool(*arguments, *more).out) for more in ((), ("--no-cache",)))
        for key in "tets", "vertices", "volume", "constrained":
            assert said[key] == afresh[key], (key, said, afresh)

    s.cases.run("mesh_progress", progress)
    s.cases.run("mesh_interrupted", interrupted)
    s.cases.run("mesh_reports_and_caches", report)
    s.cases.run("mesh_converts", convert)
    s.cases.run("mesh_threads", threads)
    for name, codes, words, arguments in (
            ("resolution_0", 2, ["resolution"], ("--resolution", "0.5")),
            ("resolution_1e6", 2, ["resolution"], ("--resolution", "1000000")),
            ("unknown_format", 2, [".msh"], ("-o", s.path("x.stl"))),
            ("unknown_progress", 2, ["progress"], ("--progress", "sometimes")),
            ("unknown_part", 2, ["nobody"], ("--part", "nobody=skip")),
            ("unknown_role", 2, ["flesh"], ("--part", "arm=bone")),
            ("no_flesh_left", 3, ["no flesh"], ("--part", "*=skip")),
            ("unwritable", 4, ["gone"], ("--resolution", "12", "-o", s.path("gone/x.msh")))):
        s.cases.run(f"mesh_{name}", s.tool.bad, codes, words, "mesh", "demo:arm", *arguments)
    s.cases.run("mesh_flat_strip", lambda: s.tool.bad(3, ["open"], "mesh", data("strip.gltf")))
    s.cases.run("mesh_bad_tets", lambda: s.tool.bad(3, ["99999999"], "mesh", data("bad", "tet_index_out_of_range.mesh")))
    os.environ.pop("SUPPLE_CACHE")


def section_bench(s):
    """The benchmarks are programs beside the tool; `all` is left to `make bench`: it takes minutes."""
    quick = ("linear", "--", "--vertices", 2000, "--runs", 1, "--threads", 1)

    def built():
        if not os.path.exists(os.path.join(os.path.dirname(s.tool.path), "bench", "bench_linear")):
            raise Skip("the benchmarks are not built")

    def listed():
        built()
        done = s.tool("bench")
        assert done.code == 0 and done.err == "", done
        lines = [line.split(None, 1) for line in done.out.splitlines()]
        sources = {name[6:-2] for name in os.listdir(os.path.join(SOURCE, "bench")) if name.startswith("bench_") and name.endswith(".c")}
        assert {line[0] for line in lines} == sources, (lines, sources)
        assert all(len(line) == 2 for line in lines), f"without a line in cli/bench.c: {lines}"

    def runs():
        built()
        done = s.tool("bench", *quick)
        assert done.code == 0 and done.err == "", done
        assert "2000 vertices" in done.out, done.out

    def its_code():
        """What the benchmark exits with and says comes through; here it cannot load its character."""
        built()
        done = s.tool("bench", "body", "--", s.path("absent.glb"))
        assert done.code == 3 and "absent.glb" in done.err and done.out == "", done

    def interrupted():
        built()
        begin = time.monotonic()
        done = s.tool("bench", "linear", "--", "--runs", 10000, interrupt_when=lambda: time.monotonic() > begin + 0.5)
        assert done.code == 130 and done.seconds < 30, done

    def elsewhere():
        """Found beside the tool and not in the working folder; a copied tool alone has none."""
        built()
        done = s.tool("bench", *quick, cwd=s.folder)
        assert done.code == 0, done
        os.makedirs(s.path("alone/bin"))
        alone = shutil.copy(s.tool.path, s.path("alone/bin/supple"))
        os.environ["LD_LIBRARY_PATH"] = os.path.dirname(s.tool.path)
        try:
            Tool(alone).bad(2, ["not built"], "bench", "linear")
            Tool(alone).bad(2, ["no benchmarks"], "bench")
        finally:
            os.environ.pop("LD_LIBRARY_PATH")

    s.cases.run("bench_list", listed)
    s.cases.run("bench_runs", runs)
    s.cases.run("bench_exit_code", its_code)
    s.cases.run("bench_interrupted", interrupted)
    s.cases.run("bench_elsewhere", elsewhere)
    for name, words, arguments in (
            ("unknown", ["marathon"], ("marathon",)),
            ("no_path", ["no benchmark"], ("../bench/bench_linear",)),
            ("unknown_option", ["--marathon"], ("linear", "--marathon")),
            ("all_with_words", ["all"], ("all", "linear"))):
        s.cases.run(f"bench_{name}", s.tool.bad, 2, words, "bench", *arguments)


def section_solver(s):
    """Verbs that solve take --solver."""
    skin = ("skin", "demo:arm", "--clip", "0", "--frames", "0:1", "--method", "linear", "-o", s.path("o.npy"))

    def taken():
        if "--solver" not in s.tool("skin", "--help").out:
            raise Skip("no method of this build solves")

    def loads():
        taken()
        if not os.path.exists(os.path.join(os.path.dirname(s.tool.path), "libsupple-cholmod.so")):
            raise Skip("built without CHOLMOD")
        for name in "auto", "own", "cholmod":
            s.tool.good(*skin, "--solver", name)

    def unknown():
        taken()
        s.tool.bad(2, ["magma", "cholmod"], *skin, "--solver", "magma")

    def absent():
        """A tool that was copied without its plug-in, and one beside which lies something else."""
        taken()
        os.makedirs(s.path("bin"))
        alone = Tool(shutil.copy(s.tool.path, s.path("bin/supple")))
        os.environ["LD_LIBRARY_PATH"] = os.path.dirname(s.tool.path)
        try:
            alone.good(*skin, "--solver", "auto")
            alone.bad(2, ["libsupple-cholmod.so"], *skin, "--solver", "cholmod")
            with open(s.path("bin/libsupple-cholmod.so"), "w") as file:
                file.write("no library")
            alone.bad(2, ["cannot be loaded"], *skin, "--solver", "cholmod")
        finally:
            os.environ.pop("LD_LIBRARY_PATH")

    s.cases.run("solver_loads", loads)
    s.cases.run("solver_unknown", unknown)
    s.cases.run("solver_absent", absent)


def section_device(s):
    """--device: names, and a processor that goes on where there is none."""
    skin = ("skin", "demo:arm", "--clip", "0", "--frames", "0:3", "--method", "projective", "--resolution", "12")

    def none():
        """As if no driver were installed, or none of that number."""
        s.tool.good(*skin, "-o", s.path("cpu.npy"), "--device", "cpu")
        os.environ["OCL_ICD_VENDORS"] = s.path("nobody")
        try:
            for name in "cl", "cl:63", "cl:65", "cl:99999999999999999999":
                done = s.tool.good(*skin, "-o", s.path("cl.npy"), "--device", name)
                warnings = [line for line in done.err.splitlines() if "warning" in line]
                assert len(warnings) == 1 and "OpenCL" in warnings[0] and "processor" in warnings[0], done.err
                assert same_files(s.path("cpu.npy"), s.path("cl.npy"))
        finally:
            os.environ.pop("OCL_ICD_VENDORS")

    def other_method():
        done = s.tool.good("skin", "demo:arm", "--clip", "0", "--frames", "0", "--method", "linear", "-o", s.path("l.npy"), "--device", "cl")
        assert "projective" in done.err, done.err

    for name in "gpu", "cl:", "cl:x", "cl:-1", "":
        s.cases.run(f"device_name_{name}", s.tool.bad, 2, ["device", "cl:N"], *skin, "-o", s.path("o.npy"), "--device", name)
    s.cases.run("device_none", none)
    s.cases.run("device_other_method", other_method)


def section_motion(s):
    walk, hero = data("walk.bvh"), data("hero.glb")

    def played():
        """Frames and rate are the motion's own; a .glb of it holds the clip, beside the hero's own walk; the map and what was not matched are told."""
        done = s.tool.good("skin", hero, "--motion", walk, "--method", "linear", "-o", s.path("w.npy"))
        assert "25 of its 31" in done.err and "LHipJoint" in done.err, done.err
        frames = np.load(s.path("w.npy"))
        assert frames.shape[0] == 145, frames.shape
        lowest = frames[:, :, 1].min(axis=1)
        assert lowest.min() > -0.015 and lowest.max() < 0.03, f"the feet are at {lowest.min()} to {lowest.max()}"
        # The motion walks 24.47 units along z on legs of 14.7; the hero's leg is 0.8 m long.
        way = frames[-1, :, 2].mean() - frames[0, :, 2].mean()
        assert 1.2 < way < 1.6, f"walked {way} m"
        s.tool.good("skin", hero, "--motion", walk, "--method", "linear", "--fps", "30", "-o", s.path("w.glb"), "-o", s.path("w30.npy"))
        assert np.load(s.path("w30.npy")).shape[0] == 37
        assert np.abs(np.load(s.path("w30.npy"))[10] - frames[40]).max() < 1e-3, "30 fps are not every fourth frame"
        document, _ = read_glb(s.path("w.glb"))
        assert [a["name"] for a in document["animations"]] == ["walk 2"], [a["name"] for a in document["animations"]]

    def mapped():
        with open(s.path("map.json"), "w") as file:
            json.dump({"Head": None, "Spine": "chest"}, file)
        done = s.tool.good("skin", hero, "--motion", walk, "--map", s.path("map.json"), "--method", "linear", "--frames", "0:1", "-o", s.path("m.npy"))
        assert "Head" in done.err.split("of the motion, not matched")[1], done.err

    def vertices():
        s.tool.good("skin", "demo:arm", "--clip", "0", "--method", "linear", "-o", s.path("a.pc2"), "-o", s.path("a.npy"))
        s.tool.good("skin", "demo:arm", "--motion", s.path("a.pc2"), "-o", s.path("b.pc2"), "-o", s.path("b.npy"), "-o", s.path("b.glb"))
        assert same_files(s.path("a.pc2"), s.path("b.pc2")) and same_files(s.path("a.npy"), s.path("b.npy")), "not the same bits"
        s.tool.bad(2, ["overwrite"], "skin", "demo:arm", "--motion", s.path("a.pc2"), "-o", s.path("a.pc2"))
        s.tool.bad(3, ["points", "vertices"], "skin", hero, "--motion", s.path("a.pc2"), "-o", s.path("c.npy"))
        with open(s.path("a.pc2"), "rb") as whole, open(s.path("cut.pc2"), "wb") as cut:
            cut.write(whole.read()[:-5])
        s.tool.bad(3, ["cut"], "skin", "demo:arm", "--motion", s.path("cut.pc2"), "-o", s.path("c.npy"))

    s.cases.run("motion_bvh", played)
    s.cases.run("motion_map", mapped)
    s.cases.run("motion_pc2", vertices)
    for name, code, words, arguments in (
            ("none_alone", 2, ["none", ".pc2"], ("--method", "none")),
            ("map_alone", 2, ["--map", "--motion"], ("--map", "x.json")),
            ("and_clip", 2, ["--clip", "--motion"], ("--motion", "x.bvh", "--clip", "0")),
            ("pc2_with_linear", 2, ["none", "linear"], ("--motion", "x.pc2", "--method", "linear")),
            ("bvh_with_none", 2, ["none", ".pc2"], ("--motion", "x.bvh", "--method", "none")),
            ("missing", 3, ["nowhere.bvh"], ("--motion", "nowhere.bvh")),
            ("of_another_kind", 2, [".bvh", ".pc2"], ("--motion", "x.fbx"))):
        s.cases.run(f"motion_{name}", s.tool.bad, code, words, "skin", "demo:arm", "-o", s.path("x.npy"), *arguments)
    s.cases.run("motion_wrong_channels", lambda: s.tool.bad(3, [":18:"], "skin", hero, "-o", s.path("x.npy"), "--motion",
                                                           data("bad", "bvh_wrong_channel_count.bvh")))

    def truncated():
        with open(walk, "rb") as file:
            whole = file.read()
        for k in range(1, 12):
            with open(s.path("t.bvh"), "wb") as file:
                file.write(whole[:len(whole) * k // 12])
            s.tool.bad(3, ["t.bvh:"], "skin", "demo:arm", "-o", s.path("x.npy"), "--motion", s.path("t.bvh"))

    s.cases.run("motion_truncated", truncated)


SECTIONS = {name[8:]: function for name, function in list(globals().items()) if name.startswith("section_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--truncations", type=int, default=5 if QUICK else 20)
    options = parser.parse_args()
    cases = Cases()
    for name in options.only or SECTIONS:
        folder = tempfile.mkdtemp(prefix="supple-")
        try:
            SECTIONS[name](Section(Tool(options.tool), cases, folder, options))
        except Exception as error:  # what a section prepares failed
            def fail(error=error):
                raise error
            cases.run(f"section_{name}", fail)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    cases.end(plain=bool(options.only))


if __name__ == "__main__":
    main()
