/* Four floats at a time in the compiler's own vector type: SSE2, NEON or plain code, the same bits everywhere. */
#ifndef SPL_GEOM_VEC4_H
#define SPL_GEOM_VEC4_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef float spl_f4 __attribute__((vector_size(16)));
typedef int32_t spl_i4 __attribute__((vector_size(16)));

static inline spl_f4 spl_f4_load(const float *p) /* any alignment */
{
    spl_f4 v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline spl_f4 spl_f4_set(float a)
{
    return (spl_f4){a, a, a, a};
}
static inline spl_f4 spl_f4_select(spl_i4 mask, spl_f4 yes, spl_f4 no)
{
    return (spl_f4)(((spl_i4)yes & mask) | ((spl_i4)no & ~mask));
}
static inline spl_f4 spl_f4_max(spl_f4 a, spl_f4 b)
{
    return spl_f4_select(a > b, a, b);
}
static inline spl_f4 spl_f4_min(spl_f4 a, spl_f4 b)
{
    return spl_f4_select(a < b, a, b);
}

static inline spl_f4 spl_f4_abs(spl_f4 a)
{
    return (spl_f4)((spl_i4)a & 0x7fffffff);
}

static inline bool spl_i4_any(spl_i4 mask) /* whether a lane is set */
{
    int64_t half[2];
    memcpy(half, &mask, sizeof half);
    return (half[0] | half[1]) != 0;
}

static inline spl_f4 spl_f4_root(spl_f4 a) /* correctly rounded */
{
#ifdef __SSE2__
    return (spl_f4)_mm_sqrt_ps((__m128)a);
#else
    return (spl_f4){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
#endif
}

/* ---- four doubles, in two halves ---- */

typedef double spl_d2 __attribute__((vector_size(16)));
typedef struct spl_d4 {
    spl_d2 a, b;
} spl_d4;

static inline spl_d4 spl_d4_load(const double *p) /* any alignment */
{
    spl_d4 v;
    memcpy(&v.a, p, sizeof v.a);
    memcpy(&v.b, p + 2, sizeof v.b);
    return v;
}
static inline spl_d4 spl_d4_add(spl_d4 v, double by)
{
    return (spl_d4){v.a + by, v.b + by};
}
static inline spl_d4 spl_d4_minus(spl_d4 v)
{
    return (spl_d4){-v.a, -v.b};
}

/* x < y ? x : y, and x > y ? x : y: the second where one is no number. */
static inline spl_d4 spl_d4_min(spl_d4 x, spl_d4 y)
{
#ifdef __SSE2__
    return (spl_d4){(spl_d2)_mm_min_pd((__m128d)x.a, (__m128d)y.a), (spl_d2)_mm_min_pd((__m128d)x.b, (__m128d)y.b)};
#else
    return (spl_d4){{x.a[0] < y.a[0] ? x.a[0] : y.a[0], x.a[1] < y.a[1] ? x.a[1] : y.a[1]},
                    {x.b[0] < y.b[0] ? x.b[0] : y.b[0], x.b[1] < y.b[1] ? x.b[1] : y.b[1]}};
#endif
}
static inline spl_d4 spl_d4_max(spl_d4 x, spl_d4 y)
{
#ifdef __SSE2__
    return (spl_d4){(spl_d2)_mm_max_pd((__m128d)x.a, (__m128d)y.a), (spl_d2)_mm_max_pd((__m128d)x.b, (__m128d)y.b)};
#else
    return (spl_d4){{x.a[0] > y.a[0] ? x.a[0] : y.a[0], x.a[1] > y.a[1] ? x.a[1] : y.a[1]},
                    {x.b[0] > y.b[0] ? x.b[0] : y.b[0], x.b[1] > y.b[1] ? x.b[1] : y.b[1]}};
#endif
}

/* The nearest floats. */
static inline spl_f4 spl_d4_floats(spl_d4 v)
{
#ifdef __SSE2__
    return (spl_f4)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)v.a), _mm_cvtpd_ps((__m128d)v.b));
#else
    return (spl_f4){(float)v.a[0], (float)v.a[1], (float)v.b[0], (float)v.b[1]};
#endif
}

/* Which floats are greater than the doubles. */
static inline spl_i4 spl_f4_above(spl_f4 f, spl_d4 v)
{
#ifdef __SSE2__
    __m128d a = _mm_cmpgt_pd(_mm_cvtps_pd((__m128)f), (__m128d)v.a);
    __m128d b = _mm_cmpgt_pd(_mm_cvtps_pd(_mm_movehl_ps((__m128)f, (__m128)f)), (__m128d)v.b);
    return (spl_i4)_mm_shuffle_ps(_mm_castpd_ps(a), _mm_castpd_ps(b), 0x88); /* the even halves of the masks */
#else
    return (spl_i4){-((double)f[0] > v.a[0]), -((double)f[1] > v.a[1]), -((double)f[2] > v.b[0]),
                    -((double)f[3] > v.b[1])};
#endif
}

#endif
