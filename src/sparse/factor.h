/* A factored symmetric matrix, whoever factorises it: our LDL^T, or the solver of a plug-in. Analyse once per pattern,
 * factorise per matrix, solve per right-hand side. Conventions: pattern.h.
 *
 *     spl_factor_create(&pattern, NULL, &allocator, pool, &factor, error);
 *     spl_factor_factorise(factor, values, error);
 *     spl_factor_solve(factor, points, 3, error);      x = A \ x in place
 */
#ifndef SPL_SPARSE_FACTOR_H
#define SPL_SPARSE_FACTOR_H

#include "sparse/pattern.h"

#include <supple/plugin.h>

typedef struct spl_factor spl_factor;

typedef struct spl_factor_options {
    const supple_solver_backend *backend; /* NULL: ours. Ours serves too where the next two are asked for */
    bool indefinite;                      /* pivots of both signs are fine: quasi-definite systems */
    bool single;                          /* also keep the factor in float, for spl_factor_solve_float */
    bool plain;                           /* without SIMD, for tests */
} spl_factor_options;

/* The options that a host's config asks for: its solver, all else off. `config` may be NULL. Methods start from these
 * and set what their systems need:
 *
 *     spl_factor_options options = spl_factor_options_of(context->config);
 */
spl_factor_options spl_factor_options_of(const supple_config *config);

/* What is known of a factor. */
typedef struct spl_factor_stats {
    const char *backend;
    double entries;         /* of L; ours: those that are not zero by structure */
    double flops;           /* of one factorisation; 0 if the backend does not tell */
    size_t bytes;           /* a solve reads twice: numbers and indices; an estimate for a plug-in */
    int32_t failed_node;    /* where the last factorisation failed, or -1 */
    double pivot, diagonal; /* there; 0 if unknown */
} spl_factor_stats;

/* Analyses a pattern. `options` may be NULL; `pool` too, and must outlive the factor. The pattern is needed only during
 * the call. */
supple_result spl_factor_create(const spl_pattern *p, const spl_factor_options *options, const supple_allocator *a,
                                spl_pool *pool, spl_factor **out, supple_error *error);
void spl_factor_destroy(spl_factor *f);

/* Factorises; ours allocates nothing. On failure SUPPLE_ERROR_SOLVE, with the node and the likely cause in the message;
 * the old factor is lost and solves are refused until a factorisation succeeds. */
supple_result spl_factor_factorise(spl_factor *f, const double *values, supple_error *error);

/* x = A \ x for k interleaved right-hand sides, k >= 1. Quickest for k = 1, 3 and multiples of 4. */
supple_result spl_factor_solve(spl_factor *f, double *x, int32_t k, supple_error *error);
supple_result spl_factor_solve_float(spl_factor *f, float *x, int32_t k, supple_error *error);

spl_factor_stats spl_factor_get_stats(const spl_factor *f);

#endif
