#include "rig/retarget_ground.h"
#include "test.h"

enum { FRAMES = 400 };

/* Two feet that take turns along a path: the lower one stands on z = height + slope x, but for single frames. */
static void walk(spl_vec3 *foot, double height, double slope)
{
    for (int i = 0; i < FRAMES; i++) {
        double x = 4.0 * i / FRAMES, step = i % 20 < 14 ? 0 : 0.02 * sin((i % 20 - 14) * 0.5);
        foot[i] = spl_v3(x, 0.1 * (i / 20 % 2), height + slope * x + fabs(step));
    }
}

TEST(a_floor_that_leans_a_little_is_levelled)
{
    spl_vec3 foot[FRAMES];
    double lift[FRAMES], worst = 0;
    walk(foot, -0.3, 0.015);
    foot[0].z -= 0.06; /* a first frame in a T-pose */
    spl_ground_lift(foot, FRAMES, 0.9, lift);
    for (int i = 0; i < FRAMES; i++) {
        double z = foot[i].z + lift[i];
        CHECK(z > -1e-9);
        if (i % 20 < 14) worst = fmax(worst, z);
    }
    CHECK(worst < 0.004);
}

TEST(stairs_are_motion)
{
    spl_vec3 foot[FRAMES];
    double lift[FRAMES];
    walk(foot, 0, 0.3);
    spl_ground_lift(foot, FRAMES, 0.9, lift);
    double bottom = foot[100].z + lift[100], top = foot[380].z + lift[380];
    CHECK_NEAR(top - bottom, foot[380].z - foot[100].z, 1e-9);
    for (int i = 0; i < FRAMES; i++) CHECK(foot[i].z + lift[i] > -1e-9);
}

TEST(a_jump_stays_a_jump)
{
    spl_vec3 foot[FRAMES];
    double lift[FRAMES];
    for (int i = 0; i < FRAMES; i++)
        foot[i] = spl_v3(0, 0, 0.5 + (i > 150 && i < 220 ? 0.4 * sin((i - 150) * 3.14159265 / 70) : 0));
    spl_ground_lift(foot, FRAMES, 0.9, lift);
    CHECK_NEAR(foot[10].z + lift[10], 0, 1e-4);
    CHECK_NEAR(foot[185].z + lift[185], 0.4, 2e-3);
}

TEST(one_frame)
{
    spl_vec3 foot = spl_v3(3, -2, 0.7);
    double lift;
    spl_ground_lift(&foot, 1, 0.9, &lift);
    CHECK_NEAR(lift, -0.7, 1e-9);
    spl_ground_lift(&foot, 1, 0, &lift); /* a body without a size */
    CHECK(isfinite(lift));
}

TEST_CASES(RUN(a_floor_that_leans_a_little_is_levelled), RUN(stairs_are_motion), RUN(a_jump_stays_a_jump),
           RUN(one_frame))
