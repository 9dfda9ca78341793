/* Sheets and films of skin that has slid: the texture where the corners say, the heat map, and its colours. */
#include "show/heat.h"
#include "show/movie.h"
#include "show/sheet.h"
#include "show/show.h"

#include "core/file.h"
#include "failing.h"
#include "scene/writer_frames.h"
#include "show/toy.h"
#include "test.h"

static const char folder[] = "slid_show.d", tools[] = "slid_tools.d";
enum { FRAMES = 2, CORNERS = 6 * TOY_RINGS * TOY_SECTORS + 6 };

/* The toy's coordinates at every corner and frame, moved along u: by one of its squares colours change places. */
static void move_corners(const toy *t, float by, float step, float *uv)
{
    for (int i = 0; i < FRAMES * CORNERS; i++) {
        int c = i % CORNERS;
        const float *own = t->uv + 2 * (c < CORNERS - 6 ? t->ball[c] : 0);
        uv[2 * i] = own[0] + by + step * (float)(i / CORNERS);
        uv[2 * i + 1] = own[1];
    }
}

/* Writes a sheet or, with a program in ffmpeg's place that keeps what it gets, a film. `uv` NULL: nothing slides. */
static supple_result show(const toy *t, const char *path, const float *uv, const float *stretch, supple_show what,
                          const supple_config *config, supple_error *error)
{
    static const spl_format *const formats[] = {&spl_format_png, &spl_format_mp4};
    const supple_range range = {0, 0, strstr(path, ".png") ? 1 : FRAMES};
    static float position[3 * TOY_COUNT];
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 30, .slide = uv != NULL, .show = what};
    supple_writer *w;
    supple_result r = spl_writer_open_with(formats, 2, &t->scene, path, &plan, config, &w, error);
    if (r != SUPPLE_OK) return r;
    for (int32_t i = 0; i < range.frame_count && r == SUPPLE_OK; i++) {
        supple_slide_frame slide = {uv ? uv + 2 * CORNERS * i : NULL, stretch, CORNERS, TOY_COUNT};
        toy_pose(t, i, 0, position);
        for (int v = 0; v < TOY_COUNT; v++) position[3 * v + 1] *= 0.1f; /* low, so that few pixels are shaded */
        supple_frame frame = {.index = i, .position = position, .normal = t->normal, .slide = uv ? &slide : NULL};
        r = supple_writer_frame(w, &frame, error);
    }
    if (r == SUPPLE_OK) return supple_writer_close(w, error);
    supple_writer_abort(w);
    return r;
}

static void install(void)
{
    clean_folder(folder);
    clean_folder(tools);
    FILE *f = fopen("slid_tools.d/ffmpeg", "w");
    fprintf(f, "#!/bin/sh\nfor a; do last=$a; done; cat > \"${last#file:}\"\n");
    fclose(f);
    chmod("slid_tools.d/ffmpeg", 0755);
    setenv("PATH", "slid_tools.d:/usr/bin:/bin", 1);
}

/* Whether two outputs have the same bytes. */
static bool same_files(const char *a, const char *b)
{
    size_t size[2] = {0};
    uint8_t *data[2] = {read_bytes(a, &size[0]), read_bytes(b, &size[1])};
    bool same = data[0] && data[1] && size[0] > 100 && size[0] == size[1] && memcmp(data[0], data[1], size[0]) == 0;
    free(data[0]);
    free(data[1]);
    return same;
}

/* A toy whose file has the coordinates that move_corners makes. */
static void make_moved(const toy *t, float by, toy *moved)
{
    *moved = *t;
    for (int v = 0; v < TOY_BALL; v++) moved->uv[2 * v] += by;
    moved->primitive[0].uv = moved->uv;
    moved->primitive[0].triangle = moved->ball;
    moved->mesh.primitive = moved->primitive;
    moved->scene.mesh = &moved->mesh;
}

/* Slid by the corners is as slid in the file; not slid at all is as ever. */
TEST(textures_slide_with_their_corners)
{
    static const char a[] = "slid_show.d/a.png", b[] = "slid_show.d/b.png";
    static float uv[FRAMES * 2 * CORNERS];
    toy t, moved;
    toy_init(&t);
    install();
    REQUIRE(show(&t, a, NULL, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    move_corners(&t, 0, 0, uv);
    REQUIRE(show(&t, b, uv, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    CHECK(same_files(a, b));
    make_moved(&t, 0.25f, &moved);
    REQUIRE(show(&moved, a, NULL, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    CHECK(!same_files(a, b));
    move_corners(&t, 0.25f, 0, uv);
    REQUIRE(show(&t, b, uv, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    CHECK(same_files(a, b));
    toy_release(&t);
}

/* Every frame of a film has its own: the first is not moved, the second is. */
TEST(films_slide_from_frame_to_frame)
{
    static const char a[] = "slid_show.d/a.mp4", b[] = "slid_show.d/b.mp4", c[] = "slid_show.d/c.mp4";
    static float uv[FRAMES * 2 * CORNERS];
    toy t, moved;
    toy_init(&t);
    install();
    make_moved(&t, 0.25f, &moved);
    move_corners(&t, 0, 0.25f, uv);
    REQUIRE(show(&t, a, NULL, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    REQUIRE(show(&moved, b, NULL, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    REQUIRE(show(&t, c, uv, NULL, SUPPLE_SHOW_MATERIAL, NULL, NULL) == SUPPLE_OK);
    size_t size[3] = {0};
    uint8_t *data[3] = {read_bytes(a, &size[0]), read_bytes(b, &size[1]), read_bytes(c, &size[2])};
    REQUIRE(data[0] && data[1] && data[2] && size[0] == size[1] && size[1] == size[2] && size[0] > 1000);
    size_t half = size[0] / FRAMES;
    CHECK(memcmp(data[2], data[0], half) == 0 && memcmp(data[2] + half, data[1] + half, half) == 0);
    CHECK(memcmp(data[0] + half, data[1] + half, half) != 0);
    for (int i = 0; i < 3; i++) free(data[i]);
    toy_release(&t);
}

/* Corners of one vertex may differ: as vertices of their own would. */
TEST(corners_of_a_vertex_may_differ)
{
    static float uv[2 * CORNERS], position[3 * CORNERS], normal[3 * CORNERS];
    static int32_t index[CORNERS];
    toy t;
    toy_init(&t);
    spl_show s;
    REQUIRE(spl_show_init(&s, &t.scene, NULL, NULL) == SUPPLE_OK);
    for (int c = 0; c < CORNERS - 6; c++) {
        index[c] = c;
        uv[2 * c] = t.uv[2 * t.ball[c]] + 0.07f * (float)(c / 3 % 5);
        uv[2 * c + 1] = t.uv[2 * t.ball[c] + 1] - 0.03f * (float)(c % 3);
        memcpy(position + 3 * c, t.position + 3 * t.ball[c], 3 * sizeof *position);
        memcpy(normal + 3 * c, t.normal + 3 * t.ball[c], 3 * sizeof *normal);
    }
    spl_draw corners = s.draw[0], split = s.draw[0];
    corners.position = t.position, corners.normal = t.normal, corners.corner_uv = uv;
    split.position = position, split.normal = normal, split.uv = uv, split.triangle = index;
    spl_show_options o = spl_show_options_default();
    o.width = o.height = 160;
    spl_box box = spl_show_box(&s, t.position);
    spl_camera camera = spl_camera_frame(SPL_VIEW_FRONT, &box, 160, 160, 0.05);
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels one, two;
    REQUIRE(spl_show_draw(&corners, 1, &camera, &o, NULL, &a, &one, NULL) == SUPPLE_OK);
    REQUIRE(spl_show_draw(&split, 1, &camera, &o, NULL, &a, &two, NULL) == SUPPLE_OK);
    CHECK(memcmp(one.rgba, two.rgba, 4 * 160 * 160) == 0);
    spl_pixels_free(&one, &a);
    spl_pixels_free(&two, &a);
    spl_show_release(&s);
    toy_release(&t);
}

/* Blue (or orange) pixels of a picture from a row on. */
static int count_tint(const uint8_t *pixel, size_t stride, size_t count, bool blue)
{
    int tinted = 0;
    for (size_t i = 0; i < count; i++, pixel += stride) {
        int d = pixel[2] - pixel[0];
        tinted += blue ? d > 60 : d < -60;
    }
    return tinted;
}

/* How many of each below a sheet's caption, where the scale is; above, `scale` counts. */
static void count_tints(const char *path, int *blue, int *orange, int *scale)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels p = {0};
    size_t size = 0;
    uint8_t *data = read_bytes(path, &size);
    *blue = *orange = *scale = -1;
    if (data && spl_image_decode(data, size, &a, &p, NULL) == SUPPLE_OK) {
        size_t top = (size_t)p.width * 44, rest = (size_t)p.width * (size_t)(p.height - 44);
        *blue = count_tint(p.rgba + 4 * top, 4, rest, true);
        *orange = count_tint(p.rgba + 4 * top, 4, rest, false);
        *scale = count_tint(p.rgba, 4, top, true);
    }
    spl_pixels_free(&p, &a);
    free(data);
}

/* Pressed skin is blue, stretched skin orange, skin at rest neither; the scale is on the page and in the film. */
TEST(stretch_is_shown_as_heat)
{
    static float uv[FRAMES * 2 * CORNERS], stretch[TOY_COUNT];
    static const char path[] = "slid_show.d/a.png";
    int blue, orange, scale;
    toy t;
    toy_init(&t);
    install();
    move_corners(&t, 0, 0, uv);
    REQUIRE(show(&t, path, uv, NULL, SUPPLE_SHOW_STRETCH, NULL, NULL) == SUPPLE_OK);
    count_tints(path, &blue, &orange, &scale);
    CHECK(blue == 0 && orange == 0 && scale > 500);
    for (int v = 0; v < TOY_COUNT; v++) stretch[v] = t.position[3 * v] < 0 ? 0.55f : 1.9f;
    REQUIRE(show(&t, path, uv, stretch, SUPPLE_SHOW_STRETCH, NULL, NULL) == SUPPLE_OK);
    count_tints(path, &blue, &orange, &scale);
    CHECK(blue > 2000 && orange > 2000 && scale > 500);
    REQUIRE(show(&t, "slid_show.d/b.mp4", uv, NULL, SUPPLE_SHOW_STRETCH, NULL, NULL) == SUPPLE_OK);
    size_t size = 0;
    uint8_t *data = read_bytes("slid_show.d/b.mp4", &size);
    REQUIRE(data);
    CHECK(count_tint(data, 3, size / 3, true) > 500 * FRAMES && count_tint(data, 3, size / 3, false) > 500 * FRAMES);
    free(data);
    CHECK(show(&t, path, NULL, NULL, SUPPLE_SHOW_STRETCH, NULL, NULL) == SUPPLE_ERROR_ARGUMENT);
    toy_release(&t);
}

TEST(threads_give_the_same_bits)
{
    static float uv[FRAMES * 2 * CORNERS];
    toy t;
    toy_init(&t);
    install();
    move_corners(&t, 0.11f, 0, uv);
    for (int32_t threads = 1; threads <= 7; threads += 6) {
        supple_config config = supple_config_default();
        config.thread_count = threads;
        const char *path = threads == 1 ? "slid_show.d/a.png" : "slid_show.d/b.png";
        REQUIRE(show(&t, path, uv, NULL, SUPPLE_SHOW_MATERIAL, &config, NULL) == SUPPLE_OK);
    }
    CHECK(same_files("slid_show.d/a.png", "slid_show.d/b.png"));
    toy_release(&t);
}

/* At opening and at the first frame; drawing has its own tests, and would take long here. */
TEST(allocations_may_fail)
{
    static const spl_format *const formats[] = {&spl_format_png, &spl_format_mp4};
    static const char *const path[] = {"slid_show.d/a.png", "slid_show.d/a.mp4"};
    static const supple_range range = {0, 0, FRAMES};
    toy t;
    toy_init(&t);
    install();
    for (int i = 0; i < 4; i++) {
        supple_result r = SUPPLE_ERROR_MEMORY;
        for (long n = 0; r != SUPPLE_OK && n < 500; n++) {
            failing f = {.fail_at = n};
            supple_config config = supple_config_default();
            config.allocator = failing_allocator(&f);
            config.thread_count = 1;
            supple_plan plan = {
                .ranges = &range, .range_count = 1, .fps = 30, .slide = true, .show = (supple_show)(i / 2)};
            supple_writer *w;
            r = spl_writer_open_with(formats, 2, &t.scene, path[i % 2], &plan, &config, &w, NULL);
            CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
            supple_writer_abort(w);
            CHECK(f.live == 0);
        }
        CHECK(r == SUPPLE_OK);
    }
    toy_release(&t);
}

/* ---- colours as people see them ---- */

/* Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB; the first is normal vision, the last sees greys. */
static const double VISION[5][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
    {{0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}, {0.2126, 0.7152, 0.0722}}};

/* CIE L*a*b* of a stretch's colour, as a person sees it. */
static void seen_as(int vision, double stretch, double lab[3])
{
    static const double XYZ[3][3] = {{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}},
                        WHITE[3] = {0.9505, 1, 1.089};
    float linear[3];
    double rgb[3], f[3];
    spl_heat_color(stretch, linear);
    for (int i = 0; i < 3; i++) {
        rgb[i] = 0;
        for (int k = 0; k < 3; k++) rgb[i] += VISION[vision][i][k] * (double)linear[k];
        rgb[i] = fmin(fmax(rgb[i], 0), 1);
    }
    for (int i = 0; i < 3; i++) {
        double v = (XYZ[i][0] * rgb[0] + XYZ[i][1] * rgb[1] + XYZ[i][2] * rgb[2]) / WHITE[i];
        f[i] = v > 216.0 / 24389 ? cbrt(v) : (24389.0 / 27 * v + 16) / 116;
    }
    lab[0] = 116 * f[1] - 16, lab[1] = 500 * (f[0] - f[1]), lab[2] = 200 * (f[1] - f[2]);
}

/* The marks of the scale differ from each other by far more than can just be seen (2.3) in every kind of vision; grey
 * to grey, halving and doubling differ too. Lightness falls to both sides. */
TEST(the_scale_is_for_everybody)
{
    static const double mark[5] = {0.5, 0.7071, 1, 1.4142, 2};
    for (int v = 0; v < 5; v++) {
        double lab[5][3], least = INFINITY;
        for (int i = 0; i < 5; i++) seen_as(v, mark[i], lab[i]);
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < i; j++)
                least = fmin(least, hypot(hypot(lab[i][0] - lab[j][0], lab[i][1] - lab[j][1]), lab[i][2] - lab[j][2]));
        CHECK(least > (v < 4 ? 18 : 7));
        for (int i = 0; i < 32; i++) {
            double low[3], high[3];
            seen_as(v, exp2(-i / 32.0), low), seen_as(v, exp2(-(i + 1) / 32.0), high);
            CHECK(high[0] < low[0]);
            seen_as(v, exp2(i / 32.0), low), seen_as(v, exp2((i + 1) / 32.0), high);
            CHECK(high[0] < low[0]);
        }
    }
    float a[3], b[3];
    spl_heat_color(0, a), spl_heat_color(0.5, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    spl_heat_color(1e9, a), spl_heat_color(2, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    const float trust[2] = {0, 1};
    float painted[6], full[3];
    spl_heat_trust(trust, 2, painted);
    spl_heat_trust(NULL, 1, full);
    spl_heat_color(0.5, a), spl_heat_color(1, b);
    CHECK(memcmp(painted, a, sizeof a) == 0 && memcmp(painted + 3, b, sizeof b) == 0 && memcmp(full, b, sizeof b) == 0);
    spl_heat_color((double)NAN, a);
    CHECK(a[0] >= 0 && a[0] <= 1);
}

TEST_CASES(RUN(textures_slide_with_their_corners), RUN(films_slide_from_frame_to_frame),
           RUN(corners_of_a_vertex_may_differ), RUN(stretch_is_shown_as_heat), RUN(threads_give_the_same_bits),
           RUN(allocations_may_fail), RUN(the_scale_is_for_everybody))
