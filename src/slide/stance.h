/* How a person stands: arms hanging, legs straight. Bind poses are for modelling, with arms out to the sides; skin that
 * were unstressed there would slide as soon as the arms are lowered. */
#ifndef SPL_SLIDE_STANCE_H
#define SPL_SLIDE_STANCE_H

#include "rig/pose.h"

/* The joints of the scene in that pose, as matrices for spl_pose_from_matrices: the bind pose with arms turned
 * down and thighs straight below the hips, skin by skin, each joint found by its name. `pose` has the rest pose.
 * *stands is false, and nothing filled, where no skin is a person's. The only failure is SUPPLE_ERROR_MEMORY. */
supple_result spl_stance_find(const supple_scene *scene, const spl_pose *pose, const supple_allocator *a,
                              float *matrices, bool *stands, supple_error *error);

/* The same as the scene's clips show it, which know how the character holds its shoulders: where arms hang within 30
 * degrees, of all moments the one where they hang best; legs as in `stance`. Motions that were added to the scene come
 * before the file's own clips. *seen is false where none is near. `pose` is changed in any case. */
supple_result spl_stance_seen(const supple_scene *scene, const spl_pose *stance, const supple_allocator *a,
                              spl_pose *pose, bool *seen, supple_error *error);

#endif
