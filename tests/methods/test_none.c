/* Vertex animations: what a .pc2 holds comes out as it is. */
#include "failing.h"
#include "scene/readers/pc2.h"
#include "test.h"

#include <supple/supple.h>
#include <unistd.h>

static supple_error error;

enum { SAMPLES = 5, HEADER = 32 };

static void put_u32(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> 8 * i);
}

static void put_f32(uint8_t *p, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(p, bits);
}

static float coordinate(size_t sample, size_t i)
{
    return (float)sample * 0.7f + (float)i * 1e-3f - (float)(i % 7);
}

/* A cache of the character, made here byte by byte; sample k is at frame k * spacing. */
static uint8_t *make_cache(int32_t vertices, float spacing, size_t *size)
{
    size_t width = 3 * (size_t)vertices;
    *size = HEADER + 4 * width * SAMPLES;
    uint8_t *data = calloc(1, *size);
    if (!data) return NULL;
    memcpy(data, "POINTCACHE2", 12);
    put_u32(data + 12, 1);
    put_u32(data + 16, (uint32_t)vertices);
    put_f32(data + 20, 1); /* first frame: 1, as many programs count */
    put_f32(data + 24, spacing);
    put_u32(data + 28, SAMPLES);
    for (size_t k = 0; k < SAMPLES; k++)
        for (size_t i = 0; i < width; i++) put_f32(data + HEADER + 4 * (k * width + i), coordinate(k, i));
    return data;
}

static supple_result add(supple_scene *scene, const uint8_t *data, size_t size, double fps, int32_t *clip)
{
    supple_motion motion = {.path = "play.pc2", .data = data, .size = size, .fps = fps};
    error = (supple_error){0};
    return supple_scene_add_motion(scene, &motion, NULL, clip, &error);
}

static supple_sim *start(const supple_scene *scene)
{
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = "none";
    supple_sim_create(scene, &sc, NULL, &sim, &error);
    return sim;
}

TEST(samples_come_out_bit_by_bit_and_are_interpolated_between)
{
    for (int half = 0; half < 2; half++) {
        supple_scene *scene = NULL;
        REQUIRE(supple_scene_load_file("demo:cylinder", NULL, &scene, &error) == SUPPLE_OK);
        int32_t n = supple_scene_vertex_count(scene), clip;
        size_t size;
        uint8_t *data = make_cache(n, half ? 0.5f : 1, &size);
        float *out = calloc((size_t)n, 3 * sizeof *out);
        REQUIRE(data && out && add(scene, data, size, 24, &clip) == SUPPLE_OK);
        double fps = half ? 48 : 24; /* samples a second */
        CHECK_NEAR(supple_scene_clip_fps(scene, clip), fps, 1e-12);
        CHECK(supple_scene_frame_count(scene, clip, fps) == SAMPLES);
        supple_sim *sim = start(scene);
        REQUIRE(sim);
        for (int k = 0; k < SAMPLES; k++) {
            CHECK(supple_sim_step_clip(sim, clip, k / fps, &error) == SUPPLE_OK);
            supple_sim_read_positions(sim, out, 12);
            for (size_t i = 0; i < 3 * (size_t)n; i++) CHECK(out[i] == coordinate((size_t)k, i));
        }
        CHECK(supple_sim_step_clip(sim, clip, 1.25 / fps, &error) == SUPPLE_OK);
        supple_sim_read_positions(sim, out, 12);
        for (size_t i = 0; i < 3 * (size_t)n; i++)
            CHECK_NEAR(out[i], 0.75 * (double)coordinate(1, i) + 0.25 * (double)coordinate(2, i), 1e-5);
        CHECK(supple_sim_step_clip(sim, clip, 99, &error) == SUPPLE_OK); /* behind the end: the last one */
        supple_sim_read_positions(sim, out, 12);
        CHECK(out[5] == coordinate(SAMPLES - 1, 5));
        CHECK(supple_sim_step_clip(sim, 0, 0, &error) == SUPPLE_ERROR_ARGUMENT); /* a clip of joints */
        CHECK(strstr(error.message, "vertex animation"));
        supple_sim_destroy(sim);
        supple_scene_destroy(scene);
        free(data);
        free(out);
    }
}

TEST(without_an_animation_there_is_nothing_to_play)
{
    supple_scene *scene = NULL;
    REQUIRE(supple_scene_load_file("demo:cylinder", NULL, &scene, &error) == SUPPLE_OK);
    CHECK(!start(scene));
    CHECK(error.code == SUPPLE_ERROR_ARGUMENT && strstr(error.message, "--motion") && !strchr(error.message, '\n'));
    supple_scene_destroy(scene);
}

TEST(caches_are_read_strictly)
{
    supple_scene *scene = NULL;
    REQUIRE(supple_scene_load_file("demo:cylinder", NULL, &scene, &error) == SUPPLE_OK);
    int32_t n = supple_scene_vertex_count(scene), clip, clips = supple_scene_clip_count(scene);
    size_t size;
    uint8_t *data = make_cache(n, 1, &size), *spoilt = malloc(size + 1);
    REQUIRE(data && spoilt);
    static const struct {
        size_t at;
        uint32_t value;
        const char *word;
    } bad[] = {{0, 0, "POINTCACHE2"},
               {12, 2, "version"},
               {16, 7, "7 points"},
               {24, 0, "frames"},
               {24, 0x7fc00000, "frames"},
               {28, 0, "0 samples"},
               {28, SAMPLES + 1, "cut off"},
               {28, SAMPLES - 1, "cut"},
               {28, 0x80000000u, "samples"},
               {HEADER + 4, 0x7fc00000, "sample 0, point 0"},
               {HEADER + 40, 0x7f800000, "point 3"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(spoilt, data, size);
        put_u32(spoilt + bad[i].at, bad[i].value);
        CHECK(add(scene, spoilt, size, 0, &clip) == SUPPLE_ERROR_INPUT && clip == -1);
        if (!strstr(error.message, bad[i].word)) printf("    %s\n", error.message);
        CHECK(strstr(error.message, bad[i].word));
    }
    for (size_t cut = 0; cut < size; cut += cut < 40 ? 1 : 997)
        CHECK(add(scene, data, cut, 0, &clip) == SUPPLE_ERROR_INPUT);
    memcpy(spoilt, data, size);
    CHECK(add(scene, spoilt, size + 1, 0, &clip) == SUPPLE_ERROR_INPUT);
    supple_motion mapped = {.path = "play.pc2", .data = data, .size = size, .map_path = "map.json"};
    CHECK(supple_scene_add_motion(scene, &mapped, NULL, &clip, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_scene_clip_count(scene) == clips);
    CHECK(add(scene, data, size, 0, &clip) == SUPPLE_OK && clip == clips);
    free(data);
    free(spoilt);
    supple_scene_destroy(scene);
}

TEST(every_allocation_may_fail)
{
    failing f = {.fail_at = -1};
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    supple_scene *scene = NULL;
    REQUIRE(supple_scene_load_file("demo:cylinder", &config, &scene, &error) == SUPPLE_OK);
    size_t size;
    uint8_t *data = make_cache(supple_scene_vertex_count(scene), 1, &size);
    REQUIRE(data);
    FILE *file = fopen("test-none.pc2", "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    supple_motion motion = {.path = "test-none.pc2"};
    int32_t clip;
    for (long n = 0; n < 100; n++) {
        long live = f.live;
        f.requests = 0;
        f.fail_at = n;
        supple_result result = supple_scene_add_motion(scene, &motion, &config, &clip, &error);
        if (result == SUPPLE_OK) {
            CHECK(n >= 4);
            break;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY && f.live == live);
    }
    unlink("test-none.pc2");
    free(data);
    f.fail_at = -1;
    supple_scene_destroy(scene);
    CHECK(f.live == 0);
}

TEST_CASES(RUN(samples_come_out_bit_by_bit_and_are_interpolated_between),
           RUN(without_an_animation_there_is_nothing_to_play), RUN(caches_are_read_strictly),
           RUN(every_allocation_may_fail))
