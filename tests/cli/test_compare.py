"""`supple compare`: its numbers are those of single runs, and its page holds what was computed and nothing else."""
import base64
import html.parser
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tool import Tool, data, session  # noqa: E402
from cases import Skip  # noqa: E402

METHODS = ["linear", "dualquat", "mixed", "projective", "steklov", "reference"]
SMALL = ("--resolution", 20)
MARK = "<!--supple-report-->"
TEMPLATE = f"<!doctype html>\n<title>report</title>\n{MARK}\n<p>end</p>\n"
TIMES = {"ms", "setup_ms", "peak_mb", "threads"}


class Page:
    """A page taken apart: nothing of the code under test, nor of the page's own script."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        head, tail = TEMPLATE.split(MARK)
        assert self.text.startswith(head) and self.text.endswith(tail), "the template is not as it was"
        scripts = re.findall(r'<script type="([^"]*)" id="([^"]*)">([^<]*)</script>', self.text)
        assert self.text.count("<") == TEMPLATE.count("<") - 1 + 2 * len(scripts), "something else is markup"
        assert scripts[0][:2] == ("application/json", "supple-report")
        self.json = json.loads(scripts[0][2])
        self.blobs = [base64.b64decode(body, validate=True) for kind, name, body in scripts[1:]]
        assert [name for _, name, _ in scripts[1:]] == [f"supple-blob-{i}" for i in range(len(self.blobs))]
        for blob, about in zip(self.blobs, self.json["blobs"]):
            assert len(blob) == about["bytes"]
        assert len(self.blobs) == len(self.json["blobs"])

    def inflate(self, index):
        assert self.json["blobs"][index]["type"] == "deflate"
        raw = zlib.decompress(self.blobs[index])
        assert len(raw) == self.json["blobs"][index]["raw"]
        return raw

    def positions(self, name, clip):
        """Frames x vertices x 3, as the format's description says."""
        meta = next(m for m in self.json["methods"] if m["name"] == name)["positions"][clip]
        raw = np.frombuffer(self.inflate(meta["blob"]), np.uint8)
        low, high = raw[:len(raw) // 2].astype(np.uint16), raw[len(raw) // 2:].astype(np.uint16)
        frames = (low | high << 8).reshape(len(meta["frames"]), 3, self.json["mesh"]["vertices"])
        numbers = np.cumsum(frames, axis=0, dtype=np.uint16).astype(float)
        return numbers.transpose(0, 2, 1) * meta["step"] + meta["min"], meta


def run_json(tool, *arguments, **options):
    done = tool("compare", *arguments, "--json", **options)
    assert done.code == 0, f"exit {done.code}: {done.err}"
    return json.loads(done.out)


def by_name(report):
    return {m["name"]: m for m in report["methods"]}


def without_times(metrics):
    rest = {k: v for k, v in metrics.items() if k not in TIMES}
    # What a method says of its own may be times too (stages of steklov and subspace).
    rest["frames"] = [{k: v for k, v in f.items() if k not in TIMES and "ms" not in k.split("_")} for f in metrics["frames"]]
    return rest


def section_numbers(tool, cases, folder):
    arm = ("demo:arm", "--size", "file", "--frames", "20:23", *SMALL)
    report = run_json(tool, *arm, "--clips", "twist,bend")
    single = {}

    def runs():
        for name in METHODS:
            npy, path = os.path.join(folder, name + ".npy"), os.path.join(folder, name + ".json")
            tool.good("skin", *arm, "--clip", "twist", "--clip", "bend", "--method", name, "-o", npy, "--metrics", path)
            with open(path) as f:
                metrics = json.load(f)
            stem = npy[:-4]
            single[name] = (metrics, np.concatenate([np.load(f"{stem}.{clip}.npy") for clip in ("twist", "bend")]))

    def same_numbers():
        assert [m["name"] for m in report["methods"]] == METHODS
        for m in report["methods"]:
            assert m["note"] is None, m["note"]
            assert without_times(m["metrics"]) == without_times(single[m["name"]][0]), f"{m['name']} differs from its own run"

    def table():
        for m in report["methods"]:
            frames, t = m["metrics"]["frames"], m["table"]
            ms = [f["ms"]["total"] for f in frames]
            assert np.isclose(t["ms_median"], np.median(ms), rtol=1e-8) and np.isclose(t["ms_max"], max(ms), rtol=1e-8)
            assert np.isclose(t["setup_ms"], m["metrics"]["setup_ms"]["total"], rtol=1e-8)
            if frames[0]["joint_volume"]:
                least = min(min(f["joint_volume"].values()) for f in frames)
                assert np.isclose(t["min_joint_volume"], least, rtol=1e-8)
                assert t["max_strain"] == max(f["max_strain"] for f in frames)

    def errors():
        truth = single["reference"][1].astype(float)
        for m in report["methods"]:
            distance = np.linalg.norm(single[m["name"]][1] - truth, axis=2)
            for k, error in enumerate(m["error"]):
                assert np.isclose(error["mean"], distance[k].mean(), rtol=1e-6, atol=1e-12), (m["name"], k)
                assert np.isclose(error["max"], distance[k].max(), rtol=1e-6, atol=1e-12), (m["name"], k)
            assert np.isclose(m["table"]["error_max"], distance.max(), rtol=1e-6, atol=1e-12)
        assert by_name(report)["linear"]["table"]["error_max"] > 1e-3, "linear skinning is no reference"

    def clips():
        assert report["clips"] == [{"name": "twist", "first_frame": 20, "frames": 4}, {"name": "bend", "first_frame": 20, "frames": 4}]
        assert report["metres_per_unit"] == 1 and report["fps"] == 30
        assert report["command"] == "supple compare demo:arm --size file --frames 20:23 --resolution 20 --clips twist,bend --json", report["command"]

    def sized():
        """--size is what the solver works in: distances, the diagonal and the advice's share of it."""
        large = run_json(tool, "demo:arm", *arm[3:], "--clips", "bend", "--methods", "linear,reference", "--size", 50)
        assert large["input"]["size_m"] == 50 and np.isclose(large["metres_per_unit"], 50 / report["input"]["size_m"])
        a, b = (by_name(r)["linear"]["error"][-1]["max"] / r["input"]["size_m"] for r in (large, report))
        assert np.isclose(a, b, rtol=0.05), (a, b)

    cases.run("size", sized)
    cases.run("single_runs", runs)
    cases.run("numbers_are_those_of_single_runs", same_numbers)
    cases.run("table_sums_up_the_frames", table)
    cases.run("errors_are_distances_on_the_visual_mesh", errors)
    cases.run("clips_in_the_order_asked_for", clips)


def section_page(tool, cases, folder):
    out = os.path.join(folder, "r.html")
    arguments = ("demo:arm", "--clips", "all", "--frames", "30:35", *SMALL, "--methods", "linear,reference")

    def make(path=out):
        tool.good("compare", *arguments, "-o", path)
        return Page(path)
    page = make()

    def positions():
        for clip, name in enumerate(("bend", "twist")):
            for method in ("linear", "reference"):
                npy = os.path.join(folder, "p.npy")
                tool.good("skin", "demo:arm", "--clip", name, "--frames", "30:35", *SMALL, "--method", method, "-o", npy)
                decoded, meta = page.positions(method, clip)
                point = np.frombuffer(page.inflate(page.json["mesh"]["point"]), np.uint32)
                truth = np.load(npy)[:, point]
                assert meta["frames"] == list(range(6)) and decoded.shape == truth.shape
                assert (np.abs(decoded - truth) <= 0.5000001 * np.array(meta["step"]) + 1e-7).all(), f"{method}, {name}"

    def mesh():
        about = page.json["mesh"]
        index = np.frombuffer(page.inflate(about["index"]), np.uint32)
        uv = np.frombuffer(page.inflate(about["uv"]), np.float32).reshape(-1, 2)
        assert index.max() == about["vertices"] - 1 and len(uv) == about["vertices"]
        assert sum(g["count"] for g in about["groups"]) * 3 == len(index) == 3 * page.json["input"]["triangles"]
        texture = about["groups"][0]["texture"]
        assert page.blobs[texture][:4] == b"\x89PNG" and page.json["blobs"][texture]["type"] == "image/png"

    def views():
        kinds = {(v["kind"], v["clip"]) for v in page.json["views"]}
        assert kinds == {("body", 0), ("body", 1), ("bend", 0), ("twist", 1)}, kinds
        for view in page.json["views"]:
            assert sorted(view["images"]) == ["linear", "reference"]
            sizes = {struct.unpack(">II", page.blobs[b][16:24]) for b in view["images"].values()}
            assert len(sizes) == 1, "pictures of a view differ in size"
            assert len({page.blobs[b] for b in view["images"].values()}) == 2, "methods look the same to the byte"
            assert all(0 <= f < 6 for f in view["frames"])

    def both():
        done = tool("compare", *arguments, "-o", os.path.join(folder, "s.html"), "--json")
        assert done.code == 0, done.err
        printed = json.loads(done.out)
        assert "blobs" not in printed and all(m["positions"] is None for m in printed["methods"])
        again = Page(os.path.join(folder, "s.html"))
        for a, b in zip(again.json["methods"], printed["methods"]):
            assert a["metrics"] == b["metrics"] and a["error"] == b["error"]
        assert again.blobs == page.blobs, "two pages differ in what is no time"
        assert [without_times(m["metrics"]) for m in again.json["methods"]] == [without_times(m["metrics"]) for m in page.json["methods"]]

    def small():
        assert os.path.getsize(out) < 60e6

    def thinned():
        """A page that would be too large has fewer frames in its player, and all of them in its curves."""
        wide, tight = os.path.join(folder, "wide.html"), os.path.join(folder, "tight.html")
        bend = ("compare", "demo:arm", "--clips", "bend", "--methods", "dualquat")
        tool.good(*bend, "-o", wide)
        limit = round(0.85 * os.path.getsize(wide) / 1e6, 2)
        tool.good(*bend, "-o", tight, "--page-limit", limit)
        assert os.path.getsize(tight) <= 1e6 * limit, f"{os.path.getsize(tight)} bytes, {limit} MB"
        report = Page(tight).json
        for method in report["methods"]:
            frames = method["positions"][0]["frames"]
            assert frames[0] == 0 and frames[-1] == 49 and len(frames) < 50 and len(method["metrics"]["frames"]) == 50
        assert any(f"{limit:g} MB" in note for note in report["notes"]), report["notes"]
        decoded, meta = Page(tight).positions("dualquat", 0)
        whole, _ = Page(wide).positions("dualquat", 0)
        assert np.allclose(decoded, whole[meta["frames"]], atol=1e-9), "frames are not those of the whole page"

    cases.run("positions_are_the_runs_own_within_half_a_step", positions)
    cases.run("mesh_is_the_characters", mesh)
    cases.run("views_of_body_and_joints", views)
    cases.run("page_and_json_at_once_are_the_same_again", both)
    cases.run("page_is_small", small)
    cases.run("a_page_that_is_too_large_is_thinned", thinned)


NASTY = "</script><script>alert(\"1\")</script>\n<!-- ' & \u2028 \\u003c"


def renamed(tool, path, name):
    """demo:arm with a name, and a number, for everything."""
    tool.good("demo", "arm", "-o", path)
    with open(path, "rb") as f:
        raw = f.read()
    length, = struct.unpack_from("<I", raw, 12)
    document, rest = json.loads(raw[20:20 + length]), raw[20 + length:]
    for things in ("animations", "nodes", "meshes", "materials"):
        for i, thing in enumerate(document[things]):
            thing["name"] = name + str(i)
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    with open(path, "wb") as f:
        f.write(struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A) + text + rest)


def section_names(tool, cases, folder):
    def hostile():
        path, out = os.path.join(folder, "hostile.glb"), os.path.join(folder, "hostile.html")
        renamed(tool, path, NASTY)
        tool.good("compare", path, "--frames", "0:1", "--clips", "1", *SMALL, "--methods", "linear,dualquat", "-o", out)
        page = Page(out)  # which counts every "<" of the page
        assert "alert" in page.json["clips"][0]["name"] and "</script>" in page.json["clips"][0]["name"]
        assert "</script>" in page.json["mesh"]["groups"][0]["name"]
        done = tool("compare", path, "--frames", "0:1", "--clips", "0", *SMALL, "--methods", "linear", "-o", out, "--progress", "always")
        assert done.code == 0, done.err
        for line in re.split("\\r|\\033\\[K", done.err.strip()):
            assert line.isprintable(), f"{line!r} reaches the terminal"

    def long():
        """Names are cut where they are long, which may be within a letter; a command line is what a shell would take."""
        path, out = os.path.join(folder, "it's $(long).glb"), os.path.join(folder, "long.html")
        renamed(tool, path, "x" + 40 * "\u044f")
        tool.good("compare", path, "--frames", "40:41", "--clips", "0", "--methods", "dualquat", "-o", out)
        page = Page(out)
        assert page.json["clips"][0]["name"] == "x" + 40 * "\u044f" + "0"
        assert any(view["title"].startswith("x" + 20 * "\u044f") for view in page.json["views"]), page.json["views"]
        assert shlex.split(page.json["command"])[2] == path, page.json["command"]

    cases.run("hostile_names_are_texts", hostile)
    cases.run("long_names_are_cut_whole", long)


def section_failures(tool, cases, folder):
    arm = ("demo:arm", "--frames", "0:2", *SMALL)
    out = os.path.join(folder, "never.html")

    def one_fails():
        methods = by_name(run_json(tool, *arm, "--dynamics", "on", "--methods", "linear,projective"))
        assert methods["projective"]["metrics"] and methods["projective"]["note"] is None
        assert methods["linear"]["metrics"] is None and methods["linear"]["table"] is None
        assert "dynamics" in methods["linear"]["note"], methods["linear"]["note"]

    def model_is_bad():
        bad = os.path.join(folder, "bad.supple")
        with open(bad, "wb") as f:
            f.write(b"no model")
        methods = by_name(run_json(tool, *arm, "--model", bad, "--methods", "linear,subspace"))
        assert methods["linear"]["metrics"] and not methods["subspace"]["metrics"] and "bad.supple" in methods["subspace"]["note"]

    def all_fail():
        tool.bad(2, ["no method ran", "dynamics"], "compare", *arm, "--clips", "bend", "--dynamics", "on", "--methods", "linear,mixed", "--json")

    def no_reference():
        report = run_json(tool, *arm, "--methods", "linear,dualquat")
        assert all(m["error"] is None and m["table"]["error_mean"] is None for m in report["methods"])

    def settings():
        methods = by_name(run_json(tool, *arm, "--set", "energy=arap", "--methods", "linear,mixed"))
        assert "energy" in methods["linear"]["note"] and methods["mixed"]["note"] is None
        plain = by_name(run_json(tool, *arm, "--methods", "linear,mixed"))
        assert without_times(methods["linear"]["metrics"]) == without_times(plain["linear"]["metrics"])
        assert without_times(methods["mixed"]["metrics"]) != without_times(plain["mixed"]["metrics"])

    def limited():
        """A reference that has too little time runs on fewer frames, or says that it did not run."""
        for seconds in 1.5, 0.75, 0.4, 0.2, 0.1, 0.05:  # what is too little is the machine's to say
            methods = by_name(run_json(tool, "demo:arm", "--resolution", 30, "--size", "file", "--clips", "bend", "--frames", "1:44", "--methods", "linear,reference",
                                       "--reference-time", seconds))
            reference, stride = methods["reference"], methods["reference"]["stride"]
            if reference["metrics"] is None or stride > 1:
                break
        if reference["metrics"] is None:
            assert "--reference-time" in reference["note"]
            return
        assert stride > 1, "no time was too little"
        assert f"one frame in {stride} " in reference["note"]
        assert len(reference["metrics"]["frames"]) == 44
        for k, frame in enumerate(reference["metrics"]["frames"]):
            assert frame["frame"] == k + 1 and np.isclose(frame["time"], (k + 1) / 30)
            ran = (k + 1) % stride == 0
            assert (frame["max_strain"] is not None) == ran and (methods["linear"]["error"][k] is not None) == ran
        npy = [os.path.join(folder, f"{name}.npy") for name in ("linear", "reference")]
        for name, path in zip(("linear", "reference"), npy):
            tool.good("skin", "demo:arm", "--resolution", 30, "--size", "file", "--clip", "bend", "--fps", 30 / stride, "--method", name, "-o", path)
        a, b = (np.load(path) for path in npy)
        distance = np.linalg.norm(a.astype(float) - b, axis=2).max(axis=1)
        errors = [e["max"] for e in methods["linear"]["error"] if e]
        assert np.allclose(errors, distance[1:1 + len(errors)], rtol=0.02, atol=1e-5), (errors, distance)

    def interrupted():
        where = os.path.join(folder, "tmp")
        before = sorted(os.listdir(folder))
        done = tool("compare", "demo:hero", "--resolution", 30, "--fps", 2000, "--methods", "linear,dualquat", "-o", out,
                    interrupt_when=lambda: any(os.listdir(os.path.join(where, name)) for name in os.listdir(where)))
        assert done.code == 130, f"exit {done.code} after {done.seconds:.2f} s: {done.err!r}"
        assert os.listdir(where) == [] and sorted(os.listdir(folder)) == before, "something is left"
        assert len(done.err.strip().splitlines()) <= 2, done.err

    def unread():
        """A pipe that nobody reads ends the tool, and leaves nothing."""
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([tool.path, "compare", "demo:arm", "--frames", "0", "--methods", "dualquat", "--json"], stdout=write,
                              stderr=subprocess.DEVNULL, timeout=120, restore_signals=True)
        os.close(write)
        assert done.returncode in (-signal.SIGPIPE, 4), done
        clean()

    def hung_up():
        """A terminal that is closed is as Ctrl-C, with the signal's own exit."""
        where = os.path.join(folder, "tmp")
        process = subprocess.Popen([tool.path, "compare", "demo:hero", "--resolution", "30", "--fps", "2000", "--methods", "linear", "-o", out],
                                   stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        while process.poll() is None and not any(os.listdir(os.path.join(where, name)) for name in os.listdir(where)):
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 128 + signal.SIGHUP
        clean()

    def clean():
        assert os.listdir(os.path.join(folder, "tmp")) == [], os.listdir(os.path.join(folder, "tmp"))

    def refused(name, codes, words, *arguments):
        cases.run(name, tool.bad, codes, words, "compare", *arguments)

    cases.run("a_method_that_fails_is_reported", one_fails)
    cases.run("a_bad_model_is_subspaces_own", model_is_bad)
    cases.run("no_method_runs", all_fail)
    cases.run("no_reference_no_errors", no_reference)
    cases.run("settings_go_to_those_that_have_them", settings)
    cases.run("reference_within_its_time", limited)
    cases.run("interrupted", interrupted)
    cases.run("hung_up", hung_up)
    cases.run("unread", unread)
    cases.run("nothing_is_left_in_the_folder_for_temporary_files", clean)
    refused("no_output", 2, ["-o"], "demo:arm")
    refused("no_input", 2, ["input"], "--json")
    refused("unknown_method", 2, ["moon", "projective"], "demo:arm", "--json", "--methods", "linear,moon")
    refused("method_twice", 2, ["twice"], "demo:arm", "--json", "--methods", "linear,linear")
    refused("method_none", 2, ["none"], "demo:arm", "--json", "--methods", "none")
    refused("subspace_without_a_model", 2, ["--model"], "demo:arm", "--json", "--methods", "subspace")
    refused("too_many_clips", 2, ["--clips", "128"], "demo:arm", "--json", "--clips", ",".join(129 * "0"))
    refused("unknown_clip", 2, ["moonwalk", "bend"], "demo:arm", "--json", "--clips", "bend,moonwalk")
    refused("clip_twice", 2, ["twice"], "demo:arm", "--json", "--clips", "bend,0")
    refused("frames_beyond_the_end", 2, ["--frames"], "demo:arm", "--json", "--clips", "bend", "--frames", "99:100")
    refused("unknown_setting", 2, ["moon"], "demo:arm", "--json", "--set", "moon=1")
    refused("setting_of_methods_not_compared", 2, ["energy"], "demo:arm", "--json", "--set", "energy=arap", "--methods", "linear")
    refused("vertex_animation", 2, [".pc2"], "demo:arm", "--json", "--motion", "x.pc2")
    refused("map_alone", 2, ["--motion"], "demo:arm", "--json", "--map", "x.json")
    refused("reference_time", 2, ["--reference-time"], "demo:arm", "--json", "--reference-time", "soon")
    refused("unknown_ending", 2, [".html"], "demo:arm", "-o", os.path.join(folder, "r.glb"))
    refused("folder_that_is_not_there", 4, ["cannot be written"], "demo:arm", "-o", os.path.join(folder, "no", "r.html"))
    refused("output_is_a_folder", 4, ["cannot be written"], "demo:arm", "-o", os.path.join(folder, "folder.html"))
    refused("missing_file", 3, ["absent"], "absent.glb", "--json")

    def own_input():
        path = os.path.join(folder, "in.html")
        with open(path, "w") as f:
            f.write("{}")
        tool.bad(2, ["would overwrite"], "compare", path, "-o", path)
        tool.bad(2, ["would overwrite"], "compare", "demo:arm", "--material", path, "-o", path)
        with open(path) as f:
            assert f.read() == "{}"
    cases.run("output_is_an_input", own_input)


def section_inputs(tool, cases, folder):
    def retargeted():
        character, motion = data("person.glb"), data("walk.bvh")
        report = run_json(tool, character, "--motion", motion, "--fps", 30, "--frames", "20:21", "--methods", "linear,dualquat")
        assert report["clips"] == [{"name": "walk 2", "first_frame": 20, "frames": 2}], report["clips"]
        assert by_name(report)["linear"]["metrics"]["frames"][0]["frame"] == 20

    def points():
        """An FBX has its control points as points: vertices of the page are more than they."""
        character, out = data("creature.fbx"), os.path.join(folder, "creature.html")
        done = tool("compare", character, "--clips", "Armature|Walk", "--frames", "0:2", "--methods", "linear", "-o", out)
        assert done.code == 0, done.err
        page, npy = Page(out), os.path.join(folder, "creature.npy")
        tool("skin", character, "--clip", "Armature|Walk", "--frames", "0:2", "--method", "linear", "-o", npy)
        point = np.frombuffer(page.inflate(page.json["mesh"]["point"]), np.uint32)
        decoded, meta = page.positions("linear", 0)
        truth = np.load(npy)
        assert page.json["mesh"]["vertices"] > truth.shape[1] and set(point) == set(range(truth.shape[1]))
        assert (np.abs(decoded - truth[:, point]) <= 0.5000001 * np.array(meta["step"]) + 1e-5).all()

    def trained():
        model = os.path.join(folder, "arm.supple")
        done = tool("train", "demo:arm", "-o", model, "--samples", 10, "--rank", 8, "--resolution", 16, "--set", "modes=12", "--set",
                    "derivatives=4")
        if "TRAINING" in done.err:
            raise Skip("without training")
        assert done.code == 0, done.err
        report = run_json(tool, "demo:arm", "--clips", "bend", "--frames", "10:11", "--resolution", 16, "--model", model)
        assert [m["name"] for m in report["methods"]] == [*METHODS[:-1], "subspace", "reference"]
        subspace, path = by_name(report)["subspace"], os.path.join(folder, "subspace.json")
        tool.good("skin", "demo:arm", "--clip", "bend", "--frames", "10:11", "--resolution", 16, "--model", model, "--method", "subspace",
                  "--metrics", path, "-o", os.path.join(folder, "subspace.npy"))
        with open(path) as f:
            assert without_times(subspace["metrics"]) == without_times(json.load(f))

    cases.run("a_trained_model_takes_part", trained)
    cases.run("a_motion_from_elsewhere", retargeted)
    cases.run("control_points", points)


def section_template(tool, cases, folder):
    def damaged():
        path = os.path.join(folder, "bin", "report", "report.html")
        with open(path, "w") as f:
            f.write("<!doctype html>")
        tool.bad(4, ["template"], "compare", "demo:arm", "--frames", 0, "--clips", 0, *SMALL, "--methods", "linear", "-o",
                 os.path.join(folder, "r.html"))
        with open(path, "w") as f:
            f.write(TEMPLATE)

    cases.run("no_place_in_the_template", damaged)


class Plain(html.parser.HTMLParser):
    """A page without a player, read as a browser does: which elements and attributes there are, tables, pictures and words."""
    TAGS = set("""html head meta title style body header main section footer p h1 h2 h3 ul li b span dl dt dd div table thead tbody tr th td figure figcaption
        img details summary code br script""".split())
    ATTRIBUTES = set("lang charset http-equiv content name id class style scope title alt src type".split())

    def __init__(self, path):
        super().__init__()
        self.tables, self.pictures, self.words, self.inside = [], [], "", []
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())
        self.close()
        assert self.inside == [], f"{self.inside} is not closed"
        self.json = json.loads(self.json)

    def handle_starttag(self, tag, attributes):
        assert tag in self.TAGS and all(key in self.ATTRIBUTES for key, _ in attributes), (tag, attributes)
        if tag == "script":
            assert attributes == [("type", "application/json"), ("id", "supple-report")], attributes
            self.json = ""
        if tag == "img":
            kind, data = dict(attributes)["src"].split(",")
            assert kind == "data:image/png;base64"
            self.pictures.append(base64.b64decode(data, validate=True))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in ("meta", "img", "br"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag, tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data):
        if self.inside[-1:] == ["script"]:
            self.json += data
        elif self.inside[-1:] != ["style"]:
            self.words += data
            if "td" in self.inside or "th" in self.inside:
                self.tables[-1][-1][-1] += data


def shown(value, scale=1):
    """A number as the page shows it: three digits."""
    if value is None:
        return "\u2013"
    value *= scale
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def section_plain(tool, cases, folder):
    """Where the page with the player was not built the tool writes one itself."""
    out = os.path.join(folder, "plain.html")
    arguments = ("demo:arm", "--clips", "all", "--frames", "30:33", *SMALL, "--methods", "linear,dualquat,reference")
    done = tool.good("compare", *arguments, "-o", out)
    page = Plain(out)

    def told():
        line, = done.err.splitlines()
        assert "player" in line and "`make report`" in line, done.err
        assert "make report" in page.words and any("make report" in note for note in page.json["notes"])

    def numbers():
        report = run_json(tool, *arguments)
        for a, b in zip(page.json["methods"], report["methods"]):
            assert without_times(a["metrics"]) == without_times(b["metrics"]) and a["error"] == b["error"]
        head, *rows = page.tables[0]
        assert [row[0].split()[0] for row in rows] == ["linear", "dualquat", "reference"]
        for title, key, scale in (("Joint volume", "min_joint_volume", 100), ("Error, largest", "error_max", 1000), ("Strain", "max_strain", 100),
                                  ("Frame, median", "ms_median", 1), ("Penetration", "max_penetration", 1000),
                                  ("folds alone", "max_fold", 1000)):
            column, = [i for i, words in enumerate(head) if words.startswith(title)]
            for row, m in zip(rows, page.json["methods"]):
                assert row[column].rstrip("\u2605") == shown(m["table"][key], scale), (title, row, m["table"])
        stars = {words: [row[0].split()[0] for row in rows if row[i].endswith("\u2605")] for i, words in enumerate(head)}
        assert stars["Strain, largest %"] == ["reference"] and len(stars["Error, largest mm"]) == 1, stars
        assert "reference" not in stars["Error, largest mm"], "it is no distance from itself"

    def frames():
        """Per clip: volume, penetration of all and of folds, crossing triangles, strain, two errors, time, and the volume of each joint."""
        assert len(page.tables) == 1 + 2 * 9, len(page.tables)
        for clip, start in ((0, 1), (1, 10)):
            frames = range(4 * clip, 4 * clip + 4)
            head, *rows = page.tables[start + 5]
            assert [words.strip() for words in head] == ["frame", "linear", "dualquat", "reference"], head
            for row, k in zip(rows, frames, strict=True):
                assert row == [str(30 + k % 4), *(shown(m["error"][k]["max"], 1000) for m in page.json["methods"][:2]), shown(None)], row
            joints = page.tables[start + 8][1:]
            volumes = [m["metrics"]["frames"] for m in page.json["methods"]]
            for row in joints:
                least = [min((v[k]["joint_volume"].get(row[0].strip()) for k in frames), default=None) if v[0]["joint_volume"] else None for v in volumes]
                assert row[1:] == [shown(x, 100) for x in least], (row, least)

    def pictures():
        assert len(page.pictures) == 3 * 4 and len(set(page.pictures)) == 12
        assert all(p[:4] == b"\x89PNG" for p in page.pictures)

    def advice():
        for reason in page.json["recommendation"]["reasons"]:
            assert reason.replace("`", "") in page.words, reason

    def hostile():
        path, made = os.path.join(folder, "<b>\u202e\"x\x01`.glb"), os.path.join(folder, "plain-names.html")
        renamed(tool, path, NASTY)
        tool.good("compare", path, "--frames", "30:31", "--clips", "1", *SMALL, "--methods", "linear,mixed", "-o", made)
        names = Plain(made)  # which refuses elements and attributes that are none of ours
        assert names.words.count("<script>alert(\"1\")</script>?<!-- ' & ") == 3, "a clip, a picture and a joint have the name"
        assert names.words.count("<b>\ufffd\"x\ufffd`.glb") == 3, "the title, the heading and the command line have the file's"

    def nothing():
        """A page that cannot be written leaves what was there."""
        kept = os.path.join(folder, "kept.html")
        with open(kept, "w") as f:
            f.write("kept")
        tool.bad(4, ["--page-limit"], "compare", *arguments, "-o", kept, "--page-limit", 0.1)
        done = tool("compare", "demo:hero", "--resolution", 30, "--fps", 2000, "--methods", "linear", "-o", kept,
                    interrupt_when=lambda: any(os.listdir(os.path.join(folder, "tmp", name)) for name in os.listdir(os.path.join(folder, "tmp"))))
        assert done.code == 130, done
        with open(kept) as f:
            assert f.read() == "kept"
        assert not [name for name in os.listdir(folder) if name.startswith("kept") and name != "kept.html"]

    for name, case in (("told", told), ("numbers", numbers), ("every_frame", frames), ("pictures", pictures), ("advice", advice), ("hostile_names", hostile), ("whole_or_not", nothing)):
        cases.run(f"without_a_player_{name}", case)


def copy_of(tool, folder, template=True):
    """The tool in a folder of its own, beside a template of ours or none: it must not matter whether the real one was built."""
    home, bin_folder = os.path.dirname(tool.path), os.path.join(folder, "bin" if template else "bare")
    os.makedirs(os.path.join(bin_folder, "report"))
    for name in os.listdir(home):
        if name in ("supple", "supple-import") or name.startswith("libsupple.so"):
            shutil.copy(os.path.join(home, name), bin_folder)
    if template:
        with open(os.path.join(bin_folder, "report", "report.html"), "w") as f:
            f.write(TEMPLATE)
    return Tool(os.path.join(bin_folder, "supple"))


with session(__doc__) as (built, all_cases, scratch):
    os.mkdir(os.path.join(scratch, "tmp"))
    os.mkdir(os.path.join(scratch, "folder.html"))
    os.environ["TMPDIR"] = os.path.join(scratch, "tmp")
    copy = copy_of(built, scratch)
    for section in (section_numbers, section_page, section_names, section_failures, section_inputs, section_template):
        section(copy, all_cases, scratch)
    section_plain(copy_of(built, scratch, template=False), all_cases, scratch)
