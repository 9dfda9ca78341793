/* A baked scene played as a viewer does, and compared with the frames it was made of. */
#ifndef SPL_TESTS_SCENE_PLAY_H
#define SPL_TESTS_SCENE_PLAY_H

#include "scene/writer_frames.h"
#include "test.h"

static double diagonal(const frames *f)
{
    double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, sum = 0;
    for (size_t i = 0; i < 3 * (size_t)f->count * (size_t)f->vertices; i++) {
        low[i % 3] = fmin(low[i % 3], (double)f->position[i]);
        high[i % 3] = fmax(high[i % 3], (double)f->position[i]);
    }
    for (int c = 0; c < 3; c++) sum += (high[c] - low[c]) * (high[c] - low[c]);
    return sqrt(sum);
}

/* A vertex as a viewer sees it: base plus weighted targets, then the node's matrix. */
static spl_vec3 played(const spl_primitive *p, int32_t v, const float *weight, const spl_mat4 *world)
{
    spl_vec3 x = spl_v3_from_float(p->position + 3 * v);
    for (int32_t t = 0; t < p->target_count; t++)
        if (weight[t] != 0) x = spl_madd(x, spl_v3_from_float(p->target[t].position + 3 * v), (double)weight[t]);
    return spl_mat4_point(world, x);
}

/* The sum is normalised, as shaders do. */
static spl_vec3 played_normal(const spl_primitive *p, int32_t v, const float *weight)
{
    spl_vec3 n = spl_v3_from_float(p->normal + 3 * v);
    for (int32_t t = 0; t < p->target_count; t++)
        if (weight[t] != 0 && p->target[t].normal)
            n = spl_madd(n, spl_v3_from_float(p->target[t].normal + 3 * v), (double)weight[t]);
    return spl_scale(n, 1 / fmax(spl_norm(n), 1e-12));
}

/* Largest error of positions (of the diagonal) and, for morphing primitives, of normals, over all frames. */
static void play(const supple_scene *scene, int32_t clip, double fps, const frames *f, double *position, double *normal)
{
    spl_pose pose;
    *position = *normal = INFINITY;
    REQUIRE(scene->vertex_count == f->vertices && spl_pose_init(&pose, scene, NULL) == SUPPLE_OK);
    double worst = 0, worst_normal = 0;
    for (int32_t k = 0; k < f->count; k++) {
        size_t at = (size_t)k * (size_t)f->vertices;
        spl_pose_sample(&pose, scene, clip, k / fps);
        for (int32_t i = 0; i < scene->instance_count; i++) {
            int32_t node = scene->instance[i].node;
            const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
            const float *weight = pose.weight + pose.first_weight[node];
            for (int32_t p = 0; p < mesh->primitive_count; p++)
                for (int32_t v = 0; v < mesh->primitive[p].vertex_count; v++, at++) {
                    const spl_primitive *prim = &mesh->primitive[p];
                    spl_vec3 x = played(prim, v, weight, &pose.world[node]);
                    worst = fmax(worst, spl_distance(x, spl_v3_from_float(f->position + 3 * at)));
                    if (prim->normal && prim->target_count)
                        worst_normal = fmax(worst_normal, spl_distance(played_normal(prim, v, weight),
                                                                       spl_v3_from_float(f->normal + 3 * at)));
                }
        }
    }
    spl_pose_release(&pose);
    *position = worst / diagonal(f);
    *normal = worst_normal;
}

#endif
