#include "body/attach.h"

#include "body/capsule.h"
#include "body/heads.h"
#include "body/hinges.h"
#include "core/error.h"
#include "core/memory.h"

#define FOLLOWS    0.20 /* weight of a bone at the skin above which the flesh under it may be held by it */
#define RIGID      0.90 /* weight of a joint at the skin above which the limb under it is its own */
#define FAR_DEPTHS 2.00 /* flesh is far from what is held at so many times its bone's distance to the skin ... */
#define FAR_CELLS  1.50 /* ... and so many cells more */
#define SLIM_CELLS                                                                                                     \
    1.00              /* a limb this thick on a bone this near the skin is slim: it has no soft flesh to spare ...     \
                       */
#define SLIM_FAR 0.75 /* ... and is held from so many cells on */
enum { HOLD_AT_LEAST = 4, NEAREST = 12, SECTIONS = 3 };

/* Distance of p from the holding part of a capsule, over what its distance to the skin allows: below 1 is inside. */
static double depth(const spl_capsule *c, spl_vec3 p)
{
    double t = fmin(fmax(spl_capsule_along(c, p), c->from), c->to), radius = spl_capsule_radius(c, t);
    return radius > 0 ? spl_distance(p, spl_madd(c->head, c->axis, t)) / radius : INFINITY;
}

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

static bool follows(const spl_attach_input *in, int32_t v, int32_t node)
{
    double weight = spl_attach_weight(in, &in->place[v], node);
    return weight < 0 || weight >= FOLLOWS;
}

static void hold_inside(const spl_attach_input *in, const spl_capsule *capsules, int32_t *bone)
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

/* The free vertex nearest to a point whose limb follows the bone; -1 if there is none. */
static int32_t nearest_free(const spl_attach_input *in, const int32_t *bone, int32_t k, spl_vec3 p)
{
    int32_t best = -1;
    double least = INFINITY;
    for (int32_t v = 0; v < in->tets->vertex_count; v++) {
        if (bone[v] >= 0) continue;
        double d = spl_distance(in->tets->position[v], p);
        if (d >= least || !follows(in, v, in->bones->bone[k].node)) continue;
        least = d;
        best = v;
    }
    return best;
}

/* Takes free vertices near a bone, by turns at its beginning, middle and end, until it holds enough, not in one line.
 */
static bool take_nearest(const spl_attach_input *in, const spl_capsule *c, int32_t k, int32_t *bone)
{
    bool spread, taken = false;
    for (int i = 0; i < NEAREST; i++) {
        if (i >= SECTIONS && count_held(in, bone, k, &spread) >= HOLD_AT_LEAST && spread) break;
        double t = c->from + (c->to - c->from) * (i % SECTIONS) / (SECTIONS - 1);
        int32_t v = nearest_free(in, bone, k, spl_madd(c->head, c->axis, t));
        if (v < 0) break;
        bone[v] = k;
        taken = true;
    }
    return taken;
}

/* ---- limbs that follow a bone which does not run through them: fingers that share one, heels, jaws ---- */

/* Ways along the edges from the nearest vertex that a bone holds: relaxed through the tets, forth and back, until
 * nothing changes; the lattice's order makes that a few rounds. */
static void find_ways(const spl_tets *t, const int32_t *bone, double *way)
{
    for (int32_t v = 0; v < t->vertex_count; v++) way[v] = bone[v] >= 0 ? 0 : INFINITY;
    for (bool again = true, back = false; again; back = !back) {
        again = false;
        for (int32_t n = 0; n < t->tet_count; n++) {
            const int32_t *c = t->tet + 4 * (size_t)(back ? t->tet_count - 1 - n : n);
            for (int i = 0; i < 6; i++) {
                static const uint8_t end[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
                int32_t a = c[end[i][0]], b = c[end[i][1]];
                double length = spl_distance(t->position[a], t->position[b]);
                if (way[a] + length < way[b] * (1 - 1e-12)) {
                    way[b] = way[a] + length;
                    again = true;
                } else if (way[b] + length < way[a] * (1 - 1e-12)) {
                    way[a] = way[b] + length;
                    again = true;
                }
            }
        }
    }
}

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
        find_ways(t, bone, way);
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

supple_result spl_attach(const spl_attach_input *input, int32_t *bone, spl_attach_report *report, supple_error *error)
{
    const supple_allocator *a = input->allocator;
    *report = (spl_attach_report){0};
    spl_capsule *capsules = spl_new(a, (size_t)input->bones->bone_count, sizeof *capsules);
    if (!capsules) return spl_fail_memory(error, "the attachments");
    spl_capsules_make(input->bones, input->tree, input->cell, capsules);
    hold_inside(input, capsules, bone);
    report->skull = spl_heads_hold(input, capsules, bone);
    for (int32_t k = 0; k < input->bones->bone_count; k++) {
        bool spread;
        if (count_held(input, bone, k, &spread) >= HOLD_AT_LEAST && spread) continue;
        if (take_nearest(input, &capsules[k], k, bone)) report->substituted++;
        if (count_held(input, bone, k, &spread) == 0) report->empty++;
    }
    supple_result result = hold_far(input, capsules, bone, &report->far, error);
    if (result == SUPPLE_OK) result = spl_hinges_hold(input, bone, &report->hinged, error);
    for (int32_t v = 0; v < input->tets->vertex_count; v++) report->constrained += bone[v] >= 0;
    spl_free(a, capsules);
    return result;
}
