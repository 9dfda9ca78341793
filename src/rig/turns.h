/* Poses by turns: every joint's rotation against the file's rest pose as one vector, axis times angle (radians), in the
 * joint's own axes. What joint ranges are made of and what training draws from. */
#ifndef SPL_RIG_TURNS_H
#define SPL_RIG_TURNS_H

#include "math/quat.h"
#include "rig/pose.h"

/* exp and log of a rotation; the angle of a log is at most pi. */
spl_quat spl_turn_to_quat(spl_vec3 turn);
spl_vec3 spl_turn_of_quat(spl_quat q);

/* The rest pose with `node[k]` turned by `turn[k]`; other nodes stay. */
void spl_pose_turn(spl_pose *pose, const supple_scene *scene, const int32_t *node, const spl_vec3 *turn, int32_t count);

/* By how much a pose turns a node against the rest pose. */
spl_vec3 spl_pose_turn_of(const spl_pose *pose, const spl_pose *rest, int32_t node);

#endif
