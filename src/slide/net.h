/* The body's surface as the skin sees it: welded, with an orthonormal frame a triangle and a tangent frame a vertex,
 * the transport between them, and walks along geodesics. No atlas, no cutting: any topology will do.
 *
 * Triangle j: frame Q_j (3x2), edges R_j = Q_j^T D_X (2x2, upper triangular: the thin QR of the paper's equation 2).
 * Vertex i: unit normal n_i, frame E_i (3x2). Transport P_ij = Q_j^T Rot(n_i -> n_j) E_i, a rotation of the plane.
 * Lengths are metres, in the rest shape. Constant once made. */
#ifndef SPL_SLIDE_NET_H
#define SPL_SLIDE_NET_H

#include "geom/surface.h"

typedef struct spl_net {
    spl_surface surface; /* owned */
    spl_vec3 *normal;    /* by vertex: unit, also where the surface's own vanishes */
    spl_vec3 *face;      /* by triangle: unit */
    spl_vec3 *axis;      /* 2 a vertex: E_i */
    spl_vec3 *frame;     /* 2 a triangle: Q_j */
    double *inverse;     /* 3 a triangle: R_j^-1 as its entries 00, 01, 11; finite for slivers too */
    double *area;        /* by triangle; 0 for slivers, which have no mechanics */
    double *turn;        /* 2 a corner: cosine and sine of P_ij */
    double *share;       /* by corner: A_j / sum of A_j around the vertex */
    double *reach;       /* by vertex: the least height over it of its triangles; INFINITY without any */
    supple_allocator allocator;
} spl_net;

/* Makes a net of positions (3 a vertex) and triangles; what spl_surface_make does to them is done. */
supple_result spl_net_make(const double *position, int32_t vertex_count, const int32_t *triangle,
                           int32_t triangle_count, const supple_allocator *a, spl_net *out, supple_error *error);
void spl_net_release(spl_net *net);

/* Turns a vertex's frame so that its first axis is as near to a direction as it can be: for curves to slide along. */
void spl_net_align(spl_net *net, int32_t vertex, spl_vec3 direction);

/* v turned by the least rotation that takes unit a to unit b; about any axis where they are opposite. */
static inline spl_vec3 spl_net_turn(spl_vec3 a, spl_vec3 b, spl_vec3 v)
{
    double c = spl_dot(a, b);
    spl_vec3 w = spl_cross(a, b);
    if (c < -0.999999) { /* half a turn about anything perpendicular */
        spl_vec3 any = fabs(a.x) < 0.7 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
        spl_vec3 u = spl_unit(spl_cross(a, any), spl_v3(0, 0, 1));
        return spl_sub(spl_scale(u, 2 * spl_dot(u, v)), v);
    }
    spl_vec3 wv = spl_cross(w, v);
    return spl_madd(spl_add(v, wv), spl_cross(w, wv), 1 / (1 + c));
}

/* A vector of the vertex's plane (in E_i) in the plane of the triangle at a corner (in Q_j), and back. */
static inline void spl_net_carry(const spl_net *net, size_t corner, const double v[2], double out[2])
{
    double c = net->turn[2 * corner], s = net->turn[2 * corner + 1];
    out[0] = c * v[0] - s * v[1];
    out[1] = s * v[0] + c * v[1];
}
static inline void spl_net_bring(const spl_net *net, size_t corner, const double v[2], double out[2])
{
    double c = net->turn[2 * corner], s = net->turn[2 * corner + 1];
    out[0] = c * v[0] + s * v[1];
    out[1] = c * v[1] - s * v[0];
}

/* Barycentrics that a vector of a triangle's plane (in Q_j) adds. */
static inline void spl_net_bary(const spl_net *net, size_t t, const double v[2], double way[3])
{
    const double *r = net->inverse + 3 * t;
    way[1] = r[0] * v[0] + r[1] * v[1];
    way[2] = r[2] * v[1];
    way[0] = -way[1] - way[2];
}

/* ---- walks ------------------------------------------------------------------------------------------------------- */

/* A straight line over the surface: where it is, and what is left of it as a change of barycentrics. */
typedef struct spl_trail {
    spl_place at;
    double way[3];
    int entered; /* the edge it came in by, -1: none */
} spl_trail;

enum { SPL_TRAIL_ENDED = -1, SPL_TRAIL_LONGEST = 400 /* edges crossed; a walk that is longer stops where it is */ };

/* Goes on to the end, or to the edge (0 to 2) where the line leaves the triangle. */
int spl_trail_on(spl_trail *w);

/* Unfolds the rest of the line over that edge. At a border what leads along it stays, and false is returned. */
bool spl_trail_cross(const spl_net *net, spl_trail *w, int edge);

/* A walk from a place along a vector of space: its part in the tangent plane, whole length kept. */
spl_trail spl_trail_begin(const spl_net *net, const spl_place *from, spl_vec3 direction);

/* The place at the end of such a walk. */
spl_place spl_net_go(const spl_net *net, const spl_place *from, spl_vec3 direction);

/* A walk from a vertex along a vector of its plane (in E_i): the triangle whose wedge holds it, or the nearest. */
spl_place spl_net_trace(const spl_net *net, int32_t vertex, const double v[2]);

/* A vertex as a place, in the first of its triangles. */
spl_place spl_net_vertex(const spl_net *net, int32_t vertex);

#endif
