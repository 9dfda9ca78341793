/* The loops of kernels.h for AVX2 and FMA: a vector is one x y z and a fourth lane that is 0 or nobody's. */
#include "methods/steklov/kernels.h"

#include "fem/corners4.h"

/* ---- tets ---- */

static void pull(const spl_tet_loop *l, size_t begin, size_t end)
{
    const spl_elements *e = l->elements;
    for (size_t k = begin; k < end; k++) {
        const double *h = l->h + SPL_FOURS * k;
        double W = e->volume[k];
        spl_v4 T[3];
        spl_corners4_gather(l->x, e->tet + 4 * k, h, T);
        spl_v4 m = _mm256_set1_pd(-2 * W * l->mu[k]);
        spl_v4 diagonal = _mm256_set1_pd(W * (2 * l->mu[k] - l->lambda[k] * (spl_corners4_trace(T) - 3)));
        T[0] = spl_fma4(m, T[0], _mm256_and_pd(diagonal, spl_lane4(0)));
        T[1] = spl_fma4(m, T[1], _mm256_and_pd(diagonal, spl_lane4(1)));
        T[2] = spl_fma4(m, T[2], _mm256_and_pd(diagonal, spl_lane4(2)));
        spl_corners4_scatter(T, h, l->corner + SPL_FOURS * k);
    }
}

static void turn(const spl_tet_loop *l, size_t begin, size_t end)
{
    spl_steklov_kernels_plain.turn(l, begin, end);
}

/* ---- rows ---- */

static void rows(const spl_row_loop *l, size_t begin, size_t end)
{
    spl_v4 strip[3 * (SPL_LONGEST + 1)]; /* the last block takes what belongs to held corners */
    for (size_t node = begin; node < end; node++) {
        size_t vertex = (size_t)l->vertex[node], length = l->start[node + 1] - l->start[node];
        if (length > SPL_LONGEST) {
            spl_steklov_kernels_plain.rows(l, node, node + 1);
            continue;
        }
        for (size_t i = 0; i < 3 * (length + 1); i++) strip[i] = _mm256_setzero_pd();
        for (size_t q = l->stars->start[vertex]; q < l->stars->start[vertex + 1]; q++) {
            size_t tet = l->stars->corner[q] / 4;
            const double *h = l->h + SPL_FOURS * tet;
            spl_v4 own = _mm256_loadu_pd(l->h + 4 * (size_t)l->stars->corner[q]) *
                         _mm256_set1_pd(l->elements->volume[tet] * l->lambda[tet]);
            for (size_t j = 0; j < 4; j++) {
                spl_v4 *B = strip + 3 * l->slot[4 * q + j];
                for (size_t c = 0; c < 3; c++) B[c] = spl_fma4(own, spl_spread4(h + 4 * j + c), B[c]);
            }
        }
        double *value = l->value + 9 * l->start[node];
        const double *base = l->base + l->start[node];
        for (size_t at = 0; at < length; at++, value += 9) {
            spl_v4 b = spl_spread4(base + at), *B = strip + 3 * at;
            _mm256_storeu_pd(value, B[0] + _mm256_and_pd(b, spl_lane4(0)));
            _mm256_storeu_pd(value + 3, B[1] + _mm256_and_pd(b, spl_lane4(1)));
            spl_store3(value + 6, B[2] + _mm256_and_pd(b, spl_lane4(2)));
        }
    }
}

/* ---- products ---- */

static void product(const spl_product_loop *l, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++) {
        spl_v4 a = _mm256_setzero_pd(), b = a, c = a;
        const double *B = l->value + 9 * l->from[row];
        for (size_t at = l->from[row]; at < l->to[row]; at++, B += 9) {
            const double *p = l->x + 3 * ((size_t)l->column[at] - l->x_first);
            a = spl_fma4(_mm256_loadu_pd(B), spl_spread4(p), a);
            b = spl_fma4(_mm256_loadu_pd(B + 3), spl_spread4(p + 1), b);
            c = spl_fma4(_mm256_loadu_pd(B + 6), spl_spread4(p + 2), c);
        }
        double *y = l->y + 3 * (row - l->y_first);
        a += b + c;
        if (l->sign) a = l->sign > 0 ? spl_load3(y) + a : spl_load3(y) - a;
        spl_store3(y, a);
    }
}

static void product_float(const spl_product_loop *l, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++) {
        __m128 a = _mm_setzero_ps(), b = a, c = a;
        const float *B = l->value_float + 9 * l->from[row];
        for (size_t at = l->from[row]; at < l->to[row]; at++, B += 9) {
            const float *p = l->x_float + 4 * ((size_t)l->column[at] - l->x_first);
            a = _mm_fmadd_ps(_mm_loadu_ps(B), _mm_broadcast_ss(p), a);
            b = _mm_fmadd_ps(_mm_loadu_ps(B + 3), _mm_broadcast_ss(p + 1), b);
            c = _mm_fmadd_ps(_mm_loadu_ps(B + 6), _mm_broadcast_ss(p + 2), c);
        }
        double *y = l->y + 3 * (row - l->y_first);
        spl_v4 s = _mm256_cvtps_pd(a + (b + c));
        if (l->sign) s = l->sign > 0 ? spl_load3(y) + s : spl_load3(y) - s;
        spl_store3(y, s);
    }
}

const spl_steklov_kernels spl_steklov_kernels_avx2 = {turn, pull, rows, product, product_float};
