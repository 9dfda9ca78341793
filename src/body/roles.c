#include "body/judge.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/topology.h"
#include "geom/weld.h"
#include "rig/bind.h"

#include <stdio.h>
#include <string.h>

#define WELD_TOLERANCE 1e-6 /* of the diagonal */

enum { ROLES = 5 };

const char *spl_role_name(supple_role role)
{
    static const char *const names[ROLES] = {"flesh", "follow", "rigid", "skip", "own"};
    return names[role];
}

/* ---- from pieces to parts ---- */

static const char *joint_above(const spl_roles_input *in, int32_t node)
{
    while (node >= 0 && !(in->bones->influence[node] > 0)) node = in->scene->node[node].parent;
    return node >= 0 ? in->scene->node[node].name : NULL;
}

static void describe_rigid(const spl_roles_input *in, const spl_part *part, spl_role *out)
{
    const char *joint = joint_above(in, in->scene->instance[part->instance].node);
    out->role = SUPPLE_ROLE_RIGID;
    if (joint)
        snprintf(out->why, sizeof out->why, "not skinned, rides on joint '%.40s'", joint);
    else
        snprintf(out->why, sizeof out->why, "not skinned, under no joint");
}

/* Borders and components of a part by itself, for `info`. */
static supple_result describe_surface(const spl_part *part, const float *position, double diagonal,
                                      const supple_allocator *a, spl_role *out, supple_error *error)
{
    const spl_primitive *p = part->primitive;
    size_t n = (size_t)p->vertex_count, corners = 3 * (size_t)p->triangle_count;
    int32_t *map = spl_new(a, n, sizeof *map), *triangle = spl_new(a, corners, sizeof *triangle);
    spl_topology t = {0};
    supple_result result = map && triangle ? SUPPLE_OK : spl_fail_memory(error, "the parts");
    if (result == SUPPLE_OK)
        result = spl_weld(position + 3 * (size_t)part->first_vertex, p->vertex_count, WELD_TOLERANCE * diagonal, a, map,
                          &out->welded_vertices, error);
    for (size_t i = 0; result == SUPPLE_OK && i < corners; i++) triangle[i] = map[p->triangle[i]];
    if (result == SUPPLE_OK) result = spl_topology_make(triangle, p->triangle_count, a, &t, error);
    out->components = t.components;
    out->closed_components = t.closed_components;
    out->border_edges = t.border_edges;
    out->nonmanifold_edges = t.nonmanifold_edges;
    out->degenerate_triangles = t.degenerate_triangles;
    spl_topology_release(&t);
    spl_free(a, map);
    spl_free(a, triangle);
    return result;
}

static int32_t role_rank(int role)
{
    static const int32_t rank[ROLES] = {4, 3, 1, 0, 2}; /* flesh before follow, own, rigid, skip */
    return rank[role];
}

/* Vertices and triangles get the roles of their pieces; where pieces touch, a vertex is flesh rather than not. */
static void spread_roles(const spl_roles_input *in, const spl_skin_pieces *pieces, spl_roles *out)
{
    const spl_surface *s = &pieces->surface;
    for (int32_t t = 0; t < s->triangle_count; t++)
        out->triangle[pieces->scene_triangle[s->source[t]]] = (uint8_t)pieces->piece[s->component[t]].role;
    for (int32_t i = 0; i < in->part_count; i++) {
        const spl_part *part = &in->part[i];
        if (!spl_part_skinned(in->scene, part)) continue;
        for (int32_t v = part->first_vertex; v < part->first_vertex + part->primitive->vertex_count; v++) {
            int32_t at = s->map[v], k = at >= 0 ? pieces->of_vertex[at] : -1;
            if (k < 0) continue;
            out->vertex[v] = (uint8_t)pieces->piece[k].role;
            if (pieces->piece[k].as_one && pieces->piece[k].role != SUPPLE_ROLE_FLESH) out->group[v] = k;
        }
    }
    for (int32_t t = 0, part = 0; t < s->triangle_count; t++) { /* pieces that touch at a vertex; sources ascend */
        int32_t number = pieces->scene_triangle[s->source[t]];
        while (out->first_triangle[part + 1] <= number) part++;
        const spl_part *p = &in->part[part];
        for (size_t k = 0; k < 3; k++) {
            int32_t v = p->first_vertex + p->primitive->triangle[3 * (size_t)(number - out->first_triangle[part]) + k];
            if (role_rank(out->triangle[number]) > role_rank(out->vertex[v])) {
                out->vertex[v] = out->triangle[number];
                out->group[v] = -1;
            }
        }
    }
    out->group_count = pieces->count;
}

/* A part's role: that of most of its area, for the reason of the largest piece that has it. */
static supple_result summarise(const spl_roles_input *in, const spl_skin_pieces *pieces, spl_roles *out,
                               supple_error *error)
{
    const spl_surface *s = &pieces->surface;
    double *largest = spl_new(&pieces->allocator, (size_t)in->part_count, sizeof *largest), flesh = 0, follow = 0,
           all = 0;
    if (!largest) return spl_fail_memory(error, "the parts");
    for (int32_t t = 0, part = 0; t < s->triangle_count; t++) { /* sources ascend */
        int32_t number = pieces->scene_triangle[s->source[t]];
        while (out->first_triangle[part + 1] <= number) part++;
        double area = spl_triangle_area(s, t);
        out->part[part].share[out->triangle[number]] += area;
        out->part[part].area += area;
    }
    for (int32_t i = 0; i < in->part_count; i++) {
        spl_role *r = &out->part[i];
        if (!spl_part_skinned(in->scene, &in->part[i])) continue;
        r->role = SUPPLE_ROLE_FLESH;
        for (int k = 0; k < ROLES; k++)
            if (r->share[k] > r->share[r->role]) r->role = (supple_role)k;
        flesh += r->share[SUPPLE_ROLE_FLESH];
        follow += r->share[SUPPLE_ROLE_FOLLOW];
        all += r->area;
        for (int k = 0; k < ROLES && r->area > 0; k++) r->share[k] /= r->area;
        if (r->area > 0) continue;
        r->role = SUPPLE_ROLE_SKIP;
        snprintf(r->why, sizeof r->why, "no triangles");
    }
    for (int32_t t = 0, part = 0; t < s->triangle_count; t++) {
        int32_t number = pieces->scene_triangle[s->source[t]];
        while (out->first_triangle[part + 1] <= number) part++;
        const spl_skin_piece *p = &pieces->piece[s->component[t]];
        spl_role *r = &out->part[part];
        if (p->role != r->role || !(p->area > largest[part])) continue;
        largest[part] = p->area;
        memcpy(r->why, p->why, sizeof r->why);
    }
    out->flesh_share = all > 0 ? flesh / all : 0;
    out->follow_share = all > 0 ? follow / all : 0;
    spl_free(&pieces->allocator, largest);
    return SUPPLE_OK;
}

/* ---- what the user says ---- */

static void set_role(const spl_roles_input *in, int32_t i, supple_role role, spl_roles *out)
{
    const spl_part *part = &in->part[i];
    spl_role *r = &out->part[i];
    r->role = role;
    memset(r->share, 0, sizeof r->share);
    r->share[role] = 1;
    snprintf(r->why, sizeof r->why, "left to --part");
    memset(out->triangle + out->first_triangle[i], (int)role, (size_t)part->primitive->triangle_count);
    memset(out->vertex + part->first_vertex, (int)role, (size_t)part->primitive->vertex_count);
}

/* The part that a number means, as `supple info` lists them; -1 if it is none. */
static int32_t numbered(const char *text, int32_t part_count)
{
    int64_t number = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9' && number < part_count; c++) number = 10 * number + (*c - '0');
    return c > text && !*c && number < part_count ? (int32_t)number : -1;
}

/* A name counts before a number: a mesh may be called "3". */
static supple_result apply_rules(const spl_roles_input *in, spl_roles *out, supple_error *error)
{
    for (int32_t k = 0; k < in->rule_count; k++) {
        bool any = false;
        for (int32_t i = 0; i < in->part_count; i++) {
            if (!spl_part_matches(in->scene, &in->part[i], in->rules[k].pattern)) continue;
            any = true;
            set_role(in, i, in->rules[k].role, out);
        }
        int32_t number = any ? -1 : numbered(in->rules[k].pattern, in->part_count);
        if (number >= 0) {
            any = true;
            set_role(in, number, in->rules[k].role, out);
        }
        if (!any)
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                            "no mesh or material is called '%.60s', and no part has that number; `supple info` lists "
                            "them, '*' stands for anything",
                            in->rules[k].pattern);
    }
    return SUPPLE_OK;
}

/* ---- all of it ---- */

static supple_result create(const spl_roles_input *in, const supple_allocator *a, spl_roles *out, supple_error *error)
{
    size_t n = (size_t)in->scene->vertex_count, parts = (size_t)in->part_count;
    out->part_count = in->part_count;
    out->part = spl_new(a, parts, sizeof *out->part);
    out->first_triangle = spl_new(a, parts + 1, sizeof *out->first_triangle);
    out->vertex = spl_new(a, n, sizeof *out->vertex);
    out->group = spl_new(a, n, sizeof *out->group);
    if (!out->part || !out->first_triangle || !out->vertex || !out->group) return spl_fail_memory(error, "the parts");
    for (size_t i = 0; i < parts; i++)
        out->first_triangle[i + 1] = out->first_triangle[i] + in->part[i].primitive->triangle_count;
    size_t triangles = (size_t)out->first_triangle[parts];
    out->triangle = spl_new(a, triangles, sizeof *out->triangle);
    if (!out->triangle) return spl_fail_memory(error, "the parts");
    memset(out->triangle, SUPPLE_ROLE_OWN, triangles);
    memset(out->vertex, SUPPLE_ROLE_OWN, n);
    for (size_t v = 0; v < n; v++) out->group[v] = -1;
    for (int32_t i = 0; i < in->part_count; i++) {
        if (spl_part_skinned(in->scene, &in->part[i])) continue;
        set_role(in, i, SUPPLE_ROLE_RIGID, out);
        describe_rigid(in, &in->part[i], &out->part[i]);
    }
    return SUPPLE_OK;
}

supple_result spl_roles_find(const spl_roles_input *in, const supple_allocator *a, spl_roles *out, supple_error *error)
{
    *out = (spl_roles){.allocator = *a};
    spl_skin_pieces pieces = {0};
    supple_result result = create(in, a, out, error);
    if (result == SUPPLE_OK)
        result = spl_pieces_make(in->scene, in->part, in->part_count, in->position, in->bones->merged_into, a, &pieces,
                                 error);
    for (int32_t i = 0; result == SUPPLE_OK && i < in->part_count; i++)
        result = describe_surface(&in->part[i], in->position, pieces.surface.diagonal, a, &out->part[i], error);
    if (result == SUPPLE_OK) result = spl_pieces_judge(in, a, &pieces, error);
    if (result == SUPPLE_OK) {
        spread_roles(in, &pieces, out);
        result = summarise(in, &pieces, out, error);
    }
    if (result == SUPPLE_OK) result = apply_rules(in, out, error);
    spl_pieces_release(&pieces);
    if (result != SUPPLE_OK) spl_roles_release(out);
    return result;
}

void spl_roles_release(spl_roles *r)
{
    const supple_allocator *a = &r->allocator;
    if (!a->release) return;
    spl_free(a, r->part);
    spl_free(a, r->first_triangle);
    spl_free(a, r->triangle);
    spl_free(a, r->vertex);
    spl_free(a, r->group);
    *r = (spl_roles){0};
}

int32_t spl_roles_home(const supple_scene *scene, const spl_part *part, int32_t part_count)
{
    for (int32_t i = 0; i < part_count; i++)
        if (spl_part_skinned(scene, &part[i])) return scene->instance[part[i].instance].skin;
    return -1;
}

void spl_roles_place(const supple_scene *scene, const spl_part *part, int32_t part_count, int32_t home, float *out)
{
    for (int32_t i = 0; i < part_count; i++) {
        const spl_primitive *p = part[i].primitive;
        int32_t skin = scene->instance[part[i].instance].skin;
        spl_mat4 map = skin >= 0 && home >= 0 ? spl_bind_between(scene, skin, home) : spl_mat4_identity();
        float *to = out + 3 * (size_t)part[i].first_vertex;
        for (size_t v = 0; v < (size_t)p->vertex_count; v++)
            spl_v3_to_float(spl_mat4_point(&map, spl_v3_from_float(p->position + 3 * v)), to + 3 * v);
    }
}

supple_result spl_roles_of_scene(const supple_scene *scene, const spl_part *part, int32_t part_count,
                                 const supple_part_rule *rules, int32_t rule_count, const supple_allocator *a,
                                 spl_roles *out, supple_error *error)
{
    *out = (spl_roles){0};
    spl_bones bones;
    supple_result result = spl_bones_make(scene, a, &bones, error);
    if (result != SUPPLE_OK) return result;
    float *position = spl_new(a, (size_t)scene->vertex_count, 3 * sizeof *position);
    if (position) {
        spl_roles_place(scene, part, part_count, spl_roles_home(scene, part, part_count), position);
        spl_roles_input in = {.scene = scene,
                              .part = part,
                              .part_count = part_count,
                              .position = position,
                              .bones = &bones,
                              .rules = rules,
                              .rule_count = rule_count};
        result = spl_roles_find(&in, a, out, error);
    } else
        result = spl_fail_memory(error, "the parts");
    spl_free(a, position);
    spl_bones_release(&bones);
    return result;
}
