/* An atlas of a run, through the library: frames come back as they went in, for a scene with the same corners. */
#include "failing.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <supple/supple.h>
#include <supple/tools.h>

enum { FRAMES = 3, POINTS = 25 /* of the atlas */, WRITES = 60 /* of a writer, at least */ };

typedef struct run {
    supple_scene *scene;
    supple_sim *sim;
    float *position, *normal, *tangent;
} run;

static bool begin(run *r)
{
    void *glb;
    size_t size;
    supple_sim_config sc = supple_sim_config_default();
    memset(r, 0, sizeof *r);
    if (supple_demo_make("torus", 0.25, NULL, &glb, &size, NULL) != SUPPLE_OK) return false;
    supple_result result = supple_scene_load_memory(glb, size, "torus", NULL, &r->scene, NULL);
    supple_bytes_free(glb, NULL);
    if (result != SUPPLE_OK) return false;
    sc.method = "linear";
    sc.slide = true;
    size_t n = (size_t)supple_scene_vertex_count(r->scene);
    r->position = calloc(n, 3 * sizeof(float));
    r->normal = calloc(n, 3 * sizeof(float));
    r->tangent = calloc(n, 4 * sizeof(float));
    return supple_sim_create(r->scene, &sc, NULL, &r->sim, NULL) == SUPPLE_OK;
}

static void end(run *r)
{
    supple_sim_destroy(r->sim);
    supple_scene_destroy(r->scene);
    free(r->position);
    free(r->normal);
    free(r->tangent);
}

/* Frames of the run, each handed to the atlas. */
static supple_result add_frames(run *r, supple_atlas *atlas, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int k = 0; k < FRAMES && result == SUPPLE_OK; k++) {
        supple_slide_frame slide;
        if (supple_sim_step_clip(r->sim, 0, 0.1 * k, error) != SUPPLE_OK) return error->code;
        supple_sim_read_positions(r->sim, r->position, 3 * sizeof(float));
        supple_sim_read_normals(r->sim, r->normal, 3 * sizeof(float));
        supple_sim_read_tangents(r->sim, r->tangent, 4 * sizeof(float));
        supple_frame frame = {0, k, r->position, r->normal, r->tangent, NULL, NULL};
        if (supple_sim_slide(r->sim, &slide)) frame.slide = &slide;
        result = supple_atlas_add(atlas, &frame, error);
    }
    return result;
}

TEST(frames_come_back_for_the_new_scene)
{
    run r;
    supple_atlas *atlas = NULL;
    supple_error error;
    supple_frame frame;
    REQUIRE(begin(&r));
    REQUIRE(supple_atlas_create(r.sim, 0, NULL, &atlas, &error) == SUPPLE_OK && atlas);
    REQUIRE(add_frames(&r, atlas, &error) == SUPPLE_OK);
    REQUIRE(supple_atlas_finish(atlas, &error) == SUPPLE_OK);
    const supple_scene *made = supple_atlas_scene(atlas);
    const supple_atlas_info *info = supple_atlas_get_info(atlas);
    CHECK(supple_scene_triangle_count(made) == supple_scene_triangle_count(r.scene));
    CHECK(supple_scene_vertex_count(made) == supple_scene_vertex_count(r.scene) + info->added);
    CHECK(info->images == 1 && info->clashes == 0 && info->scale == 1);
    int count = 0;
    while (supple_atlas_next(atlas, &frame, &error)) {
        bool inside = true;
        CHECK(frame.index == count++ && frame.slide->corners == 3 * (size_t)supple_scene_triangle_count(made));
        for (size_t i = 0; i < 2 * frame.slide->corners; i++)
            inside = inside && frame.slide->corner_uv[i] > 0 && frame.slide->corner_uv[i] < 1;
        CHECK(inside);
        if (count == FRAMES) /* the last frame is still in our arrays, and its first vertices are the file's */
            CHECK(memcmp(frame.position, r.position, 3 * sizeof(float)) == 0);
    }
    CHECK(error.code == SUPPLE_OK && count == FRAMES && info->beyond == 0);
    supple_atlas_destroy(atlas);
    end(&r);
}

/* The atlas on its own; its side is bounded, because texels cost time and no requests. */
static supple_result make(run *r, const supple_config *config, supple_atlas **atlas)
{
    supple_error error = {0};
    supple_frame frame;
    supple_result result = supple_atlas_create(r->sim, 64, config, atlas, &error);
    if (result == SUPPLE_OK) result = add_frames(r, *atlas, &error);
    if (result == SUPPLE_OK) result = supple_atlas_finish(*atlas, &error);
    for (int k = 0; k < FRAMES && config && result == SUPPLE_OK; k++)
        if (!supple_atlas_next(*atlas, &frame, &error)) result = error.code;
    return result;
}

TEST(allocations_may_fail)
{
    failing f = {.fail_at = -1};
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    config.thread_count = 1;
    supple_atlas *atlas = NULL;
    run r;
    REQUIRE(begin(&r));
    REQUIRE(make(&r, &config, &atlas) == SUPPLE_OK);
    supple_atlas_destroy(atlas);
    CHECK(f.live == 0);
    long all = f.requests;
    for (long i = 0; i < POINTS; i++) { /* each in a place of its own, from the first to the last */
        f = (failing){.fail_at = i * (all - 1) / (POINTS - 1)};
        supple_result result = make(&r, &config, &atlas);
        supple_atlas_destroy(atlas);
        if (result != SUPPLE_ERROR_MEMORY) printf("request %ld of %ld: %d\n", f.fail_at, all, (int)result);
        CHECK(result == SUPPLE_ERROR_MEMORY && f.live == 0);
    }
    end(&r);
}

/* Frames as an atlas gives them, kept. */
typedef struct kept {
    supple_frame frame[FRAMES];
    supple_slide_frame slide[FRAMES];
    float *copy[FRAMES][4];
} kept;

static float *copied(const float *from, size_t count)
{
    float *to = malloc(count * sizeof *to);
    if (to) memcpy(to, from, count * sizeof *to);
    return to;
}

static bool keep(kept *k, supple_atlas *atlas)
{
    size_t n = (size_t)supple_scene_vertex_count(supple_atlas_scene(atlas));
    for (int i = 0; i < FRAMES; i++) {
        supple_frame *frame = &k->frame[i];
        float **copy = k->copy[i];
        if (!supple_atlas_next(atlas, frame, NULL)) return false;
        k->slide[i] = *frame->slide;
        copy[0] = copied(frame->position, 3 * n);
        copy[1] = copied(frame->normal, 3 * n);
        copy[2] = copied(frame->tangent, 4 * n);
        copy[3] = copied(frame->slide->corner_uv, 2 * frame->slide->corners);
        if (!copy[0] || !copy[1] || !copy[2] || !copy[3]) return false;
        k->slide[i].corner_uv = copy[3];
        k->slide[i].stretch = NULL;
        *frame = (supple_frame){0, i, copy[0], copy[1], copy[2], &k->slide[i], NULL};
    }
    return true;
}

static void drop(kept *k)
{
    for (int i = 0; i < FRAMES; i++)
        for (int c = 0; c < 4; c++) free(k->copy[i][c]);
}

static supple_result write_all(const supple_scene *scene, const kept *k, const supple_config *config, const char *path)
{
    supple_writer *writer = NULL;
    supple_error error = {0};
    supple_range range = {0, 0, FRAMES};
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 10, .glb_error = 1e-4, .slide = true};
    plan.slide_texture = strcmp(path, "texture.glb") == 0;
    supple_result result = supple_writer_open(scene, path, &plan, config, &writer, &error);
    for (int i = 0; i < FRAMES && result == SUPPLE_OK; i++) result = supple_writer_frame(writer, &k->frame[i], &error);
    if (result == SUPPLE_OK) return supple_writer_close(writer, &error);
    supple_writer_abort(writer);
    return result;
}

/* Every writer that has something of its own to write of it: at each request on from the first that fails. */
TEST(allocations_of_writers_may_fail)
{
    static const char *const outputs[] = {"out.glb", "texture.glb", "out.usda", "out.obj", "out.abc"};
    failing f;
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    config.thread_count = 1;
    supple_atlas *atlas = NULL;
    kept k = {0};
    run r;
    REQUIRE(begin(&r));
    REQUIRE(make(&r, NULL, &atlas) == SUPPLE_OK && keep(&k, atlas));
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
        f = (failing){.fail_at = -1};
        REQUIRE(write_all(supple_atlas_scene(atlas), &k, &config, outputs[o]) == SUPPLE_OK);
        CHECK(f.live == 0);
        long all = f.requests, step = all / WRITES + 1;
        for (long at = 0; at < all; at += step) {
            f = (failing){.fail_at = at};
            supple_result result = write_all(supple_atlas_scene(atlas), &k, &config, outputs[o]);
            if (result != SUPPLE_ERROR_MEMORY) printf("%s: request %ld of %ld: %d\n", outputs[o], at, all, (int)result);
            CHECK(result == SUPPLE_ERROR_MEMORY && f.live == 0);
        }
    }
    supple_atlas_destroy(atlas);
    drop(&k);
    end(&r);
}

TEST_CASES(RUN(frames_come_back_for_the_new_scene), RUN(allocations_may_fail), RUN(allocations_of_writers_may_fail))
