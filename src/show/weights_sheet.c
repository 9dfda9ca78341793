/* A skin's weights before and after, one colour a joint, blended by weight. */
#include "body/weights_public.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "show/body_sheet.h"
#include "show/font.h"
#include "show/show.h"

#include <supple/tools.h>

#include <string.h>

enum { PANELS = 2, WIDTH = 640, HEIGHT = 820, GAP = 4 };

typedef struct painter {
    const supple_weights *weights;
    const supple_allocator *a;
    spl_show show;
    float *position, *normal, *color; /* 3 a vertex of the scene */
    spl_camera camera;
    spl_show_options options;
    spl_pixels sheet;
} painter;

static void place(painter *p, const spl_mat4 *stand)
{
    const spl_body *b = p->weights->body;
    spl_framing f = spl_framing_begin(SPL_VIEW_FRONT, WIDTH, HEIGHT, 0.04);
    spl_mat3 turn = spl_mat3_linear(stand);
    for (int32_t i = 0; i < b->part_count; i++) {
        const spl_primitive *q = b->part[i].primitive;
        bool shown = spl_part_skinned(b->scene, &b->part[i]);
        for (size_t v = 0; v < (size_t)q->vertex_count; v++) {
            size_t at = 3 * ((size_t)b->part[i].first_vertex + v);
            spl_vec3 x = spl_mat4_point(stand, spl_v3_from_float(b->bind + at)), n = spl_v3(0, 0, 1);
            if (q->normal) n = spl_unit(spl_mat3_apply(&turn, spl_v3_from_float(q->normal + 3 * v)), n);
            spl_v3_to_float(shown ? x : spl_v3(0, 0, 0), p->position + at);
            spl_v3_to_float(n, p->normal + at);
            if (shown) spl_framing_add(&f, x);
        }
    }
    p->camera = spl_framing_camera(&f);
    p->options = spl_show_options_default();
    p->options.width = WIDTH;
    p->options.height = HEIGHT;
    p->options.grid = false;
    p->options.vertex_color = p->color;
}

static void add_color(float *out, int32_t node, float weight)
{
    float color[3];
    spl_bone_color(node, color);
    for (int c = 0; c < 3; c++) out[c] += weight * color[c];
}

/* Colours of the file's weights, or of the new ones. */
static void set_colors(painter *p, bool made)
{
    const spl_body *b = p->weights->body;
    const spl_new_weights *w = &p->weights->skin;
    memset(p->color, 0, 3 * (size_t)b->scene->vertex_count * sizeof *p->color);
    for (int32_t i = 0; i < b->part_count; i++) {
        const spl_primitive *q = b->part[i].primitive;
        int32_t skin = b->scene->instance[b->part[i].instance].skin;
        if (!spl_part_skinned(b->scene, &b->part[i])) continue;
        const int32_t *node = b->scene->skin[skin].joint;
        for (size_t v = 0; v < (size_t)q->vertex_count; v++) {
            size_t at = (size_t)b->part[i].first_vertex + v;
            bool fresh = made && w->changed[at];
            size_t K = (size_t)(fresh ? w->influences : q->influence_count), first = K * (fresh ? at : v);
            for (size_t k = first; k < first + K; k++)
                add_color(p->color + 3 * at, node[fresh ? w->joint[k] : q->joint[k]],
                          fresh ? w->weight[k] : q->weight[k]);
        }
    }
}

static supple_result paint(painter *p, int panel, const char *label, supple_error *error)
{
    static const uint8_t ink[3] = {60, 64, 72};
    spl_pixels pixels;
    set_colors(p, panel == 1);
    supple_result result = spl_show_render(&p->show, p->position, p->normal, &p->camera, &p->options, &pixels, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t y = 0; y < HEIGHT; y++)
        memcpy(p->sheet.rgba + 4 * ((size_t)y * (size_t)p->sheet.width + (size_t)panel * (WIDTH + GAP)),
               pixels.rgba + 4 * (size_t)y * WIDTH, 4 * WIDTH);
    spl_pixels_free(&pixels, p->a);
    spl_text_draw(&p->sheet, panel * (WIDTH + GAP) + 8, 8, 2, ink, label);
    return SUPPLE_OK;
}

static supple_result draw(painter *p, const supple_config *config, supple_error *error)
{
    const supple_scene *scene = p->weights->body->scene;
    size_t n = (size_t)scene->vertex_count;
    spl_mat4 stand;
    p->position = spl_new(p->a, n, 3 * sizeof *p->position);
    p->normal = spl_new(p->a, n, 3 * sizeof *p->normal);
    p->color = spl_new(p->a, n, 3 * sizeof *p->color);
    p->sheet = (spl_pixels){.width = PANELS * WIDTH + (PANELS - 1) * GAP, .height = HEIGHT};
    p->sheet.rgba = spl_new(p->a, (size_t)p->sheet.width * HEIGHT, 4);
    if (!p->position || !p->normal || !p->color || !p->sheet.rgba) return spl_fail_memory(error, "the picture");
    memset(p->sheet.rgba, 255, 4 * (size_t)p->sheet.width * HEIGHT);
    supple_result result = spl_body_stand(p->weights->body, &stand, error);
    if (result == SUPPLE_OK) result = spl_show_init(&p->show, scene, config, error);
    if (result == SUPPLE_OK) place(p, &stand);
    if (result == SUPPLE_OK) result = paint(p, 0, "the file's weights", error);
    return result == SUPPLE_OK ? paint(p, 1, "new weights", error) : result;
}

supple_result supple_weights_picture(const supple_weights *weights, const char *path, const supple_config *config,
                                     supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    painter p = {.weights = weights, .a = &a};
    uint8_t *png = NULL;
    size_t size;
    supple_result result = draw(&p, config, error);
    if (result == SUPPLE_OK) result = spl_image_encode_png(&p.sheet, &a, &png, &size, error);
    if (result == SUPPLE_OK) result = supple_bytes_write(path, png, size, error);
    spl_free(&a, png);
    spl_show_release(&p.show);
    spl_free(&a, p.position);
    spl_free(&a, p.normal);
    spl_free(&a, p.color);
    spl_pixels_free(&p.sheet, &a);
    return result;
}
