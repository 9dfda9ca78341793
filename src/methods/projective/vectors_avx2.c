/* vectors.c's strips for AVX2 and FMA. */
#include "math/simd8.h"
#include "methods/projective/vectors.h"

float spl_strip_dot_avx2(const float *a, const float *b, size_t n)
{
    spl_v8 sum[4] = {spl_set8(0), spl_set8(0), spl_set8(0), spl_set8(0)};
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (size_t k = 0; k < 4; k++) sum[k] = spl_fma(spl_load8(a + i + 8 * k), spl_load8(b + i + 8 * k), sum[k]);
    for (; i + 8 <= n; i += 8) sum[0] = spl_fma(spl_load8(a + i), spl_load8(b + i), sum[0]);
    float lane[8], rest = 0;
    spl_store8(lane, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; i < n; i++) rest += a[i] * b[i];
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7])) + rest;
}

void spl_strip_add_avx2(const float *x, float s, size_t n, float *y)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) spl_store8(y + i, spl_fma(spl_set8(s), spl_load8(x + i), spl_load8(y + i)));
    for (; i < n; i++) y[i] += s * x[i];
}
