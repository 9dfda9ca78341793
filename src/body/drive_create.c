/* Making a drive: what the rest pose of a scene says of bones, and which of them take up twists. */
#include "body/drive.h"
#include "body/limb.h"
#include "core/error.h"
#include "math/svd3.h"
#include "rig/bind.h"

#define SLENDER        3.0  /* length over the median distance to the skin, above which a bone takes up twists */
#define COMMON_STRETCH 1e-3 /* bones whose stretches differ by less share one */

/* ---- what the rest pose says ---- */

/* The bone that most flesh hangs on: its scale is the character's. */
static int32_t main_bone(const spl_bones *bones)
{
    int32_t best = 0;
    for (int32_t b = 1; b < bones->bone_count; b++)
        if (bones->influence[bones->bone[b].node] > bones->influence[bones->bone[best].node]) best = b;
    return best;
}

/* The linear part of a bone's map from body space to the world. */
static spl_mat3 linear_of(const spl_drive *d, const spl_pose *pose, int32_t bone)
{
    spl_mat4 m = spl_mat4_mul(&pose->world[d->body->bones.bone[bone].node], &d->home[bone]);
    return spl_mat3_linear(&m);
}

/* Sets the stretch and the unit from the file's rest pose. Stretch that only some bones have is left to the pose. */
static void find_stretch(spl_drive *d, const spl_pose *rest)
{
    int32_t count = d->body->bones.bone_count;
    spl_mat3 first = linear_of(d, rest, main_bone(&d->body->bones)), R, S;
    double sign = spl_mat3_det(&first) < 0 ? -1 : 1;
    first = spl_mat3_scale(&first, sign);
    d->stretch = spl_mat3_identity();
    d->to_solver = d->body->metre;
    if (!spl_polar3(&first, &R, &S) || !(spl_mat3_det(&S) > 0)) return;
    double s = cbrt(spl_mat3_det(&S));
    S = spl_mat3_scale(&S, 1 / s);
    bool common = true;
    for (int32_t b = 0; b < count && common; b++) {
        spl_mat3 L = linear_of(d, rest, b), Sb, Rb;
        L = spl_mat3_scale(&L, sign / s);
        spl_polar3(&L, &Rb, &Sb);
        Sb = spl_mat3_sub(&Sb, &S);
        common = spl_mat3_norm(&Sb) <= COMMON_STRETCH;
    }
    if (common) d->stretch = S;
    d->to_solver = sign * d->body->metre / s;
}

/* ---- twist ---- */

static void set_axes(spl_drive *d)
{
    for (int32_t b = 0; b < d->body->bones.bone_count; b++) {
        const spl_bone *bone = &d->body->bones.bone[b];
        d->axis[b] = spl_unit(spl_mat3_apply(&d->stretch, spl_sub(bone->tail, bone->head)), spl_v3(0, 1, 0));
    }
}

/* The joint that alone begins where a bone ends: a bone of it, or -1. */
static int32_t only_child(const spl_bones *bones, int32_t bone)
{
    int32_t found = -1;
    const spl_bone *b = &bones->bone[bone];
    double near = 1e-3 * spl_distance(b->head, b->tail);
    for (int32_t c = 0; c < bones->bone_count; c++) {
        if (bones->bone[c].parent != bone || spl_distance(bones->bone[c].head, b->tail) > near) continue;
        if (found >= 0 && bones->bone[found].node != bones->bone[c].node) return -1;
        if (found < 0) found = c;
    }
    return found;
}

/* Whether a bone is one of a chain: its joint has no other, and there is more beyond it. (A chest with its shoulders
 * has no one axis to twist about.) */
static bool is_limb(const spl_bones *bones, int32_t bone)
{
    bool goes_on = false;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        if (b != bone && bones->bone[b].node == bones->bone[bone].node) return false;
        goes_on = goes_on || bones->bone[b].parent == bone;
    }
    return goes_on;
}

/* Whether a bone is much longer than the flesh around its middle is thick. A trunk that twists along its bones would
 * swell: what lies far from the axis has far to go. */
static bool is_slender(const spl_body *body, const spl_tree *tree, int32_t bone)
{
    const spl_bone *b = &body->bones.bone[bone];
    spl_vec3 along = spl_sub(b->tail, b->head), middle = spl_lerp(b->head, b->tail, 0.5);
    double radius = spl_limb_radius(tree, middle, along, body->surface.diagonal);
    return radius > 0 && spl_norm(along) >= SLENDER * radius;
}

/* Which bones take up which twists. */
static supple_result plan_twists(spl_drive *d, supple_error *error)
{
    const spl_bones *bones = &d->body->bones;
    const spl_surface *skin = &d->body->surface;
    spl_tree tree;
    supple_result result =
        spl_tree_make(skin->position, skin->triangle, skin->triangle_count, &d->allocator, &tree, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t b = 0; b < bones->bone_count; b++) d->driver[b] = -1;
    for (int32_t b = 0; b < bones->bone_count; b++) {
        int32_t c = only_child(bones, b);
        if (c < 0) continue;
        const spl_bone *p = &bones->bone[b], *q = &bones->bone[c];
        bool longer = spl_distance(q->head, q->tail) > spl_distance(p->head, p->tail);
        if (longer && is_limb(bones, c))
            d->own[c] = is_slender(d->body, &tree, c);
        else if (is_slender(d->body, &tree, b))
            d->driver[b] = c;
    }
    spl_tree_release(&tree);
    return SUPPLE_OK;
}

/* ---- creation ---- */

static void set_rest(spl_drive *d)
{
    for (size_t v = 0; v < (size_t)d->body->tets.vertex_count; v++) {
        spl_vec3 p = spl_scale(spl_mat3_apply(&d->stretch, d->body->tets.position[v]), d->body->metre);
        d->rest[3 * v] = p.x;
        d->rest[3 * v + 1] = p.y;
        d->rest[3 * v + 2] = p.z;
    }
}

supple_result spl_drive_create(const spl_body *body, const supple_allocator *a, spl_drive *out, supple_error *error)
{
    spl_pose rest = {0};
    supple_result result = spl_drive_init(body, a, out, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t b = 0; b < body->bones.bone_count; b++)
        if (!spl_bind_inverse(body->scene, body->home, body->bones.bone[b].node, &out->home[b]))
            out->home[b] = spl_mat4_identity();
    result = spl_pose_init(&rest, body->scene, error);
    if (result == SUPPLE_OK) {
        spl_pose_sample(&rest, body->scene, -1, 0);
        find_stretch(out, &rest);
        set_rest(out);
        set_axes(out);
        spl_pose_release(&rest);
        result = plan_twists(out, error);
    }
    if (result != SUPPLE_OK) spl_drive_release(out);
    return result;
}
