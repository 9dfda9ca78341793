/* Reproducible random numbers and matrices for the tests of math and methods. */
#ifndef SPL_TESTS_NUMBERS_H
#define SPL_TESTS_NUMBERS_H

#include "math/quat.h"

#include <stdint.h>

static inline double random_real(uint64_t *state) /* -1 .. 1 */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) / 4503599627370496.0 - 1;
}
static inline spl_vec3 random_vector(uint64_t *state)
{
    double x = random_real(state), y = random_real(state);
    return spl_v3(x, y, random_real(state));
}
static inline spl_quat random_rotation(uint64_t *state)
{
    for (;;) {
        spl_vec3 v = random_vector(state);
        spl_quat q = {v.x, v.y, v.z, random_real(state)};
        double n = spl_quat_dot(q, q);
        if (n > 0.01 && n < 1) return spl_quat_normalise(q);
    }
}
static inline spl_mat3 random_matrix(uint64_t *state)
{
    spl_vec3 a = random_vector(state), b = random_vector(state);
    return spl_mat3_columns(a, b, random_vector(state));
}
/* U diag(a, b, c) V^T with random rotations. */
static inline spl_mat3 random_singular(uint64_t *state, double a, double b, double c)
{
    spl_mat3 U = spl_quat_to_mat3(random_rotation(state)), V = spl_quat_to_mat3(random_rotation(state));
    spl_mat3 D = spl_mat3_diagonal(a, b, c), UD = spl_mat3_mul(&U, &D);
    return spl_mat3_mul_transposed(&UD, &V);
}
/* Largest difference of entries. */
static inline double mat3_distance(const spl_mat3 *a, const spl_mat3 *b)
{
    double most = 0;
    for (int i = 0; i < 9; i++) {
        double d = fabs(a->m[i] - b->m[i]);
        if (!(d <= most)) most = d; /* NaN counts */
    }
    return most;
}
/* How far a matrix is from a proper rotation. */
static inline double rotation_error(const spl_mat3 *r)
{
    spl_mat3 rtr = spl_mat3_transposed_mul(r, r), one = spl_mat3_identity();
    double e = mat3_distance(&rtr, &one), d = fabs(spl_mat3_det(r) - 1);
    return e > d || isnan(e) ? e : d;
}

#endif
