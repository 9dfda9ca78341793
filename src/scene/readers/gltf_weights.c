/* Skin weights: every set of JOINTS_n and WEIGHTS_n becomes one list of influences for each vertex, strongest first,
 * one entry a joint, with a sum of 1. */
#include "scene/readers/gltf_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_SETS = 16, MAX_INFLUENCES = 4 * MAX_SETS };

/* The decoded sets of one primitive. */
typedef struct sets {
    spl_gltf *g;
    const char *where;
    const spl_skin *skin;
    int32_t count;
    uint32_t *joint[MAX_SETS]; /* 4 x vertex_count each */
    float *weight[MAX_SETS];
    double tolerance; /* of a weight sum */
} sets;

typedef struct influence {
    uint32_t joint;
    double weight;
} influence;

static void free_sets(sets *s)
{
    for (int32_t i = 0; i < s->count; i++) {
        spl_free(s->g->a, s->joint[i]);
        spl_free(s->g->a, s->weight[i]);
    }
}

/* Integer weights are rounded: each may be off by half a step. */
static double rounding(const spl_accessor *weights)
{
    if (weights->component == SPL_GLTF_UBYTE) return 4 * 0.5 / UINT8_MAX;
    if (weights->component == SPL_GLTF_USHORT) return 4 * 0.5 / UINT16_MAX;
    return 0;
}

static bool open_attribute(sets *s, const json_t *attributes, const char *key, int32_t vertex_count,
                           spl_accessor *accessor, bool *present)
{
    int32_t accessors = (int32_t)json_array_size(json_object_get(s->g->root, "accessors")), index;
    if (!spl_gltf_index(s->g, attributes, key, accessors, s->where, -1, &index)) return false;
    *present = index >= 0;
    if (index < 0) return true;
    if (!spl_gltf_accessor(s->g, index, accessor)) return false;
    if (accessor->columns != 1 || accessor->width != 4 || accessor->count != (size_t)vertex_count)
        return spl_gltf_fail(s->g, "%s: %s (accessor %d) does not give 4 numbers for each of %d vertices", s->where,
                             key, index, vertex_count);
    return true;
}

/* Reads set n; *present is false behind the last one. */
static bool read_set(sets *s, const json_t *attributes, int32_t n, int32_t vertex_count, bool *present)
{
    char joints_key[24], weights_key[24];
    spl_accessor joints, weights;
    bool has_weights;
    snprintf(joints_key, sizeof joints_key, "JOINTS_%d", n);
    snprintf(weights_key, sizeof weights_key, "WEIGHTS_%d", n);
    if (!open_attribute(s, attributes, joints_key, vertex_count, &joints, present) ||
        !open_attribute(s, attributes, weights_key, vertex_count, &weights, &has_weights))
        return false;
    if (*present != has_weights)
        return spl_gltf_fail(s->g, "%s has only one of %s and %s", s->where, joints_key, weights_key);
    if (!*present) return true;
    if (n == MAX_SETS) return spl_gltf_fail(s->g, "%s has more than %d influences a vertex", s->where, MAX_INFLUENCES);
    s->count = n + 1; /* from here on free_sets knows the set */
    s->joint[n] = spl_gltf_uints(s->g, &joints);
    s->weight[n] = s->joint[n] ? spl_gltf_floats(s->g, &weights) : NULL;
    s->tolerance += rounding(&weights);
    /* Whole numbers that are not marked as normalised can mean nothing else. */
    if (s->weight[n] && weights.component != SPL_GLTF_FLOAT && !weights.normalized) {
        float scale = weights.component == SPL_GLTF_UBYTE ? (float)UINT8_MAX : (float)UINT16_MAX;
        for (size_t i = 0; i < 4 * weights.count; i++) s->weight[n][i] /= scale;
    }
    return s->weight[n] != NULL;
}

/* Adds one influence to a vertex's list; the same joint again is added up. */
static void add_influence(influence *list, int32_t *count, uint32_t joint, double weight)
{
    for (int32_t i = 0; i < *count; i++)
        if (list[i].joint == joint) {
            list[i].weight += weight;
            return;
        }
    list[(*count)++] = (influence){joint, weight};
}

/* Descending; equal weights stay in the file's order. */
static void sort_influences(influence *list, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        influence moved = list[i];
        int32_t k = i;
        for (; k > 0 && list[k - 1].weight < moved.weight; k--) list[k] = list[k - 1];
        list[k] = moved;
    }
}

/* The influences of a vertex, sorted and normalised; *sum is what the file's weights add up to. Weights that are no
 * numbers or negative mean nothing: *bad counts them. */
static bool gather(sets *s, size_t vertex, influence *list, int32_t *count, double *sum, int32_t *bad)
{
    *count = *bad = 0;
    *sum = 0;
    for (int32_t n = 0; n < s->count; n++)
        for (size_t k = 4 * vertex; k < 4 * vertex + 4; k++) {
            double weight = (double)s->weight[n][k];
            if (weight == 0) continue; /* its joint index means nothing */
            if (!(weight > 0) || !isfinite(weight)) {
                ++*bad;
                continue;
            }
            if (s->joint[n][k] >= (uint32_t)s->skin->joint_count)
                return spl_gltf_fail(s->g, "%s: vertex %zu uses joint index %u, but skin '%.40s' has %d joints",
                                     s->where, vertex, s->joint[n][k], s->skin->name, s->skin->joint_count);
            add_influence(list, count, s->joint[n][k], weight);
            *sum += weight;
        }
    sort_influences(list, *count);
    for (int32_t i = 0; i < *count; i++) list[i].weight /= *sum;
    while (*count > 1 && (float)list[*count - 1].weight == 0) (*count)--; /* too small for a float */
    return true;
}

/* First pass: checks every vertex, finds K and the sums. */
static bool measure(sets *s, spl_primitive *p)
{
    influence list[MAX_INFLUENCES];
    int32_t largest = 1;
    p->weight_sum_min = (double)INFINITY;
    p->weight_sum_max = -(double)INFINITY;
    for (int32_t v = 0; v < p->vertex_count; v++) {
        int32_t count, bad;
        double sum;
        if (!gather(s, (size_t)v, list, &count, &sum, &bad)) return false;
        if (count > largest) largest = count;
        p->unweighted += count == 0;
        p->mistaken += bad > 0;
        s->g->weights.lost += bad > 0 && count == 0;
        if (bad > 0) continue; /* its sum says nothing */
        if (sum < p->weight_sum_min) p->weight_sum_min = sum;
        if (sum > p->weight_sum_max) p->weight_sum_max = sum;
        p->unnormalised += count > 0 && fabs(sum - 1) > s->tolerance;
    }
    if (p->weight_sum_min > p->weight_sum_max) p->weight_sum_min = p->weight_sum_max = (double)NAN;
    p->influence_count = largest;
    return true;
}

/* Second pass. Vertices without a weight are left with zeros: spl_gltf_mend_weights finds some for them. */
static bool fill(sets *s, spl_primitive *p)
{
    influence list[MAX_INFLUENCES];
    size_t K = (size_t)p->influence_count, total = K * (size_t)p->vertex_count;
    p->joint = spl_gltf_new(s->g, total, sizeof *p->joint, "influences");
    if (!p->joint) return false;
    p->weight = spl_gltf_new(s->g, total, sizeof *p->weight, "influences");
    if (!p->weight) return false;
    for (size_t v = 0; v < (size_t)p->vertex_count; v++) {
        int32_t count, bad;
        double sum;
        if (!gather(s, v, list, &count, &sum, &bad)) return false;
        for (size_t i = 0; i < (size_t)count; i++) {
            p->joint[v * K + i] = (uint16_t)list[i].joint;
            p->weight[v * K + i] = (float)list[i].weight;
        }
    }
    return true;
}

static void report(const sets *s, const spl_primitive *p)
{
    spl_gltf *g = s->g;
    if (g->weights.mistaken + g->weights.bare == 0 && p->mistaken + p->unweighted > 0)
        snprintf(g->weights.where, sizeof g->weights.where, "%s", s->where);
    g->weights.mistaken += p->mistaken;
    g->weights.bare += p->unweighted;
    if (p->unnormalised)
        spl_scene_warn(s->g->scene, "%s: the weights of %d vertices do not sum to 1 (%.3g to %.3g); normalised",
                       s->where, p->unnormalised, p->weight_sum_min, p->weight_sum_max);
}

bool spl_gltf_read_influences(spl_gltf *g, const json_t *attributes, const spl_skin *skin, const char *where,
                              spl_primitive *p)
{
    sets s = {.g = g, .where = where, .skin = skin, .tolerance = 1e-3};
    bool present = true, ok = true;
    for (int32_t n = 0; ok && present; n++) ok = read_set(&s, attributes, n, p->vertex_count, &present);
    if (ok && s.count == 0)
        spl_scene_warn(g->scene, "%s is drawn with a skin but has no weights; it moves with its node", where);
    if (ok && s.count > 0) ok = measure(&s, p) && fill(&s, p);
    if (ok && s.count > 0) report(&s, p);
    free_sets(&s);
    return ok;
}

void spl_gltf_report_weights(spl_gltf *g)
{
    int64_t zero = g->weights.bare - g->weights.lost, rest = g->weights.mistaken - g->weights.lost;
    if (g->weights.mistaken > 0)
        spl_scene_warn(g->scene,
                       "%" PRId64
                       " vertices have weights that are no numbers or negative, the first in %s; ignored: %" PRId64
                       " keep their other weights, %" PRId64 " take those of the vertices near them",
                       g->weights.mistaken, g->weights.where, rest, g->weights.lost);
    if (zero > 0)
        spl_scene_warn(
            g->scene, "%" PRId64 " vertices have no weight, the first in %s; they take those of the vertices near them",
            zero, g->weights.where);
}
