/* Bone heat: which bone is nearest through the body, and how far. */
#include "body/diffuse.h"
#include "core/error.h"
#include "core/memory.h"

#include <math.h>

/* Vertices by distance, nearest first: a binary heap that knows where each vertex is. */
typedef struct heap {
    int32_t *item; /* by place */
    int32_t *at;   /* by vertex: its place, -1 before and after */
    const double *key;
    int32_t count;
} heap;

/* Equal distances go by number, so that the order is one. */
static bool before(const heap *h, int32_t a, int32_t b)
{
    return h->key[a] < h->key[b] || (h->key[a] == h->key[b] && a < b);
}

static void put(heap *h, int32_t place, int32_t vertex)
{
    h->item[place] = vertex;
    h->at[vertex] = place;
}

static void sift(heap *h, int32_t vertex)
{
    int32_t place = h->at[vertex] >= 0 ? h->at[vertex] : h->count++;
    for (; place > 0 && before(h, vertex, h->item[(place - 1) / 2]); place = (place - 1) / 2)
        put(h, place, h->item[(place - 1) / 2]);
    put(h, place, vertex);
}

static int32_t pop(heap *h)
{
    int32_t first = h->item[0], last = h->item[--h->count], place = 0;
    h->at[first] = -1;
    if (h->count == 0) return first;
    for (;;) {
        int32_t child = 2 * place + 1;
        if (child + 1 < h->count && before(h, h->item[child + 1], h->item[child])) child++;
        if (child >= h->count || !before(h, h->item[child], last)) break;
        put(h, place, h->item[child]);
        place = child;
    }
    put(h, place, last);
    return first;
}

typedef struct near {
    const spl_elements *e;
    const double *rest;
    int32_t *first, *tet; /* the tets at each vertex */
    double *distance;
    int32_t *bone;
    heap heap;
} near;

static void list_tets(near *w)
{
    size_t n = (size_t)w->e->vertex_count, total = 4 * (size_t)w->e->count;
    for (size_t k = 0; k < total; k++) w->first[w->e->tet[k] + 1]++;
    for (size_t v = 0; v < n; v++) w->first[v + 1] += w->first[v];
    for (size_t k = total; k-- > 0;) w->tet[--w->first[w->e->tet[k] + 1]] = (int32_t)(k / 4);
    for (size_t v = 0; v < n; v++) w->first[v] = w->first[v + 1]; /* each has become its own start */
    w->first[n] = (int32_t)total;
}

/* Dijkstra along the edges of the tets, from all held vertices at once. */
static void reach(near *w, const int32_t *held)
{
    for (int32_t v = 0; v < w->e->vertex_count; v++) {
        w->distance[v] = held[v] >= 0 ? 0 : INFINITY;
        w->bone[v] = held[v];
        w->heap.at[v] = -1;
    }
    for (int32_t v = 0; v < w->e->vertex_count; v++)
        if (held[v] >= 0) sift(&w->heap, v);
    while (w->heap.count > 0) {
        int32_t v = pop(&w->heap);
        const double *p = w->rest + 3 * (size_t)v;
        for (int32_t k = w->first[v]; k < w->first[v + 1]; k++)
            for (int i = 0; i < 4; i++) {
                int32_t u = w->e->tet[4 * (size_t)w->tet[k] + (size_t)i];
                const double *q = w->rest + 3 * (size_t)u;
                double d = w->distance[v] + sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                                                 (p[2] - q[2]) * (p[2] - q[2]));
                if (d >= w->distance[u]) continue;
                w->distance[u] = d;
                w->bone[u] = w->bone[v];
                sift(&w->heap, u);
            }
    }
}

/* distance becomes H = 1 / d^2; 0 where no bone is. */
static supple_result find_heat(const spl_harmonic_input *in, const double *rest, const supple_allocator *a,
                               double *distance, int32_t *bone, supple_error *error)
{
    size_t n = (size_t)in->elements->vertex_count;
    near w = {.e = in->elements, .rest = rest, .distance = distance, .bone = bone};
    w.first = spl_new(a, n + 1, sizeof *w.first);
    w.tet = spl_new(a, 4 * (size_t)in->elements->count, sizeof *w.tet);
    w.heap.item = spl_new(a, n, sizeof *w.heap.item);
    w.heap.at = spl_new(a, n, sizeof *w.heap.at);
    w.heap.key = distance;
    bool made = w.first && w.tet && w.heap.item && w.heap.at;
    if (made) {
        list_tets(&w);
        reach(&w, in->held);
        for (size_t v = 0; v < n; v++)
            distance[v] = in->held[v] >= 0 || !(distance[v] < INFINITY) ? 0 : 1 / (distance[v] * distance[v]);
    }
    spl_free(a, w.first);
    spl_free(a, w.tet);
    spl_free(a, w.heap.item);
    spl_free(a, w.heap.at);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the weights");
}

supple_result spl_heat_weights(const spl_harmonic_input *in, const double *rest, spl_pool *pool,
                               const supple_allocator *a, spl_weight_table *out, supple_error *error)
{
    size_t n = (size_t)in->elements->vertex_count;
    supple_result result = spl_weight_table_create((int32_t)n, in->bone_count, a, out, error);
    if (result != SUPPLE_OK) return result;
    double *heat = spl_new(a, n, sizeof *heat);
    int32_t *bone = spl_new(a, n, sizeof *bone);
    bool *fixed = spl_new(a, n, sizeof *fixed);
    result = heat && bone && fixed ? find_heat(in, rest, a, heat, bone, error) : spl_fail_memory(error, "the weights");
    if (result == SUPPLE_OK) {
        for (size_t v = 0; v < n; v++) {
            fixed[v] = in->held[v] >= 0;
            if (fixed[v]) out->value[(size_t)in->held[v] * n + v] = 1;
        }
        spl_diffusion d = {in->elements, fixed, heat, bone, in->backend};
        result = spl_diffuse(&d, pool, out, error);
    }
    spl_free(a, heat);
    spl_free(a, bone);
    spl_free(a, fixed);
    if (result != SUPPLE_OK) spl_weight_table_release(out);
    return result;
}
