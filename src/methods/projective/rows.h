/* Contacts in the global step: A + sum_j k_j c_j c_j^T without a new factor. */
#ifndef SPL_METHODS_PROJECTIVE_ROWS_H
#define SPL_METHODS_PROJECTIVE_ROWS_H

#include "math/vec3.h"

#include <supple/base.h>

/* A constraint between at most four vertices: d = sum_i coefficient_i x_i - offset is to be zero, or, one-sided, not to
 * point against the normal. Its energy is k/2 |d|^2, or k/2 min(d . n, 0)^2: the projection of section 6 with a target
 * that moves along with the triangle and lets the vertex slide. */
typedef struct spl_row {
    int32_t vertex[4]; /* -1 where there are fewer */
    double coefficient[4];
    spl_vec3 offset, normal;
    double stiffness; /* N/m */
    bool sided;
} spl_row;

#endif
