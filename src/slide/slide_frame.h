/* What the sliding skin says of one frame: the seam between the stage that simulates it and the outputs that show it.
 */
#ifndef SPL_SLIDE_SLIDE_FRAME_H
#define SPL_SLIDE_SLIDE_FRAME_H

#include <stddef.h>

/* A corner is a position in the visual mesh's list of triangles: corner 3 t + k is corner k of triangle t, over the
 * whole character, all parts in the scene's order (mesh instances in node order, primitives in file order). The arrays
 * belong to the stage and stand until its next step. */
typedef struct spl_slide_frame {
    const float *corner_uv; /* 2 a corner: the texture coordinate that the skin has there now, v down as in glTF */
    const float *stretch;   /* 1 a visual vertex: area of the skin now over its area at rest, 1 = none */
    size_t corners;         /* 3 x triangles of the scene */
    size_t vertices;        /* of the scene */
} spl_slide_frame;

#endif
