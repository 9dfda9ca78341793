/* The ground under a motion: heights are set so that feet that stand, stand on it. */
#ifndef SPL_RIG_RETARGET_GROUND_H
#define SPL_RIG_RETARGET_GROUND_H

#include "math/vec3.h"

#include <stdint.h>

/* Where the lower foot is in a frame: x and y on the ground, z its height above where it stands at rest. */

/* What to add to the height of each frame. `size` is a length of the body (a leg).
 *
 * Captured floors are not quite level and proportions differ, so the ground is fitted: the plane with a share of the
 * feet's heights below it (quantile regression), level where the plane would lean more than a floor does (stairs and
 * hills are motion). What is then still below the ground is lifted onto it. */
void spl_ground_lift(const spl_vec3 *foot, int32_t count, double size, double *lift);

#endif
