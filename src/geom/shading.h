/* Normals and tangents of a deformed mesh, whatever deformed it.
 *
 * Vertices with the same rest position and rest normal, bit for bit, form one group: duplicates at UV seams stay
 * smooth, hard edges stay hard. A group has a frame in the rest shape, Q0 = [t b n], where n is the angle-weighted
 * normal of its triangles, and a frame Q of the deformed shape, where n is computed again and t, b are carried by the
 * triangles' edges. The file's normal follows as Q Q0^T n_file: normals that are not the geometric ones (weighted, bent
 * for foliage, copied from another mesh) keep their offset, and a rigid motion rotates them exactly. */
#ifndef SPL_GEOM_SHADING_H
#define SPL_GEOM_SHADING_H

#include "core/threads.h"

typedef struct spl_shading spl_shading;

/* The rest shape; only read during creation, except that normals and tangents are copied. */
typedef struct spl_shading_rest {
    int32_t vertex_count;
    const float *position;   /* 3 a vertex */
    const float *normal;     /* 3 a vertex, or NULL: normals are those of the surface, smooth across equal positions */
    const float *tangent;    /* 4 a vertex, or NULL */
    int32_t triangle_count;  /* 0: normals and tangents stay as they are */
    const int32_t *triangle; /* 3 a triangle, indices below vertex_count */
} spl_shading_rest;

/* Prepares a mesh. The only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_shading_create(const spl_shading_rest *rest, const supple_allocator *a, spl_shading **out,
                                 supple_error *error);
void spl_shading_destroy(spl_shading *shading);

/* Says that the deformed positions are a mirror image (a node with a negative scale): the triangles wind the other way
 * round, and outside is where their normals do not point. False after creation. */
void spl_shading_set_mirrored(spl_shading *shading, bool mirrored);

/* Unit normals of the deformed positions (3 floats a vertex) into a strided buffer (`stride` in bytes, at least 12).
 * Where the deformed surface has no normal (collapsed triangles, no triangles) the rest normal is returned, or +z where
 * there is none either; never NaN. Allocates nothing; the same bits at any number of threads. */
void spl_shading_update_normals(spl_shading *shading, spl_pool *pool, const float *position, float *normal,
                                size_t stride);

/* Tangents likewise: 4 floats a vertex, the last one the file's handedness (reversed in a mirror), the angle to the
 * normal the file's. `stride` at least 16. Does nothing where the rest shape has no tangents. */
void spl_shading_update_tangents(spl_shading *shading, spl_pool *pool, const float *position, float *tangent,
                                 size_t stride);

#endif
