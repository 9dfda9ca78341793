/* Newton's method for max tr(R^T F) over rotations R = R(q) exp([w]): with A = R^T F,
 *
 *     tr(exp([w])^T A) = tr A + g.w - w^T H w / 2 + O(w^3),   g = axial vector of A - A^T,   H = tr(A) I - sym(A)
 *
 * so w = H^-1 g and q <- q (w / 2, 1) / |.|, a second-order retraction: quadratic convergence. H is the Hessian of
 * Kugelstadt et al., "Fast corotated FEM using operator splitting", 2018, section 4. Where H is not safely positive,
 * far from the maximum or for a nearly singular F, it is shifted by 2 |F|, which bounds its eigenvalues below by 0.58
 * |F|: a damped step uphill. */
#include "math/rotation3.h"

#include "math/cpu.h"

#include <stdint.h>
#include <string.h>

/* A power of two near 1 / largest, and in range for every finite float: scaling by it is exact. */
static float inverse_scale(float largest)
{
    uint32_t bits;
    memcpy(&bits, &largest, sizeof bits);
    uint32_t exponent = bits >> 23;
    exponent = exponent < 1 ? 1 : exponent > 253 ? 253 : exponent;
    bits = (254 - exponent) << 23;
    memcpy(&largest, &bits, sizeof bits);
    return largest;
}

/* A = R(q)^T F, column by column: A[3 j + i] = R_i . F_j */
static void turn_back(const float q[4], const float F[9], float A[9])
{
    float x = q[0], y = q[1], z = q[2], w = q[3];
    const float R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + z * w),     2 * (x * z - y * w),
                        2 * (x * y - z * w),     1 - 2 * (x * x + z * z), 2 * (y * z + x * w),
                        2 * (x * z + y * w),     2 * (y * z - x * w),     1 - 2 * (x * x + y * y)};
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            A[3 * j + i] = R[3 * i] * F[3 * j] + R[3 * i + 1] * F[3 * j + 1] + R[3 * i + 2] * F[3 * j + 2];
}

bool spl_rotation3_step(const float F[9], float norm, float most, float q[4])
{
    float A[9];
    turn_back(q, F, A);
    float g0 = A[5] - A[7], g1 = A[6] - A[2], g2 = A[1] - A[3];
    float h00 = A[4] + A[8], h11 = A[0] + A[8], h22 = A[0] + A[4];
    float h01 = -0.5F * (A[1] + A[3]), h02 = -0.5F * (A[2] + A[6]), h12 = -0.5F * (A[5] + A[7]);
    float m2 = h00 * h11 - h01 * h01;
    float det = h22 * m2 - h00 * h12 * h12 - h11 * h02 * h02 + 2 * h01 * h02 * h12;
    bool positive = h00 > 1e-3F * norm && m2 > 1e-3F * norm * norm && det > 1e-3F * norm * norm * norm;
    float shift = positive ? 0 : 2 * norm;
    h00 += shift;
    h11 += shift;
    h22 += shift;
    /* w = adj(H) g / det H */
    float c00 = h11 * h22 - h12 * h12, c01 = h02 * h12 - h01 * h22, c02 = h01 * h12 - h02 * h11;
    float c11 = h00 * h22 - h02 * h02, c12 = h01 * h02 - h00 * h12, c22 = h00 * h11 - h01 * h01;
    det = h00 * c00 + h01 * c01 + h02 * c02;
    float half = 0.5F / (det > 1e-30F ? det : 1e-30F);
    float x = half * (c00 * g0 + c01 * g1 + c02 * g2);
    float y = half * (c01 * g0 + c11 * g1 + c12 * g2);
    float z = half * (c02 * g0 + c12 * g1 + c22 * g2);
    /* q (w / 2, 1), normalised by its own length so that rounding does not add up over frames */
    float a = q[0] + q[3] * x + q[1] * z - q[2] * y, b = q[1] + q[3] * y + q[2] * x - q[0] * z;
    float c = q[2] + q[3] * z + q[0] * y - q[1] * x, d = q[3] - q[0] * x - q[1] * y - q[2] * z;
    float s = 1 / sqrtf(a * a + b * b + c * c + d * d);
    q[0] = s * a;
    q[1] = s * b;
    q[2] = s * c;
    q[3] = s * d;
    return positive && 4 * (x * x + y * y + z * z) < most;
}

bool spl_rotation3(const float F[9], int iterations, float q[4])
{
    float scaled[9], largest = 0, sum = 0, norm = 0;
    for (int i = 0; i < 9; i++) {
        largest = fmaxf(largest, fabsf(F[i]));
        sum += F[i] * 0; /* 0, or NaN where an entry is not finite */
    }
    float q2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (sum != 0 || !(q2 > 0.25F && q2 < 4)) { /* also a start that is no quaternion */
        q[0] = q[1] = q[2] = 0;
        q[3] = 1;
        if (sum != 0) return false;
        q2 = 1;
    }
    float s = inverse_scale(largest), unit = 1 / sqrtf(q2);
    for (int i = 0; i < 9; i++) {
        scaled[i] = F[i] * s;
        norm += scaled[i] * scaled[i];
    }
    for (int i = 0; i < 4; i++) q[i] *= unit;
    norm = sqrtf(norm);
    for (int i = 0; i < iterations; i++) spl_rotation3_step(scaled, norm, 0, q);
    return true;
}

bool spl_rotation3_blocks(const spl_mat3x8 *F, size_t blocks, int iterations, spl_quatx8 *q)
{
#ifdef SPL_HAVE_AVX2
    if (spl_cpu_has_avx2()) return spl_rotation3_blocks_avx2(F, blocks, iterations, q);
#endif
    bool finite = true;
    for (size_t b = 0; b < blocks; b++)
        for (int lane = 0; lane < 8; lane++) {
            float f[9], r[4];
            for (int i = 0; i < 9; i++) f[i] = F[b].m[i][lane];
            for (int i = 0; i < 4; i++) r[i] = q[b].q[i][lane];
            finite &= spl_rotation3(f, iterations, r);
            for (int i = 0; i < 4; i++) q[b].q[i][lane] = r[i];
        }
    return finite;
}
