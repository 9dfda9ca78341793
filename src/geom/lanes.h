/* Eight floats beside each other, in vectors as wide as the file is compiled for: one of eight in *_avx2.c, two of four
 * elsewhere. Loops go over SPL_LANES by SPL_WIDE; whole numbers are asked for equality only. */
#ifndef SPL_GEOM_LANES_H
#define SPL_GEOM_LANES_H

#include "geom/vec4.h"

enum { SPL_LANES = 8 };

#ifdef __AVX2__
#include <immintrin.h>
enum { SPL_WIDE = 8 };
typedef float spl_wide __attribute__((vector_size(32)));
typedef int32_t spl_wide_int __attribute__((vector_size(32)));
#define SPL_WIDE_ALL(a) a, a, a, a, a, a, a, a
#else
enum { SPL_WIDE = 4 };
typedef spl_f4 spl_wide;
typedef spl_i4 spl_wide_int;
#define SPL_WIDE_ALL(a) a, a, a, a
#endif

static inline spl_wide spl_wide_load(const float *p) /* any alignment */
{
    spl_wide v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline spl_wide_int spl_wide_int_load(const int32_t *p)
{
    spl_wide_int v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline spl_wide spl_wide_set(float a)
{
    return (spl_wide){SPL_WIDE_ALL(a)};
}
static inline spl_wide_int spl_wide_int_set(int32_t a)
{
    return (spl_wide_int){SPL_WIDE_ALL(a)};
}
static inline spl_wide spl_wide_abs(spl_wide a)
{
    return (spl_wide)((spl_wide_int)a & 0x7fffffff);
}
static inline spl_wide spl_wide_max(spl_wide a, spl_wide b)
{
    spl_wide_int more = a > b;
    return (spl_wide)(((spl_wide_int)a & more) | ((spl_wide_int)b & ~more));
}
static inline spl_wide spl_wide_root(spl_wide a)
{
#ifdef __AVX2__
    return (spl_wide)_mm256_sqrt_ps((__m256)a);
#else
    return spl_f4_root(a);
#endif
}

/* A bit for each lane that is set. */
static inline unsigned spl_wide_bits(spl_wide_int mask)
{
#if defined(__AVX2__)
    return (unsigned)_mm256_movemask_ps((__m256)mask);
#elif defined(__SSE2__)
    return (unsigned)_mm_movemask_ps((__m128)mask);
#else
    unsigned bits = 0;
    for (int k = 0; k < SPL_WIDE; k++) bits |= mask[k] ? 1U << k : 0;
    return bits;
#endif
}

#endif
