#include "core/error.h"
#include "core/memory.h"
#include "geom/gather_walk.h"
#include "math/cpu.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 16,      /* leaves of a piece of work */
    SORT_GRAIN = 512 /* keys of a piece of sorting */
};

supple_result spl_gather_create(const spl_box_tree *from, const spl_box_tree *into, const supple_allocator *a,
                                spl_gather *out, supple_error *error)
{
    *out = (spl_gather){.allocator = *a, .from = from, .into = into};
    out->chunk_count = (spl_box_tree_leaf_count(from) + CHUNK - 1) / CHUNK;
    out->chunk = spl_new(a, (size_t)out->chunk_count, sizeof *out->chunk);
    return out->chunk ? SUPPLE_OK : spl_fail_memory(error, "pairs");
}

void spl_gather_release(spl_gather *g)
{
    if (!g->allocator.release) return;
    for (int32_t i = 0; g->chunk && i < g->chunk_count; i++) spl_free(&g->allocator, g->chunk[i].pair);
    spl_free(&g->allocator, g->chunk);
    *g = (spl_gather){0};
}

/* ---- finding ---- */

typedef void walk_fn(const spl_gather_walk *w, int32_t begin, int32_t end);

typedef struct work {
    spl_gather_walk walk; /* without a chunk */
    walk_fn *leaves;
    const spl_gather *g;
} work;

static walk_fn *best_walk(void)
{
#ifdef SPL_HAVE_AVX2
    if (spl_cpu_has_avx2()) return spl_gather_walk_avx2;
#endif
    return walk_leaves;
}

static void ask_chunks(void *context, size_t begin, size_t end)
{
    const work *w = context;
    spl_gather_walk walk = w->walk;
    int32_t leaf_count = spl_box_tree_leaf_count(walk.from);
    for (size_t i = begin; i < end; i++) {
        walk.chunk = &w->g->chunk[i];
        if (walk.chunk->done) continue;
        walk.chunk->count = 0;
        int32_t first = (int32_t)i * CHUNK, last = first + CHUNK < leaf_count ? first + CHUNK : leaf_count;
        w->leaves(&walk, first, last);
    }
}

/* False: memory is out. *full: some had too little room, which they have now. */
static bool make_room(spl_gather *g, bool *full)
{
    *full = false;
    for (int32_t i = 0; i < g->chunk_count; i++) {
        spl_gather_chunk *c = &g->chunk[i];
        c->done = c->count <= c->room;
        if (c->done) continue;
        size_t room = c->count + c->count / 4 + 16;
        spl_pair *pair = spl_resize(&g->allocator, c->pair, room, sizeof *pair);
        if (!pair) return false;
        c->pair = pair;
        c->room = room;
        *full = true;
    }
    return true;
}

supple_result spl_gather_find(spl_gather *g, spl_gather_sieve sieve, spl_gather_test *test, const void *context,
                              spl_pool *pool, supple_error *error)
{
    spl_gather_walk walk = {.from = g->from, .into = g->into, .sieve = sieve, .test = test, .context = context};
    work w = {.walk = walk, .leaves = best_walk(), .g = g};
    g->count = 0;
    if (g->from->item_count == 0 || g->into->item_count == 0) return SUPPLE_OK;
    for (int32_t i = 0; i < g->chunk_count; i++) g->chunk[i].done = false;
    for (bool full = true; full;) {
        spl_parallel_for(pool, (size_t)g->chunk_count, 1, ask_chunks, &w);
        if (!make_room(g, &full)) return spl_fail_memory(error, "pairs");
    }
    for (int32_t i = 0; i < g->chunk_count; i++) g->count += g->chunk[i].count;
    if (g->count <= INT32_MAX) return SUPPLE_OK;
    g->count = 0;
    return spl_fail_memory(error, "pairs");
}

/* ---- order ---- */

static int by_vertices(const void *a, const void *b)
{
    const spl_pair *p = a, *q = b;
    for (int k = 0; k < 4; k++)
        if (p->v[k] != q->v[k]) return p->v[k] < q->v[k] ? -1 : 1;
    return 0;
}

/* Those of one key: only the vertices after the first differ. */
static bool before(const spl_pair *p, const spl_pair *q)
{
    if (p->v[1] != q->v[1]) return p->v[1] < q->v[1];
    if (p->v[2] != q->v[2]) return p->v[2] < q->v[2];
    return p->v[3] < q->v[3];
}

/* By insertion, and where there are more than a few at shrinking gaps first (Shell 1959, gaps of Ciura 2001). */
static void sort_few(spl_pair *p, size_t count)
{
    static const size_t gaps[] = {57, 23, 10, 4, 1};
    if (count < 2) return;
    if (count > 400) {
        qsort(p, count, sizeof *p, by_vertices);
        return;
    }
    for (size_t g = count > 16 ? 0 : 4; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t gap = gaps[g], i = gap; i < count; i++) {
            spl_pair one = p[i];
            size_t j = i;
            for (; j >= gap && before(&one, &p[j - gap]); j -= gap) p[j] = p[j - gap];
            p[j] = one;
        }
}

typedef struct order {
    const int32_t *first;
    spl_pair *pair;
} order;

static void sort_keys(void *context, size_t begin, size_t end)
{
    const order *o = context;
    for (size_t key = begin; key < end; key++)
        sort_few(o->pair + o->first[key], (size_t)(o->first[key + 1] - o->first[key]));
}

static void scatter(const spl_gather *g, int32_t *first, int32_t key_count, spl_pair *out)
{
    memset(first, 0, ((size_t)key_count + 1) * sizeof *first);
    for (int32_t c = 0; c < g->chunk_count; c++)
        for (size_t i = 0; i < g->chunk[c].count; i++) first[g->chunk[c].pair[i].v[0] + 1]++;
    for (int32_t k = 0; k < key_count; k++) first[k + 1] += first[k];
    for (int32_t c = 0; c < g->chunk_count; c++)
        for (size_t i = 0; i < g->chunk[c].count; i++) out[first[g->chunk[c].pair[i].v[0]]++] = g->chunk[c].pair[i];
    memmove(first + 1, first, (size_t)key_count * sizeof *first); /* each had run on to the next one's */
    first[0] = 0;
}

size_t spl_gather_sorted(const spl_gather *g, int32_t *first, int32_t key_count, spl_pool *pool, spl_pair *out)
{
    if (g->count == 0) return 0;
    order o = {first, out};
    scatter(g, first, key_count, out);
    spl_parallel_for(pool, (size_t)key_count, SORT_GRAIN, sort_keys, &o);
    size_t kept = 1;
    for (size_t i = 1; i < g->count; i++)
        if (by_vertices(&out[kept - 1], &out[i]) != 0) out[kept++] = out[i];
    return kept;
}
