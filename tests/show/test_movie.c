/* .mp4 with programs of our own in ffmpeg's place: what reaches it, and what is left when it fails. */
#include "show/movie.h"

#include "failing.h"
#include "scene/writer_frames.h"
#include "show/toy.h"
#include "test.h"

static const char folder[] = "movie.d", tools[] = "movie_tools.d", path[] = "movie.d/-a b.mp4";
enum { FRAMES = 3 };

/* Puts a script in ffmpeg's place, and nothing but its folder and the system's into PATH; NULL: no ffmpeg at all. */
static void install(const char *script)
{
    clean_folder(folder);
    clean_folder(tools);
    setenv("PATH", script ? "movie_tools.d:/usr/bin:/bin" : "movie_tools.d", 1);
    if (!script) return;
    FILE *f = fopen("movie_tools.d/ffmpeg", "w");
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    chmod("movie_tools.d/ffmpeg", 0755);
}

/* A vector of y up in a space with z up: what the picture turns back. */
static void lay_down(float *v)
{
    float y = v[1];
    v[1] = -v[2];
    v[2] = y;
}

static bool z_up; /* the toy stands in a space with z up */

static supple_result film(double travel, bool end, const supple_config *config, supple_error *error)
{
    static const spl_format *const formats[] = {&spl_format_mp4};
    static const supple_range range = {0, 0, FRAMES};
    static float position[3 * TOY_COUNT];
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 29.97};
    toy t;
    supple_writer *w;
    toy_init(&t);
    if (z_up) t.scene.up = SPL_UP_Z;
    supple_result r = spl_writer_open_with(formats, 1, &t.scene, path, &plan, config, &w, error);
    for (int32_t i = 0; i < FRAMES && r == SUPPLE_OK; i++) {
        toy_pose(&t, i, travel, position);
        supple_frame frame = {.index = i, .position = position, .normal = t.normal};
        for (int v = 0; z_up && v < TOY_COUNT; v++) lay_down(position + 3 * v);
        for (int v = 0; z_up && i == 0 && v < TOY_COUNT; v++) lay_down(t.normal + 3 * v);
        r = supple_writer_frame(w, &frame, error);
        if (r != SUPPLE_OK) supple_writer_abort(w);
    }
    if (r == SUPPLE_OK && end) r = supple_writer_close(w, error);
    if (!end) supple_writer_abort(w);
    toy_release(&t);
    return r;
}

/* The last argument is the file; all of them are kept beside the program. */
static const char copies[] = "for a; do last=$a; done; echo \"$*\" > movie_tools.d/said; cat > \"${last#file:}\"";

TEST(every_picture_reaches_it)
{
    install(copies);
    supple_error error = {0};
    supple_result r = film(0, true, NULL, &error);
    if (r != SUPPLE_OK) printf("    %s\n", error.message);
    REQUIRE(r == SUPPLE_OK);
    CHECK(files_in(folder) == 1);
    size_t size = 0, said_size = 0;
    uint8_t *data = read_bytes(path, &size);
    char *said = (char *)read_bytes("movie_tools.d/said", &said_size), *at = said ? strstr(said, "-s ") : NULL;
    REQUIRE(data && at);
    int width = 0, height = 0;
    CHECK(sscanf(at, "-s %dx%d", &width, &height) == 2 && width % 2 == 0 && height % 2 == 0);
    CHECK(size == 3u * FRAMES * (size_t)width * (size_t)height);
    CHECK(strstr(said, "-r 29970/1000 ") && strstr(said, "-f mp4 file:movie.d/-a b.mp4.partial-"));
    size_t frame = size / FRAMES;
    CHECK(memcmp(data, data + frame, frame) != 0); /* it moves */
    free(data);
    free(said);
}

/* A file with z up gives the very film of the same file with y up. */
TEST(it_stands_upright)
{
    uint8_t *data[2] = {NULL, NULL};
    size_t size[2] = {0, 1};
    for (int i = 0; i < 2; i++) {
        install(copies);
        z_up = i == 1;
        CHECK(film(0, true, NULL, NULL) == SUPPLE_OK);
        data[i] = read_bytes(path, &size[i]);
    }
    z_up = false;
    CHECK(data[0] && data[1] && size[0] == size[1] && memcmp(data[0], data[1], size[0]) == 0);
    free(data[0]);
    free(data[1]);
}

TEST(threads_change_nothing)
{
    uint8_t *first = NULL;
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        install(copies);
        supple_config config = supple_config_default();
        config.thread_count = threads;
        REQUIRE(film(5, true, &config, NULL) == SUPPLE_OK);
        size_t size = 0;
        uint8_t *data = read_bytes(path, &size);
        if (first) CHECK(memcmp(data, first, size) == 0);
        if (first) free(data);
        if (!first) first = data;
    }
    free(first);
}

TEST(without_ffmpeg)
{
    install(NULL);
    supple_error error;
    CHECK(film(0, true, NULL, &error) == SUPPLE_ERROR_OUTPUT);
    CHECK(strstr(error.message, "needs ffmpeg") && strstr(error.message, "install"));
    CHECK(files_in(folder) == 0);
}

/* It fails with words; it is killed while it listens; it never listens; it ends well but writes nothing; it writes and
 * then fails, as on a full disk. */
TEST(nothing_is_left_of_a_failure)
{
    static const char *const scripts[] = {
        "echo 'no such encoder' >&2; cat > /dev/null; exit 1", "head -c 1000 > /dev/null; kill -9 $$", "exit 0",
        "cat > /dev/null", "for a; do last=$a; done; head -c 5000 > \"${last#file:}\"; echo No space left >&2; exit 1"};
    static const char *const words[] = {"no such encoder", "ffmpeg failed", "ffmpeg failed", "ffmpeg failed",
                                        "No space left"};
    for (int i = 0; i < 5; i++) {
        install(scripts[i]);
        supple_error error = {0};
        CHECK(film(0, true, NULL, &error) == SUPPLE_ERROR_OUTPUT);
        if (!strstr(error.message, words[i])) printf("    %s\n", error.message);
        CHECK(strstr(error.message, words[i]) != NULL);
        CHECK(files_in(folder) == 0);
    }
}

static bool stop_drawing(void *user, const char *stage, double fraction)
{
    (void)user;
    return !(strcmp(stage, "drawing") == 0 && fraction > 0.5);
}

TEST(cancelled_or_aborted)
{
    install(copies);
    CHECK(film(0, false, NULL, NULL) == SUPPLE_OK);
    CHECK(files_in(folder) == 0);
    supple_config config = supple_config_default();
    config.progress = stop_drawing;
    CHECK(film(0, true, &config, NULL) == SUPPLE_ERROR_CANCELLED);
    CHECK(files_in(folder) == 0);
}

TEST(allocations_may_fail)
{
    install(copies);
    int failed = 0;
    for (long n = 0; n < 400; n += n < 40 ? 1 : 37) { /* pictures take long: the first ones, and some of the others */
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        config.thread_count = 1;
        clean_folder(folder);
        supple_result r = film(0, true, &config, NULL);
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0 && files_in(folder) == (r == SUPPLE_OK));
        failed += r != SUPPLE_OK;
        if (r == SUPPLE_OK && f.requests <= n) break;
    }
    CHECK(failed > 10);
}

TEST_CASES(RUN(every_picture_reaches_it), RUN(it_stands_upright), RUN(threads_change_nothing), RUN(without_ffmpeg),
           RUN(nothing_is_left_of_a_failure), RUN(cancelled_or_aborted), RUN(allocations_may_fail))
