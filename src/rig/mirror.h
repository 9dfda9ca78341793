/* Whether a pose turns a mesh inside out: a mirrored rig or a node with a negative scale. */
#ifndef SPL_RIG_MIRROR_H
#define SPL_RIG_MIRROR_H

#include "rig/pose.h"

/* True where the map from mesh space to world space has a negative determinant: the node's for a rigid instance, that
 * of most joints (world times inverse bind) for a skinned one. The triangles of such an instance, taken in world space,
 * wind the wrong way round, and normals computed from them point inwards. */
bool spl_pose_mirrors(const spl_pose *pose, const supple_scene *scene, int32_t instance);

#endif
