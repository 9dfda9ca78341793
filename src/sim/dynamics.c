#include "sim/dynamics.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/svd3.h"
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

/* Cycles until a loop is given up, and when it is found: the largest distance of a vertex, as a share of the diagonal,
 * between the beginnings of two cycles. */
enum { MOST_CYCLES = 20 };
static const double same = 1e-3;

static const double nearly = 1e-6; /* of a step: a frame on a state */
static const double longest = 1;   /* second: jumps beyond it start anew */

/* ---- creation ---- */

supple_result spl_dynamics_create(const supple_sim_config *sc, const supple_scene *scene, const spl_body *body,
                                  const supple_allocator *a, spl_dynamics *out, supple_error *error)
{
    size_t n = (size_t)body->tets.vertex_count, joints = (size_t)scene->joint_count;
    *out = (spl_dynamics){.on = sc->dynamics, .h = sc->substep, .preroll = sc->preroll, .loop = sc->loop};
    if (!out->on) return SUPPLE_OK;
    out->before = spl_new(a, n, 3 * sizeof *out->before);
    out->shown = spl_new(a, n, 3 * sizeof *out->shown);
    out->last = spl_new(a, joints, 16 * sizeof *out->last);
    out->blend = spl_new(a, joints, 16 * sizeof *out->blend);
    if (out->before && out->shown && out->last && out->blend) return SUPPLE_OK;
    spl_dynamics_release(out, a);
    return spl_fail_memory(error, "dynamics");
}

void spl_dynamics_release(spl_dynamics *d, const supple_allocator *a)
{
    spl_free(a, d->before);
    spl_free(a, d->shown);
    spl_free(a, d->last);
    spl_free(a, d->blend);
    *d = (spl_dynamics){0};
}

/* ---- steps ---- */

static size_t coordinates(const supple_sim *sim)
{
    return 3 * (size_t)sim->flesh.body->tets.vertex_count;
}

/* The body into the pose of sim->pose: into equilibrium with dt = 0, else by a step. */
static supple_result advance(supple_sim *sim, double dt, supple_stats *stats, supple_error *error)
{
    spl_flesh_frame frame = spl_sim_flesh_frame(sim);
    sim->context.dt = dt;
    sim->context.velocity = dt > 0 ? sim->flesh.velocity : NULL;
    supple_result result = spl_flesh_sim_advance(&sim->flesh, &frame, stats, error);
    if (result != SUPPLE_OK) sim->dynamics.running = false;
    return result;
}

static void take_clip(supple_sim *sim, int32_t clip, double time)
{
    spl_pose_sample(&sim->pose, sim->scene, clip, time);
    spl_sim_set_time(sim, clip, time);
}

/* The next state of a clip. */
static supple_result step_clip(supple_sim *sim, supple_stats *stats, supple_error *error)
{
    spl_dynamics *d = &sim->dynamics;
    memcpy(d->before, sim->flesh.x, coordinates(sim) * sizeof *d->before);
    take_clip(sim, d->clip, d->origin + (double)(d->index + 1) * d->step);
    supple_result result = advance(sim, d->h, stats, error);
    if (result == SUPPLE_OK) d->index++;
    return result;
}

/* Equilibrium in the pose of sim->pose, and time to pass in it. */
static supple_result begin(supple_sim *sim, int32_t clip, double time, supple_stats *stats, supple_error *error)
{
    spl_dynamics *d = &sim->dynamics;
    spl_sim_forget(sim);
    d->clip = clip;
    d->origin = d->time = time;
    d->step = d->h;
    d->index = 0;
    supple_result result = advance(sim, 0, stats, error);
    int64_t steps = d->loop && clip >= 0 ? 0 : (int64_t)floor(d->preroll / d->h + 0.5);
    for (int64_t k = 0; k < steps && result == SUPPLE_OK; k++) {
        result = spl_progress(&sim->config, "preroll", (double)k / (double)steps, error);
        if (result == SUPPLE_OK) result = advance(sim, d->h, stats, error);
    }
    if (result == SUPPLE_OK) memcpy(d->before, sim->flesh.x, coordinates(sim) * sizeof *d->before);
    d->running = result == SUPPLE_OK;
    return result;
}

/* ---- cycles ---- */

static double largest_distance(const supple_sim *sim, const double *from)
{
    double most = 0;
    for (size_t i = 0; i < coordinates(sim); i += 3) {
        const double *p = sim->flesh.x + i, *q = from + i;
        most = fmax(most, spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2])));
    }
    return most / sim->flesh.solid.diagonal;
}

/* One cycle (the `cycle`th) from its beginning to its end, which the root then takes back to the beginning. */
static supple_result run_cycle(supple_sim *sim, int32_t cycle, int64_t steps, double *difference, supple_stats *stats,
                               supple_error *error)
{
    char stage[48];
    snprintf(stage, sizeof stage, "cycle %d, until it repeats itself", (int)cycle + 1);
    spl_dynamics *d = &sim->dynamics;
    supple_result result = SUPPLE_OK;
    memcpy(d->shown, sim->flesh.x, coordinates(sim) * sizeof *d->shown);
    for (int64_t k = 0; k < steps && result == SUPPLE_OK; k++) {
        result = spl_progress(&sim->config, stage, (double)k / (double)steps, error);
        if (result == SUPPLE_OK) result = step_clip(sim, stats, error);
    }
    if (result != SUPPLE_OK) return result;
    take_clip(sim, d->clip, d->origin);
    d->index = 0;
    result = spl_flesh_sim_wrap(&sim->flesh, &sim->context, &sim->pose, error);
    if (result == SUPPLE_OK) *difference = largest_distance(sim, d->shown);
    return result;
}

/* Plays a clip from its beginning until it repeats itself; the state is then that of its beginning. */
static supple_result find_loop(supple_sim *sim, int32_t clip, supple_stats *stats, supple_error *error)
{
    spl_dynamics *d = &sim->dynamics;
    double duration = sim->scene->clip[clip].duration, difference = INFINITY;
    int64_t steps = (int64_t)floor(duration / d->h + 0.5);
    if (steps < 1) return SUPPLE_OK;
    d->step = duration / (double)steps;
    int32_t least = (int32_t)fmin(ceil(d->preroll / duration), MOST_CYCLES), cycles = 0;
    supple_result result = SUPPLE_OK;
    while (result == SUPPLE_OK && cycles < MOST_CYCLES && (cycles < least || !(difference < same))) {
        result = run_cycle(sim, cycles, steps, &difference, stats, error);
        cycles++;
    }
    if (result != SUPPLE_OK) return result;
    memcpy(d->before, sim->flesh.x, coordinates(sim) * sizeof *d->before);
    bool found = difference < same;
    spl_log(&sim->config, found ? SUPPLE_LOG_INFO : SUPPLE_LOG_WARNING,
            "loop: %.60s %s after %d cycle%s: its ends are %.2e of the diagonal apart", sim->scene->clip[clip].name,
            found ? "repeats itself" : "does not repeat itself", (int)cycles, cycles == 1 ? "" : "s", difference);
    return SUPPLE_OK;
}

/* ---- frames ---- */

static supple_result show(supple_sim *sim, const double *x, supple_stats *stats, supple_error *error)
{
    spl_flesh_frame frame = spl_sim_flesh_frame(sim);
    return spl_flesh_sim_show(&sim->flesh, &frame, x, stats, error);
}

static supple_result begin_clip(supple_sim *sim, int32_t clip, double time, supple_stats *stats, supple_error *error)
{
    bool cycle = sim->dynamics.loop && clip >= 0;
    double start = cycle ? 0 : time;
    take_clip(sim, clip, start);
    supple_result result = begin(sim, clip, start, stats, error);
    return result == SUPPLE_OK && cycle ? find_loop(sim, clip, stats, error) : result;
}

supple_result spl_dynamics_clip(supple_sim *sim, int32_t clip, double time, supple_stats *stats, supple_error *error)
{
    spl_dynamics *d = &sim->dynamics;
    supple_result result = SUPPLE_OK;
    if (!d->running || clip != d->clip || time < d->time || time > d->time + longest)
        result = begin_clip(sim, clip, time, stats, error);
    double place = (time - d->origin) / d->step;
    while (result == SUPPLE_OK && (double)d->index < place - nearly) result = step_clip(sim, stats, error);
    if (result != SUPPLE_OK) return result;
    d->time = time;
    take_clip(sim, clip, time); /* what does not ride on flesh is in the frame's own pose */
    spl_flesh_sim_turn(&sim->flesh, &sim->pose);
    double share = (double)d->index - place; /* of the state before */
    if (!(share > nearly)) return show(sim, sim->flesh.x, stats, error);
    for (size_t i = 0; i < coordinates(sim); i++)
        d->shown[i] = sim->flesh.x[i] + share * (d->before[i] - sim->flesh.x[i]);
    return show(sim, d->shown, stats, error);
}

/* ---- poses of the host ---- */

/* A rigid motion is slerped, what else a matrix does is interpolated. */
static void blend_matrix(const float *from, const float *to, double t, float *out)
{
    spl_mat4 m[2];
    spl_mat3 R[2], S[2];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 16; i++) m[k].m[i] = (double)(k ? to : from)[i];
        spl_mat3 linear = spl_mat3_linear(&m[k]);
        spl_polar3(&linear, &R[k], &S[k]);
    }
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_slerp(spl_quat_from_mat3(&R[0]), spl_quat_from_mat3(&R[1]), t));
    for (int i = 0; i < 9; i++) S[0].m[i] += t * (S[1].m[i] - S[0].m[i]);
    spl_mat3 linear = spl_mat3_mul(&turn, &S[0]);
    for (int c = 0; c < 3; c++) {
        for (int r = 0; r < 3; r++) out[4 * c + r] = (float)linear.m[3 * c + r];
        out[12 + c] = (float)(m[0].m[12 + c] + t * (m[1].m[12 + c] - m[0].m[12 + c]));
    }
    for (int c = 0; c < 4; c++) out[4 * c + 3] = c == 3 ? 1 : 0;
}

/* The steps that fall due in the dt seconds up to now, on the way from the last pose to this one. */
static supple_result step_poses(supple_sim *sim, const float *matrices, double dt, supple_stats *stats,
                                supple_error *error)
{
    spl_dynamics *d = &sim->dynamics;
    supple_result result = SUPPLE_OK;
    double now = d->time + dt;
    while (result == SUPPLE_OK && (double)(d->index + 1) * d->h <= now + nearly * d->h) {
        double t = ((double)(d->index + 1) * d->h - d->time) / dt;
        for (size_t k = 0; k < (size_t)sim->scene->joint_count; k++)
            blend_matrix(d->last + 16 * k, matrices + 16 * k, fmin(fmax(t, 0), 1), d->blend + 16 * k);
        spl_pose_from_matrices(&sim->pose, sim->scene, t >= 1 ? matrices : d->blend);
        sim->context.time = (double)(d->index + 1) * d->h;
        result = advance(sim, d->h, stats, error);
        d->index++;
    }
    d->time = now;
    return result;
}

supple_result spl_dynamics_pose(supple_sim *sim, const float *matrices, double dt, supple_stats *stats,
                                supple_error *error)
{
    spl_dynamics *d = &sim->dynamics;
    spl_flesh_sim *f = &sim->flesh;
    supple_result result;
    if (!d->running || d->clip != SPL_DYNAMICS_HOST || dt > longest) {
        spl_pose_from_matrices(&sim->pose, sim->scene, matrices);
        result = begin(sim, SPL_DYNAMICS_HOST, 0, stats, error);
    } else
        result = step_poses(sim, matrices, dt, stats, error);
    if (result != SUPPLE_OK) return result;
    memcpy(d->last, matrices, 16 * (size_t)sim->scene->joint_count * sizeof *d->last);
    spl_pose_from_matrices(&sim->pose, sim->scene, matrices);
    sim->context.time = fmax(d->time, (double)d->index * d->h); /* not before the last step, by rounding */
    result = spl_flesh_sim_pose(f, &sim->context, &sim->pose, error);
    if (result != SUPPLE_OK) return result;
    memcpy(d->shown, f->x, coordinates(sim) * sizeof *d->shown);
    spl_solid_carry(&f->solid, &f->past, d->shown, sim->pool);
    return show(sim, d->shown, stats, error);
}
