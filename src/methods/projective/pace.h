/* Faster than the plain fixed point x <- x + A^-1 r(x) of projective dynamics, r being the forces at x:
 *
 *     chebyshev  semi-iterative weights with an estimated spectral radius (Wang 2015)
 *     anderson   the best combination of the last steps (Peng et al. 2018)
 *     lbfgs      a quasi-Newton method that starts from A (Liu, Bouaziz and Kavan 2017)
 *
 * The caller checks that the energy falls and falls back to a plain step where it does not. */
#ifndef SPL_METHODS_PROJECTIVE_PACE_H
#define SPL_METHODS_PROJECTIVE_PACE_H

#include "methods/projective/vectors.h"

typedef enum spl_pace_kind {
    SPL_PACE_NONE,
    SPL_PACE_CHEBYSHEV,
    SPL_PACE_ANDERSON,
    SPL_PACE_LBFGS,
    SPL_PACE_AUTO, /* lbfgs for the few iterations of a time step, anderson for an equilibrium (docs/projective.md) */
} spl_pace_kind;

enum { SPL_PACE_WINDOW = 5, SPL_PACE_VECTORS = 2 * SPL_PACE_WINDOW + 2 };

typedef struct spl_pace {
    supple_allocator allocator;
    spl_pace_kind kind;
    spl_vectors vectors;
    size_t n;    /* numbers a vector */
    int32_t age; /* steps since the beginning or the last rejection */
    int32_t count, next;
    float *step[SPL_PACE_WINDOW];                  /* lbfgs: steps; anderson: steps and what they changed of f */
    float *change[SPL_PACE_WINDOW];                /* lbfgs: what they took off r; anderson: what they changed of f */
    double curve[SPL_PACE_WINDOW];                 /* lbfgs: 1 / step . change */
    double gram[SPL_PACE_WINDOW][SPL_PACE_WINDOW]; /* anderson: products of changes; lbfgs: of a step with a change that
                                                      is newer */
    double side[SPL_PACE_WINDOW];                  /* lbfgs: steps times r */
    double share[SPL_PACE_WINDOW];
    float *last;             /* the step taken last; lbfgs has it in step[next] */
    float *f;                /* anderson: the last A^-1 r */
    double size, rho, omega; /* chebyshev: |A^-1 r|^2, the spectral radius, the weight */
} spl_pace;

/* For vectors of n numbers. */
supple_result spl_pace_create(spl_pace_kind kind, size_t n, bool plain, const supple_allocator *a, spl_pool *pool,
                              spl_pace *out, supple_error *error);
void spl_pace_release(spl_pace *p);

/* The same on vectors that stand elsewhere: SPL_PACE_VECTORS of them are its own, named by the pointers from `names`
 * on. Needs no release. */
void spl_pace_adopt(spl_pace_kind kind, size_t n, const spl_vectors_elsewhere *elsewhere, float *names, spl_pace *out);

/* Takes one of the kinds, for the next problem; only where it was created as auto. */
void spl_pace_choose(spl_pace *p, spl_pace_kind kind);

/* Forgets all steps: the problem is another one, or a step was rejected. */
void spl_pace_begin(spl_pace *p);

/* The last step led from forces `before` to `r`. */
void spl_pace_learn(spl_pace *p, const float *before, const float *r);

/* q <- what A is to be solved with; r itself for a plain step. */
void spl_pace_side(spl_pace *p, const float *r, bool plain, float *q);

/* dx = A^-1 q comes in, the step to take goes out. False: it is the plain one. */
bool spl_pace_step(spl_pace *p, bool plain, float *dx);

#endif
