/* What comes before a range of a clip: flesh that meets flesh lies as it came. */
#include "core/error.h"
#include "sim/sim.h"

/* Only contacts without dynamics have such a memory: dynamics begin in equilibrium, where they are told to. */
static bool has_memory(const supple_sim *sim)
{
    return sim->lead_in && sim->has_flesh && !sim->flesh.baseline && !sim->dynamics.on &&
           (sim->context.collide & SUPPLE_COLLIDE_SELF);
}

/* A frame that is solved and not shown. */
static supple_result pass(supple_sim *sim, int32_t clip, double time, supple_error *error)
{
    supple_stats unread = {0};
    spl_sim_pose_clip(sim, clip, time);
    spl_sim_set_time(sim, clip, time);
    spl_flesh_frame frame = spl_sim_flesh_frame(sim);
    sim->context.dt = 0;
    sim->context.velocity = NULL;
    supple_result result = spl_flesh_sim_advance(&sim->flesh, &frame, &unread, error);
    if (result == SUPPLE_OK) spl_flesh_sim_glance(&sim->flesh, &frame, sim->flesh.x);
    return result;
}

supple_result spl_sim_lead_in(supple_sim *sim, int32_t clip, int32_t first_frame, double fps, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    if (!has_memory(sim) || clip < 0) return SUPPLE_OK;
    for (int32_t k = 0; k < first_frame && result == SUPPLE_OK; k++) {
        result = spl_progress(&sim->config, "what comes before", (double)k / first_frame, error);
        if (result == SUPPLE_OK) result = pass(sim, clip, k / fps, error);
    }
    return result;
}

supple_result supple_sim_lead_in(supple_sim *sim, int32_t clip, int32_t first_frame, double fps, supple_error *error)
{
    if (clip < -1 || clip >= sim->scene->clip_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "clip %d: there are %d", (int)clip, (int)sim->scene->clip_count);
    if (first_frame < 0 || !(fps > 0 && fps < 1e6))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "lead in: takes a frame from 0 on, at a positive rate");
    bool kept = sim->amount.takes.count > 0 && sim->amount.clip == clip; /* its frames are not computed again */
    if (kept || !has_memory(sim)) return SUPPLE_OK;
    supple_sim_reset(sim);
    return spl_sim_lead_in(sim, clip, first_frame, fps, error);
}
