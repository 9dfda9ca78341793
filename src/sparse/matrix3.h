/* A symmetric matrix of 3 x 3 blocks as whole rows, for many products with one matrix: values stand in the order in
 * which a product reads them. Twice the memory of a lower triangle, and twice as fast or more. */
#ifndef SPL_SPARSE_MATRIX3_H
#define SPL_SPARSE_MATRIX3_H

#include "sparse/pattern.h"

typedef struct spl_matrix3 {
    spl_rows rows;
    double *value; /* 9 an entry of rows, column-major within the block; one number more may be read */
    bool plain;    /* without SIMD; false after creation */
} spl_matrix3;

/* Takes memory for a pattern of blocks of 3. */
supple_result spl_matrix3_create(const spl_pattern *p, const supple_allocator *a, spl_matrix3 *out,
                                 supple_error *error);
void spl_matrix3_release(spl_matrix3 *m, const supple_allocator *a);

/* Copies the values of the pattern's lower triangle into rows. */
void spl_matrix3_fill(spl_matrix3 *m, const double *values, spl_pool *pool);

/* The other way: the lower triangle of a matrix whose rows are filled. */
void spl_matrix3_lower(const spl_matrix3 *m, double *values, spl_pool *pool);

/* y = A x; x and y do not overlap. The same bits at any number of threads. */
void spl_matrix3_multiply(const spl_matrix3 *m, const double *x, double *y, spl_pool *pool);

/* The bytes that a product reads. */
size_t spl_matrix3_bytes(const spl_matrix3 *m);

/* The kernel for AVX2 alone, over rows [begin, end): call it only where spl_cpu_has_avx2(). */
void spl_matrix3_rows_avx2(const spl_matrix3 *m, const double *x, double *y, size_t begin, size_t end);

#endif
