/* Colliders: things of the world that flesh cannot enter: spheres, capsules, half-spaces below planes, closed meshes.
 * They may move; all are in the solver's space (metres). */
#ifndef SPL_CONTACT_COLLIDER_H
#define SPL_CONTACT_COLLIDER_H

#include "math/vec3.h"

#include <supple/base.h>

typedef struct spl_colliders spl_colliders;

/* Where a point that is inside a collider, or within `reach` of it, comes out. */
typedef struct spl_collider_hit {
    int32_t collider;
    spl_vec3 target, normal; /* on its surface, and out of it, unit */
    double depth;            /* (target - p) . normal, negative outside */
} spl_collider_hit;

int32_t spl_colliders_count(const spl_colliders *c); /* 0 for NULL */

/* The deepest of all colliders at p, or the nearest where none contains it; false beyond `reach`. Many threads at a
 * time. `hint` (may be -1) is the collider that p touched last and wins ties. */
bool spl_colliders_query(const spl_colliders *c, spl_vec3 p, double reach, int32_t hint, spl_collider_hit *hit);

#endif
