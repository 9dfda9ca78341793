/* Where visual vertices sit on the body: projection, and the rule of the normals (upsample.h). */
#include "body/upsample_map.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

#include <math.h>

/* ---- searches ---------------------------------------------------------------------------------------------------- */

supple_result spl_upsample_searches_make(int32_t count, int32_t vertex_count, const supple_allocator *a,
                                         spl_upsample_searches *out, supple_error *error)
{
    *out = (spl_upsample_searches){0};
    out->geodesic = spl_new(a, (size_t)count, sizeof *out->geodesic);
    out->busy = spl_new(a, (size_t)count, sizeof *out->busy);
    supple_result result = SUPPLE_OK;
    if (!out->geodesic || !out->busy) result = spl_fail_memory(error, "geodesic distances");
    for (; result == SUPPLE_OK && out->count < count; out->count++) {
        result = spl_geodesic_make(vertex_count, a, &out->geodesic[out->count], error);
        atomic_init(&out->busy[out->count], false);
    }
    if (result != SUPPLE_OK) spl_upsample_searches_release(out, a);
    return result;
}

void spl_upsample_searches_release(spl_upsample_searches *s, const supple_allocator *a)
{
    for (int32_t i = 0; i < s->count; i++) spl_geodesic_release(&s->geodesic[i]);
    spl_free(a, s->geodesic);
    spl_free(a, (void *)s->busy);
    *s = (spl_upsample_searches){0};
}

spl_geodesic *spl_upsample_searches_claim(const spl_upsample_searches *s)
{
    for (int32_t i = 0;; i = (i + 1) % s->count)
        if (!atomic_exchange(&s->busy[i], true)) return &s->geodesic[i];
}

void spl_upsample_searches_return(const spl_upsample_searches *s, const spl_geodesic *g)
{
    atomic_store(&s->busy[g - s->geodesic], false);
}

/* ---- connected pieces -------------------------------------------------------------------------------------------- */

void spl_upsample_connect(const spl_upsample_visual *visual, spl_upsample_points *p)
{
    for (int32_t i = 0; i < p->count; i++) p->component[i] = i;
    for (int32_t t = 0; visual->triangle && t < visual->triangle_count; t++) {
        const int32_t *c = visual->triangle + 3 * (size_t)t;
        spl_sets_join(p->component, p->of[c[0]], p->of[c[1]]);
        spl_sets_join(p->component, p->of[c[0]], p->of[c[2]]);
    }
    for (int32_t i = 0; i < p->count; i++) p->component[i] = spl_sets_root(p->component, i);
}

/* ---- the nearest place ------------------------------------------------------------------------------------------- */

enum { GRAIN = 256 };

typedef struct job {
    const spl_surface *s;
    spl_upsample_points *p;
    const spl_upsample_searches *searches;
} job;

/* How well a place agrees with a point's normal: the cosine between them. */
static double agreement(const spl_surface *s, const spl_place *place, spl_vec3 normal)
{
    return spl_dot(spl_surface_normal(s, place), normal);
}

enum { DOUBTFUL = 1, FACES_AWAY = 2 }; /* bits of `redirect`, before the search */

/* A place is accepted if one of its triangle's corners is. */
static bool accepted(const job *j, size_t point, int32_t triangle)
{
    const spl_upsample_visual *v = j->p->visual;
    if (!v->accept) return true;
    const int32_t *c = j->s->triangle + 3 * (size_t)triangle;
    int32_t vertex = j->p->vertex[j->p->first[point]];
    for (int k = 0; k < 3; k++)
        if (v->accept(v->accept_context, vertex, j->p->source[c[k]])) return true;
    return false;
}

/* The nearest place that is accepted, within reach. */
typedef struct own_limb {
    const job *j;
    size_t point;
    double reach, distance;
    spl_place place;
} own_limb;

static bool consider_own(void *context, int32_t triangle)
{
    own_limb *q = context;
    const spl_surface *s = q->j->s;
    const int32_t *c = s->triangle + 3 * (size_t)triangle;
    spl_place place = {triangle, {0}};
    double distance = sqrt(spl_triangle_nearest(q->j->p->position[q->point], s->position[c[0]], s->position[c[1]],
                                                s->position[c[2]], place.bary));
    bool nearer = distance < q->distance || (distance == q->distance && triangle < q->place.triangle);
    if (nearer && distance <= q->reach && accepted(q->j, q->point, triangle)) {
        q->distance = distance;
        q->place = place;
    }
    return true;
}

enum { OWN_LIMB_EDGES = 8 }; /* how far away a place of the own limb is looked for, in mean edges */

static void find_own_limb(const job *j, size_t i)
{
    spl_upsample_points *p = j->p;
    if (accepted(j, i, p->place[i].triangle)) return;
    own_limb q = {j, i, 0, INFINITY, {-1, {0}}};
    for (int edges = 1; edges <= OWN_LIMB_EDGES && q.place.triangle < 0; edges *= 2) {
        double r = q.reach = edges * p->mean_edge + p->distance[i];
        spl_tree_box(p->tree, spl_sub(p->position[i], spl_v3(r, r, r)), spl_add(p->position[i], spl_v3(r, r, r)),
                     consider_own, &q);
    }
    if (q.place.triangle < 0) return;
    p->place[i] = q.place;
    p->distance[i] = q.distance;
    p->refused[i] = 1;
}

static void project(void *context, size_t begin, size_t end)
{
    const job *j = context;
    spl_upsample_points *p = j->p;
    int32_t hint = -1;
    for (size_t i = begin; i < end; i++) {
        p->place[i].triangle = -1;
        if (p->part[i] == SPL_UPSAMPLE_FIXED) continue;
        spl_hit hit;
        if (!spl_tree_nearest(p->tree, p->position[i], INFINITY, hint, &hit)) continue;
        p->place[i] = (spl_place){hit.triangle, {hit.bary[0], hit.bary[1], hit.bary[2]}};
        p->distance[i] = hit.distance;
        if (p->part[i] == SPL_UPSAMPLE_SKIN) find_own_limb(j, i);
        p->normal[i] = spl_unit(p->normal[i], spl_v3(0, 0, 0));
        if (p->part[i] == SPL_UPSAMPLE_SKIN && spl_norm(p->normal[i]) > 0) {
            double cosine = agreement(j->s, &p->place[i], p->normal[i]);
            if (!p->refused[i])
                p->redirect[i] = (uint8_t)((cosine < 0.5 ? DOUBTFUL : 0) + (cosine < 0 ? FACES_AWAY : 0));
        }
        hint = hit.triangle;
    }
}

/* ---- the rule of the normals ------------------------------------------------------------------------------------- */

/* The accepted place of lowest cost: its distance, and up to `unit` for a normal that points the other way. */
typedef struct search {
    const job *j;
    size_t point;
    const spl_surface *s;
    spl_vec3 position, normal;
    double reach, unit, cost;
    spl_place place;
} search;

static bool consider(void *context, int32_t triangle)
{
    search *q = context;
    const int32_t *c = q->s->triangle + 3 * (size_t)triangle;
    spl_place place = {triangle, {0}};
    double distance = sqrt(spl_triangle_nearest(q->position, q->s->position[c[0]], q->s->position[c[1]],
                                                q->s->position[c[2]], place.bary));
    if (distance > q->reach) return true;
    double cost = distance + q->unit * (1 - agreement(q->s, &place, q->normal)) / 2;
    /* Ties by number: the tree's order must not matter. */
    bool better = cost < q->cost || (cost == q->cost && triangle < q->place.triangle);
    if (better && accepted(q->j, q->point, triangle)) {
        q->cost = cost;
        q->place = place;
    }
    return true;
}

/* Whether two places are far from each other along the surface, measured by their distance in space. */
static bool is_elsewhere(const spl_surface *s, spl_geodesic *g, const spl_place *a, const spl_place *b)
{
    double straight = spl_distance(spl_surface_point(s, a), spl_surface_point(s, b));
    return a->triangle != b->triangle && !spl_geodesic_near(g, s, a, b, 2.5 * straight);
}

static void redirect(void *context, size_t begin, size_t end)
{
    const job *j = context;
    spl_upsample_points *p = j->p;
    spl_geodesic *g = spl_upsample_searches_claim(j->searches);
    for (size_t i = begin; i < end; i++) {
        if (!p->redirect[i]) continue;
        double reach = p->distance[i] + 2 * p->mean_edge;
        spl_vec3 x = p->position[i], r = spl_v3(reach, reach, reach);
        search q = {j, i, j->s, x, p->normal[i], reach, p->mean_edge, INFINITY, {-1, {0}}};
        spl_tree_box(p->tree, spl_sub(x, r), spl_add(x, r), consider, &q);
        p->redirect[i] = q.place.triangle >= 0 && is_elsewhere(j->s, g, &p->place[i], &q.place);
        if (!p->redirect[i]) continue;
        p->place[i] = q.place;
        p->distance[i] = spl_distance(x, spl_surface_point(j->s, &q.place));
    }
    spl_upsample_searches_return(j->searches, g);
}

/* Pieces most of whose points face away from the body are inside out, or hang in it: their normals say nothing. */
static void vote(spl_upsample_points *p, int32_t *balance)
{
    for (int32_t i = 0; i < p->count; i++)
        if (p->part[i] == SPL_UPSAMPLE_SKIN) balance[p->component[i]] += p->redirect[i] & FACES_AWAY ? 1 : -1;
    for (int32_t i = 0; i < p->count; i++)
        if (balance[p->component[i]] >= 0) p->redirect[i] = 0;
}

supple_result spl_upsample_place(const spl_surface *s, spl_upsample_points *p, const spl_upsample_searches *searches,
                                 spl_pool *pool, const supple_allocator *a, supple_error *error)
{
    job j = {s, p, searches};
    int32_t *balance = spl_new(a, (size_t)p->count, sizeof *balance);
    if (!balance) return spl_fail_memory(error, "the visual mesh's pieces");
    spl_parallel_for(pool, (size_t)p->count, GRAIN, project, &j);
    vote(p, balance);
    spl_free(a, balance);
    spl_parallel_for(pool, (size_t)p->count, GRAIN, redirect, &j);
    return SUPPLE_OK;
}
