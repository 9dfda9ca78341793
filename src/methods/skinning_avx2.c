/* skinning.c's kernels, 8-wide.
 *
 * Measured at 1M vertices x 4 influences on one Sapphire Rapids core at 3 GHz (bench_linear; triad 26 GB/s): linear
 * 3.5 ns a vertex (13.8 GB/s, 52% of triad), dualquat 2.95 ns (16.3 GB/s, 61%); with the scalar twins 14 and 21 ns.
 * Both are bound by the core, not by memory: the times are the same with all data in L1.
 *
 * Tried for linear, without gain: the four joints of a vertex from one 64-bit load (3.6 ns); weights from one 128-bit
 * load and permutes (3.8 ns); results of eight vertices packed into six stores without overlap (3.55 ns). With nothing
 * waiting for memory, prefetching and streaming stores cannot help. AVX-512 (a matrix in one register) gives 2.75 ns
 * with data in L1: not taken, since a third kernel and dispatch for one method on some processors is not worth a fifth.
 */
#include "math/simd8.h"
#include "methods/skinning.h"

#include <string.h>

/* A vertex's blended matrix is two registers (columns 0 1, columns 2 3), one fused multiply-add each per influence with
 * the palette's entry as a memory operand; then columns times (x y z 1), and the halves are added. */
SPL_INLINE void affine8(const float *palette, const uint16_t *joint, const float *weight, int K, const float *rest,
                        float *restrict out)
{
    for (int v = 0; v < SPL_BLOCK; v++, joint += K, weight += K) {
        const float *m = palette + SPL_MATRIX_SIZE * (size_t)joint[0];
        spl_v8 w = spl_set8(weight[0]), a = w * spl_load8(m), b = w * spl_load8(m + 8);
        for (int k = 1; k < K; k++) {
            m = palette + SPL_MATRIX_SIZE * (size_t)joint[k];
            w = spl_set8(weight[k]);
            a = spl_fma(w, spl_load8(m), a);
            b = spl_fma(w, spl_load8(m + 8), b);
        }
        spl_v8 xy = _mm256_blend_ps(spl_set8(rest[3 * v]), spl_set8(rest[3 * v + 1]), 0xF0);
        spl_v8 z1 = _mm256_blend_ps(spl_set8(rest[3 * v + 2]), spl_set8(1), 0xF0);
        spl_v8 r = spl_fma(a, xy, b * z1);
        __m128 p = _mm256_castps256_ps128(r) + _mm256_extractf128_ps(r, 1);
        if (v < SPL_BLOCK - 1) { /* the fourth float is the next vertex's, written after */
            _mm_storeu_ps(out + 3 * v, p);
        } else {
            _mm_storel_pi((__m64 *)(out + 3 * v), p);
            _mm_store_ss(out + 3 * v + 2, _mm_movehl_ps(p, p));
        }
    }
}

/* A vertex's blended dual quaternion is one register. Eight of them are turned over, and the rest is done on eight
 * vertices at once, one component a register. */
SPL_INLINE void dual8(const float *palette, const uint16_t *joint, const float *weight, int K, const float scale[3],
                      const float *rest, float *out)
{
    spl_v8 b[8];
    for (int v = 0; v < SPL_BLOCK; v++, joint += K, weight += K) {
        b[v] = spl_set8(weight[0]) * spl_load8(palette + SPL_DUAL_SIZE * (size_t)joint[0]);
        for (int k = 1; k < K; k++)
            b[v] = spl_fma(spl_set8(weight[k]), spl_load8(palette + SPL_DUAL_SIZE * (size_t)joint[k]), b[v]);
    }
    spl_transpose8(b);
    spl_v8 qx = b[0], qy = b[1], qz = b[2], qw = b[3], dx = b[4], dy = b[5], dz = b[6], dw = b[7], x, y, z;
    spl_load_points8(rest, &x, &y, &z);
    x *= spl_set8(scale[0]);
    y *= spl_set8(scale[1]);
    z *= spl_set8(scale[2]);
    spl_v8 n = spl_fma(qx, qx, spl_fma(qy, qy, spl_fma(qz, qz, qw * qw)));
    spl_v8 two = spl_set8(2) / spl_max8(n, spl_set8(1e-12F));
    spl_v8 cx = spl_fma(qy, z, spl_fnma(qz, y, spl_fma(qw, x, dx))); /* c = q x p + w p + d */
    spl_v8 cy = spl_fma(qz, x, spl_fnma(qx, z, spl_fma(qw, y, dy)));
    spl_v8 cz = spl_fma(qx, y, spl_fnma(qy, x, spl_fma(qw, z, dz)));
    spl_v8 ex = spl_fma(qy, cz, spl_fnma(qz, cy, spl_fnma(dw, qx, qw * dx))); /* e = q x c + w d - d_w q */
    spl_v8 ey = spl_fma(qz, cx, spl_fnma(qx, cz, spl_fnma(dw, qy, qw * dy)));
    spl_v8 ez = spl_fma(qx, cy, spl_fnma(qy, cx, spl_fnma(dw, qz, qw * dz)));
    spl_store_points8(out, spl_fma(two, ex, x), spl_fma(two, ey, y), spl_fma(two, ez, z));
}

SPL_INLINE void phases8(const spl_skinning *s, const spl_block *block, int K, const float *rest, float *out)
{
    const spl_group *group = &s->group[block->group];
    const uint16_t *joint = s->joint + (size_t)block->influence * SPL_BLOCK;
    const float *weight = s->weight + (size_t)block->influence * SPL_BLOCK;
    const float *matrix = s->matrix + (size_t)group->palette * SPL_MATRIX_SIZE;
    const float *dual = s->dual + (size_t)group->palette * SPL_DUAL_SIZE;
    /* Keeps gcc from adding the palette's offset to each index anew: 3.7 -> 3.5 ns a vertex. */
    __asm__("" : "+r"(matrix), "+r"(dual));
    if (!group->dual) {
        affine8(matrix, joint, weight, K, rest, out);
    } else if (!group->affine) {
        dual8(dual, joint, weight, K, group->scale, rest, out);
    } else {
        float stretched[3 * SPL_BLOCK];
        affine8(matrix, joint, weight, K, rest, stretched);
        dual8(dual, joint, weight, K, group->scale, stretched, out);
    }
}

/* The loop over influences is unrolled for the usual counts. */
SPL_INLINE void block8(const spl_skinning *s, const spl_block *block, const float *rest, float *out)
{
    switch (block->influence_count) {
    case 1:
        phases8(s, block, 1, rest, out);
        break;
    case 2:
        phases8(s, block, 2, rest, out);
        break;
    case 3:
        phases8(s, block, 3, rest, out);
        break;
    case 4:
        phases8(s, block, 4, rest, out);
        break;
    default:
        phases8(s, block, block->influence_count, rest, out);
        break;
    }
}

/* A primitive's last block, through a buffer: nothing beyond its vertices is read or written. */
static __attribute__((noinline)) void part_block(const spl_skinning *s, const spl_block *block, const float *rest,
                                                 float *out)
{
    size_t bytes = 3 * block->vertex_count * sizeof(float);
    float from[3 * SPL_BLOCK] = {0}, to[3 * SPL_BLOCK];
    memcpy(from, rest, bytes);
    block8(s, block, from, to);
    memcpy(out, to, bytes);
}

void spl_skinning_blocks_avx2(const spl_skinning *s, const float *rest, float *out, size_t begin, size_t end)
{
    for (size_t b = begin; b < end; b++) {
        const spl_block *block = &s->block[b];
        size_t at = 3 * (size_t)block->vertex;
        if (block->vertex_count == SPL_BLOCK)
            block8(s, block, rest + at, out + at);
        else
            part_block(s, block, rest + at, out + at);
    }
}
