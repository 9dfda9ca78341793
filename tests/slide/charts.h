/* Sheets made by hand, each with a chart of its own in a texture, for tests of what slides. */
#ifndef SPL_TESTS_SLIDE_CHARTS_H
#define SPL_TESTS_SLIDE_CHARTS_H

#include "core/memory.h"
#include "scene/image.h"
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHARTS = 3 }; /* at most */

/* A sheet of n x n squares over [0, 1]^2, stretched by `width` along x; its texture coordinates are affine. */
typedef struct chart {
    int n;
    double width;
    double u[3], v[3]; /* u = u[0] + u[1] x + u[2] y */
} chart;

typedef struct charts {
    supple_scene scene;
    spl_node node;
    spl_mesh mesh;
    spl_primitive primitive[CHARTS];
    spl_instance instance;
    spl_material material[CHARTS];
    float *position, *uv;
    int32_t *triangle;
    size_t corners;
} charts;

static inline void free_charts(charts *c)
{
    free(c->position);
    free(c->uv);
    free(c->triangle);
}

static inline void fill_chart(const chart *in, float *position, float *uv, int32_t *triangle)
{
    int side = in->n + 1;
    for (int i = 0; i < side * side; i++) {
        double x = (double)(i % side) / in->n, y = (double)(i / side) / in->n;
        position[3 * i] = (float)(in->width * x);
        position[3 * i + 1] = (float)y;
        uv[2 * i] = (float)(in->u[0] + in->u[1] * x + in->u[2] * y);
        uv[2 * i + 1] = (float)(in->v[0] + in->v[1] * x + in->v[2] * y);
    }
    for (int i = 0; i < in->n * in->n; i++, triangle += 6) {
        int a = i / in->n * side + i % in->n;
        const int32_t quad[6] = {a, a + 1, a + side + 1, a, a + side + 1, a + side};
        memcpy(triangle, quad, sizeof quad);
    }
}

static inline void make_charts(charts *c, const chart *in, int count)
{
    static char *const names[CHARTS] = {(char *)"skin", (char *)"shirt", (char *)"shoe"};
    size_t vertices = 0, triangles = 0;
    memset(c, 0, sizeof *c);
    for (int i = 0; i < count; i++) {
        vertices += (size_t)((in[i].n + 1) * (in[i].n + 1));
        triangles += (size_t)(2 * in[i].n * in[i].n);
    }
    c->position = calloc(3 * vertices, sizeof(float));
    c->uv = calloc(2 * vertices, sizeof(float));
    c->triangle = calloc(3 * triangles, sizeof(int32_t));
    c->corners = 3 * triangles;
    vertices = triangles = 0;
    for (int i = 0; i < count; i++) {
        int32_t n = in[i].n;
        c->primitive[i] =
            (spl_primitive){.vertex_count = (n + 1) * (n + 1), .triangle_count = 2 * n * n, .material = i};
        c->primitive[i].position = c->position + 3 * vertices;
        c->primitive[i].uv = c->uv + 2 * vertices;
        c->primitive[i].triangle = c->triangle + 3 * triangles;
        c->material[i] = (spl_material){.name = names[i], .base_color_image = -1};
        fill_chart(&in[i], c->position + 3 * vertices, c->uv + 2 * vertices, c->triangle + 3 * triangles);
        vertices += (size_t)c->primitive[i].vertex_count;
        triangles += (size_t)c->primitive[i].triangle_count;
    }
    c->mesh = (spl_mesh){.name = (char *)"body", .primitive_count = count, .primitive = c->primitive};
    c->node = (spl_node){.name = (char *)"body", .parent = -1, .skin = -1};
    c->instance = (spl_instance){.skin = -1, .vertex_count = (int32_t)vertices, .point_count = (int32_t)vertices};
    c->scene = (supple_scene){.allocator = spl_allocator_of(NULL),
                              .path = (char *)"demo:charts",
                              .node_count = 1,
                              .node = &c->node,
                              .mesh_count = 1,
                              .mesh = &c->mesh,
                              .material_count = count,
                              .material = c->material,
                              .instance_count = 1,
                              .instance = &c->instance,
                              .vertex_count = (int32_t)vertices,
                              .triangle_count = (int32_t)triangles,
                              .point_count = (int32_t)vertices};
}

/* Where skin with a coordinate lies comes from: fills (u, v) with the slid one. */
typedef void slide_fn(double u, double v, int part, const double *parameter, double out[2]);

/* Slid coordinates of all corners, to be freed. */
static inline float *slide_charts(const charts *c, slide_fn *slide, const double *parameter)
{
    float *uv = calloc(2 * c->corners, sizeof *uv), *at = uv;
    for (int m = 0; uv && m < c->mesh.primitive_count; m++)
        for (int32_t i = 0; i < 3 * c->primitive[m].triangle_count; i++, at += 2) {
            const float *own = c->primitive[m].uv + 2 * c->primitive[m].triangle[i];
            double out[2] = {(double)own[0], (double)own[1]};
            slide(out[0], out[1], m, parameter, out);
            at[0] = (float)out[0];
            at[1] = (float)out[1];
        }
    return uv;
}

#endif
