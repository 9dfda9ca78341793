"""Inside Blender: blender -b --factory-startup --python tests/data/export_blender.py -- BUILD/supple

Writes hero.fbx, hero_posed.fbx, hero.dae, posed.fbx, arm_z.fbx and creature.fbx beside it: what only another program can write. Made once, with Blender 3.4.1;
another version writes other bytes, so make.py does not check these files."""
import os
import sys

import bpy
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make  # noqa: E402
from generator.character import welded  # noqa: E402
from generator.creature import make_creature  # noqa: E402

FPS = 30


def add_armature(c, scale, rotation):
    """Bones that all point along y: their axes are the file's, so that a joint's local turn is its pose bone's."""
    bpy.ops.object.armature_add()
    armature = bpy.context.object
    armature.name = "Armature"
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    bones.remove(bones[0])
    world = c.world()
    for j in c.joint:
        bone = bones.new(c.nodes[j].name)
        bone.head = world[j][:3, 3]
        bone.tail = [a + b for a, b in zip(bone.head, (0, 0.05, 0))]
        if c.nodes[j].parent in c.joint:
            bone.parent = bones[c.nodes[c.nodes[j].parent].name]
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.scale = [scale] * 3
    armature.rotation_euler = rotation
    return armature


def add_mesh(c, part, armature, materials, scale):
    mesh = bpy.data.meshes.new(part.name)
    mesh.from_pydata([tuple(p / scale) for p in part.position], [], [tuple(int(i) for i in t) for t in part.triangles])
    for k in range(materials):
        mesh.materials.append(bpy.data.materials.new(c.materials[k % len(c.materials)]))
    for polygon in mesh.polygons:
        polygon.use_smooth = True
        polygon.material_index = int(part.face_material[polygon.index]) if materials > 1 else 0
    thing = bpy.data.objects.new(part.name, mesh)
    bpy.context.collection.objects.link(thing)
    thing.parent, thing.scale = armature, [scale] * 3
    for k, j in enumerate(c.joint):
        group = thing.vertex_groups.new(name=c.nodes[j].name)
        for vertex, joints, weights in zip(range(len(part.position)), part.joints, part.weights):
            for i, w in zip(joints, weights):
                if i == k and w > 0:
                    group.add([vertex], float(w), "REPLACE")
    thing.modifiers.new("armature", "ARMATURE").object = armature
    return thing


def add_clip(c, armature, name, channels):
    """An action of its own; the armature is left in its rest pose."""
    action = bpy.data.actions.new(name)
    armature.animation_data_create().action = action
    for node, path, times, values in channels:
        bone = armature.pose.bones[c.nodes[node].name]
        for t, v in zip(times, values):
            frame = round(t * FPS)
            if path == "rotation":
                bone.rotation_quaternion = (v[3], v[0], v[1], v[2])
                bone.keyframe_insert("rotation_quaternion", frame=frame)
            else:
                bone.location = [a - b for a, b in zip(v, c.nodes[node].translation)]
                bone.keyframe_insert("location", frame=frame)
    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.rotation_quaternion, bone.location = (1, 0, 0, 0), (0, 0, 0)
    return action


def build(c, clips, scale=1, mesh_scale=1, materials=1, turned=True):
    """The character in an empty scene; y up in its own space and `turned` up by the armature."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start = FPS, 0
    armature = add_armature(c, scale, (1.5707963267948966 if turned else 0, 0, 0))
    for part in c.parts:
        add_mesh(c, part, armature, materials, mesh_scale)
    actions = [add_clip(c, armature, name, channels) for name, channels in clips]
    scene.frame_end = max(int(action.frame_range[1]) for action in actions)
    return armature, actions


def write_fbx(name, simplify=0.0, clips=True, **options):
    bpy.ops.export_scene.fbx(filepath=os.path.join(HERE, name), object_types={"ARMATURE", "MESH"}, add_leaf_bones=False, bake_anim=clips,
                             bake_anim_use_all_bones=False, bake_anim_use_nla_strips=False, bake_anim_use_all_actions=True,
                             bake_anim_simplify_factor=simplify, bake_anim_force_startend_keying=simplify == 0,
                             mesh_smooth_type="OFF", **options)


def first_frames(c, clip, count):
    """One clip of a character, cut short."""
    return [(name, [(node, path, times[:count], values[:count]) for node, path, times, values in channels])
            for name, channels in c.clips if name == clip]


def export_arm(arm):
    """z up in the file, unlike the others."""
    arm = welded(arm)
    build(arm, first_frames(arm, "bend", 30))
    write_fbx("arm_z.fbx", axis_forward="Y", axis_up="Z")


def export_posed(hero):
    """The nodes rest in a step of the walk, turned to the side and three times as large; the skin is bound as ever."""
    hero = welded(hero)
    armature, _ = build(hero, first_frames(hero, "walk", 4), scale=3)
    armature.rotation_euler = (1.5707963267948966, 0, 1.5707963267948966)
    for node, path, _, values in dict(hero.clips)["walk"]:
        bone = armature.pose.bones[hero.nodes[node].name]
        if path == "rotation":
            bone.rotation_quaternion = values[9][[3, 0, 1, 2]]
        else:
            bone.location = values[9] - hero.nodes[node].translation
    write_fbx("posed.fbx")


def z_up(c):
    """The character with z up in its own space: Blender's Collada is wrong about armatures that are turned."""
    def stand(v):
        return v[..., [0, 2, 1]] * [1, -1, 1]
    c = c.copy()
    for node in c.nodes:
        node.translation = stand(node.translation)
    for part in c.parts:
        part.position = stand(part.position)
    for k, (name, channels) in enumerate(c.clips):
        c.clips[k] = name, [(node, path, times, np.c_[stand(values[:, :3]), values[:, 3:]]) for node, path, times, values in channels]
    return c


def export_hero(hero):
    hero = welded(hero)
    build(hero, first_frames(hero, "walk", 16))
    write_fbx("hero.fbx")
    hero = z_up(hero)
    armature, actions = build(hero, first_frames(hero, "walk", 16), turned=False)
    armature.animation_data.action = actions[0]
    bpy.ops.wm.collada_export(filepath=os.path.join(HERE, "hero.dae"), include_animations=True, include_all_actions=False,
                              triangulate=False, keep_flat_curves=True)


def join_triangles(thing):
    bpy.context.view_layer.objects.active = thing
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.tris_convert_to_quads()
    bpy.ops.object.mode_set(mode="OBJECT")


def export_posed(hero):
    """Turned to look along +x, and the nodes in the middle of a punch, on the flat left foot: neither is the bind pose. Of quads
    where triangles make some, and without a clip."""
    hero = welded(hero)
    armature, _ = build(hero, first_frames(hero, "walk", 2))
    join_triangles(armature.children[0])
    armature.rotation_euler[2] = 1.5707963267948966
    for name, axis, degrees in (("hips", (0, 1, 0), 25), ("spine", (1, 0, 0), 20), ("chest", (0, 1, 0), -35), ("neck", (1, 0, 0), -15),
                                ("upper_arm.R", (0.3, 1, 0.2), 60), ("forearm.R", (0, 1, 0.5), 20), ("upper_arm.L", (1, 0, 1), 40),
                                ("forearm.L", (1, 0, 0.2), -95), ("thigh.L", (1, 0, 0), -35), ("shin.L", (1, 0, 0), 30),
                                ("foot.L", (1, 0, 0), 5), ("thigh.R", (1, 0, 0.2), 15), ("shin.R", (1, 0, 0), 60)):
        bone = armature.pose.bones[name]
        bone.rotation_mode, bone.rotation_axis_angle = "AXIS_ANGLE", (np.radians(degrees), *axis)
    bpy.context.view_layer.update()
    foot = armature.pose.bones["foot.L"]
    armature.pose.bones["hips"].location[1] = foot.bone.head_local[1] - foot.head[1]
    bpy.context.view_layer.update()
    write_fbx("hero_posed.fbx", clips=False)


def export_creature():
    creature = make_creature()
    build(creature, creature.clips, scale=3, mesh_scale=0.5, materials=len(creature.materials))
    write_fbx("creature.fbx", simplify=1.0)


if __name__ == "__main__":
    program = sys.argv[sys.argv.index("--") + 1]
    export_hero(make.demo(program, "hero", 0.4))
    export_posed(make.demo(program, "hero", 0.4))
    export_arm(make.demo(program, "arm", 0.3))
    export_creature()
