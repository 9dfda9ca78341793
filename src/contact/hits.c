#include "contact/hits.h"

#include "core/error.h"
#include "core/memory.h"
#include "geom/vec4.h"

#include <string.h>

enum {
    PIECE = 256,      /* tets */
    PIECE_ROOM = 512, /* pairs of a piece */
    MOST_WIDTH = 256, /* cells along an axis */
};
#define CELL_EDGES 1.25 /* of the tets' mean edge */
#define FAR_CELLS  1e6F /* what is beyond shares the last cell */

/* ---- creation ---- */

/* How many of each tet's corners are points. */
static bool count_own(spl_hits *h)
{
    const spl_shell *s = h->shell;
    bool *is_point = spl_new(&h->allocator, (size_t)s->body_count, sizeof *is_point);
    if (!is_point) return false;
    for (int32_t i = 0; h->body && i < h->point_count; i++) is_point[h->body[i]] = true;
    for (size_t k = 0; k < 4 * (size_t)s->tet_count; k++)
        h->own[k / 4] = (uint8_t)(h->own[k / 4] + is_point[s->tet[k]]);
    spl_free(&h->allocator, is_point);
    return true;
}

supple_result spl_hits_create(const spl_shell *shell, int32_t point_count, const int32_t *body, spl_hits *out,
                              supple_error *error)
{
    const supple_allocator *a = &shell->allocator;
    size_t pieces = (size_t)shell->tet_count / PIECE + 1, n = (size_t)point_count, width = 8;
    while (width * width * width < 8 * n && width < MOST_WIDTH) width *= 2;
    *out = (spl_hits){.shell = shell,
                      .allocator = *a,
                      .point_count = point_count,
                      .body = body,
                      .cell = CELL_EDGES * shell->tet_edge,
                      .width = (int32_t)width};
    out->first = spl_new(a, width * width * width + 1, sizeof *out->first);
    out->order = spl_new(a, n, sizeof *out->order);
    out->stride = n + 4; /* four may be read from the last one on */
    out->position = spl_new(a, out->stride, 3 * sizeof *out->position);
    out->vertex = spl_new(a, (size_t)shell->body_count, 4 * sizeof *out->vertex);
    out->own = spl_new(a, (size_t)shell->tet_count, sizeof *out->own);
    out->key = spl_new(a, n, sizeof *out->key);
    out->piece = spl_new(a, pieces * PIECE_ROOM, sizeof *out->piece);
    out->piece_count = spl_new(a, pieces, sizeof *out->piece_count);
    out->point_first = spl_new(a, n + 1, sizeof *out->point_first);
    out->pair = spl_new(a, pieces * PIECE_ROOM, sizeof *out->pair);
    if (out->first && out->order && out->position && out->vertex && out->own && out->key && out->piece &&
        out->piece_count && out->point_first && out->pair && count_own(out))
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
    spl_free(a, h->vertex);
    spl_free(a, h->own);
    spl_free(a, h->key);
    spl_free(a, h->piece);
    spl_free(a, h->piece_count);
    spl_free(a, h->point_first);
    spl_free(a, h->pair);
    *h = (spl_hits){0};
}

/* ---- cells ---- */

typedef struct search {
    spl_hits *hits;
    const spl_vec3 *p;
    const double *x;
    double slack;
    spl_vec3 low; /* corner of the points' box */
    float scale;  /* cells a metre */
    float margin; /* that rounding to float can take a point out of its tet's box, and more */
    spl_hits_accept *accept;
    const void *context;
} search;

/* Cells are only ever compared through this, which does not fall: where a point is in a box, its cell is in the box's
 * cells, whatever was rounded. Numbers that are none go to the first cell. */
static spl_i4 cell_of(const search *s, spl_f4 p)
{
    spl_f4 c = p * spl_f4_set(s->scale), zero = spl_f4_set(0), far = spl_f4_set(FAR_CELLS);
    c = spl_f4_select(c > zero, c, zero);
    c = spl_f4_select(c < far, c, far);
    return __builtin_convertvector(c, spl_i4);
}

static spl_f4 from_low(const search *s, spl_vec3 p)
{
    return (spl_f4){(float)(p.x - s->low.x), (float)(p.y - s->low.y), (float)(p.z - s->low.z), 0};
}

static int32_t key_of(const spl_hits *h, int32_t i, int32_t j, int32_t k)
{
    int32_t mask = h->width - 1;
    return ((k & mask) * h->width + (j & mask)) * h->width + (i & mask);
}

/* The box of the points that are somewhere. */
static void set_frame(search *s)
{
    spl_hits *h = s->hits;
    spl_vec3 low = spl_v3(INFINITY, INFINITY, INFINITY), high = spl_v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t i = 0; i < h->point_count; i++) {
        if (!spl_v3_finite(s->p[i])) continue;
        low = spl_v3(fmin(low.x, s->p[i].x), fmin(low.y, s->p[i].y), fmin(low.z, s->p[i].z));
        high = spl_v3(fmax(high.x, s->p[i].x), fmax(high.y, s->p[i].y), fmax(high.z, s->p[i].z));
    }
    bool any = low.x <= high.x;
    s->low = any ? low : spl_v3(0, 0, 0);
    s->margin = any ? (float)(1e-6 * spl_distance(low, high)) : 0;
    s->scale = (float)(1 / h->cell);
}

/* The points in the order of their cells, by counting. */
static void sort_points(search *s)
{
    spl_hits *h = s->hits;
    size_t cells = (size_t)h->width * (size_t)h->width * (size_t)h->width;
    memset(h->first, 0, (cells + 1) * sizeof *h->first);
    for (int32_t i = 0; i < h->point_count; i++) {
        spl_i4 c = cell_of(s, from_low(s, s->p[i]));
        h->key[i] = key_of(h, c[0], c[1], c[2]);
        h->first[h->key[i]]++;
    }
    for (size_t c = 1; c <= cells; c++) h->first[c] += h->first[c - 1]; /* ends of the cells */
    for (int32_t i = h->point_count - 1; i >= 0; i--) {                 /* which become their beginnings */
        int32_t at = --h->first[h->key[i]];
        spl_f4 p = from_low(s, s->p[i]);
        h->order[at] = i;
        for (size_t c = 0; c < 3; c++) h->position[c * h->stride + (size_t)at] = p[c];
    }
}

static void round_vertices(void *context, size_t begin, size_t end)
{
    const search *s = context;
    for (size_t v = begin; v < end; v++) {
        spl_f4 p = from_low(s, spl_shell_point(s->x, (int32_t)v));
        memcpy(s->hits->vertex + 4 * v, &p, sizeof p);
    }
}

/* ---- tets ---- */

typedef struct box {
    spl_f4 side[6];         /* low and high x, y and z, each four times */
    int32_t from[4], to[4]; /* cells */
    int32_t tet;
    size_t piece;
} box;

static box box_of(const search *s, int32_t t)
{
    const int32_t *tet = s->hits->shell->tet + 4 * (size_t)t;
    const float *v = s->hits->vertex;
    spl_f4 p = spl_f4_load(v + 4 * (size_t)tet[0]), q = spl_f4_load(v + 4 * (size_t)tet[1]);
    spl_f4 r = spl_f4_load(v + 4 * (size_t)tet[2]), o = spl_f4_load(v + 4 * (size_t)tet[3]);
    spl_f4 low = spl_f4_min(spl_f4_min(p, q), spl_f4_min(r, o)), high = spl_f4_max(spl_f4_max(p, q), spl_f4_max(r, o));
    spl_f4 margin = (high - low) * spl_f4_set((float)s->slack * 3) + spl_f4_set(s->margin);
    low -= margin;
    high += margin;
    spl_i4 from = cell_of(s, low), to = cell_of(s, high), last = from + (s->hits->width - 1);
    to = ((to < last) & to) | ((to >= last) & last); /* no cell twice */
    box b = {.tet = t};
    for (int c = 0; c < 3; c++) {
        b.side[2 * c] = spl_f4_set(low[c]);
        b.side[2 * c + 1] = spl_f4_set(high[c]);
    }
    memcpy(b.from, &from, sizeof from);
    memcpy(b.to, &to, sizeof to);
    return b;
}

static bool is_inside(const search *s, int32_t point, int32_t tet)
{
    double bary[4];
    if (!spl_shell_bary(s->hits->shell, tet, s->x, s->p[point], bary)) return false;
    for (int k = 0; k < 4; k++)
        if (!(bary[k] >= -s->slack)) return false;
    return true;
}

static void try_point(const search *s, const box *b, int32_t point)
{
    spl_hits *h = s->hits;
    const int32_t *c = h->shell->tet + 4 * (size_t)b->tet;
    int32_t own = h->body ? h->body[point] : -1;
    if (own == c[0] || own == c[1] || own == c[2] || own == c[3]) return;
    if (!is_inside(s, point, b->tet) || (s->accept && !s->accept(s->context, point, b->tet))) return;
    int32_t *count = &h->piece_count[b->piece];
    if (*count < PIECE_ROOM) h->piece[b->piece * PIECE_ROOM + (size_t)(*count)++] = (spl_hit_pair){point, b->tet};
}

/* Which of four points of the cells' order, up to `to`, are in a box. */
static inline spl_i4 in_box(const spl_hits *h, const box *b, int32_t at, int32_t to)
{
    const float *x = h->position + at, *y = x + h->stride, *z = y + h->stride;
    spl_f4 px = spl_f4_load(x), py = spl_f4_load(y), pz = spl_f4_load(z);
    spl_i4 lane = (spl_i4){0, 1, 2, 3} + at;
    return (px >= b->side[0]) & (px <= b->side[1]) & (py >= b->side[2]) & (py <= b->side[3]) & (pz >= b->side[4]) &
           (pz <= b->side[5]) & (lane < to);
}

/* The runs of cells that a box covers: rows along the first axis lie together, in one run or, where they pass the end
 * of the grid, two. */
typedef struct rows {
    int32_t begin, end, rest; /* of the first run, and the end of the second one from 0; 0: none */
} rows;

static rows rows_of(const spl_hits *h, const box *b)
{
    int32_t begin = b->from[0] & (h->width - 1), end = begin + b->to[0] - b->from[0] + 1;
    return end > h->width ? (rows){begin, h->width, end - h->width} : (rows){begin, end, 0};
}

/* How many points are in a box. Most tets hold just their own: counting has no branches to guess wrong. */
static int32_t count_points(const spl_hits *h, const box *b, const rows *r)
{
    spl_i4 sum = {0};
    for (int32_t k = b->from[2]; k <= b->to[2]; k++)
        for (int32_t j = b->from[1]; j <= b->to[1]; j++) {
            const int32_t *row = h->first + key_of(h, 0, j, k);
            for (int32_t at = row[r->begin], to = row[r->end]; at < to; at += 4) sum -= in_box(h, b, at, to);
            for (int32_t at = row[0], to = row[r->rest]; at < to; at += 4) sum -= in_box(h, b, at, to);
        }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static void search_run(const search *s, const box *b, int32_t from, int32_t to)
{
    for (int32_t at = from; at < to; at += 4) {
        spl_i4 in = in_box(s->hits, b, at, to);
        for (int k = 0; k < 4; k++)
            if (in[k]) try_point(s, b, s->hits->order[at + k]);
    }
}

static void search_box(const search *s, const box *b, const rows *r)
{
    const spl_hits *h = s->hits;
    for (int32_t k = b->from[2]; k <= b->to[2]; k++)
        for (int32_t j = b->from[1]; j <= b->to[1]; j++) {
            const int32_t *row = h->first + key_of(h, 0, j, k);
            search_run(s, b, row[r->begin], row[r->end]);
            search_run(s, b, row[0], row[r->rest]);
        }
}

static void search_tets(void *context, size_t begin, size_t end)
{
    const search *s = context;
    const spl_hits *h = s->hits;
    size_t piece = begin / PIECE;
    h->piece_count[piece] = 0;
    for (size_t t = begin; t < end; t++) {
        box b = box_of(s, (int32_t)t);
        rows r = rows_of(h, &b);
        if (count_points(h, &b, &r) == h->own[t]) continue;
        b.piece = piece;
        search_box(s, &b, &r);
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
            first[h->piece[piece * PIECE_ROOM + (size_t)i].point]++;
    for (int32_t v = 1; v <= h->point_count; v++) first[v] += first[v - 1];
    for (size_t piece = pieces; piece-- > 0;)
        for (int32_t i = h->piece_count[piece]; i-- > 0;) {
            spl_hit_pair pair = h->piece[piece * PIECE_ROOM + (size_t)i];
            h->pair[--first[pair.point]] = pair;
        }
}

void spl_hits_find(spl_hits *h, const spl_vec3 *p, const double *x, double slack, spl_hits_accept *accept,
                   const void *context, spl_pool *pool)
{
    search s = {.hits = h, .p = p, .x = x, .slack = slack, .accept = accept, .context = context};
    set_frame(&s);
    sort_points(&s);
    spl_parallel_for(pool, (size_t)h->shell->body_count, 2048, round_vertices, &s);
    spl_parallel_for(pool, (size_t)h->shell->tet_count, PIECE, search_tets, &s);
    gather(h);
}
