#include "rig/bind.h"

#include "rig/pose.h"

#include <math.h>

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

static double volume_ratio(const spl_mat4 *m)
{
    spl_vec3 x = spl_v3(m->m[0], m->m[1], m->m[2]), y = spl_v3(m->m[4], m->m[5], m->m[6]);
    return fabs(spl_dot(spl_v3(m->m[8], m->m[9], m->m[10]), spl_cross(x, y)));
}

bool spl_bind_scale(const supple_scene *scene, int32_t skin, double *out)
{
    spl_pose pose;
    *out = 1;
    if (spl_pose_init(&pose, scene, NULL) != SUPPLE_OK) return false;
    spl_pose_sample(&pose, scene, -1, 0);
    const spl_skin *s = &scene->skin[skin];
    double sum = 0;
    int32_t count = 0;
    for (int32_t i = 0; i < s->joint_count; i++) {
        spl_mat4 whole = spl_mat4_mul(&pose.world[s->joint[i]], &s->inverse_bind[i]);
        double ratio = volume_ratio(&whole);
        if (!(ratio > 1e-30 && ratio < 1e30)) continue;
        sum += log(ratio) / 3;
        count++;
    }
    spl_pose_release(&pose);
    if (count) *out = exp(sum / count);
    return true;
}
