#!/usr/bin/env python3
"""make.py --tool BUILD/supple [--check]: writes the test characters beside it; --check compares instead (README.md says what each is).

Needs numpy alone. What only other programs can write (FBX and Collada: export_blender.py; tetrahedra: export_tets.py) is not remade here."""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from generator import bodies, draco, meshopt, motion, parts, person, shapes  # noqa: E402
from generator.bad import bad_files  # noqa: E402
from generator.character import welded  # noqa: E402
from generator.fbx_text import to_text  # noqa: E402
from generator.variants import variant_files  # noqa: E402
from generator.gltf_file import read_glb, write_character  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


def demo(tool, name, detail):
    """A built-in character, as the tool writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "demo.glb")
        subprocess.run([tool, "demo", name, "--detail", str(detail), "-o", path], check=True)
        with open(path, "rb") as file:
            return read_glb(file.read(), name)


def plain_files(hero, arm):
    """Characters and motions as usual exporters write them."""
    yield "arm.glb", write_character(arm).glb()
    yield "hero.glb", write_character(hero).glb()
    yield "hand.glb", write_character(bodies.make_hand()).glb()
    yield "person.glb", write_character(person.make_person(hero)).glb()
    yield "quadruped.glb", write_character(bodies.make_quadruped()).glb()
    yield "figure.glb", write_character(bodies.make_figure()).glb()
    yield "strip.gltf", write_character(bodies.make_strip()).embedded()
    yield "parts.glb", write_character(parts.make_parts(hero)).glb()
    yield "walk.bvh", motion.write_bvh(hero, motion.walk_frames(hero))
    yield "dance.bvh", motion.write_bvh(hero, motion.dance_frames(hero))


def shape_files(hero):
    """Characters as people have them."""
    body = welded(hero)
    yield "mannequin.glb", write_character(shapes.make_mannequin(hero)).glb()
    yield "mech.glb", write_character(shapes.make_mech(hero)).glb()
    yield "dress.glb", write_character(shapes.make_dress(body)).glb()
    yield "fish.glb", write_character(shapes.make_fish()).glb()


def all_files(tool):
    """(name, bytes) of every file; those that other programs wrote are read where they are."""
    made = {}

    def read(name):
        if name in made:
            return made[name]
        with open(os.path.join(HERE, name), "rb") as file:
            return file.read()
    hero = demo(tool, "hero", 0.4)
    made.update(plain_files(hero, demo(tool, "arm", 0.3)))
    made.update(shape_files(hero))
    made.update(variant_files(hero))
    made["variants/draco.glb"] = draco.compressed(made["variants/plain.glb"])
    lib = meshopt.library()
    if lib:
        made["variants/meshopt.glb"] = meshopt.compressed(lib, made["variants/plain.glb"])
    made["hero_ascii.fbx"] = to_text(read("hero.fbx"))
    made.update(bad_files(read))
    return made


def write(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def differs(name, data):
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return True
    with open(path, "rb") as file:
        return file.read() != data


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the program supple")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is not what would be written")
    options = parser.parse_args()
    files = all_files(os.path.abspath(options.tool)).items()
    if not options.check:
        for name, data in files:
            write(name, data)
        return 0
    wrong = [name for name, data in files if differs(name, data)]
    print(f"{len(files)} files, {len(wrong)} differ" + "".join(f"\n  {name}" for name in wrong))
    return bool(set(wrong) - {"variants/meshopt.glb"})  # another version of the library may write other bytes


if __name__ == "__main__":
    sys.exit(main())
