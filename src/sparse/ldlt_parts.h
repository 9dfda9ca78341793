/* Solves in float on several threads: subtrees of the supernodes' tree in a few parts, each with work vectors of its
 * own, and the top, which all of them lead to. The division depends on the matrix alone, and parts are added up in
 * their order: the same bits at any number of threads. */
#ifndef SPL_SPARSE_LDLT_PARTS_H
#define SPL_SPARSE_LDLT_PARTS_H

#include "sparse/symbolic.h"

enum { SPL_PARTS = 4 };

typedef struct spl_ldlt_parts {
    int32_t *list;                /* supernodes, ascending in each part; the top last */
    int32_t start[SPL_PARTS + 2]; /* into list; the top is [SPL_PARTS] */
    float *x[SPL_PARTS + 1];      /* work vectors, n + 1 rows of up to 8 */
    float *y[SPL_PARTS + 1];      /* max_rows rows of up to 8 */
    void *memory;
    bool whole; /* too small to divide: all is top */
} spl_ldlt_parts;

/* False if memory is out; release accepts what is left. */
bool spl_ldlt_parts_create(const spl_symbolic *s, const supple_allocator *a, spl_ldlt_parts *out);
void spl_ldlt_parts_release(spl_ldlt_parts *p, const supple_allocator *a);

#endif
