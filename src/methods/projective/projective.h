/* What benchmarks and tests see of the projective method's state. */
#ifndef SPL_METHODS_PROJECTIVE_PROJECTIVE_H
#define SPL_METHODS_PROJECTIVE_PROJECTIVE_H

#include "methods/projective/solver.h"

/* The last solve of a state of spl_method_projective. */
const spl_pd_stats *spl_projective_stats(const void *state);

/* Whether its next solve is to run on a device. */
bool spl_projective_on_device(const void *state);

#endif
