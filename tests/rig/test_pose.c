#include "core/memory.h"
#include "failing.h"
#include "rig/pose.h"
#include "test.h"

static float times[] = {0.5f, 1.5f, 2.5f};

static void sample(spl_path path, spl_interpolation how, int32_t width, float *value, double time, double *out)
{
    spl_channel c = {.path = path, .interpolation = how, .key_count = 3, .width = width, .time = times, .value = value};
    spl_channel_sample(&c, time, out);
}

TEST(step_and_linear_keys)
{
    float v[] = {0, 1, 2, 10, 11, 12, -4, 0, 4};
    double x[3];
    sample(SPL_PATH_TRANSLATION, SPL_STEP, 3, v, 1.49, x);
    CHECK(x[0] == 0 && x[2] == 2);
    sample(SPL_PATH_TRANSLATION, SPL_STEP, 3, v, 1.5, x);
    CHECK(x[0] == 10);
    sample(SPL_PATH_TRANSLATION, SPL_LINEAR, 3, v, 0.75, x);
    CHECK_NEAR(x[0], 2.5, 1e-12);
    CHECK_NEAR(x[1], 3.5, 1e-12);
    sample(SPL_PATH_TRANSLATION, SPL_LINEAR, 3, v, -7, x);
    CHECK(x[1] == 1);
    sample(SPL_PATH_TRANSLATION, SPL_LINEAR, 3, v, 99, x);
    CHECK(x[0] == -4 && x[2] == 4);
}

TEST(rotations_take_the_shorter_arc_at_constant_speed)
{
    /* 0, 90 and (written with the other sign) 180 degrees about z. */
    float h = (float)sqrt(0.5);
    float v[] = {0, 0, 0, 1, 0, 0, h, h, 0, 0, -1, 0};
    double q[4];
    for (int k = 0; k <= 20; k++) {
        double t = 0.5 + 0.1 * k, angle = 90 * (t - 0.5);
        sample(SPL_PATH_ROTATION, SPL_LINEAR, 4, v, t, q);
        double got = 2 * atan2(q[2], q[3]) * 180 / 3.14159265358979323846;
        CHECK_NEAR(fabs(remainder(got - angle, 360)), 0, 1e-5);
        CHECK_NEAR(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1, 1e-12);
    }
}

TEST(cubic_keys_reproduce_a_cubic)
{
    /* f(t) = t^3 - 2 t^2 + 3: value and derivative at the keys; Hermite interpolation is exact. */
    float v[9];
    for (int k = 0; k < 3; k++) {
        double t = (double)times[k], slope = 3 * t * t - 4 * t;
        v[3 * k] = v[3 * k + 2] = (float)slope;
        v[3 * k + 1] = (float)(t * t * t - 2 * t * t + 3);
    }
    for (double t = 0.5; t <= 2.5; t += 0.07) {
        double x;
        sample(SPL_PATH_WEIGHTS, SPL_CUBIC, 1, v, t, &x);
        CHECK_NEAR(x, t * t * t - 2 * t * t + 3, 1e-5);
    }
}

/* Node 0 is a joint, 1 its child (a joint), 2 hangs below 1, 3 is a root with a matrix. */
static int32_t order[] = {3, 0, 1, 2}, joints[] = {1, 0};
static spl_node nodes[] = {
    {.name = "a", .parent = -1, .t = {1, 0, 0}, .r = {0, 0, 0, 1}, .s = {2, 2, 2}},
    {.name = "b", .parent = 0, .t = {0, 3, 0}, .r = {0, 0, 0, 1}, .s = {1, 1, 1}},
    {.name = "c", .parent = 1, .t = {0, 0, 5}, .r = {0, 0, 0, 1}, .s = {1, 1, 1}},
    {.name = "d",
     .parent = -1,
     .has_matrix = true,
     .matrix = {{0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 7, 8, 9, 1}},
     .r = {0, 0, 0, 1},
     .s = {1, 1, 1}},
};
static spl_skin skin = {.joint_count = 2, .joint = joints};

static supple_scene small_scene(void)
{
    return (supple_scene){.allocator = spl_allocator_of(NULL),
                          .node_count = 4,
                          .node = nodes,
                          .node_order = order,
                          .skin_count = 1,
                          .skin = &skin,
                          .joint_count = 2};
}

TEST(the_rest_pose_multiplies_down_the_tree)
{
    supple_scene scene = small_scene();
    spl_pose pose;
    REQUIRE(spl_pose_init(&pose, &scene, NULL) == SUPPLE_OK);
    const double *c = pose.world[2].m, *d = pose.world[3].m;
    CHECK(c[0] == 2 && c[12] == 1 && c[13] == 6 && c[14] == 10);
    CHECK(d[1] == 1 && d[4] == -1 && d[14] == 9);
    spl_pose_release(&pose);
}

TEST(given_matrices_carry_what_hangs_below)
{
    supple_scene scene = small_scene();
    spl_pose pose;
    REQUIRE(spl_pose_init(&pose, &scene, NULL) == SUPPLE_OK);
    float m[32] = {0};
    for (int j = 0; j < 2; j++) m[16 * j] = m[16 * j + 5] = m[16 * j + 10] = m[16 * j + 15] = 1;
    m[12] = 100;      /* joint b, first in the skin */
    m[16 + 12] = -50; /* joint a */
    spl_pose_from_matrices(&pose, &scene, m);
    CHECK(pose.world[1].m[12] == 100 && pose.world[0].m[12] == -50);
    CHECK(pose.world[2].m[12] == 100 && pose.world[2].m[14] == 5); /* c keeps its place below b */
    CHECK(pose.world[3].m[12] == 7);
    float back[32];
    REQUIRE(supple_scene_pose(&scene, -1, 0, back, 2, NULL) == SUPPLE_OK);
    CHECK(back[13] == 6 && back[16 + 12] == 1);
    CHECK(supple_scene_pose(&scene, -1, 0, back, 1, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(supple_scene_pose(&scene, 0, 0, back, 2, NULL) == SUPPLE_ERROR_ARGUMENT);
    spl_pose_release(&pose);
}

TEST(channels_of_a_node_stand_in_any_order)
{
    supple_scene scene = small_scene();
    float t0[] = {0}, move[] = {4, 5, 6}, turn[] = {0, 0, 1, 0}, grow[] = {3, 3, 3};
    spl_channel channels[] = {
        {.node = 0,
         .path = SPL_PATH_TRANSLATION,
         .interpolation = SPL_LINEAR,
         .key_count = 1,
         .width = 3,
         .time = t0,
         .value = move},
        {.node = 1,
         .path = SPL_PATH_SCALE,
         .interpolation = SPL_LINEAR,
         .key_count = 1,
         .width = 3,
         .time = t0,
         .value = grow},
        {.node = 0,
         .path = SPL_PATH_ROTATION,
         .interpolation = SPL_LINEAR,
         .key_count = 1,
         .width = 4,
         .time = t0,
         .value = turn},
    };
    spl_clip clip = {.name = "x", .channel_count = 3, .channel = channels};
    scene.clip_count = 1;
    scene.clip = &clip;
    spl_pose pose;
    REQUIRE(spl_pose_init(&pose, &scene, NULL) == SUPPLE_OK);
    spl_pose_sample(&pose, &scene, 0, 0);
    CHECK_NEAR(pose.world[0].m[0], -2, 1e-12); /* half a turn about z, rest scale 2 */
    CHECK_NEAR(pose.world[0].m[12], 4, 0);
    CHECK_NEAR(pose.world[1].m[13], 5 - 6, 1e-12);
    CHECK_NEAR(pose.world[1].m[10], 6, 1e-12);
    spl_pose_sample(&pose, &scene, -1, 0);
    CHECK_NEAR(pose.world[0].m[0], 2, 0);
    spl_pose_release(&pose);
}

TEST(failing_allocations_are_errors)
{
    supple_scene scene = small_scene();
    for (long n = 0; n < 6; n++) {
        failing f = {.fail_at = n};
        scene.allocator = failing_allocator(&f);
        spl_pose pose;
        CHECK(spl_pose_init(&pose, &scene, NULL) == SUPPLE_ERROR_MEMORY);
        CHECK(f.live == 0);
    }
}

TEST_CASES(RUN(step_and_linear_keys), RUN(rotations_take_the_shorter_arc_at_constant_speed),
           RUN(cubic_keys_reproduce_a_cubic), RUN(the_rest_pose_multiplies_down_the_tree),
           RUN(given_matrices_carry_what_hangs_below), RUN(channels_of_a_node_stand_in_any_order),
           RUN(failing_allocations_are_errors))
