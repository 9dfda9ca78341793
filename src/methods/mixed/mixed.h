/* What benchmarks and tests see of the mixed method's state. */
#ifndef SPL_METHODS_MIXED_MIXED_H
#define SPL_METHODS_MIXED_MIXED_H

#include "methods/mixed/warp.h"

/* The last linear solve of a state of spl_method_mixed. */
const spl_warp_stats *spl_mixed_stats(const void *state);

#endif
