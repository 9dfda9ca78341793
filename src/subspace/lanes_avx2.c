/* lanes.h for AVX2 and FMA. */
#include "math/simd4.h"
#include "subspace/lanes.h"

#include <string.h>

enum { MOST = 8 }; /* Newton steps for a rotation; two or three are usual */

/* As in corot.c: det(tr(S) 1 - S), 8 at rest, at which the rotation counts as determined. */
static const float least = 1e-3F, largest = 1e3F;

/* ---- the deformation ---- */

/* D = F_0 - 1 + G q */
SPL_INLINE void displace(const spl_lanes *l, size_t block, const float *q, spl_v8 D[9])
{
    const float *base = l->base + 9 * SPL_LANES * block, *G = l->G + 9 * SPL_LANES * (size_t)l->pad * block;
    for (size_t k = 0; k < 9; k++) D[k] = spl_load8(base + SPL_LANES * k);
    for (int32_t j = 0; j < l->pad; j++, G += 9 * SPL_LANES) {
        spl_v8 x = spl_set8(q[j]);
        for (size_t k = 0; k < 9; k++) D[k] = spl_fma(spl_load8(G + SPL_LANES * k), x, D[k]);
    }
}

/* R - 1 of a quaternion of any length. */
SPL_INLINE void turn_of(const spl_v8 q[4], spl_v8 W[9])
{
    spl_v8 xx = q[0] * q[0], yy = q[1] * q[1], zz = q[2] * q[2];
    spl_v8 s = spl_set8(2) / spl_fma(q[3], q[3], xx + yy + zz);
    spl_v8 sx = s * q[0], sy = s * q[1], sz = s * q[2];
    W[0] = -s * (yy + zz);
    W[4] = -s * (xx + zz);
    W[8] = -s * (xx + yy);
    W[1] = spl_fma(sx, q[1], sz * q[3]);
    W[3] = spl_fnma(sz, q[3], sx * q[1]);
    W[2] = spl_fnma(sy, q[3], sx * q[2]);
    W[6] = spl_fma(sy, q[3], sx * q[2]);
    W[5] = spl_fma(sy, q[2], sx * q[3]);
    W[7] = spl_fnma(sx, q[3], sy * q[2]);
}

/* B = R^T F - 1 */
SPL_INLINE void turn_back(const spl_v8 W[9], const spl_v8 D[9], spl_v8 B[9])
{
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            spl_v8 sum = D[3 * j + i] + W[3 * i + j];
            for (int k = 0; k < 3; k++) sum = spl_fma(W[3 * i + k], D[3 * j + k], sum);
            B[3 * j + i] = sum;
        }
}

SPL_INLINE void symmetric_part(const spl_v8 B[9], spl_v8 E[6])
{
    spl_v8 half = spl_set8(0.5F);
    E[0] = B[0], E[1] = B[4], E[2] = B[8];
    E[3] = half * (B[1] + B[3]), E[4] = half * (B[2] + B[6]), E[5] = half * (B[5] + B[7]);
}

/* Cofactors of tr(S) 1 - S for S = 1 + E, its determinant, and whether it is safely positive. */
SPL_INLINE spl_v8 cofactors(const spl_v8 E[6], spl_v8 adj[6], spl_v8 *det)
{
    spl_v8 two = spl_set8(2), zero = spl_set8(0);
    spl_v8 a = two + E[1] + E[2], b = two + E[0] + E[2], c = two + E[0] + E[1];
    adj[0] = spl_fnma(E[5], E[5], b * c);
    adj[1] = spl_fnma(E[4], E[4], a * c);
    adj[2] = spl_fnma(E[3], E[3], a * b);
    adj[3] = spl_fma(E[4], E[5], E[3] * c);
    adj[4] = spl_fma(E[3], E[5], E[4] * b);
    adj[5] = spl_fma(E[3], E[4], E[5] * a);
    *det = spl_fnma(E[3], adj[3], spl_fnma(E[4], adj[4], a * adj[0]));
    spl_v8 safe = spl_and8(spl_less8(zero, a), spl_less8(zero, adj[2]));
    return spl_and8(safe, spl_and8(spl_less8(spl_set8(least), *det), spl_less8(*det, spl_set8(largest))));
}

/* W and E of D, by Newton's method on tr(R^T F) from the identity; a bit for each lane where it leads nowhere. */
SPL_INLINE int split(const spl_v8 D[9], spl_v8 W[9], spl_v8 E[6])
{
    spl_v8 q[4] = {spl_set8(0), spl_set8(0), spl_set8(0), spl_set8(1)}, B[9], adj[6], det;
    spl_v8 safe = spl_less8(q[0], q[3]), near = spl_set8(0);
    memcpy(B, D, sizeof B);
    for (int k = 0; k < MOST; k++) {
        symmetric_part(B, E);
        safe = spl_and8(safe, cofactors(E, adj, &det));
        spl_v8 g0 = B[5] - B[7], g1 = B[6] - B[2], g2 = B[1] - B[3], half = spl_set8(0.5F) / det;
        spl_v8 x = half * spl_fma(adj[0], g0, spl_fma(adj[3], g1, adj[4] * g2));
        spl_v8 y = half * spl_fma(adj[3], g0, spl_fma(adj[1], g1, adj[5] * g2));
        spl_v8 z = half * spl_fma(adj[4], g0, spl_fma(adj[5], g1, adj[2] * g2));
        spl_v8 p[4] = {q[0], q[1], q[2], q[3]}; /* q <- q (x, y, z, 1) */
        q[0] = spl_fma(p[3], x, spl_fma(p[1], z, spl_fnma(p[2], y, p[0])));
        q[1] = spl_fma(p[3], y, spl_fma(p[2], x, spl_fnma(p[0], z, p[1])));
        q[2] = spl_fma(p[3], z, spl_fma(p[0], y, spl_fnma(p[1], x, p[2])));
        q[3] = spl_fnma(p[0], x, spl_fnma(p[1], y, spl_fnma(p[2], z, p[3])));
        turn_of(q, W);
        turn_back(W, D, B);
        near = spl_less8(spl_fma(x, x, spl_fma(y, y, z * z)), spl_set8(1e-7F)); /* what is left goes with its square */
        if (_mm256_movemask_ps(_mm256_andnot_ps(near, safe)) == 0) break;
    }
    symmetric_part(B, E);
    safe = spl_and8(spl_and8(safe, near), cofactors(E, adj, &det));
    return ~_mm256_movemask_ps(safe) & 255;
}

/* ---- forces ---- */

SPL_INLINE double sum8(spl_v8 a)
{
    spl_v4 s = _mm256_cvtps_pd(_mm256_castps256_ps128(a)) + _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
    __m128d h = _mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));
    return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}

/* Lane t: the sum of the lanes of a[t]. */
SPL_INLINE spl_v8 sums8(const spl_v8 a[8])
{
    spl_v8 b = _mm256_hadd_ps(_mm256_hadd_ps(a[0], a[1]), _mm256_hadd_ps(a[2], a[3]));
    spl_v8 c = _mm256_hadd_ps(_mm256_hadd_ps(a[4], a[5]), _mm256_hadd_ps(a[6], a[7]));
    return _mm256_permute2f128_ps(b, c, 0x20) + _mm256_permute2f128_ps(b, c, 0x31);
}

/* P by the scale, and the energy. */
SPL_INLINE double stress(const spl_lanes *l, size_t block, const spl_v8 W[9], const spl_v8 E[6], spl_v8 P[9])
{
    size_t at = SPL_LANES * block;
    spl_v8 scale = spl_load8(l->scale + at), mu = spl_load8(l->mu + at) * scale,
           lambda = spl_load8(l->lambda + at) * scale;
    spl_v8 trace = E[0] + E[1] + E[2], both = lambda * trace, twice = mu + mu;
    static const int order[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};
    spl_v8 T[9];
    for (int k = 0; k < 9; k++) T[k] = twice * E[order[k]];
    for (int k = 0; k < 9; k += 4) T[k] += both;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            spl_v8 sum = T[3 * j + i];
            for (int k = 0; k < 3; k++) sum = spl_fma(W[3 * k + i], T[3 * j + k], sum);
            P[3 * j + i] = sum;
        }
    spl_v8 square = spl_fma(E[0], E[0], spl_fma(E[1], E[1], E[2] * E[2]));
    spl_v8 shear = spl_fma(E[3], E[3], spl_fma(E[4], E[4], E[5] * E[5]));
    spl_v8 energy = spl_fma(mu, spl_fma(spl_set8(2), shear, square), spl_set8(0.5F) * both * trace);
    return sum8(energy);
}

/* sum += G^T P, lane by lane. */
SPL_INLINE void spread(const spl_lanes *l, size_t block, const spl_v8 P[9], spl_v8 *sum)
{
    const float *G = l->G + 9 * SPL_LANES * (size_t)l->pad * block;
    for (int32_t j = 0; j < l->pad; j++, G += 9 * SPL_LANES) {
        spl_v8 a = sum[j], b = spl_set8(0), c = b;
        for (size_t k = 0; k < 9; k += 3) { /* three sums: none waits for another */
            a = spl_fma(spl_load8(G + SPL_LANES * k), P[k], a);
            b = spl_fma(spl_load8(G + SPL_LANES * (k + 1)), P[k + 1], b);
            c = spl_fma(spl_load8(G + SPL_LANES * (k + 2)), P[k + 2], c);
        }
        sum[j] = a + (b + c);
    }
}

SPL_INLINE void keep(float *to, const spl_v8 *x, size_t count)
{
    for (size_t k = 0; k < count; k++) spl_store8(to + SPL_LANES * k, x[k]);
}

/* A lane's bits, all set or all clear. */
SPL_INLINE spl_v8 mask_of(int bits)
{
    __m256i one = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits), one), one));
}

double spl_lanes_force_avx2(spl_lanes *l, const float *q, int32_t begin, int32_t end, double *f)
{
    spl_v8 sum[SPL_LANES_RANK + 8];
    double energy = 0;
    for (int32_t j = 0; j < l->pad + 8; j++) sum[j] = spl_set8(0);
    for (size_t b = (size_t)begin; b < (size_t)end; b++) {
        spl_v8 D[9], W[9], E[6], P[9];
        displace(l, b, q, D);
        int hard = split(D, W, E);
        l->hard[b] = (uint8_t)hard;
        keep(l->D + 9 * SPL_LANES * b, D, 9);
        if (hard) { /* their numbers may be none */
            spl_v8 mask = mask_of(hard);
            for (int k = 0; k < 9; k++) W[k] = _mm256_andnot_ps(mask, W[k]);
            for (int k = 0; k < 6; k++) E[k] = _mm256_andnot_ps(mask, E[k]);
        }
        keep(l->W + 9 * SPL_LANES * b, W, 9);
        keep(l->E + 6 * SPL_LANES * b, E, 6);
        energy += stress(l, b, W, E, P);
        if (hard) {
            float by_law[9 * SPL_LANES];
            keep(by_law, P, 9);
            energy += spl_lanes_hard_stress(l, (int32_t)b, by_law);
            for (size_t k = 0; k < 9; k++) P[k] = spl_load8(by_law + SPL_LANES * k);
        }
        spread(l, b, P, sum);
    }
    for (int32_t j = 0; j < l->pad; j += 8) {
        float out[8];
        spl_store8(out, sums8(sum + j));
        for (int32_t k = 0; k < 8 && j + k < l->pad; k++) f[j + k] -= (double)out[k];
    }
    return energy;
}

/* ---- the Jacobian ---- */

/* Four rows of Y and M Y of a column: the modes of corot.h, R^T G and what is skew in it. */
SPL_INLINE void modes(const float *G, const spl_v8 R[9], const spl_v8 M[7], spl_v8 Y[4], spl_v8 Z[4])
{
    spl_v8 g[9];
    for (size_t k = 0; k < 9; k++) g[k] = spl_load8(G + SPL_LANES * k);
    spl_v8 trace = R[0] * g[0];
    for (int k = 1; k < 9; k++) trace = spl_fma(R[k], g[k], trace);
    Y[0] = trace;
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        spl_v8 sum = R[3 * j] * g[3 * i];
        sum = spl_fma(R[3 * j + 1], g[3 * i + 1], spl_fma(R[3 * j + 2], g[3 * i + 2], sum));
        for (int r = 0; r < 3; r++) sum = spl_fnma(R[3 * i + r], g[3 * j + r], sum);
        Y[k + 1] = sum;
    }
    Z[0] = M[0] * Y[0];
    Z[1] = spl_fma(M[1], Y[1], spl_fma(M[4], Y[2], M[5] * Y[3]));
    Z[2] = spl_fma(M[4], Y[1], spl_fma(M[2], Y[2], M[6] * Y[3]));
    Z[3] = spl_fma(M[5], Y[1], spl_fma(M[6], Y[2], M[3] * Y[3]));
}

/* R, and M of corot.h by the scale: lambda, then xx yy zz xy xz yz. Both 0 for hard tets. */
SPL_INLINE void load_modes(const spl_lanes *l, size_t block, spl_v8 R[9], spl_v8 M[7])
{
    spl_v8 E[6], adj[6], det, one = spl_set8(1);
    size_t at = SPL_LANES * block;
    for (size_t k = 0; k < 6; k++) E[k] = spl_load8(l->E + 6 * at + SPL_LANES * k);
    for (size_t k = 0; k < 9; k++) {
        R[k] = spl_load8(l->W + 9 * at + SPL_LANES * k);
        if (k % 4 == 0) R[k] += one;
    }
    cofactors(E, adj, &det);
    spl_v8 scale = spl_load8(l->scale + at), mu = spl_load8(l->mu + at), lambda = spl_load8(l->lambda + at);
    if (l->hard[block]) scale = _mm256_andnot_ps(mask_of(l->hard[block]), scale);
    spl_v8 by = scale * (spl_fma(lambda, E[0] + E[1] + E[2], spl_set8(-2) * mu)) / det;
    M[0] = scale * lambda;
    for (int k = 0; k < 6; k++) M[k + 1] = by * adj[k];
}

typedef struct sums {
    spl_v8 Y[SPL_LANES_RANK][4], Z[SPL_LANES_RANK][4];
    /* Two rows of the triangle at a time, each from the first one's diagonal on, in lengths of eight. */
    spl_v8 K[SPL_LANES_RANK * (SPL_LANES_RANK / 2 + 8)];
} sums;

SPL_INLINE size_t length_of(size_t pad, size_t i)
{
    return (pad - i + 7) & ~(size_t)7;
}

/* K += Y^T Z, lane by lane. */
SPL_INLINE void multiply(sums *s, size_t n)
{
    spl_v8 *to = s->K;
    for (size_t i = 0; i < n; i += 2) {
        size_t length = length_of(n, i);
        spl_v8 a[4], b[4];
        memcpy(a, s->Y[i], sizeof a);
        memcpy(b, s->Y[i + 1], sizeof b);
        for (size_t j = i; j < n; j++) {
            const spl_v8 *z = s->Z[j];
            spl_v8 c = to[j - i], d = to[length + j - i];
            for (int k = 0; k < 4; k++) {
                c = spl_fma(a[k], z[k], c);
                d = spl_fma(b[k], z[k], d);
            }
            to[j - i] = c;
            to[length + j - i] = d;
        }
        to += 2 * length;
    }
}

void spl_lanes_hessian_avx2(const spl_lanes *l, int32_t begin, int32_t end, double *K)
{
    sums s;
    size_t n = (size_t)l->pad, size = 0;
    for (size_t i = 0; i < n; i += 2) size += 2 * length_of(n, i);
    memset(s.K, 0, size * sizeof *s.K);
    for (size_t b = (size_t)begin; b < (size_t)end; b++) {
        spl_v8 R[9], M[7];
        load_modes(l, b, R, M);
        const float *G = l->G + 9 * SPL_LANES * n * b;
        for (size_t j = 0; j < n; j++) modes(G + 9 * SPL_LANES * j, R, M, s.Y[j], s.Z[j]);
        multiply(&s, n);
    }
    const spl_v8 *from = s.K;
    for (size_t i = 0; i < n; i++) { /* row i, from the pair's diagonal on */
        size_t first = i & ~(size_t)1, length = length_of(n, first);
        for (size_t j = 0; j < length; j += 8) {
            float out[8];
            spl_store8(out, sums8(from + j));
            for (size_t k = 0; k < 8 && first + j + k < n; k++) K[i * n + first + j + k] += (double)out[k];
        }
        from += length;
    }
}

/* ---- places ---- */

void spl_lanes_place_avx2(const float *table, int32_t rank, const float *q, const float R[9], float *y)
{
    const float *U = table + 3 * SPL_LANES;
    spl_v8 x[3], odd[3];
    for (size_t c = 0; c < 3; c++) x[c] = spl_load8(table + SPL_LANES * c), odd[c] = spl_set8(0);
    int32_t j = 0;
    for (; j + 2 <= rank; j += 2, U += 6 * SPL_LANES) { /* two sums: neither waits for the other */
        spl_v8 a = spl_set8(q[j]), b = spl_set8(q[j + 1]);
        for (size_t c = 0; c < 3; c++) {
            x[c] = spl_fma(spl_load8(U + SPL_LANES * c), a, x[c]);
            odd[c] = spl_fma(spl_load8(U + SPL_LANES * (c + 3)), b, odd[c]);
        }
    }
    for (size_t c = 0; c < 3 && j < rank; c++) x[c] = spl_fma(spl_load8(U + SPL_LANES * c), spl_set8(q[j]), x[c]);
    for (int c = 0; c < 3; c++) x[c] += odd[c];
    for (size_t c = 0; c < 3; c++) {
        spl_v8 sum = spl_set8(R[c]) * x[0];
        sum = spl_fma(spl_set8(R[3 + c]), x[1], sum);
        spl_store8(y + SPL_LANES * c, spl_fma(spl_set8(R[6 + c]), x[2], sum));
    }
}
