#include "fem/elements.h"

#include "failing.h"
#include "fem/box.h"
#include "fem/law.h"
#include "math/svd3.h"
#include "sparse/assembly.h"
#include "test.h"

TEST(affine_maps_have_their_gradient)
{
    uint64_t seed = 1;
    box b;
    REQUIRE(box_make(3, 4, 5, &b));
    for (int i = 0; i < 10; i++) {
        spl_mat3 A = random_matrix(&seed);
        box_map(&b, &A, random_vector(&seed));
        for (int32_t k = 0; k < b.e.count; k++) {
            spl_mat3 F = spl_element_F(&b.e, k, b.x);
            CHECK(mat3_distance(&F, &A) < 1e-13);
        }
    }
    box_free(&b);
}

/* g_i is 1 at corner i and 0 at the others, up to a constant; the gradients sum to 0; volumes add up. */
TEST(gradients_and_volumes)
{
    box b;
    REQUIRE(box_make(3, 3, 3, &b));
    double total = 0, det = 0;
    for (int32_t k = 0; k < b.e.count; k++) {
        const int32_t *t = b.mesh.tets + 4 * k;
        const double *g = b.e.gradient + 12 * k;
        for (int c = 0; c < 3; c++) CHECK_NEAR(g[c] + g[3 + c] + g[6 + c] + g[9 + c], 0, 1e-14);
        for (int i = 0; i < 4; i++)
            for (int j = 1; j < 4; j++) {
                double rise = 0;
                for (int c = 0; c < 3; c++)
                    rise += g[3 * i + c] * (b.mesh.points[3 * t[j] + c] - b.mesh.points[3 * t[0] + c]);
                CHECK_NEAR(rise, (i == j) - (i == 0), 1e-14);
            }
        total += b.e.volume[k];
        det += box_det(b.mesh.points, t) / 6;
    }
    CHECK_NEAR(total, det, 1e-12);
    box_free(&b);
}

/* Forces balance, and so do their moments where the law does not feel rotations. */
TEST(forces_and_moments_sum_to_zero)
{
    uint64_t seed = 2;
    box b;
    REQUIRE(box_make(2, 2, 2, &b));
    spl_mat3 one = spl_mat3_identity();
    box_map(&b, &one, spl_v3(0.3, 0.2, 0.1));
    box_shake(&b, 0.3, &seed);
    for (int32_t l = 0; l < spl_law_count(); l++)
        for (int32_t k = 0; k < b.e.count; k++) {
            spl_law_input in = {.F = spl_element_F(&b.e, k, b.x), .mu = 1, .lambda = 3};
            spl_mat3 P, S;
            spl_polar3(&in.F, &in.R, &S);
            spl_law_at(l)->stress(&in, &P);
            double f[12], size = spl_mat3_norm(&P);
            spl_element_forces(&b.e, k, &P, f);
            spl_vec3 sum = {0, 0, 0}, moment = {0, 0, 0};
            for (int i = 0; i < 4; i++) {
                const double *p = b.x + 3 * b.mesh.tets[4 * k + i];
                spl_vec3 fi = spl_v3(f[3 * i], f[3 * i + 1], f[3 * i + 2]);
                sum = spl_add(sum, fi);
                moment = spl_add(moment, spl_cross(spl_v3(p[0], p[1], p[2]), fi));
            }
            CHECK_NEAR(spl_norm(sum), 0, 1e-14 * (1 + size));
            CHECK_NEAR(spl_norm(moment), 0, 1e-13 * (1 + size));
        }
    box_free(&b);
}

TEST(masses_add_up)
{
    box b;
    REQUIRE(box_make(3, 2, 4, &b));
    double *density = malloc((size_t)b.e.count * sizeof *density), expected = 0, lumped = 0, consistent = 0;
    double *mass = malloc((size_t)b.e.vertex_count * sizeof *mass);
    for (int32_t k = 0; k < b.e.count; k++) {
        density[k] = 900 + k;
        expected += density[k] * b.e.volume[k];
        double m[10];
        spl_element_mass(&b.e, k, density[k], m);
        for (int i = 0, pair = 0; i < 4; i++)
            for (int j = 0; j <= i; j++, pair++) {
                consistent += i == j ? m[pair] : 2 * m[pair];
                CHECK_NEAR(m[pair], density[k] * b.e.volume[k] * (i == j ? 0.1 : 0.05), 1e-12);
            }
    }
    spl_elements_lumped_mass(&b.e, density, mass);
    for (int32_t v = 0; v < b.e.vertex_count; v++) lumped += mass[v];
    CHECK_NEAR(lumped, expected, 1e-10 * expected);
    CHECK_NEAR(consistent, expected, 1e-10 * expected);
    free(density);
    free(mass);
    box_free(&b);
}

/* ---- stiffness -------------------------------------------------------------------------------------------------- */

/* The entry of the 12 x 12 matrix from its lower triangle of blocks. */
static double entry(const double K[90], int i, int r, int j, int s)
{
    return i >= j ? K[9 * (i * (i + 1) / 2 + j) + 3 * s + r] : K[9 * (j * (j + 1) / 2 + i) + 3 * r + s];
}

/* The definition, term by term. */
TEST(stiffness_is_its_definition)
{
    uint64_t seed = 3;
    box b;
    REQUIRE(box_make(2, 2, 2, &b));
    for (int32_t k = 0; k < b.e.count; k++) {
        double H[81], K[90];
        for (int j = 0; j < 9; j++)
            for (int i = 0; i <= j; i++) H[9 * j + i] = H[9 * i + j] = random_real(&seed);
        spl_element_stiffness(&b.e, k, H, K);
        const double *g = b.e.gradient + 12 * k;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int rs = 0; rs < 9; rs++) {
                    double sum = 0;
                    for (int ab = 0; ab < 9; ab++)
                        sum += H[9 * (3 * (ab / 3) + rs / 3) + 3 * (ab % 3) + rs % 3] * g[3 * i + ab % 3] *
                               g[3 * j + ab / 3];
                    CHECK_NEAR(entry(K, i, rs % 3, j, rs / 3), b.e.volume[k] * sum, 1e-12);
                }
    }
    box_free(&b);
}

/* K = -df/dx, for every law at a deformed state. */
TEST(stiffness_is_the_derivative_of_the_forces)
{
    uint64_t seed = 4;
    const double h = 1e-6;
    box b;
    REQUIRE(box_make(2, 1, 1, &b));
    for (int32_t l = 0; l < spl_law_count(); l++) {
        spl_mat3 A = random_singular(&seed, 1.3, 1.1, 0.8), P;
        box_map(&b, &A, spl_v3(0, 0, 0));
        spl_law_input in = {.F = A, .R = spl_quat_to_mat3(random_rotation(&seed)), .mu = 1, .lambda = 3};
        double H[81], K[90], f[2][12];
        spl_law_at(l)->hessian(&in, H);
        spl_element_stiffness(&b.e, 0, H, K);
        for (int js = 0; js < 12; js++) {
            double *x = b.x + 3 * b.mesh.tets[js / 3] + js % 3, before = *x;
            for (int side = 0; side < 2; side++) {
                *x = before + (side ? h : -h);
                in.F = spl_element_F(&b.e, 0, b.x);
                spl_law_at(l)->stress(&in, &P);
                spl_element_forces(&b.e, 0, &P, f[side]);
            }
            *x = before;
            for (int ir = 0; ir < 12; ir++)
                CHECK_NEAR(entry(K, ir / 3, ir % 3, js / 3, js % 3), -(f[1][ir] - f[0][ir]) / (2 * h), 1e-7);
        }
    }
    box_free(&b);
}

/* At rest every law but arap is linear elasticity: the matrices of tests/sparse, written down from the gradients. */
TEST(rest_stiffness_is_linear_elasticity)
{
    box b;
    REQUIRE(box_make(2, 2, 2, &b));
    double *expected = lattice_elements(&b.mesh, 3, 0);
    for (int32_t l = 0; l < spl_law_count(); l++) {
        const spl_law *law = spl_law_at(l);
        if (law == &spl_law_arap || law == &spl_law_exrotated) continue; /* the latter's R does not follow F */
        spl_law_input in = {.F = spl_mat3_identity(), .R = spl_mat3_identity(), .mu = 1, .lambda = 1};
        double H[81], projected[81], K[90];
        law->hessian(&in, H);
        law->projected(&in, projected);
        for (int i = 0; i < 81; i++) CHECK_NEAR(H[i], projected[i], 1e-14);
        for (int32_t k = 0; k < b.e.count; k++) {
            spl_element_stiffness(&b.e, k, H, K);
            for (int i = 0; i < 90; i++) CHECK_NEAR(K[i], expected[90 * k + i], 1e-13);
        }
    }
    free(expected);
    box_free(&b);
}

/* ---- bad input -------------------------------------------------------------------------------------------------- */

static bool refused(const double *points, const int32_t *tets, const char *part)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_elements e;
    supple_error error = {0};
    supple_result result = spl_elements_create(points, 5, tets, 2, &a, &e, &error);
    bool right = result == SUPPLE_ERROR_INPUT && strstr(error.message, "tet 2") && strstr(error.message, part);
    if (!right) printf("    %d: %s\n", (int)result, error.message);
    CHECK(!e.gradient && !e.volume);
    spl_elements_release(&e);
    return right;
}

TEST(bad_tets_are_refused_by_number)
{
    double points[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, bad[15];
    const int32_t good[8] = {0, 1, 2, 3, 1, 2, 3, 4}, inverted[8] = {0, 1, 2, 3, 1, 3, 2, 4};
    const int32_t twice[8] = {0, 1, 2, 3, 1, 2, 2, 4}, outside[8] = {0, 1, 2, 3, 1, 2, 3, 5};
    const int32_t negative[8] = {0, 1, 2, 3, 1, 2, 3, -1};
    supple_allocator a = spl_allocator_of(NULL);
    spl_elements e;
    REQUIRE(spl_elements_create(points, 5, good, 2, &a, &e, NULL) == SUPPLE_OK);
    spl_elements_release(&e);
    spl_elements_release(&e); /* twice is harmless */
    CHECK(refused(points, inverted, "inverted"));
    CHECK(refused(points, twice, "flat"));
    CHECK(refused(points, outside, "vertex 6"));
    CHECK(refused(points, negative, "vertex 0"));
    static const double values[] = {NAN, INFINITY, 1e160};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        memcpy(bad, points, sizeof bad);
        bad[13] = values[i];
        CHECK(refused(bad, good, "not finite"));
    }
    memcpy(bad, points, sizeof bad);
    for (int c = 0; c < 3; c++) bad[12 + c] = 1.0 / 3 + (c == 0 ? 1e-15 : 0); /* in the plane of 1, 2, 3 */
    CHECK(refused(bad, good, "flat"));
}

/* Small and large bodies are not flat ones. */
TEST(scale_does_not_matter)
{
    const int32_t tet[4] = {0, 1, 2, 3};
    supple_allocator a = spl_allocator_of(NULL);
    for (int p = -60; p <= 60; p += 10) {
        double s = pow(10, p), points[12] = {0, 0, 0, s, 0, 0, 0, s, 0, 0, 0, s};
        spl_elements e;
        REQUIRE(spl_elements_create(points, 4, tet, 1, &a, &e, NULL) == SUPPLE_OK);
        CHECK_NEAR(e.volume[0] / (s * s * s), 1.0 / 6, 1e-15);
        CHECK_NEAR(e.gradient[3] * s, 1, 1e-14);
        spl_elements_release(&e);
    }
}

TEST(failing_allocations_leave_nothing)
{
    lattice m = box_mesh(2, 2, 2);
    for (long n = 0;; n++) {
        failing state = {.fail_at = n};
        supple_allocator a = failing_allocator(&state);
        spl_elements e;
        supple_error error = {0};
        supple_result result = spl_elements_create(m.points, m.vertex_count, m.tets, m.tet_count, &a, &e, &error);
        if (result == SUPPLE_OK) {
            spl_elements_release(&e);
            CHECK(n == 2 && state.live == 0);
            break;
        }
        CHECK(result == SUPPLE_ERROR_MEMORY && state.live == 0 && !e.gradient);
    }
    lattice_free(&m);
}

TEST_CASES(RUN(affine_maps_have_their_gradient), RUN(gradients_and_volumes), RUN(forces_and_moments_sum_to_zero),
           RUN(masses_add_up), RUN(stiffness_is_its_definition), RUN(stiffness_is_the_derivative_of_the_forces),
           RUN(rest_stiffness_is_linear_elasticity), RUN(bad_tets_are_refused_by_number), RUN(scale_does_not_matter),
           RUN(failing_allocations_leave_nothing))
