/* Geodesic distances on a surface, from any place on it.
 *
 * Distances spread from vertex to vertex as in fast marching on triangles (Kimmel and Sethian 1998), but with round
 * fronts: two vertices' distances place a virtual source in the plane of a triangle, on the far side of their edge, and
 * the third vertex lies as far as a straight line to it is long, if that crosses the edge (Novotni and Klein 2002).
 * Obtuse triangles need no unfolding, because a vertex may be corrected after it was passed. Measured: planes and tubes
 * are exact where no ring of triangles hides each other in turn as seen from the source (bad ones do: 1% then, here and
 * there), a sphere of 64 x 32 cells is right to 0.3% in the mean and 1.6% at worst. Where a line crosses no edge the
 * way along the triangles' edges counts, so that no answer is longer than Dijkstra's. */
#ifndef SPL_GEOM_GEODESIC_H
#define SPL_GEOM_GEODESIC_H

#include "geom/surface.h"

/* Working memory of one query at a time; one per thread. */
typedef struct spl_geodesic {
    int32_t vertex_count;
    double *distance;        /* by vertex; INFINITY between queries */
    int32_t *slot;           /* by vertex: place in the heap, -1 if not in it */
    int32_t *heap, *touched; /* vertices */
    int32_t heap_count, touched_count;
    double longest; /* edge at the vertices passed so far */
    supple_allocator allocator;
} spl_geodesic;

/* For surfaces of up to vertex_count vertices. The only failure is SUPPLE_ERROR_MEMORY; *out is then zero. */
supple_result spl_geodesic_make(int32_t vertex_count, const supple_allocator *a, spl_geodesic *out,
                                supple_error *error);
void spl_geodesic_release(spl_geodesic *g);

/* The vertices no farther than `radius` from a place, nearest first (ties by number), with their distances; at most
 * `capacity` of them are stored. Returns how many are stored; 0 for a place that is nowhere. */
int32_t spl_geodesic_within(spl_geodesic *g, const spl_surface *s, const spl_place *from, double radius,
                            int32_t capacity, int32_t *vertex, double *distance);

/* The k nearest vertices likewise; fewer where the surface has fewer that can be reached. */
int32_t spl_geodesic_nearest(spl_geodesic *g, const spl_surface *s, const spl_place *from, int32_t k, int32_t *vertex,
                             double *distance);

/* The distance between two places; INFINITY where it is above `limit` (which bounds the work) or there is no way. */
double spl_geodesic_distance(spl_geodesic *g, const spl_surface *s, const spl_place *a, const spl_place *b,
                             double limit);

/* Whether two places are within `limit` of each other along the surface. Looks at no more than needed: places that are
 * farther apart in space are not. */
bool spl_geodesic_near(spl_geodesic *g, const spl_surface *s, const spl_place *a, const spl_place *b, double limit);

#endif
