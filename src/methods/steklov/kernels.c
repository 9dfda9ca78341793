#include "methods/steklov/kernels.h"

#include "math/cpu.h"
#include "math/quat.h"

/* ---- tets ---- */

/* The rotation of a quaternion of any length; the general way where its square is no common number. */
static void rotation_of(const double q[4], double R[9])
{
    double n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(n > 1e-200 && n < 1e200)) {
        spl_mat3 M = spl_quat_to_mat3(spl_quat_normalise(spl_quat_make(q[0], q[1], q[2], q[3])));
        for (int i = 0; i < 9; i++) R[i] = M.m[i];
        return;
    }
    double s = 2 / n, x = s * q[0], y = s * q[1], z = s * q[2];
    double xx = x * q[0], yy = y * q[1], zz = z * q[2], xy = x * q[1], xz = x * q[2], yz = y * q[2];
    double wx = x * q[3], wy = y * q[3], wz = z * q[3];
    R[0] = 1 - yy - zz, R[3] = xy - wz, R[6] = xz + wy;
    R[1] = xy + wz, R[4] = 1 - xx - zz, R[7] = yz - wx;
    R[2] = xz - wy, R[5] = yz + wx, R[8] = 1 - xx - yy;
}

/* The rotation at a tet's middle: its weights are the means of its corners' (section 4), so its quaternion is too. */
static void turn(const spl_tet_loop *l, size_t begin, size_t end)
{
    for (size_t k = begin; k < end; k++) {
        const int32_t *tet = l->elements->tet + 4 * k;
        double q[4] = {0}, *h = l->h + SPL_FOURS * k;
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < 4; c++) q[c] += l->quat[4 * (size_t)tet[i] + (size_t)c];
        double *R = l->rotation + 9 * k;
        rotation_of(q, R);
        for (size_t i = 0; i < 4; i++) {
            const double *g = l->elements->gradient + 12 * k + 3 * i;
            for (size_t r = 0; r < 3; r++) h[4 * i + r] = R[r] * g[0] + R[3 + r] * g[1] + R[6 + r] * g[2];
            h[4 * i + 3] = 0;
        }
    }
}

static void pull(const spl_tet_loop *l, size_t begin, size_t end)
{
    for (size_t k = begin; k < end; k++) {
        const double *h = l->h + SPL_FOURS * k;
        const int32_t *tet = l->elements->tet + 4 * k;
        double *f = l->corner + SPL_FOURS * k, W = l->elements->volume[k], T[9] = {0};
        for (int i = 0; i < 4; i++)
            for (int c = 0; c < 3; c++)
                for (int r = 0; r < 3; r++) T[3 * c + r] += l->x[3 * (size_t)tet[i] + (size_t)r] * h[4 * i + c];
        double trace = l->lambda[k] * (T[0] + T[4] + T[8] - 3);
        for (int i = 0; i < 9; i++) T[i] = -W * (2 * l->mu[k] * (T[i] - (i % 4 == 0)) + (i % 4 == 0 ? trace : 0));
        for (int i = 0; i < SPL_FOURS; i += 4) {
            for (int r = 0; r < 3; r++) f[i + r] = T[r] * h[i] + T[3 + r] * h[i + 1] + T[6 + r] * h[i + 2];
            f[i + 3] = sqrt(f[i] * f[i] + f[i + 1] * f[i + 1] + f[i + 2] * f[i + 2]);
        }
    }
}

/* ---- rows ---- */

static void rows(const spl_row_loop *l, size_t begin, size_t end)
{
    for (size_t node = begin; node < end; node++) {
        size_t vertex = (size_t)l->vertex[node], length = l->start[node + 1] - l->start[node];
        double *value = l->value + 9 * l->start[node];
        for (size_t at = 0; at < length; at++)
            for (size_t i = 0; i < 9; i++) value[9 * at + i] = i % 4 == 0 ? l->base[l->start[node] + at] : 0;
        for (size_t q = l->stars->start[vertex]; q < l->stars->start[vertex + 1]; q++) {
            size_t tet = l->stars->corner[q] / 4;
            const double *h = l->h + SPL_FOURS * tet, *own = l->h + 4 * (size_t)l->stars->corner[q];
            double W = l->elements->volume[tet] * l->lambda[tet];
            for (size_t j = 0; j < 4; j++) {
                double *B = value + 9 * l->slot[4 * q + j];
                if (l->slot[4 * q + j] >= length) continue;
                for (size_t c = 0; c < 3; c++)
                    for (size_t r = 0; r < 3; r++) B[3 * c + r] += W * own[r] * h[4 * j + c];
            }
        }
    }
}

/* ---- products ---- */

static void product(const spl_product_loop *l, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++) {
        double s[3] = {0};
        for (size_t at = l->from[row]; at < l->to[row]; at++) {
            const double *B = l->value + 9 * at, *p = l->x + 3 * ((size_t)l->column[at] - l->x_first);
            for (int r = 0; r < 3; r++) s[r] += B[r] * p[0] + B[3 + r] * p[1] + B[6 + r] * p[2];
        }
        double *y = l->y + 3 * (row - l->y_first);
        for (int r = 0; r < 3; r++) y[r] = l->sign == 0 ? s[r] : l->sign > 0 ? y[r] + s[r] : y[r] - s[r];
    }
}

static void product_float(const spl_product_loop *l, size_t begin, size_t end)
{
    for (size_t row = begin; row < end; row++) {
        float s[3] = {0};
        for (size_t at = l->from[row]; at < l->to[row]; at++) {
            const float *B = l->value_float + 9 * at, *p = l->x_float + 4 * ((size_t)l->column[at] - l->x_first);
            for (int r = 0; r < 3; r++) s[r] += B[r] * p[0] + B[3 + r] * p[1] + B[6 + r] * p[2];
        }
        double *y = l->y + 3 * (row - l->y_first);
        for (int r = 0; r < 3; r++) y[r] = l->sign == 0 ? (double)s[r] : y[r] + l->sign * (double)s[r];
    }
}

const spl_steklov_kernels spl_steklov_kernels_plain = {turn, pull, rows, product, product_float};

const spl_steklov_kernels *spl_steklov_kernels_of(bool plain)
{
#ifdef SPL_HAVE_AVX2
    if (!plain && spl_cpu_has_avx2()) return &spl_steklov_kernels_avx2;
#endif
    (void)plain;
    return &spl_steklov_kernels_plain;
}
