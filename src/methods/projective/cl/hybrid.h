/* A symmetric sparse matrix in the combined ELL + CRS format of fast projective skinning (section 4.2, figure 2).
 *
 * Rows stand in blocks, which a work-group multiplies. The diagonal comes first, by itself: preconditioner and contacts
 * need it. Of the other entries each row's first `ell` ones, as many as the shortest row has, stand column-wise
 * within their block, so that neighbouring work-items read neighbouring numbers; nothing is padded but the last block.
 * What is left of a block's rows stands row after row: the whole group reads it in one go, whosever row an entry is in,
 * leaves the products in local memory, and each row's own work-item adds them up. (Local memory too small for a
 * block's rest is met by reading it in pieces; the paper widens the ELL part instead, with zeros.) Columns take 16 bits
 * each while there are no more than 65,536 rows. */
#ifndef SPL_METHODS_PROJECTIVE_CL_HYBRID_H
#define SPL_METHODS_PROJECTIVE_CL_HYBRID_H

#include "sparse/pattern.h"

typedef struct spl_hybrid {
    supple_allocator allocator;
    int32_t n, block, blocks;       /* rows; rows a block; blocks */
    int32_t ell;                    /* entries of each row in the ELL part, without the diagonal */
    bool wide;                      /* columns are uint32_t, not uint16_t */
    size_t ell_count, rest_count;   /* entries: blocks x ell x block; of the CRS part */
    float *diagonal;                /* n */
    float *ell_value, *rest_value;  /* entry e of row i of block b at (b ell + e) block + i; by row */
    void *ell_column, *rest_column; /* of either width */
    uint32_t *start;                /* n + 1: rows of the CRS part */
    size_t *ell_entry, *rest_entry; /* where values come from: entries of the pattern, SIZE_MAX: zero */
    size_t *diagonal_entry;         /* n */
} spl_hybrid;

/* The format of a pattern with blocks of 1 (both triangles of it); values are yet to be set. `fill`: rows with nothing
 * but a diagonal fill up blocks, and do not make the ELL part shorter. */
supple_result spl_hybrid_create(const spl_rows *rows, int32_t block, bool fill, const supple_allocator *a,
                                spl_hybrid *out, supple_error *error);
void spl_hybrid_release(spl_hybrid *h);

/* Takes the values of the pattern's entries. */
void spl_hybrid_set(spl_hybrid *h, const double *values);

/* y = A x, `k` numbers a row (1 or 3), as the kernel does it: the plain twin. */
void spl_hybrid_multiply(const spl_hybrid *h, const float *x, int k, float *y);

/* Entries in the CRS part of the fullest block: the products that a work-group has to hold. */
uint32_t spl_hybrid_fullest(const spl_hybrid *h);

/* Bytes of a matrix's values and indices: in this format, as plain ELL (every row as long as the longest, columns as
 * here), and as CRS (columns as here, 4 bytes a row). */
typedef struct spl_hybrid_bytes {
    size_t hybrid, ell, crs;
    size_t entries, ell_entries; /* non-zeros with the diagonal; what plain ELL stores for them */
    int32_t shortest, longest;   /* rows, with the diagonal */
} spl_hybrid_bytes;

spl_hybrid_bytes spl_hybrid_count(const spl_hybrid *h);

#endif
