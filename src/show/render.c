/* From triangles to a picture: visibility and shading tile by tile, then occlusion, floor and tone row by row.
 *
 * Ambient occlusion is the estimator of McGuire, Mara and Luebke, "Scalable Ambient Obscurance" (2012), equation 1, on
 * the picture's own depth: it darkens folds and armpits, which is where deformation is judged. */
#include "core/error.h"
#include "core/memory.h"
#include "show/shade.h"
#include "show/shadow.h"
#include "show/show.h"

enum { SIDE_MAX = 8192, AO_TAPS = 24, AO_TURNS = 16, TONES = 4096, TILE_SAMPLES = SPL_TILE * SPL_TILE * SPL_SAMPLES };

/* Blended surfaces this solid hide what is behind them. */
static const float SOLID = 0.98f;

/* One pixel before the last pass. Colours are premultiplied by the cover. */
typedef struct fragment {
    float direct[3], ambient[3], cover;
    float normal[3], depth; /* of the nearest solid sample; depth 0 where there is none */
} fragment;

typedef struct picture {
    const spl_draw *draw;
    const spl_camera *camera;
    const spl_show_options *options;
    spl_raster raster;
    spl_lights lights;
    spl_shadow shadow, cast, contact;
    spl_box box;
    double size, floor_y, grid; /* diagonal of what is drawn, height of the floor, distance of its lines */
    spl_vec3 centre;
    float tap[AO_TURNS][AO_TAPS][2]; /* directions of occlusion taps, within the unit disc */
    uint8_t tone[TONES];             /* spl_tone of (i / (TONES - 1))^2 x 4 */
    fragment *fragment;
    uint8_t *rgba;
} picture;

/* --- Tiles: visibility --- */

typedef struct sample {
    float direct[3], ambient[3], cover;
} sample;

typedef struct tile {
    const picture *picture;
    const spl_raster_triangle *triangle;
    int32_t id, x0, y0, x1, y1;
    int32_t owner[TILE_SAMPLES]; /* triangle, -1 for none */
    double depth[TILE_SAMPLES];
    sample color[TILE_SAMPLES];
    spl_vec3 normal[TILE_SAMPLES];
    int32_t shaded_x, shaded_y; /* pixel whose blended surface is in `blend` */
    sample blend;
} tile;

static size_t slot_of(const tile *t, int32_t x, int32_t y, int32_t s)
{
    return ((size_t)(y - t->y0) * SPL_TILE + (size_t)(x - t->x0)) * SPL_SAMPLES + (size_t)s;
}

static double sample_x(int32_t x, int32_t s)
{
    return x + spl_sample_x[s] / (double)SPL_SUBPIXEL;
}

static double sample_y(int32_t y, int32_t s)
{
    return y + spl_sample_y[s] / (double)SPL_SUBPIXEL;
}

/* The nearest solid surface wins; of equals, the first. */
static void cover_solid(void *context, int32_t x, int32_t y, int32_t s, double depth)
{
    tile *t = context;
    size_t at = slot_of(t, x, y, s);
    if (depth <= t->depth[at]) return;
    const spl_draw *d = &t->picture->draw[t->triangle->mesh];
    if (d->alpha != SPL_ALPHA_OPAQUE) {
        float needed = d->alpha == SPL_ALPHA_MASK ? d->alpha_cutoff : SOLID;
        if (spl_surface_alpha(d, t->triangle, sample_x(x, s), sample_y(y, s)) < needed) return;
    }
    t->depth[at] = depth;
    t->owner[at] = t->id;
}

/* --- Tiles: shading --- */

/* Distance in pixels to the nearest edge of the mesh, for the wireframe. */
static double edge_distance(const spl_raster_triangle *t, double x, double y)
{
    double best = 1e9, px = x * SPL_SUBPIXEL, py = y * SPL_SUBPIXEL;
    for (int i = 0; i < 3; i++) {
        if (!(t->edge >> i & 1)) continue;
        double ax = t->x[(i + 1) % 3], ay = t->y[(i + 1) % 3], bx = t->x[(i + 2) % 3], by = t->y[(i + 2) % 3];
        double length = hypot(bx - ax, by - ay);
        if (length > 0) best = fmin(best, fabs((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / length);
    }
    return best / SPL_SUBPIXEL;
}

/* The light from one place of a triangle; returns its alpha. */
static float shade(const picture *p, const spl_raster_triangle *t, double x, double y, sample *out, spl_vec3 *normal)
{
    spl_surface s;
    spl_surface_at(&p->draw[t->mesh], t, p->camera, x, y, &s);
    if (p->options->wireframe) {
        float line = (float)fmin(1, fmax(0, 0.9 - edge_distance(t, x, y))) * 0.75f;
        const float ink[3] = {0.015f, 0.02f, 0.03f};
        for (int c = 0; c < 3; c++) s.color[c] += (ink[c] - s.color[c]) * line;
    }
    spl_vec3 viewer =
        p->camera->ortho ? p->camera->back : spl_unit(spl_sub(p->camera->eye, s.position), p->camera->back);
    float lit = 1;
    if (spl_dot(s.normal, p->lights.key) > -0.2)
        lit = spl_shadow_lit(&p->shadow, s.position, s.normal, 0.006 * p->size);
    spl_surface_light(&s, &p->lights, viewer, lit, out->direct, out->ambient);
    out->cover = 1;
    *normal = s.normal;
    return s.color[3];
}

/* Samples of a pixel that show the same triangle are shaded once, in their middle. */
static void shade_pixel(tile *t, int32_t x, int32_t y)
{
    const picture *p = t->picture;
    size_t base = slot_of(t, x, y, 0);
    bool done[SPL_SAMPLES] = {false};
    for (int s = 0; s < SPL_SAMPLES; s++) {
        int32_t id = t->owner[base + (size_t)s];
        if (done[s] || id < 0) continue;
        double sx = 0, sy = 0;
        int n = 0;
        for (int k = s; k < SPL_SAMPLES; k++) {
            if (t->owner[base + (size_t)k] != id) continue;
            sx += sample_x(x, k), sy += sample_y(y, k), n++;
        }
        sample color;
        spl_vec3 normal;
        shade(p, &p->raster.triangle[id], sx / n, sy / n, &color, &normal);
        for (int k = s; k < SPL_SAMPLES; k++) {
            if (t->owner[base + (size_t)k] != id) continue;
            t->color[base + (size_t)k] = color;
            t->normal[base + (size_t)k] = normal;
            done[k] = true;
        }
    }
}

/* Glassy surfaces, far to near, over what is solid. The surface is shaded once a pixel. */
static void cover_blend(void *context, int32_t x, int32_t y, int32_t s, double depth)
{
    tile *t = context;
    size_t at = slot_of(t, x, y, s);
    if (depth <= t->depth[at] || t->owner[at] == t->id) return;
    if (t->shaded_x != x || t->shaded_y != y) {
        spl_vec3 normal;
        t->blend.cover = shade(t->picture, t->triangle, sample_x(x, s), sample_y(y, s), &t->blend, &normal);
        t->shaded_x = x;
        t->shaded_y = y;
    }
    float a = fminf(fmaxf(t->blend.cover, 0), 1);
    sample *c = &t->color[at];
    for (int i = 0; i < 3; i++) {
        c->direct[i] += (t->blend.direct[i] - c->direct[i]) * a;
        c->ambient[i] += (t->blend.ambient[i] - c->ambient[i]) * a;
    }
    c->cover += (1 - c->cover) * a;
}

/* The mean of a pixel's samples; the nearest solid one gives depth and normal. */
static void resolve_pixel(const tile *t, int32_t x, int32_t y, fragment *f)
{
    size_t base = slot_of(t, x, y, 0);
    double nearest = -INFINITY;
    spl_vec3 n = {0, 0, 0};
    for (size_t at = base; at < base + SPL_SAMPLES; at++) {
        const sample *c = &t->color[at];
        for (int i = 0; i < 3; i++) {
            f->direct[i] += c->direct[i] / SPL_SAMPLES;
            f->ambient[i] += c->ambient[i] / SPL_SAMPLES;
        }
        f->cover += c->cover / SPL_SAMPLES;
        if (t->owner[at] < 0) continue;
        nearest = fmax(nearest, t->depth[at]);
        n = spl_add(n, t->normal[at]);
    }
    if (!isfinite(nearest)) return;
    f->depth = (float)(t->picture->camera->ortho ? -nearest : 1 / nearest);
    spl_v3_to_float(spl_unit(n, t->picture->camera->back), f->normal);
}

static void render_tile(const picture *p, int32_t index, tile *t)
{
    const spl_raster *r = &p->raster;
    t->picture = p;
    t->x0 = index % r->tiles_x * SPL_TILE;
    t->y0 = index / r->tiles_x * SPL_TILE;
    t->x1 = t->x0 + SPL_TILE < r->width ? t->x0 + SPL_TILE : r->width;
    t->y1 = t->y0 + SPL_TILE < r->height ? t->y0 + SPL_TILE : r->height;
    for (int i = 0; i < TILE_SAMPLES; i++) {
        t->owner[i] = -1;
        t->depth[i] = -INFINITY;
        t->color[i] = (sample){0};
    }
    size_t first = r->tile_first[index], last = r->tile_first[index + 1];
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = first; i < last; i++) {
            t->id = r->tile_item[i];
            t->triangle = &r->triangle[t->id];
            t->shaded_x = t->shaded_y = -1;
            if (pass == 1 && p->draw[t->triangle->mesh].alpha != SPL_ALPHA_BLEND) continue;
            spl_raster_cover(t->triangle, t->x0, t->y0, t->x1, t->y1, pass ? cover_blend : cover_solid, t);
        }
        for (int32_t y = t->y0; y < t->y1; y++)
            for (int32_t x = t->x0; x < t->x1; x++)
                if (pass == 0)
                    shade_pixel(t, x, y);
                else
                    resolve_pixel(t, x, y, &p->fragment[(size_t)y * (size_t)r->width + (size_t)x]);
    }
}

static void render_tiles(void *context, size_t begin, size_t end)
{
    const picture *p = context;
    tile t; /* 80 KB, which every thread's stack has */
    for (size_t i = begin; i < end; i++)
        if (p->raster.tile_first[i] < p->raster.tile_first[i + 1]) render_tile(p, (int32_t)i, &t);
}

/* --- Rows: occlusion, floor, tone --- */

static spl_vec3 point_at(const picture *p, double x, double y, double depth)
{
    const spl_camera *c = p->camera;
    double scale = (c->ortho ? 1 : depth) / c->focal;
    spl_vec3 q = spl_madd(c->eye, c->right, (x - c->cx) * scale);
    return spl_madd(spl_madd(q, c->up, (c->cy - y) * scale), c->back, -depth);
}

/* How open the surroundings of a pixel are, 0 to 1. Taps lie on a spiral that is turned from pixel to pixel in a fixed
 * 4 x 4 pattern, which the eye averages. Works in camera coordinates: x right, y up, z towards the viewer. */
static float openness(const picture *p, int32_t px, int32_t py, const fragment *f)
{
    const spl_camera *c = p->camera;
    float radius = (float)(0.055 * p->size), focal = (float)c->focal, depth = c->ortho ? 1 : f->depth;
    float reach = fminf(radius * focal / depth, 200), scale = depth / focal;
    if (!(f->depth > 0) || reach < 1.5f) return 1;
    spl_vec3 n = spl_v3_from_float(f->normal);
    float nx = (float)spl_dot(n, c->right), ny = (float)spl_dot(n, c->up), nz = (float)spl_dot(n, c->back);
    float cx = (float)c->cx - 0.5f, cy = (float)c->cy - 0.5f;
    float ax = ((float)px - cx) * scale, ay = (cy - (float)py) * scale;
    float sum = 0, bias = 0.012f * radius, square = radius * radius;
    for (int i = 0; i < AO_TAPS; i++) {
        const float *tap = p->tap[(px & 3) * 4 + (py & 3)][i];
        /* Rounded to the nearest by an offset that keeps the number positive: offsets are below 201. */
        int32_t x = px + (int32_t)(tap[0] * reach + 256.5f) - 256, y = py + (int32_t)(tap[1] * reach + 256.5f) - 256;
        if (x < 0 || y < 0 || x >= p->raster.width || y >= p->raster.height) continue;
        const fragment *g = &p->fragment[(size_t)y * (size_t)p->raster.width + (size_t)x];
        if (!(g->depth > 0)) continue;
        float there = c->ortho ? scale : g->depth / focal;
        float vx = ((float)x - cx) * there - ax, vy = (cy - (float)y) * there - ay, vz = f->depth - g->depth;
        float vv = vx * vx + vy * vy + vz * vz, fall = 1 - vv / square, rise = vx * nx + vy * ny + vz * nz - bias;
        if (fall > 0 && rise > 0) sum += fall * fall * rise / (sqrtf(vv) + 1e-3f * radius);
    }
    return fmaxf(0, 1 - 2.1f * sum / AO_TAPS);
}

/* The square root spreads the table as the eye does; light beyond 4 is white. */
static uint8_t tone(const picture *p, float linear)
{
    float at = sqrtf(fminf(fmaxf(linear, 0), 4)) * (0.5f * (TONES - 1));
    return p->tone[(int32_t)(at + 0.5f)];
}

static void make_tables(picture *p)
{
    for (int i = 0; i < TONES; i++) {
        float root = 2 * (float)i / (TONES - 1);
        p->tone[i] = spl_tone(root * root);
    }
    const double circle = 2 * acos(-1.0), rounds = 7; /* 24 taps on 7 rounds: no two in one direction */
    for (int turn = 0; turn < AO_TURNS; turn++)
        for (int i = 0; i < AO_TAPS; i++) {
            double part = (i + 0.5) / AO_TAPS, angle = circle * (part * rounds + (double)turn / AO_TURNS);
            p->tap[turn][i][0] = (float)(cos(angle) * part);
            p->tap[turn][i][1] = (float)(sin(angle) * part);
        }
}

static double smooth(double low, double high, double v)
{
    double t = fmin(1, fmax(0, (v - low) / (high - low)));
    return t * t * (3 - 2 * t);
}

/* How much of a pixel one family of floor lines covers, at a coordinate with `pixel` world units a pixel. */
static double line_cover(double v, double step, double pixel)
{
    double distance = fabs(v / step - floor(v / step + 0.5)) * step;
    return fmin(1, fmax(0, 1.1 - distance / pixel)) * fmin(1, step / (6 * pixel));
}

static void shade_floor(const picture *p, double x, double y, float color[3])
{
    spl_vec3 ray = spl_camera_ray(p->camera, x, y), eye = p->camera->eye;
    if (p->camera->ortho) eye = point_at(p, x, y, 0);
    double distance = ray.y < -1e-6 ? (p->floor_y - eye.y) / ray.y : -1;
    if (!(distance > 0)) return;
    spl_vec3 at = spl_madd(eye, ray, distance);
    double ox = at.x - p->centre.x, oz = at.z - p->centre.z, away = sqrt(ox * ox + oz * oz) / p->size;
    float dark = spl_shadow_value(&p->cast, at), near = spl_shadow_value(&p->contact, at);
    float dim = (1 - 0.30f * dark) * (1 - 0.62f * fminf(1, near));
    if (p->options->grid) {
        double pixel = distance / p->camera->focal, across = pixel / fmax(0.15, -ray.y);
        /* Lines that run away from the viewer are seen at their own width, those across it foreshortened. */
        double turn = fabs(p->camera->right.x) > fabs(p->camera->right.z) ? 1 : 0;
        double lines = fmax(line_cover(at.x, p->grid, turn > 0 ? pixel : across),
                            line_cover(at.z, p->grid, turn > 0 ? across : pixel));
        dim *= 1 - 0.11f * (float)(lines * (1 - smooth(0.35, 1.1, away)));
    }
    for (int c = 0; c < 3; c++) color[c] *= dim;
}

/* A quiet gradient, a little brighter behind the character. */
static void backdrop(const picture *p, double x, double y, float color[3])
{
    const float top[3] = {0.465f, 0.490f, 0.525f}, bottom[3] = {0.690f, 0.690f, 0.685f};
    double v = y / p->raster.height, u = x / p->raster.width;
    float glow = (float)(0.10 * exp(-8 * ((u - 0.5) * (u - 0.5) + (v - 0.45) * (v - 0.45))));
    for (int c = 0; c < 3; c++) color[c] = top[c] + (bottom[c] - top[c]) * (float)smooth(0.1, 0.9, v) + glow;
    if (p->options->ground) shade_floor(p, x, y, color);
}

static void finish_rows(void *context, size_t begin, size_t end)
{
    const picture *p = context;
    int32_t width = p->raster.width;
    for (size_t y = begin; y < end; y++)
        for (int32_t x = 0; x < width; x++) {
            size_t at = y * (size_t)width + (size_t)x;
            const fragment *f = &p->fragment[at];
            float back[3] = {0};
            if (f->cover < 0.999f) backdrop(p, x + 0.5, (double)y + 0.5, back);
            float open = f->cover > 0 ? openness(p, x, (int32_t)y, f) : 1;
            /* Creases also see less of the lamp, which is not a point. */
            float lamp = 0.65f + 0.35f * open;
            for (int c = 0; c < 3; c++)
                p->rgba[4 * at + (size_t)c] =
                    tone(p, f->direct[c] * lamp + f->ambient[c] * open + back[c] * (1 - f->cover));
            p->rgba[4 * at + 3] = 255;
        }
}

/* --- The picture --- */

/* 1, 2 or 5 times a power of ten, near a sixth of the size. */
double spl_show_grid_step(double size)
{
    double want = size / 6, power = pow(10, floor(log10(want)));
    double ratio = want / power;
    return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

static spl_box bounds(const spl_draw *draws, int32_t count)
{
    spl_box box = spl_box_empty();
    for (int32_t d = 0; d < count; d++)
        for (int64_t i = 0; i < 3 * (int64_t)draws[d].triangle_count; i++)
            spl_box_add(&box, spl_v3_from_float(draws[d].position + 3 * (size_t)draws[d].triangle[i]));
    return box;
}

static void measure(picture *p, const spl_box *box)
{
    const spl_show_options *o = p->options;
    p->box = *box;
    if (spl_box_is_empty(&p->box)) p->box = (spl_box){{-0.5, 0, -0.5}, {0.5, 1, 0.5}};
    p->centre = spl_lerp(p->box.min, p->box.max, 0.5);
    p->size = fmax(spl_distance(p->box.min, p->box.max), 1e-12);
    p->floor_y = isfinite(o->ground_y) ? o->ground_y : p->box.min.y;
    p->grid = o->grid_step > 0 ? o->grid_step : spl_show_grid_step(p->size);
}

static int32_t map_size(const spl_show_options *o)
{
    int32_t side = o->width > o->height ? o->width : o->height;
    if (o->shadow_side > 0) return o->shadow_side;
    return side < 400 ? 512 : side < 900 ? 1024 : 2048;
}

static supple_result prepare(picture *p, const spl_stage *stage, supple_error *error)
{
    const spl_show_options *o = p->options;
    supple_result r = spl_raster_init(&p->raster, p->camera, o->width, o->height, stage->geometry, stage->draw_count,
                                      stage->allocator, error);
    if (r == SUPPLE_OK) r = spl_shadow_init(&p->shadow, stage, p->lights.key, map_size(o), 0.10, error);
    if (r == SUPPLE_OK && o->ground) r = spl_cast_init(&p->cast, &p->shadow, stage->allocator, error);
    if (r == SUPPLE_OK && o->ground) r = spl_contact_init(&p->contact, stage, p->floor_y, 192, error);
    if (r != SUPPLE_OK) return r;
    p->fragment = spl_new(stage->allocator, (size_t)o->width * (size_t)o->height, sizeof *p->fragment);
    p->rgba = spl_new(stage->allocator, (size_t)o->width * (size_t)o->height, 4);
    return p->fragment && p->rgba ? SUPPLE_OK : spl_fail_memory(error, "a picture");
}

spl_show_options spl_show_options_default(void)
{
    return (spl_show_options){
        .width = 720, .height = 960, .ground = true, .ground_y = NAN, .grid = true, .flat_color = {0.55f, 0.53f, 0.5f}};
}

supple_result spl_show_draw(const spl_draw *draws, int32_t draw_count, const spl_camera *camera,
                            const spl_show_options *options, spl_pool *pool, const supple_allocator *a, spl_pixels *out,
                            supple_error *error)
{
    *out = (spl_pixels){0};
    if (options->width < 1 || options->height < 1 || options->width > SIDE_MAX || options->height > SIDE_MAX)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "cannot draw a picture of %d x %d pixels; at most %d a side",
                        options->width, options->height, SIDE_MAX);
    spl_geometry *geometry = spl_new(a, (size_t)draw_count, sizeof *geometry);
    if (!geometry) return spl_fail_memory(error, "a picture");
    for (int32_t i = 0; i < draw_count; i++)
        geometry[i] = (spl_geometry){draws[i].position, draws[i].triangle, draws[i].triangle_count,
                                     draws[i].alpha == SPL_ALPHA_BLEND};
    picture p = {.draw = draws, .camera = camera, .options = options, .lights = spl_lights_for(camera)};
    spl_box box = bounds(draws, draw_count);
    measure(&p, &box);
    make_tables(&p);
    spl_stage stage = {draws, geometry, draw_count, p.box, pool, a};
    supple_result r = prepare(&p, &stage, error);
    if (r == SUPPLE_OK) {
        spl_parallel_for(pool, (size_t)spl_raster_tile_count(&p.raster), 2, render_tiles, &p);
        spl_parallel_for(pool, (size_t)options->height, 4, finish_rows, &p);
        *out = (spl_pixels){options->width, options->height, p.rgba};
        p.rgba = NULL;
    }
    spl_free(a, p.rgba);
    spl_free(a, p.fragment);
    spl_shadow_release(&p.contact, a);
    spl_shadow_release(&p.cast, a);
    spl_shadow_release(&p.shadow, a);
    spl_raster_release(&p.raster);
    spl_free(a, geometry);
    return r;
}
