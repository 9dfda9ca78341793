#include "rig/pose.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

static int32_t widest_channel(const supple_scene *scene)
{
    int32_t widest = 0;
    for (int32_t k = 0; k < scene->clip_count; k++)
        for (int32_t i = 0; i < scene->clip[k].channel_count; i++)
            if (scene->clip[k].channel[i].width > widest) widest = scene->clip[k].channel[i].width;
    return widest;
}

supple_result spl_pose_init(spl_pose *pose, const supple_scene *scene, supple_error *error)
{
    *pose = (spl_pose){.allocator = scene->allocator};
    const supple_allocator *a = &pose->allocator;
    size_t n = (size_t)scene->node_count;
    pose->local = spl_new(a, n, sizeof *pose->local);
    pose->world = spl_new(a, n, sizeof *pose->world);
    pose->transform = spl_new(a, n, sizeof *pose->transform);
    pose->first_weight = spl_new(a, n + 1, sizeof *pose->first_weight);
    if (pose->first_weight) {
        for (size_t i = 0; i < n; i++) pose->first_weight[i + 1] = pose->first_weight[i] + scene->node[i].weight_count;
        pose->weight = spl_new(a, (size_t)pose->first_weight[n], sizeof *pose->weight);
    }
    pose->scratch = spl_new(a, (size_t)widest_channel(scene), sizeof *pose->scratch);
    if (!pose->local || !pose->world || !pose->transform || !pose->weight || !pose->scratch) {
        spl_pose_release(pose);
        return spl_fail_memory(error, "a pose");
    }
    spl_pose_sample(pose, scene, -1, 0);
    return SUPPLE_OK;
}

void spl_pose_release(spl_pose *pose)
{
    if (pose->allocator.release) {
        spl_free(&pose->allocator, pose->local);
        spl_free(&pose->allocator, pose->world);
        spl_free(&pose->allocator, pose->transform);
        spl_free(&pose->allocator, pose->scratch);
        spl_free(&pose->allocator, pose->weight);
        spl_free(&pose->allocator, pose->first_weight);
    }
    *pose = (spl_pose){0};
}

/* The key at or before `time`; the caller has excluded times outside the keys. */
static int32_t find_key(const spl_channel *c, double time)
{
    int32_t low = 0, high = c->key_count - 1; /* time[low] <= time < time[high] */
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if ((double)c->time[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void unit_quaternion(double *q)
{
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(n > 0)) q[0] = q[1] = q[2] = 0, q[3] = n = 1;
    for (int i = 0; i < 4; i++) q[i] /= n;
}

/* Spherical interpolation along the shorter arc, as appendix C of the glTF specification writes it: on the keys as they
 * stand. Keys are often rounded to a few digits; normalising them first moves the result by up to that rounding. */
static void slerp(const float *a, const float *b, double s, double *out)
{
    double d = 0;
    for (int i = 0; i < 4; i++) d += (double)a[i] * (double)b[i];
    double sign = d < 0 ? -1 : 1;
    d = fabs(d);
    double wa = 1 - s, wb = s;
    if (d < 1 - 1e-10) { /* else nearly equal: the straight line is exact to rounding */
        double angle = acos(d), k = 1 / sin(angle);
        wa = sin((1 - s) * angle) * k;
        wb = sin(s * angle) * k;
    }
    for (int i = 0; i < 4; i++) out[i] = wa * (double)a[i] + sign * wb * (double)b[i];
}

static void hermite(const spl_channel *c, int32_t key, double dt, double s, double *out)
{
    int32_t w = c->width;
    const float *k0 = c->value + (size_t)key * 3 * (size_t)w, *k1 = k0 + 3 * w; /* in-tangent, value, out-tangent */
    double s2 = s * s, s3 = s2 * s;
    for (int32_t i = 0; i < w; i++) {
        double p0 = (double)k0[w + i], m0 = dt * (double)k0[2 * w + i], p1 = (double)k1[w + i], m1 = dt * (double)k1[i];
        out[i] = (2 * s3 - 3 * s2 + 1) * p0 + (s3 - 2 * s2 + s) * m0 + (3 * s2 - 2 * s3) * p1 + (s3 - s2) * m1;
    }
}

void spl_channel_sample(const spl_channel *c, double time, double *out)
{
    int32_t last = c->key_count - 1, w = c->width;
    bool cubic = c->interpolation == SPL_CUBIC;
    size_t key_size = (size_t)w * (cubic ? 3 : 1), value_at = cubic ? (size_t)w : 0;
    bool inside = time > (double)c->time[0] && time < (double)c->time[last];
    int32_t key = inside ? find_key(c, time) : time > (double)c->time[0] ? last : 0;
    if (!inside || c->interpolation == SPL_STEP) {
        const float *v = c->value + (size_t)key * key_size + value_at;
        for (int32_t i = 0; i < w; i++) out[i] = (double)v[i];
    } else {
        double dt = (double)c->time[key + 1] - (double)c->time[key], s = (time - (double)c->time[key]) / dt;
        const float *v0 = c->value + (size_t)key * key_size, *v1 = v0 + key_size;
        if (cubic)
            hermite(c, key, dt, s, out);
        else if (c->path == SPL_PATH_ROTATION)
            slerp(v0, v1, s, out);
        else
            for (int32_t i = 0; i < w; i++) out[i] = (1 - s) * (double)v0[i] + s * (double)v1[i];
    }
    if (c->path == SPL_PATH_ROTATION) unit_quaternion(out);
}

void spl_pose_place(spl_pose *pose, const supple_scene *scene)
{
    for (int32_t k = 0; k < scene->node_count; k++) {
        int32_t i = scene->node_order[k], parent = scene->node[i].parent;
        if (parent < 0)
            pose->world[i] = pose->local[i];
        else
            pose->world[i] = spl_mat4_mul(&pose->world[parent], &pose->local[i]);
    }
}

static void set_rest(spl_pose *pose, const supple_scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        const spl_node *node = &scene->node[i];
        spl_transform *x = &pose->transform[i];
        memcpy(x->t, node->t, sizeof x->t);
        memcpy(x->r, node->r, sizeof x->r);
        memcpy(x->s, node->s, sizeof x->s);
        x->is_matrix = node->has_matrix;
        if (node->weight_count)
            memcpy(pose->weight + pose->first_weight[i], node->weight, (size_t)node->weight_count * sizeof(float));
    }
}

static void sample_channel(spl_pose *pose, const spl_channel *c, double time)
{
    spl_transform *x = &pose->transform[c->node];
    if (c->path == SPL_PATH_WEIGHTS) {
        float *out = pose->weight + pose->first_weight[c->node];
        spl_channel_sample(c, time, pose->scratch);
        for (int32_t i = 0; i < c->width; i++) out[i] = (float)pose->scratch[i];
        return;
    }
    x->is_matrix = false; /* a file may not animate a node with a matrix; then its keys count, as in other readers */
    spl_channel_sample(c, time, c->path == SPL_PATH_TRANSLATION ? x->t : c->path == SPL_PATH_ROTATION ? x->r : x->s);
}

static void local_from_transforms(spl_pose *pose, const supple_scene *scene)
{
    for (int32_t i = 0; i < scene->node_count; i++) {
        const spl_transform *x = &pose->transform[i];
        pose->local[i] = x->is_matrix ? scene->node[i].matrix : spl_mat4_trs(x->t, x->r, x->s);
    }
}

void spl_pose_sample(spl_pose *pose, const supple_scene *scene, int32_t clip_index, double time)
{
    set_rest(pose, scene);
    if (clip_index >= 0 && clip_index < scene->clip_count) {
        const spl_clip *clip = &scene->clip[clip_index];
        for (int32_t i = 0; i < clip->channel_count; i++) sample_channel(pose, &clip->channel[i], time);
    }
    local_from_transforms(pose, scene);
    spl_pose_place(pose, scene);
}

void spl_pose_from_matrices(spl_pose *pose, const supple_scene *scene, const float *matrices)
{
    set_rest(pose, scene);
    local_from_transforms(pose, scene);
    for (int32_t i = 0; i < scene->node_count; i++) {
        pose->world[i] = pose->local[i];
        pose->transform[i].is_posed = false;
    }
    for (int32_t k = 0; k < scene->skin_count; k++) {
        const spl_skin *skin = &scene->skin[k];
        for (int32_t j = 0; j < skin->joint_count; j++) {
            const float *m = matrices + 16 * (size_t)(skin->first_joint + j);
            for (int i = 0; i < 16; i++) pose->world[skin->joint[j]].m[i] = (double)m[i];
            pose->transform[skin->joint[j]].is_posed = true;
        }
    }
    for (int32_t k = 0; k < scene->node_count; k++) {
        int32_t i = scene->node_order[k], parent = scene->node[i].parent;
        if (parent >= 0 && !pose->transform[i].is_posed)
            pose->world[i] = spl_mat4_mul(&pose->world[parent], &pose->local[i]);
    }
}

void spl_skin_bind_matrices(const spl_skin *skin, spl_mat4 *out)
{
    for (int32_t j = 0; j < skin->joint_count; j++)
        if (!spl_mat4_inverse(&skin->inverse_bind[j], &out[j])) out[j] = spl_mat4_identity();
}

supple_result supple_scene_pose(const supple_scene *scene, int32_t clip, double time, float *matrices, int32_t capacity,
                                supple_error *error)
{
    if (clip < -1 || clip >= scene->clip_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "clip %d: there are %d", (int)clip, (int)scene->clip_count);
    if (capacity < scene->joint_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "the pose has %d matrices, there is room for %d",
                        (int)scene->joint_count, (int)capacity);
    spl_pose pose;
    supple_result result = spl_pose_init(&pose, scene, error);
    if (result != SUPPLE_OK) return result;
    spl_pose_sample(&pose, scene, clip, time);
    for (int32_t k = 0; k < scene->skin_count; k++) {
        const spl_skin *skin = &scene->skin[k];
        for (int32_t j = 0; j < skin->joint_count; j++)
            for (int i = 0; i < 16; i++)
                matrices[16 * (skin->first_joint + j) + i] = (float)pose.world[skin->joint[j]].m[i];
    }
    spl_pose_release(&pose);
    return SUPPLE_OK;
}
