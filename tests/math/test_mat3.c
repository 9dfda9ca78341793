#include "math/mat3.h"
#include "numbers.h"
#include "test.h"

TEST(inverse_times_matrix_is_identity_at_any_scale)
{
    uint64_t seed = 1;
    spl_mat3 one = spl_mat3_identity();
    const double scales[] = {1, 1e-150, 1e150};
    for (int i = 0; i < 300; i++) {
        spl_mat3 a = random_matrix(&seed), inverse;
        a = spl_mat3_scale(&a, scales[i % 3]);
        if (fabs(spl_mat3_det(&a) / pow(scales[i % 3], 3)) < 1e-2 && i % 3 == 0) continue;
        REQUIRE(spl_mat3_inverse(&a, &inverse));
        spl_mat3 product = spl_mat3_mul(&a, &inverse);
        CHECK(mat3_distance(&product, &one) < 1e-9);
    }
}

TEST(singular_and_broken_matrices_have_no_inverse)
{
    uint64_t seed = 2;
    spl_mat3 a = random_singular(&seed, 1, 0.5, 0), kept = spl_mat3_identity(), out = kept;
    CHECK(!spl_mat3_inverse(&a, &out));
    a = spl_mat3_scale(&a, 0);
    CHECK(!spl_mat3_inverse(&a, &out));
    a.m[4] = NAN;
    CHECK(!spl_mat3_inverse(&a, &out));
    CHECK(mat3_distance(&kept, &out) == 0);
}

TEST(products_agree_with_their_definition)
{
    uint64_t seed = 3;
    spl_mat3 a = random_matrix(&seed), b = random_matrix(&seed), ab = spl_mat3_mul(&a, &b);
    spl_mat3 abt = spl_mat3_mul_transposed(&a, &b), atb = spl_mat3_transposed_mul(&a, &b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double s = 0, t = 0, u = 0;
            for (int k = 0; k < 3; k++) {
                s += a.m[3 * k + i] * b.m[3 * j + k];
                t += a.m[3 * k + i] * b.m[3 * k + j];
                u += a.m[3 * i + k] * b.m[3 * j + k];
            }
            CHECK_NEAR(ab.m[3 * j + i], s, 1e-15);
            CHECK_NEAR(abt.m[3 * j + i], t, 1e-15);
            CHECK_NEAR(atb.m[3 * j + i], u, 1e-15);
        }
    CHECK_NEAR(spl_mat3_det(&ab), spl_mat3_det(&a) * spl_mat3_det(&b), 1e-14);
}

TEST(cofactor_is_det_times_inverse_transpose)
{
    uint64_t seed = 4;
    spl_mat3 a = random_matrix(&seed), inverse, c = spl_mat3_cofactor(&a);
    REQUIRE(spl_mat3_inverse(&a, &inverse));
    inverse = spl_mat3_transpose(&inverse);
    inverse = spl_mat3_scale(&inverse, spl_mat3_det(&a));
    CHECK(mat3_distance(&c, &inverse) < 1e-13);
}

TEST(affine_maps_keep_their_linear_part)
{
    uint64_t seed = 5;
    spl_mat3 a = random_matrix(&seed);
    spl_vec3 t = random_vector(&seed), p = random_vector(&seed);
    spl_mat4 m = spl_mat3_affine(&a, t);
    spl_mat3 back = spl_mat3_linear(&m);
    CHECK(mat3_distance(&a, &back) == 0);
    CHECK(spl_distance(spl_mat4_point(&m, p), spl_add(spl_mat3_apply(&a, p), t)) < 1e-15);
}

TEST_CASES(RUN(inverse_times_matrix_is_identity_at_any_scale), RUN(singular_and_broken_matrices_have_no_inverse),
           RUN(products_agree_with_their_definition), RUN(cofactor_is_det_times_inverse_transpose),
           RUN(affine_maps_keep_their_linear_part))
