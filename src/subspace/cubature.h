/* Choosing the tets at which a domain's internal forces are evaluated, with their weights (An, Kim and James 2008):
 * greedy, with non-negative least squares on the chosen set, until the forces of the training poses are met. */
#ifndef SPL_SUBSPACE_CUBATURE_H
#define SPL_SUBSPACE_CUBATURE_H

#include "fem/law.h"
#include "subspace/model.h"

/* One training state: q of the domain, and the places of held vertices in its frame as the pose had them. */
typedef struct spl_cubature_pose {
    const double *q;    /* rank */
    const double *held; /* 3 x body vertices, read at held vertices of the domain's tets alone: the domain's frame */
} spl_cubature_pose;

typedef struct spl_cubature_options {
    double error;       /* relative, 0.05 */
    int32_t candidates; /* tets drawn for each choice, about 1000 */
    int32_t most;       /* tets */
    uint64_t seed;
} spl_cubature_options;

spl_cubature_options spl_cubature_options_default(void);

/* Fills domain->cubature, cubature_count and training_error. The domain's basis and vertices are there already. The
 * same bits at any number of threads. */
supple_result spl_cubature_train(const spl_solid *solid, const spl_domains *domains, int32_t index, const spl_law *law,
                                 const spl_cubature_pose *pose, int32_t pose_count, const spl_cubature_options *options,
                                 spl_pool *pool, const supple_allocator *a, spl_model_domain *domain,
                                 supple_error *error);

/* Every tet of the domain with weight 1: the whole integral. */
supple_result spl_cubature_all(const spl_solid *solid, const spl_domains *domains, int32_t index,
                               const supple_allocator *a, spl_model_domain *domain, supple_error *error);

#endif
