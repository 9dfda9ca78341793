/* Keeps the visual mesh clear of itself where the body that carries it does not cross: in folds, whose sides are finer
 * than the body's surface.
 *
 * A frame that does not cross is left as it is. Else the vertices of what crosses, and of what was moved aside in the
 * last frame, go from places y that do not cross towards t, where upsampling has them, in a few moves that nothing is
 * in the way of (bounded_move.h). y begins as far aside of t as the last frame ended, turned with the mesh, with what
 * still crosses flattened. Both sides of a fold give way alike, and nothing else moves. */
#ifndef SPL_CONTACT_CLEAR_H
#define SPL_CONTACT_CLEAR_H

#include "body/solid.h"
#include "contact/barrier.h"

typedef struct spl_clear spl_clear;

/* `bone_count`: the width of the tables of bones that spl_clear_apply is given. `solid` must outlive it. */
supple_result spl_clear_create(const spl_solid *solid, int32_t bone_count, spl_pool *pool, spl_clear **out,
                               supple_error *error);
void spl_clear_destroy(spl_clear *c); /* accepts NULL */

/* Forgets the last frame. */
void spl_clear_reset(spl_clear *c);

typedef enum spl_clear_outcome {
    SPL_CLEAR_NOTHING, /* nothing crossed */
    SPL_CLEAR_DONE,    /* what crossed was parted */
    SPL_CLEAR_LEFT,    /* some of it was left: no start without crossings was found */
} spl_clear_outcome;

/* Moves visual vertices (3 floats a scene vertex, world space) in place. `ease`: bones x bones, 0 for pairs that are
 * released (spl_barrier_keep), which may cross; or NULL. Where memory is out nothing is moved. */
spl_clear_outcome spl_clear_apply(spl_clear *c, const double *ease, float *visual);

#endif
