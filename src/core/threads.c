#include "core/threads.h"

#include "core/error.h"
#include "core/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* One loop under way. Pieces are taken by an atomic counter; which thread takes which does not matter. */
typedef struct loop {
    spl_loop_fn *body;
    void *context;
    size_t count, grain, piece_count;
    atomic_size_t next;
} loop;

struct spl_pool {
    supple_allocator allocator;
    supple_tasks tasks;
    int32_t thread_count; /* with the calling thread */
    pthread_t *threads;   /* thread_count - 1 */
    int32_t started;
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    loop *work;          /* NULL between loops */
    uint64_t generation; /* counts loops, so that a worker joins each once */
    int32_t busy;
    bool stop;
};

static void run_piece(loop *l, size_t piece)
{
    size_t begin = piece * l->grain;
    size_t end = l->count - begin < l->grain ? l->count : begin + l->grain;
    l->body(l->context, begin, end);
}

static void run_pieces(loop *l)
{
    for (;;) {
        size_t piece = atomic_fetch_add(&l->next, 1);
        if (piece >= l->piece_count) return;
        run_piece(l, piece);
    }
}

static void *worker(void *argument)
{
    spl_pool *pool = argument;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (!pool->stop && pool->generation == seen) pthread_cond_wait(&pool->wake, &pool->mutex);
        if (pool->stop) break;
        seen = pool->generation;
        loop *l = pool->work;
        if (!l) continue; /* woke after the loop was over */
        pool->busy++;
        pthread_mutex_unlock(&pool->mutex);
        run_pieces(l);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->busy == 0) pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Signals belong to the host's threads: workers block them all. */
static bool start_workers(spl_pool *pool)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (int32_t i = 0; i < pool->thread_count - 1; i++) {
        if (pthread_create(&pool->threads[i], NULL, worker, pool) != 0) break;
        pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pool->started == pool->thread_count - 1;
}

static int32_t core_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 64 ? 64 : (int32_t)n;
}

supple_result spl_pool_create(const supple_config *config, spl_pool **out, supple_error *error)
{
    *out = NULL;
    supple_allocator a = spl_allocator_of(config);
    spl_pool *pool = spl_new(&a, 1, sizeof *pool);
    if (!pool) return spl_fail_memory(error, "the thread pool");
    pool->allocator = a;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    if (config && config->tasks.run) {
        pool->tasks = config->tasks;
        pool->thread_count = config->tasks.thread_count;
        *out = pool;
        return SUPPLE_OK;
    }
    pool->thread_count = config && config->thread_count ? config->thread_count : core_count();
    pool->threads = spl_new(&a, (size_t)pool->thread_count, sizeof *pool->threads);
    if (!pool->threads || !start_workers(pool)) {
        spl_pool_destroy(pool);
        return spl_fail(error, SUPPLE_ERROR_MEMORY, "cannot start the worker threads; try fewer threads");
    }
    *out = pool;
    return SUPPLE_OK;
}

void spl_pool_destroy(spl_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (int32_t i = 0; i < pool->started; i++) pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    spl_free(&pool->allocator, pool->threads);
    supple_allocator a = pool->allocator;
    spl_free(&a, pool);
}

int32_t spl_pool_thread_count(const spl_pool *pool)
{
    return pool ? pool->thread_count : 1;
}

static void host_task(void *context, int32_t index)
{
    (void)index;
    run_pieces(context);
}

void spl_parallel_for(spl_pool *pool, size_t count, size_t grain, spl_loop_fn *body, void *context)
{
    if (count == 0) return;
    if (grain == 0) grain = 1;
    loop l = {.body = body, .context = context, .count = count, .grain = grain};
    l.piece_count = (count - 1) / grain + 1;
    atomic_init(&l.next, 0);
    if (!pool || pool->thread_count == 1 || l.piece_count == 1) {
        run_pieces(&l);
        return;
    }
    if (pool->tasks.run) {
        int32_t tasks = l.piece_count < (size_t)pool->thread_count ? (int32_t)l.piece_count : pool->thread_count;
        pool->tasks.run(pool->tasks.user, host_task, &l, tasks);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->work = &l;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    run_pieces(&l);
    pthread_mutex_lock(&pool->mutex);
    pool->work = NULL; /* a worker that wakes late finds nothing to do */
    while (pool->busy > 0) pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
