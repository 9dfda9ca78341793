/* Polygons into triangles: planar or nearly so, convex or not. */
#ifndef SUPPLE_IMPORT_TRIANGULATE_H
#define SUPPLE_IMPORT_TRIANGULATE_H

#include "math/vec3.h"

#include <stdint.h>

/* Fills `corner` with 3 (count - 2) numbers of corners, below `count`, by cutting off ears in the plane of the
 * polygon's own area vector. `left` is room for `count` numbers. Returns the number of triangles: count - 2, or 0
 * below 3. */
int32_t import_triangulate(const spl_vec3 *p, int32_t count, int32_t *left, int32_t *corner);

#endif
