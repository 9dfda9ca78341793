/* Weights that spread through the tets by diffusion: bone heat (Baran and Popovic 2007, "Automatic rigging and
 * animation of 3D characters", section 4) and the input's own weights carried inside. */
#ifndef SPL_BODY_DIFFUSE_H
#define SPL_BODY_DIFFUSE_H

#include "body/body.h"
#include "body/weight_table.h"

typedef struct spl_diffusion {
    const spl_elements *elements;
    const bool *fixed;      /* by vertex: its values in the table stand */
    const double *reaction; /* by vertex: r >= 0, times its mass; NULL: none */
    const int32_t *source;  /* by vertex: the bone whose weight r draws towards 1, all others' towards 0 */
    const supple_solver_backend *backend;
} spl_diffusion;

/* Solves (L + M r) w = M r p for every bone, where w is not fixed; all on one factor. Every piece needs a fixed vertex
 * or one with r > 0. What rounding or obtuse tets leave below 0 is set to 0. */
supple_result spl_diffuse(const spl_diffusion *d, spl_pool *pool, spl_weight_table *t, supple_error *error);

/* Bone heat: (-Laplace + H) w = H p with H = 1 / d^2, d the distance to the nearest bone and p = 1 for that bone alone.
 * Nearest is meant through the body, along edges of the tets from the vertices that bones hold: what the paper tests by
 * visibility. Held vertices keep the weight 1 of their bone. `rest` is 3 x vertices. */
supple_result spl_heat_weights(const spl_harmonic_input *in, const double *rest, spl_pool *pool,
                               const supple_allocator *a, spl_weight_table *out, supple_error *error);

/* The skin's own weights at the surface of the tets, harmonic inside. A joint with several bones gives its weight to
 * its first. */
supple_result spl_own_weights(const spl_body *body, const spl_elements *elements, const supple_solver_backend *backend,
                              spl_pool *pool, const supple_allocator *a, spl_weight_table *out, supple_error *error);

#endif
