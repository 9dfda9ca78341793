/* What the processor can do, asked at run time; no state of ours. */
#ifndef SPL_MATH_CPU_H
#define SPL_MATH_CPU_H

#include <stdbool.h>

/* Whether the *_avx2.c kernels are built in and this processor runs them. */
static inline bool spl_cpu_has_avx2(void)
{
#ifdef SPL_HAVE_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

#endif
