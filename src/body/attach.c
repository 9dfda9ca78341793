#include "body/attach.h"

#include "body/capsule.h"
#include "body/heads.h"
#include "body/hinges.h"
#include "body/limbs.h"
#include "body/loosen.h"
#include "core/error.h"
#include "core/memory.h"

#define REACH_CELLS 1.50 /* beyond its limb's skin is what a bone may take that holds too little */
#define IN_LINE     0.05 /* of the longest distance squared: the least cross product of points that are not in one line */
#define RIGID       0.90 /* weight of a joint at the skin above which the limb under it is its own */
#define FAR_DEPTHS  2.00 /* flesh is far from what is held at so many times its bone's distance to the skin ... */
#define FAR_CELLS   1.50 /* ... and so many cells more */
#define SLIM_CELLS                                                                                                     \
    1.00              /* a limb this thick on a bone this near the skin is slim: it has no soft flesh to spare ...     \
                       */
#define SLIM_FAR 0.75 /* ... and is held from so many cells on */
enum { NEAREST = 12, SECTIONS = 3 };

double spl_attach_weight(const spl_attach_input *in, const spl_place *at, int32_t node)
{
    if (at->triangle < 0) return -1;
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        int32_t corner = in->surface->triangle[3 * (size_t)at->triangle + (size_t)k];
        for (int32_t i = in->weights->first[corner]; i < in->weights->first[corner + 1]; i++)
            if (in->weights->node[i] == node) sum += at->bary[k] * in->weights->weight[i];
    }
    return sum;
}

typedef struct holding {
    const spl_attach_input *in;
    const spl_limbs *limbs;
    const spl_capsule *capsules;
    int32_t *bone;  /* by vertex: what spl_attach fills */
    int32_t *queue; /* vertex_count: scratch of take_nearest */
    int32_t *reach; /* by vertex: 1 + the bone that reached it last */
} holding;

static bool follows(const holding *h, int32_t v, int32_t k)
{
    return spl_limbs_follow(h->limbs, h->in, v, h->in->bones->bone[k].node);
}

static void hold_inside(const holding *h)
{
    for (int32_t v = 0; v < h->in->tets->vertex_count; v++) {
        double best = 1;
        h->bone[v] = -1;
        for (int32_t k = 0; k < h->in->bones->bone_count; k++) {
            double d = spl_capsule_depth(&h->capsules[k], h->in->tets->position[v]);
            if (d < best && follows(h, v, k)) {
                best = d;
                h->bone[v] = k;
            }
        }
    }
}

/* ---- bones that hold too little: coarse limbs, bones beside their flesh ---- */

/* How many vertices a bone holds, and whether they span more than a line. */
static int32_t count_held(const holding *h, int32_t k, bool *spread)
{
    int32_t count = 0;
    spl_vec3 first = {0}, axis = {0};
    *spread = false;
    for (int32_t v = 0; v < h->in->tets->vertex_count; v++) {
        if (h->bone[v] != k) continue;
        spl_vec3 p = h->in->tets->position[v], d = spl_sub(p, first);
        if (count++ == 0) {
            first = p;
            continue;
        }
        double longest = fmax(spl_norm(d), spl_norm(axis));
        *spread = *spread || spl_norm(spl_cross(axis, d)) > IN_LINE * longest * longest;
        if (spl_norm(d) > spl_norm(axis)) axis = d;
    }
    return count;
}

/* How far from its segment a bone may reach at a way along it: through its limb, whose skin is no farther away there,
 * or to it if the bone runs outside, and what a lattice may miss. */
static double reach_at(const holding *h, int32_t k, double along)
{
    return spl_capsule_skin(&h->capsules[k], along) + REACH_CELLS * h->in->cell;
}

static bool is_in_reach(const holding *h, int32_t k, int32_t v)
{
    const spl_capsule *c = &h->capsules[k];
    spl_vec3 p = h->in->tets->position[v];
    double along = fmin(fmax(spl_capsule_along(c, p), 0), 1);
    return spl_distance(p, spl_capsule_core(c, p)) <= reach_at(h, k, along);
}

/* Marks flesh in a bone's reach that is connected there to the vertex nearest to the bone of those that follow it. */
static void mark_reach(const holding *h, int32_t k)
{
    int32_t seed = -1, head = 0, count = 0;
    double least = INFINITY;
    for (int32_t v = 0; v < h->in->tets->vertex_count; v++) {
        spl_vec3 p = h->in->tets->position[v];
        double d = spl_distance(p, spl_capsule_core(&h->capsules[k], p));
        if (d >= least || !is_in_reach(h, k, v) || !follows(h, v, k)) continue;
        least = d;
        seed = v;
    }
    if (seed < 0) return;
    h->reach[seed] = k + 1;
    for (h->queue[count++] = seed; head < count; head++) {
        int32_t v = h->queue[head];
        for (int32_t i = h->limbs->first[v]; i < h->limbs->first[v + 1]; i++) {
            int32_t next = h->limbs->near[i];
            if (h->reach[next] == k + 1 || !is_in_reach(h, k, next)) continue;
            h->reach[next] = k + 1;
            h->queue[count++] = next;
        }
    }
}

/* The marked free vertex nearest to a point that follows a bone; -1 if there is none. */
static int32_t nearest_free(const holding *h, int32_t k, spl_vec3 p)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t v = 0; v < h->in->tets->vertex_count; v++) {
        double d = spl_distance(h->in->tets->position[v], p);
        if (h->bone[v] >= 0 || h->reach[v] != k + 1 || d >= least || !follows(h, v, k)) continue;
        least = d;
        best = v;
    }
    return best;
}

/* Takes free vertices near a bone, by turns at its beginning, middle and end, until it holds enough, not in one line.
 */
static bool take_nearest(const holding *h, int32_t k)
{
    const spl_capsule *c = &h->capsules[k];
    bool spread, taken = false;
    mark_reach(h, k);
    for (int i = 0; i < NEAREST; i++) {
        if (i >= SECTIONS && count_held(h, k, &spread) >= SPL_HOLD_WELL && spread) break;
        double t = c->from + (c->to - c->from) * (i % SECTIONS) / (SECTIONS - 1);
        int32_t v = nearest_free(h, k, spl_madd(c->head, c->axis, t));
        if (v < 0) break;
        h->bone[v] = k;
        taken = true;
    }
    return taken;
}

/* ---- limbs that follow a bone which does not run through them: fingers that share one, heels, jaws ---- */

/* Whether the limb at a place is slim: the skin is met again soon, straight below it. */
static bool is_slim(const spl_attach_input *in, const spl_place *at)
{
    if (at->triangle < 0) return false;
    const int32_t *c = in->surface->triangle + 3 * (size_t)at->triangle;
    spl_vec3 p[3], point = {0};
    spl_hit hit;
    for (int k = 0; k < 3; k++) {
        p[k] = in->surface->position[c[k]];
        point = spl_madd(point, p[k], at->bary[k]);
    }
    spl_vec3 out = spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0]));
    spl_vec3 in_cells = spl_scale(spl_unit(out, spl_v3(0, 0, 0)), -in->cell);
    return spl_tree_ray(in->tree, spl_madd(point, in_cells, 1e-4), in_cells, SLIM_CELLS, &hit);
}

/* The bone that a far vertex belongs to: of the joint that moves its skin alone, the nearest. -1 if it is not far, and
 * if one of the joint's bones is in straight sight: then it is soft flesh around the bone (a calf, a belly), not a limb
 * of its own. A slim limb is one always. */
static int32_t bone_of_far(const spl_attach_input *in, const spl_capsule *capsules, int32_t v, double way)
{
    int32_t best = -1;
    double least = INFINITY;
    spl_vec3 p = in->tets->position[v];
    bool slim_place = is_slim(in, &in->place[v]);
    for (int32_t k = 0; k < in->bones->bone_count; k++) {
        const spl_capsule *c = &capsules[k];
        spl_hit hit;
        bool slim = slim_place && c->thickest < SLIM_CELLS * in->cell;
        if (way <= (slim ? SLIM_FAR * in->cell : FAR_DEPTHS * c->thickest + FAR_CELLS * in->cell)) continue;
        if (spl_attach_weight(in, &in->place[v], in->bones->bone[k].node) < RIGID) continue;
        spl_vec3 to = spl_sub(spl_capsule_core(c, p), p);
        if (!slim && !spl_tree_ray(in->tree, p, to, 1, &hit)) return -1;
        if (spl_norm(to) >= least) continue;
        least = spl_norm(to);
        best = k;
    }
    return best;
}

/* Holds the core (all but the boundary) of limbs that move with one joint alone and are far from everything held. */
static supple_result hold_far(const spl_attach_input *in, const spl_capsule *capsules, int32_t *bone, int32_t *held,
                              supple_error *error)
{
    const spl_tets *t = in->tets;
    double *way = spl_new(in->allocator, (size_t)t->vertex_count, sizeof *way);
    bool *boundary = spl_new(in->allocator, (size_t)t->vertex_count, sizeof *boundary);
    if (way && boundary) {
        for (int32_t v = 0; v < t->vertex_count; v++) way[v] = bone[v] >= 0 ? 0 : INFINITY;
        spl_limbs_ways(t, way, NULL);
        for (size_t i = 0; i < 3 * (size_t)t->surface_count; i++) boundary[t->surface[i]] = true;
        for (int32_t v = 0; v < t->vertex_count; v++) {
            if (boundary[v] || !(way[v] < INFINITY)) continue;
            int32_t k = bone_of_far(in, capsules, v, way[v]);
            if (k < 0) continue;
            bone[v] = k;
            (*held)++;
        }
    }
    bool made = way && boundary;
    spl_free(in->allocator, way);
    spl_free(in->allocator, boundary);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the attachments");
}

/* ---- joints without flesh of their own ---- */

/* The joint that a joint hangs on: that of the first bone above; -1 for a root. */
static int32_t joint_above(const spl_bones *b, int32_t node)
{
    for (int32_t k = 0; k < b->bone_count; k++)
        if (b->bone[k].node == node && b->bone[k].parent >= 0 && b->bone[b->bone[k].parent].node != node)
            return b->bone[b->bone[k].parent].node;
    return -1;
}

static bool has_joint_below(const spl_bones *b, int32_t node)
{
    for (int32_t k = 0; k < b->bone_count; k++)
        if (b->bone[k].node != node && b->bone[k].parent >= 0 && b->bone[b->bone[k].parent].node == node) return true;
    return false;
}

/* Merges joints that do not hold their flesh firmly with what they hang on, the last of the skeleton first. What the
 * last of a chain holds moves on with that. Before a joint that stays (in the middle of a finger) it becomes free
 * instead: there the flesh follows both sides, and the bend that is left out does not tear it. */
static void give_up(const holding *h, spl_bones *bones, spl_attach_report *report)
{
    const spl_attach_input *in = h->in;
    for (int32_t k = bones->bone_count - 1; k >= 0; k--) {
        int32_t node = bones->bone[k].node, above = joint_above(bones, node);
        if (above < 0 || spl_joint_holds(in, h->bone, node, SPL_HOLD_FIRM)) continue;
        bool inner = has_joint_below(bones, node);
        for (int32_t v = 0; inner && v < in->tets->vertex_count; v++)
            if (h->bone[v] >= 0 && bones->bone[h->bone[v]].node == node) h->bone[v] = -1;
        spl_bones_merge(bones, node, above);
        for (int32_t i = 0; i < in->weights->first[in->surface->vertex_count]; i++)
            if (in->weights->node[i] == node) in->weights->node[i] = above;
        report->merged++;
    }
}

static void count_empty(const holding *h, spl_attach_report *report)
{
    for (int32_t k = 0; k < h->in->bones->bone_count; k++) {
        bool holds = false;
        for (int32_t v = 0; v < h->in->tets->vertex_count && !holds; v++)
            holds = h->bone[v] >= 0 && h->in->bones->bone[h->bone[v]].node == h->in->bones->bone[k].node;
        report->empty += !holds;
    }
}

static supple_result attach(const holding *h, spl_bones *bones, spl_attach_report *report, supple_error *error)
{
    const spl_attach_input *in = h->in;
    hold_inside(h);
    report->skull = spl_heads_hold(in, h->capsules, h->bone);
    for (int32_t k = 0; k < bones->bone_count; k++) {
        bool spread;
        if (count_held(h, k, &spread) >= SPL_HOLD_WELL && spread) continue;
        report->substituted += take_nearest(h, k);
    }
    supple_result result = hold_far(in, h->capsules, h->bone, &report->far, error);
    if (result == SUPPLE_OK) result = spl_loosen(in, h->capsules, h->bone, &report->freed, error);
    if (result == SUPPLE_OK) give_up(h, bones, report);
    if (result == SUPPLE_OK) result = spl_hinges_hold(in, h->bone, &report->hinged, error);
    if (result == SUPPLE_OK) result = spl_loosen(in, h->capsules, h->bone, &report->freed, error);
    if (result != SUPPLE_OK) return result;
    give_up(h, bones,
            report); /* what the last step took away; what hangs on a hinge now hangs on springs (islands.h) */
    count_empty(h, report);
    for (int32_t v = 0; v < in->tets->vertex_count; v++) report->constrained += h->bone[v] >= 0;
    return SUPPLE_OK;
}

supple_result spl_attach(const spl_attach_input *input, spl_bones *bones, int32_t *bone, spl_attach_report *report,
                         supple_error *error)
{
    const supple_allocator *a = input->allocator;
    size_t n = (size_t)input->tets->vertex_count;
    spl_limbs limbs;
    *report = (spl_attach_report){0};
    supple_result result = spl_limbs_make(input, &limbs, error);
    if (result != SUPPLE_OK) return result;
    spl_capsule *capsules = spl_new(a, (size_t)bones->bone_count, sizeof *capsules);
    int32_t *scratch = spl_new(a, 2 * n, sizeof *scratch);
    if (capsules && scratch) {
        holding h = {input, &limbs, capsules, bone, scratch, scratch + n};
        spl_capsules_make(bones, input->tree, input->cell, capsules);
        result = attach(&h, bones, report, error);
    } else
        result = spl_fail_memory(error, "the attachments");
    spl_free(a, capsules);
    spl_free(a, scratch);
    spl_limbs_release(&limbs);
    return result;
}
