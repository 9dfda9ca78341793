#include "contact/near.h"

#include "contact/hits.h"
#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

#define REST_SLACK        0.1 /* of a tet's barycentrics: what touches it at rest */
#define THROUGH_THICKNESS 1.5
#define THROUGH_COSINE    0.3 /* the way goes in and out by at least 17 degrees */

enum { RINGS = 2 };

/* ---- rings ---- */

typedef struct list {
    int32_t *item;
    size_t count, room;
} list;

static bool list_reserve(list *l, size_t more, const supple_allocator *a)
{
    if (l->count + more <= l->room) return true;
    size_t room = 2 * (l->count + more);
    int32_t *grown = spl_resize(a, l->item, room, sizeof *grown);
    if (!grown) return false;
    l->item = grown;
    l->room = room;
    return true;
}

static int by_number(const void *a, const void *b)
{
    int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

/* Appends the vertices of the tets around a body vertex, unless `mark` holds `stamp` for them: then they are there. */
static bool append_star(const spl_shell *s, int32_t v, int32_t *mark, int32_t stamp, list *l)
{
    for (size_t i = s->stars.start[v]; i < s->stars.start[v + 1]; i++) {
        if (!list_reserve(l, 4, &s->allocator)) return false;
        for (size_t k = 0; k < 4; k++) {
            int32_t w = s->tet[4 * (size_t)(s->stars.corner[i] / 4) + k];
            if (mark[w] != stamp) l->item[l->count++] = w;
            mark[w] = stamp;
        }
    }
    return true;
}

static bool append_rings(const spl_shell *s, int32_t from, int32_t *mark, int32_t stamp, list *l)
{
    size_t begin = l->count;
    if (!append_star(s, from, mark, stamp, l)) return false;
    for (int ring = 1; ring < RINGS; ring++)
        for (size_t end = l->count; begin < end; begin++)
            if (!append_star(s, l->item[begin], mark, stamp, l)) return false;
    return true;
}

static supple_result find_rings(spl_near *n, list *l, int32_t *mark, supple_error *error)
{
    const spl_shell *s = n->shell;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        n->first[v] = (int32_t)l->count;
        if (!append_rings(s, s->vertex[v], mark, v + 1, l)) return spl_fail_memory(error, "neighbours");
        qsort(l->item + n->first[v], l->count - (size_t)n->first[v], sizeof *l->item, by_number);
    }
    n->first[s->vertex_count] = (int32_t)l->count;
    n->vertex = l->item;
    return SUPPLE_OK;
}

/* ---- what overlaps at rest ---- */

static bool is_apart(const void *context, int32_t point, int32_t tet)
{
    const spl_near *n = context;
    return !spl_near_any(n, point, n->shell->tet + 4 * (size_t)tet, 4);
}

static supple_result find_overlaps(spl_near *n, spl_hits *hits, spl_pool *pool, supple_error *error)
{
    const spl_shell *s = n->shell;
    supple_result result = spl_hits_create(s, s->vertex_count, s->vertex, hits, error);
    if (result != SUPPLE_OK) return result;
    spl_vec3 *p = spl_new(&s->allocator, (size_t)s->vertex_count, sizeof *p);
    if (!p) return spl_fail_memory(error, "what overlaps at rest");
    for (int32_t v = 0; v < s->vertex_count; v++) p[v] = spl_shell_point(s->rest, s->vertex[v]);
    spl_hits_find(hits, p, s->rest, REST_SLACK, is_apart, n, pool);
    spl_free(&s->allocator, p);
    n->rest_count = hits->pair_count;
    return SUPPLE_OK;
}

/* The vertices of v's own list, and those around the tets that v and its neighbours on the surface are in at rest. */
static bool append_merged(const spl_near *n, const spl_hits *hits, int32_t v, int32_t *mark, list *l)
{
    const spl_shell *s = n->shell;
    int32_t stamp = -1 - v;
    size_t own = (size_t)(n->first[v + 1] - n->first[v]);
    if (!list_reserve(l, own, &s->allocator)) return false;
    for (size_t i = 0; i < own; i++) {
        int32_t w = n->vertex[(size_t)n->first[v] + i];
        mark[w] = stamp;
        l->item[l->count++] = w;
    }
    for (int32_t i = s->corner_first[v]; i < s->corner_first[v + 1]; i++)
        for (size_t k = 0; k < 3; k++) {
            int32_t u = s->slot[s->triangle[3 * (size_t)s->corner[i] + k]];
            for (int32_t h = hits->point_first[u]; h < hits->point_first[u + 1]; h++)
                for (size_t c = 0; c < 4; c++)
                    if (!append_star(s, s->tet[4 * (size_t)hits->pair[h].tet + c], mark, stamp, l)) return false;
        }
    return true;
}

static supple_result merge_overlaps(spl_near *n, const spl_hits *hits, int32_t *mark, supple_error *error)
{
    const spl_shell *s = n->shell;
    list l = {0};
    int32_t *first = spl_new(&s->allocator, (size_t)s->vertex_count + 1, sizeof *first);
    bool ok = first != NULL;
    for (int32_t v = 0; ok && v < s->vertex_count; v++) {
        first[v] = (int32_t)l.count;
        ok = append_merged(n, hits, v, mark, &l);
        if (ok) qsort(l.item + first[v], l.count - (size_t)first[v], sizeof *l.item, by_number);
    }
    if (!ok) {
        spl_free(&s->allocator, first);
        spl_free(&s->allocator, l.item);
        return spl_fail_memory(error, "what overlaps at rest");
    }
    first[s->vertex_count] = (int32_t)l.count;
    spl_free(&s->allocator, n->first);
    spl_free(&s->allocator, n->vertex);
    n->first = first;
    n->vertex = l.item;
    return SUPPLE_OK;
}

/* ---- creation ---- */

static supple_result build(spl_near *n, spl_pool *pool, supple_error *error)
{
    const spl_shell *s = n->shell;
    spl_hits hits = {0};
    list rings = {0};
    n->first = spl_new(&n->allocator, (size_t)s->vertex_count + 1, sizeof *n->first);
    int32_t *mark = spl_new(&n->allocator, (size_t)s->body_count, sizeof *mark);
    supple_result result = n->first && mark ? find_rings(n, &rings, mark, error) : spl_fail_memory(error, "neighbours");
    n->vertex = rings.item;
    if (result == SUPPLE_OK) result = find_overlaps(n, &hits, pool, error);
    if (result == SUPPLE_OK && hits.pair_count > 0) result = merge_overlaps(n, &hits, mark, error);
    spl_hits_release(&hits);
    spl_free(&n->allocator, mark);
    return result;
}

supple_result spl_near_create(const spl_shell *shell, spl_pool *pool, spl_near *out, supple_error *error)
{
    *out = (spl_near){.shell = shell, .allocator = shell->allocator};
    supple_result result = build(out, pool, error);
    if (result != SUPPLE_OK) spl_near_release(out);
    return result;
}

void spl_near_release(spl_near *n)
{
    if (!n->allocator.release) return;
    spl_free(&n->allocator, n->first);
    spl_free(&n->allocator, n->vertex);
    *n = (spl_near){0};
}

/* ---- sides of a limb ---- */

bool spl_near_through(const spl_near *n, int32_t v, spl_vec3 place, spl_vec3 normal)
{
    const spl_shell *s = n->shell;
    spl_vec3 way = spl_sub(place, spl_shell_point(s->rest, s->vertex[v]));
    double length = spl_norm(way);
    return length < THROUGH_THICKNESS * s->thickness[v] && spl_dot(way, s->normal[v]) < -THROUGH_COSINE * length &&
           spl_dot(way, normal) > THROUGH_COSINE * length;
}
