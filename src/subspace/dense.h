/* Small dense kernels of the player, each as a plain twin (dense.c) and for AVX2 (dense_avx2.c).
 *
 * Matrices are row by row. Ranks are padded to a multiple of four with zeros (spl_pad4), so that no kernel has a tail;
 * what stands in the padding stays zero. For one set of kernels every number is computed in one order, however the
 * work is divided. */
#ifndef SPL_SUBSPACE_DENSE_H
#define SPL_SUBSPACE_DENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline int32_t spl_pad4(int32_t n)
{
    return (n + 3) & ~3;
}

/* C += sign A^T B, C: m x n, A: k x m, B: k x n; m and n multiples of four, each with its row length `ld`. */
typedef struct spl_product {
    double *C;
    const double *A, *B;
    size_t ldc, lda, ldb;
    int32_t m, n, k;
    double sign;
    bool upper; /* C is symmetric: tiles of 4 x 4 below the diagonal are left alone */
} spl_product;

/* The largest rank of a domain. */
#define SPL_RANK_MOST 512

typedef struct spl_dense_kernels {
    void (*product)(const spl_product *p);
    /* out[s][i] = sum_t coefficient[terms s + t] table[t length + i], i in [0, length), length a multiple of four. */
    void (*contract)(const double *table, int32_t terms, size_t length, int32_t sets, const double *coefficient,
                     double *const *out);
    /* y += M x: rows x columns (a multiple of four). */
    void (*multiply)(const double *M, int32_t rows, int32_t columns, size_t ld, const double *x, double *y);
    /* y += M^T x */
    void (*multiply_transposed)(const double *M, int32_t rows, int32_t columns, size_t ld, const double *x, double *y);
    /* y = M x for three rows of any length, one after another: a vertex's rows of a basis. */
    void (*rows3)(const double *M, size_t columns, const double *x, double y[3]);
    /* T = by H G for one 9 x n matrix G; H symmetric. */
    void (*scale9)(const double H[81], double by, const double *G, int32_t n, double *T);
} spl_dense_kernels;

/* The plain twins, or the fastest ones this processor has. */
const spl_dense_kernels *spl_dense_kernels_of(bool plain);

/* For the files that hold the kernels. */
extern const spl_dense_kernels spl_dense_kernels_plain, spl_dense_kernels_avx2;

#endif
