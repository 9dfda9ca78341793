/* The local step for AVX2 and FMA: local.c's plain twin, eight tets at a time. */
#include "math/rotation3_step8.h"
#include "methods/projective/local.h"

/* Rows of four in both halves, to columns. */
SPL_INLINE void columns4(const spl_v8 r[4], spl_v8 c[4])
{
    spl_v8 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
    spl_v8 d = _mm256_unpacklo_ps(r[2], r[3]), e = _mm256_unpackhi_ps(r[2], r[3]);
    c[0] = _mm256_shuffle_ps(a, d, _MM_SHUFFLE(1, 0, 1, 0));
    c[1] = _mm256_shuffle_ps(a, d, _MM_SHUFFLE(3, 2, 3, 2));
    c[2] = _mm256_shuffle_ps(b, e, _MM_SHUFFLE(1, 0, 1, 0));
    c[3] = _mm256_shuffle_ps(b, e, _MM_SHUFFLE(3, 2, 3, 2));
}

SPL_INLINE __m128 edge(const spl_local_room *room, const spl_local_block *b, int corner, int lane)
{
    __m256d d =
        _mm256_sub_pd(_mm256_load_pd(room->x + b->corner[corner][lane]), _mm256_load_pd(room->x + b->corner[0][lane]));
    return _mm256_cvtpd_ps(d);
}

/* F = sum_k (x_k - x_0) g_k^T, column-major. */
SPL_INLINE void load_F(const spl_local_block *b, const spl_local_room *room, spl_mat3x8 *out)
{
    spl_v8 F[9];
    for (int i = 0; i < 9; i++) F[i] = spl_set8(0);
    for (int k = 0; k < 3; k++) {
        spl_v8 row[4], e[4];
        for (int i = 0; i < 4; i++) row[i] = _mm256_set_m128(edge(room, b, k + 1, i + 4), edge(room, b, k + 1, i));
        columns4(row, e);
        for (int c = 0; c < 3; c++) {
            spl_v8 g = spl_load8(b->gradient[3 * k + c]);
            for (int r = 0; r < 3; r++) F[3 * c + r] = spl_fma(e[r], g, F[3 * c + r]);
        }
    }
    for (int i = 0; i < 9; i++) spl_store8(out->m[i], F[i]);
}

/* One Newton step of a block; lanes that have arrived. What overflows has not, and is mended. */
SPL_INLINE spl_v8 turn(const spl_mat3x8 *F, spl_v8 far, spl_quatx8 *to)
{
    spl_v8 f[9], q[4], square = spl_set8(0);
    for (int i = 0; i < 9; i++) {
        f[i] = spl_load8(F->m[i]);
        square = spl_fma(f[i], f[i], square);
    }
    for (int i = 0; i < 4; i++) q[i] = spl_load8(to->q[i]);
    spl_v8 good = spl_rotation_step8(f, spl_sqrt8(square), far, q);
    for (int i = 0; i < 4; i++) spl_store8(to->q[i], q[i]);
    return good;
}

/* The same where the start is as near as it nearly always is; lanes of which that is not true stay as they are. */
SPL_INLINE spl_v8 turn_near(const spl_mat3x8 *F, spl_v8 far, spl_quatx8 *to)
{
    spl_v8 f[9], q[4];
    for (int i = 0; i < 9; i++) f[i] = spl_load8(F->m[i]);
    for (int i = 0; i < 4; i++) q[i] = spl_load8(to->q[i]);
    spl_v8 good = spl_rotation_near8(f, far, q);
    for (int i = 0; i < 4; i++) spl_store8(to->q[i], q[i]);
    return good;
}

/* More steps for a block that has turned far, then a decomposition. */
static void turn_far(const spl_mat3x8 *F, spl_v8 far, spl_quatx8 *to)
{
    spl_v8 good = spl_set8(0);
    for (int i = 0; i < SPL_LOCAL_MORE && !spl_all8(good); i++) good = turn(F, far, to);
    if (!spl_all8(good)) spl_local_mend(F, (unsigned)_mm256_movemask_ps(good), to);
}

/* The rotations nearest to F from the last ones. A step is one long chain of operations: two blocks at a time keep the
 * processor busy. */
static void rotate(const spl_mat3x8 *F, size_t count, int newton, spl_quatx8 *to)
{
    spl_v8 far = spl_set8(newton > 1 ? SPL_LOCAL_FIRST_FAR : SPL_LOCAL_FAR);
    for (size_t k = 0; k < count; k += 2) {
        size_t other = k + 1 < count ? k + 1 : k;
        spl_v8 good[2] = {spl_set8(0), spl_set8(0)};
        for (int i = 0; i < newton; i++) {
            good[0] = turn_near(&F[k], far, &to[k]);
            if (other != k) good[1] = turn_near(&F[other], far, &to[other]);
        }
        if (!spl_all8(good[0])) turn_far(&F[k], far, &to[k]);
        if (other != k && !spl_all8(good[1])) turn_far(&F[other], far, &to[other]);
    }
}

SPL_INLINE void add_to(float *sum, __m128 f)
{
    _mm_store_ps(sum, _mm_add_ps(_mm_load_ps(sum), f));
}

SPL_INLINE void add_forces(spl_local_room *room, const uint16_t corner[8], const spl_v8 f[3])
{
    spl_v8 square = spl_fma(f[0], f[0], spl_fma(f[1], f[1], spl_fma(f[2], f[2], spl_set8(1e-30F))));
    spl_v8 row[4], c[4] = {f[0], f[1], f[2], spl_sqrt8(square)}; /* the root's estimate differs between makers */
    columns4(c, row);
    for (int i = 0; i < 4; i++) add_to(room->force + corner[i], _mm256_castps256_ps128(row[i]));
    for (int i = 0; i < 4; i++) add_to(room->force + corner[i + 4], _mm256_extractf128_ps(row[i], 1));
}

/* Forces -P g_k of the stresses P = weight (F - R) + spread tr(R^T F - I) R. */
SPL_INLINE void pull(spl_local_room *room, const spl_local_block *b, const spl_v8 P[9])
{
    spl_v8 zero = spl_set8(0), f0[3] = {zero, zero, zero};
    for (int k = 0; k < 3; k++) {
        spl_v8 f[3], g[3];
        for (int c = 0; c < 3; c++) g[c] = spl_load8(b->gradient[3 * k + c]);
        for (int r = 0; r < 3; r++) {
            f[r] = -spl_fma(P[r], g[0], spl_fma(P[3 + r], g[1], P[6 + r] * g[2]));
            f0[r] = f0[r] - f[r];
        }
        add_forces(room, b->corner[k + 1], f);
    }
    add_forces(room, b->corner[0], f0);
}

/* The forces of a block whose rotations are there; twice its energy. `extra` is NULL for arap. */
SPL_INLINE __m256d finish(spl_local_room *room, const spl_local_block *b, const float *extra, const spl_mat3x8 *F,
                          const spl_quatx8 *from)
{
    spl_v8 R[9], q[4], sum = spl_set8(0), weight = spl_load8(b->weight);
    for (int i = 0; i < 4; i++) q[i] = spl_load8(from->q[i]);
    spl_rotation_of8(q, R);
    spl_v8 trace = spl_set8(-3), spread = spl_set8(0);
    if (extra) {
        for (int i = 0; i < 9; i++) trace = spl_fma(spl_load8(F->m[i]), R[i], trace);
        spread = spl_load8(extra) * trace;
    }
    for (int i = 0; i < 9; i++) {
        spl_v8 d = spl_load8(F->m[i]) - R[i];
        sum = spl_fma(d, d, sum);
        R[i] = extra ? spl_fma(d, weight, spread * R[i]) : (spl_v8)(d * weight);
    }
    pull(room, b, R);
    sum = extra ? spl_fma(sum, weight, spread * trace) : (spl_v8)(sum * weight);
    return _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(sum)), _mm256_cvtps_pd(_mm256_extractf128_ps(sum, 1)));
}

double spl_local_avx2(const spl_local *l, const double *x, int newton, size_t begin, size_t end)
{
    __m256d energy = _mm256_setzero_pd();
    spl_mat3x8 F[SPL_LOCAL_PIECE];
    spl_local_room room;
    spl_local_enter(l, begin / SPL_LOCAL_PIECE, x, &room);
    for (size_t k = begin; k < end; k++) load_F(&l->block[k], &room, &F[k - begin]);
    rotate(F, end - begin, newton, l->turn + begin);
    for (size_t k = begin; k < end && !l->extra; k++)
        energy = _mm256_add_pd(energy, finish(&room, &l->block[k], NULL, &F[k - begin], &l->turn[k]));
    for (size_t k = begin; k < end && l->extra; k++)
        energy = _mm256_add_pd(energy, finish(&room, &l->block[k], l->extra[k], &F[k - begin], &l->turn[k]));
    spl_local_leave(l, begin / SPL_LOCAL_PIECE, &room);
    double lane[4];
    _mm256_storeu_pd(lane, energy);
    return 0.5 * (lane[0] + lane[1] + (lane[2] + lane[3]));
}
