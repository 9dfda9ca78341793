/* A straight way over a surface: cheap evidence that two places are near each other along it. */
#ifndef SPL_BODY_WALK_H
#define SPL_BODY_WALK_H

#include "geom/surface.h"

/* The length of the way from a to b in which the plane through both, upright on the surface, cuts it; INFINITY if it
 * does not lead there within `limit`. It is a way, so nothing shorter than the geodesic distance; on smooth surfaces it
 * is hardly longer, and far quicker to find. */
double spl_surface_walk(const spl_surface *s, const spl_place *a, const spl_place *b, double limit);

#endif
