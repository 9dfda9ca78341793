/* Which triangles pass through each other: those whose boxes meet in the tree, edge by edge against the other. */
#include "core/error.h"
#include "core/memory.h"
#include "trust/cross_private.h"

#include <stdlib.h>

enum { GRAIN = 256 };
#define PARALLEL 1e-18 /* cubic metres: an edge that lies in a triangle's plane does not pass through it */
#define APART    1e-12 /* metres: beyond rounding */

/* Where segment p q passes through triangle a b c: p + t (q - p) = a + u (b - a) + v (c - a), by Cramer's rule (Moeller
 * and Trumbore 1997). */
static bool passes(spl_vec3 p, spl_vec3 q, const spl_vec3 c[3], spl_vec3 *at)
{
    spl_vec3 d = spl_sub(q, p), e = spl_sub(c[1], c[0]), f = spl_sub(c[2], c[0]), h = spl_cross(d, f);
    double det = spl_dot(e, h);
    if (!(fabs(det) >= PARALLEL)) return false;
    spl_vec3 s = spl_sub(p, c[0]), k = spl_cross(s, e);
    double u = spl_dot(s, h) / det, v = spl_dot(d, k) / det, t = spl_dot(f, k) / det;
    if (!(u >= 0 && v >= 0 && u + v <= 1 && t >= 0 && t <= 1)) return false;
    *at = spl_madd(p, d, t);
    return true;
}

static void corners(const spl_crossings *c, int32_t t, spl_vec3 out[3])
{
    for (size_t k = 0; k < 3; k++) out[k] = c->x[c->triangle[3 * (size_t)t + k]];
}

int spl_cross_points(const spl_crossings *c, int32_t s, int32_t t, spl_vec3 point[6])
{
    spl_vec3 a[3], b[3];
    int count = 0;
    corners(c, s, a);
    corners(c, t, b);
    for (int k = 0; k < 3; k++) {
        count += passes(a[k], a[(k + 1) % 3], b, &point[count]);
        count += passes(b[k], b[(k + 1) % 3], a, &point[count]);
    }
    return count;
}

static bool shares_vertex(const spl_crossings *c, int32_t s, int32_t t)
{
    const int32_t *a = c->triangle + 3 * (size_t)s, *b = c->triangle + 3 * (size_t)t;
    bool shared = false;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) shared |= a[i] == b[k];
    return shared;
}

/* Whether a triangle is on one side of another's plane, beyond rounding. */
static bool on_one_side(const spl_crossings *c, int32_t plane, int32_t t)
{
    spl_vec3 n = c->face[plane], o = c->x[c->triangle[3 * (size_t)plane]], b[3];
    double margin = APART * spl_norm(n), low = INFINITY, high = -INFINITY;
    corners(c, t, b);
    for (int k = 0; k < 3; k++) {
        double d = spl_dot(n, spl_sub(b[k], o));
        low = fmin(low, d);
        high = fmax(high, d);
    }
    return low > margin || high < -margin;
}

typedef struct pair_query {
    const spl_crossings *c;
    int32_t triangle;
    int32_t *to; /* NULL: they are only counted */
    int32_t count;
} pair_query;

static bool visit(void *context, int32_t t)
{
    pair_query *q = context;
    spl_vec3 point[6];
    int32_t s = q->triangle;
    if (t <= s || shares_vertex(q->c, s, t) || on_one_side(q->c, s, t) || on_one_side(q->c, t, s)) return true;
    if (spl_cross_points(q->c, s, t, point) == 0) return true;
    if (q->to) q->to[q->count] = t;
    q->count++;
    return true;
}

static int32_t ask(const spl_crossings *c, int32_t s, int32_t *to)
{
    pair_query q = {.c = c, .triangle = s, .to = to};
    spl_vec3 b[3];
    corners(c, s, b);
    spl_vec3 low = b[0], high = b[0];
    for (int k = 1; k < 3; k++) {
        low = spl_v3(fmin(low.x, b[k].x), fmin(low.y, b[k].y), fmin(low.z, b[k].z));
        high = spl_v3(fmax(high.x, b[k].x), fmax(high.y, b[k].y), fmax(high.z, b[k].z));
    }
    spl_tree_box(&c->tree, low, high, visit, &q);
    return q.count;
}

typedef struct pair_work {
    const spl_crossings *c;
    spl_cross_pairs *out;
} pair_work;

/* By the tree's slots: triangles that are near each other ask after each other. */
static void count_pairs(void *context, size_t begin, size_t end)
{
    const pair_work *w = context;
    for (size_t i = begin; i < end; i++) {
        int32_t s = w->c->tree.triangle[i];
        w->out->first[s + 1] = ask(w->c, s, NULL);
    }
}

static int by_number(const void *a, const void *b)
{
    int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

static void list_pairs(void *context, size_t begin, size_t end)
{
    const pair_work *w = context;
    for (size_t s = begin; s < end; s++) {
        if (w->out->first[s + 1] == w->out->first[s]) continue; /* without pairs there may be no list */
        int32_t *to = w->out->other + w->out->first[s];
        int32_t count = ask(w->c, (int32_t)s, to);
        qsort(to, (size_t)count, sizeof *to, by_number);
    }
}

supple_result spl_cross_find_pairs(spl_crossings *c, spl_cross_pairs *out, spl_pool *pool, supple_error *error)
{
    size_t n = (size_t)c->triangle_count, total = 0;
    pair_work work = {c, out};
    spl_parallel_for(pool, n, GRAIN, count_pairs, &work);
    for (size_t s = 0; s < n; s++) {
        total += (size_t)out->first[s + 1];
        if (total > INT32_MAX) return spl_fail_memory(error, "the crossings");
        out->first[s + 1] = (int32_t)total;
    }
    if (total > out->room) {
        int32_t *other = spl_resize(&c->allocator, out->other, total, sizeof *other);
        if (!other) return spl_fail_memory(error, "the crossings");
        out->other = other;
        out->room = total;
    }
    spl_parallel_for(pool, n, GRAIN, list_pairs, &work);
    return SUPPLE_OK;
}

bool spl_cross_has_pair(const spl_cross_pairs *p, int32_t s, int32_t t)
{
    int32_t low = p->first[s], high = p->first[s + 1];
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->other[middle] == t) return true;
        if (p->other[middle] < t)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
