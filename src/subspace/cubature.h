/* Choosing the tets at which a domain's internal forces are evaluated, with their weights (An, Kim and James 2008):
 * greedy, with non-negative least squares on the chosen set, until the forces of the training poses are met. */
#ifndef SPL_SUBSPACE_CUBATURE_H
#define SPL_SUBSPACE_CUBATURE_H

#include "fem/law.h"
#include "subspace/model.h"

/* One training state: q of the domain, and the places of held vertices in its frame as the pose had them. */
typedef struct spl_cubature_pose {
    const double *q;      /* rank */
    const double *held;   /* 3 x body vertices, read at held vertices of the domain's tets alone: the domain's frame;
                           * NULL: as at rest */
    const int32_t *place; /* by body vertex: where it stands in `held`, which has these alone; NULL: at its number */
} spl_cubature_pose;

typedef struct spl_cubature_options {
    double error;       /* relative, 0.05 */
    int32_t candidates; /* tets drawn for each choice, about 1000 */
    int32_t most;       /* tets, 1000 */
    size_t bytes;       /* memory for the tets' forces at the poses, 512 MB: where it holds too few tets for all to be
                         * candidates, as many as it holds are drawn */
    uint64_t seed;
} spl_cubature_options;

spl_cubature_options spl_cubature_options_default(void);

/* Fills domain->cubature (rising by tet, all weights positive), cubature_count and training_error: |sum of the weighted
 * tets' forces - all tets' forces| with each pose's forces divided by their size, over the root of the number of poses.
 * It is above options->error if `most` tets were too few. The domain's basis, rest and vertices are there already;
 * cubature is from `a`, and what was there is not freed. Poses without forces are left out; without any that has some,
 * and no tets are needed, the cubature is empty. The same bits at any number of threads. */
supple_result spl_cubature_train(const spl_solid *solid, const spl_domains *domains, int32_t index, const spl_law *law,
                                 const spl_cubature_pose *pose, int32_t pose_count, const spl_cubature_options *options,
                                 spl_pool *pool, const supple_allocator *a, spl_model_domain *domain,
                                 supple_error *error);

/* The reduced internal forces dE/dq of a domain by its cubature, `rank` numbers: what training approximates, one tet
 * after another. For tests and checks; the player has its own. */
void spl_cubature_forces(const spl_solid *solid, const spl_model_domain *domain, const spl_law *law,
                         const spl_cubature_pose *pose, double *force);

/* Every tet of the domain with weight 1: the whole integral. */
supple_result spl_cubature_all(const spl_solid *solid, const spl_domains *domains, int32_t index,
                               const supple_allocator *a, spl_model_domain *domain, supple_error *error);

#endif
