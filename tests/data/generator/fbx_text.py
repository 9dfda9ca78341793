"""Turns a binary FBX file (7.4, as Blender writes it) into the text form of the same file, node by node."""
import struct
import zlib

SCALAR = {"Y": ("<h", 2), "C": ("<?", 1), "I": ("<i", 4), "F": ("<f", 4), "D": ("<d", 8), "L": ("<q", 8)}
ARRAY = {"f": ("f", 4), "d": ("d", 8), "l": ("q", 8), "i": ("i", 4), "b": ("?", 1), "c": ("b", 1)}


def read_property(raw, at):
    """(kind, value, end) of one property of a node."""
    kind, at = chr(raw[at]), at + 1
    if kind in SCALAR:
        form, size = SCALAR[kind]
        return kind, struct.unpack_from(form, raw, at)[0], at + size
    if kind in "SR":
        size, = struct.unpack_from("<I", raw, at)
        return kind, raw[at + 4:at + 4 + size], at + 4 + size
    form, size = ARRAY[kind]
    count, packed, length = struct.unpack_from("<III", raw, at)
    data = raw[at + 12:at + 12 + length]
    data = zlib.decompress(data) if packed else data
    return kind, struct.unpack(f"<{count}{form}", data), at + 12 + length


def read_node(raw, at):
    """(name, properties, children or None, end); None where the list ends."""
    end, count, _, size = struct.unpack_from("<IIIB", raw, at)
    if end == 0:
        return None
    name, at = raw[at + 13:at + 13 + size].decode(), at + 13 + size
    properties, children = [], []
    for _ in range(count):
        kind, value, at = read_property(raw, at)
        properties.append((kind, value))
    listed = at < end  # even of nothing: text needs its braces
    while at < end:
        child = read_node(raw, at)
        if child is None:
            break
        children.append(child)
        at = child[3]
    return name, properties, children if listed else None, end


def read_binary(raw):
    assert raw.startswith(b"Kaydara FBX Binary"), "not a binary FBX file"
    assert struct.unpack_from("<I", raw, 23)[0] < 7500, "wider offsets than this reads"
    nodes, at = [], 27
    while True:
        node = read_node(raw, at)
        if node is None:
            return nodes
        nodes.append(node)
        at = node[3]


def number(kind, value):
    if kind in "fF":
        return f"{value:.8g}"
    return f"{value:.9g}" if kind in "dD" else str(int(value))


def name_text(value):
    """Names are `Name, nought, one, Class` in binary files and `Class::Name` in text."""
    if b"\0\1" in value:
        name, kind = value.split(b"\0\1")
        value = kind + b"::" + name
    return '"' + value.decode().replace('"', "&quot;") + '"'


def property_text(kind, value):
    if kind == "C":
        return "T" if value else "F"
    return name_text(value) if kind == "S" else '""' if kind == "R" else number(kind, value)


def array_lines(kind, values, tab):
    """A long list, in lines of about a hundred numbers."""
    texts = [number(kind, v) for v in values]
    rows = [",".join(texts[k:k + 100]) for k in range(0, len(texts), 100)]
    return [f"*{len(values)} {{", f"{tab}\ta: " + (",\n".join(rows) if rows else ""), f"{tab}}}"]


def is_normals(node):
    """Normals, and what refers to them: half of the file's text, and a file may go without."""
    name, _, children, _ = node
    named = any(child[0] == "Type" and child[1] == [("S", b"LayerElementNormal")] for child in children or [])
    return name == "LayerElementNormal" or (name == "LayerElement" and named)


def write_node(node, depth, out):
    name, properties, children, _ = node
    tab = "\t" * depth
    if len(properties) == 1 and properties[0][0] in ARRAY and properties[0][0] != "C":
        first, *rest = array_lines(*properties[0], tab)
        out.append(f"{tab}{name}: {first}")
        out.extend(rest)
        return
    text = f"{tab}{name}: " + ", ".join(property_text(*p) for p in properties)
    if children is None and properties:
        out.append(text)
        return
    out.append(text + " {")
    for child in children or []:
        if not is_normals(child):
            write_node(child, depth + 1, out)
    out.append(f"{tab}}}")


def to_text(raw):
    out = ["; FBX 7.4.0 project file", "; ----------------------------------------------------", ""]
    for node in read_binary(raw):
        if node[0] not in ("FileId", "CreationTime", "Creator"):
            write_node(node, 0, out)
    return ("\n".join(out) + "\n").encode()
