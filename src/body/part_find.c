/* Where the surface passes through itself or nearly does, and which way its vertices are to go: into their own flesh.
 */
#include "body/part_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/gather.h"
#include "geom/pairs.h"

#include <string.h>

#define OVERDO    1.15 /* of the gap is asked for: the last bit of it would take for ever */
#define STEP_DEEP 0.10 /* in cells: way of a vertex inside of other flesh, in one look */
#define STEP      0.06 /* ... of a place where an edge passes through a triangle, at most */
#define FACE      0.5  /* share of the normals of edges and triangles beside those of vertices */
#define HOME      2.0  /* share of the way between the skins of sheets that face the same way */
#define HOME_DEEP 0.5  /* ... of vertices inside of other flesh */
#define SHEET     0.5  /* of the weights connected by edges: one sheet */
#define BETWEEN   0.2  /* cosine from which a normal points along the way between two places */

struct part_finder {
    const spl_tets *tets;
    supple_allocator allocator;
    spl_pool *pool;
    double cell;
    const spl_vec3 *home; /* by vertex: the place of the skin that it belongs to; NULL: unknown */
    bool look_inside;
    spl_primitives p; /* of the surface that is looked at */
    int32_t *triangle, *edge, *point, *tet;
    int32_t tet_count;
    int32_t *beside_first, *beside; /* by vertex: those that an edge leads to */
    int32_t *corner_first, *corner; /* by vertex: its corners of triangles, 3 t + k */
    bool *front;                    /* by vertex: sheets of the surface meet there, and it has no normal */
    spl_vec3 *normal, *rough;       /* by vertex: outward, unit; and before they were made even */
    spl_pairs *pairs;
    spl_box_tree points, flesh; /* for vertices inside of tetrahedra */
    spl_gather inside;
    int32_t *key;
    spl_pair *sunk;
    size_t sunk_room;
    part_found found;
};

/* ---- creation ---- */

/* Of `count` things with so many corners each, those with one within. */
static int32_t *choose(const part_finder *f, const int32_t *all, int32_t count, size_t corners, const bool *within,
                       int32_t *chosen)
{
    int32_t *list = spl_new(&f->allocator, (size_t)count, corners * sizeof *list);
    *chosen = 0;
    for (int32_t i = 0; list && i < count; i++) {
        const int32_t *c = all + corners * (size_t)i;
        bool is = !within;
        for (size_t k = 0; k < corners && !is; k++) is = within[c[k]];
        if (is) memcpy(list + corners * (size_t)(*chosen)++, c, corners * sizeof *c);
    }
    return list;
}

static supple_result choose_primitives(part_finder *f, const bool *within, supple_error *error)
{
    const spl_tets *t = f->tets;
    f->p.vertex_count = t->vertex_count;
    f->triangle = choose(f, t->surface, t->surface_count, 3, within, &f->p.triangle_count);
    f->tet = choose(f, t->tet, within ? t->tet_count : 0, 4, within, &f->tet_count);
    if (!f->triangle || !f->tet) return spl_fail_memory(error, "parting the surface");
    supple_result r =
        spl_primitives_edges(f->triangle, f->p.triangle_count, &f->allocator, &f->edge, &f->p.edge_count, error);
    if (r == SUPPLE_OK)
        r = spl_primitives_vertices(f->triangle, f->p.triangle_count, &f->allocator, &f->point, &f->p.point_count,
                                    error);
    f->p.triangle = f->triangle;
    f->p.edge = f->edge;
    f->p.point = f->point;
    return r;
}

/* Which entries of `end` are v, by v: their numbers in *list from first[v] on. */
static bool list_ends(const part_finder *f, const int32_t *end, size_t count, int32_t **first, int32_t **list)
{
    size_t n = (size_t)f->tets->vertex_count;
    int32_t *at = *first = spl_new(&f->allocator, n + 2, sizeof *at);
    *list = spl_new(&f->allocator, count, sizeof **list);
    if (!at || !*list) return false;
    for (size_t i = 0; i < count; i++) at[end[i] + 2]++;
    for (size_t v = 0; v <= n; v++) at[v + 1] += at[v];
    for (size_t i = 0; i < count; i++) (*list)[at[end[i] + 1]++] = (int32_t)i;
    return true;
}

/* The corner at the same vertex in the triangle over the edge to the corner's next vertex; -1 if there is not just one.
 */
static int32_t next_around(const part_finder *f, int32_t corner)
{
    const int32_t *t = f->triangle;
    int32_t v = t[corner], to = t[corner % 3 == 2 ? corner - 2 : corner + 1], found = -1;
    for (int32_t i = f->corner_first[v]; i < f->corner_first[v + 1]; i++) {
        int32_t c = f->corner[i];
        if (t[c % 3 == 0 ? c + 2 : c - 1] != to) continue;
        if (found >= 0) return -1;
        found = c;
    }
    return found;
}

/* Round a vertex of a single sheet one comes through all of its triangles. */
static bool is_front(const part_finder *f, int32_t v)
{
    int32_t count = f->corner_first[v + 1] - f->corner_first[v], start = f->corner[f->corner_first[v]], at = start;
    for (int32_t i = 1; i < count; i++) {
        at = next_around(f, at);
        if (at < 0 || at == start) return true;
    }
    return next_around(f, at) != start;
}

static supple_result list_neighbours(part_finder *f, supple_error *error)
{
    size_t edges = (size_t)f->p.edge_count, corners = 3 * (size_t)f->p.triangle_count;
    f->front = spl_new(&f->allocator, (size_t)f->tets->vertex_count, sizeof *f->front);
    if (!f->front || !list_ends(f, f->edge, 2 * edges, &f->beside_first, &f->beside) ||
        !list_ends(f, f->triangle, corners, &f->corner_first, &f->corner))
        return spl_fail_memory(error, "parting the surface");
    for (size_t i = 0; i < 2 * edges; i++) f->beside[i] = f->edge[f->beside[i] ^ 1];
    for (int32_t i = 0; i < f->p.point_count; i++) f->front[f->point[i]] = is_front(f, f->point[i]);
    return SUPPLE_OK;
}

static supple_result make_parts(part_finder *f, const bool *within, supple_error *error)
{
    const supple_allocator *a = &f->allocator;
    size_t n = (size_t)f->tets->vertex_count;
    supple_result r = choose_primitives(f, within, error);
    if (r == SUPPLE_OK) r = list_neighbours(f, error);
    if (r == SUPPLE_OK) r = spl_pairs_create(&f->p, NULL, NULL, a, &f->pairs, error);
    if (r == SUPPLE_OK) r = spl_box_tree_create(f->p.point_count, a, &f->points, error);
    if (r == SUPPLE_OK) r = spl_box_tree_create(f->tet_count, a, &f->flesh, error);
    if (r == SUPPLE_OK) r = spl_gather_create(&f->points, &f->flesh, a, &f->inside, error);
    if (r != SUPPLE_OK) return r;
    f->key = spl_new(a, n + 1, sizeof *f->key);
    f->normal = spl_new(a, n, sizeof *f->normal);
    f->rough = spl_new(a, n, sizeof *f->rough);
    f->found.push = spl_new(a, n, sizeof *f->found.push);
    f->found.share = spl_new(a, n, sizeof *f->found.share);
    bool made = f->key && f->normal && f->rough && f->found.push && f->found.share;
    return made ? SUPPLE_OK : spl_fail_memory(error, "parting the surface");
}

supple_result spl_part_finder_create(const spl_tets *tets, const spl_vec3 *home, const bool *within, double cell,
                                     spl_pool *pool, part_finder **out, supple_error *error)
{
    *out = NULL;
    part_finder *f = spl_new(&tets->allocator, 1, sizeof *f);
    if (!f) return spl_fail_memory(error, "parting the surface");
    *f = (part_finder){.tets = tets,
                       .allocator = tets->allocator,
                       .pool = pool,
                       .cell = cell,
                       .home = home,
                       .look_inside = within != NULL};
    supple_result result = make_parts(f, within, error);
    if (result == SUPPLE_OK)
        *out = f;
    else
        spl_part_finder_destroy(f);
    return result;
}

void spl_part_finder_destroy(part_finder *f)
{
    if (!f) return;
    supple_allocator a = f->allocator;
    void *block[] = {f->triangle, f->edge,         f->point,      f->tet,         f->beside_first,
                     f->beside,   f->corner_first, f->corner,     f->front,       f->normal,
                     f->rough,    f->key,          f->found.push, f->found.share, f->sunk};
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

static spl_vec3 twice_area(const part_finder *f, const int32_t *t)
{
    const spl_vec3 *x = f->tets->position;
    return spl_cross(spl_sub(x[t[1]], x[t[0]]), spl_sub(x[t[2]], x[t[0]]));
}

/* Each is made even with those beside it: their ways are alike then, and the surface keeps together. Limbs that part do
 * so at fronts, over which nothing is made even. */
static void find_normals(part_finder *f)
{
    const spl_vec3 none = {0, 0, 0};
    for (int32_t i = 0; i < f->p.point_count; i++) f->rough[f->point[i]] = none;
    for (int32_t i = 0; i < f->p.triangle_count; i++) {
        const int32_t *t = f->triangle + 3 * (size_t)i;
        spl_vec3 n = twice_area(f, t);
        for (int k = 0; k < 3; k++) f->rough[t[k]] = spl_add(f->rough[t[k]], n);
    }
    for (int32_t i = 0; i < f->p.point_count; i++) {
        int32_t v = f->point[i];
        f->rough[v] = f->front[v] ? none : spl_unit(f->rough[v], none);
    }
    for (int32_t i = 0; i < f->p.point_count; i++) {
        int32_t v = f->point[i];
        spl_vec3 n = spl_scale(f->rough[v], 2);
        for (int32_t k = f->beside_first[v]; k < f->beside_first[v + 1]; k++)
            n = spl_madd(n, f->rough[f->beside[k]], 0.5);
        f->normal[v] = f->front[v] ? none : spl_unit(n, f->rough[v]);
    }
}

/* At a place between vertices; weights count without their sign. Zero where all of them are fronts. */
static spl_vec3 normal_at(const part_finder *f, const int32_t *v, const double *w, int count)
{
    spl_vec3 n = {0, 0, 0};
    for (int i = 0; i < count; i++) n = spl_madd(n, f->normal[v[i]], fabs(w[i]));
    return spl_unit(n, spl_v3(0, 0, 0));
}

/* Of the triangles at an edge. */
static spl_vec3 edge_normal(const part_finder *f, const int32_t e[2])
{
    spl_vec3 sum = {0, 0, 0};
    for (int32_t i = f->corner_first[e[0]]; i < f->corner_first[e[0] + 1]; i++) {
        const int32_t *t = f->triangle + 3 * (size_t)(f->corner[i] / 3);
        if (t[0] == e[1] || t[1] == e[1] || t[2] == e[1]) sum = spl_add(sum, twice_area(f, t));
    }
    return spl_unit(sum, spl_v3(0, 0, 0));
}

/* A place between vertices is to go this way: those that have more of it go farther (w_i over the sum of squares moves
 * the place by all of it), and it counts for more with them. */
static void push_place(part_finder *f, const int32_t *v, const double *w, int count, spl_vec3 way)
{
    double squares = 0;
    for (int i = 0; i < count; i++) squares += w[i] * w[i];
    for (int i = 0; i < count; i++) {
        f->found.push[v[i]] = spl_madd(f->found.push[v[i]], way, w[i] * w[i] / squares);
        f->found.share[v[i]] += fabs(w[i]);
    }
}

/* Towards the skin of the first place from that of the second, as far as normals there are alike: sheets that face the
 * same way do not part along them. */
static spl_vec3 homewards(const part_finder *f, const int32_t *v, const double *w, int split, int count, double alike)
{
    spl_vec3 way = {0, 0, 0};
    if (!f->home || !(alike > 0)) return way;
    for (int i = 0; i < count; i++) way = spl_madd(way, f->home[v[i]], i < split ? fabs(w[i]) : -fabs(w[i]));
    return spl_scale(spl_unit(way, spl_v3(0, 0, 0)), HOME * alike);
}

/* ---- crossings ---- */

/* Where an edge passes through a triangle. */
typedef struct crossing {
    double on_edge[2], in_triangle[3];
    spl_vec3 normal; /* of the triangle, unit */
    double depth;    /* the way, at least, after which it does not: to an end of the edge, or a side of the triangle */
} crossing;

static crossing look_at_crossing(const part_finder *f, const int32_t e[2], const int32_t t[3])
{
    const spl_vec3 *x = f->tets->position;
    spl_vec3 n = twice_area(f, t);
    double area = spl_norm(n);
    crossing c = {.normal = spl_unit(n, spl_v3(0, 0, 0))};
    double here = spl_dot(c.normal, spl_sub(x[e[0]], x[t[0]])), there = spl_dot(c.normal, spl_sub(x[e[1]], x[t[0]]));
    c.on_edge[1] = here / (here - there);
    c.on_edge[0] = 1 - c.on_edge[1];
    c.depth = fmin(fabs(here), fabs(there));
    spl_vec3 p = spl_lerp(x[e[0]], x[e[1]], c.on_edge[1]);
    for (int i = 0; i < 3; i++) {
        spl_vec3 a = x[t[(i + 1) % 3]], b = x[t[(i + 2) % 3]];
        double high = spl_dot(c.normal, spl_cross(spl_sub(a, p), spl_sub(b, p)));
        c.in_triangle[i] = fmin(fmax(high / area, 0), 1);
        c.depth = fmin(c.depth, fmax(high, 0) / spl_distance(a, b));
    }
    return c;
}

/* Both go into their own flesh, along a common line: a tip that pokes through a side goes back the way it came. */
static void add_crossing(void *context, const int32_t e[2], const int32_t t[3])
{
    part_finder *f = context;
    crossing c = look_at_crossing(f, e, t);
    spl_vec3 a = normal_at(f, e, c.on_edge, 2), b = normal_at(f, t, c.in_triangle, 3);
    a = spl_unit(spl_madd(a, edge_normal(f, e), FACE), a);
    b = spl_unit(spl_madd(b, c.normal, FACE), b);
    double by = fmin(STEP * f->cell, 0.5 * (c.depth + SPL_PART_GAP * f->cell));
    const int32_t v[5] = {e[0], e[1], t[0], t[1], t[2]};
    const double w[5] = {c.on_edge[0], c.on_edge[1], c.in_triangle[0], c.in_triangle[1], c.in_triangle[2]};
    spl_vec3 apart = spl_add(spl_sub(b, a), homewards(f, v, w, 2, 5, spl_dot(a, b)));
    push_place(f, e, c.on_edge, 2, spl_scale(spl_unit(apart, spl_scale(a, -1)), by));
    push_place(f, t, c.in_triangle, 3, spl_scale(spl_unit(spl_scale(apart, -1), spl_scale(b, -1)), by));
}

/* ---- gaps that are too narrow ---- */

static bool is_beside(const part_finder *f, int32_t v, int32_t w)
{
    for (int32_t i = f->beside_first[v]; i < f->beside_first[v + 1]; i++)
        if (f->beside[i] == w) return true;
    return false;
}

/* Places between vertices most of which edges connect are near each other along one sheet. */
static bool is_sheet(const part_finder *f, const spl_pair *pair, const double w[4])
{
    int split = spl_pair_split((spl_pair_kind)pair->kind);
    double connected = 0;
    for (int i = 0; i < split; i++)
        for (int k = split; k < 4; k++)
            if (w[i] != 0 && w[k] != 0 && is_beside(f, pair->v[i], pair->v[k])) connected += fabs(w[i] * w[k]);
    return connected > SHEET;
}

static void add_near(part_finder *f, const spl_pair *pair)
{
    double x[4][3];
    const spl_vec3 none = {0, 0, 0};
    spl_pair_kind kind = (spl_pair_kind)pair->kind;
    int split = spl_pair_split(kind);
    for (int i = 0; i < 4; i++) memcpy(x[i], &f->tets->position[pair->v[i]], sizeof x[i]);
    spl_nearest at = spl_pair_nearest(kind, (const double(*)[3])x);
    if (is_sheet(f, pair, at.w)) return;
    spl_vec3 r = none, a = normal_at(f, pair->v, at.w, split);
    spl_vec3 b = normal_at(f, pair->v + split, at.w + split, 4 - split);
    for (int i = 0; i < 4; i++) r = spl_madd(r, f->tets->position[pair->v[i]], at.w[i]);
    double d = spl_norm(r);
    r = d > 1e-9 * f->cell ? spl_scale(r, 1 / d) : none;
    if (spl_dot(r, a) > BETWEEN && spl_dot(r, b) < -BETWEEN) return; /* flesh is between them, not a gap */
    if (spl_dot(r, b) <= 0 && spl_dot(r, a) >= 0) r = none;          /* they have passed each other */
    spl_vec3 home = homewards(f, pair->v, at.w, split, 4, spl_dot(a, b));
    double by = 0.5 * (OVERDO * SPL_PART_GAP * f->cell - d);
    push_place(f, pair->v, at.w, split, spl_scale(spl_unit(spl_add(spl_sub(r, a), home), none), by));
    push_place(f, pair->v + split, at.w + split, 4 - split,
               spl_scale(spl_unit(spl_add(spl_add(r, b), home), none), -by));
    f->found.near++;
}

static supple_result find_near(part_finder *f, supple_error *error)
{
    int32_t count;
    supple_result r =
        spl_pairs_find(f->pairs, (const double *)f->tets->position, NULL, SPL_PART_GAP * f->cell, f->pool, error);
    const spl_pair *list = spl_pairs_list(f->pairs, &count);
    for (int32_t i = 0; r == SUPPLE_OK && i < count; i++) add_near(f, &list[i]);
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
    double below[4] = {low.x, low.y, low.z, 0}, above[4] = {high.x, high.y, high.z, 0};
    return spl_box_around(spl_d4_load(below), spl_d4_load(above), true);
}

static spl_box point_box(const void *context, int32_t i)
{
    const part_finder *f = context;
    return box_around(f->tets->position, f->point + i, 1);
}

static spl_box tet_box(const void *context, int32_t i)
{
    const part_finder *f = context;
    return box_around(f->tets->position, f->tet + 4 * (size_t)i, 4);
}

static bool is_inside(const void *context, int32_t point, int32_t tet, spl_pair *out)
{
    const part_finder *f = context;
    const int32_t *c = f->tet + 4 * (size_t)tet, v = f->point[point];
    const spl_vec3 *x = f->tets->position;
    if (c[0] == v || c[1] == v || c[2] == v || c[3] == v) return false;
    for (int i = 0; i < 4; i++) {
        const uint8_t *k = spl_tet_face[i];
        const int32_t face[3] = {c[k[0]], c[k[1]], c[k[2]]};
        if (spl_dot(twice_area(f, face), spl_sub(x[v], x[face[0]])) >= 0) return false;
    }
    *out = (spl_pair){.v = {v, tet, 0, 0}};
    return true;
}

/* Of a vertex inside a tetrahedron: into its own flesh, and towards its own skin from that of the tetrahedron. */
static spl_vec3 way_out(const part_finder *f, int32_t v, const int32_t *tet)
{
    spl_vec3 in = spl_scale(f->normal[v], -1), other = {0, 0, 0}, none = {0, 0, 0};
    if (!f->home) return in;
    for (int k = 0; k < 4; k++) other = spl_madd(other, f->home[tet[k]], 0.25);
    return spl_unit(spl_madd(in, spl_unit(spl_sub(f->home[v], other), none), HOME_DEEP), in);
}

static supple_result push_sunk(part_finder *f, supple_error *error)
{
    spl_box_tree_fit(&f->points, point_box, f, f->pool);
    spl_box_tree_fit(&f->flesh, tet_box, f, f->pool);
    supple_result r = spl_gather_find(&f->inside, (spl_gather_sieve){0}, is_inside, f, f->pool, error);
    if (r != SUPPLE_OK) return r;
    if (f->inside.count > f->sunk_room) {
        spl_pair *grown = spl_resize(&f->allocator, f->sunk, f->inside.count, sizeof *grown);
        if (!grown) return spl_fail_memory(error, "parting the surface");
        f->sunk = grown;
        f->sunk_room = f->inside.count;
    }
    size_t count = spl_gather_sorted(&f->inside, f->key, f->tets->vertex_count, f->pool, f->sunk);
    for (size_t i = 0; i < count; i++) {
        const double whole = 1;
        int32_t v = f->sunk[i].v[0];
        if (i > 0 && f->sunk[i - 1].v[0] == v) continue;
        f->found.sunk++;
        push_place(f, &v, &whole, 1,
                   spl_scale(way_out(f, v, f->tet + 4 * (size_t)f->sunk[i].v[1]), STEP_DEEP * f->cell));
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
    f->found.crossings = spl_pairs_crossings(f->pairs, (const double *)f->tets->position, f->pool, add_crossing, f);
    if (f->found.crossings < 0) return spl_fail_memory(error, "parting the surface");
    supple_result r = find_near(f, error);
    if (r == SUPPLE_OK && f->look_inside && (f->found.crossings > 0 || f->found.near == 0)) r = push_sunk(f, error);
    return r;
}
