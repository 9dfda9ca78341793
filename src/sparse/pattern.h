/* Symmetric sparse matrices: where their entries are, and products with them.
 *
 * Conventions, stated once for src/sparse:
 *   - a matrix has n nodes; each node has `block` scalar unknowns (1, or 3 for vector problems);
 *   - the lower triangle is stored by compressed columns, rows ascending, the diagonal first and always present;
 *   - the values are apart from the pattern: block * block numbers an entry, column-major within the block. Of the
 *     diagonal blocks only the lower triangle is read;
 *   - vectors with k right-hand sides are interleaved: x[unknown * k + c], so that the points x y z x y z ... of a
 * scalar problem are three right-hand sides. Scalar unknown i of a node v is v * block + i. */
#ifndef SPL_SPARSE_PATTERN_H
#define SPL_SPARSE_PATTERN_H

#include "core/threads.h"

typedef struct spl_pattern {
    int32_t n;     /* nodes */
    int32_t block; /* unknowns per node: 1 or 3 */
    size_t *start; /* n + 1: entries of column j are start[j] .. start[j + 1] - 1 */
    int32_t *row;  /* start[n]: row >= column */
} spl_pattern;

/* The pattern of the diagonal and `pair_count` pairs (i, j), in any order, repeated or not. */
supple_result spl_pattern_from_pairs(int32_t n, int32_t block, const int32_t *pairs, size_t pair_count,
                                     const supple_allocator *a, spl_pattern *out, supple_error *error);

/* Whether a pattern from outside keeps the conventions above. */
supple_result spl_pattern_check(const spl_pattern *p, supple_error *error);

void spl_pattern_release(spl_pattern *p, const supple_allocator *a);

/* Number of scalar unknowns, and of stored values. */
size_t spl_pattern_unknowns(const spl_pattern *p);
size_t spl_pattern_values(const spl_pattern *p);

/* The index of entry (i, j), i >= j; SIZE_MAX if there is none. */
size_t spl_pattern_find(const spl_pattern *p, int32_t i, int32_t j);

/* The same matrix with blocks of 1: the pattern, and `source` (one per value of *out) from where to copy its values. */
supple_result spl_pattern_expand(const spl_pattern *p, const supple_allocator *a, spl_pattern *out, size_t **source,
                                 supple_error *error);

/* Both triangles by rows, for products whose rows are computed independently on any number of threads. */
typedef struct spl_rows {
    int32_t n, block;
    size_t *start;   /* n + 1 */
    int32_t *column; /* start[n], ascending in each row */
    size_t *entry;   /* start[n]: index of the entry in the pattern; of its transpose where column > row */
} spl_rows;

supple_result spl_rows_create(const spl_pattern *p, const supple_allocator *a, spl_rows *out, supple_error *error);
void spl_rows_release(spl_rows *r, const supple_allocator *a);

/* y = A x with k interleaved right-hand sides; x and y do not overlap. */
void spl_rows_multiply(const spl_rows *r, const double *values, const double *x, int32_t k, double *y, spl_pool *pool);

#endif
