/* The paper inverts G (eq. 7) over all ten monomials by a pseudo-inverse. Where G is singular (neighbours on a plane or
 * a quadric) that also loses part of the constant, since the polynomial that vanishes on a quadric has a constant term.
 * Here the basis is made orthogonal block by block instead, in the scalar product sum_i w_i p(x_i) q(x_i): the
 * constant, then the linear functions without it, then the quadratic ones without both. It spans the same space and
 * gives the same weights where G is regular; each block has its own cutoff, so that constants are always reproduced,
 * and linear functions whatever happens to the quadratic ones. And it takes the eigenvectors of a 3x3 and a 6x6 matrix
 * instead of a 10x10. */
#include "body/upsample_fit.h"

#include <math.h>
#include <string.h>

enum { QUADRATICS = 6, MOST = SPL_UPSAMPLE_MOST_NEIGHBOURS };

/* Directions with a root mean square below this share of the largest are not determined by the neighbours. */
static const double linear_cutoff = 1e-5, quadratic_cutoff = 1e-4, normal_cutoff = 1e-4;

/* Of quadratic functions on the unit sphere: below, all of them are linear on these neighbours, up to rounding. */
static const double quadratic_floor = 1e-6;

/* Orthonormal functions are about 1 on the neighbours. A direction is fitted up to the first value at the point of
 * evaluation, left out from the second on: there the weights would amplify what the neighbours do by as much. */
static const double offset_fade[2] = {1, 2.5}, quadratic_fade[2] = {4, 8}, normal_fade[2] = {2, 4};

static double fade(double value, const double range[2])
{
    double t = (range[1] - fabs(value)) / (range[1] - range[0]);
    if (!(t > 0)) return 0;
    return t >= 1 ? 1 : t * t * (3 - 2 * t);
}

/* ---- eigenvectors ------------------------------------------------------------------------------------------------ */

/* One rotation of columns p, q of the symmetric matrix and of the vectors (Golub and Van Loan, 8.5.2). */
static void rotate(int n, double *a, double *v, int p, int q)
{
    double theta = (a[n * q + q] - a[n * p + p]) / (2 * a[n * p + q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double kp = a[n * k + p], kq = a[n * k + q];
        a[n * k + p] = c * kp - s * kq;
        a[n * k + q] = s * kp + c * kq;
    }
    for (int k = 0; k < n; k++) {
        double pk = a[n * p + k], qk = a[n * q + k], vp = v[n * p + k], vq = v[n * q + k];
        a[n * p + k] = c * pk - s * qk;
        a[n * q + k] = s * pk + c * qk;
        v[n * p + k] = c * vp - s * vq;
        v[n * q + k] = s * vp + c * vq;
    }
}

static void sort_descending(int n, double *value, double *v)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (value[j] > value[best]) best = j;
        if (best == i) continue;
        double kept = value[i], column[QUADRATICS];
        value[i] = value[best];
        value[best] = kept;
        memcpy(column, v + n * i, (size_t)n * sizeof *v);
        memcpy(v + n * i, v + n * best, (size_t)n * sizeof *v);
        memcpy(v + n * best, column, (size_t)n * sizeof *v);
    }
}

void spl_fit_eigen(int n, double *a, double *value, double *v)
{
    double size = 0;
    for (int i = 0; i < n * n; i++) {
        v[i] = i % (n + 1) == 0;
        size = fmax(size, fabs(a[i]));
    }
    /* Off-diagonal entries of 1e-15 change eigenvalues by 1e-15: below the square of every cutoff. */
    double small = 1e-15 * size;
    bool busy = size > 0 && isfinite(size);
    for (int sweep = 0; busy && sweep < 20; sweep++) {
        busy = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (fabs(a[n * p + q]) > small) {
                    rotate(n, a, v, p, q);
                    busy = true;
                }
    }
    for (int i = 0; i < n; i++) value[i] = a[n * i + i];
    sort_descending(n, value, v);
}

/* ---- linear ------------------------------------------------------------------------------------------------------ */

/* Three functions of a point, orthonormal on a set of weighted vectors: z_a(p) = axis_a . (p - mean) / sigma_a. */
typedef struct linear {
    spl_vec3 mean, axis[3]; /* axes right-handed */
    double sigma[3];        /* descending; 0 where cut off */
} linear;

static void fit_linear(const double *w, const spl_vec3 *p, int32_t count, double cutoff, double floor, linear *l)
{
    l->mean = spl_v3(0, 0, 0);
    for (int32_t i = 0; i < count; i++) l->mean = spl_madd(l->mean, p[i], w[i]);
    double c[9] = {0}, value[3], v[9];
    for (int32_t i = 0; i < count; i++) {
        spl_vec3 d = spl_sub(p[i], l->mean);
        double e[3] = {d.x, d.y, d.z};
        for (int j = 0; j < 9; j++) c[j] += w[i] * e[j / 3] * e[j % 3];
    }
    spl_fit_eigen(3, c, value, v);
    for (int a = 0; a < 3; a++) {
        double sigma = value[a] > 0 ? sqrt(value[a]) : 0;
        l->sigma[a] = sigma > cutoff * l->sigma[0] && sigma > floor ? sigma : 0;
        l->axis[a] = spl_v3(v[3 * a], v[3 * a + 1], v[3 * a + 2]);
    }
    l->axis[2] = spl_cross(l->axis[0], l->axis[1]); /* the same up to its sign */
}

static void evaluate_linear(const linear *l, spl_vec3 p, double z[3])
{
    for (int a = 0; a < 3; a++) z[a] = l->sigma[a] > 0 ? spl_dot(l->axis[a], spl_sub(p, l->mean)) / l->sigma[a] : 0;
}

/* ---- quadratic --------------------------------------------------------------------------------------------------- */

/* The monomials of second order of a point given in the linear functions; `size` scales the patch to the unit sphere.
 */
static void monomials(const linear *l, double size, const double z[3], double q[QUADRATICS])
{
    double x = z[0] * l->sigma[0] / size, y = z[1] * l->sigma[1] / size, n = z[2] * l->sigma[2] / size;
    q[0] = x * x;
    q[1] = y * y;
    q[2] = n * n;
    q[3] = x * y;
    q[4] = x * n;
    q[5] = y * n;
}

/* Adds the quadratic part to the weights: N_i += w_i sum_b p_b(e) p_b(x_i), over orthonormal p_b. z_i: the neighbours
 * in the linear functions, z_e: the point of evaluation. Returns how many directions were left out, in part or whole.
 */
static int32_t add_quadratic(const spl_patch *patch, const linear *l, const double (*z)[3], const double z_e[3],
                             double *weight)
{
    double size = 0, q[MOST][QUADRATICS], q_e[QUADRATICS], on[4][QUADRATICS] = {{0}};
    for (int32_t i = 0; i < patch->count; i++) size = fmax(size, spl_distance(patch->point[i], l->mean));
    if (!(size > 0)) return QUADRATICS;
    for (int32_t i = 0; i < patch->count; i++) {
        monomials(l, size, z[i], q[i]);
        double f[4] = {1, z[i][0], z[i][1], z[i][2]};
        for (int a = 0; a < 4; a++)
            for (int m = 0; m < QUADRATICS; m++) on[a][m] += patch->w[i] * f[a] * q[i][m];
    }
    monomials(l, size, z_e, q_e);
    double gram[QUADRATICS * QUADRATICS] = {0}, value[QUADRATICS], v[QUADRATICS * QUADRATICS];
    for (int32_t i = -1; i < patch->count; i++) { /* without constant and linear parts; -1: the evaluation's */
        double *to = i < 0 ? q_e : q[i];
        const double *at = i < 0 ? z_e : z[i];
        for (int m = 0; m < QUADRATICS; m++) to[m] -= on[0][m] + on[1][m] * at[0] + on[2][m] * at[1] + on[3][m] * at[2];
        for (int m = 0; i >= 0 && m < QUADRATICS * QUADRATICS; m++)
            gram[m] += patch->w[i] * to[m / QUADRATICS] * to[m % QUADRATICS];
    }
    spl_fit_eigen(QUADRATICS, gram, value, v);
    int32_t left_out = 0;
    for (int b = 0; b < QUADRATICS; b++) {
        double p = 0, share = 0, square = value[b];
        if (square > quadratic_floor * quadratic_floor && square > quadratic_cutoff * quadratic_cutoff * value[0]) {
            for (int m = 0; m < QUADRATICS; m++) p += v[QUADRATICS * b + m] * q_e[m];
            share = fade(p / sqrt(square), quadratic_fade);
        }
        left_out += share < 1;
        if (share == 0) continue;
        for (int32_t i = 0; i < patch->count; i++) {
            double p_i = 0;
            for (int m = 0; m < QUADRATICS; m++) p_i += v[QUADRATICS * b + m] * q[i][m];
            weight[i] += patch->w[i] * share * p * p_i / square;
        }
    }
    return left_out;
}

/* ---- the fits ---------------------------------------------------------------------------------------------------- */

/* The gradient of the linear fit along the two widest directions of the patch. */
static void set_frame(const spl_patch *patch, const linear *l, const double (*z)[3], spl_fit *fit)
{
    fit->has_frame = l->sigma[1] > 1e-4 * l->sigma[0];
    fit->frame = spl_mat3_columns(l->axis[0], l->axis[1], l->axis[2]);
    for (int32_t i = 0; i < patch->count; i++)
        for (int a = 0; a < 2; a++) fit->tangent[a][i] = fit->has_frame ? patch->w[i] * z[i][a] / l->sigma[a] : 0;
}

void spl_fit_positions(const spl_patch *patch, spl_vec3 place, spl_vec3 target, int order, bool carry, spl_fit *fit)
{
    linear l = {.sigma = {0}};
    double z[MOST][3], z_e[3];
    fit_linear(patch->w, patch->point, patch->count, linear_cutoff, 0, &l);
    for (int32_t i = 0; i < patch->count; i++) evaluate_linear(&l, patch->point[i], z[i]);
    evaluate_linear(&l, place, z_e); /* within the patch */
    for (int a = 0; a < 3 && !carry; a++) {
        if (!(l.sigma[a] > 0)) continue;
        double d = spl_dot(l.axis[a], spl_sub(target, place)) / l.sigma[a];
        z_e[a] += fade(d, offset_fade) * d;
    }
    for (int32_t i = 0; i < patch->count; i++)
        fit->weight[i] = patch->w[i] * (1 + z_e[0] * z[i][0] + z_e[1] * z[i][1] + z_e[2] * z[i][2]);
    fit->left_out = order == 2 ? add_quadratic(patch, &l, (const double(*)[3])z, z_e, fit->weight) : 0;
    set_frame(patch, &l, (const double(*)[3])z, fit);
    double missing = 1; /* rounding: near the cutoffs eigenvectors have few digits */
    for (int32_t i = 0; i < patch->count; i++) missing -= fit->weight[i];
    fit->gain = 0;
    for (int32_t i = 0; i < patch->count; i++) {
        fit->weight[i] += missing * patch->w[i];
        fit->gain += fabs(fit->weight[i]);
    }
}

void spl_fit_normals(const spl_patch *patch, const spl_vec3 *surface_normal, spl_vec3 target,
                     double weight[SPL_UPSAMPLE_MOST_NEIGHBOURS])
{
    linear l = {.sigma = {0}};
    double z[3], z_e[3];
    spl_vec3 normal[MOST];
    for (int32_t i = 0; i < patch->count; i++) normal[i] = surface_normal[patch->index[i]];
    fit_linear(patch->w, normal, patch->count, 0, normal_cutoff, &l);
    evaluate_linear(&l, target, z_e);
    for (int a = 0; a < 3; a++) z_e[a] *= fade(z_e[a], normal_fade);
    for (int32_t i = 0; i < patch->count; i++) {
        evaluate_linear(&l, normal[i], z);
        weight[i] = patch->w[i] * (1 + z_e[0] * z[0] + z_e[1] * z[1] + z_e[2] * z[2]);
    }
}
