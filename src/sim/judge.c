/* Judging a range of a clip: its frames without dynamics, seen until nothing that is shown of them is worse than the
 * file's own skinning. */
#include "core/error.h"
#include "core/memory.h"
#include "sim/sim.h"

#include <string.h>

enum { MOST_PASSES = 6 };
#define TIGHTER 0.85 /* of what would be allowed, each time a frame is seen again */

typedef struct range {
    int32_t clip, first, count;
    double fps;
} range;

static double time_of(const range *r, int32_t k)
{
    return (r->first + k) / r->fps;
}

/* ---- the first pass: the frames are computed ---- */

static bool keep_take(supple_sim *sim, const range *r, int32_t k)
{
    spl_amount *a = &sim->amount;
    spl_take take = {.clip = r->clip, .time = time_of(r, k), .stats = sim->stats};
    while (take.value_count < SPL_TAKE_VALUES && supple_sim_value(sim, take.value_count, &take.value[take.value_count]))
        take.value_count++;
    for (int32_t i = 0; i < supple_sim_joint_count(sim); i++)
        a->takes.number[(size_t)k * a->takes.extra + (size_t)i] = supple_sim_joint_volume(sim, i);
    return spl_takes_add(&a->takes, &take, a->flesh);
}

static supple_result compute(supple_sim *sim, const range *r, supple_error *error)
{
    spl_amount *a = &sim->amount;
    supple_result result = spl_progress(&sim->config, "flesh", 0, error);
    bool kept = true, swings = spl_amount_swings(sim);
    spl_pops_set_rate(&a->pops, r->fps);
    if (result == SUPPLE_OK) result = spl_sim_lead_in(sim, r->clip, r->first, r->fps, error);
    for (int32_t k = 0; k < r->count && result == SUPPLE_OK; k++) {
        result = supple_sim_step_clip(sim, r->clip, time_of(r, k), error);
        if (result == SUPPLE_OK) result = spl_progress(&sim->config, "flesh", (double)(k + 1) / r->count, error);
        if (result != SUPPLE_OK) break;
        spl_harm_measure(&a->harm, a->own, a->flesh, sim->pool);
        spl_trust_frame frame = {a->own, a->flesh, a->flesh, &a->harm, 1, swings, swings};
        spl_trust_see(&a->trust, &frame);
        if (spl_pops_push(&a->pops, a->own, a->flesh, sim->pool) > SPL_POPS_BOUND)
            spl_trust_see_pops(&a->trust, a->pops.ratio, 1);
        kept = kept && keep_take(sim, r, k);
    }
    if (spl_pops_finish(&a->pops, sim->pool) > SPL_POPS_BOUND) spl_trust_see_pops(&a->trust, a->pops.ratio, 1);
    return result;
}

/* ---- the others: what would be shown is measured ---- */

/* One frame again, as it would be shown; false where it is worse than own skinning. */
static bool look_again(supple_sim *sim, const range *r, int32_t k, float *shown, double share)
{
    spl_amount *a = &sim->amount;
    if (!spl_takes_read(&a->takes, k, a->flesh)) return true;
    spl_sim_pose_clip(sim, r->clip, time_of(r, k));
    if (spl_amount_pose(sim, NULL) != SUPPLE_OK) return true;
    spl_trust_blend(&a->mesh, a->trust.value, a->own, a->flesh, shown);
    spl_harm_measure(&a->harm, a->own, shown, sim->pool);
    bool popped = spl_pops_push(&a->pops, a->own, shown, sim->pool) > SPL_POPS_BOUND;
    if (popped) spl_trust_see_pops(&a->trust, a->pops.ratio, share);
    bool swings = spl_amount_swings(sim), worse = supple_harm_exceeds(&a->harm.all, swings) != NULL;
    spl_trust_frame frame = {a->own, a->flesh, shown, &a->harm, share, swings, swings};
    if (worse) spl_trust_see(&a->trust, &frame);
    return !worse && !popped;
}

/* All frames; false where one is worse. */
static bool pass(supple_sim *sim, const range *r, float *shown, double share)
{
    spl_amount *a = &sim->amount;
    bool good = true;
    if (a->skin->reset) a->skin->reset(a->skin_state);
    spl_pops_reset(&a->pops);
    for (int32_t k = 0; k < r->count; k++) good = look_again(sim, r, k, shown, share) && good;
    if (spl_pops_finish(&a->pops, sim->pool) > SPL_POPS_BOUND) {
        spl_trust_see_pops(&a->trust, a->pops.ratio, share);
        good = false;
    }
    return good;
}

static supple_result settle(supple_sim *sim, const range *r, supple_error *error)
{
    spl_amount *a = &sim->amount;
    float *shown = spl_new(&a->allocator, (size_t)sim->scene->vertex_count, 3 * sizeof *shown);
    if (!shown) return spl_fail_memory(error, "the frames");
    double share = 1;
    bool good = false;
    spl_trust_settle(&a->trust);
    for (int k = 0; k < MOST_PASSES && !good && a->takes.count == r->count; k++) {
        share *= TIGHTER;
        good = pass(sim, r, shown, share);
        spl_trust_settle(&a->trust);
    }
    spl_free(&a->allocator, shown);
    return SUPPLE_OK;
}

/* ---- all of it ---- */

static supple_result judge(supple_sim *sim, const range *r, supple_error *error)
{
    spl_amount *a = &sim->amount;
    size_t volumes = (size_t)supple_sim_joint_count(sim);
    supple_result result =
        spl_takes_begin(&a->takes, &a->allocator, r->count, 3 * (size_t)sim->scene->vertex_count, volumes, error);
    if (result == SUPPLE_OK) result = spl_pops_make(&a->mesh, &a->allocator, &a->pops, error);
    a->mode = SPL_AMOUNT_LIVE;
    supple_sim_reset(sim);
    spl_trust_reset(&a->trust); /* a file's frames are seen themselves: no rehearsal counts */
    a->mode = SPL_AMOUNT_SEEING;
    if (result == SUPPLE_OK) result = compute(sim, r, error);
    if (result == SUPPLE_OK) result = settle(sim, r, error);
    spl_pops_release(&a->pops);
    return result;
}

supple_result supple_sim_judge(supple_sim *sim, int32_t clip, int32_t first_frame, int32_t frame_count, double fps,
                               bool keep, supple_error *error)
{
    spl_amount *a = &sim->amount;
    range r = {clip, first_frame, frame_count, fps};
    if (clip < -1 || clip >= sim->scene->clip_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "clip %d: there are %d", (int)clip, (int)sim->scene->clip_count);
    if (frame_count < 1 || first_frame < 0 || !(fps > 0 && fps < 1e6))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "judge: takes one frame or more, at a positive rate");
    if (!a->on || !a->trusts) return SUPPLE_OK;
    bool dynamics = sim->dynamics.on;
    int32_t verify = sim->flesh.verify;
    sim->dynamics.on = false;
    if (dynamics || !keep) sim->flesh.verify = 0;
    supple_result result = judge(sim, &r, error);
    sim->dynamics.on = dynamics;
    sim->flesh.verify = verify;
    a->take = -1;
    if (result != SUPPLE_OK || dynamics || !keep) spl_takes_release(&a->takes);
    a->mode = result == SUPPLE_OK ? SPL_AMOUNT_SETTLED : SPL_AMOUNT_LIVE;
    a->clip = clip;
    a->from = time_of(&r, 0);
    a->to = time_of(&r, r.count - 1);
    spl_amount_settle(sim);
    supple_sim_reset(sim);
    return result;
}
