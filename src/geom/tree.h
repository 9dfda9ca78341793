/* A bounding-volume tree over triangles: nearest point, rays, boxes. Constant once built, so that any number of threads
 * may ask it at once; no query allocates or recurses.
 *
 * Four children a node, built by binned surface-area heuristic (Wald 2007). Boxes are floats in the tree's own frame
 * (the middle of the surface, unit half width), rounded outwards: they only ever admit too much, so results are exact
 * to double precision. Answers depend on the triangles alone, not on the order of the traversal: among triangles at
 * equal distance the lowest numbered one wins. */
#ifndef SPL_GEOM_TREE_H
#define SPL_GEOM_TREE_H

#include "math/vec3.h"

#include <supple/base.h>

enum { SPL_TREE_WIDTH = 4, SPL_TREE_STACK = 3 * 64 + 1 };

typedef struct spl_tree_node {
    float low[3][SPL_TREE_WIDTH], high[3][SPL_TREE_WIDTH]; /* children's boxes, in the tree's frame */
    int32_t child[SPL_TREE_WIDTH];                         /* a node; or ~first slot, for a leaf */
    int32_t count[SPL_TREE_WIDTH];                         /* triangles of a leaf; 0 for a node or nothing */
} spl_tree_node;

/* Triangles stand in slots, in the order of the leaves. */
typedef struct spl_tree {
    int32_t triangle_count, node_count;
    spl_tree_node *node; /* node_count, parents before children; the root first; none without triangles */
    spl_vec3 *corner;    /* 3 x triangle_count, by slot */
    int32_t *index;      /* 3 x triangle_count, by slot: vertices */
    int32_t *triangle;   /* by slot: the triangle's number */
    int32_t *slot;       /* by triangle */
    spl_vec3 middle;     /* frame = (p - middle) * scale */
    double scale;        /* a power of two */
    supple_allocator allocator;
} spl_tree;

/* The nearest point of a surface, or where a ray meets it. */
typedef struct spl_hit {
    double distance;  /* from the query; of a ray, in units of its direction's length */
    int32_t triangle; /* -1: none */
    double bary[3];   /* of the triangle's corners, not negative, sum 1 */
    spl_vec3 point;
} spl_hit;

/* Builds a tree of triangles (3 x triangle_count indices) over positions; both are copied. Finite positions are
 * required (spl_surface sees to it). O(n log n), deterministic. The only failure is SUPPLE_ERROR_MEMORY; *out is then
 * zero. */
supple_result spl_tree_make(const spl_vec3 *position, const int32_t *triangle, int32_t triangle_count,
                            const supple_allocator *a, spl_tree *out, supple_error *error);
void spl_tree_release(spl_tree *tree);

/* New positions of the same vertices: corners and boxes are computed again in O(n). Queries stay exact and slow down as
 * the shape departs from the one the tree was built for. */
void spl_tree_refit(spl_tree *tree, const spl_vec3 *position);

/* The point nearest to p, no farther than `radius` (INFINITY: any). `hint`, a triangle likely to be near, or -1, only
 * makes it faster. False, and a hit without a triangle, if there is none (or p is not finite). */
bool spl_tree_nearest(const spl_tree *tree, spl_vec3 p, double radius, int32_t hint, spl_hit *hit);

/* The first point where origin + t direction, 0 <= t <= limit (INFINITY: a ray; 1: a segment), meets a triangle from
 * either side. Rays do not slip through shared edges; triangles seen edge-on are not met. False if there is none. */
bool spl_tree_ray(const spl_tree *tree, spl_vec3 origin, spl_vec3 direction, double limit, spl_hit *hit);

/* How many triangles that ray meets. A hit on a shared edge may count twice. */
int32_t spl_tree_ray_count(const spl_tree *tree, spl_vec3 origin, spl_vec3 direction, double limit);

/* Calls visit for every triangle whose bounding box meets the closed box from low to high, until it returns false. */
typedef bool spl_tree_visit_fn(void *context, int32_t triangle);
void spl_tree_box(const spl_tree *tree, spl_vec3 low, spl_vec3 high, spl_tree_visit_fn *visit, void *context);

/* The point of a triangle nearest to p and its barycentrics, for any triangle, flat ones too; returns the squared
 * distance. */
double spl_triangle_nearest(spl_vec3 p, spl_vec3 a, spl_vec3 b, spl_vec3 c, double bary[3]);

#endif
