/* What is judged of a character: the edges, folds and pieces of its visual mesh, whatever moves it.
 *
 * Vertices that are at one place under the file's skinning in any pose are one point: copies at a seam. Points are
 * linked by the mesh's edges, and what follows flesh to the flesh that it lies on, so that trust (trust.h) spreads over
 * a seam, a button and its shirt alike. */
#ifndef SPL_TRUST_MESH_H
#define SPL_TRUST_MESH_H

#include "body/body.h"
#include "scene/parts.h"

typedef struct spl_trust_mesh {
    supple_allocator allocator;
    int32_t part_count, vertex_count, point_count, piece_count;
    int32_t *first_vertex;   /* part_count + 1 */
    int32_t *first_edge;     /* part_count + 1 */
    int32_t *first_triangle; /* part_count + 1 */
    int32_t *point;          /* by vertex */
    int32_t *piece;          /* by point: what hangs together by edges */
    int32_t *piece_vertices; /* by piece: how many vertices it has */
    int32_t *edge;           /* 2 an edge: vertices, the lower first; no edge twice */
    float *length;           /* by edge: at rest, in world units */
    int32_t *triangle;       /* 3 a triangle: vertices of the scene */
    int32_t *fold;           /* 2 a fold: triangles on both sides of an edge that is not folded at rest */
    int32_t fold_count;
    int32_t *link_first; /* point_count + 1 */
    int32_t *link;       /* points */
    float *link_length;  /* at rest, in world units; 0: they are as one */
    double diagonal;     /* of the character in the first frame, else in its rest pose; world units */
} spl_trust_mesh;

typedef struct spl_trust_mesh_input {
    const supple_scene *scene;
    const spl_part *part;
    int32_t part_count;
    const float *rest;    /* 3 x vertices: the file's skinning in the rest pose, world space */
    const float *twisted; /* the same in a pose in which no two joints agree */
    const spl_body *body; /* or NULL: nothing follows flesh */
} spl_trust_mesh_input;

supple_result spl_trust_mesh_make(const spl_trust_mesh_input *in, const supple_allocator *a, spl_trust_mesh *out,
                                  supple_error *error);
void spl_trust_mesh_release(spl_trust_mesh *m);

/* The normal of a triangle, twice its area long. */
static inline spl_vec3 spl_trust_mesh_normal(const spl_trust_mesh *m, const float *x, size_t triangle)
{
    const int32_t *c = m->triangle + 3 * triangle;
    spl_vec3 o = spl_v3_from_float(x + 3 * (size_t)c[0]);
    return spl_cross(spl_sub(spl_v3_from_float(x + 3 * (size_t)c[1]), o),
                     spl_sub(spl_v3_from_float(x + 3 * (size_t)c[2]), o));
}

/* Takes the character's diagonal from a pose: lengths of harm are shares of it. */
void spl_trust_mesh_set_size(spl_trust_mesh *m, const float *position);

#endif
