#include "body/limb.h"

#include <stdlib.h>

enum { RAYS = 16 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double spl_limb_radius(const spl_tree *tree, spl_vec3 at, spl_vec3 along, double limit)
{
    spl_vec3 axis = spl_unit(along, spl_v3(0, 1, 0));
    spl_vec3 u = fabs(axis.x) < 0.7 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0), v;
    u = spl_unit(spl_sub(u, spl_scale(axis, spl_dot(axis, u))), u);
    v = spl_cross(axis, u);
    double distance[RAYS];
    for (int i = 0; i < RAYS; i++) {
        double angle = 2 * M_PI * i / RAYS;
        spl_vec3 direction = spl_add(spl_scale(u, cos(angle)), spl_scale(v, sin(angle)));
        spl_hit hit;
        distance[i] = spl_tree_ray(tree, at, direction, limit, &hit) ? hit.distance : limit;
    }
    qsort(distance, RAYS, sizeof *distance, by_value);
    double median = (distance[RAYS / 2 - 1] + distance[RAYS / 2]) / 2;
    return median < limit ? median : 0;
}
