"""KHR_draco_mesh_compression, written by hand: streams of Draco 2.2 by its sequential method, with whole indices and whole values. Nothing is
rounded and no vertex is moved, so that a character is the same before and after. What the library's own encoder makes is in export_draco.py."""
import struct

import numpy as np

from .gltf_file import COMPONENT, WIDTH, Writer, chunks

KIND = {"POSITION": 0, "NORMAL": 1, "COLOR_0": 2, "TEXCOORD_0": 3}  # others are generic: 4
TYPE = {5120: 1, 5121: 2, 5122: 3, 5123: 4, 5125: 6, 5126: 9}
MESH, SEQUENTIAL, WHOLE_INDICES, WHOLE_VALUES = 1, 0, 1, 0


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def encode(triangles, attributes):
    """The stream of triangles (n x 3) and of attributes: (name, glTF's component type, values), with ids from 0 on."""
    points = len(attributes[0][2])
    out = b"DRACO" + struct.pack("<BBBBH", 2, 2, MESH, SEQUENTIAL, 0) + varint(len(triangles)) + varint(points)
    out += bytes([WHOLE_INDICES]) + triangles.astype("<u1" if points < 256 else "<u2").tobytes()
    out += bytes([1]) + varint(len(attributes))
    for k, (name, component, values) in enumerate(attributes):
        out += bytes([KIND.get(name, 4), TYPE[component], values.shape[1], 0]) + varint(k)
    out += bytes([WHOLE_VALUES] * len(attributes))
    return out + b"".join(np.ascontiguousarray(values).tobytes() for _, _, values in attributes)


def decoded(j, data, index):
    """The values of an accessor that has a view of its own."""
    a = j["accessors"][index]
    view = j["bufferViews"][a["bufferView"]]
    dtype = next(t for t, c in COMPONENT.items() if c == a["componentType"])
    item, width = dtype.itemsize * WIDTH[a["type"]], WIDTH[a["type"]]
    stride = view.get("byteStride", item)
    raw = np.frombuffer(data, np.uint8, a["count"] * stride, view["byteOffset"]).reshape(a["count"], stride)[:, :item]
    return np.ascontiguousarray(raw).view(dtype).reshape(a["count"], width)


def split(triangles, parts):
    """Triangles as several primitives over the same vertices."""
    return [triangles[k * len(triangles) // parts:(k + 1) * len(triangles) // parts] for k in range(parts)]


def compressed(plain, encoder=encode, parts=1):
    """A .glb whose primitives are compressed, in so many primitives each, and have no other data; everything else as it is."""
    j, data = chunks(plain)
    w, packed, arrays = Writer(), set(), []
    for mesh in j["meshes"]:
        made = []
        for primitive in mesh["primitives"]:
            attributes = [(name, j["accessors"][i]["componentType"], decoded(j, data, i), i) for name, i in primitive["attributes"].items()]
            triangles = decoded(j, data, primitive["indices"]).reshape(-1, 3).astype(np.int64)
            packed |= {primitive["indices"], *(i for _, _, _, i in attributes)}
            for some in split(triangles, parts):
                made.append((primitive, attributes, some))
        arrays.append(made)
    old, keep = j["accessors"], [i for i in range(len(j["accessors"])) if i not in packed]
    views = j["bufferViews"]
    w.json = j
    j["bufferViews"], j["accessors"] = [], []
    number = {}
    for i in keep:
        view = views[old[i]["bufferView"]]
        raw = data[view["byteOffset"]:view["byteOffset"] + view["byteLength"]]
        more = {key: view[key] for key in ("target", "byteStride") if key in view}
        number[i] = len(j["accessors"])
        j["accessors"].append({**old[i], "bufferView": w.view(raw, **more)})
    for mesh, made in zip(j["meshes"], arrays):
        mesh["primitives"] = [pack(w, old, encoder, *one) for one in made]
    for skin in j.get("skins", []):
        skin["inverseBindMatrices"] = number[skin["inverseBindMatrices"]]
    for animation in j.get("animations", []):
        for sampler in animation["samplers"]:
            sampler["input"], sampler["output"] = number[sampler["input"]], number[sampler["output"]]
    j["extensionsUsed"] = j["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    return w.glb()


def pack(w, old, encoder, primitive, attributes, triangles):
    """One primitive with its stream. An encoder may give its vertices anew: (stream, number of vertices)."""
    used = np.unique(triangles)
    place = np.zeros(len(attributes[0][2]), np.int64)
    place[used] = np.arange(len(used))
    stream = encoder(place[triangles], [(name, component, values[used]) for name, component, values, _ in attributes])
    stream, count = stream if isinstance(stream, tuple) else (stream, len(used))
    out = {key: value for key, value in primitive.items() if key not in ("attributes", "indices")}
    out["attributes"] = {}
    for name, _, values, i in attributes:
        a = {key: value for key, value in old[i].items() if key not in ("bufferView", "byteOffset")}
        a["count"] = count
        w.json["accessors"].append(a)
        out["attributes"][name] = len(w.json["accessors"]) - 1
    w.json["accessors"].append({"componentType": 5125, "type": "SCALAR", "count": 3 * len(triangles)})
    out["indices"] = len(w.json["accessors"]) - 1
    out["extensions"] = {"KHR_draco_mesh_compression": {"bufferView": w.view(stream),
                                                       "attributes": {name: k for k, (name, _, _, _) in enumerate(attributes)}}}
    return out
