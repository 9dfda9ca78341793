/* The inner loops of the ex-rotated system over tets, rows and products: a plain twin (kernels.c) and one for AVX2.
 *
 * With R^ the tet's rotation and h_i = R^ g_i (g_i the shape functions' gradients), F R^^T = T = sum_i x_i h_i^T, and
 * the stress of the paper's equation 6 gives
 *
 *     force on corner i   -W (2 mu (T - I) + lambda tr(T - I) I) h_i                      (equation 1)
 *     A_ij = -K_ij         W (2 mu (g_i . g_j) I + lambda h_i h_j^T)
 *
 * so that the first part of A never changes: only h_i h_j^T is summed every frame. Vectors of three stand in fours. */
#ifndef SPL_METHODS_STEKLOV_KERNELS_H
#define SPL_METHODS_STEKLOV_KERNELS_H

#include "fem/residual.h"

enum {
    SPL_FOURS = 16,   /* doubles a tet: four corners of x y z and one more */
    SPL_LONGEST = 96, /* entries of a row that AVX2 keeps at hand; longer rows go the plain way */
};

/* Tets: rotations from the corners' quaternions, gradients turned, forces. */
typedef struct spl_tet_loop {
    const spl_elements *elements;
    const double *mu, *lambda; /* by tet */
    const double *quat;        /* 4 a vertex, not normalised */
    const double *x;           /* 3 a vertex */
    double *rotation;          /* 9 a tet */
    double *h;                 /* SPL_FOURS a tet, the last of each four 0 */
    double *corner;            /* SPL_FOURS a tet: force, and its length */
} spl_tet_loop;

/* Rows of A: base I + sum lambda W h_i h_j^T over the tets around, in their order. */
typedef struct spl_row_loop {
    const spl_elements *elements;
    const double *lambda, *h;
    const spl_stars *stars;
    const int32_t *vertex; /* by node */
    const size_t *start;   /* by node, + 1: its entries */
    const uint32_t *slot;  /* 4 a star's corner: the entry within the row; its length where the corner is held */
    const double *base;    /* by entry */
    double *value;         /* 9 an entry, column-major; one number more is written to */
} spl_row_loop;

/* y_i = the sum over entries [from_i, to_i) of row i; y += where `add`, y -= where `subtract`. */
typedef struct spl_product_loop {
    const size_t *from, *to; /* by row */
    const int32_t *column;
    const double *value, *x;            /* x is indexed by column, */
    double *y;                          /* y by row, */
    size_t x_first, y_first;            /* from these nodes on */
    int sign;                           /* 0: y =, 1: y +=, -1: y -= */
    const float *value_float, *x_float; /* instead, for product_float: x has 4 numbers a node, one of them unused */
} spl_product_loop;

typedef struct spl_steklov_kernels {
    void (*turn)(const spl_tet_loop *l, size_t begin, size_t end); /* rotation and h from quat */
    void (*pull)(const spl_tet_loop *l, size_t begin, size_t end); /* corner from h and x */
    void (*rows)(const spl_row_loop *l, size_t begin, size_t end);
    void (*product)(const spl_product_loop *l, size_t begin, size_t end);
    void (*product_float)(const spl_product_loop *l, size_t begin, size_t end); /* the sum of a row in float */
} spl_steklov_kernels;

const spl_steklov_kernels *spl_steklov_kernels_of(bool plain);
extern const spl_steklov_kernels spl_steklov_kernels_plain, spl_steklov_kernels_avx2;

#endif
