/* The loops of stiffness.h for AVX2 and FMA: a vector is one x y z and a fourth lane that is 0 or carries something
 * else. */
#include "methods/mixed/stiffness.h"

#include "fem/corners4.h"

/* ---- tets ---- */

SPL_INLINE void turn_gradients(const double *R, const double *g, double *h)
{
    spl_v4 a = spl_load3(R), b = spl_load3(R + 3), c = spl_load3(R + 6);
    for (int i = 0; i < 4; i++) {
        spl_v4 v = _mm256_mul_pd(a, spl_spread4(g + 3 * i));
        v = spl_fma4(b, spl_spread4(g + 3 * i + 1), v);
        _mm256_storeu_pd(h + 4 * i, spl_fma4(c, spl_spread4(g + 3 * i + 2), v));
    }
}

/* -W P R^T by columns from T's; their fourth lanes are rubbish. */
SPL_INLINE void turned_stress(double mu, double spin, double lambda, spl_v4 T[3])
{
    spl_v4 low = _mm256_unpacklo_pd(T[0], T[1]), high = _mm256_unpackhi_pd(T[0], T[1]);
    spl_v4 t0 = _mm256_permute2f128_pd(low, T[2], 0x20); /* T transposed */
    spl_v4 t1 = _mm256_permute2f128_pd(high, _mm256_permute_pd(T[2], 5), 0x20);
    spl_v4 t2 = _mm256_permute2f128_pd(low, T[2], 0x31);
    spl_v4 diagonal = spl_set4(2 * mu - lambda * (spl_corners4_trace(T) - 3)), m = spl_set4(-mu);
    spl_v4 s = spl_set4(-spin);
    T[0] = spl_fma4(s, T[0] - t0, spl_fma4(m, T[0] + t0, _mm256_and_pd(diagonal, spl_lane4(0))));
    T[1] = spl_fma4(s, T[1] - t1, spl_fma4(m, T[1] + t1, _mm256_and_pd(diagonal, spl_lane4(1))));
    T[2] = spl_fma4(s, T[2] - t2, spl_fma4(m, T[2] + t2, _mm256_and_pd(diagonal, spl_lane4(2))));
}

static void pull(const spl_pull *p, size_t begin, size_t end)
{
    const spl_elements *e = p->elements;
    for (size_t k = begin; k < end; k++) {
        double *h = p->h + SPL_PAD * k, W = e->volume[k];
        spl_v4 T[3];
        turn_gradients(p->rotation + 9 * k, e->gradient + 12 * k, h);
        spl_corners4_gather(p->x, e->tet + 4 * k, h, T);
        turned_stress(W * p->mu[k], p->spin ? W * p->spin[k] : 0, W * p->lambda[k], T);
        spl_corners4_scatter(T, h, p->corner + SPL_PAD * k);
    }
}

/* ---- vertices ---- */

static void sum(const spl_sum *s, size_t begin, size_t end)
{
    for (size_t v = begin; v < end; v++) {
        spl_v4 f = _mm256_setzero_pd();
        for (size_t q = s->stars->start[v]; q < s->stars->start[v + 1]; q++)
            f += _mm256_loadu_pd(s->corner + 4 * (size_t)s->stars->corner[q]);
        spl_store3(s->force + 3 * v, f);
        s->magnitude[v] = _mm256_cvtsd_f64(_mm256_permute4x64_pd(f, 3));
    }
}

/* ---- rows ---- */

/* Adds the four blocks of one corner of a tet to the strip: three vectors a block, its columns. The fourth lane of
 * column c sums (mu + spin) h_i[c] h_j[c], a third of what belongs on the diagonal. */
SPL_INLINE void add_corner(const double *own, const double *h, double mu, double spin, double lambda,
                           const uint32_t *slot, spl_v4 *strip)
{
    spl_v4 hi = _mm256_loadu_pd(own), li = hi * spl_set4(lambda), m[3], l[3];
    for (int c = 0; c < 3; c++) {
        m[c] = spl_set4((mu - spin) * own[c]);
        l[c] = _mm256_blend_pd(li, spl_set4((mu + spin) * own[c]), 8);
    }
    for (int j = 0; j < 4; j++) {
        spl_v4 hj = _mm256_loadu_pd(h + 4 * j), *B = strip + 3 * slot[j];
        for (int c = 0; c < 3; c++) B[c] = spl_fma4(l[c], spl_spread4(h + 4 * j + c), spl_fma4(hj, m[c], B[c]));
    }
}

/* From the strip to a row's values. */
SPL_INLINE void write_row(const spl_v4 *strip, const int32_t *column, size_t length, int32_t node, double spring,
                          double *value)
{
    for (size_t at = 0; at < length; at++, strip += 3, value += 9) {
        spl_v4 trace = _mm256_permute4x64_pd(strip[0] + strip[1] + strip[2], 0xff);
        if (column[at] == node) trace += spl_set4(spring);
        spl_v4 a = strip[0] + _mm256_and_pd(trace, spl_lane4(0)), b = strip[1] + _mm256_and_pd(trace, spl_lane4(1));
        _mm256_storeu_pd(value, a);
        _mm256_storeu_pd(value + 3, b);
        spl_store3(value + 6, strip[2] + _mm256_and_pd(trace, spl_lane4(2)));
    }
}

static void rows(const spl_stiffness *s, size_t begin, size_t end)
{
    spl_v4 strip[3 * (SPL_STRIP + 1)]; /* the last block takes what belongs to held corners */
    for (size_t node = begin; node < end; node++) {
        size_t vertex = (size_t)s->vertex[node], length = s->start[node + 1] - s->start[node];
        if (length > SPL_STRIP) {
            spl_mixed_kernels_plain.rows(s, node, node + 1);
            continue;
        }
        for (size_t i = 0; i < 3 * (length + 1); i++) strip[i] = _mm256_setzero_pd();
        for (size_t q = s->stars->start[vertex]; q < s->stars->start[vertex + 1]; q++) {
            size_t corner = s->stars->corner[q], tet = corner / 4;
            double W = s->elements->volume[tet], spin = s->spin ? W * s->spin[tet] : 0;
            add_corner(s->h + 4 * corner, s->h + SPL_PAD * tet, W * s->mu[tet], spin, W * s->lambda[tet],
                       s->slot + 4 * q, strip);
        }
        write_row(strip, s->column + s->start[node], length, (int32_t)node, s->spring[node],
                  s->value + 9 * s->start[node]);
    }
}

const spl_mixed_kernels spl_mixed_kernels_avx2 = {pull, sum, rows};
