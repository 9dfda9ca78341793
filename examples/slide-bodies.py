"""slide-bodies.py NAME FOLDER: writes NAME.glb and NAME.pc2, a tube with a texture and a vertex animation of it, for `supple skin --slide`.

    swallow   a neck; a lump under its skin moves up by 30 mm and down again (figure 5c of "Thin Skin Elastodynamics")
    twist     a tube whose upper half is turned by 90 degrees, all of it within the middle tenth (figure 4)
    mouth     a face as a tube with a slit, whose lower lip drops by 30 mm with the jaw (figure 5b): lips hold, cheeks and chin slide
    stop      a tube that rises at 1 m/s and stops within a frame: its skin runs on and jiggles, given
              --set slide.zeta=0.5 --set slide.inertia=world --set slide.step=1 --set slide.young=1e4 --set slide.drag=1

    python3 examples/slide-bodies.py swallow out
    supple skin out/swallow.glb --motion out/swallow.pc2 --slide -o swallow.png
"""
import json
import math
import os
import struct
import sys
import zlib

AROUND, ALONG = 64, 48


def png(width, height, colour):
    rows = b"".join(b"\0" + b"".join(bytes(colour(x, y)) for x in range(width)) for y in range(height))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def grid(x, y, size=512, lines=16):
    """A grid with a ring in the middle of the front, the tattoo."""
    u, v = (x + 0.5) / size, (y + 0.5) / size
    if abs(math.hypot((u - 0.5) * 2.6, v - 0.5) - 0.1) < 0.012:
        return 30, 50, 140
    off = min((u * lines) % 1, 1 - (u * lines) % 1, (v * lines) % 1, 1 - (v * lines) % 1)
    return (120, 60, 50) if off < 0.06 else (226, 172, 150)


def tube(radius, height):
    """Places (angle, height) of the vertices, row by row; the seam at the back is doubled."""
    return [(2 * math.pi * i / AROUND, height * k / ALONG) for k in range(ALONG + 1) for i in range(AROUND + 1)]


def lump(y, angle, at):
    """How far the tube's wall stands out, of the most: around the middle of the front, at a height."""
    away = ((y - at) / 0.016) ** 2 + (math.remainder(angle - math.pi, 2 * math.pi) * 0.055 / 0.018) ** 2
    return math.exp(-away / 2)


def swallow(angle, y, s):
    """The wall moves with the lump, as animated meshes do: its vertices are carried up by 30 mm where it is thickest."""
    share = lump(y, angle, 0.055)
    wide = math.exp(-(((y - 0.055) / 0.03) ** 2) / 2) * math.exp(-((math.remainder(angle - math.pi, 2 * math.pi) / 0.7) ** 2) / 2)
    r = 0.055 + 0.012 * share
    return -r * math.sin(angle), y + 0.03 * s * wide, -r * math.cos(angle)


LIPS, MOUTH = 24, 0.45  # the row of the slit, and half its width in radians


def mouth(angle, y, s):
    """The lower lip and all below it, less towards the sides and the neck; 1 mm open at first, or lips would be one."""
    off, below = abs(math.remainder(angle - math.pi, 2 * math.pi)), 0.24 * LIPS / ALONG - y
    wide = min(off / (MOUTH + 6 * max(below, 0)), 1)
    fade = min(max((below - 0.03) / 0.08, 0), 1)
    drop = (0.001 + 0.03 * s) * math.cos(wide * math.pi / 2) ** 2 * (1 - fade * fade * (3 - 2 * fade)) if below > 5e-7 else 0
    return -0.07 * math.sin(angle), y - drop, -0.07 * math.cos(angle)


def cut(at, faces, half):
    """Cuts the front open along a row: what is below gets vertices of its own there."""
    row = {LIPS * (AROUND + 1) + i for i in range(AROUND + 1) if abs(2 * math.pi * i / AROUND - math.pi) < half}
    lower = {v: len(at) + n for n, v in enumerate(sorted(row))}
    at += [(at[v][0], at[v][1] - 1e-6) for v in sorted(row)]
    under = 6 * AROUND * (LIPS - 1)
    for c in range(under, under + 6 * AROUND):
        faces[c] = lower.get(faces[c], faces[c])


def twist(angle, y, s):
    turned = angle + math.pi / 2 * s * min(max((y - 0.27) / 0.06, 0), 1)
    return -0.1 * math.sin(turned), y, -0.1 * math.cos(turned)


def stop(angle, y, s):
    return -0.1 * math.sin(angle), y + s, -0.1 * math.cos(angle)


# name: radius, height, place of a vertex by (angle, height, share), shares over time
BODIES = {
    "swallow": (0.055, 0.14, swallow, [0.5 - 0.5 * math.cos(2 * math.pi * min(k, 30) / 30) for k in range(36)]),
    "mouth": (0.07, 0.24, mouth, [0.5 - 0.5 * math.cos(2 * math.pi * k / 30) for k in range(31)]),
    "twist": (0.1, 0.6, twist, [min(k / 20, 1) for k in range(46)]),
    "stop": (0.1, 0.6, stop, [min(k * k / 20 if k < 10 else k - 5, 15) / 30 for k in range(51)]),
}


def main(name, folder):
    radius, height, place, shares = BODIES[name]
    at = tube(radius, height)
    faces = []
    for k in range(ALONG):
        for i in range(AROUND):
            a = k * (AROUND + 1) + i
            b = a + AROUND + 1
            faces += [a, a + 1, b + 1, a, b + 1, b]
    if name == "mouth":
        cut(at, faces, MOUTH)
    first = [place(a, y, shares[0]) for a, y in at]
    views = [b"".join(struct.pack("<3f", *p) for p in first),
             b"".join(struct.pack("<2f", a / (2 * math.pi), 1 - y / height) for a, y in at),
             struct.pack(f"<{len(faces)}I", *faces), png(512, 512, grid)]
    views = [v + b"\0" * (-len(v) % 4) for v in views]
    starts = [sum(map(len, views[:i])) for i in range(len(views))]
    low, high = [[f(p[c] for p in first) for c in range(3)] for f in (min, max)]
    text = json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"name": name, "mesh": 0}],
        "meshes": [{"name": name, "primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"name": "skin", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicFactor": 0}}],
        "textures": [{"source": 0}], "images": [{"bufferView": 3, "mimeType": "image/png"}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": len(at), "type": "VEC3", "min": low, "max": high},
                      {"bufferView": 1, "componentType": 5126, "count": len(at), "type": "VEC2"},
                      {"bufferView": 2, "componentType": 5125, "count": len(faces), "type": "SCALAR"}],
        "bufferViews": [{"buffer": 0, "byteOffset": s, "byteLength": len(v)} for s, v in zip(starts, views)],
        "buffers": [{"byteLength": sum(map(len, views))}]}).encode()
    text += b" " * (-len(text) % 4)
    blob = b"".join(views)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".glb"), "wb") as out:
        out.write(struct.pack("<3I", 0x46546C67, 2, 28 + len(text) + len(blob)) + struct.pack("<2I", len(text), 0x4E4F534A) + text
                  + struct.pack("<2I", len(blob), 0x004E4942) + blob)
    with open(os.path.join(folder, name + ".pc2"), "wb") as out:
        out.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, len(at), 0.0, 1.0, len(shares)))
        for s in shares:
            out.write(b"".join(struct.pack("<3f", *place(a, y, s)) for a, y in at))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in BODIES:
        sys.exit(__doc__)
    main(*sys.argv[1:])
