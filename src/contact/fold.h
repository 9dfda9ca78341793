/* Parts the folds of a frame's mesh: the vertices that may move, and all around them that they may meet, as a small
 * surface with a barrier of its own (barrier.h), so that what it costs does not depend on the mesh.
 *
 * From places y that may cross, near the goal t,
 *
 *     along     all go from the last frame's places, which do not cross, to this frame's, as far as nothing meets
 *     flatten   where that fails, vertices of what crosses, and rings around them, go towards the middle of their
 *               neighbours until nothing crosses
 *     give up   what crosses still is left as it is at t: it may cross from then on
 *     approach  the vertices go to t, in moves that nothing is in the way of (bounded_move.h) */
#ifndef SPL_CONTACT_FOLD_H
#define SPL_CONTACT_FOLD_H

#include "contact/barrier.h"

/* What it is of; all is borrowed. */
typedef struct spl_fold_mesh {
    const spl_barrier_surface *surface;
    const int32_t *first, *next; /* neighbours of v: next[first[v]] to next[first[v + 1]] */
    const double *y, *goal;      /* 3 x vertices */
    const double *before;        /* the same: places of the last frame, which did not cross; NULL: there are none */
    const bool *exempt;          /* by vertex: spl_barrier_exempt */
    double width;                /* of the barrier, metres */
} spl_fold_mesh;

typedef struct spl_fold spl_fold;

/* surface->fixed says which vertices do not move: these are at their goal. `ease`: bones x bones (spl_barrier_keep).
 * The only failure is SUPPLE_ERROR_MEMORY; *out is then NULL. */
supple_result spl_fold_create(const spl_fold_mesh *mesh, const double *ease, const supple_allocator *a, spl_pool *pool,
                              spl_fold **out, supple_error *error);
void spl_fold_destroy(spl_fold *f); /* accepts NULL */

/* Returns false if that was not possible. */
bool spl_fold_part(spl_fold *f);

/* The answer into y (3 x vertices of the mesh), and marks what was given up. */
void spl_fold_read(const spl_fold *f, double *y, bool *left);

#endif
