/* Shapes of dents: how the body gives way, linearly and about its rest shape, to pressure on patches of its surface.
 * Bases of poses and vibrations have broad shapes only; these let contacts press flesh in where they are ("provided the
 * basis is enriched", multi-domain paper, section 7). */
#ifndef SPL_SUBSPACE_DENTS_H
#define SPL_SUBSPACE_DENTS_H

#include "subspace/domains.h"
#include "subspace/modal.h"

typedef struct spl_dents {
    supple_allocator allocator;
    int32_t each;   /* patches of a domain */
    int32_t *count; /* by domain: how many there are, fewer where it has fewer surface vertices */
    double *radius; /* by domain: of its patches, metres */
    double *shape;  /* domains x each x (3 x body vertices): 1 at most, 0 at held vertices */
} spl_dents;

/* Patches of a domain lie as far from each other as `each` of them can; neighbours overlap. `edge`: the body's mean
 * one, metres. On failure *out is zero. */
supple_result spl_dents_create(const spl_solid *solid, const spl_domains *domains, const spl_law *law, int32_t each,
                               double edge, const supple_config *config, spl_pool *pool, spl_dents *out,
                               supple_error *error);
void spl_dents_release(spl_dents *d); /* accepts a zeroed one */

/* Appends what the domain's dents add to a mass-orthonormal basis of (3 x vertex_count) x *rank numbers, which has room
 * for `most` columns: those first that are farthest from what it has. It is laid out anew for the *rank that comes
 * back. */
supple_result spl_dents_append(const spl_dents *d, const spl_domains *domains, int32_t domain, int32_t most,
                               int32_t vertex_count, double *basis, int32_t *rank, supple_error *error);

#endif
