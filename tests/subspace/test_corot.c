/* The corotational law at cubature tets, against the law itself. */
#include "core/memory.h"
#include "math/svd3.h"
#include "subspace/corot.h"
#include "subspace/element.h"
#include "test.h"

static double number(uint64_t *state) /* in (-1, 1) */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return 2 * ((double)(*state >> 11) * 0x1p-53) - 1;
}

/* R S of the polar decomposition where it is given, and it is given wherever F is near a rotation of less than 80
 * degrees; never for what is flat, inverted, or not finite. */
TEST(split_is_the_polar_decomposition)
{
    uint64_t state = 7;
    int given = 0, near = 0;
    for (int k = 0; k < 20000; k++) {
        spl_mat3 F, R0, S0;
        double R[9], S[6], size = 2 * fabs(number(&state));
        for (int i = 0; i < 9; i++) F.m[i] = (i % 4 == 0) + size * number(&state);
        spl_polar3(&F, &R0, &S0);
        bool turns_little = R0.m[0] + R0.m[4] + R0.m[8] > 1.4 && spl_mat3_det(&F) > 0.1;
        bool ok = spl_corot_split(F.m, R, S);
        near += turns_little;
        given += turns_little && ok;
        if (!ok) continue;
        const double flat[9] = {S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]};
        for (int i = 0; i < 9; i++) {
            CHECK_NEAR(R[i], R0.m[i], 1e-11);
            CHECK_NEAR(flat[i], S0.m[i], 1e-11);
        }
    }
    CHECK(near > 5000);
    CHECK(given > 0.97 * near);
    double R[9], S[6], zero[9] = {0}, mirror[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
    CHECK(!spl_corot_split(zero, R, S));
    CHECK(!spl_corot_split(mirror, R, S));
    mirror[4] = NAN;
    CHECK(!spl_corot_split(mirror, R, S));
}

TEST(stress_and_hessian_are_the_laws)
{
    uint64_t state = 3;
    for (int k = 0; k < 2000; k++) {
        spl_law_input in = {.mu = 2 + number(&state), .lambda = 5 + 4 * number(&state)};
        double R[9], S[6], P[9], B[36], M[16], H[81];
        spl_mat3 P0;
        for (int i = 0; i < 9; i++) in.F.m[i] = (i % 4 == 0) + 0.5 * number(&state);
        if (!spl_corot_split(in.F.m, R, S)) continue;
        double energy = spl_corot_stress(in.F.m, R, S, in.mu, in.lambda, P);
        CHECK_NEAR(energy, spl_law_corot.both(&in, &P0), 1e-11);
        for (int i = 0; i < 9; i++) CHECK_NEAR(P[i], P0.m[i], 1e-10);
        spl_corot_modes(R, S, in.mu, in.lambda, B, M);
        spl_law_corot.hessian(&in, H);
        for (int i = 0; i < 81; i++) {
            double sum = i % 10 == 0 ? 2 * in.mu : 0;
            for (int j = 0; j < 16; j++) sum += B[9 * (j / 4) + i / 9] * M[j] * B[9 * (j % 4) + i % 9];
            CHECK_NEAR(sum, H[i], 1e-9 * (1 + fabs(H[i])));
        }
    }
}

enum { VERTICES = 24, TETS = 70, RANK = 10 };

/* A domain of tets that hang together in no way, some of them crushed flat by the q at hand. */
static spl_model_domain random_domain(uint64_t *state)
{
    spl_model_domain d = {.rank = RANK, .vertex_count = VERTICES, .cubature_count = TETS};
    d.rest = malloc(3 * VERTICES * sizeof *d.rest);
    d.basis = malloc(3 * VERTICES * RANK * sizeof *d.basis);
    d.cubature = calloc(TETS, sizeof *d.cubature);
    for (int i = 0; i < 3 * VERTICES; i++) d.rest[i] = number(state);
    for (int i = 0; i < 3 * VERTICES * RANK; i++) d.basis[i] = number(state);
    for (int e = 0; e < TETS; e++) {
        spl_cubature_tet *t = &d.cubature[e];
        *t = (spl_cubature_tet){.weight = 2 + number(state), .volume = 1.5 + number(state), .mu = 2, .lambda = 3};
        for (int c = 0; c < 4; c++) t->corner[c] = (e + 5 * c) % VERTICES;
        spl_mat3 D, inverse;
        for (int c = 0; c < 3; c++)
            for (int r = 0; r < 3; r++)
                D.m[3 * c + r] = d.rest[3 * t->corner[c + 1] + r] - d.rest[3 * t->corner[0] + r];
        if (!spl_mat3_inverse(&D, &inverse)) abort();
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++) {
                t->gradient[3 * (c + 1) + k] = inverse.m[3 * k + c];
                t->gradient[k] -= inverse.m[3 * k + c];
            }
    }
    return d;
}

/* Forces and the exact Jacobian of a set, in one piece and in three, against sums over tets by the law. */
TEST(sets_sum_as_the_law_does)
{
    uint64_t state = 11;
    supple_allocator a = spl_allocator_of(NULL);
    for (int plain = 0; plain < 2; plain++) {
        spl_model_domain d = random_domain(&state);
        spl_element_set s;
        const spl_dense_kernels *kernels = spl_dense_kernels_of(plain);
        REQUIRE(spl_element_set_create(&d, &spl_law_corot, &a, &s, NULL) == SUPPLE_OK);
        double q[12] = {0}, f[12] = {0}, K[144] = {0}, parts[144] = {0}, zero[3] = {0};
        spl_mat3 one = spl_mat3_identity();
        for (int i = 0; i < RANK; i++) q[i] = 0.25 * number(&state);
        spl_element_set_pose(&s, &one, spl_v3(0, 0, 0), zero);
        double energy = spl_element_set_force(&s, kernels, q, 0, s.count, f), truth = 0;
        spl_element_set_hessian(&s, kernels, 0, s.count, true, K);
        for (int k = 0; k < 3; k++)
            spl_element_set_hessian(&s, kernels, s.count * k / 3, s.count * (k + 1) / 3, true, parts);
        int hard = 0;
        double force[RANK] = {0}, J[RANK * RANK] = {0}, size = 0;
        for (int e = 0; e < TETS; e++) {
            spl_law_input in = {.mu = s.mu[e], .lambda = s.lambda[e]};
            spl_mat3 P;
            double H[81];
            memcpy(in.F.m, s.F + 9 * e, sizeof in.F.m);
            truth += s.scale[e] * spl_law_corot.both(&in, &P);
            spl_law_corot.hessian(&in, H);
            hard += s.hard[e];
            const double *G = s.G + 9 * (size_t)s.pad * (size_t)e;
            for (int i = 0; i < RANK; i++) {
                for (int k = 0; k < 9; k++) force[i] -= s.scale[e] * G[k * s.pad + i] * P.m[k];
                for (int j = 0; j < RANK; j++)
                    for (int k = 0; k < 81; k++)
                        J[i * RANK + j] += s.scale[e] * G[k / 9 * s.pad + i] * H[k] * G[k % 9 * s.pad + j];
            }
        }
        for (int i = 0; i < RANK * RANK; i++) size = fmax(size, fabs(J[i]));
        if (hard < 3 || hard > TETS - 3) printf("    %d of %d are hard\n", hard, TETS);
        CHECK(hard >= 3 && hard <= TETS - 3); /* both ways were taken */
        CHECK_NEAR(energy, truth, 1e-11 * truth);
        for (int i = 0; i < RANK; i++) {
            CHECK_NEAR(f[i], force[i], 1e-10 * (1 + fabs(force[i])));
            for (int j = i; j < RANK; j++) {
                CHECK_NEAR(K[i * s.pad + j], J[i * RANK + j], 1e-11 * size);
                CHECK_NEAR(parts[i * s.pad + j], J[i * RANK + j], 1e-11 * size);
            }
        }
        spl_element_set_release(&s, &a);
        free(d.rest);
        free(d.basis);
        free(d.cubature);
    }
}

/* Largest |a - b| over the largest |b|. */
static double apart(const double *a, const double *b, int count)
{
    double most = 0, size = 0;
    for (int i = 0; i < count; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}

/* Eight tets at a time in float against the twin in double, in one piece and in three: at shapes of any size down to
 * where 1 + strain is 1 in float, with tets among them whose rotations Newton's method does not find. */
TEST(float_is_as_good_as_the_deformation_is_large)
{
    if (!spl_lanes_known()) SKIP("no AVX2");
    uint64_t state = 11;
    supple_allocator a = spl_allocator_of(NULL);
    const spl_dense_kernels *kernels = spl_dense_kernels_of(false);
    spl_model_domain d = random_domain(&state);
    spl_element_set twin, wide, like;
    REQUIRE(spl_element_set_create(&d, &spl_law_corot, &a, &twin, NULL) == SUPPLE_OK);
    REQUIRE(spl_element_set_create(&d, &spl_law_corot, &a, &wide, NULL) == SUPPLE_OK);
    REQUIRE(spl_element_set_widen(&wide, &a, NULL) == SUPPLE_OK && wide.lanes.count == (TETS + 7) / 8);
    REQUIRE(spl_element_set_like(&wide, &a, &like, NULL) == SUPPLE_OK);
    spl_element_set *sets[2] = {&wide, &like};
    spl_mat3 one = spl_mat3_identity();
    double zero[3] = {0}, direction[RANK];
    for (int i = 0; i < RANK; i++) direction[i] = number(&state);
    for (int power = 0; power < 9; power += 2) {
        double q[12] = {0}, f[12] = {0}, K[144] = {0}, size = 0.25 * pow(10, -power);
        for (int i = 0; i < RANK; i++) q[i] = size * direction[i];
        spl_element_set_pose(&twin, &one, spl_v3(0, 0, 0), zero);
        double energy = spl_element_set_force(&twin, kernels, q, 0, TETS, f);
        spl_element_set_hessian(&twin, kernels, 0, TETS, true, K);
        int hard = 0;
        for (int k = 0; k < 2; k++) {
            double g[12] = {0}, J[144] = {0}, parts[12] = {0}, sum = 0;
            spl_element_set_pose(sets[k], &one, spl_v3(0, 0, 0), zero);
            for (int part = 0; part < 3; part++)
                sum += spl_element_set_force(sets[k], kernels, q, 24 * part, part < 2 ? 24 * part + 24 : TETS, parts);
            CHECK_NEAR(spl_element_set_force(sets[k], kernels, q, 0, TETS, g), energy, 2e-6 * energy);
            CHECK_NEAR(sum, energy, 2e-6 * energy);
            spl_element_set_hessian(sets[k], kernels, 0, TETS, true, J);
            for (int e = 0; e < TETS; e++) hard += spl_lanes_hard(&sets[k]->lanes, (size_t)e);
            CHECK(apart(g, f, RANK) < 2e-6);
            CHECK(apart(parts, f, RANK) < 2e-6);
            for (int i = 0; i < 12; i++) /* what the upper triangle says */
                for (int j = 0; j < i; j++) J[12 * i + j] = K[12 * i + j];
            CHECK(apart(J, K, 144) < 2e-6);
            memset(J, 0, sizeof J);
            memset(K, 0, sizeof K);
            spl_element_set_hessian(sets[k], kernels, 0, TETS, false, J);
            spl_element_set_hessian(&twin, kernels, 0, TETS, false, K);
            CHECK(apart(J, K, 144) < 2e-6);
            memset(K, 0, sizeof K);
            spl_element_set_hessian(&twin, kernels, 0, TETS, true, K);
        }
        CHECK(power > 0 ? hard == 0 : hard >= 6 && hard < TETS);
    }
    spl_element_set_release(&like, &a);
    spl_element_set_release(&wide, &a);
    spl_element_set_release(&twin, &a);
    free(d.rest), free(d.basis), free(d.cubature);
}

/* Numbers that float has not are left to double. */
TEST(what_float_cannot_hold_stays_in_double)
{
    uint64_t state = 5;
    supple_allocator a = spl_allocator_of(NULL);
    spl_model_domain d = random_domain(&state);
    spl_element_set s;
    for (int k = 0; k < 3; k++) {
        const double before[3] = {d.cubature[3].volume, d.cubature[3].mu, d.basis[7]};
        if (k == 0) d.cubature[3].volume = 1e-200;
        if (k == 1) d.cubature[3].mu = 1e60;
        if (k == 2) d.basis[7] = 1e50;
        REQUIRE(spl_element_set_create(&d, &spl_law_corot, &a, &s, NULL) == SUPPLE_OK);
        CHECK(spl_element_set_widen(&s, &a, NULL) == SUPPLE_OK && s.lanes.count == 0 && s.F);
        spl_element_set_release(&s, &a);
        d.cubature[3].volume = before[0], d.cubature[3].mu = before[1], d.basis[7] = before[2];
    }
    REQUIRE(spl_element_set_create(&d, &spl_law_neohookean, &a, &s, NULL) == SUPPLE_OK);
    CHECK(spl_element_set_widen(&s, &a, NULL) == SUPPLE_OK && s.lanes.count == 0);
    spl_element_set_release(&s, &a);
    free(d.rest), free(d.basis), free(d.cubature);
}

TEST_CASES(RUN(split_is_the_polar_decomposition), RUN(stress_and_hessian_are_the_laws), RUN(sets_sum_as_the_law_does),
           RUN(float_is_as_good_as_the_deformation_is_large), RUN(what_float_cannot_hold_stays_in_double))
