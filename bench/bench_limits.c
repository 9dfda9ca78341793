/* The machine's limits, which the other benchmarks' shares are of: a triad over memory, reading from the second cache,
 * and multiply-adds of eight floats. One thread and two; the best of the runs counts, as a limit is never passed.
 *
 *     bench_limits [--quick] */
#include "core/timer.h"
#include "machine.h"
#include "measure.h"

#include <math.h>

enum { MOST_RUNS = 5000 };

static void report(const char *name, int threads, bench_kind kind, const double *rate, int runs)
{
    char quantity[32];
    bench_spread s = bench_spread_of(rate, runs);
    snprintf(quantity, sizeof quantity, "%d thread%s", threads, threads > 1 ? "s" : "");
    bench_note("limits", name, quantity, kind, s);
    printf("  %-14s %-10s %7.1f %-8s median %7.1f\n", name, quantity, s.max, kind == BENCH_GB_S ? "GB/s" : "GFlop/s",
           s.median);
    fflush(stdout);
}

/* Whether to go on: two idle cores give nearly twice what one does, and until they have, others were on them. */
static bool go_on(int k, int runs, int threads, double best, double one, double seconds, double patience)
{
    return k < runs || (k < MOST_RUNS && threads > 1 && best < 1.7 * one && seconds < patience);
}

static void measure(int threads, int runs, double patience, double *one)
{
    static double triad[MOST_RUNS], cache[MOST_RUNS], fma[MOST_RUNS];
    bench_triad t = bench_triad_make(BENCH_TRIAD_BYTES);
    float *data = calloc(BENCH_THREADS * BENCH_CACHE_FLOATS, sizeof *data);
    spl_pool *pool = make_pool(threads);
    double best = 0, start = spl_now_ms();
    int k = 0;
    if (!data) exit(5);
    for (; go_on(k, runs, threads, best, *one, 1e-3 * (spl_now_ms() - start), patience); k++) {
        /* in turns, so that a busy spell hits them alike */
        triad[k] = 12e-6 * (double)t.count / bench_triad_run(&t, pool);
        cache[k] = bench_cache_run(data, threads, pool);
        fma[k] = bench_fma_run(threads, pool);
        best = fmax(best, fma[k]);
    }
    report("triad", threads, BENCH_GB_S, triad, k);
    report("cache", threads, BENCH_GB_S, cache, k);
    report("multiply-add", threads, BENCH_GFLOP_S, fma, k);
    if (threads == 1) *one = bench_spread_of(fma, k).max;
    spl_pool_destroy(pool);
    free(data);
    bench_triad_free(&t);
}

int main(int argc, char **argv)
{
    bench_options o = bench_begin("limits", &argc, argv);
    double one = 0;
    if (argc > 1) {
        fprintf(stderr, "usage: bench_limits [--quick]\n");
        return 2;
    }
    printf("The machine's limits, the best of many runs:\n");
    for (int threads = 1; threads <= BENCH_THREADS; threads++)
        measure(threads, o.quick ? 25 : 300, o.quick ? 0.3 : 10, &one);
    return 0;
}
