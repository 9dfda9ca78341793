#include "math/mat3.h"

#include <float.h>

spl_mat3 spl_mat3_identity(void)
{
    return (spl_mat3){{1, 0, 0, 0, 1, 0, 0, 0, 1}};
}

spl_mat3 spl_mat3_diagonal(double x, double y, double z)
{
    return (spl_mat3){{x, 0, 0, 0, y, 0, 0, 0, z}};
}

spl_mat3 spl_mat3_columns(spl_vec3 a, spl_vec3 b, spl_vec3 c)
{
    return (spl_mat3){{a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z}};
}

spl_mat3 spl_mat3_outer(spl_vec3 a, spl_vec3 b)
{
    return spl_mat3_columns(spl_scale(a, b.x), spl_scale(a, b.y), spl_scale(a, b.z));
}

spl_mat3 spl_mat3_linear(const spl_mat4 *a)
{
    const double *m = a->m;
    return (spl_mat3){{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}};
}

spl_mat4 spl_mat3_affine(const spl_mat3 *a, spl_vec3 t)
{
    const double *m = a->m;
    return (spl_mat4){{m[0], m[1], m[2], 0, m[3], m[4], m[5], 0, m[6], m[7], m[8], 0, t.x, t.y, t.z, 1}};
}

spl_mat3 spl_mat3_add(const spl_mat3 *a, const spl_mat3 *b)
{
    spl_mat3 c;
    for (int i = 0; i < 9; i++) c.m[i] = a->m[i] + b->m[i];
    return c;
}

spl_mat3 spl_mat3_sub(const spl_mat3 *a, const spl_mat3 *b)
{
    spl_mat3 c;
    for (int i = 0; i < 9; i++) c.m[i] = a->m[i] - b->m[i];
    return c;
}

spl_mat3 spl_mat3_scale(const spl_mat3 *a, double s)
{
    spl_mat3 c;
    for (int i = 0; i < 9; i++) c.m[i] = a->m[i] * s;
    return c;
}

spl_mat3 spl_mat3_mul(const spl_mat3 *a, const spl_mat3 *b)
{
    return spl_mat3_columns(spl_mat3_apply(a, spl_mat3_column(b, 0)), spl_mat3_apply(a, spl_mat3_column(b, 1)),
                            spl_mat3_apply(a, spl_mat3_column(b, 2)));
}

spl_mat3 spl_mat3_transpose(const spl_mat3 *a)
{
    const double *m = a->m;
    return (spl_mat3){{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}};
}

spl_mat3 spl_mat3_mul_transposed(const spl_mat3 *a, const spl_mat3 *b)
{
    spl_mat3 bt = spl_mat3_transpose(b);
    return spl_mat3_mul(a, &bt);
}

spl_mat3 spl_mat3_transposed_mul(const spl_mat3 *a, const spl_mat3 *b)
{
    spl_mat3 at = spl_mat3_transpose(a);
    return spl_mat3_mul(&at, b);
}

spl_mat3 spl_mat3_cofactor(const spl_mat3 *a)
{
    spl_vec3 c0 = spl_mat3_column(a, 0), c1 = spl_mat3_column(a, 1), c2 = spl_mat3_column(a, 2);
    return spl_mat3_columns(spl_cross(c1, c2), spl_cross(c2, c0), spl_cross(c0, c1));
}

double spl_mat3_det(const spl_mat3 *a)
{
    return spl_dot(spl_mat3_column(a, 0), spl_cross(spl_mat3_column(a, 1), spl_mat3_column(a, 2)));
}

double spl_mat3_trace(const spl_mat3 *a)
{
    return a->m[0] + a->m[4] + a->m[8];
}

double spl_mat3_dot(const spl_mat3 *a, const spl_mat3 *b)
{
    double sum = 0;
    for (int i = 0; i < 9; i++) sum += a->m[i] * b->m[i];
    return sum;
}

double spl_mat3_norm(const spl_mat3 *a)
{
    return sqrt(spl_mat3_dot(a, a));
}

bool spl_mat3_finite(const spl_mat3 *a)
{
    for (int i = 0; i < 9; i++)
        if (!isfinite(a->m[i])) return false;
    return true;
}

bool spl_mat3_inverse(const spl_mat3 *a, spl_mat3 *out)
{
    if (!spl_mat3_finite(a)) return false;
    double largest = 0;
    for (int i = 0; i < 9; i++) largest = fmax(largest, fabs(a->m[i]));
    if (largest < DBL_MIN) return false;
    /* Scaled to entries near 1, products of three neither overflow nor vanish. */
    int exponent = ilogb(largest);
    spl_mat3 b;
    for (int i = 0; i < 9; i++) b.m[i] = scalbn(a->m[i], -exponent);
    spl_mat3 cofactor = spl_mat3_cofactor(&b);
    double det = spl_mat3_det(&b);
    /* Relative test: the box's volume against the product of its edges, as spl_mat4_inverse. */
    double bound = 1;
    for (int j = 0; j < 3; j++) bound *= spl_norm(spl_mat3_column(&b, j));
    if (!(fabs(det) > 1e-12 * bound)) return false;
    spl_mat3 inverse = spl_mat3_transpose(&cofactor);
    for (int i = 0; i < 9; i++) inverse.m[i] = scalbn(inverse.m[i] / det, -exponent);
    *out = inverse;
    return true;
}
