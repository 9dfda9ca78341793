/* svd3.c, eight matrices at a time in float: the same steps with masks for branches. */
#include "math/simd8.h"
#include "math/svd3.h"

/* As in svd3.c, for float. */
#define RANK_ONE 1e-6F

/* Random matrices are done after 4 sweeps, mostly; the loop ends when all eight are. */
enum { SWEEPS_MAX = 10 };

typedef struct v3 {
    spl_v8 x, y, z;
} v3;

SPL_INLINE spl_v8 dot(v3 a, v3 b)
{
    return spl_fma(a.x, b.x, spl_fma(a.y, b.y, a.z * b.z));
}
SPL_INLINE v3 cross(v3 a, v3 b)
{
    return (v3){spl_fnma(a.z, b.y, a.y * b.z), spl_fnma(a.x, b.z, a.z * b.x), spl_fnma(a.y, b.x, a.x * b.y)};
}
SPL_INLINE v3 scale(v3 a, spl_v8 s)
{
    return (v3){a.x * s, a.y * s, a.z * s};
}
SPL_INLINE v3 madd(v3 a, v3 b, spl_v8 s) /* a + s b */
{
    return (v3){spl_fma(b.x, s, a.x), spl_fma(b.y, s, a.y), spl_fma(b.z, s, a.z)};
}
SPL_INLINE v3 choose(spl_v8 mask, v3 a, v3 b)
{
    return (v3){spl_select8(mask, a.x, b.x), spl_select8(mask, a.y, b.y), spl_select8(mask, a.z, b.z)};
}
/* Unit vector; the length must not be zero. */
SPL_INLINE v3 unit(v3 a)
{
    return scale(a, spl_set8(1) / spl_sqrt8(dot(a, a)));
}

/* Makes columns p and q orthogonal; returns where they already were, to rounding. */
SPL_INLINE spl_v8 rotate_pair(v3 B[3], v3 V[3], int p, int q)
{
    spl_v8 alpha = dot(B[p], B[p]), beta = dot(B[q], B[q]), gamma = dot(B[p], B[q]), one = spl_set8(1);
    spl_v8 delta = beta - alpha, twice = gamma + gamma;
    spl_v8 root = spl_sqrt8(spl_fma(delta, delta, twice * twice));
    spl_v8 t = twice / spl_copysign8(spl_max8(spl_abs8(delta) + root, spl_set8(1e-37F)), delta);
    spl_v8 c = one / spl_sqrt8(spl_fma(t, t, one)), s = c * t;
    v3 b = B[p], v = V[p];
    B[p] = madd(scale(b, c), B[q], -s);
    B[q] = madd(scale(B[q], c), b, s);
    V[p] = madd(scale(v, c), V[q], -s);
    V[q] = madd(scale(V[q], c), v, s);
    return _mm256_cmp_ps(gamma * gamma, spl_set8(9e-14F) * alpha * beta, _CMP_LE_OQ);
}

SPL_INLINE void order_pair(v3 B[3], v3 V[3], int p, int q)
{
    spl_v8 swap = spl_less8(dot(B[p], B[p]), dot(B[q], B[q])), minus = spl_set8(-1);
    v3 b = B[p], v = V[p];
    B[p] = choose(swap, B[q], b);
    V[p] = choose(swap, V[q], v);
    B[q] = choose(swap, scale(b, minus), B[q]);
    V[q] = choose(swap, scale(v, minus), V[q]);
}

/* x turned by the smallest rotation that takes unit a to unit b; x is perpendicular to a, and where b = -a the half
 * turn is about x itself. */
SPL_INLINE v3 turn_along(v3 x, v3 a, v3 b)
{
    v3 n = cross(a, b);
    spl_v8 c = dot(a, b), h = spl_set8(1) + c, opposite = spl_less8(h, spl_set8(1e-6F));
    v3 turned = madd(scale(x, c), n, dot(n, x) / spl_select8(opposite, spl_set8(1), h));
    return choose(opposite, x, madd(turned, cross(n, x), spl_set8(1)));
}

SPL_INLINE void left_vectors(const v3 B[3], const v3 V[3], v3 U[3], spl_v8 sigma[3])
{
    spl_v8 zero = spl_set8(0), one = spl_set8(1), n0 = spl_sqrt8(dot(B[0], B[0])), some = spl_less8(zero, n0);
    U[0] = choose(some, scale(B[0], one / spl_select8(some, n0, one)), V[0]);
    v3 b1 = madd(B[1], U[0], -dot(U[0], B[1]));
    spl_v8 n1 = spl_sqrt8(dot(b1, b1)), full = spl_less8(spl_set8(RANK_ONE) * n0, n1);
    v3 second = choose(full, scale(b1, one / spl_select8(full, n1, one)), turn_along(V[1], V[0], U[0]));
    U[1] = unit(madd(second, U[0], -dot(U[0], second)));
    U[2] = cross(U[0], U[1]);
    sigma[2] = spl_and8(full, dot(U[2], B[2]));
    sigma[1] = spl_and8(full, spl_max8(n1, spl_abs8(sigma[2]))); /* equal values stay in order, against rounding */
    sigma[0] = spl_max8(n0, sigma[1]);
}

/* Loads column j of eight matrices, zero in lanes that are not finite, scaled by `s`. */
SPL_INLINE v3 load_column(const spl_mat3x8 *F, int j, spl_v8 finite, spl_v8 s)
{
    v3 a = {spl_load8(F->m[3 * j]), spl_load8(F->m[3 * j + 1]), spl_load8(F->m[3 * j + 2])};
    return (v3){spl_and8(finite, a.x) * s, spl_and8(finite, a.y) * s, spl_and8(finite, a.z) * s};
}

SPL_INLINE void store_columns(spl_mat3x8 *to, const v3 a[3])
{
    for (int j = 0; j < 3; j++) {
        spl_store8(to->m[3 * j], a[j].x);
        spl_store8(to->m[3 * j + 1], a[j].y);
        spl_store8(to->m[3 * j + 2], a[j].z);
    }
}

/* F = U diag(sigma) V^T; returns the lanes that are finite. */
SPL_INLINE spl_v8 svd8(const spl_mat3x8 *F, v3 U[3], spl_v8 sigma[3], v3 V[3])
{
    spl_v8 zero = spl_set8(0), one = spl_set8(1), largest = zero, sum = zero;
    for (int i = 0; i < 9; i++) {
        spl_v8 f = spl_load8(F->m[i]);
        largest = spl_max8(largest, spl_abs8(f));
        sum = sum + f * zero; /* NaN where an entry is not finite */
    }
    spl_v8 finite = _mm256_cmp_ps(sum, zero, _CMP_EQ_OQ);
    spl_v8 down = spl_inverse_power8(spl_and8(finite, largest)), up = one / down;
    v3 B[3];
    for (int j = 0; j < 3; j++) {
        B[j] = load_column(F, j, finite, down);
        V[j] = (v3){j == 0 ? one : zero, j == 1 ? one : zero, j == 2 ? one : zero};
    }
    for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        spl_v8 done = rotate_pair(B, V, 0, 1);
        done = spl_and8(done, rotate_pair(B, V, 0, 2));
        done = spl_and8(done, rotate_pair(B, V, 1, 2));
        if (spl_all8(done)) break;
    }
    order_pair(B, V, 0, 1);
    order_pair(B, V, 0, 2);
    order_pair(B, V, 1, 2);
    V[0] = unit(V[0]); /* some fifteen rotations in float: back to orthogonal */
    V[1] = unit(madd(V[1], V[0], -dot(V[0], V[1])));
    V[2] = cross(V[0], V[1]);
    left_vectors(B, V, U, sigma);
    for (int i = 0; i < 3; i++) sigma[i] = sigma[i] * up;
    return finite;
}

bool spl_svd3_blocks_avx2(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *U, spl_vec3x8 *sigma, spl_mat3x8 *V)
{
    bool finite = true;
    for (size_t b = 0; b < blocks; b++) {
        v3 u[3], v[3];
        spl_v8 s[3];
        finite &= spl_all8(svd8(&F[b], u, s, v));
        store_columns(&U[b], u);
        store_columns(&V[b], v);
        for (int i = 0; i < 3; i++) spl_store8(sigma[b].v[i], s[i]);
    }
    return finite;
}

/* a b^T as columns: sum_i a_i (b_i)_j */
SPL_INLINE void mul_transposed(const v3 a[3], const v3 b[3], v3 out[3])
{
    out[0] = madd(madd(scale(a[0], b[0].x), a[1], b[1].x), a[2], b[2].x);
    out[1] = madd(madd(scale(a[0], b[0].y), a[1], b[1].y), a[2], b[2].y);
    out[2] = madd(madd(scale(a[0], b[0].z), a[1], b[1].z), a[2], b[2].z);
}

bool spl_polar3_blocks_avx2(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *R, spl_mat3x8 *S)
{
    bool all = true;
    for (size_t b = 0; b < blocks; b++) {
        v3 u[3], v[3], r[3], stretched[3], s[3];
        spl_v8 sigma[3], finite = svd8(&F[b], u, sigma, v), one = spl_set8(1);
        mul_transposed(u, v, r);
        for (int i = 0; i < 3; i++) stretched[i] = scale(v[i], sigma[i]);
        mul_transposed(stretched, v, s);
        s[0] = (v3){spl_select8(finite, s[0].x, one), s[0].y, s[0].z};
        s[1] = (v3){s[0].y, spl_select8(finite, s[1].y, one), s[1].z}; /* exactly symmetric */
        s[2] = (v3){s[0].z, s[1].z, spl_select8(finite, s[2].z, one)};
        all &= spl_all8(finite);
        store_columns(&R[b], r);
        store_columns(&S[b], s);
    }
    return all;
}
