#include "contact/polish.h"

#include "contact/hits.h"
#include "contact/visual.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/weld.h"

#include <string.h>

#define WHOLE_EDGES 1.0  /* depths up to this are undone whole, */
#define NONE_EDGES  1.5  /* from here on not at all; */
#define AGAIN       0.4  /* of both in later passes: what is deep is not to be pulled out bit by bit */
#define ENOUGH      0.02 /* edges: passes end below this depth */
#define FALLOFF     0.85 /* share of its neighbours' mean that a vertex follows with */

enum { GRAIN = 32, RINGS = 4, ROUNDS = 6, PASSES = 6 };

struct spl_polish {
    supple_allocator allocator;
    const spl_contacts *contacts;
    const spl_near *near;
    spl_visual_points points;
    int32_t site_count;  /* distinct places of the points */
    int32_t *site;       /* by point */
    int32_t *lead;       /* by site: its first point */
    int32_t *link_first; /* site_count + 1 */
    int32_t *link;       /* neighbours along triangles; may stand twice */
    int32_t *seat_first; /* shell vertices + 1 */
    int32_t *seat;       /* sites that sit on a shell vertex: it is their nearest anchor */
    bool *seen;          /* by shell vertex; between calls all false */
    int32_t *queue;      /* shell vertices */
    int32_t *chosen;     /* sites to be looked at */
    int32_t chosen_count;
    bool *near_need;    /* by site; between calls all false */
    spl_hits hits;      /* of the chosen */
    spl_vec3 *position; /* beside `chosen` */
    spl_vec3 *need;     /* by site: out of the flesh; between calls all 0 */
    spl_vec3 *move[2];  /* by site; between calls all 0 */
};

/* ---- creation ---- */

static supple_result find_sites(spl_polish *p, supple_error *error)
{
    const spl_visual_points *v = &p->points;
    const supple_allocator *a = &p->allocator;
    const float *bind = p->near->shell->solid->body->bind;
    size_t n = (size_t)v->count;
    float *at = spl_new(a, n, 3 * sizeof *at);
    p->site = spl_new(a, n, sizeof *p->site);
    p->lead = spl_new(a, n, sizeof *p->lead);
    if (!at || !p->site || !p->lead) {
        spl_free(a, at);
        return spl_fail_memory(error, "the polish of contacts");
    }
    for (size_t i = 0; i < n; i++) memcpy(at + 3 * i, bind + 3 * (size_t)v->vertex[i], 3 * sizeof *at);
    supple_result result = spl_weld(at, v->count, 0, a, p->site, &p->site_count, error);
    spl_free(a, at);
    for (int32_t i = v->count - 1; result == SUPPLE_OK && i >= 0; i--) p->lead[p->site[i]] = i;
    return result;
}

/* Counts the links of sites along the triangles of flesh; with p->link, lists them. */
static void walk_triangles(spl_polish *p, const int32_t *site_of)
{
    const spl_body *body = p->near->shell->solid->body;
    for (int32_t i = 0; i < body->part_count; i++) {
        const spl_part *part = &body->part[i];
        if (!spl_body_has_flesh(body, i)) continue;
        for (size_t k = 0; k < 3 * (size_t)part->primitive->triangle_count; k++) {
            size_t next = k % 3 == 2 ? k - 2 : k + 1;
            int32_t s = site_of[part->first_vertex + part->primitive->triangle[k]];
            int32_t t = site_of[part->first_vertex + part->primitive->triangle[next]];
            if (s < 0 || t < 0 || s == t) continue;
            if (p->link) { /* down from the ends */
                p->link[--p->link_first[s]] = t;
                p->link[--p->link_first[t]] = s;
            } else {
                p->link_first[s]++;
                p->link_first[t]++;
            }
        }
    }
}

static supple_result find_links(spl_polish *p, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    size_t total = (size_t)p->near->shell->solid->body->scene->vertex_count;
    int32_t *site_of = spl_new(a, total, sizeof *site_of);
    p->link_first = spl_new(a, (size_t)p->site_count + 1, sizeof *p->link_first);
    bool ok = site_of && p->link_first;
    for (size_t i = 0; ok && i < total; i++) site_of[i] = -1;
    for (int32_t i = 0; ok && i < p->points.count; i++) site_of[p->points.vertex[i]] = p->site[i];
    if (ok) {
        walk_triangles(p, site_of);
        for (int32_t s = 0; s < p->site_count; s++) p->link_first[s + 1] += p->link_first[s];
        p->link = spl_new(a, (size_t)p->link_first[p->site_count], sizeof *p->link);
        ok = p->link != NULL;
        if (ok) walk_triangles(p, site_of);
    }
    spl_free(a, site_of);
    return ok ? SUPPLE_OK : spl_fail_memory(error, "the polish of contacts");
}

static supple_result find_seats(spl_polish *p, supple_error *error)
{
    const supple_allocator *a = &p->allocator;
    const spl_shell *s = p->near->shell;
    size_t n = (size_t)p->site_count;
    p->seat_first = spl_new(a, (size_t)s->vertex_count + 1, sizeof *p->seat_first);
    p->seat = spl_new(a, n, sizeof *p->seat);
    p->seen = spl_new(a, (size_t)s->vertex_count, sizeof *p->seen);
    p->queue = spl_new(a, (size_t)s->vertex_count, sizeof *p->queue);
    p->chosen = spl_new(a, n, sizeof *p->chosen);
    p->position = spl_new(a, n, sizeof *p->position);
    p->near_need = spl_new(a, n, sizeof *p->near_need);
    p->need = spl_new(a, n, sizeof *p->need);
    p->move[0] = spl_new(a, n, sizeof *p->move[0]);
    p->move[1] = spl_new(a, n, sizeof *p->move[1]);
    if (!p->seat_first || !p->seat || !p->seen || !p->queue || !p->chosen || !p->position || !p->near_need ||
        !p->need || !p->move[0] || !p->move[1])
        return spl_fail_memory(error, "the polish of contacts");
    for (int32_t i = 0; i < p->site_count; i++)
        p->seat_first[p->points.anchor[SPL_VISUAL_ANCHORS * (size_t)p->lead[i]]]++;
    for (int32_t v = 0; v < s->vertex_count; v++) p->seat_first[v + 1] += p->seat_first[v];
    for (int32_t i = p->site_count - 1; i >= 0; i--)
        p->seat[--p->seat_first[p->points.anchor[SPL_VISUAL_ANCHORS * (size_t)p->lead[i]]]] = i;
    return spl_hits_create(s, p->site_count, NULL, &p->hits, error);
}

supple_result spl_polish_create(const spl_contacts *contacts, const supple_config *config, spl_polish **out,
                                supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    spl_polish *p = spl_new(&a, 1, sizeof *p);
    *out = NULL;
    if (!p) return spl_fail_memory(error, "the polish of contacts");
    p->allocator = a;
    p->contacts = contacts;
    p->near = spl_contacts_near(contacts);
    supple_result result = spl_visual_points_create(p->near, &p->points, error);
    if (result == SUPPLE_OK) result = find_sites(p, error);
    if (result == SUPPLE_OK) result = find_links(p, error);
    if (result == SUPPLE_OK) result = find_seats(p, error);
    if (result == SUPPLE_OK)
        *out = p;
    else
        spl_polish_destroy(p);
    return result;
}

void spl_polish_destroy(spl_polish *p)
{
    if (!p) return;
    supple_allocator a = p->allocator;
    spl_visual_points_release(&p->points);
    spl_hits_release(&p->hits);
    void *own[] = {p->site,   p->lead,     p->link_first, p->link, p->seat_first, p->seat,    p->seen, p->queue,
                   p->chosen, p->position, p->near_need,  p->need, p->move[0],    p->move[1], p};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) spl_free(&a, own[i]);
}

/* ---- choosing ---- */

static int32_t add_vertex(spl_polish *p, int32_t vertex, int32_t count)
{
    if (p->seen[vertex]) return count;
    p->seen[vertex] = true;
    p->queue[count] = vertex;
    return count + 1;
}

/* The shell vertices around the contacts, ring by ring; returns how many are in the queue. */
static int32_t spread(spl_polish *p)
{
    const spl_shell *s = p->near->shell;
    int32_t contact_count, begin = 0, count = 0;
    const spl_contact *list = spl_contacts_list(p->contacts, &contact_count);
    for (int32_t i = 0; i < contact_count; i++) {
        if (list[i].corner[0] < 0) continue;
        count = add_vertex(p, s->slot[list[i].vertex], count);
        for (int k = 0; k < 3; k++) count = add_vertex(p, s->slot[list[i].corner[k]], count);
    }
    for (int ring = 0; ring < RINGS; ring++)
        for (int32_t end = count; begin < end; begin++) {
            int32_t v = p->queue[begin];
            for (int32_t i = 3 * s->corner_first[v]; i < 3 * s->corner_first[v + 1]; i++)
                count = add_vertex(p, s->slot[s->triangle[3 * (size_t)s->corner[i / 3] + (size_t)(i % 3)]], count);
        }
    return count;
}

static void choose_sites(spl_polish *p, bool all)
{
    int32_t count = all ? 0 : spread(p);
    p->chosen_count = 0;
    for (int32_t i = 0; all && i < p->site_count; i++) p->chosen[p->chosen_count++] = i;
    for (int32_t i = 0; i < count; i++) {
        int32_t v = p->queue[i];
        for (int32_t k = p->seat_first[v]; k < p->seat_first[v + 1]; k++) p->chosen[p->chosen_count++] = p->seat[k];
        p->seen[v] = false;
    }
}

/* ---- moving ---- */

typedef struct polish_work {
    spl_polish *p;
    const double *x;
    const spl_vec3 *from;
    spl_vec3 *to;
    double edge; /* the body's, less in later passes */
} polish_work;

typedef struct asker {
    const spl_visual_points *points;
    int32_t point;
} asker;

static bool refuse_near(const void *context, int32_t triangle)
{
    const asker *a = context;
    return spl_visual_near(a->points, a->point, a->points->near->shell->triangle + 3 * (size_t)triangle, 3);
}

static bool accept_tet(const void *context, int32_t index, int32_t tet)
{
    const spl_polish *p = context;
    return !spl_visual_near(&p->points, p->lead[p->chosen[index]], p->near->shell->tet + 4 * (size_t)tet, 4);
}

static bool is_through(const spl_polish *p, int32_t point, const spl_shell_place *at)
{
    const spl_shell *s = p->near->shell;
    return spl_near_through(p->near, p->points.anchor[SPL_VISUAL_ANCHORS * (size_t)point],
                            spl_shell_target(s, s->rest, at), spl_shell_normal(s, s->rest, at));
}

/* The place where a point leaves a tet's flesh: the nearest that a walk over the deformed surface finds. */
static spl_shell_place find_exit(const polish_work *w, int32_t point, spl_vec3 at, int32_t tet)
{
    const spl_shell *s = w->p->near->shell;
    asker asks = {&w->p->points, point};
    spl_shell_place best = {.triangle = -1, .square = INFINITY};
    int32_t triangle = spl_shell_exit(s, tet, w->x, at);
    for (size_t k = 0; triangle >= 0 && k < 3; k++)
        spl_shell_around(s, w->x, at, s->slot[s->triangle[3 * (size_t)triangle + k]], refuse_near, &asks, &best);
    spl_shell_walk(s, w->x, at, refuse_near, &asks, &best);
    return best;
}

/* By how much a chosen site has to move: to the nearest place where it leaves a tet that it is in. That a tet holds it
 * says that it is inside; normals do not, where the surface is creased. Flesh that bears less of a contact moves less.
 */
static spl_vec3 find_need(const polish_work *w, int32_t index)
{
    const spl_polish *p = w->p;
    const spl_shell *s = p->near->shell;
    int32_t point = p->lead[p->chosen[index]];
    spl_vec3 at = p->position[index], need = spl_v3(0, 0, 0);
    double least = NONE_EDGES * NONE_EDGES * w->edge * w->edge;
    double own = spl_contacts_share(p->contacts, &s->vertex[p->points.anchor[SPL_VISUAL_ANCHORS * (size_t)point]], 1);
    for (int32_t i = p->hits.point_first[index]; i < p->hits.point_first[index + 1]; i++) {
        int32_t tet = p->hits.pair[i].tet;
        spl_shell_place out = find_exit(w, point, at, tet);
        if (out.triangle < 0 || !(out.square < least) || is_through(p, point, &out)) continue;
        double share = (NONE_EDGES - sqrt(out.square) / w->edge) / (NONE_EDGES - WHOLE_EDGES);
        share = fmin(1, share) * fmin(own, spl_contacts_share(p->contacts, s->tet + 4 * (size_t)tet, 4));
        need = spl_scale(spl_sub(spl_shell_target(s, w->x, &out), at), share);
        least = out.square;
    }
    return need;
}

static void find_needs(void *context, size_t begin, size_t end)
{
    const polish_work *w = context;
    for (size_t i = begin; i < end; i++) {
        int32_t site = w->p->chosen[i];
        w->p->need[site] = find_need(w, (int32_t)i);
        w->to[site] = w->p->need[site];
    }
}

/* Follows the neighbours, but never less than what is needed: u = mean, or need + what of the mean is across it. */
static void smooth(void *context, size_t begin, size_t end)
{
    const polish_work *w = context;
    const spl_polish *p = w->p;
    for (size_t i = begin; i < end; i++) {
        int32_t s = p->chosen[i], first = p->link_first[s], last = p->link_first[s + 1];
        spl_vec3 sum = spl_v3(0, 0, 0), need = p->need[s];
        for (int32_t k = first; k < last; k++) sum = spl_add(sum, w->from[p->link[k]]);
        spl_vec3 mean = last > first ? spl_scale(sum, FALLOFF / (last - first)) : sum;
        double square = spl_dot(need, need), along = spl_dot(mean, need);
        if (square > 0 && along < square) mean = spl_madd(mean, need, (square - along) / square);
        w->to[s] = mean;
    }
}

static void move_points(spl_polish *p, const spl_vec3 *move, float *visual)
{
    double scale = 1 / p->near->shell->solid->drive.to_solver;
    for (int32_t i = 0; i < p->points.count; i++) {
        spl_vec3 d = move[p->site[i]];
        float *at = visual + 3 * (size_t)p->points.vertex[i];
        if (d.x == 0 && d.y == 0 && d.z == 0) continue;
        spl_v3_to_float(spl_madd(spl_v3_from_float(at), d, scale), at);
    }
}

/* What the chosen need, of those that are in other flesh. Returns how many are, and how deep. */
static int32_t look(const polish_work *w, const float *visual, spl_pool *pool, double *deepest)
{
    spl_polish *p = w->p;
    int32_t count = 0;
    for (int32_t i = 0; i < p->chosen_count; i++)
        p->position[i] = spl_visual_place(&p->points, p->lead[p->chosen[i]], visual);
    p->hits.point_count = p->chosen_count;
    spl_hits_find(&p->hits, p->position, w->x, 0, accept_tet, p, pool);
    spl_parallel_for(pool, (size_t)p->chosen_count, GRAIN, find_needs, (void *)w);
    *deepest = 0;
    for (int32_t i = 0; i < p->chosen_count; i++) {
        double depth = spl_norm(p->need[p->chosen[i]]);
        count += depth > 0;
        *deepest = fmax(*deepest, depth);
    }
    return count;
}

/* Of the chosen those that need to move, and the rings around that will follow them. */
static void narrow(spl_polish *p)
{
    int32_t count = 0, begin = 0;
    for (int32_t i = 0; i < p->chosen_count; i++) {
        int32_t s = p->chosen[i];
        spl_vec3 need = p->need[s];
        if (need.x == 0 && need.y == 0 && need.z == 0) continue;
        p->near_need[s] = true;
        p->chosen[count++] = s;
    }
    for (int ring = 0; ring < ROUNDS; ring++)
        for (int32_t end = count; begin < end; begin++)
            for (int32_t k = p->link_first[p->chosen[begin]]; k < p->link_first[p->chosen[begin] + 1]; k++) {
                int32_t t = p->link[k];
                if (!p->near_need[t]) p->chosen[count++] = t;
                p->near_need[t] = true;
            }
    for (int32_t i = 0; i < count; i++) p->near_need[p->chosen[i]] = false;
    p->chosen_count = count;
}

/* One pass: what is in other flesh comes out, its neighbours follow. Returns how many were in it, and how deep. */
static int32_t pass(spl_polish *p, const double *x, bool first, float *visual, spl_pool *pool, double *deepest)
{
    polish_work w = {.p = p, .x = x, .to = p->move[0], .edge = (first ? 1 : AGAIN) * p->near->shell->edge};
    int32_t count = look(&w, visual, pool, deepest);
    if (first) narrow(p);
    for (int round = 0; count > 0 && round < ROUNDS; round++) {
        w.from = p->move[round % 2];
        w.to = p->move[1 - round % 2];
        spl_parallel_for(pool, (size_t)p->chosen_count, 256, smooth, &w);
    }
    if (count > 0) move_points(p, p->move[ROUNDS % 2], visual);
    for (int32_t i = 0; i < p->chosen_count; i++)
        p->need[p->chosen[i]] = p->move[0][p->chosen[i]] = p->move[1][p->chosen[i]] = spl_v3(0, 0, 0);
    return count;
}

int32_t spl_polish_apply(spl_polish *p, const double *x, bool all, float *visual, spl_pool *pool)
{
    double deepest = INFINITY, edge = p->near->shell->edge;
    int32_t first = 0;
    choose_sites(p, all);
    for (int i = 0; p->chosen_count > 0 && i < PASSES && deepest > ENOUGH * edge; i++) {
        int32_t count = pass(p, x, i == 0, visual, pool, &deepest);
        if (i == 0) first = count;
    }
    return first;
}
