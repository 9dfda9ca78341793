#include "record.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *kind, *unit, *better;
} kinds[BENCH_KINDS] = {
    [BENCH_MS] = {"time", "ms", "less"},          [BENCH_NS] = {"time", "ns", "less"},
    [BENCH_CPU_MS] = {"processor", "ms", "less"}, [BENCH_MB] = {"memory", "MB", "less"},
    [BENCH_GB_S] = {"bandwidth", "GB/s", "more"}, [BENCH_GFLOP_S] = {"arithmetic", "GFlop/s", "more"},
    [BENCH_RATE] = {"rate", "1/s", "more"},       [BENCH_SHARE] = {"share", "1", "more"},
    [BENCH_RATIO] = {"ratio", "1", NULL},         [BENCH_COUNT] = {"count", "1", NULL},
    [BENCH_ERROR] = {"error", "1", NULL},         [BENCH_EXPONENT] = {"exponent", "1", NULL},
};

enum { SERIES_SIZE = 64, MAX_POINTS = 256 };

typedef struct point {
    char series[SERIES_SIZE];
    double size, ms;
} point;

/* Shared with forks. */
typedef struct points {
    size_t count;
    point point[MAX_POINTS];
} points;

static const char *bench_name = "";
static int rows_file = -1;
static points *all_points;

bench_options bench_begin(const char *name, int *argc, char **argv)
{
    bench_options o = {0};
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            o.quick = true;
        else if (strcmp(argv[i], "--full") == 0)
            o.full = true;
        else
            argv[kept++] = argv[i];
    }
    if (kept < *argc) argv[kept] = NULL;
    *argc = kept;
    bench_name = name;
    const char *file = getenv("SUPPLE_BENCH_ROWS");
    if (file && *file) rows_file = atoi(file);
    void *shared = mmap(NULL, sizeof(points), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) all_points = shared;
    return o;
}

int bench_rows_file(void)
{
    return rows_file;
}

/* ---- spreads ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double q)
{
    double at = q * (count - 1), below = floor(at);
    int i = (int)below, next = i + 1 < count ? i + 1 : i;
    return sorted[i] + (at - below) * (sorted[next] - sorted[i]);
}

bench_spread bench_spread_of(const double *value, int count)
{
    bench_spread s = {NAN, NAN, NAN, NAN, NAN, count};
    double *sorted = count > 0 ? malloc((size_t)count * sizeof *sorted) : NULL;
    if (!sorted) return s;
    memcpy(sorted, value, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    s = (bench_spread){sorted[0],
                       quantile(sorted, count, 0.25),
                       quantile(sorted, count, 0.5),
                       quantile(sorted, count, 0.75),
                       sorted[count - 1],
                       count};
    free(sorted);
    return s;
}

bench_spread bench_least(double min, int runs)
{
    return (bench_spread){min, NAN, NAN, NAN, NAN, runs};
}

bench_spread bench_single(double value)
{
    return (bench_spread){value, value, value, value, value, 1};
}

bench_spread bench_inverse(bench_spread s, double factor)
{
    return (bench_spread){factor / s.max, factor / s.high, factor / s.median, factor / s.low, factor / s.min, s.runs};
}

/* ---- rows ---- */

/* A line that is being put together; what does not fit is left out, and the line with it. */
typedef struct line {
    char text[2048];
    size_t size;
    bool whole;
} line;

static void put(line *l, const char *text)
{
    size_t n = strlen(text);
    if (l->size + n + 1 > sizeof l->text) l->whole = false;
    if (!l->whole) return;
    memcpy(l->text + l->size, text, n + 1);
    l->size += n;
}

/* Names may come from files: all that JSON wants escaped is, and other control characters are left out. */
static void put_string(line *l, const char *key, const char *text)
{
    char one[3] = {0};
    put(l, key);
    put(l, "\"");
    for (const char *c = text ? text : ""; *c; c++) {
        bool escaped = *c == '"' || *c == '\\';
        if ((unsigned char)*c < 32 || *c == 127) continue;
        one[0] = escaped ? '\\' : *c;
        one[1] = escaped ? *c : 0;
        put(l, one);
    }
    put(l, "\"");
}

static void put_number(line *l, const char *key, double value, bool known)
{
    char text[40];
    snprintf(text, sizeof text, "%.7g", value);
    put(l, key);
    put(l, known && isfinite(value) ? text : "null");
}

void bench_record(const bench_row *r)
{
    if (rows_file < 0) return;
    const bench_spread *s = &r->spread;
    line l = {.whole = true};
    put_string(&l, "{\"bench\": ", bench_name);
    put_string(&l, ", \"table\": ", r->table);
    put_string(&l, ", \"row\": ", r->row);
    put_string(&l, ", \"quantity\": ", r->quantity);
    put_string(&l, ", \"kind\": ", kinds[r->kind].kind);
    put_string(&l, ", \"unit\": ", kinds[r->kind].unit);
    if (kinds[r->kind].better)
        put_string(&l, ", \"better\": ", kinds[r->kind].better);
    else
        put(&l, ", \"better\": null");
    put_number(&l, ", \"min\": ", s->min, true);
    put_number(&l, ", \"low\": ", s->low, true);
    put_number(&l, ", \"median\": ", s->median, true);
    put_number(&l, ", \"high\": ", s->high, true);
    put_number(&l, ", \"max\": ", s->max, true);
    put_number(&l, ", \"runs\": ", s->runs, true);
    put_number(&l, ", \"paper\": ", r->paper, r->paper > 0);
    put_number(&l, ", \"wanted\": ", r->wanted, r->wanted > 0);
    put_number(&l, ", \"from\": ", r->from, r->from > 0);
    put_number(&l, ", \"to\": ", r->to, r->to > 0);
    put(&l, "}\n");
    if (!l.whole) return;
    while (write(rows_file, l.text, l.size) < 0 && errno == EINTR) { /* one write, so that lines stay whole */
    }
}

void bench_note(const char *table, const char *row, const char *quantity, bench_kind kind, bench_spread spread)
{
    bench_record(
        &(bench_row){.table = table, .row = row, .quantity = quantity, .kind = kind, .spread = spread, .paper = 0});
}

void bench_value(const char *table, const char *row, const char *quantity, bench_kind kind, double value)
{
    bench_note(table, row, quantity, kind, bench_single(value));
}

double bench_bandwidth(const char *table, const char *row, const char *quantity, double bytes, bench_spread ms,
                       double limit_gb_s)
{
    char name[96];
    bench_spread rate = bench_inverse(ms, bytes * 1e-6), share = bench_inverse(ms, bytes * 1e-6 / limit_gb_s);
    snprintf(name, sizeof name, "%s bandwidth", quantity);
    bench_note(table, row, name, BENCH_GB_S, rate);
    snprintf(name, sizeof name, "%s share", quantity);
    bench_note(table, row, name, BENCH_SHARE, share);
    return share.max;
}

/* ---- growth ---- */

double bench_slope(const double *x, const double *y, size_t count)
{
    double n = 0, sx = 0, sy = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(x[i] > 0 && y[i] > 0)) continue;
        n++;
        sx += log(x[i]);
        sy += log(y[i]);
    }
    for (size_t i = 0; i < count; i++) { /* about the means: sizes may lie close together */
        if (!(x[i] > 0 && y[i] > 0)) continue;
        double dx = log(x[i]) - sx / n;
        xx += dx * dx;
        xy += dx * (log(y[i]) - sy / n);
    }
    return n >= 2 && xx > 1e-12 ? xy / xx : NAN;
}

void bench_point(const char *series, double size, double ms)
{
    if (!all_points || all_points->count == MAX_POINTS) return;
    point *p = &all_points->point[all_points->count++];
    snprintf(p->series, sizeof p->series, "%s", series);
    p->size = size;
    p->ms = ms;
}

void bench_growth(const char *table, const char *series, const char *size_name)
{
    double x[MAX_POINTS], y[MAX_POINTS], from = INFINITY, to = 0;
    size_t n = 0;
    for (size_t i = 0; all_points && i < all_points->count; i++) {
        const point *p = &all_points->point[i];
        if (strncmp(p->series, series, SERIES_SIZE - 1) != 0) continue;
        x[n] = p->size;
        y[n++] = p->ms;
        from = fmin(from, p->size);
        to = fmax(to, p->size);
    }
    double slope = bench_slope(x, y, n);
    if (!isfinite(slope)) return;
    printf("  growth of %s: time ~ %s ^ %.2f, %.0f to %.0f\n", series, size_name, slope, from, to);
    fflush(stdout);
    char row[160];
    snprintf(row, sizeof row, "%s over %s", series, size_name);
    bench_record(&(bench_row){.table = table,
                              .row = row,
                              .quantity = "exponent",
                              .kind = BENCH_EXPONENT,
                              .spread = bench_single(slope),
                              .from = from,
                              .to = to});
}
