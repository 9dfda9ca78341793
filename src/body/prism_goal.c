/* Where the vertices of a skin go on a skeleton of capsules. */
#include "body/prism_private.h"

#define FOLLOWS   0.20 /* weight of a joint at the skin from which a vertex may go to its bones */
#define RIGID     0.90 /* weight of a joint from which a limb without a bone of its own is held by it */
#define SIGHT     0.15 /* of the way to the skeleton is not looked at: dents of the skin itself */
#define NEAR_MOST 0.70 /* of the way to a bone's core is what its radius takes at most */
#define CORE      0.30 /* of a limb's thickness is the depth of its core */
enum { GRAIN = 128 };

typedef struct seeker {
    const spl_attach_input *in;
    const spl_capsule *capsule;
    const spl_prism_skin *skin;
    const spl_tree *tree; /* of the skin */
    spl_prism_goal *goal;
} seeker;

/* The nearest point of a capsule and how far it is. */
static spl_vec3 on_capsule(const spl_capsule *c, spl_vec3 x, double *distance)
{
    spl_vec3 core = spl_capsule_core(c, x), out = spl_sub(x, core);
    double far = spl_norm(out), radius = fmin(spl_capsule_radius(c, spl_capsule_along(c, x)), NEAR_MOST * far);
    *distance = far - radius;
    return spl_madd(core, spl_unit(out, out), radius);
}

/* The nearest of the bones that move the skin at v: of joints with some weight, or the most if all have little. */
static int32_t nearest_bone(const seeker *w, int32_t v, spl_vec3 *point, double *weight)
{
    const spl_bones *b = w->in->bones;
    const spl_place *at = &w->skin->place[v];
    double most = 0, least = INFINITY;
    int32_t best = -1;
    for (int32_t k = 0; k < b->bone_count; k++) most = fmax(most, spl_attach_weight(w->in, at, b->bone[k].node));
    for (int32_t k = 0; k < b->bone_count; k++) {
        double here = spl_attach_weight(w->in, at, b->bone[k].node), distance;
        if (here >= 0 && here < fmin(FOLLOWS, most)) continue;
        spl_vec3 p = on_capsule(&w->capsule[k], w->skin->position[v], &distance);
        if (distance >= least) continue;
        least = distance;
        best = k;
        *point = p;
        *weight = here;
    }
    return best;
}

static spl_vec3 outward(const spl_prism_skin *s, int32_t v)
{
    spl_vec3 sum = {0};
    for (int32_t f = s->fan_first[v]; f < s->fan_first[v + 1]; f++) {
        const int32_t *c = s->triangle + 3 * (size_t)s->fan[f];
        const spl_vec3 *x = s->position;
        sum = spl_add(sum, spl_cross(spl_sub(x[c[1]], x[c[0]]), spl_sub(x[c[2]], x[c[0]])));
    }
    return spl_unit(sum, sum);
}

/* Straight down to the core of the limb. */
static spl_vec3 core_of_limb(const seeker *w, int32_t v)
{
    spl_vec3 x = w->skin->position[v], down = spl_scale(outward(w->skin, v), -w->skin->edge);
    spl_hit hit;
    double thickness = spl_tree_ray(w->tree, spl_madd(x, down, 0.1), down, INFINITY, &hit) ? 0.1 + hit.distance : 0.5;
    return spl_madd(x, down, CORE * thickness);
}

static void seek_range(void *context, size_t begin, size_t end)
{
    const seeker *w = context;
    for (size_t i = begin; i < end; i++) {
        spl_vec3 x = w->skin->position[i], point = x;
        double weight = 0;
        int32_t bone = nearest_bone(w, (int32_t)i, &point, &weight);
        spl_vec3 way = spl_sub(point, x);
        spl_hit hit;
        bool blocked = bone < 0 || spl_tree_ray(w->tree, spl_madd(x, way, SIGHT), way, 1 - SIGHT, &hit);
        if (blocked) point = core_of_limb(w, (int32_t)i);
        if (blocked && weight < RIGID) bone = -1;
        w->goal[i] = (spl_prism_goal){point, bone, blocked};
    }
}

void spl_prism_goals(const spl_attach_input *in, const spl_capsule *capsules, const spl_prism_skin *skin,
                     const spl_tree *tree, spl_pool *pool, spl_prism_goal *goal)
{
    seeker w = {in, capsules, skin, tree, goal};
    spl_parallel_for(pool, (size_t)skin->vertex_count, GRAIN, seek_range, &w);
}
