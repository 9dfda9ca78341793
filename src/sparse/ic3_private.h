/* What ic3.c and its kernels share. */
#ifndef SPL_SPARSE_IC3_PRIVATE_H
#define SPL_SPARSE_IC3_PRIVATE_H

#include "sparse/ic3.h"

/* The factor as a solve reads it. Row i: blocks U_ij, j < i, column-major; E = D^-1. */
typedef struct spl_ic3_view {
    const size_t *start;   /* n + 1 */
    const int32_t *column; /* by entry */
    const double *U, *E;   /* 9 an entry; 9 a node */
    const float *u, *e;    /* the same in float: 9 an entry and a few more; 12 a node, columns in fours */
    double *w, *t;         /* 3 a node: work */
    float *fw, *ft;        /* 4 a node: work */
    const double *turn, *x;
    double *y;
} spl_ic3_view;

/* w_i = E_i (x_i - sum_j U_ij w_j) for the nodes of a range, in rising order; and backwards with t_j += U_ij^T y_i,
 * y_i = w_i - E_i t_i. t must be 0 before the first range. */
typedef void spl_ic3_pass_fn(const spl_ic3_view *v, size_t begin, size_t end);

typedef struct spl_ic3_kernels {
    spl_ic3_pass_fn *forward, *backward, *forward_float, *backward_float;
} spl_ic3_kernels;

extern const spl_ic3_kernels spl_ic3_kernels_plain, spl_ic3_kernels_avx2;

#endif
