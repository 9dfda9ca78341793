/* Bone weights of tet vertices without painting: harmonic functions that are 1 on the vertices a bone holds and 0 on
 * those of all others. They carry warm starts from pose to pose and blend rotations across joints. */
#ifndef SPL_BODY_WEIGHTS_H
#define SPL_BODY_WEIGHTS_H

#include "core/threads.h"
#include "fem/elements.h"

#include <supple/plugin.h>

enum { SPL_BONE_INFLUENCES = 4 };

typedef struct spl_bone_weights {
    supple_allocator allocator;
    int32_t *bone;  /* SPL_BONE_INFLUENCES x vertex_count, strongest first; -1 where unused */
    double *weight; /* the same; not negative, sum 1 at each vertex */
} spl_bone_weights;

typedef struct spl_harmonic_input {
    const spl_elements *elements;
    const int32_t *held; /* by vertex: its bone, or -1 */
    int32_t bone_count;
    const supple_solver_backend *backend; /* or NULL */
} spl_harmonic_input;

/* Every connected piece must have held vertices (spl_solid sees to it). */
supple_result spl_harmonic_weights(const spl_harmonic_input *in, spl_pool *pool, const supple_allocator *a,
                                   spl_bone_weights *out, supple_error *error);
void spl_bone_weights_release(spl_bone_weights *w);

/* Keeps a weight of a vertex if it is among the strongest (`bone` and `weight` are the vertex's rows); equal ones stay
 * in the order of the bones. */
void spl_bone_weights_insert(int32_t *bone, double *weight, int32_t b, double value);

#endif
