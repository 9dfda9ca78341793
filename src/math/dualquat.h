/* Dual quaternions: a rigid motion as q + e d, e^2 = 0. The real part q is the rotation, the dual part carries the
 * translation as d = (t, 0) q / 2. Kavan et al., "Geometric skinning with approximate dual quaternion blending", 2008.
 */
#ifndef SPL_MATH_DUALQUAT_H
#define SPL_MATH_DUALQUAT_H

#include "math/quat.h"

typedef struct spl_dualquat {
    spl_quat q, d;
} spl_dualquat;

spl_dualquat spl_dualquat_identity(void);

/* p -> rotation p + t, for a unit quaternion. */
spl_dualquat spl_dualquat_make(spl_quat rotation, spl_vec3 t);

spl_dualquat spl_dualquat_mul(const spl_dualquat *a, const spl_dualquat *b); /* b first, then a */

/* Divides by the dual norm: q becomes a unit quaternion and d perpendicular to it. The identity where q is zero. */
spl_dualquat spl_dualquat_normalise(const spl_dualquat *a);

/* Normalised weighted sum of unit dual quaternions. Signs are taken as they are: align them first. */
spl_dualquat spl_dualquat_blend(const spl_dualquat *a, const double *weight, int count);

/* Translation of a normalised dual quaternion, and a point moved by it. */
spl_vec3 spl_dualquat_translation(const spl_dualquat *a);
spl_vec3 spl_dualquat_point(const spl_dualquat *a, spl_vec3 p);

#endif
