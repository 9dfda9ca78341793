/* An atlas in which skin can slide: what a slid corner samples is what the skin there shows, at seams too. The slow
 * twin is the colour itself, a smooth noise of space, of which the file's texture is a picture. */
#include "slide/atlas.h"

#include "core/memory.h"
#include "failing.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 512, N = 12 }; /* texels of the file's texture; squares along half of a sheet */
#define AT_SEAM 0.008        /* a texel of the coarsest chart */

/* A surface of two halves, each with a chart of its own, on x < 0 and x > 0. */
typedef struct halves {
    double *position;
    float *uv;
    int32_t *triangle, *input, *texture;
    int32_t vertices, triangles;
    spl_net net;
    spl_slide_uv map;
    double chart[2][6]; /* u = [0] + [1] x + [2] y, v = [3] + [4] x + [5] y */
} halves;

static double smooth(spl_vec3 p, int channel)
{
    return 128 + 60 * sin(2.5 * p.x + 1.5 * p.y + channel) + 50 * sin(2 * p.y - 1.5 * p.x + 2 * p.z + 2 * channel);
}

/* A noise of waves that are 32 texels of the coarsest chart and longer: up to 8 steps of 255 from texel to texel, so
 * that half of a texel off is seen. */
static double noise(spl_vec3 p, int channel)
{
    static const double wave[5][3] = {{24, 5, 22}, {-9, 21, 21}, {15, -19, 18}, {-20, -14, 16}, {4, 23, 13}};
    double sum = 128;
    for (int i = 0; i < 5; i++) sum += wave[i][2] * sin(wave[i][0] * p.x + wave[i][1] * p.y + (i + 2) * channel + i);
    return sum;
}

/* Mirrored halves that share their texels show the same on both sides. */
static double even(spl_vec3 p, int channel)
{
    p.x = fabs(p.x);
    return smooth(p, channel);
}

static double even_noise(spl_vec3 p, int channel)
{
    p.x = fabs(p.x);
    return noise(p, channel);
}

/* What a few texels show rightly. */
static double slope(spl_vec3 p, int channel)
{
    return 128 + (20 + channel) * p.x + 20 * p.y;
}

typedef double colour_fn(spl_vec3 p, int channel);

static void fill_half(halves *h, int half)
{
    int32_t first = half * (N + 1) * (2 * N + 1);
    for (int j = 0; j <= 2 * N; j++)
        for (int i = 0; i <= N; i++) {
            int32_t v = first + j * (N + 1) + i;
            double x = half ? (double)i / N : (double)i / N - 1, y = (double)j / N - 1;
            h->position[3 * v] = x;
            h->position[3 * v + 1] = y + 0.13 / N * sin(9 * x + 5 * y) * (fabs(y) < 0.99);
            h->position[3 * v + 2] = 0;
        }
    for (int j = 0; j < 2 * N; j++)
        for (int i = 0; i < N; i++) {
            int32_t a = first + j * (N + 1) + i, *t = h->triangle + 3 * h->triangles;
            const int32_t quad[6] = {a, a + 1, a + N + 2, a, a + N + 2, a + N + 1};
            memcpy(t, quad, sizeof quad);
            h->triangles += 2;
        }
}

static bool make(halves *h, const double chart[2][6], bool two_materials)
{
    supple_allocator a = spl_allocator_of(NULL);
    memset(h, 0, sizeof *h);
    memcpy(h->chart, chart, sizeof h->chart);
    h->vertices = 2 * (N + 1) * (2 * N + 1);
    int32_t room = 8 * N * N;
    h->position = calloc((size_t)h->vertices, 3 * sizeof(double));
    h->triangle = calloc((size_t)room, 3 * sizeof(int32_t));
    h->uv = calloc((size_t)room, 6 * sizeof(float));
    h->input = calloc((size_t)room, sizeof(int32_t));
    h->texture = calloc((size_t)room, sizeof(int32_t));
    fill_half(h, 0);
    fill_half(h, 1);
    for (int32_t c = 0; c < 3 * h->triangles; c++) {
        int half = c / 3 >= h->triangles / 2;
        const double *x = h->position + 3 * h->triangle[c], *m = chart[half];
        h->uv[2 * c] = (float)(m[0] + m[1] * x[0] + m[2] * x[1]);
        h->uv[2 * c + 1] = (float)(m[3] + m[4] * x[0] + m[5] * x[1]);
        h->input[c / 3] = c / 3;
        h->texture[c / 3] = two_materials ? half : 0;
    }
    return spl_net_make(h->position, h->vertices, h->triangle, h->triangles, &a, &h->net, NULL) == SUPPLE_OK &&
           spl_slide_uv_make(&h->net, h->uv, h->input, h->texture, &a, &h->map, NULL) == SUPPLE_OK;
}

static void release(halves *h)
{
    spl_slide_uv_release(&h->map);
    spl_net_release(&h->net);
    free(h->position);
    free(h->triangle);
    free(h->uv);
    free(h->input);
    free(h->texture);
}

/* The file's texture: the colour where a half's chart is, glaring stripes elsewhere. */
static spl_pixels picture(const halves *h, colour_fn *colour, int only)
{
    spl_pixels p = {SIDE, SIDE, calloc((size_t)SIDE * SIDE, 4)};
    for (int i = 0; i < SIDE * SIDE; i++) {
        for (int c = 0; c < 4; c++) p.rgba[4 * i + c] = c == 3 || (i / 2 + i / SIDE / 2) % 2 ? 255 : 0;
        for (int half = 0; half < 2; half++) {
            const double *m = h->chart[half];
            double u = (i % SIDE + 0.5) / SIDE - m[0], v = (i / SIDE + 0.5) / SIDE - m[3];
            double det = m[1] * m[5] - m[2] * m[4];
            double x = (u * m[5] - v * m[2]) / det, y = (m[1] * v - m[4] * u) / det;
            bool inside = (half ? x >= 0 && x <= 1 : x <= 0 && x >= -1) && fabs(y) <= 1;
            if (!inside || (only >= 0 && only != half)) continue;
            for (int c = 0; c < 3; c++) p.rgba[4 * i + c] = (uint8_t)(colour(spl_v3(x, y, 0), c) + 0.5);
        }
    }
    return p;
}

/* What a renderer shows. */
static void look_up(const spl_pixels *p, double u, double v, double out[3])
{
    double x = u * p->width - 0.5, y = v * p->height - 0.5, fx = x - floor(x), fy = y - floor(y);
    for (int c = 0; c < 3; c++) {
        out[c] = 0;
        for (int i = 0; i < 4; i++) {
            int64_t tx = (int64_t)floor(x) + (i & 1), ty = (int64_t)floor(y) + (i >> 1);
            tx = tx < 0 ? 0 : tx >= p->width ? p->width - 1 : tx;
            ty = ty < 0 ? 0 : ty >= p->height ? p->height - 1 : ty;
            out[c] += (i & 1 ? fx : 1 - fx) * (i & 2 ? fy : 1 - fy) * p->rgba[4 * (ty * p->width + tx) + c];
        }
    }
}

/* Skin that has come from the side: over the seam, by up to three squares, more in the middle. */
static void slide(const halves *h, double along, double up, spl_place *place, double *reach)
{
    const spl_surface *s = &h->net.surface;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        spl_vec3 x = s->position[v];
        double bump = (1 - x.x * x.x) * (1 - x.y * x.y);
        spl_place at = spl_net_vertex(&h->net, v);
        place[v] = spl_net_go(&h->net, &at, spl_v3(along * bump, up * bump, 0));
        reach[v] = fmax(reach[v], spl_norm(spl_sub(spl_surface_point(s, &place[v]), x)));
    }
}

typedef struct truth {
    double corner, within; /* largest differences, of 255 */
    double near_seam;      /* the same at skin that is within a texel of a seam: there the file's charts end */
    int32_t beyond, clashes, patches;
    double scale;
    int64_t side;
} truth;

/* Slides in steps, then compares corners and places within triangles with the colour itself. */
static truth check(halves *h, colour_fn *colour, double along, double up, double known, int32_t limit, bool two)
{
    const spl_surface *s = &h->net.surface;
    spl_place *place = calloc((size_t)s->vertex_count, sizeof *place);
    double *reach = calloc((size_t)s->vertex_count, sizeof *reach);
    float *uv = calloc((size_t)h->triangles, 6 * sizeof *uv);
    spl_atlas_sheet sheets[2] = {{.material = 0, .from = {SIDE, SIDE}}, {.material = 1, .from = {SIDE, SIDE}}};
    spl_pixels file[2] = {picture(h, colour, two ? 0 : -1), picture(h, colour, 1)}, made[2] = {{0}};
    spl_atlas_map map[2] = {{&file[0], {1, 1, 1, 1}}, {&file[1], {1, 1, 1, 1}}};
    spl_atlas atlas = {0};
    truth t = {.corner = 999, .within = 999, .near_seam = 999};
    slide(h, along, up, place, reach);
    for (int32_t v = 0; v < s->vertex_count; v++) reach[v] *= known;
    if (spl_atlas_make(&h->net, &h->map, sheets, two ? 2 : 1, h->texture, reach, limit, NULL, &atlas, NULL) ==
        SUPPLE_OK) {
        for (int m = 0; m <= two; m++) spl_atlas_paint(&atlas, m, SPL_ATLAS_COLOUR, map, NULL, &made[m], NULL);
        for (int k = 1; k <= 6; k++) {
            slide(h, along * k / 6, up * k / 6, place, reach);
            t.beyond += spl_atlas_follow(&atlas, place, uv);
        }
        t = (truth){0,
                    0,
                    0,
                    t.beyond,
                    atlas.sheet[0].clashes,
                    atlas.patch_count,
                    atlas.sheet[0].scale,
                    atlas.sheet[0].size[0] > atlas.sheet[0].size[1] ? atlas.sheet[0].size[0] : atlas.sheet[0].size[1]};
        for (int32_t i = 0; i < s->triangle_count; i++)
            for (int k = 0; k < 7; k++) { /* corners, then places within */
                static const double w[7][3] = {{1, 0, 0},    {0, 1, 0},    {0, 0, 1},  {.34, .33, .33},
                                               {.6, .3, .1}, {.1, .1, .8}, {0, .5, .5}};
                double at[2] = {0}, got[3];
                spl_vec3 y = spl_v3(0, 0, 0);
                for (int c = 0; c < 3; c++) {
                    int turned = s->flipped[i] && c ? 3 - c : c;
                    const float *from = uv + 2 * (3 * s->source[i] + turned);
                    for (int d = 0; d < 2; d++) at[d] += w[k][c] * (double)from[d];
                    y = spl_madd(y, spl_surface_point(s, &place[s->triangle[3 * i + c]]), w[k][c]);
                }
                if (fmax(fabs(y.x), fabs(y.y)) > 0.99) continue; /* half a texel from where the file ends, too */
                look_up(&made[two ? h->texture[s->source[i]] : 0], at[0], at[1], got);
                for (int c = 0; c < 3; c++) {
                    double d = fabs(got[c] - colour(y, c));
                    if (fabs(y.x) < AT_SEAM)
                        t.near_seam = fmax(t.near_seam, d);
                    else if (k < 3)
                        t.corner = fmax(t.corner, d);
                    else
                        t.within = fmax(t.within, d);
                }
            }
    }
    supple_allocator a = spl_allocator_of(NULL);
    for (int m = 0; m < 2; m++) {
        free(file[m].rgba);
        spl_pixels_free(&made[m], &a);
    }
    spl_atlas_release(&atlas);
    free(place);
    free(reach);
    free(uv);
    return t;
}

/* Charts side by side, one turned by a right angle, one mirrored, one half as large, both on the same texels. */
static const double CHARTS[5][2][6] = {
    {{.45, .35, 0, .5, 0, .4}, {.55, .35, 0, .5, 0, .4}},  {{.45, .35, 0, .5, 0, .4}, {.75, 0, .245, .3, .5, 0}},
    {{.45, .35, 0, .5, 0, .4}, {.95, -.35, 0, .5, 0, .4}}, {{.45, .35, 0, .5, 0, .4}, {.6, .3, 0, .65, 0, .3}},
    {{.5, -.35, 0, .5, 0, .4}, {.5, .35, 0, .5, 0, .4}},
};

/* Half a texel from its end a chart of the file knows no more: what is smooth is right there too, noise is elsewhere.
 */
static void check_charts(int charts, bool two, colour_fn *colour, double near_seam)
{
    halves h;
    REQUIRE(make(&h, CHARTS[charts], two));
    truth t = check(&h, colour, 0.2, 0.07, 1, 4096, two);
    if (t.corner > 2 || t.within > 2 || t.near_seam > near_seam || t.beyond || t.clashes)
        printf("charts %d, %d materials: corners %.2f, within %.2f, at seams %.2f, beyond %d, clashes %d, patches %d\n",
               charts, two + 1, t.corner, t.within, t.near_seam, t.beyond, t.clashes, t.patches);
    CHECK(t.corner <= 2 && t.within <= 2 && t.near_seam <= near_seam);
    CHECK(t.beyond == 0 && t.clashes == 0 && t.scale == 1);
    release(&h);
}

TEST(what_slides_over_a_seam_is_what_is_there)
{
    for (int i = 0; i < 5; i++)
        for (int two = 0; two < (i == 4 ? 1 : 2); two++) {
            check_charts(i, two, i == 4 ? even : smooth, 2);
            check_charts(i, two, i == 4 ? even_noise : noise, 5);
        }
}

/* The same where too little is known of the way, and where the image may not be large. */
/* Characters painted by a few texels of each colour: such a chart is laid out anew, at a density of its own. */
TEST(charts_of_a_few_texels_are_laid_anew)
{
    static const double strips[2][6] = {{.3, .2, 0, .5, 0, .02}, {.9, .02, 0, .5, 0, .2}};
    halves h;
    REQUIRE(make(&h, strips, false));
    truth t = check(&h, slope, 0.2, 0.07, 1, 4096, false), coarse = check(&h, slope, 0.2, 0.07, 1, 300, false);
    printf("    side %d, corners %.2f, within %.2f; side %d, %.2f, %.2f\n", (int)t.side, t.corner, t.within,
           (int)coarse.side, coarse.corner, coarse.within);
    CHECK(t.side > 1000 && t.corner <= 2 && t.within <= 2 && t.beyond == 0 && t.clashes == 0 && t.scale == 1);
    CHECK(coarse.side <= 300);
    release(&h);
}

TEST(what_is_beyond_the_atlas_is_counted)
{
    halves h;
    REQUIRE(make(&h, CHARTS[1], false));
    truth t = check(&h, smooth, 0.2, 0.07, 0.1, 4096, false);
    CHECK(t.beyond > 0 && t.corner > 8);
    release(&h);
}

TEST(a_limit_makes_texels_larger)
{
    halves h;
    REQUIRE(make(&h, CHARTS[1], false));
    truth t = check(&h, smooth, 0.2, 0.07, 1, 4096, false), small = check(&h, smooth, 0.2, 0.07, 1, 200, false);
    CHECK(t.side > 200 && small.side <= 200 && small.scale < 0.7 && small.scale > 0.2);
    CHECK(small.corner < 12 && small.beyond == 0);
    release(&h);
}

/* A chart that lies between the centres of two columns of texels is painted all the same: some characters have
 * triangles of which the texture shows a third of a texel. */
TEST(charts_narrower_than_a_texel_are_painted)
{
    static const double narrow[2][6] = {{.45, .35, 0, .5, 0, .4}, {461.6 / SIDE, .3 / SIDE, 0, .5, 0, .4}};
    halves h;
    REQUIRE(make(&h, narrow, false));
    int32_t n = h.net.surface.vertex_count, unpainted = 0;
    double *reach = calloc((size_t)n, sizeof *reach);
    float *uv = calloc((size_t)h.triangles, 6 * sizeof *uv);
    spl_atlas_sheet sheet = {.material = 0, .from = {SIDE, SIDE}};
    spl_pixels grey = {SIDE, SIDE, malloc((size_t)SIDE * SIDE * 4)}, made = {0};
    memset(grey.rgba, 100, (size_t)SIDE * SIDE * 4);
    spl_atlas_map map = {&grey, {1, 1, 1, 1}};
    spl_place *place = calloc((size_t)n, sizeof *place);
    spl_atlas atlas;
    for (int32_t v = 0; v < n; v++) place[v] = spl_net_vertex(&h.net, v);
    REQUIRE(spl_atlas_make(&h.net, &h.map, &sheet, 1, h.texture, reach, 4096, NULL, &atlas, NULL) == SUPPLE_OK);
    REQUIRE(spl_atlas_paint(&atlas, 0, SPL_ATLAS_COLOUR, &map, NULL, &made, NULL) == SUPPLE_OK);
    CHECK(spl_atlas_follow(&atlas, place, uv) == 0);
    for (int32_t c = 0; c < 3 * h.triangles; c++) {
        double got[3];
        look_up(&made, (double)uv[2 * c], (double)uv[2 * c + 1], got);
        unpainted += fabs(got[0] - 100) > 1e-9;
    }
    CHECK(unpainted == 0);
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels_free(&made, &a);
    spl_atlas_release(&atlas);
    free(grey.rgba);
    free(place);
    free(reach);
    free(uv);
    release(&h);
}

/* ---- normals ---- */

/* The file's normals: a direction of space, (0.5, 0.2) on the sheet, in each chart's own tangents. */
static spl_pixels normals(const halves *h)
{
    spl_pixels p = picture(h, smooth, -1);
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int half = 0; half < 2; half++) {
            const double *m = h->chart[half];
            double u = (i % SIDE + 0.5) / SIDE - m[0], v = (i / SIDE + 0.5) / SIDE - m[3];
            double det = m[1] * m[5] - m[2] * m[4], x = (u * m[5] - v * m[2]) / det;
            if (half ? x < 0 || x > 1 : x > 0 || x < -1) continue;
            if (fabs((m[1] * v - m[4] * u) / det) > 1) continue;
            double side = det < 0 ? 1 : -1, length = sqrt(m[4] * m[4] + m[5] * m[5]);
            double t[2] = {-side * m[5] / length, side * m[4] / length}; /* along u: v is the same */
            double b[2] = {-side * t[1], side * t[0]};                   /* green: where v falls */
            p.rgba[4 * i] = (uint8_t)(127.5 * (1 + 0.5 * t[0] + 0.2 * t[1]) + 0.5);
            p.rgba[4 * i + 1] = (uint8_t)(127.5 * (1 + 0.5 * b[0] + 0.2 * b[1]) + 0.5);
            p.rgba[4 * i + 2] = 235;
        }
    return p;
}

/* Beyond a seam they are turned into the tangents of the chart that is extended: each is of one colour then. */
TEST(normals_are_turned_with_the_charts)
{
    for (int i = 0; i < 4; i++) {
        halves h;
        REQUIRE(make(&h, CHARTS[i], false));
        spl_place *place = calloc((size_t)h.net.surface.vertex_count, sizeof *place);
        double *reach = calloc((size_t)h.net.surface.vertex_count, sizeof *reach);
        spl_atlas_sheet sheet = {.material = 0, .from = {SIDE, SIDE}};
        spl_pixels file = normals(&h), made = {0};
        spl_atlas_map map = {&file, {1, 1, 1, 1}};
        spl_atlas atlas;
        supple_allocator a = spl_allocator_of(NULL);
        slide(&h, 0.2, 0.07, place, reach);
        REQUIRE(spl_atlas_make(&h.net, &h.map, &sheet, 1, h.texture, reach, 4096, NULL, &atlas, NULL) == SUPPLE_OK);
        REQUIRE(spl_atlas_paint(&atlas, 0, SPL_ATLAS_NORMAL, &map, NULL, &made, NULL) == SUPPLE_OK);
        REQUIRE(atlas.patch_count == 2);
        int32_t most = 0, seen = 0;
        for (int k = 0; k < 2; k++) {
            const spl_patch *p = &atlas.patch[k];
            for (int32_t c = 0; c < p->cell_count; c++) {
                double at[2], first[2];
                spl_patch_point(p, c, (double[]){1. / 3, 1. / 3, 1. / 3}, at);
                spl_patch_point(p, 0, (double[]){1. / 3, 1. / 3, 1. / 3}, first);
                spl_place back;
                int64_t x = (int64_t)floor(at[0]) - p->low[0] + p->place[0];
                int64_t y = (int64_t)floor(at[1]) - p->low[1] + p->place[1];
                int64_t x0 = (int64_t)floor(first[0]) - p->low[0] + p->place[0];
                int64_t y0 = (int64_t)floor(first[1]) - p->low[1] + p->place[1];
                double uv[2] = {((double)x + 0.5) / (double)atlas.sheet[0].size[0],
                                ((double)y + 0.5) / (double)atlas.sheet[0].size[1]};
                if (!spl_atlas_look(&atlas, p->cell[0], uv, &back, NULL) || back.triangle != p->cell[c]) continue;
                if (made.rgba[4 * (y * made.width + x) + 2] == 0) continue; /* farther out than skin comes from */
                seen += !p->native[c];
                for (int d = 0; d < 3; d++) {
                    int32_t off =
                        abs(made.rgba[4 * (y * made.width + x) + d] - made.rgba[4 * (y0 * made.width + x0) + d]);
                    most = off > most ? off : most;
                }
            }
        }
        CHECK(seen > 10);
        CHECK(most <= 2);
        spl_atlas_release(&atlas);
        spl_pixels_free(&made, &a);
        free(file.rgba);
        free(place);
        free(reach);
        release(&h);
    }
}

TEST(every_allocation_may_fail)
{
    failing f = {.fail_at = -1};
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    halves h;
    REQUIRE(make(&h, CHARTS[1], true));
    double *reach = calloc((size_t)h.net.surface.vertex_count, sizeof *reach);
    spl_place *place = calloc((size_t)h.net.surface.vertex_count, sizeof *place);
    slide(&h, 0.2, 0.07, place, reach);
    spl_atlas_sheet sheets[2] = {{.material = 0, .from = {64, 64}}, {.material = 1, .from = {64, 64}}};
    spl_pixels file = picture(&h, smooth, -1), made;
    spl_atlas_map map[2] = {{&file, {1, 1, 1, 1}}, {&file, {1, 1, 1, 1}}};
    spl_atlas atlas;
    for (long k = -1, all = 0; k < all; k++) {
        f = (failing){.fail_at = k};
        supple_result r = spl_atlas_make(&h.net, &h.map, sheets, 2, h.texture, reach, 128, &config, &atlas, NULL);
        if (r == SUPPLE_OK) r = spl_atlas_paint(&atlas, 1, SPL_ATLAS_COLOUR, map, NULL, &made, NULL);
        CHECK(r == (k < 0 ? SUPPLE_OK : SUPPLE_ERROR_MEMORY));
        if (r == SUPPLE_OK) spl_pixels_free(&made, &config.allocator);
        spl_atlas_release(&atlas);
        if (k < 0) all = f.requests;
        CHECK(f.live == 0);
    }
    free(file.rgba);
    free(place);
    free(reach);
    release(&h);
}

TEST_CASES(RUN(what_slides_over_a_seam_is_what_is_there), RUN(charts_of_a_few_texels_are_laid_anew),
           RUN(what_is_beyond_the_atlas_is_counted), RUN(a_limit_makes_texels_larger),
           RUN(charts_narrower_than_a_texel_are_painted), RUN(normals_are_turned_with_the_charts),
           RUN(every_allocation_may_fail))
