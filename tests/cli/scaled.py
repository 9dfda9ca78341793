"""The same character in another unit: a .glb whose lengths are all multiplied, and one whose node scale undoes that."""
import json
import struct

import numpy as np


def read(path):
    with open(path, "rb") as file:
        raw = file.read()
    size = struct.unpack_from("<I", raw, 12)[0]
    return json.loads(raw[20:20 + size]), bytearray(raw[28 + size:])


def write(path, doc, binary):
    text = json.dumps(doc).encode()
    text += b" " * (-len(text) % 4)
    binary = bytes(binary) + b"\0" * (-len(binary) % 4)
    with open(path, "wb") as file:
        file.write(struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(binary)))
        file.write(struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary)


def rows(doc, binary, index, width):
    """An accessor's floats, to be changed in place; tightly packed or strided."""
    accessor = doc["accessors"][index]
    view = doc["bufferViews"][accessor["bufferView"]]
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    stride = view.get("byteStride", 0) or 4 * width
    return np.ndarray((accessor["count"], width), np.float32, binary, start, (stride, 4))


def lengths(doc):
    """(accessor, width, columns) of everything that is a length."""
    found = set()
    for mesh in doc.get("meshes", []):
        for primitive in mesh["primitives"]:
            for attributes in [primitive["attributes"]] + primitive.get("targets", []):
                if "POSITION" in attributes:
                    found.add((attributes["POSITION"], 3, (0, 1, 2)))
    for skin in doc.get("skins", []):
        found.add((skin["inverseBindMatrices"], 16, (12, 13, 14)))
    for animation in doc.get("animations", []):
        for channel in animation["channels"]:
            if channel["target"]["path"] == "translation":
                found.add((animation["samplers"][channel["sampler"]]["output"], 3, (0, 1, 2)))
    return sorted(found)


def scale(source, out, factor, undo=False):
    """Writes `source` with all lengths times `factor`; `undo` puts a node of scale 1 / factor above the whole."""
    doc, binary = read(source)
    for index, width, columns in lengths(doc):
        values = rows(doc, binary, index, width)
        values[:, columns] = values[:, columns].astype(float) * factor
        for bound in ("min", "max"):
            if bound in doc["accessors"][index] and width == 3:
                doc["accessors"][index][bound] = [float(v) for v in getattr(values, bound)(axis=0)]
    for node in doc["nodes"]:
        if "translation" in node:
            node["translation"] = [v * factor for v in node["translation"]]
        if "matrix" in node:
            node["matrix"][12:15] = [v * factor for v in node["matrix"][12:15]]
    if undo:
        scene = doc["scenes"][doc.get("scene", 0)]
        doc["nodes"].append({"name": "unit", "scale": [1 / factor] * 3, "children": scene["nodes"]})
        scene["nodes"] = [len(doc["nodes"]) - 1]
    write(out, doc, binary)
    return out
