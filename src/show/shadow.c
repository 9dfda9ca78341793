#include "show/shadow.h"

#include "core/error.h"
#include "core/memory.h"
#include "show/shade.h"

/* --- Depth maps --- */

typedef struct map_job {
    spl_shadow *shadow;
    const spl_raster *raster;
    const spl_draw *draw;
} map_job;

typedef struct map_tile {
    const map_job *job;
    const spl_raster_triangle *triangle;
} map_tile;

/* A texel keeps the nearest of its samples. Cut-out and glassy parts cast where they are more solid than not. */
static void map_sample(void *context, int32_t x, int32_t y, int32_t sample, double depth)
{
    const map_tile *tile = context;
    spl_shadow *s = tile->job->shadow;
    float *at = &s->depth[(size_t)y * (size_t)s->size + (size_t)x];
    if ((float)depth <= *at) return;
    const spl_draw *d = &tile->job->draw[tile->triangle->mesh];
    double sx = x + spl_sample_x[sample] / (double)SPL_SUBPIXEL, sy = y + spl_sample_y[sample] / (double)SPL_SUBPIXEL;
    if (d->alpha != SPL_ALPHA_OPAQUE && spl_surface_alpha(d, tile->triangle, sx, sy) < 0.5f) return;
    *at = (float)depth;
}

static void map_tiles(void *context, size_t begin, size_t end)
{
    const map_job *job = context;
    const spl_raster *r = job->raster;
    for (size_t tile = begin; tile < end; tile++) {
        int32_t x0 = (int32_t)tile % r->tiles_x * SPL_TILE, y0 = (int32_t)tile / r->tiles_x * SPL_TILE;
        int32_t x1 = x0 + SPL_TILE < r->width ? x0 + SPL_TILE : r->width;
        int32_t y1 = y0 + SPL_TILE < r->height ? y0 + SPL_TILE : r->height;
        for (size_t i = r->tile_first[tile]; i < r->tile_first[tile + 1]; i++) {
            map_tile t = {job, &r->triangle[r->tile_item[i]]};
            spl_raster_cover(t.triangle, x0, y0, x1, y1, map_sample, &t);
        }
    }
}

/* An orthographic camera that looks against `towards` and sees the whole box. */
static spl_camera look_along(const spl_box *box, spl_vec3 towards, int32_t size, double margin)
{
    spl_camera c = {.ortho = true, .back = towards, .cx = 0.5 * size, .cy = 0.5 * size};
    spl_vec3 side = fabs(towards.y) < 0.9 ? spl_v3(0, 1, 0) : spl_v3(0, 0, 1);
    c.right = spl_unit(spl_cross(side, towards), spl_v3(1, 0, 0));
    c.up = spl_cross(towards, c.right);
    spl_vec3 half = spl_scale(spl_sub(box->max, box->min), 0.5);
    c.eye = spl_add(box->min, half);
    double w = fabs(c.right.x) * half.x + fabs(c.right.y) * half.y + fabs(c.right.z) * half.z;
    double h = fabs(c.up.x) * half.x + fabs(c.up.y) * half.y + fabs(c.up.z) * half.z;
    double extent = fmax(fmax(w, h), 1e-12);
    c.focal = 0.5 * size * (1 - margin) / extent;
    return c;
}

supple_result spl_shadow_init(spl_shadow *s, const spl_stage *stage, spl_vec3 towards, int32_t size, double margin,
                              supple_error *error)
{
    *s = (spl_shadow){.size = size, .camera = look_along(&stage->box, towards, size, margin)};
    s->texel = 1 / s->camera.focal;
    s->depth = spl_new(stage->allocator, (size_t)size * (size_t)size, sizeof *s->depth);
    if (!s->depth) return spl_fail_memory(error, "a shadow");
    for (size_t i = 0; i < (size_t)size * (size_t)size; i++) s->depth[i] = -INFINITY;
    spl_raster raster;
    supple_result r =
        spl_raster_init(&raster, &s->camera, size, size, stage->geometry, stage->draw_count, stage->allocator, error);
    if (r != SUPPLE_OK) {
        spl_shadow_release(s, stage->allocator);
        return r;
    }
    map_job job = {s, &raster, stage->draw};
    spl_parallel_for(stage->pool, (size_t)spl_raster_tile_count(&raster), 8, map_tiles, &job);
    spl_raster_release(&raster);
    return SUPPLE_OK;
}

void spl_shadow_release(spl_shadow *s, const supple_allocator *a)
{
    spl_free(a, s->depth);
    *s = (spl_shadow){0};
}

static float depth_at(const spl_shadow *s, int32_t x, int32_t y)
{
    if (x < 0 || y < 0 || x >= s->size || y >= s->size) return -INFINITY;
    return s->depth[(size_t)y * (size_t)s->size + (size_t)x];
}

enum { TAPS = 2, CAST_SIZE = 256 };

/* Percentage-closer filtering: a tent of 5 x 5 taps that moves with the point, so that the edge is smooth. */
float spl_shadow_lit(const spl_shadow *s, spl_vec3 p, spl_vec3 normal, double radius)
{
    if (!s->size) return 1;
    double step = fmax(1, radius / s->texel / TAPS);
    /* Off the surface by the filter's slope, or it would shade itself. */
    double slope = 1 - fmax(0, spl_dot(normal, s->camera.back));
    p = spl_madd(p, normal, s->texel * step * (0.8 + 1.6 * slope));
    spl_vec3 c = spl_camera_point(&s->camera, p);
    double x = s->camera.cx + s->camera.focal * c.x, y = s->camera.cy - s->camera.focal * c.y;
    if (!(x > -1e6 && x < 1e6 && y > -1e6 && y < 1e6)) return 1;
    double nearness = -c.z + s->texel * step * 0.6;
    double fx = x - 0.5 - floor(x - 0.5), fy = y - 0.5 - floor(y - 0.5);
    int32_t x0 = (int32_t)floor(x - 0.5), y0 = (int32_t)floor(y - 0.5);
    float open = 0, sum = 0;
    for (int j = -TAPS; j <= TAPS + 1; j++) {
        float wy = (float)(TAPS + 1 - fabs(j - fy));
        int32_t row = y0 + (int32_t)floor(j * step + 0.5);
        for (int i = -TAPS; i <= TAPS + 1; i++) {
            float w = wy * (float)(TAPS + 1 - fabs(i - fx));
            if ((double)depth_at(s, x0 + (int32_t)floor(i * step + 0.5), row) <= nearness) open += w;
            sum += w;
        }
    }
    return sum > 0 ? open / sum : 1;
}

/* --- On the floor --- */

/* One box blur along rows, written transposed: two of them blur both ways and restore the order. */
static void blur_transposed(const float *from, float *to, int32_t n, int32_t radius)
{
    float scale = 1 / (float)(2 * radius + 1);
    for (int32_t y = 0; y < n; y++) {
        const float *row = from + (size_t)y * (size_t)n;
        for (int32_t x = 0; x < n; x++) {
            float sum = 0;
            for (int32_t k = x - radius; k <= x + radius; k++) sum += k >= 0 && k < n ? row[k] : 0;
            to[(size_t)x * (size_t)n + (size_t)y] = sum * scale;
        }
    }
}

/* Three box blurs, which is nearly a Gaussian. */
static bool blur(float *map, int32_t n, int32_t radius, const supple_allocator *a)
{
    float *other = spl_new(a, (size_t)n * (size_t)n, sizeof *other);
    if (!other) return false;
    for (int pass = 0; pass < 3; pass++) {
        blur_transposed(map, other, n, radius);
        blur_transposed(other, map, n, radius);
    }
    spl_free(a, other);
    return true;
}

/* Part of a square block of texels behind which the light is hidden. */
static float hidden_part(const spl_shadow *s, int32_t x0, int32_t y0, int32_t side)
{
    int32_t count = 0;
    for (int32_t y = y0; y < y0 + side; y++)
        for (int32_t x = x0; x < x0 + side; x++) count += isfinite(depth_at(s, x, y)) ? 1 : 0;
    return (float)count / (float)(side * side);
}

supple_result spl_cast_init(spl_shadow *cast, const spl_shadow *shadow, const supple_allocator *a, supple_error *error)
{
    int32_t n = shadow->size > CAST_SIZE ? CAST_SIZE : shadow->size, side = shadow->size / n;
    *cast = (spl_shadow){.size = n, .camera = shadow->camera, .texel = shadow->texel * side};
    cast->camera.cx /= side;
    cast->camera.cy /= side;
    cast->camera.focal /= side;
    cast->depth = spl_new(a, (size_t)n * (size_t)n, sizeof *cast->depth);
    for (int32_t y = 0; cast->depth && y < n; y++)
        for (int32_t x = 0; x < n; x++)
            cast->depth[(size_t)y * (size_t)n + (size_t)x] = hidden_part(shadow, x * side, y * side, side);
    if (cast->depth && blur(cast->depth, n, 1 + n / 160, a)) return SUPPLE_OK;
    spl_shadow_release(cast, a);
    return spl_fail_memory(error, "a shadow");
}

supple_result spl_contact_init(spl_shadow *s, const spl_stage *stage, double floor_y, int32_t size, supple_error *error)
{
    supple_result r = spl_shadow_init(s, stage, spl_v3(0, -1, 0), size, 0.35, error);
    if (r != SUPPLE_OK) return r;
    double fade = 0.05 * spl_norm(spl_sub(stage->box.max, stage->box.min));
    for (size_t i = 0; i < (size_t)size * (size_t)size; i++) {
        /* Seen from below, nearness is -(y - eye.y). */
        double height = s->camera.eye.y - (double)s->depth[i] - floor_y;
        s->depth[i] = isfinite(s->depth[i]) && fade > 0 ? (float)exp(-fmax(0, height) / fade) : 0;
    }
    if (blur(s->depth, size, 1 + size / 64, stage->allocator)) return SUPPLE_OK;
    spl_shadow_release(s, stage->allocator);
    return spl_fail_memory(error, "a shadow");
}

float spl_shadow_value(const spl_shadow *s, spl_vec3 p)
{
    if (!s->size) return 0;
    spl_vec3 c = spl_camera_point(&s->camera, p);
    double x = s->camera.cx + s->camera.focal * c.x - 0.5, y = s->camera.cy - s->camera.focal * c.y - 0.5;
    if (!(x >= 0 && y >= 0 && x < s->size - 1 && y < s->size - 1)) return 0;
    int32_t x0 = (int32_t)x, y0 = (int32_t)y;
    float fx = (float)(x - x0), fy = (float)(y - y0);
    const float *d = s->depth + (size_t)y0 * (size_t)s->size + (size_t)x0;
    const float *e = d + s->size;
    return (d[0] * (1 - fx) + d[1] * fx) * (1 - fy) + (e[0] * (1 - fx) + e[1] * fx) * fy;
}
