#include "scene/readers/gltf_private.h"

#include <math.h>

enum { MAX_JOINTS = 65536 }; /* JOINTS_n are 16 bits at most */

static const char *joint_name(const spl_gltf *g, const spl_skin *skin, int32_t k)
{
    return g->scene->node[skin->joint[k]].name;
}

static bool read_joints(spl_gltf *g, const json_t *object, int32_t index, spl_skin *skin, uint8_t *used)
{
    const json_t *list = json_object_get(object, "joints");
    size_t count = json_array_size(list);
    if (count == 0) return spl_gltf_fail(g, "skin %d '%.40s' has no joints", index, skin->name);
    if (count > MAX_JOINTS)
        return spl_gltf_fail(g, "skin %d has %zu joints; at most %d are possible", index, count, MAX_JOINTS);
    skin->joint = spl_gltf_new(g, count, sizeof *skin->joint, "joints");
    if (!skin->joint) return false;
    skin->joint_count = (int32_t)count;
    bool twice = false;
    for (size_t k = 0; k < count; k++) {
        const json_t *value = json_array_get(list, k);
        json_int_t node = json_is_integer(value) ? json_integer_value(value) : -1;
        if (node < 0 || node >= g->scene->node_count)
            return spl_gltf_fail(g, "skin %d: joint %zu is %lld, which is not a node of the file", index, k,
                                 (long long)node);
        skin->joint[k] = (int32_t)node;
        twice |= used[node] != 0;
        used[node] = 1;
    }
    for (size_t k = 0; k < count; k++) used[skin->joint[k]] = 0;
    if (twice) spl_scene_warn(g->scene, "skin %d '%.40s' lists a joint twice", index, skin->name);
    return true;
}

/* One inverse bind matrix: finite, affine and invertible, or the bind pose does not exist. */
static bool take_bind_matrix(spl_gltf *g, int32_t index, spl_skin *skin, int32_t k, const float *values)
{
    double *m = skin->inverse_bind[k].m;
    for (int i = 0; i < 16; i++) {
        m[i] = (double)values[i];
        if (!(fabs(m[i]) <= SPL_GLTF_HUGE))
            return spl_gltf_fail(g, "skin %d: the bind matrix of joint '%.40s' (%d) %s", index, joint_name(g, skin, k),
                                 k, spl_gltf_excess(values + i, 1));
    }
    if (fabs(m[3]) + fabs(m[7]) + fabs(m[11]) + fabs(m[15] - 1) > 1e-4)
        spl_scene_warn(g->scene, "skin %d: the last row of the bind matrix of joint '%.40s' is taken as 0 0 0 1", index,
                       joint_name(g, skin, k));
    m[3] = m[7] = m[11] = 0;
    m[15] = 1;
    spl_mat4 inverse;
    if (!spl_mat4_inverse(&skin->inverse_bind[k], &inverse))
        return spl_gltf_fail(g, "skin %d: singular bind matrix of joint '%.40s' (%d); bind the skin again and export",
                             index, joint_name(g, skin, k), k);
    return true;
}

static bool read_bind_matrices(spl_gltf *g, const json_t *object, int32_t index, spl_skin *skin)
{
    int32_t accessors = (int32_t)json_array_size(json_object_get(g->root, "accessors")), at;
    skin->inverse_bind = spl_gltf_new(g, (size_t)skin->joint_count, sizeof *skin->inverse_bind, "bind matrices");
    if (!skin->inverse_bind) return false;
    for (int32_t k = 0; k < skin->joint_count; k++) skin->inverse_bind[k] = spl_mat4_identity();
    if (!spl_gltf_index(g, object, "inverseBindMatrices", accessors, "skin", index, &at)) return false;
    if (at < 0) return true;
    spl_accessor accessor;
    if (!spl_gltf_accessor(g, at, &accessor)) return false;
    if (accessor.columns != 4 || accessor.count < (size_t)skin->joint_count)
        return spl_gltf_fail(g, "skin %d: accessor %d does not hold a bind matrix for each of its %d joints", index, at,
                             skin->joint_count);
    float *values = spl_gltf_floats(g, &accessor);
    bool ok = values != NULL;
    for (int32_t k = 0; ok && k < skin->joint_count; k++)
        ok = take_bind_matrix(g, index, skin, k, values + 16 * (size_t)k);
    spl_free(g->a, values);
    return ok;
}

bool spl_gltf_read_skins(spl_gltf *g)
{
    supple_scene *scene = g->scene;
    json_t *list;
    int32_t count;
    if (!spl_gltf_list(g, g->root, "skins", "asset", -1, &list, &count)) return false;
    scene->skin = spl_gltf_new(g, (size_t)count, sizeof *scene->skin, "skins");
    if (!scene->skin) return false;
    scene->skin_count = count;
    uint8_t *used = spl_gltf_new(g, (size_t)scene->node_count, 1, "nodes");
    bool ok = used != NULL;
    for (int32_t i = 0; ok && i < count; i++) {
        const json_t *object = json_array_get(list, (size_t)i);
        spl_skin *skin = &scene->skin[i];
        skin->name = spl_gltf_name(g, object);
        ok = skin->name && read_joints(g, object, i, skin, used) && read_bind_matrices(g, object, i, skin);
    }
    spl_free(g->a, used);
    return ok;
}
