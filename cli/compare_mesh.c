/* The mesh of the 3D player and its vertices in every stored frame. Positions are 16-bit numbers within a clip's box,
 * as differences from frame to frame and in planes of bytes, which is what compresses well. */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the player's mesh"});
}

static const char *image_type(const void *data, size_t size)
{
    return size > 3 && memcmp(data, "\xff\xd8\xff", 3) == 0 ? "image/jpeg" : "image/png";
}

/* An image that several materials have is stored once. */
static int texture_blob(cli_compare *c, const supple_display *d, int32_t group, const int *blobs)
{
    const supple_display_group *g = &d->groups[group];
    if (!g->image) return -1;
    for (int32_t i = 0; i < group; i++)
        if (d->groups[i].image == g->image) return blobs[i];
    return cli_blobs_add(&c->blobs, image_type(g->image, g->image_size), g->image, g->image_size);
}

static json_t *group_of(const supple_display_group *g, int texture)
{
    return json_pack("{s:o,s:i,s:i,s:[f,f,f],s:f,s:b,s:s,s:f,s:o}", "name", cli_compare_string(g->name), "first",
                     (int)g->first, "count", (int)g->count, "color", (double)g->color[0], (double)g->color[1],
                     (double)g->color[2], "opacity", (double)g->color[3], "double_sided", (int)g->double_sided, "alpha",
                     g->masked    ? "mask"
                     : g->blended ? "blend"
                                  : "opaque",
                     "alpha_cutoff", (double)g->alpha_cutoff, "texture",
                     texture >= 0 ? json_integer(texture) : json_null());
}

int cli_compare_mesh(cli_compare *c, const supple_display *d, bool textures)
{
    int *blob = calloc((size_t)d->group_count + 1, sizeof *blob);
    json_t *groups = json_array();
    if (!blob || !groups) {
        free(blob);
        json_decref(groups);
        return no_memory();
    }
    int index = cli_blobs_add_deflated(&c->blobs, d->index, 3 * (size_t)d->triangle_count * sizeof *d->index);
    int point = cli_blobs_add_deflated(&c->blobs, d->point, (size_t)d->vertex_count * sizeof *d->point);
    int uv =
        d->uv && textures ? cli_blobs_add_deflated(&c->blobs, d->uv, 2 * (size_t)d->vertex_count * sizeof *d->uv) : -1;
    for (int32_t g = 0; g < d->group_count; g++) {
        blob[g] = textures ? texture_blob(c, d, g, blob) : -1;
        json_array_append_new(groups, group_of(&d->groups[g], blob[g]));
    }
    json_decref(c->mesh);
    c->mesh = json_pack("{s:i,s:i,s:i,s:o,s:o}", "vertices", (int)d->vertex_count, "index", index, "point", point, "uv",
                        uv >= 0 ? json_integer(uv) : json_null(), "groups", groups);
    free(blob);
    return c->mesh && index >= 0 && point >= 0 ? 0 : no_memory();
}

/* ---- positions ---- */

/* A clip's box: number q of an axis is at min + q step. */
typedef struct box {
    double min[3], step[3];
} box;

typedef struct packing {
    cli_compare *c;
    const supple_display *display;
    float *points, *vertices;
    uint16_t *now, *before; /* planes of x, y and z */
    uint8_t *bytes;         /* of a whole clip: low bytes, then high ones */
} packing;

static void find_box(packing *p, int range, box *b)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < p->c->method_count; i++)
        for (int32_t k = 0; k < p->c->ranges[range].frame_count; k++) {
            if (!cli_compare_frame(p->c, &p->c->method[i], range, k, p->points)) continue;
            supple_display_place(p->display, p->points, p->vertices);
            for (size_t v = 0; v < 3 * (size_t)p->display->vertex_count; v++) {
                double x = (double)p->vertices[v];
                if (!isfinite(x)) continue;
                low[v % 3] = fmin(low[v % 3], x);
                high[v % 3] = fmax(high[v % 3], x);
            }
        }
    for (int a = 0; a < 3; a++) {
        b->min[a] = isfinite(low[a]) ? low[a] : 0;
        b->step[a] = high[a] > low[a] ? (high[a] - low[a]) / 65535 : 1;
    }
}

static void quantise(packing *p, const box *b)
{
    size_t n = (size_t)p->display->vertex_count;
    for (int a = 0; a < 3; a++)
        for (size_t v = 0; v < n; v++) {
            double q = round(((double)p->vertices[3 * v + (size_t)a] - b->min[a]) / b->step[a]);
            p->now[(size_t)a * n + v] = (uint16_t)(q > 0 ? fmin(q, 65535) : 0); /* not a number: 0 */
        }
}

/* Frames that are stored: of those that a method ran, the first, every `thin`-th after it, and the last. */
static int32_t *stored_frames(const cli_compare *c, const cli_compare_method *m, int range, int32_t thin,
                              int32_t *count)
{
    const supple_range *r = &c->ranges[range];
    int32_t *list = calloc((size_t)r->frame_count + 1, sizeof *list), seen = 0, last = -1;
    *count = 0;
    for (int32_t k = 0; list && k < r->frame_count; k++) {
        if ((r->first_frame + k) % m->stride != 0) continue;
        if (seen++ % thin == 0) list[(*count)++] = k;
        last = k;
    }
    if (list && last >= 0 && list[*count - 1] != last) list[(*count)++] = last;
    return list;
}

static bool pack_clip(packing *p, const cli_compare_method *m, int range, const box *b, const int32_t *frames,
                      int32_t count)
{
    size_t size = 3 * (size_t)p->display->vertex_count, total = size * (size_t)count;
    for (int32_t k = 0; k < count; k++) {
        if (!cli_compare_frame(p->c, m, range, frames[k], p->points)) return false;
        supple_display_place(p->display, p->points, p->vertices);
        quantise(p, b);
        for (size_t i = 0; i < size; i++) {
            uint16_t d = (uint16_t)(p->now[i] - (k ? p->before[i] : 0));
            p->bytes[(size_t)k * size + i] = (uint8_t)(d & 255);
            p->bytes[total + (size_t)k * size + i] = (uint8_t)(d >> 8);
        }
        uint16_t *swap = p->before;
        p->before = p->now;
        p->now = swap;
    }
    return true;
}

static json_t *positions_of(packing *p, const cli_compare_method *m, int range, const box *b, int32_t thin)
{
    int32_t count;
    int32_t *frames = stored_frames(p->c, m, range, thin, &count);
    if (!frames) return NULL;
    json_t *o = NULL, *list = json_array();
    size_t bytes = 6 * (size_t)p->display->vertex_count * (size_t)count;
    p->bytes = malloc(bytes + 1);
    if (p->bytes && pack_clip(p, m, range, b, frames, count)) {
        int blob = cli_blobs_add_deflated(&p->c->blobs, p->bytes, bytes);
        for (int32_t k = 0; k < count; k++) json_array_append_new(list, json_integer(frames[k]));
        if (blob >= 0)
            o = json_pack("{s:i,s:O,s:[f,f,f],s:[f,f,f]}", "blob", blob, "frames", list, "min", b->min[0], b->min[1],
                          b->min[2], "step", b->step[0], b->step[1], b->step[2]);
    }
    json_decref(list);
    free(p->bytes);
    free(frames);
    return o;
}

static bool pack_methods(packing *p, int32_t thin)
{
    cli_compare *c = p->c;
    for (int i = 0; i < c->method_count; i++) {
        json_decref(c->method[i].positions);
        c->method[i].positions = c->method[i].ran ? json_array() : NULL;
    }
    for (int r = 0; r < c->range_count; r++) {
        box b;
        find_box(p, r, &b);
        for (int i = 0; i < c->method_count; i++) {
            if (!c->method[i].ran) continue;
            json_t *o = positions_of(p, &c->method[i], r, &b, thin);
            if (!o) return false;
            json_array_append_new(c->method[i].positions, o);
        }
    }
    return true;
}

int cli_compare_positions(cli_compare *c, const supple_display *d, int32_t thin)
{
    size_t n = (size_t)d->vertex_count;
    packing p = {.c = c, .display = d};
    p.points = calloc((size_t)d->point_count + 1, 3 * sizeof *p.points);
    p.vertices = calloc(n + 1, 3 * sizeof *p.vertices);
    p.now = calloc(n + 1, 3 * sizeof *p.now);
    p.before = calloc(n + 1, 3 * sizeof *p.before);
    bool done = p.points && p.vertices && p.now && p.before && pack_methods(&p, thin);
    free(p.points);
    free(p.vertices);
    free(p.now);
    free(p.before);
    return done ? 0 : no_memory();
}
