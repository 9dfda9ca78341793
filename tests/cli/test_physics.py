#!/usr/bin/env python3
"""test_physics.py --tool BUILD/supple: the simulated methods through the tool: equilibrium by tests/checks, metrics, dumps, materials,
forces, the user's own tetrahedra, settings, threads."""
import json
import math
import os
import re

import numpy as np

import mouth
from tool import check, data, same_files, session

SMALL = ("--clip", "bend", "--resolution", 24)
EXACT = ("--method", "mixed", "--set", "tolerance=1e-6")  # its own is 1e-5
FRAMES = {"frame", "time", "ms", "iterations", "residual", "energy", "volume_ratio", "inverted", "min_det_f", "contacts", "crossed", "max_penetration", "max_fold", "own_penetration",
          "max_strain", "joint_volume"}
TIMES = {"total", "pose", "contact", "solve", "upsample", "slide", "checks"}
BODY = {"kind", "vertices", "tets", "surface_vertices", "constrained", "size_m", "min_dihedral_deg", "max_dihedral_deg", "volume"}
SETUP = {"load", "body", "weights", "factor", "flesh", "rest", "checks", "slide", "other", "total"}


def check_equilibrium(dump, energy, tolerance):
    """The independent program's word on a dump."""
    code, text = check("check_equilibrium.py", dump, "--energy", energy, "--tol", tolerance)
    said = re.search(r"worst residual (\S+) \(.*\), largest \|F-R\| (\S+)", text)
    assert said and code == 0, f"{energy}: {text}"
    print(f"    {energy}: {said.group(0)}")
    assert float(said.group(1)) <= tolerance and float(said.group(2)) > 1e-6, said.group(0)


def run(tool, folder, name, *arguments, character="demo:arm", frames="0:20"):
    """A run with metrics and a dump; returns the three."""
    out, metrics, dump = (os.path.join(folder, f"{name}.{ending}") for ending in ("npy", "metrics.json", "dump"))
    tool.good("skin", character, "-o", out, "--frames", frames, "--metrics", metrics, "--dump-sim", dump, *arguments, timeout=400)
    with open(metrics, encoding="utf-8") as file:
        return np.load(out), json.load(file), dump


def check_mixed(tool, folder, name, energy, tolerance, *arguments):
    frames, metrics, dump = run(tool, folder, name, *SMALL, *arguments)
    assert len(frames) == 21 and np.isfinite(frames).all()
    assert max(frame["residual"] for frame in metrics["frames"]) <= tolerance
    assert all(frame["inverted"] == 0 for frame in metrics["frames"])
    check_equilibrium(dump, energy, tolerance)


def contact_force(dump, tag):
    """Sums of what contacts do to free vertices, of what they do to the body, and of the elastic forces on what bones hold."""
    load = lambda name: np.load(os.path.join(dump, f"{name}.npy"))
    rest, tets, bone, lame, x = load("rest"), load("tets").astype(int), load("bone"), load("lame"), load("x_" + tag)
    turn, rows = load("rot_" + tag).reshape(-1, 3, 3), load("contact_" + tag).reshape(-1, 15)
    edges = lambda p: np.stack([p[tets[:, k]] - p[tets[:, 0]] for k in (1, 2, 3)], axis=2)
    inverse, volume = np.linalg.inv(edges(rest)), np.linalg.det(edges(rest)) / 6
    strain = edges(x) @ inverse - turn
    trace = np.einsum("nji,nji->n", turn, strain)
    stress = 2 * lame[:, 0, None, None] * strain + (lame[:, 1] * trace)[:, None, None] * turn
    corner = -volume[:, None, None] * (stress @ inverse.transpose(0, 2, 1))
    elastic = np.zeros_like(x)
    for k, part in enumerate([-corner.sum(axis=2)] + [corner[:, :, i] for i in range(3)]):
        np.add.at(elastic, tets[:, k], part)
    touched, place = rows[:, 0].astype(int), rows[:, 1:4].astype(int)
    itself = place[:, 0] >= 0
    target = rows[:, 7:10].copy()
    target[itself] = np.einsum("nk,nkj->nj", rows[itself, 4:7], x[place[itself]])
    push = -rows[:, 13:14] * ((x[touched] - target) * rows[:, 10:13]).sum(1, keepdims=True) * rows[:, 10:13]
    contact = np.zeros_like(x)
    np.add.at(contact, touched, push)
    for k in range(3):
        np.add.at(contact, place[itself, k], -push[itself] * rows[itself, 4 + k, None])
    return push, contact.sum(axis=0), elastic[bone >= 0].sum(axis=0)


def check_steklov(tool, folder):
    """In contact: balance by the independent program, action and reaction between two sides of a fold, and between a plane and the bones."""
    way = ("--method", "steklov", "--set", "springs=normal", *SMALL)
    _, metrics, dump = run(tool, folder, "fold", *way, "--collide", "self", "--set", "bounded=off", frames="38:48")
    assert metrics["frames"][-1]["contact_pairs"] > 10, metrics["frames"][-1]["contact_pairs"]
    check_equilibrium(dump, "exrotated", 1e-5)
    push, total, held = contact_force(dump, "0048")
    scale = abs(push).sum()
    assert abs(total).max() < 1e-9 * scale and abs(held).max() < 1e-2 * scale, (total, held, scale)
    plane = write(folder, "ground.json", '{"colliders": [{"plane": {"point": [0, 0, -0.028], "normal": [0, 0, 1]}}]}')
    _, metrics, dump = run(tool, folder, "plane", *way, "--collide", "world", "--collider", plane, frames="0:2")
    assert metrics["frames"][-1]["contact_pairs"] > 5
    check_equilibrium(dump, "exrotated", 1e-5)
    push, total, held = contact_force(dump, "0002")
    assert total[2] > 0.9 * abs(push).sum() and abs(total - held).max() < 1e-2 * total[2], (total, held)


def check_barrier(tool, folder):
    """What a barrier does, of flesh, a plane and a ball, balances by the independent program as by the tool itself, and not without."""
    world = write(folder, "things.json", '{"colliders": [{"plane": {"point": [0, 0, -0.028], "normal": [0, 0, 1]}}, '
                  '{"sphere": {"center": [0.25, 0, 0.1], "radius": 0.07}}]}')
    way = ("--method", "reference", "--set", "still=0", "--set", "trust=off", *SMALL)
    for name, frames, more in (("things", "0:2", ("--collider", world)), ("elbow", "18:20", ("--collide", "self"))):
        _, metrics, dump = run(tool, folder, name, *way, *more, frames=frames)
        code, text = check("check_equilibrium.py", dump, "--energy", "corot", "--tol", 1e-6)
        said = [float(value) for value in re.findall(r"frame \d+: residual ([^,]+),", text)]
        own = [frame["residual"] for frame in metrics["frames"]]
        assert code == 0 and np.allclose(said, own, rtol=0.02, atol=0), (text, own)
        assert all(frame["contacts"] > 0 for frame in metrics["frames"]), metrics["frames"]
        kept = [file for file in os.listdir(dump) if file.startswith("barrier_")]
        assert len(kept) == 3 and len([file for file in os.listdir(dump) if file.startswith("world_")]) == (3 if name == "things" else 0)
        for file in kept:
            os.remove(os.path.join(dump, file))
        code, text = check("check_equilibrium.py", dump, "--energy", "corot", "--tol", 1e-5)
        assert code == 1, text


def check_frames(tool, folder):
    """Where flesh meets flesh a range has the bits of the whole clip; --frames-fast begins with its first frame."""
    def play(name, *more):
        out = os.path.join(folder, f"{name}.npy")
        tool.good("skin", "demo:arm", *SMALL, "--method", "reference", "--collide", "self", "--set", "trust=off", "-o", out, *more, timeout=400)
        return np.load(out)

    whole, part = play("whole", "--frames", "0:25"), play("part", "--frames", "24:25")
    assert len(whole) == 26 and len(part) == 2 and whole[24:].tobytes() == part.tobytes(), abs(whole[24:] - part).max()
    fast = play("fast", "--frames", "24:25", "--frames-fast")
    assert fast.shape == part.shape and np.isfinite(fast).all() and fast.tobytes() != part.tobytes()
    assert abs(fast - part).max() < 0.02 * np.ptp(part, axis=(0, 1)).max(), abs(fast - part).max()
    for words, said in ((("--frames-fast",), "--frames-fast: goes with --frames A:B"),
                        (("--frames", "3:1", "--frames-fast"), "--frames 3:1"),
                        (("--set", "width=-1"), "width"), (("--set", "energy=neohookean-exp"), "neohookean-log"),
                        (("--dynamics", "on"), "dynamics: method reference has none")):
        tool.bad((2, 3), (said,), "skin", "demo:arm", "--clip", "bend", "--method", "reference", "-o", os.path.join(folder, "no.npy"), *words)


def check_no_inversion(tool, folder):
    """A law that is a barrier keeps every tetrahedron of a strong bend, where the stable one of the same kind does not."""
    way = ("--method", "reference", "--set", "trust=off", *SMALL)
    for energy, more in (("neohookean", ()), ("neohookean-log", ()), ("neohookean-log", ("--collide", "self"))):
        _, metrics, _ = run(tool, folder, energy, *way, "--set", f"energy={energy}", "--frames-fast", *more, frames="45:46")
        most, least = (kind(frame[key] for frame in metrics["frames"]) for kind, key in ((max, "inverted"), (min, "min_det_f")))
        assert (most == 0 and least > 0.05) == (energy == "neohookean-log"), (energy, more, most, least)
        assert all(frame.get("held_inverted", 0) == 0 for frame in metrics["frames"])


def check_metrics(tool, folder):
    """Every key of the contract is there, in its place, with a number where it has a meaning."""
    frames, m, dump = run(tool, folder, "metrics", "--method", "mixed", *SMALL, "--threads", 1, frames="3:7")
    assert {"supple", "method", "threads", "input", "body", "setup_ms", "peak_mb", "frames"} <= set(m)
    assert m["method"] == "mixed" and m["threads"] == 1 and m["peak_mb"] > 1
    assert set(m["input"]) == {"vertices", "triangles", "joints"} and m["input"]["vertices"] == frames.shape[1]
    assert BODY <= set(m["body"]) and m["body"]["kind"] == "tets", m["body"]
    assert all(isinstance(m["body"][key], (int, float)) and m["body"][key] > 0 for key in BODY - {"kind"}), m["body"]
    assert SETUP <= set(m["setup_ms"]) and m["setup_ms"]["total"] > 0
    assert [frame["frame"] for frame in m["frames"]] == [3, 4, 5, 6, 7]
    for frame in m["frames"]:
        assert FRAMES <= set(frame) and TIMES <= set(frame["ms"]), FRAMES - set(frame)
        assert abs(frame["time"] - frame["frame"] / 30) < 1e-6
        for key in ("iterations", "residual", "energy", "volume_ratio", "inverted", "min_det_f", "max_strain"):
            assert isinstance(frame[key], (int, float)) and math.isfinite(frame[key]), key
        assert 0 <= frame["max_fold"] <= frame["max_penetration"] < 0.1 and frame["crossed"] >= 0 and frame["ms"]["slide"] is None
        assert list(frame["joint_volume"]) == ["forearm"] and 0.5 < frame["joint_volume"]["forearm"] < 1.5
    names = sorted(os.listdir(dump))
    assert names == sorted([f"{name}.npy" for name in ("bone", "joint", "lame", "merged", "rest", "role", "skin", "surface", "tets")] +
                           [f"{kind}_{k:04d}.npy" for kind in ("rot", "x") for k in range(3, 8)]), names
    assert np.load(os.path.join(dump, "tets.npy")).shape == (m["body"]["tets"], 4)
    assert np.load(os.path.join(dump, "x_0003.npy")).shape == (m["body"]["vertices"], 3)
    assert (np.load(os.path.join(dump, "bone.npy")) >= 0).sum() == m["body"]["constrained"]
    assert len(np.load(os.path.join(dump, "skin.npy"))) == len(np.load(os.path.join(dump, "role.npy"))) == m["input"]["vertices"]
    assert abs(frames[0] - frames[-1]).max() > 1e-3


def check_baseline_metrics(tool, folder):
    """Every key is there for methods without flesh too, null where it has no meaning."""
    out, metrics = os.path.join(folder, "plain.npy"), os.path.join(folder, "plain.json")
    tool.good("skin", "demo:arm", "-o", out, "--method", "dualquat", "--frames", "0:1", "--metrics", metrics)
    with open(metrics, encoding="utf-8") as file:
        m = json.load(file)
    assert BODY <= set(m["body"]) and SETUP <= set(m["setup_ms"]) and m["body"]["kind"] is None
    assert m["body"]["size_m"] > 0 and all(m["body"][key] is None for key in BODY - {"size_m"}), m["body"]
    for frame in m["frames"]:
        assert FRAMES <= set(frame) and frame["residual"] is None and frame["inverted"] is None and frame["joint_volume"] is None
        assert frame["crossed"] >= 0 and frame["max_penetration"] >= frame["max_fold"] >= 0


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_bad_files(tool, folder, option, files):
    """Each is refused with exit 3 and one line that says what is wrong; nothing is written."""
    out = os.path.join(folder, "refused.npy")
    for i, (words, text) in enumerate(files):
        path = write(folder, f"bad{i}.json", text)
        tool.bad(3, [os.path.basename(path), *words], "skin", "demo:arm", "-o", out, "--method", "mixed", *SMALL, option, path)
        assert not os.path.exists(out)
    tool.bad(3, ["nowhere.json"], "skin", "demo:arm", "-o", out, "--method", "mixed", *SMALL, option, os.path.join(folder, "nowhere.json"))


MATERIALS = (
    (["stiffness"], '{"default": {"stiffness": 1e4}}'),
    (["poisson"], '{"default": {"poisson": 0.5}}'),
    (["young"], '{"default": {"young": -1}}'),
    (["density"], '{"default": {"density": -3}}'),
    (["joint"], '{"regions": [{"name": "tail", "joint": "tail*", "young": 1e5}]}'),
    (["'far'"], '{"regions": [{"name": "far", "box": [[90, 90, 90], [91, 91, 91]], "young": 1e5}]}'),
    ([], '{"default": {"young": 1e4}'),
    ([], "[1, 2]"),
)
FORCES = (
    (["push"], '{"forces": [{"name": "wind", "joint": "forearm", "push": [0, 0, 1]}]}'),
    (["tail"], '{"forces": [{"name": "wind", "joint": "tail", "force": [0, 0, 1]}]}'),
    (["force"], '{"forces": [{"name": "wind", "joint": "forearm", "force": [0, 1]}]}'),
    (["vert"], '{"forces": [{"vertices": [99999999], "force": [0, 0, 1]}]}'),
    ([], '{"forces": 7}'),
)


def check_material(tool, folder):
    """A stiffer forearm strains less; the dump has its Lame parameters."""
    path = write(folder, "material.json", '{"default": {"young": 1e4, "poisson": 0.4}, "regions": [{"joint": "forearm", "young": 1e6}]}')
    _, m, dump = run(tool, folder, "stiff", *EXACT, *SMALL, "--material", path, frames="0:30")
    lame = np.load(os.path.join(dump, "lame.npy"))
    mu = {round(1e4 / 2.8, 6), round(1e6 / 2.8, 6)}
    assert {round(value, 6) for value in lame[:, 0]} == mu, set(lame[:, 0])
    x, rest, tets = (np.load(os.path.join(dump, name)) for name in ("x_0030.npy", "rest.npy", "tets.npy"))
    edges = lambda p: np.stack([p[tets[:, k]] - p[tets[:, 0]] for k in (1, 2, 3)], axis=2)
    strain = abs(np.linalg.svd(edges(x) @ np.linalg.inv(edges(rest)), compute_uv=False) - 1).max(axis=1)
    hard = lame[:, 0] > 1e5
    assert strain[hard].mean() < 0.3 * strain[~hard].mean(), (strain[hard].mean(), strain[~hard].mean())
    check_equilibrium(dump, "mixed", 1e-6)
    assert m["frames"][-1]["residual"] <= 1e-6


def check_forces(tool, folder):
    """A push on some vertices, from its frame on: it moves them, and the dump balances with it."""
    path = write(folder, "push.json", '{"forces": [{"vertices": [1200, 1201, 1202, 1203], "force": [0, -3, 0], "frames": [2, 4]}]}')
    free, _, _ = run(tool, folder, "free", *EXACT, *SMALL, frames="0:6")
    pushed, _, dump = run(tool, folder, "pushed", *EXACT, *SMALL, "--forces", path, frames="0:6")
    moved = abs(pushed - free).max(axis=(1, 2))
    assert moved[[0, 1, 5, 6]].max() < 1e-5 < 1e-4 < moved[[2, 3, 4]].min(), moved
    check_equilibrium(dump, "mixed", 1e-6)
    fext = np.load(os.path.join(dump, "fext_0003.npy"))
    assert abs(fext.sum(axis=0) - [0, -3, 0]).max() < 1e-6, fext.sum(axis=0)
    assert abs(np.load(os.path.join(dump, "fext_0005.npy"))).max() == 0


def check_own_tets(tool, folder, character, tets, clip, count):
    """The user's own tetrahedra are taken as they are."""
    character, tets = data(character), data(tets)
    frames, m, dump = run(tool, folder, "own", *EXACT, "--clip", clip, "--body", tets, character=character, frames="8:11")
    assert m["body"]["tets"] == count, m["body"]
    assert np.isfinite(frames).all() and max(frame["residual"] for frame in m["frames"]) <= 1e-6
    plain = os.path.join(folder, "plain.npy")
    tool.good("skin", character, "-o", plain, "--method", "linear", "--clip", clip, "--frames", "8:11")
    size = np.linalg.norm(np.ptp(frames[0], axis=0))
    apart = np.linalg.norm(frames - np.load(plain), axis=2)
    print(f"    {m['body']['tets']} tets, {m['body']['constrained']} held, from linear: mean {apart.mean() / size:.2%}, "
          f"largest {apart.max() / size:.2%} of the diagonal, volume {m['frames'][-1]['volume_ratio']:.3f}")
    assert apart.mean() < 0.02 * size
    check_equilibrium(dump, "mixed", 1e-6)


def check_prism(tool, folder):
    """Prisms: three positive tets a triangle, bone vertices after the skin's; every method is in equilibrium; both kinds of upsampling."""
    for method, energy in (("mixed", "mixed"), ("reference", "corot")):
        frames, m, dump = run(tool, folder, f"prism_{method}", "--method", method, "--set", "tolerance=1e-6", "--body", "prism", *SMALL, frames="0:12")
        rest, tets, bone, surface = (np.load(os.path.join(dump, f"{name}.npy")) for name in ("rest", "tets", "bone", "surface"))
        n = len(rest) // 2
        assert m["body"]["kind"] == "prism" and m["body"]["surface_vertices"] == n and len(tets) == 3 * len(surface)
        edges = rest[tets[:, 1:]] - rest[tets[:, :1]]
        assert np.linalg.det(edges).min() > 0 and (bone[:n] == -1).all() and (bone[n:] >= 0).mean() > 0.5 and surface.max() == n - 1
        assert all(set(tet % n) == set(triangle) for tet, triangle in zip(tets[::3], surface))
        assert np.isfinite(frames).all() and max(frame["residual"] for frame in m["frames"]) <= 1e-6
        check_equilibrium(dump, energy, 1e-6)
    along, m, _ = run(tool, folder, "prism_normal", "--method", "reference", "--body", "prism", "--set", "upsample=normal", *SMALL, frames="0:12")
    size = np.linalg.norm(np.ptp(frames[0], axis=0))
    apart = np.linalg.norm(along - frames, axis=2).max(axis=1) / size
    print(f"    normal and smooth upsampling are apart by {apart[0]:.1e} at rest, {apart[-1]:.2%} bent, of the diagonal")
    assert apart[0] < 1e-5 < apart[-1] < 0.02
    tool.bad(2, ["prismatic"], "skin", "demo:arm", "-o", os.path.join(folder, "no.npy"), "--clip", "bend", "--body", "prismatic")


def check_bad_body(tool, folder):
    out = os.path.join(folder, "refused.npy")
    bad = write(folder, "bad.mesh", "MeshVersionFormatted 1\nDimension 3\nVertices\n4\n0 0 0 0\n1 0 0 0\n0 1 0 0\n0 0 1 0\nTetrahedra\n1\n1 2 3 9 0\nEnd\n")
    far = write(folder, "far.mesh", "MeshVersionFormatted 1\nDimension 3\nVertices\n4\n90 0 0 0\n91 0 0 0\n90 1 0 0\n90 0 1 0\nTetrahedra\n1\n1 2 3 4 0\nEnd\n")
    tool.bad(3, ["bad.mesh"], "skin", "demo:arm", "-o", out, "--clip", "bend", "--method", "mixed", "--body", bad)
    tool.bad((2, 3), ["none.mesh"], "skin", "demo:arm", "-o", out, "--clip", "bend", "--method", "mixed", "--body", os.path.join(folder, "none.mesh"))
    for method in ("mixed", "auto"):  # the user's own tets are never done without
        tool.bad(3, ["not this character"], "skin", "demo:arm", "-o", out, "--clip", "bend", "--method", method, "--body", far, "--frames", "0:1")


def check_unread(tool, folder):
    """Files about flesh are not left unread: `auto` does not go without flesh for a wrong file, a baseline takes none."""
    out, dump = os.path.join(folder, "refused.npy"), os.path.join(folder, "no_dump")
    wrong = write(folder, "wrong.json", '{"default": {"poisson": 0.5}}')
    good = write(folder, "good.json", '{"default": {"young": 1e4}}')
    base = ("skin", "demo:arm", "-o", out, "--frames", "0:1", *SMALL)
    tool.bad(3, ["poisson"], *base, "--material", wrong)
    tool.bad(3, ["wrong.json"], *base, "--forces", wrong)
    tool.bad(2, ["linear", "good.json"], *base, "--method", "linear", "--material", good)
    tool.bad(2, ["linear"], *base, "--method", "linear", "--dump-sim", dump)
    assert not os.path.exists(out) and not os.path.exists(dump)


def check_trouble(tool, folder):
    """What was written all the same is told: inverted tetrahedra, and solves that ended early."""
    out = os.path.join(folder, "trouble.npy")
    skin = ("skin", "demo:arm", "-o", out, "--method", "mixed", *SMALL)
    done = tool.good(*skin, "--frames", "0:5")
    assert "inverted" not in done.err and "tolerance" not in done.err, done.err
    done = tool.good(*skin, "--frames", "49", "--verbose")
    assert "inverted:" in done.err and "frame 49" in done.err, done.err
    done = tool.good(*skin, "--frames", "20:22", "--set", "iterations=1", "--set", "solver=levels")
    assert "3 frames did not reach the tolerance" in done.err and "--set iterations=N" in done.err, done.err
    for method, limit in (("projective", "iterations"), ("steklov", "steps"), ("reference", "iterations")):  # by their own names
        done = tool.good("skin", "demo:arm", "-o", out, "--method", method, *SMALL, "--frames", "40", "--set", limit + "=1", "--set", "tolerance=1e-9")
        assert "1 frame did not reach" in done.err and f"--set {limit}=N allows more" in done.err, done.err


def check_settings(tool, folder):
    out = os.path.join(folder, "refused.npy")
    base = ("skin", "demo:arm", "-o", out, "--method", "mixed", *SMALL, "--frames", "0:1", "--set")
    tool.bad(2, ["stiffness"], *base, "stiffness=3")
    tool.bad(2, ["energy", "neohookean"], *base, "energy=rubber")
    tool.bad(2, ["tolerance"], *base, "tolerance=0")
    tool.bad(2, ["tolerance"], *base, "tolerance=nan")
    tool.bad(2, ["tolerance"], *base, "tolerance=1e-6x")
    tool.bad(2, [], *base, "tolerance")
    tool.bad(2, ["max-tets"], *base, "max-tets=none")
    tool.bad(2, ["verify"], *base, "verify=-1")
    assert not os.path.exists(out)


def check_verify(tool, folder):
    """--set verify=2 compares two frames with the reference: a line each, and the metrics know which."""
    out, metrics = os.path.join(folder, "verify.npy"), os.path.join(folder, "verify.json")
    done = tool.good("skin", "demo:arm", "-o", out, "--method", "mixed", *SMALL, "--frames", "0:20", "--set", "verify=2", "--metrics", metrics)
    lines = [line for line in done.err.splitlines() if re.search(r"reference", line)]
    assert len(lines) == 2, done.err
    print("    " + "\n    ".join(lines))
    with open(metrics, encoding="utf-8") as file:
        told = [frame for frame in json.load(file)["frames"] if frame["verify_mean"] is not None]
    assert len(told) == 2 and all(0 <= frame["verify_mean"] <= frame["verify_max"] < 0.05 for frame in told), told


def check_threads(tool, folder, *arguments):
    outputs = []
    for threads in (1, 2, 7):
        outputs.append(os.path.join(folder, f"threads{threads}.npy"))
        tool.good("skin", "demo:arm", "-o", outputs[-1], *SMALL, "--frames", "0:8", "--threads", threads, *arguments)
    assert same_files(outputs[0], outputs[1]) and same_files(outputs[0], outputs[2])


def check_cache(tool, folder):
    """A body from the cache is the body that was made."""
    outputs = [os.path.join(folder, f"cache{i}.npy") for i in range(3)]
    for i, output in enumerate(outputs):
        tool.good("skin", "demo:arm", "-o", output, "--method", "mixed", *SMALL, "--frames", "5:6", *(("--no-cache",) if i == 0 else ()))
    assert same_files(outputs[0], outputs[1]) and same_files(outputs[0], outputs[2])


def check_thin_links(tool, folder):
    """At these resolutions a finger's tip hangs on the rest by one vertex: it must not swing freely."""
    for resolution in (40, 50):
        out = os.path.join(folder, "hero.npy")
        for pin in ("hard", "soft"):
            tool.good("skin", "demo:hero", "--clip", "reach", "-o", out, "--method", "mixed", "--resolution", resolution, "--frames", "0:4",
                      "--set", f"pin={pin}")
            assert np.isfinite(np.load(out)).all()


def check_flat(tool, folder):
    """A sheet has no flesh: auto and mixed say why, and keep the file's skinning; what only flesh can do is left out."""
    out, sheet = os.path.join(folder, "flat.npy"), data("strip.gltf")
    tool.good("skin", sheet, "-o", out, "--method", "linear", "--clip", 0)
    linear = np.load(out)
    for said, *arguments in (("method: linear",), ("keeps the file's own skinning", "--method", "mixed"), ("left out", "--dynamics", "on"),
                             ("left out", "--dynamics", "on", "--method", "projective", "--gravity", "--collide", "self")):
        done = tool.good("skin", sheet, "-o", out, "--clip", 0, *arguments)
        assert "no flesh" in done.err and "open sheet" in done.err and said in done.err, (arguments, done.err)
        assert np.array_equal(linear, np.load(out)), arguments


def check_closed_mouth(tool, folder):
    """Lips that lie vertex upon vertex in the bind pose part with their joints; the rest pose stays as it is."""
    snout, out = os.path.join(folder, "snout.glb"), os.path.join(folder, "snout.npy")
    upper, lower = mouth.make(snout)
    opening, rest = {}, {}
    for method in ("linear", "mixed"):
        done = tool.good("skin", snout, "-o", out, "--method", method, "--resolution", 20, "--frames", "0:30", "--fps", 30)
        x = np.load(out)
        opening[method], rest[method] = np.linalg.norm(x[30][upper].mean(0) - x[30][lower].mean(0)), x[0]
    assert "lips" in done.err, done.err
    assert opening["linear"] > 0.6 and opening["mixed"] > 0.6 * opening["linear"], opening
    assert abs(rest["mixed"] - rest["linear"]).max() < 1e-4, abs(rest["mixed"] - rest["linear"]).max()


def check_own(tool, folder):
    """Where every part is `own` the result is the file's skinning, to the bit."""
    own, linear = os.path.join(folder, "own.npy"), os.path.join(folder, "linear.npy")
    rules = ("demo:hero", "--part", "*=own")
    done = tool.good("skin", *rules, "-o", own, "--clip", "reach", "--frames", "30:32")
    assert "method: linear" in done.err and "file's own skinning" in done.err, done.err
    tool.good("skin", "demo:hero", "-o", linear, "--clip", "reach", "--frames", "30:32", "--method", "linear")
    assert same_files(own, linear)


def check_interrupted(tool, folder):
    """Ctrl-C in one frame that takes very long."""
    mine, seen = lambda: [name for name in os.listdir(folder) if "interrupted" in name], []  # the unfinished file comes before the frame
    done = tool("skin", "demo:hero", "--clip", "reach", "--frames", "96", "--frames-fast", "--method", "reference", "--collide", "self", "--resolution", 45,
                "--set", "trust=off", "-o", os.path.join(folder, "interrupted.npy"), interrupt_when=lambda: mine() and (seen.append(0) or len(seen) > 100))
    assert done.code == 130 and done.err == "supple: cancelled\n", done
    assert not mine(), mine()


def main():
    with session(__doc__) as (tool, cases, folder):
        cases.run("mixed", check_mixed, tool, folder, "mixed", "mixed", 1e-6, *EXACT)
        cases.run("mixed_soft", check_mixed, tool, folder, "soft", "mixed", 1e-6, *EXACT, "--set", "pin=soft", "--set", "cluster=bone")
        cases.run("mixed_polar", check_mixed, tool, folder, "polar", "mixed", 1e-6, *EXACT, "--set", "rotation=polar")
        cases.run("reference", check_mixed, tool, folder, "reference", "corot", 1e-6, "--method", "reference")
        cases.run("steklov", check_steklov, tool, folder)
        cases.run("barrier", check_barrier, tool, folder)
        cases.run("interrupted_in_a_frame", check_interrupted, tool, folder)
        cases.run("frames_after_contact", check_frames, tool, folder)
        cases.run("no_inversion", check_no_inversion, tool, folder)
        cases.run("metrics", check_metrics, tool, folder)
        cases.run("metrics_without_flesh", check_baseline_metrics, tool, folder)
        cases.run("materials", check_material, tool, folder)
        cases.run("bad_materials", check_bad_files, tool, folder, "--material", MATERIALS)
        cases.run("forces", check_forces, tool, folder)
        cases.run("bad_forces", check_bad_files, tool, folder, "--forces", FORCES)
        cases.run("trouble", check_trouble, tool, folder)
        cases.run("settings", check_settings, tool, folder)
        cases.run("verify", check_verify, tool, folder)
        cases.run("cache", check_cache, tool, folder)
        cases.run("thin_links", check_thin_links, tool, folder)
        cases.run("flat", check_flat, tool, folder)
        cases.run("closed_mouths_part", check_closed_mouth, tool, folder)
        cases.run("own_is_the_files_skinning", check_own, tool, folder)
        cases.run("prism", check_prism, tool, folder)
        cases.run("bad_body", check_bad_body, tool, folder)
        cases.run("unread_files", check_unread, tool, folder)
        cases.run("own_tets_arm", check_own_tets, tool, folder, "arm.glb", "arm.mesh", "bend", 1659)
        cases.run("own_tets_quadruped", check_own_tets, tool, folder, "quadruped.glb", "quadruped.msh", "Walk", 2236)
        for method in ("mixed", "reference"):
            cases.run(f"threads_{method}", check_threads, tool, folder, "--method", method)
        cases.run("threads_polar", check_threads, tool, folder, "--method", "mixed", "--set", "rotation=polar", "--set", "pin=soft")


if __name__ == "__main__":
    main()
