/* Four doubles at a time, for the *_avx2.c files only: mostly one x y z and a fourth lane that is 0 or nobody's. See
 * simd8.h. */
#ifndef SPL_MATH_SIMD4_H
#define SPL_MATH_SIMD4_H

#include "math/simd8.h"

typedef __m256d spl_v4;

SPL_INLINE spl_v4 spl_set4(double a)
{
    return _mm256_set1_pd(a);
}
SPL_INLINE spl_v4 spl_spread4(const double *p) /* one number in all lanes */
{
    return _mm256_broadcast_sd(p);
}
SPL_INLINE spl_v4 spl_fma4(spl_v4 a, spl_v4 b, spl_v4 c) /* a b + c */
{
    return _mm256_fmadd_pd(a, b, c);
}
SPL_INLINE spl_v4 spl_lane4(int i) /* all bits of one lane */
{
    return _mm256_castsi256_pd(_mm256_setr_epi64x(-(i == 0), -(i == 1), -(i == 2), -(i == 3)));
}
SPL_INLINE spl_v4 spl_load3(const double *p) /* x y z 0; reads no fourth number */
{
    return _mm256_maskload_pd(p, _mm256_setr_epi64x(-1, -1, -1, 0));
}
SPL_INLINE void spl_store3(double *p, spl_v4 a)
{
    _mm_storeu_pd(p, _mm256_castpd256_pd128(a));
    _mm_store_sd(p + 2, _mm256_extractf128_pd(a, 1));
}

#endif
