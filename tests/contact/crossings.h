/* Which edges of a mesh pass through which of its triangles, by looking at every two of them: a twin of geom/pairs.h
 * that shares no code with it. */
#ifndef SPL_TESTS_CONTACT_CROSSINGS_H
#define SPL_TESTS_CONTACT_CROSSINGS_H

#include "math/vec3.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline spl_vec3 crossings_at(const double *x, int32_t v)
{
    return spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
}

/* Six times the volume of a tetrahedron. */
static inline double crossings_volume(spl_vec3 a, spl_vec3 b, spl_vec3 c, spl_vec3 d)
{
    return spl_dot(spl_cross(spl_sub(b, a), spl_sub(c, a)), spl_sub(d, a));
}

/* What lies in the triangle's plane, but for rounding, does not pass through it. */
static inline bool crossings_has(const double *x, int32_t from, int32_t to, const int32_t *triangle)
{
    for (int i = 0; i < 3; i++)
        if (triangle[i] == from || triangle[i] == to) return false;
    spl_vec3 p = crossings_at(x, from), q = crossings_at(x, to);
    spl_vec3 a = crossings_at(x, triangle[0]), b = crossings_at(x, triangle[1]), c = crossings_at(x, triangle[2]);
    double one = crossings_volume(a, b, c, p), other = crossings_volume(a, b, c, q);
    if ((one < 0) == (other < 0)) return false;
    double noise = 1e-14 * spl_distance(a, b) * spl_distance(a, c) * fmax(spl_distance(a, p), spl_distance(a, q));
    if (fabs(one) <= noise || fabs(other) <= noise) return false;
    double u = crossings_volume(p, q, a, b), v = crossings_volume(p, q, b, c), w = crossings_volume(p, q, c, a);
    return (u > 0 && v > 0 && w > 0) || (u < 0 && v < 0 && w < 0);
}

/* Of a closed mesh: each edge is looked at in the triangle where its lower end comes first. */
static inline int32_t crossings_count(const double *x, const int32_t *triangle, int32_t triangle_count)
{
    int32_t count = 0;
    for (int32_t i = 0; i < 3 * triangle_count; i++) {
        int32_t from = triangle[i], to = triangle[i % 3 == 2 ? i - 2 : i + 1];
        if (from > to) continue;
        for (int32_t t = 0; t < triangle_count; t++) count += crossings_has(x, from, to, triangle + 3 * t);
    }
    return count;
}

#endif
