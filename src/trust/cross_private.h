/* What the files of the measure of self-crossing share. */
#ifndef SPL_TRUST_CROSS_PRIVATE_H
#define SPL_TRUST_CROSS_PRIVATE_H

#include "geom/winding.h"
#include "trust/cross.h"

enum { SPL_CROSS_ROOMS = 8 }; /* threads that search ways at a time, at most */

/* Room for one search of ways over edges; distances are INFINITY between searches. */
typedef struct spl_cross_ways {
    double *distance;        /* by vertex */
    int32_t *slot;           /* by vertex: place in the heap, -1 if not in it */
    int32_t *heap, *touched; /* vertices */
    int32_t heap_count, touched_count;
} spl_cross_ways;

/* Pairs of triangles by the lower numbered one, the others in order. */
typedef struct spl_cross_pairs {
    int32_t *first; /* triangle_count + 1 */
    int32_t *other;
    size_t room;
} spl_cross_pairs;

/* An inside vertex and its way out. */
typedef struct spl_cross_probe {
    int32_t vertex, triangle; /* the sheet, -1: none */
    double depth;
    bool fold;
} spl_cross_probe;

struct spl_crossings {
    supple_allocator allocator;
    double metre;
    int32_t vertex_count, triangle_count; /* welded; without triangles that have a corner twice */
    int32_t *source;                      /* by vertex: its first vertex in the scene */
    int32_t *triangle;                    /* 3 each */
    int32_t *near_first, *near;           /* by vertex: those that it shares an edge with */
    spl_vec3 *rest, *x;                   /* by vertex: metres */
    spl_vec3 *face, *normal;              /* of x: by triangle, twice the area long; by vertex, unit */
    spl_tree tree;                        /* of x */
    spl_winding winding;
    spl_cross_pairs pairs, at_rest;
    double *way;          /* by vertex: to where it went in; INFINITY: nowhere */
    bool *inside;         /* by vertex */
    bool *inside_at_rest; /* by vertex */
    bool *queued;         /* by vertex */
    int32_t *queue;
    double *number; /* by place in the queue: the winding number */
    spl_cross_probe *probe;
    int32_t queue_count, probe_count;
    int32_t room_count;
    spl_cross_ways room[SPL_CROSS_ROOMS];
};

/* ---- cross_pairs.c ---- */

/* Pairs of crossing triangles of x that share no vertex. */
supple_result spl_cross_find_pairs(spl_crossings *c, spl_cross_pairs *out, spl_pool *pool, supple_error *error);
bool spl_cross_has_pair(const spl_cross_pairs *p, int32_t s, int32_t t);

/* The points where two triangles cross, 6 at most. */
int spl_cross_points(const spl_crossings *c, int32_t s, int32_t t, spl_vec3 point[6]);

/* ---- cross_ways.c ---- */

supple_result spl_cross_ways_make(const supple_allocator *a, int32_t vertex_count, spl_cross_ways *out,
                                  supple_error *error);
void spl_cross_ways_release(const supple_allocator *a, spl_cross_ways *w);

/* A vertex to begin at. */
void spl_cross_ways_begin(spl_cross_ways *w, int32_t vertex, double distance);

/* Shortest ways over the edges of x (c->rest or c->x) from where was begun, below `limit`; through vertices that are
 * allowed, where `allowed` is given. */
void spl_cross_ways_run(spl_cross_ways *w, const spl_crossings *c, const spl_vec3 *x, const bool *allowed,
                        double limit);
void spl_cross_ways_clear(spl_cross_ways *w);

/* ---- cross_depth.c ---- */

/* Which vertices are inside, beginning at the corners of pairs that are not at rest (of all, if `resting`). */
void spl_cross_find_inside(spl_crossings *c, bool resting, spl_pool *pool);

/* After it: the depths of the inside vertices. */
void spl_cross_find_depths(spl_crossings *c, spl_pool *pool);

/* The deepest of all, and of folds. */
void spl_cross_deepest(spl_crossings *c, spl_pool *pool, spl_crossing *out);

#endif
