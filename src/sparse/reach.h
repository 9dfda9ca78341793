/* Solves with an LDL^T factor for right-hand sides that are zero but at a few nodes, where the solution is wanted at a
 * few nodes only. Forwards only the supernodes on the ways from the first to the root of the elimination tree take part
 * (Gilbert and Peierls 1988), backwards only those on the ways from the root to the second. In float, eight sides at a
 * time; one object a thread, one factor for all. */
#ifndef SPL_SPARSE_REACH_H
#define SPL_SPARSE_REACH_H

#include "sparse/ldlt.h"

enum { SPL_REACH_SIDES = 8 };

typedef struct spl_reach spl_reach;

/* For a factor with options.single of a pattern of blocks of 3; it must outlive this. */
supple_result spl_reach_create(const spl_ldlt *f, const supple_allocator *a, spl_reach **out, supple_error *error);
void spl_reach_destroy(spl_reach *w); /* accepts NULL */

/* b and x have 3 x SPL_REACH_SIDES numbers a node of `in` and `out`: [node][component][side]. */
void spl_reach_solve(spl_reach *w, const int32_t *in, size_t in_count, const float *b, const int32_t *out,
                     size_t out_count, float *x);

#endif
