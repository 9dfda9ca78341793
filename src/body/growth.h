/* How thick a body is, and how far it must be grown to be seen by a lattice. */
#ifndef SPL_BODY_GROWTH_H
#define SPL_BODY_GROWTH_H

#include "core/threads.h"
#include "geom/surface.h"
#include "geom/tree.h"
#include "geom/winding.h"

/* By surface vertex: the diameter of the largest ball that touches the surface there and something nearly opposite, at
 * most `limit`. Edges and corners of thick parts do not count as thin: what the ball touches must be seen from its
 * centre at 110 degrees from the vertex or more. */
void spl_limb_thickness(const spl_surface *surface, const spl_tree *tree, const spl_winding *winding, double limit,
                        spl_pool *pool, double *thickness);

/* The median of a value over each vertex and its neighbours, `rounds` times: single outliers vanish, limits of limbs
 * stay. */
supple_result spl_vertex_median(const spl_surface *surface, int rounds, const supple_allocator *a, double *value,
                                supple_error *error);

#endif
