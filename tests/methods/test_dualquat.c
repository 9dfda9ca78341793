#include "fixture.h"
#include "math/dualquat.h"
#include "test.h"

static const spl_method *const dualquat = &spl_method_dualquat;

/* ---- the method again, slowly, in double ------------------------------------------------------------------------- */

/* Rotation of a matrix with positive determinant by Higham's iteration R <- (R + R^-T) / 2. */
static spl_mat3 higham(spl_mat3 R)
{
    for (int i = 0; i < 60; i++) {
        spl_mat3 c = spl_mat3_cofactor(&R);
        c = spl_mat3_scale(&c, 1 / spl_mat3_det(&R));
        R = spl_mat3_add(&R, &c);
        R = spl_mat3_scale(&R, 0.5);
    }
    return R;
}

static int32_t joint_at(const rig *r, int32_t node)
{
    for (int32_t j = 0; j < RIG_JOINTS; j++)
        if (r->joint[j] == node) return j;
    return -1;
}

typedef struct slow {
    spl_mat3 S[RIG_JOINTS], C;
    spl_vec3 centre[RIG_JOINTS];
    spl_dualquat q[RIG_JOINTS];
} slow;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* C: the median size, mirrored along x if most are. */
static spl_mat3 slow_common(const rig *r)
{
    double size[RIG_JOINTS];
    int mirrored = 0;
    for (int32_t j = 0; j < RIG_JOINTS; j++) {
        spl_mat4 m = rig_matrix(r, j);
        spl_mat3 M = spl_mat3_linear(&m);
        size[j] = spl_mat3_norm(&M) / sqrt(3.0);
        mirrored += spl_mat3_det(&M) < 0;
    }
    qsort(size, RIG_JOINTS, sizeof *size, by_value);
    double s = size[RIG_JOINTS / 2];
    return spl_mat3_diagonal(2 * mirrored > RIG_JOINTS ? -s : s, s, s);
}

/* A first frame. Nodes come parents first, so the quaternion above is ready when it is needed. */
static slow slow_split(const rig *r)
{
    slow s = {.C = slow_common(r)};
    spl_mat3 C_inverse;
    spl_mat3_inverse(&s.C, &C_inverse);
    spl_quat rotation[RIG_JOINTS];
    int32_t first = -1;
    for (int32_t n = 0; n < RIG_NODES; n++) {
        int32_t j = joint_at(r, n), up = r->node[n].parent;
        if (j < 0) continue;
        while (up >= 0 && joint_at(r, up) < 0) up = r->node[up].parent;
        int32_t parent = up >= 0 ? joint_at(r, up) : first;
        if (first < 0) first = j;
        spl_mat4 m = rig_matrix(r, j);
        spl_mat3 M = spl_mat3_linear(&m), L = spl_mat3_mul(&M, &C_inverse), R = higham(L);
        s.S[j] = spl_mat3_transposed_mul(&R, &L);
        rotation[j] = spl_quat_from_mat3(&R);
        if (parent >= 0 && spl_quat_dot(rotation[j], rotation[parent]) < 0) rotation[j] = spl_quat_negate(rotation[j]);
        if (parent < 0 && rotation[j].w < 0) rotation[j] = spl_quat_negate(rotation[j]);
        s.centre[j] = spl_mat3_apply(&s.C, spl_v3(r->bind[j].m[12], r->bind[j].m[13], r->bind[j].m[14]));
        /* The centre goes where the whole matrix takes it. */
        spl_vec3 bind = spl_v3(r->bind[j].m[12], r->bind[j].m[13], r->bind[j].m[14]);
        spl_vec3 t = spl_sub(spl_mat4_point(&m, bind), spl_mat3_apply(&R, s.centre[j]));
        s.q[j] = spl_dualquat_make(rotation[j], t);
    }
    return s;
}

static spl_vec3 slow_vertex(const rig *r, const slow *s, int32_t v)
{
    int32_t local;
    const spl_primitive *p = rig_primitive(r, v, &local);
    if (p->influence_count == 0) return spl_mat4_point(&r->world[RIG_RIGID], rig_rest(r, v));
    spl_vec3 scaled = spl_mat3_apply(&s->C, rig_rest(r, v)), stretched = spl_v3(0, 0, 0);
    spl_dualquat q[RIG_INFLUENCES];
    double w[RIG_INFLUENCES];
    for (int32_t k = 0; k < p->influence_count; k++) {
        int32_t j = p->joint[local * p->influence_count + k];
        w[k] = (double)p->weight[local * p->influence_count + k];
        q[k] = s->q[j];
        spl_vec3 from = spl_mat3_apply(&s->S[j], spl_sub(scaled, s->centre[j]));
        stretched = spl_madd(stretched, spl_add(from, s->centre[j]), w[k]);
    }
    spl_dualquat blend = spl_dualquat_blend(q, w, p->influence_count);
    return spl_dualquat_point(&blend, stretched);
}

static double worst_against_slow(const rig *r)
{
    slow s = slow_split(r);
    double worst = 0;
    for (int32_t v = 0; v < r->scene.vertex_count; v++) {
        double d = spl_distance(slow_vertex(r, &s, v), rig_out(r, v));
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST(agrees_with_the_slow_twin_for_every_number_of_influences)
{
    for (int32_t K = 1; K <= RIG_INFLUENCES; K++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            rig *r = rig_make(403, K);
            REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
            rig_pose(r, seed, 1.2, seed == 3 ? 0.2 : 0); /* rigid twice, then stretched */
            rig_step(r, dualquat);
            CHECK(worst_against_slow(r) < 6e-6);
            rig_release(r, dualquat);
            rig_free(r);
        }
}

/* The whole character in another unit, and mirrored: the deformation is the same, scaled and mirrored. */
TEST(common_scale_and_mirror_do_not_change_the_deformation)
{
    rig *r = rig_make(403, 4);
    size_t n = (size_t)r->scene.vertex_count * 3;
    float *plain = calloc(n, sizeof(float));
    for (int pass = 0; pass < 4; pass++) {
        REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
        rig_pose(r, 5, 1.2, 0);
        double s = pass == 0 ? 1 : 0.01, mirror = pass >= 2 ? -1 : 1;
        spl_mat3 X = spl_mat3_diagonal(s, pass == 3 ? mirror * s : s, pass == 2 ? mirror * s : s);
        spl_mat4 X4 = spl_mat3_affine(&X, spl_v3(0, 0, 0));
        for (int32_t i = 0; i < RIG_NODES; i++) r->world[i] = spl_mat4_mul(&X4, &r->world[i]);
        rig_step(r, dualquat);
        if (pass == 0) memcpy(plain, r->out, n * sizeof(float));
        for (int32_t v = 0; v < r->scene.vertex_count; v++) {
            spl_vec3 expected = spl_mat3_apply(&X, spl_v3_from_float(plain + 3 * v));
            CHECK(spl_distance(expected, rig_out(r, v)) < 4e-6 * s);
        }
        rig_release(r, dualquat);
    }
    free(plain);
    rig_free(r);
}

TEST(rigid_motion_of_all_bones_is_rigid_motion)
{
    rig *r = rig_make(500, 4);
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 2, 3), 3));
    spl_mat4 m = spl_mat3_affine(&turn, spl_v3(1, -2, 0.5));
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    for (int32_t j = 0; j < RIG_JOINTS; j++) rig_set(r, j, &m);
    r->world[RIG_RIGID] = m;
    rig_step(r, dualquat);
    for (int32_t v = 0; v < r->scene.vertex_count; v++)
        CHECK(spl_distance(spl_mat4_point(&m, rig_rest(r, v)), rig_out(r, v)) < 2e-6);
    rig_release(r, dualquat);
    rig_free(r);
}

/* A vertex with one influence goes where that bone takes it, whatever its matrix: stretched, mirrored, flat, nothing.
 */
TEST(single_influences_follow_any_matrix)
{
    rig *r = rig_make(403, 1);
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    rig_pose(r, 9, 2, 0.3);
    for (int32_t j = 0; j < 5; j++) {
        uint64_t seed = (uint64_t)j;
        spl_mat3 odd = random_singular(&seed, j < 4 ? 1 : 0, j == 3 ? 0 : j < 3, j == 0 ? -1 : j == 1 ? 1e-3 : 0);
        spl_mat4 m = spl_mat3_affine(&odd, spl_v3(0.3, 0.2, 0.1));
        rig_set(r, j, &m);
    }
    rig_step(r, dualquat);
    for (int32_t v = 0; v < 440; v++) {
        int32_t local;
        const spl_primitive *p = rig_primitive(r, v, &local);
        spl_mat4 m = rig_matrix(r, p->joint[local]);
        CHECK(spl_distance(spl_mat4_point(&m, rig_rest(r, v)), rig_out(r, v)) < 6e-6);
    }
    rig_release(r, dualquat);
    rig_free(r);
}

TEST(degenerate_bones_never_give_nan)
{
    for (int kind = 0; kind < 6; kind++) {
        rig *r = rig_make(403, 4);
        REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
        for (int frame = 0; frame < 3; frame++) {
            rig_pose(r, 9, 2, 0);
            for (int32_t j = 0; j < (kind == 5 ? RIG_JOINTS : 4); j++) {
                const double y[] = {0, 1, -1, 1e-30, 1e-12, 0};
                spl_mat3 flat = spl_mat3_diagonal(kind == 1 ? 0 : y[kind], y[kind], kind == 1 ? 0 : y[kind]);
                spl_mat4 m = spl_mat3_affine(&flat, spl_v3(1, 1, 1));
                rig_set(r, j, &m);
            }
            rig_step(r, dualquat);
            bool finite = true;
            for (int32_t v = 0; v < r->scene.vertex_count; v++) finite &= spl_norm(rig_out(r, v)) < 30;
            CHECK(finite);
        }
        rig_release(r, dualquat);
        rig_free(r);
    }
}

/* ---- twist: two bones along x, the second turned about x; a ring of vertices halfway between ----------------------
 */

enum { RING = 24 };

static rig *twist_rig(void)
{
    rig *r = rig_make(RING, 2);
    for (int32_t j = 0; j < RIG_JOINTS; j++) r->bind[j] = r->inverse_bind[j] = spl_mat4_identity();
    int32_t parent = joint_at(r, 1), child = joint_at(r, 3);
    for (int32_t v = 0; v < RING; v++) {
        r->primitive[0].joint[2 * v] = (uint16_t)parent;
        r->primitive[0].joint[2 * v + 1] = (uint16_t)child;
        r->primitive[0].weight[2 * v] = r->primitive[0].weight[2 * v + 1] = 0.5F;
        r->rest[3 * v] = 2;
        r->rest[3 * v + 1] = (float)cos(2 * 3.14159265358979 * v / RING);
        r->rest[3 * v + 2] = (float)sin(2 * 3.14159265358979 * v / RING);
    }
    return r;
}

static void twist(rig *r, const spl_method *method, double degrees, double whole)
{
    double rad = 3.14159265358979 / 180;
    spl_quat body = spl_quat_axis_angle(spl_v3(0, 1, 0), whole * rad);
    spl_quat hand = spl_quat_mul(body, spl_quat_axis_angle(spl_v3(1, 0, 0), degrees * rad));
    spl_mat3 B = spl_quat_to_mat3(body), H = spl_quat_to_mat3(hand);
    spl_mat4 all = spl_mat3_affine(&B, spl_v3(0, 0, 0)), last = spl_mat3_affine(&H, spl_v3(0, 0, 0));
    for (int32_t j = 0; j < RIG_JOINTS; j++) rig_set(r, j, &all);
    rig_set(r, joint_at(r, 3), &last);
    rig_step(r, method);
}

static double radius(const rig *r, int32_t v)
{
    return sqrt(pow((double)r->out[3 * v + 1], 2) + pow((double)r->out[3 * v + 2], 2));
}

TEST(twist_keeps_the_radius_where_linear_collapses)
{
    rig *r = twist_rig();
    REQUIRE(rig_init(r, &spl_method_linear) == SUPPLE_OK);
    twist(r, &spl_method_linear, 180, 0);
    for (int32_t v = 0; v < RING; v++) CHECK_NEAR(radius(r, v), 0, 1e-6);
    rig_release(r, &spl_method_linear);
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    for (double angle = 0; angle <= 180; angle += 10) {
        twist(r, dualquat, angle, 0);
        for (int32_t v = 0; v < RING; v++) {
            /* Closed form: half the weight is half the angle. */
            double a = 2 * 3.14159265358979 * v / RING + angle / 2 * 3.14159265358979 / 180;
            CHECK(spl_distance(rig_out(r, v), spl_v3(2, cos(a), sin(a))) < 1e-5);
        }
    }
    rig_release(r, dualquat);
    rig_free(r);
}

/* Largest step of the ring's first vertex while the twist goes from a to b by one degree, after a reset. */
static double largest_step(rig *r, double a, double b)
{
    dualquat->reset(r->state);
    double most = 0;
    spl_vec3 last = {0, 0, 0};
    for (double angle = a; a < b ? angle <= b : angle >= b; angle += a < b ? 1 : -1) {
        twist(r, dualquat, angle, 0);
        spl_vec3 p = rig_out(r, 0);
        if (angle != a) most = fmax(most, spl_distance(p, last));
        last = p;
    }
    return most;
}

TEST(twist_through_half_a_turn_does_not_jump)
{
    rig *r = twist_rig();
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    CHECK(largest_step(r, 0, 215) < 0.02); /* half a degree a degree */
    CHECK(largest_step(r, 0, -215) < 0.02);
    CHECK(largest_step(r, 170, 190) < 0.02);
    CHECK(largest_step(r, 190, 170) < 0.02); /* from the other side: -170 and back to -190 */
    /* Past the limit it goes the short way: a full turn is no twist. */
    largest_step(r, 0, 360);
    CHECK_NEAR(r->out[1], 1, 1e-5);
    rig_release(r, dualquat);
    rig_free(r);
}

TEST(reset_forgets_the_past)
{
    rig *r = twist_rig();
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    twist(r, dualquat, 190, 0);
    float fresh = r->out[2];
    dualquat->reset(r->state);
    largest_step(r, 0, 190);
    CHECK_NEAR(r->out[2], -fresh, 1e-5); /* the other way round */
    dualquat->reset(r->state);
    twist(r, dualquat, 190, 0);
    CHECK(r->out[2] == fresh);
    rig_release(r, dualquat);
    rig_free(r);
}

/* The sign is kept relative to the parent: the whole body turning over and over does not move the twist. */
TEST(a_turning_body_does_not_disturb_the_twist)
{
    rig *r = twist_rig();
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    for (int i = 0; i <= 72; i++) {
        twist(r, dualquat, 150, 10.0 * i);
        spl_quat back = spl_quat_axis_angle(spl_v3(0, 1, 0), -10.0 * i * 3.14159265358979 / 180);
        spl_vec3 p = spl_quat_rotate(back, rig_out(r, 0));
        double a = 75 * 3.14159265358979 / 180;
        CHECK(spl_distance(p, spl_v3(2, cos(a), sin(a))) < 1e-5);
    }
    rig_release(r, dualquat);
    rig_free(r);
}

/* A bone scaled about its joint, far from the origin, and turned: what is blended stays at the joint. */
TEST(scaled_bones_blend_about_their_joint)
{
    rig *r = twist_rig();
    spl_vec3 c = spl_v3(0, 10, 0);
    int32_t child = joint_at(r, 3);
    for (int32_t j = 0; j < RIG_JOINTS; j++) {
        spl_mat3 one = spl_mat3_identity();
        r->bind[j] = spl_mat3_affine(&one, c);
        r->inverse_bind[j] = spl_mat3_affine(&one, spl_scale(c, -1));
    }
    for (int32_t v = 0; v < RING; v++) spl_v3_to_float(c, r->rest + 3 * v);
    REQUIRE(rig_init(r, dualquat) == SUPPLE_OK);
    spl_mat4 one = spl_mat4_identity();
    for (int32_t j = 0; j < RIG_JOINTS; j++) rig_set(r, j, &one);
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 0, 1), 1.5));
    turn = spl_mat3_scale(&turn, 2);
    spl_mat4 m = spl_mat3_affine(&turn, spl_sub(c, spl_mat3_apply(&turn, c))); /* keeps c */
    rig_set(r, child, &m);
    rig_step(r, dualquat);
    for (int32_t v = 0; v < RING; v++) CHECK(spl_distance(rig_out(r, v), c) < 1e-5);
    rig_release(r, dualquat);
    rig_free(r);
}

TEST(same_bits_at_any_number_of_threads)
{
    rig *r = rig_make(20011, 4);
    uint64_t one = rig_hash(r, dualquat, 0);
    CHECK(one != 0);
    const int32_t threads[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) CHECK(rig_hash(r, dualquat, threads[i]) == one);
    rig_free(r);
}

TEST(every_failing_allocation_is_reported_without_a_leak)
{
    rig *r = rig_make(100, 4);
    rig_pose(r, 1, 1, 0);
    CHECK(rig_fail_every_allocation(r, dualquat) >= 8);
    rig_free(r);
}

TEST_CASES(RUN(agrees_with_the_slow_twin_for_every_number_of_influences),
           RUN(common_scale_and_mirror_do_not_change_the_deformation), RUN(rigid_motion_of_all_bones_is_rigid_motion),
           RUN(single_influences_follow_any_matrix), RUN(degenerate_bones_never_give_nan),
           RUN(twist_keeps_the_radius_where_linear_collapses), RUN(twist_through_half_a_turn_does_not_jump),
           RUN(reset_forgets_the_past), RUN(a_turning_body_does_not_disturb_the_twist),
           RUN(scaled_bones_blend_about_their_joint), RUN(same_bits_at_any_number_of_threads),
           RUN(every_failing_allocation_is_reported_without_a_leak))
