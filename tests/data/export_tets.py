#!/usr/bin/env python3
"""export_tets.py --tool BUILD/supple: writes arm.mesh and quadruped.msh beside it, with the program tetgen (1.5.0, -pq1.4/10Y).

The first vertices are the welded surface, in the order in which the vertices of arm.glb and of quadruped.glb first reach each place."""
import argparse
import os
import subprocess
import tempfile

import numpy as np

import make
from generator import bodies
from generator.character import weld


def write_smesh(path, position, triangles):
    with open(path, "w") as file:
        file.write(f"{len(position)} 3 0 0\n" + "".join(f"{k + 1} {x!r} {y!r} {z!r}\n" for k, (x, y, z) in enumerate(position.tolist())))
        file.write(f"{len(triangles)} 0\n" + "".join(f"3 {a} {b} {c}\n" for a, b, c in triangles + 1) + "0\n0\n")


def rows(path):
    with open(path) as file:
        lines = [line.split("#")[0].split() for line in file]
    return [line for line in lines if line]


def tetrahedra(position, triangles):
    """(positions, tets) by tetgen, which keeps the surface as it is."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s.smesh")
        write_smesh(path, position, triangles)
        subprocess.run(["tetgen", "-pq1.4/10YQ", path], check=True, cwd=folder)
        nodes = rows(os.path.join(folder, "s.1.node"))[1:]
        tets = rows(os.path.join(folder, "s.1.ele"))[1:]
    points = np.array([[float(v) for v in row[1:4]] for row in nodes])
    tets = np.array([[int(v) for v in row[1:5]] for row in tets]) - 1
    assert np.array_equal(points[:len(position)], position), "the surface is not the beginning of the tetrahedra"
    points[len(position):] = np.round(points[len(position):], 6)
    return points, positive(points, tets)


def positive(points, tets):
    edges = points[tets[:, 1:]] - points[tets[:, :1]]
    wrong = np.linalg.det(edges) < 0
    tets[wrong] = tets[wrong][:, [0, 1, 3, 2]]
    return tets


def medit(points, tets, triangles):
    lines = ["MeshVersionFormatted 2", "Dimension 3", "Vertices", str(len(points))]
    lines += [f"{x:.9g} {y:.9g} {z:.9g} 0" for x, y, z in points]
    lines += ["Triangles", str(len(triangles))] + [f"{a} {b} {c} 0" for a, b, c in triangles + 1]
    lines += ["Tetrahedra", str(len(tets))] + [f"{a} {b} {c} {d} 0" for a, b, c, d in tets + 1] + ["End"]
    return "\n".join(lines) + "\n"


def gmsh(points, tets, triangles):
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(points))]
    lines += [f"{k + 1} {x:.9g} {y:.9g} {z:.9g}" for k, (x, y, z) in enumerate(points)]
    lines += ["$EndNodes", "$Elements", str(len(triangles) + len(tets))]
    lines += [f"{k + 1} 2 2 1 1 {a} {b} {c}" for k, (a, b, c) in enumerate(triangles + 1)]
    lines += [f"{len(triangles) + k + 1} 4 2 1 1 {a} {b} {c} {d}" for k, (a, b, c, d) in enumerate(tets + 1)]
    return "\n".join(lines + ["$EndElements"]) + "\n"


def export(part, out, form):
    corners = part.triangles if len(part.triangles) else np.arange(len(part.position)).reshape(-1, 3)
    position, triangles, _ = weld(part.position, corners)
    points, tets = tetrahedra(position, triangles)
    with open(os.path.join(make.HERE, out), "w") as file:
        file.write(form(points, tets, triangles))
    print(f"{out}: {len(points)} vertices, {len(tets)} tets, {len(triangles)} triangles")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True, help="the program supple")
    options = parser.parse_args()
    export(make.demo(options.tool, "arm", 0.3).parts[0], "arm.mesh", medit)
    export(bodies.make_quadruped().parts[0], "quadruped.msh", gmsh)
