/* The skin of a prism body: the boundary of stuffed tetrahedra, made manifold. */
#include "body/prism_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/sets.h"

enum {
    SHEETS_MOST = 16,
    PIECE_LEAST = SPL_PRISM_PIECE_LEAST,
    SPLIT_ROUNDS = 2,
    UNFOLD_ROUNDS = 8
};                /* half-edges at an edge; triangles of a piece */
#define APART 0.1 /* of the way to their neighbours is what copies of a vertex step back from each other */

/* The boundary's triangles with what joins them. Half-edge 3 t + k runs from corner k of triangle t to corner k + 1,
 * corner 3 t + k is where it starts. */
typedef struct sheet {
    const spl_tets *t;
    const supple_allocator *a;
    size_t count;            /* half-edges, and corners */
    int32_t *first, *bucket; /* half-edges by their lower vertex */
    int32_t *mate;           /* by half-edge: the one that runs back, of the same sheet */
    int32_t *fan;            /* by corner: union-find over the corners of a sheet's vertex */
    int32_t *piece;          /* by triangle: union-find over the triangles of a closed surface */
    int32_t *size;           /* by triangle that names a piece: its triangles */
    double *volume;          /* likewise */
    int32_t *vertex;         /* by corner that names a fan: the skin's vertex, -1 */
} sheet;

static int32_t next_in(int32_t half)
{
    return half % 3 == 2 ? half - 2 : half + 1;
}

static int32_t start(const sheet *s, int32_t half)
{
    return s->t->surface[half];
}

static int32_t end(const sheet *s, int32_t half)
{
    return s->t->surface[next_in(half)];
}

static int32_t higher(const sheet *s, int32_t half)
{
    int32_t a = start(s, half), b = end(s, half);
    return a > b ? a : b;
}

static bool allocate(sheet *s)
{
    const supple_allocator *a = s->a;
    s->count = 3 * (size_t)s->t->surface_count;
    s->first = spl_new(a, (size_t)s->t->vertex_count + 1, sizeof *s->first);
    s->bucket = spl_new(a, s->count, sizeof *s->bucket);
    s->mate = spl_new(a, s->count, sizeof *s->mate);
    s->fan = spl_new(a, s->count, sizeof *s->fan);
    s->piece = spl_new(a, s->count / 3, sizeof *s->piece);
    s->size = spl_new(a, s->count / 3, sizeof *s->size);
    s->volume = spl_new(a, s->count / 3, sizeof *s->volume);
    s->vertex = spl_new(a, s->count, sizeof *s->vertex);
    return s->first && s->bucket && s->mate && s->fan && s->piece && s->size && s->volume && s->vertex;
}

static void release(sheet *s)
{
    void *block[] = {s->first, s->bucket, s->mate, s->fan, s->piece, s->size, s->volume, s->vertex};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(s->a, block[i]);
}

/* ---- which triangles belong together ---- */

/* Half-edges by their lower vertex, of one vertex by the higher one. */
static void sort_edges(sheet *s)
{
    for (size_t h = 0; h < s->count; h++) {
        int32_t a = start(s, (int32_t)h), b = end(s, (int32_t)h);
        s->first[(a < b ? a : b) + 1]++;
    }
    for (int32_t v = 0; v < s->t->vertex_count; v++) s->first[v + 1] += s->first[v];
    for (size_t h = s->count; h-- > 0;) {
        int32_t a = start(s, (int32_t)h), b = end(s, (int32_t)h), low = a < b ? a : b;
        s->bucket[--s->first[low + 1]] = (int32_t)h;
    }
    for (int32_t v = 0; v < s->t->vertex_count; v++) s->first[v] = s->first[v + 1]; /* each stood one too far */
    s->first[s->t->vertex_count] = (int32_t)s->count;
    for (int32_t v = 0; v < s->t->vertex_count; v++)
        for (int32_t i = s->first[v] + 1; i < s->first[v + 1]; i++)
            for (int32_t j = i; j > s->first[v] && higher(s, s->bucket[j - 1]) > higher(s, s->bucket[j]); j--) {
                int32_t swap = s->bucket[j];
                s->bucket[j] = s->bucket[j - 1];
                s->bucket[j - 1] = swap;
            }
}

/* The angle of a triangle about an edge, whose direction is `along`; u is any direction across it. */
static double turn_of(const sheet *s, int32_t half, spl_vec3 origin, spl_vec3 along, spl_vec3 u)
{
    spl_vec3 d = spl_sub(s->t->position[end(s, next_in(half))], origin);
    return atan2(spl_dot(d, spl_cross(along, u)), spl_dot(d, u));
}

/* Pairs the half-edges at an edge where several sheets meet: those that bound the same wedge of flesh. Seen along the
 * edge, flesh lies clockwise of a triangle that runs along it and counter-clockwise of one that runs against it, so the
 * narrowest wedges are pairs. */
static void pair_by_angle(sheet *s, const int32_t *half, int n, int32_t low)
{
    spl_vec3 origin = s->t->position[low];
    spl_vec3 along = spl_unit(spl_sub(s->t->position[higher(s, half[0])], origin), spl_v3(0, 0, 1));
    spl_vec3 u = fabs(along.x) < 0.7 ? spl_v3(1, 0, 0) : spl_v3(0, 1, 0);
    u = spl_unit(spl_sub(u, spl_scale(along, spl_dot(along, u))), u);
    bool used[SHEETS_MOST] = {false};
    for (int round = 0; round < n / 2; round++) {
        double least = INFINITY;
        int forth = -1, back = -1;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                if (used[i] || used[j] || start(s, half[i]) != low || start(s, half[j]) == low) continue;
                double wedge = turn_of(s, half[i], origin, along, u) - turn_of(s, half[j], origin, along, u);
                if (wedge < 0) wedge += 2 * M_PI;
                if (wedge >= least) continue;
                least = wedge;
                forth = i;
                back = j;
            }
        if (forth < 0) return;
        used[forth] = used[back] = true;
        s->mate[half[forth]] = half[back];
        s->mate[half[back]] = half[forth];
    }
}

/* Finds every half-edge's mate; false if the boundary is not closed. */
static bool find_mates(sheet *s)
{
    for (size_t h = 0; h < s->count; h++) s->mate[h] = -1;
    for (int32_t v = 0; v < s->t->vertex_count; v++) {
        for (int32_t i = s->first[v], j; i < s->first[v + 1]; i = j) {
            for (j = i + 1; j < s->first[v + 1] && higher(s, s->bucket[j]) == higher(s, s->bucket[i]); j++) {
            }
            if (j - i > SHEETS_MOST) return false;
            pair_by_angle(s, s->bucket + i, j - i, v);
        }
    }
    for (size_t h = 0; h < s->count; h++)
        if (s->mate[h] < 0) return false;
    return true;
}

/* ---- vertices and pieces ---- */

static void find_fans(sheet *s)
{
    for (size_t c = 0; c < s->count; c++) s->fan[c] = (int32_t)c;
    for (size_t t = 0; t < s->count / 3; t++) s->piece[t] = (int32_t)t;
    for (size_t h = 0; h < s->count; h++) {
        spl_sets_join(s->fan, (int32_t)h, next_in(s->mate[h]));
        spl_sets_join(s->piece, (int32_t)(h / 3), s->mate[h] / 3);
    }
    for (size_t t = 0; t < s->count / 3; t++) {
        int32_t p = spl_sets_root(s->piece, (int32_t)t);
        const int32_t *c = s->t->surface + 3 * t;
        const spl_vec3 *x = s->t->position;
        s->size[p]++;
        s->volume[p] += spl_dot(x[c[0]], spl_cross(x[c[1]], x[c[2]])) / 6;
    }
}

/* A cavity has a boundary of its own, inside out: nothing there is skin. */
static bool is_kept(sheet *s, size_t triangle)
{
    int32_t p = spl_sets_root(s->piece, (int32_t)triangle);
    return s->size[p] >= PIECE_LEAST && s->volume[p] > 0;
}

static void number_vertices(sheet *s, spl_prism_skin *skin, spl_prism_report *report)
{
    for (size_t c = 0; c < s->count; c++) s->vertex[c] = -1;
    for (size_t t = 0; t < s->count / 3; t++) {
        if (!is_kept(s, t)) {
            report->crumbs++;
            continue;
        }
        skin->triangle_count++;
        for (size_t c = 3 * t; c < 3 * t + 3; c++) {
            int32_t fan = spl_sets_root(s->fan, (int32_t)c);
            if (s->vertex[fan] < 0) s->vertex[fan] = skin->vertex_count++;
        }
    }
}

/* With room for as many splits again as an eighth of the vertices. */
static bool make_room(spl_prism_skin *skin)
{
    const supple_allocator *a = &skin->allocator;
    int32_t spare = skin->vertex_count / 8 + 8;
    skin->vertex_room = skin->vertex_count + spare;
    skin->triangle_room = skin->triangle_count + 2 * spare;
    size_t n = (size_t)skin->vertex_room, m = (size_t)skin->triangle_room;
    skin->position = spl_new(a, n, sizeof *skin->position);
    skin->place = spl_new(a, n, sizeof *skin->place);
    skin->triangle = spl_new(a, m, 3 * sizeof *skin->triangle);
    skin->mate = spl_new(a, m, 3 * sizeof *skin->mate);
    skin->fan_first = spl_new(a, n + 1, sizeof *skin->fan_first);
    skin->fan = spl_new(a, m, 3 * sizeof *skin->fan);
    return skin->position && skin->place && skin->triangle && skin->mate && skin->fan_first && skin->fan;
}

static void fill_skin(sheet *s, const spl_place *place, spl_prism_skin *skin)
{
    int32_t to = 0;
    for (size_t t = 0; t < s->count / 3; t++) { /* a piece is whole: mates of what is kept are kept */
        if (is_kept(s, t)) s->bucket[t] = to++; /* no longer needed for edges */
    }
    to = 0;
    for (size_t t = 0; t < s->count / 3; t++) {
        if (!is_kept(s, t)) continue;
        for (size_t c = 3 * t; c < 3 * t + 3; c++, to++) {
            int32_t v = s->vertex[spl_sets_root(s->fan, (int32_t)c)];
            skin->triangle[to] = v;
            skin->mate[to] = 3 * s->bucket[s->mate[c] / 3] + s->mate[c] % 3;
            skin->position[v] = s->t->position[s->t->surface[c]];
            skin->place[v] = place[s->t->surface[c]];
        }
    }
}

static void make_fans(spl_prism_skin *skin)
{
    size_t n = (size_t)skin->vertex_count, m = (size_t)skin->triangle_count;
    for (size_t v = 0; v <= n; v++) skin->fan_first[v] = 0;
    for (size_t c = 0; c < 3 * m; c++) skin->fan_first[skin->triangle[c] + 1]++;
    for (size_t v = 0; v < n; v++) skin->fan_first[v + 1] += skin->fan_first[v];
    for (size_t c = 3 * m; c-- > 0;) skin->fan[--skin->fan_first[skin->triangle[c] + 1]] = (int32_t)(c / 3);
    for (size_t v = 0; v < n; v++) skin->fan_first[v] = skin->fan_first[v + 1];
    skin->fan_first[n] = (int32_t)(3 * m);
}

/* Copies of one vertex step back from each other, each towards its own neighbours: surfaces elsewhere weld what is at
 * one place. */
static void part_copies(sheet *s, spl_prism_skin *skin, int32_t *copies, spl_prism_report *report)
{
    for (size_t c = 0; c < s->count; c++)
        if (s->vertex[c] >= 0 && s->fan[c] == (int32_t)c) copies[s->t->surface[c]]++;
    for (size_t c = 0; c < s->count; c++) {
        int32_t v = s->vertex[c], n = 0;
        if (v < 0 || s->fan[c] != (int32_t)c || copies[s->t->surface[c]] < 2) continue;
        report->split++;
        spl_vec3 x = s->t->position[s->t->surface[c]], sum = {0};
        for (int32_t i = skin->fan_first[v]; i < skin->fan_first[v + 1]; i++)
            for (int k = 0; k < 3; k++) {
                int32_t other = skin->triangle[3 * (size_t)skin->fan[i] + (size_t)k];
                if (other == v) continue;
                sum = spl_add(sum, spl_sub(skin->position[other], x));
                n++;
            }
        skin->position[v] = spl_madd(x, sum, APART / n);
    }
}

static double mean_edge(const spl_prism_skin *s)
{
    double sum = 0;
    for (size_t c = 0; c < 3 * (size_t)s->triangle_count; c++)
        sum += spl_distance(s->position[s->triangle[c]], s->position[s->triangle[next_in((int32_t)c)]]);
    return s->triangle_count ? sum / (3.0 * s->triangle_count) : 0;
}

static supple_result make_manifold(sheet *s, const spl_place *place, spl_prism_skin *skin, spl_prism_report *report,
                                   supple_error *error)
{
    if (!allocate(s)) return spl_fail_memory(error, "the skin");
    sort_edges(s);
    if (!find_mates(s)) return spl_fail(error, SUPPLE_ERROR_INPUT, "the flesh's boundary is not closed");
    find_fans(s);
    number_vertices(s, skin, report);
    if (skin->vertex_count == 0) return spl_fail(error, SUPPLE_ERROR_INPUT, "the flesh is too small for prisms");
    int32_t *copies = spl_new(s->a, (size_t)s->t->vertex_count, sizeof *copies);
    bool made = copies && make_room(skin);
    if (made) {
        fill_skin(s, place, skin);
        make_fans(skin);
        part_copies(s, skin, copies, report);
        report->split += spl_prism_skin_split(skin);
        make_fans(skin);
    }
    spl_free(s->a, copies);
    return made ? SUPPLE_OK : spl_fail_memory(error, "the skin");
}

/* Spreads the vertices and removes folds: first by moving vertices, then by splitting them, at last by cutting. */
static supple_result smooth_out(spl_prism_skin *s, spl_pool *pool, spl_prism_report *report, supple_error *error)
{
    for (int round = 0; round < UNFOLD_ROUNDS; round++) {
        supple_result result = spl_prism_skin_smooth(s, pool, error);
        int32_t folded = result == SUPPLE_OK ? spl_prism_skin_unfold(s) : 0;
        if (folded == 0) return result;
        if (round < SPLIT_ROUNDS) {
            report->split += spl_prism_skin_split(s);
        } else {
            result = spl_prism_skin_cut(s, round - SPLIT_ROUNDS, error);
            if (result != SUPPLE_OK) return result;
            report->cut += folded;
        }
        make_fans(s);
    }
    return SUPPLE_OK;
}

static supple_result count_pieces(const spl_prism_skin *s, int32_t *count, supple_error *error)
{
    int32_t *piece = spl_new(&s->allocator, (size_t)s->triangle_count, sizeof *piece);
    if (!piece) return spl_fail_memory(error, "the skin");
    *count = s->triangle_count;
    for (int32_t t = 0; t < s->triangle_count; t++) piece[t] = t;
    for (int32_t h = 0; h < 3 * s->triangle_count; h++) {
        if (spl_sets_root(piece, h / 3) == spl_sets_root(piece, s->mate[h] / 3)) continue;
        spl_sets_join(piece, h / 3, s->mate[h] / 3);
        --*count;
    }
    spl_free(&s->allocator, piece);
    return SUPPLE_OK;
}

supple_result spl_prism_skin_make(const spl_attach_input *in, spl_pool *pool, spl_prism_skin *out,
                                  spl_prism_report *report, supple_error *error)
{
    *out = (spl_prism_skin){.allocator = *in->allocator};
    sheet s = {.t = in->tets, .a = in->allocator};
    supple_result result = make_manifold(&s, in->place, out, report, error);
    release(&s);
    if (result == SUPPLE_OK) result = smooth_out(out, pool, report, error);
    if (result == SUPPLE_OK) result = count_pieces(out, &report->pieces, error);
    out->edge = report->edge = result == SUPPLE_OK ? mean_edge(out) : 0;
    if (result != SUPPLE_OK) spl_prism_skin_release(out);
    return result;
}

void spl_prism_skin_release(spl_prism_skin *s)
{
    const supple_allocator *a = &s->allocator;
    if (!a->release) return;
    void *block[] = {s->position, s->place, s->triangle, s->mate, s->fan_first, s->fan};
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) spl_free(a, block[i]);
    *s = (spl_prism_skin){0};
}
