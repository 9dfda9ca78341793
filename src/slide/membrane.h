/* The energy of a membrane triangle as a function of its metric in the skin's unstressed state.
 *
 * With D the 3x2 matrix of a triangle's edges, G = D_Y^T D_Y is its metric in the skin (unstressed), g = D_x^T D_x on
 * the body now; both stand as three numbers: 11, 12, 22. H = G^-1 g has the invariants of the reduced right
 * Cauchy-Green tensor of the paper's equations 2 and 3, so its thin QR is never formed. The energy is
 *
 *     W = sqrt(det G) / 2 psi(tr H, det H)
 *     St. Venant-Kirchhoff   psi = lambda / 8 (tr H - 2)^2 + mu / 4 (tr H^2 - 2 tr H + 2)
 *     neo-Hookean            psi = mu / 2 (tr H - 2) - mu (J - 1) + (lambda + mu) / 2 (J - 1)^2,  J = sqrt(det H)
 *
 * Both are St. Venant-Kirchhoff's to second order at rest. The neo-Hookean one has no logarithm: it is finite for a
 * body triangle of no area and grows without bound as the skin in a triangle vanishes (Smith et al. 2018). In
 * N = tr(adj(G) g), linear in G, and q = sqrt(det G) both are
 *
 *     W = 1/2 (a N^2 / q^3 - b N / q + c q - e / q + k)
 *
 * which is what is computed, with its derivatives. */
#ifndef SPL_SLIDE_MEMBRANE_H
#define SPL_SLIDE_MEMBRANE_H

#include <stdbool.h>

typedef enum spl_membrane_law { SPL_MEMBRANE_NEOHOOKEAN, SPL_MEMBRANE_STVK } spl_membrane_law;

typedef struct spl_membrane {
    spl_membrane_law law;
    double mu, lambda; /* N/m: Lame's constants of plane stress times the thickness */
    double shrink;     /* the unstressed metric is this times G: below 1 where the skin is taut at rest */
} spl_membrane;

typedef struct spl_membrane_point {
    double W;
    double S[3]; /* dW/dG as a symmetric matrix: 11, 12, 22; dW = S11 dG11 + 2 S12 dG12 + S22 dG22 */
    double C[6]; /* second derivatives by G11, G12, G22: 11, 21, 22, 31, 32, 33 */
    bool broken; /* the skin here is inside out, or stretched more than 50 times: W is a convex energy that mends it */
} spl_membrane_point;

/* `inverted`: the triangle's image in the skin is turned over (G does not tell). */
void spl_membrane_at(const spl_membrane *m, const double G[3], const double g[3], bool inverted,
                     spl_membrane_point *out);

/* S and C to their positive semidefinite parts, which makes every sum T^T C T + D^T S D of the Hessian so. */
void spl_membrane_project(spl_membrane_point *p);

#endif
