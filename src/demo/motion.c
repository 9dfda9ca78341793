#include "demo/motion.h"

static const double radian = 3.14159265358979323846 / 180;

spl_turn spl_turn_identity(void)
{
    return (spl_turn){{0, 0, 0, 1}};
}

spl_turn spl_turn_about(spl_vec3 axis, double degrees)
{
    spl_vec3 n = spl_scale(spl_unit(axis, spl_v3(1, 0, 0)), sin(0.5 * degrees * radian));
    return (spl_turn){{n.x, n.y, n.z, cos(0.5 * degrees * radian)}};
}

spl_turn spl_turn_x(double degrees)
{
    return spl_turn_about(spl_v3(1, 0, 0), degrees);
}

spl_turn spl_turn_y(double degrees)
{
    return spl_turn_about(spl_v3(0, 1, 0), degrees);
}

spl_turn spl_turn_z(double degrees)
{
    return spl_turn_about(spl_v3(0, 0, 1), degrees);
}

spl_turn spl_turn_mul(spl_turn a, spl_turn b)
{
    spl_vec3 u = spl_v3(a.q[0], a.q[1], a.q[2]), v = spl_v3(b.q[0], b.q[1], b.q[2]);
    double s = a.q[3], t = b.q[3];
    spl_vec3 w = spl_add(spl_add(spl_scale(v, s), spl_scale(u, t)), spl_cross(u, v));
    return (spl_turn){{w.x, w.y, w.z, s * t - spl_dot(u, v)}};
}

spl_turn spl_turn_inverse(spl_turn a)
{
    return (spl_turn){{-a.q[0], -a.q[1], -a.q[2], a.q[3]}};
}

spl_vec3 spl_turn_apply(spl_turn a, spl_vec3 v)
{
    spl_vec3 u = spl_v3(a.q[0], a.q[1], a.q[2]), t = spl_scale(spl_cross(u, v), 2);
    return spl_add(spl_madd(v, t, a.q[3]), spl_cross(u, t)); /* v + 2 w (u x v) + 2 u x (u x v) */
}

spl_turn spl_turn_between(spl_vec3 from, spl_vec3 to)
{
    spl_vec3 f = spl_unit(from, spl_v3(0, 1, 0)), t = spl_unit(to, spl_v3(0, 1, 0));
    double c = spl_dot(f, t);
    spl_vec3 axis = spl_cross(f, t);
    /* Opposite directions: half a turn about any axis across them. */
    if (c < -1 + 1e-12) return spl_turn_about(spl_cross(f, fabs(f.x) < 0.7 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0)), 180);
    double w = sqrt(0.5 * (1 + c)), k = 0.5 / w;
    return (spl_turn){{axis.x * k, axis.y * k, axis.z * k, w}};
}

/* Swing first, then turn about the new direction until the fronts agree. */
spl_turn spl_turn_aim(spl_vec3 from, spl_vec3 front, spl_vec3 to, spl_vec3 face)
{
    spl_turn swing = spl_turn_between(from, to);
    spl_vec3 axis = spl_unit(to, spl_v3(0, 1, 0)), f = spl_turn_apply(swing, front);
    f = spl_madd(f, axis, -spl_dot(f, axis));
    spl_vec3 g = spl_madd(face, axis, -spl_dot(face, axis));
    double angle = atan2(spl_dot(axis, spl_cross(f, g)), spl_dot(f, g));
    return spl_turn_mul(spl_turn_about(axis, angle / radian), swing);
}

spl_turn spl_turn_slerp(spl_turn a, spl_turn b, double t)
{
    spl_turn d = spl_turn_mul(spl_turn_inverse(a), b);
    double sign = d.q[3] < 0 ? -1 : 1;
    spl_vec3 axis = spl_scale(spl_v3(d.q[0], d.q[1], d.q[2]), sign);
    double half = atan2(spl_norm(axis), sign * d.q[3]);
    return spl_turn_mul(a, spl_turn_about(axis, 2 * t * half / radian));
}

spl_turn spl_turn_mirror(spl_turn a)
{
    return (spl_turn){{a.q[0], -a.q[1], -a.q[2], a.q[3]}};
}

/* The triangle of the two bones and the way to the target, by the law of cosines. */
spl_vec3 spl_two_bones(spl_vec3 root, spl_vec3 *target, double l1, double l2, spl_vec3 pole)
{
    spl_vec3 u = spl_sub(*target, root);
    double d = spl_norm(u), most = 0.9995 * (l1 + l2), least = 1.001 * fabs(l1 - l2) + 1e-6;
    u = spl_unit(u, spl_v3(0, -1, 0));
    d = d > most ? most : d < least ? least : d;
    *target = spl_madd(root, u, d);
    double along = (l1 * l1 - l2 * l2 + d * d) / (2 * d), across = sqrt(fmax(l1 * l1 - along * along, 0));
    spl_vec3 w = spl_unit(spl_madd(pole, u, -spl_dot(pole, u)), spl_v3(0, 0, 1));
    return spl_madd(spl_madd(root, u, along), w, across);
}

double spl_smooth(double a, double b, double x)
{
    double t = (x - a) / (b - a);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}
