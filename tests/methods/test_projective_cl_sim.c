/* Whole simulations on an OpenCL device: alone, together, and their meshes. */
#include "body/upsample_map.h"
#include "methods/projective/cl/visual.h"
#include "methods/projective_cl.h"
#include "sim/posed.h"

#include <pthread.h>

static double worst_of(const float *a, const float *b, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)(a[i] - b[i])));
    return worst;
}

/* A character that folds onto itself and swings: on the device as with solver=pcg, and its mesh there as here. */
TEST(a_simulation_and_its_mesh_are_the_processors)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    posed p = posed_make("arm", 20, NULL);
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *here, *there, *other;
    supple_error error = {0};
    size_t n = 3 * (size_t)p.demo.scene->vertex_count;
    float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), *c = calloc(n, sizeof *c), *e = calloc(n, sizeof *e);
    sc.dynamics = true;
    sc.substep = 1.0 / 50;
    REQUIRE(posed_try(&p, "projective", "solver=pcg polish=off", &sc, NULL, &here, &error) == SUPPLE_OK);
    sc.shared_device = d;
    REQUIRE(posed_try(&p, "projective", "polish=off", &sc, NULL, &there, &error) == SUPPLE_OK);
    REQUIRE(posed_try(&p, "projective", "polish=off", &sc, NULL, &other, &error) == SUPPLE_OK); /* shares the device */
    int contacts = 0, frames = test_size(24, 6);
    for (int k = 0; k < frames; k++) {
        CHECK(supple_sim_step_clip(here, 0, k / 24.0 * 1.2, &error) == SUPPLE_OK);
        CHECK(supple_sim_step_clip(there, 0, k / 24.0 * 1.2, &error) == SUPPLE_OK);
        if (k < 3) CHECK(supple_sim_step_clip(other, 0, k / 24.0 * 1.2, &error) == SUPPLE_OK);
        contacts += supple_sim_stats(there)->contacts;
        supple_sim_read_positions(here, a, 12);
        supple_sim_read_positions(there, b, 12);
        CHECK_NEAR(worst_of(a, b, n) / there->flesh.solid.diagonal, 0, 1e-4);
    }
    CHECK(supple_sim_on_device(there) && supple_sim_on_device(other) && !supple_sim_on_device(here));
    if (frames == 24) CHECK(contacts > 0);
    printf("    %d contacts, difference %.1e of the diagonal\n", contacts,
           worst_of(a, b, n) / there->flesh.solid.diagonal);
    CHECK(!supple_sim_device_positions(there));
    supple_result shown = supple_sim_device_show(there, &error);
    if (shown != SUPPLE_OK) printf("    %s\n", error.message);
    REQUIRE(shown == SUPPLE_OK);
    CHECK(supple_sim_device_positions(there) && supple_sim_device_normals(there));
    CHECK(supple_sim_copy_start(there, c, e, &error) == SUPPLE_OK);
    CHECK(supple_sim_copy_finish(there, &error) == SUPPLE_OK);
    CHECK_NEAR(worst_of(b, c, n), 0, 2e-6);
    /* normals: the upsampled ones, by the processor */
    spl_upsample_target to = {.position = a, .position_stride = 12, .normal = b, .normal_stride = 12};
    spl_upsample_apply_float(there->flesh.body->upsample, there->flesh.rides, NULL, there->flesh.posed, &to);
    CHECK_NEAR(worst_of(b, e, n), 0, 1e-4);
    supple_sim_read_normals(there, b, 12);
    CHECK(worst_of(b, e, n) > 1e-4); /* not the triangles' */
    CHECK(supple_sim_device_show(here, &error) == SUPPLE_ERROR_ARGUMENT);
    supple_sim_destroy(here), supple_sim_destroy(there), supple_sim_destroy(other);
    free(a), free(b), free(c), free(e);
    posed_free(&p);
    supple_device_close(d);
}

/* Characters at different moments, stepped as one and each alone; the batch refuses what it cannot join. */
TEST(a_batch_of_simulations_is_as_each_alone)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    posed p = posed_make("arm", 16, NULL);
    supple_sim_config sc = supple_sim_config_default();
    supple_error error = {0};
    size_t n = 3 * (size_t)p.demo.scene->vertex_count;
    enum { COUNT = 3 };
    supple_sim *joint[COUNT], *alone[COUNT], *other;
    float *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b);
    supple_batch *batch;
    sc.dynamics = true;
    sc.shared_device = d;
    for (int i = 0; i < COUNT; i++) {
        REQUIRE(posed_try(&p, "projective", "accelerate=none", &sc, NULL, &joint[i], NULL) == SUPPLE_OK);
        REQUIRE(posed_try(&p, "projective", "accelerate=none", &sc, NULL, &alone[i], NULL) == SUPPLE_OK);
    }
    REQUIRE(posed_try(&p, "projective", "", &sc, NULL, &other, NULL) == SUPPLE_OK);
    CHECK(supple_batch_create((supple_sim *[]){joint[0], other}, 2, &batch, &error) == SUPPLE_ERROR_ARGUMENT && !batch);
    CHECK(strstr(error.message, "simulation 1"));
    supple_sim_destroy(other);
    static const char *const unlike[] = {"accelerate=none iterations=7", "accelerate=none inner=3"};
    for (int i = 0; i < 2; i++) { /* all take as many iterations as the first */
        REQUIRE(posed_try(&p, "projective", unlike[i], &sc, NULL, &other, NULL) == SUPPLE_OK);
        CHECK(supple_batch_create((supple_sim *[]){joint[0], other}, 2, &batch, &error) == SUPPLE_ERROR_ARGUMENT);
        CHECK(!batch && strstr(error.message, "iterations"));
        if (i == 0) supple_sim_destroy(other);
    }
    CHECK(supple_batch_create((supple_sim *[]){joint[0], joint[0]}, 2, &batch, &error) ==
          SUPPLE_ERROR_ARGUMENT); /* twice */
    REQUIRE(supple_batch_create(joint, COUNT, &batch, &error) == SUPPLE_OK);
    supple_batch *second;
    CHECK(supple_batch_create(&joint[1], 1, &second, &error) == SUPPLE_ERROR_ARGUMENT && !second); /* sits already */
    for (int k = 0; k < 5; k++) {
        /* the second goes faster, by more substeps a frame; the third stands still for a while */
        const double times[COUNT] = {k / 24.0, k / 12.0, k < 3 ? 0 : (k - 2) / 24.0};
        CHECK(supple_batch_step_clip(batch, (const int32_t[COUNT]){0, 0, 0}, times, &error) == SUPPLE_OK);
        for (int i = 0; i < COUNT; i++) {
            CHECK(supple_sim_step_clip(alone[i], 0, times[i], &error) == SUPPLE_OK);
            supple_sim_read_positions(joint[i], a, 12);
            supple_sim_read_positions(alone[i], b, 12);
            CHECK_NEAR(worst_of(a, b, n) / joint[i]->flesh.solid.diagonal, 0, 1e-5);
        }
    }
    for (int i = 0; i < COUNT; i++) CHECK(supple_sim_on_device(joint[i]));
    supple_batch_destroy(batch);
    CHECK(supple_sim_step_clip(joint[0], 0, 6 / 24.0, &error) == SUPPLE_OK); /* alone again */
    for (int i = 0; i < COUNT; i++) supple_sim_destroy(joint[i]), supple_sim_destroy(alone[i]);
    supple_sim_destroy(other);
    free(a), free(b);
    posed_free(&p);
    supple_device_close(d);
}

/* Upsampling there and here, of bodies that are bent, and of ones that are stretched as a whole. */
static void compare_mesh(supple_device *d, const char *name, bool stretch, size_t *offsets, uint64_t *bytes,
                         size_t *entries)
{
    supple_scene *scene;
    supple_body *handle;
    supple_body_config bc = supple_body_config_default();
    bc.resolution = 20;
    bc.cache = false;
    REQUIRE(supple_scene_load_file(name, NULL, &scene, NULL) == SUPPLE_OK);
    REQUIRE(supple_body_create(scene, &bc, NULL, &handle, NULL) == SUPPLE_OK);
    const spl_body *body = &handle->body;
    const spl_upsample *u = body->upsample;
    supple_allocator a = spl_allocator_of(NULL);
    size_t n = 3 * (size_t)u->vertex_count, vertices = (size_t)body->tets.vertex_count;
    float *mem[5];
    for (int i = 0; i < 5; i++) mem[i] = calloc(i < 4 ? n : 3 * vertices, sizeof(float));
    for (size_t v = 0; v < vertices; v++) {
        spl_vec3 at = body->tets.position[v];
        const double x[3] = {at.x, at.y, at.z};
        double angle = stretch ? 0 : 0.8 * x[1];
        mem[4][3 * v] =
            (float)(stretch ? 1.3 * x[0] + 0.2 * x[1] : cos(angle) * x[0] - sin(angle) * x[2] + 0.1 * x[1] * x[1]);
        mem[4][3 * v + 1] = (float)(stretch ? 0.8 * x[1] : x[1] + 0.05 * sin(5 * x[0]));
        mem[4][3 * v + 2] = (float)(stretch ? x[2] : sin(angle) * x[0] + cos(angle) * x[2]);
    }
    spl_upsample_frame *f;
    spl_cl_visual *visual;
    supple_error error = {0};
    REQUIRE(spl_upsample_frame_create(u, &a, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_cl_visual_create(d, u, NULL, &a, &visual, &error) == SUPPLE_OK);
    spl_upsample_target to = {.position = mem[0], .position_stride = 12, .normal = mem[1], .normal_stride = 12};
    spl_upsample_apply_float(u, f, NULL, mem[4], &to);
    CHECK(f->stretched == stretch);
    spl_cl_visual_frame frame = {.posed = mem[4], .frame = f, .scale = 1, .position = mem[0], .normal = mem[1]};
    CHECK(spl_cl_visual_run(visual, &frame, &error) == SUPPLE_OK);
    CHECK(spl_cl_visual_copy(visual, mem[2], mem[3], &error) == SUPPLE_OK);
    CHECK(spl_cl_visual_wait(visual, &error) == SUPPLE_OK);
    CHECK_NEAR(worst_of(mem[0], mem[2], n), 0, 3e-6);
    if (u->has_normals) CHECK_NEAR(worst_of(mem[1], mem[3], n), 0, 2e-4);
    *offsets += u->has_offsets ? u->offset_count : 0;
    *bytes = spl_cl_visual_bytes(visual);
    *entries = u->entry_count;
    spl_cl_visual_destroy(visual);
    spl_upsample_frame_destroy(f);
    for (int i = 0; i < 5; i++) free(mem[i]);
    supple_body_destroy(handle);
    supple_scene_destroy(scene);
}

TEST(meshes_are_upsampled_there_as_here)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    size_t offsets = 0, entries = 0;
    uint64_t bytes = 0, wide_bytes = 0;
    for (int stretch = 0; stretch < 2; stretch++) compare_mesh(d, "demo:turtle", stretch, &offsets, &bytes, &entries);
    printf("    %zu offsets\n", offsets);
    CHECK(offsets > 0);
    supple_device_close(d);
    /* neighbours of 32 bits, as if the surface had more than 65,536 vertices */
    REQUIRE(spl_device_open("cl", &(spl_device_options){.narrow = 10}, NULL, &d, NULL) == SUPPLE_OK);
    compare_mesh(d, "demo:turtle", false, &offsets, &wide_bytes, &entries);
    CHECK(entries > 0 && wide_bytes - bytes == 2 * entries);
    supple_device_close(d);
}

/* Two simulations on one device, each on a thread of its own. */
typedef struct player {
    supple_sim *sim;
    float *position;
    bool failed;
} player;

static void *play(void *context)
{
    player *p = context;
    for (int k = 0; k < 4; k++) p->failed |= supple_sim_step_clip(p->sim, 0, k / 24.0, NULL) != SUPPLE_OK;
    supple_sim_read_positions(p->sim, p->position, 12);
    return NULL;
}

TEST(two_simulations_share_a_device)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    posed p = posed_make("arm", 16, NULL);
    supple_sim_config sc = supple_sim_config_default();
    size_t n = 3 * (size_t)p.demo.scene->vertex_count;
    player all[3] = {{0}};
    pthread_t thread[2];
    sc.dynamics = true;
    sc.shared_device = d;
    for (int i = 0; i < 3; i++) {
        REQUIRE(posed_try(&p, "projective", "", &sc, NULL, &all[i].sim, NULL) == SUPPLE_OK);
        all[i].position = calloc(n, sizeof(float));
    }
    play(&all[2]); /* alone */
    for (int i = 0; i < 2; i++) REQUIRE(pthread_create(&thread[i], NULL, play, &all[i]) == 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(!all[i].failed && supple_sim_on_device(all[i].sim));
        CHECK(memcmp(all[i].position, all[2].position, n * sizeof(float)) == 0); /* the same bits on every run */
        supple_sim_destroy(all[i].sim);
        free(all[i].position);
    }
    posed_free(&p);
    supple_device_close(d);
}

TEST_CASES(RUN(a_simulation_and_its_mesh_are_the_processors), RUN(meshes_are_upsampled_there_as_here),
           RUN(two_simulations_share_a_device), RUN(a_batch_of_simulations_is_as_each_alone))
