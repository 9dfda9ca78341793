#include "body/pose_path.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/svd3.h"

#include <string.h>

/* ---- creation ---- */

supple_result spl_pose_path_create(const spl_solid *solid, spl_pose_path *out, supple_error *error)
{
    const supple_allocator *a = &solid->allocator;
    size_t bones = (size_t)solid->body->bones.bone_count;
    *out = (spl_pose_path){.allocator = *a, .to = solid, .solid = *solid};
    spl_drive *d = &out->solid.drive;
    d->map = spl_new(a, bones, sizeof *d->map);
    d->turn = spl_new(a, bones, sizeof *d->turn);
    d->tail = spl_new(a, bones, sizeof *d->tail);
    d->head = spl_new(a, bones, sizeof *d->head);
    supple_result result = d->map && d->turn && d->tail && d->head ? SUPPLE_OK : spl_fail_memory(error, "a path");
    if (result == SUPPLE_OK) result = spl_pose_past_create(solid, &out->from, error);
    if (result == SUPPLE_OK) result = spl_pose_past_create(solid, &out->last, error);
    if (result == SUPPLE_OK)
        spl_pose_path_reset(out);
    else
        spl_pose_path_release(out);
    return result;
}

void spl_pose_path_release(spl_pose_path *p)
{
    const supple_allocator *a = &p->allocator;
    if (!a->release) return;
    spl_free(a, p->solid.drive.map);
    spl_free(a, p->solid.drive.turn);
    spl_free(a, p->solid.drive.tail);
    spl_free(a, p->solid.drive.head);
    spl_pose_past_release(&p->from, a);
    spl_pose_past_release(&p->last, a);
    *p = (spl_pose_path){0};
}

void spl_pose_path_reset(spl_pose_path *p)
{
    spl_drive *d = &p->solid.drive;
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) {
        d->map[b] = spl_mat4_identity();
        d->turn[b] = spl_quat_identity();
        d->tail[b] = d->head[b] = 0;
    }
    spl_pose_past_keep(&p->from, d);
    spl_pose_past_keep(&p->last, d);
}

/* ---- one joint ---- */

/* A joint's motion as its parent sees it. */
typedef struct joint {
    spl_mat3 linear;
    spl_quat turn;
    spl_mat3 stretch;
    spl_vec3 head; /* where it takes the bone's head */
} joint;

static joint joint_of(const spl_drive *d, const spl_mat4 *map, int32_t bone)
{
    int32_t parent = d->body->bones.bone[bone].parent;
    spl_mat4 own = map[bone], back;
    joint j;
    spl_mat3 R;
    if (parent >= 0 && spl_mat4_inverse(&map[parent], &back)) own = spl_mat4_mul(&back, &own);
    j.linear = spl_mat3_linear(&own);
    spl_polar3(&j.linear, &R, &j.stretch);
    j.turn = spl_quat_from_mat3(&R);
    j.head = spl_mat4_point(&own, spl_drive_rest(d, d->body->bones.bone[bone].head));
    return j;
}

static double angle_between(spl_quat a, spl_quat b)
{
    return 2 * acos(fmin(fabs(spl_quat_dot(a, b)), 1));
}

/* What the joint does at t, and with its parent's place the bone's map. */
static spl_mat4 map_between(const spl_drive *d, const joint *from, const joint *to, int32_t bone, double t)
{
    int32_t parent = d->body->bones.bone[bone].parent;
    spl_mat3 turn = spl_quat_to_mat3(spl_quat_slerp(from->turn, to->turn, t)), stretch;
    for (int i = 0; i < 9; i++) stretch.m[i] = (1 - t) * from->stretch.m[i] + t * to->stretch.m[i];
    spl_mat3 linear = spl_mat3_mul(&turn, &stretch);
    spl_vec3 rest = spl_drive_rest(d, d->body->bones.bone[bone].head), head = spl_lerp(from->head, to->head, t);
    spl_mat4 own = spl_mat3_affine(&linear, spl_sub(head, spl_mat3_apply(&linear, rest)));
    spl_mat4 back;
    bool hangs = parent >= 0 && spl_mat4_inverse(&d->map[parent], &back); /* as in joint_of */
    return hangs ? spl_mat4_mul(&d->map[parent], &own) : own;
}

/* ---- the way ---- */

void spl_pose_path_begin(spl_pose_path *p)
{
    const spl_drive *to = &p->to->drive;
    spl_pose_past_keep(&p->from, &p->solid.drive);
    p->solid.force = p->to->force;
    p->turn = 0;
    for (int32_t b = 0; b < to->body->bones.bone_count; b++) {
        joint first = joint_of(to, p->from.map, b), end = joint_of(to, to->map, b);
        p->turn = fmax(p->turn, angle_between(first.turn, end.turn));
        p->turn = fmax(p->turn, fmax(fabs(to->tail[b] - p->from.tail[b]), fabs(to->head[b] - p->from.head[b])));
    }
}

void spl_pose_path_take(spl_pose_path *p, double t)
{
    const spl_drive *to = &p->to->drive;
    spl_drive *d = &p->solid.drive;
    spl_pose_past_keep(&p->last, d);
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) {
        joint first = joint_of(to, p->from.map, b), end = joint_of(to, to->map, b);
        spl_mat3 R, S;
        d->map[b] = t >= 1 ? to->map[b] : map_between(d, &first, &end, b, t);
        spl_mat3 linear = spl_mat3_linear(&d->map[b]);
        spl_polar3(&linear, &R, &S);
        d->turn[b] = t >= 1 ? to->turn[b] : spl_quat_from_mat3(&R);
        d->tail[b] = t >= 1 ? to->tail[b] : (1 - t) * p->from.tail[b] + t * to->tail[b];
        d->head[b] = t >= 1 ? to->head[b] : (1 - t) * p->from.head[b] + t * to->head[b];
    }
}

spl_mat4 spl_pose_path_move_root(spl_pose_path *p)
{
    spl_drive *d = &p->solid.drive;
    const spl_drive *to = &p->to->drive;
    spl_mat3 R, S, first = spl_mat3_linear(&d->map[0]), end = spl_mat3_linear(&to->map[0]), turn;
    spl_polar3(&first, &R, &S);
    spl_polar3(&end, &turn, &S);
    turn = spl_mat3_mul_transposed(&turn, &R);
    spl_vec3 head = spl_drive_rest(d, d->body->bones.bone[0].head), there = spl_mat4_point(&to->map[0], head);
    spl_vec3 here = spl_mat4_point(&d->map[0], head);
    spl_mat4 motion = spl_mat3_affine(&turn, spl_sub(there, spl_mat3_apply(&turn, here)));
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) d->map[b] = spl_mat4_mul(&motion, &d->map[b]);
    return motion;
}
