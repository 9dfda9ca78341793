#include "rig/pose.h"

static double determinant(const spl_mat4 *a)
{
    const double *m = a->m;
    spl_vec3 c0 = spl_v3(m[0], m[1], m[2]), c1 = spl_v3(m[4], m[5], m[6]), c2 = spl_v3(m[8], m[9], m[10]);
    return spl_dot(c0, spl_cross(c1, c2));
}

bool spl_pose_mirrors(const spl_pose *pose, const supple_scene *scene, int32_t instance)
{
    const spl_instance *in = &scene->instance[instance];
    if (in->skin < 0) return determinant(&pose->world[in->node]) < 0;
    const spl_skin *skin = &scene->skin[in->skin];
    int32_t mirrored = 0;
    for (int32_t j = 0; j < skin->joint_count; j++) {
        spl_mat4 m = spl_mat4_mul(&pose->world[skin->joint[j]], &skin->inverse_bind[j]);
        mirrored += determinant(&m) < 0;
    }
    return 2 * mirrored > skin->joint_count;
}
