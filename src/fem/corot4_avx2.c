/* Four tets side by side, a number of each in a vector. The decomposition is that of math/svd3.c, without branches: the
 * same first guess, Jacobi's sweeps for as long as one of the four turns. */
#include "fem/corot4.h"

#include "fem/principal.h"
#include "math/simd4.h"

#include <float.h>

typedef spl_v4 v4;

typedef struct vec4 {
    v4 x, y, z;
} vec4;

/* ---- lanes ---- */

SPL_INLINE v4 less(v4 a, v4 b)
{
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}
SPL_INLINE bool all(v4 mask)
{
    return _mm256_movemask_pd(mask) == 15;
}
SPL_INLINE v4 pick(v4 mask, v4 a, v4 b)
{
    return _mm256_blendv_pd(b, a, mask);
}
SPL_INLINE v4 root(v4 a)
{
    return _mm256_sqrt_pd(a);
}
SPL_INLINE v4 absolute(v4 a)
{
    return _mm256_andnot_pd(spl_set4(-0.0), a);
}
SPL_INLINE v4 sign_of(v4 size, v4 sign) /* size >= 0 */
{
    return _mm256_or_pd(size, _mm256_and_pd(spl_set4(-0.0), sign));
}
SPL_INLINE v4 dot(vec4 a, vec4 b)
{
    return spl_fma4(a.x, b.x, spl_fma4(a.y, b.y, a.z * b.z));
}
SPL_INLINE vec4 scale(vec4 a, v4 s)
{
    return (vec4){a.x * s, a.y * s, a.z * s};
}
SPL_INLINE vec4 madd(vec4 a, vec4 b, v4 s) /* a + s b */
{
    return (vec4){spl_fma4(b.x, s, a.x), spl_fma4(b.y, s, a.y), spl_fma4(b.z, s, a.z)};
}
SPL_INLINE vec4 cross(vec4 a, vec4 b)
{
    return (vec4){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
SPL_INLINE vec4 pick3(v4 mask, vec4 a, vec4 b)
{
    return (vec4){pick(mask, a.x, b.x), pick(mask, a.y, b.y), pick(mask, a.z, b.z)};
}

/* Four rows of four numbers, and back. */
SPL_INLINE void transpose(v4 r[4])
{
    v4 a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]);
    v4 c = _mm256_unpacklo_pd(r[2], r[3]), d = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(a, c, 0x20);
    r[1] = _mm256_permute2f128_pd(b, d, 0x20);
    r[2] = _mm256_permute2f128_pd(a, c, 0x31);
    r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

/* `count` numbers of each of four tets, `count` apart; count is even. */
SPL_INLINE void load(const double *from, int count, v4 *to)
{
    for (int i = 0; i < count; i += 4) {
        for (int lane = 0; lane < 4; lane++) to[i + lane] = _mm256_loadu_pd(from + lane * count + i);
        transpose(to + i);
    }
}
SPL_INLINE void store(double *to, int count, const v4 *from)
{
    int i = 0;
    for (; i + 4 <= count; i += 4) {
        v4 r[4] = {from[i], from[i + 1], from[i + 2], from[i + 3]};
        transpose(r);
        for (int lane = 0; lane < 4; lane++) _mm256_storeu_pd(to + lane * count + i, r[lane]);
    }
    for (; i < count; i++)
        for (int lane = 0; lane < 4; lane++) to[lane * count + i] = from[i][lane];
}

/* ---- the decomposition ---- */

SPL_INLINE bool rotate_pair(vec4 B[3], vec4 V[3], int p, int q)
{
    const v4 one = spl_set4(1), noise = spl_set4(16 * DBL_EPSILON * DBL_EPSILON);
    v4 alpha = dot(B[p], B[p]), beta = dot(B[q], B[q]), gamma = dot(B[p], B[q]);
    v4 turns = less(noise * alpha * beta, gamma * gamma);
    if (_mm256_movemask_pd(turns) == 0) return false;
    v4 delta = beta - alpha, twice = gamma + gamma, square = twice * twice;
    v4 h = absolute(delta) + root(spl_fma4(delta, delta, square)), unit = one / root(spl_fma4(h, h, square));
    v4 c = pick(turns, h * unit, one), s = _mm256_and_pd(turns, sign_of(unit, delta) * twice);
    vec4 b = B[p], v = V[p];
    B[p] = madd(scale(b, c), B[q], -s);
    B[q] = madd(scale(B[q], c), b, s);
    V[p] = madd(scale(v, c), V[q], -s);
    V[q] = madd(scale(V[q], c), v, s);
    return true;
}

SPL_INLINE v4 third_cosine(v4 r)
{
    const v4 three = spl_set4(3), four = spl_set4(4), twelve = spl_set4(12);
    v4 y = spl_fma4(spl_set4(0.1339745962155614), r, spl_set4(0.8660254037844386));
    for (int i = 0; i < 3; i++) {
        v4 square = y * y;
        y -= ((four * square - three) * y - r) / (twelve * square - three);
    }
    return y;
}

/* Where the mask that is returned is not set there is none. */
SPL_INLINE v4 eigenvector(v4 x, v4 y, v4 z, v4 xy, v4 xz, v4 yz, vec4 *v)
{
    vec4 r0 = {x, xy, xz}, r1 = {xy, y, yz}, r2 = {xz, yz, z};
    vec4 n1 = cross(r1, r2), n2 = cross(r2, r0);
    *v = cross(r0, r1);
    v4 best = dot(*v, *v), size = dot(n1, n1), more = less(best, size);
    *v = pick3(more, n1, *v);
    best = pick(more, size, best);
    size = dot(n2, n2);
    more = less(best, size);
    *v = pick3(more, n2, *v);
    best = pick(more, size, best);
    *v = scale(*v, spl_set4(1) / root(best));
    return less(spl_set4(DBL_MIN), best);
}

SPL_INLINE void guess(vec4 B[3], vec4 V[3])
{
    const v4 zero = spl_set4(0), one = spl_set4(1), two = spl_set4(2), third = spl_set4(1.0 / 3);
    v4 xx = dot(B[0], B[0]), yy = dot(B[1], B[1]), zz = dot(B[2], B[2]), q = (xx + yy + zz) * third;
    v4 xy = dot(B[0], B[1]), xz = dot(B[0], B[2]), yz = dot(B[1], B[2]);
    v4 x = xx - q, y = yy - q, z = zz - q;
    v4 p = root((x * x + y * y + z * z + two * (xy * xy + xz * xz + yz * yz)) * (spl_set4(0.5) * third));
    v4 det = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz), r = det / (two * p * p * p);
    v4 lambda = sign_of(two * p * third_cosine(_mm256_min_pd(absolute(r), one)), r);
    vec4 v;
    v4 sure = eigenvector(x - lambda, y - lambda, z - lambda, xy, xz, yz, &v);
    sure = _mm256_and_pd(sure, less(spl_set4(1e-12) * q, p));
    v4 flat = less(spl_set4(0.6), absolute(v.x));
    vec4 u = {pick(flat, v.y, zero), pick(flat, -v.x, v.z), pick(flat, zero, -v.y)};
    u = scale(u, one / root(dot(u, u)));
    vec4 W[3] = {v, u, cross(v, u)}, b[3] = {B[0], B[1], B[2]};
    for (int j = 0; j < 3; j++) {
        V[j] = pick3(sure, W[j], V[j]);
        B[j] = pick3(sure, madd(madd(scale(b[0], W[j].x), b[1], W[j].y), b[2], W[j].z), b[j]);
    }
    rotate_pair(B, V, 1, 2);
}

SPL_INLINE void order_pair(vec4 B[3], vec4 V[3], int p, int q)
{
    v4 swap = less(dot(B[p], B[p]), dot(B[q], B[q]));
    vec4 b = B[p], v = V[p];
    const v4 back = spl_set4(-1);
    B[p] = pick3(swap, B[q], b);
    V[p] = pick3(swap, V[q], v);
    B[q] = pick3(swap, scale(b, back), B[q]);
    V[q] = pick3(swap, scale(v, back), V[q]);
}

typedef struct stretch4 {
    vec4 U[3], V[3];
    v4 s[3];
} stretch4;

/* F by columns. False where one of the four is not finite, has rank one or none, or is huge or tiny. */
static bool decompose(const vec4 F[3], stretch4 *out)
{
    enum { SWEEPS = 30 };
    const v4 zero = spl_set4(0), one = spl_set4(1);
    v4 size = dot(F[0], F[0]) + dot(F[1], F[1]) + dot(F[2], F[2]);
    if (!all(less(size, spl_set4(1e60))) || !all(less(spl_set4(1e-60), size))) return false;
    vec4 B[3] = {F[0], F[1], F[2]}, *V = out->V, *U = out->U;
    V[0] = (vec4){one, zero, zero};
    V[1] = (vec4){zero, one, zero};
    V[2] = (vec4){zero, zero, one};
    guess(B, V);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool turned = rotate_pair(B, V, 0, 1);
        turned |= rotate_pair(B, V, 0, 2);
        turned |= rotate_pair(B, V, 1, 2);
        if (!turned) break;
    }
    order_pair(B, V, 0, 1);
    order_pair(B, V, 0, 2);
    order_pair(B, V, 1, 2);
    v4 *s = out->s;
    s[0] = root(dot(B[0], B[0]));
    U[0] = scale(B[0], one / s[0]);
    vec4 b1 = madd(B[1], U[0], -dot(U[0], B[1]));
    v4 n1 = root(dot(b1, b1));
    if (!all(less(spl_set4(1e-14) * s[0], n1))) return false;
    U[1] = scale(b1, one / n1);
    U[2] = cross(U[0], U[1]);
    s[2] = dot(U[2], B[2]);
    s[1] = _mm256_max_pd(n1, absolute(s[2]));
    s[0] = _mm256_max_pd(s[0], s[1]);
    return true;
}

/* ---- the law ---- */

/* F = sum_i x_i g_i^T by columns, and the gradients. */
SPL_INLINE void gather(const spl_corot4 *c, size_t k, v4 g[12], vec4 F[3])
{
    const spl_elements *e = c->elements;
    const int32_t *t = e->tet + 4 * k;
    const v4 zero = spl_set4(0);
    load(e->gradient + 12 * k, 12, g);
    F[0] = F[1] = F[2] = (vec4){zero, zero, zero};
    for (int i = 0; i < 4; i++) {
        const double *a = c->x + 3 * (size_t)t[i], *b = c->x + 3 * (size_t)t[4 + i], *d = c->x + 3 * (size_t)t[8 + i],
                     *f = c->x + 3 * (size_t)t[12 + i];
        vec4 x = {_mm256_setr_pd(a[0], b[0], d[0], f[0]), _mm256_setr_pd(a[1], b[1], d[1], f[1]),
                  _mm256_setr_pd(a[2], b[2], d[2], f[2])};
        for (int j = 0; j < 3; j++) F[j] = madd(F[j], x, g[3 * i + j]);
    }
}

SPL_INLINE v4 lambda_of(const spl_corot4 *c, size_t k)
{
    return c->arap ? spl_set4(0) : _mm256_loadu_pd(c->lambda + k);
}

bool spl_corot4_pull_avx2(const spl_corot4 *c, size_t k, double *corner, double energy[4])
{
    const v4 one = spl_set4(1), two = spl_set4(2);
    v4 g[12], f[12], mu = _mm256_loadu_pd(c->mu + k), lambda = lambda_of(c, k);
    v4 volume = _mm256_loadu_pd(c->elements->volume + k);
    vec4 F[3], P[3];
    stretch4 d;
    gather(c, k, g, F);
    if (!decompose(F, &d)) return false;
    v4 a = d.s[0] - one, b = d.s[1] - one, e = d.s[2] - one, trace = a + b + e;
    v4 psi = mu * (a * a + b * b + e * e) + spl_set4(0.5) * lambda * trace * trace;
    _mm256_storeu_pd(energy, volume * psi);
    v4 turn = lambda * trace - two * mu, stiff = two * mu; /* P = 2 mu F + turn R */
    for (int j = 0; j < 3; j++) {
        v4 v[3] = {j == 0   ? d.V[0].x
                   : j == 1 ? d.V[0].y
                            : d.V[0].z,
                   j == 0   ? d.V[1].x
                   : j == 1 ? d.V[1].y
                            : d.V[1].z,
                   j == 0   ? d.V[2].x
                   : j == 1 ? d.V[2].y
                            : d.V[2].z};
        vec4 R = madd(madd(scale(d.U[0], v[0]), d.U[1], v[1]), d.U[2], v[2]);
        P[j] = scale(madd(scale(F[j], stiff), R, turn), -volume);
    }
    for (int i = 0; i < 4; i++) {
        vec4 at = madd(madd(scale(P[0], g[3 * i]), P[1], g[3 * i + 1]), P[2], g[3 * i + 2]);
        f[3 * i] = at.x, f[3 * i + 1] = at.y, f[3 * i + 2] = at.z;
    }
    store(corner, 12, f);
    return true;
}

/* B = U Q U^T by columns, Q by columns. */
SPL_INLINE void turn_block(const vec4 U[3], const v4 Q[9], v4 B[9])
{
    vec4 T[3];
    for (int j = 0; j < 3; j++) T[j] = madd(madd(scale(U[0], Q[3 * j]), U[1], Q[3 * j + 1]), U[2], Q[3 * j + 2]);
    const v4 row[3][3] = {{U[0].x, U[1].x, U[2].x}, {U[0].y, U[1].y, U[2].y}, {U[0].z, U[1].z, U[2].z}};
    for (int s = 0; s < 3; s++) {
        vec4 to = madd(madd(scale(T[0], row[s][0]), T[1], row[s][1]), T[2], row[s][2]);
        B[3 * s] = to.x, B[3 * s + 1] = to.y, B[3 * s + 2] = to.z;
    }
}

/* With h_i = V^T g_i the block of corners i and j is W U Q U^T, Q as in fill_block of principal.c for h_i and h_j: the
 * 9 x 9 Hessian is never made. */
bool spl_corot4_stiffness_avx2(const spl_corot4 *c, size_t k, double share, double *out)
{
    const v4 zero = spl_set4(0), two = spl_set4(2), half = spl_set4(0.5), kept = spl_set4(share);
    v4 g[12], h[12], K[90], p[3], m[3], mu = _mm256_loadu_pd(c->mu + k), lambda = lambda_of(c, k);
    v4 volume = _mm256_loadu_pd(c->elements->volume + k), stiff = two * mu, A = lambda + stiff;
    vec4 F[3];
    stretch4 d;
    gather(c, k, g, F);
    if (!decompose(F, &d)) return false;
    v4 turn = two * (lambda * (d.s[0] + d.s[1] + d.s[2] - spl_set4(3)) - stiff);
    for (int q = 0; q < 3; q++) {
        v4 sum = _mm256_max_pd(d.s[(q + 1) % 3] + d.s[(q + 2) % 3], spl_set4(SPL_STRETCH_SUM_MIN));
        v4 twist = stiff + turn / sum;
        twist = pick(less(twist, zero), kept * twist, twist);
        p[q] = half * (stiff + twist);
        m[q] = half * (stiff - twist);
    }
    for (int i = 0; i < 4; i++)
        for (int q = 0; q < 3; q++) h[3 * i + q] = dot(d.V[q], (vec4){g[3 * i], g[3 * i + 1], g[3 * i + 2]});
    v4 *to = K;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++, to += 9) {
            const v4 *a = h + 3 * i, *b = h + 3 * j;
            v4 w0 = volume * a[0] * b[0], w1 = volume * a[1] * b[1], w2 = volume * a[2] * b[2], Q[9];
            Q[0] = A * w0 + p[2] * w1 + p[1] * w2;
            Q[4] = p[2] * w0 + A * w1 + p[0] * w2;
            Q[8] = p[1] * w0 + p[0] * w1 + A * w2;
            for (int s = 0; s < 3; s++)
                for (int r = 0; r < 3; r++)
                    if (r != s) Q[3 * s + r] = volume * (lambda * a[r] * b[s] + m[3 - r - s] * a[s] * b[r]);
            turn_block(d.U, Q, to);
        }
    store(out, 90, K);
    return true;
}
