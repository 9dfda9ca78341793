/* dense.c for AVX2 and FMA: products in tiles of 4 x 8, held in eight accumulators. */
#include "math/simd4.h"
#include "subspace/dense.h"

SPL_INLINE spl_v4 load(const double *p)
{
    return _mm256_loadu_pd(p);
}
SPL_INLINE void store(double *p, spl_v4 a)
{
    _mm256_storeu_pd(p, a);
}

/* One tile: 4 rows, 4 or 8 columns (`wide` is a constant where it is inlined). */
SPL_INLINE void tile(const spl_product *p, size_t i, size_t j, bool wide)
{
    spl_v4 c[8], sign = spl_set4(p->sign);
    const double *a = p->A + i, *b = p->B + j;
    for (int t = 0; t < 8; t++) c[t] = spl_set4(0);
    for (int32_t k = 0; k < p->k; k++, a += p->lda, b += p->ldb) {
        spl_v4 b0 = load(b), b1 = wide ? load(b + 4) : b0;
        for (int t = 0; t < 4; t++) {
            spl_v4 at = spl_spread4(a + t);
            c[2 * t] = spl_fma4(at, b0, c[2 * t]);
            if (wide) c[2 * t + 1] = spl_fma4(at, b1, c[2 * t + 1]);
        }
    }
    for (size_t t = 0; t < 4; t++) {
        double *to = p->C + (i + t) * p->ldc + j;
        store(to, spl_fma4(sign, c[2 * t], load(to)));
        if (wide) store(to + 4, spl_fma4(sign, c[2 * t + 1], load(to + 4)));
    }
}

static void product(const spl_product *p)
{
    size_t m = (size_t)p->m, n = (size_t)p->n;
    for (size_t i = 0; i < m; i += 4) {
        size_t j = p->upper ? i : 0;
        for (; j + 8 <= n; j += 8) tile(p, i, j, true);
        if (j < n) tile(p, i, j, false);
    }
}

static void contract(const double *table, int32_t terms, size_t length, int32_t sets, const double *coefficient,
                     double *const *out)
{
    for (size_t i = 0; i < length; i += 4) {
        spl_v4 x[9];
        for (int32_t t = 0; t < terms; t++) x[t] = load(table + (size_t)t * length + i);
        for (int32_t s = 0; s < sets; s++) {
            const double *c = coefficient + s * terms;
            spl_v4 y = spl_spread4(c) * x[0];
            for (int32_t t = 1; t < terms; t++) y = spl_fma4(spl_spread4(c + t), x[t], y);
            store(out[s] + i, y);
        }
    }
}

SPL_INLINE double sum4(spl_v4 a)
{
    __m128d h = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}

/* Four sums at once: lane t of the result is the sum of the lanes of a[t]. */
SPL_INLINE spl_v4 sums4(const spl_v4 a[4])
{
    spl_v4 lo = _mm256_hadd_pd(a[0], a[1]), hi = _mm256_hadd_pd(a[2], a[3]);
    return _mm256_add_pd(_mm256_permute2f128_pd(lo, hi, 0x20), _mm256_permute2f128_pd(lo, hi, 0x31));
}

static void multiply(const double *M, int32_t rows, int32_t columns, size_t ld, const double *x, double *y)
{
    size_t n = (size_t)columns;
    int32_t i = 0;
    for (; i + 4 <= rows; i += 4, M += 4 * ld) {
        spl_v4 a[4] = {spl_set4(0), spl_set4(0), spl_set4(0), spl_set4(0)};
        for (size_t j = 0; j < n; j += 4) {
            spl_v4 v = load(x + j);
            for (size_t t = 0; t < 4; t++) a[t] = spl_fma4(load(M + t * ld + j), v, a[t]);
        }
        store(y + i, load(y + i) + sums4(a));
    }
    for (; i < rows; i++, M += ld) {
        spl_v4 a = spl_set4(0);
        for (size_t j = 0; j < n; j += 4) a = spl_fma4(load(M + j), load(x + j), a);
        y[i] += sum4(a);
    }
}

static void multiply_transposed(const double *M, int32_t rows, int32_t columns, size_t ld, const double *x, double *y)
{
    size_t n = (size_t)columns;
    int32_t i = 0;
    for (; i + 4 <= rows; i += 4, M += 4 * ld) {
        spl_v4 a[4];
        for (int t = 0; t < 4; t++) a[t] = spl_spread4(x + i + t);
        for (size_t j = 0; j < n; j += 4) {
            spl_v4 v = load(y + j);
            for (size_t t = 0; t < 4; t++) v = spl_fma4(a[t], load(M + t * ld + j), v);
            store(y + j, v);
        }
    }
    for (; i < rows; i++, M += ld) {
        spl_v4 a = spl_spread4(x + i);
        for (size_t j = 0; j < n; j += 4) store(y + j, spl_fma4(a, load(M + j), load(y + j)));
    }
}

/* Nine rows of G, four columns wide, are read once for the nine rows of T. */
static void scale9(const double H[81], double by, const double *G, int32_t n, double *T)
{
    size_t w = (size_t)n;
    spl_v4 scale = spl_set4(by);
    for (size_t j = 0; j < w; j += 4) {
        spl_v4 g[9];
        for (size_t d = 0; d < 9; d++) g[d] = load(G + d * w + j) * scale;
        for (size_t c = 0; c < 9; c++) {
            spl_v4 t = spl_spread4(H + 9 * c) * g[0], u = spl_spread4(H + 9 * c + 1) * g[1];
            for (size_t d = 2; d < 8; d += 2) {
                t = spl_fma4(spl_spread4(H + 9 * c + d), g[d], t);
                u = spl_fma4(spl_spread4(H + 9 * c + d + 1), g[d + 1], u);
            }
            t = spl_fma4(spl_spread4(H + 9 * c + 8), g[8], t);
            store(T + c * w + j, t + u);
        }
    }
}

static void rows3(const double *M, size_t columns, const double *x, double y[3])
{
    const double *N = M + columns, *O = N + columns;
    spl_v4 a[4] = {spl_set4(0), spl_set4(0), spl_set4(0), spl_set4(0)};
    size_t j = 0;
    for (; j + 4 <= columns; j += 4) {
        spl_v4 v = load(x + j);
        a[0] = spl_fma4(load(M + j), v, a[0]);
        a[1] = spl_fma4(load(N + j), v, a[1]);
        a[2] = spl_fma4(load(O + j), v, a[2]);
    }
    spl_store3(y, sums4(a));
    for (; j < columns; j++) y[0] += M[j] * x[j], y[1] += N[j] * x[j], y[2] += O[j] * x[j];
}

const spl_dense_kernels spl_dense_kernels_avx2 = {
    .product = product,
    .contract = contract,
    .multiply = multiply,
    .multiply_transposed = multiply_transposed,
    .rows3 = rows3,
    .scale9 = scale9,
};
