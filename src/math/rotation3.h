/* The rotation nearest to a 3x3 matrix by Newton's method on a quaternion, warm started with last frame's: several
 * times cheaper than a singular value decomposition where rotations change little between frames. */
#ifndef SPL_MATH_ROTATION3_H
#define SPL_MATH_ROTATION3_H

#include "math/svd3.h"

/* Eight quaternions x y z w: [component][lane]. */
typedef struct spl_quatx8 {
    float q[4][8];
} spl_quatx8;

/* Improves the unit quaternion q (x y z w) towards the rotation nearest to F (column-major, 9 floats) by `iterations`
 * Newton steps on tr(R^T F). It finds the rotation of spl_polar3 unless it starts at a saddle, a half turn away.
 * Entries that are not finite: the identity and false. */
bool spl_rotation3(const float F[9], int iterations, float q[4]);

/* One of these steps, where F's norm is known and neither huge nor tiny. True if the step was a plain one (the Hessian
 * safely positive) and turned by no more than sqrt(`most`) radians: q is then close to the nearest rotation. */
bool spl_rotation3_step(const float F[9], float norm, float most, float q[4]);

/* spl_rotation3 for 8 * `blocks` matrices, 8-wide where the processor has AVX2 and FMA. */
bool spl_rotation3_blocks(const spl_mat3x8 *F, size_t blocks, int iterations, spl_quatx8 *q);

/* The 8-wide kernel alone: call it only where spl_cpu_has_avx2(). */
bool spl_rotation3_blocks_avx2(const spl_mat3x8 *F, size_t blocks, int iterations, spl_quatx8 *q);

#endif
