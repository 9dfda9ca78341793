#include "math/cpu.h"
#include "math/rotation3.h"
#include "math/svd3.h"
#include "numbers.h"
#include "test.h"

/* The kinds of matrices everything is tried on. */
enum { RANDOM, NEAR_ROTATION, REFLECTION, MIRROR, RANK_TWO, RANK_ONE, ZERO, REPEATED, NEAR_SINGULAR, GRADED, KINDS };

static spl_mat3 make(int kind, uint64_t *seed)
{
    switch (kind) {
    case NEAR_ROTATION:
        return random_singular(seed, 1.02, 1, 0.97);
    case REFLECTION:
        return random_singular(seed, 2, 1, -0.5);
    case MIRROR:
        return random_singular(seed, 1, 1, -1);
    case RANK_TWO:
        return random_singular(seed, 3, 1, 0);
    case RANK_ONE:
        return random_singular(seed, 1, 0, 0);
    case ZERO:
        return spl_mat3_diagonal(0, 0, 0);
    case REPEATED:
        return random_singular(seed, 1, 1, 1);
    case NEAR_SINGULAR:
        return random_singular(seed, 1, 1e-4, 1e-5);
    case GRADED:
        return random_singular(seed, 1, 1e-8, 1e-13);
    default:
        return random_matrix(seed);
    }
}

/* Largest of: U, V not rotations, wrong order, F not reproduced (relative to sigma_0). */
static double svd_error(const spl_mat3 *F, const spl_mat3 *U, const double s[3], const spl_mat3 *V)
{
    spl_mat3 D = spl_mat3_diagonal(s[0], s[1], s[2]), UD = spl_mat3_mul(U, &D), back = spl_mat3_mul_transposed(&UD, V);
    double e = mat3_distance(F, &back) / fmax(s[0], 1e-300);
    e = fmax(e, fmax(rotation_error(U), rotation_error(V)));
    if (!(s[0] >= s[1] && s[1] >= fabs(s[2]))) e = 1;
    return isnan(rotation_error(U)) ? 1 : e;
}

TEST(svd_reproduces_every_kind_at_every_scale)
{
    uint64_t seed = 1;
    const double scales[] = {1, 1e150, 1e-150};
    for (int i = 0; i < 3000; i++) {
        spl_mat3 F = make(i % KINDS, &seed), U, V;
        F = spl_mat3_scale(&F, scales[i % 3]);
        double s[3];
        CHECK(spl_svd3(&F, &U, s, &V));
        CHECK(svd_error(&F, &U, s, &V) < 4e-15);
    }
}

TEST(svd_finds_known_singular_values)
{
    uint64_t seed = 2;
    for (int i = 0; i < 300; i++) {
        spl_mat3 F = random_singular(&seed, 3, 2, i % 2 ? -1 : 1), U, V;
        double s[3];
        spl_svd3(&F, &U, s, &V);
        CHECK_NEAR(s[0], 3, 1e-14);
        CHECK_NEAR(s[1], 2, 1e-14);
        CHECK_NEAR(s[2], i % 2 ? -1 : 1, 1e-14); /* the sign of the determinant */
    }
}

TEST(polar_is_a_rotation_times_a_symmetric_matrix)
{
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        spl_mat3 F = make(i % KINDS, &seed), R, S;
        CHECK(spl_polar3(&F, &R, &S));
        spl_mat3 RS = spl_mat3_mul(&R, &S), St = spl_mat3_transpose(&S);
        CHECK(mat3_distance(&F, &RS) < 1e-14);
        CHECK(mat3_distance(&S, &St) == 0);
        CHECK(rotation_error(&R) < 4e-15);
    }
}

/* R must maximise tr(R^T F): no other rotation does better. */
TEST(polar_rotation_is_the_nearest_one)
{
    uint64_t seed = 4;
    for (int i = 0; i < 200; i++) {
        spl_mat3 F = make(i % KINDS, &seed), R, S;
        spl_polar3(&F, &R, &S);
        double best = spl_mat3_dot(&R, &F);
        for (int k = 0; k < 50; k++) {
            spl_quat q = random_rotation(&seed);
            if (k % 2) q = spl_quat_axis_angle(spl_v3(q.x, q.y, q.z), 0.01);
            spl_mat3 Q = spl_quat_to_mat3(q), other = spl_mat3_mul(&Q, &R);
            CHECK(spl_mat3_dot(&other, &F) <= best + 1e-14);
        }
    }
}

TEST(polar_is_continuous_through_flat_and_inverted)
{
    /* A cube pressed flat and through itself keeps its rotation. */
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 2, 3), 1)), R, S;
    for (int i = 0; i <= 100; i++) {
        double flat = 0.8 - 0.016 * i; /* 0.8 .. -0.8 */
        spl_mat3 D = spl_mat3_diagonal(1, 1.1, flat), F = spl_mat3_mul(&turn, &D);
        spl_polar3(&F, &R, &S);
        CHECK(mat3_distance(&R, &turn) < 1e-13);
    }
}

TEST(what_is_undetermined_turns_as_little_as_it_can)
{
    spl_mat3 Z = spl_mat3_diagonal(0, 0, 0), one = spl_mat3_identity(), R, S;
    spl_polar3(&Z, &R, &S);
    CHECK(mat3_distance(&R, &one) == 0);
    spl_mat3 F = spl_mat3_outer(spl_v3(0, 0, 5), spl_v3(1, 0, 0)); /* x -> z only */
    spl_polar3(&F, &R, &S);
    CHECK_NEAR(spl_mat3_trace(&R), 1, 1e-14); /* a quarter turn: 1 + 2 cos 90 */
}

TEST(entries_that_are_not_finite_give_the_identity_and_false)
{
    spl_mat3 one = spl_mat3_identity();
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 27; i++) {
        spl_mat3 F = one, R, S, U, V;
        double s[3];
        F.m[i % 9] = bad[i / 9];
        CHECK(!spl_polar3(&F, &R, &S));
        CHECK(!spl_svd3(&F, &U, s, &V));
        CHECK(mat3_distance(&R, &one) == 0 && mat3_distance(&S, &one) == 0 && mat3_distance(&U, &one) == 0);
    }
}

/* ---- eight at a time --------------------------------------------------------------------------------------------- */

enum { BLOCKS = 500 };

static spl_mat3 lane_of(const spl_mat3x8 *a, int lane)
{
    spl_mat3 r;
    for (int i = 0; i < 9; i++) r.m[i] = (double)a->m[i][lane];
    return r;
}

/* Every kind in every lane, at scales within float. */
static void make_blocks(spl_mat3x8 *F)
{
    uint64_t seed = 5;
    const double scales[] = {1, 1e30, 1e-30, 100};
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = make((8 * b + lane) % KINDS, &seed);
            for (int i = 0; i < 9; i++) F[b].m[i][lane] = (float)(f.m[i] * scales[b % 4]);
        }
}

static void check_svd_blocks(bool (*svd)(const spl_mat3x8 *, size_t, spl_mat3x8 *, spl_vec3x8 *, spl_mat3x8 *))
{
    static spl_mat3x8 F[BLOCKS], U[BLOCKS], V[BLOCKS];
    static spl_vec3x8 sigma[BLOCKS];
    make_blocks(F);
    CHECK(svd(F, BLOCKS, U, sigma, V));
    double worst = 0, worst_sigma = 0;
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = lane_of(&F[b], lane), u = lane_of(&U[b], lane), v = lane_of(&V[b], lane), u2, v2;
            double s[3], s2[3];
            for (int i = 0; i < 3; i++) s[i] = (double)sigma[b].v[i][lane];
            spl_svd3(&f, &u2, s2, &v2);
            worst = fmax(worst, svd_error(&f, &u, s, &v));
            for (int i = 0; i < 3; i++)
                worst_sigma = fmax(worst_sigma, fabs(fabs(s[i]) - fabs(s2[i])) / fmax(s2[0], 1e-38));
            if (fabs(s2[2]) > 1e-4 * s2[0]) CHECK((s[2] < 0) == (s2[2] < 0));
        }
    printf("    svd: error %.2g, singular values against double %.2g\n", worst, worst_sigma);
    CHECK(worst < 4e-6);
    CHECK(worst_sigma < 2e-6);
}

static void check_polar_blocks(bool (*polar)(const spl_mat3x8 *, size_t, spl_mat3x8 *, spl_mat3x8 *))
{
    static spl_mat3x8 F[BLOCKS], R[BLOCKS], S[BLOCKS];
    make_blocks(F);
    CHECK(polar(F, BLOCKS, R, S));
    double worst = 0, worst_rotation = 0, worst_twin = 0;
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = lane_of(&F[b], lane), r = lane_of(&R[b], lane), s = lane_of(&S[b], lane), r2, s2, U, V;
            double sigma[3];
            spl_mat3 rs = spl_mat3_mul(&r, &s), st = spl_mat3_transpose(&s);
            spl_svd3(&f, &U, sigma, &V);
            spl_polar3(&f, &r2, &s2);
            CHECK(mat3_distance(&s, &st) == 0);
            worst = fmax(worst, mat3_distance(&f, &rs) / fmax(sigma[0], 1e-38));
            worst_rotation = fmax(worst_rotation, rotation_error(&r));
            /* The rotation is as well determined as sigma_1 + sigma_2 is far from zero. */
            if (sigma[1] + sigma[2] > 1e-2 * sigma[0]) worst_twin = fmax(worst_twin, mat3_distance(&r, &r2));
        }
    printf("    polar: error %.2g, not a rotation %.2g, against double %.2g\n", worst, worst_rotation, worst_twin);
    CHECK(worst < 4e-6);
    CHECK(worst_rotation < 2e-6);
    CHECK(worst_twin < 4e-5);
}

TEST(svd_of_blocks_agrees_with_double)
{
    check_svd_blocks(spl_svd3_blocks);
}

TEST(polar_of_blocks_agrees_with_double)
{
    check_polar_blocks(spl_polar3_blocks);
}

TEST(blocks_isolate_entries_that_are_not_finite)
{
    spl_mat3x8 F, R, S, U, V;
    spl_vec3x8 sigma;
    spl_mat3 one = spl_mat3_identity();
    for (int i = 0; i < 9; i++)
        for (int lane = 0; lane < 8; lane++) F.m[i][lane] = i % 4 == 0 ? 2 : 0;
    F.m[3][2] = NAN;
    F.m[8][5] = -INFINITY;
    CHECK(!spl_polar3_blocks(&F, 1, &R, &S));
    CHECK(!spl_svd3_blocks(&F, 1, &U, &sigma, &V));
    for (int lane = 0; lane < 8; lane++) {
        bool bad = lane == 2 || lane == 5;
        spl_mat3 r = lane_of(&R, lane), s = lane_of(&S, lane), u = lane_of(&U, lane);
        CHECK(mat3_distance(&r, &one) == 0 && mat3_distance(&u, &one) < 1e-7);
        CHECK_NEAR(s.m[0], bad ? 1 : 2, 1e-6);
        CHECK_NEAR(sigma.v[2][lane], bad ? 0 : 2, 1e-6);
    }
}

/* ---- Newton ------------------------------------------------------------------------------------------------------ */

static float lane_error(const spl_mat3 *exact, const float q[4])
{
    spl_mat3 r = spl_quat_to_mat3(spl_quat_make((double)q[0], (double)q[1], (double)q[2], (double)q[3]));
    return (float)mat3_distance(exact, &r);
}

/* Largest and median-like (rms) error after some iterations from a start `angle` away, 8-wide and scalar. */
static void newton_errors(int iterations, double angle, double *worst, double *rms, double *twins)
{
    static spl_mat3x8 F[BLOCKS];
    static spl_quatx8 q[BLOCKS];
    static spl_mat3 exact[BLOCKS][8];
    static float single[BLOCKS][8][4];
    uint64_t seed = 6;
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = random_singular(&seed, 1.3, 1, 0.8), S;
            float column[9];
            for (int i = 0; i < 9; i++) F[b].m[i][lane] = column[i] = (float)f.m[i];
            spl_polar3(&f, &exact[b][lane], &S);
            spl_quat away = spl_quat_axis_angle(random_vector(&seed), angle);
            spl_quat start = spl_quat_mul(spl_quat_from_mat3(&exact[b][lane]), away);
            const double from[4] = {start.x, start.y, start.z, start.w};
            for (int i = 0; i < 4; i++) q[b].q[i][lane] = single[b][lane][i] = (float)from[i];
            CHECK(spl_rotation3(column, iterations, single[b][lane]));
        }
    CHECK(spl_rotation3_blocks(F, BLOCKS, iterations, q));
    *worst = *rms = *twins = 0;
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++) {
            float r[4];
            for (int i = 0; i < 4; i++) r[i] = q[b].q[i][lane];
            double e = (double)lane_error(&exact[b][lane], r);
            *worst = fmax(*worst, e);
            *rms += e * e / (8 * BLOCKS);
            for (int i = 0; i < 4; i++) *twins = fmax(*twins, (double)fabsf(r[i] - single[b][lane][i]));
        }
    *rms = sqrt(*rms);
}

TEST(newton_converges_quadratically_from_a_warm_start)
{
    double worst, rms, twins;
    newton_errors(1, 0.2, &worst, &rms, &twins);
    printf("    11 degrees, 1 iteration: rms %.2g, worst %.2g\n", rms, worst);
    CHECK(worst < 1e-2);
    newton_errors(2, 0.2, &worst, &rms, &twins);
    printf("    11 degrees, 2 iterations: rms %.2g, worst %.2g\n", rms, worst);
    CHECK(worst < 1e-5);
    newton_errors(3, 0.2, &worst, &rms, &twins);
    printf("    11 degrees, 3 iterations: rms %.2g, worst %.2g; twins differ by %.2g\n", rms, worst, twins);
    CHECK(worst < 1.5e-6);
    CHECK(twins < 1e-6);
    newton_errors(4, 1, &worst, &rms, &twins);
    printf("    57 degrees, 4 iterations: rms %.2g, worst %.2g\n", rms, worst);
    CHECK(worst < 1e-5);
}

TEST(newton_arrives_from_far_away)
{
    double worst, rms, twins;
    newton_errors(30, 3, &worst, &rms, &twins);
    CHECK(worst < 2e-6);
}

/* Whatever F is, the result is a unit quaternion that is not worse than the start. */
TEST(newton_never_fails)
{
    static spl_mat3x8 F[BLOCKS];
    static spl_quatx8 q[BLOCKS];
    make_blocks(F);
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++)
            for (int i = 0; i < 4; i++) q[b].q[i][lane] = i == 3;
    CHECK(spl_rotation3_blocks(F, BLOCKS, 40, q));
    for (int b = 0; b < BLOCKS; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = lane_of(&F[b], lane), R, S;
            spl_quat r = {(double)q[b].q[0][lane], (double)q[b].q[1][lane], (double)q[b].q[2][lane],
                          (double)q[b].q[3][lane]};
            CHECK_NEAR(spl_quat_dot(r, r), 1, 1e-6);
            spl_mat3 mine = spl_quat_to_mat3(r);
            spl_polar3(&f, &R, &S);
            double scale = fmax(spl_mat3_norm(&f), 1e-40);
            CHECK(spl_mat3_dot(&mine, &f) / scale >= spl_mat3_trace(&f) / scale - 1e-6);
        }
    float broken[9] = {1, 0, 0, 0, NAN, 0, 0, 0, 1}, w[4] = {1, 0, 0, 0};
    CHECK(!spl_rotation3(broken, 3, w) && w[0] == 0 && w[3] == 1);
    float fine[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, rubbish[4] = {NAN, 0, 0, 0};
    CHECK(spl_rotation3(fine, 3, rubbish) && rubbish[3] == 1);
    spl_mat3x8 one = {{{0}}};
    spl_quatx8 start = {{{0}}};
    for (int lane = 0; lane < 8; lane++) one.m[0][lane] = one.m[4][lane] = one.m[8][lane] = lane == 3 ? INFINITY : 1;
    start.q[0][1] = NAN;
    CHECK(!spl_rotation3_blocks(&one, 1, 3, &start));
    for (int lane = 0; lane < 8; lane++) CHECK(start.q[3][lane] == 1);
}

TEST_CASES(RUN(svd_reproduces_every_kind_at_every_scale), RUN(svd_finds_known_singular_values),
           RUN(polar_is_a_rotation_times_a_symmetric_matrix), RUN(polar_rotation_is_the_nearest_one),
           RUN(polar_is_continuous_through_flat_and_inverted), RUN(what_is_undetermined_turns_as_little_as_it_can),
           RUN(entries_that_are_not_finite_give_the_identity_and_false), RUN(svd_of_blocks_agrees_with_double),
           RUN(polar_of_blocks_agrees_with_double), RUN(blocks_isolate_entries_that_are_not_finite),
           RUN(newton_converges_quadratically_from_a_warm_start), RUN(newton_arrives_from_far_away),
           RUN(newton_never_fails))
