/* panel.c for AVX2 and FMA: an 8 x 4 product in eight accumulators, eliminations of eight columns in registers. */
#include "math/simd8.h"
#include "sparse/panel.h"

SPL_INLINE void product_inline(const double *tile, const double *packed, int32_t k, double C[32])
{
    __m256d c[8];
    for (int i = 0; i < 8; i++) c[i] = _mm256_setzero_pd();
    for (int32_t p = 0; p < k; p++, tile += SPL_TILE, packed += 4) {
        __m256d a0 = _mm256_loadu_pd(tile), a1 = _mm256_loadu_pd(tile + 4);
        for (int j = 0; j < 4; j++) {
            __m256d b = _mm256_broadcast_sd(packed + j);
            c[2 * j] = _mm256_fmadd_pd(a0, b, c[2 * j]);
            c[2 * j + 1] = _mm256_fmadd_pd(a1, b, c[2 * j + 1]);
        }
    }
    for (int i = 0; i < 8; i++) _mm256_storeu_pd(C + 4 * i, c[i]);
}

SPL_INLINE void subtract8(double *to, const double *from)
{
    for (int h = 0; h < 8; h += 4)
        _mm256_storeu_pd(to + h, _mm256_sub_pd(_mm256_loadu_pd(to + h), _mm256_loadu_pd(from + h)));
}

/* Four rows at a time, so that the eight columns stay in registers. */
SPL_INLINE void eliminate8(double *columns, const double *corner, const double *inverse)
{
    for (int h = 0; h < 8; h += 4) {
        __m256d v[8];
        for (int j = 0; j < 8; j++) v[j] = _mm256_loadu_pd(columns + SPL_TILE * j + h);
#define STEP(j)                                                                                                        \
    v[j] = _mm256_mul_pd(v[j], _mm256_broadcast_sd(inverse + (j)));                                                    \
    for (int c = (j) + 1; c < 8; c++) v[c] = _mm256_fnmadd_pd(v[j], _mm256_broadcast_sd(corner + 8 * (j) + c), v[c])
        STEP(0);
        STEP(1);
        STEP(2);
        STEP(3);
        STEP(4);
        STEP(5);
        STEP(6);
        STEP(7);
#undef STEP
        for (int j = 0; j < 8; j++) _mm256_storeu_pd(columns + SPL_TILE * j + h, v[j]);
    }
}

#define PRODUCT(tile, packed, k, C)            product_inline(tile, packed, k, C)
#define SUBTRACT8(to, from)                    subtract8(to, from)
#define ELIMINATE8(columns, corner, inverse_d) eliminate8(columns, corner, inverse_d)
#include "sparse/panel_loops.h"

static void product(const double *tile, const double *packed, int32_t k, double C[32])
{
    product_inline(tile, packed, k, C);
}

const spl_panel_kernels spl_panel_kernels_avx2 = {
    .update = update,
    .rows = rows,
    .product = product,
    .forward = spl_forward_avx2,
    .backward = spl_backward_avx2,
    .forward_float = spl_forward_float_avx2,
    .backward_float = spl_backward_float_avx2,
};
