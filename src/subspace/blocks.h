/* Symmetric positive definite matrices of dense blocks, one block row a domain, and their Cholesky factor
 * A = U^T U by blocks (multi-domain paper, figure 5).
 *
 * Domains are eliminated in the order of least degree. A block row is one panel: the block of the diagonal, then those
 * right of it in that order, fill included; blocks are padded to multiples of four with zeros. Nothing is allocated
 * after creation.
 *
 * Domains that meet for a while, in contact, share blocks for a while: where there is room for that, the order and the
 * fill are found anew. */
#ifndef SPL_SUBSPACE_BLOCKS_H
#define SPL_SUBSPACE_BLOCKS_H

#include "subspace/dense.h"

#include <supple/base.h>

typedef struct spl_blocks {
    supple_allocator allocator;
    const spl_dense_kernels *kernels;
    int32_t count;     /* domains */
    int32_t *rank;     /* by domain */
    size_t *offset;    /* by domain, and one more: of its numbers in a padded vector */
    int32_t *order;    /* by place in the elimination: the domain */
    int32_t *place;    /* by domain */
    int32_t *start;    /* by place, and one more: first of its entries */
    int32_t *column;   /* by entry: a place; the first of a row is its own, the others rise */
    size_t *at;        /* by entry: first column in the panel */
    size_t *panel;     /* by place: of its first number */
    size_t *width;     /* by place: columns of the panel */
    double *value;     /* panels, padded rank rows each */
    size_t size;       /* of value */
    double *row, *sum; /* room for one panel's row */
    size_t capacity;   /* numbers of value that there is room for, by spl_blocks_reserve; 0: the order is for good */
    bool *linked;      /* count x count: domains that always share a block; with capacity, as what follows */
    bool *filled;      /* the same: room */
    bool *done;        /* count: room */
} spl_blocks;

/* `pair`: 2 x pair_count, domains that share a block. SUPPLE_ERROR_INPUT where blocks, fill included, have more than
 * SPL_BLOCKS_FILL times the numbers of those on the diagonal, and more than SPL_BLOCKS_GROUND. */
enum { SPL_BLOCKS_FILL = 32, SPL_BLOCKS_GROUND = 1 << 20 };
supple_result spl_blocks_create(int32_t count, const int32_t *rank, const int32_t *pair, int32_t pair_count,
                                const supple_allocator *a, spl_blocks *out, supple_error *error);
/* Room for other pairs beside those, of at most SPL_BLOCKS_RESERVE domains. */
enum { SPL_BLOCKS_RESERVE = 256 };
supple_result spl_blocks_reserve(spl_blocks *b, const int32_t *pair, int32_t pair_count, supple_error *error);

/* From now on domains of `pair` share blocks too, and no others than those of the creation. Allocates nothing. False,
 * and only those of the creation do, where there is no room. */
bool spl_blocks_arrange(spl_blocks *b, const int32_t *pair, int32_t pair_count);
void spl_blocks_release(spl_blocks *b);
void spl_blocks_clear(spl_blocks *b);

/* The block of domains i and j (equal, or a pair), row length *ld. *swapped: it is that of j and i, which is its
 * transpose. Of blocks on the diagonal the upper triangle is read. */
double *spl_blocks_at(const spl_blocks *b, int32_t i, int32_t j, size_t *ld, bool *swapped);

/* In place. False: not positive definite, and nothing useful is left. */
bool spl_blocks_factorise(spl_blocks *b);

/* x = A \ x, x padded as `offset` says. */
void spl_blocks_solve(spl_blocks *b, double *x);

#endif
