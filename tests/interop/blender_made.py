"""Inside Blender: blender -b --factory-startup --python blender_made.py -- FOLDER
Makes what the test assets have none of: two meshes on one armature, one of them turned and scaled, two materials, animated blend shapes,
vertices without weights, a hat on a bone. Exports FBX with y and with z up, imports each again, and saves the vertices of every frame."""
import os
import sys

import bpy
import numpy as np

FRAMES = 25


def make_armature():
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    bones[0].name, bones[0].head, bones[0].tail = "low", (0, 0, 0), (0, 0, 1)
    for name, parent, top in (("high", "low", 2), ("end", "high", 2.3)):
        bone = bones.new(name)
        bone.parent, bone.head, bone.tail = bones[parent], bones[parent].tail, (0, 0, top)
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


def make_tube(armature, name, place, materials, leave_out):
    bpy.ops.mesh.primitive_cylinder_add(vertices=12, radius=0.3, depth=2, location=place)
    tube = bpy.context.object
    tube.name = name
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=3)
    bpy.ops.object.mode_set(mode="OBJECT")
    for i in range(materials):
        tube.data.materials.append(bpy.data.materials.new(f"{name}{i}"))
    for polygon in tube.data.polygons:
        polygon.material_index = polygon.index % materials
    low, high = tube.vertex_groups.new(name="low"), tube.vertex_groups.new(name="high")
    for vertex in tube.data.vertices:
        weight = min(1, max(0, vertex.co.z + place[2] - 0.5))
        if not (leave_out and vertex.co.z < -0.95):
            low.add([vertex.index], 1 - weight, "REPLACE")
            high.add([vertex.index], weight, "REPLACE")
    tube.parent = armature
    tube.modifiers.new("armature", "ARMATURE").object = armature
    return tube


def make_shapes(tube):
    tube.shape_key_add(name="Basis")
    for name, factor in (("fat", (1.5, 1.5, 1)), ("tall", (1, 1, 1.3))):
        key = tube.shape_key_add(name=name)
        for i, vertex in enumerate(tube.data.vertices):
            key.data[i].co = [a * b for a, b in zip(vertex.co, factor)]
        for frame, value in ((1, 0), (13, 1), (FRAMES, 0.3)):
            key.value = value if name == "fat" else 1 - value
            key.keyframe_insert("value", frame=frame)


def make_scene():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, FRAMES
    armature = make_armature()
    make_shapes(make_tube(armature, "Plain", (0, 0, 1), 2, False))
    turned = make_tube(armature, "Turned", (1.5, 0.3, 1), 1, True)
    turned.rotation_euler, turned.scale = (0.2, 0.1, 0.4), (1.2, 0.8, 1.1)
    bone = armature.pose.bones["high"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0), (13, 1.2), (FRAMES, -0.4)):
        bone.rotation_euler = (angle, 0.3 * angle, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(0, 0, 2.4))
    hat = bpy.context.object
    hat.name, hat.parent, hat.parent_type, hat.parent_bone = "Hat", armature, "BONE", "high"


def play():
    frames = {}
    for frame in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(frame)
        graph = bpy.context.evaluated_depsgraph_get()
        for thing in bpy.data.objects:
            if thing.type != "MESH":
                continue
            evaluated = thing.evaluated_get(graph)
            mesh = evaluated.to_mesh()
            x = np.empty(3 * len(mesh.vertices), np.float32)
            mesh.vertices.foreach_get("co", x)
            m = np.array(evaluated.matrix_world)
            frames.setdefault(thing.name, []).append(x.reshape(-1, 3).astype(float) @ m[:3, :3].T + m[:3, 3])
            evaluated.to_mesh_clear()
    return {name: np.array(x) for name, x in frames.items()}


folder = sys.argv[sys.argv.index("--") + 1]
for up, forward in (("Y", "-Z"), ("Z", "Y")):
    make_scene()
    path = os.path.join(folder, f"made-{up}.fbx")
    bpy.ops.export_scene.fbx(filepath=path, axis_up=up, axis_forward=forward, add_leaf_bones=up == "Z")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 24
    bpy.ops.import_scene.fbx(filepath=path)
    np.savez(os.path.join(folder, f"made-{up}.npz"), **play())
