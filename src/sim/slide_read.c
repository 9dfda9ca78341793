/* What the sliding stage left of the last step, for hosts and outputs. */
#include "sim/sim.h"

#include <supple/tools.h>

bool supple_sim_slide(const supple_sim *sim, supple_slide_frame *out)
{
    const spl_slide_frame *s = &sim->slide;
    *out = (supple_slide_frame){s->corner_uv, s->stretch, s->corners, s->vertices};
    return s->corner_uv != NULL;
}
