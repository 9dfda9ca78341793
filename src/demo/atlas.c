#include "demo/atlas.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"

#include <string.h>

static const double pi = 3.14159265358979323846;
static const double margin = 0.07; /* of a round chart's width, at each side: room for triangles across the seam */

/* Place of a point in its chart: x around or across (0 to 1, periodic where round), y along (0 to 1). */
static void chart_place(const spl_chart *c, spl_vec3 p, double *x, double *y)
{
    spl_vec3 d = spl_sub(p, c->origin), b = spl_cross(c->axis, c->a);
    double along = spl_dot(d, c->axis), u = spl_dot(d, c->a), v = spl_dot(d, b);
    if (c->kind == SPL_CHART_SPHERE) along = atan2(along, sqrt(u * u + v * v));
    *y = (c->high - along) / (c->high - c->low);
    *x = c->kind == SPL_CHART_FLAT ? 0.5 + 0.5 * u / c->reach : 0.5 + atan2(v, u) / (2 * pi);
}

static void chart_to_texture(const spl_chart *c, double x, double y, float *uv)
{
    double m = c->kind == SPL_CHART_FLAT ? 0 : margin;
    uv[0] = (float)(c->x + c->width * (m + (1 - 2 * m) * x));
    uv[1] = (float)(c->y + c->height * y);
}

/* Metres within the chart from texture coordinates. */
static void chart_lengths(const spl_chart *c, double u, double v, double *across, double *along)
{
    double m = c->kind == SPL_CHART_FLAT ? 0 : margin;
    double x = ((u - c->x) / c->width - m) / (1 - 2 * m), y = (v - c->y) / c->height;
    *across = (x - 0.5) * (c->kind == SPL_CHART_FLAT ? 2 : 2 * pi) * c->reach;
    *along = (c->high - y * (c->high - c->low)) * (c->kind == SPL_CHART_SPHERE ? c->reach : 1);
}

static int32_t triangle_chart(const spl_shape *shape, int32_t t, spl_chart_fn *choose)
{
    const int32_t *c = shape->triangle + 3 * t;
    spl_vec3 p = shape->position[c[0]], q = shape->position[c[1]], r = shape->position[c[2]];
    spl_vec3 n = spl_unit(spl_cross(spl_sub(q, p), spl_sub(r, p)), spl_v3(0, 1, 0));
    return choose(spl_scale(spl_add(spl_add(p, q), r), 1.0 / 3), n);
}

void spl_atlas_map(spl_shape *shape, const spl_chart *chart, spl_chart_fn *choose)
{
    for (int32_t t = 0; t < shape->triangle_count; t++) {
        const spl_chart *c = &chart[triangle_chart(shape, t, choose)];
        double first = 0;
        for (int i = 0; i < 3; i++) {
            double x, y;
            chart_place(c, shape->position[shape->triangle[3 * t + i]], &x, &y);
            if (c->kind != SPL_CHART_FLAT) { /* within half a turn of the first corner, whose own place is kept */
                if (i == 0) first = x;
                x -= floor(x - first + 0.5);
            }
            chart_to_texture(c, x < -margin ? -margin : x > 1 + margin ? 1 + margin : x, y, shape->uv + 6 * t + 2 * i);
        }
    }
}

/* ---- baking ----------------------------------------------------------------------------------------------------- */

enum { ROWS = 32 }; /* that are painted at once */

typedef struct canvas {
    const spl_shape *shape;
    spl_paint_fn *paint;
    int32_t size;
    uint8_t *rgba; /* alpha 0 where nothing is painted yet */
    uint8_t *copy; /* room for as much */
    const spl_chart *chart;
    int32_t *chart_of; /* by triangle */
} canvas;

/* Adds the colour at one of the four points of a pixel; `m` maps texture coordinates (u, v, 1) to the corners' shares.
 */
static void sample(const canvas *k, int32_t t, const spl_chart *c, double m[3][3], double u, double v, double *rgb)
{
    spl_vec3 p = spl_v3(0, 0, 0);
    for (int i = 0; i < 3; i++)
        p = spl_madd(p, k->shape->position[k->shape->triangle[3 * t + i]], m[i][0] * u + m[i][1] * v + m[i][2]);
    double across, along;
    chart_lengths(c, u, v, &across, &along);
    k->paint(p, across, along, rgb);
}

/* The mean colour over 2 x 2 points of a pixel; over the two on a diagonal where these agree, which halves the work. */
static void paint_pixel(const canvas *k, int32_t t, const spl_chart *c, double m[3][3], int32_t px, int32_t py)
{
    static const double du[4] = {0.25, 0.75, 0.25, 0.75}, dv[4] = {0.25, 0.75, 0.75, 0.25};
    double rgb[4][3], differ = 0;
    int count = 2;
    for (int s = 0; s < count; s++) {
        sample(k, t, c, m, (px + du[s]) / k->size, (py + dv[s]) / k->size, rgb[s]);
        for (int i = 0; s == 1 && i < 3; i++) differ = fmax(differ, fabs(rgb[0][i] - rgb[1][i]));
        if (s == 1 && differ > 0.03) count = 4;
    }
    uint8_t *to = k->rgba + 4 * ((size_t)py * (size_t)k->size + (size_t)px);
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int s = 0; s < count; s++) sum += rgb[s][i];
        to[i] = (uint8_t)(255 * fmin(fmax(sum / count, 0), 1) + 0.5);
    }
    to[3] = 255;
}

/* Paints the pixels of some rows whose centres lie in a triangle of the texture. */
static void paint_triangle(const canvas *k, int32_t t, int32_t first_row, int32_t end_row)
{
    const spl_chart *c = &k->chart[k->chart_of[t]];
    const float *uv = k->shape->uv + 6 * t;
    double x[3], y[3];
    for (int i = 0; i < 3; i++) {
        x[i] = (double)uv[2 * i];
        y[i] = (double)uv[2 * i + 1];
    }
    double size = k->size;
    int32_t y0 = (int32_t)floor(fmin(y[0], fmin(y[1], y[2])) * size);
    int32_t y1 = (int32_t)ceil(fmax(y[0], fmax(y[1], y[2])) * size);
    if (y0 < first_row) y0 = first_row;
    if (y1 > end_row) y1 = end_row;
    if (y0 >= y1) return;
    double area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
    if (fabs(area) < 1e-12) return;
    double m[3][3]; /* barycentric coordinates as linear functions of u, v */
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        m[i][0] = (y[j] - y[l]) / area;
        m[i][1] = (x[l] - x[j]) / area;
        m[i][2] = (x[j] * y[l] - x[l] * y[j]) / area;
    }
    int32_t x0 = (int32_t)floor(fmin(x[0], fmin(x[1], x[2])) * size);
    int32_t x1 = (int32_t)ceil(fmax(x[0], fmax(x[1], x[2])) * size);
    for (int32_t py = y0; py < y1; py++)
        for (int32_t px = x0 < 0 ? 0 : x0; px < x1 && px < k->size; px++) {
            double u = (px + 0.5) / size, v = (py + 0.5) / size;
            bool in = true;
            for (int i = 0; i < 3; i++) in &= m[i][0] * u + m[i][1] * v + m[i][2] >= -1e-9;
            if (in) paint_pixel(k, t, c, m, px, py);
        }
}

/* Triangles in order, whatever the rows: where two have a pixel, the last counts. */
static void paint_rows(void *context, size_t begin, size_t end)
{
    const canvas *k = context;
    for (int32_t t = 0; t < k->shape->triangle_count; t++) paint_triangle(k, t, (int32_t)begin, (int32_t)end);
}

/* Unpainted pixels take the colour of a painted neighbour, ring by ring: filtering at seams then sees no background. */
static void spread_rows(void *context, size_t begin, size_t end)
{
    const canvas *k = context;
    static const int32_t dx[8] = {1, -1, 0, 0, 1, 1, -1, -1}, dy[8] = {0, 0, 1, -1, 1, -1, 1, -1};
    size_t n = (size_t)k->size;
    for (int32_t y = (int32_t)begin; y < (int32_t)end; y++)
        for (int32_t x = 0; x < k->size; x++) {
            uint8_t *to = k->rgba + 4 * ((size_t)y * n + (size_t)x);
            for (int i = 0; to[3] == 0 && i < 8; i++) {
                int32_t sx = x + dx[i], sy = y + dy[i];
                if (sx < 0 || sy < 0 || sx >= k->size || sy >= k->size) continue;
                const uint8_t *from = k->copy + 4 * ((size_t)sy * n + (size_t)sx);
                if (from[3]) memcpy(to, from, 4);
            }
        }
}

/* What is still empty takes the mean colour, so that small copies of the texture do not darken at the charts' borders.
 */
static void fill(const canvas *k)
{
    size_t n = (size_t)k->size * (size_t)k->size, painted = 0;
    uint64_t sum[3] = {0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        painted += k->rgba[4 * i + 3] != 0;
        for (size_t c = 0; c < 3; c++) sum[c] += k->rgba[4 * i + c]; /* empty pixels are zero */
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < 3 && k->rgba[4 * i + 3] == 0; c++)
            k->rgba[4 * i + c] = (uint8_t)(sum[c] / (painted + !painted));
        k->rgba[4 * i + 3] = 255;
    }
}

supple_result spl_atlas_bake(const spl_shape *shape, const spl_chart *chart, spl_chart_fn *choose, spl_paint_fn *paint,
                             int32_t size, spl_pool *pool, spl_rigged_material *material, supple_error *error)
{
    const supple_allocator *a = &shape->allocator;
    size_t n = (size_t)size;
    canvas k = {shape, paint, size, spl_new(a, n * n, 4), spl_new(a, n * n, 4), chart, NULL};
    k.chart_of = spl_new(a, (size_t)shape->triangle_count, sizeof *k.chart_of);
    supple_result result = SUPPLE_OK;
    if (k.rgba && k.copy && k.chart_of) {
        for (int32_t t = 0; t < shape->triangle_count; t++) k.chart_of[t] = triangle_chart(shape, t, choose);
        spl_parallel_for(pool, n, ROWS, paint_rows, &k);
        for (int ring = 0; ring < 6; ring++) {
            memcpy(k.copy, k.rgba, 4 * n * n);
            spl_parallel_for(pool, n, ROWS, spread_rows, &k);
        }
        fill(&k);
        spl_pixels pixels = {size, size, k.rgba};
        result = spl_image_encode_png(&pixels, a, &material->png, &material->png_size, error);
    } else {
        result = spl_fail_memory(error, "a texture");
    }
    spl_free(a, k.rgba);
    spl_free(a, k.copy);
    spl_free(a, k.chart_of);
    return result;
}

/* Distance of x to the nearest whole number. */
static double to_whole(double x)
{
    return fabs(x - floor(x + 0.5));
}

supple_result spl_atlas_grid(const supple_allocator *a, const double rgb[3], int32_t columns, int32_t rows,
                             spl_rigged_material *material, supple_error *error)
{
    enum { SIZE = 512 };
    spl_pixels pixels = {SIZE, SIZE, spl_new(a, (size_t)SIZE * SIZE, 4)};
    if (!pixels.rgba) return spl_fail_memory(error, "a texture");
    for (int32_t y = 0; y < SIZE; y++)
        for (int32_t x = 0; x < SIZE; x++) {
            double u = (x + 0.5) / SIZE * columns, v = (y + 0.5) / SIZE * rows;
            double pu = (double)SIZE / columns, pv = (double)SIZE / rows; /* pixels between lines */
            double thin = fmin(to_whole(u) * pu, to_whole(v) * pv);
            double du = 5 * to_whole(u / 5) * pu, dv = 5 * to_whole(v / 5) * pv;
            double shade = thin < 1 ? 0.80 : 1;
            if (fmin(du, dv) < 1.5) shade = 0.62;
            if (du * du + dv * dv < 25) shade = 0.35;
            uint8_t *to = pixels.rgba + 4 * (y * SIZE + x);
            for (int i = 0; i < 3; i++) to[i] = (uint8_t)(255 * rgb[i] * shade + 0.5);
            to[3] = 255;
        }
    supple_result result = spl_image_encode_png(&pixels, a, &material->png, &material->png_size, error);
    spl_free(a, pixels.rgba);
    return result;
}

/* ---- noise ------------------------------------------------------------------------------------------------------ */

/* A value between -1 and 1 at a point of the integer lattice. */
static double lattice(int64_t x, int64_t y, int64_t z)
{
    uint64_t h = spl_mix((uint64_t)x * 73856093u ^ (uint64_t)y * 19349663u ^ (uint64_t)z * 83492791u);
    return (double)(h >> 11) * (2.0 / 9007199254740992.0) - 1;
}

/* Value noise: the lattice's values, blended by cubic steps. */
double spl_noise(spl_vec3 p, double scale)
{
    double f[3] = {p.x / scale, p.y / scale, p.z / scale}, sum = 0;
    int64_t at[3];
    for (int i = 0; i < 3; i++) {
        at[i] = (int64_t)floor(f[i]);
        f[i] -= (double)at[i];
        f[i] = f[i] * f[i] * (3 - 2 * f[i]);
    }
    for (int c = 0; c < 8; c++) {
        double w = (c & 1 ? f[0] : 1 - f[0]) * (c & 2 ? f[1] : 1 - f[1]) * (c & 4 ? f[2] : 1 - f[2]);
        sum += w * lattice(at[0] + (c & 1), at[1] + (c >> 1 & 1), at[2] + (c >> 2));
    }
    return sum;
}
