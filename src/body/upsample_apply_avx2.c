/* upsample_apply.c's sums, 8-wide: two entries at a time, one in each half of a register. */
#include "body/upsample_kernel.h"
#include "math/simd8.h"

/* Two points x y z 0 | x y z 0. */
SPL_INLINE spl_v8 pair(const float *point, const uint32_t *index)
{
    return _mm256_loadu2_m128(point + 4 * (size_t)index[1], point + 4 * (size_t)index[0]);
}

/* Two weights a | b, four times each. */
SPL_INLINE spl_v8 spread(const float *weight)
{
    spl_v8 both = _mm256_castpd_ps(_mm256_broadcast_sd((const double *)(const void *)weight)); /* a b a b | a b a b */
    return _mm256_permutevar_ps(both, _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0));
}

SPL_INLINE void fold(spl_v8 sum, float *to)
{
    _mm_storeu_ps(to, _mm256_castps256_ps128(sum) + _mm256_extractf128_ps(sum, 1));
}

/* sum_k weight_k point_k over an even number of entries; two sums hide the latency of one. */
SPL_INLINE void blend(const float *point, const uint32_t *index, const float *weight, uint32_t count, float *to)
{
    spl_v8 even = spl_set8(0), odd = spl_set8(0);
    uint32_t k = 0;
    for (; k + 4 <= count; k += 4) {
        even = spl_fma(spread(weight + k), pair(point, index + k), even);
        odd = spl_fma(spread(weight + k + 2), pair(point, index + k + 2), odd);
    }
    if (k < count) even = spl_fma(spread(weight + k), pair(point, index + k), even);
    fold(even + odd, to);
}

/* The same with two weights at an entry. */
SPL_INLINE void blend_tangents(const float *point, const uint32_t *index, const float *tangent, uint32_t count,
                               float to[2][4])
{
    spl_v8 first = spl_set8(0), second = spl_set8(0);
    for (uint32_t k = 0; k < count; k += 2) {
        spl_v8 p = pair(point, index + k), t = _mm256_broadcast_ps((const __m128 *)(const void *)(tangent + 2 * k));
        first = spl_fma(_mm256_permutevar_ps(t, _mm256_set_epi32(2, 2, 2, 2, 0, 0, 0, 0)), p, first);
        second = spl_fma(_mm256_permutevar_ps(t, _mm256_set_epi32(3, 3, 3, 3, 1, 1, 1, 1)), p, second);
    }
    fold(first, to[0]);
    fold(second, to[1]);
}

void spl_upsample_vertices_avx2(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to,
                                size_t begin, size_t end)
{
    bool normals = to->normal && u->has_normals;
    for (size_t v = begin; v < end; v++) {
        const spl_upsample_vertex *vertex = &u->vertex[v];
        if (vertex->count == 0) continue;
        const uint32_t *index = u->index + vertex->first;
        spl_upsample_sums sums;
        blend(f->point, index, u->weight + vertex->first, vertex->count, sums.position);
        int32_t frame = spl_upsample_offset_in_use(u, f, v);
        if (frame >= 0 && u->offset[frame].tangent != SPL_UPSAMPLE_NO_TANGENT)
            blend_tangents(f->point, index, u->tangent + u->offset[frame].tangent, vertex->count, sums.tangent);
        if (normals) blend(f->normal, index, u->normal_weight + vertex->normal, vertex->count, sums.normal);
        spl_upsample_finish(u, f, to, v, frame, &sums);
    }
}
