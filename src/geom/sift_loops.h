/* The sieve of sift.h, shared by sift.c and sift_avx2.c. */
#include "geom/sift.h"

#define LEAST_AXIS 1e-30F /* squared: axes below this are no axes, as their squares underflow */

typedef struct wide3 {
    spl_wide x, y, z;
} wide3;

static inline wide3 load3(const float (*p)[SPL_LANES], int h)
{
    return (wide3){spl_wide_load(p[0] + h), spl_wide_load(p[1] + h), spl_wide_load(p[2] + h)};
}

static inline wide3 set3(const float (*p)[SPL_LANES], int i)
{
    return (wide3){spl_wide_set(p[0][i]), spl_wide_set(p[1][i]), spl_wide_set(p[2][i])};
}

static inline wide3 sub3(wide3 a, wide3 b)
{
    return (wide3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline spl_wide dot3(wide3 a, wide3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline wide3 cross3(wide3 a, wide3 b)
{
    return (wide3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/* a without its part along b; any vector where b is none. */
static inline wide3 across3(wide3 a, wide3 b)
{
    spl_wide k = dot3(a, b) / dot3(b, b);
    return (wide3){a.x - k * b.x, a.y - k * b.y, a.z - k * b.z};
}

/* Whether shadows on an axis, `gap` times its length from each other, are further apart than the limit. What
 * overflowed is never. */
static inline spl_wide_int beyond(spl_wide gap, wide3 axis, spl_wide limit)
{
    spl_wide square = dot3(axis, axis);
    return (gap > limit * spl_wide_root(square)) & (gap <= FLT_MAX) & (square >= LEAST_AXIS);
}

static inline spl_wide limit_of(const spl_sift_row *a, int i, const spl_sift_row *b, int h)
{
    wide3 way = sub3(set3(a->way, i), load3(b->way, h));
    return spl_wide_set(a->limit[i]) + spl_wide_load(b->limit + h) + spl_wide_root(dot3(way, way));
}

static inline spl_wide_int same(const spl_sift_row *a, int p, int i, const spl_sift_row *b, int q, int h)
{
    return spl_wide_int_set(a->v[p][i]) == spl_wide_int_load(b->v[q] + h);
}

/* ---- a point and triangles ---- */

static inline spl_wide_int point_triangles_at(const spl_sift_row *a, int i, const spl_sift_row *b, int h)
{
    wide3 n = sub3(set3(a->middle, i), load3(b->middle, h)), u = load3(b->arm[0], h), v = load3(b->arm[1], h);
    spl_wide limit = limit_of(a, i, b, h);
    spl_wide nu = dot3(n, u), nv = dot3(n, v); /* the third arm is -(u + v) */
    spl_wide_int far = beyond(dot3(n, n) - spl_wide_max(spl_wide_max(nu, nv), -(nu + nv)), n, limit);
    wide3 c = cross3(u, v);
    spl_wide cu = spl_wide_abs(dot3(c, u)), cv = spl_wide_abs(dot3(c, v));
    return far | beyond(spl_wide_abs(dot3(n, c)) - (cu + cv), c, limit);
}

static unsigned sift_point_triangles(const spl_sift_row *a, int i, const spl_sift_row *b, unsigned lanes)
{
    unsigned out = 0;
    for (int h = 0; h < SPL_LANES; h += SPL_WIDE)
        out |= spl_wide_bits(same(a, 0, i, b, 0, h) | same(a, 0, i, b, 1, h) | same(a, 0, i, b, 2, h)) << h;
    lanes &= ~out;
    for (int h = 0; lanes && h < SPL_LANES; h += SPL_WIDE)
        lanes &= ~(spl_wide_bits(point_triangles_at(a, i, b, h)) << h);
    return lanes;
}

/* ---- an edge and edges ---- */

/* Along the middles, and across both. Arms are half of an edge. */
static inline spl_wide_int edges_apart(wide3 n, wide3 u, wide3 v, spl_wide limit)
{
    spl_wide nu = spl_wide_abs(dot3(n, u)), nv = spl_wide_abs(dot3(n, v));
    wide3 c = cross3(u, v);
    spl_wide cu = spl_wide_abs(dot3(c, u)), cv = spl_wide_abs(dot3(c, v));
    return beyond(dot3(n, n) - nu - nv, n, limit) | beyond(spl_wide_abs(dot3(n, c)) - cu - cv, c, limit);
}

/* Across one of them, towards the other. */
static inline spl_wide_int edges_apart_across(wide3 n, wide3 u, wide3 v, spl_wide limit)
{
    wide3 p = across3(n, u), q = across3(n, v);
    spl_wide pu = spl_wide_abs(dot3(p, u)), pv = spl_wide_abs(dot3(p, v));
    spl_wide qu = spl_wide_abs(dot3(q, u)), qv = spl_wide_abs(dot3(q, v));
    return beyond(dot3(n, p) - pu - pv, p, limit) | beyond(dot3(n, q) - qu - qv, q, limit);
}

static unsigned sift_edge_edges(const spl_sift_row *a, int i, const spl_sift_row *b, unsigned lanes)
{
    unsigned out = 0;
    for (int h = 0; h < SPL_LANES; h += SPL_WIDE)
        out |= spl_wide_bits(same(a, 0, i, b, 0, h) | same(a, 0, i, b, 1, h) | same(a, 1, i, b, 0, h) |
                             same(a, 1, i, b, 1, h))
               << h;
    lanes &= ~out;
    for (int h = 0; lanes && h < SPL_LANES; h += SPL_WIDE) {
        wide3 n = sub3(set3(a->middle, i), load3(b->middle, h)), u = set3(a->arm[0], i), v = load3(b->arm[0], h);
        spl_wide limit = limit_of(a, i, b, h);
        lanes &= ~(spl_wide_bits(edges_apart(n, u, v, limit)) << h);
        if (lanes) lanes &= ~(spl_wide_bits(edges_apart_across(n, u, v, limit)) << h);
    }
    return lanes;
}

/* ---- an edge and triangles ---- */

/* Along the middles, across the triangle, and across the edge towards the triangle. */
static inline spl_wide_int edge_triangles_at(const spl_sift_row *a, int i, const spl_sift_row *b, int h)
{
    wide3 n = sub3(set3(a->middle, i), load3(b->middle, h)), e = set3(a->arm[0], i);
    wide3 u = load3(b->arm[0], h), v = load3(b->arm[1], h), c = cross3(u, v), p = across3(n, e);
    spl_wide limit = limit_of(a, i, b, h);
    spl_wide nu = dot3(n, u), nv = dot3(n, v), pu = dot3(p, u), pv = dot3(p, v);
    spl_wide near = spl_wide_max(spl_wide_max(nu, nv), -(nu + nv)) + spl_wide_abs(dot3(n, e));
    spl_wide flat = spl_wide_abs(dot3(c, u)) + spl_wide_abs(dot3(c, v)) + spl_wide_abs(dot3(c, e));
    spl_wide side = spl_wide_max(spl_wide_max(pu, pv), -(pu + pv)) + spl_wide_abs(dot3(p, e));
    return beyond(dot3(n, n) - near, n, limit) | beyond(spl_wide_abs(dot3(n, c)) - flat, c, limit) |
           beyond(dot3(n, p) - side, p, limit);
}

static unsigned sift_edge_triangles(const spl_sift_row *a, int i, const spl_sift_row *b, unsigned lanes)
{
    unsigned out = 0;
    for (int h = 0; h < SPL_LANES; h += SPL_WIDE)
        out |= spl_wide_bits(same(a, 0, i, b, 0, h) | same(a, 0, i, b, 1, h) | same(a, 0, i, b, 2, h) |
                             same(a, 1, i, b, 0, h) | same(a, 1, i, b, 1, h) | same(a, 1, i, b, 2, h))
               << h;
    lanes &= ~out;
    for (int h = 0; lanes && h < SPL_LANES; h += SPL_WIDE)
        lanes &= ~(spl_wide_bits(edge_triangles_at(a, i, b, h)) << h);
    return lanes;
}
