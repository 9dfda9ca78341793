/* Incomplete Cholesky without fill in blocks of 3 x 3, for vector problems: A ~ (U + D) D^-1 (U + D)^T on A's own
 * blocks, in the order of the nodes. Against the scalar ic0.h it keeps whole blocks, needs an index for nine numbers,
 * can keep its numbers in float, and works on several threads where the caller names parts of the nodes that are not
 * coupled with each other. A preconditioner for pcg.h. */
#ifndef SPL_SPARSE_IC3_H
#define SPL_SPARSE_IC3_H

#include "sparse/pattern.h"

typedef struct spl_ic3 spl_ic3;

typedef struct spl_ic3_options {
    bool single; /* solves read and compute in float */
    bool plain;  /* without SIMD, for tests */
    /* Parts: nodes [cut[p], cut[p + 1]) for p < part_count; no entry may couple two parts. Nodes from cut[part_count]
     * on may be coupled with all. NULL: one part. Copied. */
    const int32_t *cut;
    int32_t part_count;
} spl_ic3_options;

/* Takes all memory for the leading n nodes of a matrix of blocks of 3; `r` is needed only during the call. */
supple_result spl_ic3_create(const spl_rows *r, int32_t n, const spl_ic3_options *options, const supple_allocator *a,
                             spl_pool *pool, spl_ic3 **out, supple_error *error);
void spl_ic3_destroy(spl_ic3 *f); /* accepts NULL */

/* Factorises the leading nodes of a matrix whose values stand by rows (spl_matrix3.value). `extra` (9 a node,
 * symmetric; NULL: none) is added to the diagonal blocks. Tries shifts of 0, 1e-3, 4e-3 ... of the diagonal until all
 * pivots are positive and reports it in *shift (may be NULL). Allocates nothing. */
supple_result spl_ic3_factorise(spl_ic3 *f, const double *value, const double *extra, double *shift,
                                supple_error *error);

/* Adds to the diagonal blocks D of the factor at some nodes, in place of what an earlier call added: `extra` is 9 a
 * node of the list, symmetric and not negative. Not what a factorisation with it would give, since later rows do not
 * learn of it, but as definite, nearly as good, and it costs one small inverse a node. */
void spl_ic3_stiffen(spl_ic3 *f, const int32_t *node, int32_t count, const double *extra);

/* y = R (the factor's inverse) R^T x, with R the rotations `turn` (9 a node, column-major; NULL: none). x and y may be
 * the same. */
void spl_ic3_solve(spl_ic3 *f, const double *turn, const double *x, double *y);

/* Bytes that one solve reads. */
size_t spl_ic3_bytes(const spl_ic3 *f);

#endif
