#include "math/dualquat.h"

spl_dualquat spl_dualquat_identity(void)
{
    return (spl_dualquat){{0, 0, 0, 1}, {0, 0, 0, 0}};
}

spl_dualquat spl_dualquat_make(spl_quat rotation, spl_vec3 t)
{
    spl_quat d = spl_quat_mul(spl_quat_make(0.5 * t.x, 0.5 * t.y, 0.5 * t.z, 0), rotation);
    return (spl_dualquat){rotation, d};
}

spl_dualquat spl_dualquat_mul(const spl_dualquat *a, const spl_dualquat *b)
{
    return (spl_dualquat){spl_quat_mul(a->q, b->q), spl_quat_add(spl_quat_mul(a->q, b->d), spl_quat_mul(a->d, b->q))};
}

spl_dualquat spl_dualquat_normalise(const spl_dualquat *a)
{
    double n2 = spl_quat_dot(a->q, a->q);
    if (!(n2 > 0) || isinf(n2)) return spl_dualquat_identity();
    double s = 1 / sqrt(n2);
    spl_quat q = spl_quat_scale(a->q, s), d = spl_quat_scale(a->d, s);
    return (spl_dualquat){q, spl_quat_add(d, spl_quat_scale(q, -spl_quat_dot(q, d)))};
}

spl_dualquat spl_dualquat_blend(const spl_dualquat *a, const double *weight, int count)
{
    spl_dualquat sum = {{0, 0, 0, 0}, {0, 0, 0, 0}};
    for (int i = 0; i < count; i++) {
        sum.q = spl_quat_add(sum.q, spl_quat_scale(a[i].q, weight[i]));
        sum.d = spl_quat_add(sum.d, spl_quat_scale(a[i].d, weight[i]));
    }
    return spl_dualquat_normalise(&sum);
}

spl_vec3 spl_dualquat_translation(const spl_dualquat *a)
{
    spl_quat t = spl_quat_mul(a->d, spl_quat_conjugate(a->q)); /* (t, 0) / 2 = d q* */
    return spl_v3(2 * t.x, 2 * t.y, 2 * t.z);
}

spl_vec3 spl_dualquat_point(const spl_dualquat *a, spl_vec3 p)
{
    return spl_add(spl_quat_rotate(a->q, p), spl_dualquat_translation(a));
}
