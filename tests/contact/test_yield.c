/* Limbs that yield: an arm of the built-in hero is swung through its body. */
#include "body/demo_body.h"
#include "contact/near.h"
#include "contact/yield.h"
#include "failing.h"

#include <string.h>

typedef struct arm {
    demo_body demo;
    spl_pool *pool;
    spl_solid solid;
    spl_contacts *contacts;
    spl_yield *yield;
    spl_pose pose;
    int32_t shoulder; /* its node */
} arm;

static int32_t node_of(const supple_scene *scene, const char *name)
{
    for (int32_t n = 0; n < scene->node_count; n++)
        if (strcmp(scene->node[n].name, name) == 0) return n;
    abort();
}

static void arm_make(arm *w, int32_t threads)
{
    *w = (arm){.demo = demo_body_of(demo_scene("hero", 0.5), 50, 0)};
    supple_config config = supple_config_default();
    config.thread_count = threads;
    if (!w->demo.body || spl_pool_create(&config, &w->pool, NULL) != SUPPLE_OK ||
        spl_solid_create(w->demo.body, NULL, NULL, w->pool, &w->solid, NULL) != SUPPLE_OK ||
        spl_contacts_create(&w->solid, NULL, NULL, NULL, w->pool, &w->contacts, NULL) != SUPPLE_OK ||
        spl_yield_create(&w->solid, w->contacts, NULL, w->pool, &w->yield, NULL) != SUPPLE_OK ||
        spl_pose_init(&w->pose, w->demo.scene, NULL) != SUPPLE_OK)
        abort();
    w->shoulder = node_of(w->demo.scene, "upper_arm.L");
}

static void arm_free(arm *w)
{
    spl_pose_release(&w->pose);
    spl_yield_destroy(w->yield);
    spl_contacts_destroy(w->contacts);
    spl_solid_release(&w->solid);
    spl_pool_destroy(w->pool);
    demo_body_free(&w->demo);
}

static bool is_below(const arm *w, int32_t node)
{
    while (node >= 0 && node != w->shoulder) node = w->demo.scene->node[node].parent;
    return node >= 0;
}

/* The rest pose, the left arm lowered by so many degrees about the shoulder. */
static void lower(arm *w, double degrees)
{
    spl_pose_sample(&w->pose, w->demo.scene, -1, 0);
    const double *m = w->pose.world[w->shoulder].m;
    spl_vec3 at = spl_v3(m[12], m[13], m[14]);
    double sign = at.x > 0 ? -1 : 1;
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 0, 1), sign * degrees * M_PI / 180));
    spl_mat4 turn = spl_mat3_affine(&R, spl_sub(at, spl_mat3_apply(&R, at)));
    for (int32_t n = 0; n < w->demo.scene->node_count; n++)
        if (is_below(w, n)) w->pose.world[n] = spl_mat4_mul(&turn, &w->pose.world[n]);
}

static double yielded(arm *w, double degrees, double elapsed)
{
    lower(w, degrees);
    if (spl_yield_pose(w->yield, &w->pose, elapsed, w->pool, NULL) != SUPPLE_OK) abort();
    return spl_yield_angle(w->yield);
}

/* By trying all: how many vertices that the hand's and the forearm's bones hold are in flesh of the trunk and the legs,
 * posed by the weights. */
static int32_t bones_in_flesh(arm *w)
{
    const spl_body *body = w->demo.body;
    const spl_shell *s = spl_contacts_near(w->contacts)->shell;
    double *x = calloc((size_t)body->tets.vertex_count, 3 * sizeof *x);
    int32_t count = 0;
    spl_solid_pose(&w->solid, x, w->pool);
    for (int32_t v = 0; v < body->tets.vertex_count; v++) {
        int32_t bone = body->bone[v];
        if (bone < 0 || !is_below(w, body->bones.bone[bone].node) || body->bones.bone[bone].node == w->shoulder)
            continue;
        bool in = false;
        for (int32_t t = 0; t < s->tet_count && !in; t++) {
            double b[4];
            bool far = true;
            for (int k = 0; k < 4; k++)
                far =
                    far &&
                    !is_below(w, body->bones.bone[w->solid.weights.bone[SPL_BONE_INFLUENCES * s->tet[4 * t + k]]].node);
            in = far && spl_shell_bary(s, t, x, spl_shell_point(x, v), b) && b[0] > 0.02 && b[1] > 0.02 &&
                 b[2] > 0.02 && b[3] > 0.02;
        }
        count += in;
    }
    free(x);
    return count;
}

#define IN_THE_HIP 70.0 /* degrees */

TEST(bones_that_are_in_no_flesh_stay_to_the_last_bit)
{
    arm w;
    arm_make(&w, 1);
    size_t size = (size_t)w.demo.scene->node_count * sizeof *w.pose.world;
    spl_mat4 *before = malloc(size);
    for (double degrees = 0; degrees < 40; degrees += 10) {
        lower(&w, degrees);
        memcpy(before, w.pose.world, size);
        CHECK(spl_yield_pose(w.yield, &w.pose, 0.03, w.pool, NULL) == SUPPLE_OK);
        CHECK(spl_yield_angle(w.yield) == 0 && memcmp(before, w.pose.world, size) == 0);
    }
    free(before);
    arm_free(&w);
}

TEST(an_arm_swung_into_the_body_is_turned_aside_as_a_whole)
{
    arm w;
    arm_make(&w, 1);
    double degrees = IN_THE_HIP;
    size_t size = (size_t)w.demo.scene->node_count * sizeof *w.pose.world;
    spl_mat4 *before = malloc(size);
    lower(&w, degrees);
    memcpy(before, w.pose.world, size);
    CHECK(spl_drive_pose(&w.solid.drive, &w.pose, NULL) == SUPPLE_OK);
    int32_t in = bones_in_flesh(&w);
    double angle = yielded(&w, degrees, 1);
    int32_t left = bones_in_flesh(&w);
    printf("    at %.0f degrees %d vertices of bones in flesh; turned by %.1f degrees: %d\n", degrees, (int)in,
           angle * 180 / M_PI, (int)left);
    CHECK(in > 10 && left * 10 <= in);
    CHECK(angle > 0.02 && angle < 0.6);
    const double *p = w.pose.world[w.shoulder].m, *q = before[w.shoulder].m;
    CHECK_NEAR(spl_distance(spl_v3(p[12], p[13], p[14]), spl_v3(q[12], q[13], q[14])), 0, 1e-12);
    for (int32_t n = 0; n < w.demo.scene->node_count; n++) {
        if (!is_below(&w, n)) CHECK(memcmp(&before[n], &w.pose.world[n], sizeof *before) == 0);
        const double *c = w.pose.world[n].m, *d = before[n].m; /* rigid: as far from the shoulder as it was */
        CHECK_NEAR(spl_distance(spl_v3(c[12], c[13], c[14]), spl_v3(p[12], p[13], p[14])),
                   spl_distance(spl_v3(d[12], d[13], d[14]), spl_v3(q[12], q[13], q[14])), 1e-9);
    }
    free(before);
    arm_free(&w);
}

TEST(a_turn_fades_and_is_forgotten)
{
    arm w;
    arm_make(&w, 1);
    double degrees = IN_THE_HIP, angle = yielded(&w, degrees, 1);
    CHECK_NEAR(yielded(&w, degrees, 0), angle, 0.1 * angle); /* the same pose again */
    angle = yielded(&w, degrees, 1);
    double last = angle, drop = 0;
    for (int step = 0; step < 100; step++) { /* it begins to go and ends to go without a jump */
        double now = yielded(&w, 0, 0.01);
        CHECK(now <= last && last - now < 0.1 * angle && fabs(last - now - drop) < 0.03 * angle);
        drop = last - now;
        last = now;
    }
    CHECK(last < 0.1 * angle);
    CHECK(yielded(&w, 0, 1) == 0); /* long after, */
    yielded(&w, degrees, 1);
    CHECK(yielded(&w, 0, -0.01) == 0); /* and before */
    yielded(&w, degrees, 1);
    spl_yield_reset(w.yield);
    CHECK(yielded(&w, 0, 0.01) == 0);
    arm_free(&w);
}

TEST(a_slow_swing_is_turned_aside_without_jumps)
{
    arm w;
    arm_make(&w, 1);
    double last = 0, jump = 0;
    spl_yield_reset(w.yield);
    for (double d = 30; d <= IN_THE_HIP; d += 0.5) {
        double angle = yielded(&w, d, 1 / 60.0);
        jump = fmax(jump, fabs(angle - last));
        last = angle;
    }
    printf("    largest change in half a degree of swing: %.2f degrees\n", jump * 180 / M_PI);
    CHECK(last > 0.02 && jump < 0.02);
    arm_free(&w);
}

TEST(the_same_bits_at_any_number_of_threads)
{
    int32_t threads[3] = {1, 2, 7};
    spl_mat4 kept[3];
    for (int i = 0; i < 3; i++) {
        arm w;
        arm_make(&w, threads[i]);
        CHECK(yielded(&w, IN_THE_HIP, 1) > 0);
        CHECK(yielded(&w, IN_THE_HIP + 5, 0.02) > 0);
        kept[i] = w.pose.world[node_of(w.demo.scene, "hand.L")];
        arm_free(&w);
    }
    CHECK(memcmp(&kept[0], &kept[1], sizeof *kept) == 0 && memcmp(&kept[0], &kept[2], sizeof *kept) == 0);
}

TEST(creation_survives_every_failed_allocation)
{
    arm w;
    arm_make(&w, 1);
    for (long at = 0;; at++) {
        failing f = {.fail_at = at};
        supple_config config = supple_config_default();
        config.allocator = failing_allocator(&f);
        spl_yield *y = NULL;
        supple_result result = spl_yield_create(&w.solid, w.contacts, &config, w.pool, &y, NULL);
        CHECK((result == SUPPLE_OK) == (y != NULL));
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        long made = f.requests;
        lower(&w, 80);
        if (y) CHECK(spl_yield_pose(y, &w.pose, 1, w.pool, NULL) == SUPPLE_OK);
        CHECK(f.requests == made);
        spl_yield_destroy(y);
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) break;
        REQUIRE(at < 1000);
    }
    arm_free(&w);
}

TEST_CASES(RUN(bones_that_are_in_no_flesh_stay_to_the_last_bit),
           RUN(an_arm_swung_into_the_body_is_turned_aside_as_a_whole), RUN(a_turn_fades_and_is_forgotten),
           RUN(a_slow_swing_is_turned_aside_without_jumps), RUN(the_same_bits_at_any_number_of_threads),
           RUN(creation_survives_every_failed_allocation))
