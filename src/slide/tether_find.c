#include "slide/tether_find.h"

#include "core/error.h"
#include "core/memory.h"
#include "math/mat3.h"
#include "rig/bind.h"
#include "rig/bones.h"
#include "rig/joint_names.h"

#include <string.h>

/* Metres, of a person of usual size. */
static const double unnamed = 0.02;
static const double by_part[SPL_PART_COUNT] = {
    [SPL_PART_HIPS] = 0.018,      [SPL_PART_SPINE] = 0.025,     [SPL_PART_NECK] = 0.008,    [SPL_PART_HEAD] = 0.0008,
    [SPL_PART_CLAVICLE] = 0.02,   [SPL_PART_UPPER_ARM] = 0.015, [SPL_PART_FOREARM] = 0.006, [SPL_PART_HAND] = 0.0025,
    [SPL_PART_HIP_JOINT] = 0.018, [SPL_PART_THIGH] = 0.015,     [SPL_PART_SHIN] = 0.006,    [SPL_PART_FOOT] = 0.0015,
    [SPL_PART_TOE] = 0.001,       [SPL_PART_FINGERS] = 0.0015,  [SPL_PART_THUMB] = 0.0015,  [SPL_PART_INDEX] = 0.0015,
    [SPL_PART_MIDDLE] = 0.0015,   [SPL_PART_RING] = 0.0015,     [SPL_PART_PINKY] = 0.0015};

/* Elbows and knees: loose around the joint that begins a forearm or a shin, out to a share of the bone. */
static const double at_hinge = 0.022, hinge_reach = 0.4;

static const double of_depth = 0.5;    /* of the way to the bone */
static const double at_border = 0.001; /* metres */
static const double growth = 0.2;      /* along the surface: neighbours differ by no more than that strain */
static const double holds = 0.15;      /* of a vertex's weight: less does not say how deep bones are */

typedef struct work {
    const spl_tether_body *body;
    spl_bones bones;
    double *by_node; /* length that a joint's skin has */
    bool *hinge;     /* by node: a forearm or a shin, and what is named as it */
    double *weight;  /* by vertex of the net: sum so far */
    double *depth;   /* by vertex of the net: to the nearest bone */
} work;

/* Where nothing is called head, the last joint of the neck is it. */
static void name_head(spl_joint_name *name, int32_t count)
{
    int32_t last = -1;
    for (int32_t i = 0; i < count; i++) {
        if (name[i].part == SPL_PART_HEAD) return;
        if (name[i].part == SPL_PART_NECK) last = i;
    }
    if (last >= 0) name[last].part = SPL_PART_HEAD;
}

/* By the names of all skins' joints; those that say nothing are as what they hang on. */
static bool name_joints(work *w, const supple_allocator *a)
{
    const supple_scene *scene = w->body->where->scene;
    size_t n = (size_t)scene->node_count;
    bool *is_joint = spl_new(a, n, sizeof *is_joint);
    const char **text = spl_new(a, n, sizeof *text);
    spl_joint_name *name = spl_new(a, n, sizeof *name);
    int32_t count = 0;
    bool made = is_joint && text && name;
    for (int32_t k = 0; made && k < scene->skin_count; k++)
        for (int32_t j = 0; j < scene->skin[k].joint_count; j++) is_joint[scene->skin[k].joint[j]] = true;
    for (size_t i = 0; made && i < n; i++)
        if (is_joint[scene->node_order[i]]) text[count++] = scene->node[scene->node_order[i]].name;
    if (made) spl_joint_names_read(text, count, name);
    if (made) name_head(name, count);
    count = 0;
    for (size_t i = 0; made && i < n; i++) {
        int32_t node = scene->node_order[i], up = scene->node[node].parent;
        spl_body_part part = is_joint[node] ? name[count++].part : SPL_PART_NONE;
        bool known = part > SPL_PART_NONE && part < SPL_PART_COUNT;
        w->by_node[node] = known ? by_part[part] : up >= 0 ? w->by_node[up] : unnamed;
        w->hinge[node] = part == SPL_PART_FOREARM || part == SPL_PART_SHIN;
    }
    spl_free(a, is_joint);
    spl_free(a, text);
    spl_free(a, name);
    return made;
}

static double distance_to(spl_vec3 p, spl_vec3 a, spl_vec3 b)
{
    spl_vec3 d = spl_sub(b, a);
    double square = spl_dot(d, d), t = square > 0 ? spl_dot(spl_sub(p, a), d) / square : 0;
    return spl_distance(p, spl_madd(a, d, fmin(fmax(t, 0), 1)));
}

/* The way from a vertex to the bones of a joint. */
static double depth_below(const work *w, spl_vec3 at, int32_t node)
{
    double least = INFINITY;
    int32_t to = w->bones.merged_into[w->bones.same[node]];
    for (int32_t b = 0; b < w->bones.bone_count; b++) {
        const spl_bone *bone = &w->bones.bone[b];
        if (bone->node != to && bone->node != node && bone->of != node) continue;
        spl_vec3 head = spl_mat3_apply(&w->body->map, bone->head), tail = spl_mat3_apply(&w->body->map, bone->tail);
        least = fmin(least, distance_to(at, head, tail));
    }
    return least;
}

/* How near a vertex is to the elbow or knee that a bone begins at: 1 there, 0 beyond its reach, smooth between. */
static double nearness(const work *w, spl_vec3 at, int32_t node)
{
    double most = 0;
    for (int32_t b = 0; b < w->bones.bone_count; b++) {
        const spl_bone *bone = &w->bones.bone[b];
        if (bone->node != node && bone->of != node) continue;
        spl_vec3 head = spl_mat3_apply(&w->body->map, bone->head), tail = spl_mat3_apply(&w->body->map, bone->tail);
        double reach = hinge_reach * spl_distance(head, tail), away = spl_distance(at, head);
        double t = reach > 0 ? fmax(1 - away / reach, 0) : 0;
        most = fmax(most, t * t * (3 - 2 * t));
    }
    return most;
}

static double length_by(const work *w, spl_vec3 at, int32_t node)
{
    double length = w->by_node[node];
    return w->hinge[node] ? length + (at_hinge - length) * fmin(2 * nearness(w, at, node), 1) : length;
}

static void add_vertex(work *w, const spl_part *part, size_t v, size_t at, double *length)
{
    const spl_slide_scene *where = w->body->where;
    const spl_primitive *p = part->primitive;
    const spl_instance *instance = &where->scene->instance[part->instance];
    size_t k = (size_t)p->influence_count;
    if (!spl_part_skinned(where->scene, part)) {
        length[at] += 1 / w->by_node[instance->node];
        w->weight[at] += 1;
        return;
    }
    for (size_t i = v * k; i < (v + 1) * k; i++) {
        double weight = (double)p->weight[i];
        int32_t node = where->scene->skin[instance->skin].joint[p->joint[i]];
        length[at] += weight / length_by(w, where->net->surface.position[at], node);
        w->weight[at] += weight;
        if (weight < holds) continue;
        w->depth[at] = fmin(w->depth[at], depth_below(w, where->net->surface.position[at], node));
    }
}

/* No vertex's tether is longer than a neighbour's by more than their distance allows: lengths spread from the short
 * ones, in as many rounds as it takes. */
static void limit_growth(const spl_net *net, double *length)
{
    const spl_surface *s = &net->surface;
    bool changed = true;
    for (int32_t round = 0; changed && round < s->vertex_count; round++) {
        changed = false;
        for (int32_t v = 0; v < s->vertex_count; v++)
            for (int32_t e = s->link_first[v]; e < s->link_first[v + 1]; e++) {
                double most = length[s->link[e]] + growth * spl_distance(s->position[v], s->position[s->link[e]]);
                if (!(length[v] > most)) continue;
                length[v] = most;
                changed = true;
            }
    }
}

static void find_lengths(work *w, double *length)
{
    const spl_slide_scene *where = w->body->where;
    const spl_surface *s = &where->net->surface;
    for (int32_t v = 0; v < s->vertex_count; v++) w->depth[v] = INFINITY;
    for (int32_t i = 0; i < where->part_count; i++)
        for (size_t v = 0; where->slides[i] && v < (size_t)where->part[i].primitive->vertex_count; v++) {
            int32_t at = s->map[(size_t)where->part[i].first_vertex + v];
            if (at >= 0) add_vertex(w, &where->part[i], v, (size_t)at, length);
        }
    for (int32_t v = 0; v < s->vertex_count; v++) {
        length[v] = w->weight[v] > 0 ? w->weight[v] / length[v] : unnamed; /* stiffnesses add */
        if (isfinite(w->depth[v])) length[v] = fmin(length[v], fmax(of_depth * w->depth[v], at_border));
    }
    for (size_t t = 0; t < (size_t)s->triangle_count; t++)
        for (size_t k = 0; k < 3; k++)
            if (s->across[3 * t + k] == SPL_EDGE_BORDER)
                for (size_t j = 0; j < 2; j++) {
                    int32_t v = s->triangle[3 * t + (k + j) % 3];
                    length[v] = fmin(length[v], at_border);
                }
    limit_growth(where->net, length);
}

supple_result spl_tether_find(const spl_tether_body *body, const supple_allocator *a, double *length,
                              supple_error *error)
{
    size_t n = (size_t)body->where->net->surface.vertex_count;
    for (size_t v = 0; v < n; v++) length[v] = body->home < 0 ? INFINITY : 0;
    if (body->home < 0) return SUPPLE_OK;
    work w = {.body = body,
              .by_node = spl_new(a, (size_t)body->where->scene->node_count, sizeof *w.by_node),
              .hinge = spl_new(a, (size_t)body->where->scene->node_count, sizeof *w.hinge),
              .weight = spl_new(a, n, sizeof *w.weight),
              .depth = spl_new(a, n, sizeof *w.depth)};
    bool made = w.by_node && w.hinge && w.weight && w.depth && name_joints(&w, a);
    supple_result result =
        made ? spl_bones_make(body->where->scene, a, &w.bones, error) : spl_fail_memory(error, "the skin's tethers");
    if (result == SUPPLE_OK) {
        find_lengths(&w, length);
        spl_bones_release(&w.bones);
    }
    spl_free(a, w.by_node);
    spl_free(a, w.hinge);
    spl_free(a, w.weight);
    spl_free(a, w.depth);
    return result;
}
