#include "sim/slide.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "rig/bind.h"
#include "rig/size.h"
#include "slide/stance.h"

#include <string.h>

enum { MOST_FRAMES = 100000 }; /* of a cycle */

/* The bind pose as the solver sees it: with the scale that the rest pose has. */
static void bind_pose(const spl_solid *solid, float *out)
{
    const spl_body *body = solid->body;
    for (size_t v = 0; v < (size_t)body->scene->vertex_count; v++)
        spl_v3_to_float(spl_mat3_apply(&solid->drive.stretch, spl_v3_from_float(body->bind + 3 * v)), out + 3 * v);
}

/* The same of a character whose method moves no body: parts in the mesh space of the first skin, which is also
 * returned; -1 where nothing is skinned, or the animation says where vertices are. */
static int32_t bind_parts(const supple_sim *sim, float *out)
{
    int32_t home = -1;
    if (sim->method->needs & SPL_NEEDS_ANIMATION) return -1;
    for (int32_t i = 0; i < sim->part_count; i++) {
        const spl_part *part = &sim->part[i];
        const spl_primitive *p = part->primitive;
        int32_t skin = spl_part_skinned(sim->scene, part) ? sim->scene->instance[part->instance].skin : -1;
        if (home < 0) home = skin;
        spl_mat4 map = skin >= 0 ? spl_bind_between(sim->scene, skin, home) : spl_mat4_identity();
        for (size_t v = 0; v < (size_t)p->vertex_count; v++)
            spl_v3_to_float(spl_mat4_point(&map, spl_v3_from_float(p->position + 3 * v)),
                            out + 3 * ((size_t)part->first_vertex + v));
    }
    return home;
}

/* What the skin is unstressed in. `bind` has room for it. */
static supple_result find_rest(const supple_sim *sim, float *bind, spl_slide_setup *setup, supple_error *error)
{
    double scale = 1;
    if (sim->method->output == SPL_OUTPUT_BODY) {
        const spl_solid *solid = &sim->flesh.solid;
        bind_pose(solid, bind);
        setup->rest = bind;
        setup->roles = &solid->body->roles;
        setup->rest_unit = solid->body->metre;
        setup->home = spl_roles_home(sim->scene, sim->part, sim->part_count);
        setup->rest_map = solid->drive.stretch;
        setup->unit = fabs(solid->drive.to_solver);
        return SUPPLE_OK;
    }
    int32_t home = bind_parts(sim, bind);
    if (home < 0) return SUPPLE_OK;
    if (!spl_bind_scale(sim->scene, home, &scale)) return spl_fail_memory(error, "the rest pose");
    if (!(scale > 0 && isfinite(scale))) return SUPPLE_OK;
    setup->rest = bind;
    setup->home = home;
    setup->rest_unit = setup->unit * scale;
    return SUPPLE_OK;
}

/* Poses the simulation as the character stands. */
static supple_result pose_stance(supple_sim *sim, const float *matrices, supple_error *error)
{
    spl_pose stance;
    bool seen;
    supple_result result = spl_pose_init(&stance, sim->scene, error);
    if (result != SUPPLE_OK) return result;
    spl_pose_sample(&stance, sim->scene, -1, 0);
    spl_pose_from_matrices(&stance, sim->scene, matrices);
    result = spl_stance_seen(sim->scene, &stance, &sim->allocator, &sim->pose, &seen, error);
    if (result == SUPPLE_OK && !seen) spl_pose_from_matrices(&sim->pose, sim->scene, matrices);
    spl_pose_release(&stance);
    return result;
}

/* The character as it stands, as the method has it: one frame of it, which is forgotten. */
static supple_result find_stance(supple_sim *sim, float *out, bool *stands, supple_error *error)
{
    supple_stats stats = {0};
    const supple_allocator *a = &sim->allocator;
    float *matrices = spl_new(a, (size_t)sim->scene->joint_count, 16 * sizeof *matrices);
    if (!matrices) return spl_fail_memory(error, "the standing pose");
    spl_pose_sample(&sim->pose, sim->scene, -1, 0);
    supple_result result = spl_stance_find(sim->scene, &sim->pose, a, matrices, stands, error);
    if (result == SUPPLE_OK && *stands) {
        size_t size = 3 * (size_t)sim->scene->vertex_count * sizeof(float);
        result = pose_stance(sim, matrices, error);
        spl_sim_set_time(sim, -1, 0);
        memcpy(sim->last, sim->position, size);
        if (result == SUPPLE_OK) result = spl_sim_deform(sim, &stats, error);
        memcpy(out, sim->position, size);
        memcpy(sim->position, sim->last, size);
        spl_sim_forget(sim);
        spl_pose_sample(&sim->pose, sim->scene, -1, 0);
        if (result == SUPPLE_ERROR_SOLVE) { /* the bind pose will do */
            *stands = false;
            result = SUPPLE_OK;
        }
    }
    for (size_t i = 0; *stands && i < 3 * (size_t)sim->scene->vertex_count; i++) *stands = isfinite(out[i]);
    spl_free(a, matrices);
    return result;
}

supple_result spl_sim_slide_create(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    spl_slide_setup setup = {.scene = sim->scene,
                             .part = sim->part,
                             .part_count = sim->part_count,
                             .rest = sim->position,
                             .file = sc->slide_file,
                             .parameter = sim->slide_parameter,
                             .gravity = spl_v3(sc->gravity[0], sc->gravity[1], sc->gravity[2]),
                             .pool = sim->pool,
                             .config = &sim->config,
                             .allocator = &sim->allocator};
    spl_size size;
    double asked = sc->body_config ? sc->body_config->size_m : 0;
    supple_result result = spl_size_find(sim->scene, asked, sim->position, &size, error);
    if (result != SUPPLE_OK) return result;
    setup.unit = setup.rest_unit = size.world;
    setup.home = -1;
    setup.rest_map = spl_mat3_identity();
    float *bind = spl_new(&sim->allocator, (size_t)sim->scene->vertex_count, 3 * sizeof *bind);
    float *stance = spl_new(&sim->allocator, (size_t)sim->scene->vertex_count, 3 * sizeof *stance);
    if (!bind || !stance) result = spl_fail_memory(error, "the skin's rest shape");
    if (result == SUPPLE_OK) result = find_rest(sim, bind, &setup, error);
    bool stands = setup.home >= 0 && spl_slide_wants_stance(sim->slide_parameter);
    if (result == SUPPLE_OK && stands) result = find_stance(sim, stance, &stands, error);
    if (stands) setup.stance = stance;
    if (result == SUPPLE_OK) result = spl_slide_create(&setup, &sim->skin, error);
    spl_free(&sim->allocator, bind);
    spl_free(&sim->allocator, stance);
    sim->slide_loop = sc->loop;
    sim->slide_clip = -1;
    if (result == SUPPLE_OK) sim->slide = *spl_slide_get(sim->skin);
    return result;
}

supple_result spl_sim_slide_frame(supple_sim *sim, int32_t clip, double time, double dt, supple_stats *stats,
                                  supple_error *error)
{
    if (!sim->skin) return SUPPLE_OK;
    double start = spl_now_ms(), past = isnan(dt) ? (clip == sim->slide_clip ? time - sim->slide_time : 0) : dt;
    supple_result result = spl_slide_step(sim->skin, sim->position, past, error);
    sim->slide_clip = isnan(dt) ? clip : -1;
    sim->slide_time = time;
    stats->ms_slide = spl_now_ms() - start;
    return result;
}

/* ---- cycles ---- */

/* How far from where it was a cycle ago skin may be, metres: ends then meet within twice that. */
static const double same = 5e-5;

/* The shown frames of a cycle, without skin. */
static supple_result record_cycle(supple_sim *sim, int32_t clip, int32_t frames, double dt, float *out,
                                  supple_error *error)
{
    size_t width = 3 * (size_t)sim->scene->vertex_count;
    spl_slide *skin = sim->skin;
    supple_result result = SUPPLE_OK;
    sim->skin = NULL;
    for (int32_t k = 0; k < frames && result == SUPPLE_OK; k++) {
        result = spl_progress(&sim->config, "a cycle, for the skin", (double)k / frames, error);
        if (result == SUPPLE_OK) result = supple_sim_step_clip(sim, clip, k * dt, error);
        if (result == SUPPLE_OK) memcpy(out + (size_t)k * width, sim->position, width * sizeof *out);
    }
    sim->skin = skin;
    spl_sim_forget(sim);
    sim->dynamics.running = false;
    return result;
}

supple_result spl_sim_slide_loop(supple_sim *sim, int32_t clip, double time, supple_error *error)
{
    if (!sim->skin || !sim->slide_loop || clip < 0 || (clip == sim->slide_clip && time >= sim->slide_time))
        return SUPPLE_OK;
    double duration = sim->scene->clip[clip].duration, difference = 0;
    int32_t frames = (int32_t)fmin(floor(duration * sim->fps + 0.5), MOST_FRAMES) + 1;
    if (frames < 2) return SUPPLE_OK;
    double dt = duration / (frames - 1);
    float *cycle = spl_new(&sim->allocator, (size_t)frames, 3 * (size_t)sim->scene->vertex_count * sizeof *cycle);
    if (!cycle) return spl_fail_memory(error, "a cycle of the skin");
    supple_result result = record_cycle(sim, clip, frames, dt, cycle, error);
    if (result == SUPPLE_OK) result = spl_slide_cycle(sim->skin, cycle, frames, dt, same, &difference, error);
    spl_free(&sim->allocator, cycle);
    if (result != SUPPLE_OK) return result;
    sim->slide_clip = clip;
    sim->slide_time = 0;
    spl_log(&sim->config, difference <= same ? SUPPLE_LOG_INFO : SUPPLE_LOG_WARNING,
            "loop: the skin of %.60s %s: its ends are %.3f mm apart", sim->scene->clip[clip].name,
            difference <= same ? "repeats itself" : "does not repeat itself", 1e3 * difference);
    return SUPPLE_OK;
}
