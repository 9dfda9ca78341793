/* A closed surface in the making: welded vertices, texture coordinates at the corners, and a dense weight per joint.
 * It becomes a mesh of a rigged character at the end: normals, vertices split at texture seams, four influences. */
#ifndef SPL_DEMO_SHAPE_H
#define SPL_DEMO_SHAPE_H

#include "scene/writers/rigged.h"

typedef struct spl_shape {
    supple_allocator allocator;
    int32_t vertex_count, triangle_count, joint_count;
    spl_vec3 *position; /* vertex_count */
    int32_t *triangle;  /* 3 x triangle_count, counter-clockwise from outside */
    float *uv;          /* 2 x 3 x triangle_count, a pair for each corner; or NULL */
    float *weight;      /* vertex_count x joint_count; need not sum to 1 */
} spl_shape;

/* Room for so many vertices and triangles, zeroed. False if memory is out (the shape is then empty). */
bool spl_shape_init(spl_shape *shape, const supple_allocator *a, int32_t vertices, int32_t triangles, int32_t joints);
void spl_shape_release(spl_shape *shape);

/* A point of a surface at u (along, 0 to 1) and v (around, 0 to 1, periodic). At u = 0 and 1 it does not depend on v.
 * Increasing u, then v, then outwards is a right-handed frame. */
typedef spl_vec3 spl_tube_fn(const void *context, double u, double v);

/* A tube closed by a pole at each end: `along` steps of u and `around` steps of v, mapped on the whole texture. */
bool spl_shape_tube(spl_shape *shape, const supple_allocator *a, int32_t along, int32_t around, int32_t joints,
                    spl_tube_fn *point, const void *context);

/* A torus: u and v are both periodic. */
bool spl_shape_ring(spl_shape *shape, const supple_allocator *a, int32_t along, int32_t around, int32_t joints,
                    spl_tube_fn *point, const void *context);

/* Area-weighted unit normals of the welded vertices, into an array of vertex_count. */
void spl_shape_normals(const spl_shape *shape, spl_vec3 *normal);

/* Adds the shape to a character as a mesh. The influences are the four largest weights of a vertex, normalised. */
supple_result spl_shape_finish(const spl_shape *shape, spl_rigged *rigged, const char *name, int32_t material,
                               supple_error *error);

/* Adds only the triangles t with part[t] = which (part NULL: all). Normals are those of the whole shape, so parts that
 * are added one after another meet without a seam. */
supple_result spl_shape_finish_part(const spl_shape *shape, const uint8_t *part, uint8_t which, spl_rigged *rigged,
                                    const char *name, int32_t material, supple_error *error);

#endif
