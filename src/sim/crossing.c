#include "sim/crossing.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/bind.h"
#include "rig/size.h"
#include "sim/sim.h"

static size_t count_triangles(const supple_sim *sim)
{
    size_t count = 0;
    for (int32_t i = 0; i < sim->part_count; i++) count += (size_t)sim->part[i].primitive->triangle_count;
    return count;
}

/* The first skin; -1: nothing is skinned. */
static int32_t find_home(const supple_sim *sim)
{
    for (int32_t i = 0; i < sim->part_count; i++)
        if (spl_part_skinned(sim->scene, &sim->part[i])) return sim->scene->instance[sim->part[i].instance].skin;
    return -1;
}

/* A rigid part as if it were bound to the nearest joint above it, else to the first skin's first. */
static spl_mat4 bind_rigid(const supple_sim *sim, int32_t node, int32_t home)
{
    const spl_mat4 *world = sim->pose.world;
    const spl_skin *skin = &sim->scene->skin[home];
    int32_t joint = node;
    spl_mat4 inverse, bind, back;
    while (joint >= 0 && !spl_bind_inverse(sim->scene, home, joint, &inverse)) joint = sim->scene->node[joint].parent;
    if (joint < 0 && skin->joint_count > 0) {
        joint = skin->joint[0];
        inverse = skin->inverse_bind[0];
    }
    if (joint < 0 || !spl_mat4_inverse(&inverse, &bind) || !spl_mat4_inverse(&world[joint], &back))
        return spl_mat4_identity();
    back = spl_mat4_mul(&back, &world[node]);
    return spl_mat4_mul(&bind, &back);
}

/* From a part's own space to the space that all have in common: the first skin's mesh space in the bind pose, or the
 * world where nothing is skinned. Skins that agree but for rounding share their seams to the bit. */
static spl_mat4 bind_part(const supple_sim *sim, const spl_part *part, int32_t home)
{
    const spl_instance *instance = &sim->scene->instance[part->instance];
    spl_mat4 map = home < 0                             ? sim->pose.world[instance->node]
                   : spl_part_skinned(sim->scene, part) ? spl_bind_between(sim->scene, instance->skin, home)
                                                        : bind_rigid(sim, instance->node, home);
    double most = 0, moved = 0;
    for (size_t v = 0; v < (size_t)part->primitive->vertex_count; v++) {
        spl_vec3 p = spl_v3_from_float(part->primitive->position + 3 * v), q = spl_mat4_point(&map, p);
        if (!spl_v3_finite(q)) return spl_mat4_identity();
        most = fmax(most, spl_norm(p));
        moved = fmax(moved, spl_distance(p, q));
    }
    return moved <= 0.1 * SPL_CROSS_WELD * most ? spl_mat4_identity() : map;
}

static bool turns_inside_out(const spl_mat4 *map)
{
    spl_vec3 o = spl_v3(map->m[0], map->m[1], map->m[2]), u = spl_v3(map->m[4], map->m[5], map->m[6]);
    return spl_dot(spl_v3(map->m[8], map->m[9], map->m[10]), spl_cross(o, u)) < 0;
}

/* Every part, flesh or not, as the file binds it, without morphs. Triangles that the common space has inside out are
 * turned, and `mirrored` says of which the same is true of the pose alone. */
static void gather(const supple_sim *sim, int32_t *triangle, bool *mirrored, float *rest)
{
    int32_t home = find_home(sim);
    for (int32_t i = 0; i < sim->part_count; i++) {
        const spl_part *part = &sim->part[i];
        const spl_primitive *p = part->primitive;
        spl_mat4 map = bind_part(sim, part, home);
        bool turned = turns_inside_out(&map), posed = spl_pose_mirrors(&sim->pose, sim->scene, part->instance);
        for (size_t t = 0; t < (size_t)p->triangle_count; t++, triangle += 3) {
            const int32_t *corner = p->triangle + 3 * t;
            triangle[0] = part->first_vertex + corner[0];
            triangle[turned ? 2 : 1] = part->first_vertex + corner[1];
            triangle[turned ? 1 : 2] = part->first_vertex + corner[2];
            *mirrored++ = turned != posed;
        }
        for (size_t v = 0; v < (size_t)p->vertex_count; v++)
            spl_v3_to_float(spl_mat4_point(&map, spl_v3_from_float(p->position + 3 * v)),
                            rest + 3 * ((size_t)part->first_vertex + v));
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
    sim->trusted = spl_new(a, (size_t)sim->scene->vertex_count, sizeof *sim->trusted);
    if (triangle && mirrored && rest && sim->trusted && triangles <= INT32_MAX) {
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

/* Where trust is below 1 the file's own skinning is shown, which crosses as it does. NULL: all is trusted. */
static const bool *mark_trusted(const supple_sim *sim)
{
    const spl_amount *a = &sim->amount;
    if (!a->on || !a->trusts) return NULL;
    for (int32_t v = 0; v < sim->scene->vertex_count; v++) {
        int32_t p = a->mesh.point[v];
        sim->trusted[v] = !a->moved[p] || a->trust.value[p] == 1;
    }
    return sim->trusted;
}

supple_result spl_sim_cross_frame(supple_sim *sim, supple_stats *stats, supple_error *error)
{
    spl_crossing found;
    if (!sim->cross) return SUPPLE_OK;
    supple_result result = spl_cross_measure(sim->cross, sim->position, mark_trusted(sim), sim->pool, &found, error);
    if (result != SUPPLE_OK) return result;
    stats->crossed = found.crossed;
    stats->max_penetration = found.depth;
    stats->max_fold = found.fold;
    stats->own_penetration = found.other;
    return SUPPLE_OK;
}
