/* Bases of the domains: from poses and vibrations of the whole body to mass-orthonormal columns (section 5.1). */
#ifndef SPL_SUBSPACE_BASIS_H
#define SPL_SUBSPACE_BASIS_H

#include "subspace/domains.h"

/* Displacements to learn from. Poses are in the domain's frame already: u = R^T (x - t) - p, by domain. Shapes of
 * vibrations are of the whole body. */
typedef struct spl_snapshots {
    int32_t pose_count;
    double *const *pose;  /* by domain: pose_count x (3 x vertex_count of the domain), one pose after another; those of
                           * one domain are read at a time */
    int32_t vertex_count; /* of the body */
    int32_t shape_count;
    const double *shape; /* shape_count x (3 x body vertices), held vertices 0 */
    const double *scale; /* by shape: PCA weight, lambda_1/lambda_i or lambda_1^2/(lambda_i lambda_j) */
    double seam; /* what the vertices of an interface weigh in the PCA besides their mass, of the domain's mass */
} spl_snapshots;

/* Columns for one domain: weighted PCA of the poses gives the first ones, that of the shapes (orthogonalised against
 * them) the others; where one has fewer than its share the other gets more. Fewer columns come back than were wanted if
 * the snapshots span fewer, 0 if they are all 0: what is below 1e-6 of their size counts as rounding. `pose_share` is 0
 * to 1. basis: room for (3 x vertex_count) x rank, laid out as spl_model_domain.basis with the rank that comes back.
 * The same bits at any number of threads. */
supple_result spl_basis_make(const spl_domains *domains, int32_t domain, const spl_snapshots *snapshots, int32_t rank,
                             double pose_share, spl_pool *pool, const supple_allocator *a, double *basis,
                             int32_t *rank_out, int32_t *pose_rank, supple_error *error);

/* What a domain's vertices weigh: their mass, and at interfaces `seam` of the domain's mass besides, by area. */
void spl_basis_weights(const spl_domains *domains, int32_t domain, double seam, double *weight);

/* Ranks by domain, `rank` in the mean, between three tenths of it and twice as much: columns go where they take away
 * most of the mean square displacement that poses have left. A torso with six neighbours needs several times the
 * columns of a toe for the same error. `load` is called before a domain's poses are read, domain after domain; NULL:
 * all are there. */
supple_result spl_basis_ranks(const spl_domains *domains, const spl_snapshots *snapshots, int32_t rank,
                              double pose_share, supple_result (*load)(void *, int32_t, supple_error *), void *context,
                              spl_pool *pool, const supple_allocator *a, int32_t *ranks, supple_error *error);

#endif
