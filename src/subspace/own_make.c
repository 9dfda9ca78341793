#include "subspace/own_make.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/tree.h"

#include <string.h>

/* As in trust/trust.c. */
#define STRETCH 1.75  /* K */
#define TINY    0.003 /* of the diagonal: an edge may have that length anyway */
#define SLOPE   0.5   /* of an edge's length that a step of trust may add to it */
#define LITTLE  0.02  /* less trust is none */

/* ---- weights ---- */

typedef struct making {
    const spl_solid *solid;
    const spl_rig *rig;
    int32_t *joint; /* by node: the rig's joint that its bones belong to; -1 */
    double *weight; /* by joint: of one vertex */
    spl_tree tree;  /* of the skin */
} making;

static void number_nodes(making *w)
{
    const spl_bones *bones = &w->solid->body->bones;
    int32_t nodes = w->solid->body->scene->node_count;
    for (int32_t n = 0; n < nodes; n++) w->joint[n] = -1;
    for (int32_t b = 0; b < bones->bone_count; b++)
        w->joint[bones->bone[b].node] = w->rig->bone[SPL_RIG_BONE_NUMBERS * b];
    for (int32_t n = 0; n < nodes; n++) { /* joints whose flesh another carries */
        int32_t into = bones->merged_into[n];
        if (w->joint[n] < 0 && into >= 0) w->joint[n] = w->joint[into];
    }
}

static spl_place place_of(const making *w, int32_t vertex)
{
    const spl_body *body = w->solid->body;
    spl_hit hit;
    if (body->place[vertex].triangle >= 0) return body->place[vertex];
    spl_tree_nearest(&w->tree, body->tets.position[vertex], INFINITY, -1, &hit);
    return (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
}

/* Weights of one vertex of the body by joint; how many are not 0. */
static int32_t weigh(making *w, int32_t vertex)
{
    const spl_body *body = w->solid->body;
    const spl_skin_weights *s = &body->weights;
    spl_place at = place_of(w, vertex);
    double total = 0;
    int32_t count = 0;
    memset(w->weight, 0, (size_t)w->rig->joint_count * sizeof *w->weight);
    for (int k = 0; k < 3; k++) {
        int32_t corner = body->surface.triangle[3 * (size_t)at.triangle + (size_t)k];
        for (int32_t i = s->first[corner]; i < s->first[corner + 1]; i++) {
            int32_t joint = s->node[i] >= 0 ? w->joint[s->node[i]] : -1;
            double share = at.bary[k] * s->weight[i];
            if (joint < 0 || !(share > 0)) continue;
            w->weight[joint] += share;
            total += share;
        }
    }
    if (!(total > 0)) { /* a skin that no joint with bones moves: the bone that the flesh there goes with */
        int32_t bone = w->solid->weights.bone[SPL_BONE_INFLUENCES * (size_t)vertex];
        w->weight[w->rig->bone[SPL_RIG_BONE_NUMBERS * (bone > 0 ? bone : 0)]] = total = 1;
    }
    for (int32_t j = 0; j < w->rig->joint_count; j++) {
        w->weight[j] = fmin(w->weight[j] / total, 1);
        count += w->weight[j] > 0;
    }
    return count;
}

static supple_result fill(making *w, const supple_allocator *a, spl_own *out, supple_error *error)
{
    const spl_rig *rig = w->rig;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        out->trust[v] = 1;
        out->first[v + 1] = out->first[v] + weigh(w, rig->vertex[v]);
    }
    size_t influences = (size_t)out->first[rig->vertex_count];
    out->joint = spl_new(a, influences, sizeof *out->joint);
    out->weight = spl_new(a, influences, sizeof *out->weight);
    if (!out->joint || !out->weight) return spl_fail_memory(error, "a model's weights");
    for (int32_t v = 0, at = 0; v < rig->vertex_count; v++) {
        weigh(w, rig->vertex[v]);
        for (int32_t j = 0; j < rig->joint_count; j++) {
            if (!(w->weight[j] > 0)) continue;
            out->joint[at] = j;
            out->weight[at++] = w->weight[j];
        }
    }
    return SUPPLE_OK;
}

supple_result spl_own_make(const spl_solid *solid, const spl_rig *rig, const supple_allocator *a, spl_own *out,
                           supple_error *error)
{
    const spl_body *body = solid->body;
    making w = {.solid = solid, .rig = rig};
    *out = (spl_own){0};
    supple_result result =
        spl_tree_make(body->surface.position, body->surface.triangle, body->surface.triangle_count, a, &w.tree, error);
    if (result != SUPPLE_OK) return result;
    w.joint = spl_new(a, (size_t)body->scene->node_count, sizeof *w.joint);
    w.weight = spl_new(a, (size_t)rig->joint_count, sizeof *w.weight);
    out->first = spl_new(a, (size_t)rig->vertex_count + 1, sizeof *out->first);
    out->trust = spl_new(a, (size_t)rig->vertex_count, sizeof *out->trust);
    if (w.joint && w.weight && out->first && out->trust) {
        number_nodes(&w);
        result = fill(&w, a, out, error);
    } else
        result = spl_fail_memory(error, "a model's weights");
    spl_free(a, w.joint);
    spl_free(a, w.weight);
    spl_tree_release(&w.tree);
    if (result != SUPPLE_OK) spl_own_release(out, a);
    return result;
}

/* ---- trust ---- */

supple_result spl_own_trust_start(spl_own_trust *t, const supple_allocator *a, supple_error *error)
{
    size_t n = (size_t)t->vertex_count;
    t->bound = spl_new(a, n, sizeof *t->bound);
    t->reach = spl_new(a, n, sizeof *t->reach);
    if (!t->bound || !t->reach) {
        spl_own_trust_release(t, a);
        return spl_fail_memory(error, "trust");
    }
    for (size_t v = 0; v < n; v++) t->bound[v] = 1;
    return SUPPLE_OK;
}

void spl_own_trust_release(spl_own_trust *t, const supple_allocator *a)
{
    spl_free(a, t->bound);
    spl_free(a, t->reach);
    t->bound = t->reach = NULL;
}

void spl_own_trust_see(spl_own_trust *t, const spl_vec3 *own, const spl_vec3 *flesh)
{
    for (int32_t v = 0; v < t->vertex_count; v++) t->reach[v] = fmax(t->reach[v], spl_distance(own[v], flesh[v]));
    for (int32_t k = 0; k < 3 * t->triangle_count; k++) {
        int32_t i = t->triangle[k], j = t->triangle[k % 3 == 2 ? k - 2 : k + 1];
        double own_length = spl_distance(own[i], own[j]), length = spl_distance(flesh[i], flesh[j]);
        double most = STRETCH * fmax(spl_distance(t->rest[i], t->rest[j]), own_length);
        most = fmax(most, TINY * t->diagonal);
        if (!(length > most)) continue;
        double bound = fmax((most - own_length) / (length - own_length), 0);
        if (bound < LITTLE) bound = 0;
        t->bound[i] = fmin(t->bound[i], bound);
        t->bound[j] = fmin(t->bound[j], bound);
    }
}

/* Bounds go over edges until none is lowered any more: as trust/trust.c's search, whose order would save little here,
 * once a training. */
void spl_own_trust_settle(spl_own_trust *t, float *trust)
{
    for (bool lowered = true; lowered;) {
        lowered = false;
        for (int32_t k = 0; k < 3 * t->triangle_count; k++) {
            int32_t i = t->triangle[k], j = t->triangle[k % 3 == 2 ? k - 2 : k + 1];
            double reach = fmax(fmax(t->reach[i], t->reach[j]), 1e-30);
            double step = SLOPE * spl_distance(t->rest[i], t->rest[j]) / reach;
            int32_t low = t->bound[i] < t->bound[j] ? i : j, high = low == i ? j : i;
            if (!(t->bound[low] + step < t->bound[high])) continue;
            t->bound[high] = t->bound[low] + step;
            lowered = true;
        }
    }
    for (int32_t v = 0; v < t->vertex_count; v++) trust[v] = (float)t->bound[v];
}
