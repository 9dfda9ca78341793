#include "geom/distance.h"

#include "math/vec3.h"

/* Two directions whose sine is above this are far enough from parallel: an inner optimum is then the optimum, and ends
 * need not be tried. Below, both are computed and the lesser wins. Squared. */
#define WELL_APART 1e-10

static spl_vec3 at(const double x[4][3], int i)
{
    return spl_v3(x[i][0], x[i][1], x[i][2]);
}

/* Not by fmin and fmax: what is no number becomes 0. */
static double clamp(double t)
{
    return t > 0 ? (t < 1 ? t : 1) : 0;
}

/* The place t of [0, 1] where |a + t e| is least. */
static double along(spl_vec3 a, spl_vec3 e)
{
    double ee = spl_dot(e, e);
    return ee > 0 ? clamp(-spl_dot(a, e) / ee) : 0;
}

/* Where |r + s u + t v| is least over all s and t, by u and the part of v across it (modified Gram-Schmidt: r loses its
 * part along u first, so that the rounding of `across`, which grows as they become parallel, finds nothing there). u
 * should be the longer. Returns the square of the sine between them, 0 where there is none. */
static double least_squares(spl_vec3 r, spl_vec3 u, spl_vec3 v, double *s, double *t)
{
    double uu = spl_dot(u, u), vv = spl_dot(v, v);
    if (!(uu > 0) || !(vv > 0)) return 0;
    double k = spl_dot(u, v) / uu, first = -spl_dot(u, r) / uu;
    spl_vec3 across = spl_madd(v, u, -k);
    double cc = spl_dot(across, across);
    if (!(cc > 0)) return 0;
    *t = -spl_dot(across, spl_madd(r, u, first)) / cc;
    *s = first - k * *t;
    return cc / vv;
}

/* ---- point and triangle ---- */

static void set_corners(spl_nearest *n, const spl_vec3 a[3], double b0, double b1, double b2)
{
    spl_vec3 r = spl_madd(spl_madd(spl_scale(a[0], b0), a[1], b1), a[2], b2);
    double square = spl_dot(r, r);
    if (square >= n->square) return;
    *n = (spl_nearest){square, {1, -b0, -b1, -b2}};
}

/* The nearest place of the three edges. */
static void try_sides(spl_nearest *n, const spl_vec3 a[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3;
        double b[3] = {0}, t = along(a[i], spl_sub(a[j], a[i]));
        b[i] = 1 - t;
        b[j] = t;
        set_corners(n, a, b[0], b[1], b[2]);
    }
}

/* The foot of the perpendicular, from the corner before the longest edge. True: it is inside, and certain. */
static bool try_face(spl_nearest *n, const spl_vec3 a[3])
{
    double length[3];
    for (int i = 0; i < 3; i++) {
        spl_vec3 e = spl_sub(a[(i + 1) % 3], a[i]);
        length[i] = spl_dot(e, e);
    }
    int i = length[0] >= length[1] && length[0] >= length[2] ? 0 : length[1] >= length[2] ? 1 : 2;
    int j = (i + 1) % 3, k = (i + 2) % 3;
    double b[3], s, t;
    double sine = least_squares(a[i], spl_sub(a[j], a[i]), spl_sub(a[k], a[i]), &s, &t);
    if (!(sine > 0)) return false;
    b[i] = 1 - s - t;
    b[j] = s;
    b[k] = t;
    if (!(b[0] > 0 && b[1] > 0 && b[2] > 0)) return false;
    set_corners(n, a, b[0], b[1], b[2]);
    return sine > WELL_APART;
}

static spl_nearest point_triangle(const double x[4][3])
{
    spl_vec3 p = at(x, 0), a[3] = {spl_sub(at(x, 1), p), spl_sub(at(x, 2), p), spl_sub(at(x, 3), p)};
    spl_nearest side = {INFINITY, {1, -1, 0, 0}}, face = side;
    if (try_face(&face, a)) return face;
    try_sides(&side, a);
    return face.square < side.square ? face : side;
}

/* ---- two edges ---- */

typedef struct edges {
    spl_vec3 r, u, v; /* from the second's first end to the first's; the edges */
} edges;

static void set_places(spl_nearest *n, const edges *e, double s, double t)
{
    spl_vec3 way = spl_madd(spl_madd(e->r, e->u, s), e->v, -t);
    double square = spl_dot(way, way);
    if (square >= n->square) return;
    *n = (spl_nearest){square, {1 - s, s, -(1 - t), -t}};
}

/* Each end against the other edge. */
static void try_ends(spl_nearest *n, const edges *e)
{
    spl_vec3 back = spl_scale(e->v, -1);
    set_places(n, e, 0, along(e->r, back));
    set_places(n, e, 1, along(spl_add(e->r, e->u), back));
    set_places(n, e, along(e->r, e->u), 0);
    set_places(n, e, along(spl_sub(e->r, e->v), e->u), 1);
}

/* The common perpendicular. True: it is inside both, and certain. */
static bool try_insides(spl_nearest *n, const edges *e)
{
    double s = 0, t = 0, sine;
    spl_vec3 back = spl_scale(e->v, -1);
    if (spl_dot(e->u, e->u) >= spl_dot(e->v, e->v))
        sine = least_squares(e->r, e->u, back, &s, &t);
    else
        sine = least_squares(e->r, back, e->u, &t, &s);
    if (!(sine > 0 && s > 0 && s < 1 && t > 0 && t < 1)) return false;
    set_places(n, e, s, t);
    return sine > WELL_APART;
}

static spl_nearest edge_edge(const double x[4][3])
{
    spl_vec3 a = at(x, 0), b = at(x, 2);
    edges e = {spl_sub(a, b), spl_sub(at(x, 1), a), spl_sub(at(x, 3), b)};
    spl_nearest end = {INFINITY, {1, 0, -1, 0}}, inside = end;
    if (try_insides(&inside, &e)) return inside;
    try_ends(&end, &e);
    return inside.square < end.square ? inside : end;
}

spl_nearest spl_pair_nearest(spl_pair_kind kind, const double x[4][3])
{
    return kind == SPL_PAIR_POINT_TRIANGLE ? point_triangle(x) : edge_edge(x);
}
