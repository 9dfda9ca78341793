/* One tetrahedron in vectors of four, for the *_avx2.c files of the methods whose gradients are turned already
 * (h_i = R g_i, in fours): F R^T from the corners, and from its stress the forces on them. See math/simd4.h. */
#ifndef SPL_FEM_CORNERS4_H
#define SPL_FEM_CORNERS4_H

#include "math/simd4.h"

/* T = sum_i x_i h_i^T by columns; x has 3 numbers a vertex, h 4 a corner. */
SPL_INLINE void spl_corners4_gather(const double *x, const int32_t *tet, const double *h, spl_v4 T[3])
{
    for (int c = 0; c < 3; c++) T[c] = _mm256_setzero_pd();
    for (size_t i = 0; i < 4; i++) {
        spl_v4 p = spl_load3(x + 3 * (size_t)tet[i]);
        for (size_t c = 0; c < 3; c++) T[c] = spl_fma4(p, spl_spread4(h + 4 * i + c), T[c]);
    }
}

SPL_INLINE double spl_corners4_trace(const spl_v4 T[3])
{
    double xx = _mm256_cvtsd_f64(T[0]), yy = _mm256_cvtsd_f64(_mm256_permute_pd(T[1], 5));
    return xx + yy + _mm_cvtsd_f64(_mm256_extractf128_pd(T[2], 1));
}

/* Lengths of four vectors, their fourth lanes left out. */
SPL_INLINE spl_v4 spl_corners4_lengths(const spl_v4 f[4])
{
    spl_v4 s[4], none = _mm256_setzero_pd();
    for (int i = 0; i < 4; i++) s[i] = _mm256_blend_pd(f[i] * f[i], none, 8);
    spl_v4 a = _mm256_hadd_pd(s[0], s[1]), b = _mm256_hadd_pd(s[2], s[3]);
    return _mm256_sqrt_pd(_mm256_permute2f128_pd(a, b, 0x20) + _mm256_permute2f128_pd(a, b, 0x31));
}

/* f_i = S h_i with S by columns, and behind each force its length: 4 numbers a corner. Fourth lanes of S may be
 * rubbish. */
SPL_INLINE void spl_corners4_scatter(const spl_v4 S[3], const double *h, double *corner)
{
    spl_v4 f[4];
    for (size_t i = 0; i < 4; i++) {
        f[i] = spl_fma4(S[0], spl_spread4(h + 4 * i), _mm256_mul_pd(S[1], spl_spread4(h + 4 * i + 1)));
        f[i] = spl_fma4(S[2], spl_spread4(h + 4 * i + 2), f[i]);
    }
    spl_v4 l = spl_corners4_lengths(f);
    _mm256_storeu_pd(corner, _mm256_blend_pd(f[0], _mm256_permute4x64_pd(l, 0x00), 8));
    _mm256_storeu_pd(corner + 4, _mm256_blend_pd(f[1], _mm256_permute4x64_pd(l, 0x40), 8));
    _mm256_storeu_pd(corner + 8, _mm256_blend_pd(f[2], _mm256_permute4x64_pd(l, 0x80), 8));
    _mm256_storeu_pd(corner + 12, _mm256_blend_pd(f[3], l, 8));
}

#endif
