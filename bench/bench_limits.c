/* The machine's limits, which the other benchmarks' shares are of: a triad over memory, reading from the second cache,
 * and multiply-adds of eight floats. One thread and two; the best of the runs counts, as a limit is never passed.
 *
 *     bench_limits [--quick] */
#include "limits.h"
#include "measure.h"

enum { RUNS = 500, QUICK_RUNS = 25 };

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

int main(int argc, char **argv)
{
    bench_options o = bench_begin("limits", &argc, argv);
    if (argc > 1) {
        fprintf(stderr, "usage: bench_limits [--quick]\n");
        return 2;
    }
    double triad[RUNS], cache[RUNS], fma[RUNS];
    int runs = o.quick ? QUICK_RUNS : RUNS;
    bench_triad t = bench_triad_make(BENCH_TRIAD_BYTES);
    float *data = calloc(BENCH_THREADS * BENCH_CACHE_FLOATS, sizeof *data);
    if (!data) return 5;
    printf("The machine's limits, the best of %d:\n", runs);
    for (int threads = 1; threads <= BENCH_THREADS; threads++) {
        spl_pool *pool = make_pool(threads);
        for (int k = 0; k < runs; k++) { /* in turns, so that a busy spell hits them alike */
            triad[k] = 12e-6 * (double)t.count / bench_triad_run(&t, pool);
            cache[k] = bench_cache_run(data, threads, pool);
            fma[k] = bench_fma_run(threads, pool);
        }
        report("triad", threads, BENCH_GB_S, triad, runs);
        report("cache", threads, BENCH_GB_S, cache, runs);
        report("multiply-add", threads, BENCH_GFLOP_S, fma, runs);
        spl_pool_destroy(pool);
    }
    free(data);
    bench_triad_free(&t);
    return 0;
}
