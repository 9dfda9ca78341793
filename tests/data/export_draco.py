#!/usr/bin/env python3
"""export_draco.py: writes variants/draco_edges.glb beside it: hero.glb in two primitives, by the encoder of libdraco (export_draco.cc, which this
compiles). Made once, with Debian 12's 1.5.5; another version may write other bytes, so make.py does not check the file."""
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from generator import draco  # noqa: E402


def encoder(program, folder):
    def encode(triangles, attributes):
        source, stream = os.path.join(folder, "in"), os.path.join(folder, "out")
        with open(source, "wb") as file:
            file.write(struct.pack("<3I", len(attributes[0][2]), len(triangles), len(attributes)))
            for name, component, values in attributes:
                file.write(struct.pack("<3I", draco.KIND.get(name, 4), draco.TYPE[component], values.shape[1]))
            file.write(triangles.astype("<u4").tobytes() + b"".join(values.tobytes() for _, _, values in attributes))
        subprocess.run([program, source, stream], check=True)
        with open(stream, "rb") as file:
            raw = file.read()
        return raw[4:], struct.unpack("<I", raw[:4])[0]
    return encode


def main():
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "export_draco")
        subprocess.run(["c++", "-std=c++17", "-O1", os.path.join(HERE, "export_draco.cc"), "-o", program, "-ldraco"], check=True)
        with open(os.path.join(HERE, "hero.glb"), "rb") as file:
            made = draco.compressed(file.read(), encoder(program, folder), 2)
    with open(os.path.join(HERE, "variants", "draco_edges.glb"), "wb") as file:
        file.write(made)


if __name__ == "__main__":
    main()
