#include "math/svd3.h"

#include "math/cpu.h"
#include "math/quat.h"

#include <float.h>

/* Below this ratio to the largest singular value the second one is rounding noise, and so is its direction. */
#define RANK_ONE 1e-15

/* Jacobi converges quadratically; random matrices take 4 to 6 sweeps, graded ones a few more. */
enum { SWEEPS_MAX = 30 };

/* Turns columns p and q of B (and of V with it) so that they become orthogonal; false if they were. */
static bool rotate_pair(spl_vec3 B[3], spl_vec3 V[3], int p, int q)
{
    double alpha = spl_dot(B[p], B[p]), beta = spl_dot(B[q], B[q]), gamma = spl_dot(B[p], B[q]);
    /* Squares may vanish only for columns below RANK_ONE, whose directions count for nothing. */
    if (!(gamma * gamma > 16 * DBL_EPSILON * DBL_EPSILON * alpha * beta)) return false;
    /* (c, s) is along (|delta| + root, +-2 gamma): the tangent is the smaller root of t^2 + t delta / gamma - 1 = 0. */
    double delta = beta - alpha, twice = 2 * gamma;
    double h = fabs(delta) + sqrt(delta * delta + twice * twice), unit = 1 / sqrt(h * h + twice * twice);
    double c = h * unit, s = copysign(unit, delta) * twice;
    spl_vec3 b = B[p], v = V[p];
    B[p] = spl_madd(spl_scale(b, c), B[q], -s);
    B[q] = spl_madd(spl_scale(B[q], c), b, s);
    V[p] = spl_madd(spl_scale(v, c), V[q], -s);
    V[q] = spl_madd(spl_scale(V[q], c), v, s);
    return true;
}

/* Where along y in [cos 30, 1] lies 4 y^3 - 3 y = r, r in [0, 1]: y = cos(acos(r) / 3) by Newton's method, whose
 * derivative is 6 at least. Three steps from the chord leave rounding. */
static double third_cosine(double r)
{
    double y = 0.8660254037844386 + 0.1339745962155614 * r;
    for (int i = 0; i < 3; i++) y -= ((4 * y * y - 3) * y - r) / (12 * y * y - 3);
    return y;
}

/* A unit vector v with C v = lambda v, from the longest cross product of two rows of C - lambda I (x y z on the
 * diagonal); false if they are all 0. */
static bool eigenvector(double x, double y, double z, double xy, double xz, double yz, spl_vec3 *v)
{
    spl_vec3 r0 = {x, xy, xz}, r1 = {xy, y, yz}, r2 = {xz, yz, z};
    spl_vec3 n[3] = {spl_cross(r0, r1), spl_cross(r1, r2), spl_cross(r2, r0)};
    double best = spl_dot(n[0], n[0]);
    *v = n[0];
    for (int i = 1; i < 3; i++) {
        double size = spl_dot(n[i], n[i]);
        if (size > best) *v = n[i], best = size;
    }
    if (!(best > DBL_MIN)) return false;
    *v = spl_scale(*v, 1 / sqrt(best));
    return true;
}

/* A first V without iteration: of the eigenvalues q + 2 p cos(..) of B^T B (Smith 1961) the largest or the smallest is
 * at least sqrt 3 p from both others, so its eigenvector is well determined; one rotation settles the other two. What
 * rounding leaves, mostly one sweep, is the sweeps' work, and so is everything where it is not sure: halves the time.
 */
static void guess(spl_vec3 B[3], spl_vec3 V[3])
{
    double xx = spl_dot(B[0], B[0]), yy = spl_dot(B[1], B[1]), zz = spl_dot(B[2], B[2]), q = (xx + yy + zz) / 3;
    double xy = spl_dot(B[0], B[1]), xz = spl_dot(B[0], B[2]), yz = spl_dot(B[1], B[2]);
    double x = xx - q, y = yy - q, z = zz - q;
    double p = sqrt((x * x + y * y + z * z + 2 * (xy * xy + xz * xz + yz * yz)) / 6);
    if (!(p > 1e-12 * q)) return;
    double det = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz), r = det / (2 * p * p * p);
    double lambda = copysign(2 * p * third_cosine(fabs(r) < 1 ? fabs(r) : 1), r);
    spl_vec3 v;
    if (!eigenvector(x - lambda, y - lambda, z - lambda, xy, xz, yz, &v)) return;
    spl_vec3 u = fabs(v.x) > 0.6 ? spl_v3(v.y, -v.x, 0) : spl_v3(0, v.z, -v.y); /* across v, not short */
    u = spl_scale(u, 1 / spl_norm(u));
    V[0] = v, V[1] = u, V[2] = spl_cross(v, u);
    spl_vec3 b[3] = {B[0], B[1], B[2]};
    for (int j = 0; j < 3; j++) B[j] = spl_madd(spl_madd(spl_scale(b[0], V[j].x), b[1], V[j].y), b[2], V[j].z);
    rotate_pair(B, V, 1, 2);
}

/* Longest column first. Swapping with a sign keeps V a rotation. */
static void order_pair(spl_vec3 B[3], spl_vec3 V[3], int p, int q)
{
    if (spl_dot(B[p], B[p]) >= spl_dot(B[q], B[q])) return;
    spl_vec3 b = B[p], v = V[p];
    B[p] = B[q];
    V[p] = V[q];
    B[q] = spl_scale(b, -1);
    V[q] = spl_scale(v, -1);
}

/* U and sigma from the orthogonal columns B = U diag(sigma). The third direction follows from the first two, so U is a
 * rotation and the last value takes the sign. */
static void left_vectors(const spl_vec3 B[3], const spl_vec3 V[3], spl_vec3 U[3], double sigma[3])
{
    sigma[0] = spl_norm(B[0]);
    sigma[1] = sigma[2] = 0;
    U[0] = spl_unit(B[0], V[0]);
    spl_vec3 b1 = spl_madd(B[1], U[0], -spl_dot(U[0], B[1]));
    double n1 = spl_norm(b1);
    if (n1 > RANK_ONE * sigma[0]) {
        U[1] = spl_scale(b1, 1 / n1);
        U[2] = spl_cross(U[0], U[1]);
        sigma[2] = spl_dot(U[2], B[2]);
        sigma[1] = fmax(n1, fabs(sigma[2])); /* equal values stay in order, against rounding */
        sigma[0] = fmax(sigma[0], sigma[1]);
        return;
    }
    /* Rank 1 or 0: F says only where V[0] goes; the rest turns along, by the smallest rotation that does it. */
    spl_quat arc = spl_quat_shortest_arc(V[0], U[0]);
    U[1] = spl_quat_rotate(arc, V[1]);
    U[2] = spl_cross(U[0], U[1]);
}

bool spl_svd3(const spl_mat3 *F, spl_mat3 *U, double sigma[3], spl_mat3 *V)
{
    *U = *V = spl_mat3_identity();
    sigma[0] = sigma[1] = sigma[2] = 0;
    if (!spl_mat3_finite(F)) return false;
    double largest = 0;
    for (int i = 0; i < 9; i++) largest = fabs(F->m[i]) > largest ? fabs(F->m[i]) : largest; /* fmax is a call */
    if (largest == 0) return true;
    /* Squares of entries near 1 neither overflow nor vanish; within the bounds both powers of 2 are normal numbers. */
    int exponent = ilogb(largest);
    exponent = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
    double down = scalbn(1, -exponent), up = scalbn(1, exponent);
    spl_vec3 B[3], W[3], L[3];
    for (int j = 0; j < 3; j++) {
        const double *f = F->m + 3 * j;
        B[j] = spl_v3(f[0] * down, f[1] * down, f[2] * down);
        W[j] = spl_mat3_column(V, j);
    }
    guess(B, W);
    for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        bool turned = rotate_pair(B, W, 0, 1);
        turned |= rotate_pair(B, W, 0, 2);
        turned |= rotate_pair(B, W, 1, 2);
        if (!turned) break;
    }
    order_pair(B, W, 0, 1);
    order_pair(B, W, 0, 2);
    order_pair(B, W, 1, 2);
    left_vectors(B, W, L, sigma);
    for (int i = 0; i < 3; i++) sigma[i] *= up;
    *U = spl_mat3_columns(L[0], L[1], L[2]);
    *V = spl_mat3_columns(W[0], W[1], W[2]);
    return true;
}

bool spl_polar3(const spl_mat3 *F, spl_mat3 *R, spl_mat3 *S)
{
    spl_mat3 U, V, scaled;
    double sigma[3];
    if (!spl_svd3(F, &U, sigma, &V)) {
        *R = *S = spl_mat3_identity();
        return false;
    }
    for (int i = 0; i < 9; i++) scaled.m[i] = V.m[i] * sigma[i / 3];
    *R = spl_mat3_mul_transposed(&U, &V);
    *S = spl_mat3_mul_transposed(&scaled, &V);
    for (int i = 0; i < 3; i++) /* exactly symmetric */
        for (int j = 0; j < i; j++) S->m[3 * j + i] = S->m[3 * i + j];
    return true;
}

/* ---- eight at a time --------------------------------------------------------------------------------------------- */

static spl_mat3 get_lane(const spl_mat3x8 *a, int lane)
{
    spl_mat3 r;
    for (int i = 0; i < 9; i++) r.m[i] = (double)a->m[i][lane];
    return r;
}

static void set_lane(spl_mat3x8 *a, int lane, const spl_mat3 *r)
{
    for (int i = 0; i < 9; i++) a->m[i][lane] = (float)r->m[i];
}

bool spl_svd3_blocks(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *U, spl_vec3x8 *sigma, spl_mat3x8 *V)
{
#ifdef SPL_HAVE_AVX2
    if (spl_cpu_has_avx2()) return spl_svd3_blocks_avx2(F, blocks, U, sigma, V);
#endif
    bool finite = true;
    for (size_t b = 0; b < blocks; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = get_lane(&F[b], lane), u, v;
            double s[3];
            finite &= spl_svd3(&f, &u, s, &v);
            set_lane(&U[b], lane, &u);
            set_lane(&V[b], lane, &v);
            for (int i = 0; i < 3; i++) sigma[b].v[i][lane] = (float)s[i];
        }
    return finite;
}

bool spl_polar3_blocks(const spl_mat3x8 *F, size_t blocks, spl_mat3x8 *R, spl_mat3x8 *S)
{
#ifdef SPL_HAVE_AVX2
    if (spl_cpu_has_avx2()) return spl_polar3_blocks_avx2(F, blocks, R, S);
#endif
    bool finite = true;
    for (size_t b = 0; b < blocks; b++)
        for (int lane = 0; lane < 8; lane++) {
            spl_mat3 f = get_lane(&F[b], lane), r, s;
            finite &= spl_polar3(&f, &r, &s);
            set_lane(&R[b], lane, &r);
            set_lane(&S[b], lane, &s);
        }
    return finite;
}
