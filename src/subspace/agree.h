/* Bases that agree where domains meet.
 *
 * Principal components of one domain say as much as they can of its own poses, and those of its neighbour of others: at
 * the seam they differ by what each leaves out, and springs bend flesh until they agree. Here the columns U that poses
 * gave, and the poses' coordinates q, are improved by turns, domain after domain, on
 *
 *     sum_s sum_k w_k |U_k q_s - u_ks|^2  +  sum_f g_f |R (p + U_k q_s) + t - (the neighbour's)|^2
 *
 * with w the weights of basis.h and g those of the interfaces' vertices times `weight`: what a neighbour cannot say is
 * not learnt either, and what both can is said alike. */
#ifndef SPL_SUBSPACE_AGREE_H
#define SPL_SUBSPACE_AGREE_H

#include "subspace/model.h"

typedef struct spl_agreement {
    const spl_domains *domains;
    int32_t pose_count;
    double *const *pose; /* by domain: as spl_snapshots.pose; those of one domain are read at a time */
    const spl_mat3 *R;   /* pose_count x domains: the domains' frames in the poses */
    const spl_vec3 *t;
    double seam;                                            /* as spl_snapshots.seam */
    double weight;                                          /* of the neighbour's word against the pose's */
    int32_t sweeps;                                         /* over all domains */
    supple_result (*load)(void *, int32_t, supple_error *); /* before a domain's poses are read; NULL: all are there */
    void *context;
} spl_agreement;

/* Improves the first pose_rank columns of all bases in place; all columns stay orthonormal with respect to the masses.
 * A domain without neighbours, or with too few poses for its columns, stays as it is. The same bits at any number of
 * threads. */
supple_result spl_bases_agree(const spl_agreement *g, spl_model_domain *domain, spl_pool *pool,
                              const supple_allocator *a, supple_error *error);

#endif
