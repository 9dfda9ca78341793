"""EXT_meshopt_compression, by the library meshoptimizer where it is installed."""
import ctypes
import ctypes.util
import json

import numpy as np

from .gltf_file import Writer, chunks


def library():
    """The library, set to the streams that the extension has; None where there is none."""
    name = ctypes.util.find_library("meshoptimizer")
    if not name:
        return None
    lib = ctypes.CDLL(name)
    for f in ("meshopt_encodeVertexBuffer", "meshopt_encodeVertexBufferBound", "meshopt_encodeIndexBuffer", "meshopt_encodeIndexBufferBound"):
        getattr(lib, f).restype = ctypes.c_size_t
    lib.meshopt_encodeVertexVersion(0)
    lib.meshopt_encodeIndexVersion(1)
    return lib


def encode(lib, values, is_index):
    """The stream of an array, count x bytes of an item."""
    count, size = values.shape[0], ctypes.c_size_t
    if is_index:
        bound = lib.meshopt_encodeIndexBufferBound(size(count), size(int(values.max()) + 1))
        out = (ctypes.c_ubyte * bound)()
        wide = np.ascontiguousarray(values.astype(np.uint32))
        length = lib.meshopt_encodeIndexBuffer(out, size(bound), wide.ctypes.data_as(ctypes.c_void_p), size(count))
    else:
        bound = lib.meshopt_encodeVertexBufferBound(size(count), size(values.shape[1]))
        out = (ctypes.c_ubyte * bound)()
        values = np.ascontiguousarray(values)
        length = lib.meshopt_encodeVertexBuffer(out, size(bound), values.ctypes.data_as(ctypes.c_void_p), size(count), size(values.shape[1]))
    assert length > 0, "meshoptimizer refused an array"
    return bytes(out[:length])


def compressed(lib, plain):
    """A .glb whose vertices and triangles are compressed; what they would be lies in a buffer that is not there."""
    j, data = chunks(plain)
    w, fallback = Writer(), 0
    w.json = j
    views, j["bufferViews"] = j["bufferViews"], []
    for k, view in enumerate(views):
        raw, target = data[view["byteOffset"]:view["byteOffset"] + view["byteLength"]], view.get("target")
        if target is None:
            w.view(raw)
            continue
        users = [a for a in j["accessors"] if a["bufferView"] == k]
        count, is_index = users[0]["count"], target == 34963
        values = np.frombuffer(raw, np.uint16) if is_index else np.frombuffer(raw, np.uint8).reshape(count, -1)
        stream = encode(lib, values, is_index)
        start = len(w.data) + -len(w.data) % 4
        w.data += bytes(start - len(w.data)) + stream
        stride = 2 if is_index else values.shape[1]
        extension = {"buffer": 0, "byteOffset": start, "byteLength": len(stream), "byteStride": stride, "count": count,
                     "mode": "TRIANGLES" if is_index else "ATTRIBUTES"}
        new = {"buffer": 1, "byteOffset": fallback, "byteLength": view["byteLength"], "target": target,
               "extensions": {"EXT_meshopt_compression": extension}}
        if not is_index:
            new["byteStride"] = stride
        j["bufferViews"].append(new)
        fallback += view["byteLength"] + -view["byteLength"] % 4
    j["extensionsUsed"] = j["extensionsRequired"] = ["EXT_meshopt_compression"]
    out = w.glb()
    return with_fallback(out, fallback)


def with_fallback(raw, size):
    """Adds the second buffer, which has a length and no data."""
    from .bad import glb
    j, data = chunks(raw)
    j["buffers"].append({"byteLength": size, "extensions": {"EXT_meshopt_compression": {"fallback": True}}})
    return glb(json.loads(json.dumps(j)), data)
