/* Which vertices are inside, and how deep. */
#include "core/memory.h"
#include "trust/cross_private.h"

#include <stdlib.h>
#include <string.h>

enum { GRAIN = 16, SORTED_PIECE = 64 };
#define FIRST_REACH 0.01 /* metres: of the first box around a vertex; then twice as far, and so on */

static spl_vec3 lifted(const spl_crossings *c, int32_t v)
{
    return spl_madd(c->x[v], c->normal[v], SPL_CROSS_LIFT);
}

/* ---- inside ---- */

static void enqueue(spl_crossings *c, int32_t v)
{
    if (c->queued[v]) return;
    c->queued[v] = true;
    c->queue[c->queue_count++] = v;
}

/* Every crossing is a way in, those of the rest shape too. */
static void enter(spl_crossings *c, int32_t s, int32_t t, bool counts)
{
    spl_vec3 point[6];
    int count = spl_cross_points(c, s, t, point);
    for (int side = 0; side < 2; side++)
        for (size_t k = 0; k < 3; k++) {
            int32_t v = c->triangle[3 * (size_t)(side ? t : s) + k];
            for (int i = 0; i < count; i++) c->way[v] = fmin(c->way[v], spl_distance(c->x[v], point[i]));
            if (counts) enqueue(c, v);
        }
}

typedef struct queue_work {
    spl_crossings *c;
    int32_t first;
} queue_work;

static void find_numbers(void *context, size_t begin, size_t end)
{
    const queue_work *w = context;
    for (size_t i = (size_t)w->first + begin; i < (size_t)w->first + end; i++)
        w->c->number[i] = spl_winding_number(&w->c->winding, lifted(w->c, w->c->queue[i]));
}

static void start_inside(spl_crossings *c)
{
    size_t n = (size_t)c->vertex_count;
    memset(c->inside, 0, n * sizeof *c->inside);
    memset(c->queued, 0, n * sizeof *c->queued);
    for (size_t v = 0; v < n; v++) c->way[v] = INFINITY;
    c->queue_count = c->probe_count = 0;
}

/* An inside vertex: its neighbours are asked next. */
static void spread(spl_crossings *c, int32_t v)
{
    c->inside[v] = true;
    c->probe[c->probe_count++] = (spl_cross_probe){.vertex = v, .triangle = -1};
    for (int32_t e = c->near_first[v]; e < c->near_first[v + 1]; e++) enqueue(c, c->near[e]);
}

void spl_cross_find_inside(spl_crossings *c, bool resting, spl_pool *pool)
{
    const spl_cross_pairs *p = resting ? &c->at_rest : &c->pairs;
    start_inside(c);
    for (int32_t s = 0; s < c->triangle_count; s++)
        for (int32_t i = p->first[s]; i < p->first[s + 1]; i++)
            enter(c, s, p->other[i], resting || !spl_cross_has_pair(&c->at_rest, s, p->other[i]));
    for (int32_t first = 0; first < c->queue_count;) {
        int32_t end = c->queue_count;
        queue_work work = {c, first};
        spl_parallel_for(pool, (size_t)(end - first), GRAIN, find_numbers, &work);
        for (; first < end; first++) {
            int32_t v = c->queue[first];
            if (c->number[first] >= 0.5 && (resting || !c->inside_at_rest[v])) spread(c, v);
        }
    }
}

/* ---- depth ---- */

typedef struct sheet_query {
    const spl_crossings *c;
    spl_cross_ways *ways;
    spl_cross_probe *probe;
    spl_vec3 p;
    double square; /* of the nearest sheet so far, or of the way in */
    double walked; /* ways from the vertex are known up to here; 0: not at all */
} sheet_query;

static void walk(sheet_query *q, double limit)
{
    if (q->walked >= limit) return;
    spl_cross_ways_clear(q->ways);
    spl_cross_ways_begin(q->ways, q->probe->vertex, 0);
    spl_cross_ways_run(q->ways, q->c, q->c->rest, NULL, limit);
    q->walked = limit;
}

/* Whether a triangle is at least `limit` away along the rest surface. In a straight line it is no farther than along
 * the surface, which spares most walks. */
static bool is_far(sheet_query *q, int32_t t, double limit)
{
    const spl_crossings *c = q->c;
    const int32_t *corner = c->triangle + 3 * (size_t)t;
    double straight = INFINITY, along = INFINITY;
    for (int k = 0; k < 3; k++) straight = fmin(straight, spl_distance(c->rest[q->probe->vertex], c->rest[corner[k]]));
    if (straight >= limit * (1 + 1e-9)) return true;
    walk(q, limit);
    for (int k = 0; k < 3; k++) along = fmin(along, q->ways->distance[corner[k]]);
    return !(along < limit);
}

static bool try_sheet(void *context, int32_t t)
{
    sheet_query *q = context;
    const spl_crossings *c = q->c;
    const int32_t *i = c->triangle + 3 * (size_t)t;
    const spl_vec3 corner[3] = {c->x[i[0]], c->x[i[1]], c->x[i[2]]};
    double bary[3], square = spl_triangle_nearest(q->p, corner[0], corner[1], corner[2], bary);
    if (!(square < q->square) && !(square == q->square && t < q->probe->triangle)) return true;
    spl_vec3 way = spl_sub(q->p, corner[0]);
    for (int k = 1; k < 3; k++) way = spl_madd(way, spl_sub(corner[k], corner[0]), -bary[k]);
    if (!(spl_dot(way, c->face[t]) < 0)) return true;
    if (!is_far(q, t, fmin(SPL_CROSS_FAR, SPL_CROSS_WAY * sqrt(square)))) return true;
    q->square = square;
    q->probe->triangle = t;
    return true;
}

static void find_depth(const spl_crossings *c, spl_cross_ways *ways, spl_cross_probe *probe)
{
    double most = c->way[probe->vertex];
    sheet_query q = {.c = c, .ways = ways, .probe = probe, .p = lifted(c, probe->vertex), .square = most * most};
    for (double r = fmin(FIRST_REACH, most); isfinite(most); r = fmin(2 * r, most)) {
        spl_vec3 d = spl_v3(r, r, r);
        spl_tree_box(&c->tree, spl_sub(q.p, d), spl_add(q.p, d), try_sheet, &q);
        if (r >= most || q.square <= r * r) break;
    }
    spl_cross_ways_clear(ways);
    if (probe->triangle >= 0) probe->depth = sqrt(q.square);
}

typedef struct depth_work {
    spl_crossings *c;
    int32_t first, count; /* probes */
} depth_work;

/* A thread takes every so many-th probe: neighbours cost alike. */
static void find_depths(void *context, size_t begin, size_t end)
{
    const depth_work *w = context;
    for (size_t k = begin; k < end; k++)
        for (int32_t i = (int32_t)k; i < w->count; i += w->c->room_count)
            find_depth(w->c, &w->c->room[k], &w->c->probe[w->first + i]);
}

/* Ways in go on by vertices that are inside. */
static void lengthen_ways(spl_crossings *c)
{
    spl_cross_ways *ways = &c->room[0];
    for (int32_t i = 0; i < c->probe_count; i++) {
        int32_t v = c->probe[i].vertex;
        if (isfinite(c->way[v])) spl_cross_ways_begin(ways, v, c->way[v]);
    }
    spl_cross_ways_run(ways, c, c->x, c->inside, INFINITY);
    for (int32_t i = 0; i < ways->touched_count; i++) c->way[ways->touched[i]] = ways->distance[ways->touched[i]];
    spl_cross_ways_clear(ways);
}

void spl_cross_find_depths(spl_crossings *c, spl_pool *pool)
{
    depth_work work = {c, 0, c->probe_count};
    lengthen_ways(c);
    spl_parallel_for(pool, (size_t)c->room_count, 1, find_depths, &work);
}

/* ---- the deepest ---- */

static int deeper(const void *a, const void *b)
{
    const spl_cross_probe *p = a, *q = b;
    if (p->depth != q->depth) return p->depth > q->depth ? -1 : 1;
    return (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

static void find_folds(void *context, size_t begin, size_t end)
{
    const depth_work *w = context;
    for (size_t k = begin; k < end; k++)
        for (int32_t i = (int32_t)k; i < w->count; i += w->c->room_count) {
            spl_cross_probe *probe = &w->c->probe[w->first + i];
            sheet_query q = {.c = w->c, .ways = &w->c->room[k], .probe = probe};
            probe->fold = probe->triangle >= 0 && !is_far(&q, probe->triangle, SPL_CROSS_FAR);
            spl_cross_ways_clear(q.ways);
        }
}

void spl_cross_deepest(spl_crossings *c, spl_pool *pool, spl_crossing *out)
{
    out->depth = out->fold = 0;
    if (c->probe_count == 0) return;
    qsort(c->probe, (size_t)c->probe_count, sizeof *c->probe, deeper);
    out->depth = c->probe[0].depth;
    for (int32_t first = 0; first < c->probe_count && c->probe[first].depth > 0; first += SORTED_PIECE) {
        int32_t left = c->probe_count - first;
        depth_work work = {c, first, left < SORTED_PIECE ? left : SORTED_PIECE};
        spl_parallel_for(pool, (size_t)c->room_count, 1, find_folds, &work);
        for (int32_t i = first; i < first + work.count; i++)
            if (c->probe[i].fold) {
                out->fold = c->probe[i].depth;
                return;
            }
    }
}
