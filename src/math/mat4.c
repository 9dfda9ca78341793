#include "math/vec3.h"

#include <stddef.h>

spl_mat4 spl_mat4_identity(void)
{
    return (spl_mat4){{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};
}

spl_mat4 spl_mat4_mul(const spl_mat4 *a, const spl_mat4 *b)
{
    spl_mat4 c;
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 4; i++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) sum += a->m[4 * k + i] * b->m[4 * j + k];
            c.m[4 * j + i] = sum;
        }
    return c;
}

spl_mat4 spl_mat4_trs(const double t[3], const double r[4], const double s[3])
{
    double n2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3];
    double k = n2 > 0 ? 2 / n2 : 0; /* 2 / |q|^2 normalises without a square root */
    double x = r[0], y = r[1], z = r[2], w = r[3];
    return (spl_mat4){{
        s[0] * (1 - k * (y * y + z * z)),
        s[0] * k * (x * y + z * w),
        s[0] * k * (x * z - y * w),
        0, //
        s[1] * k * (x * y - z * w),
        s[1] * (1 - k * (x * x + z * z)),
        s[1] * k * (y * z + x * w),
        0, //
        s[2] * k * (x * z + y * w),
        s[2] * k * (y * z - x * w),
        s[2] * (1 - k * (x * x + y * y)),
        0, //
        t[0],
        t[1],
        t[2],
        1,
    }};
}

bool spl_mat4_inverse(const spl_mat4 *a, spl_mat4 *out)
{
    const double *m = a->m;
    spl_vec3 c0 = spl_v3(m[0], m[1], m[2]), c1 = spl_v3(m[4], m[5], m[6]), c2 = spl_v3(m[8], m[9], m[10]);
    spl_vec3 r0 = spl_cross(c1, c2), r1 = spl_cross(c2, c0), r2 = spl_cross(c0, c1);
    double det = spl_dot(c0, r0);
    /* Relative test: the volume of the box spanned by the columns against the product of their lengths. */
    double bound = spl_norm(c0) * spl_norm(c1) * spl_norm(c2);
    if (!isfinite(det) || !isfinite(bound) || !(fabs(det) > 1e-12 * bound)) return false;
    r0 = spl_scale(r0, 1 / det);
    r1 = spl_scale(r1, 1 / det);
    r2 = spl_scale(r2, 1 / det);
    spl_vec3 t = spl_v3(m[12], m[13], m[14]);
    *out = (spl_mat4){{r0.x, r1.x, r2.x, 0, r0.y, r1.y, r2.y, 0, r0.z, r1.z, r2.z, 0, -spl_dot(r0, t), -spl_dot(r1, t),
                       -spl_dot(r2, t), 1}};
    return true;
}

const char *spl_matrix_fault(const float *m)
{
    bool zero = m[15] == 0;
    for (int i = 0; i < 16; i++) {
        if (!isfinite(m[i])) return "has a number that is not finite";
        if (!(fabs((double)m[i]) <= SPL_MATRIX_MOST)) return "has a number beyond 1e18";
        if (i < 12 && i % 4 < 3) zero = zero && m[i] == 0;
    }
    return zero ? "is all zeros: no transform (the last of its 16 numbers is 1)" : NULL;
}
