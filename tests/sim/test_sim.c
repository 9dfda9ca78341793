#include "body/demo_body.h"
#include "core/hash.h"
#include "failing.h"

#include <supple/supple.h>

/* A coarse body, for the methods that need one; the automatic one would take most of the time. */
static supple_body *coarse(const supple_scene *scene)
{
    supple_body_config bc = body_config(SUPPLE_BODY_TETS, test_size(10, 6));
    return body_create(scene, &bc, 0);
}

static supple_sim *start_with(const supple_scene *scene, const supple_body *body, const char *method,
                              const supple_config *config)
{
    supple_error error = {0};
    supple_sim_config sc = supple_sim_config_default();
    supple_sim *sim = NULL;
    sc.method = method;
    sc.body = body;
    if (supple_sim_create(scene, &sc, config, &sim, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return sim;
}

static supple_sim *start(const supple_scene *scene, const char *method, const supple_config *config)
{
    return start_with(scene, NULL, method, config);
}

static float *buffer(const supple_scene *scene)
{
    return calloc((size_t)supple_scene_vertex_count(scene), 4 * sizeof(float));
}

TEST(the_hosts_matrices_equal_the_clip)
{
    supple_scene *scene = scene_load("demo:arm");
    REQUIRE(scene);
    supple_sim *a = start(scene, "linear", NULL), *b = start(scene, "linear", NULL);
    REQUIRE(a && b);
    int32_t joints = supple_scene_joint_count(scene), n = supple_scene_vertex_count(scene);
    float *matrices = calloc((size_t)joints, 16 * sizeof(float)), *xa = buffer(scene), *xb = buffer(scene);
    double most = 0;
    for (int k = 0; k < 10; k++) {
        CHECK(supple_sim_step_clip(a, 0, 0.1 * k, NULL) == SUPPLE_OK);
        CHECK(supple_scene_pose(scene, 0, 0.1 * k, matrices, joints, NULL) == SUPPLE_OK);
        CHECK(supple_sim_step_pose(b, matrices, joints, NULL) == SUPPLE_OK);
        supple_sim_read_positions(a, xa, 12);
        supple_sim_read_positions(b, xb, 12);
        for (int32_t i = 0; i < 3 * n; i++) most = fmax(most, fabs((double)xa[i] - (double)xb[i]));
    }
    CHECK(most < 1e-6); /* the host's matrices are floats */
    matrices[5] = NAN;
    CHECK(supple_sim_step_pose(b, matrices, joints, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_sim_step_pose(b, matrices, joints - 1, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_sim_step_clip(b, 99, 0, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_sim_step_clip(b, 0, NAN, NULL) == SUPPLE_ERROR_ARGUMENT);
    free(matrices);
    free(xa);
    free(xb);
    supple_sim_destroy(a);
    supple_sim_destroy(b);
    supple_scene_destroy(scene);
}

/* `none` plays what a file brings; it has tests of its own. */
/* Without a motion or a model of its own; the latter is in tests/subspace. */
static bool moves_by_itself(int32_t method)
{
    const char *name = supple_method_name(method);
    return strcmp(name, "none") != 0 && strcmp(name, "subspace") != 0;
}

static uint64_t run_hash(const supple_scene *scene, const supple_body *body, const char *method, int threads)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    supple_sim *sim = start_with(scene, body, method, &config);
    float *x = buffer(scene);
    size_t bytes = (size_t)supple_scene_vertex_count(scene) * 12;
    uint64_t hash = 0;
    for (int k = 0; sim && k < 8; k++) {
        supple_sim_step_clip(sim, 0, 0.2 * k, NULL);
        supple_sim_read_positions(sim, x, 12);
        hash = spl_hash(x, bytes, hash);
        supple_sim_read_normals(sim, x, 12);
        hash = spl_hash(x, bytes, hash);
    }
    free(x);
    supple_sim_destroy(sim);
    return hash;
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    supple_scene *scene = scene_load("demo:cylinder");
    REQUIRE(scene);
    supple_body *body = coarse(scene);
    for (int32_t m = 0; m < supple_method_count(); m++) {
        if (!moves_by_itself(m)) continue;
        uint64_t one = run_hash(scene, body, supple_method_name(m), 1);
        CHECK(one != 0 && one == run_hash(scene, body, supple_method_name(m), 2));
        CHECK(one == run_hash(scene, body, supple_method_name(m), 7));
    }
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

TEST(strides_are_honoured_and_gaps_left_alone)
{
    supple_scene *scene = scene_load("demo:arm");
    REQUIRE(scene);
    supple_sim *sim = start(scene, "dualquat", NULL);
    REQUIRE(sim);
    size_t n = (size_t)supple_scene_vertex_count(scene);
    float *packed = buffer(scene), *wide = calloc(n, 7 * sizeof(float));
    for (size_t i = 0; i < 7 * n; i++) wide[i] = -77;
    CHECK(supple_sim_step_clip(sim, 0, 0.5, NULL) == SUPPLE_OK);
    supple_sim_read_positions(sim, packed, 12);
    supple_sim_read_positions(sim, wide, 28);
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        wrong += memcmp(wide + 7 * i, packed + 3 * i, 12) != 0;
        for (size_t k = 3; k < 7; k++) wrong += wide[7 * i + k] != -77;
    }
    supple_sim_read_normals(sim, wide + 3, 28);
    for (size_t i = 0; i < n; i++) {
        const float *v = wide + 7 * i + 3;
        wrong += fabs((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) - 1) > 1e-5;
        wrong += memcmp(wide + 7 * i, packed + 3 * i, 12) != 0;
    }
    CHECK(wrong == 0);
    free(packed);
    free(wide);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
}

TEST(stepping_and_reading_allocate_nothing)
{
    supple_scene *scene = scene_load("demo:arm");
    REQUIRE(scene);
    float *x = buffer(scene);
    supple_body *body = coarse(scene);
    for (int32_t m = 0; m < supple_method_count(); m++) {
        if (!moves_by_itself(m)) continue;
        failing f = {.fail_at = -1};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        supple_sim *sim = start_with(scene, body, supple_method_name(m), &config);
        REQUIRE(sim);
        long before = f.requests;
        for (int k = 0; k < 5; k++) {
            supple_sim_step_clip(sim, 0, 0.1 * k, NULL);
            supple_sim_read_positions(sim, x, 12);
            supple_sim_read_normals(sim, x, 12);
            supple_sim_read_tangents(sim, x, 16);
        }
        supple_sim_reset(sim);
        CHECK(f.requests == before);
        supple_sim_destroy(sim);
        CHECK(f.live == 0);
    }
    free(x);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

/* Poses that are none are refused by the joint's name, and nothing has happened; a joint that is scaled to nothing is a
 * part that is hidden. By every method: what is taken is finite, and after what is not the last frame stands. */
TEST(poses_that_are_none_leave_everything_as_it_was)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    REQUIRE(scene);
    supple_body *body = coarse(scene);
    int32_t joints = supple_scene_joint_count(scene), n = supple_scene_vertex_count(scene), taken = 0, refused = 0;
    float *good = calloc((size_t)joints, 64), *m = calloc((size_t)joints, 64), *x = buffer(scene), *y = buffer(scene);
    CHECK(supple_scene_pose(scene, 0, 0.2, good, joints, NULL) == SUPPLE_OK);
    for (int32_t k = 0; k < supple_method_count(); k++) {
        if (!moves_by_itself(k)) continue;
        supple_sim *sim = start_with(scene, body, supple_method_name(k), NULL);
        REQUIRE(sim);
        CHECK(supple_sim_step_pose(sim, good, joints, NULL) == SUPPLE_OK);
        for (int wrong = 0; wrong < 8; wrong++) {
            static const float odd[] = {0, 0, 0, NAN, 3e38f, 1e17f, 1e9f, 0};
            float *last = m + 16 * (joints - 1);
            supple_error error = {0};
            memcpy(m, good, 64 * (size_t)joints);
            if (wrong == 0) memset(m, 0, 64 * (size_t)joints);
            if (wrong == 1) memset(last, 0, 64);
            if (wrong == 2) memset(last, 0, 48), last[15] = 0; /* a place, but no transform */
            if (wrong >= 3 && wrong < 7) last[12] = last[0] = odd[wrong];
            if (wrong == 7) memset(last, 0, 48); /* hidden */
            supple_sim_read_positions(sim, x, 12);
            supple_result result = supple_sim_step_pose(sim, m, joints, &error);
            supple_sim_read_positions(sim, y, 12);
            bool finite = true;
            for (int32_t i = 0; i < 3 * n; i++) finite = finite && isfinite(y[i]);
            CHECK(finite);
            if (wrong < 5) {
                CHECK(result == SUPPLE_ERROR_ARGUMENT);
                CHECK(strstr(error.message, supple_scene_joint_name(scene, wrong ? joints - 1 : 0)));
            }
            if (wrong == 4) CHECK(strstr(error.message, "1e18") && !strstr(error.message, "finite"));
            if (wrong == 7) CHECK(result == SUPPLE_OK);
            if (result != SUPPLE_OK) CHECK(memcmp(x, y, 12 * (size_t)n) == 0);
            taken += result == SUPPLE_OK;
            refused += result != SUPPLE_OK;
            if (test_failures) printf("    %s, %d: %s\n", supple_method_name(k), wrong, error.message);
        }
        CHECK(supple_sim_step_pose(sim, good, joints, NULL) == SUPPLE_OK);
        supple_sim_destroy(sim);
    }
    printf("    %d taken, %d refused\n", taken, refused);
    free(good);
    free(m);
    free(x);
    free(y);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

TEST(wrong_requests_are_refused_with_a_reason)
{
    supple_scene *scene = scene_load("demo:arm");
    REQUIRE(scene);
    supple_error error;
    supple_sim *sim = (supple_sim *)&error;
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "magic";
    CHECK(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT && !sim);
    CHECK(strstr(error.message, "linear") && strstr(error.message, "magic"));
    supple_setting setting = {"nonsense", "1"};
    sc.method = "linear";
    sc.settings = &setting;
    sc.setting_count = 1;
    CHECK(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    CHECK(strstr(error.message, "nonsense"));
    sc = (supple_sim_config){.method = "linear"};
    CHECK(supple_sim_create(scene, &sc, NULL, &sim, &error) == SUPPLE_ERROR_ARGUMENT);
    supple_scene_destroy(scene);
}

TEST(failing_allocations_are_errors)
{
    supple_scene *scene = demo_scene("arm", 0.3);
    REQUIRE(scene);
    supple_body *body = coarse(scene);
    for (int32_t m = 0; m < supple_method_count(); m++)
        for (long n = 0; moves_by_itself(m); n++) {
            failing f = {.fail_at = n};
            supple_config config = supple_config_default();
            config.allocator = failing_allocator(&f);
            config.thread_count = 2;
            supple_sim_config sc = supple_sim_config_default();
            sc.method = supple_method_name(m);
            sc.body = body;
            supple_sim *sim;
            supple_result result = supple_sim_create(scene, &sc, &config, &sim, NULL);
            CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && !sim)); /* some may fail without harm */
            supple_sim_destroy(sim);
            CHECK(f.live == 0);
            if (f.requests <= n) break;
        }
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

TEST(a_report_names_the_bones_and_roles)
{
    supple_scene *scene = scene_load("demo:arm");
    REQUIRE(scene);
    supple_report *report;
    REQUIRE(supple_scene_inspect(scene, NULL, &report, NULL) == SUPPLE_OK);
    CHECK(report->part_count == 1 && report->parts[0].role == SUPPLE_ROLE_FLESH && report->bone_count == 2);
    supple_report_destroy(report);
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        supple_result result = supple_scene_inspect(scene, &config, &report, NULL);
        supple_report_destroy(report);
        CHECK(f.live == 0);
        if (f.requests <= n) break;
        (void)result; /* an idle-joint list that finds no memory is left out, which is no error */
    }
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(poses_that_are_none_leave_everything_as_it_was), RUN(the_hosts_matrices_equal_the_clip),
           RUN(the_bits_do_not_depend_on_the_threads), RUN(strides_are_honoured_and_gaps_left_alone),
           RUN(stepping_and_reading_allocate_nothing), RUN(wrong_requests_are_refused_with_a_reason),
           RUN(failing_allocations_are_errors), RUN(a_report_names_the_bones_and_roles))
