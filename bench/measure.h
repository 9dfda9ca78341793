/* What several benchmarks measure with. */
#ifndef SPL_BENCH_MEASURE_H
#define SPL_BENCH_MEASURE_H

#include "core/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

/* Time of all of this process's threads: a busy machine hardly changes it. */
static inline double processor_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static inline double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* For qsort: doubles, the least first. */
static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline spl_pool *make_pool(int32_t threads)
{
    supple_config config = supple_config_default();
    supple_error error = {0};
    spl_pool *pool;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, &error) != SUPPLE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(5);
    }
    return pool;
}

#endif
