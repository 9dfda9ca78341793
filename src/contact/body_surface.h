/* The surface of a body, and obstacles, as a barrier wants it. */
#ifndef SPL_CONTACT_BODY_SURFACE_H
#define SPL_CONTACT_BODY_SURFACE_H

#include "body/solid.h"
#include "contact/barrier.h"
#include "contact/obstacles.h"

typedef struct spl_body_surface {
    supple_allocator allocator;
    spl_barrier_surface surface; /* vertices of the body, then of obstacles */
    int32_t *point, *edge, *triangle, *bone;
    bool *fixed;
    double *reach, *stiffness;
} spl_body_surface;

/* `held` is by vertex: the bone that holds it, or -1. What bones carry but do not hold belongs to the strongest of its
 * weights. Reach is the deviation of the visual mesh (deviation.h); stiffness is W (2 mu + lambda) |g|^2 summed over
 * the tets around a vertex: what moves against it feels. `solid` must outlive it. The only failure is
 * SUPPLE_ERROR_MEMORY. */
supple_result spl_body_surface_create(const spl_solid *solid, const int32_t *held, const spl_obstacles *obstacles,
                                      spl_body_surface *out, supple_error *error);
void spl_body_surface_release(spl_body_surface *s);

#endif
