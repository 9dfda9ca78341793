/* The passes of ic3.h for AVX2 and FMA: a column of a block is one vector whose fourth lane is the next column's and
 * ends where nobody reads it. */
#include "math/simd4.h"
#include "sparse/ic3_private.h"

typedef __m128 f4;

/* R^T x, and R x: R NULL for none. */
SPL_INLINE spl_v4 turn_back(const double *R, const double *x)
{
    spl_v4 p = spl_load3(x);
    if (!R) return p;
    spl_v4 a = spl_load3(R) * p, b = spl_load3(R + 3) * p, c = spl_load3(R + 6) * p, none = _mm256_setzero_pd();
    spl_v4 s = _mm256_hadd_pd(a, b), t = _mm256_hadd_pd(c, none);
    return _mm256_permute2f128_pd(s, t, 0x20) + _mm256_permute2f128_pd(s, t, 0x31);
}
SPL_INLINE spl_v4 turn_forth(const double *R, spl_v4 p)
{
    if (!R) return p;
    spl_v4 x = _mm256_permute4x64_pd(p, 0x00), y = _mm256_permute4x64_pd(p, 0x55), z = _mm256_permute4x64_pd(p, 0xaa);
    return _mm256_fmadd_pd(spl_load3(R), x, _mm256_fmadd_pd(spl_load3(R + 3), y, spl_load3(R + 6) * z));
}

/* ---- double ---- */

SPL_INLINE spl_v4 block_times(const double *B, const double *p) /* B p */
{
    spl_v4 s = spl_load3(B) * _mm256_broadcast_sd(p);
    s = _mm256_fmadd_pd(spl_load3(B + 3), _mm256_broadcast_sd(p + 1), s);
    return _mm256_fmadd_pd(spl_load3(B + 6), _mm256_broadcast_sd(p + 2), s);
}

static void forward(const spl_ic3_view *v, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        spl_v4 s = turn_back(v->turn ? v->turn + 9 * i : NULL, v->x + 3 * i);
        for (size_t q = v->start[i]; q < v->start[i + 1]; q++)
            s -= block_times(v->U + 9 * q, v->w + 3 * (size_t)v->column[q]);
        spl_store3(v->w + 3 * i, s);
        spl_store3(v->w + 3 * i, block_times(v->E + 9 * i, v->w + 3 * i));
    }
}

static void backward(const spl_ic3_view *v, size_t begin, size_t end)
{
    for (size_t i = end; i-- > begin;) {
        spl_v4 y = spl_load3(v->w + 3 * i) - block_times(v->E + 9 * i, v->t + 3 * i);
        for (size_t q = v->start[i]; q < v->start[i + 1]; q++) {
            const double *B = v->U + 9 * q;
            double *to = v->t + 3 * (size_t)v->column[q];
            spl_v4 a = spl_load3(B) * y, b = spl_load3(B + 3) * y, c = spl_load3(B + 6) * y, none = _mm256_setzero_pd();
            spl_v4 s = _mm256_hadd_pd(a, b), t = _mm256_hadd_pd(c, none);
            spl_store3(to, spl_load3(to) + (_mm256_permute2f128_pd(s, t, 0x20) + _mm256_permute2f128_pd(s, t, 0x31)));
        }
        spl_store3(v->y + 3 * i, turn_forth(v->turn ? v->turn + 9 * i : NULL, y));
    }
}

/* ---- float ---- */

static void forward_float(const spl_ic3_view *v, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        f4 a = _mm256_cvtpd_ps(turn_back(v->turn ? v->turn + 9 * i : NULL, v->x + 3 * i));
        f4 b = _mm_setzero_ps(), c = b;
        for (size_t q = v->start[i]; q < v->start[i + 1]; q++) {
            const float *B = v->u + 9 * q, *w = v->fw + 4 * (size_t)v->column[q];
            a = _mm_fnmadd_ps(_mm_loadu_ps(B), _mm_broadcast_ss(w), a);
            b = _mm_fnmadd_ps(_mm_loadu_ps(B + 3), _mm_broadcast_ss(w + 1), b);
            c = _mm_fnmadd_ps(_mm_loadu_ps(B + 6), _mm_broadcast_ss(w + 2), c);
        }
        a += b + c;
        const float *E = v->e + 12 * i;
        f4 x = _mm_shuffle_ps(a, a, 0x00), y = _mm_shuffle_ps(a, a, 0x55), z = _mm_shuffle_ps(a, a, 0xaa);
        f4 w = _mm_loadu_ps(E) * x;
        w = _mm_fmadd_ps(_mm_loadu_ps(E + 4), y, w);
        _mm_storeu_ps(v->fw + 4 * i, _mm_fmadd_ps(_mm_loadu_ps(E + 8), z, w));
    }
}

static void backward_float(const spl_ic3_view *v, size_t begin, size_t end)
{
    f4 none = _mm_setzero_ps();
    for (size_t i = end; i-- > begin;) {
        const float *E = v->e + 12 * i, *t = v->ft + 4 * i;
        f4 y = _mm_loadu_ps(v->fw + 4 * i);
        y = _mm_fnmadd_ps(_mm_loadu_ps(E), _mm_broadcast_ss(t), y);
        y = _mm_fnmadd_ps(_mm_loadu_ps(E + 4), _mm_broadcast_ss(t + 1), y);
        y = _mm_fnmadd_ps(_mm_loadu_ps(E + 8), _mm_broadcast_ss(t + 2), y);
        y = _mm_blend_ps(y, none, 8);
        for (size_t q = v->start[i]; q < v->start[i + 1]; q++) {
            const float *B = v->u + 9 * q;
            float *to = v->ft + 4 * (size_t)v->column[q];
            f4 s = _mm_hadd_ps(_mm_loadu_ps(B) * y, _mm_loadu_ps(B + 3) * y);
            s = _mm_hadd_ps(s, _mm_hadd_ps(_mm_loadu_ps(B + 6) * y, none));
            _mm_storeu_ps(to, _mm_loadu_ps(to) + s);
        }
        spl_store3(v->y + 3 * i, turn_forth(v->turn ? v->turn + 9 * i : NULL, _mm256_cvtps_pd(y)));
    }
}

const spl_ic3_kernels spl_ic3_kernels_avx2 = {forward, backward, forward_float, backward_float};
