/* Characters out of unit cubes, rigged in memory: scenes for the tests of what flesh does where bones are few. */
#ifndef SPL_TESTS_RIG_CUBE_RIG_H
#define SPL_TESTS_RIG_CUBE_RIG_H

#include "body/bodies.h"
#include "scene/writers/rigged.h"

#include <supple/tools.h>

enum { CUBE_JOINTS = 8 };

typedef struct cube_joint {
    const char *name;
    int32_t parent;
    spl_vec3 at;
} cube_joint;

/* The weights of a point of the skin, by joint; they need not sum to 1. */
typedef void cube_weights(spl_vec3 p, double weight[CUBE_JOINTS]);

static inline spl_vec3 cube_point(const shape *s, int32_t v)
{
    const double *p = s->position + 3 * (size_t)v;
    return spl_v3(p[0], p[1], p[2]);
}

/* Corners of triangles become vertices of the mesh; those of one place have the same weights. */
static inline void cube_mesh(spl_rigged *r, const shape *s, cube_weights *weights)
{
    const supple_allocator *a = &r->allocator;
    size_t n = (size_t)s->vertex_count, triangles = (size_t)s->triangle_count;
    spl_rigged_mesh *m = &r->mesh[r->mesh_count++];
    *m = (spl_rigged_mesh){.name = "cubes",
                           .material = -1,
                           .vertex_count = s->vertex_count,
                           .triangle_count = s->triangle_count,
                           .influence_count = 4,
                           .position = spl_new(a, n, 3 * sizeof(float)),
                           .normal = spl_new(a, n, 3 * sizeof(float)),
                           .triangle = spl_new(a, triangles, 3 * sizeof(uint32_t)),
                           .joint = spl_new(a, n, 4),
                           .weight = spl_new(a, n, 4 * sizeof(float))};
    for (size_t i = 0; i < 3 * triangles; i++) m->triangle[i] = (uint32_t)s->triangle[i];
    for (size_t t = 0; t < triangles; t++) {
        spl_vec3 p[3];
        for (int k = 0; k < 3; k++) p[k] = cube_point(s, s->triangle[3 * t + (size_t)k]);
        spl_vec3 normal = spl_unit(spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0])), spl_v3(0, 0, 1));
        for (int k = 0; k < 3; k++) spl_v3_to_float(normal, m->normal + 3 * m->triangle[3 * t + (size_t)k]);
    }
    for (size_t v = 0; v < n; v++) {
        spl_vec3 p = cube_point(s, (int32_t)v);
        double weight[CUBE_JOINTS] = {0}, sum = 0;
        spl_v3_to_float(p, m->position + 3 * v);
        weights(p, weight);
        for (int j = 0, used = 0; j < r->joint_count && used < 4; j++) {
            if (weight[j] <= 0) continue;
            m->joint[4 * v + (size_t)used] = (uint8_t)j;
            m->weight[4 * v + (size_t)used++] = (float)weight[j];
            sum += weight[j];
        }
        for (size_t i = 4 * v; i < 4 * (v + 1); i++) m->weight[i] = (float)((double)m->weight[i] / sum);
    }
}

/* The scene of a shape of one piece, as a reader gives it. */
static inline supple_scene *cube_scene(const shape *s, const cube_joint *joint, int32_t joints, cube_weights *weights)
{
    spl_rigged r = {.allocator = spl_allocator_of(NULL), .name = "cubes"};
    supple_scene *scene = NULL;
    supple_error error = {0};
    uint8_t *glb = NULL;
    size_t size = 0;
    for (int32_t j = 0; j < joints; j++) spl_rigged_add_joint(&r, joint[j].name, joint[j].parent, joint[j].at);
    cube_mesh(&r, s, weights);
    if (spl_rigged_write(&r, &glb, &size, &error) != SUPPLE_OK ||
        supple_scene_load_memory(glb, size, "cubes.glb", NULL, &scene, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
    spl_free(&r.allocator, glb);
    spl_rigged_release(&r);
    return scene;
}

#endif
