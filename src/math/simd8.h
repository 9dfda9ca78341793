/* Eight floats at a time, for the *_avx2.c files only (CMake compiles them with -mavx2 -mfma). The type is a GCC
 * vector, so
 * + - * / and unary minus work on it; here is what operators cannot say. gcc in ISO mode never contracts a * b + c:
 * where a fused multiply-add is meant it is written as spl_fma. */
#ifndef SPL_MATH_SIMD8_H
#define SPL_MATH_SIMD8_H

#include <immintrin.h>
#include <stdbool.h>

typedef __m256 spl_v8;

#define SPL_INLINE static inline __attribute__((always_inline))

SPL_INLINE spl_v8 spl_set8(float a)
{
    return _mm256_set1_ps(a);
}
SPL_INLINE spl_v8 spl_load8(const float *p) /* any alignment */
{
    return _mm256_loadu_ps(p);
}
SPL_INLINE void spl_store8(float *p, spl_v8 a)
{
    _mm256_storeu_ps(p, a);
}
SPL_INLINE spl_v8 spl_fma(spl_v8 a, spl_v8 b, spl_v8 c) /* a b + c */
{
    return _mm256_fmadd_ps(a, b, c);
}
SPL_INLINE spl_v8 spl_fnma(spl_v8 a, spl_v8 b, spl_v8 c) /* c - a b */
{
    return _mm256_fnmadd_ps(a, b, c);
}
SPL_INLINE spl_v8 spl_max8(spl_v8 a, spl_v8 b)
{
    return _mm256_max_ps(a, b);
}
SPL_INLINE spl_v8 spl_sqrt8(spl_v8 a)
{
    return _mm256_sqrt_ps(a);
}
SPL_INLINE spl_v8 spl_abs8(spl_v8 a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
}
SPL_INLINE spl_v8 spl_copysign8(spl_v8 a, spl_v8 sign) /* |a| with the other's sign */
{
    spl_v8 bit = _mm256_set1_ps(-0.0F);
    return _mm256_or_ps(_mm256_andnot_ps(bit, a), _mm256_and_ps(bit, sign));
}

/* Masks: all bits of a lane set or clear. */
SPL_INLINE spl_v8 spl_less8(spl_v8 a, spl_v8 b) /* false where one is NaN */
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
SPL_INLINE spl_v8 spl_and8(spl_v8 a, spl_v8 b)
{
    return _mm256_and_ps(a, b);
}
SPL_INLINE spl_v8 spl_select8(spl_v8 mask, spl_v8 yes, spl_v8 no)
{
    return _mm256_blendv_ps(no, yes, mask);
}
SPL_INLINE bool spl_all8(spl_v8 mask)
{
    return _mm256_movemask_ps(mask) == 255;
}

/* A power of two near 1 / a for a >= 0, in range for every finite a: scaling by it is exact; and its inverse. */
SPL_INLINE spl_v8 spl_inverse_power8(spl_v8 a)
{
    __m256i e = _mm256_srli_epi32(_mm256_castps_si256(a), 23);
    e = _mm256_min_epi32(_mm256_max_epi32(e, _mm256_set1_epi32(1)), _mm256_set1_epi32(253));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32(254), e), 23));
}

/* Three coordinates of eight points, from and to x y z x y z ... */
SPL_INLINE void spl_load_points8(const float *p, spl_v8 *x, spl_v8 *y, spl_v8 *z)
{
    spl_v8 a = _mm256_loadu2_m128(p + 12, p); /* x0 y0 z0 x1 | x4 y4 z4 x5 */
    spl_v8 b = _mm256_loadu2_m128(p + 16, p + 4);
    spl_v8 c = _mm256_loadu2_m128(p + 20, p + 8);
    spl_v8 xy = _mm256_shuffle_ps(b, c, _MM_SHUFFLE(2, 1, 3, 2)); /* x2 y2 x3 y3 */
    spl_v8 yz = _mm256_shuffle_ps(a, b, _MM_SHUFFLE(1, 0, 2, 1)); /* y0 z0 y1 z1 */
    *x = _mm256_shuffle_ps(a, xy, _MM_SHUFFLE(2, 0, 3, 0));
    *y = _mm256_shuffle_ps(yz, xy, _MM_SHUFFLE(3, 1, 2, 0));
    *z = _mm256_shuffle_ps(yz, c, _MM_SHUFFLE(3, 0, 3, 1));
}
SPL_INLINE void spl_store_points8(float *p, spl_v8 x, spl_v8 y, spl_v8 z)
{
    spl_v8 xy = _mm256_shuffle_ps(x, y, _MM_SHUFFLE(2, 0, 2, 0)); /* x0 x2 y0 y2 */
    spl_v8 yz = _mm256_shuffle_ps(y, z, _MM_SHUFFLE(3, 1, 3, 1)); /* y1 y3 z1 z3 */
    spl_v8 zx = _mm256_shuffle_ps(z, x, _MM_SHUFFLE(3, 1, 2, 0)); /* z0 z2 x1 x3 */
    spl_v8 a = _mm256_shuffle_ps(xy, zx, _MM_SHUFFLE(2, 0, 2, 0));
    spl_v8 b = _mm256_shuffle_ps(yz, xy, _MM_SHUFFLE(3, 1, 2, 0));
    spl_v8 c = _mm256_shuffle_ps(zx, yz, _MM_SHUFFLE(3, 1, 3, 1));
    _mm256_storeu2_m128(p + 12, p, a);
    _mm256_storeu2_m128(p + 16, p + 4, b);
    _mm256_storeu2_m128(p + 20, p + 8, c);
}

/* Rows to columns of an 8x8 matrix, in place. */
SPL_INLINE void spl_transpose8(spl_v8 r[8])
{
    spl_v8 t[8];
    for (int h = 0; h < 8; h += 4) { /* 4x4 transposes in both halves of the registers */
        spl_v8 a = _mm256_unpacklo_ps(r[h], r[h + 1]), b = _mm256_unpackhi_ps(r[h], r[h + 1]);
        spl_v8 c = _mm256_unpacklo_ps(r[h + 2], r[h + 3]), d = _mm256_unpackhi_ps(r[h + 2], r[h + 3]);
        t[h] = _mm256_shuffle_ps(a, c, _MM_SHUFFLE(1, 0, 1, 0));
        t[h + 1] = _mm256_shuffle_ps(a, c, _MM_SHUFFLE(3, 2, 3, 2));
        t[h + 2] = _mm256_shuffle_ps(b, d, _MM_SHUFFLE(1, 0, 1, 0));
        t[h + 3] = _mm256_shuffle_ps(b, d, _MM_SHUFFLE(3, 2, 3, 2));
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

#endif
