/* A tree of boxes over tetrahedra: which of them may hold a point. Built over the rest shape, for what is asked once;
 * contacts are found by a hash (hits.h), which is faster where all points are asked in every frame. */
#ifndef SPL_CONTACT_TET_TREE_H
#define SPL_CONTACT_TET_TREE_H

#include "math/vec3.h"

#include <supple/base.h>

typedef struct spl_tet_node {
    spl_vec3 low, high;
    int32_t end;          /* the node after this one's branch: nodes stand in the order of a walk, parents first */
    int32_t first, count; /* into `order`, for a leaf; count 0: none */
} spl_tet_node;

typedef struct spl_tet_tree {
    supple_allocator allocator;
    const int32_t *tet; /* 4 x tet_count, borrowed */
    int32_t tet_count, node_count;
    spl_tet_node *node;
    int32_t *order; /* tets, by leaf */
} spl_tet_tree;

/* `x`: 3 doubles a vertex. SUPPLE_ERROR_MEMORY is the only failure. */
supple_result spl_tet_tree_create(const int32_t *tet, int32_t tet_count, const double *x, const supple_allocator *a,
                                  spl_tet_tree *out, supple_error *error);
void spl_tet_tree_release(spl_tet_tree *t);

/* New positions of the vertices: boxes again, in O(n). */
void spl_tet_tree_refit(spl_tet_tree *t, const double *x);

/* Calls visit for the tets of leaves whose box holds p. */
typedef void spl_tet_visit(void *context, int32_t tet);
void spl_tet_tree_at(const spl_tet_tree *t, spl_vec3 p, spl_tet_visit *visit, void *context);

#endif
