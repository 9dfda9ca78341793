/* Poses by turns: every joint's rotation against the file's rest pose as one vector, axis times angle (radians), in the
 * joint's own axes; and how far it has moved away from where it hangs. What joint ranges are made of and what training
 * draws from. */
#ifndef SPL_RIG_TURNS_H
#define SPL_RIG_TURNS_H

#include "math/quat.h"
#include "rig/pose.h"

/* exp and log of a rotation; the angle of a log is at most pi. */
spl_quat spl_turn_to_quat(spl_vec3 turn);
spl_vec3 spl_turn_of_quat(spl_quat q);

typedef struct spl_joint_move {
    spl_vec3 turn;
    spl_vec3 shift; /* of the joint's place, in its parent's axes and unit */
} spl_joint_move;

/* The rest pose with `node[k]` moved by `move[k]`; other nodes stay. */
void spl_pose_move(spl_pose *pose, const supple_scene *scene, const int32_t *node, const spl_joint_move *move,
                   int32_t count);

/* By how much a pose moves a node against the rest pose. */
spl_joint_move spl_pose_move_of(const spl_pose *pose, const spl_pose *rest, int32_t node);

/* From one move to another (NULL: none), `share` of the way. */
spl_joint_move spl_joint_move_between(const spl_joint_move *from, const spl_joint_move *to, double share);

/* The angle between two moves (`from` NULL: none), and the distance: where a length `far` counts as a radian. */
double spl_joint_move_distance(const spl_joint_move *from, const spl_joint_move *to, double far);

#endif
