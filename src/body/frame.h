/* A body's own frame: its centroid, principal axes and size, from its surface alone. */
#ifndef SPL_BODY_FRAME_H
#define SPL_BODY_FRAME_H

#include "geom/surface.h"

typedef struct spl_frame_of_body {
    spl_vec3 centre;
    spl_vec3 axis[3]; /* orthonormal, right-handed, longest spread first */
    double size;      /* diagonal of the surface's box; 1 if that is 0 */
} spl_frame_of_body;

/* The same shape, moved, turned or scaled, has the same coordinates in its frame. Where two or three spreads are equal
 * the vertex farthest from the centre decides; the first two axes point to the side of the vertex farthest along them,
 * of equal ones the first. */
spl_frame_of_body spl_frame_find(const spl_surface *surface);

spl_vec3 spl_frame_into(const spl_frame_of_body *frame, spl_vec3 p); /* to the frame's coordinates */
spl_vec3 spl_frame_back(const spl_frame_of_body *frame, spl_vec3 p); /* and back */

#endif
