"""Reads our own .glb files and writes characters as glTF."""
import base64
import json
import struct

import numpy as np

from .character import FINE, Character, Node, Part, snap

COMPONENT = {np.dtype(np.int8): 5120, np.dtype(np.uint8): 5121, np.dtype(np.int16): 5122, np.dtype(np.uint16): 5123,
             np.dtype(np.uint32): 5125, np.dtype(np.float32): 5126}
KIND = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
WIDTH = {kind: width for width, kind in KIND.items()}


# ---- writing --------------------------------------------------------------------------------------------------------

class Writer:
    """The JSON of a file and its one buffer, as they grow."""

    def __init__(self):
        self.json = {"asset": {"version": "2.0", "generator": "supple tests/data/make.py"}, "scene": 0, "scenes": [{"nodes": []}],
                     "nodes": [], "accessors": [], "bufferViews": []}
        self.data = bytearray()

    def view(self, raw, **more):
        self.data += bytes(-len(self.data) % 4)
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(raw), **more})
        self.data += raw
        return len(self.json["bufferViews"]) - 1

    def accessor(self, values, bounds=False, target=None, **more):
        """An accessor of its own view; `values`: count x width, of the type that is to be written."""
        values = np.ascontiguousarray(values)
        values = values.reshape(len(values), -1)
        item = values.dtype.itemsize * values.shape[1]
        padded, view = values.tobytes(), {"target": target} if target else {}
        if target == 34962 and item % 4:  # vertices lie on multiples of four bytes
            rows = np.zeros((len(values), item + -item % 4), np.uint8)
            rows[:, :item] = values.view(np.uint8).reshape(len(values), item)
            padded, view["byteStride"] = rows.tobytes(), rows.shape[1]
        a = {"bufferView": self.view(padded, **view), "componentType": COMPONENT[values.dtype], "count": len(values),
             "type": KIND[values.shape[1]], **more}
        if bounds:
            a["min"], a["max"] = values.min(0).tolist(), values.max(0).tolist()
        self.json["accessors"].append(a)
        return len(self.json["accessors"]) - 1

    def floats(self, values, bounds=False, target=None):
        return self.accessor(snap(values, FINE).astype(np.float32), bounds, target)

    def text(self):
        for key in ("accessors", "bufferViews"):
            if not self.json[key]:
                del self.json[key]
        return json.dumps(self.json, separators=(",", ":"))

    def glb(self):
        self.json["buffers"] = [{"byteLength": len(self.data)}]
        text = self.text().encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + bytes(-len(self.data) % 4)
        return (struct.pack("<4sIIII", b"glTF", 2, 28 + len(text) + len(data), len(text), 0x4E4F534A) + text +
                struct.pack("<II", len(data), 0x004E4942) + data)

    def embedded(self):
        uri = "data:application/octet-stream;base64," + base64.b64encode(bytes(self.data)).decode()
        self.json["buffers"] = [{"byteLength": len(self.data), "uri": uri}]
        return self.text().encode() + b"\n"

    def separate(self, name):
        """The text of the file and that of its buffer, which is to have this name."""
        self.json["buffers"] = [{"byteLength": len(self.data), "uri": name}]
        return self.text().encode() + b"\n", bytes(self.data)


def number_list(values):
    return [round(float(v), 9) + 0.0 for v in values]


def write_nodes(w, c):
    for i, node in enumerate(c.nodes):
        n = {"name": node.name}
        for key, plain in (("translation", (0, 0, 0)), ("rotation", (0, 0, 0, 1)), ("scale", (1, 1, 1))):
            if tuple(getattr(node, key)) != plain:
                n[key] = number_list(getattr(node, key))
        children = [k for k, other in enumerate(c.nodes) if other.parent == i]
        if children:
            n["children"] = children
        if node.parent < 0:
            w.json["scenes"][0]["nodes"].append(len(w.json["nodes"]))
        w.json["nodes"].append(n)


def write_weights(w, weights, as_bytes):
    if as_bytes:
        return w.accessor(np.round(255 * weights).astype(np.uint8), target=34962, normalized=True)
    return w.accessor(weights.astype(np.float32), target=34962)


def attributes(w, part):
    """The accessors of a part's vertices."""
    out = {"POSITION": w.floats(part.position, bounds=True, target=34962)}
    if part.normal is not None:
        out["NORMAL"] = w.floats(part.normal, target=34962)
    if part.uv is not None:
        out["TEXCOORD_0"] = w.floats(part.uv, target=34962)
    return {**out, **joint_attributes(w, part)}


def joint_attributes(w, part):
    out = {}
    for k in range(0 if part.joints is None else part.joints.shape[1] // 4):
        out[f"JOINTS_{k}"] = w.accessor(part.joints[:, 4 * k:4 * k + 4].astype(np.uint8), target=34962)
        out[f"WEIGHTS_{k}"] = write_weights(w, part.weights[:, 4 * k:4 * k + 4], part.bytes)
    return out


def write_part(w, part, skin):
    """One mesh and the node that shows it."""
    p = {"attributes": attributes(w, part), "material": part.material}
    if part.triangles is not None and len(part.triangles):
        p["indices"] = w.accessor(part.triangles.reshape(-1, 1).astype(np.uint16), target=34963)
    w.json.setdefault("meshes", []).append({"name": part.name, "primitives": [p]})
    node = {"name": part.name, "mesh": len(w.json["meshes"]) - 1}
    if part.joints is not None:
        node["skin"] = skin
    w.json["nodes"].append(node)
    at = len(w.json["nodes"]) - 1
    if part.node is None:
        w.json["scenes"][0]["nodes"].append(at)
    else:
        w.json["nodes"][part.node].setdefault("children", []).append(at)
    return p


def write_skin(w, joints, bind, name):
    matrices = np.array([m.T.reshape(16) for m in bind])
    skin = {"name": name, "joints": [int(j) for j in joints], "inverseBindMatrices": w.floats(matrices)}
    w.json.setdefault("skins", []).append(skin)
    return len(w.json["skins"]) - 1


def write_clips(w, clips):
    for name, channels in clips:
        clip, inputs = {"name": name, "channels": [], "samplers": []}, {}
        for node, path, times, values in channels:
            key = times.tobytes()
            if key not in inputs:
                inputs[key] = w.floats(times.reshape(-1, 1), bounds=True)
            values = values.reshape(len(times), -1)
            output = w.accessor(values, normalized=True) if values.dtype == np.int16 else w.floats(values)
            clip["samplers"].append({"input": inputs[key], "output": output})
            clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": {"node": node, "path": path}})
        w.json.setdefault("animations", []).append(clip)


def write_character(c):
    """The usual file: nodes, a skin, parts, clips."""
    w = Writer()
    write_nodes(w, c)
    colours = [[0.8, 0.6, 0.5, 1], [0.3, 0.4, 0.7, 1], [0.4, 0.6, 0.3, 1], [0.7, 0.7, 0.7, 1]]
    w.json["materials"] = [{"name": name, "pbrMetallicRoughness": {"baseColorFactor": colours[i % 4], "metallicFactor": 0}}
                           for i, name in enumerate(c.materials)]
    if c.joint:
        write_skin(w, c.joint, c.bind(), c.name)
    for part in c.parts:
        write_part(w, part, 0)
    write_clips(w, c.clips)
    return w


# ---- reading what `supple demo` wrote -------------------------------------------------------------------------------

def chunks(raw):
    at, out = 12, []
    while at < len(raw):
        size, = struct.unpack_from("<I", raw, at)
        out.append(raw[at + 8:at + 8 + size])
        at += 8 + size
    return json.loads(out[0]), out[1]


def read_glb(raw, name):
    """A character of `supple demo`: one skin, tightly packed accessors."""
    j, data = chunks(raw)
    dtype = {code: kind for kind, code in COMPONENT.items()}

    def read(at):
        a = j["accessors"][at]
        start = j["bufferViews"][a["bufferView"]].get("byteOffset", 0)
        count = a["count"] * WIDTH[a["type"]]
        return np.frombuffer(data, dtype[a["componentType"]], count, start).reshape(a["count"], -1)
    shown = [i for i, n in enumerate(j["nodes"]) if "mesh" in n]
    kept = [i for i in range(len(j["nodes"])) if i not in shown]
    c = Character(name)
    for i in kept:
        parent = next((kept.index(k) for k in kept if i in j["nodes"][k].get("children", [])), -1)
        c.nodes.append(Node(j["nodes"][i]["name"], parent, snap(j["nodes"][i]["translation"])))
    c.joint = [kept.index(i) for i in j["skins"][0]["joints"]]
    for i in shown:
        p = j["meshes"][j["nodes"][i]["mesh"]]["primitives"][0]
        a = {key: read(at) for key, at in p["attributes"].items()}
        c.parts.append(Part(j["nodes"][i]["name"], snap(a["POSITION"]), read(p["indices"]).reshape(-1, 3), a["JOINTS_0"].astype(int),
                            whole_weights(a["WEIGHTS_0"]), snap(a["NORMAL"], 2.0 ** -10), snap(a["TEXCOORD_0"], 2.0 ** -12)))
    for clip in j["animations"]:
        channels = [(kept.index(ch["target"]["node"]), ch["target"]["path"], snap(read(s["input"])[:, 0], FINE),
                     snap(read(s["output"]), FINE))
                    for ch in clip["channels"] for s in [clip["samplers"][ch["sampler"]]]]
        c.clips.append((clip["name"], channels))
    return c


def whole_weights(weights):
    """Weights in 255ths that sum to one: the largest takes what rounding leaves."""
    w = np.round(np.asarray(weights, float) * 255).astype(int)
    rows = np.arange(len(w))
    w[rows, np.argmax(w, axis=1)] += 255 - w.sum(1)
    return w / 255.0
