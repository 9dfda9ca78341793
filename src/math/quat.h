/* Quaternions x, y, z, w in double. A unit quaternion q and -q are the same rotation. */
#ifndef SPL_MATH_QUAT_H
#define SPL_MATH_QUAT_H

#include "math/mat3.h"

typedef struct spl_quat {
    double x, y, z, w;
} spl_quat;

static inline spl_quat spl_quat_make(double x, double y, double z, double w)
{
    return (spl_quat){x, y, z, w};
}
static inline spl_quat spl_quat_identity(void)
{
    return (spl_quat){0, 0, 0, 1};
}
static inline spl_quat spl_quat_conjugate(spl_quat q)
{
    return (spl_quat){-q.x, -q.y, -q.z, q.w};
}
static inline spl_quat spl_quat_negate(spl_quat q)
{
    return (spl_quat){-q.x, -q.y, -q.z, -q.w};
}
static inline double spl_quat_dot(spl_quat a, spl_quat b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
static inline spl_quat spl_quat_scale(spl_quat q, double s)
{
    return (spl_quat){q.x * s, q.y * s, q.z * s, q.w * s};
}
static inline spl_quat spl_quat_add(spl_quat a, spl_quat b)
{
    return (spl_quat){a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
static inline spl_quat spl_quat_mul(spl_quat a, spl_quat b) /* b first, then a */
{
    return (spl_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y, a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                      a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w, a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

/* q / |q| at any scale; the identity where q is zero or not finite. */
spl_quat spl_quat_normalise(spl_quat q);

/* The rotation matrix of a unit quaternion. */
spl_mat3 spl_quat_to_mat3(spl_quat q);

/* The unit quaternion of a rotation matrix, exact to rounding for every rotation, half turns included. */
spl_quat spl_quat_from_mat3(const spl_mat3 *r);

/* Rotation by `angle` (radians) about an axis of any length but 0 (the identity). */
spl_quat spl_quat_axis_angle(spl_vec3 axis, double angle);

/* The axis (unit; x where the angle is 0) of a unit quaternion; returns the angle in [0, 2 pi). */
double spl_quat_to_axis_angle(spl_quat q, spl_vec3 *axis);

/* p turned by a unit quaternion. */
spl_vec3 spl_quat_rotate(spl_quat q, spl_vec3 p);

/* The smallest rotation that turns direction a into direction b; any half turn where they are opposite, the identity
 * where one is zero. */
spl_quat spl_quat_shortest_arc(spl_vec3 a, spl_vec3 b);

/* Spherical interpolation of unit quaternions along the shorter arc. */
spl_quat spl_quat_slerp(spl_quat a, spl_quat b, double t);

#endif
