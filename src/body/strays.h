/* Strays: visual vertices that were placed on another sheet of the body than the mesh around them.
 *
 * A tooth's tip reaches into the other jaw: the nearest place of the body is there, and no weight tells the jaws apart.
 * The mesh does: along an edge of it, places lie as near to each other over the body's surface as the edge is long.
 *
 * And where the body has a slit that the mesh has not, since the lattice is too coarse for what lies there side by side
 * (a hem on a leg, a shoe's collar), the two ends of one short edge hang on either side of it. */
#ifndef SPL_BODY_STRAYS_H
#define SPL_BODY_STRAYS_H

#include "body/body.h"

/* Takes vertices off body->lifted whose places do not fit those of the mesh that they hang on: of what hangs together
 * by edges that fit, the small parts beside a large one; and those at slits. They are marked in `stray`; returns how
 * many in *count. */
supple_result spl_strays_find(spl_body *body, bool *stray, int32_t *count, supple_error *error);

#endif
