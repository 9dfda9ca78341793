/* The barrier between two primitives: a smooth energy of their distance that becomes infinite as they touch.
 *
 * With d the distance of a pair, g = d - offset its gap and w the width below which the barrier acts,
 *
 *     b(g) = -k (g - w)^2 ln(g / w)   for 0 < g < w,    0 for g >= w,    infinite for g <= 0
 *
 * (Li et al. 2020, "Incremental potential contact", equation 6, here of the distance itself and with an offset as in
 * Li, Kaufman and Jiang 2021). It is twice continuously differentiable at g = w. The distance of two edges has a kink
 * where they are parallel: there the energy is multiplied by a polynomial m of c = |e_1 x e_2|^2,
 *
 *     m(c) = (2 - c/p) c/p   for c < p,   else 1            (Li et al. 2020, equation 24) */
#ifndef SPL_CONTACT_POTENTIAL_H
#define SPL_CONTACT_POTENTIAL_H

#include "geom/distance.h"

typedef struct spl_potential {
    spl_pair pair;
    double offset;    /* the distance that counts as touching, metres */
    double width;     /* of the barrier, metres */
    double stiffness; /* k, N/m */
    double parallel;  /* p, m^4; 0: without m */
    double distance;  /* kept by who asks often, at one x; NAN: not known */
} spl_potential;

/* The share of |e_1|^2 |e_2|^2 at rest that p is. */
#define SPL_POTENTIAL_PARALLEL 1e-3

/* The energy at x, joules. */
double spl_potential_energy(const spl_potential *p, const double x[4][3]);

/* The same, and its gradient by the four vertices. */
double spl_potential_gradient(const spl_potential *p, const double x[4][3], double gradient[12]);

/* The 12 x 12 Hessian, symmetric. */
void spl_potential_hessian(const spl_potential *p, const double x[4][3], double H[144]);

/* A positive semidefinite one near it, as the lower triangle of 3 x 3 blocks of spl_element_stiffness.
 *
 * With n the unit vector of the way r between the nearest places, q_k an orthonormal basis of the directions in which
 * these may slide (none for corners, one for an edge, two for a face or two edges), u the weights of the corners and
 * v_k their change with a slide of one metre along q_k,
 *
 *     H = b'' N N^T - |b'|/d (T - sum_k (A_k B_k^T + B_k A_k^T + B_k B_k^T))    N = u (x) n,  A_k = u (x) q_k,
 *                                                                              B_k = d v_k (x) n
 *
 * where T >= 0 is what no slide makes up for. T is left out, and of each form in A_k and B_k the part with the positive
 * eigenvalue, (1 + sqrt 5)/2, is kept. Pairs that m acts on are rare and projected by their eigenvalues. */
void spl_potential_projected(const spl_potential *p, const double x[4][3], double blocks[90]);

/* `exact` times the Hessian, the rest of the projected one, in the same layout. */
void spl_potential_blended(const spl_potential *p, const double x[4][3], double exact, double blocks[90]);

#endif
