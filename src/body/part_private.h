/* The two halves of parting: what is to go where (part_find.c), and flesh that gives way (part_yield.c). */
#ifndef SPL_BODY_PART_PRIVATE_H
#define SPL_BODY_PART_PRIVATE_H

#include "body/part.h"

/* ---- what is to go where ---- */

/* What a look at the surface found. */
typedef struct part_found {
    int32_t crossings; /* edges through triangles */
    int32_t near;      /* pairs across less than the gap */
    int32_t sunk;      /* vertices inside of other flesh, where that is looked at */
    spl_vec3 *push;    /* by vertex: the ways that were asked for, by their shares */
    double *share;     /* by vertex: sum of the shares; 0: it may stay */
} part_found;

typedef struct part_finder part_finder;

/* Looks at the triangles of the surface with a corner `within` (by vertex; NULL: at all of them), and pushes vertices
 * inside of tetrahedra with such a corner too (NULL: not). The tetrahedra and `home` (part.h) are borrowed. *out is
 * NULL on failure. */
supple_result spl_part_finder_create(const spl_tets *tets, const spl_vec3 *home, const bool *within, double cell,
                                     spl_pool *pool, part_finder **out, supple_error *error);
void spl_part_finder_destroy(part_finder *f);

/* Looks at the tetrahedra's positions as they are now. */
supple_result spl_part_find(part_finder *f, supple_error *error);
const part_found *spl_part_finder_found(const part_finder *f);

/* ---- flesh that gives way ---- */

typedef struct part_yield part_yield;

/* The tetrahedra are borrowed; they are at rest as they are now. *out is NULL on failure. */
supple_result spl_part_yield_create(spl_tets *tets, double cell, part_yield **out, supple_error *error);
void spl_part_yield_destroy(part_yield *y);

/* From now on only what is near these vertices moves (share > 0), and those that are asked. Marks what moves and some
 * more around it. */
void spl_part_yield_begin(part_yield *y, const double *share, bool *within);

/* Asks that a vertex go to a place; each time it is asked, it is pulled harder. */
void spl_part_yield_ask(part_yield *y, int32_t vertex, spl_vec3 to);

/* Vertices that were asked stay where they are now, by `keep` of the pull they had. */
void spl_part_yield_tire(part_yield *y, double keep);

/* Lets vertices be pulled harder, so many times. */
void spl_part_yield_insist(part_yield *y, double times);

/* Moves the vertices near those that were asked. */
void spl_part_yield_sweep(part_yield *y);

#endif
