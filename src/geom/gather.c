#include "geom/gather.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64,      /* leaves of a piece of work */
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

/* ---- one leaf against a tree ---- */

typedef struct work {
    const spl_gather *g;
    spl_gather_test *test;
    const void *context;
    spl_gather_chunk *chunk; /* of the piece at hand */
} work;

static void keep(const work *w, const spl_pair *pair)
{
    if (w->chunk->count < w->chunk->room) w->chunk->pair[w->chunk->count] = *pair;
    w->chunk->count++;
}

static bool may_meet(const spl_box *a, const spl_box *b)
{
    return (a->free | b->free) && spl_boxes_meet(a, b);
}

static void ask_leaves(const work *w, int32_t leaf, int32_t other)
{
    const spl_box_tree *from = w->g->from, *into = w->g->into;
    int32_t begin = spl_box_tree_first(into, other), end = spl_box_tree_first(into, other + 1);
    const spl_box *others = &into->node[(1 << into->depth) + other];
    for (int32_t i = spl_box_tree_first(from, leaf); i < spl_box_tree_first(from, leaf + 1); i++) {
        spl_box box = from->box[i];
        if (!may_meet(&box, others)) continue;
        for (int32_t j = from == into && i >= begin ? i + 1 : begin; j < end; j++) {
            spl_pair pair;
            if (may_meet(&box, &into->box[j]) && w->test(w->context, from->item[i], into->item[j], &pair))
                keep(w, &pair);
        }
    }
}

/* One past the last leaf below node h, as a node. */
static int64_t end_of(const spl_box_tree *t, int32_t h)
{
    return (int64_t)(h + 1) << (__builtin_clz((unsigned)h) - __builtin_clz(1U << t->depth));
}

/* Of a tree against itself, leaves before `leaf` have asked already: nodes that end before it are passed by. */
static void ask_tree(const work *w, int32_t leaf)
{
    const spl_box_tree *from = w->g->from, *into = w->g->into;
    const spl_box *box = &from->node[(1 << from->depth) + leaf];
    int32_t stack[40], used = 0, leaves = 1 << into->depth; /* a level leaves one behind: 32 at most */
    stack[used++] = 1;
    while (used > 0) {
        int32_t h = stack[--used];
        if (!may_meet(box, &into->node[h])) continue;
        if (h >= leaves) {
            ask_leaves(w, leaf, h - leaves);
            continue;
        }
        stack[used++] = 2 * h + 1;
        if (from != into || end_of(into, 2 * h) > leaves + leaf) stack[used++] = 2 * h;
    }
}

static void ask_chunks(void *context, size_t begin, size_t end)
{
    work w = *(const work *)context;
    int32_t leaf_count = spl_box_tree_leaf_count(w.g->from);
    for (size_t i = begin; i < end; i++) {
        w.chunk = &w.g->chunk[i];
        if (w.chunk->done) continue;
        w.chunk->count = 0;
        int32_t first = (int32_t)i * CHUNK, last = first + CHUNK < leaf_count ? first + CHUNK : leaf_count;
        for (int32_t leaf = first; leaf < last; leaf++) ask_tree(&w, leaf);
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

supple_result spl_gather_find(spl_gather *g, spl_gather_test *test, const void *context, spl_pool *pool,
                              supple_error *error)
{
    work w = {.g = g, .test = test, .context = context};
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

/* By insertion where there are few, as nearly everywhere. */
static void sort_few(spl_pair *p, size_t count)
{
    if (count > 24) {
        qsort(p, count, sizeof *p, by_vertices);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        spl_pair one = p[i];
        size_t j = i;
        for (; j > 0 && by_vertices(&one, &p[j - 1]) < 0; j--) p[j] = p[j - 1];
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
