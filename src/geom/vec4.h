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

#endif
