#include "machine.h"

#include "core/timer.h"
#include "measure.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAVE_X86 1
#endif

/* ---- memory ---- */

bench_triad bench_triad_make(double bytes)
{
    size_t n = (size_t)(bytes / (3 * sizeof(float)));
    bench_triad t = {malloc(n * sizeof(float)), malloc(n * sizeof(float)), malloc(n * sizeof(float)), n};
    if (!t.a || !t.b || !t.c) {
        fprintf(stderr, "out of memory\n");
        exit(5);
    }
    memset(t.a, 0, n * sizeof(float)); /* pages are one shared zero page until they are written */
    memset(t.b, 1, n * sizeof(float));
    memset(t.c, 1, n * sizeof(float));
    return t;
}

void bench_triad_free(bench_triad *t)
{
    free(t->a);
    free(t->b);
    free(t->c);
    *t = (bench_triad){0};
}

#if defined(HAVE_X86) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx2", "default")))
#endif
static void
triad_piece(void *context, size_t begin, size_t end)
{
    const bench_triad *t = context;
    float *restrict a = t->a;
    const float *restrict b = t->b, *restrict c = t->c;
    for (size_t i = begin; i < end; i++) a[i] = b[i] + 3.0F * c[i];
}

double bench_triad_run(bench_triad *t, spl_pool *pool)
{
    double start = spl_now_ms();
    spl_parallel_for(pool, t->count, 8192, triad_piece, t);
    return spl_now_ms() - start;
}

/* ---- the cache ---- */

enum { CACHE_TIMES = 40 };

#if defined(HAVE_X86) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx2", "default")))
#endif
static float
sum_of(const float *data, size_t count)
{
    float sum[64] = {0}; /* enough chains of additions that none is waited for */
    for (size_t i = 0; i + 64 <= count; i += 64)
        for (size_t j = 0; j < 64; j++) sum[j] += data[i + j];
    for (size_t j = 1; j < 64; j++) sum[0] += sum[j];
    return sum[0];
}

static void read_piece(void *context, size_t begin, size_t end)
{
    const float *data = (const float *)context + begin * BENCH_CACHE_FLOATS;
    volatile float keep = 0;
    for (int k = 0; k < CACHE_TIMES; k++) keep = keep + sum_of(data, (end - begin) * BENCH_CACHE_FLOATS);
}

double bench_cache_run(const float *data, int threads, spl_pool *pool)
{
    double start = spl_now_ms();
    spl_parallel_for(pool, (size_t)threads, 1, read_piece, (void *)data);
    return 4e-6 * BENCH_CACHE_FLOATS * CACHE_TIMES * threads / (spl_now_ms() - start);
}

/* ---- any number of bytes ---- */

typedef struct stream {
    const float *data;
    size_t each; /* floats of a thread */
    int times;
} stream;

static void stream_piece(void *context, size_t begin, size_t end)
{
    const stream *s = context;
    volatile float keep = 0;
    for (size_t i = begin; i < end; i++)
        for (int k = 0; k < s->times; k++) keep = keep + sum_of(s->data + i * s->each, s->each);
}

double bench_read_limit(double bytes, int threads, double triad)
{
    stream s = {.each = (size_t)(bytes / 4 / threads) / 64 * 64 + 64, .times = (int)fmax(1, 4e6 / bytes)};
    size_t n = s.each * (size_t)threads;
    float *data = malloc(n * sizeof *data);
    if (!data) return triad;
    memset(data, 0, n * sizeof *data);
    s.data = data;
    spl_pool *pool = make_pool(threads);
    double best = INFINITY, start = spl_now_ms();
    for (int run = 0; run < 7 || (run < 500 && spl_now_ms() - start < 200); run++) {
        double begin = spl_now_ms();
        spl_parallel_for(pool, (size_t)threads, 1, stream_piece, &s);
        best = fmin(best, (spl_now_ms() - begin) / s.times);
    }
    spl_pool_destroy(pool);
    free(data);
    return fmax(4e-6 * (double)n / best, triad);
}

/* ---- multiply-adds ---- */

enum { FMA_TIMES = 100000, CHAINS = 12 }; /* two pipes, four cycles each: 8 chains keep them busy */

#ifdef HAVE_X86
__attribute__((target("avx2,fma"))) static float multiply_add_wide(void)
{
    __m256 x[CHAINS], a = _mm256_set1_ps(0.999F), b = _mm256_set1_ps(0.001F);
    for (int j = 0; j < CHAINS; j++) x[j] = _mm256_set1_ps((float)j);
    for (int k = 0; k < FMA_TIMES; k++)
        for (int j = 0; j < CHAINS; j++) x[j] = _mm256_fmadd_ps(x[j], a, b);
    for (int j = 1; j < CHAINS; j++) x[0] = _mm256_add_ps(x[0], x[j]);
    return _mm256_cvtss_f32(x[0]);
}
#endif

/* Eight numbers at a time, as compilers vectorise where they can. */
static float multiply_add_plain(void)
{
    float x[8 * CHAINS], sum = 0;
    for (int j = 0; j < 8 * CHAINS; j++) x[j] = (float)j;
    for (int k = 0; k < FMA_TIMES; k++)
        for (int j = 0; j < 8 * CHAINS; j++) x[j] = x[j] * 0.999F + 0.001F;
    for (int j = 0; j < 8 * CHAINS; j++) sum += x[j];
    return sum;
}

static void fma_piece(void *context, size_t begin, size_t end)
{
    volatile float *keep = context;
    for (size_t i = begin; i < end; i++) {
#ifdef HAVE_X86
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
            keep[16 * i] = multiply_add_wide();
            continue;
        }
#endif
        keep[16 * i] = multiply_add_plain();
    }
}

double bench_fma_run(int threads, spl_pool *pool)
{
    float keep[16 * BENCH_THREADS];
    double start = spl_now_ms();
    spl_parallel_for(pool, (size_t)threads, 1, fma_piece, keep);
    return 2e-6 * 8 * CHAINS * FMA_TIMES * threads / (spl_now_ms() - start);
}

/* ---- all of them ---- */

/* The peak of memory begins anew (Linux): what was measured here is not the benchmark's. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

static bench_limits measure_limits(bool quick)
{
    bench_limits l = {0};
    bench_triad t = bench_triad_make(BENCH_TRIAD_BYTES);
    float *data = calloc(BENCH_THREADS * BENCH_CACHE_FLOATS, sizeof *data);
    if (!data) exit(5);
    for (int threads = 1; threads <= BENCH_THREADS; threads++) {
        spl_pool *pool = make_pool(threads);
        for (int k = 0; k < (quick ? 25 : 100); k++) {
            l.triad[threads] = fmax(l.triad[threads], 12e-6 * (double)t.count / bench_triad_run(&t, pool));
            l.cache[threads] = fmax(l.cache[threads], bench_cache_run(data, threads, pool));
            l.fma[threads] = fmax(l.fma[threads], bench_fma_run(threads, pool));
        }
        spl_pool_destroy(pool);
    }
    free(data);
    bench_triad_free(&t);
    forget_peak();
    return l;
}

/* The best of one limit as bench_limits recorded it. The lines are record.c's own. */
static bool find_limit(const char *text, const char *row, int threads, double *out)
{
    char key[160];
    snprintf(key, sizeof key,
             "{\"bench\": \"limits\", \"table\": \"limits\", \"row\": \"%s\", \"quantity\": \"%d thread", row, threads);
    const char *line = strstr(text, key), *max = line ? strstr(line, "\"max\": ") : NULL;
    return max && sscanf(max + 7, "%lf", out) == 1 && *out > 0;
}

/* Those at the start of the rows' file. */
static bool read_limits(bench_limits *l)
{
    char text[8192];
    ssize_t n = bench_rows_file() >= 0 ? pread(bench_rows_file(), text, sizeof text - 1, 0) : 0;
    if (n <= 0) return false;
    text[n] = 0;
    for (int k = 1; k <= BENCH_THREADS; k++)
        if (!find_limit(text, "triad", k, &l->triad[k]) || !find_limit(text, "cache", k, &l->cache[k]) ||
            !find_limit(text, "multiply-add", k, &l->fma[k]))
            return false;
    return true;
}

const bench_limits *bench_limits_get(const bench_options *options)
{
    static bench_limits limits;
    static bool known;
    if (!known && !read_limits(&limits)) limits = measure_limits(options->quick);
    known = true;
    return &limits;
}
