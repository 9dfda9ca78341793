#include "body/attach.h"

#include "body/hinges.h"
#include "core/error.h"
#include "core/memory.h"

#define CAPSULE_SHARE 0.40 /* of the distance to the skin */
#define CAPSULE_CELLS                                                                                                  \
    0.65 /* but at least so many cells: a single row of vertices would not turn the flesh with it ... */
#define CAPSULE_MOST 0.70 /* ... and no more than this share of the distance to the skin */
#define JOINT_GAP    0.60 /* of the capsule's radius is left free at an end where another bone begins */
#define JOINT_NEAR   0.05 /* of a bone's length: how near another one begins at a joint */
#define FOLLOWS      0.20 /* weight of a bone at the skin above which the flesh under it may be held by it */
#define PROFILE      9    /* samples of the radius along a bone */
#define RIGID        0.90 /* weight of a joint at the skin above which the limb under it is its own */
#define FAR_DEPTHS   2.00 /* flesh is far from what is held at so many times its bone's distance to the skin ... */
#define FAR_CELLS    1.50 /* ... and so many cells more */
#define SLIM_CELLS                                                                                                     \
    1.00              /* a limb this thick on a bone this near the skin is slim: it has no soft flesh to spare ...     \
                       */
#define SLIM_FAR 0.75 /* ... and is held from so many cells on */
enum { HOLD_AT_LEAST = 4, NEAREST = 12, SECTIONS = 3 };

typedef struct capsule {
    spl_vec3 head, axis; /* axis: tail - head */
    double length;
    double skin[PROFILE]; /* distance to the skin along it */
    double thickest;      /* the largest of these */
    double least;         /* radius that the lattice asks for, where the bone is nowhere thicker; else 0 */
    double from, to;      /* the part that holds, 0..1 */
} capsule;

static double skin_at(const capsule *c, double t)
{
    double x = fmin(fmax(t, 0), 1) * (PROFILE - 1);
    int i = x >= PROFILE - 1 ? PROFILE - 2 : (int)x;
    return c->skin[i] + (x - i) * (c->skin[i + 1] - c->skin[i]);
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
            c->thickest = fmax(c->thickest, hit.distance);
        }
        if (CAPSULE_SHARE * c->thickest < CAPSULE_CELLS * in->cell) c->least = CAPSULE_CELLS * in->cell;
        double gap = JOINT_GAP * CAPSULE_SHARE / c->length, near = JOINT_NEAR * c->length;
        if (b->bone[k].parent >= 0 || is_joint(b, k, c->head, near)) c->from = fmin(0.3, gap * c->skin[0]);
        if (is_joint(b, k, b->bone[k].tail, near)) c->to = fmax(0.7, 1 - gap * c->skin[PROFILE - 1]);
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
    double radius = fmax(CAPSULE_SHARE * skin_at(c, t), fmin(c->least, CAPSULE_MOST * skin_at(c, t)));
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
static bool take_nearest(const spl_attach_input *in, const capsule *c, int32_t k, int32_t *bone)
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

/* The point of a bone nearest to p. */
static spl_vec3 on_bone(const capsule *c, spl_vec3 p)
{
    double t = spl_dot(spl_sub(p, c->head), c->axis) / (c->length * c->length);
    return spl_madd(c->head, c->axis, fmin(fmax(t, 0), 1));
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
static int32_t bone_of_far(const spl_attach_input *in, const capsule *capsules, int32_t v, double way)
{
    int32_t best = -1;
    double least = INFINITY;
    spl_vec3 p = in->tets->position[v];
    bool slim_place = is_slim(in, &in->place[v]);
    for (int32_t k = 0; k < in->bones->bone_count; k++) {
        const capsule *c = &capsules[k];
        spl_hit hit;
        bool slim = slim_place && c->thickest < SLIM_CELLS * in->cell;
        if (way <= (slim ? SLIM_FAR * in->cell : FAR_DEPTHS * c->thickest + FAR_CELLS * in->cell)) continue;
        if (spl_attach_weight(in, &in->place[v], in->bones->bone[k].node) < RIGID) continue;
        spl_vec3 to = spl_sub(on_bone(c, p), p);
        if (!slim && !spl_tree_ray(in->tree, p, to, 1, &hit)) return -1;
        if (spl_norm(to) >= least) continue;
        least = spl_norm(to);
        best = k;
    }
    return best;
}

/* Holds the core (all but the boundary) of limbs that move with one joint alone and are far from everything held. */
static supple_result hold_far(const spl_attach_input *in, const capsule *capsules, int32_t *bone, int32_t *held,
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
    capsule *capsules = spl_new(a, (size_t)input->bones->bone_count, sizeof *capsules);
    if (!capsules) return spl_fail_memory(error, "the attachments");
    make_capsules(input, capsules);
    hold_inside(input, capsules, bone);
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
