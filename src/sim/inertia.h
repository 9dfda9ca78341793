/* What the motion of bones gives to flesh between two steps of dynamics, beyond the forces that the method computes. */
#ifndef SPL_SIM_INERTIA_H
#define SPL_SIM_INERTIA_H

#include "body/solid.h"

/* A body in motion. */
typedef struct spl_inertia {
    const spl_solid *solid;    /* in the pose that the next step leads to */
    const spl_pose_past *past; /* the pose that it starts from */
    double *x, *velocity;      /* 3 x vertices: metres, m/s */
} spl_inertia;

/* Carries positions and velocities along with a share of the root bone's motion: turned about its joint by that share
 * of the angle, and moved by that share of the way. Flesh then lags behind the rest of it only. Returns what was done
 * to the positions, which is rigid. */
spl_mat4 spl_inertia_follow_root(const spl_inertia *i, double share);

/* Flesh that was in equilibrium begins to move as its bones do in this step of `dt` seconds, as if it had before:
 * without a jolt. A share of the root's motion is none of its own, and carries it, as above. Bones that jump do not
 * take it along. `room`: 3 x vertices. */
spl_mat4 spl_inertia_launch(const spl_inertia *i, double share, double dt, double *room, spl_pool *pool);

#endif
