"""Inside Blender: blender -b --factory-startup --python blender_check.py -- JOBS.json RESULTS.json
Each job {glb, npy, fps, caches} is imported as a user would, played frame by frame, and compared with the .npy; each cache plays
through the Mesh Cache modifier on the imported mesh. Errors are fractions of the diagonal."""
import json
import struct
import sys
import traceback

import bpy
import numpy as np


def slices(path):
    """(first, last, indices used) of each mesh instance in output order: nodes in file order, primitives in file order."""
    raw = open(path, "rb").read()
    size = struct.unpack_from("<I", raw, 12)[0]
    document, binary = json.loads(raw[20:20 + size]), raw[28 + size:]
    first, out = 0, []
    for node in document["nodes"]:
        if "mesh" not in node:
            continue
        last, used = first, []
        for primitive in document["meshes"][node["mesh"]]["primitives"]:
            count = document["accessors"][primitive["attributes"]["POSITION"]]["count"]
            used.append(last + used_indices(document, binary, primitive, count))
            last += count
        out.append((first, last, np.concatenate(used)))
        first = last
    return out


def used_indices(document, binary, primitive, count):
    if "indices" not in primitive:
        return np.arange(count)
    accessor = document["accessors"][primitive["indices"]]
    start = document["bufferViews"][accessor["bufferView"]].get("byteOffset", 0) + accessor.get("byteOffset", 0)
    kind = {5121: "u1", 5123: "<u2", 5125: "<u4"}[accessor["componentType"]]
    return np.unique(np.frombuffer(binary, kind, accessor["count"], start))


def vertices(thing, world=True):
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    x = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", x)
    x = x.reshape(-1, 3).astype(float)
    if world:
        m = np.array(evaluated.matrix_world)
        x = x @ m[:3, :3].T + m[:3, 3]
        x = np.stack([x[:, 0], x[:, 2], -x[:, 1]], axis=1)  # Blender is z-up, glTF y-up
    evaluated.to_mesh_clear()
    return x


def fresh(job):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = job["fps"]  # the importer turns seconds into frames with it
    bpy.context.scene.render.fps_base = 1.0


def pair(parts, reference):
    """Which imported object holds which slice: the same number of vertices, and the nearest in frame 0."""
    free = [thing for thing in bpy.context.scene.objects if thing.type == "MESH"]
    pairs = []
    for first, last, used in parts:
        best = None
        for thing in free:
            count = len(thing.data.vertices)
            rows = np.arange(first, last) if count == last - first else used
            if count == len(rows):
                error = abs(vertices(thing) - reference[0, rows]).max()
                if best is None or error < best[0]:
                    best = error, thing, rows
        assert best, f"no imported object has {last - first} vertices"
        free.remove(best[1])
        pairs.append(best[1:])
    return pairs


def play_glb(job, reference, diagonal):
    fresh(job)
    bpy.ops.import_scene.gltf(filepath=job["glb"], import_shading="FLAT")  # this build crashes without FLAT
    parts = slices(job["glb"])
    assert parts[-1][1] == reference.shape[1], "the .glb and the .npy differ in their number of vertices"
    bpy.context.scene.frame_set(0)
    pairs, worst = pair(parts, reference), 0.0
    for frame in range(len(reference)):
        bpy.context.scene.frame_set(frame)
        for thing, rows in pairs:
            worst = max(worst, abs(vertices(thing) - reference[frame, rows]).max() / diagonal)
    moved = abs(reference - reference[0]).max() / diagonal
    return {"error": worst, "frames": len(reference), "objects": len(bpy.context.scene.objects), "actions": len(bpy.data.actions), "moved": moved}, pairs


def play_cache(path, thing, reference, diagonal):
    """On a still copy of the imported mesh, where the importer kept every vertex; else on bare vertices."""
    if len(thing.data.vertices) == reference.shape[1]:
        mesh = thing.data.copy()
    else:
        mesh = bpy.data.meshes.new("still")
        mesh.from_pydata([tuple(map(float, x)) for x in reference[0]], [], [])
    still = bpy.data.objects.new("still", mesh)
    bpy.context.scene.collection.objects.link(still)
    still.shape_key_clear()
    cache = still.modifiers.new("cache", "MESH_CACHE")
    cache.cache_format = path.rsplit(".", 1)[1].upper()
    cache.filepath = path
    cache.interpolation = "NONE"
    cache.frame_start = 0
    worst = 0.0
    for frame in range(len(reference)):
        bpy.context.scene.frame_set(frame)
        worst = max(worst, abs(vertices(still, world=False) - reference[frame]).max() / diagonal)
    bpy.data.objects.remove(still)
    return {"error": worst, "frames": len(reference)}


def run(job):
    reference = np.load(job["npy"]).astype(float)
    diagonal = np.linalg.norm(np.ptp(reference.reshape(-1, 3), axis=0))
    result = {"name": job["name"]}
    result["glb"], pairs = play_glb(job, reference, diagonal)
    for path in job["caches"]:
        result[path.rsplit(".", 1)[1]] = play_cache(path, pairs[0][0], reference, diagonal)
    return result


jobs_path, results_path = sys.argv[sys.argv.index("--") + 1:]
results = []
for job in json.load(open(jobs_path)):
    try:
        results.append(run(job))
    except Exception:
        results.append({"name": job["name"], "trouble": traceback.format_exc()})
    with open(results_path, "w") as file:  # after each job: a crash later loses nothing
        json.dump(results, file)
