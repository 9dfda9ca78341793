/* The symbolic half of our LDL^T: ordering, elimination tree, supernodes, and who updates whom.
 *
 * A supernode is a run of columns of L with (nearly) the same rows, kept as one dense panel. Panels are cut into tiles
 * of 8 rows: entry (i, k) of a panel of width w is at (i / 8) * 8 w + 8 k + i % 8. That is at once the packed operand
 * of the matrix product and the order in which a solve streams the factor. Rows are padded to whole tiles; padding rows
 * have the index n, a spare row of every work vector.
 *
 * References: Amestoy, Davis, Duff 2004 (AMD); Liu 1990 (elimination trees); Ng and Peyton 1993 (supernodes,
 * left-looking block factorisation); Ashcraft and Grimes 1989 (relaxed supernodes). */
#ifndef SPL_SPARSE_SYMBOLIC_H
#define SPL_SPARSE_SYMBOLIC_H

#include "sparse/pattern.h"

enum {
    SPL_TILE = 8,
    SPL_MAX_WIDTH = 128, /* wider supernodes are cut into chains: bounds the packed operand to 128 KB */
    SPL_BINS = 16,       /* independent groups of subtrees, and scratch slots; the same at any number of threads */
};

/* Rows [begin, end) of supernode `from` are columns of the supernode that owns this update. */
typedef struct spl_update {
    int32_t from, begin, end;
} spl_update;

/* Where an entry of A goes: block (row, column) of the panel; the transposed block if row < 0 (then ~row). */
typedef struct spl_load {
    size_t entry;
    int32_t row, column;
} spl_load;

typedef struct spl_symbolic {
    int32_t n;     /* scalar unknowns */
    int32_t nodes; /* n / block */
    int32_t block;
    int32_t *order; /* nodes: order[k] is the node that is eliminated as the k-th */
    int32_t count;  /* supernodes, children before parents */
    int32_t *first; /* count + 1: first scalar column */
    int32_t *parent;
    int32_t *row_count;   /* count: rows of the panel, its own columns first */
    size_t *row_start;    /* count + 1: into rows; multiples of 8 */
    int32_t *rows;        /* scalar rows, ascending, then padding */
    size_t *panel;        /* count + 1: into the values of L */
    size_t *update_start; /* count + 1 */
    spl_update *updates;  /* of each supernode, by ascending `from` */
    size_t *load_start;   /* count + 1 */
    spl_load *loads;
    int32_t *bin;       /* count: the bin that factorises it, or SPL_BINS for the top of the tree */
    int32_t max_rows;   /* of one panel, padded */
    double entry_count; /* of L, without padding and the zeros of relaxed supernodes */
    double flops;       /* of the factorisation, without those */
} spl_symbolic;

/* Analyses a pattern; the values may come and go. `order`: the nodes as they are to be eliminated, each once; NULL: as
 * spl_order_amd says. */
supple_result spl_symbolic_create(const spl_pattern *p, const int32_t *order, const supple_allocator *a,
                                  spl_symbolic *out, supple_error *error);
void spl_symbolic_release(spl_symbolic *s, const supple_allocator *a);

/* A fill-reducing order of the nodes, order[k] first to be eliminated: AMD (order.c). */
supple_result spl_order_amd(const spl_pattern *p, int32_t *order, const supple_allocator *a, supple_error *error);

/* Divides the tree into bins (bins.c); fills s->bin. */
bool spl_symbolic_divide(spl_symbolic *s, const supple_allocator *a);

#endif
