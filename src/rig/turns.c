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

void spl_pose_move(spl_pose *pose, const supple_scene *scene, const int32_t *node, const spl_joint_move *move,
                   int32_t count)
{
    spl_pose_sample(pose, scene, -1, 0);
    for (int32_t k = 0; k < count; k++) {
        spl_mat3 R = spl_quat_to_mat3(spl_turn_to_quat(move[k].turn));
        spl_mat4 m = spl_mat3_affine(&R, spl_v3(0, 0, 0)), *local = &pose->local[node[k]];
        *local = spl_mat4_mul(local, &m);
        local->m[12] += move[k].shift.x;
        local->m[13] += move[k].shift.y;
        local->m[14] += move[k].shift.z;
    }
    spl_pose_place(pose, scene);
}

static spl_vec3 place_of(const spl_mat4 *m)
{
    return spl_v3(m->m[12], m->m[13], m->m[14]);
}

spl_joint_move spl_pose_move_of(const spl_pose *pose, const spl_pose *rest, int32_t node)
{
    spl_quat was = rotation_of(&rest->local[node]), is = rotation_of(&pose->local[node]);
    return (spl_joint_move){spl_turn_of_quat(spl_quat_mul(spl_quat_conjugate(was), is)),
                            spl_sub(place_of(&pose->local[node]), place_of(&rest->local[node]))};
}

static spl_quat turn_of(const spl_joint_move *m)
{
    return m ? spl_turn_to_quat(m->turn) : spl_quat_identity();
}

spl_joint_move spl_joint_move_between(const spl_joint_move *from, const spl_joint_move *to, double share)
{
    if (share >= 1) return *to;
    return (spl_joint_move){spl_turn_of_quat(spl_quat_slerp(turn_of(from), turn_of(to), share)),
                            spl_lerp(from ? from->shift : spl_v3(0, 0, 0), to->shift, share)};
}

double spl_joint_move_distance(const spl_joint_move *from, const spl_joint_move *to, double far)
{
    double angle = spl_norm(spl_turn_of_quat(spl_quat_mul(spl_quat_conjugate(turn_of(from)), turn_of(to))));
    double way = spl_distance(from ? from->shift : spl_v3(0, 0, 0), to->shift) / far;
    return sqrt(angle * angle + way * way);
}
