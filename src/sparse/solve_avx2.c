/* The solves of panel.h for AVX2 and FMA: one vector a row for several right-hand sides, eight rows a vector for one.
 */
#include "math/simd8.h"
#include "sparse/panel.h"

/* double, four right-hand sides */
#define REAL     double
#define LANES    4
#define V        __m256d
#define LOAD     _mm256_loadu_pd
#define STORE    _mm256_storeu_pd
#define SET      _mm256_broadcast_sd
#define SET0     _mm256_setzero_pd
#define FMA      _mm256_fmadd_pd
#define FNMA     _mm256_fnmadd_pd
#define MUL      _mm256_mul_pd
#define SUB      _mm256_sub_pd
#define FORWARD  forward_d4
#define BACKWARD backward_d4
#define GATHER   gather_d4
#define FINISH   finish_d4
#define NARROW   narrow_d4
#define CORNER   corner_d4
#define ADD      _mm256_add_pd
#include "sparse/solve_lanes.h"
#include "sparse/solve_undef.h"

/* float, four */
#define REAL     float
#define LANES    4
#define V        __m128
#define LOAD     _mm_loadu_ps
#define STORE    _mm_storeu_ps
#define SET      _mm_broadcast_ss
#define SET0     _mm_setzero_ps
#define FMA      _mm_fmadd_ps
#define FNMA     _mm_fnmadd_ps
#define MUL      _mm_mul_ps
#define SUB      _mm_sub_ps
#define FORWARD  forward_f4
#define BACKWARD backward_f4
#define GATHER   gather_f4
#define FINISH   finish_f4
#define NARROW   narrow_f4
#define CORNER   corner_f4
#define ADD      _mm_add_ps
#include "sparse/solve_lanes.h"
#include "sparse/solve_undef.h"

/* float, eight */
#define REAL     float
#define LANES    8
#define V        __m256
#define LOAD     _mm256_loadu_ps
#define STORE    _mm256_storeu_ps
#define SET      _mm256_broadcast_ss
#define SET0     _mm256_setzero_ps
#define FMA      _mm256_fmadd_ps
#define FNMA     _mm256_fnmadd_ps
#define MUL      _mm256_mul_ps
#define SUB      _mm256_sub_ps
#define FORWARD  forward_f8
#define BACKWARD backward_f8
#define GATHER   gather_f8
#define FINISH   finish_f8
#define NARROW   narrow_f8
#define CORNER   corner_f8
#define ADD      _mm256_add_ps
#include "sparse/solve_lanes.h"
#include "sparse/solve_undef.h"

/* double, one right-hand side */
typedef struct pair {
    __m256d a, b;
} pair;

SPL_INLINE pair pair_load(const double *p)
{
    return (pair){_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)};
}
SPL_INLINE void pair_store(double *p, pair v)
{
    _mm256_storeu_pd(p, v.a);
    _mm256_storeu_pd(p + 4, v.b);
}
SPL_INLINE pair pair_zero(void)
{
    return (pair){_mm256_setzero_pd(), _mm256_setzero_pd()};
}
SPL_INLINE pair pair_add(pair u, pair v)
{
    return (pair){_mm256_add_pd(u.a, v.a), _mm256_add_pd(u.b, v.b)};
}
SPL_INLINE pair pair_fma(pair u, pair v, pair w)
{
    return (pair){_mm256_fmadd_pd(u.a, v.a, w.a), _mm256_fmadd_pd(u.b, v.b, w.b)};
}
SPL_INLINE pair pair_fnma(pair u, double s, pair w)
{
    __m256d f = _mm256_set1_pd(s);
    return (pair){_mm256_fnmadd_pd(u.a, f, w.a), _mm256_fnmadd_pd(u.b, f, w.b)};
}
SPL_INLINE double pair_sum(pair v)
{
    __m256d s = _mm256_add_pd(v.a, v.b);
    __m128d h = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}

#define REAL     double
#define W        pair
#define W_LOAD   pair_load
#define W_STORE  pair_store
#define W_ZERO   pair_zero
#define W_ADD    pair_add
#define W_FMA    pair_fma
#define W_FNMA   pair_fnma
#define W_SUM    pair_sum
#define FORWARD  forward_d1
#define BACKWARD backward_d1
#define COLUMNS  columns_d1
#include "sparse/solve_single.h"
#include "sparse/solve_undef.h"

/* float, one */
SPL_INLINE spl_v8 zero8(void)
{
    return _mm256_setzero_ps();
}
SPL_INLINE spl_v8 add8(spl_v8 u, spl_v8 v)
{
    return _mm256_add_ps(u, v);
}
SPL_INLINE spl_v8 fnma8(spl_v8 u, float s, spl_v8 w)
{
    return _mm256_fnmadd_ps(u, _mm256_set1_ps(s), w);
}
SPL_INLINE float sum8(spl_v8 v)
{
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}

#define REAL     float
#define W        spl_v8
#define W_LOAD   spl_load8
#define W_STORE  spl_store8
#define W_ZERO   zero8
#define W_ADD    add8
#define W_FMA    spl_fma
#define W_FNMA   fnma8
#define W_SUM    sum8
#define FORWARD  forward_f1
#define BACKWARD backward_f1
#define COLUMNS  columns_f1
#include "sparse/solve_single.h"
#include "sparse/solve_undef.h"

void spl_forward_avx2(const double *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes, double *x)
{
    (lanes == 1 ? forward_d1 : forward_d4)(panel, rows, width, tiles, x);
}

void spl_backward_avx2(const double *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                       const double *inverse, double *x, double *y)
{
    (lanes == 1 ? backward_d1 : backward_d4)(panel, rows, width, tiles, inverse, x, y);
}

void spl_forward_float_avx2(const float *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                            float *x)
{
    (lanes == 1 ? forward_f1 : lanes == 4 ? forward_f4 : forward_f8)(panel, rows, width, tiles, x);
}

void spl_backward_float_avx2(const float *panel, const int32_t *rows, int32_t width, int32_t tiles, int32_t lanes,
                             const float *inverse, float *x, float *y)
{
    (lanes == 1 ? backward_f1 : lanes == 4 ? backward_f4 : backward_f8)(panel, rows, width, tiles, inverse, x, y);
}
