/* Strips of panels: any frames, each from a camera of its own. */
#include "core/error.h"
#include "core/memory.h"
#include "geom/shading.h"
#include "rig/pose.h"
#include "show/font.h"
#include "show/points.h"
#include "show/show.h"

#include <string.h>
#include <supple/tools.h>

/* The shadow's map is of the whole character: a close-up shows its grain at the size of a whole picture's map. */
enum { GUTTER = 4, SIDE_MAX = 8192, CLOSE_SHADOW = 2048 };
static const uint8_t PAPER = 248, INK[3] = {62, 67, 76}, RIM[3] = {214, 216, 219};

/* Focal length over the panel's longer side, as show/camera.c has it. */
static const double LENS = 2.8;
/* About the figure, for its label. */
static const double ROOM = 1.1;

struct supple_picture {
    supple_allocator allocator;
    supple_config config;
    const supple_scene *scene;
    spl_show show;
    spl_part *part;
    int32_t part_count;
    spl_shading **shading;    /* by part */
    float *position, *normal; /* of the scene's vertices, y up */
};

/* ---- a frame ---- */

static supple_result make_shading(supple_picture *p, const spl_pose *rest, supple_error *error)
{
    for (int32_t i = 0; i < p->part_count; i++) {
        const spl_primitive *q = p->part[i].primitive;
        spl_shading_rest shape = {.vertex_count = q->vertex_count,
                                  .position = q->position,
                                  .triangle_count = q->triangle_count,
                                  .triangle = q->triangle,
                                  .normal = q->normal};
        supple_result r = spl_shading_create(&shape, &p->allocator, &p->shading[i], error);
        if (r != SUPPLE_OK) return r;
        spl_shading_set_mirrored(p->shading[i], spl_pose_mirrors(rest, p->scene, p->part[i].instance));
    }
    return SUPPLE_OK;
}

static supple_result build(supple_picture *p, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    size_t n = (size_t)p->scene->vertex_count;
    supple_result r = spl_show_init(&p->show, p->scene, &p->config, error);
    if (r != SUPPLE_OK) return r;
    p->part = spl_parts_new(p->scene, a, &p->part_count);
    p->shading = p->part ? spl_new(a, (size_t)p->part_count, sizeof *p->shading) : NULL;
    p->position = spl_new(a, n, 3 * sizeof *p->position);
    p->normal = spl_new(a, n, 3 * sizeof *p->normal);
    if (!p->part || !p->shading || !p->position || !p->normal) return spl_fail_memory(error, "the pictures");
    spl_pose rest;
    r = spl_pose_init(&rest, p->scene, error);
    if (r != SUPPLE_OK) return r;
    spl_pose_sample(&rest, p->scene, -1, 0);
    r = make_shading(p, &rest, error);
    spl_pose_release(&rest);
    return r;
}

supple_result supple_picture_create(const supple_scene *scene, const supple_config *config, supple_picture **out,
                                    supple_error *error)
{
    *out = NULL;
    supple_result r = spl_config_check(config, error);
    if (r != SUPPLE_OK) return r;
    supple_allocator a = spl_allocator_of(config);
    supple_picture *p = spl_new(&a, 1, sizeof *p);
    if (!p) return spl_fail_memory(error, "the pictures");
    p->allocator = a;
    p->config = config ? *config : supple_config_default();
    p->scene = scene;
    r = build(p, error);
    if (r == SUPPLE_OK)
        *out = p;
    else
        supple_picture_destroy(p);
    return r;
}

void supple_picture_destroy(supple_picture *p)
{
    if (!p) return;
    supple_allocator a = p->allocator;
    for (int32_t i = 0; p->shading && i < p->part_count; i++) spl_shading_destroy(p->shading[i]);
    spl_show_release(&p->show);
    spl_free(&a, p->shading);
    spl_free(&a, p->part);
    spl_free(&a, p->position);
    spl_free(&a, p->normal);
    spl_free(&a, p);
}

/* Points of a cache become vertices of the scene, y up. */
static void place(supple_picture *p, const float *points)
{
    for (int32_t i = 0; i < p->part_count; i++) {
        const spl_part *part = &p->part[i];
        for (int32_t v = 0; v < part->primitive->vertex_count; v++)
            memcpy(p->position + 3 * (size_t)(part->first_vertex + v),
                   points + 3 * (size_t)spl_part_point(p->scene, part, v), 3 * sizeof *points);
    }
    spl_scene_upright(p->scene, p->position, (size_t)p->scene->vertex_count);
}

static void shade(supple_picture *p)
{
    for (int32_t i = 0; i < p->part_count; i++) {
        size_t at = 3 * (size_t)p->part[i].first_vertex;
        spl_shading_update_normals(p->shading[i], p->show.pool, p->position + at, p->normal + at, 3 * sizeof(float));
    }
}

/* ---- cameras ---- */

static void to_array(spl_vec3 v, double out[3])
{
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

/* The ball just fits into the shorter side: seen from a distance D its outline is at r / sqrt(D^2 - r^2). */
static spl_camera camera_of(const supple_camera *c, int32_t width, int32_t height)
{
    double shorter = width < height ? width : height, longer = width < height ? height : width;
    spl_camera out = {.focal = LENS * longer, .cx = 0.5 * width, .cy = 0.5 * height};
    double ratio = out.focal / (0.5 * shorter), distance = c->radius * sqrt(1 + ratio * ratio);
    spl_vec3 target = spl_v3(c->target[0], c->target[1], c->target[2]);
    out.back = spl_unit(spl_v3(c->back[0], c->back[1], c->back[2]), spl_v3(0, 0, 1));
    out.right = spl_unit(spl_cross(spl_v3(c->up[0], c->up[1], c->up[2]), out.back), spl_v3(1, 0, 0));
    out.up = spl_cross(out.back, out.right);
    out.eye = spl_madd(target, out.back, distance);
    out.near = 0.02 * distance;
    return out;
}

/* Extent of all frames about their own middles, across the picture. */
typedef struct extent {
    double across, along, low; /* half the width, half the height; the lowest height */
    double size, travel;
    double kx, ky;   /* focal length over half a side, with a margin */
    double distance; /* of the camera from its target, for all to be in the picture */
} extent;

/* A point at (x, y, z) of the camera's axes is in the picture of a camera at distance D where kx |x| and ky |y| are at
 * most D - z: what is near it needs more room than its width says. */
static void widen(const supple_picture *p, const supple_camera *c, extent *e)
{
    spl_vec3 back = spl_v3(c->back[0], c->back[1], c->back[2]), up = spl_v3(c->up[0], c->up[1], c->up[2]);
    spl_vec3 right = spl_cross(up, back), target = spl_v3(c->target[0], c->target[1], c->target[2]);
    for (int32_t d = 0; d < p->show.draw_count; d++) {
        const float *q = p->position + 3 * (size_t)p->show.first_vertex[d];
        for (int64_t i = 0; i < 3 * (int64_t)p->show.draw[d].triangle_count; i++) {
            spl_vec3 v = spl_sub(spl_v3_from_float(q + 3 * (size_t)p->show.draw[d].triangle[i]), target);
            if (!spl_v3_finite(v)) continue;
            double x = fabs(spl_dot(right, v)), y = fabs(spl_dot(up, v)), z = spl_dot(back, v);
            e->across = fmax(e->across, x);
            e->along = fmax(e->along, y);
            e->distance = fmax(e->distance, z + fmax(e->kx * x, e->ky * y));
        }
    }
}

/* The middle of a frame; on the floor only where it travels less than half its size, so that most cameras stand. */
static void aim(supple_picture *p, const float *const *points, int32_t count, supple_camera *cameras, extent *e)
{
    spl_box all = spl_box_empty();
    for (int32_t i = 0; i < count; i++) {
        place(p, points[i]);
        spl_box box = spl_show_box(&p->show, p->position);
        if (spl_box_is_empty(&box)) box = (spl_box){{-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}};
        spl_box_join(&all, &box);
        to_array(spl_lerp(box.min, box.max, 0.5), cameras[i].target);
        e->size = fmax(e->size, spl_distance(box.min, box.max));
        e->travel = fmax(
            e->travel, hypot(cameras[i].target[0] - cameras[0].target[0], cameras[i].target[2] - cameras[0].target[2]));
    }
    e->low = all.min.y;
    spl_vec3 middle = spl_lerp(all.min, all.max, 0.5);
    for (int32_t i = 0; i < count; i++) {
        cameras[i].target[1] = middle.y;
        if (e->travel >= 0.5 * e->size) continue;
        cameras[i].target[0] = middle.x;
        cameras[i].target[2] = middle.z;
    }
}

void supple_picture_whole(supple_picture *p, const float *const *points, int32_t count, supple_camera *cameras,
                          double *aspect)
{
    const double a = 38 * M_PI / 180, b = 12 * M_PI / 180; /* the contact sheet's three-quarter view */
    spl_vec3 back = spl_v3(sin(a) * cos(b), sin(b), cos(a) * cos(b)), right = spl_v3(cos(a), 0, -sin(a));
    extent e = {0};
    for (int32_t i = 0; i < count; i++) {
        cameras[i] = (supple_camera){.floor = NAN};
        to_array(back, cameras[i].back);
        to_array(spl_cross(back, right), cameras[i].up);
    }
    aim(p, points, count, cameras, &e);
    for (int pass = 0; pass < 2; pass++) { /* the picture's sides, then how far away */
        for (int32_t i = 0; i < count; i++) {
            place(p, points[i]);
            widen(p, &cameras[i], &e);
        }
        *aspect = e.across > 0 ? fmin(fmax(e.along / e.across, 0.6), 1.8) : 1;
        e.kx = ROOM * 2 * LENS * fmax(*aspect, 1);
        e.ky = ROOM * 2 * LENS * fmax(1 / *aspect, 1);
        if (pass == 0) e.distance = 0;
    }
    double ratio = 2 * LENS * fmax(*aspect, 1 / *aspect); /* as camera_of has it */
    for (int32_t i = 0; i < count; i++) {
        cameras[i].radius = e.distance / sqrt(1 + ratio * ratio);
        cameras[i].floor = e.low;
    }
}

/* ---- strips ---- */

static supple_result draw(supple_picture *p, const supple_panel *panel, int32_t width, int32_t height, spl_pixels *out,
                          supple_error *error)
{
    spl_show_options o = spl_show_options_default();
    spl_camera camera = camera_of(&panel->camera, width, height);
    o.width = width;
    o.height = height;
    o.ground = isfinite(panel->camera.floor);
    o.ground_y = panel->camera.floor;
    if (!o.ground) o.shadow_side = CLOSE_SHADOW;
    place(p, panel->points);
    shade(p);
    supple_result r = spl_show_render(&p->show, p->position, p->normal, &camera, &o, out, error);
    if (r != SUPPLE_OK || !panel->label) return r;
    int32_t scale = width >= 200 ? 2 : 1, y = height - SPL_GLYPH_HEIGHT * scale - 6;
    for (int32_t k = 0; k < 4; k++) /* a pale rim, to be read on dark cloth too */
        spl_text_draw(out, 8 + (k == 0) - (k == 1), y + (k == 2) - (k == 3), scale, RIM, panel->label);
    spl_text_draw(out, 8, y, scale, INK, panel->label);
    return SUPPLE_OK;
}

static supple_result draw_all(supple_picture *p, const supple_panel *panels, int32_t count, spl_pixels *page,
                              int32_t width, supple_error *error)
{
    for (int32_t i = 0; i < count; i++) {
        spl_pixels cell;
        supple_result r = spl_progress(&p->config, "pictures", (double)i / count, error);
        if (r == SUPPLE_OK) r = draw(p, &panels[i], width, page->height, &cell, error);
        if (r != SUPPLE_OK) return r;
        for (int32_t y = 0; y < page->height; y++)
            memcpy(page->rgba + 4 * ((size_t)y * (size_t)page->width + (size_t)(i * (width + GUTTER))),
                   cell.rgba + 4 * (size_t)y * (size_t)width, 4 * (size_t)width);
        spl_pixels_free(&cell, &p->allocator);
    }
    return SUPPLE_OK;
}

supple_result supple_picture_strip(supple_picture *p, const supple_panel *panels, int32_t count, int32_t width,
                                   int32_t height, void **png, size_t *size, supple_error *error)
{
    *png = NULL;
    *size = 0;
    if (count < 1 || width < 1 || height < 1 || height > SIDE_MAX || (int64_t)count * (width + GUTTER) > SIDE_MAX)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a strip of %d panels of %d x %d pixels cannot be drawn", count,
                        width, height);
    spl_pixels page = {.width = count * (width + GUTTER) - GUTTER, .height = height};
    size_t bytes = 4 * (size_t)page.width * (size_t)height;
    page.rgba = spl_new(&p->allocator, bytes, 1);
    if (!page.rgba) return spl_fail_memory(error, "a strip of pictures");
    memset(page.rgba, PAPER, bytes);
    for (size_t i = 3; i < bytes; i += 4) page.rgba[i] = 255;
    uint8_t *data = NULL;
    supple_result r = draw_all(p, panels, count, &page, width, error);
    if (r == SUPPLE_OK) r = spl_image_encode_png(&page, &p->allocator, &data, size, error);
    spl_pixels_free(&page, &p->allocator);
    *png = data;
    return r;
}
