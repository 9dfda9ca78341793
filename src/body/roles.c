#include "body/roles.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/topology.h"
#include "geom/weld.h"

#include <stdio.h>
#include <string.h>

#define WELD_TOLERANCE 1e-6 /* of the diagonal */
#define NEARLY_SOLID   4.0  /* openness below which a part is flesh by itself */
#define MAY_BE_CUT     12.0 /* openness below which it is flesh if its border meets others */
#define BORDERS_MEET   5e-3 /* of the diagonal */
#define MEETING_SHARE  0.75 /* of a border's vertices */
#define CUT_SHARE      0.99 /* the same, where a mesh is cut into its materials: the vertices are equal there */

enum { WINDING_SAMPLES = 16 };

/* Tests of a point against a triangle or a border vertex that one scene may cost: about two seconds. A character of
 * thousands of parts is judged by the parts' own shapes beyond that. */
#define TEST_BUDGET 2e8

/* All parts while they are judged. */
typedef struct shape shape;
typedef struct court {
    const supple_scene *scene;
    shape *shapes;
    bool *skinned;
    bool *is_joint; /* by node */
    int32_t count;
    double diagonal;
    double budget;
    spl_role *out;
} court;

/* A part while it is judged. */
struct shape {
    const spl_part *part;
    const float *position; /* the part's vertices */
    int32_t *triangle;     /* welded indices */
    float *welded;         /* 3 x welded vertices */
    spl_topology topology;
    int32_t welded_count;
    double volume; /* signed, of the closed surface; otherwise meaningless */
};

const char *spl_role_name(supple_role role)
{
    static const char *const names[] = {"flesh", "follow", "rigid", "skip"};
    return names[role];
}

static spl_vec3 corner(const shape *s, int32_t triangle, int k)
{
    return spl_v3_from_float(s->welded + 3 * (size_t)s->triangle[3 * (size_t)triangle + (size_t)k]);
}

static supple_result make_shape(shape *s, double diagonal, const supple_allocator *a, supple_error *error)
{
    const spl_primitive *p = s->part->primitive;
    size_t n = (size_t)p->vertex_count, corners = 3 * (size_t)p->triangle_count;
    int32_t *map = spl_new(a, n, sizeof *map);
    s->triangle = spl_new(a, corners, sizeof *s->triangle);
    s->welded = spl_new(a, n, 3 * sizeof *s->welded);
    if (!map || !s->triangle || !s->welded) {
        spl_free(a, map);
        return spl_fail_memory(error, "the parts");
    }
    supple_result result =
        spl_weld(s->position, p->vertex_count, WELD_TOLERANCE * diagonal, a, map, &s->welded_count, error);
    if (result == SUPPLE_OK) {
        for (size_t i = n; i-- > 0;) /* backwards, so that the first occurrence wins */
            memcpy(s->welded + 3 * (size_t)map[i], s->position + 3 * i, 3 * sizeof(float));
        for (size_t i = 0; i < corners; i++) s->triangle[i] = map[p->triangle[i]];
        result = spl_topology_make(s->triangle, p->triangle_count, a, &s->topology, error);
    }
    spl_free(a, map);
    return result;
}

/* Area and openness of the component with the largest area, and the signed volume of all. */
static supple_result measure(shape *s, const supple_allocator *a, spl_role *out, supple_error *error)
{
    const spl_topology *t = &s->topology;
    size_t n = (size_t)t->components;
    double *area = spl_new(a, n, sizeof *area), *border = spl_new(a, n, sizeof *border);
    int32_t *owner = spl_new(a, (size_t)s->welded_count, sizeof *owner); /* a component of each vertex */
    if (area && border && owner) {
        int32_t largest = 0;
        for (int32_t i = 0; i < s->part->primitive->triangle_count; i++) {
            if (t->component[i] < 0) continue;
            spl_vec3 x = corner(s, i, 0), y = corner(s, i, 1), z = corner(s, i, 2);
            area[t->component[i]] += 0.5 * spl_norm(spl_cross(spl_sub(y, x), spl_sub(z, x)));
            s->volume += spl_dot(x, spl_cross(y, z)) / 6;
            for (size_t k = 0; k < 3; k++) owner[s->triangle[3 * (size_t)i + k]] = t->component[i];
        }
        for (int32_t e = 0; e < t->border_edges; e++) {
            int32_t from = t->border[2 * (size_t)e], to = t->border[2 * (size_t)e + 1];
            border[owner[from]] += spl_distance(spl_v3_from_float(s->welded + 3 * (size_t)from),
                                                spl_v3_from_float(s->welded + 3 * (size_t)to));
        }
        for (int32_t c = 0; c < t->components; c++) {
            out->area += area[c];
            if (area[c] > area[largest]) largest = c;
        }
        out->openness = n && area[largest] > 0 ? border[largest] * border[largest] / area[largest] : 0;
    }
    bool made = area && border && owner;
    spl_free(a, area);
    spl_free(a, border);
    spl_free(a, owner);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the parts");
}

/* Winding number of a surface around a point: the sum of the triangles' solid angles over 4 pi (Van Oosterom and
 * Strackee 1983). */
static double winding(const shape *s, spl_vec3 p)
{
    double sum = 0;
    for (int32_t i = 0; i < s->part->primitive->triangle_count; i++) {
        spl_vec3 a = spl_sub(corner(s, i, 0), p), b = spl_sub(corner(s, i, 1), p), c = spl_sub(corner(s, i, 2), p);
        double la = spl_norm(a), lb = spl_norm(b), lc = spl_norm(c);
        double below = la * lb * lc + spl_dot(a, b) * lc + spl_dot(b, c) * la + spl_dot(c, a) * lb;
        sum += 2 * atan2(spl_dot(a, spl_cross(b, c)), below);
    }
    return sum / (4 * 3.14159265358979323846);
}

/* Whether all sampled vertices of `inner` lie inside `outer`. */
static bool is_inside(court *c, const shape *inner, const shape *outer)
{
    int32_t step = inner->welded_count / WINDING_SAMPLES + 1;
    for (int32_t i = 0; i < inner->welded_count; i += step) {
        c->budget -= outer->part->primitive->triangle_count;
        if (c->budget < 0 || !(winding(outer, spl_v3_from_float(inner->welded + 3 * (size_t)i)) > 0.5)) return false;
    }
    return inner->welded_count > 0;
}

/* Whether a point lies within reach of the border of another skinned part than k; `instance` -1, or one to stay in. */
static bool meets_border(court *c, int32_t k, int32_t instance, double reach, spl_vec3 p)
{
    for (int32_t o = 0; o < c->count; o++) {
        if (o == k || !c->skinned[o] || (instance >= 0 && c->shapes[o].part->instance != instance)) continue;
        const spl_topology *t = &c->shapes[o].topology;
        c->budget -= t->border_edges;
        for (int32_t i = 0; i < t->border_edges && c->budget >= 0; i++) {
            const float *q = c->shapes[o].welded + 3 * (size_t)t->border[2 * (size_t)i];
            if (spl_distance(spl_v3_from_float(q), p) <= reach) return true;
        }
    }
    return false;
}

/* Of the border vertices of part k, the share that lies on the border of another skinned part. */
static double meeting_share(court *c, int32_t k, int32_t instance, double reach)
{
    const shape *s = &c->shapes[k];
    int32_t meeting = 0;
    for (int32_t e = 0; e < s->topology.border_edges; e++)
        meeting += meets_border(c, k, instance, reach,
                                spl_v3_from_float(s->welded + 3 * (size_t)s->topology.border[2 * (size_t)e]));
    return s->topology.border_edges ? (double)meeting / s->topology.border_edges : 0;
}

/* Whether the part is a piece of one mesh that is cut into its materials: it ends where others of the mesh begin. */
static bool is_cut_by_material(court *c, int32_t k)
{
    return meeting_share(c, k, c->shapes[k].part->instance, 2 * WELD_TOLERANCE * c->diagonal) >= CUT_SHARE;
}

static const char *joint_above(const court *c, int32_t node)
{
    while (node >= 0 && !c->is_joint[node]) node = c->scene->node[node].parent;
    return node >= 0 ? c->scene->node[node].name : NULL;
}

static void judge_rigid(const court *c, const spl_part *part, spl_role *out)
{
    const char *joint = joint_above(c, c->scene->instance[part->instance].node);
    out->role = SUPPLE_ROLE_RIGID;
    if (joint)
        snprintf(out->why, sizeof out->why, "not skinned, rides on joint '%.40s'", joint);
    else
        snprintf(out->why, sizeof out->why, "not skinned, under no joint");
}

static void judge(spl_role *out, supple_role role, const char *why)
{
    out->role = role;
    snprintf(out->why, sizeof out->why, "%s", why);
}

/* By shape alone; enclosed parts are found afterwards, among the flesh. */
static void judge_skinned(court *c, int32_t k)
{
    const shape *s = &c->shapes[k];
    spl_role *out = &c->out[k];
    double d = c->diagonal;
    const spl_topology *t = &s->topology;
    if (t->components == 0)
        judge(out, SUPPLE_ROLE_SKIP, "no triangles");
    else if (t->border_edges == 0 && fabs(s->volume) <= 1e-9 * d * d * d)
        judge(out, SUPPLE_ROLE_FOLLOW, "closed but flat: nothing is inside");
    else if (t->border_edges == 0)
        judge(out, SUPPLE_ROLE_FLESH, "closed and skinned");
    else if (out->openness < NEARLY_SOLID)
        judge(out, SUPPLE_ROLE_FLESH, "nearly closed: its openings are small");
    else if (is_cut_by_material(c, k))
        judge(out, SUPPLE_ROLE_FLESH, "its borders are those of the mesh's other materials");
    else if (out->openness < MAY_BE_CUT && meeting_share(c, k, -1, BORDERS_MEET * c->diagonal) >= MEETING_SHARE)
        judge(out, SUPPLE_ROLE_FLESH, "its borders meet those of other parts");
    else
        judge(out, SUPPLE_ROLE_FOLLOW, "an open sheet");
}

static void find_enclosed(court *c)
{
    for (int32_t k = 0; k < c->count; k++) {
        if (c->out[k].role != SUPPLE_ROLE_FLESH) continue;
        for (int32_t o = 0; o < c->count; o++) {
            if (o == k || c->out[o].role != SUPPLE_ROLE_FLESH || c->out[o].area <= c->out[k].area) continue;
            if (!is_inside(c, &c->shapes[k], &c->shapes[o])) continue;
            c->out[k].role = SUPPLE_ROLE_FOLLOW;
            snprintf(c->out[k].why, sizeof c->out[k].why, "enclosed in '%.40s'",
                     spl_instance_name(c->scene, c->shapes[o].part->instance));
            break;
        }
    }
}

static supple_result judge_all(court *c, const supple_allocator *a, supple_error *error)
{
    for (int32_t k = 0; k < c->count; k++) {
        shape *s = &c->shapes[k];
        spl_role *out = &c->out[k];
        c->skinned[k] = spl_part_skinned(c->scene, s->part);
        supple_result result = make_shape(s, c->diagonal, a, error);
        if (result == SUPPLE_OK) result = measure(s, a, out, error);
        if (result != SUPPLE_OK) return result;
        out->welded_vertices = s->welded_count;
        out->components = s->topology.components;
        out->closed_components = s->topology.closed_components;
        out->border_edges = s->topology.border_edges;
        out->nonmanifold_edges = s->topology.nonmanifold_edges;
        out->degenerate_triangles = s->topology.degenerate_triangles;
    }
    for (int32_t k = 0; k < c->count; k++) {
        if (c->skinned[k])
            judge_skinned(c, k);
        else
            judge_rigid(c, c->shapes[k].part, &c->out[k]);
    }
    find_enclosed(c);
    return SUPPLE_OK;
}

static double diagonal_of(const float *position, int32_t vertex_count)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, sum = 0;
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++) {
        low[i % 3] = fmin(low[i % 3], (double)position[i]);
        high[i % 3] = fmax(high[i % 3], (double)position[i]);
    }
    for (int i = 0; i < 3; i++) sum += vertex_count ? (high[i] - low[i]) * (high[i] - low[i]) : 0;
    return sqrt(sum);
}

supple_result spl_roles_find(const supple_scene *scene, const spl_part *part, int32_t part_count, const float *position,
                             const supple_allocator *a, spl_role *out, supple_error *error)
{
    memset(out, 0, (size_t)part_count * sizeof *out);
    court c = {.scene = scene, .count = part_count, .budget = TEST_BUDGET, .out = out};
    c.shapes = spl_new(a, (size_t)part_count, sizeof *c.shapes);
    c.skinned = spl_new(a, (size_t)part_count, sizeof *c.skinned);
    c.is_joint = spl_new(a, (size_t)scene->node_count, sizeof *c.is_joint);
    supple_result result = SUPPLE_OK;
    if (!c.shapes || !c.skinned || !c.is_joint) {
        result = spl_fail_memory(error, "the parts");
    } else {
        for (int32_t s = 0; s < scene->skin_count; s++)
            for (int32_t j = 0; j < scene->skin[s].joint_count; j++) c.is_joint[scene->skin[s].joint[j]] = true;
        for (int32_t k = 0; k < part_count; k++) {
            c.shapes[k].part = &part[k];
            c.shapes[k].position = position + 3 * (size_t)part[k].first_vertex;
        }
        c.diagonal = diagonal_of(position, scene->vertex_count);
        result = judge_all(&c, a, error);
    }
    for (int32_t k = 0; c.shapes && k < part_count; k++) {
        spl_free(a, c.shapes[k].triangle);
        spl_free(a, c.shapes[k].welded);
        spl_topology_release(&c.shapes[k].topology);
    }
    spl_free(a, c.shapes);
    spl_free(a, c.skinned);
    spl_free(a, c.is_joint);
    return result;
}
