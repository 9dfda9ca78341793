/* Baked textures: what does not move stays as it is, what moves is where it was looked up, nothing foreign bleeds in.
 */
#include "slide/bake.h"

#include "failing.h"
#include "slide/charts.h"
#include "test.h"

static const double PI = 3.14159265358979323846;

static bool every_part(const void *context, const supple_scene *scene, int32_t instance, const spl_primitive *p)
{
    (void)context, (void)scene, (void)instance, (void)p;
    return true;
}

/* ---- pictures ---- */

static spl_pixels new_picture(int32_t width, int32_t height)
{
    supple_allocator a = spl_allocator_of(NULL);
    return (spl_pixels){width, height, spl_new(&a, (size_t)width * (size_t)height, 4)};
}

/* Noise: no two neighbours are alike. */
static spl_pixels noise(int32_t width, int32_t height)
{
    spl_pixels p = new_picture(width, height);
    uint32_t state = 12345;
    for (size_t i = 0; i < 4 * (size_t)width * (size_t)height; i++) {
        state = state * 1664525u + 1013904223u;
        p.rgba[i] = (uint8_t)(state >> 24);
    }
    return p;
}

static spl_pixels copy_of(const spl_pixels *from)
{
    spl_pixels p = new_picture(from->width, from->height);
    memcpy(p.rgba, from->rgba, 4 * (size_t)p.width * (size_t)p.height);
    return p;
}

static const uint8_t *pixel(const spl_pixels *p, int64_t x, int64_t y)
{
    x = (x % p->width + p->width) % p->width;
    y = (y % p->height + p->height) % p->height;
    return p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x);
}

/* What a renderer shows at a texture coordinate. */
static void look_up(const spl_pixels *p, double u, double v, double out[4])
{
    double x = u * p->width - 0.5, y = v * p->height - 0.5, x0 = floor(x), y0 = floor(y);
    for (int c = 0; c < 4; c++) {
        out[c] = 0;
        for (int i = 0; i < 4; i++)
            out[c] += (i & 1 ? x - x0 : 1 - x + x0) * (i & 2 ? y - y0 : 1 - y + y0) *
                      pixel(p, (int64_t)x0 + (i & 1), (int64_t)y0 + (i >> 1))[c];
    }
}

/* ---- slides ---- */

static void stay(double u, double v, int part, const double *parameter, double out[2])
{
    (void)part, (void)parameter;
    out[0] = u, out[1] = v;
}

static void shift(double u, double v, int part, const double *by, double out[2])
{
    out[0] = u + by[2 * part], out[1] = v + by[2 * part + 1];
}

/* u' = centre + M (u - centre), M row by row. */
static void affine(double u, double v, int part, const double *m, double out[2])
{
    (void)part;
    out[0] = 0.5 + m[0] * (u - 0.5) + m[1] * (v - 0.5);
    out[1] = 0.5 + m[2] * (u - 0.5) + m[3] * (v - 0.5);
}

static void swirl(double u, double v, int part, const double *most, double out[2])
{
    double x = u - 0.5, y = v - 0.5, a = most[part] * exp(-8 * (x * x + y * y));
    out[0] = 0.5 + cos(a) * x - sin(a) * y, out[1] = 0.5 + sin(a) * x + cos(a) * y;
}

/* Bakes one frame; the result is freed by the caller. */
static spl_pixels bake(const charts *c, const spl_pixels *input, bool normals, slide_fn *slide, const double *parameter,
                       spl_slide_bake_layout *counts)
{
    spl_slide_bake b;
    spl_pixels taken = copy_of(input), out = {0};
    if (spl_slide_bake_init(&b, &c->scene, &taken, normals, every_part, NULL, NULL, NULL, NULL) != SUPPLE_OK)
        return out;
    float *uv = slide_charts(c, slide, parameter);
    spl_slide_frame frame = {uv, NULL, c->corners, 0};
    spl_slide_bake_frame(&b, c->position, &frame);
    if (counts) *counts = b.layout;
    out = b.output;
    b.output.rgba = NULL;
    free(uv);
    spl_slide_bake_release(&b);
    return out;
}

static void free_picture(spl_pixels *p)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels_free(p, &a);
}

static int largest_difference(const spl_pixels *a, const spl_pixels *b, int64_t dx, int64_t dy)
{
    int most = 0;
    for (int32_t y = 0; y < a->height; y++)
        for (int32_t x = 0; x < a->width; x++)
            for (int k = 0; k < 4; k++) {
                int d = abs(pixel(a, x, y)[k] - pixel(b, x + dx, y + dy)[k]);
                most = d > most ? d : most;
            }
    return most;
}

/* ---- cases ---- */

/* Skin that stays gives the very bytes: charts inside, over the border, far outside 0..1, of triangles below a texel,
 * turned over; where no triangle is, the input stands. */
TEST(still_skin_bakes_the_input)
{
    static const chart cases[] = {{5, 1, {0.1, 0.8, 0}, {0.9, 0, -0.8}},   {4, 1, {0.7, 0.6, 0.1}, {0.2, 0.1, 0.5}},
                                  {3, 1, {2.3, 0.8, 0}, {-1.2, 0, 0.8}},   {40, 1, {0.1, 0.5, 0}, {0.1, 0, 0.5}},
                                  {6, 1, {0.9, -0.7, 0.2}, {0.1, 0, 0.8}}, {1, 1, {0, 1, 0}, {0, 0, 1}},
                                  {2, 1, {0.3, 1e-4, 0}, {0.3, 0, 1e-4}}};
    spl_pixels input = noise(61, 47);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        charts c;
        spl_slide_bake_layout l = {0};
        make_charts(&c, &cases[i], 1);
        spl_pixels colour = bake(&c, &input, false, stay, NULL, &l), normal = bake(&c, &input, true, stay, NULL, NULL);
        REQUIRE(colour.rgba && normal.rgba);
        /* The gutter holds what its island goes on with, so only covered texels are the input's: count the others. */
        int wrong = 0, turned = 0;
        double area = fabs(cases[i].u[1] * cases[i].v[2] - cases[i].u[2] * cases[i].v[1]) * 61 * 47;
        for (int32_t t = 0; t < 61 * 47; t++) {
            wrong += memcmp(colour.rgba + 4 * t, input.rgba + 4 * t, 4) != 0;
            for (int k = 0; k < 4; k++) turned += abs(normal.rgba[4 * t + k] - input.rgba[4 * t + k]) > 1;
        }
        CHECK(wrong <= (int)l.gutter && turned <= 4 * (int)l.gutter);
        CHECK(fabs((double)l.covered - area) <= 0.1 * area + 2 && l.covered + l.gutter <= 61 * 47);
        CHECK(l.shared == 0 && l.island_count == 1 && l.skipped == 0);
        free_picture(&colour);
        free_picture(&normal);
        free_charts(&c);
    }
    free_picture(&input);
}

/* The covered texels, one by one, against point in rectangle. */
TEST(covered_texels_are_the_input)
{
    static const chart in = {7, 1, {0.15, 0.7, 0}, {0.9, 0, -0.75}};
    spl_pixels input = noise(64, 64);
    charts c;
    make_charts(&c, &in, 1);
    spl_pixels out = bake(&c, &input, false, stay, NULL, NULL);
    int covered = 0, same = 0;
    for (int32_t y = 0; y < 64; y++)
        for (int32_t x = 0; x < 64; x++) {
            double u = (x + 0.5) / 64, v = (y + 0.5) / 64;
            if (u < 0.151 || u > 0.849 || v < 0.151 || v > 0.899) continue;
            covered++;
            same += memcmp(pixel(&out, x, y), pixel(&input, x, y), 4) == 0;
        }
    CHECK(covered > 2000 && same == covered);
    free_picture(&out);
    free_picture(&input);
    free_charts(&c);
}

/* A shift by whole texels is the shifted image; by half a texel the mean of two; the texture repeats. */
TEST(a_shift_is_a_shifted_image)
{
    static const chart in = {9, 1, {0, 1, 0}, {1, 0, -1}};
    static const double whole[2] = {5.0 / 64, -3.0 / 32}, half[2] = {0.5 / 64, 0}, far[2] = {-70.0 / 64, 37.0 / 32};
    spl_pixels input = noise(64, 32);
    charts c;
    make_charts(&c, &in, 1);
    spl_pixels out = bake(&c, &input, false, shift, whole, NULL);
    CHECK(largest_difference(&out, &input, 5, -3) <= 1 && largest_difference(&out, &input, 0, 0) > 100);
    free_picture(&out);
    out = bake(&c, &input, false, shift, far, NULL);
    CHECK(largest_difference(&out, &input, -70, 37) <= 1);
    free_picture(&out);
    out = bake(&c, &input, false, shift, half, NULL);
    int wrong = 0;
    for (int32_t y = 0; y < 32; y++)
        for (int32_t x = 0; x < 64; x++)
            for (int k = 0; k < 4; k++)
                wrong += fabs(pixel(&out, x, y)[k] - 0.5 * (pixel(&input, x, y)[k] + pixel(&input, x + 1, y)[k])) > 0.6;
    CHECK(wrong == 0);
    free_picture(&out);
    free_picture(&input);
    free_charts(&c);
}

/* u' = centre + M (u - centre); the centre follows M. */
static void turn_about(double u, double v, int part, const double *m, double out[2])
{
    (void)part;
    out[0] = m[4] + m[0] * (u - m[4]) + m[1] * (v - m[5]);
    out[1] = m[5] + m[2] * (u - m[4]) + m[3] * (v - m[5]);
}

/* A chart over the texture's corner is the same chart in the middle of a texture that is rolled by half its size. */
TEST(charts_over_the_border)
{
    static const chart border = {5, 1, {2.7, 0.6, 0}, {-1.3, 0, 0.6}}, middle = {5, 1, {0.2, 0.6, 0}, {0.2, 0, 0.6}};
    static const double far[6] = {0.8, 0.3, -0.2, 0.9, 3, -1}, near[6] = {0.8, 0.3, -0.2, 0.9, 0.5, 0.5};
    spl_pixels input = noise(64, 64), rolled = new_picture(64, 64);
    for (int32_t i = 0; i < 64 * 64; i++) memcpy(rolled.rgba + 4 * i, pixel(&input, i % 64 + 32, i / 64 + 32), 4);
    charts a, b;
    make_charts(&a, &border, 1);
    make_charts(&b, &middle, 1);
    spl_pixels one = bake(&a, &input, false, turn_about, far, NULL);
    spl_pixels two = bake(&b, &rolled, false, turn_about, near, NULL);
    CHECK(largest_difference(&two, &one, 32, 32) <= 1);
    free_picture(&one);
    free_picture(&two);
    free_picture(&input);
    free_picture(&rolled);
    free_charts(&a);
    free_charts(&b);
}

/* Against a slow twin: every texel well inside the chart by its own interpolation in the square that holds it. */
TEST(a_swirl_is_looked_up_where_it_came_from)
{
    static const chart in = {24, 1, {0, 1, 0}, {0, 0, 1}};
    static const double most[1] = {1.2};
    spl_pixels input = new_picture(96, 96);
    for (int32_t i = 0; i < 96 * 96; i++) { /* smooth, so that a small error is a small difference */
        double x = (i % 96 + 0.5) / 96, y = (i / 96 + 0.5) / 96;
        uint8_t color[4] = {(uint8_t)(127 + 120 * sin(2 * PI * x)), (uint8_t)(127 + 120 * cos(2 * PI * (x + y))),
                            (uint8_t)(127 + 120 * sin(2 * PI * y)), 255};
        memcpy(input.rgba + 4 * i, color, 4);
    }
    charts c;
    make_charts(&c, &in, 1);
    spl_pixels out = bake(&c, &input, false, swirl, most, NULL);
    double worst = 0;
    for (int32_t y = 0; y < 96; y++)
        for (int32_t x = 0; x < 96; x++) {
            double corner[3][2], seen[4], u = (x + 0.5) / 96 * 24, v = (y + 0.5) / 96 * 24;
            double i = floor(u), j = floor(v), a = u - i, b = v - j, slid[2] = {0};
            bool upper = b > a; /* the square's diagonal runs from (0, 0) to (1, 1) */
            const double w[3] = {upper ? 1 - b : 1 - a, upper ? a : b, upper ? b - a : a - b};
            const double at[3][2] = {{i, j}, {i + 1, j + 1}, {upper ? i : i + 1, upper ? j + 1 : j}};
            for (int k = 0; k < 3; k++) {
                swirl(at[k][0] / 24, at[k][1] / 24, 0, most, corner[k]);
                for (int d = 0; d < 2; d++) slid[d] += w[k] * corner[k][d];
            }
            look_up(&input, slid[0], slid[1], seen);
            for (int k = 0; k < 4; k++) worst = fmax(worst, fabs(seen[k] - pixel(&out, x, y)[k]));
        }
    CHECK(worst < 0.51);
    free_picture(&out);
    free_picture(&input);
    free_charts(&c);
}

/* Two islands on a foreign ground without any gutter of its own: whatever slides, nothing of the ground shows where a
 * renderer looks up the charts, borders included. */
TEST(no_foreign_colour_in_the_gutters)
{
    static const chart in[2] = {{6, 1, {0.07, 0.4, 0}, {0.1, 0, 0.8}}, {5, 1, {0.55, 0.35, 0.05}, {0.85, 0.02, -0.7}}};
    static const double by[4] = {3.3 / 80, 1.7 / 80, -2.6 / 80, 4.2 / 80}, none[4] = {0};
    charts c;
    make_charts(&c, in, 2);
    spl_pixels ground = new_picture(80, 80);
    for (int32_t i = 0; i < 80 * 80; i++) { /* red and blue where the centre is in a chart, else green */
        double u = (i % 80 + 0.5) / 80, v = (i / 80 + 0.5) / 80;
        double y = (v - 0.85 - 0.02 * (u - 0.55) / 0.35) / (-0.7 - 0.02 * 0.05 / 0.35),
               x = (u - 0.55 - 0.05 * y) / 0.35;
        bool a = u >= 0.07 && u <= 0.47 && v >= 0.1 && v <= 0.9, b = x >= 0 && x <= 1 && y >= 0 && y <= 1;
        uint8_t color[4] = {a ? 255 : 0, a || b ? 0 : 255, b && !a ? 255 : 0, 255};
        memcpy(ground.rgba + 4 * i, color, 4);
    }
    for (int round = 0; round < 2; round++) {
        spl_slide_bake_layout l;
        spl_pixels out = bake(&c, &ground, false, shift, round ? by : none, &l);
        CHECK(l.island_count == 2);
        double green = 0, other = 0;
        for (int part = 0; part < 2; part++)
            for (int i = 0; i <= 200; i++)
                for (int j = 0; j <= 200; j++) {
                    double x = i / 200.0, y = j / 200.0, seen[4];
                    const chart *k = &in[part];
                    look_up(&out, k->u[0] + k->u[1] * x + k->u[2] * y, k->v[0] + k->v[1] * x + k->v[2] * y, seen);
                    green = fmax(green, seen[1]);
                    other = fmax(other, seen[part ? 0 : 2]);
                }
        CHECK(green == 0 && other == 0);
        free_picture(&out);
    }
    free_picture(&ground);
    free_charts(&c);
}

/* Where the texture goes on, the gutter goes on with it: no step at a border, as copies of border texels would make. */
TEST(gutters_go_on_straight)
{
    /* Its borders run half way between texels, where what lies outside counts most. */
    static const chart in = {8, 1, {10.0 / 48, 28.0 / 48, 0}, {10.0 / 48, 0, 28.0 / 48}};
    static const double shrink[4] = {0.7, 0.1, -0.1, 0.7};
    spl_pixels ramp = new_picture(48, 48);
    for (int32_t i = 0; i < 48 * 48; i++) { /* five levels a texel */
        uint8_t color[4] = {(uint8_t)(5 * (i % 48)), (uint8_t)(5 * (i / 48)), 0, 255};
        memcpy(ramp.rgba + 4 * i, color, 4);
    }
    charts c;
    make_charts(&c, &in, 1);
    spl_pixels out = bake(&c, &ramp, false, affine, shrink, NULL);
    double worst = 0;
    for (int i = 0; i <= 100; i++)
        for (int side = 0; side < 4; side++) {
            double along = (10 + 0.28 * i) / 48, across = (side & 1 ? 38.0 : 10.0) / 48, slid[2], seen[4], meant[4];
            double u = side & 2 ? along : across, v = side & 2 ? across : along;
            affine(u, v, 0, shrink, slid);
            look_up(&out, u, v, seen);
            look_up(&ramp, slid[0], slid[1], meant);
            for (int k = 0; k < 2; k++) worst = fmax(worst, fabs(seen[k] - meant[k]));
        }
    CHECK(worst <= 0.6);
    free_picture(&out);
    free_picture(&ramp);
    free_charts(&c);
}

/* The frame of a chart (its x and y axes in space) under a linear map M of texture coordinates: unit tangent along
 * growing u', and the bitangent square to it on the side where v' falls. By inverting the maps, as nothing in the baker
 * does. */
static void frame_of(const chart *in, const double m[4], double t[2], double b[2])
{
    double A[4] = {m[0] * in->u[1] + m[1] * in->v[1], m[0] * in->u[2] + m[1] * in->v[2], /* (u', v') of (x, y) */
                   m[2] * in->u[1] + m[3] * in->v[1], m[2] * in->u[2] + m[3] * in->v[2]};
    double det = A[0] * A[3] - A[1] * A[2];
    double du[2] = {in->width * A[3] / det, -A[2] / det}, dv[2] = {-in->width * A[1] / det, A[0] / det};
    double length = hypot(du[0], du[1]);
    t[0] = du[0] / length, t[1] = du[1] / length;
    double side = -(t[0] * dv[1] - t[1] * dv[0]) > 0 ? 1 : -1; /* y of a normal map is against v */
    b[0] = -side * t[1], b[1] = side * t[0];
}

/* Normals keep their direction in space: turned, sheared and mirrored skin on charts of either hand. */
TEST(normals_turn_with_the_skin)
{
    static const chart cases[] = {{4, 1, {0, 1, 0}, {1, 0, -1}},
                                  {4, 2, {0, 1, 0}, {1, 0, -1}},
                                  {4, 1, {1, -1, 0}, {1, 0, -1}},
                                  {4, 0.5, {0, 0, 1}, {0, 1, 0}}};
    static const double one[4] = {1, 0, 0, 1};
    const double maps[5][4] = {
        {cos(0.7), -sin(0.7), sin(0.7), cos(0.7)}, {0, 1, -1, 0}, {-1, 0, 0, 1}, {1, 0.5, 0, 0.8}, {-1, 0, 0, -1}};
    spl_pixels input = new_picture(32, 32);
    for (int i = 0; i < 32 * 32; i++) memcpy(input.rgba + 4 * i, (const uint8_t[4]){200, 90, 220, 77}, 4);
    const double n[2] = {200 / 127.5 - 1, 90 / 127.5 - 1};
    for (size_t i = 0; i < 20; i++) {
        const chart *in = &cases[i / 5];
        double t[2], b[2], t2[2], b2[2];
        charts c;
        make_charts(&c, in, 1);
        frame_of(in, one, t, b);
        frame_of(in, maps[i % 5], t2, b2);
        double space[2] = {n[0] * t2[0] + n[1] * b2[0], n[0] * t2[1] + n[1] * b2[1]};
        double meant[2] = {space[0] * t[0] + space[1] * t[1], space[0] * b[0] + space[1] * b[1]};
        spl_pixels out = bake(&c, &input, true, affine, maps[i % 5], NULL);
        int wrong = 0;
        for (int p = 0; p < 32 * 32; p++) {
            for (int k = 0; k < 2; k++) wrong += fabs(out.rgba[4 * p + k] - 127.5 * (meant[k] + 1)) > 0.51;
            wrong += out.rgba[4 * p + 2] != 220 || out.rgba[4 * p + 3] != 77;
        }
        CHECK(wrong == 0);
        free_picture(&out);
        free_charts(&c);
    }
    free_picture(&input);
}

/* Charts on one another: the first is shown, and how much is shared is told. */
TEST(the_first_of_charts_on_one_another)
{
    static const chart in[3] = {{4, 1, {0.1, 0.5, 0}, {0.1, 0, 0.5}},
                                {6, 1, {0.6, -0.5, 0}, {0.1, 0, 0.5}},
                                {3, 1, {0.1, 0, 0.5}, {0.1, 0.5, 0}}};
    static const double by[6] = {4.0 / 64, 0, -7.0 / 64, 3.0 / 64, 0, 9.0 / 64};
    spl_pixels input = noise(64, 64);
    charts one, both;
    spl_slide_bake_layout l;
    make_charts(&one, in, 1);
    make_charts(&both, in, 3);
    spl_pixels a = bake(&one, &input, false, shift, by, NULL), b = bake(&both, &input, false, shift, by, &l);
    CHECK(largest_difference(&a, &b, 0, 0) == 0);
    CHECK(10 * l.shared > 8 * l.covered && l.shared <= l.covered && l.island_count == 1);
    free_picture(&a);
    free_picture(&b);
    free_picture(&input);
    free_charts(&one);
    free_charts(&both);
}

static void wild(double u, double v, int part, const double *size, double out[2])
{
    (void)part;
    out[0] = u * size[0], out[1] = -v * size[0];
}

/* Coordinates of any size give some picture, and the same one twice. */
TEST(wild_skin_is_bounded)
{
    static const chart in = {5, 1, {0.1, 0.8, 0}, {0.1, 0, 0.8}};
    static const double sizes[4] = {1e3, 1e10, 1e30, 3e38};
    spl_pixels input = noise(40, 40);
    charts c;
    make_charts(&c, &in, 1);
    for (int i = 0; i < 8; i++) {
        spl_pixels a = bake(&c, &input, i % 2, wild, sizes + i / 2, NULL),
                   b = bake(&c, &input, i % 2, wild, sizes + i / 2, NULL);
        REQUIRE(a.rgba && b.rgba);
        CHECK(largest_difference(&a, &b, 0, 0) == 0);
        free_picture(&a);
        free_picture(&b);
    }
    c.uv[7] = NAN; /* and of the file: the triangles there are left out */
    c.uv[20] = 1e30f;
    spl_slide_bake_layout l;
    spl_pixels a = bake(&c, &input, false, stay, NULL, &l);
    CHECK(a.rgba && l.skipped > 0 && l.covered > 500);
    free_picture(&a);
    free_picture(&input);
    free_charts(&c);
}

TEST(threads_give_the_same_bits)
{
    static const chart in[2] = {{30, 1, {0.05, 0.5, 0}, {0.05, 0, 0.9}}, {17, 1, {0.6, 0.3, 0}, {0.9, 0, -0.8}}};
    static const double most[2] = {1, -0.6};
    static const int32_t threads[3] = {1, 2, 7};
    charts c;
    make_charts(&c, in, 2);
    float *uv = slide_charts(&c, swirl, most);
    spl_slide_frame frame = {uv, NULL, c.corners, 0};
    spl_pixels first = {0};
    for (int i = 0; i < 3; i++) {
        supple_config config = supple_config_default();
        config.thread_count = threads[i];
        spl_pool *pool;
        spl_slide_bake b;
        spl_pixels input = noise(test_size(256, 96), 200);
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        REQUIRE(spl_slide_bake_init(&b, &c.scene, &input, true, every_part, NULL, pool, NULL, NULL) == SUPPLE_OK);
        spl_slide_bake_frame(&b, c.position, &frame);
        if (i == 0) first = copy_of(&b.output);
        CHECK(largest_difference(&first, &b.output, 0, 0) == 0);
        spl_slide_bake_release(&b);
        spl_pool_destroy(pool);
    }
    free(uv);
    free_picture(&first);
    free_charts(&c);
}

TEST(every_allocation_may_fail)
{
    static const chart in = {4, 1, {0.1, 0.8, 0}, {0.1, 0, 0.8}};
    charts c;
    make_charts(&c, &in, 1);
    supple_result r = SUPPLE_ERROR_MEMORY;
    for (long n = 0; r != SUPPLE_OK && n < 200; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        spl_pixels input = {16, 16, failing_allocate(&(failing){.fail_at = -1}, 16 * 16 * 4)};
        memset(input.rgba, 7, 16 * 16 * 4);
        f.live++; /* the baker takes it over */
        spl_slide_bake b;
        r = spl_slide_bake_init(&b, &c.scene, &input, true, every_part, NULL, NULL, &config, NULL);
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        if (r == SUPPLE_OK) {
            float *uv = slide_charts(&c, stay, NULL);
            long before = f.requests;
            spl_slide_bake_frame(&b, c.position, &(spl_slide_frame){uv, NULL, c.corners, 0});
            CHECK(f.requests == before); /* a frame takes no memory */
            free(uv);
            spl_slide_bake_release(&b);
        }
        CHECK(f.live == 0);
    }
    CHECK(r == SUPPLE_OK);
    free_charts(&c);
}

TEST_CASES(RUN(still_skin_bakes_the_input), RUN(covered_texels_are_the_input), RUN(a_shift_is_a_shifted_image),
           RUN(charts_over_the_border), RUN(a_swirl_is_looked_up_where_it_came_from),
           RUN(no_foreign_colour_in_the_gutters), RUN(gutters_go_on_straight), RUN(normals_turn_with_the_skin),
           RUN(the_first_of_charts_on_one_another), RUN(wild_skin_is_bounded), RUN(threads_give_the_same_bits),
           RUN(every_allocation_may_fail))
