/* Skin that slides, as the last stage of a simulation's frames. */
#ifndef SPL_SIM_SLIDE_H
#define SPL_SIM_SLIDE_H

#include "sim/sim.h"

/* Makes the stage of a simulation whose rest pose has been taken. Skin is unstressed in the bind pose; where
 * nothing is skinned, in the rest pose; of a vertex animation in its first sample. */
supple_result spl_sim_slide_create(supple_sim *sim, const supple_sim_config *sc, supple_error *error);

/* Slides the skin under the positions of this frame: at a clip's time (dt NAN), or dt after the last one. Does nothing
 * without a stage. */
supple_result spl_sim_slide_frame(supple_sim *sim, int32_t clip, double time, double dt, supple_stats *stats,
                                  supple_error *error);

/* Before a clip's first frame, where clips are cycles: plays the clip until the skin repeats itself. Does nothing at
 * other frames, or without a stage. */
supple_result spl_sim_slide_loop(supple_sim *sim, int32_t clip, double time, supple_error *error);

#endif
