#include "show/sheet.h"

#include "core/file.h"
#include "core/hash.h"
#include "failing.h"
#include "show/font.h"
#include "show/toy.h"
#include "test.h"

#include <unistd.h>

static const char *const PATH = "test_sheet_out.png";

typedef struct job {
    const supple_range *ranges;
    int32_t range_count;
    double travel;
    bool abort; /* instead of closing */
    bool flat;  /* squashed, so that cells are low and few pixels are shaded */
} job;

/* Runs a whole output over the toy's motion. */
static supple_result write_sheet(const toy *t, const job *j, const supple_config *config, supple_error *error)
{
    static const spl_format *const formats[] = {&spl_format_png};
    supple_plan plan = {.ranges = j->ranges, .range_count = j->range_count, .fps = 30};
    supple_writer *w;
    supple_result r = spl_writer_open_with(formats, 1, &t->scene, PATH, &plan, config, &w, error);
    if (r != SUPPLE_OK) return r;
    static float position[3 * TOY_COUNT];
    for (int32_t k = 0; k < j->range_count; k++)
        for (int32_t i = 0; i < j->ranges[k].frame_count; i++) {
            toy_pose(t, i, j->travel, position);
            for (int v = 0; j->flat && v < TOY_COUNT; v++) position[3 * v + 1] *= 0.03f;
            supple_frame frame = {.range = k, .index = i, .position = position, .normal = t->normal};
            r = supple_writer_frame(w, &frame, error);
            if (r != SUPPLE_OK) {
                supple_writer_abort(w);
                return r;
            }
        }
    if (!j->abort) return supple_writer_close(w, error);
    supple_writer_abort(w);
    return SUPPLE_OK;
}

static spl_pixels read_sheet(void)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint8_t *data;
    size_t size;
    spl_pixels p = {0};
    CHECK(spl_file_read(PATH, 1 << 28, &a, &data, &size, NULL) == SUPPLE_OK);
    if (!data) return p;
    CHECK(spl_image_decode(data, size, &a, &p, NULL) == SUPPLE_OK);
    spl_free(&a, data);
    return p;
}

/* Strongly coloured pixels of a rectangle: the ball's squares; backdrop, paper and text are nearly grey. */
static int colourful(const spl_pixels *p, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
    int count = 0;
    for (int32_t y = y0; y < y1; y++)
        for (int32_t x = x0; x < x1; x++) {
            const uint8_t *c = p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x);
            count += abs(c[0] - c[2]) > 60;
        }
    return count;
}

/* Whether a column of the page is paper from top to bottom: the gutters and margins are, cells are not. */
static bool is_gutter(const spl_pixels *p, int32_t x, int32_t y0, int32_t y1)
{
    for (int32_t y = y0; y < y1; y++)
        if (p->rgba[4 * ((size_t)y * (size_t)p->width + (size_t)x)] != 248) return false;
    return true;
}

TEST(eight_frames_from_two_sides)
{
    static toy t;
    toy_init(&t);
    const supple_range range = {0, 3, 41};
    job j = {&range, 1, 0, false, false};
    supple_config config = supple_config_default();
    REQUIRE(write_sheet(&t, &j, &config, NULL) == SUPPLE_OK);
    spl_pixels p = read_sheet();
    REQUIRE(p.rgba);
    CHECK(p.width >= 1600 && p.width <= 2000);
    int32_t middle = p.height / 2, cells = 0, cell_width = 0;
    for (int32_t x = 0, start = 0; x < p.width; x++) {
        bool gap = is_gutter(&p, x, 80, 100);
        if (!gap && x && is_gutter(&p, x - 1, 80, 100)) start = x;
        if (!gap && is_gutter(&p, x + 1, 80, 100)) {
            cells++;
            cell_width = x + 1 - start;
            CHECK(colourful(&p, start, 44, x + 1, middle) > 500);
            CHECK(colourful(&p, start, middle, x + 1, p.height) > 500);
        }
    }
    CHECK(cells == 8);
    CHECK_NEAR(8 * cell_width + 7 * 4 + 40, p.width, 0);
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels_free(&p, &a);
    unlink(PATH);
    toy_release(&t);
}

/* A clip that travels far is followed: the ball is as large in the last cell as in the first. */
TEST(the_camera_follows)
{
    supple_allocator a = spl_allocator_of(NULL);
    static toy t;
    toy_init(&t);
    const supple_range range = {0, 0, 8};
    job j = {&range, 1, 5, false, false};
    supple_config config = supple_config_default();
    REQUIRE(write_sheet(&t, &j, &config, NULL) == SUPPLE_OK);
    spl_pixels p = read_sheet();
    REQUIRE(p.rgba);
    int first = colourful(&p, 20, 44, 20 + 226, p.height),
        last = colourful(&p, p.width - 20 - 226, 44, p.width - 20, p.height);
    CHECK(first > 5000 && abs(first - last) < first / 5);
    spl_pixels_free(&p, &a);
    unlink(PATH);
    toy_release(&t);
}

/* One block a clip; the rest pose and names beyond ASCII too. The same bytes at any number of threads. */
TEST(several_clips_and_threads)
{
    static toy t;
    toy_init(&t);
    const supple_range ranges[3] = {{0, 0, 8}, {1, 0, 2}, {-1, 0, 1}};
    job one = {ranges, 1, 0, false, true}, all = {ranges, 3, 0, false, true};
    supple_config config = supple_config_default();
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(write_sheet(&t, &one, &config, NULL) == SUPPLE_OK);
    spl_pixels single = read_sheet();
    uint64_t hash[3];
    const int32_t threads[3] = {1, 2, 7};
    spl_pixels p = {0};
    for (int i = 0; i < 3; i++) {
        config.thread_count = threads[i];
        spl_pixels_free(&p, &a);
        REQUIRE(write_sheet(&t, &all, &config, NULL) == SUPPLE_OK);
        p = read_sheet();
        hash[i] = spl_hash(p.rgba, 4 * (size_t)p.width * (size_t)p.height, 0);
    }
    CHECK(hash[0] == hash[1] && hash[0] == hash[2]);
    CHECK(p.width == single.width && p.height > 2 * single.height && p.height < 4 * single.height);
    CHECK(memcmp(p.rgba, single.rgba, 4 * (size_t)single.width * (size_t)single.height) == 0);
    spl_pixels_free(&single, &a);
    spl_pixels_free(&p, &a);
    unlink(PATH);
    toy_release(&t);
}

static int warnings;

static void on_log(void *user, supple_log_level level, const char *message)
{
    (void)user;
    warnings += level == SUPPLE_LOG_WARNING && strstr(message, "image 1") != NULL;
}

TEST(a_damaged_texture_is_a_warning)
{
    static toy t;
    toy_init(&t);
    t.material[1].base_color_image = 1;
    const supple_range range = {0, 0, 1};
    job j = {&range, 1, 0, false, false};
    supple_config config = supple_config_default();
    config.log = on_log;
    warnings = 0;
    CHECK(write_sheet(&t, &j, &config, NULL) == SUPPLE_OK);
    CHECK(warnings == 1);
    unlink(PATH);
    toy_release(&t);
}

TEST(nothing_is_left_of_an_aborted_sheet)
{
    static toy t;
    toy_init(&t);
    const supple_range range = {0, 0, 2};
    job j = {&range, 1, 0, true, true};
    CHECK(write_sheet(&t, &j, NULL, NULL) == SUPPLE_OK);
    CHECK(access(PATH, F_OK) != 0);
    toy_release(&t);
}

TEST(every_allocation_may_fail)
{
    static toy t;
    toy_init(&t);
    const supple_range range = {0, 0, 1};
    job j = {&range, 1, 0, false, true};
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        config.thread_count = 2;
        supple_error error = {0};
        supple_result r = write_sheet(&t, &j, &config, &error);
        bool reached = f.requests > n;
        CHECK(r == (reached ? SUPPLE_ERROR_MEMORY : SUPPLE_OK));
        CHECK(f.live == 0);
        CHECK((access(PATH, F_OK) == 0) == !reached);
        if (!reached) break;
        REQUIRE(n < 1000);
    }
    unlink(PATH);
    toy_release(&t);
}

TEST(text_is_measured_and_clipped)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels p = {40, 20, spl_new(&a, 40 * 20, 4)};
    const uint8_t ink[3] = {200, 100, 50};
    CHECK(spl_text_width("", 2) == 0 && spl_text_width("ab", 2) == 22 && spl_text_width("r\xc3\xbcll", 1) == 23);
    spl_text_draw(&p, 0, 0, 1, ink, "I");
    int count = 0;
    for (int i = 0; i < 40 * 20; i++) count += p.rgba[4 * i] == 200;
    CHECK(count == 11); /* two serifs of three and a stem of five */
    const char *far = "a long text that leaves the picture on every side \xff\xc3";
    for (int y = -30; y < 30; y += 3) spl_text_draw(&p, y * 4, y, 3, ink, far);
    for (int c = 1; c < 256; c++) {
        const char text[2] = {(char)c, 0};
        spl_text_draw(&p, 1, 1, 1, ink, text);
    }
    spl_pixels_free(&p, &a);
}

TEST_CASES(RUN(eight_frames_from_two_sides), RUN(the_camera_follows), RUN(several_clips_and_threads),
           RUN(a_damaged_texture_is_a_warning), RUN(nothing_is_left_of_an_aborted_sheet),
           RUN(every_allocation_may_fail), RUN(text_is_measured_and_clipped))
