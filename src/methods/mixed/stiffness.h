/* The inner loops of spl_warp over tets, vertices and rows: a plain twin (stiffness.c) and one for AVX2.
 *
 * With h_i = R g_i the rotation is in the gradients: F R^T = sum_i x_i h_i^T, and with T = sym(F R^T)
 *
 *     P R^T = 2 mu (T - I) + lambda tr(T - I) I,     force on corner i = -W (P R^T) h_i
 *
 * is the stress of W psi(sym(R^T F)), so that forces and matrix need the h_i alone. `spin` adds W spin |skew(R^T F)|^2,
 * which keeps flesh from turning away from R. Vectors of three stand in fours: one load, one store each. */
#ifndef SPL_METHODS_MIXED_STIFFNESS_H
#define SPL_METHODS_MIXED_STIFFNESS_H

#include "fem/residual.h"

enum {
    SPL_PAD = 16,   /* doubles a tet: four corners of x y z and one more */
    SPL_STRIP = 96, /* entries of a row that AVX2 keeps at hand; longer rows go the plain way */
};

/* Tets: gradients turned, forces at the corners. */
typedef struct spl_pull {
    const spl_elements *elements;
    const double *mu, *lambda; /* by tet */
    const double *spin;        /* by tet, or NULL: none */
    const double *rotation;    /* 9 a tet */
    const double *x;           /* 3 a vertex */
    double *h;                 /* SPL_PAD a tet, the last of each four 0 */
    double *corner;            /* SPL_PAD a tet: force, and its length */
} spl_pull;

/* Vertices: the corners' forces summed in the order of the tets. */
typedef struct spl_sum {
    const spl_stars *stars;
    const double *corner;
    double *force, *magnitude; /* 3 and 1 a vertex */
} spl_sum;

/* Rows of A: each gathers its tets' blocks in their order. */
typedef struct spl_stiffness {
    const spl_elements *elements;
    const double *mu, *lambda, *spin;
    const double *h;
    const spl_stars *stars;
    const int32_t *vertex; /* by node */
    const double *spring;  /* by node: added to the diagonal */
    const size_t *start;   /* by node: where its entries are, + 1 */
    const int32_t *column;
    const uint32_t *slot; /* 4 a star's corner: the entry within the row of the tet's corners; the row's length where
                             one is held */
    double *value;        /* 9 an entry, column-major */
} spl_stiffness;

typedef struct spl_mixed_kernels {
    void (*pull)(const spl_pull *p, size_t begin, size_t end);
    void (*sum)(const spl_sum *s, size_t begin, size_t end);
    void (*rows)(const spl_stiffness *s, size_t begin, size_t end);
} spl_mixed_kernels;

/* The plain twins, or the fastest ones this processor has. */
const spl_mixed_kernels *spl_mixed_kernels_of(bool plain);

/* For the files that hold them. */
extern const spl_mixed_kernels spl_mixed_kernels_plain, spl_mixed_kernels_avx2;

#endif
