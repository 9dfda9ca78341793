/* Skin that gives way where the body is squeezed.
 *
 * The upsampling (upsample.h) knows the body's surface alone. Skin that lies below it keeps its depth: where flesh is
 * pressed flat it comes out on the other side, and a finger is turned inside out. The tetrahedra know better. With p_j
 * the place of visual vertex j in the tetrahedron that holds it at rest, carried along,
 *
 *     x_j <- p_j + e_j min(1, l_j / |e_j|)        e_j = x_j - p_j
 *
 * where l_j is a tenth of the tetrahedron's mean edge, and what morph targets displace it by. What the upsampling adds
 * for smoothness is less; most skin is not touched, to the bit. Outside of the body, where tetrahedra say less and
 * less, l_j grows, and from 0.3 (a barycentric coordinate) on skin is free.
 *
 * The tetrahedron is sought around the body's vertices that carry the skin vertex, so not on the next finger. */
#ifndef SPL_BODY_SQUEEZE_H
#define SPL_BODY_SQUEEZE_H

#include "body/body.h"
#include "body/weights.h"

typedef struct spl_squeeze spl_squeeze;

/* The body must outlive it. `weights`: of its vertices, or NULL; skin in a tet of another limb is free. The only
 * failure is SUPPLE_ERROR_MEMORY; *out is then NULL. */
supple_result spl_squeeze_create(const spl_body *body, const spl_bone_weights *weights, const supple_allocator *a,
                                 spl_pool *pool, spl_squeeze **out, supple_error *error);
void spl_squeeze_destroy(spl_squeeze *s); /* accepts NULL */

/* `posed`: 3 a vertex of the body; `delta`: 3 a vertex of the scene, of morph targets, or NULL; `visual`: the same,
 * which it moves. All in the body's space. */
void spl_squeeze_apply(const spl_squeeze *s, const float *posed, const float *delta, spl_pool *pool, float *visual);

#endif
