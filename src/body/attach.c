#include "body/attach.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

#define CAPSULE_SHARE 0.40 /* of the distance to the skin */
#define JOINT_GAP     0.60 /* of the capsule's radius is left free at an end where another bone begins */
#define FOLLOWS       0.20 /* weight of a bone at the skin above which the flesh under it may be held by it */
#define PROFILE       9    /* samples of the radius along a bone */
enum { HOLD_AT_LEAST = 4, NEAREST = 12 };

typedef struct capsule {
    spl_vec3 head, axis; /* axis: tail - head */
    double length;
    double skin[PROFILE]; /* distance to the skin along it */
    double from, to;      /* the part that holds, 0..1 */
} capsule;

static double skin_at(const capsule *c, double t)
{
    double x = fmin(fmax(t, 0), 1) * (PROFILE - 1);
    int i = x >= PROFILE - 1 ? PROFILE - 2 : (int)x;
    return c->skin[i] + (x - i) * (c->skin[i + 1] - c->skin[i]);
}

static void make_capsules(const spl_attach_input *in, capsule *out)
{
    const spl_bones *b = in->bones;
    for (int32_t k = 0; k < b->bone_count; k++) {
        capsule *c = &out[k];
        *c = (capsule){.head = b->bone[k].head, .axis = spl_sub(b->bone[k].tail, b->bone[k].head), .to = 1};
        c->length = spl_norm(c->axis);
        for (int i = 0; i < PROFILE; i++) {
            spl_hit hit;
            spl_tree_nearest(in->tree, spl_madd(c->head, c->axis, i / (double)(PROFILE - 1)), INFINITY, -1, &hit);
            c->skin[i] = hit.distance;
        }
        if (b->bone[k].parent >= 0) c->from = fmin(0.3, JOINT_GAP * CAPSULE_SHARE * c->skin[0] / c->length);
    }
    for (int32_t k = 0; k < b->bone_count; k++) { /* a bone with children ends where they begin */
        int32_t p = b->bone[k].parent;
        if (p < 0) continue;
        out[p].to = fmax(0.7, 1 - JOINT_GAP * CAPSULE_SHARE * out[p].skin[PROFILE - 1] / out[p].length);
    }
}

/* Distance of p from the holding part of a capsule, over what its distance to the skin allows: below 1 is inside. */
static double depth(const capsule *c, spl_vec3 p)
{
    double t = spl_dot(spl_sub(p, c->head), c->axis) / (c->length * c->length);
    t = fmin(fmax(t, c->from), c->to);
    double radius = CAPSULE_SHARE * skin_at(c, t);
    return radius > 0 ? spl_distance(p, spl_madd(c->head, c->axis, t)) / radius : INFINITY;
}

/* Whether the limb of a vertex follows a joint: its weight at the vertex's place. */
static bool follows(const spl_attach_input *in, int32_t v, int32_t node)
{
    const spl_place *at = &in->place[v];
    if (at->triangle < 0) return true;
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        int32_t corner = in->surface->triangle[3 * (size_t)at->triangle + (size_t)k];
        for (int32_t i = in->weights->first[corner]; i < in->weights->first[corner + 1]; i++)
            if (in->weights->node[i] == node) sum += at->bary[k] * in->weights->weight[i];
    }
    return sum >= FOLLOWS;
}

static void hold_inside(const spl_attach_input *in, const capsule *capsules, int32_t *bone)
{
    for (int32_t v = 0; v < in->tets->vertex_count; v++) {
        double best = 1;
        bone[v] = -1;
        for (int32_t k = 0; k < in->bones->bone_count; k++) {
            double d = depth(&capsules[k], in->tets->position[v]);
            if (d < best && follows(in, v, in->bones->bone[k].node)) {
                best = d;
                bone[v] = k;
            }
        }
    }
}

/* How many vertices a bone holds, and whether they span more than a line. */
static int32_t count_held(const spl_attach_input *in, const int32_t *bone, int32_t k, bool *spread)
{
    int32_t count = 0;
    spl_vec3 first = {0}, axis = {0};
    *spread = false;
    for (int32_t v = 0; v < in->tets->vertex_count; v++) {
        if (bone[v] != k) continue;
        spl_vec3 d = spl_sub(in->tets->position[v], first);
        if (count == 0)
            first = in->tets->position[v];
        else if (spl_norm(d) > spl_norm(axis)) {
            *spread = *spread || spl_norm(spl_cross(axis, d)) > 0.05 * spl_norm(d) * spl_norm(d);
            axis = d;
        } else
            *spread = *spread || spl_norm(spl_cross(axis, d)) > 0.05 * spl_norm(axis) * spl_norm(axis);
        count++;
    }
    return count;
}

typedef struct candidate {
    double distance;
    int32_t vertex;
} candidate;

static int nearer(const void *pa, const void *pb)
{
    const candidate *a = pa, *b = pb;
    if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

/* Takes the free vertices nearest to a bone until it holds enough, not in one line. */
static bool take_nearest(const spl_attach_input *in, const capsule *c, int32_t k, int32_t *bone, candidate *list)
{
    int32_t count = 0;
    for (int32_t v = 0; v < in->tets->vertex_count; v++) {
        if (bone[v] >= 0 || !follows(in, v, in->bones->bone[k].node)) continue;
        double t = spl_dot(spl_sub(in->tets->position[v], c->head), c->axis) / (c->length * c->length);
        spl_vec3 on = spl_madd(c->head, c->axis, fmin(fmax(t, c->from), c->to));
        list[count++] = (candidate){spl_distance(in->tets->position[v], on), v};
    }
    qsort(list, (size_t)count, sizeof *list, nearer);
    bool spread, taken = false;
    for (int32_t i = 0; i < count && i < NEAREST; i++) {
        if (count_held(in, bone, k, &spread) >= HOLD_AT_LEAST && spread) break;
        bone[list[i].vertex] = k;
        taken = true;
    }
    return taken;
}

supple_result spl_attach(const spl_attach_input *input, int32_t *bone, spl_attach_report *report, supple_error *error)
{
    const supple_allocator *a = input->allocator;
    *report = (spl_attach_report){0};
    capsule *capsules = spl_new(a, (size_t)input->bones->bone_count, sizeof *capsules);
    candidate *list = spl_new(a, (size_t)input->tets->vertex_count, sizeof *list);
    bool made = capsules && list;
    if (made) {
        make_capsules(input, capsules);
        hold_inside(input, capsules, bone);
    }
    for (int32_t k = 0; made && k < input->bones->bone_count; k++) {
        bool spread;
        if (count_held(input, bone, k, &spread) >= HOLD_AT_LEAST && spread) continue;
        if (take_nearest(input, &capsules[k], k, bone, list)) report->substituted++;
        if (count_held(input, bone, k, &spread) == 0) report->empty++;
    }
    for (int32_t v = 0; made && v < input->tets->vertex_count; v++) report->constrained += bone[v] >= 0;
    spl_free(a, capsules);
    spl_free(a, list);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the attachments");
}
