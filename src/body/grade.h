/* Graded tetrahedra: fine at the surface, coarse inside, after the stuffing (Labelle and Shewchuk 2007, section 3: an
 * octree of body-centred cells).
 *
 * Stuffing leaves whole lattice tetrahedra deep inside. Cells all of whose tetrahedra are whole, and whose points
 * belong to one limb alone, are merged eight by eight, as long as neighbours over a face or an edge differ by at most
 * one level. An octant of any size has a vertex at its centre and at its corners, all of them lattice points that are
 * there already. Tetrahedra, with c the centre of an octant and n that of its neighbour over a face:
 *
 *     neighbour of the same size   c n and an edge of the face; in two halves if a finer octant cuts the edge in half
 *     finer neighbours             the face is cut in eight triangles about its middle: c and each of them; and each
 *                                  finer neighbour's centre with the two triangles on its side
 *
 * The surface and everything within a cell of it stay as they were. */
#ifndef SPL_BODY_GRADE_H
#define SPL_BODY_GRADE_H

#include "body/tets.h"
#include "geom/surface.h"

typedef struct spl_grade_report {
    int32_t uniform_tets, uniform_vertices; /* before */
    int32_t octants;                        /* of more than one cell */
    int32_t levels;                         /* of them: the largest is 2^levels cells wide */
} spl_grade_report;

/* Coarsens tets of a lattice of constant `cell` through the origin (lattice.h), in place; vertices that are used no
 * more are left out, with their places. Other tets than the lattice's stay. A surface found earlier is dropped. On
 * failure (SUPPLE_ERROR_MEMORY) the tets are as they were. */
supple_result spl_grade(spl_tets *tets, spl_place *place, double cell, spl_grade_report *report, supple_error *error);

#endif
