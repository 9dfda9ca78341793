/* Several bodies on a device as one: their tets, nodes and matrices stand in the same buffers, one after the other, and
 * every kernel is launched once for all of them. Each keeps its own coefficients of conjugate gradients, since groups
 * know whose they are (kernels/common.cl), and comes out with the same bits as alone. */
#ifndef SPL_METHODS_PROJECTIVE_CL_BATCH_H
#define SPL_METHODS_PROJECTIVE_CL_BATCH_H

#include "methods/projective/solver.h"

struct supple_device;

typedef struct spl_cl_batch spl_cl_batch;

/* For these, which must outlive it. SUPPLE_ERROR_SOLVE if the device cannot; SUPPLE_ERROR_MEMORY. */
supple_result spl_cl_batch_create(struct supple_device *device, spl_pd *const *pd, int32_t count, int32_t inner,
                                  const supple_allocator *a, spl_cl_batch **out, supple_error *error);
void spl_cl_batch_destroy(spl_cl_batch *b); /* accepts NULL */

/* One body's part in a solve. */
typedef struct spl_cl_batch_part {
    const spl_pd_problem *problem; /* NULL: it has none this time */
    double *x;
    spl_pd_stats stats; /* out: iterations alone; residual and energy are not taken */
} spl_cl_batch_part;

/* Plain iterations, as many as the first problem wants, from and to x of the parts, one a body. After a failure every x
 * is as it was. */
supple_result spl_cl_batch_solve(spl_cl_batch *b, spl_cl_batch_part *part, supple_error *error);

#endif
