/* A whole run, from a file to a file, with every request for memory failing once: the library's through the host's
 * allocator and jansson's through its own hooks. Each run is an error that says so, or the right file.
 *
 * SUPPLE_TEST_ALL=1 tries every request (minutes); else about a hundred of each format, spread over the run. */
#include "failing.h"
#include "test.h"

#include <jansson.h>
#include <supple/supple.h>
#include <supple/tools.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAMES = 2, TRIES = 100, MOST_REQUESTS = 20000 };

static failing counter;

static void *json_allocate(size_t size)
{
    return failing_allocate(&counter, size);
}

static void json_release(void *block)
{
    failing_release(&counter, block);
}

typedef struct run {
    supple_scene *scene;
    supple_sim *sim;
    supple_writer *writer;
    float *position, *normal, *tangent;
} run;

static supple_result write_frames(run *r, const char *path, const supple_config *config, supple_error *error)
{
    supple_range range = {0, 0, FRAMES};
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 30};
    supple_result result = supple_writer_open(r->scene, path, &plan, config, &r->writer, error);
    for (int k = 0; k < FRAMES && result == SUPPLE_OK; k++) {
        result = supple_sim_step_clip(r->sim, 0, k / 30.0, error);
        if (result != SUPPLE_OK) break;
        supple_sim_read_positions(r->sim, r->position, 3 * sizeof(float));
        supple_sim_read_normals(r->sim, r->normal, 3 * sizeof(float));
        supple_sim_read_tangents(r->sim, r->tangent, 4 * sizeof(float));
        supple_frame frame = {0, k, r->position, r->normal, r->tangent, NULL, NULL};
        result = supple_writer_frame(r->writer, &frame, error);
    }
    supple_writer *writer = r->writer;
    if (result != SUPPLE_OK) return result;
    r->writer = NULL;
    return supple_writer_close(writer, error);
}

/* One run with the n-th request failing, -1 for none. */
static supple_result skin(const char *in, const char *out, long n, supple_error *error)
{
    counter = (failing){.fail_at = n};
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&counter);
    config.thread_count = 1;
    run r = {0};
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "linear";
    supple_result result = supple_scene_load_file(in, &config, &r.scene, error);
    if (result == SUPPLE_OK) result = supple_sim_create(r.scene, &sc, &config, &r.sim, error);
    size_t count = result == SUPPLE_OK ? (size_t)supple_scene_vertex_count(r.scene) : 0;
    r.position = calloc(3 * count + 1, sizeof(float)); /* the host's own */
    r.normal = calloc(3 * count + 1, sizeof(float));
    r.tangent = calloc(4 * count + 1, sizeof(float));
    if (result == SUPPLE_OK) result = write_frames(&r, out, &config, error);
    supple_writer_abort(r.writer);
    supple_sim_destroy(r.sim);
    supple_scene_destroy(r.scene);
    free(r.position);
    free(r.normal);
    free(r.tangent);
    return result;
}

static char *bytes_of(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    *size = 0;
    if (!file) return NULL;
    char *bytes = fstat(fileno(file), &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    if (bytes) *size = fread(bytes, 1, (size_t)st.st_size, file);
    fclose(file);
    return bytes;
}

/* An output that is not the good one, if there is one at all. */
static bool is_wrong(const char *path, const char *good, size_t good_size)
{
    size_t size;
    char *bytes = bytes_of(path, &size);
    bool wrong = bytes && (size != good_size || memcmp(bytes, good, size) != 0);
    free(bytes);
    return wrong;
}

static void every_request(const char *in, const char *out)
{
    supple_error error;
    REQUIRE(skin(in, out, -1, &error) == SUPPLE_OK);
    long requests = counter.requests, step = getenv("SUPPLE_TEST_ALL") ? 1 : requests / TRIES + 1;
    size_t size;
    char *good = bytes_of(out, &size);
    REQUIRE(good && counter.live == 0 && requests > 300 && requests < MOST_REQUESTS);
    for (long n = 0; n < requests; n += step) {
        remove(out);
        error = (supple_error){0};
        supple_result result = skin(in, out, n, &error);
        int before = test_failures;
        CHECK(counter.live == 0);
        CHECK(!is_wrong(out, good, size));
        if (result == SUPPLE_OK) CHECK(access(out, R_OK) == 0);
        if (result != SUPPLE_OK) CHECK(result == SUPPLE_ERROR_MEMORY && strstr(error.message, "memory"));
        if (test_failures > before) printf("    request %ld of %ld: %s\n", n, requests, error.message);
    }
    free(good);
}

TEST(every_request_may_fail_to_glb)
{
    json_set_alloc_funcs(json_allocate, json_release);
    every_request(SPL_DATA_DIR "/figure.glb", "out.glb");
}

TEST(every_request_may_fail_to_gltf)
{
    json_set_alloc_funcs(json_allocate, json_release);
    every_request(SPL_DATA_DIR "/strip.gltf", "out.gltf");
}

TEST(every_request_may_fail_to_abc)
{
    json_set_alloc_funcs(json_allocate, json_release);
    every_request(SPL_DATA_DIR "/figure.glb", "out.abc");
}

TEST(every_request_may_fail_to_usda)
{
    json_set_alloc_funcs(json_allocate, json_release);
    every_request(SPL_DATA_DIR "/figure.glb", "out.usda");
}

TEST_CASES(RUN(every_request_may_fail_to_glb), RUN(every_request_may_fail_to_gltf), RUN(every_request_may_fail_to_abc),
           RUN(every_request_may_fail_to_usda))
