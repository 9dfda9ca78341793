#include "rig/turns.h"

#include "math/svd3.h"

spl_quat spl_turn_to_quat(spl_vec3 turn)
{
    return spl_quat_axis_angle(turn, spl_norm(turn));
}

spl_vec3 spl_turn_of_quat(spl_quat q)
{
    spl_vec3 axis;
    if (q.w < 0) q = spl_quat_negate(q);
    double angle = spl_quat_to_axis_angle(q, &axis);
    return spl_scale(axis, angle);
}

static spl_quat rotation_of(const spl_mat4 *m)
{
    spl_mat3 L = spl_mat3_linear(m), R, S;
    spl_polar3(&L, &R, &S);
    return spl_quat_from_mat3(&R);
}

void spl_pose_turn(spl_pose *pose, const supple_scene *scene, const int32_t *node, const spl_vec3 *turn, int32_t count)
{
    spl_pose_sample(pose, scene, -1, 0);
    for (int32_t k = 0; k < count; k++) {
        spl_mat3 R = spl_quat_to_mat3(spl_turn_to_quat(turn[k]));
        spl_mat4 m = spl_mat3_affine(&R, spl_v3(0, 0, 0));
        pose->local[node[k]] = spl_mat4_mul(&pose->local[node[k]], &m);
    }
    spl_pose_place(pose, scene);
}

spl_vec3 spl_pose_turn_of(const spl_pose *pose, const spl_pose *rest, int32_t node)
{
    spl_quat was = rotation_of(&rest->local[node]), is = rotation_of(&pose->local[node]);
    return spl_turn_of_quat(spl_quat_mul(spl_quat_conjugate(was), is));
}
