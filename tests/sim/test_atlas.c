/* An atlas of a run, through the library: frames come back as they went in, for a scene with the same corners. */
#include "failing.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <supple/supple.h>
#include <supple/tools.h>

enum { FRAMES = 3 };

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

static supple_result all_of_it(run *r, const supple_config *config, const char *path)
{
    supple_atlas *atlas = NULL;
    supple_writer *writer = NULL;
    supple_error error = {0};
    supple_frame frame;
    supple_range range = {0, 0, FRAMES};
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 10, .slide = true};
    supple_result result = supple_atlas_create(r->sim, 0, config, &atlas, &error);
    if (result == SUPPLE_OK) result = add_frames(r, atlas, &error);
    if (result == SUPPLE_OK) result = supple_atlas_finish(atlas, &error);
    if (result == SUPPLE_OK)
        result = supple_writer_open(supple_atlas_scene(atlas), path, &plan, config, &writer, &error);
    for (int k = 0; k < FRAMES && result == SUPPLE_OK; k++)
        result = supple_atlas_next(atlas, &frame, &error) ? supple_writer_frame(writer, &frame, &error) : error.code;
    if (result == SUPPLE_OK)
        result = supple_writer_close(writer, &error);
    else
        supple_writer_abort(writer);
    supple_atlas_destroy(atlas);
    return result;
}

/* The atlas, and every writer that has something of its own to write of it. */
TEST(allocations_may_fail)
{
    static const char *const outputs[] = {"out.glb", "out.usda", "out.obj", "out.abc"};
    failing f;
    supple_config config = supple_config_default();
    config.allocator = failing_allocator(&f);
    config.thread_count = 1;
    run r;
    REQUIRE(begin(&r));
    for (size_t o = 0; o < sizeof outputs / sizeof *outputs; o++) {
        f = (failing){.fail_at = -1};
        REQUIRE(all_of_it(&r, &config, outputs[o]) == SUPPLE_OK);
        CHECK(f.live == 0);
        long all = f.requests, step = all / 6 + 1;
        for (long k = (long)o; k < all; k += step) {
            f = (failing){.fail_at = k};
            supple_result result = all_of_it(&r, &config, outputs[o]);
            if (result != SUPPLE_ERROR_MEMORY) printf("%s: request %ld of %ld: %d\n", outputs[o], k, all, (int)result);
            CHECK(result == SUPPLE_ERROR_MEMORY && f.live == 0);
        }
    }
    end(&r);
}

TEST_CASES(RUN(frames_come_back_for_the_new_scene), RUN(allocations_may_fail))
