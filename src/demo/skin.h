/* Smooth skin weights from rigid ones: diffusion over the surface, so that nothing leaks from finger to finger or from
 * the arm to the chest through the air. */
#ifndef SPL_DEMO_SKIN_H
#define SPL_DEMO_SKIN_H

#include "demo/shape.h"

/* Starts from the weights in the shape and repeats, at each vertex v, steps[v] times: half of the way to the mean of
 * the neighbours. A step spreads by about 0.7 edges, so regions with a finer mesh get narrower transitions. False if
 * memory is out. */
bool spl_skin_diffuse(spl_shape *shape, const int32_t *steps);

#endif
