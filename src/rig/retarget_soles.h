/* The soles of a character's feet: points of its skin that touch the ground, so that feet are put onto it by what is
 * seen, not by joints that lie anywhere above. */
#ifndef SPL_RIG_RETARGET_SOLES_H
#define SPL_RIG_RETARGET_SOLES_H

#include "rig/retarget_rest.h"

enum { SPL_SOLE_POINTS = 100 }; /* feet and toes, the farthest vertices in 25 directions each */

typedef struct spl_soles {
    int32_t count; /* 0: no vertex follows a foot */
    int32_t joint[SPL_SOLE_POINTS];
    spl_vec3 local[SPL_SOLE_POINTS]; /* in the joint's space */
    double ground;                   /* height of the lowest of them at rest, along the rest's up */
} spl_soles;

void spl_soles_find(const supple_scene *scene, const spl_match *match, const spl_rest *rest, spl_soles *out);

#endif
