/* How far a pair may go: additive continuous collision detection (Li, Kaufman and Jiang 2021, "Codimensional
 * Incremental Potential Contact", section 5), with a second bound of each step beside the paper's.
 *
 * Steps only ever use lower bounds of the distance, so the answer is never late. It is early by what `slack` asks for
 * and a tenth of that. */
#ifndef SPL_GEOM_CCD_H
#define SPL_GEOM_CCD_H

#include "geom/distance.h"

/* The largest t in [0, until] that is found such that a pair that starts at x and moves to x + t d stays farther apart
 * than `offset` all the way, and at t has still `slack` (in (0, 1), 0.1 say) of the gap it began with, gap = distance -
 * offset. `until` where it never comes that near; 0 where it begins with no gap, or with what is no number. Positions
 * are taken as they are: the gap should be well above the rounding of coordinates, 1e-16 times their size. */
double spl_pair_ccd(spl_pair_kind kind, const double x[4][3], const double d[4][3], double offset, double slack,
                    double until);

#endif
