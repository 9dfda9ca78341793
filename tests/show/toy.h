/* A small scene made by hand: a sphere with a texture and a glassy sheet in front of it, and a bouncing motion. */
#ifndef SPL_TESTS_SHOW_TOY_H
#define SPL_TESTS_SHOW_TOY_H

#include "core/memory.h"
#include "scene/image.h"
#include "scene/scene.h"

#include <math.h>
#include <string.h>

enum { TOY_RINGS = 12, TOY_SECTORS = 18, TOY_BALL = (TOY_RINGS + 1) * (TOY_SECTORS + 1), TOY_COUNT = TOY_BALL + 4 };

typedef struct toy {
    supple_scene scene;
    spl_node node;
    spl_mesh mesh;
    spl_primitive primitive[2];
    spl_material material[2];
    spl_image image[2];
    spl_instance instance;
    spl_clip clip[2];
    float position[3 * TOY_COUNT], normal[3 * TOY_COUNT], uv[2 * TOY_COUNT];
    int32_t ball[6 * TOY_RINGS * TOY_SECTORS], sheet[6];
    uint8_t *png;
    size_t png_size;
} toy;

static inline void toy_ball(toy *t)
{
    const double pi = acos(-1.0);
    int32_t *index = t->ball;
    for (int i = 0; i < TOY_BALL; i++) {
        double u = (double)(i % (TOY_SECTORS + 1)) / TOY_SECTORS, v = (double)(i / (TOY_SECTORS + 1)) / TOY_RINGS;
        double n[3] = {sin(pi * v) * sin(2 * pi * u), cos(pi * v), sin(pi * v) * cos(2 * pi * u)};
        for (int c = 0; c < 3; c++) {
            t->normal[3 * i + c] = (float)n[c];
            t->position[3 * i + c] = (float)(0.5 * n[c] + (c == 1 ? 0.5 : 0));
        }
        t->uv[2 * i] = (float)u, t->uv[2 * i + 1] = (float)v;
    }
    for (int32_t r = 0; r < TOY_RINGS; r++)
        for (int32_t s = 0; s < TOY_SECTORS; s++) {
            int32_t a = r * (TOY_SECTORS + 1) + s, b = a + 1, c = a + TOY_SECTORS + 1, d = c + 1;
            const int32_t quad[6] = {a, c, b, b, c, d};
            memcpy(index, quad, sizeof quad);
            index += 6;
        }
}

static inline void toy_sheet(toy *t)
{
    for (int i = 0; i < 4; i++) {
        float *p = t->position + 3 * (TOY_BALL + i), *n = t->normal + 3 * (TOY_BALL + i);
        p[0] = i & 1 ? 0.4f : -0.4f, p[1] = i & 2 ? 0.6f : 0.1f, p[2] = 0.7f;
        n[0] = n[1] = 0, n[2] = 1;
    }
    const int32_t quad[6] = {0, 1, 3, 0, 3, 2};
    memcpy(t->sheet, quad, sizeof quad);
}

/* Red and blue squares. The second image is damaged. */
static inline void toy_images(toy *t)
{
    static uint8_t rgba[16 * 16 * 4];
    static const uint8_t damaged[] = "\x89PNG\r\n\x1a\nno more";
    for (int i = 0; i < 256; i++) {
        bool red = (i / 4 + i / 64) % 2;
        const uint8_t color[4] = {red ? 220 : 30, 40, red ? 30 : 200, 255};
        memcpy(rgba + 4 * i, color, 4);
    }
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels p = {16, 16, rgba};
    spl_image_encode_png(&p, &a, &t->png, &t->png_size, NULL);
    t->image[0] = (spl_image){t->png, t->png_size};
    t->image[1] = (spl_image){damaged, sizeof damaged - 1};
}

static inline void toy_init(toy *t)
{
    memset(t, 0, sizeof *t);
    toy_ball(t);
    toy_sheet(t);
    toy_images(t);
    t->primitive[0] = (spl_primitive){.vertex_count = TOY_BALL,
                                      .position = t->position,
                                      .normal = t->normal,
                                      .uv = t->uv,
                                      .triangle = t->ball,
                                      .triangle_count = 2 * TOY_RINGS * TOY_SECTORS};
    t->primitive[1] = (spl_primitive){.vertex_count = 4,
                                      .position = t->position + 3 * TOY_BALL,
                                      .normal = t->normal + 3 * TOY_BALL,
                                      .triangle = t->sheet,
                                      .triangle_count = 2,
                                      .material = 1};
    t->mesh = (spl_mesh){.name = (char *)"ball", .primitive_count = 2, .primitive = t->primitive};
    t->node = (spl_node){.name = (char *)"ball", .parent = -1, .mesh = 0, .skin = -1};
    t->material[0] = (spl_material){.name = (char *)"squares", .base_color = {1, 1, 1, 1}};
    t->material[1] = (spl_material){.name = (char *)"glass",
                                    .base_color = {0.1f, 0.6f, 0.2f, 0.5f},
                                    .base_color_image = -1,
                                    .alpha = SPL_ALPHA_BLEND};
    t->instance = (spl_instance){.skin = -1, .vertex_count = TOY_COUNT};
    t->clip[0] = (spl_clip){.name = (char *)"bounce", .duration = 1};
    t->clip[1] = (spl_clip){.name = (char *)"r\xc3\xbcll", .duration = 1};
    t->scene = (supple_scene){.allocator = spl_allocator_of(NULL),
                              .path = (char *)"somewhere/toy.glb",
                              .node_count = 1,
                              .mesh_count = 1,
                              .clip_count = 2,
                              .material_count = 2,
                              .image_count = 2,
                              .instance_count = 1,
                              .node = &t->node,
                              .mesh = &t->mesh,
                              .clip = t->clip,
                              .material = t->material,
                              .image = t->image,
                              .instance = &t->instance,
                              .vertex_count = TOY_COUNT,
                              .triangle_count = 2 * TOY_RINGS * TOY_SECTORS + 2};
}

static inline void toy_release(toy *t)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_free(&a, t->png);
}

/* The toy at a frame: up and down, and `travel` sideways a frame. */
static inline void toy_pose(const toy *t, int frame, double travel, float *position)
{
    for (int i = 0; i < TOY_COUNT; i++) {
        position[3 * i] = t->position[3 * i] + (float)(travel * frame);
        position[3 * i + 1] = t->position[3 * i + 1] + (float)fabs(sin(0.5 * frame));
        position[3 * i + 2] = t->position[3 * i + 2];
    }
}

#endif
