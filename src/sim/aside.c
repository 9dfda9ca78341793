#include "sim/aside.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

supple_result spl_aside_create(const supple_scene *scene, const supple_allocator *a, spl_aside *out,
                               supple_error *error)
{
    size_t n = (size_t)scene->vertex_count;
    *out = (spl_aside){.allocator = *a, .scene = scene};
    out->world = spl_new(a, (size_t)scene->node_count, sizeof *out->world);
    out->posed = spl_new(a, n, 3 * sizeof *out->posed);
    out->turned = spl_new(a, n, 3 * sizeof *out->turned);
    supple_result result = out->world && out->posed && out->turned
                               ? spl_skinning_init(&out->skinning, scene, a, error)
                               : spl_fail_memory(error, "what limbs that yield have moved");
    if (result != SUPPLE_OK) spl_aside_release(out);
    return result;
}

void spl_aside_release(spl_aside *s)
{
    const supple_allocator *a = &s->allocator;
    if (!a->release) return;
    spl_skinning_release(&s->skinning, a);
    spl_free(a, s->world);
    spl_free(a, s->posed);
    spl_free(a, s->turned);
    *s = (spl_aside){0};
}

void spl_aside_keep(spl_aside *s, const spl_pose *pose)
{
    memcpy(s->world, pose->world, (size_t)s->scene->node_count * sizeof *s->world);
}

static double farthest_joint(const spl_aside *s, const spl_pose *pose)
{
    double most = 0;
    for (int32_t k = 0; k < s->scene->skin_count; k++)
        for (int32_t j = 0; j < s->scene->skin[k].joint_count; j++) {
            int32_t node = s->scene->skin[k].joint[j];
            const double *p = s->world[node].m + 12, *q = pose->world[node].m + 12;
            most = fmax(most, spl_distance(spl_v3(p[0], p[1], p[2]), spl_v3(q[0], q[1], q[2])));
        }
    return most;
}

static void skin(spl_aside *s, const spl_pose *pose, const float *rest, spl_pool *pool, float *out)
{
    spl_skinning_set_matrices(&s->skinning, s->scene, pose, true);
    spl_skinning_run(&s->skinning, pool, rest, out);
}

double spl_aside_measure(spl_aside *s, const spl_pose *pose, const float *rest, spl_pool *pool)
{
    double most = farthest_joint(s, pose);
    spl_pose animator = *pose;
    animator.world = s->world;
    skin(s, &animator, rest, pool, s->posed);
    skin(s, pose, rest, pool, s->turned);
    for (size_t i = 0; i < 3 * (size_t)s->scene->vertex_count; i += 3)
        most = fmax(most, spl_distance(spl_v3_from_float(s->posed + i), spl_v3_from_float(s->turned + i)));
    return most;
}
