/* Tetrahedra under a baseline: moved by linear blend skinning with the weights of the skin nearest to them, so that
 * volumes of `linear` can be compared with those of the methods that simulate. */
#ifndef SPL_SIM_FOLLOW_H
#define SPL_SIM_FOLLOW_H

#include "body/solid.h"

typedef struct spl_follow {
    supple_allocator allocator;
    const spl_solid *solid;
    spl_place *place; /* by tet vertex: the nearest place of the skin */
    spl_mat4 *home;   /* by node: body space to the joint's; only of joints with weights */
    spl_mat4 *map;    /* by node: rest shape to this pose, the solver's space */
} spl_follow;

supple_result spl_follow_create(const spl_solid *solid, spl_follow *out, supple_error *error);
void spl_follow_release(spl_follow *f);

/* Positions of the tet vertices (3 doubles each, the solver's space) in a pose. */
void spl_follow_pose(spl_follow *f, const spl_pose *pose, double *x);

#endif
