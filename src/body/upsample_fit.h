/* Moving least squares on one patch of body vertices: weights for positions, tangents and normals. */
#ifndef SPL_BODY_UPSAMPLE_FIT_H
#define SPL_BODY_UPSAMPLE_FIT_H

#include "body/upsample.h"
#include "math/mat3.h"

/* Neighbours of a place on the surface. */
typedef struct spl_patch {
    int32_t count;
    int32_t index[SPL_UPSAMPLE_MOST_NEIGHBOURS];  /* surface vertices */
    spl_vec3 point[SPL_UPSAMPLE_MOST_NEIGHBOURS]; /* x_i at rest */
    double w[SPL_UPSAMPLE_MOST_NEIGHBOURS];       /* eq. 4, divided by their sum */
} spl_patch;

typedef struct spl_fit {
    double weight[SPL_UPSAMPLE_MOST_NEIGHBOURS];     /* N_i: sum 1 */
    double tangent[2][SPL_UPSAMPLE_MOST_NEIGHBOURS]; /* sum_i tangent[a][i] x'_i is the image of the frame's column a */
    spl_mat3 frame;                                  /* of the patch at rest: two tangents and the normal */
    bool has_frame;                                  /* false where the neighbours lie on a line */
    int32_t left_out;                                /* quadratic directions that are not, or not wholly, fitted */
    double gain;                                     /* sum_i |N_i| */
} spl_fit;

/* Fits polynomials of the order (1 or 2) and evaluates them for `target`, whose place on the surface is `place`. With
 * `carry` they are evaluated at the place itself, and all of the offset is left to the frame. */
void spl_fit_positions(const spl_patch *patch, spl_vec3 place, spl_vec3 target, int order, bool carry, spl_fit *fit);

/* Weights M_i (sum 1) with sum_i M_i n_i = target, as far as the neighbours' normals n_i determine them. */
void spl_fit_normals(const spl_patch *patch, const spl_vec3 *surface_normal, spl_vec3 target,
                     double weight[SPL_UPSAMPLE_MOST_NEIGHBOURS]);

/* Eigenvalues (descending) and eigenvectors (v[n * column + row]) of a symmetric matrix of size n <= 6, destroyed. */
void spl_fit_eigen(int n, double *a, double *value, double *v);

#endif
