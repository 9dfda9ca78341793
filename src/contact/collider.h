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

/* ---- making and moving them ---- */

typedef enum spl_collider_kind {
    SPL_COLLIDER_SPHERE,  /* a: centre */
    SPL_COLLIDER_CAPSULE, /* a, b: ends of its axis */
    SPL_COLLIDER_PLANE,   /* a: a point of it; b: normal, of any length but 0; what is below is solid */
    SPL_COLLIDER_MESH,
} spl_collider_kind;

typedef struct spl_collider_shape {
    spl_collider_kind kind;
    spl_vec3 a, b;
    double radius; /* of spheres and capsules */
} spl_collider_shape;

/* Triangles of a mesh (3 x triangle_count indices) over positions (3 x vertex_count); copied. */
typedef struct spl_collider_mesh {
    const char *name; /* for messages */
    int32_t vertex_count, triangle_count;
    const double *position;
    const int32_t *triangle;
} spl_collider_mesh;

/* An empty set; the only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_colliders_create(const supple_allocator *a, spl_colliders **out, supple_error *error);
void spl_colliders_destroy(spl_colliders *c); /* accepts NULL */

/* Adds one behind the others. On failure the set stands as it was. */
supple_result spl_colliders_add(spl_colliders *c, const spl_collider_shape *shape, supple_error *error);

/* The same of a mesh: vertices at one place are one, pieces may overlap and face either way. SUPPLE_ERROR_INPUT if it
 * is open (with the number of its border edges), has no triangles, or positions that are not finite. */
supple_result spl_colliders_add_mesh(spl_colliders *c, const spl_collider_mesh *mesh, supple_error *error);

/* Moves one; allocates nothing. What was added as a shape may become one of another kind, a mesh stays one; `position`
 * has the mesh's vertices, 3 each, and queries of it stay exact in any shape. */
void spl_colliders_place(spl_colliders *c, int32_t index, const spl_collider_shape *shape);
void spl_colliders_place_mesh(spl_colliders *c, int32_t index, const double *position);

/* ---- reading them ---- */

/* A collider's kind, and where it is if it is no mesh. */
spl_collider_shape spl_colliders_shape(const spl_colliders *c, int32_t index);

/* A mesh, its vertices at one place being one; pointers into the set, valid until it changes. */
typedef struct spl_collider_geometry {
    int32_t vertex_count, triangle_count;
    const spl_vec3 *position;
    const int32_t *triangle;
} spl_collider_geometry;
void spl_colliders_mesh(const spl_colliders *c, int32_t index, spl_collider_geometry *out);

#endif
