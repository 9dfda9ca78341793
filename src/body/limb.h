/* How thick a limb is. */
#ifndef SPL_BODY_LIMB_H
#define SPL_BODY_LIMB_H

#include "geom/tree.h"

/* The median distance from a point to the skin at right angles to a direction; 0 where most rays meet none within
 * `limit`. */
double spl_limb_radius(const spl_tree *tree, spl_vec3 at, spl_vec3 along, double limit);

#endif
