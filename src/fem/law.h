/* Materials: energy densities of the deformation gradient F behind one interface.
 *
 *     arap            mu |F - R|^2                                       R = polar(F)
 *     corot           mu |F - R|^2 + lambda/2 tr^2(R^T F - I)            R = polar(F)
 *     exrotated       the same with R given: quadratic in F              (Steklov-Poincare paper, eq. 5)
 *     mixed           mu |S - I|^2 + lambda/2 tr^2(S - I), S = sym(R^T F), R given: quadratic (mixed paper, eq. 12)
 *     neohookean      stable neo-Hookean (Smith, de Goes, Kim 2018), Lame parameters matched at small strain
 *     neohookean-log  mu/2 (|F|^2 - 3) - mu ln J + lambda/2 ln^2 J, J = det F (Bonet and Wood 2008)
 *     stvk            Saint Venant-Kirchhoff, continued below a compression where it would soften (Irving et al. 2004)
 *
 * mu and lambda are the Lame parameters, Pa. vec(F) is column-major, F.m. H is the 9 x 9 Hessian, symmetric, and
 * `projected` the nearest positive semidefinite one by its eigenvalues (Teran et al. 2005). All are defined for every
 * finite F: zero, flat, inverted. One that is a barrier has the energy INFINITY where det F <= 0, and zeros as stress
 * and Hessians there. */
#ifndef SPL_FEM_LAW_H
#define SPL_FEM_LAW_H

#include "math/mat3.h"

#include <stdint.h>

/* One element's material state. */
typedef struct spl_law_input {
    spl_mat3 F;
    spl_mat3 R; /* read by laws that need a rotation */
    double mu, lambda;
} spl_law_input;

typedef struct spl_law {
    const char *name, *summary;
    bool needs_rotation; /* R is given, not found */
    bool quadratic;      /* the Hessian does not depend on F */
    bool barrier;        /* infinite where det F <= 0: needs a start without inverted tets, and steps that keep it so
                            (filter.h) */
    double (*energy)(const spl_law_input *in);
    void (*stress)(const spl_law_input *in, spl_mat3 *P); /* dW/dF */
    void (*hessian)(const spl_law_input *in, double H[81]);
    void (*projected)(const spl_law_input *in, double H[81]);
    double (*both)(const spl_law_input *in, spl_mat3 *P); /* energy, and the stress from the same decomposition of F */
} spl_law;

extern const spl_law spl_law_arap, spl_law_corot, spl_law_exrotated, spl_law_mixed, spl_law_neohookean, spl_law_log,
    spl_law_stvk, spl_law_mixed_neohookean; /* the last one: the condensed form of neohookean, psi(sym(R^T F)) */

int32_t spl_law_count(void);
const spl_law *spl_law_at(int32_t index);
const spl_law *spl_law_find(const char *name); /* NULL if unknown */

/* Lame parameters of an isotropic material; Poisson's ratio in (-1, 0.5). */
void spl_lame(double young, double poisson, double *mu, double *lambda);

#endif
