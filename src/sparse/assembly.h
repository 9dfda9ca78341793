/* Assembly: the sum of small element matrices into a sparse one. Built once per mesh; each entry then gathers its
 * contributions in the order of the elements, on any number of threads, with the same bits. */
#ifndef SPL_SPARSE_ASSEMBLY_H
#define SPL_SPARSE_ASSEMBLY_H

#include "sparse/pattern.h"

/* Element matrices are given as their lower triangles of blocks: local pairs (i, j), i >= j, at
 * i (i + 1) / 2 + j, each block * block numbers, column-major (rows belong to corner i). */
typedef struct spl_assembly {
    spl_pattern pattern; /* of the unknowns; owned */
    int32_t corners;     /* per element: 2 springs, 3 triangles, 4 tets; at most 8 */
    int32_t pairs;       /* corners (corners + 1) / 2 */
    size_t element_count;
    size_t *start;    /* entries + 1, into source */
    uint32_t *source; /* (element * pairs + pair) * 2 + 1 if the block is to be transposed */
} spl_assembly;

/* `elements` has element_count x corners vertices; `unknown` gives each vertex's node, or -1 where it is held; NULL:
 * all vertices are nodes. `node_count` nodes; a node in no element keeps a diagonal entry, of value 0. */
supple_result spl_assembly_create(const int32_t *elements, size_t element_count, int32_t corners, int32_t vertex_count,
                                  const int32_t *unknown, int32_t node_count, int32_t block, const supple_allocator *a,
                                  spl_assembly *out, supple_error *error);
void spl_assembly_release(spl_assembly *s, const supple_allocator *a);

/* values = the sum of the element matrices (element_count x pairs x block^2 numbers). */
void spl_assembly_gather(const spl_assembly *s, const double *element_values, double *values, spl_pool *pool);

#endif
