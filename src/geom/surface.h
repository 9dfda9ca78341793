/* A clean triangle surface out of raw triangles: what every geometric query of the body works on.
 *
 * Vertices at one place (1e-6 of the diagonal) are one; triangles with a repeated corner and copies of earlier
 * triangles are gone; neighbours agree on orientation; closed components face outwards. Slivers with three distinct
 * corners stay: without them a closed surface would have holes. */
#ifndef SPL_GEOM_SURFACE_H
#define SPL_GEOM_SURFACE_H

#include "math/vec3.h"

#include <supple/base.h>

enum {
    SPL_EDGE_BORDER = -1,      /* no triangle across */
    SPL_EDGE_NONMANIFOLD = -2, /* more than one */
};

/* A place on a surface. */
typedef struct spl_place {
    int32_t triangle; /* -1: nowhere */
    double bary[3];   /* weights of the triangle's corners; not negative, sum 1 */
} spl_place;

typedef struct spl_surface {
    int32_t vertex_count, triangle_count, component_count;
    spl_vec3 *position;    /* vertex_count: that of the first input vertex welded into it */
    spl_vec3 *normal;      /* vertex_count: area-weighted, unit; zero where the triangles cancel */
    int32_t *triangle;     /* 3 x triangle_count */
    spl_vec3 *face;        /* triangle_count: unit normal; zero for a sliver without one */
    int32_t *source;       /* triangle_count: the input triangle; ascending */
    bool *flipped;         /* triangle_count: corners 1 and 2 are exchanged against the input */
    int32_t *across;       /* 3 x triangle_count: triangle over the edge from corner k to k + 1, or SPL_EDGE_* */
    int32_t *component;    /* triangle_count: numbered by first triangle */
    bool *closed;          /* component_count: each edge has exactly two triangles */
    double *area;          /* component_count */
    double *volume;        /* component_count: signed; of open ones, closed by a cone to the border's centroid */
    int32_t *corner_first; /* vertex_count + 1: CSR over `corner` */
    int32_t *corner;       /* 3 x triangle_count: 3 * triangle + k of the triangles at a vertex, ascending */
    int32_t *link_first;   /* vertex_count + 1: CSR over `link` */
    int32_t *link;         /* the vertices that share an edge with a vertex, ascending */
    int32_t input_vertex_count;
    int32_t *map;       /* input_vertex_count: the surface vertex, or -1 if no triangle that stays uses it */
    spl_vec3 low, high; /* bounding box of the vertices in use; zero if there are none */
    double diagonal;    /* of the box */
    int32_t degenerate_triangles, duplicate_triangles, flipped_triangles; /* dropped, dropped, turned round */
    int32_t border_edges, nonmanifold_edges, closed_components;
    int32_t twisted_edges; /* where two triangles cannot agree on orientation (a Moebius strip) */
    supple_allocator allocator;
} spl_surface;

/* Makes a surface of triangles (3 x triangle_count indices below vertex_count) over positions (3 x vertex_count). It
 * may come out empty. SUPPLE_ERROR_ARGUMENT for numbers that are not finite or indices out of range,
 * SUPPLE_ERROR_MEMORY. On failure *out is zero. Orientation: over edges with two triangles neighbours agree; a closed
 * component has positive volume, an open one that clearly bulges (a tube, a cup, a limb cut off) too, other open ones
 * keep what most of their area had in the input. */
supple_result spl_surface_make(const double *position, int32_t vertex_count, const int32_t *triangle,
                               int32_t triangle_count, const supple_allocator *a, spl_surface *out,
                               supple_error *error);
/* Accepts a zeroed or released surface. */
void spl_surface_release(spl_surface *surface);

/* The mean length of its edges; 0 without any. */
double spl_surface_mean_edge(const spl_surface *s);

/* The position of a place. */
static inline spl_vec3 spl_surface_point(const spl_surface *s, const spl_place *p)
{
    const int32_t *c = s->triangle + 3 * (size_t)p->triangle;
    return spl_madd(spl_madd(spl_scale(s->position[c[0]], p->bary[0]), s->position[c[1]], p->bary[1]),
                    s->position[c[2]], p->bary[2]);
}

/* The normal of a place: the vertices', interpolated; the face's where they cancel, +z without one either. Unit. */
spl_vec3 spl_surface_normal(const spl_surface *s, const spl_place *p);

#endif
