#include "core/threads.h"
#include "test.h"

#include <stdint.h>
#include <time.h>

enum { COUNT = 100003 };
static uint32_t visits[COUNT];

static void visit(void *context, size_t begin, size_t end)
{
    (void)context;
    for (size_t i = begin; i < end; i++) visits[i]++;
}

static void measure(void *context, size_t begin, size_t end)
{
    size_t *piece = context;
    piece[begin / 10] = end - begin;
}

static bool each_visited(uint32_t times)
{
    for (size_t i = 0; i < COUNT; i++)
        if (visits[i] != times) return false;
    return true;
}

TEST(every_index_is_visited_once_at_any_thread_count)
{
    for (int threads = 1; threads <= 7; threads++) {
        supple_config config = supple_config_default();
        config.thread_count = threads;
        spl_pool *pool;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        CHECK(spl_pool_thread_count(pool) == threads);
        memset(visits, 0, sizeof visits);
        for (int repeat = 0; repeat < 50; repeat++) spl_parallel_for(pool, COUNT, 97, visit, NULL);
        CHECK(each_visited(50));
        spl_pool_destroy(pool);
    }
}

TEST(pieces_depend_on_count_and_grain_alone)
{
    supple_config config = supple_config_default();
    config.thread_count = 3;
    spl_pool *pool;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    size_t pieces[5] = {0};
    spl_parallel_for(pool, 44, 10, measure, pieces);
    CHECK(pieces[0] == 10 && pieces[3] == 10 && pieces[4] == 4);
    spl_parallel_for(pool, 0, 10, measure, pieces);
    spl_pool_destroy(pool);
}

/* Workers spin for a while and then sleep; loops come before, at and after that moment. */
TEST(loops_find_threads_that_spin_and_threads_that_sleep)
{
    static const long gap_ns[] = {0, 20000, 75000, 80000, 85000, 100000, 400000};
    for (int threads = 2; threads <= 5; threads++) {
        supple_config config = supple_config_default();
        config.thread_count = threads;
        spl_pool *pool;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        memset(visits, 0, sizeof visits);
        for (uint32_t repeat = 0; repeat < 210; repeat++) {
            struct timespec gap = {0, gap_ns[repeat % 7]};
            spl_parallel_for(pool, 640, 10, visit, NULL);
            if (gap.tv_nsec) nanosleep(&gap, NULL);
        }
        bool all = true;
        for (size_t i = 0; i < 640; i++) all = all && visits[i] == 210;
        CHECK(all);
        spl_pool_destroy(pool);
    }
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

TEST(threads_rest_between_frames)
{
    supple_config config = supple_config_default();
    config.thread_count = 3;
    spl_pool *pool;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    spl_parallel_for(pool, 640, 10, visit, NULL);
    double start = cpu_ms();
    struct timespec pause = {0, 200000000};
    nanosleep(&pause, NULL);
    CHECK(cpu_ms() - start < 20); /* two workers that went on spinning would take 400 */
    spl_pool_destroy(pool);
}

static int host_calls;
static void host_run(void *user, void (*task)(void *context, int32_t index), void *context, int32_t count)
{
    (void)user;
    host_calls++;
    for (int32_t i = count - 1; i >= 0; i--) task(context, i);
}

TEST(host_tasks_take_the_place_of_threads)
{
    supple_config config = supple_config_default();
    config.tasks = (supple_tasks){host_run, NULL, 4};
    spl_pool *pool;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    memset(visits, 0, sizeof visits);
    host_calls = 0;
    spl_parallel_for(pool, COUNT, 1000, visit, NULL);
    CHECK(host_calls == 1 && each_visited(1));
    spl_pool_destroy(pool);
}

TEST_CASES(RUN(every_index_is_visited_once_at_any_thread_count), RUN(pieces_depend_on_count_and_grain_alone),
           RUN(loops_find_threads_that_spin_and_threads_that_sleep), RUN(threads_rest_between_frames),
           RUN(host_tasks_take_the_place_of_threads))
