/* Detection by pairs, for bench_contact: two tori, one within the other, that breathe.
 *
 * The gap between them is 0.1 to 0.7 of an edge, pairs are looked for within half an edge, and each run is at another
 * breath: about as many pairs for a triangle at any size, so that times over triangles say how finding grows. */
#ifndef SPL_BENCH_CONTACT_PAIRS_H
#define SPL_BENCH_CONTACT_PAIRS_H

#include "core/memory.h"
#include "core/timer.h"
#include "geom/ccd.h"
#include "geom/pairs.h"
#include "measure.h"
#include "record.h"

#include <math.h>

typedef struct tori {
    supple_allocator a;
    int32_t around, across; /* vertices */
    double edge_length;
    spl_primitives p;
    int32_t *triangle, *edge, *point;
    double *x, *d;
} tori;

static void tori_place(const tori *t, double breath, double *x)
{
    for (int32_t v = 0; v < t->p.vertex_count; v++) {
        int32_t layer = v / (t->around * t->across), i = v / t->across % t->around, j = v % t->across;
        double u = 2 * 3.141592653589793 * (i + 0.3 * layer) / t->around,
               w = 2 * 3.141592653589793 * (j + 0.4 * layer) / t->across;
        double gap = t->edge_length * (0.4 + 0.3 * sin(20 * breath)) * layer;
        double r = 0.3 + gap + 0.03 * sin(3 * u + breath) + 0.02 * sin(2 * w - breath);
        double at[3] = {(1 + r * cos(w)) * cos(u), (1 + r * cos(w)) * sin(u), r * sin(w)};
        for (int k = 0; k < 3; k++) x[3 * (size_t)v + (size_t)k] = at[k];
    }
}

static void tori_connect(tori *t)
{
    int32_t *c = t->triangle;
    for (int32_t v = 0; v < t->p.vertex_count; v++) {
        int32_t size = t->around * t->across, base = v / size * size, i = v / t->across % t->around, j = v % t->across;
        int32_t next = (i + 1) % t->around, beside = (j + 1) % t->across;
        int32_t b = base + i * t->across + beside, d = base + next * t->across + j,
                e = base + next * t->across + beside;
        int32_t corner[6] = {v, b, d, b, e, d};
        for (int k = 0; k < 6; k++) *c++ = corner[k];
    }
}

static tori tori_make(int32_t triangles)
{
    tori t = {.a = spl_allocator_of(NULL)};
    t.across = (int32_t)sqrt(triangles / 4 * 0.3);
    t.around = triangles / 4 / t.across;
    t.edge_length = 2 * 3.141592653589793 * 0.3 / t.across;
    t.p.vertex_count = 2 * t.around * t.across;
    t.p.triangle_count = 2 * t.p.vertex_count;
    size_t n = (size_t)t.p.vertex_count;
    t.triangle = calloc(6 * n, sizeof *t.triangle);
    t.x = calloc(3 * n, sizeof *t.x);
    t.d = calloc(3 * n, sizeof *t.d);
    if (!t.triangle || !t.x || !t.d) exit(5);
    tori_connect(&t);
    if (spl_primitives_edges(t.triangle, t.p.triangle_count, &t.a, &t.edge, &t.p.edge_count, NULL) != SUPPLE_OK ||
        spl_primitives_vertices(t.triangle, t.p.triangle_count, &t.a, &t.point, &t.p.point_count, NULL) != SUPPLE_OK)
        exit(5);
    t.p.triangle = t.triangle;
    t.p.edge = t.edge;
    t.p.point = t.point;
    return t;
}

static void tori_free(tori *t)
{
    spl_free(&t->a, t->edge);
    spl_free(&t->a, t->point);
    free(t->triangle);
    free(t->x);
    free(t->d);
}

/* The next breath; d leads on to the one after it, and 1 m with all of it. */
static void tori_breathe(const tori *t, int run)
{
    tori_place(t, 0.1 * run, t->x);
    tori_place(t, 0.1 * run + 0.1, t->d);
    for (size_t i = 0; i < 3 * (size_t)t->p.vertex_count; i++) t->d[i] += (i % 3 == 2) - t->x[i];
}

enum { PAIR_RUNS = 7 };

typedef struct pair_times {
    double find[PAIR_RUNS], swept[PAIR_RUNS], ccd[PAIR_RUNS]; /* ms, ms, ns a pair */
    int32_t found, swept_found;                               /* most */
} pair_times;

static double time_ccd(const tori *t, const spl_pair *pair, int32_t count)
{
    double least = 1, start = spl_now_ms();
    for (int32_t i = 0; i < count; i++) {
        double x[4][3], d[4][3];
        for (int c = 0; c < 4; c++)
            for (size_t k = 0; k < 3; k++) {
                x[c][k] = t->x[3 * (size_t)pair[i].v[c] + k];
                d[c][k] = t->d[3 * (size_t)pair[i].v[c] + k];
            }
        double until =
            spl_pair_ccd((spl_pair_kind)pair[i].kind, (const double(*)[3])x, (const double(*)[3])d, 0, 0.1, 1);
        least = until < least ? until : least;
    }
    double ms = spl_now_ms() - start;
    return least >= 0 ? ms * 1e6 / (count > 0 ? count : 1) : 0;
}

static void time_pairs(const tori *t, spl_pairs *pairs, spl_pool *pool, pair_times *out)
{
    double radius = 0.5 * t->edge_length;
    for (int run = -1; run < PAIR_RUNS; run++) { /* the first makes room and trees */
        tori_breathe(t, run);
        double start = spl_now_ms();
        if (spl_pairs_find(pairs, t->x, NULL, radius, pool, NULL) != SUPPLE_OK) exit(5);
        double middle = spl_now_ms();
        int32_t found, swept;
        spl_pairs_list(pairs, &found);
        double begin = spl_now_ms();
        if (spl_pairs_find(pairs, t->x, t->d, 0.1 * radius, pool, NULL) != SUPPLE_OK) exit(5);
        double end = spl_now_ms();
        const spl_pair *list = spl_pairs_list(pairs, &swept);
        double ns = time_ccd(t, list, swept < 200000 ? swept : 200000);
        if (run < 0) continue;
        out->found = found > out->found ? found : out->found;
        out->swept_found = swept > out->swept_found ? swept : out->swept_found;
        out->find[run] = middle - start;
        out->swept[run] = end - begin;
        out->ccd[run] = ns;
    }
}

static void report_pairs(const tori *t, int32_t threads, const pair_times *p)
{
    char row[64];
    snprintf(row, sizeof row, "%d triangles, %d thread%s", (int)t->p.triangle_count, (int)threads,
             threads > 1 ? "s" : "");
    bench_spread find = bench_spread_of(p->find, PAIR_RUNS), swept = bench_spread_of(p->swept, PAIR_RUNS);
    bench_spread ccd = bench_spread_of(p->ccd, PAIR_RUNS);
    bench_note("pairs", row, "find", BENCH_MS, find);
    bench_note("pairs", row, "find in motion", BENCH_MS, swept);
    bench_value("pairs", row, "find, a triangle", BENCH_NS, find.median * 1e6 / t->p.triangle_count);
    bench_value("pairs", row, "pairs", BENCH_COUNT, p->found);
    bench_note("pairs", row, "continuous detection, a pair", BENCH_NS, ccd);
    printf("%s: %d pairs in %.1f ms (%.0f ns a triangle), %d in motion in %.1f ms, %.0f ns to bound one's motion (%.1f "
           "million a second)\n",
           row, (int)p->found, find.median, find.median * 1e6 / t->p.triangle_count, (int)p->swept_found, swept.median,
           ccd.median, 1e3 / ccd.median);
    char series[64];
    snprintf(series, sizeof series, "find pairs, %d thread%s", (int)threads, threads > 1 ? "s" : "");
    bench_point(series, t->p.triangle_count, find.median);
}

/* threads 0: 1 and 2. */
static void measure_pairs(bool quick, int32_t threads)
{
    for (int32_t size = 5000; size <= (quick ? 5000 : 500000); size *= 10) {
        tori t = tori_make(size);
        for (int32_t n = threads ? threads : 1; n <= (threads ? threads : 2); n++) {
            spl_pairs *pairs;
            pair_times times = {0};
            spl_pool *pool = make_pool(n);
            if (spl_pairs_create(&t.p, NULL, NULL, &t.a, &pairs, NULL) != SUPPLE_OK) exit(5);
            time_pairs(&t, pairs, pool, &times);
            report_pairs(&t, n, &times);
            spl_pairs_destroy(pairs);
            spl_pool_destroy(pool);
        }
        tori_free(&t);
    }
    for (int32_t n = threads ? threads : 1; !quick && n <= (threads ? threads : 2); n++) {
        char series[64];
        snprintf(series, sizeof series, "find pairs, %d thread%s", (int)n, n > 1 ? "s" : "");
        bench_growth("pairs", series, "triangles");
    }
}

#endif
