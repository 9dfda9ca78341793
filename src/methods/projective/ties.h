/* Contacts in the global step: constraints that come and go, and A + sum_j k_j c_j c_j^T solved without a new factor.
 *
 * Woodbury: with C the rows c_j^T, K their stiffness and S = K^-1 + C A^-1 C^T,
 *
 *     (A + C^T K C)^-1 q = y - A^-1 C^T S^-1 C y,   y = A^-1 q
 *
 * exactly: two solves with A's factor and a small dense one. S needs columns of A^-1 at the vertices that touch; they
 * are kept from step to step (the least recently used goes first), since contacts last and A does not change. Of a
 * column only what is at nodes that may touch is ever read: the body's surface, a tenth of a large body. */
#ifndef SPL_METHODS_PROJECTIVE_TIES_H
#define SPL_METHODS_PROJECTIVE_TIES_H

#include "math/vec3.h"
#include "sparse/factor.h"

/* A constraint between at most four vertices: d = sum_i coefficient_i x_i - offset is to be zero, or, one-sided, not to
 * point against the normal. Its energy is k/2 |d|^2, or k/2 min(d . n, 0)^2: the target of section 6 as seen from the
 * triangle, so that it moves along with it, and free to slide. */
typedef struct spl_tie {
    int32_t vertex[4]; /* -1 where there are fewer */
    double coefficient[4];
    spl_vec3 offset, normal;
    double stiffness; /* N/m */
    bool sided;
} spl_tie;

/* d, and how much of it counts: all, or what points against the normal. */
spl_vec3 spl_tie_gap(const spl_tie *t, const double *x, size_t stride);

typedef struct spl_ties spl_ties;

/* Room for n nodes and so many ties, and for so many columns of A^-1. `may_touch`: by node; NULL: all may. */
supple_result spl_ties_create(int32_t n, const bool *may_touch, int32_t capacity, int32_t columns,
                              const supple_allocator *a, spl_ties **out, supple_error *error);
void spl_ties_destroy(spl_ties *s); /* accepts NULL */

/* A has changed: the columns are not its any more. */
void spl_ties_forget(spl_ties *s);

/* The most ties whose S can be made. */
int32_t spl_ties_capacity(const spl_ties *s);

/* Prepares for these ties, at most the capacity: columns that are missing are solved for with `factor`, S is made and
 * factorised. `unknown` gives the vertices' nodes, -1 where held. SUPPLE_ERROR_SOLVE if S is not positive, or a tie has
 * a node that may not touch. */
supple_result spl_ties_prepare(spl_ties *s, spl_factor *factor, const int32_t *unknown, const spl_tie *tie,
                               int32_t count, supple_error *error);

/* y = A^-1 q comes in, the tied solution goes out; 3 floats a node. `work`: as many. */
supple_result spl_ties_apply(spl_ties *s, spl_factor *factor, float *y, float *work, supple_error *error);

/* Columns that the last preparation solved for, for tests and benchmarks. */
int32_t spl_ties_solved(const spl_ties *s);

#endif
