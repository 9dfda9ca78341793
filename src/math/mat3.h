/* 3x3 matrices in double, column-major: m[3 * column + row], as the 4x4 ones of vec3.h. */
#ifndef SPL_MATH_MAT3_H
#define SPL_MATH_MAT3_H

#include "math/vec3.h"

typedef struct spl_mat3 {
    double m[9];
} spl_mat3;

spl_mat3 spl_mat3_identity(void);
spl_mat3 spl_mat3_diagonal(double x, double y, double z);
spl_mat3 spl_mat3_columns(spl_vec3 a, spl_vec3 b, spl_vec3 c);
spl_mat3 spl_mat3_outer(spl_vec3 a, spl_vec3 b); /* a b^T */
spl_mat3 spl_mat3_linear(const spl_mat4 *a);     /* the linear part of an affine map */
spl_mat4 spl_mat3_affine(const spl_mat3 *a, spl_vec3 t);

spl_mat3 spl_mat3_add(const spl_mat3 *a, const spl_mat3 *b);
spl_mat3 spl_mat3_sub(const spl_mat3 *a, const spl_mat3 *b);
spl_mat3 spl_mat3_scale(const spl_mat3 *a, double s);
spl_mat3 spl_mat3_mul(const spl_mat3 *a, const spl_mat3 *b);            /* a b */
spl_mat3 spl_mat3_mul_transposed(const spl_mat3 *a, const spl_mat3 *b); /* a b^T */
spl_mat3 spl_mat3_transposed_mul(const spl_mat3 *a, const spl_mat3 *b); /* a^T b */
spl_mat3 spl_mat3_transpose(const spl_mat3 *a);
spl_mat3 spl_mat3_cofactor(const spl_mat3 *a); /* det(a) a^-T, defined for every a: what transforms normals */
double spl_mat3_det(const spl_mat3 *a);
double spl_mat3_trace(const spl_mat3 *a);
double spl_mat3_dot(const spl_mat3 *a, const spl_mat3 *b); /* sum of the products of entries */
double spl_mat3_norm(const spl_mat3 *a);                   /* Frobenius */
bool spl_mat3_finite(const spl_mat3 *a);

/* Inverse; false (and *out untouched) where the matrix is singular or not finite. Works at any scale of the entries. */
bool spl_mat3_inverse(const spl_mat3 *a, spl_mat3 *out);

static inline spl_vec3 spl_mat3_column(const spl_mat3 *a, int j)
{
    return spl_v3(a->m[3 * j], a->m[3 * j + 1], a->m[3 * j + 2]);
}
static inline spl_vec3 spl_mat3_apply(const spl_mat3 *a, spl_vec3 p)
{
    const double *m = a->m;
    return spl_v3(m[0] * p.x + m[3] * p.y + m[6] * p.z, m[1] * p.x + m[4] * p.y + m[7] * p.z,
                  m[2] * p.x + m[5] * p.y + m[8] * p.z);
}

#endif
