#include "body/capsule.h"

#define SHARE     0.40 /* of the distance to the skin is the radius ... */
#define CELLS     0.65 /* ... but at least so many cells: a single row of vertices would not turn the flesh with it ... */
#define MOST      0.70 /* ... and no more than this share of the distance to the skin */
#define JOINT_GAP 0.60 /* of the radius is left free at an end where another bone begins ... */
#define LIMB_GAP                                                                                                       \
    1.00 /* ... and where a bone begins that goes on from another limb: less piles up on a raised shoulder */
#define JOINT_NEAR 0.05 /* of a bone's length: how near another one begins at a joint */
enum { LAST = SPL_CAPSULE_PROFILE - 1 };

double spl_capsule_along(const spl_capsule *c, spl_vec3 p)
{
    return spl_dot(spl_sub(p, c->head), c->axis) / (c->length * c->length);
}

double spl_capsule_skin(const spl_capsule *c, double along)
{
    double x = fmin(fmax(along, 0), 1) * LAST;
    int i = x >= LAST ? LAST - 1 : (int)x;
    return c->skin[i] + (x - i) * (c->skin[i + 1] - c->skin[i]);
}

double spl_capsule_radius(const spl_capsule *c, double along)
{
    double skin = spl_capsule_skin(c, along);
    return fmax(SHARE * skin, fmin(c->least, MOST * skin));
}

spl_vec3 spl_capsule_core(const spl_capsule *c, spl_vec3 p)
{
    return spl_madd(c->head, c->axis, fmin(fmax(spl_capsule_along(c, p), 0), 1));
}

double spl_capsule_depth(const spl_capsule *c, spl_vec3 p)
{
    double t = fmin(fmax(spl_capsule_along(c, p), c->from), c->to), radius = spl_capsule_radius(c, t);
    return radius > 0 ? spl_distance(p, spl_madd(c->head, c->axis, t)) / radius : INFINITY;
}

/* What a bone leaves free where it begins. Of one that hangs on the root (hips) more would cost volume in a squat. */
static double begin_gap(const spl_bones *b, int32_t k)
{
    int32_t parent = b->bone[k].parent;
    return parent >= 0 && b->bone[parent].parent >= 0 ? LIMB_GAP : JOINT_GAP;
}

/* Whether a bone of another joint begins or ends at a point: its parent, its child, or what would be one if the file's
 * hierarchy were not flat (hands for virtual reality are). */
static bool is_joint(const spl_bones *b, int32_t k, spl_vec3 p, double near)
{
    for (int32_t i = 0; i < b->bone_count; i++)
        if (b->bone[i].node != b->bone[k].node &&
            (spl_distance(b->bone[i].head, p) < near || spl_distance(b->bone[i].tail, p) < near))
            return true;
    return false;
}

void spl_capsules_make(const spl_bones *b, const spl_tree *tree, double cell, spl_capsule *out)
{
    for (int32_t k = 0; k < b->bone_count; k++) {
        spl_capsule *c = &out[k];
        *c = (spl_capsule){.head = b->bone[k].head, .axis = spl_sub(b->bone[k].tail, b->bone[k].head), .to = 1};
        c->length = spl_norm(c->axis);
        for (int i = 0; i <= LAST; i++) {
            spl_hit hit;
            spl_tree_nearest(tree, spl_madd(c->head, c->axis, i / (double)LAST), INFINITY, -1, &hit);
            c->skin[i] = hit.distance;
            c->thickest = fmax(c->thickest, hit.distance);
        }
        if (SHARE * c->thickest < CELLS * cell) c->least = CELLS * cell;
        double gap = SHARE / c->length, near = JOINT_NEAR * c->length;
        if (b->bone[k].parent >= 0 || is_joint(b, k, c->head, near))
            c->from = fmin(0.3, begin_gap(b, k) * gap * c->skin[0]);
        if (is_joint(b, k, b->bone[k].tail, near)) c->to = fmax(0.7, 1 - JOINT_GAP * gap * c->skin[LAST]);
    }
    for (int32_t k = 0; k < b->bone_count; k++) { /* a bone with children ends where they begin */
        int32_t p = b->bone[k].parent;
        if (p < 0) continue;
        out[p].to = fmax(0.7, 1 - JOINT_GAP * SHARE * out[p].skin[LAST] / out[p].length);
    }
}
