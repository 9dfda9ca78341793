/* Incomplete Cholesky without fill: A + shift diag(A) ~ L L^T on A's own pattern; a preconditioner for pcg.h.
 * Reference: Manteuffel 1980 (the shift). Blocks of 3 are taken apart into scalars. */
#ifndef SPL_SPARSE_IC0_H
#define SPL_SPARSE_IC0_H

#include "sparse/pattern.h"

typedef struct spl_ic0 spl_ic0;

/* Takes all memory; the pattern is needed only during the call. */
supple_result spl_ic0_create(const spl_pattern *p, const supple_allocator *a, spl_ic0 **out, supple_error *error);
void spl_ic0_destroy(spl_ic0 *f);

/* Factorises with the smallest shift of 0, 1e-3, 4e-3, 1.6e-2 ..., from the *shift given on, that gives positive
 * pivots, and reports it there (NULL: from 0). Fails if a diagonal entry is not positive or a value not finite. */
supple_result spl_ic0_factorise(spl_ic0 *f, const double *values, double *shift, supple_error *error);

/* The shift before this one: where to begin with a matrix much like the last. */
double spl_ic0_less(double shift);

/* y = (L L^T) \ x with k interleaved right-hand sides; x and y may be the same. */
void spl_ic0_solve(const spl_ic0 *f, const double *x, double *y, int32_t k);

/* spl_ic0_solve as pcg.h wants it: the context is the spl_ic0. */
void spl_ic0_precondition(void *context, const double *x, double *y, int32_t k);

/* The factor's pattern (scalar) and values, for tests. */
const spl_pattern *spl_ic0_pattern(const spl_ic0 *f);
const double *spl_ic0_values(const spl_ic0 *f);

#endif
