/* Domains: the body cut into parts, each of which moves with the frame of one bone (multi-domain paper, section 5.1).
 *
 * Every tet belongs to one domain. A domain's vertices are the free vertices of its tets: a vertex on the border stands
 * in each of the domains that meet there, and interfaces tie its copies together. Vertices that bones hold are no
 * unknowns of any domain; tets that have some see them at the places that the pose prescribes.
 *
 * Bones of one joint move as one and share a domain. A domain hangs together through faces where the mesh does: what
 * its rule gave it elsewhere goes to the domain that it touches. Loose pieces go with the bone they hang on. */
#ifndef SPL_SUBSPACE_DOMAINS_H
#define SPL_SUBSPACE_DOMAINS_H

#include "body/solid.h"

typedef enum spl_domain_rule {
    SPL_DOMAINS_NEAREST, /* a tet goes to the bone whose segment is nearest to its centre */
    SPL_DOMAINS_WEIGHTS, /* to the bone with the largest weight (solid.weights) at the tet's centre; the default */
} spl_domain_rule;

typedef struct spl_domain_options {
    spl_domain_rule rule;
    int32_t most;       /* domains; 0: as many as bones have flesh of their own. The smallest join their parents */
    int32_t least_tets; /* a smaller domain joins a neighbour */
} spl_domain_options;

spl_domain_options spl_domain_options_default(void);

/* Where two domains meet: vertices that stand in both, i < j. */
typedef struct spl_interface {
    int32_t i, j;
    int32_t count;
    int32_t *at_i, *at_j; /* by interface vertex: its place among the vertices of i and of j */
    double *area;         /* m^2: a third of the faces between the two that it is a corner of; positive, also where
                           * pieces of flesh hang together at an edge or a corner without a face */
} spl_interface;

typedef struct spl_domain {
    int32_t bone; /* whose frame it moves with: the lowest of its joint */
    int32_t tet_count;
    int32_t *tet; /* rising */
    int32_t vertex_count;
    int32_t *vertex; /* free vertices of its tets, rising */
    double *mass;    /* kg, by vertex: lumped from its own tets alone */
} spl_domain;

typedef struct spl_domains {
    supple_allocator allocator;
    int32_t domain_count, interface_count;
    spl_domain *domain;       /* rising by bone */
    spl_interface *interface; /* rising by i, then j */
    int32_t *of_bone;         /* by bone: its domain; -1 for a bone that moves none */
    int32_t *of_tet;          /* by tet */
} spl_domains;

/* `options` may be NULL. SUPPLE_ERROR_INPUT if bones hold all of the flesh. On failure *out is zero. */
supple_result spl_domains_create(const spl_solid *solid, const spl_domain_options *options, const supple_allocator *a,
                                 spl_domains *out, supple_error *error);
void spl_domains_release(spl_domains *d);

#endif
