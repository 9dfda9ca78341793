#include "sim/slide.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"
#include "rig/bind.h"
#include "rig/size.h"

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
        setup->unit = fabs(solid->drive.to_solver);
        return SUPPLE_OK;
    }
    int32_t home = bind_parts(sim, bind);
    if (home < 0) return SUPPLE_OK;
    if (!spl_bind_scale(sim->scene, home, &scale)) return spl_fail_memory(error, "the rest pose");
    if (!(scale > 0 && isfinite(scale))) return SUPPLE_OK;
    setup->rest = bind;
    setup->rest_unit = setup->unit * scale;
    return SUPPLE_OK;
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
    float *bind = spl_new(&sim->allocator, (size_t)sim->scene->vertex_count, 3 * sizeof *bind);
    if (!bind) return spl_fail_memory(error, "the skin's rest shape");
    result = find_rest(sim, bind, &setup, error);
    if (result == SUPPLE_OK) result = spl_slide_create(&setup, &sim->skin, error);
    spl_free(&sim->allocator, bind);
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
