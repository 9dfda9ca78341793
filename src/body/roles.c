#include "body/roles.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/topology.h"
#include "geom/weld.h"
#include "geom/winding.h"
#include "rig/bind.h"

#include <stdio.h>
#include <string.h>

#define WELD_TOLERANCE 1e-6 /* of the diagonal */
#define MOVES_AS_ONE   0.02 /* share of a piece's area whose weights may differ from the others' ... */
#define HARD_SEGMENT   0.10 /* ... or so much where each vertex follows one joint alone: a lid, an eye */
#define NEARLY_SOLID   4.0  /* openness below which a piece is a solid by itself */
#define MAY_BE_CLOSED  15.0 /* openness below which it is one if it bulges and more than a seam lies on no other */
#define SOLID_BULK     0.05 /* a slab of an edge 75 times its thickness */
#define BULGES         0.20 /* bulk of an open piece that surrounds something */
#define BENEATH        0.02 /* of the diagonal: flesh this near lies beneath */
#define REACH          0.10 /* of the diagonal: flesh this near may carry along what hangs on it */
#define LIKE           0.25 /* of the weights in common: the flesh beneath moves as what lies on it does */
#define MOST           0.50 /* of a piece's area */
#define ALL_OVER       0.80 /* of it on other flesh: clothes; legs that come out of a dress have less */
#define ENCLOSED       0.90 /* of the samples inside other flesh */
#define INWARD         1e-3 /* of the diagonal: how far below the surface inside is asked for */
#define LITTLE_FLESH   0.20 /* share of the skinned area below which hard surface is meant: hoses between plates */

enum { SAMPLES = 48, ROLES = 5 };

/* Tests of a point against a triangle that one scene may cost: about two seconds. */
#define TEST_BUDGET 2e8

const char *spl_role_name(supple_role role)
{
    static const char *const names[ROLES] = {"flesh", "follow", "rigid", "skip", "own"};
    return names[role];
}

/* ---- pieces while they are judged ---- */

typedef struct court {
    const spl_roles_input *in;
    const supple_allocator *a;
    spl_skin_pieces pieces;
    int32_t *first, *triangle; /* by piece, and one more: its triangles */
    int32_t moving;            /* joints that move something */
    double budget;
    /* the flesh so far */
    int32_t *flesh; /* 3 x triangle_count: its triangles */
    int32_t *flesh_source;
    int32_t flesh_count;
    spl_tree tree;
    spl_winding winding;
    bool ready;
} court;

static void judge(spl_skin_piece *p, supple_role role, const char *why)
{
    p->role = role;
    snprintf(p->why, sizeof p->why, "%s", why);
}

static const char *name_of(const court *c, const spl_skin_piece *p)
{
    return spl_instance_name(c->in->scene, c->in->part[p->part].instance);
}

static bool moves_as_one(const court *c, const spl_skin_piece *p)
{
    double most = p->blended <= MOVES_AS_ONE ? HARD_SEGMENT : MOVES_AS_ONE;
    return c->moving > 1 && p->differing <= most;
}

static double area_of(const spl_surface *s, int32_t t)
{
    const int32_t *c = s->triangle + 3 * (size_t)t;
    spl_vec3 p = s->position[c[0]];
    return 0.5 * spl_norm(spl_cross(spl_sub(s->position[c[1]], p), spl_sub(s->position[c[2]], p)));
}

static void release_flesh(court *c)
{
    if (!c->ready) return;
    spl_winding_release(&c->winding);
    spl_tree_release(&c->tree);
    c->ready = false;
}

/* A tree of the pieces that are flesh so far. */
static supple_result gather_flesh(court *c, supple_error *error)
{
    const spl_surface *s = &c->pieces.surface;
    release_flesh(c);
    c->flesh_count = 0;
    for (int32_t t = 0; t < s->triangle_count; t++) {
        if (c->pieces.piece[s->component[t]].role != SUPPLE_ROLE_FLESH) continue;
        memcpy(c->flesh + 3 * (size_t)c->flesh_count, s->triangle + 3 * (size_t)t, 3 * sizeof *c->flesh);
        c->flesh_source[c->flesh_count++] = t;
    }
    supple_result result = spl_tree_make(s->position, c->flesh, c->flesh_count, c->a, &c->tree, error);
    if (result != SUPPLE_OK) return result;
    result = spl_winding_make(&c->tree, c->a, &c->winding, error);
    if (result != SUPPLE_OK) {
        spl_tree_release(&c->tree);
        return result;
    }
    c->ready = true;
    return SUPPLE_OK;
}

static spl_place middle_of(const spl_surface *s, int32_t t, spl_vec3 *at)
{
    spl_place p = {t, {1.0 / 3, 1.0 / 3, 1.0 / 3}};
    *at = spl_surface_point(s, &p);
    return p;
}

/* Winding number of one piece around a point: the sum of its triangles' solid angles over 4 pi. */
static double winding_of(court *c, int32_t piece, spl_vec3 p)
{
    const spl_surface *s = &c->pieces.surface;
    double sum = 0;
    c->budget -= c->first[piece + 1] - c->first[piece];
    for (int32_t i = c->first[piece]; i < c->first[piece + 1]; i++) {
        const int32_t *k = s->triangle + 3 * (size_t)c->triangle[i];
        spl_vec3 x = spl_sub(s->position[k[0]], p), y = spl_sub(s->position[k[1]], p),
                 z = spl_sub(s->position[k[2]], p);
        double lx = spl_norm(x), ly = spl_norm(y), lz = spl_norm(z);
        double below = lx * ly * lz + spl_dot(x, y) * lz + spl_dot(y, z) * lx + spl_dot(z, x) * ly;
        sum += 2 * atan2(spl_dot(x, spl_cross(y, z)), below);
    }
    return sum / (4 * 3.14159265358979323846);
}

static int32_t step_of(const court *c, int32_t piece)
{
    return (c->first[piece + 1] - c->first[piece]) / SAMPLES + 1;
}

/* Whether a solid lies inside the other flesh. */
static bool is_enclosed(court *c, int32_t piece)
{
    const spl_surface *s = &c->pieces.surface;
    int32_t seen = 0, inside = 0, step = step_of(c, piece);
    for (int32_t i = c->first[piece]; i < c->first[piece + 1]; i += step) {
        spl_vec3 p;
        middle_of(s, c->triangle[i], &p);
        p = spl_madd(p, s->face[c->triangle[i]], -INWARD * s->diagonal);
        if (c->budget < 0) return false;
        inside += spl_winding_number(&c->winding, p) - winding_of(c, piece, p) > 0.5;
        seen++;
    }
    return seen > 0 && inside >= ENCLOSED * seen;
}

/* The largest piece of flesh around a piece; -1 if none is by itself. */
static int32_t around(court *c, int32_t piece)
{
    const spl_surface *s = &c->pieces.surface;
    int32_t best = -1;
    spl_vec3 p;
    middle_of(s, c->triangle[c->first[piece]], &p);
    for (int32_t k = 0; k < c->pieces.count && c->budget > 0; k++) {
        const spl_skin_piece *o = &c->pieces.piece[k];
        if (k == piece || o->role != SUPPLE_ROLE_FLESH || (best >= 0 && o->area <= c->pieces.piece[best].area))
            continue;
        if (winding_of(c, k, p) > 0.5) best = k;
    }
    return best;
}

/* What lies beneath a piece: shares of its area. */
typedef struct beneath {
    double over; /* flesh that moves alike, near or around it */
    double near; /* the same within reach */
} beneath;

static beneath look_beneath(const court *c, int32_t piece)
{
    const spl_surface *s = &c->pieces.surface;
    const spl_skin_weights *w = &c->pieces.weights;
    beneath b = {0};
    double total = 0;
    for (int32_t i = c->first[piece], step = step_of(c, piece); i < c->first[piece + 1]; i += step) {
        spl_vec3 at;
        spl_hit hit;
        spl_place p = middle_of(s, c->triangle[i], &at);
        double area = area_of(s, p.triangle);
        total += area;
        if (!c->flesh_count || !spl_tree_nearest(&c->tree, at, REACH * s->diagonal, -1, &hit)) continue;
        spl_place q = {c->flesh_source[hit.triangle], {hit.bary[0], hit.bary[1], hit.bary[2]}};
        if (spl_weights_alike(s, w, &p, s, w, &q) < LIKE) continue;
        b.near += area;
        if (hit.distance <= BENEATH * s->diagonal || spl_winding_number(&c->winding, at) > 0.5) b.over += area;
    }
    if (total > 0) {
        b.over /= total;
        b.near /= total;
    }
    return b;
}

/* ---- the judgement ---- */

/* By shape and weights alone: what is solid is flesh for now, the rest is left to what lies beneath. */
static void judge_alone(court *c, int32_t k)
{
    spl_skin_piece *p = &c->pieces.piece[k];
    if (moves_as_one(c, p)) {
        p->role = SUPPLE_ROLE_OWN;
        const char *joint = p->joint >= 0 ? c->in->scene->node[p->joint].name : "";
        if (p->led > 1 - HARD_SEGMENT)
            snprintf(p->why, sizeof p->why, "moves with joint '%.40s' alone", joint);
        else
            snprintf(p->why, sizeof p->why, "moves as one, with joint '%.40s' and others", joint);
    } else if (p->bulk < SOLID_BULK)
        judge(p, SUPPLE_ROLE_OWN, p->closed ? "thin: nothing to speak of is inside" : "an open sheet");
    else if (p->closed)
        judge(p, SUPPLE_ROLE_FLESH, "closed and skinned");
    else if (p->openness < NEARLY_SOLID)
        judge(p, SUPPLE_ROLE_FLESH, "nearly closed: its openings are small");
    else
        judge(p, SUPPLE_ROLE_OWN, "an open sheet");
}

static supple_result find_enclosed(court *c, supple_error *error)
{
    supple_result result = gather_flesh(c, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t k = 0; k < c->pieces.count; k++) {
        spl_skin_piece *p = &c->pieces.piece[k];
        if (p->role != SUPPLE_ROLE_FLESH || !is_enclosed(c, k)) continue;
        int32_t o = around(c, k);
        p->role = SUPPLE_ROLE_FOLLOW;
        if (o >= 0)
            snprintf(p->why, sizeof p->why, "enclosed in '%.40s'", name_of(c, &c->pieces.piece[o]));
        else
            judge(p, SUPPLE_ROLE_FOLLOW, "inside the flesh");
    }
    return gather_flesh(c, error);
}

/* Open pieces that bulge, with nothing beneath, are flesh. */
static supple_result close_open(court *c, supple_error *error)
{
    bool any = false;
    for (int32_t k = 0; k < c->pieces.count; k++) {
        spl_skin_piece *p = &c->pieces.piece[k];
        if (p->role != SUPPLE_ROLE_OWN || p->closed || moves_as_one(c, p)) continue;
        if (p->openness >= MAY_BE_CLOSED || p->bulk < BULGES || look_beneath(c, k).over >= ALL_OVER) continue;
        judge(p, SUPPLE_ROLE_FLESH, "open, with nothing beneath: its openings are taken as closed");
        any = true;
    }
    return any ? gather_flesh(c, error) : SUPPLE_OK;
}

/* Where hardly anything is flesh, it is not meant to be: the hoses of a robot. */
static void doubt_flesh(court *c)
{
    double flesh = 0, all = 0;
    for (int32_t k = 0; k < c->pieces.count; k++) {
        all += c->pieces.piece[k].area;
        if (c->pieces.piece[k].role == SUPPLE_ROLE_FLESH) flesh += c->pieces.piece[k].area;
    }
    if (flesh >= LITTLE_FLESH * all) return;
    for (int32_t k = 0; k < c->pieces.count; k++)
        if (c->pieces.piece[k].role == SUPPLE_ROLE_FLESH)
            judge(&c->pieces.piece[k], SUPPLE_ROLE_OWN, "a little flesh among hard surface");
}

static void find_followers(const court *c)
{
    for (int32_t k = 0; k < c->pieces.count; k++) {
        spl_skin_piece *p = &c->pieces.piece[k];
        if (p->role != SUPPLE_ROLE_OWN || c->flesh_count == 0) continue;
        beneath b = look_beneath(c, k);
        size_t used = strlen(p->why);
        if (b.near > 0) p->role = SUPPLE_ROLE_FOLLOW;
        snprintf(p->why + used, sizeof p->why - used,
                 b.over >= MOST ? "; lies on flesh"
                 : b.near > 0   ? "; hangs on flesh"
                                : "; no flesh beneath");
    }
}

static supple_result sort_triangles(court *c, supple_error *error)
{
    const spl_surface *s = &c->pieces.surface;
    size_t n = (size_t)s->triangle_count;
    c->first = spl_new(c->a, (size_t)c->pieces.count + 2, sizeof *c->first);
    c->triangle = spl_new(c->a, n, sizeof *c->triangle);
    c->flesh = spl_new(c->a, n, 3 * sizeof *c->flesh);
    c->flesh_source = spl_new(c->a, n, sizeof *c->flesh_source);
    if (!c->first || !c->triangle || !c->flesh || !c->flesh_source) return spl_fail_memory(error, "the parts");
    for (size_t t = 0; t < n; t++) c->first[s->component[t] + 1]++;
    for (int32_t k = 0; k < c->pieces.count; k++) c->first[k + 1] += c->first[k];
    for (size_t t = n; t-- > 0;) c->triangle[--c->first[s->component[t] + 1]] = (int32_t)t;
    memmove(c->first, c->first + 1, (size_t)c->pieces.count * sizeof *c->first);
    c->first[c->pieces.count] = s->triangle_count;
    return SUPPLE_OK;
}

static supple_result judge_pieces(court *c, supple_error *error)
{
    supple_result result = sort_triangles(c, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t k = 0; k < c->pieces.count; k++) judge_alone(c, k);
    result = find_enclosed(c, error);
    if (result == SUPPLE_OK) result = close_open(c, error);
    if (result != SUPPLE_OK) return result;
    doubt_flesh(c);
    result = gather_flesh(c, error);
    if (result == SUPPLE_OK) find_followers(c);
    return result;
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
static void spread_roles(const court *c, spl_roles *out)
{
    const spl_surface *s = &c->pieces.surface;
    for (int32_t t = 0; t < s->triangle_count; t++)
        out->triangle[c->pieces.scene_triangle[s->source[t]]] = (uint8_t)c->pieces.piece[s->component[t]].role;
    for (int32_t i = 0; i < c->in->part_count; i++) {
        const spl_part *part = &c->in->part[i];
        if (!spl_part_skinned(c->in->scene, part)) continue;
        for (int32_t v = part->first_vertex; v < part->first_vertex + part->primitive->vertex_count; v++) {
            int32_t at = s->map[v], k = at >= 0 ? c->pieces.of_vertex[at] : -1;
            if (k < 0) continue;
            out->vertex[v] = (uint8_t)c->pieces.piece[k].role;
            if (moves_as_one(c, &c->pieces.piece[k])) out->group[v] = k;
        }
    }
    for (int32_t t = 0, part = 0; t < s->triangle_count; t++) { /* pieces that touch at a vertex; sources ascend */
        int32_t number = c->pieces.scene_triangle[s->source[t]];
        while (out->first_triangle[part + 1] <= number) part++;
        const spl_part *p = &c->in->part[part];
        for (size_t k = 0; k < 3; k++) {
            int32_t v = p->first_vertex + p->primitive->triangle[3 * (size_t)(number - out->first_triangle[part]) + k];
            if (role_rank(out->triangle[number]) > role_rank(out->vertex[v])) {
                out->vertex[v] = out->triangle[number];
                out->group[v] = -1;
            }
        }
    }
    out->group_count = c->pieces.count;
}

/* A part's role: that of most of its area, for the reason of the largest piece that has it. */
static supple_result summarise(const court *c, spl_roles *out, supple_error *error)
{
    const spl_surface *s = &c->pieces.surface;
    double *largest = spl_new(c->a, (size_t)c->in->part_count, sizeof *largest), flesh = 0, follow = 0, all = 0;
    if (!largest) return spl_fail_memory(error, "the parts");
    for (int32_t t = 0, part = 0; t < s->triangle_count; t++) { /* sources ascend */
        int32_t number = c->pieces.scene_triangle[s->source[t]];
        while (out->first_triangle[part + 1] <= number) part++;
        double area = area_of(s, t);
        out->part[part].share[out->triangle[number]] += area;
        out->part[part].area += area;
    }
    for (int32_t i = 0; i < c->in->part_count; i++) {
        spl_role *r = &out->part[i];
        if (!spl_part_skinned(c->in->scene, &c->in->part[i])) continue;
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
        int32_t number = c->pieces.scene_triangle[s->source[t]];
        while (out->first_triangle[part + 1] <= number) part++;
        const spl_skin_piece *p = &c->pieces.piece[s->component[t]];
        spl_role *r = &out->part[part];
        if (p->role != r->role || !(p->area > largest[part])) continue;
        largest[part] = p->area;
        memcpy(r->why, p->why, sizeof r->why);
    }
    out->flesh_share = all > 0 ? flesh / all : 0;
    out->follow_share = all > 0 ? follow / all : 0;
    spl_free(c->a, largest);
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
    court c = {.in = in, .a = a, .budget = TEST_BUDGET};
    for (int32_t n = 0; n < in->scene->node_count; n++)
        c.moving += in->bones->influence[n] > 0 && in->bones->merged_into[n] == n;
    supple_result result = create(in, a, out, error);
    if (result == SUPPLE_OK)
        result = spl_pieces_make(in->scene, in->part, in->part_count, in->position, in->bones->merged_into, a,
                                 &c.pieces, error);
    for (int32_t i = 0; result == SUPPLE_OK && i < in->part_count; i++)
        result = describe_surface(&in->part[i], in->position, c.pieces.surface.diagonal, a, &out->part[i], error);
    if (result == SUPPLE_OK) result = judge_pieces(&c, error);
    if (result == SUPPLE_OK) {
        spread_roles(&c, out);
        result = summarise(&c, out, error);
    }
    if (result == SUPPLE_OK) result = apply_rules(in, out, error);
    release_flesh(&c);
    spl_free(a, c.first);
    spl_free(a, c.triangle);
    spl_free(a, c.flesh);
    spl_free(a, c.flesh_source);
    spl_pieces_release(&c.pieces);
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
