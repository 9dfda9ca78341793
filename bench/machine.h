/* The machine's limits, which shares are of: what memory and the second cache give, and how many operations a second.
 * Each is the best that was seen, for one and for two threads. */
#ifndef SPL_BENCH_MACHINE_H
#define SPL_BENCH_MACHINE_H

#include "core/threads.h"
#include "record.h"

enum { BENCH_THREADS = 2 };

typedef struct bench_limits {
    double triad[BENCH_THREADS + 1]; /* GB/s of a = b + s c over arrays of BENCH_TRIAD_BYTES together; [threads] */
    double cache[BENCH_THREADS + 1]; /* GB/s of reading half a megabyte a thread over and over */
    double fma[BENCH_THREADS + 1];   /* GFlop/s of multiply-adds in float, 8 wide */
} bench_limits;

/* 48 bytes for each of a million vertices: what a linear skinning step moves. */
#define BENCH_TRIAD_BYTES 48e6

/* The limits of the run that this program is a part of, or else measured now (about two seconds, once a process). Call
 * it before forking. */
const bench_limits *bench_limits_get(const bench_options *options);

/* Arrays for a triad. */
typedef struct bench_triad {
    float *a, *b, *c;
    size_t count;
} bench_triad;

/* All of its pages are written. `bytes`: of the three together. Ends the program if there is no memory. */
bench_triad bench_triad_make(double bytes);
void bench_triad_free(bench_triad *t);

/* One run; milliseconds. */
double bench_triad_run(bench_triad *t, spl_pool *pool);

/* One run of the others: GB/s and GFlop/s, `data` being BENCH_THREADS times half a megabyte. */
enum { BENCH_CACHE_FLOATS = 131072 };
double bench_cache_run(const float *data, int threads, spl_pool *pool);
double bench_fma_run(int threads, spl_pool *pool);

/* GB/s of threads that read so many bytes together, over and over, the best of several: the limit of what streams
 * them. No less than `triad`, which is a stream too. */
double bench_read_limit(double bytes, int threads, double triad);

#endif
