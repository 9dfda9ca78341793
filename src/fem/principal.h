/* Energy densities of the principal stretches: what arap, corot, neohookean and stvk share.
 *
 * F = U diag(s) V^T with rotations U, V (s[2] < 0 where det F < 0) and psi a symmetric function of s. Then with
 * d_i = dpsi/ds_i the stress is P = U diag(d) V^T, and the 9 x 9 Hessian has, in the basis u_i v_j^T, three kinds of
 * eigenspaces (Teran et al. 2005, section 4; Smith, de Goes and Kim 2019):
 *
 *     scaling  span(u_i v_i^T)                    the 3 x 3 matrix A_ij = d2psi / ds_i ds_j
 *     flip     (u_i v_j^T + u_j v_i^T) / sqrt 2   (d_i - d_j) / (s_i - s_j)
 *     twist    (u_i v_j^T - u_j v_i^T) / sqrt 2   (d_i + d_j) / (s_i + s_j)
 *
 * Laws give the two quotients in a form that does not cancel. Pairs are numbered by the axis that is not in them. */
#ifndef SPL_FEM_PRINCIPAL_H
#define SPL_FEM_PRINCIPAL_H

#include "math/mat3.h"

/* Sums s_i + s_j below this count as this: there the nearest rotation is not unique, psi has a kink and the twist of
 * arap, corot and stvk has no limit. */
#define SPL_STRETCH_SUM_MIN 1e-10

typedef struct spl_stretch {
    spl_mat3 U, V;
    double s[3];
} spl_stretch;

/* The Hessian in the singular frames. */
typedef struct spl_modes {
    double A[9]; /* scaling, symmetric */
    double flip[3], twist[3];
} spl_modes;

/* NaN stretches where F is not finite, so that what follows from them is not finite either. */
void spl_stretch_of(const spl_mat3 *F, spl_stretch *out);

/* P = U diag(d) V^T */
void spl_stretch_stress(const spl_stretch *f, const double d[3], spl_mat3 *P);

/* s_i + s_j of the pair without axis k, at least SPL_STRETCH_SUM_MIN. */
static inline double spl_stretch_sum(const double s[3], int k)
{
    return fmax(s[(k + 1) % 3] + s[(k + 2) % 3], SPL_STRETCH_SUM_MIN);
}

/* The nearest positive semidefinite modes: negative eigenvalues become 0. */
void spl_modes_clamp(spl_modes *m);

/* H = sum over the modes, in the frame of F. */
void spl_modes_hessian(const spl_stretch *f, const spl_modes *m, double H[81]);

#endif
