#include "rig/retarget_carry.h"

#include "core/memory.h"

#include <string.h>

#define SAME_PLACE 0.01 /* of the body's size */
enum { MOST_ALONE = 512, ROUNDS = 8 };
#define MOST_SHARED 5e8 /* vertices times joints to look at; beyond, the nearest bone must do */

typedef struct carry {
    const supple_scene *scene;
    const spl_match *match;
    const int32_t *joint_of_node;
    spl_rest *rest;
    int32_t *parent;     /* joint_count: the nearest joint above, by nodes; -1 */
    bool *above_hips;    /* joint_count: moves as the hips do */
    bool *waits;         /* joint_count: it or one above it is alone */
    bool *driven;        /* joint_count: something of the motion moves it */
    double *shared;      /* joint_count */
    double size;         /* of the body */
    int32_t alone_count; /* joints with skin that nothing moves */
    int32_t alone[MOST_ALONE];
} carry;

/* ---- dependencies ----------------------------------------------------------------------------------------------- */

/* The joint from which a joint's place is found; -1 for the hips and for tops. */
static int32_t depends(const carry *c, int32_t joint)
{
    if (joint == c->rest->hips) return -1;
    return c->rest->carrier[joint] >= 0 ? c->rest->carrier[joint] : c->parent[joint];
}

static bool set_carrier(carry *c, int32_t joint, int32_t on)
{
    if (on < 0 || joint == c->rest->hips) return false;
    for (int32_t k = on; k >= 0; k = depends(c, k))
        if (k == joint) return false; /* a loop */
    c->rest->carrier[joint] = on;
    return true;
}

static bool is_below(const carry *c, int32_t joint, int32_t top)
{
    while (joint >= 0 && joint != top) joint = c->parent[joint];
    return joint >= 0;
}

/* ---- the body --------------------------------------------------------------------------------------------------- */

/* What a part of the body hangs on: the first that there is. A part in its own row is the joint before it. */
static const spl_body_part hangs_on[SPL_PART_COUNT][4] = {
    [SPL_PART_SPINE] = {SPL_PART_SPINE, SPL_PART_HIPS},
    [SPL_PART_NECK] = {SPL_PART_NECK, SPL_PART_SPINE, SPL_PART_HIPS},
    [SPL_PART_HEAD] = {SPL_PART_NECK, SPL_PART_SPINE, SPL_PART_HIPS},
    [SPL_PART_CLAVICLE] = {SPL_PART_SPINE, SPL_PART_HIPS},
    [SPL_PART_UPPER_ARM] = {SPL_PART_CLAVICLE, SPL_PART_SPINE, SPL_PART_HIPS},
    [SPL_PART_FOREARM] = {SPL_PART_UPPER_ARM},
    [SPL_PART_HAND] = {SPL_PART_FOREARM, SPL_PART_UPPER_ARM},
    [SPL_PART_HIP_JOINT] = {SPL_PART_HIPS},
    [SPL_PART_THIGH] = {SPL_PART_HIP_JOINT, SPL_PART_HIPS},
    [SPL_PART_SHIN] = {SPL_PART_THIGH},
    [SPL_PART_FOOT] = {SPL_PART_SHIN, SPL_PART_THIGH},
    [SPL_PART_TOE] = {SPL_PART_FOOT, SPL_PART_SHIN},
    [SPL_PART_FINGERS] = {SPL_PART_HAND, SPL_PART_FOREARM},
    [SPL_PART_THUMB] = {SPL_PART_THUMB, SPL_PART_HAND, SPL_PART_FOREARM},
    [SPL_PART_INDEX] = {SPL_PART_INDEX, SPL_PART_HAND, SPL_PART_FOREARM},
    [SPL_PART_MIDDLE] = {SPL_PART_MIDDLE, SPL_PART_HAND, SPL_PART_FOREARM},
    [SPL_PART_RING] = {SPL_PART_RING, SPL_PART_HAND, SPL_PART_FOREARM},
    [SPL_PART_PINKY] = {SPL_PART_PINKY, SPL_PART_HAND, SPL_PART_FOREARM},
};

/* Rigs differ in which joint of the trunk arms, heads and legs hang on; they need not be moved from one to another. */
static bool is_trunk(spl_body_part part)
{
    return part == SPL_PART_SPINE || part == SPL_PART_NECK || part == SPL_PART_CLAVICLE || part == SPL_PART_HIP_JOINT;
}

static bool trunk_will_do(spl_body_part part)
{
    return part == SPL_PART_NECK || part == SPL_PART_HEAD || part == SPL_PART_CLAVICLE || part == SPL_PART_UPPER_ARM ||
           part == SPL_PART_HIP_JOINT || part == SPL_PART_THIGH;
}

/* The nearest joint with a match of a part, before `before`. Parts of the trunk have no side. */
static int32_t nearest_of(const carry *c, spl_body_part part, char side, int32_t joint, int32_t before)
{
    int32_t found = -1;
    if (part == SPL_PART_HIPS) return c->rest->hips;
    if (part == SPL_PART_SPINE || part == SPL_PART_NECK) side = 0;
    for (int32_t i = 0; i < before; i++) {
        if (c->match->source[i] < 0 || i == joint) continue;
        spl_joint_name name = spl_match_name(c->match, i);
        if (name.part != part || name.side != side) continue;
        if (found < 0 || spl_distance(c->rest->place[i], c->rest->place[joint]) <=
                             spl_distance(c->rest->place[found], c->rest->place[joint]))
            found = i;
    }
    return found;
}

static int32_t hanger_of(const carry *c, spl_body_part part, char side, int32_t joint)
{
    int32_t found = -1;
    for (int i = 0; i < 4 && hangs_on[part][i] && found < 0; i++) {
        bool same = hangs_on[part][i] == part;
        found = nearest_of(c, hangs_on[part][i], side, joint, same ? joint : c->match->joint_count);
    }
    return found;
}

static void carry_body(carry *c)
{
    for (int32_t i = 0; i < c->match->joint_count; i++) {
        if (c->match->source[i] < 0 || i == c->rest->hips) continue;
        spl_joint_name name = spl_match_name(c->match, i);
        int32_t on = name.part < SPL_PART_COUNT ? hanger_of(c, name.part, name.side, i) : -1;
        bool good = on < 0;
        for (int32_t k = c->parent[i]; k >= 0 && !good; k = c->parent[k]) {
            spl_body_part part = c->match->source[k] >= 0 ? spl_match_name(c->match, k).part : SPL_PART_NONE;
            good = k == on || (part == name.part && k < i) || (is_trunk(part) && trunk_will_do(name.part)) ||
                   (part == SPL_PART_HIPS && (name.part == SPL_PART_THIGH || name.part == SPL_PART_HIP_JOINT));
        }
        if (!good) set_carrier(c, i, on);
    }
}

/* The topmost joint above the hips on which other skin hangs too. */
static void carry_root(carry *c)
{
    int32_t hips = c->rest->hips, top = -1;
    for (int32_t k = c->parent[hips]; k >= 0; k = c->parent[k]) c->above_hips[k] = true;
    for (int32_t i = 0; i < c->match->joint_count; i++) {
        int32_t k = i;
        while (k >= 0 && k != hips && !c->above_hips[k]) k = c->parent[k];
        if (c->match->weight[i] > 0 && k >= 0 && k != hips && (top < 0 || k < top)) top = k; /* parents come first */
    }
    for (int32_t k = c->parent[hips]; k >= 0; k = c->parent[k]) c->above_hips[k] = top >= 0 && k >= top;
    if (top >= 0 && (c->match->source[top] >= 0 || !set_carrier(c, top, hips)))
        memset(c->above_hips, 0, (size_t)c->match->joint_count * sizeof *c->above_hips);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

static int32_t nth_joint(const carry *c, int32_t skeleton, int32_t n)
{
    for (int32_t i = 0; i < c->match->joint_count; i++)
        if (c->match->skeleton[i] == skeleton && n-- == 0) return i;
    return -1;
}

/* Whether a skeleton is the lead, joint by joint, somewhere else. */
static bool is_copy(const carry *c, int32_t skeleton)
{
    const spl_match *m = c->match;
    int32_t first = nth_joint(c, m->lead, 0), a = 0, b = 0;
    spl_vec3 shift = spl_sub(c->rest->place[skeleton], c->rest->place[first]);
    for (;; a++, b++) {
        while (a < m->joint_count && m->skeleton[a] != m->lead) a++;
        while (b < m->joint_count && m->skeleton[b] != skeleton) b++;
        if (a == m->joint_count || b == m->joint_count) return a == b;
        spl_vec3 d = spl_sub(spl_sub(c->rest->place[b], c->rest->place[a]), shift);
        if (!(spl_norm(d) < SAME_PLACE * c->size)) return false;
    }
}

/* The joint of the lead with the same name, at the same place. */
static int32_t twin_of(const carry *c, int32_t joint)
{
    const spl_match *m = c->match;
    double nearest = SAME_PLACE * c->size;
    int32_t found = -1;
    for (int32_t i = 0; i < m->joint_count; i++) {
        if (m->skeleton[i] != m->lead || m->name[i].side != m->name[joint].side ||
            strcmp(m->name[i].word, m->name[joint].word) != 0)
            continue;
        double d = spl_distance(c->rest->place[i], c->rest->place[joint]);
        if (!(d < nearest)) continue;
        nearest = d;
        found = i;
    }
    return found;
}

static void carry_copies(carry *c)
{
    const spl_match *m = c->match;
    for (int32_t s = 0; s < m->joint_count; s++) {
        if (m->skeleton[s] != s || s == m->lead) continue;
        bool copy = is_copy(c, s);
        spl_vec3 shift = spl_sub(c->rest->place[s], c->rest->place[nth_joint(c, m->lead, 0)]);
        for (int32_t i = s, n = 0; i < m->joint_count; i++) {
            if (m->skeleton[i] != s) continue;
            int32_t twin = copy ? nth_joint(c, m->lead, n++) : twin_of(c, i);
            if (m->source[i] < 0 && set_carrier(c, i, twin) && copy) c->rest->shift[i] = shift;
        }
    }
}

/* ---- joints that nothing moves ---------------------------------------------------------------------------------- */

static void find_driven(carry *c)
{
    for (int32_t i = 0; i < c->match->joint_count; i++) {
        int32_t k = i;
        while (k >= 0 && c->match->source[k] < 0) k = depends(c, k);
        c->driven[i] = k >= 0;
    }
}

/* Whether a joint hangs on nothing but what is above the hips. */
static bool is_left(const carry *c, int32_t joint)
{
    const spl_match *m = c->match;
    if (m->source[joint] >= 0 || c->rest->carrier[joint] >= 0 || is_below(c, c->rest->hips, joint)) return false;
    int32_t k = c->parent[joint];
    while (k >= 0 && m->source[k] < 0 && c->rest->carrier[k] < 0 && !c->above_hips[k]) k = c->parent[k];
    return k < 0 || c->above_hips[k];
}

/* The skin that a joint shares with each other joint. */
static void add_shared(carry *c, int32_t joint)
{
    const supple_scene *scene = c->scene;
    memset(c->shared, 0, (size_t)c->match->joint_count * sizeof *c->shared);
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        for (int32_t k = 0; k < mesh->primitive_count && scene->instance[i].skin >= 0; k++) {
            const int32_t *node = scene->skin[scene->instance[i].skin].joint;
            const spl_primitive *p = &mesh->primitive[k];
            size_t n = (size_t)p->influence_count;
            for (size_t v = 0; v < (size_t)p->vertex_count; v++) {
                double own = 0;
                for (size_t j = v * n; j < (v + 1) * n; j++)
                    if (node[p->joint[j]] == c->match->node[joint]) own += (double)p->weight[j];
                for (size_t j = v * n; j < (v + 1) * n && own > 0; j++)
                    c->shared[c->joint_of_node[node[p->joint[j]]]] += fmin(own, (double)p->weight[j]);
            }
        }
    }
}

/* Of the joints that something moves, or of the others, the one with the most shared skin; -1 for none. */
static int32_t most_shared(const carry *c, int32_t joint, bool driven)
{
    int32_t found = -1;
    for (int32_t i = 0; i < c->match->joint_count; i++)
        if (c->driven[i] == driven && c->shared[i] > (found >= 0 ? c->shared[found] : 0) && !is_below(c, i, joint))
            found = i;
    return found;
}

static double to_segment(spl_vec3 p, spl_vec3 a, spl_vec3 b)
{
    spl_vec3 d = spl_sub(b, a);
    double length = spl_dot(d, d), s = length > 0 ? spl_dot(spl_sub(p, a), d) / length : 0;
    return spl_distance(p, spl_madd(a, d, fmin(fmax(s, 0), 1)));
}

/* The joint whose bone is nearest, a joint at the very place before a bone that ends there; -1 if none is within. */
static int32_t nearest_bone(const carry *c, int32_t joint, double within)
{
    spl_vec3 p = c->rest->place[joint];
    int32_t found = -1;
    for (int pass = 0; pass < 2; pass++) /* joints, then bones */
        for (int32_t i = 0; i < c->match->joint_count; i++) {
            int32_t owner = pass ? depends(c, i) : i;
            if (owner < 0 || !c->driven[owner] || is_below(c, owner, joint)) continue;
            double d = to_segment(p, c->rest->place[owner], c->rest->place[i]);
            if (!(d < within - 1e-6 * c->size * pass)) continue;
            within = d;
            found = owner;
        }
    return found;
}

/* By the skin they share, the surest first: a toe may touch the shin, but it belongs to the foot. */
static void carry_by_skin(carry *c)
{
    int rounds = (double)c->alone_count * c->scene->vertex_count < MOST_SHARED ? ROUNDS : 0;
    for (int round = 0; round < rounds; round++) {
        double best = 0;
        int32_t joint = -1, carrier = -1, set = 0, left = 0;
        find_driven(c);
        for (int32_t k = 0; k < c->alone_count; k++) {
            int32_t i = c->alone[k];
            if (c->rest->carrier[i] >= 0) continue;
            left++;
            add_shared(c, i);
            int32_t on = most_shared(c, i, true), other = most_shared(c, i, false);
            if (on < 0) continue;
            if (c->shared[on] > best) best = c->shared[on], joint = i, carrier = on;
            if (other < 0 || c->shared[on] >= 0.5 * c->shared[other]) set += set_carrier(c, i, on);
        }
        if (left == 0 || joint < 0) break;
        if (set == 0 && !set_carrier(c, joint, carrier)) break;
    }
    find_driven(c);
    for (int32_t k = 0; k < c->alone_count; k++)
        if (c->rest->carrier[c->alone[k]] < 0) set_carrier(c, c->alone[k], nearest_bone(c, c->alone[k], INFINITY));
}

/* The joint of the part that a joint is, or that it helps. */
static int32_t by_name(const carry *c, int32_t joint)
{
    const spl_joint_name *name = &c->match->name[joint];
    spl_body_part part = name->part != SPL_PART_NONE ? name->part : name->helps;
    if (part == SPL_PART_NONE || part >= SPL_PART_COUNT) return -1;
    int32_t found = spl_match_find(c->match, part, name->side);
    return found >= 0 ? found : hanger_of(c, part, name->side, joint);
}

/* Someone else in the same file. */
static bool is_stranger(const carry *c, int32_t joint)
{
    const spl_match *m = c->match;
    if (m->skeleton[joint] == m->lead) return false;
    for (int32_t i = 0; i < m->joint_count; i++)
        if (m->skeleton[i] == m->skeleton[joint] && m->name[i].part == SPL_PART_HIPS && c->rest->carrier[i] < 0)
            return true;
    return false;
}

static void carry_rest(carry *c)
{
    find_driven(c);
    for (int32_t i = 0; i < c->match->joint_count; i++) {
        if (!is_left(c, i) || is_stranger(c, i)) continue;
        c->waits[i] = c->parent[i] >= 0 && c->waits[c->parent[i]];
        if (c->waits[i] || set_carrier(c, i, by_name(c, i))) continue;
        if (!(c->match->weight[i] > 0))
            set_carrier(c, i, nearest_bone(c, i, SAME_PLACE * c->size));
        else if (c->alone_count < MOST_ALONE)
            c->alone[c->alone_count++] = i, c->waits[i] = true;
    }
    carry_by_skin(c);
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static void find_above(carry *c)
{
    for (int32_t i = 0; i < c->match->joint_count; i++) {
        int32_t k = depends(c, i);
        while (k >= 0 && c->match->source[k] < 0) k = depends(c, k);
        c->rest->above[i] = k;
    }
}

/* Nodes, each behind the one its place is found from. `path` is room for node_count. */
static void find_order(carry *c, int32_t *path, bool *placed)
{
    int32_t done = 0;
    for (int32_t i = 0; i < c->scene->node_count; i++) {
        int32_t joint = c->joint_of_node[i], on = joint >= 0 ? c->rest->carrier[joint] : -1;
        c->rest->from_node[i] = on >= 0 ? c->match->node[on] : c->scene->node[i].parent;
        if (joint >= 0 && joint == c->rest->hips) c->rest->from_node[i] = -1;
    }
    for (int32_t i = 0; i < c->scene->node_count; i++) {
        int32_t length = 0;
        for (int32_t node = i; node >= 0 && !placed[node]; node = c->rest->from_node[node]) {
            path[length++] = node;
            placed[node] = true;
        }
        while (length > 0) c->rest->order[done++] = path[--length];
    }
}

static void find_parents(carry *c)
{
    for (int32_t i = 0; i < c->match->joint_count; i++) {
        int32_t node = c->scene->node[c->match->node[i]].parent;
        while (node >= 0 && c->joint_of_node[node] < 0) node = c->scene->node[node].parent;
        c->parent[i] = node >= 0 ? c->joint_of_node[node] : -1;
        c->rest->carrier[i] = -1;
    }
    for (int32_t i = 0; i < c->match->joint_count; i++)
        if (c->match->source[i] >= 0 && c->rest->hips >= 0)
            c->size = fmax(c->size, spl_distance(c->rest->place[i], c->rest->place[c->rest->hips]));
}

bool spl_carry_find(const supple_scene *scene, const spl_match *match, const int32_t *joint_of_node, spl_rest *rest)
{
    const supple_allocator *a = &scene->allocator;
    size_t n = (size_t)match->joint_count, nodes = (size_t)scene->node_count;
    carry *c = spl_new(a, 1, sizeof *c);
    if (!c) return false;
    *c = (carry){.scene = scene, .match = match, .joint_of_node = joint_of_node, .rest = rest};
    int32_t *path = spl_new(a, nodes, sizeof *path);
    bool *placed = spl_new(a, nodes, sizeof *placed);
    c->parent = spl_new(a, n, sizeof *c->parent);
    c->above_hips = spl_new(a, n, sizeof *c->above_hips);
    c->waits = spl_new(a, n, sizeof *c->waits);
    c->driven = spl_new(a, n, sizeof *c->driven);
    c->shared = spl_new(a, n, sizeof *c->shared);
    bool ok = path && placed && c->parent && c->above_hips && c->waits && c->driven && c->shared;
    if (ok) {
        find_parents(c);
        if (rest->hips >= 0) { /* without hips nothing moves but turns in its place */
            carry_body(c);
            carry_root(c);
            if (match->joint_count <= SPL_MATCH_MOST) carry_copies(c);
            if (match->joint_count <= SPL_MATCH_MOST) carry_rest(c);
        }
        find_above(c);
        find_order(c, path, placed);
    }
    spl_free(a, path);
    spl_free(a, placed);
    spl_free(a, c->parent);
    spl_free(a, c->above_hips);
    spl_free(a, c->waits);
    spl_free(a, c->driven);
    spl_free(a, c->shared);
    spl_free(a, c);
    return ok;
}
