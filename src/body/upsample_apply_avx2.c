/* upsample_apply.c's sums, with the point in one half of a register and the normal in the other, and what follows them
 * for eight visual vertices at a time. */
#include "body/upsample_kernel.h"
#include "math/simd8.h"

enum { WIDTH = 8, STRIDE = SPL_UPSAMPLE_STRIDE, BLOCK = SPL_UPSAMPLE_BLOCK };

/* Eight vertices: before the frames are known row by row, then transposed. */
typedef struct group {
    spl_v8 sum[WIDTH];     /* position and normal: x y z 0 x y z 0 */
    spl_v8 tangent[WIDTH]; /* the patch's deformed tangents, likewise */
    spl_v8 carried[WIDTH]; /* what the frame carries for both, likewise */
    bool framed;           /* some vertex has something to carry */
    uint32_t present;      /* bit i: there is a vertex i, and it has entries */
} group;

/* ---- sums -------------------------------------------------------------------------------------------------------- */

#define LANE(w, k) _mm256_permute_ps(w, 0x55 * (k)) /* element k of each half, four times */

/* A body vertex's point and normal; its point in both halves. */
SPL_INLINE spl_v8 both_of(const float *point, uint32_t index)
{
    return _mm256_load_ps(point + index);
}
SPL_INLINE spl_v8 point_twice(const float *point, uint32_t index)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)(point + index));
}

/* Positions and normals, N being the lower half's weights and M the upper's; and, with `T`, the tangents, whose weights
 * come four of the first, four of the second. Two sums hide the latency of one. */
SPL_INLINE void blend_both(const float *point, const uint32_t *index, const float *N, const float *M, const float *T,
                           size_t count, spl_v8 *sum, spl_v8 *tangent)
{
    spl_v8 even = spl_set8(0), odd = spl_set8(0), even_tangent = spl_set8(0), odd_tangent = spl_set8(0);
    for (size_t k = 0; k < count; k += BLOCK) {
        spl_v8 w = _mm256_loadu2_m128(M + k, N + k);
        even = spl_fma(LANE(w, 0), both_of(point, index[k]), even);
        odd = spl_fma(LANE(w, 1), both_of(point, index[k + 1]), odd);
        even = spl_fma(LANE(w, 2), both_of(point, index[k + 2]), even);
        odd = spl_fma(LANE(w, 3), both_of(point, index[k + 3]), odd);
        if (!T) continue;
        w = spl_load8(T + 2 * k);
        even_tangent = spl_fma(LANE(w, 0), point_twice(point, index[k]), even_tangent);
        odd_tangent = spl_fma(LANE(w, 1), point_twice(point, index[k + 1]), odd_tangent);
        even_tangent = spl_fma(LANE(w, 2), point_twice(point, index[k + 2]), even_tangent);
        odd_tangent = spl_fma(LANE(w, 3), point_twice(point, index[k + 3]), odd_tangent);
    }
    *sum = even + odd;
    if (T) *tangent = even_tangent + odd_tangent;
}

/* Positions alone: an entry in each half. */
SPL_INLINE spl_v8 blend_points(const float *point, const uint32_t *index, const float *N, size_t count)
{
    spl_v8 even = spl_set8(0), odd = spl_set8(0);
    for (size_t k = 0; k < count; k += BLOCK) {
        spl_v8 w = _mm256_broadcast_ps((const __m128 *)(const void *)(N + k));
        spl_v8 p = _mm256_loadu2_m128(point + index[k + 1], point + index[k]);
        spl_v8 q = _mm256_loadu2_m128(point + index[k + 3], point + index[k + 2]);
        even = spl_fma(_mm256_permutevar_ps(w, _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0)), p, even);
        odd = spl_fma(_mm256_permutevar_ps(w, _mm256_set_epi32(3, 3, 3, 3, 2, 2, 2, 2)), q, odd);
    }
    spl_v8 sum = even + odd;
    return _mm256_zextps128_ps256(_mm256_castps256_ps128(sum) + _mm256_extractf128_ps(sum, 1));
}

SPL_INLINE spl_v8 blend_tangents(const float *point, const uint32_t *index, const float *T, size_t count)
{
    spl_v8 even = spl_set8(0), odd = spl_set8(0);
    for (size_t k = 0; k < count; k += BLOCK) {
        spl_v8 w = spl_load8(T + 2 * k);
        even = spl_fma(LANE(w, 0), point_twice(point, index[k]), even);
        odd = spl_fma(LANE(w, 1), point_twice(point, index[k + 1]), odd);
        even = spl_fma(LANE(w, 2), point_twice(point, index[k + 2]), even);
        odd = spl_fma(LANE(w, 3), point_twice(point, index[k + 3]), odd);
    }
    return even + odd;
}

/* The sums of one vertex; T is NULL where no tangents are needed. */
SPL_INLINE void blend(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_vertex *v, const float *T,
                      bool normals, spl_v8 *sum, spl_v8 *tangent)
{
    const uint32_t *index = u->index + v->first;
    const float *N = u->weight + v->first, *M = u->normal_weight + v->normal;
    if (normals) { /* two loops, each without the other's questions */
        if (T)
            blend_both(f->point, index, N, M, T, v->count, sum, tangent);
        else
            blend_both(f->point, index, N, M, NULL, v->count, sum, tangent);
        return;
    }
    *sum = blend_points(f->point, index, N, v->count);
    if (T) *tangent = blend_tangents(f->point, index, T, v->count);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* spl_upsample_carried in the usual case: an offset as it stands. (Floats written one by one could not be read back as
 * a whole register without a stall, which took an eighth of the frame.) */
SPL_INLINE spl_v8 plain_offset(const spl_upsample *u, const spl_upsample_offset *offset, size_t v)
{
    __m128 s = _mm_setzero_ps(), r = _mm_loadu_ps(offset->r); /* the fourth element belongs to `rest`: not used */
    if (u->has_normals) s = _mm_maskload_ps(u->normal_offset + 3 * v, _mm_set_epi32(0, -1, -1, -1));
    return _mm256_set_m128(s, r);
}

/* The tangents' weights that a vertex's frame needs, or NULL. */
SPL_INLINE const float *tangents_of(const spl_upsample *u, int32_t frame)
{
    if (frame < 0 || u->offset[frame].tangent == SPL_UPSAMPLE_NO_TANGENT) return NULL;
    return u->tangent + u->offset[frame].tangent;
}

SPL_INLINE void gather(const spl_upsample *u, const spl_upsample_frame *f, bool normals, size_t begin, size_t end,
                       group *g)
{
    g->framed = false;
    g->present = 0;
    for (size_t i = 0; i < WIDTH; i++) {
        size_t v = begin + i;
        g->sum[i] = g->tangent[i] = g->carried[i] = spl_set8(0);
        if (v >= end || u->vertex[v].count == 0) continue;
        int32_t frame = spl_upsample_offset_in_use(u, f, v);
        bool displaced = spl_upsample_delta(f->delta, v) || spl_upsample_delta(f->normal_delta, v);
        g->present |= 1U << i;
        g->tangent[i] = _mm256_set_ps(0, 0, 1, 0, 0, 0, 0, 1); /* the axes x and y: their frame turns nothing */
        blend(u, f, &u->vertex[v], tangents_of(u, frame), normals, &g->sum[i], &g->tangent[i]);
        if (frame < 0 && !displaced) continue;
        g->framed = true;
        if (displaced || f->stretched) {
            float row[WIDTH] = {0};
            spl_upsample_carried(u, f, v, frame >= 0 ? &u->offset[frame] : NULL, row, row + 4);
            g->carried[i] = spl_load8(row);
        } else
            g->carried[i] = plain_offset(u, &u->offset[frame], v);
    }
}

SPL_INLINE void cross8(const spl_v8 a[3], const spl_v8 b[3], spl_v8 c[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = spl_fma(a[j], b[k], -(a[k] * b[j]));
    }
}
SPL_INLINE spl_v8 dot8(const spl_v8 a[3], const spl_v8 b[3])
{
    return spl_fma(a[0], b[0], spl_fma(a[1], b[1], a[2] * b[2]));
}

/* spl_upsample_frame_of. */
SPL_INLINE void frames8(const spl_v8 t0[3], const spl_v8 t1[3], spl_v8 q[3][3])
{
    spl_v8 turned[3], zero = spl_set8(0), one = spl_set8(1);
    cross8(t0, t1, q[2]);
    spl_v8 square = dot8(q[2], q[2]), least = spl_set8(1e-12F) * dot8(t0, t0) * dot8(t1, t1);
    spl_v8 good = spl_and8(spl_less8(least, square), spl_less8(spl_set8(1e-30F), square));
    spl_v8 scale = spl_select8(good, one / spl_sqrt8(square), zero);
    for (int i = 0; i < 3; i++) q[2][i] = q[2][i] * scale;
    cross8(t1, q[2], turned);
    for (int i = 0; i < 3; i++) q[0][i] = t0[i] + turned[i];
    spl_v8 length = spl_sqrt8(dot8(q[0], q[0]));
    scale = spl_select8(spl_and8(good, spl_less8(zero, length)), one / length, zero);
    for (int i = 0; i < 3; i++) q[0][i] = q[0][i] * scale;
    cross8(q[2], q[0], q[1]);
}

/* Adds Q r to the positions and Q s to the normals. */
SPL_INLINE void add_carried(group *g)
{
    spl_v8 q[3][3];
    spl_transpose8(g->tangent);
    spl_transpose8(g->carried);
    frames8(g->tangent, g->tangent + 4, q);
    for (int h = 0; h < WIDTH; h += 4)
        for (int i = 0; i < 3; i++) {
            const spl_v8 *r = g->carried + h;
            g->sum[h + i] += spl_fma(q[0][i], r[0], spl_fma(q[1][i], r[1], q[2][i] * r[2]));
        }
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

SPL_INLINE void scatter(const spl_v8 p[3], size_t begin, uint32_t present, float *to, size_t stride)
{
    char *first = (char *)to + begin * stride;
    if (present == 255 && stride == 3 * sizeof(float)) {
        spl_store_points8((float *)(void *)first, p[0], p[1], p[2]);
        return;
    }
    float x[3][WIDTH];
    for (int c = 0; c < 3; c++) spl_store8(x[c], p[c]);
    for (size_t i = 0; i < WIDTH; i++) {
        float point[3] = {x[0][i], x[1][i], x[2][i]};
        if (present >> i & 1) memcpy(first + i * stride, point, sizeof point);
    }
}

SPL_INLINE void normalise(spl_v8 n[3])
{
    spl_v8 square = dot8(n, n), good = spl_less8(spl_set8(1e-20F), square);
    spl_v8 scale = spl_set8(1) / spl_sqrt8(square);
    for (int i = 0; i < 3; i++) n[i] = spl_select8(good, n[i] * scale, spl_set8(i == 2 ? 1 : 0));
}

void spl_upsample_vertices_avx2(const spl_upsample *u, const spl_upsample_frame *f, const spl_upsample_target *to,
                                size_t begin, size_t end)
{
    bool normals = to->normal && u->has_normals;
    for (size_t v = begin; v < end; v += WIDTH) {
        group g;
        gather(u, f, normals, v, end, &g);
        spl_transpose8(g.sum);
        if (g.framed) add_carried(&g);
        for (int i = 0; i < 3; i++) g.sum[i] += spl_set8(f->origin[i]);
        scatter(g.sum, v, g.present, to->position, to->position_stride);
        if (!normals) continue;
        normalise(g.sum + 4);
        scatter(g.sum + 4, v, g.present, to->normal, to->normal_stride);
    }
}
