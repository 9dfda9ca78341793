#include "show/show.h"

#include "core/hash.h"
#include "failing.h"
#include "show/shade.h"
#include "show/toy.h"
#include "test.h"

static spl_camera front_camera(int32_t width, int32_t height)
{
    spl_box box = {{-1, 0, -1}, {1, 1.2, 1}};
    return spl_camera_frame(SPL_VIEW_FRONT, &box, width, height, 0.05);
}

static spl_show_options plain(int32_t width, int32_t height)
{
    spl_show_options o = spl_show_options_default();
    o.width = width, o.height = height, o.ground = false;
    return o;
}

static const uint8_t *pixel(const spl_pixels *p, int32_t x, int32_t y)
{
    return p->rgba + 4 * (y * p->width + x);
}

/* A square in the plane z, facing the front, of one colour. */
static spl_draw square(float *position, float z, float size, const float color[4])
{
    static const int32_t index[6] = {0, 1, 3, 0, 3, 2};
    for (int i = 0; i < 4; i++) {
        position[3 * i] = i & 1 ? size : -size;
        position[3 * i + 1] = (i & 2 ? size : -size) + 0.5f;
        position[3 * i + 2] = z;
    }
    spl_draw d = {.position = position, .triangle = index, .triangle_count = 2};
    for (int c = 0; c < 4; c++) d.base_color[c] = color[c];
    return d;
}

/* The nearer square hides the farther, in whichever order they are drawn. */
TEST(nearer_hides_farther)
{
    supple_allocator a = spl_allocator_of(NULL);
    const float red[4] = {0.6f, 0, 0, 1}, blue[4] = {0, 0, 0.6f, 1};
    for (int order = 0; order < 2; order++) {
        float one[12], two[12];
        spl_draw d[2] = {square(one, 0.2f, 0.3f, red), square(two, -0.2f, 0.6f, blue)};
        if (order) {
            spl_draw swap = d[0];
            d[0] = d[1], d[1] = swap;
        }
        spl_show_options o = plain(64, 64);
        spl_camera c = front_camera(64, 64);
        spl_pixels p;
        REQUIRE(spl_show_draw(d, 2, &c, &o, NULL, &a, &p, NULL) == SUPPLE_OK);
        const uint8_t *centre = pixel(&p, 32, 34), *side = pixel(&p, 32 + 11, 34);
        CHECK(centre[0] > 80 && centre[2] < 60);
        CHECK(side[2] > 60 && side[0] < 60);
        CHECK(abs(pixel(&p, 2, 2)[0] - pixel(&p, 2, 2)[2]) < 30); /* backdrop */
        spl_pixels_free(&p, &a);
    }
}

/* Glass lets through in proportion to its alpha; a mask below its cutoff lets through everything. */
TEST(blend_and_mask)
{
    supple_allocator a = spl_allocator_of(NULL);
    const float blue[4] = {0, 0, 0.6f, 1};
    double red_of[4];
    const float alphas[4] = {0, 0.5f, 1, 0.5f};
    for (int k = 0; k < 4; k++) {
        const float red[4] = {0.6f, 0, 0, alphas[k]};
        float one[12], two[12];
        spl_draw d[2] = {square(one, 0.2f, 0.3f, red), square(two, -0.2f, 0.6f, blue)};
        d[0].alpha = k < 3 ? SPL_ALPHA_BLEND : SPL_ALPHA_MASK;
        d[0].alpha_cutoff = 0.6f;
        spl_show_options o = plain(64, 64);
        spl_camera c = front_camera(64, 64);
        spl_pixels p;
        REQUIRE(spl_show_draw(d, 2, &c, &o, NULL, &a, &p, NULL) == SUPPLE_OK);
        red_of[k] = (double)spl_srgb_to_linear((float)pixel(&p, 32, 34)[0] / 255);
        spl_pixels_free(&p, &a);
    }
    CHECK(red_of[2] > 0.2 && red_of[0] < 0.06);
    CHECK_NEAR(red_of[1], (red_of[0] + red_of[2]) / 2, 0.25 * red_of[2]);
    CHECK_NEAR(red_of[3], red_of[0], 0.06);
}

/* A ramp along u on a strongly slanted quad: its colour at a pixel is that of the ray's intersection with the plane. */
TEST(texture_is_perspective_correct)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels ramp = {256, 1, spl_new(&a, 256, 4)};
    for (int i = 0; i < 256; i++) memset(ramp.rgba + 4 * i, i, 3), ramp.rgba[4 * i + 3] = 255;
    spl_texture texture;
    REQUIRE(spl_texture_build(&texture, &ramp, 2048, &a, NULL) == SUPPLE_OK);
    const float position[12] = {-1, -0.5f, 1.5f, 1, -0.5f, -3, -1, 0.5f, 1.5f, 1, 0.5f, -3};
    const float uv[8] = {0.05f, 0, 0.95f, 0, 0.05f, 1, 0.95f, 1};
    const int32_t index[6] = {0, 1, 3, 0, 3, 2};
    spl_draw d = {.position = position,
                  .uv = uv,
                  .triangle = index,
                  .triangle_count = 2,
                  .base_color = {1, 1, 1, 1},
                  .texture = &texture};
    spl_geometry g = {position, index, 2, false};
    spl_camera c = {.eye = {0, 0, 4},
                    .right = {1, 0, 0},
                    .up = {0, 1, 0},
                    .back = {0, 0, 1},
                    .focal = 300,
                    .cx = 100,
                    .cy = 100,
                    .near = 0.1};
    spl_raster r;
    REQUIRE(spl_raster_init(&r, &c, 200, 200, &g, 1, &a, NULL) == SUPPLE_OK && r.triangle_count == 2);
    double affine_error = 0;
    for (double x = 30; x < 130; x += 5) {
        spl_surface s;
        spl_surface_at(&d, &r.triangle[0], &c, x, 101, &s);
        /* On the ray (X, ., 4 - t) with X = t (x - 100) / 300; the plane has z = 1.5 - 4.5 (X + 1) / 2. */
        double k = (x - 100) / 300, t = (4 - 1.5 + 2.25) / (1 - 2.25 * k), X = t * k, u = 0.05 + 0.9 * (X + 1) / 2;
        double texel = u * 256 - 0.5;
        double expected = (double)spl_srgb_to_linear((float)(texel / 255));
        CHECK_NEAR(s.color[0], expected, 0.008);
        double left = 100 - 300 / 2.5, right = 100 + 300 / 7.0, flat = 0.05 + 0.9 * (x - left) / (right - left);
        affine_error = fmax(affine_error, fabs(flat - u));
    }
    CHECK(affine_error > 0.1); /* the test would notice interpolation without perspective */
    spl_raster_release(&r);
    spl_texture_free(&texture, &a);
}

TEST(texture_levels_keep_the_mean)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels p = {64, 32, spl_new(&a, 64 * 32, 4)};
    double mean = 0;
    for (int i = 0; i < 64 * 32; i++) {
        uint8_t v = (i + i / 64) % 2 ? 255 : 0;
        memset(p.rgba + 4 * i, v, 3);
        p.rgba[4 * i + 3] = 255;
        mean += (double)spl_srgb_to_linear((float)v / 255) / (64 * 32);
    }
    spl_texture t;
    REQUIRE(spl_texture_build(&t, &p, 2048, &a, NULL) == SUPPLE_OK);
    CHECK(t.level_count == 7 && t.level[6].width == 1 && t.level[6].height == 1 && !p.rgba);
    const double uv[2] = {0.3, -7.6}, wide[2] = {1, 1}, none[2] = {0, 0}, wild[2] = {NAN, INFINITY};
    float c[4];
    spl_texture_sample(&t, uv, wide, c);
    CHECK_NEAR(c[0], mean, 0.01); /* 0.5 of the light, not of the bytes */
    spl_texture_sample(&t, wild, none, c);
    CHECK(c[0] >= 0 && c[0] <= 1);
    spl_texture_free(&t, &a);
    spl_pixels big = {64, 1, spl_new(&a, 64, 4)};
    REQUIRE(spl_texture_build(&t, &big, 16, &a, NULL) == SUPPLE_OK);
    CHECK(t.level[0].width == 16);
    spl_texture_free(&t, &a);
}

static supple_result render_toy(const toy *t, int32_t threads, const supple_allocator *allocator, bool wild,
                                spl_pixels *out)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    if (allocator) config.allocator = *allocator;
    spl_show show;
    *out = (spl_pixels){0};
    supple_error error = {0};
    supple_result r = spl_show_init(&show, &t->scene, &config, &error);
    if (r != SUPPLE_OK) return r;
    float position[3 * TOY_COUNT], normal[3 * TOY_COUNT];
    toy_pose(t, 0, 0, position);
    memcpy(normal, t->normal, sizeof normal);
    for (int i = 0; wild && i < 3 * TOY_COUNT; i += 7) {
        position[i] = i % 3 ? NAN : 1e30f;
        normal[(i + 5) % (3 * TOY_COUNT)] = INFINITY;
    }
    spl_box box = {{-0.6, 0, -0.6}, {0.6, 1, 0.7}};
    spl_show_options o = spl_show_options_default();
    o.width = 90, o.height = 70, o.wireframe = wild;
    spl_camera c = spl_camera_frame(SPL_VIEW_THREE_QUARTER, &box, o.width, o.height, 0.05);
    r = spl_show_render(&show, position, normal, &c, &o, out, &error);
    spl_show_release(&show);
    return r;
}

TEST(threads_do_not_change_the_picture)
{
    supple_allocator a = spl_allocator_of(NULL);
    static toy t;
    toy_init(&t);
    const int32_t threads[3] = {1, 2, 7};
    uint64_t hash[3];
    for (int i = 0; i < 3; i++) {
        spl_pixels p;
        REQUIRE(render_toy(&t, threads[i], NULL, false, &p) == SUPPLE_OK);
        hash[i] = spl_hash(p.rgba, 4 * 90 * 70, 0);
        spl_pixels_free(&p, &a);
    }
    CHECK(hash[0] == hash[1] && hash[0] == hash[2]);
    toy_release(&t);
}

TEST(wild_positions_are_survived)
{
    supple_allocator a = spl_allocator_of(NULL);
    static toy t;
    toy_init(&t);
    spl_pixels p;
    REQUIRE(render_toy(&t, 2, NULL, true, &p) == SUPPLE_OK);
    CHECK(p.width == 90 && p.height == 70);
    for (int i = 0; i < 90 * 70; i++) CHECK(p.rgba[4 * i + 3] == 255);
    spl_pixels_free(&p, &a);
    toy_release(&t);
}

TEST(every_allocation_may_fail)
{
    static toy t;
    toy_init(&t);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_pixels p;
        supple_result r = render_toy(&t, 1, &a, false, &p);
        bool reached = f.requests > n;
        CHECK(r == (reached ? SUPPLE_ERROR_MEMORY : SUPPLE_OK));
        spl_pixels_free(&p, &a);
        CHECK(f.live == 0);
        if (!reached) break;
        REQUIRE(n < 1000);
    }
    toy_release(&t);
}

/* Heat maps: the colour of a vertex is what shows there, whatever the material. */
TEST(vertex_colours_replace_materials)
{
    supple_allocator a = spl_allocator_of(NULL);
    static toy t;
    toy_init(&t);
    static float green[3 * TOY_COUNT];
    for (int i = 0; i < TOY_COUNT; i++) green[3 * i + 1] = 0.7f;
    supple_config config = supple_config_default();
    spl_show show;
    REQUIRE(spl_show_init(&show, &t.scene, &config, NULL) == SUPPLE_OK);
    for (int k = 0; k < 2; k++) {
        spl_show_options o = plain(64, 64);
        o.vertex_color = k ? green : NULL;
        spl_camera c = front_camera(64, 64);
        spl_pixels p;
        REQUIRE(spl_show_render(&show, t.position, t.normal, &c, &o, &p, NULL) == SUPPLE_OK);
        const uint8_t *top = pixel(&p, 32, 22);
        CHECK((top[1] > 2 * top[0] && top[1] > 2 * top[2]) == (k == 1));
        spl_pixels_free(&p, &a);
    }
    spl_show_release(&show);
    toy_release(&t);
}

TEST(sizes_are_checked)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_show_options o = plain(0, 10);
    spl_camera c = front_camera(10, 10);
    spl_pixels p;
    CHECK(spl_show_draw(NULL, 0, &c, &o, NULL, &a, &p, NULL) == SUPPLE_ERROR_ARGUMENT && !p.rgba);
    o = plain(20, 10);
    o.ground = true;
    CHECK(spl_show_draw(NULL, 0, &c, &o, NULL, &a, &p, NULL) == SUPPLE_OK && p.rgba); /* an empty stage */
    spl_pixels_free(&p, &a);
}

TEST_CASES(RUN(nearer_hides_farther), RUN(blend_and_mask), RUN(texture_is_perspective_correct),
           RUN(texture_levels_keep_the_mean), RUN(threads_do_not_change_the_picture), RUN(wild_positions_are_survived),
           RUN(every_allocation_may_fail), RUN(vertex_colours_replace_materials), RUN(sizes_are_checked))
