#include "math/quat.h"

spl_quat spl_quat_normalise(spl_quat q)
{
    double largest = fmax(fmax(fabs(q.x), fabs(q.y)), fmax(fabs(q.z), fabs(q.w)));
    double sum = q.x + q.y + q.z + q.w; /* fmax drops NaN, the sum keeps it */
    if (!(largest > 0) || isinf(largest) || isnan(sum)) return spl_quat_identity();
    int exponent = ilogb(largest); /* by powers of two: exact, also below DBL_MIN */
    q = (spl_quat){scalbn(q.x, -exponent), scalbn(q.y, -exponent), scalbn(q.z, -exponent), scalbn(q.w, -exponent)};
    return spl_quat_scale(q, 1 / sqrt(spl_quat_dot(q, q)));
}

spl_mat3 spl_quat_to_mat3(spl_quat q)
{
    double x = q.x, y = q.y, z = q.z, w = q.w;
    return (spl_mat3){{1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), //
                       2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), //
                       2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)}};
}

/* Each line below is 4 q_k q for one component k; the one with the largest q_k loses no digits (Shepperd 1978). */
spl_quat spl_quat_from_mat3(const spl_mat3 *r)
{
    const double *m = r->m;
    double a = m[0], b = m[4], c = m[8];
    spl_quat q;
    if (a + b + c >= fmax(a, fmax(b, c)))
        q = spl_quat_make(m[5] - m[7], m[6] - m[2], m[1] - m[3], 1 + a + b + c);
    else if (a >= b && a >= c)
        q = spl_quat_make(1 + a - b - c, m[1] + m[3], m[2] + m[6], m[5] - m[7]);
    else if (b >= c)
        q = spl_quat_make(m[1] + m[3], 1 - a + b - c, m[5] + m[7], m[6] - m[2]);
    else
        q = spl_quat_make(m[2] + m[6], m[5] + m[7], 1 - a - b + c, m[1] - m[3]);
    return spl_quat_normalise(q);
}

spl_quat spl_quat_axis_angle(spl_vec3 axis, double angle)
{
    spl_vec3 n = spl_unit(axis, spl_v3(0, 0, 0));
    if (spl_dot(n, n) == 0) return spl_quat_identity();
    double s = sin(0.5 * angle);
    return spl_quat_make(n.x * s, n.y * s, n.z * s, cos(0.5 * angle));
}

double spl_quat_to_axis_angle(spl_quat q, spl_vec3 *axis)
{
    spl_vec3 v = spl_v3(q.x, q.y, q.z);
    *axis = spl_unit(v, spl_v3(1, 0, 0));
    return 2 * atan2(spl_norm(v), q.w);
}

spl_vec3 spl_quat_rotate(spl_quat q, spl_vec3 p)
{
    spl_vec3 v = spl_v3(q.x, q.y, q.z);
    spl_vec3 t = spl_scale(spl_cross(v, p), 2);
    return spl_add(spl_madd(p, t, q.w), spl_cross(v, t)); /* p + w t + v x t, t = 2 v x p */
}

spl_quat spl_quat_shortest_arc(spl_vec3 a, spl_vec3 b)
{
    a = spl_unit(a, spl_v3(0, 0, 0));
    b = spl_unit(b, spl_v3(0, 0, 0));
    if (spl_dot(a, a) == 0 || spl_dot(b, b) == 0) return spl_quat_identity();
    /* (v, w) = (a x b, 1 + a.b) halves the angle; |a + b|^2 / 2 is 1 + a.b without cancellation near a half turn. */
    spl_vec3 sum = spl_add(a, b), v = spl_cross(a, b);
    double w = 0.5 * spl_dot(sum, sum);
    if (w > 1e-24) return spl_quat_normalise(spl_quat_make(v.x, v.y, v.z, w));
    /* Opposite: a half turn about any axis across a, the coordinate axis least along it made perpendicular. */
    spl_vec3 e = fabs(a.x) <= fabs(a.y) && fabs(a.x) <= fabs(a.z) ? spl_v3(1, 0, 0)
                 : fabs(a.y) <= fabs(a.z)                         ? spl_v3(0, 1, 0)
                                                                  : spl_v3(0, 0, 1);
    spl_vec3 n = spl_unit(spl_cross(a, e), e);
    return spl_quat_make(n.x, n.y, n.z, 0);
}

spl_quat spl_quat_slerp(spl_quat a, spl_quat b, double t)
{
    double d = spl_quat_dot(a, b);
    if (d < 0) b = spl_quat_negate(b);
    /* The angle between a and b from |b - a| and |b + a|: exact for small and large ones alike. */
    spl_quat minus = spl_quat_add(b, spl_quat_negate(a)), plus = spl_quat_add(b, a);
    double angle = 2 * atan2(sqrt(spl_quat_dot(minus, minus)), sqrt(spl_quat_dot(plus, plus)));
    double s = sin(angle), wa = 1 - t, wb = t; /* s -> 0: the arc is a line */
    if (s > 1e-9) {
        wa = sin((1 - t) * angle) / s;
        wb = sin(t * angle) / s;
    }
    return spl_quat_normalise(spl_quat_add(spl_quat_scale(a, wa), spl_quat_scale(b, wb)));
}
