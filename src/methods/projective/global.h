/* The global step: (A + ties) dx = q, three right-hand sides in float, A's factor made once per time step.
 *
 * Few ties go by the low-rank update of ties.h, many by conjugate gradients whose preconditioner is A's factor with the
 * low-rank update of as many ties as there is room for. Or, as
 * the paper has it for GPUs (section 4.1), by a given number of conjugate gradient iterations with Jacobi's
 * preconditioner and without any factor. */
#ifndef SPL_METHODS_PROJECTIVE_GLOBAL_H
#define SPL_METHODS_PROJECTIVE_GLOBAL_H

#include "methods/projective/ties.h"

typedef struct spl_global spl_global;

typedef struct spl_global_input {
    const spl_pattern *pattern; /* must outlive it */
    int32_t vertex_count;
    const int32_t *unknown; /* by vertex: its node, or -1; as well */
    int32_t tie_capacity;   /* ties at most; 0: none */
    int32_t direct_ties;    /* up to here by the low-rank update, as far as memory allows */
    const bool *may_touch;  /* by vertex: whether ties may have it; NULL: all. Read at creation */
    int32_t inner;          /* > 0: so many Jacobi-preconditioned iterations instead of a factor */
    bool plain;             /* without SIMD, for tests */
} spl_global_input;

supple_result spl_global_create(const spl_global_input *in, const supple_allocator *a, spl_pool *pool, spl_global **out,
                                supple_error *error);
void spl_global_destroy(spl_global *g); /* accepts NULL */

/* Takes a matrix: its values are borrowed until the next. */
supple_result spl_global_set(spl_global *g, const double *values, supple_error *error);

/* Takes ties, borrowed until the next; count may be 0. */
supple_result spl_global_tie(spl_global *g, const spl_tie *tie, int32_t count, supple_error *error);

/* x <- (A + ties)^-1 x, 3 floats a node. */
supple_result spl_global_solve(spl_global *g, float *x, supple_error *error);

/* Bytes that one solve with the factor reads, 0 without one; conjugate gradient iterations of the last solve; columns
 * of A^-1 that the last ties needed. */
double spl_global_bytes(const spl_global *g);
int32_t spl_global_inner(const spl_global *g);
int32_t spl_global_columns(const spl_global *g);

#endif
