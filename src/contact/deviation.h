/* How far the visual mesh lies outside the body that carries it, at rest: what a barrier keeps free between two parts
 * of the body, so that the meshes on them do not cross where the body does not. */
#ifndef SPL_CONTACT_DEVIATION_H
#define SPL_CONTACT_DEVIATION_H

#include "body/solid.h"

/* By vertex of the body, metres, 0 inside: the largest distance of visual vertices that stand outside the triangles
 * around it, and its own depth below the visual surface. The only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_deviation_find(const spl_solid *solid, double *deviation, supple_error *error);

#endif
