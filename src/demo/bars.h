/* What the characters along an axis share: weights of a chain of joints and clips that wind up evenly. */
#ifndef SPL_DEMO_BARS_H
#define SPL_DEMO_BARS_H

#include "demo/motion.h"
#include "demo/shape.h"

/* Weights of a vertex at x along a chain of joints that stand at `at` (increasing): each joint owns from its own
 * position to the next one's, blended smoothly over `blend` to both sides of each. */
void spl_chain_weights(float *weight, const double *at, int32_t joint_count, double x, double blend);

/* Adds a clip of 50 keys in which some joints turn about one axis: from nothing at key 0 to degrees[j] at key 49,
 * evenly (key k at k / 49 of it). False if memory is out. */
bool spl_wind_clip(spl_rigged *rigged, const char *name, spl_vec3 axis, const double *degrees);

/* `count` scaled by the detail, at least `least`. */
int32_t spl_detailed(double count, double detail, int32_t least);

#endif
