/* rotation3.c, eight matrices at a time: the same steps with masks for branches. */
#include "math/rotation3.h"
#include "math/rotation3_step8.h"

/* Unit quaternions; the identity in lanes that are not to be kept or far from unit length. */
SPL_INLINE void clean_start(spl_v8 q[4], spl_v8 keep)
{
    spl_v8 q2 = spl_fma(q[0], q[0], spl_fma(q[1], q[1], spl_fma(q[2], q[2], q[3] * q[3]))), one = spl_set8(1);
    keep = spl_and8(keep, spl_and8(spl_less8(spl_set8(0.25F), q2), spl_less8(q2, spl_set8(4))));
    spl_v8 s = one / spl_sqrt8(spl_select8(keep, q2, one));
    for (int i = 0; i < 4; i++) q[i] = spl_select8(keep, q[i] * s, i == 3 ? one : spl_set8(0));
}

bool spl_rotation3_blocks_avx2(const spl_mat3x8 *F, size_t blocks, int iterations, spl_quatx8 *q)
{
    bool all = true;
    for (size_t b = 0; b < blocks; b++) {
        spl_v8 f[9], r[4], zero = spl_set8(0), largest = zero, sum = zero, norm = zero;
        for (int i = 0; i < 9; i++) {
            f[i] = spl_load8(F[b].m[i]);
            largest = spl_max8(largest, spl_abs8(f[i]));
            sum = sum + f[i] * zero;
        }
        spl_v8 finite = _mm256_cmp_ps(sum, zero, _CMP_EQ_OQ);
        spl_v8 s = spl_inverse_power8(spl_and8(finite, largest));
        for (int i = 0; i < 9; i++) {
            f[i] = spl_and8(finite, f[i]) * s;
            norm = spl_fma(f[i], f[i], norm);
        }
        norm = spl_sqrt8(norm);
        for (int i = 0; i < 4; i++) r[i] = spl_load8(q[b].q[i]);
        clean_start(r, finite);
        for (int i = 0; i < iterations; i++) spl_rotation_step8(f, norm, spl_set8(0), r);
        for (int i = 0; i < 4; i++) spl_store8(q[b].q[i], r[i]);
        all &= spl_all8(finite);
    }
    return all;
}
