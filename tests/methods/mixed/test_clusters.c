#include "failing.h"
#include "math/numbers.h"
#include "methods/mixed/clusters.h"
#include "methods/mixed/fleshed.h"

enum { K = SPL_BONE_INFLUENCES, STEPS = 400 };

static const char *const CHARACTERS[] = {"arm", "beam", "cylinder", "turtle"};
enum { CHARACTER_COUNT = 4, RESOLUTION = 16 };

/* ---- brute force ---- */

/* The distance to a bone's segment by many points on it. */
static double walk_distance(const spl_bone *bone, spl_vec3 p)
{
    double least = INFINITY;
    for (int i = 0; i <= STEPS; i++)
        least = fmin(least, spl_distance(p, spl_lerp(bone->head, bone->tail, i / (double)STEPS)));
    return least;
}

/* Whether a bone's flesh reaches a tet: the others are not asked. */
static bool reaches(const fleshed *f, int32_t tet, int32_t bone)
{
    for (int i = 0; i < 4; i++) {
        int32_t v = f->body->tets.tet[4 * tet + i];
        for (int k = 0; k < K; k++)
            if (f->solid.weights.bone[K * v + k] == bone) return true;
    }
    return false;
}

static double measure(spl_cluster_kind kind, const spl_bone *bone, spl_vec3 p)
{
    if (kind == SPL_CLUSTER_JOINT) return spl_distance(p, bone->head);
    if (kind == SPL_CLUSTER_MIDPOINT) return spl_distance(p, spl_scale(spl_add(bone->head, bone->tail), 0.5));
    return walk_distance(bone, p);
}

/* No bone that reaches a tet is nearer than the one it has. */
static void check_nearest(const fleshed *f, spl_cluster_kind kind)
{
    const spl_bones *bones = &f->body->bones;
    spl_clusters c;
    REQUIRE(spl_clusters_create(&f->solid, kind, 4, &c, NULL) == SUPPLE_OK);
    CHECK(c.influences == 1 && c.count == f->body->tets.tet_count);
    int used = 0;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        int32_t mine = 0;
        for (int32_t k = 0; k < c.count; k++) mine += c.bone[k] == b;
        used += mine > 0;
    }
    CHECK(used == bones->bone_count);
    for (int32_t k = 0; k < c.count; k++) {
        spl_vec3 p = fleshed_middle(f, k);
        double own = measure(kind, &bones->bone[c.bone[k]], p);
        CHECK(reaches(f, k, c.bone[k]));
        /* points on the way see distances too large by up to half a step */
        double step = spl_distance(bones->bone[c.bone[k]].head, bones->bone[c.bone[k]].tail) / STEPS;
        for (int32_t b = 0; b < bones->bone_count; b++)
            if (reaches(f, k, b)) CHECK(own <= measure(kind, &bones->bone[b], p) + step);
    }
    spl_clusters_release(&c);
}

TEST(tets_belong_to_the_nearest_bone_joint_or_middle)
{
    for (int i = 0; i < CHARACTER_COUNT; i++) {
        fleshed f;
        fleshed_make(&f, CHARACTERS[i], RESOLUTION);
        check_nearest(&f, SPL_CLUSTER_BONE);
        check_nearest(&f, SPL_CLUSTER_MIDPOINT);
        if (i < 3) check_nearest(&f, SPL_CLUSTER_JOINT); /* where joints have one bone each */
        fleshed_free(&f);
    }
}

/* Without a material file there are no user's clusters: as `bone`. */
TEST(user_clusters_fall_back_to_bones)
{
    fleshed f;
    spl_clusters a, b;
    fleshed_make(&f, "arm", RESOLUTION);
    REQUIRE(spl_clusters_create(&f.solid, SPL_CLUSTER_BONE, 4, &a, NULL) == SUPPLE_OK);
    REQUIRE(spl_clusters_create(&f.solid, SPL_CLUSTER_USER, 4, &b, NULL) == SUPPLE_OK);
    CHECK(!memcmp(a.bone, b.bone, (size_t)a.count * sizeof *a.bone));
    spl_clusters_release(&b);
    int32_t *mine = malloc((size_t)a.count * sizeof *mine);
    for (int32_t k = 0; k < a.count; k++) mine[k] = k % 3 - 1;
    f.solid.material.rotation = mine;
    REQUIRE(spl_clusters_create(&f.solid, SPL_CLUSTER_USER, 4, &b, NULL) == SUPPLE_OK);
    for (int32_t k = 0; k < a.count; k++) CHECK(b.bone[k] == (mine[k] < 0 ? a.bone[k] : mine[k]));
    f.solid.material.rotation = NULL;
    free(mine);
    spl_clusters_release(&a);
    spl_clusters_release(&b);
    fleshed_free(&f);
}

/* On a straight chain, whoever is nearest to a joint belongs to the bone on their side of it. */
TEST(hierarchy_takes_the_bone_that_points_to_the_tet)
{
    fleshed f;
    spl_clusters c;
    fleshed_make(&f, "arm", RESOLUTION);
    const spl_bones *bones = &f.body->bones;
    REQUIRE(spl_clusters_create(&f.solid, SPL_CLUSTER_HIERARCHY, 4, &c, NULL) == SUPPLE_OK);
    REQUIRE(bones->bone_count == 2 && bones->bone[1].parent == 0);
    int near = 0;
    for (int32_t k = 0; k < c.count; k++) {
        spl_vec3 p = fleshed_middle(&f, k);
        bool elbow = spl_distance(p, bones->bone[1].head) < spl_distance(p, bones->bone[0].head);
        near += elbow;
        if (fabs(p.x) < 1e-6) continue; /* in the elbow's plane */
        CHECK(c.bone[k] == (elbow && p.x > bones->bone[1].head.x ? 1 : 0));
    }
    CHECK(near > 20 && near < c.count);
    spl_clusters_release(&c);
    fleshed_free(&f);
}

/* ---- rotations ---- */

static double rotation_difference(const double *a, const spl_mat3 *b)
{
    double most = 0;
    for (int i = 0; i < 9; i++) most = fmax(most, fabs(a[i] - b->m[i]));
    return most;
}

static const spl_cluster_kind KINDS[] = {SPL_CLUSTER_SMOOTH,   SPL_CLUSTER_BONE,      SPL_CLUSTER_JOINT,
                                         SPL_CLUSTER_MIDPOINT, SPL_CLUSTER_HIERARCHY, SPL_CLUSTER_USER};

TEST(a_rigid_motion_is_one_rotation)
{
    fleshed f;
    fleshed_make(&f, "cylinder", RESOLUTION);
    double *R = malloc((size_t)f.body->tets.tet_count * 9 * sizeof *R);
    for (int kind = 0; kind < 6; kind++)
        for (int moved = 0; moved < 3; moved++) {
            spl_mat4 move = puppet_rigid(spl_v3(1, -2, 0.5), 95.0 * moved, spl_v3(moved, 0, 2));
            spl_mat3 turn = spl_mat3_linear(&move);
            spl_clusters c;
            double most = 0;
            puppet_move(&f.puppet, &move);
            spl_drive_reset(&f.solid.drive);
            fleshed_pose(&f);
            REQUIRE(spl_clusters_create(&f.solid, KINDS[kind], 4, &c, NULL) == SUPPLE_OK);
            spl_clusters_rotations(&c, &f.solid.drive, R, NULL, f.pool);
            for (int32_t k = 0; k < c.count; k++) most = fmax(most, rotation_difference(R + 9 * k, &turn));
            CHECK_NEAR(most, 0, 1e-14);
            spl_clusters_release(&c);
        }
    free(R);
    fleshed_free(&f);
}

TEST(hard_clusters_turn_with_their_bone)
{
    fleshed f;
    fleshed_make(&f, "arm", RESOLUTION);
    double *R = malloc((size_t)f.body->tets.tet_count * 9 * sizeof *R);
    puppet_turn(&f.puppet, "forearm", spl_v3(0, 2, 3), 100); /* no twist: those are shared along limbs */
    fleshed_pose(&f);
    for (int kind = 1; kind < 6; kind++) {
        spl_clusters c;
        double most = 0;
        REQUIRE(spl_clusters_create(&f.solid, KINDS[kind], 4, &c, NULL) == SUPPLE_OK);
        spl_clusters_rotations(&c, &f.solid.drive, R, NULL, f.pool);
        for (int32_t k = 0; k < c.count; k++) {
            spl_mat3 turn = spl_mat3_linear(&f.solid.drive.map[c.bone[k]]);
            most = fmax(most, rotation_difference(R + 9 * k, &turn));
        }
        CHECK_NEAR(most, 0, 1e-12);
        spl_clusters_release(&c);
    }
    free(R);
    fleshed_free(&f);
}

/* Shares that sum to 1, of the corners' bones, sharper with a larger power. */
TEST(smooth_weights_sum_to_one)
{
    fleshed f;
    fleshed_make(&f, "turtle", RESOLUTION);
    spl_clusters c;
    REQUIRE(spl_clusters_create(&f.solid, SPL_CLUSTER_SMOOTH, 4, &c, NULL) == SUPPLE_OK);
    CHECK(c.influences == K);
    for (int32_t k = 0; k < c.count; k++) {
        double soft = 0, sharp = 0;
        for (int32_t i = K * k; i < K * (k + 1); i++) {
            CHECK((c.bone[i] < 0) == (c.weight[i] <= 0) && c.bone[i] < f.body->bones.bone_count);
            if (c.bone[i] >= 0) CHECK(reaches(&f, k, c.bone[i]));
            if (i > K * k) CHECK(c.weight[i] <= c.weight[i - 1]);
            soft += (double)c.weight[i];
            sharp += (double)c.sharp[i];
        }
        CHECK_NEAR(soft, 1, 1e-6);
        CHECK_NEAR(sharp, 1, 1e-6);
        CHECK(c.sharp[K * k] >= c.weight[K * k] - 1e-6F);
    }
    spl_clusters_release(&c);
    fleshed_free(&f);
}

/* The angle of a rotation, degrees. */
static double angle_of(const double *R)
{
    return acos(fmin(fmax((R[0] + R[4] + R[8] - 1) / 2, -1), 1)) * 180 / M_PI;
}

/* Every blend is a rotation between the two bones'; flesh that one bone has alone bends with it. */
static void check_blend(fleshed *f, spl_vec3 axis, double degrees)
{
    spl_clusters c;
    double *R = malloc((size_t)f->body->tets.tet_count * 9 * sizeof *R);
    puppet_turn(&f->puppet, "forearm", axis, degrees);
    fleshed_pose(f);
    REQUIRE(spl_clusters_create(&f->solid, SPL_CLUSTER_SMOOTH, 4, &c, NULL) == SUPPLE_OK);
    spl_clusters_rotations(&c, &f->solid.drive, R, NULL, f->pool);
    int between = 0;
    for (int32_t k = 0; k < c.count; k++) {
        spl_mat3 m, own = spl_quat_to_mat3(f->solid.drive.turn[c.bone[K * k]]);
        memcpy(m.m, R + 9 * k, sizeof m.m);
        CHECK_NEAR(rotation_error(&m), 0, 1e-12);
        double angle = angle_of(R + 9 * k);
        CHECK(angle <= degrees + 1e-4);
        between += angle > 0.2 * degrees && angle < 0.8 * degrees;
        if (c.weight[K * k] >= 1 && axis.x == 0) CHECK_NEAR(rotation_difference(R + 9 * k, &own), 0, 1e-7);
    }
    CHECK(between > 5);
    spl_clusters_release(&c);
    free(R);
}

TEST(smooth_rotations_lie_between_the_bones)
{
    fleshed f;
    fleshed_make(&f, "arm", RESOLUTION);
    check_blend(&f, spl_v3(0, 0, 1), 80);
    check_blend(&f, spl_v3(1, 0, 0), 150);
    check_blend(&f, spl_v3(1, 1, 1), 120);
    fleshed_free(&f);
}

TEST(memory_may_run_out)
{
    fleshed f;
    fleshed_make(&f, "arm", 8);
    supple_allocator before = f.solid.allocator;
    for (int kind = 0; kind < 6; kind++)
        for (long n = 0, ended = 0; !ended; n++) {
            failing state = {.fail_at = n};
            f.solid.allocator = failing_allocator(&state);
            spl_clusters c;
            supple_result result = spl_clusters_create(&f.solid, KINDS[kind], 4, &c, NULL);
            CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
            ended = result == SUPPLE_OK && state.requests <= n;
            if (result == SUPPLE_OK) spl_clusters_release(&c);
            CHECK(state.live == 0);
        }
    f.solid.allocator = before;
    fleshed_free(&f);
}

TEST_CASES(RUN(tets_belong_to_the_nearest_bone_joint_or_middle), RUN(user_clusters_fall_back_to_bones),
           RUN(hierarchy_takes_the_bone_that_points_to_the_tet), RUN(a_rigid_motion_is_one_rotation),
           RUN(hard_clusters_turn_with_their_bone), RUN(smooth_weights_sum_to_one),
           RUN(smooth_rotations_lie_between_the_bones), RUN(memory_may_run_out))
