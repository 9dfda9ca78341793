/* How far what is shown passes through itself (trust/cross.h). */
#ifndef SPL_SIM_CROSSING_H
#define SPL_SIM_CROSSING_H

#include "trust/cross.h"

#include <supple/sim.h>

struct supple_sim;

/* Of a simulation that shows its rest pose; only where it is to measure. */
supple_result spl_sim_cross_create(struct supple_sim *sim, const supple_sim_config *sc, supple_error *error);

/* Fills crossed, max_penetration, max_fold and own_penetration of the frame that is shown. */
supple_result spl_sim_cross_frame(struct supple_sim *sim, supple_stats *stats, supple_error *error);

#endif
