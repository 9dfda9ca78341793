/* Limbs that yield: an arm of the built-in hero is swung through its body. */
#include "contact/swung_arm.h"
#include "failing.h"

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

/* ---- a hand through the hip, there and back in two seconds ---- */

typedef struct swing {
    double angle[61];  /* at 30 Hz, radians */
    spl_vec3 hand[61]; /* metres */
    double fastest;    /* radians a second */
    double largest;    /* radians */
} swing;

static spl_vec3 place_of(const arm *w, int32_t node)
{
    const double *m = w->pose.world[node].m;
    return spl_scale(spl_v3(m[12], m[13], m[14]), fabs(w->solid.drive.to_solver));
}

static spl_quat rotation_of(const arm *w, int32_t node)
{
    spl_mat3 linear = spl_mat3_linear(&w->pose.world[node]);
    return spl_quat_from_mat3(&linear);
}

/* By how much the pose's shoulder is turned against the motion's, as a rotation of the world. */
static spl_quat turn_at(arm *w, double degrees, double elapsed)
{
    lower(w, degrees);
    spl_quat before = rotation_of(w, w->shoulder);
    if (spl_yield_pose(w->yield, &w->pose, elapsed, w->pool, NULL) != SUPPLE_OK) abort();
    return spl_quat_mul(rotation_of(w, w->shoulder), spl_quat_conjugate(before));
}

static double angle_between(spl_quat a, spl_quat b)
{
    spl_quat q = spl_quat_mul(a, spl_quat_conjugate(b));
    return 2 * atan2(spl_norm(spl_v3(q.x, q.y, q.z)), fabs(q.w));
}

static swing swing_at(arm *w, int rate)
{
    swing s = {.fastest = 0};
    spl_quat last = spl_quat_identity();
    int32_t hand = node_of(w->demo.scene, "hand.L");
    spl_yield_reset(w->yield);
    for (int k = 0; k <= 2 * rate; k++) {
        double degrees = 30 + 45 * (1 - cos(M_PI * k / rate)); /* 30 to 120 and back */
        spl_quat turn = turn_at(w, degrees, 1.0 / rate);
        s.fastest = fmax(s.fastest, angle_between(turn, last) * rate);
        s.largest = fmax(s.largest, angle_between(turn, spl_quat_identity()));
        CHECK_NEAR(spl_yield_angle(w->yield), angle_between(turn, spl_quat_identity()), 1e-9);
        last = turn;
        if (k * 30 % rate != 0) continue;
        s.angle[k * 30 / rate] = angle_between(turn, spl_quat_identity());
        s.hand[k * 30 / rate] = place_of(w, hand);
    }
    return s;
}

TEST(a_hand_goes_through_a_hip_alike_at_30_and_120_hertz)
{
    arm w;
    arm_make(&w, 1);
    swing slow = swing_at(&w, 30), fast = swing_at(&w, 120);
    double most = SPL_YIELD_MOST_DEGREES * M_PI / 180, bound = 2 * most * SPL_YIELD_EASE / exp(1), apart = 0, far = 0;
    for (int k = 0; k <= 60; k++) {
        apart = fmax(apart, fabs(slow.angle[k] - fast.angle[k]));
        far = fmax(far, spl_distance(slow.hand[k], fast.hand[k]));
    }
    printf("    turned by up to %.1f and %.1f degrees, %.0f and %.0f degrees a second; %.1f degrees, %.1f mm apart\n",
           slow.largest * 180 / M_PI, fast.largest * 180 / M_PI, slow.fastest * 180 / M_PI, fast.fastest * 180 / M_PI,
           apart * 180 / M_PI, 1000 * far);
    CHECK(slow.largest > 0.1 && slow.largest <= most + 1e-9 && fast.largest <= most + 1e-9);
    CHECK(slow.fastest < bound && fast.fastest < bound);
    CHECK(apart < 0.7 * M_PI / 180 && far < 0.012);
    arm_free(&w);
}

/* The arm lowered, and pushed into the body by so many metres: no turn brings that out. */
static void bury(arm *w, double degrees, double depth)
{
    lower(w, degrees);
    double way = depth / fabs(w->solid.drive.to_solver) * (w->pose.world[w->shoulder].m[12] > 0 ? -1 : 1);
    for (int32_t n = 0; n < w->demo.scene->node_count; n++)
        if (is_below(w, n)) w->pose.world[n].m[12] += way;
}

TEST(no_motion_turns_a_limb_farther_than_is_documented)
{
    arm w;
    arm_make(&w, 1);
    double most = 0;
    for (int k = 0; k < 16; k++) {
        bury(&w, 70 + 5 * (k % 4), 0.05 * (k / 4));
        spl_quat before = rotation_of(&w, w.shoulder);
        REQUIRE(spl_yield_pose(w.yield, &w.pose, k % 2 ? 1.0 / 30 : 1, w.pool, NULL) == SUPPLE_OK);
        double angle = angle_between(rotation_of(&w, w.shoulder), before) * 180 / M_PI;
        CHECK(angle <= SPL_YIELD_MOST_DEGREES + 1e-9);
        most = fmax(most, angle);
    }
    CHECK(most > 0.99 * SPL_YIELD_MOST_DEGREES);
    arm_free(&w);
}

/* A chest has a bone for each shoulder and one for the neck. Where there is no collar bone, and that to the shoulder is
 * as long as an upper arm, its joint is still not the arm's to turn: head and other arm would turn along, or the arm
 * come off its shoulder. */
TEST(a_limb_turns_alone_however_long_the_bone_to_it)
{
    arm w;
    arm_make(&w, 1);
    const supple_scene *scene = w.demo.scene;
    const spl_bones *bones = &w.demo.body->bones;
    int32_t shoulder = node_of(scene, "shoulder.L"), chest = scene->node[shoulder].parent;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        if (bones->bone[b].node != shoulder) continue;
        bones->bone[b].node = chest;
        bones->bone[b].head = spl_sub(bones->bone[b].tail, spl_v3(0, 0.4 / w.demo.body->metre, 0));
    }
    bones->merged_into[shoulder] = chest;
    spl_yield_destroy(w.yield);
    REQUIRE(spl_yield_create(&w.solid, w.sunk, NULL, w.pool, &w.yield, NULL) == SUPPLE_OK);
    size_t size = (size_t)scene->node_count * sizeof *w.pose.world;
    spl_mat4 *before = malloc(size);
    lower(&w, IN_THE_HIP);
    memcpy(before, w.pose.world, size);
    CHECK(yielded(&w, IN_THE_HIP, 1) > 0.02);
    int32_t moved = 0;
    for (int32_t n = 0; n < scene->node_count; n++) {
        bool same = memcmp(&before[n], &w.pose.world[n], sizeof *before) == 0;
        if (!is_below(&w, n)) CHECK(same);
        moved += !same;
    }
    CHECK(moved >= 3);
    const double *p = w.pose.world[w.shoulder].m, *q = before[w.shoulder].m;
    CHECK_NEAR(spl_distance(spl_v3(p[12], p[13], p[14]), spl_v3(q[12], q[13], q[14])), 0, 1e-12);
    free(before);
    arm_free(&w);
}

/* The hero's head with the long bone from its chest to its neck: a chain that carries little and reaches far. It had
 * the chest's joint turned, with both arms. */
TEST(a_head_is_no_limb)
{
    arm w;
    arm_make(&w, 1);
    int32_t neck = node_of(w.demo.scene, "neck"), count = w.demo.scene->node_count;
    size_t size = (size_t)count * sizeof *w.pose.world;
    spl_mat4 *before = malloc(size);
    for (int step = 0; step < 6; step++) { /* it is pulled down into the hips */
        double depth = 0.5 + 0.05 * step;
        spl_pose_sample(&w.pose, w.demo.scene, -1, 0);
        for (int32_t n = 0; n < count; n++) {
            int32_t up = n;
            while (up >= 0 && up != neck) up = w.demo.scene->node[up].parent;
            if (up < 0) continue;
            w.pose.world[n].m[12] += 0.05 / fabs(w.solid.drive.to_solver);
            w.pose.world[n].m[13] -= depth / fabs(w.solid.drive.to_solver);
        }
        memcpy(before, w.pose.world, size);
        CHECK(spl_yield_pose(w.yield, &w.pose, 1, w.pool, NULL) == SUPPLE_OK);
        CHECK(memcmp(before, w.pose.world, size) == 0);
    }
    free(before);
    arm_free(&w);
}

TEST(a_moment_between_poses_is_turned_as_the_last_one)
{
    arm w;
    arm_make(&w, 1);
    size_t size = (size_t)w.demo.scene->node_count * sizeof *w.pose.world;
    spl_mat4 *turned = malloc(size);
    CHECK(yielded(&w, IN_THE_HIP, 1) > 0.02);
    memcpy(turned, w.pose.world, size);
    lower(&w, IN_THE_HIP);
    spl_yield_turn(w.yield, &w.pose);
    for (int32_t n = 0; n < w.demo.scene->node_count; n++)
        for (int i = 0; i < 16; i++) CHECK_NEAR(w.pose.world[n].m[i], turned[n].m[i], 1e-12);
    free(turned);
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
        supple_result result = spl_yield_create(&w.solid, w.sunk, &config, w.pool, &y, NULL);
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
           RUN(a_slow_swing_is_turned_aside_without_jumps), RUN(a_hand_goes_through_a_hip_alike_at_30_and_120_hertz),
           RUN(no_motion_turns_a_limb_farther_than_is_documented), RUN(a_limb_turns_alone_however_long_the_bone_to_it),
           RUN(a_head_is_no_limb), RUN(a_moment_between_poses_is_turned_as_the_last_one),
           RUN(the_same_bits_at_any_number_of_threads), RUN(creation_survives_every_failed_allocation))
