/* Which points, edges and triangles come near to each other: the broad phase of detection by pairs.
 *
 * Three trees of boxes (geom/box_tree.h) are refitted at each call and asked by the leaves of each other. What is
 * found does not depend on them, nor on the number of threads. */
#ifndef SPL_GEOM_PAIRS_H
#define SPL_GEOM_PAIRS_H

#include "core/threads.h"
#include "geom/distance.h"

/* What may meet: points, edges and triangles over one array of vertices (3 doubles each). */
typedef struct spl_primitives {
    int32_t vertex_count, point_count, edge_count, triangle_count;
    const int32_t *point;    /* vertices */
    const int32_t *edge;     /* 2 each */
    const int32_t *triangle; /* 3 each */
    const bool *fixed;       /* by vertex: it is moved from outside. Pairs of fixed vertices alone are none; NULL: none
                              * is fixed */
    const double *reach; /* by vertex: how far around it what it carries reaches, >= 0; a primitive has the largest of
                          * its corners; NULL: 0 */
} spl_primitives;

/* Pairs that are none. May be called by several threads at once. */
typedef bool spl_pairs_refuse(const void *context, const spl_pair *pair);

typedef struct spl_pairs spl_pairs;

/* The primitives' arrays are borrowed and must outlive it; fixed, reach and what `refuse` answers may change between
 * finds. `refuse` may be NULL. The only failure is SUPPLE_ERROR_MEMORY; *out is then NULL. */
supple_result spl_pairs_create(const spl_primitives *p, spl_pairs_refuse *refuse, const void *context,
                               const supple_allocator *a, spl_pairs **out, supple_error *error);
void spl_pairs_destroy(spl_pairs *s);

/* All pairs that share no vertex, are not refused, are not of fixed vertices alone, and that come within `radius` +
 * both reaches of each other while x moves straight to x + d (d NULL: at x). With d: conservatively; none that comes so
 * near is missing, some that do not are there. Without: exactly by distance. Of two edges the one with the lower first
 * end (then second) comes first. Sorted (kind, v), each once; the same at any number of threads. Pairs with coordinates
 * that are no numbers may be left out. The list stays until the next find that succeeds. Grows its room as needed:
 * SUPPLE_ERROR_MEMORY is the only failure. */
supple_result spl_pairs_find(spl_pairs *s, const double *x, const double *d, double radius, spl_pool *pool,
                             supple_error *error);
const spl_pair *spl_pairs_list(const spl_pairs *s, int32_t *count);

/* The same, points and triangles alone. */
supple_result spl_pairs_find_points(spl_pairs *s, const double *x, const double *d, double radius, spl_pool *pool,
                                    supple_error *error);

/* The same as spl_pairs_find, of pairs alone that have a vertex of `among` (by vertex): what is new where only these
 * go elsewhere. Costs what they are near, and not much more. */
supple_result spl_pairs_find_among(spl_pairs *s, const double *x, const double *d, double radius, const bool *among,
                                   spl_pool *pool, supple_error *error);

/* Which edges pass through which triangles at x: all that share no vertex, are not of fixed vertices alone, and are not
 * refused: `refuse` is asked for each end of the edge as a point with the triangle, and has to refuse both. An edge
 * that ends in a triangle's plane does not pass through it; one that meets its rim does. Calls `found` (may be NULL) in
 * the order of the edges, then triangles. The list of pairs stays. Returns the number; -1 if memory is out, and then
 * nothing was called. For tests and for released pairs. */
int32_t spl_pairs_crossings(spl_pairs *s, const double *x, spl_pool *pool,
                            void (*found)(void *context, const int32_t edge[2], const int32_t triangle[3]),
                            void *context);

/* The edges of triangles, each once, lower end first, sorted; to be freed by the allocator. Corners that are the same
 * make none. */
supple_result spl_primitives_edges(const int32_t *triangle, int32_t triangle_count, const supple_allocator *a,
                                   int32_t **edge, int32_t *edge_count, supple_error *error);

/* The vertices of triangles, each once, sorted. */
supple_result spl_primitives_vertices(const int32_t *triangle, int32_t triangle_count, const supple_allocator *a,
                                      int32_t **vertex, int32_t *vertex_count, supple_error *error);

#endif
