/* The shell: the surface of a body's tetrahedra as contacts see it, with what is known of it at rest.
 *
 * It stands on the tets' own vertices (body.skin welds those that share a place: copies of limbs that overlap at rest
 * would become one). Distances are counted through flesh, never through air: a place inside the body knows the surface
 * vertex that is nearest along the tets' edges, and a vertex knows its neighbours by rings of edges. */
#ifndef SPL_CONTACT_SHELL_H
#define SPL_CONTACT_SHELL_H

#include "body/solid.h"
#include "fem/residual.h"

typedef struct spl_shell {
    supple_allocator allocator;
    const spl_solid *solid;
    const double *rest; /* 3 x body vertices: the solver's */
    int32_t body_count; /* vertices of the body */
    int32_t tet_count;
    const int32_t *tet; /* 4 x tet_count */
    int32_t vertex_count;
    int32_t *vertex; /* by shell vertex: the body's, ascending */
    int32_t *slot;   /* by body vertex: the shell's, -1 inside */
    int32_t triangle_count;
    const int32_t *triangle; /* 3 x triangle_count, body vertices: body.tets.surface */
    bool *outside;           /* by triangle: skin; false for the inner side of prisms, which no vertex leaves through */
    int32_t *corner_first;   /* vertex_count + 1 */
    int32_t *corner;         /* triangles at a shell vertex, ascending */
    int32_t *nearest;        /* by body vertex: the shell vertex nearest through flesh */
    spl_vec3 *normal;        /* by shell vertex: unit, at rest */
    double *thickness; /* by shell vertex: of the flesh below it at rest, metres; INFINITY where rays meet nothing */
    spl_stars stars;
    double edge;     /* mean edge of the surface at rest, metres */
    double tet_edge; /* mean edge of the tets at rest */
} spl_shell;

/* The solid must outlive it. SUPPLE_ERROR_MEMORY is the only failure. */
supple_result spl_shell_create(const spl_solid *solid, spl_pool *pool, spl_shell *out, supple_error *error);
void spl_shell_release(spl_shell *s);

static inline spl_vec3 spl_shell_point(const double *x, int32_t v)
{
    return spl_v3(x[3 * (size_t)v], x[3 * (size_t)v + 1], x[3 * (size_t)v + 2]);
}

/* Barycentrics of p in a tet of the body at x; false where the tet has no positive volume there. */
bool spl_shell_bary(const spl_shell *s, int32_t tet, const double *x, spl_vec3 p, double bary[4]);

/* A place on the shell at x. */
typedef struct spl_shell_place {
    int32_t triangle; /* -1: nowhere */
    double bary[3];
    double square; /* of the distance */
} spl_shell_place;

/* Whether a triangle is forbidden; called for few. */
typedef bool spl_shell_refuse(const void *context, int32_t triangle);

/* The place nearest to p among the triangles around a shell vertex; `best` comes with the best so far. */
void spl_shell_around(const spl_shell *s, const double *x, spl_vec3 p, int32_t vertex, spl_shell_refuse *refuse,
                      const void *context, spl_shell_place *best);

/* Walks from a place downhill to one that is nearest to p among the triangles around it. On an edge or at a corner it
 * is given in the first triangle there that is allowed. */
void spl_shell_walk(const spl_shell *s, const double *x, spl_vec3 p, spl_shell_refuse *refuse, const void *context,
                    spl_shell_place *best);

/* The shell vertex that a walk along edges from `start` finds nearest to p. */
int32_t spl_shell_descend(const spl_shell *s, const double *x, spl_vec3 p, int32_t start);

/* The normal at a place: the face's inside a triangle, the mean of the faces on an edge, weighted by their angles at a
 * corner: the sign of (target - p) . normal then says on which side p is (Baerentzen and Aanaes 2005). Unit; zero for
 * a surface that is flat there. */
spl_vec3 spl_shell_normal(const spl_shell *s, const double *x, const spl_shell_place *at);

spl_vec3 spl_shell_target(const spl_shell *s, const double *x, const spl_shell_place *at);

/* How a point comes out at a place: by the shortest way, along target - p, on the side that the normal there says. */
typedef struct spl_shell_way {
    spl_vec3 target, normal; /* normal: unit, out of the flesh */
    double depth;            /* (target - p) . normal, negative outside */
} spl_shell_way;

/* False for a surface without a normal, and where the way is along a border of what a walk was allowed, not out. */
bool spl_shell_way_at(const spl_shell *s, const double *x, spl_vec3 p, const spl_shell_place *at, spl_shell_way *way);

/* The triangle through which p, in a tet at x, leaves the flesh: a prism's own; else the one nearest at rest. -1 if the
 * tet has no positive volume. */
int32_t spl_shell_exit(const spl_shell *s, int32_t tet, const double *x, spl_vec3 p);

#endif
