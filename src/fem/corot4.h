/* arap and corot for four tets at a time, in double: what Newton's method asks of every tet at every step. Without AVX2
 * and FMA, and for four tets of which one is far from what numbers allow, the law's own functions do it
 * (law_corot.c). */
#ifndef SPL_FEM_COROT4_H
#define SPL_FEM_COROT4_H

#include "fem/elements.h"
#include "fem/law.h"

typedef struct spl_corot4 {
    const spl_elements *elements;
    const double *mu, *lambda; /* by tet */
    bool arap;                 /* lambda counts as 0 */
    const double *x;           /* 3 a vertex */
} spl_corot4;

/* Whether the kernels below know the law, and this processor runs them. */
bool spl_corot4_knows(const spl_law *law);

#ifdef SPL_HAVE_AVX2
/* The forces -W P g_i at the corners of tets k to k + 3 (12 numbers each), and their energies W psi. False: not done.
 */
bool spl_corot4_pull_avx2(const spl_corot4 *c, size_t k, double *corner, double energy[4]);

/* Their element matrices, 90 numbers each, as spl_element_stiffness; of the negative eigenvalues `share` is kept. */
bool spl_corot4_stiffness_avx2(const spl_corot4 *c, size_t k, double share, double *out);
#endif

#endif
