/* Colliders as points, edges and triangles, for a barrier: a ball is a point with a radius, a capsule an edge with one,
 * a plane a triangle as large as the world. */
#ifndef SPL_CONTACT_OBSTACLES_H
#define SPL_CONTACT_OBSTACLES_H

#include "contact/collider.h"

typedef struct spl_obstacles {
    supple_allocator allocator;
    int32_t vertex_count, edge_count, triangle_count;
    double *position;  /* 3 each: where the colliders were placed last */
    double *radius;    /* by vertex, metres */
    int32_t *collider; /* by vertex */
    int32_t *edge;     /* 2 each; a ball's twice the same */
    int32_t *triangle; /* 3 each */
} spl_obstacles;

/* Of all colliders; NULL: none. `size`: of the body, metres: planes reach a thousand times as far. The only failure is
 * SUPPLE_ERROR_MEMORY. */
supple_result spl_obstacles_create(const spl_colliders *colliders, double size, const supple_allocator *a,
                                   spl_obstacles *out, supple_error *error);
void spl_obstacles_release(spl_obstacles *o);

/* Where the colliders are now. */
void spl_obstacles_place(spl_obstacles *o, const spl_colliders *colliders, double size);

#endif
