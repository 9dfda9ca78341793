/* Non-negative least squares, min |A x - b| with x >= 0, on a set of columns that grows: Lawson and Hanson's active set
 * on the normal equations, warm started, its Cholesky factor updated as columns come and go. */
#ifndef SPL_SUBSPACE_NNLS_H
#define SPL_SUBSPACE_NNLS_H

#include <supple/base.h>

typedef struct spl_nnls {
    supple_allocator allocator;
    int32_t most, count;   /* columns: room, and there */
    double *gram;          /* most x most: A^T A, lower triangle by rows */
    double *side;          /* A^T b */
    double *x;             /* the answer: 0 for columns that are not passive */
    int32_t passive_count; /* columns free to be positive */
    int32_t *passive;      /* which, in the order of the factor */
    bool *is_passive;      /* by column */
    double *factor;        /* most x most: L by rows, L L^T = A^T A of the passive columns */
    bool *refused;         /* by column: rounding keeps it out */
    int32_t *place;        /* most: work */
    double *z, *y;         /* most: work */
} spl_nnls;

supple_result spl_nnls_create(int32_t most, const supple_allocator *a, spl_nnls *out, supple_error *error);
void spl_nnls_release(spl_nnls *n);

/* Adds column a: `products` with the columns there are, a.a and a.b. It is not passive yet. There must be room. */
void spl_nnls_add(spl_nnls *n, const double *products, double square, double side);

/* Finds x for the columns there are, starting from the x there is. Columns that others span to rounding stay at 0. */
void spl_nnls_solve(spl_nnls *n);

/* Forgets the columns at 0; kept[new number] = old number. Returns how many are left. */
int32_t spl_nnls_drop(spl_nnls *n, int32_t *kept);

#endif
