/* The order of the unknowns: interior nodes before boundary ones, and each group cut into parts that are not coupled,
 * so that incomplete factors work on several threads (sparse/ic3.h). */
#ifndef SPL_FEM_ORDER_H
#define SPL_FEM_ORDER_H

#include "fem/elements.h"

enum { SPL_PARTS = 8 };

typedef struct spl_node_order {
    supple_allocator allocator;
    int32_t count, interior; /* nodes, and how many of them come first: all, if the boundary is not apart */
    int32_t *vertex;         /* by node */
    int32_t *node;           /* by vertex, -1 where it is held */
    int32_t part_count;      /* of the first `interior` nodes */
    int32_t cut[SPL_PARTS + 1];
} spl_node_order;

/* `held` by vertex: prescribed if not negative. `boundary` by vertex: free ones of these come last; NULL: none does.
 * `position`: 3 a vertex, by which parts are cut. */
supple_result spl_node_order_create(const spl_elements *e, const int32_t *held, const bool *boundary,
                                    const double *position, const supple_allocator *a, spl_node_order *out,
                                    supple_error *error);
/* An order of elimination for the first `count` nodes of a matrix (rows by `start` and `column`, further nodes left
 * out): geometric nested dissection. order[k] is the node that is eliminated as the k-th. */
supple_result spl_node_dissection(const spl_node_order *o, const double *position, const size_t *start,
                                  const int32_t *column, int32_t count, int32_t *order, supple_error *error);

void spl_node_order_release(spl_node_order *o);

#endif
