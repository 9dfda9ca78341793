/* What bones hold firmly, as a surface: the tetrahedra whose corners are all held. Where a motion takes those of two
 * bones through each other, no flesh can keep them apart. */
#ifndef SPL_CONTACT_HELD_H
#define SPL_CONTACT_HELD_H

#include "body/solid.h"
#include "geom/pairs.h"

typedef struct spl_held {
    supple_allocator allocator;
    const int32_t *bone; /* by vertex: the bone that holds it, or -1 */
    int32_t bone_count;
    int32_t *triangle, *edge;
    spl_primitives primitives;
    spl_pairs *pairs;
    bool *rest; /* bones x bones: they cross at rest already */
} spl_held;

/* `solid` and `held` must outlive it. `bone_count` is the width of tables of bones, those of the solid or more. The
 * only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_held_create(const spl_solid *solid, const int32_t *held, int32_t bone_count, spl_pool *pool,
                              spl_held *out, supple_error *error);
void spl_held_release(spl_held *h);

/* Marks in `crossing` (bones x bones, symmetric) the pairs of bones whose held tetrahedra cross at x and do not at
 * rest; others become false. Returns how many pairs, -1 if memory is out. */
int32_t spl_held_crossings(const spl_held *h, const double *x, bool *crossing, spl_pool *pool);

#endif
