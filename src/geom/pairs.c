#include "geom/pairs.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/gather.h"
#include "math/vec3.h"

#include <stdlib.h>

static const double NOISE = 1e-14; /* of a product of lengths: what rounding makes of a volume */

enum { VERTEX_GRAIN = 2048 };

/* Where a vertex is, or goes. The fourth of `low` is 0 where it is free (or asked for) and 1 where it is fixed (or
 * not), of `high` its reach: the least and the largest of these are what matters of corners, too. */
typedef struct bounds {
    double low[4], high[4];
} bounds;

struct spl_pairs {
    supple_allocator allocator;
    spl_primitives p;
    spl_pairs_refuse *refuse;
    const void *context;
    spl_box_tree points, edges, triangles;
    bounds *bounds;          /* by vertex */
    spl_sift_vertex *vertex; /* as the sieve sees them */
    spl_sift_row *point_row, *edge_row, *triangle_row;
    spl_gather point_triangle, edge_edge, edge_triangle;
    int32_t *first; /* for sorting: by vertex or edge, and one more */
    int32_t key_count;
    spl_pair *list;
    int32_t list_count;
    size_t list_room;
};

/* ---- creation ---- */

static spl_sift_row *new_rows(const spl_pairs *s, const spl_box_tree *t)
{
    return spl_new(&s->allocator, (size_t)spl_box_tree_leaf_count(t), sizeof(spl_sift_row));
}

static supple_result make_sieve(spl_pairs *s, supple_error *error)
{
    s->bounds = spl_new(&s->allocator, (size_t)s->p.vertex_count, sizeof *s->bounds);
    s->vertex = spl_new(&s->allocator, (size_t)s->p.vertex_count, sizeof *s->vertex);
    s->point_row = new_rows(s, &s->points);
    s->edge_row = new_rows(s, &s->edges);
    s->triangle_row = new_rows(s, &s->triangles);
    bool ok = s->bounds && s->vertex && s->point_row && s->edge_row && s->triangle_row;
    return ok ? SUPPLE_OK : spl_fail_memory(error, "pairs");
}

static supple_result make_parts(spl_pairs *s, supple_error *error)
{
    const supple_allocator *a = &s->allocator;
    s->key_count = s->p.vertex_count > s->p.edge_count ? s->p.vertex_count : s->p.edge_count;
    s->first = spl_new(a, (size_t)s->key_count + 1, sizeof *s->first);
    if (!s->first) return spl_fail_memory(error, "pairs");
    supple_result r = spl_box_tree_create(s->p.point_count, a, &s->points, error);
    if (r == SUPPLE_OK) r = spl_box_tree_create(s->p.edge_count, a, &s->edges, error);
    if (r == SUPPLE_OK) r = spl_box_tree_create(s->p.triangle_count, a, &s->triangles, error);
    if (r == SUPPLE_OK) r = make_sieve(s, error);
    if (r == SUPPLE_OK) r = spl_gather_create(&s->points, &s->triangles, a, &s->point_triangle, error);
    if (r == SUPPLE_OK) r = spl_gather_create(&s->edges, &s->edges, a, &s->edge_edge, error);
    if (r == SUPPLE_OK) r = spl_gather_create(&s->edges, &s->triangles, a, &s->edge_triangle, error);
    return r;
}

supple_result spl_pairs_create(const spl_primitives *p, spl_pairs_refuse *refuse, const void *context,
                               const supple_allocator *a, spl_pairs **out, supple_error *error)
{
    *out = NULL;
    spl_pairs *s = spl_new(a, 1, sizeof *s);
    if (!s) return spl_fail_memory(error, "pairs");
    s->allocator = *a;
    s->p = *p;
    s->refuse = refuse;
    s->context = context;
    supple_result result = make_parts(s, error);
    if (result == SUPPLE_OK)
        *out = s;
    else
        spl_pairs_destroy(s);
    return result;
}

void spl_pairs_destroy(spl_pairs *s)
{
    if (!s) return;
    spl_box_tree_release(&s->points);
    spl_box_tree_release(&s->edges);
    spl_box_tree_release(&s->triangles);
    spl_gather_release(&s->point_triangle);
    spl_gather_release(&s->edge_edge);
    spl_gather_release(&s->edge_triangle);
    void *blocks[] = {s->bounds, s->vertex, s->point_row, s->edge_row, s->triangle_row, s->first, s->list};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(&s->allocator, blocks[i]);
    supple_allocator a = s->allocator;
    spl_free(&a, s);
}

const spl_pair *spl_pairs_list(const spl_pairs *s, int32_t *count)
{
    *count = s->list_count;
    return s->list;
}

/* ---- where things are ---- */

/* One call's question. */
typedef struct query {
    const spl_pairs *s;
    spl_pairs *own;      /* the same, for what is found; NULL where only places are asked for */
    const double *x, *d; /* d may be NULL */
    double common[3];    /* the way that all go, which brings none nearer to another */
    double radius;
    bool reaches;      /* boxes hold what vertices carry, too */
    const bool *among; /* by vertex: pairs without any of these are none; NULL: all count */
} query;

static double reach_of(const query *q, const int32_t *v, int count)
{
    double most = 0;
    if (!q->s->p.reach) return 0;
    for (int i = 0; i < count; i++) most = q->s->p.reach[v[i]] > most ? q->s->p.reach[v[i]] : most;
    return most;
}

/* What is no number bounds nothing. */
static void bound(bounds *b, int k, double at)
{
    b->low[k] = at < b->low[k] ? at : b->low[k];
    b->high[k] = at > b->high[k] ? at : b->high[k];
}

static void bound_vertices(void *context, size_t begin, size_t end)
{
    const query *q = context;
    const spl_primitives *p = &q->s->p;
    for (size_t v = begin; v < end; v++) {
        bool aside = q->among ? !q->among[v] : p->fixed && p->fixed[v];
        bounds b = {{INFINITY, INFINITY, INFINITY, aside}, {-INFINITY, -INFINITY, -INFINITY, 0}};
        if (q->reaches && p->reach && p->reach[v] > 0) b.high[3] = p->reach[v];
        for (int k = 0; k < 3; k++) {
            double at = q->x[3 * v + (size_t)k];
            bound(&b, k, at);
            if (q->d) bound(&b, k, at + (q->d[3 * v + (size_t)k] - q->common[k]));
        }
        q->s->bounds[v] = b;
    }
}

/* A corner with a coordinate that is no number leaves INFINITY and -INFINITY to others; alone, it has a box that meets
 * none. */
static inline spl_box box_of(const query *q, const int32_t *v, int count)
{
    const bounds *b = q->s->bounds;
    spl_d4 low = spl_d4_load(b[v[0]].low), high = spl_d4_load(b[v[0]].high);
    for (int i = 1; i < count; i++) {
        low = spl_d4_min(spl_d4_load(b[v[i]].low), low);
        high = spl_d4_max(spl_d4_load(b[v[i]].high), high);
    }
    double inflate = q->radius / 2 + high.b[1];
    return spl_box_around(spl_d4_add(low, -inflate), spl_d4_add(high, inflate), low.b[1] == 0);
}

static spl_box point_box(const void *context, int32_t i)
{
    const query *q = context;
    return box_of(q, q->s->p.point + i, 1);
}

static spl_box edge_box(const void *context, int32_t i)
{
    const query *q = context;
    return box_of(q, q->s->p.edge + 2 * (size_t)i, 2);
}

static spl_box triangle_box(const void *context, int32_t i)
{
    const query *q = context;
    return box_of(q, q->s->p.triangle + 3 * (size_t)i, 3);
}

/* The mean way of the free vertices: the boxes of a body that falls are as small as if it did not. */
static void set_common(query *q)
{
    double sum[3] = {0}, count = 0;
    for (int32_t v = 0; q->d && v < q->s->p.vertex_count; v++) {
        if (q->s->p.fixed && q->s->p.fixed[v]) continue;
        for (size_t k = 0; k < 3; k++) sum[k] += q->d[3 * (size_t)v + k];
        count++;
    }
    for (int k = 0; k < 3; k++) q->common[k] = isfinite(sum[k] / count) ? sum[k] / count : 0;
}

/* ---- the sieve ---- */

/* Places from the first point on: floats of a body that is far away are as good as of one that is not. */
static void see_vertices(void *context, size_t begin, size_t end)
{
    const query *q = context;
    const spl_primitives *p = &q->s->p;
    const double *origin = q->x + 3 * (size_t)(p->point_count > 0 ? p->point[0] : 0);
    for (size_t v = begin; v < end; v++) {
        spl_sift_vertex *to = &q->s->vertex[v];
        for (size_t k = 0; k < 3; k++) {
            to->at[k] = (float)(q->x[3 * v + k] - (isfinite(origin[k]) ? origin[k] : 0));
            to->way[k] = q->d ? (float)(q->d[3 * v + k] - q->common[k]) : 0;
        }
        to->at[3] = q->reaches && p->reach ? (float)p->reach[v] : 0;
        to->way[3] = spl_sift_rounding(to);
    }
}

static void fit_sieve(query *q, bool points, bool edges, spl_pool *pool)
{
    const spl_pairs *s = q->s;
    spl_parallel_for(pool, (size_t)s->p.vertex_count, VERTEX_GRAIN, see_vertices, q);
    if (points) spl_sift_fit(s->point_row, &s->points, s->p.point, 1, s->vertex, q->radius, pool);
    if (edges) spl_sift_fit(s->edge_row, &s->edges, s->p.edge, 2, s->vertex, q->radius, pool);
    spl_sift_fit(s->triangle_row, &s->triangles, s->p.triangle, 3, s->vertex, q->radius, pool);
}

/* ---- tests; that one of the two is free was asked with their boxes, and that they share no vertex by the sieve ----
 */

/* How much nearer to each other the two may come, at most: the paces of both, seen from their mean. */
static double approach(const query *q, const spl_pair *pair)
{
    int split = spl_pair_split((spl_pair_kind)pair->kind);
    double mean[3], most[2] = {0};
    for (size_t k = 0; k < 3; k++) {
        mean[k] = 0;
        for (int i = 0; i < 4; i++) mean[k] += q->d[3 * (size_t)pair->v[i] + k] / 4;
    }
    for (int i = 0; i < 4; i++) {
        double square = 0;
        for (size_t k = 0; k < 3; k++) {
            double way = q->d[3 * (size_t)pair->v[i] + k] - mean[k];
            square += way * way;
        }
        most[i >= split] = square <= most[i >= split] ? most[i >= split] : square; /* what is no number stays */
    }
    return sqrt(most[0]) + sqrt(most[1]);
}

static bool comes_near(const query *q, const spl_pair *pair)
{
    double x[4][3];
    spl_pair_kind kind = (spl_pair_kind)pair->kind;
    int split = spl_pair_split(kind);
    for (int i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) x[i][k] = q->x[3 * (size_t)pair->v[i] + k];
    double limit = q->radius + reach_of(q, pair->v, split) + reach_of(q, pair->v + split, 4 - split);
    double square = spl_pair_nearest(kind, (const double(*)[3])x).square;
    if (!q->d || square <= limit * limit) return square <= limit * limit;
    limit += approach(q, pair);
    return !(square > limit * limit * (1 + 1e-9)); /* rounding must not lose one */
}

/* Where boxes say which vertices are asked for, they do not say which are fixed. */
static bool is_fixed(const query *q, const spl_pair *pair)
{
    const bool *fixed = q->s->p.fixed;
    return q->among && fixed && fixed[pair->v[0]] && fixed[pair->v[1]] && fixed[pair->v[2]] && fixed[pair->v[3]];
}

static bool is_pair(const query *q, const spl_pair *pair)
{
    const spl_pairs *s = q->s;
    return !is_fixed(q, pair) && comes_near(q, pair) && !(s->refuse && s->refuse(s->context, pair));
}

static bool test_point_triangle(const void *context, int32_t a, int32_t b, spl_pair *out)
{
    const query *q = context;
    int32_t v = q->s->p.point[a];
    const int32_t *t = q->s->p.triangle + 3 * (size_t)b;
    *out = (spl_pair){SPL_PAIR_POINT_TRIANGLE, {v, t[0], t[1], t[2]}};
    return is_pair(q, out);
}

static bool test_edge_edge(const void *context, int32_t a, int32_t b, spl_pair *out)
{
    const query *q = context;
    const int32_t *e = q->s->p.edge + 2 * (size_t)a, *f = q->s->p.edge + 2 * (size_t)b;
    bool turned = f[0] < e[0];
    *out = (spl_pair){SPL_PAIR_EDGE_EDGE,
                      {turned ? f[0] : e[0], turned ? f[1] : e[1], turned ? e[0] : f[0], turned ? e[1] : f[1]}};
    return is_pair(q, out);
}

/* ---- finding ---- */

static supple_result reserve(spl_pairs *s, size_t count, supple_error *error)
{
    if (count <= s->list_room) return SUPPLE_OK;
    size_t room = count + count / 4;
    spl_pair *list = spl_resize(&s->allocator, s->list, room, sizeof *list);
    if (!list) return spl_fail_memory(error, "pairs");
    s->list = list;
    s->list_room = room;
    return SUPPLE_OK;
}

/* Boxes and the sieve for one question; of edges where it asks for them. */
static void fit_all(query *q, bool edges, spl_pool *pool)
{
    spl_pairs *s = q->own;
    set_common(q);
    spl_parallel_for(pool, (size_t)s->p.vertex_count, VERTEX_GRAIN, bound_vertices, q);
    spl_box_tree_fit(&s->points, point_box, q, pool);
    if (edges) spl_box_tree_fit(&s->edges, edge_box, q, pool);
    spl_box_tree_fit(&s->triangles, triangle_box, q, pool);
    fit_sieve(q, true, edges, pool);
}

static supple_result find(query *q, bool with_edges, spl_pool *pool, supple_error *error)
{
    spl_pairs *s = q->own;
    fit_all(q, with_edges, pool);
    const spl_sift_kernels *kernels = spl_sift_kernels_best();
    spl_gather_sieve triangles = {kernels->point_triangles, s->point_row, s->triangle_row};
    spl_gather_sieve edges = {kernels->edge_edges, s->edge_row, s->edge_row};
    supple_result r = spl_gather_find(&s->point_triangle, triangles, test_point_triangle, q, pool, error);
    if (r == SUPPLE_OK && with_edges) r = spl_gather_find(&s->edge_edge, edges, test_edge_edge, q, pool, error);
    if (r != SUPPLE_OK) return r;
    size_t count = s->point_triangle.count + (with_edges ? s->edge_edge.count : 0);
    if (count > INT32_MAX) return spl_fail_memory(error, "pairs");
    if (count == 0) { /* there may be no list yet */
        s->list_count = 0;
        return SUPPLE_OK;
    }
    r = reserve(s, count, error);
    if (r != SUPPLE_OK) return r;
    size_t kept = spl_gather_sorted(&s->point_triangle, s->first, s->p.vertex_count, pool, s->list);
    if (with_edges) kept += spl_gather_sorted(&s->edge_edge, s->first, s->p.vertex_count, pool, s->list + kept);
    s->list_count = (int32_t)kept;
    return SUPPLE_OK;
}

supple_result spl_pairs_find(spl_pairs *s, const double *x, const double *d, double radius, spl_pool *pool,
                             supple_error *error)
{
    query q = {.s = s, .own = s, .x = x, .d = d, .radius = radius, .reaches = true};
    return find(&q, true, pool, error);
}

supple_result spl_pairs_find_points(spl_pairs *s, const double *x, const double *d, double radius, spl_pool *pool,
                                    supple_error *error)
{
    query q = {.s = s, .own = s, .x = x, .d = d, .radius = radius, .reaches = true};
    return find(&q, false, pool, error);
}

supple_result spl_pairs_find_among(spl_pairs *s, const double *x, const double *d, double radius, const bool *among,
                                   spl_pool *pool, supple_error *error)
{
    query q = {.s = s, .own = s, .x = x, .d = d, .radius = radius, .reaches = true, .among = among};
    return find(&q, true, pool, error);
}

/* ---- crossings ---- */

static spl_vec3 place(const query *q, int32_t v)
{
    const double *p = q->x + 3 * (size_t)v;
    return spl_v3(p[0], p[1], p[2]);
}

/* Signed volumes from one end of the edge: its ends must lie on both sides of the plane, by more than rounding (an edge
 * in the plane of a flat face is on neither), and the corners all turn the same way around it. Two triangles at a
 * common edge see the same number there, so that nothing slips between. */
static bool passes(const query *q, const int32_t *e, const int32_t *t)
{
    spl_vec3 p = place(q, e[0]), way = spl_sub(place(q, e[1]), p), c[3], n;
    for (int k = 0; k < 3; k++) c[k] = spl_sub(place(q, t[k]), p);
    spl_vec3 u = spl_sub(c[1], c[0]), w = spl_sub(c[2], c[0]), far = spl_sub(way, c[0]);
    n = spl_cross(u, w);
    double here = -spl_dot(n, c[0]), there = spl_dot(n, far);
    double noise = NOISE * spl_norm(u) * spl_norm(w) * fmax(spl_norm(c[0]), spl_norm(far));
    if (!((here < -noise && there > noise) || (here > noise && there < -noise))) return false;
    double a = spl_dot(way, spl_cross(c[0], c[1])), b = spl_dot(way, spl_cross(c[1], c[2]));
    double g = spl_dot(way, spl_cross(c[2], c[0]));
    return (a >= 0 && b >= 0 && g >= 0) || (a <= 0 && b <= 0 && g <= 0);
}

static bool refused(const spl_pairs *s, const int32_t *e, const int32_t *t)
{
    if (!s->refuse) return false;
    for (int i = 0; i < 2; i++) {
        spl_pair pair = {SPL_PAIR_POINT_TRIANGLE, {e[i], t[0], t[1], t[2]}};
        if (!s->refuse(s->context, &pair)) return false;
    }
    return true;
}

static bool holds(const int32_t *triangle, int32_t v)
{
    return triangle[0] == v || triangle[1] == v || triangle[2] == v;
}

/* Gives numbers, not vertices: v[0] the edge's, v[1] the triangle's. */
static bool test_crossing(const void *context, int32_t a, int32_t b, spl_pair *out)
{
    const query *q = context;
    const int32_t *e = q->s->p.edge + 2 * (size_t)a, *t = q->s->p.triangle + 3 * (size_t)b;
    if (holds(t, e[0]) || holds(t, e[1])) return false;
    *out = (spl_pair){.v = {a, b, 0, 0}};
    return passes(q, e, t) && !refused(q->s, e, t);
}

int32_t spl_pairs_crossings(spl_pairs *s, const double *x, spl_pool *pool,
                            void (*found)(void *context, const int32_t edge[2], const int32_t triangle[3]),
                            void *context)
{
    query q = {.s = s, .x = x};
    spl_parallel_for(pool, (size_t)s->p.vertex_count, VERTEX_GRAIN, bound_vertices, &q);
    spl_box_tree_fit(&s->edges, edge_box, &q, pool);
    spl_box_tree_fit(&s->triangles, triangle_box, &q, pool);
    fit_sieve(&q, false, true, pool);
    spl_gather_sieve sieve = {spl_sift_kernels_best()->edge_triangles, s->edge_row, s->triangle_row};
    if (spl_gather_find(&s->edge_triangle, sieve, test_crossing, &q, pool, NULL) != SUPPLE_OK) return -1;
    spl_pair *list = spl_new(&s->allocator, s->edge_triangle.count, sizeof *list);
    if (!list) return -1;
    size_t count = spl_gather_sorted(&s->edge_triangle, s->first, s->p.edge_count, pool, list);
    for (size_t i = 0; found && i < count; i++)
        found(context, s->p.edge + 2 * (size_t)list[i].v[0], s->p.triangle + 3 * (size_t)list[i].v[1]);
    spl_free(&s->allocator, list);
    return (int32_t)count;
}

/* ---- primitives of triangles ---- */

static int by_ends(const void *a, const void *b)
{
    const int32_t *p = a, *q = b;
    if (p[0] != q[0]) return p[0] < q[0] ? -1 : 1;
    return (p[1] > q[1]) - (p[1] < q[1]);
}

supple_result spl_primitives_edges(const int32_t *triangle, int32_t triangle_count, const supple_allocator *a,
                                   int32_t **edge, int32_t *edge_count, supple_error *error)
{
    size_t count = 0, kept = 0;
    *edge_count = 0;
    int32_t(*e)[2] = spl_new(a, 3 * (size_t)triangle_count, sizeof *e);
    *edge = (int32_t *)e;
    if (!e || triangle_count > INT32_MAX / 3) {
        spl_free(a, e);
        *edge = NULL;
        return spl_fail_memory(error, "edges");
    }
    for (size_t i = 0; i < 3 * (size_t)triangle_count; i++) {
        int32_t v = triangle[i], w = triangle[i % 3 == 2 ? i - 2 : i + 1];
        if (v == w) continue;
        e[count][0] = v < w ? v : w;
        e[count++][1] = v < w ? w : v;
    }
    qsort(e, count, sizeof *e, by_ends);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || by_ends(e[kept - 1], e[i]) != 0) {
            e[kept][0] = e[i][0];
            e[kept++][1] = e[i][1];
        }
    *edge_count = (int32_t)kept;
    return SUPPLE_OK;
}

static int by_number(const void *a, const void *b)
{
    int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

supple_result spl_primitives_vertices(const int32_t *triangle, int32_t triangle_count, const supple_allocator *a,
                                      int32_t **vertex, int32_t *vertex_count, supple_error *error)
{
    size_t count = 3 * (size_t)triangle_count, kept = 0;
    *vertex_count = 0;
    int32_t *v = *vertex = spl_new(a, count, sizeof *v);
    if (!v) return spl_fail_memory(error, "vertices");
    for (size_t i = 0; i < count; i++) v[i] = triangle[i];
    qsort(v, count, sizeof *v, by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || v[kept - 1] != v[i]) v[kept++] = v[i];
    *vertex_count = (int32_t)kept;
    return SUPPLE_OK;
}
