/* Surface nets on a warped grid: a quad mesh of an implicit surface that is fine where it must be.
 *
 * A vertex per piece of surface in each cell (as in dual marching cubes: Nielson, "Dual marching cubes", IEEE
 * Visualization 2004), so that thin gaps do not glue vertices together; then Newton steps onto the surface, alternating
 * with smoothing along it. */
#ifndef SPL_DEMO_NETS_H
#define SPL_DEMO_NETS_H

#include "demo/shape.h"

typedef struct spl_field {
    double (*value)(const void *context, spl_vec3 p); /* negative inside */
    const void *context;
    spl_vec3 (*warp)(spl_vec3 grid); /* from the grid's space to the world, one to one; NULL for identity */
    spl_vec3 low, high;              /* box in the grid's space; the surface stays a cell away from its sides */
    double cell;                     /* edge of a cell in the grid's space */
    int32_t smoothing;               /* passes */
    spl_pool *pool;                  /* NULL: one thread; `value` and `warp` are called from all of them */
} spl_field;

/* The surface as a shape with `joints` weights a vertex and zero texture coordinates. */
supple_result spl_nets_make(const spl_field *field, const supple_allocator *a, int32_t joints, spl_shape *shape,
                            supple_error *error);

#endif
