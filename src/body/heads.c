#include "body/heads.h"

/* What makes a head of a leaf. Humans have 0.7 to 0.9 and 0.2 to 0.7, a finger 0.2 and 0.9; a sack that tapers has 0.8
 * and 1.0, and is no head. */
#define BULKY 0.60 /* of its length is its largest distance to the skin, at least ... */
#define NECK  0.80 /* ... and of that the distance to the skin at its joint, at most */
#define DEEP  0.05 /* of the largest distance is the skin of the skull: 3 mm of a human */
#define ALONE 0.90 /* weight of the joint at the skin from which the flesh under it is the head's alone */

/* Whether a bone is a head's: a leaf that hangs on another bone, bulky, on a neck. */
static bool is_head(const spl_bones *b, const spl_capsule *c, int32_t k)
{
    if (b->bone[k].parent < 0 || c->thickest < BULKY * c->length || c->skin[0] > NECK * c->thickest) return false;
    for (int32_t i = k + 1; i < b->bone_count; i++) /* parents come before their children */
        if (b->bone[i].parent == k) return false;
    return true;
}

/* Whether a vertex is in the skull: below skin that follows the head alone. A coarse body's boundary may run inside the
 * real surface, through closed lips and thin jaws: it is skull there as well. */
static bool is_in_skull(const spl_attach_input *in, const spl_capsule *c, int32_t node, int32_t v)
{
    double weight = spl_attach_weight(in, &in->place[v], node);
    spl_hit near;
    if (weight >= 0 && weight < ALONE) return false; /* its limb, which the nearest skin may not be of */
    if (!spl_tree_nearest(in->tree, in->tets->position[v], INFINITY, in->place[v].triangle, &near)) return false;
    spl_place at = {near.triangle, {near.bary[0], near.bary[1], near.bary[2]}};
    return near.distance >= DEEP * c->thickest && spl_attach_weight(in, &at, node) >= ALONE;
}

int32_t spl_heads_hold(const spl_attach_input *in, const spl_capsule *capsules, int32_t *bone)
{
    int32_t held = 0;
    for (int32_t k = 0; k < in->bones->bone_count; k++) {
        if (!is_head(in->bones, &capsules[k], k)) continue;
        for (int32_t v = 0; v < in->tets->vertex_count; v++) {
            if (bone[v] >= 0 || !is_in_skull(in, &capsules[k], in->bones->bone[k].node, v)) continue;
            bone[v] = k;
            held++;
        }
    }
    return held;
}
