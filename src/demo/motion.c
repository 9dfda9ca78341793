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

double spl_smooth(double a, double b, double x)
{
    double t = (x - a) / (b - a);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}
