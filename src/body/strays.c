#include "body/strays.h"

#include "body/walk.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"
#include "geom/weld.h"

#include <math.h>
#include <string.h>

#define DETOUR      3.0 /* times an edge's length, and ... */
#define DETOUR_MORE 4.0 /* ... so many of the body's edges more, may the way between its ends' places be */
#define SMALL       0.2 /* of the neighbour's vertices: a part this small beside it has strayed */
#define SHORT       0.5 /* of the body's edges: two vertices this near ... */
#define IN_COMMON   0.1 /* ... have so much of what moves them in common, if no slit is between */
enum { MOST = SPL_UPSAMPLE_MOST_NEIGHBOURS };

typedef struct work {
    spl_body *body;
    int32_t *point; /* by vertex of the scene: those at one place are one */
    int32_t point_count;
    int32_t *lead; /* by point: a lifted vertex there, -1 */
    int32_t *set;  /* by point: what hangs together */
    int32_t *size; /* by set */
    double edge;   /* mean, of the body's surface */
} work;

typedef struct patch {
    int32_t count, index[MOST];
    float weight[MOST];
} patch;

static int32_t strongest(const patch *p)
{
    int32_t best = 0;
    for (int32_t i = 1; i < p->count; i++)
        if (p->weight[i] > p->weight[best]) best = i;
    return p->index[best];
}

static bool share(const patch *p, const patch *q)
{
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t k = 0; k < q->count; k++)
            if (p->index[i] == q->index[k]) return true;
    return false;
}

static spl_place at_vertex(const spl_surface *s, int32_t v)
{
    int32_t corner = s->corner[s->corner_first[v]];
    spl_place p = {.triangle = corner / 3};
    p.bary[corner % 3] = 1;
    return p;
}

/* Whether the places of two lifted vertices are as near to each other along the body as the vertices are. */
static bool fits(const work *w, int32_t a, int32_t b)
{
    const spl_surface *s = &w->body->skin;
    patch p, q;
    p.count = spl_upsample_weights(w->body->upsample, a, MOST, p.index, p.weight);
    q.count = spl_upsample_weights(w->body->upsample, b, MOST, q.index, q.weight);
    if (p.count == 0 || q.count == 0 || share(&p, &q)) return true;
    double length = spl_distance(spl_v3_from_float(w->body->bind + 3 * (size_t)a),
                                 spl_v3_from_float(w->body->bind + 3 * (size_t)b));
    double limit = DETOUR * length + DETOUR_MORE * w->edge;
    spl_place from = at_vertex(s, strongest(&p)), to = at_vertex(s, strongest(&q));
    if (spl_distance(spl_surface_point(s, &from), spl_surface_point(s, &to)) > limit) return false;
    return spl_surface_walk(s, &from, &to, limit) <= limit;
}

/* Calls `visit` for the edges of the mesh between lifted points. */
typedef void edge_visit(work *w, int32_t p, int32_t q, bool *stray);

static void each_edge(work *w, edge_visit *visit, bool *stray)
{
    const spl_body *body = w->body;
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        for (size_t k = 0; k < 3 * (size_t)part->primitive->triangle_count; k++) {
            int32_t a = part->first_vertex + part->primitive->triangle[k];
            int32_t b = part->first_vertex + part->primitive->triangle[k % 3 == 2 ? k - 2 : k + 1];
            if (!body->lifted[a] || !body->lifted[b] || w->point[a] == w->point[b]) continue;
            visit(w, w->point[a], w->point[b], stray);
        }
    }
}

static void join(work *w, int32_t p, int32_t q, bool *stray)
{
    (void)stray;
    if (spl_sets_root(w->set, p) != spl_sets_root(w->set, q) && fits(w, w->lead[p], w->lead[q]))
        spl_sets_join(w->set, p, q);
}

static void mark(work *w, int32_t p, int32_t q, bool *stray)
{
    int32_t a = spl_sets_root(w->set, p), b = spl_sets_root(w->set, q);
    if (a == b) return;
    if (w->size[a] < SMALL * w->size[b]) stray[a] = true;
    if (w->size[b] < SMALL * w->size[a]) stray[b] = true;
}

static double in_common(const patch *p, const patch *q)
{
    double sum = 0;
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t k = 0; k < q->count; k++)
            if (p->index[i] == q->index[k]) sum += (double)fminf(fabsf(p->weight[i]), fabsf(q->weight[k]));
    return sum;
}

/* Marks both ends of a short edge that crosses a slit: where a hem lies on a leg, the one hangs on the hem's side of
 * the body and the other on the leg's. They take the mean of what their neighbours do, so that the mesh holds together.
 */
static void mark_slit(work *w, int32_t p, int32_t q, bool *stray)
{
    int32_t a = w->lead[p], b = w->lead[q];
    double length = spl_distance(spl_v3_from_float(w->body->bind + 3 * (size_t)a),
                                 spl_v3_from_float(w->body->bind + 3 * (size_t)b));
    if (length > SHORT * w->edge) return;
    patch f, g;
    f.count = spl_upsample_weights(w->body->upsample, a, MOST, f.index, f.weight);
    g.count = spl_upsample_weights(w->body->upsample, b, MOST, g.index, g.weight);
    if (f.count > 0 && g.count > 0 && in_common(&f, &g) < IN_COMMON) stray[p] = stray[q] = true;
}

static bool prepare(work *w, const supple_allocator *a)
{
    const spl_body *body = w->body;
    const spl_surface *s = &body->skin;
    size_t n = (size_t)body->scene->vertex_count;
    w->edge = spl_surface_mean_edge(s);
    w->point = spl_new(a, n, sizeof *w->point);
    w->lead = spl_new(a, n, sizeof *w->lead);
    w->set = spl_new(a, n, sizeof *w->set);
    w->size = spl_new(a, n, sizeof *w->size);
    return w->point && w->lead && w->set && w->size;
}

supple_result spl_strays_find(spl_body *body, bool *stray, int32_t *count, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    int32_t n = body->scene->vertex_count;
    work w = {.body = body};
    bool *strayed = spl_new(a, (size_t)n, sizeof *strayed); /* by set, then by point */
    *count = 0;
    supple_result result = prepare(&w, a) && strayed ? SUPPLE_OK : spl_fail_memory(error, "the visual mesh");
    if (result == SUPPLE_OK) result = spl_weld(body->bind, n, 0, a, w.point, &w.point_count, error);
    if (result == SUPPLE_OK) {
        for (int32_t p = 0; p < w.point_count; p++) {
            w.set[p] = p;
            w.lead[p] = -1;
        }
        for (int32_t v = n - 1; v >= 0; v--)
            if (body->lifted[v]) w.lead[w.point[v]] = v;
        each_edge(&w, join, NULL);
        for (int32_t p = 0; p < w.point_count; p++)
            if (w.lead[p] >= 0) w.size[spl_sets_root(w.set, p)]++;
        each_edge(&w, mark, strayed);
        for (int32_t v = 0; v < n; v++) stray[v] = body->lifted[v] && strayed[spl_sets_root(w.set, w.point[v])];
        for (int32_t p = 0; p < n; p++) strayed[p] = false;
        each_edge(&w, mark_slit, strayed); /* by point */
        for (int32_t v = 0; v < n; v++) {
            stray[v] = stray[v] || (body->lifted[v] && strayed[w.point[v]]);
            *count += stray[v];
        }
        for (int32_t v = 0; v < n; v++)
            if (stray[v]) body->lifted[v] = false;
    }
    spl_free(a, w.point);
    spl_free(a, w.lead);
    spl_free(a, w.set);
    spl_free(a, w.size);
    spl_free(a, strayed);
    return result;
}
