/* Our own sparse A = L D L^T: supernodal, left-looking, without pivoting; analyse once, factorise often, solve with any
 * number of right-hand sides. Subtrees run on the pool; the bits do not depend on it. Used through factor.h. */
#ifndef SPL_SPARSE_LDLT_H
#define SPL_SPARSE_LDLT_H

#include "sparse/panel.h"

typedef struct spl_ldlt spl_ldlt;

/* Why a factorisation stopped. */
typedef struct spl_ldlt_failure {
    int32_t unknown; /* scalar unknown, in the caller's order; -1: none */
    double pivot;    /* the pivot found there */
    double diagonal; /* and the matrix's own diagonal */
} spl_ldlt_failure;

typedef struct spl_ldlt_options {
    bool indefinite;      /* pivots of both signs are fine (quasi-definite systems); only vanishing ones fail */
    bool single;          /* keep a float copy of the factor for spl_ldlt_solve_float */
    bool once;            /* and nothing else: the doubles' memory becomes the floats', for one factorisation */
    bool plain;           /* use the plain kernels, for tests */
    const int32_t *order; /* of elimination, needed only at creation; NULL: a fill-reducing one is found */
} spl_ldlt_options;

/* Analyses a pattern and takes all memory that factorisation and solves need. `pool` may be NULL; it must outlive this.
 */
supple_result spl_ldlt_create(const spl_pattern *p, const spl_ldlt_options *options, const supple_allocator *a,
                              spl_pool *pool, spl_ldlt **out, supple_error *error);
void spl_ldlt_destroy(spl_ldlt *f);

const spl_symbolic *spl_ldlt_symbolic(const spl_ldlt *f);

/* Factorises the matrix with these values. False: no factor (an earlier one is lost), and why. With options.once it may
 * be called once. */
bool spl_ldlt_factorise(spl_ldlt *f, const double *values, spl_ldlt_failure *failure);

/* x = A \ x, k interleaved right-hand sides, after a factorisation. Not reentrant; not with options.once. */
void spl_ldlt_solve(spl_ldlt *f, double *x, int32_t k);
void spl_ldlt_solve_float(spl_ldlt *f, float *x, int32_t k); /* needs options.single */

/* Bytes of the factor's numbers and indices; and whether it is there. */
size_t spl_ldlt_bytes(const spl_ldlt *f, bool single);
bool spl_ldlt_ready(const spl_ldlt *f);

#endif
