/* The file's own skinning of a model's surface, from the solid that it was trained on, and trust from its solved poses.
 *
 * An edge that flesh stretches beyond K times the longer of its rest and own length L (and beyond a length that nobody
 * sees) allows a <= (K L - |own|) / (|flesh| - |own|) at both its ends; trust is the largest field below these bounds
 * with |a_i - a_j| max(reach_i, reach_j) <= l_ij / 2 over every edge, reach the farthest that flesh was from own:
 * the rule of trust/trust.h for edges, on the flesh's surface. */
#ifndef SPL_SUBSPACE_OWN_MAKE_H
#define SPL_SUBSPACE_OWN_MAKE_H

#include "subspace/model.h"

/* Weights for a rig that is complete but for them; full trust. */
supple_result spl_own_make(const spl_solid *solid, const spl_rig *rig, const supple_allocator *a, spl_own *out,
                           supple_error *error);

/* What finding trust takes; lengths in metres. */
typedef struct spl_own_trust {
    int32_t vertex_count, triangle_count;
    const int32_t *triangle; /* 3 x triangle_count; borrowed */
    const spl_vec3 *rest;    /* by vertex; borrowed */
    double diagonal;         /* of the rest shape */
    double *bound, *reach;   /* by vertex */
} spl_own_trust;

/* `t` with everything set but the last line. */
supple_result spl_own_trust_start(spl_own_trust *t, const supple_allocator *a, supple_error *error);
void spl_own_trust_release(spl_own_trust *t, const supple_allocator *a);

/* Lowers the bounds by a pose, and keeps how far flesh was. */
void spl_own_trust_see(spl_own_trust *t, const spl_vec3 *own, const spl_vec3 *flesh);

/* The field. */
void spl_own_trust_settle(spl_own_trust *t, float *trust);

#endif
