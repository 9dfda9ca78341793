/* What ldlt.c (life cycle, solves) and ldlt_numeric.c (factorisation) share. */
#ifndef SPL_SPARSE_LDLT_PRIVATE_H
#define SPL_SPARSE_LDLT_PRIVATE_H

#include "sparse/ldlt.h"
#include "sparse/ldlt_parts.h"

/* Numbers beyond the panels: kernels may look at columns that are not there. */
enum { SPL_LDLT_SLACK = 128 };

/* Work memory of one task. */
typedef struct spl_ldlt_slot {
    int32_t *offset; /* n + 1: of a row in the panel that is being made */
    int32_t *place;  /* max_rows: of a source's rows */
    int32_t column[SPL_MAX_WIDTH];
    double *packed; /* SPL_MAX_WIDTH^2 */
    spl_panel_diagonal diagonal;
    int32_t failed; /* column in elimination order, or -1 */
    double pivot;
} spl_ldlt_slot;

struct spl_ldlt {
    supple_allocator allocator;
    spl_pool *pool;
    spl_ldlt_options options;
    const spl_panel_kernels *kernels;
    spl_symbolic symbolic;
    void *memory, *memory_float; /* what `values` and `values_float` are aligned in */
    double *values;              /* panels, 64-byte aligned */
    float *values_float;
    double *pivot, *inverse; /* n, in elimination order: D and 1 / D */
    double *diagonal;        /* n: A's own */
    float *inverse_float;
    int32_t slot_count; /* SPL_BINS, or 1 without threads */
    spl_ldlt_slot *slots;
    double *x, *y;        /* solves: n + 1 and max_rows rows of 4 */
    spl_ldlt_parts parts; /* of the solves in float */
    bool ready;
};

#endif
