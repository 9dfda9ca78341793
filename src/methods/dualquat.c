/* Dual quaternion skinning: Kavan, Collins, Zara, O'Sullivan, "Geometric skinning with approximate dual quaternion
 * blending", 2008, with their two-phase scheme for bones that are scaled.
 *
 * A skin's matrices are split once a frame, in double:
 *
 *     M_j p + t_j = R_j (S_j (p - c) + c) + t'_j,   p = C p_rest,   c = C (bind position of joint j)
 *
 * C is a scale (and mirror) common to the skin, so that a character modelled in centimetres or mirrored as a whole has
 * S_j = I and takes the fast path; R_j and S_j are the polar decomposition of M_j C^-1. Stretching about the joint, not
 * about the mesh's origin, matters: blends of a rotated and a scaled bone stay where the joint is.
 *
 * q and -q are one rotation but blend differently. Each quaternion is aligned to that of the bone above it, so that
 * blends take the shorter way, and to its own last frame, so that a twist through 180 degrees does not jump. */
#include "math/dualquat.h"
#include "core/error.h"
#include "core/memory.h"
#include "math/svd3.h"
#include "methods/skinning.h"

/* Stretches this near to I are left out. */
#define RIGID_TOLERANCE 1e-6

/* A quaternion keeps last frame's sign relative to its parent until it has turned so far the long way round: cos of
 * half the angle, here 221 degrees. Further, the shorter way is taken, since the blend would pass near zero. */
#define TURN_LIMIT (-0.35)

/* Below this the second singular value (1: unscaled) no longer tells a rotation. */
#define FLAT 1e-9

typedef struct joint_state {
    int32_t order;   /* joints of the skin with parents before children (in the slot, not of the joint) */
    int32_t parent;  /* nearest joint above in the skin; the first root for other roots; -1 for that one */
    spl_vec3 centre; /* bind position, mesh space */
    spl_mat4 matrix; /* this frame's skinning matrix */
    spl_quat q;      /* this frame's rotation, aligned */
    spl_quat last;   /* last frame's, relative to the parent's */
    double size;     /* |M| / sqrt 3; sorted in place for the median */
} joint_state;

typedef struct dualquat_state {
    spl_skinning skinning;
    joint_state *joint; /* scene's joint order */
    int32_t joint_count;
    bool has_last;
} dualquat_state;

/* ---- once -------------------------------------------------------------------------------------------------------- */

/* Hierarchy of one skin. `first` (by node: its first joint), `next` (by joint: another joint at the same node) and
 * `nearest` (by node: the joint at or above it) are room to work in. */
static void order_joints(const supple_scene *scene, const spl_skin *skin, joint_state *joint, int32_t *first,
                         int32_t *nearest, int32_t *next)
{
    for (int32_t n = 0; n < scene->node_count; n++) first[n] = -1;
    for (int32_t j = skin->joint_count - 1; j >= 0; j--) {
        next[j] = first[skin->joint[j]];
        first[skin->joint[j]] = j;
    }
    int32_t count = 0, root = -1;
    for (int32_t i = 0; i < scene->node_count; i++) {
        int32_t n = scene->node_order[i], up = scene->node[n].parent;
        int32_t parent = up >= 0 ? nearest[up] : -1;
        nearest[n] = first[n] >= 0 ? first[n] : parent;
        for (int32_t j = first[n]; j >= 0; j = next[j]) {
            joint[j].parent = j != first[n] ? first[n] : parent >= 0 ? parent : root;
            joint[count++].order = j;
            if (root < 0) root = j;
        }
    }
}

static void find_centres(const spl_skin *skin, joint_state *joint)
{
    for (int32_t j = 0; j < skin->joint_count; j++) {
        spl_mat4 bind;
        bool regular = spl_mat4_inverse(&skin->inverse_bind[j], &bind);
        joint[j].centre = regular ? spl_v3(bind.m[12], bind.m[13], bind.m[14]) : spl_v3(0, 0, 0);
    }
}

static supple_result dualquat_init(void *state, const spl_method_context *context, supple_error *error)
{
    dualquat_state *s = state;
    const supple_scene *scene = context->scene;
    supple_result result = spl_skinning_init(&s->skinning, scene, context->allocator, error);
    if (result) return result;
    size_t joints = (size_t)scene->joint_count, nodes = (size_t)scene->node_count;
    s->joint_count = scene->joint_count;
    s->joint = spl_new(context->allocator, joints, sizeof *s->joint);
    int32_t *room = spl_new(context->allocator, joints + 2 * nodes, sizeof *room);
    if (!s->joint || !room) {
        spl_free(context->allocator, room);
        return spl_fail_memory(error, "the joints of the skins");
    }
    for (int32_t k = 0; k < scene->skin_count; k++) {
        joint_state *joint = s->joint + scene->skin[k].first_joint;
        order_joints(scene, &scene->skin[k], joint, room, room + nodes, room + 2 * nodes);
        find_centres(&scene->skin[k], joint);
    }
    spl_free(context->allocator, room);
    return SUPPLE_OK;
}

static void dualquat_release(void *state, const spl_method_context *context)
{
    dualquat_state *s = state;
    spl_free(context->allocator, s->joint);
    spl_skinning_release(&s->skinning, context->allocator);
    s->joint = NULL;
}

static void dualquat_reset(void *state)
{
    ((dualquat_state *)state)->has_last = false;
}

/* ---- once a frame ------------------------------------------------------------------------------------------------ */

/* The middle one of the joints' sizes, by a Shell sort in place. Unlike a mean it ignores a few bones scaled to nothing
 * and is exactly 1 where most are unscaled. */
static double median_size(joint_state *joint, int32_t count)
{
    for (int32_t gap = count / 2; gap > 0; gap /= 2)
        for (int32_t i = gap; i < count; i++) {
            double size = joint[i].size;
            int32_t j = i;
            for (; j >= gap && joint[j - gap].size > size; j -= gap) joint[j].size = joint[j - gap].size;
            joint[j].size = size;
        }
    return joint[count / 2].size;
}

/* C as a diagonal. A character is mirrored if most of its joints are. */
static spl_vec3 common_scale(const spl_skin *skin, joint_state *joint, const spl_pose *pose)
{
    int32_t mirrored = 0;
    for (int32_t j = 0; j < skin->joint_count; j++) {
        joint[j].matrix = spl_skinning_joint_matrix(skin, j, pose);
        spl_mat3 m = spl_mat3_linear(&joint[j].matrix);
        double size = spl_mat3_norm(&m) / sqrt(3.0);
        joint[j].size = isfinite(size) ? size : 0;
        mirrored += spl_mat3_det(&m) < 0;
    }
    double size = median_size(joint, skin->joint_count);
    if (!(size > 0)) size = 1;
    if (fabs(size - 1) < RIGID_TOLERANCE) size = 1; /* rounding in the file is no scale */
    return spl_v3(2 * mirrored > skin->joint_count ? -size : size, size, size);
}

/* The rotation in L. A mirrored L (against C) is turned over along x first: where all its singular values are alike,
 * the axis that a polar decomposition would pick is rounding noise, and two joints would pick different ones. */
static spl_mat3 rotation_of(const spl_mat3 *L, spl_quat parent)
{
    spl_mat3 U, V, mirrored;
    double sigma[3];
    spl_svd3(L, &U, sigma, &V);
    if (sigma[2] < -1e-6 * sigma[0]) {
        mirrored = *L;
        for (int i = 0; i < 3; i++) mirrored.m[i] = -mirrored.m[i];
        spl_svd3(&mirrored, &U, sigma, &V);
    }
    if (!(sigma[1] > FLAT)) return spl_quat_to_mat3(parent); /* nothing left to tell a rotation: go along */
    return spl_mat3_mul_transposed(&U, &V);
}

/* Chooses between q and -q. */
static spl_quat align(spl_quat q, spl_quat parent, spl_quat *last, bool has_last)
{
    spl_quat relative = spl_quat_mul(spl_quat_conjugate(parent), q);
    double sign = has_last && spl_quat_dot(relative, *last) < 0 ? -1 : 1;
    double limit = has_last ? TURN_LIMIT : 0;
    if (sign * relative.w < limit) sign = -sign;
    *last = spl_quat_scale(relative, sign);
    return spl_quat_scale(q, sign);
}

static void set_dual(spl_skinning *s, size_t entry, spl_quat q, spl_vec3 t)
{
    spl_dualquat d = spl_dualquat_make(q, t);
    const double from[SPL_DUAL_SIZE] = {d.q.x, d.q.y, d.q.z, d.q.w, d.d.x, d.d.y, d.d.z, d.d.w};
    for (int i = 0; i < SPL_DUAL_SIZE; i++) s->dual[entry * SPL_DUAL_SIZE + (size_t)i] = (float)from[i];
}

/* Splits one joint's matrix into its palette entries; returns how far its stretch is from I. */
static double split_joint(spl_skinning *s, size_t entry, joint_state *joint, int32_t j, spl_vec3 C, bool has_last)
{
    joint_state *self = &joint[j];
    spl_quat parent = self->parent >= 0 ? joint[self->parent].q : spl_quat_identity();
    spl_mat3 inverse = spl_mat3_diagonal(1 / C.x, 1 / C.y, 1 / C.z), scale = spl_mat3_diagonal(C.x, C.y, C.z);
    spl_mat3 M = spl_mat3_linear(&self->matrix), L = spl_mat3_mul(&M, &inverse);
    spl_mat3 R = rotation_of(&L, parent), S = spl_mat3_transposed_mul(&R, &L);
    self->q = align(spl_quat_from_mat3(&R), parent, &self->last, has_last);

    spl_vec3 c = spl_mat3_apply(&scale, self->centre),
             t = spl_v3(self->matrix.m[12], self->matrix.m[13], self->matrix.m[14]);
    spl_vec3 shift = spl_sub(spl_mat3_apply(&S, c), c); /* S c - c */
    set_dual(s, entry, self->q, spl_add(t, spl_mat3_apply(&R, shift)));
    spl_mat3 SC = spl_mat3_mul(&S, &scale);
    spl_mat4 affine = spl_mat3_affine(&SC, spl_scale(shift, -1)); /* p -> S (C p - c) + c */
    spl_skinning_set_matrix(s, entry, &affine);

    spl_mat3 I = spl_mat3_identity(), stretch = spl_mat3_sub(&S, &I);
    double most = 0;
    for (int i = 0; i < 9; i++) most = fmax(most, fabs(stretch.m[i]));
    return most;
}

static void split_skin(dualquat_state *s, const supple_scene *scene, int32_t index, const spl_pose *pose)
{
    const spl_skin *skin = &scene->skin[index];
    if (skin->joint_count == 0) return;
    joint_state *joint = s->joint + skin->first_joint;
    spl_vec3 C = common_scale(skin, joint, pose);
    double stretch = 0;
    for (int32_t i = 0; i < skin->joint_count; i++) {
        int32_t j = joint[i].order;
        size_t entry = (size_t)(skin->first_joint + j);
        stretch = fmax(stretch, split_joint(&s->skinning, entry, joint, j, C, s->has_last));
    }
    spl_group *group = &s->skinning.group[index];
    group->dual = true;
    group->affine = stretch > RIGID_TOLERANCE; /* its matrices contain C */
    spl_v3_to_float(group->affine ? spl_v3(1, 1, 1) : C, group->scale);
}

static supple_result dualquat_step(void *state, const spl_method_context *context, const spl_pose *pose,
                                   const float *rest, float *out, supple_stats *stats, supple_error *error)
{
    (void)stats;
    (void)error;
    dualquat_state *s = state;
    for (int32_t k = 0; k < context->scene->skin_count; k++) split_skin(s, context->scene, k, pose);
    s->has_last = true;
    spl_skinning_set_matrices(&s->skinning, context->scene, pose, false);
    spl_skinning_run(&s->skinning, context->pool, rest, out);
    return SUPPLE_OK;
}

const spl_method spl_method_dualquat = {
    .name = "dualquat",
    .summary = "dual quaternion skinning: keeps limbs thick under twist; bulges at sharp bends",
    .needs = SPL_NEEDS_SKIN,
    .output = SPL_OUTPUT_VISUAL,
    .state_size = sizeof(dualquat_state),
    .init = dualquat_init,
    .step = dualquat_step,
    .reset = dualquat_reset,
    .release = dualquat_release,
};
