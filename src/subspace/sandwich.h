/* Fast sandwich transforms (multi-domain paper, section 4): sums over vertices with a 3 x 3 matrix X inside,
 *
 *     sum_k w_k A_k^T X B_k = sum_mn X_mn T^mn,        T^mn = sum_k w_k A_k^T E^mn B_k,
 *
 * where A_k and B_k are the three rows of two bases at vertex k, with the rest position as one more column: underlined
 * U = [U | p]. The nine T^mn are made once; a transform costs 9 x rows x columns whatever the number of vertices. */
#ifndef SPL_SUBSPACE_SANDWICH_H
#define SPL_SUBSPACE_SANDWICH_H

#include "math/mat3.h"
#include "subspace/dense.h"
#include "subspace/model.h"

/* Rows of a domain's [U | p - centre] at some of its vertices. */
typedef struct spl_rows_of {
    const spl_model_domain *domain;
    spl_vec3 centre;
    const int32_t *vertex; /* of the domain; NULL: all of them, in order */
    int32_t count;
} spl_rows_of;

/* Columns of [U | p], padded. */
static inline int32_t spl_wide(const spl_model_domain *d)
{
    return spl_pad4(d->rank + 1);
}

/* Nine matrices of `rows` x `stride`: rows of the first's rank + 1, the second's padded. */
typedef struct spl_sandwich {
    int32_t rows, stride;
    double *table; /* 9 x rows x stride, E^mn at 3 n + m: as spl_mat3 has X_mn */
} spl_sandwich;

supple_result spl_sandwich_create(const spl_rows_of *first, const spl_rows_of *second, const double *weight,
                                  const supple_allocator *a, spl_sandwich *out, supple_error *error);
void spl_sandwich_release(spl_sandwich *s, const supple_allocator *a);

/* out[i] = transform of X[i], for up to 3 of them: rows x stride each. */
void spl_sandwich_contract(const spl_sandwich *s, const spl_dense_kernels *kernels, int32_t sets, const spl_mat3 *X,
                           double *const *out);

/* The per-vertex twin of create and contract together. `room`: 3 x stride numbers. */
void spl_sandwich_sum(const spl_rows_of *first, const spl_rows_of *second, const double *weight, const spl_mat3 *X,
                      double *room, double *out);

/* w x: the cross-product matrix. */
static inline spl_mat3 spl_cross_matrix(spl_vec3 w)
{
    return (spl_mat3){{0, w.z, -w.y, -w.z, 0, w.x, w.y, -w.x, 0}};
}

#endif
