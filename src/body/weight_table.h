/* Weights of every bone at every vertex of a tet mesh, as the ways to find them (bounded biharmonic, heat, the input's
 * own) leave them, and what is made of them. */
#ifndef SPL_BODY_WEIGHT_TABLE_H
#define SPL_BODY_WEIGHT_TABLE_H

#include "body/weights.h"

typedef struct spl_weight_table {
    supple_allocator allocator;
    int32_t vertex_count, bone_count;
    double *value; /* bone_count x vertex_count: all vertices of a bone side by side */
} spl_weight_table;

/* A table of zeros. */
supple_result spl_weight_table_create(int32_t vertex_count, int32_t bone_count, const supple_allocator *a,
                                      spl_weight_table *out, supple_error *error);
void spl_weight_table_release(spl_weight_table *t);

/* Divides by the sum at each vertex. Where that is 0, the vertex takes what its neighbours in `elements` have, nearest
 * first; where none is reached, bone 0. */
supple_result spl_weight_table_normalise(spl_weight_table *t, const spl_elements *elements, supple_error *error);

/* Places where a bone's weight has a maximum that no vertex it holds explains: free vertices (or connected free
 * plateaus) above 1e-4 that no neighbour exceeds, apart from plateaus that touch the bone's own vertices. Counted over
 * all bones; `by_bone` (bone_count) may be NULL. */
supple_result spl_weight_table_maxima(const spl_weight_table *t, const spl_elements *elements, const int32_t *held,
                                      int32_t *by_bone, int32_t *count, supple_error *error);

/* The strongest SPL_BONE_INFLUENCES of each vertex, made to sum to 1. */
supple_result spl_weight_table_strongest(const spl_weight_table *t, const supple_allocator *a, spl_bone_weights *out,
                                         supple_error *error);

#endif
