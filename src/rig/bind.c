#include "rig/bind.h"

spl_mat4 spl_bind_between(const supple_scene *scene, int32_t from, int32_t to)
{
    const spl_skin *a = &scene->skin[from], *b = &scene->skin[to];
    for (int32_t i = 0; from != to && i < a->joint_count; i++)
        for (int32_t k = 0; k < b->joint_count; k++) {
            spl_mat4 bind;
            if (a->joint[i] == b->joint[k] && spl_mat4_inverse(&b->inverse_bind[k], &bind))
                return spl_mat4_mul(&bind, &a->inverse_bind[i]);
        }
    return spl_mat4_identity();
}

static bool find_joint(const spl_skin *skin, int32_t node, int32_t *joint)
{
    for (int32_t i = 0; i < skin->joint_count; i++)
        if (skin->joint[i] == node) {
            *joint = i;
            return true;
        }
    return false;
}

bool spl_bind_inverse(const supple_scene *scene, int32_t home, int32_t node, spl_mat4 *out)
{
    int32_t joint;
    if (find_joint(&scene->skin[home], node, &joint)) {
        *out = scene->skin[home].inverse_bind[joint];
        return true;
    }
    for (int32_t s = 0; s < scene->skin_count; s++) {
        if (!find_joint(&scene->skin[s], node, &joint)) continue;
        spl_mat4 there = spl_bind_between(scene, home, s);
        *out = spl_mat4_mul(&scene->skin[s].inverse_bind[joint], &there);
        return true;
    }
    return false;
}
