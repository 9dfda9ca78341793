/* Small arithmetic of poses for the built-in characters' clips: quaternions as x y z w, angles in degrees. */
#ifndef SPL_DEMO_MOTION_H
#define SPL_DEMO_MOTION_H

#include "math/vec3.h"

typedef struct spl_turn {
    double q[4]; /* unit quaternion x y z w */
} spl_turn;

spl_turn spl_turn_identity(void);

/* A turn by degrees about an axis (right-handed). */
spl_turn spl_turn_about(spl_vec3 axis, double degrees);
spl_turn spl_turn_x(double degrees);
spl_turn spl_turn_y(double degrees);
spl_turn spl_turn_z(double degrees);

/* a b: b first, then a. */
spl_turn spl_turn_mul(spl_turn a, spl_turn b);
spl_turn spl_turn_inverse(spl_turn a);
spl_vec3 spl_turn_apply(spl_turn a, spl_vec3 v);

/* The shortest turn that takes direction `from` to direction `to`. */
spl_turn spl_turn_between(spl_vec3 from, spl_vec3 to);

/* The turn that takes `from` to `to` and, as well as it then can, `front` to `face`. */
spl_turn spl_turn_aim(spl_vec3 from, spl_vec3 front, spl_vec3 to, spl_vec3 face);

/* Between a (t = 0) and b (t = 1), the short way, at an even speed. */
spl_turn spl_turn_slerp(spl_turn a, spl_turn b, double t);

/* The same turn seen in the mirror x = 0. */
spl_turn spl_turn_mirror(spl_turn a);

/* The middle joint of a two-bone limb from `root` to `target`: bones of lengths l1 and l2, bent towards `pole`. A
 * target out of reach is moved onto the sphere that the limb can reach. */
spl_vec3 spl_two_bones(spl_vec3 root, spl_vec3 *target, double l1, double l2, spl_vec3 pole);

/* 0 below a, 1 above b, smooth between (cubic). */
double spl_smooth(double a, double b, double x);

#endif
