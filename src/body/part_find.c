/* Where the surface passes through itself or nearly does, and which way its vertices are to go: into their own flesh.
 */
#include "body/part_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP       0.05 /* in cells: wanted between parts of the surface */
#define OVERDO    1.15 /* of the gap is asked for, or the last bit would take for ever */
#define STEP_DEEP 0.10 /* in cells: way of a vertex inside of other flesh, in one round */
#define STEP      0.06 /* of a place where an edge passes through a triangle */

struct part_finder {
    const spl_tets *tets;
    supple_allocator allocator;
    spl_pool *pool;
    double cell;
    spl_primitives p;
    int32_t *edge, *point;
    int32_t *first, *beside; /* by vertex: those that an edge of the surface leads to */
    spl_pairs *pairs;
    spl_box_tree points, flesh;
    spl_gather inside;
    int32_t *key;
    spl_pair *sunk;
    size_t sunk_room;
    spl_vec3 *normal; /* by vertex of the surface, unit */
    spl_vec3 *smooth; /* working memory */
    int32_t *corner_first, *corner; /* by vertex: 3 x triangle + k of the surface's triangles there */
    bool *front; /* by vertex: more than one sheet of the surface meets there */
    part_found found;
};

/* ---- neighbours ---- */

static bool adjacent(const part_finder *f, int32_t v, int32_t w)
{
    for (int32_t i = f->first[v]; i < f->first[v + 1]; i++)
        if (f->beside[i] == w) return true;
    return false;
}

/* Pairs that an edge connects are one sheet. */
static bool is_sheet(const void *context, const spl_pair *pair)
{
    const part_finder *f = context;
    int split = spl_pair_split((spl_pair_kind)pair->kind);
    for (int i = 0; i < split; i++)
        for (int k = split; k < 4; k++)
            if (adjacent(f, pair->v[i], pair->v[k])) return true;
    return false;
}

static supple_result list_neighbours(part_finder *f, supple_error *error)
{
    size_t n = (size_t)f->tets->vertex_count, edges = (size_t)f->p.edge_count;
    f->first = spl_new(&f->allocator, n + 2, sizeof *f->first);
    f->beside = spl_new(&f->allocator, 2 * edges, sizeof *f->beside);
    if (!f->first || !f->beside) return spl_fail_memory(error, "parting the surface");
    for (size_t i = 0; i < 2 * edges; i++) f->first[f->edge[i] + 2]++;
    for (size_t v = 0; v <= n; v++) f->first[v + 1] += f->first[v];
    for (size_t i = 0; i < 2 * edges; i++) f->beside[f->first[f->edge[i] + 1]++] = f->edge[i ^ 1];
    return SUPPLE_OK;
}

static supple_result list_corners(part_finder *f, supple_error *error)
{
    size_t n = (size_t)f->tets->vertex_count, corners = 3 * (size_t)f->tets->surface_count;
    f->corner_first = spl_new(&f->allocator, n + 2, sizeof *f->corner_first);
    f->corner = spl_new(&f->allocator, corners, sizeof *f->corner);
    f->front = spl_new(&f->allocator, n, sizeof *f->front);
    if (!f->corner_first || !f->corner || !f->front) return spl_fail_memory(error, "parting the surface");
    for (size_t i = 0; i < corners; i++) f->corner_first[f->tets->surface[i] + 2]++;
    for (size_t v = 0; v <= n; v++) f->corner_first[v + 1] += f->corner_first[v];
    for (size_t i = 0; i < corners; i++) f->corner[f->corner_first[f->tets->surface[i] + 1]++] = (int32_t)i;
    return SUPPLE_OK;
}

/* The triangle at a corner's vertex v that shares the edge from v to the corner's next vertex; -1 if not just one. */
static int32_t next_around(const part_finder *f, int32_t corner)
{
    const int32_t *s = f->tets->surface;
    int32_t v = s[corner], to = s[corner % 3 == 2 ? corner - 2 : corner + 1], found = -1;
    for (int32_t i = f->corner_first[v]; i < f->corner_first[v + 1]; i++) {
        int32_t c = f->corner[i], before = s[c % 3 == 0 ? c + 2 : c - 1];
        if (before != to) continue;
        if (found >= 0) return -1;
        found = c;
    }
    return found;
}

/* Going round a vertex of a single sheet leads through all of its triangles. */
static bool is_front(const part_finder *f, int32_t v)
{
    int32_t count = f->corner_first[v + 1] - f->corner_first[v], start = f->corner[f->corner_first[v]], at = start;
    for (int32_t i = 1; i < count; i++) {
        at = next_around(f, at);
        if (at < 0 || at == start) return true;
    }
    return next_around(f, at) != start;
}

/* ---- creation ---- */

static supple_result make_primitives(part_finder *f, supple_error *error)
{
    const spl_tets *t = f->tets;
    f->p =
        (spl_primitives){.vertex_count = t->vertex_count, .triangle = t->surface, .triangle_count = t->surface_count};
    supple_result r =
        spl_primitives_edges(t->surface, t->surface_count, &f->allocator, &f->edge, &f->p.edge_count, error);
    if (r == SUPPLE_OK)
        r = spl_primitives_vertices(t->surface, t->surface_count, &f->allocator, &f->point, &f->p.point_count, error);
    f->p.edge = f->edge;
    f->p.point = f->point;
    return r;
}

static supple_result make_parts(part_finder *f, supple_error *error)
{
    const supple_allocator *a = &f->allocator;
    size_t n = (size_t)f->tets->vertex_count;
    supple_result r = make_primitives(f, error);
    if (r == SUPPLE_OK) r = list_neighbours(f, error);
    if (r == SUPPLE_OK) r = list_corners(f, error);
    for (int32_t i = 0; r == SUPPLE_OK && i < f->p.point_count; i++) f->front[f->point[i]] = is_front(f, f->point[i]);
    if (r == SUPPLE_OK) r = spl_pairs_create(&f->p, NULL, NULL, a, &f->pairs, error);
    if (r == SUPPLE_OK) r = spl_box_tree_create(f->p.point_count, a, &f->points, error);
    if (r == SUPPLE_OK) r = spl_box_tree_create(f->tets->tet_count, a, &f->flesh, error);
    if (r == SUPPLE_OK) r = spl_gather_create(&f->points, &f->flesh, a, &f->inside, error);
    if (r != SUPPLE_OK) return r;
    f->key = spl_new(a, n + 1, sizeof *f->key);
    f->normal = spl_new(a, n, sizeof *f->normal);
    f->smooth = spl_new(a, n, sizeof *f->smooth);
    f->found.push = spl_new(a, n, sizeof *f->found.push);
    f->found.share = spl_new(a, n, sizeof *f->found.share);
    bool made = f->key && f->normal && f->found.push && f->found.share;
    return made ? SUPPLE_OK : spl_fail_memory(error, "parting the surface");
}

supple_result spl_part_finder_create(const spl_tets *tets, double cell, spl_pool *pool, part_finder **out,
                                     supple_error *error)
{
    part_finder *f = *out = spl_new(&tets->allocator, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "parting the surface");
    f->tets = tets;
    f->allocator = tets->allocator;
    f->pool = pool;
    f->cell = cell;
    return make_parts(f, error);
}

void spl_part_finder_destroy(part_finder *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    void *block[] = {f->edge, f->point, f->first, f->beside, f->key, f->normal, f->sunk, f->found.push, f->found.share};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(&a, block[i]);
    spl_pairs_destroy(f->pairs);
    spl_gather_release(&f->inside);
    spl_box_tree_release(&f->points);
    spl_box_tree_release(&f->flesh);
    spl_free(&a, f);
}

const part_found *spl_part_finder_found(const part_finder *f)
{
    return &f->found;
}

/* ---- which way ---- */

static void find_normals(part_finder *f)
{
    const spl_tets *t = f->tets;
    const spl_vec3 *x = t->position, none = {0, 0, 0};
    for (int32_t i = 0; i < f->p.point_count; i++) f->normal[f->point[i]] = none;
    for (int32_t i = 0; i < t->surface_count; i++) {
        const int32_t *c = t->surface + 3 * (size_t)i;
        spl_vec3 n = spl_cross(spl_sub(x[c[1]], x[c[0]]), spl_sub(x[c[2]], x[c[0]]));
        for (int k = 0; k < 3; k++) f->normal[c[k]] = spl_add(f->normal[c[k]], n);
    }
    for (int32_t i = 0; i < f->p.point_count; i++) {
        int32_t v = f->point[i];
        f->normal[v] = f->front[v] && !getenv("NOFRONT") ? none : spl_unit(f->normal[v], none);
    }
}

/* Each with half the sum of its neighbours': ways of vertices beside each other are alike. */
static void smooth_normals(part_finder *f)
{
    for (int32_t i = 0; i < f->p.point_count; i++) {
        int32_t v = f->point[i];
        spl_vec3 n = spl_scale(f->normal[v], 2);
        for (int32_t k = f->first[v]; k < f->first[v + 1]; k++) n = spl_madd(n, f->normal[f->beside[k]], 0.5);
        f->smooth[v] = f->front[v] && !getenv("NOFRONT") ? f->normal[v] : spl_unit(n, f->normal[v]);
    }
    memcpy(f->normal, f->smooth, (size_t)f->tets->vertex_count * sizeof *f->normal);
}

/* The outward normal at a place of some vertices with weights that sum up to 1 (or -1). */
static spl_vec3 normal_at(const part_finder *f, const int32_t *v, const double *w, int count)
{
    spl_vec3 n = {0, 0, 0};
    for (int i = 0; i < count; i++) n = spl_madd(n, f->normal[v[i]], fabs(w[i]));
    return spl_unit(n, spl_v3(0, 0, 0));
}

/* The place between some vertices is to move by `way`. */
static void push_place(part_finder *f, const int32_t *v, const double *w, int count, spl_vec3 way)
{
    double squares = 0;
    for (int i = 0; i < count; i++) squares += w[i] * w[i];
    for (int i = 0; i < count; i++) {
        double share = fabs(w[i]);
        f->found.push[v[i]] = spl_madd(f->found.push[v[i]], way, share * share / squares);
        f->found.share[v[i]] += share;
    }
}

/* ---- crossings ---- */

/* How far it is to go at least until the edge no longer passes through the triangle: to an end of the edge, or to a side
 * of the triangle. */
static double crossing_depth(const spl_vec3 *x, const int32_t *t, const double in[3], double here, double there,
                             double area)
{
    double least = fmin(fabs(here), fabs(there)) / area;
    for (int i = 0; i < 3; i++)
        least = fmin(least, in[i] * area / spl_distance(x[t[(i + 1) % 3]], x[t[(i + 2) % 3]]));
    return least;
}

/* Of the triangles at an edge; unit. */
static spl_vec3 edge_normal(const part_finder *f, const int32_t e[2])
{
    const spl_vec3 *x = f->tets->position;
    spl_vec3 sum = {0, 0, 0};
    for (int32_t i = f->corner_first[e[0]]; i < f->corner_first[e[0] + 1]; i++) {
        const int32_t *t = f->tets->surface + 3 * (size_t)(f->corner[i] / 3);
        if (t[0] != e[1] && t[1] != e[1] && t[2] != e[1]) continue;
        sum = spl_add(sum, spl_cross(spl_sub(x[t[1]], x[t[0]]), spl_sub(x[t[2]], x[t[0]])));
    }
    return spl_unit(sum, spl_v3(0, 0, 0));
}

static void add_crossing(void *context, const int32_t e[2], const int32_t t[3])
{
    part_finder *f = context;
    const spl_vec3 *x = f->tets->position;
    spl_vec3 a = x[t[0]], b = x[t[1]], c = x[t[2]], n = spl_cross(spl_sub(b, a), spl_sub(c, a));
    double here = spl_dot(n, spl_sub(x[e[0]], a)), there = spl_dot(n, spl_sub(x[e[1]], a));
    double s = here / (here - there), area = spl_norm(n), on_edge[2] = {1 - s, s}, in[3];
    spl_vec3 p = spl_lerp(x[e[0]], x[e[1]], s);
    in[0] = spl_dot(n, spl_cross(spl_sub(b, p), spl_sub(c, p))) / (area * area);
    in[1] = spl_dot(n, spl_cross(spl_sub(c, p), spl_sub(a, p))) / (area * area);
    in[2] = 1 - in[0] - in[1];
    for (int i = 0; i < 3; i++) in[i] = fmin(fmax(in[i], 0), 1);
    double by = fmin(STEP * f->cell, 0.5 * (crossing_depth(x, t, in, here, there, area) + GAP * f->cell));
    spl_vec3 of_edge = normal_at(f, e, on_edge, 2), of_triangle = normal_at(f, t, in, 3);
    double face = getenv("FACE") ? atof(getenv("FACE")) : 0.5;
    of_edge = spl_unit(spl_madd(of_edge, edge_normal(f, e), face), of_edge);
    of_triangle = spl_unit(spl_madd(of_triangle, n, face / area), of_triangle);
    spl_vec3 apart = spl_sub(of_triangle, of_edge);
    push_place(f, e, on_edge, 2, spl_scale(spl_unit(apart, spl_scale(of_edge, -1)), by));
    push_place(f, t, in, 3, spl_scale(spl_unit(spl_scale(apart, -1), spl_scale(of_triangle, -1)), by));
}

/* ---- near pairs ---- */

static void add_near(part_finder *f, const spl_pair *pair)
{
    double x[4][3];
    spl_pair_kind kind = (spl_pair_kind)pair->kind;
    int split = spl_pair_split(kind);
    spl_vec3 way = {0, 0, 0};
    for (int i = 0; i < 4; i++) memcpy(x[i], &f->tets->position[pair->v[i]], sizeof x[i]);
    spl_nearest at = spl_pair_nearest(kind, (const double(*)[3])x);
    for (int i = 0; i < 4; i++) way = spl_madd(way, f->tets->position[pair->v[i]], at.w[i]);
    spl_vec3 a = normal_at(f, pair->v, at.w, split), b = normal_at(f, pair->v + split, at.w + split, 4 - split);
    double d = spl_norm(way);
    spl_vec3 r = d > 1e-9 * f->cell ? spl_scale(way, 1 / d) : spl_v3(0, 0, 0);
    if (spl_dot(r, a) > 0.2 && spl_dot(r, b) < -0.2) return; /* flesh is between, not a gap */
    bool outside = spl_dot(r, b) > 0 || spl_dot(r, a) < 0;
    double by = 0.5 * (OVERDO * GAP * f->cell - d);
    f->found.near++;
    spl_vec3 go = spl_unit(spl_sub(outside ? r : spl_v3(0, 0, 0), a), spl_v3(0, 0, 0));
    push_place(f, pair->v, at.w, split, spl_scale(go, by));
    go = spl_unit(spl_sub(outside ? spl_scale(r, -1) : spl_v3(0, 0, 0), b), spl_v3(0, 0, 0));
    push_place(f, pair->v + split, at.w + split, 4 - split, spl_scale(go, by));
}

static supple_result find_near(part_finder *f, supple_error *error)
{
    int32_t count;
    supple_result r = spl_pairs_find(f->pairs, (const double *)f->tets->position, NULL, GAP * f->cell, f->pool, error);
    const spl_pair *list = spl_pairs_list(f->pairs, &count);
    for (int32_t i = 0; r == SUPPLE_OK && i < count; i++)
        if (!is_sheet(f, &list[i])) add_near(f, &list[i]);
    return r;
}

/* ---- vertices inside of other flesh ---- */

static spl_box box_around(const spl_vec3 *x, const int32_t *v, int count)
{
    spl_vec3 low = x[v[0]], high = low;
    for (int i = 1; i < count; i++) {
        spl_vec3 p = x[v[i]];
        low = spl_v3(fmin(low.x, p.x), fmin(low.y, p.y), fmin(low.z, p.z));
        high = spl_v3(fmax(high.x, p.x), fmax(high.y, p.y), fmax(high.z, p.z));
    }
    return (spl_box){{spl_round_down(low.x), spl_round_down(low.y), spl_round_down(low.z)},
                     {spl_round_up(high.x), spl_round_up(high.y), spl_round_up(high.z)},
                     1};
}

static spl_box point_box(const void *context, int32_t i)
{
    const part_finder *f = context;
    return box_around(f->tets->position, f->point + i, 1);
}

static spl_box tet_box(const void *context, int32_t i)
{
    const part_finder *f = context;
    return box_around(f->tets->position, f->tets->tet + 4 * (size_t)i, 4);
}

static double volume(spl_vec3 a, spl_vec3 b, spl_vec3 c, spl_vec3 d)
{
    return spl_dot(spl_sub(b, a), spl_cross(spl_sub(c, a), spl_sub(d, a)));
}

static bool is_inside(const void *context, int32_t point, int32_t tet, spl_pair *out)
{
    const part_finder *f = context;
    const int32_t *c = f->tets->tet + 4 * (size_t)tet, v = f->point[point];
    const spl_vec3 *x = f->tets->position;
    if (c[0] == v || c[1] == v || c[2] == v || c[3] == v) return false;
    for (int i = 0; i < 4; i++) {
        const uint8_t *o = spl_tet_face[i];
        if (volume(x[c[o[0]]], x[c[o[1]]], x[c[o[2]]], x[v]) >= 0) return false; /* outward of a face */
    }
    *out = (spl_pair){.v = {v, tet, 0, 0}};
    return true;
}

static supple_result find_sunk(part_finder *f, supple_error *error)
{
    spl_box_tree_fit(&f->points, point_box, f, f->pool);
    spl_box_tree_fit(&f->flesh, tet_box, f, f->pool);
    supple_result r = spl_gather_find(&f->inside, is_inside, f, f->pool, error);
    if (r != SUPPLE_OK) return r;
    if (f->inside.count > f->sunk_room) {
        spl_pair *grown = spl_resize(&f->allocator, f->sunk, f->inside.count, sizeof *grown);
        if (!grown) return spl_fail_memory(error, "parting the surface");
        f->sunk = grown;
        f->sunk_room = f->inside.count;
    }
    size_t count = spl_gather_sorted(&f->inside, f->key, f->tets->vertex_count, f->pool, f->sunk);
    for (size_t i = 0; i < count; i++) {
        int32_t v = f->sunk[i].v[0];
        double one = 1;
        if (i > 0 && f->sunk[i - 1].v[0] == v) continue;
        push_place(f, &v, &one, 1, spl_scale(f->normal[v], -STEP_DEEP * f->cell));
        f->found.sunk++;
    }
    return SUPPLE_OK;
}

supple_result spl_part_find(part_finder *f, supple_error *error)
{
    size_t n = (size_t)f->tets->vertex_count;
    memset(f->found.push, 0, n * sizeof *f->found.push);
    memset(f->found.share, 0, n * sizeof *f->found.share);
    f->found.near = f->found.sunk = 0;
    find_normals(f);
    smooth_normals(f);
    f->found.crossings = spl_pairs_crossings(f->pairs, (const double *)f->tets->position, f->pool, add_crossing, f);
    if (f->found.crossings < 0) return spl_fail_memory(error, "parting the surface");
    supple_result r = f->found.crossings > 0 ? find_sunk(f, error) : SUPPLE_OK;
    if (r == SUPPLE_OK) r = find_near(f, error);
    if (getenv("PARTV"))
        fprintf(stderr, "  cross %d sunk %d near %d\n", f->found.crossings, f->found.sunk, f->found.near);
    return r;
}
