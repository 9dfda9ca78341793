#include "math/dualquat.h"
#include "numbers.h"
#include "test.h"

static double quat_distance(spl_quat a, spl_quat b) /* as rotations */
{
    spl_quat m = spl_quat_add(a, spl_quat_negate(b)), p = spl_quat_add(a, b);
    return sqrt(fmin(spl_quat_dot(m, m), spl_quat_dot(p, p)));
}

TEST(matrix_and_back_for_every_rotation)
{
    uint64_t seed = 1;
    for (int i = 0; i < 2000; i++) {
        spl_quat q = random_rotation(&seed);
        if (i % 4 == 1) q.w = 0; /* half turns */
        if (i % 4 == 2) q.w *= 1e-9;
        if (i % 4 == 3) q.x = q.y = 0, q.w *= 1e-12;
        q = spl_quat_normalise(q);
        spl_mat3 r = spl_quat_to_mat3(q);
        CHECK(rotation_error(&r) < 1e-14);
        CHECK(quat_distance(q, spl_quat_from_mat3(&r)) < 1e-14);
    }
    for (int axis = 0; axis < 3; axis++) { /* exact half turns about the axes */
        spl_mat3 r = spl_mat3_diagonal(axis == 0 ? 1 : -1, axis == 1 ? 1 : -1, axis == 2 ? 1 : -1);
        spl_mat3 back = spl_quat_to_mat3(spl_quat_from_mat3(&r));
        CHECK(mat3_distance(&r, &back) < 1e-15);
    }
}

TEST(product_and_rotate_agree_with_matrices)
{
    uint64_t seed = 2;
    for (int i = 0; i < 100; i++) {
        spl_quat a = random_rotation(&seed), b = random_rotation(&seed);
        spl_mat3 A = spl_quat_to_mat3(a), B = spl_quat_to_mat3(b), AB = spl_mat3_mul(&A, &B);
        spl_mat3 ab = spl_quat_to_mat3(spl_quat_mul(a, b));
        spl_vec3 p = random_vector(&seed);
        CHECK(mat3_distance(&AB, &ab) < 1e-14);
        CHECK(spl_distance(spl_quat_rotate(a, p), spl_mat3_apply(&A, p)) < 1e-14);
    }
}

TEST(normalise_works_at_any_scale_and_on_rubbish)
{
    spl_quat q = spl_quat_normalise(spl_quat_make(3e-310, 0, 0, 4e-310));
    CHECK_NEAR(q.x, 0.6, 1e-12);
    q = spl_quat_normalise(spl_quat_make(3e300, 0, 4e300, 0));
    CHECK_NEAR(q.z, 0.8, 1e-15);
    CHECK(spl_quat_normalise(spl_quat_make(0, 0, 0, 0)).w == 1);
    CHECK(spl_quat_normalise(spl_quat_make(NAN, 0, 0, 2)).x == 0);
    CHECK(spl_quat_normalise(spl_quat_make(INFINITY, 0, 0, 2)).w == 1);
}

TEST(axis_and_angle_there_and_back)
{
    uint64_t seed = 3;
    for (int i = 0; i < 100; i++) {
        spl_vec3 axis = spl_unit(random_vector(&seed), spl_v3(1, 0, 0)), out;
        double angle = 3.14159 * (1 + random_real(&seed));
        spl_quat q = spl_quat_axis_angle(spl_scale(axis, 7), angle);
        CHECK_NEAR(spl_quat_to_axis_angle(q, &out), angle, 1e-13);
        CHECK(angle < 1e-3 || spl_distance(axis, out) < 1e-12);
    }
    spl_vec3 turned = spl_quat_rotate(spl_quat_axis_angle(spl_v3(0, 0, 2), acos(0.0)), spl_v3(1, 0, 0));
    CHECK(spl_distance(turned, spl_v3(0, 1, 0)) < 1e-15);
}

TEST(shortest_arc_turns_one_direction_into_the_other)
{
    uint64_t seed = 4;
    for (int i = 0; i < 500; i++) {
        spl_vec3 a = spl_unit(random_vector(&seed), spl_v3(1, 0, 0)), b = spl_unit(random_vector(&seed), a), axis;
        if (i % 3 == 1) b = spl_scale(a, -1);
        if (i % 3 == 2) b = spl_unit(spl_madd(spl_scale(a, -1), b, 1e-8), a);
        spl_quat q = spl_quat_shortest_arc(spl_scale(a, 5), b);
        CHECK(spl_distance(spl_quat_rotate(q, a), b) < 1e-7);
        if (i % 3 == 0) CHECK_NEAR(spl_quat_to_axis_angle(q, &axis), acos(spl_dot(a, b)), 1e-7);
    }
    CHECK(spl_quat_shortest_arc(spl_v3(0, 0, 0), spl_v3(1, 0, 0)).w == 1);
}

TEST(slerp_moves_at_constant_speed)
{
    uint64_t seed = 5;
    for (int i = 0; i < 100; i++) {
        spl_quat a = random_rotation(&seed), b = random_rotation(&seed);
        if (i % 2) b = spl_quat_normalise(spl_quat_add(a, spl_quat_scale(b, 1e-10)));
        double whole = quat_distance(a, b), part = 2 * asin(whole / 2) * 0.3;
        spl_quat q = spl_quat_slerp(a, b, 0.3);
        CHECK_NEAR(2 * asin(quat_distance(a, q) / 2), part, 1e-14);
        CHECK(quat_distance(spl_quat_slerp(a, b, 0), a) < 1e-15 && quat_distance(spl_quat_slerp(a, b, 1), b) < 1e-15);
    }
}

TEST(dual_quaternions_are_rigid_motions)
{
    uint64_t seed = 6;
    for (int i = 0; i < 100; i++) {
        spl_quat qa = random_rotation(&seed), qb = random_rotation(&seed);
        spl_vec3 ta = random_vector(&seed), tb = random_vector(&seed), p = random_vector(&seed);
        spl_dualquat a = spl_dualquat_make(qa, ta), b = spl_dualquat_make(qb, tb), ab = spl_dualquat_mul(&a, &b);
        spl_vec3 bp = spl_add(spl_quat_rotate(qb, p), tb), abp = spl_add(spl_quat_rotate(qa, bp), ta);
        CHECK(spl_distance(spl_dualquat_translation(&a), ta) < 1e-14);
        CHECK(spl_distance(spl_dualquat_point(&b, p), bp) < 1e-14);
        CHECK(spl_distance(spl_dualquat_point(&ab, p), abp) < 1e-14);
    }
    spl_dualquat zero = {{0, 0, 0, 0}, {0, 0, 0, 0}}, one = spl_dualquat_normalise(&zero);
    CHECK(one.q.w == 1 && one.d.x == 0);
}

/* Two rotations about one axis through a point: the blend by w is the rotation by w of the angle about that point (in
 * the middle exactly, by symmetry). */
TEST(blending_keeps_the_centre_of_rotation)
{
    spl_vec3 axis = spl_v3(0, 0, 1), c = spl_v3(3, -2, 1), p = spl_v3(4, 0.5, 2);
    spl_quat turn = spl_quat_axis_angle(axis, 1.4), half = spl_quat_axis_angle(axis, 0.7);
    spl_dualquat pair[2] = {spl_dualquat_identity(), spl_dualquat_make(turn, spl_sub(c, spl_quat_rotate(turn, c)))};
    const double weight[2] = {0.5, 0.5};
    spl_dualquat middle = spl_dualquat_blend(pair, weight, 2);
    spl_vec3 expected = spl_add(c, spl_quat_rotate(half, spl_sub(p, c)));
    CHECK(spl_distance(spl_dualquat_point(&middle, p), expected) < 1e-14);
}

TEST_CASES(RUN(matrix_and_back_for_every_rotation), RUN(product_and_rotate_agree_with_matrices),
           RUN(normalise_works_at_any_scale_and_on_rubbish), RUN(axis_and_angle_there_and_back),
           RUN(shortest_arc_turns_one_direction_into_the_other), RUN(slerp_moves_at_constant_speed),
           RUN(dual_quaternions_are_rigid_motions), RUN(blending_keeps_the_centre_of_rotation))
