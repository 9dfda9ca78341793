/* The file's own skinning of a model's surface, and how far its flesh can be trusted against it (docs/trust.md).
 *
 * A vertex of the surface has the weights of the skin's place nearest to it (as sim/follow.h has them), by joints of
 * the rig, and with X' its place in the rest shape, H_j the map from there to joint j's space and W_j the joint's world
 * matrix
 *
 *     own = sum_j w_j W_j H_j X'                     in the world.
 *
 * X' and H_j are the model's already: its file has weights and trust alone. */
#ifndef SPL_SUBSPACE_OWN_H
#define SPL_SUBSPACE_OWN_H

#include "core/store.h"
#include "math/vec3.h"

typedef struct spl_own {
    int32_t *first; /* by vertex of the surface, and one more: its influences; each vertex has at least one */
    int32_t *joint; /* by influence: joint of the rig */
    double *weight; /* by influence: from 0 to 1, sum 1 at each vertex */
    float *trust;   /* by vertex of the surface: from 0 to 1 */
} spl_own;

void spl_own_release(spl_own *own, const supple_allocator *a); /* accepts a zeroed one */

struct spl_model;
struct spl_rig;

/* Adds it to a model's file, and takes it from there; what is read is held against the rig, which must be read. */
void spl_own_add(spl_store_writer *w, const struct spl_rig *rig);
supple_result spl_own_read(const spl_store_reader *reader, const struct spl_rig *rig, const supple_allocator *a,
                           spl_own *out, supple_error *error);

/* What posing it takes. */
typedef struct spl_own_pose {
    const spl_own *own;
    spl_vec3 *rest; /* by vertex of the surface: X' */
    spl_mat4 *home; /* by joint: H */
    spl_mat4 *map;  /* by joint: W H of the pose */
} spl_own_pose;

supple_result spl_own_pose_create(const struct spl_model *m, const supple_allocator *a, spl_own_pose *out,
                                  supple_error *error);
void spl_own_pose_release(spl_own_pose *p, const supple_allocator *a); /* accepts a zeroed one */

/* Takes a pose: world matrices of the rig's joints. */
void spl_own_pose_set(spl_own_pose *p, const spl_mat4 *world, int32_t joint_count);

/* Where a vertex of the surface is in it, in the world. */
spl_vec3 spl_own_point(const spl_own_pose *p, int32_t vertex);

#endif
