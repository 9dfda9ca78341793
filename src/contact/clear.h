/* Keeps the visual mesh clear of itself where the body that carries it does not cross: in folds, whose sides are finer
 * than the body's surface.
 *
 * A frame that does not cross is left as it is. Else, from the last frame's places y on, which do not cross, or, where
 * there are none, from t with what crosses flattened,
 *
 *     min over y of 1/2 sum_v |y_v - t_v|^2 + barrier(y)        t: where upsampling has the vertices
 *
 * is solved with steps that are bounded so that nothing crosses (barrier.h). Both sides of a fold give way alike, and
 * nothing else moves. */
#ifndef SPL_CONTACT_CLEAR_H
#define SPL_CONTACT_CLEAR_H

#include "body/solid.h"
#include "contact/barrier.h"

typedef struct spl_clear spl_clear;

/* Solves min 1/2 sum |y - goal|^2 + extra from y, n vertices; true if it came to rest. Given by the caller, since
 * solvers come after contact. */
typedef bool spl_clear_solve(void *context, const double *goal, const spl_extra *extra, double *y);

/* `bone_count`: the width of the tables of bones that spl_clear_apply is given. `solid` must outlive it. */
supple_result spl_clear_create(const spl_solid *solid, int32_t bone_count, spl_pool *pool, spl_clear **out,
                               supple_error *error);
void spl_clear_destroy(spl_clear *c); /* accepts NULL */

/* Vertices that it moves: of the welded flesh. */
int32_t spl_clear_count(const spl_clear *c);

/* Forgets the last frame. */
void spl_clear_reset(spl_clear *c);

typedef enum spl_clear_outcome {
    SPL_CLEAR_NOTHING, /* nothing crossed */
    SPL_CLEAR_DONE,    /* what crossed was parted */
    SPL_CLEAR_LEFT,    /* it was left: no start without crossings, or no end of it, was found */
} spl_clear_outcome;

/* Moves visual vertices (3 floats a scene vertex, world space) in place. `ease`: bones x bones, 0 for pairs that are
 * released (spl_barrier_keep), or NULL. */
spl_clear_outcome spl_clear_apply(spl_clear *c, const double *ease, spl_clear_solve *solve, void *context,
                                  float *visual);

#endif
