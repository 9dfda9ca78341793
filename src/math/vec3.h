/* Vectors and 4x4 transforms in double: the small arithmetic everything shares. */
#ifndef SPL_MATH_VEC3_H
#define SPL_MATH_VEC3_H

#include <math.h>
#include <stdbool.h>

typedef struct spl_vec3 {
    double x, y, z;
} spl_vec3;

static inline spl_vec3 spl_v3(double x, double y, double z)
{
    return (spl_vec3){x, y, z};
}
static inline spl_vec3 spl_add(spl_vec3 a, spl_vec3 b)
{
    return spl_v3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline spl_vec3 spl_sub(spl_vec3 a, spl_vec3 b)
{
    return spl_v3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline spl_vec3 spl_scale(spl_vec3 a, double s)
{
    return spl_v3(a.x * s, a.y * s, a.z * s);
}
static inline spl_vec3 spl_madd(spl_vec3 a, spl_vec3 b, double s)
{
    return spl_v3(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s); /* a + s b */
}
static inline double spl_dot(spl_vec3 a, spl_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline spl_vec3 spl_cross(spl_vec3 a, spl_vec3 b)
{
    return spl_v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline double spl_norm(spl_vec3 a)
{
    return sqrt(spl_dot(a, a));
}
static inline double spl_distance(spl_vec3 a, spl_vec3 b)
{
    return spl_norm(spl_sub(a, b));
}
static inline spl_vec3 spl_lerp(spl_vec3 a, spl_vec3 b, double t)
{
    return spl_madd(spl_scale(a, 1 - t), b, t);
}

/* a / |a|, or `fallback` where a is zero. */
static inline spl_vec3 spl_unit(spl_vec3 a, spl_vec3 fallback)
{
    double n = spl_norm(a);
    return n > 0 ? spl_scale(a, 1 / n) : fallback;
}
static inline bool spl_v3_finite(spl_vec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}
static inline spl_vec3 spl_v3_from_float(const float *p)
{
    return spl_v3((double)p[0], (double)p[1], (double)p[2]);
}
static inline void spl_v3_to_float(spl_vec3 a, float *p)
{
    p[0] = (float)a.x;
    p[1] = (float)a.y;
    p[2] = (float)a.z;
}

/* An affine map p -> A p + t, column-major 4x4 with the last row 0 0 0 1: m[4 * column + row]. */
typedef struct spl_mat4 {
    double m[16];
} spl_mat4;

spl_mat4 spl_mat4_identity(void);
spl_mat4 spl_mat4_mul(const spl_mat4 *a, const spl_mat4 *b); /* a b: b first, then a */

/* Translation times rotation (unit quaternion x y z w; any other is normalised, zero is identity) times scale. */
spl_mat4 spl_mat4_trs(const double t[3], const double r[4], const double s[3]);

/* Inverse of the affine map; false (and *out untouched) where it is singular or not finite. */
bool spl_mat4_inverse(const spl_mat4 *a, spl_mat4 *out);

/* What is wrong with a host's matrix of 16 floats, as words that follow "the matrix of joint 'x' "; NULL: nothing. A
 * scale of 0 along some axes or all is how parts are hidden, and is none; a number that is not finite or is beyond
 * SPL_MATRIX_MOST is, and so are zeros alone, where nobody filled it in. */
#define SPL_MATRIX_MOST 1e18
const char *spl_matrix_fault(const float *m);

static inline spl_vec3 spl_mat4_point(const spl_mat4 *a, spl_vec3 p)
{
    const double *m = a->m;
    return spl_v3(m[0] * p.x + m[4] * p.y + m[8] * p.z + m[12], m[1] * p.x + m[5] * p.y + m[9] * p.z + m[13],
                  m[2] * p.x + m[6] * p.y + m[10] * p.z + m[14]);
}

#endif
