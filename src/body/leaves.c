#include "body/leaves.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/winding.h"

#define OWN      0.50 /* weight of a joint at the skin from which the flesh under it is the leaf's own */
#define END_DEEP 0.50 /* of the mean distance to the skin along a leaf is left at its end ... */
#define END_RISE                                                                                                       \
    0.50 /* ... where that distance does not rise by more than this, per length, on the way back: there the            \
            end of the limb would be nearer than its sides */
#define WHOLE   0.50 /* of its reach, inside the flesh, without which another way is looked for */
#define CLEARLY 1.25 /* more core makes one direction better than another */
enum { SAMPLES = 33 };

/* What is known of the flesh of all leaves. */
typedef struct fit {
    const spl_attach_input *in;
    spl_bones *bones;
    spl_winding winding;
    bool *leaf;     /* by bone */
    int32_t *owner; /* by tet vertex: the leaf whose flesh it is, -1 */
    double *depth;  /* by tet vertex of a leaf: distance to the skin */
    double *volume; /* by tet vertex: a quarter of its tetrahedra's */
} fit;

static void find_leaves(const spl_bones *b, bool *leaf)
{
    for (int32_t k = 0; k < b->bone_count; k++) leaf[k] = true;
    for (int32_t k = 0; k < b->bone_count; k++)
        if (b->bone[k].parent >= 0) leaf[b->bone[k].parent] = false;
}

static void measure_volumes(const spl_tets *t, double *volume)
{
    for (int32_t n = 0; n < t->tet_count; n++) {
        const int32_t *c = t->tet + 4 * (size_t)n;
        spl_vec3 a = t->position[c[0]];
        spl_vec3 ab = spl_sub(t->position[c[1]], a), ac = spl_sub(t->position[c[2]], a);
        double v = fabs(spl_dot(spl_cross(ab, ac), spl_sub(t->position[c[3]], a))) / 24;
        for (int i = 0; i < 4; i++) volume[c[i]] += v;
    }
}

static bool is_inside(const fit *f, spl_vec3 p)
{
    return spl_winding_number(&f->winding, p) > 0.5;
}

/* Whether the skin at a place is a leaf's own. */
static bool owns(const fit *f, int32_t k, const spl_hit *hit)
{
    spl_place at = {hit->triangle, {hit->bary[0], hit->bary[1], hit->bary[2]}};
    return spl_attach_weight(f->in, &at, f->bones->bone[k].node) > OWN;
}

/* Whether the flesh at a vertex belongs to a leaf: the skin nearest to it is the leaf's own, and that on the other side
 * too. Where a limb grows out of a trunk, the trunk's flesh under the limb's root has skin of the trunk behind it. */
static bool is_flesh_of(const fit *f, int32_t k, spl_vec3 p, const spl_hit *near)
{
    spl_hit far;
    if (!owns(f, k, near) || !is_inside(f, p)) return false;
    return spl_tree_ray(f->in->tree, p, spl_sub(p, near->point), INFINITY, &far) && owns(f, k, &far);
}

static void find_owners(fit *f)
{
    const spl_attach_input *in = f->in;
    for (int32_t v = 0; v < in->tets->vertex_count; v++) {
        spl_vec3 p = in->tets->position[v];
        spl_hit near;
        f->owner[v] = -1;
        if (!spl_tree_nearest(in->tree, p, INFINITY, in->place[v].triangle, &near)) continue;
        f->depth[v] = near.distance;
        for (int32_t k = 0; k < f->bones->bone_count && f->owner[v] < 0; k++)
            if (f->leaf[k] && is_flesh_of(f, k, p, &near)) f->owner[v] = k;
    }
}

static bool way_is_inside(const fit *f, spl_vec3 from, spl_vec3 to)
{
    for (int i = 0; i < SAMPLES; i++)
        if (!is_inside(f, spl_madd(from, spl_sub(to, from), i / (SAMPLES - 1.0)))) return false;
    return true;
}

/* How far the leaf's own skin reaches along an axis. */
static double reach(const fit *f, int32_t k, spl_vec3 axis)
{
    const spl_skin_weights *w = f->in->weights;
    const spl_bone *b = &f->bones->bone[k];
    double longest = 0;
    for (int32_t s = 0; s < f->in->surface->vertex_count; s++)
        for (int32_t i = w->first[s]; i < w->first[s + 1]; i++)
            if (w->node[i] == b->node && w->weight[i] > OWN)
                longest = fmax(longest, spl_dot(spl_sub(f->in->surface->position[s], b->head), axis));
    return longest;
}

/* Towards the centre of the leaf's flesh, each bit weighed by volume and depth, so that the core decides and not a face
 * or a mouth. */
static spl_vec3 aim(const fit *f, int32_t k)
{
    const spl_tets *t = f->in->tets;
    spl_vec3 sum = {0};
    for (int32_t v = 0; v < t->vertex_count; v++)
        if (f->owner[v] == k)
            sum = spl_madd(sum, spl_sub(t->position[v], f->bones->bone[k].head), f->volume[v] * f->depth[v]);
    return spl_unit(sum, spl_v3(0, 0, 0));
}

/* A leaf along an axis, as far as its own skin reaches: not out of the flesh again once it is in it, and not so near
 * the skin at its end as to leave the core. */
typedef struct way {
    spl_vec3 tail;
    double share; /* of the reach that it goes */
    double score; /* distance to the skin, integrated along it: how much core it has */
} way;

static way go(const fit *f, int32_t k, spl_vec3 axis)
{
    double skin[SAMPLES], mean = 0, longest = reach(f, k, axis);
    spl_vec3 head = f->bones->bone[k].head, step = spl_scale(axis, longest / (SAMPLES - 1));
    way found = {.tail = head};
    int first = 0, last;
    if (!(longest > 0)) return found;
    while (first < SAMPLES && !is_inside(f, spl_madd(head, step, first))) first++;
    for (last = first; last < SAMPLES && is_inside(f, spl_madd(head, step, last)); last++) {
        spl_hit hit;
        spl_tree_nearest(f->in->tree, spl_madd(head, step, last), INFINITY, -1, &hit);
        skin[last] = hit.distance;
        mean += hit.distance;
    }
    if (last <= first) return found;
    mean /= last - first;
    double rise = END_RISE * longest / (SAMPLES - 1);
    for (last--; last > first && (skin[last] < END_DEEP * mean || skin[last - 1] > skin[last] + rise);) last--;
    found.tail = spl_madd(head, step, last);
    found.share = last / (SAMPLES - 1.0);
    for (int i = first; i <= last; i++) found.score += skin[i] * longest / SAMPLES;
    return found;
}

/* Where the middle of the flesh is a gap (fingers that share a bone): the vertex of the flesh that lies deep and far,
 * and can be reached inside; NULL if there is none. */
static const spl_vec3 *other_tail(const fit *f, int32_t k, double length)
{
    const spl_tets *t = f->in->tets;
    const spl_vec3 *found = NULL;
    spl_vec3 head = f->bones->bone[k].head;
    double best = 0;
    for (int32_t v = 0; v < t->vertex_count; v++) {
        if (f->owner[v] != k) continue;
        double score = f->depth[v] * fmin(length, spl_distance(t->position[v], head));
        if (score <= best || !way_is_inside(f, head, t->position[v])) continue;
        best = score;
        found = &t->position[v];
    }
    return found;
}

/* The flesh's direction, unless the rig's guess is clearly better: the lattice may have hardly a vertex in a thin limb.
 */
static void fit_leaf(const fit *f, int32_t k, spl_leaves_report *report)
{
    spl_bone *b = &f->bones->bone[k];
    double length = spl_distance(b->head, b->tail);
    way best = go(f, k, aim(f, k)), guess = go(f, k, spl_unit(spl_sub(b->tail, b->head), spl_v3(0, 0, 0)));
    if (guess.score > CLEARLY * best.score) best = guess;
    const spl_vec3 *other = best.share < WHOLE ? other_tail(f, k, length) : NULL;
    if (other)
        b->tail = *other;
    else if (best.score > 0)
        b->tail = best.tail;
    report->leaves++;
    report->outside += !way_is_inside(f, b->head, b->tail);
}

supple_result spl_leaves_fit(const spl_attach_input *input, spl_bones *bones, spl_leaves_report *report,
                             supple_error *error)
{
    const supple_allocator *a = input->allocator;
    size_t n = (size_t)input->tets->vertex_count;
    *report = (spl_leaves_report){0};
    fit f = {.in = input, .bones = bones};
    supple_result result = spl_winding_make(input->tree, a, &f.winding, error);
    if (result != SUPPLE_OK) return result;
    f.leaf = spl_new(a, (size_t)bones->bone_count, sizeof *f.leaf);
    f.owner = spl_new(a, n, sizeof *f.owner);
    f.depth = spl_new(a, n, sizeof *f.depth);
    f.volume = spl_new(a, n, sizeof *f.volume);
    if (f.leaf && f.owner && f.depth && f.volume) {
        find_leaves(bones, f.leaf);
        measure_volumes(input->tets, f.volume);
        find_owners(&f);
        for (int32_t k = 0; k < bones->bone_count; k++)
            if (f.leaf[k]) fit_leaf(&f, k, report);
    } else
        result = spl_fail_memory(error, "the leaves of the skeleton");
    spl_free(a, f.leaf);
    spl_free(a, f.owner);
    spl_free(a, f.depth);
    spl_free(a, f.volume);
    spl_winding_release(&f.winding);
    return result;
}
