/* The two halves of parting: what is pushed where (part_find.c), and the flesh that gives way (part_yield.c). */
#ifndef SPL_BODY_PART_PRIVATE_H
#define SPL_BODY_PART_PRIVATE_H

#include "body/part.h"
#include "geom/pairs.h"

/* ---- pushes ---- */

typedef struct part_finder part_finder;

/* What a look at the surface found, and which way each vertex is to go. */
typedef struct part_found {
    int32_t crossings, near, sunk; /* edges through triangles; pairs below the gap; vertices inside of other flesh */
    spl_vec3 *push;                /* by vertex */
    double *share;                 /* by vertex: 0 where there is no push */
} part_found;

supple_result spl_part_finder_create(const spl_tets *tets, double cell, spl_pool *pool, part_finder **out,
                                     supple_error *error);
void spl_part_finder_destroy(part_finder *f);
/* At the tetrahedra's positions. */
supple_result spl_part_find(part_finder *f, supple_error *error);
const part_found *spl_part_finder_found(const part_finder *f);

/* ---- flesh ---- */

typedef struct part_yield part_yield;

supple_result spl_part_yield_create(const spl_tets *tets, double cell, part_yield **out, supple_error *error);
void spl_part_yield_destroy(part_yield *y);
/* Asks that vertex v go to `to`. */
void spl_part_yield_ask(part_yield *y, int32_t v, spl_vec3 to);
/* Vertices that were pushed stay where they are now, more and more loosely. */
void spl_part_yield_tire(part_yield *y, const spl_tets *tets, double keep);
/* Moves the tetrahedra's vertices. */
void spl_part_yield_sweep(part_yield *y, spl_tets *tets, int sweeps);

#endif
