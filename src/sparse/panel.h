/* Dense kernels on the tiled panels of symbolic.h: the inner loops of factorisation and solves, each as a plain twin
 * (panel.c) and for AVX2 (panel_avx2.c, solve_avx2.c). For one matrix a set of kernels gives the same bits however the
 * rows are divided among calls: every entry's operations are done in one order. */
#ifndef SPL_SPARSE_PANEL_H
#define SPL_SPARSE_PANEL_H

#include "sparse/symbolic.h"

/* T -= S B^T for rows [begin, end) of a source panel S, where B = (some rows of S) D, packed by fours:
 * packed[(j / 4) * 4 ws + 4 k + j % 4] = S(row j, k) D(k), with zeros up to a multiple of four. */
typedef struct spl_panel_update {
    double *target;
    const double *source;
    int32_t source_width, begin, end;
    const int32_t *place; /* place[i], i in [begin, end): offset of source row i in the target's column 0 */
    const double *packed;
    const int32_t *column; /* columns in the target */
    int32_t columns;
} spl_panel_update;

/* A panel's own columns, eliminated: what its other rows need. Blocks of 8 columns, b = column / 8. */
typedef struct spl_panel_diagonal {
    int32_t width;
    double *packed;  /* block b at 32 b (b - 1): 8 columns of D L(0 .. 8 b - 1), two groups packed by fours */
    double *corner;  /* 64 b + 8 j + c: D(j) L(c, j) within the block, c > j */
    double *inverse; /* 1 / D */
} spl_panel_diagonal;

/* x = L \ x and x = L^T \ D \ x over one panel; `rows` are its padded rows, `tiles` their number / 8. x has `lanes`
 * numbers a row; `y` is scratch for all padded rows. */
typedef void spl_forward_fn(const double *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                            double *x);
typedef void spl_backward_fn(const double *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                             const double *inverse, double *x, double *y);
typedef void spl_forward_float_fn(const float *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                                  float *x);
typedef void spl_backward_float_fn(const float *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                                   const float *inverse, float *x, float *y);

/* A set of kernels. Solves work on 1 or 4 lanes in double, 1, 4 or 8 in float. */
typedef struct spl_panel_kernels {
    void (*update)(const spl_panel_update *u);
    /* Finishes columns [0, 8 blocks) of one tile that lies below them. */
    void (*rows)(double *tile, int32_t blocks, const spl_panel_diagonal *d);
    /* C = A B^T, A an 8-row tile, B packed by fours, k columns: 8 x 4, column-major. */
    void (*product)(const double *tile, const double *packed, int32_t k, double C[32]);
    spl_forward_fn *forward;
    spl_backward_fn *backward;
    spl_forward_float_fn *forward_float;
    spl_backward_float_fn *backward_float;
} spl_panel_kernels;

/* The plain twins, or the fastest ones this processor has. */
const spl_panel_kernels *spl_panel_kernels_of(bool plain);

/* For the files that hold the kernels. */
extern const spl_panel_kernels spl_panel_kernels_plain, spl_panel_kernels_avx2;
spl_forward_fn spl_forward_avx2;
spl_backward_fn spl_backward_avx2;
spl_forward_float_fn spl_forward_float_avx2;
spl_backward_float_fn spl_backward_float_avx2;

#endif
