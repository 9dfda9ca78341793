"""Damaged files: each is one of the good ones with one thing wrong."""
import json
import struct

import numpy as np

from .gltf_file import chunks


def glb(j, data):
    text = json.dumps(j, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return (struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A) + text +
            struct.pack("<II", len(data), 0x004E4942) + bytes(data))


def opened(figure):
    """A .glb with one mesh: its JSON, its buffer that may be written to, its attributes."""
    j, data = chunks(figure)
    return j, bytearray(data), j["meshes"][0]["primitives"][0]["attributes"]


def place(j, accessor):
    return j["bufferViews"][j["accessors"][accessor]["bufferView"]]["byteOffset"]


def accessor_out_of_range(figure):
    j, data, at = opened(figure)
    j["accessors"][at["POSITION"]]["count"] *= 50
    return glb(j, data)


def nan_vertices(figure):
    j, data, at = opened(figure)
    start = place(j, at["POSITION"])
    for vertex, axis, value in ((3, 0, np.nan), (7, 1, np.inf), (11, 2, -np.inf), (100, 1, np.nan)):
        struct.pack_into("<f", data, start + 12 * vertex + 4 * axis, value)
    return glb(j, data)


def joint_index_out_of_range(figure):
    """Indices of 16 bits in a view of their own, every tenth vertex beyond the skin's joints."""
    j, data, at = opened(figure)
    start, count = place(j, at["JOINTS_0"]), j["accessors"][at["JOINTS_0"]]["count"]
    joints = np.frombuffer(bytes(data[start:start + 4 * count]), np.uint8).reshape(count, 4).astype(np.uint16)
    joints[::10, 0] = 5000 + np.arange(len(joints[::10]))
    data += bytes(-len(data) % 4)
    j["bufferViews"].append({"buffer": 0, "byteOffset": len(data), "byteLength": joints.nbytes, "target": 34962})
    j["accessors"][at["JOINTS_0"]].update(bufferView=len(j["bufferViews"]) - 1, componentType=5123)
    data += joints.tobytes()
    j["buffers"][0]["byteLength"] = len(data)
    return glb(j, data)


def weights_all_zero(figure):
    j, data, at = opened(figure)
    start = place(j, at["WEIGHTS_0"])
    size = 16 * j["accessors"][at["WEIGHTS_0"]]["count"]
    data[start:start + size] = bytes(size)
    return glb(j, data)


def no_skin(figure):
    j, data, _ = opened(figure)
    del j["skins"]
    for node in j["nodes"]:
        node.pop("skin", None)
    return glb(j, data)


def cyclic_nodes(strip):
    j = json.loads(strip)
    child = j["skins"][0]["joints"][1]
    j["nodes"][child]["children"] = [j["skins"][0]["joints"][0]]
    return json.dumps(j, separators=(",", ":")).encode() + b"\n"


def wrong_channel_count(walk):
    """The joint LeftLeg says five channels and names three; twenty frames are left."""
    lines = walk.decode().split("\r\n")
    leg = next(k for k, line in enumerate(lines) if line.strip() == "JOINT LeftLeg")
    lines[leg + 3] = lines[leg + 3].replace("CHANNELS 3", "CHANNELS 5")
    motion = lines.index("MOTION")
    return "\r\n".join(lines[:motion + 1] + ["Frames: 20"] + lines[motion + 2:motion + 23] + [""]).encode()


def tet_index_out_of_range(mesh):
    lines = mesh.decode().split("\n")
    start = lines.index("Tetrahedra") + 2
    for tet, corner, value in ((9, 2, 99999999), (20, 0, 0), (31, 3, -4)):
        row = lines[start + tet].split()
        row[corner] = str(value)
        lines[start + tet] = " ".join(row)
    return "\n".join(lines).encode()


def bad_files(read):
    """(name, bytes) of each; `read` gives the bytes of a good file."""
    figure, strip = read("figure.glb"), read("strip.gltf")
    yield "bad/truncated.glb", figure[:len(figure) * 6 // 10]
    yield "bad/bad_json.gltf", strip.replace(b'"skins"', b'"skins', 1)
    for make in (accessor_out_of_range, nan_vertices, joint_index_out_of_range, weights_all_zero, no_skin):
        yield f"bad/{make.__name__}.glb", make(figure)
    yield "bad/cyclic_nodes.gltf", cyclic_nodes(strip)
    yield "bad/truncated.fbx", read("arm_z.fbx")[:len(read("arm_z.fbx")) // 3]
    yield "bad/bvh_wrong_channel_count.bvh", wrong_channel_count(read("walk.bvh"))
    yield "bad/tet_index_out_of_range.mesh", tet_index_out_of_range(read("arm.mesh"))
