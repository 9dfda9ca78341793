/* Shortest ways over edges (Dijkstra 1959), with a heap of vertices. */
#include "core/error.h"
#include "core/memory.h"
#include "trust/cross_private.h"

supple_result spl_cross_ways_make(const supple_allocator *a, int32_t vertex_count, spl_cross_ways *out,
                                  supple_error *error)
{
    size_t n = (size_t)vertex_count;
    *out = (spl_cross_ways){.distance = spl_new(a, n, sizeof *out->distance),
                            .slot = spl_new(a, n, sizeof *out->slot),
                            .heap = spl_new(a, n, sizeof *out->heap),
                            .touched = spl_new(a, n, sizeof *out->touched)};
    if (!out->distance || !out->slot || !out->heap || !out->touched) return spl_fail_memory(error, "the crossings");
    for (size_t i = 0; i < n; i++) {
        out->distance[i] = INFINITY;
        out->slot[i] = -1;
    }
    return SUPPLE_OK;
}

void spl_cross_ways_release(const supple_allocator *a, spl_cross_ways *w)
{
    spl_free(a, w->distance);
    spl_free(a, w->slot);
    spl_free(a, w->heap);
    spl_free(a, w->touched);
    *w = (spl_cross_ways){0};
}

static void put(spl_cross_ways *w, int32_t at, int32_t vertex)
{
    w->heap[at] = vertex;
    w->slot[vertex] = at;
}

static void rise(spl_cross_ways *w, int32_t vertex)
{
    int32_t at = w->slot[vertex];
    double d = w->distance[vertex];
    for (; at > 0 && w->distance[w->heap[(at - 1) / 2]] > d; at = (at - 1) / 2) put(w, at, w->heap[(at - 1) / 2]);
    put(w, at, vertex);
}

/* The nearest vertex leaves the heap. */
static int32_t take(spl_cross_ways *w)
{
    int32_t top = w->heap[0], last = w->heap[--w->heap_count], at = 0, n = w->heap_count;
    w->slot[top] = -1;
    if (n == 0) return top;
    for (int32_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && w->distance[w->heap[child + 1]] < w->distance[w->heap[child]]) child++;
        if (!(w->distance[w->heap[child]] < w->distance[last])) break;
        put(w, at, w->heap[child]);
        at = child;
    }
    put(w, at, last);
    return top;
}

void spl_cross_ways_begin(spl_cross_ways *w, int32_t vertex, double distance)
{
    if (!(distance < w->distance[vertex])) return;
    if (w->distance[vertex] == INFINITY) w->touched[w->touched_count++] = vertex;
    w->distance[vertex] = distance;
    if (w->slot[vertex] < 0) w->slot[vertex] = w->heap_count++;
    rise(w, vertex);
}

void spl_cross_ways_run(spl_cross_ways *w, const spl_crossings *c, const spl_vec3 *x, const bool *allowed, double limit)
{
    while (w->heap_count > 0) {
        int32_t v = take(w);
        for (int32_t e = c->near_first[v]; e < c->near_first[v + 1]; e++) {
            int32_t u = c->near[e];
            if (allowed && !allowed[u]) continue;
            double d = w->distance[v] + spl_distance(x[v], x[u]);
            if (d < limit) spl_cross_ways_begin(w, u, d);
        }
    }
}

void spl_cross_ways_clear(spl_cross_ways *w)
{
    for (int32_t i = 0; i < w->touched_count; i++) w->distance[w->touched[i]] = INFINITY;
    w->touched_count = 0;
}
