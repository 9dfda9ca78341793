/* Parts the body's surface where it passes through itself.
 *
 * Limbs that are thinner than the lattice sees are grown, each on its own copy of the lattice: fingers beside each
 * other overlap by half a cell and more. Here both sides of every crossing are pushed into their own flesh until
 * nothing crosses and a small gap is left; the tetrahedra around give way, and none turns over. */
#ifndef SPL_BODY_PART_H
#define SPL_BODY_PART_H

#include "body/tets.h"
#include "core/threads.h"

#define SPL_PART_GAP 0.05 /* in cells: wanted between parts of the surface that no edge connects */

typedef struct spl_part_report {
    int32_t crossings_before; /* edges of the surface that passed through triangles of it */
    int32_t crossings;        /* those that are left */
    int32_t sunk;             /* vertices of the surface left inside of other flesh */
    int32_t near;             /* pairs of the surface's points, edges and triangles left nearer than the gap */
    int32_t rounds;           /* of pushing */
    int32_t moved;            /* vertices */
    double farthest;          /* way of a vertex, in cells */
} spl_part_report;

/* Moves vertices; tetrahedra, their order and their surface (which must have been found) stay. `cell` is the lattice
 * constant; `home` (by vertex, may be NULL) the place of the skin that a vertex belongs to. Tetrahedra that are
 * positive stay so. What cannot be parted without crushing flesh is left, and counted. SUPPLE_ERROR_MEMORY is the only
 * failure. The same bits at any number of threads. */
supple_result spl_part_surface(spl_tets *tets, const spl_vec3 *home, double cell, spl_pool *pool,
                               spl_part_report *report, supple_error *error);

#endif
