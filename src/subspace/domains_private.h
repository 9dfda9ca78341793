/* Between domains.c, which tet is whose (domains_cut.c) and where domains meet (domains_meet.c). */
#ifndef SPL_SUBSPACE_DOMAINS_PRIVATE_H
#define SPL_SUBSPACE_DOMAINS_PRIVATE_H

#include "subspace/domains.h"

/* Bones of one joint move as one: a limb is the lowest of them. Limbs with flesh become domains. */
typedef struct spl_cut {
    const spl_solid *solid;
    const supple_allocator *allocator;
    int32_t *limb; /* by bone: the lowest bone of its joint; once small ones are merged: the limb that has its flesh */
    int32_t *neighbour; /* 4 x tets: the tet across the face opposite each corner, -1 outside */
    int32_t *label;     /* by tet: its limb */
} spl_cut;

/* Neighbours and labels; every tet has one. */
supple_result spl_cut_create(const spl_solid *solid, const spl_domain_options *options, const supple_allocator *a,
                             spl_cut *out, supple_error *error);
void spl_cut_release(spl_cut *cut);

/* The interfaces of domains whose tets and vertices stand. */
supple_result spl_domains_meet(const spl_cut *cut, spl_domains *d, supple_error *error);

#endif
