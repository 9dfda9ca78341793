/* A scene made by hand: several instances of one mesh with two triangles and a primitive of points. */
#ifndef SPL_TESTS_SCENE_LITTLE_H
#define SPL_TESTS_SCENE_LITTLE_H

#include "core/memory.h"
#include "scene/scene.h"

#include <string.h>
#include <supple/tools.h>

/* A scene of `count` instances of one mesh with two triangles and one primitive of points. */
typedef struct little {
    supple_scene scene;
    spl_node node[8];
    int32_t node_order[8];
    spl_instance instance[8];
    spl_mesh mesh;
    spl_primitive primitive[2];
    spl_material material;
} little;

static float quad[12] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.123456789f};
static float quad_normal[12] = {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1};
static float quad_uv[8] = {0, 0, 1, 0, 1, 0.25f, 0, 1};
static int32_t quad_triangle[6] = {0, 1, 2, 0, 2, 3};
static float dots[6] = {5, 6, 7, 1e-7f, -2e10f, 3};

static void make_little(little *s, int32_t count, const char *const *names)
{
    memset(s, 0, sizeof *s);
    s->primitive[0] = (spl_primitive){.vertex_count = 4,
                                      .position = quad,
                                      .normal = quad_normal,
                                      .uv = quad_uv,
                                      .triangle = quad_triangle,
                                      .triangle_count = 2,
                                      .material = 0};
    s->primitive[1] = (spl_primitive){.vertex_count = 2, .position = dots, .material = -1};
    s->mesh = (spl_mesh){.name = (char *)"body", .primitive_count = 2, .primitive = s->primitive};
    s->material = (spl_material){.name = (char *)"red paint", .base_color = {0.8f, 0.1f, 0.2f, 1}};
    for (int32_t i = 0; i < count; i++) {
        s->node[i] = (spl_node){.name = (char *)(names ? names[i] : "thing"), .parent = -1, .skin = -1};
        s->node[i].r[3] = s->node[i].s[0] = s->node[i].s[1] = s->node[i].s[2] = 1;
        s->node_order[i] = i;
        s->instance[i] = (spl_instance){.node = i, .mesh = 0, .skin = -1, .first_vertex = 6 * i, .vertex_count = 6};
        s->instance[i].first_point = 6 * i;
        s->instance[i].point_count = 6;
    }
    s->scene = (supple_scene){.allocator = spl_allocator_of(NULL),
                              .path = (char *)"demo:little",
                              .node_count = count,
                              .node = s->node,
                              .node_order = s->node_order,
                              .mesh_count = 1,
                              .mesh = &s->mesh,
                              .material_count = 1,
                              .material = &s->material,
                              .instance_count = count,
                              .instance = s->instance,
                              .vertex_count = 6 * count,
                              .triangle_count = 2 * count,
                              .point_count = 6 * count};
}

static const supple_range seven = {-1, 0, 7};

#endif
