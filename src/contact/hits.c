#include "contact/hits.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

enum {
    PIECE = 256,       /* tets */
    PIECE_ROOM = 512,  /* pairs of a piece */
    MOST_CELLS = 4096, /* of a tet's box */
    REACH = 1 << 20,   /* cells on either side of the origin; what is beyond shares the last ones */
};
#define CELL_EDGES 1.25 /* best of 0.75 to 3 on hero and MakeHuman bodies */

/* ---- creation ---- */

supple_result spl_hits_create(const spl_shell *shell, int32_t point_count, spl_hits *out, supple_error *error)
{
    const supple_allocator *a = &shell->allocator;
    size_t pieces = (size_t)shell->tet_count / PIECE + 1, n = (size_t)point_count;
    uint32_t cells = 64;
    while (cells < 4 * n && cells < 1U << 26) cells *= 2;
    *out = (spl_hits){.shell = shell,
                      .allocator = *a,
                      .point_count = point_count,
                      .cell = CELL_EDGES * shell->tet_edge,
                      .mask = cells - 1};
    out->first = spl_new(a, (size_t)cells + 1, sizeof *out->first);
    out->order = spl_new(a, n, sizeof *out->order);
    out->position = spl_new(a, n, 3 * sizeof *out->position);
    out->key = spl_new(a, n, sizeof *out->key);
    out->piece = spl_new(a, pieces * PIECE_ROOM, sizeof *out->piece);
    out->piece_count = spl_new(a, pieces, sizeof *out->piece_count);
    out->point_first = spl_new(a, n + 1, sizeof *out->point_first);
    out->pair = spl_new(a, pieces * PIECE_ROOM, sizeof *out->pair);
    if (out->first && out->order && out->position && out->key && out->piece && out->piece_count && out->point_first &&
        out->pair)
        return SUPPLE_OK;
    spl_hits_release(out);
    return spl_fail_memory(error, "the search for contacts");
}

void spl_hits_release(spl_hits *h)
{
    const supple_allocator *a = &h->allocator;
    if (!a->release) return;
    spl_free(a, h->first);
    spl_free(a, h->order);
    spl_free(a, h->position);
    spl_free(a, h->key);
    spl_free(a, h->piece);
    spl_free(a, h->piece_count);
    spl_free(a, h->point_first);
    spl_free(a, h->pair);
    *h = (spl_hits){0};
}

/* ---- cells ---- */

static int32_t cell_of(double x, double scale)
{
    double c = floor(x * scale);
    return c > -REACH ? c < REACH ? (int32_t)c : REACH : -REACH; /* one that is no number goes with the last */
}

static uint32_t key_of(const spl_hits *h, int32_t i, int32_t j, int32_t k)
{
    return ((uint32_t)i * 73856093U ^ (uint32_t)j * 19349663U ^ (uint32_t)k * 83492791U) & h->mask;
}

/* The points in the order of their cells, by counting. */
static void sort_points(spl_hits *h, const spl_vec3 *p)
{
    double scale = 1 / h->cell;
    memset(h->first, 0, ((size_t)h->mask + 2) * sizeof *h->first);
    for (int32_t i = 0; i < h->point_count; i++) {
        h->key[i] = key_of(h, cell_of(p[i].x, scale), cell_of(p[i].y, scale), cell_of(p[i].z, scale));
        h->first[h->key[i] + 1]++;
    }
    for (uint32_t c = 0; c <= h->mask; c++) h->first[c + 1] += h->first[c];
    for (int32_t i = h->point_count - 1; i >= 0; i--) { /* from the end of each cell down, so that `first` ends right */
        int32_t at = --h->first[h->key[i] + 1];
        h->order[at] = i;
        memcpy(h->position + 3 * (size_t)at, &p[i], sizeof p[i]);
    }
    memmove(h->first, h->first + 1, ((size_t)h->mask + 1) * sizeof *h->first);
    h->first[h->mask + 1] = h->point_count;
}

/* ---- tets ---- */

typedef struct search {
    spl_hits *hits;
    const double *x;
    double slack, scale;
    spl_hits_accept *accept;
    const void *context;
} search;

typedef struct box {
    double low[3], high[3];
    int32_t from[3], to[3]; /* cells */
} box;

/* False for a box that covers too many cells. */
static bool box_of(const search *s, const int32_t *tet, box *b)
{
    double count = 1;
    for (size_t c = 0; c < 3; c++) {
        double p = s->x[3 * (size_t)tet[0] + c], q = s->x[3 * (size_t)tet[1] + c];
        double r = s->x[3 * (size_t)tet[2] + c], t = s->x[3 * (size_t)tet[3] + c];
        double low_a = p < q ? p : q, low_b = r < t ? r : t, high_a = p > q ? p : q, high_b = r > t ? r : t;
        double low = low_a < low_b ? low_a : low_b, high = high_a > high_b ? high_a : high_b;
        double margin = s->slack * (high - low);
        b->low[c] = low - margin;
        b->high[c] = high + margin;
        b->from[c] = cell_of(b->low[c], s->scale);
        b->to[c] = cell_of(b->high[c], s->scale);
        count *= b->to[c] - b->from[c] + 1.0;
    }
    return count <= MOST_CELLS;
}

/* The pair, if the point is in the tet, if it stands in this very cell (others share its key), and if it is wanted. */
static void try_point(const search *s, int32_t at, int32_t tet, const int32_t cell[3], size_t piece)
{
    spl_hits *h = s->hits;
    const double *q = h->position + 3 * (size_t)at;
    spl_vec3 p = spl_v3(q[0], q[1], q[2]);
    spl_hit_pair pair = {h->order[at], tet};
    double bary[4];
    if (!spl_shell_bary(h->shell, tet, s->x, p, bary)) return;
    for (int k = 0; k < 4; k++)
        if (!(bary[k] >= -s->slack)) return;
    for (int c = 0; c < 3; c++)
        if (cell_of(q[c], s->scale) != cell[c]) return;
    if (s->accept && !s->accept(s->context, pair.point, tet)) return;
    if (h->piece_count[piece] < PIECE_ROOM) h->piece[piece * PIECE_ROOM + (size_t)h->piece_count[piece]++] = pair;
}

static void search_cell(const search *s, const box *b, int32_t tet, const int32_t cell[3], size_t piece)
{
    const spl_hits *h = s->hits;
    uint32_t key = key_of(h, cell[0], cell[1], cell[2]);
    for (int32_t at = h->first[key]; at < h->first[key + 1]; at++) {
        const double *q = h->position + 3 * (size_t)at;
        if (q[0] >= b->low[0] && q[0] <= b->high[0] && q[1] >= b->low[1] && q[1] <= b->high[1] && q[2] >= b->low[2] &&
            q[2] <= b->high[2])
            try_point(s, at, tet, cell, piece);
    }
}

static void search_tets(void *context, size_t begin, size_t end)
{
    const search *s = context;
    size_t piece = begin / PIECE;
    s->hits->piece_count[piece] = 0;
    for (size_t t = begin; t < end; t++) {
        box b;
        if (!box_of(s, s->hits->shell->tet + 4 * t, &b)) continue;
        int32_t cell[3];
        for (cell[2] = b.from[2]; cell[2] <= b.to[2]; cell[2]++)
            for (cell[1] = b.from[1]; cell[1] <= b.to[1]; cell[1]++)
                for (cell[0] = b.from[0]; cell[0] <= b.to[0]; cell[0]++) search_cell(s, &b, (int32_t)t, cell, piece);
    }
}

/* Gathers the pieces' pairs by point, in their order: of rising tets. */
static void gather(spl_hits *h)
{
    size_t pieces = ((size_t)h->shell->tet_count + PIECE - 1) / PIECE;
    int32_t *first = h->point_first;
    memset(first, 0, ((size_t)h->point_count + 1) * sizeof *first);
    h->pair_count = 0;
    for (size_t piece = 0; piece < pieces; piece++)
        for (int32_t i = 0; i < h->piece_count[piece]; i++, h->pair_count++)
            first[h->piece[piece * PIECE_ROOM + (size_t)i].point + 1]++;
    for (int32_t v = 0; v < h->point_count; v++) first[v + 1] += first[v];
    for (size_t piece = pieces; piece-- > 0;)
        for (int32_t i = h->piece_count[piece]; i-- > 0;) {
            const spl_hit_pair *pair = &h->piece[piece * PIECE_ROOM + (size_t)i];
            h->pair[--first[pair->point + 1]] = *pair;
        }
    memmove(first, first + 1, (size_t)h->point_count * sizeof *first);
    first[h->point_count] = h->pair_count;
}

void spl_hits_find(spl_hits *h, const spl_vec3 *p, const double *x, double slack, spl_hits_accept *accept,
                   const void *context, spl_pool *pool)
{
    search s = {h, x, slack, 1 / h->cell, accept, context};
    sort_points(h, p);
    spl_parallel_for(pool, (size_t)h->shell->tet_count, PIECE, search_tets, &s);
    gather(h);
}
