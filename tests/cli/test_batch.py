#!/usr/bin/env python3
"""test_batch.py --tool BUILD/supple: `supple batch`: what is there is not made again, what fails stops nothing, what is killed is whole or not there."""
import base64
import hashlib
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tool import SANITIZED, session  # noqa: E402

SMALL = ("--frames", "0:1", "--resolution", 12, "--method", "linear")
FAST = (*SMALL, "--no-pictures")
MARK = "$(touch hacked)"
HOSTILE = ["a'b \"c\" " + MARK + ".glb", "<script>alert(1)<_script>.glb", "new\nline.glb", "-o.glb", "~.glb", "a" * 200 + ".glb", "ümläut.glb", "a b.glb", "a_b.glb", "A_B.glb"]


def report(folder):
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        return json.load(file)


def by_name(folder):
    return {job["name"]: job for job in report(folder)["jobs"]}


def files(folder):
    """Every file below a folder with its bytes, but for what tells of times."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".json") and not name.startswith("report."):
                with open(os.path.join(path, name), "rb") as file:
                    found[os.path.relpath(os.path.join(path, name), folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def stamps(folder):
    """When each file of jobs was written, and which file that is."""
    return {path: (os.stat(os.path.join(folder, path)).st_mtime_ns, os.stat(os.path.join(folder, path)).st_ino) for path in files(folder)}


class Ground:
    """A folder with characters, made once; every case works on its own."""

    def __init__(self, tool, folder):
        self.tool, self.folder, self.count = tool, folder, 0
        self.arm, self.torus = os.path.join(folder, "arm.glb"), os.path.join(folder, "torus.glb")
        tool.good("demo", "arm", "--detail", 0.3, "-o", self.arm)
        tool.good("demo", "torus", "--detail", 0.3, "-o", self.torus)

    def make(self, *names, source=None):
        """A folder of copies of the arm, and a place for results."""
        self.count += 1
        folder = os.path.join(self.folder, f"case{self.count}")
        os.makedirs(os.path.join(folder, "in"))
        for name in names:
            shutil.copyfile(source or self.arm, os.path.join(folder, "in", name))
        return os.path.join(folder, "in"), os.path.join(folder, "out")


def check_folder(tool, ground):
    """Characters x clips x methods, in files of their own; a damaged one stops nothing."""
    characters, out = ground.make("one.glb", "two.glb")
    with open(os.path.join(characters, "bad.glb"), "w", encoding="utf-8") as file:
        file.write("no character")
    open(os.path.join(characters, "notes.txt"), "w").close()
    os.mkdir(os.path.join(characters, "folder.glb"))
    os.mkfifo(os.path.join(characters, "pipe.glb"))
    done = tool("batch", characters, "-o", out, *FAST, "--method", "dualquat", "--ending", ".glb", "--ending", ".npy")
    assert done.code == 5 and done.out == "", done
    lines = done.err.splitlines()
    assert len([line for line in lines if "warning: bad." in line]) == 2 and "2 of 10 jobs failed" in lines[-1], done.err
    jobs = by_name(out)
    names = {f"{c}.{clip}.{m}" for c in ("one", "two") for clip in ("bend", "twist") for m in ("linear", "dualquat")}
    assert set(jobs) == names | {"bad.linear", "bad.dualquat"}, sorted(jobs)
    for name in names:
        assert jobs[name]["state"] == "done" and jobs[name]["exit"] == 0 and jobs[name]["line"] is None, jobs[name]
        there = set(os.listdir(os.path.join(out, name)))
        assert there == {f"{name}.glb", f"{name}.npy", "metrics.json", "record.json"}, there
        assert jobs[name]["peak_mb"] > 5 and jobs[name]["processor_s"] > 0 and jobs[name]["summary"]["frames"] == 2, jobs[name]
    bad = jobs["bad.linear"]
    assert bad["state"] == "failed" and bad["exit"] == 3 and "bad.glb" in bad["line"] and bad["summary"] is None, bad
    assert report(out)["counts"] == {"jobs": 10, "done": 8, "failed": 2, "waiting": 0}
    assert [job["state"] for job in report(out)["jobs"][:2]] == ["failed", "failed"], "the worst are not first"


def check_numbers(tool, ground):
    """The report has the worst of what --metrics says, and the bytes are those of `skin`."""
    characters, out = ground.make("one.glb")
    tool.good("batch", characters, "-o", out, "--clip", "bend", "--frames", "0:3", "--resolution", 16, "--method", "mixed", "--no-pictures")
    job = by_name(out)["one.bend.mixed"]
    alone = os.path.join(out, "alone")
    tool.good("skin", os.path.join(characters, "one.glb"), "--clip", "bend", "--frames", "0:3", "--resolution", 16, "--method", "mixed",
              "--metrics", alone + ".json", "-o", alone + ".glb")
    with open(alone + ".json", encoding="utf-8") as file:
        metrics = json.load(file)
    frames, summary = metrics["frames"], job["summary"]
    assert len(frames) == summary["frames"] == 4 and summary["input"] == metrics["input"]
    for key, worst in (("crossed", max), ("max_penetration", max), ("inverted", max), ("max_strain", max), ("trust", min)):
        assert summary[key] == worst(frame[key] for frame in frames), key
    assert summary["harm"]["far"] == max(frame["harm"]["far"] for frame in frames) > 0
    with open(alone + ".glb", "rb") as x, open(os.path.join(out, "one.bend.mixed", "one.bend.mixed.glb"), "rb") as y:
        assert x.read() == y.read()


def check_resume(tool, ground):
    """Nothing is made twice, whatever the number of threads; what is asked for anew, or damaged, or gone, is."""
    characters, out = ground.make("one.glb", "two.glb")
    tool.good("batch", characters, "-o", out, *FAST)
    first, bytes_before = stamps(out), files(out)
    tool.good("batch", characters, "-o", out, *FAST, "--threads", 2, "--jobs", 1)
    assert stamps(out) == first, "something was made again"
    victim = os.path.join(out, "one.bend.linear", "one.bend.linear.glb")
    with open(victim, "ab") as file:
        file.write(b"x")
    os.unlink(os.path.join(out, "two.bend.linear", "two.bend.linear.glb"))
    os.unlink(os.path.join(out, "two.twist.linear", "record.json"))
    tool.good("batch", characters, "-o", out, *FAST)
    changed = {path.split("/")[0] for path, stamp in stamps(out).items() if stamp != first[path]}
    assert changed == {"one.bend.linear", "two.bend.linear", "two.twist.linear"}, changed
    assert files(out) == bytes_before
    shutil.copyfile(ground.torus, os.path.join(characters, "two.glb"))
    second = stamps(out)
    tool.good("batch", characters, "-o", out, *FAST)
    assert all(stamps(out)[path] == second[path] for path in second if path.startswith("one.")), "what did not change was made again"
    moved = characters + "-moved"
    os.rename(characters, moved)
    third = stamps(out)
    tool.good("batch", moved, "-o", out, *FAST)
    assert stamps(out) == third, "a folder that was moved was made again"
    os.unlink(os.path.join(moved, "two.glb"))
    tool.good("batch", moved, "-o", out, *FAST, "--clip", "bend", "--fps", 12)
    assert stamps(out)["one.bend.linear/one.bend.linear.glb"] != third["one.bend.linear/one.bend.linear.glb"], "other arguments, old results"


def check_failed_again(tool, ground):
    """What failed is tried again, and its failure is forgotten once it is well."""
    characters, out = ground.make("one.glb")
    path = os.path.join(characters, "one.glb")
    os.truncate(path, 100)
    assert tool("batch", characters, "-o", out, *FAST).code == 5
    assert tool("batch", characters, "-o", out, *FAST, "--report").code == 5
    assert report(out)["counts"]["failed"] == 1
    shutil.copyfile(ground.arm, path)
    tool.good("batch", characters, "-o", out, *FAST)
    assert report(out)["counts"] == {"jobs": 2, "done": 2, "failed": 0, "waiting": 0}


def check_print(tool, ground, how):
    """The lines, run by sh in any order, make the same bytes as --jobs, and the report without running anything."""
    characters, out = ground.make(*(HOSTILE if how == "hostile" else ["one.glb"]))
    other, arguments = out + "-other", (*SMALL, "--clip", "bend", "--ending", ".npy", "--ending", ".glb", "--set", "max-tets=3000", "--no-pictures")
    tool.good("batch", characters, "-o", other, *arguments, "--jobs", 2)
    printed = tool("batch", characters, "-o", out, *arguments, "--print")
    assert printed.code == 0 and printed.err == "", printed
    lines = printed.out.splitlines()
    assert len(lines) == len(os.listdir(characters)) == report(other)["counts"]["done"], printed.out
    elsewhere = out + "-elsewhere"
    os.makedirs(elsewhere)
    for line in reversed(lines):
        done = subprocess.run(["sh", "-c", line], cwd=elsewhere, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and done.stdout == "", (line, done)
    names = [job["name"].lower() for job in report(other)["jobs"]]
    assert len(set(names)) == len(names) and all(len(name) < 120 and not re.search(r"^[-.~]|[/\s'\"$<>]", name) for name in names), names
    before = stamps(out)
    assert files(out) == files(other) and len(before) == 2 * len(lines)
    assert tool("batch", characters, "-o", out, *arguments, "--print").out == ""
    tool.good("batch", characters, "-o", out, *arguments)
    assert stamps(out) == before and report(out)["counts"]["done"] == len(lines)
    assert os.listdir(elsewhere) == [], "a name was taken as a command"


def check_one_line(tool, ground):
    """A line of --print says itself how its job ended, and does nothing where it is done."""
    characters, out = ground.make("bad.glb")
    os.truncate(os.path.join(characters, "bad.glb"), 50)
    line = tool("batch", characters, "-o", out, *SMALL, "--print").out.splitlines()[0]
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=100)
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1 and "bad.glb" in done.stderr, done
    done = tool("batch", characters, "-o", out, *SMALL, "--report")
    assert done.code == 5 and report(out)["jobs"][0]["exit"] == 3
    for name in ("../up", "a/b", ".", "a~b", "x" * 200, ""):
        tool.bad(2, ["--job"], "batch", "demo:arm", "--clip", "bend", "--job", name, "--method", "linear", "-o", out)
    tool.bad(2, ["--job"], "batch", characters, "--job", "a", "--method", "linear", "-o", out)


def check_killed(tool, ground):
    """kill -9 in the middle, again and again: every file that has a name is whole, and the next run ends it."""
    characters, out = ground.make("one.glb", "two.glb")
    arguments = ["batch", characters, "-o", out, "--frames", "0:1", "--resolution", "14", "--method", "mixed", "--jobs", "2", "--no-pictures", "--ending", ".npy",
                 "--ending", ".obj"]
    whole = files_of_run(tool, arguments, out + "-whole")
    killed = 0
    for moment in (0.03, 0.08, 0.15, 0.25, 0.4):
        process = subprocess.Popen([tool.path, *arguments], stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(moment)
        if process.poll() is None:
            killed += 1
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for path, digest in (files(out) if os.path.isdir(out) else {}).items():
            if ".partial-" not in path:
                assert whole[path] == digest, f"{path} is not whole"
    assert killed > 0
    tool.good(*arguments)
    assert files(out) == whole, set(files(out)) ^ set(whole)


def files_of_run(tool, arguments, out):
    tool.good(*arguments[:3], out, *arguments[4:])
    return files(out)


def check_interrupted(tool, ground):
    """Ctrl-C ends the children too; what was done stays, the rest has no record."""
    characters, out = ground.make("one.glb", "two.glb")
    arguments = ("batch", characters, "-o", out, "--frames", "0:30", "--resolution", 40, "--method", "reference", "--jobs", 2)
    started = lambda: os.path.isdir(os.path.join(out, "one.bend.reference"))
    done = tool(*arguments, interrupt_when=lambda: started() and not time.sleep(0.3))
    assert done.code == 130 and len(done.err.splitlines()) == 1, done
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert out not in left, left
    assert not os.path.exists(os.path.join(out, "one.bend.reference", "record.json"))
    assert not any(".partial-" in path for path in files(out)), files(out)


def check_alone(tool, ground):
    """kill -9 of the batch alone: its children stop, and leave nothing unfinished."""
    characters, out = ground.make("one.glb")
    process = subprocess.Popen([tool.path, "batch", characters, "-o", out, "--frames", "0:30", "--resolution", "40", "--method", "reference", "--clip", "bend"],
                               stderr=subprocess.DEVNULL)
    running = lambda: out in subprocess.run(["pgrep", "-fa", "skin.*--metrics"], capture_output=True, text=True).stdout
    end = time.monotonic() + 60
    while not running() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.2)
    process.kill()
    process.wait()
    while running() and time.monotonic() < end:
        time.sleep(0.02)
    assert not running() and files(out) == {}, files(out)


def check_time_limit(tool, ground):
    characters, out = ground.make("one.glb")
    done = tool("batch", characters, "-o", out, "--clip", "bend", "--frames", "0:60", "--resolution", 60, "--method", "reference", "--time-limit", 0.5)
    assert done.code == 5 and "longer than 0.5 s" in done.err and done.seconds < 30, done
    assert report(out)["jobs"][0]["state"] == "failed"


def check_list(tool, ground):
    """Defaults, several methods and clips, files named from the list's folder, the command line before all."""
    characters, out = ground.make("one.glb", "two.glb")
    path = os.path.join(characters, "jobs.json")
    jobs = {"defaults": {"frames": "0:1", "resolution": 12, "method": "linear", "endings": [".npy"], "set": {"max-tets": 3000}},
            "jobs": [{"character": "one.glb", "clip": "bend"},
                     {"character": "two.glb", "clips": ["bend", "twist"], "methods": ["linear", "dualquat"], "endings": [".npy", ".pc2"]},
                     {"character": "demo:beam", "name": "my beam", "clip": 0, "frames": "2", "fps": 12.5, "dynamics": False}]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(jobs, file)
    tool.good("batch", path, "-o", out, "--no-pictures", cwd=ground.folder)
    done = by_name(out)
    beam = [name for name in done if name.startswith("my_beam.")]
    assert len(beam) == 1 and len(done) == 6, sorted(done)
    assert {"one.bend.linear", "two.bend.linear", "two.bend.dualquat", "two.twist.linear", "two.twist.dualquat"} < set(done)
    assert os.path.exists(os.path.join(out, "two.bend.linear", "two.bend.linear.pc2"))
    assert not os.path.exists(os.path.join(out, "one.bend.linear", "one.bend.linear.pc2"))
    assert done[beam[0]]["summary"]["frames"] == 1 and done["one.bend.linear"]["summary"]["frames"] == 2
    tool.good("batch", path, "-o", out + "2", "--frames", "0:2", "--method", "linear", "--no-pictures")
    assert {job["summary"]["frames"] for job in report(out + "2")["jobs"]} == {3}
    printed = tool("batch", path, "-o", out + "3", "--print").out.splitlines()
    assert len(printed) == 6 and all("--set=max-tets=3000" in line for line in printed), printed
    assert "--dynamics=off" in printed[-1] and "--fps=12.5" in printed[-1] and "--frames=2" in printed[-1]


BAD_LISTS = [
    ("{", ["line 1"]),
    ("[]", ["empty"]),
    ("{}", ["no list"]),
    ('{"jobs": [{"character": "one.glb"}], "job": 1}', ["'job'"]),
    ('[{"character": "one.glb"}, 5]', ["job 2", "no object"]),
    ('[{"clip": "bend"}]', ["job 1", "no character"]),
    ('[{"character": "none.glb", "name": "shot 7"}]', ["job 1", "shot 7", "none.glb"]),
    ('[{"character": "one.glb", "methd": "linear"}]', ["job 1", "methd", "method"]),
    ('[{"character": "one.glb", "method": "liquid"}]', ["job 1", "liquid", "mixed"]),
    ('[{"character": "one.glb", "methods": ["linear", "linear"]}]', ["job 1", "twice"]),
    ('[{"character": "one.glb", "method": "linear", "methods": ["mixed"]}]', ["job 1", "twice"]),
    ('[{"character": "one.glb", "endings": [".exe"]}]', ["job 1", ".exe", ".glb"]),
    ('[{"character": "one.glb", "ending": "/../../x.glb"}]', ["job 1", "ending"]),
    ('[{"character": "one.glb", "frames": "3:1"}]', ["job 1", "frames"]),
    ('[{"character": "one.glb", "fps": "fast"}]', ["job 1", "fps"]),
    ('[{"character": "one.glb", "fps": null}, {"character": "one.glb", "fps": true}]', ["job 2", "fps"]),
    ('[{"character": "one.glb", "set": {"a": [1]}}]', ["job 1", "set"]),
    ('[{"character": "one.glb", "strict": "yes"}]', ["job 1", "strict"]),
    ('[{"character": "one.glb", "motion": "none.bvh"}]', ["job 1", "motion", "none.bvh"]),
    ('[{"character": "one.glb", "metrics": "x.json"}]', ["job 1", "metrics"]),
    ('[{"character": "one.glb", "threads": 2}]', ["job 1", "threads"]),
    ('[{"character": "one.glb", "name": ""}]', ["job 1", "name"]),
    ('[{"character": "one.glb\\u0000.txt"}]', ["line 1"]),
    ('[{"character": "one.glb", "clip": "a", "clip": "b"}]', ["duplicate"]),
    ('[{"character": "one.glb", "clip": "bend"}, {"character": "one.glb", "clip": "bend"}]', ["job 2 is the same as job 1"]),
    ('{"defaults": {"name": "x"}, "jobs": [{"character": "one.glb"}]}', ["defaults", "name"]),
    ('{"defaults": {"resolution": -5}, "jobs": [{"character": "one.glb"}]}', ["job 1", "resolution"]),
    ("[" * 100000, ["line 1"]),
]


def check_bad_lists(tool, ground):
    """One line that names the job, exit code 3, and nothing was made."""
    characters, out = ground.make("one.glb")
    path = os.path.join(characters, "jobs.json")
    for text, words in BAD_LISTS:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = tool.bad(3, [word.encode().decode() for word in words], "batch", path, "-o", out)
        assert "jobs.json" in done.err, done
        assert not os.path.exists(out), text
    os.unlink(path)
    os.mkfifo(path)
    tool.bad(3, ["regular"], "batch", path, "-o", out)


def check_command_line(tool, ground):
    characters, out = ground.make("one.glb")
    empty = os.path.join(ground.folder, "empty")
    os.makedirs(empty, exist_ok=True)
    tool.bad(2, ["-o"], "batch", characters)
    tool.bad(2, ["input"], "batch", "-o", out)
    tool.bad(2, ["liquid"], "batch", characters, "-o", out, "--method", "liquid")
    tool.bad(2, ["--jobs"], "batch", characters, "-o", out, "--jobs", 0)
    tool.bad(2, ["--ending"], "batch", characters, "-o", out, "--ending", "glb")
    tool.bad(2, ["--frames"], "batch", characters, "-o", out, "--frames", "x")
    tool.bad(2, ["--clip", "--motion"], "batch", characters, "-o", out, "--clip", "a", "--motion", os.path.join(characters, "one.glb"))
    tool.bad(2, ["none.json"], "batch", characters, "-o", out, "--material", "none.json")
    tool.bad(3, ["no characters"], "batch", empty, "-o", out)
    tool.bad(3, ["none.json"], "batch", "none.json", "-o", out)
    tool.bad(3, ["none.glb"], "batch", "none.glb", "-o", out)
    tool.bad(3, ["/dev/null"], "batch", "/dev/null", "-o", out)
    os.makedirs(os.path.join(out + "-report", "report.html"))
    tool.bad(4, ["report.html"], "batch", characters, "-o", out + "-report", *FAST)
    assert os.listdir(out + "-report") == ["report.html"], "it was found when all was done"
    tool.bad(4, ["one.glb"], "batch", characters, "-o", os.path.join(characters, "one.glb"))
    tool.bad(4, ["folder"], "batch", characters, "-o", os.path.join(out, "a", "b"))


def check_memory(tool, ground):
    """What would not fit beside another waits until it is alone: of two jobs in a small share of memory never both run."""
    characters, out = ground.make("one.glb", "two.glb")
    seen = []

    def running():
        text = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        return sum(f" skin " in line and out in line for line in text.splitlines())

    for memory, most in ((10, 1), (100000, 2)):
        process = subprocess.Popen([tool.path, "batch", characters, "-o", out + str(memory), "--frames", "0:12", "--resolution", "24", "--method", "mixed", "--no-pictures",
                                    "--clip", "bend", "--jobs", "2", "--memory", str(memory), "--no-cache"], stderr=subprocess.PIPE)
        peak = 0
        while process.poll() is None:
            peak = max(peak, running())
        assert process.returncode == 0, process.stderr.read()
        seen.append(peak)
        process.stderr.close()
    assert seen == [1, 2], seen


class Markup(html.parser.HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.pictures, self.rows, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        if tag == "img":
            self.pictures.append(attributes["src"])
        if tag == "tr" and "data-name" in attributes:
            self.rows.append((attributes["class"], attributes["data-name"]))
        assert not any(name.startswith("on") for name in attributes), attributes

    def handle_data(self, data):
        self.text += data


def png_size(data):
    """Width and height of a PNG whose rows are all there."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == int.from_bytes(data[at + 8 + size:at + 12 + size], "big"), kind
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    assert len(zlib.decompress(packed)) == height * (3 * width + 1)
    return width, height


def check_page(tool, ground):
    """One file: hostile names are texts, pictures are whole, the one script is that which the policy names, the worst are first."""
    some = HOSTILE[:4]
    characters, out = ground.make(*some)
    with open(os.path.join(characters, "<img src=x onerror=1>.glb"), "w", encoding="utf-8") as file:
        file.write("<b>no</b>")
    assert tool("batch", characters, "-o", out, "--frames", "0", "--method", "linear", "--clip", "bend").code == 5
    with open(os.path.join(out, "report.html"), encoding="utf-8") as file:
        text = file.read()
    page, jobs = Markup(text), report(out)["jobs"]
    assert page.tags.count("script") == 1 and page.tags.count("img") == len(some) == len(page.pictures), page.tags
    assert [name for _, name in page.rows] == [job["name"] for job in jobs] and page.rows[0][0] == "failed"
    for picture in page.pictures:
        width, height = png_size(base64.b64decode(picture.split("data:image/png;base64,")[1], validate=True))
        assert 40 < width <= 420 and 40 < height <= 260, (width, height)
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    wanted = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{wanted}'" in text, f"cli/batch_page.c: SCRIPT_HASH is to be {wanted}"
    assert "<script>alert(1)<_script>.glb" in page.text and MARK in page.text
    names = [job["name"].lower() for job in jobs]
    assert len(set(names)) == len(names) == len(some) + 1, "two jobs have one name"
    for name in names:
        assert len(name) < 120 and "/" not in name and not name.startswith(("-", ".", "~")), name
    assert sorted(os.listdir(out)) == sorted([job["name"] for job in jobs] + ["report.html", "report.json"])


def check_record_of_others(tool, ground):
    """Records are other people's files: names in them lead nowhere, and nonsense is no record."""
    characters, out = ground.make("one.glb")
    tool.good("batch", characters, "-o", out, *FAST, "--clip", "bend")
    path, precious = os.path.join(out, "one.bend.linear", "record.json"), os.path.join(out, "precious")
    with open(precious, "w", encoding="utf-8") as file:
        file.write("precious")
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    for files_of_it in ([{"name": "../precious", "bytes": 8}], [{"name": precious, "bytes": 8}], "x", [], [1], {"name": "a"}, None):
        for key in (record["key"], "0" * 32):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**record, "files": files_of_it, "key": key, "seconds": "<b>", "summary": [1], "told": {"a": 1}}, file)
            tool.good("batch", characters, "-o", out, *FAST, "--clip", "bend")
            assert os.path.exists(precious), "a record's names lead out of its folder"
    for text in ("", "[]", "{" * 5000, "\0"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        tool.good("batch", characters, "-o", out, *FAST, "--clip", "bend")
    shutil.rmtree(os.path.join(out, "one.bend.linear"))
    os.symlink(characters, os.path.join(out, "one.bend.linear"))
    done = tool("batch", characters, "-o", out, *FAST, "--clip", "bend")
    assert done.code == 5 and os.listdir(characters) == ["one.glb"], f"{os.listdir(characters)}: a link in place of a job's folder was followed"


def main():
    with session(__doc__) as (tool, cases, folder):
        ground = Ground(tool, folder)
        cases.run("a_folder", check_folder, tool, ground)
        cases.run("numbers_are_those_of_skin", check_numbers, tool, ground)
        cases.run("resumes", check_resume, tool, ground)
        cases.run("failures_are_tried_again", check_failed_again, tool, ground)
        cases.run("lines_for_a_queue", check_print, tool, ground, "plain")
        cases.run("lines_with_hostile_names", check_print, tool, ground, "hostile")
        cases.run("one_line", check_one_line, tool, ground)
        cases.run("killed", check_killed, tool, ground)
        if not SANITIZED:
            cases.run("interrupted", check_interrupted, tool, ground)
            cases.run("killed_alone", check_alone, tool, ground)
            cases.run("memory", check_memory, tool, ground)
        cases.run("time_limit", check_time_limit, tool, ground)
        cases.run("list", check_list, tool, ground)
        cases.run("bad_lists", check_bad_lists, tool, ground)
        cases.run("command_line", check_command_line, tool, ground)
        cases.run("page", check_page, tool, ground)
        cases.run("records_of_others", check_record_of_others, tool, ground)


if __name__ == "__main__":
    main()
