#include "subspace/ranges.h"

#include "body/demo_body.h"

static const double degree = M_PI / 180;

static int32_t joint_named(const spl_joint_ranges *r, const supple_scene *s, const char *name)
{
    for (int32_t j = 0; j < r->joint_count; j++)
        if (strcmp(s->node[r->node[j]].name, name) == 0) return j;
    return -1;
}

/* Turns and quaternions are the same rotation, up to half turns. */
TEST(turns_and_back)
{
    for (int i = 0; i < 200; i++) {
        double angle = 0.0157 * i;
        spl_vec3 v = spl_scale(spl_unit(spl_v3(sin(i), cos(2.0 * i), sin(3.0 * i + 1)), spl_v3(1, 0, 0)), angle);
        spl_vec3 back = spl_turn_of_quat(spl_turn_to_quat(v));
        CHECK_NEAR(spl_distance(v, back), 0, 1e-12);
        back = spl_turn_of_quat(spl_quat_negate(spl_turn_to_quat(v)));
        CHECK_NEAR(spl_distance(v, back), 0, 1e-12);
    }
}

/* A pose by turns has those turns, and its children come along. */
TEST(poses_have_their_turns)
{
    supple_scene *scene = demo_scene("hero", 0.4);
    spl_joint_ranges r;
    spl_pose pose, rest;
    REQUIRE(spl_joint_ranges_infer(scene, NULL, 0, 0.3, &r, NULL) == SUPPLE_OK);
    REQUIRE(spl_pose_init(&pose, scene, NULL) == SUPPLE_OK && spl_pose_init(&rest, scene, NULL) == SUPPLE_OK);
    spl_joint_move *turn = calloc((size_t)r.joint_count, sizeof *turn);
    spl_joint_ranges_draw(&r, 1, 7, turn);
    spl_pose_move(&pose, scene, r.node, turn, r.joint_count);
    for (int32_t j = 0; j < r.joint_count; j++)
        CHECK_NEAR(spl_distance(spl_pose_move_of(&pose, &rest, r.node[j]).turn, turn[j].turn), 0, 1e-9);
    int32_t arm = r.node[joint_named(&r, scene, "upper_arm.L")], hand = r.node[joint_named(&r, scene, "hand.L")];
    spl_mat4 inverse;
    REQUIRE(spl_mat4_inverse(&rest.world[arm], &inverse));
    spl_vec3 local = spl_mat4_point(&inverse, spl_v3(rest.world[hand].m[12], rest.world[hand].m[13], 0));
    CHECK(spl_norm(local) > 0 &&
          spl_distance(spl_v3(pose.world[hand].m[12], pose.world[hand].m[13], pose.world[hand].m[14]),
                       spl_v3(rest.world[hand].m[12], rest.world[hand].m[13], rest.world[hand].m[14])) > 0.01);
    free(turn);
    spl_pose_release(&pose);
    spl_pose_release(&rest);
    spl_joint_ranges_release(&r);
    supple_scene_destroy(scene);
}

/* Moves between two others turn and shift evenly, and are as far from them as their angle and their way say. */
TEST(moves_have_a_middle_and_a_distance)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    spl_pose rest = {0}, pose = {0};
    spl_joint_move a = {{0.3, 0, 0}, {1, 2, 3}}, b = {{0.9, 0, 0}, {3, 2, 3}}, back;
    int32_t node = 2;
    spl_joint_move half = spl_joint_move_between(&a, &b, 0.5), none = spl_joint_move_between(NULL, &a, 0.5);
    CHECK_NEAR(spl_distance(half.turn, spl_v3(0.6, 0, 0)), 0, 1e-12);
    CHECK_NEAR(spl_distance(half.shift, spl_v3(2, 2, 3)), 0, 1e-12);
    CHECK_NEAR(spl_distance(none.turn, spl_v3(0.15, 0, 0)), 0, 1e-12);
    CHECK_NEAR(spl_joint_move_distance(&a, &b, 4), sqrt(0.6 * 0.6 + 0.5 * 0.5), 1e-12);
    REQUIRE(spl_pose_init(&rest, scene, NULL) == SUPPLE_OK && spl_pose_init(&pose, scene, NULL) == SUPPLE_OK);
    spl_pose_move(&pose, scene, &node, &a, 1);
    back = spl_pose_move_of(&pose, &rest, node);
    CHECK_NEAR(spl_distance(back.turn, a.turn) + spl_distance(back.shift, a.shift), 0, 1e-9);
    spl_pose_release(&rest);
    spl_pose_release(&pose);
    supple_scene_destroy(scene);
}

/* Where there are several roots, all of them are joints that move, and none turns unless a clip turns it. */
TEST(several_roots_are_joints)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    spl_joint_ranges r;
    REQUIRE(spl_joint_ranges_infer(scene, NULL, 0, 0.3, &r, NULL) == SUPPLE_OK);
    CHECK(r.joint_count == 1 && !r.root[0]);
    spl_joint_ranges_release(&r);
    scene->node[2].parent = -1;
    REQUIRE(spl_joint_ranges_infer(scene, NULL, 0, 0.3, &r, NULL) == SUPPLE_OK);
    REQUIRE(r.joint_count == 2);
    CHECK(r.root[0] && r.root[1] && r.turns);
    CHECK(r.range[0].most == 0 && r.range[1].most > 1);
    spl_joint_ranges_release(&r);
    supple_scene_destroy(scene);
}

/* The arm's clip bends by 150 degrees about one axis: that is the elbow's range, widened by a tenth. */
TEST(clips_say_how_far)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    spl_joint_ranges r;
    int32_t bend = 0;
    REQUIRE(spl_joint_ranges_infer(scene, &bend, 1, 0.1, &r, NULL) == SUPPLE_OK);
    CHECK(r.joint_count >= 1 && r.frame_count > 40);
    double widest = 0, most = 0;
    for (int32_t j = 0; j < r.joint_count; j++) {
        const spl_joint_range *g = &r.range[j];
        double size[3] = {g->high.x - g->low.x, g->high.y - g->low.y, g->high.z - g->low.z};
        for (int i = 0; i < 3; i++) widest = fmax(widest, size[i]);
        most = fmax(most, g->most);
        CHECK(g->low.x <= -0.1 + 1e-12 && g->high.x >= 0.1 - 1e-12);
    }
    CHECK_NEAR(most, 1.1 * 150 * degree, 0.02);
    CHECK(widest > 150 * degree && widest < 190 * degree);
    spl_joint_ranges_release(&r);
    supple_scene_destroy(scene);
}

/* Every one of n equal parts of every coordinate's range has one of n poses. */
TEST(poses_are_stratified)
{
    enum { N = 40 };
    supple_scene *scene = demo_scene("hero", 0.4);
    spl_joint_ranges r;
    int32_t none = 0;
    REQUIRE(spl_joint_ranges_infer(scene, &none, 0, 0.3, &r, NULL) == SUPPLE_OK);
    spl_joint_move *turn = calloc((size_t)r.joint_count * N, sizeof *turn),
                   *again = calloc((size_t)r.joint_count * N, sizeof *turn);
    for (int32_t j = 0; j < r.joint_count; j++) r.range[j].most = 10; /* no bound: whole boxes */
    spl_joint_ranges_draw(&r, N, 3, turn);
    spl_joint_ranges_draw(&r, N, 3, again);
    CHECK(memcmp(turn, again, (size_t)r.joint_count * N * sizeof *turn) == 0);
    spl_joint_ranges_draw(&r, N, 4, again);
    CHECK(memcmp(turn, again, (size_t)r.joint_count * N * sizeof *turn) != 0);
    for (int32_t j = 0; j < r.joint_count; j++) {
        int hit[3][N] = {{0}};
        for (int i = 0; i < N; i++) {
            spl_vec3 v = turn[i * r.joint_count + j].turn;
            double at[3] = {v.x, v.y, v.z};
            for (int k = 0; k < 3; k++) {
                int part = (int)floor((at[k] + 0.3) / 0.6 * N);
                REQUIRE(part >= 0 && part < N);
                hit[k][part]++;
            }
        }
        for (int i = 0; i < N; i++) CHECK(hit[0][i] == 1 && hit[1][i] == 1 && hit[2][i] == 1);
    }
    free(turn);
    free(again);
    spl_joint_ranges_release(&r);
    supple_scene_destroy(scene);
}

static supple_result parse(spl_joint_ranges *r, const supple_scene *s, const char *text, supple_error *error)
{
    return spl_joint_ranges_parse(r, s, text, strlen(text), "limits.json", error);
}

TEST(files_of_limits)
{
    supple_scene *scene = demo_scene("hero", 0.4);
    spl_joint_ranges r;
    supple_error error = {0};
    REQUIRE(spl_joint_ranges_infer(scene, NULL, 0, 0.3, &r, NULL) == SUPPLE_OK);
    const char *good =
        "{\"joints\": {\"shin*\": {\"min\": [0, 0, 0], \"max\": [90, 0, 0]}, \"head\": {\"still\": true}}}";
    CHECK(parse(&r, scene, good, &error) == SUPPLE_OK);
    int32_t shin = joint_named(&r, scene, "shin.L"), head = joint_named(&r, scene, "head");
    CHECK_NEAR(r.range[shin].high.x, 90 * degree, 1e-12);
    CHECK_NEAR(r.range[shin].most, 90 * degree, 1e-12);
    CHECK(r.range[shin].high.y == 0 && r.range[head].most == 0 && r.range[head].low.x == 0);
    const char *bad[] = {"{\"joints\": {\"tail\": {\"still\": true}}}",
                         "{\"joints\": {\"head\": {\"min\": [0, 0, 0]}}}",
                         "{\"joints\": {\"head\": {\"min\": [10, 0, 0], \"max\": [0, 0, 0]}}}",
                         "{\"joints\": {\"head\": {\"min\": [0, 0, 0], \"max\": [400, 0, 0]}}}",
                         "{\"joints\": {\"head\": 3}}",
                         "{\"knees\": {}}",
                         "{}",
                         "{\"joints\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(parse(&r, scene, bad[i], &error) == SUPPLE_ERROR_INPUT);
        CHECK(strncmp(error.message, "limits.json", 11) == 0);
    }
    spl_joint_ranges_release(&r);
    supple_scene_destroy(scene);
}

/* Frames of clips as poses: their turns are the clip's. */
TEST(frames_of_clips)
{
    supple_scene *scene = demo_scene("arm", 0.4);
    spl_joint_ranges r;
    int32_t bend = 0;
    REQUIRE(spl_joint_ranges_infer(scene, &bend, 1, 0.1, &r, NULL) == SUPPLE_OK);
    spl_joint_move *turn = calloc((size_t)r.joint_count * 10, sizeof *turn);
    CHECK(spl_joint_ranges_frames(&r, scene, &bend, 1, 10, turn, NULL) == SUPPLE_OK);
    double last = -1;
    for (int i = 0; i < 10; i++) {
        double most = 0;
        for (int32_t j = 0; j < r.joint_count; j++) most = fmax(most, spl_norm(turn[i * r.joint_count + j].turn));
        CHECK(most > last); /* the arm bends all the way */
        last = most;
    }
    CHECK(last > 130 * degree && last < 151 * degree);
    free(turn);
    spl_joint_ranges_release(&r);
    supple_scene_destroy(scene);
}

TEST_CASES(RUN(turns_and_back), RUN(poses_have_their_turns), RUN(clips_say_how_far),
           RUN(moves_have_a_middle_and_a_distance), RUN(several_roots_are_joints), RUN(poses_are_stratified),
           RUN(files_of_limits), RUN(frames_of_clips))
