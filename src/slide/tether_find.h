/* How long tethers are, found from the body: skin lies loose over chest, belly, back and limbs, and is bound tightly on
 * face, scalp, hands, nails and feet, where flesh is thin over bone, and at open borders. */
#ifndef SPL_SLIDE_TETHER_FIND_H
#define SPL_SLIDE_TETHER_FIND_H

#include "math/mat3.h"
#include "slide/regions.h"

typedef struct spl_tether_body {
    const spl_slide_scene *where; /* the net in the shape that the skeleton is bound to */
    int32_t home;                 /* the skin in whose mesh space that is; -1: there is no skeleton, nothing is bound */
    spl_mat3 map;                 /* from that space to the net's, metres */
} spl_tether_body;

/* Fills lengths (m, by vertex of the net). Each is the mean (of stiffnesses) over the joints that move a vertex of what
 * skin is bound by there (by their names, or those above them), no longer than a share of the way to the nearest of
 * their bones, and grows by no more than a share of the way along the surface. The only failure is SUPPLE_ERROR_MEMORY.
 */
supple_result spl_tether_find(const spl_tether_body *body, const supple_allocator *a, double *length,
                              supple_error *error);

#endif
