#include "show/body_sheet.h"

#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "rig/pose.h"
#include "show/font.h"
#include "show/show.h"

#include <string.h>
#include <supple/tools.h>

enum { PANELS = 4, WIDTH = 520, HEIGHT = 820, GAP = 4, MOST_DRAWS = 4 };

static const float flesh_color[3] = {0.72f, 0.36f, 0.28f}, cut_color[3] = {0.80f, 0.62f, 0.30f};

/* Triangles with positions and colours, growing. */
typedef struct soup {
    const supple_allocator *a;
    float *position, *color; /* 9 a triangle */
    int32_t *triangle;
    int32_t count, room;
    bool failed;
} soup;

static void add_triangle(soup *s, const spl_vec3 p[3], const float color[3])
{
    if (s->count == s->room && !s->failed) {
        int32_t room = s->room ? 2 * s->room : 4096;
        float *position = spl_resize(s->a, s->position, (size_t)room, 9 * sizeof(float));
        if (position) s->position = position;
        float *colors = spl_resize(s->a, s->color, (size_t)room, 9 * sizeof(float));
        if (colors) s->color = colors;
        int32_t *triangle = spl_resize(s->a, s->triangle, (size_t)room, 3 * sizeof(int32_t));
        if (triangle) s->triangle = triangle;
        s->failed = !position || !colors || !triangle;
        s->room = room;
    }
    if (s->failed) return;
    for (int k = 0; k < 3; k++) {
        spl_v3_to_float(p[k], s->position + 9 * (size_t)s->count + 3 * (size_t)k);
        memcpy(s->color + 9 * (size_t)s->count + 3 * (size_t)k, color, 3 * sizeof(float));
        s->triangle[3 * (size_t)s->count + (size_t)k] = 3 * s->count + k;
    }
    s->count++;
}

static void release_soup(soup *s)
{
    spl_free(s->a, s->position);
    spl_free(s->a, s->color);
    spl_free(s->a, s->triangle);
}

/* A double pyramid along a segment: how rigging tools draw bones; of equal axes, a dot. */
static void add_bone(soup *s, spl_vec3 head, spl_vec3 tail, double radius, double waist, const float color[3])
{
    spl_vec3 axis = spl_unit(spl_sub(tail, head), spl_v3(0, 1, 0));
    spl_vec3 side = spl_unit(spl_cross(axis, fabs(axis.y) < 0.9 ? spl_v3(0, 1, 0) : spl_v3(1, 0, 0)), spl_v3(1, 0, 0));
    spl_vec3 other = spl_cross(axis, side), middle = spl_lerp(head, tail, waist), ring[4];
    for (int k = 0; k < 4; k++) ring[k] = spl_madd(middle, k & 1 ? other : side, k & 2 ? -radius : radius);
    for (int k = 0; k < 4; k++) {
        spl_vec3 a = ring[k], b = ring[(k + 1) % 4];
        add_triangle(s, (spl_vec3[]){head, b, a}, color);
        add_triangle(s, (spl_vec3[]){tail, a, b}, color);
    }
}

void spl_bone_color(int32_t bone, float out[3])
{
    double hue = fmod(0.11 + 0.618034 * bone, 1) * 6; /* neighbours differ: steps of the golden ratio */
    for (int k = 0; k < 3; k++) out[k] = (float)fmin(fmax(fabs(fmod(hue + 4 - 2 * k, 6) - 3) - 1, 0.08), 0.9);
}

/* What the panels share. */
typedef struct painter {
    const spl_body *body;
    const supple_allocator *a;
    spl_pool *pool;
    spl_mat4 stand;  /* from body space to the file's rest pose */
    spl_vec3 *point; /* tet vertices, standing */
    spl_camera camera;
    spl_show_options options;
    spl_pixels *sheet;
} painter;

/* The turn that pictures give a scene whose y axis is not up. */
static spl_mat4 upright(const supple_scene *scene)
{
    float axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}; /* each becomes a column */
    spl_scene_upright(scene, axes, 3);
    spl_mat3 m = spl_mat3_columns(spl_v3_from_float(axes), spl_v3_from_float(axes + 3), spl_v3_from_float(axes + 6));
    return spl_mat3_affine(&m, spl_v3(0, 0, 0));
}

supple_result spl_body_stand(const spl_body *b, spl_mat4 *out, supple_error *error)
{
    spl_pose pose;
    supple_result result = spl_pose_init(&pose, b->scene, error);
    if (result != SUPPLE_OK) return result;
    int32_t best = -1;
    *out = spl_mat4_identity();
    for (int32_t s = 0; s < b->scene->skin_count; s++)
        for (int32_t j = 0; j < b->scene->skin[s].joint_count; j++) {
            int32_t node = b->scene->skin[s].joint[j];
            if (best >= 0 && b->bones.influence[node] <= b->bones.influence[best]) continue;
            best = node;
            *out = spl_mat4_mul(&pose.world[node], &b->scene->skin[s].inverse_bind[j]);
        }
    spl_pose_release(&pose);
    spl_mat4 up = upright(b->scene);
    *out = spl_mat4_mul(&up, out);
    return SUPPLE_OK;
}

static supple_result stand_up(painter *p, supple_error *error)
{
    const spl_body *b = p->body;
    supple_result result = spl_body_stand(b, &p->stand, error);
    if (result != SUPPLE_OK) return result;
    p->point = spl_new(p->a, (size_t)b->tets.vertex_count, sizeof *p->point);
    if (!p->point) return spl_fail_memory(error, "the picture");
    for (int32_t v = 0; v < b->tets.vertex_count; v++) p->point[v] = spl_mat4_point(&p->stand, b->tets.position[v]);
    return SUPPLE_OK;
}

static void frame_camera(painter *p)
{
    spl_framing f = spl_framing_begin(SPL_VIEW_THREE_QUARTER, WIDTH, HEIGHT, 0.04);
    for (int32_t v = 0; v < p->body->tets.vertex_count; v++) spl_framing_add(&f, p->point[v]);
    p->camera = spl_framing_camera(&f);
    p->options = spl_show_options_default();
    p->options.width = WIDTH;
    p->options.height = HEIGHT;
    p->options.grid = false;
}

static supple_result paint(painter *p, int panel, const char *label, const spl_draw *draws, int32_t count,
                           bool wireframe, supple_error *error)
{
    static const uint8_t ink[3] = {60, 64, 72};
    spl_pixels pixels;
    p->options.wireframe = wireframe;
    supple_result result = spl_show_draw(draws, count, &p->camera, &p->options, p->pool, p->a, &pixels, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t y = 0; y < HEIGHT; y++)
        memcpy(p->sheet->rgba + 4 * ((size_t)y * (size_t)p->sheet->width + (size_t)panel * (WIDTH + GAP)),
               pixels.rgba + 4 * (size_t)y * WIDTH, 4 * WIDTH);
    spl_pixels_free(&pixels, p->a);
    spl_text_draw(p->sheet, panel * (WIDTH + GAP) + 8, 8, 2, ink, label);
    return SUPPLE_OK;
}

static spl_draw draw_of(const soup *s)
{
    return (spl_draw){.position = s->position,
                      .color = s->color,
                      .triangle = s->triangle,
                      .triangle_count = s->count,
                      .base_color = {1, 1, 1, 1}};
}

static void add_surface(const painter *p, soup *s)
{
    const spl_tets *t = &p->body->tets;
    for (int32_t i = 0; i < t->surface_count; i++) {
        const int32_t *c = t->surface + 3 * (size_t)i;
        add_triangle(s, (spl_vec3[]){p->point[c[0]], p->point[c[1]], p->point[c[2]]}, flesh_color);
    }
}

static supple_result paint_surface(painter *p, supple_error *error)
{
    soup s = {.a = p->a};
    add_surface(p, &s);
    spl_draw draw = draw_of(&s);
    supple_result result = s.failed ? spl_fail_memory(error, "the picture")
                                    : paint(p, 0, "surface of the tetrahedra", &draw, 1, true, error);
    release_soup(&s);
    return result;
}

/* The half nearer to the camera taken off: whole tetrahedra behind a plane through the middle. */
static supple_result paint_inside(painter *p, supple_error *error)
{
    const spl_tets *t = &p->body->tets;
    soup s = {.a = p->a};
    spl_vec3 middle = {0}, facing = spl_unit(spl_v3(p->camera.back.x, 0, p->camera.back.z), spl_v3(0, 0, 1));
    for (int32_t v = 0; v < t->vertex_count; v++) middle = spl_madd(middle, p->point[v], 1.0 / t->vertex_count);
    for (int32_t i = 0; i < t->tet_count; i++) {
        const int32_t *c = t->tet + 4 * (size_t)i;
        spl_vec3 centre = {0};
        for (int k = 0; k < 4; k++) centre = spl_madd(centre, p->point[c[k]], 0.25);
        double depth = spl_dot(spl_sub(centre, middle), facing);
        if (depth > 0) continue;
        bool at_cut = depth > -2.5 * p->body->flesh.cell; /* deeper ones cannot be seen */
        for (int k = 0; k < 4 && at_cut; k++) {
            const uint8_t *f = spl_tet_face[k];
            add_triangle(&s, (spl_vec3[]){p->point[c[f[0]]], p->point[c[f[1]]], p->point[c[f[2]]]}, cut_color);
        }
    }
    for (int32_t i = 0; i < t->surface_count; i++) {
        const int32_t *c = t->surface + 3 * (size_t)i;
        if (spl_dot(spl_sub(p->point[c[0]], middle), facing) > 0) continue;
        add_triangle(&s, (spl_vec3[]){p->point[c[0]], p->point[c[1]], p->point[c[2]]}, flesh_color);
    }
    spl_draw draw = draw_of(&s);
    supple_result result =
        s.failed ? spl_fail_memory(error, "the picture") : paint(p, 1, "cut open", &draw, 1, true, error);
    release_soup(&s);
    return result;
}

static supple_result paint_bones(painter *p, supple_error *error)
{
    const spl_body *b = p->body;
    soup s = {.a = p->a}, veil = {.a = p->a};
    double dot = 0.16 * b->flesh.cell;
    for (int32_t k = 0; k < b->bones.bone_count; k++) {
        spl_vec3 head = spl_mat4_point(&p->stand, b->bones.bone[k].head);
        spl_vec3 tail = spl_mat4_point(&p->stand, b->bones.bone[k].tail);
        float color[3];
        spl_bone_color(k, color);
        add_bone(&s, head, tail, 0.07 * spl_distance(head, tail), 0.2, color);
    }
    for (int32_t v = 0; v < b->tets.vertex_count; v++) {
        float color[3];
        if (b->bone[v] < 0) continue;
        spl_bone_color(b->bone[v], color);
        add_bone(&s, spl_madd(p->point[v], spl_v3(0, 1, 0), -dot), spl_madd(p->point[v], spl_v3(0, 1, 0), dot), dot,
                 0.5, color);
    }
    add_surface(p, &veil);
    spl_draw draws[2] = {draw_of(&s), draw_of(&veil)};
    draws[1].color = NULL;
    memcpy(draws[1].base_color, (float[]){0.75f, 0.6f, 0.55f, 0.16f}, sizeof draws[1].base_color);
    draws[1].alpha = SPL_ALPHA_BLEND;
    supple_result result = s.failed || veil.failed ? spl_fail_memory(error, "the picture")
                                                   : paint(p, 2, "bones and attachments", draws, 2, false, error);
    release_soup(&s);
    release_soup(&veil);
    return result;
}

/* The visual mesh as the upsampling gives it back from the body at rest. */
static supple_result paint_visual(painter *p, supple_error *error)
{
    const spl_body *b = p->body;
    size_t n = (size_t)b->scene->vertex_count;
    float *position = spl_new(p->a, n, 3 * sizeof(float)), *normal = spl_new(p->a, n, 3 * sizeof(float));
    spl_upsample_frame *frame = NULL;
    spl_show show = {0};
    supple_config config = supple_config_default();
    supple_result result = position && normal ? SUPPLE_OK : spl_fail_memory(error, "the picture");
    if (result == SUPPLE_OK) result = spl_upsample_frame_create(b->upsample, p->a, &frame, error);
    if (result == SUPPLE_OK) result = spl_show_init(&show, b->scene, &config, error);
    if (result == SUPPLE_OK) {
        spl_upsample_target to = {.position = position, .position_stride = 12, .normal = normal, .normal_stride = 12};
        spl_upsample_apply(b->upsample, frame, p->pool, (const double *)p->point, &to);
        for (size_t v = 0; v < n; v++) /* what is not flesh is not drawn */
            if (b->roles.vertex[v] != SUPPLE_ROLE_FLESH) memset(position + 3 * v, 0, 3 * sizeof(float));
        bool smooth = b->part_count && b->part[0].primitive->normal;
        spl_pixels pixels;
        p->options.wireframe = false;
        result = spl_show_render(&show, position, smooth ? normal : NULL, &p->camera, &p->options, &pixels, error);
        if (result == SUPPLE_OK) {
            static const uint8_t ink[3] = {60, 64, 72};
            for (int32_t y = 0; y < HEIGHT; y++)
                memcpy(p->sheet->rgba + 4 * ((size_t)y * (size_t)p->sheet->width + 3 * (size_t)(WIDTH + GAP)),
                       pixels.rgba + 4 * (size_t)y * WIDTH, 4 * WIDTH);
            spl_pixels_free(&pixels, p->a);
            spl_text_draw(p->sheet, 3 * (WIDTH + GAP) + 8, 8, 2, ink, "upsampled at rest");
        }
    }
    spl_show_release(&show);
    spl_upsample_frame_destroy(frame);
    spl_free(p->a, position);
    spl_free(p->a, normal);
    return result;
}

supple_result spl_body_draw(const spl_body *body, const supple_config *config, spl_pool *pool, spl_pixels *out,
                            supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    painter p = {.body = body, .a = &a, .pool = pool, .sheet = out};
    *out = (spl_pixels){.width = PANELS * WIDTH + (PANELS - 1) * GAP, .height = HEIGHT};
    out->rgba = spl_new(&a, (size_t)out->width * HEIGHT, 4);
    if (!out->rgba) return spl_fail_memory(error, "the picture");
    memset(out->rgba, 255, 4 * (size_t)out->width * HEIGHT);
    supple_result result = stand_up(&p, error);
    if (result == SUPPLE_OK) frame_camera(&p);
    if (result == SUPPLE_OK) result = paint_surface(&p, error);
    if (result == SUPPLE_OK) result = paint_inside(&p, error);
    if (result == SUPPLE_OK) result = paint_bones(&p, error);
    if (result == SUPPLE_OK) result = paint_visual(&p, error);
    spl_free(&a, p.point);
    if (result != SUPPLE_OK) spl_pixels_free(out, &a);
    return result;
}

supple_result supple_body_picture(const supple_body *body, const char *path, const supple_config *config,
                                  supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    spl_pool *pool;
    spl_pixels pixels;
    supple_result result = spl_pool_create(config, &pool, error);
    if (result != SUPPLE_OK) return result;
    result = spl_body_draw(&body->body, config, pool, &pixels, error);
    spl_pool_destroy(pool);
    if (result != SUPPLE_OK) return result;
    uint8_t *png;
    size_t size;
    result = spl_image_encode_png(&pixels, &a, &png, &size, error);
    spl_pixels_free(&pixels, &a);
    if (result != SUPPLE_OK) return result;
    result = supple_bytes_write(path, png, size, error);
    spl_free(&a, png);
    return result;
}
