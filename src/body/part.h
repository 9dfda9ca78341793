/* Parts the body's surface where it passes through itself.
 *
 * Limbs that are thinner than the lattice sees are grown, each on its own copy of the lattice: fingers beside each
 * other overlap by up to half a cell. Here both sides of every crossing are pushed into their own flesh until nothing
 * crosses and a small gap is left, and the tetrahedra around give way without turning over. */
#ifndef SPL_BODY_PART_H
#define SPL_BODY_PART_H

#include "body/tets.h"
#include "core/threads.h"

typedef struct spl_part_report {
    int32_t crossings_before; /* edges of the surface that passed through triangles of it */
    int32_t crossings;        /* those that are left */
    int32_t near;             /* pairs across a gap that is narrower than wanted, left */
    int32_t rounds;           /* of pushing */
    int32_t moved;            /* vertices */
    double farthest;          /* way of a vertex, in cells */
} spl_part_report;

/* Moves vertices; the tetrahedra, their surface (which must be there) and their order stay. `cell` is the lattice
 * constant, in the tetrahedra's unit. Every tetrahedron that is positive stays so. Crossings that cannot be parted
 * without crushing flesh are left, and counted: no failure but SUPPLE_ERROR_MEMORY. The same at any number of
 * threads. */
supple_result spl_part_surface(spl_tets *tets, double cell, spl_pool *pool, spl_part_report *report,
                               supple_error *error);

#endif
