#include "fem/law.h"
#include "fem/twin.h"
#include "math/numbers.h"
#include "math/svd3.h"
#include "test.h"

#include <float.h>

/* Lame parameters: no volume term, Poisson's ratios 0.3, 0.45 and -0.28, and flesh in pascals. */
static const double MATERIALS[][2] = {{1, 0}, {1, 1.5}, {1, 9}, {1, -0.36}, {1.7e4, 1.5e5}};
enum { MATERIAL_COUNT = sizeof MATERIALS / sizeof *MATERIALS };

/* Singular values of the deformations that are tried: plain, equal, nearly equal, near-singular, inverted, reflected,
 * about the pieces of stvk, large. s_1 + s_2 > 0 throughout: elsewhere the energy has no derivative. */
static const double STRETCHES[][3] = {
    {1.2, 1.0, 0.8},          {1.5, 0.9, 0.7},     {2, 1.5, 1.2},       {0.9, 0.8, 0.7},     {1, 1, 1},
    {0.8, 0.8, 0.8},          {1.3, 0.7, 0.7},     {1.3, 1.3, 0.7},     {1.1, 1.1, -0.6},    {1 + 1e-9, 1, 1 - 1e-9},
    {1.3, 0.7 + 1e-7, 0.7},   {1.3, 0.9, 1e-3},    {1.3, 0.9, 1e-6},    {1.3, 0.9, 1e-9},    {1.3, 0.9, 0},
    {1.3, 0.9, -1e-9},        {1.3, 1e-3, 1e-4},   {1.3, 1e-3, -1e-4},  {1.3, 1e-6, 1e-7},   {1.3, 1e-6, 1e-6},
    {1.3, 1e-9, 1e-9},        {1.3, 1e-9, -3e-10}, {0.9, 1e-3, 1e-9},   {1.2, 0.9, -0.5},    {1, 1, -0.9},
    {0.7, 0.4, -0.3},         {1.5, 1.5, -1},      {0.55, 0.52, 0.4},   {0.55, 0.55, 0.55},  {0.62, 0.58, 0.54},
    {0.58, 0.58 - 1e-8, 0.2}, {0.3, 0.2, 0.1},     {0.61, 0.595, 0.48}, {0.3, 0.2, -0.1},    {5, 3, 2},
    {4, 0.47, 0.2},           {3, 2.5, -2},        {1e-3, 1e-3, 1e-3},  {1e-3, 1e-4, -1e-5},
};
enum { STRETCH_COUNT = sizeof STRETCHES / sizeof *STRETCHES, RANDOM_COUNT = 60 };

typedef void try_fn(const spl_law *law, const spl_law_input *in, double room);

static spl_mat3 rotation_of(uint64_t *seed)
{
    return spl_quat_to_mat3(random_rotation(seed));
}

static double largest(const double *a, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        if (!(fabs(a[i]) <= most)) most = fabs(a[i]);
    return most;
}

static double difference(const double *a, const double *b, int count)
{
    double most = 0;
    for (int i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= most)) most = fabs(a[i] - b[i]);
    return most;
}

/* No barrier is told from its end here: det F is rounding. */
#define FLAT 1e-12

/* Behind a barrier, or so near to its end that rounding says on which side: an infinite energy comes with zeros, a
 * finite one with numbers, and it is infinite where det F is clearly not positive. */
static void try_flat(const spl_law *law, const spl_law_input *in, double room)
{
    double H[81], projected[81], unused[81], W = law->energy(in), det = spl_mat3_det(&in->F);
    spl_mat3 P, again;
    law->stress(in, &P);
    law->hessian(in, H);
    law->projected(in, projected);
    CHECK(law->both(in, &again) == W && !memcmp(&again, &P, sizeof P));
    CHECK(det <= 0 ? W == INFINITY : isfinite(W));
    CHECK(room > -FLAT || W == INFINITY);
    CHECK(spl_mat3_finite(&P) && isfinite(largest(H, 81)) && isfinite(largest(projected, 81)));
    CHECK(isfinite(W) || (largest(P.m, 9) == 0 && largest(H, 81) == 0 && largest(projected, 81) == 0));
    CHECK(twin_clamp9(projected, unused) >= -1e-13 * largest(projected, 81));
}

/* Calls fn for every law, material and deformation; `room` is the distance to where derivatives end: s_1 + s_2, and
 * for a barrier what is left to flat, less than s_2 where s_1 is small too (eps / room is the rounding of det F).
 * Where a barrier has nothing left, try_flat is called instead. */
static void try_all(try_fn *fn)
{
    uint64_t seed = 5;
    for (int32_t l = 0; l < spl_law_count(); l++)
        for (int m = 0; m < MATERIAL_COUNT; m++)
            for (int i = 0; i < STRETCH_COUNT + RANDOM_COUNT; i++) {
                const double *s = i < STRETCH_COUNT ? STRETCHES[i] : NULL;
                const spl_law *law = spl_law_at(l);
                spl_law_input in = {.mu = MATERIALS[m][0], .lambda = MATERIALS[m][1], .R = rotation_of(&seed)};
                in.F = s ? random_singular(&seed, s[0], s[1], s[2]) : random_matrix(&seed);
                if (s && i % 3 == 0) in.F = spl_mat3_diagonal(s[1], s[2], s[0]); /* on the axes, in another order */
                spl_mat3 U, V;
                double sigma[3];
                spl_svd3(&in.F, &U, sigma, &V);
                double room = law->barrier ? sigma[1] * sigma[2] / sigma[0] : sigma[1] + sigma[2];
                int before = test_failures;
                (law->barrier && room < FLAT ? try_flat : fn)(law, &in, room);
                if (test_failures > before && before < TEST_SHOWN)
                    printf("    %s, mu %g, lambda %g, stretches %g %g %g\n", law->name, in.mu, in.lambda, sigma[0],
                           sigma[1], sigma[2]);
            }
}

/* The relative rounding of what a barrier makes of det F; 0 for other laws. */
static double rounding_of(const spl_law *law, double room)
{
    return law->barrier ? 50 * DBL_EPSILON / fmin(room, 1) : 0;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------ */

static void try_stress(const spl_law *law, const spl_law_input *in, double room)
{
    double h = fmin(1e-4, 0.005 * room);
    spl_mat3 P, twin;
    law->stress(in, &P);
    twin_stress(law, in, h, &twin);
    double noise =
        (50 * DBL_EPSILON + rounding_of(law, room)) * (fabs(law->energy(in)) + in->mu + fabs(in->lambda)) / h;
    CHECK_NEAR(difference(P.m, twin.m, 9), 0, 1e-8 * (in->mu + largest(P.m, 9)) + noise);
    CHECK(law->both(in, &twin) == law->energy(in) && !memcmp(&twin, &P, sizeof P));
}

TEST(stress_is_the_gradient_of_the_energy)
{
    try_all(try_stress);
}

/* The rounding of R, and of what follows from it, is eps / (s_1 + s_2). */
static void try_hessian(const spl_law *law, const spl_law_input *in, double room)
{
    double h = fmin(1e-5, (law->barrier ? 0.005 : 0.02) * room), H[81], twin[81], size = in->mu + fabs(in->lambda);
    law->hessian(in, H);
    twin_hessian(law, in, h, twin);
    spl_mat3 P;
    law->stress(in, &P);
    double noise = 50 * DBL_EPSILON * (size + largest(P.m, 9)) / (h * fmin(room, 1));
    CHECK_NEAR(difference(H, twin, 81), 0, 1e-6 * (size + largest(H, 81)) + noise);
    for (int j = 0; j < 9; j++)
        for (int i = 0; i < j; i++) CHECK(H[9 * j + i] == H[9 * i + j]);
}

TEST(hessian_is_the_gradient_of_the_stress)
{
    try_all(try_hessian);
}

/* ---- projection ------------------------------------------------------------------------------------------------- */

static void try_projection(const spl_law *law, const spl_law_input *in, double room)
{
    double H[81], projected[81], twin[81], unused[81];
    law->hessian(in, H);
    law->projected(in, projected);
    twin_clamp9(H, twin);
    double size = largest(H, 81);
    CHECK_NEAR(difference(projected, twin, 81), 0, (3e-13 + rounding_of(law, room)) * size);
    CHECK(twin_clamp9(projected, unused) >= -1e-14 * size);
}

TEST(projection_clamps_the_eigenvalues)
{
    try_all(try_projection);
}

/* Where s_1 + s_2 = 0 there is no second derivative, but numbers that a solver can use all the same. */
TEST(every_finite_state_has_usable_numbers)
{
    static const double s[][3] = {{0, 0, 0},      {1, 0, 0},       {1, 1, -1},       {1, 0.4, -0.4},
                                  {2, 2, -2},     {1e-200, 0, 0},  {1e-9, 0, -1e-9}, {1e-300, 1e-9, -1},
                                  {1e6, 1, 1e-6}, {1e9, 1e9, 1e9}, {1e-12, 1e-13, 0}};
    uint64_t seed = 11;
    for (int32_t l = 0; l < spl_law_count(); l++)
        for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
            spl_law_input in = {.mu = 1, .lambda = 9, .R = rotation_of(&seed)};
            in.F = i % 2 ? random_singular(&seed, s[i][0], s[i][1], s[i][2])
                         : spl_mat3_diagonal(s[i][0], s[i][1], s[i][2]);
            if (spl_law_at(l)->barrier) {
                try_flat(spl_law_at(l), &in, 0);
                continue;
            }
            double H[81], projected[81], twin[81];
            spl_mat3 P;
            spl_law_at(l)->stress(&in, &P);
            spl_law_at(l)->hessian(&in, H);
            spl_law_at(l)->projected(&in, projected);
            CHECK(isfinite(spl_law_at(l)->energy(&in)) && spl_mat3_finite(&P));
            CHECK(isfinite(largest(H, 81)) && isfinite(largest(projected, 81)));
            double least = twin_clamp9(projected, twin);
            CHECK(least >= -1e-13 * largest(projected, 81));
        }
}

/* 2 mu + 3 lambda < 0: not a material, but the projection still is what it says. */
TEST(projection_of_an_unstable_material)
{
    uint64_t seed = 12;
    for (int32_t l = 0; l < spl_law_count(); l++) {
        spl_law_input in = {.mu = 1, .lambda = -0.8, .R = rotation_of(&seed), .F = spl_mat3_diagonal(1.1, 0.9, 1)};
        try_projection(spl_law_at(l), &in, 1);
    }
}

TEST(what_is_not_finite_stays_so)
{
    for (int32_t l = 0; l < spl_law_count(); l++) {
        spl_law_input in = {.mu = 1, .lambda = 9, .R = spl_mat3_identity(), .F = spl_mat3_identity()};
        in.F.m[4] = NAN;
        spl_mat3 P;
        spl_law_at(l)->stress(&in, &P);
        CHECK(!isfinite(spl_law_at(l)->energy(&in)));
        CHECK(!spl_mat3_finite(&P));
    }
}

/* ---- truths ----------------------------------------------------------------------------------------------------- */

/* W(Q F) = W(F) and P(Q F) = Q P(F); isotropy: W(F Q) = W(F), P(F Q) = P(F) Q. A given R turns along. */
static void try_rotation(const spl_law *law, const spl_law_input *in, double room)
{
    static uint64_t seed = 3;
    spl_mat3 Q = rotation_of(&seed), P, left, right;
    spl_law_input before = *in, after = *in;
    before.F = spl_mat3_mul(&Q, &in->F), before.R = spl_mat3_mul(&Q, &in->R);
    after.F = spl_mat3_mul(&in->F, &Q), after.R = spl_mat3_mul(&in->R, &Q);
    law->stress(in, &P);
    law->stress(&before, &left);
    law->stress(&after, &right);
    double W = law->energy(in), size = in->mu + fabs(in->lambda), rounding = 1e-13 + rounding_of(law, room);
    CHECK_NEAR(law->energy(&before), W, rounding * (size + fabs(W)));
    CHECK_NEAR(law->energy(&after), W, rounding * (size + fabs(W)));
    spl_mat3 QP = spl_mat3_mul(&Q, &P), PQ = spl_mat3_mul(&P, &Q);
    double tolerance = rounding * (size + largest(P.m, 9)) + 100 * DBL_EPSILON * size / fmin(room, 1);
    CHECK_NEAR(mat3_distance(&left, &QP), 0, tolerance);
    CHECK_NEAR(mat3_distance(&right, &PQ), 0, tolerance);
}

TEST(rotations_change_nothing)
{
    try_all(try_rotation);
}

TEST(rest_has_no_energy_and_no_stress)
{
    uint64_t seed = 4;
    for (int32_t l = 0; l < spl_law_count(); l++)
        for (int m = 0; m < MATERIAL_COUNT; m++)
            for (int i = 0; i < 20; i++) {
                spl_mat3 R = i ? rotation_of(&seed) : spl_mat3_identity(), P;
                spl_law_input in = {.mu = MATERIALS[m][0], .lambda = MATERIALS[m][1], .R = R, .F = R};
                double size = in.mu + fabs(in.lambda), H[81], unused[81];
                spl_law_at(l)->stress(&in, &P);
                CHECK_NEAR(largest(P.m, 9), 0, 1e-14 * size);
                CHECK_NEAR(spl_law_at(l)->energy(&in), 0, 1e-14 * size);
                spl_law_at(l)->hessian(&in, H);
                CHECK(twin_clamp9(H, unused) > -1e-14 * size); /* a minimum */
            }
}

/* P(R (I + t G)) / t -> R (2 mu sym G + lambda tr G I) */
TEST(small_strains_are_linear_elasticity)
{
    uint64_t seed = 6;
    const double t = 1e-7;
    for (int32_t l = 0; l < spl_law_count(); l++)
        for (int m = 0; m < MATERIAL_COUNT; m++)
            for (int i = 0; i < 10; i++) {
                const spl_law *law = spl_law_at(l);
                double mu = MATERIALS[m][0], lambda = MATERIALS[m][1];
                spl_mat3 G = random_matrix(&seed), Q = rotation_of(&seed), F = spl_mat3_identity(), E, P, S;
                for (int k = 0; k < 9; k++) F.m[k] += t * G.m[k];
                spl_law_input in = {.mu = mu, .lambda = lambda, .F = spl_mat3_mul(&Q, &F)};
                spl_polar3(&in.F, &in.R, &S);
                for (int c = 0; c < 3; c++)
                    for (int r = 0; r < 3; r++) {
                        double volume = law == &spl_law_arap ? 0 : lambda * spl_mat3_trace(&G);
                        E.m[3 * c + r] = mu * (G.m[3 * c + r] + G.m[3 * r + c]) + (r == c ? volume : 0);
                    }
                E = spl_mat3_mul(&Q, &E);
                law->stress(&in, &P);
                P = spl_mat3_scale(&P, 1 / t);
                CHECK_NEAR(mat3_distance(&P, &E), 0, 1e-5 * (mu + fabs(lambda)));
            }
}

/* With R = polar(F), exrotated and mixed have corot's energy and stress, mixed-neohookean has neohookean's. */
static void try_given(const spl_law *law, const spl_law_input *given, double room)
{
    if (!law->needs_rotation) return;
    spl_law_input in = *given;
    const spl_law *found = law == &spl_law_mixed_neohookean ? &spl_law_neohookean : &spl_law_corot;
    spl_mat3 S, P, twin;
    spl_polar3(&in.F, &in.R, &S);
    law->stress(&in, &P);
    found->stress(&in, &twin);
    double size = in.mu + fabs(in.lambda), W = found->energy(&in);
    CHECK_NEAR(mat3_distance(&P, &twin), 0, 1e-14 * (size + largest(P.m, 9)) * fmax(1, 1e-2 / room));
    CHECK_NEAR(law->energy(&in), W, 1e-14 * (size + W));
}

TEST(given_rotations_that_are_right_change_nothing)
{
    try_all(try_given);
}

/* The energies as their papers print them. */
static double as_printed(const spl_law *law, const spl_law_input *in)
{
    double mu = in->mu, lambda = in->lambda;
    spl_mat3 R, S, C = spl_mat3_transposed_mul(&in->F, &in->F), one = spl_mat3_identity();
    spl_polar3(&in->F, &R, &S);
    spl_mat3 D = spl_mat3_sub(&in->F, &R), E = spl_mat3_sub(&C, &one), RF = spl_mat3_transposed_mul(&R, &in->F);
    double stretch = mu * spl_mat3_dot(&D, &D), trace = spl_mat3_trace(&RF) - 3;
    if (law == &spl_law_arap) return stretch;
    if (law == &spl_law_corot) return stretch + lambda / 2 * trace * trace;
    if (law == &spl_law_stvk)
        return mu * spl_mat3_dot(&E, &E) / 4 + lambda / 8 * spl_mat3_trace(&E) * spl_mat3_trace(&E);
    double m = 4 * mu / 3, l = lambda + 5 * mu / 6, alpha = 1 + m / l - m / (4 * l), J = spl_mat3_det(&in->F);
    double I = spl_mat3_trace(&C);
    if (law == &spl_law_log) return mu / 2 * (I - 3) - mu * log(J) + lambda / 2 * log(J) * log(J);
    double rest = l / 2 * (1 - alpha) * (1 - alpha) - m / 2 * log(4);
    return m / 2 * (I - 3) + l / 2 * (J - alpha) * (J - alpha) - m / 2 * log(I + 1) - rest;
}

static void try_energy(const spl_law *law, const spl_law_input *in, double room)
{
    (void)room;
    spl_mat3 U, V;
    double s[3];
    spl_svd3(&in->F, &U, s, &V);
    if (law->needs_rotation || (law == &spl_law_stvk && s[2] < 0.6)) return;
    double W = as_printed(law, in);
    CHECK_NEAR(law->energy(in), W, 1e-14 * (in->mu + fabs(in->lambda) + fabs(W)) * 10);
}

TEST(energies_are_those_of_the_papers)
{
    try_all(try_energy);
}

/* Pressed along one axis, stvk pushes back ever harder, through the plane and beyond. */
TEST(stvk_resists_inversion)
{
    double last = INFINITY;
    for (int i = 0; i <= 3000; i++) {
        double s = 1 - 1e-3 * i;
        spl_law_input in = {.mu = 1, .lambda = 1.5, .F = spl_mat3_diagonal(1.0, s, 1.0)};
        if (s <= -1) break; /* from here on another axis may be the one that is inverted */
        spl_mat3 P;
        spl_law_stvk.stress(&in, &P);
        CHECK(P.m[4] < last);
        last = P.m[4];
    }
    CHECK(last < -1);
}

/* Its pieces meet with two derivatives. */
TEST(stvk_is_smooth_where_it_is_continued)
{
    for (int i = 0; i < 2; i++) {
        double knot = i ? 0.6 : 0.5, H[2][81], W[2];
        for (int side = 0; side < 2; side++) {
            double s = knot + (side ? 1e-9 : -1e-9);
            spl_law_input in = {.mu = 1, .lambda = 1.5, .F = spl_mat3_diagonal(1.2, s, knot)};
            spl_law_stvk.hessian(&in, H[side]);
            W[side] = spl_law_stvk.energy(&in);
        }
        CHECK_NEAR(difference(H[0], H[1], 81), 0, 1e-7);
        CHECK_NEAR(W[0], W[1], 1e-8);
    }
}

/* Pressed along one axis, or on all, neohookean-log pushes back ever harder, without bound, and has no other side. */
TEST(a_barrier_has_no_other_side)
{
    for (int way = 0; way < 2; way++) {
        double last = 0, force = 0;
        spl_law_input in = {.mu = 1, .lambda = 1.5};
        spl_mat3 P;
        for (int step = 1; step < 6870; step++) { /* down to 1e-30 */
            double s = pow(0.99, step);
            in.F = way ? spl_mat3_diagonal(s, s, s) : spl_mat3_diagonal(1, s, 1);
            double W = spl_law_log.both(&in, &P);
            CHECK(W > last && P.m[4] < force);
            last = W, force = P.m[4];
        }
        CHECK(last > 1000 && force < -1e30);
    }
    static const double behind[][3] = {{1, 1, 0}, {1, 1, -1e-30}, {1, 1, -1}, {-1, -1, -1}, {0, 0, 0}};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        spl_law_input in = {.mu = 1, .lambda = 1.5, .F = spl_mat3_diagonal(behind[i][0], behind[i][1], behind[i][2])};
        try_flat(&spl_law_log, &in, -1);
    }
}

/* psi(R (I + t G)) -> t^2 (mu |sym G|^2 + lambda/2 tr^2 G): its terms of first order cancel before they are rounded. */
TEST(neohookean_log_keeps_small_energies)
{
    uint64_t seed = 8;
    for (int m = 0; m < MATERIAL_COUNT; m++)
        for (int i = 0; i < 200; i++) {
            double mu = MATERIALS[m][0], lambda = MATERIALS[m][1], t = i % 2 ? 1e-6 : 1e-8;
            spl_mat3 G = random_matrix(&seed), Q = i % 4 < 2 ? rotation_of(&seed) : spl_mat3_identity();
            spl_mat3 E, F = spl_mat3_identity();
            for (int c = 0; c < 9; c++) E.m[c] = 0.5 * (G.m[c] + G.m[3 * (c % 3) + c / 3]), F.m[c] += t * G.m[c];
            spl_law_input in = {.mu = mu, .lambda = lambda, .F = spl_mat3_mul(&Q, &F)};
            double trace = spl_mat3_trace(&G), want = mu * spl_mat3_dot(&E, &E) + 0.5 * lambda * trace * trace;
            CHECK_NEAR(spl_law_log.energy(&in) / (t * t), want, (10 * t + 10 * DBL_EPSILON / t) * (mu + fabs(lambda)));
        }
}

TEST(laws_are_found_by_name)
{
    CHECK(spl_law_count() == 8);
    for (int32_t l = 0; l < spl_law_count(); l++) {
        const spl_law *law = spl_law_at(l);
        CHECK(law && law->summary && spl_law_find(law->name) == law);
        CHECK(law->energy && law->stress && law->hessian && law->projected && law->both);
        CHECK(law->barrier == (law == &spl_law_log));
        CHECK(law->quadratic == (law->needs_rotation && law != &spl_law_mixed_neohookean));
    }
    CHECK(!spl_law_find("rubber") && !spl_law_find("") && !spl_law_at(-1) && !spl_law_at(8));
}

TEST(lame_parameters)
{
    double mu, lambda;
    spl_lame(2.6e4, 0.3, &mu, &lambda);
    CHECK_NEAR(mu, 1e4, 1e-9);
    CHECK_NEAR(lambda, 1.5e4, 1e-9);
    spl_lame(3e5, 0.49, &mu, &lambda); /* bulk modulus lambda + 2/3 mu = E / 3 (1 - 2 nu) */
    CHECK_NEAR(lambda + 2 * mu / 3, 3e5 / (3 * 0.02), 1e-6);
}

TEST_CASES(RUN(stress_is_the_gradient_of_the_energy), RUN(hessian_is_the_gradient_of_the_stress),
           RUN(projection_clamps_the_eigenvalues), RUN(every_finite_state_has_usable_numbers),
           RUN(projection_of_an_unstable_material), RUN(what_is_not_finite_stays_so), RUN(rotations_change_nothing),
           RUN(rest_has_no_energy_and_no_stress), RUN(small_strains_are_linear_elasticity),
           RUN(given_rotations_that_are_right_change_nothing), RUN(energies_are_those_of_the_papers),
           RUN(stvk_resists_inversion), RUN(stvk_is_smooth_where_it_is_continued), RUN(a_barrier_has_no_other_side),
           RUN(neohookean_log_keeps_small_energies), RUN(laws_are_found_by_name), RUN(lame_parameters))
