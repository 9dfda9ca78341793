"""Inside Blender: blender -b --factory-startup --python blender_import.py -- JOBS.json RESULTS.json
Each job {input, clips: [{clip, npy, pc2}], fps, unit, up, frame_start} is an FBX or Collada file that Blender imports itself. Its armature's evaluation
is compared with our .npy under the map of docs/formats.md, and our .pc2 is played on the imported mesh as that page says."""
import json
import math
import sys
import traceback

import bpy
import numpy as np


def vertices(thing):
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    x = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", x)
    m = np.array(evaluated.matrix_world)
    evaluated.to_mesh_clear()
    return x.reshape(-1, 3).astype(float) @ m[:3, :3].T + m[:3, 3]


def to_blender(x, job):
    """The file's space to Blender's: z up, metres."""
    if job["up"] == "Y":
        x = np.stack([x[..., 0], -x[..., 2], x[..., 1]], axis=-1)
    return x * job["unit"]


def import_file(job):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = job["fps"]
    bpy.context.scene.render.fps_base = 1.0
    fbx = job["input"].lower().endswith(".fbx")
    (bpy.ops.import_scene.fbx if fbx else bpy.ops.wm.collada_import)(filepath=job["input"])
    meshes = [thing for thing in bpy.data.objects if thing.type == "MESH"]
    armatures = [thing for thing in bpy.data.objects if thing.type == "ARMATURE"]
    assert len(meshes) == 1 and len(armatures) == 1, "the test expects one mesh on one armature"
    return meshes[0], armatures[0], 1 if fbx else 0  # Blender puts the first frame of an FBX at 1


def find_action(clip):
    found = [a for a in bpy.data.actions if a.name == clip or clip in a.name.split("|")] or list(bpy.data.actions)
    assert len(found) == 1, f"{clip}: {[a.name for a in bpy.data.actions]}"
    return found[0]


def play_armature(mesh, armature, action, first, reference):
    armature.animation_data_create()
    armature.animation_data.action = action
    last = min(len(reference), int(math.floor(action.frame_range[1] + 0.01)) - first + 1)  # it holds its last pose as we do
    worst = 0.0
    diagonal = np.linalg.norm(np.ptp(reference.reshape(-1, 3), axis=0))
    for frame in range(last):
        bpy.context.scene.frame_set(frame + first)
        worst = max(worst, abs(vertices(mesh) - reference[frame]).max() / diagonal)
    return {"error": worst, "frames": last, "moved": abs(reference - reference[0]).max() / diagonal}


def play_cache(mesh, job, path, first, reference):
    """As docs/formats.md says: no armature, no parent, no transform but the unit; a Mesh Cache modifier with its Frame Start. The mesh is then where
    the armature had it, frame by frame of the scene."""
    mesh.modifiers.clear()
    mesh.animation_data_clear()
    mesh.parent = None
    mesh.location, mesh.rotation_euler, mesh.scale = (0, 0, 0), (0, 0, 0), (job["unit"],) * 3
    mesh.rotation_mode = "XYZ"
    cache = mesh.modifiers.new("cache", "MESH_CACHE")
    cache.cache_format, cache.filepath, cache.interpolation, cache.frame_start = "PC2", path, "NONE", job["frame_start"]
    if job["up"] == "Y":
        cache.forward_axis, cache.up_axis = "POS_Z", "NEG_Y"
    worst, diagonal = 0.0, np.linalg.norm(np.ptp(reference.reshape(-1, 3), axis=0))
    for frame in range(len(reference)):
        bpy.context.scene.frame_set(frame + first)
        worst = max(worst, abs(vertices(mesh) - reference[frame]).max() / diagonal)
    return {"error": worst, "frames": len(reference)}


def run(job):
    result = {"name": job["name"], "clips": []}
    for clip in job["clips"]:
        reference = to_blender(np.load(clip["npy"]).astype(float), job)
        mesh, armature, first = import_file(job)
        assert len(mesh.data.vertices) == reference.shape[1], f"{len(mesh.data.vertices)} vertices, ours {reference.shape[1]}"
        played = {"clip": clip["clip"], "armature": play_armature(mesh, armature, find_action(clip["clip"]), first, reference)}
        played["pc2"] = play_cache(mesh, job, clip["pc2"], first, reference)
        result["clips"].append(played)
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
