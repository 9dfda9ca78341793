#include "sim/crossing.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/size.h"
#include "sim/sim.h"

#include <string.h>

static size_t count_triangles(const supple_sim *sim)
{
    size_t count = 0;
    for (int32_t i = 0; i < sim->part_count; i++) count += (size_t)sim->part[i].primitive->triangle_count;
    return count;
}

/* Every part, flesh or not, as the file has it at rest: without morphs, in its own mesh space. */
static void gather(const supple_sim *sim, int32_t *triangle, bool *mirrored, float *rest)
{
    for (int32_t i = 0; i < sim->part_count; i++) {
        const spl_part *part = &sim->part[i];
        const spl_primitive *p = part->primitive;
        bool turned = spl_pose_mirrors(&sim->pose, sim->scene, part->instance);
        for (size_t k = 0; k < 3 * (size_t)p->triangle_count; k++) *triangle++ = part->first_vertex + p->triangle[k];
        for (int32_t t = 0; t < p->triangle_count; t++) *mirrored++ = turned;
        if (p->vertex_count > 0)
            memcpy(rest + 3 * (size_t)part->first_vertex, p->position, 3 * (size_t)p->vertex_count * sizeof *rest);
    }
}

/* Metres a unit of the world: the solver's, else those that a body would have. */
static supple_result find_metre(supple_sim *sim, const supple_sim_config *sc, double *out, supple_error *error)
{
    spl_size size;
    *out = fabs(sim->flesh.solid.drive.to_solver);
    if (sim->has_flesh) return SUPPLE_OK;
    supple_result result =
        spl_size_find(sim->scene, sc->body_config ? sc->body_config->size_m : 0, sim->position, &size, error);
    if (result != SUPPLE_OK) return result;
    *out = size.world;
    sim->setup.size_m = size.size_m;
    return SUPPLE_OK;
}

supple_result spl_sim_cross_create(supple_sim *sim, const supple_sim_config *sc, supple_error *error)
{
    const supple_allocator *a = &sim->allocator;
    size_t triangles = count_triangles(sim);
    double metre = 1;
    if (!sc->measure) return SUPPLE_OK;
    supple_result result = find_metre(sim, sc, &metre, error);
    if (result != SUPPLE_OK) return result;
    int32_t *triangle = spl_new(a, triangles, 3 * sizeof *triangle);
    bool *mirrored = spl_new(a, triangles, sizeof *mirrored);
    float *rest = spl_new(a, (size_t)sim->scene->vertex_count, 3 * sizeof *rest);
    if (triangle && mirrored && rest && triangles <= INT32_MAX) {
        gather(sim, triangle, mirrored, rest);
        spl_cross_input in = {
            sim->scene->vertex_count, (int32_t)triangles, triangle, mirrored, rest, sim->position, metre};
        result = spl_cross_create(&in, a, sim->pool, &sim->cross, error);
    } else
        result = spl_fail_memory(error, "the crossings");
    spl_free(a, triangle);
    spl_free(a, mirrored);
    spl_free(a, rest);
    return result;
}

supple_result spl_sim_cross_frame(supple_sim *sim, supple_stats *stats, supple_error *error)
{
    spl_crossing found;
    if (!sim->cross) return SUPPLE_OK;
    supple_result result = spl_cross_measure(sim->cross, sim->position, sim->pool, &found, error);
    if (result != SUPPLE_OK) return result;
    stats->crossed = found.crossed;
    stats->max_penetration = found.depth;
    stats->max_fold = found.fold;
    return SUPPLE_OK;
}
