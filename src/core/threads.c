#include "core/threads.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* How long a thread looks out for work, or for the end of a loop, before it sleeps. A frame is a hundred loops or so
 * with little between them; to wake a sleeper takes 50 microseconds, as long as many a loop. */
static const double spin_ms = 0.08, pause_ms = 0.04; /* in all; without giving way to others */

/* One loop under way. Pieces are taken by an atomic counter; which thread takes which does not matter. */
typedef struct loop {
    spl_loop_fn *body;
    void *context;
    size_t count, grain, piece_count;
    atomic_size_t next;
} loop;

/* Whoever is about to sleep says so (`sleeping`, `waiting`) and then looks once more; whoever has news publishes it and
 * then looks for sleepers. All of it is sequentially consistent, so that one of the two sees the other. A worker joins
 * a loop in the same way: it counts itself in and then looks for the loop; the caller takes the loop away and then
 * waits until none is counted. */
struct spl_pool {
    supple_allocator allocator;
    supple_tasks tasks;
    int32_t thread_count; /* with the calling thread */
    pthread_t *threads;   /* thread_count - 1 */
    int32_t started;
    bool crowded; /* more threads than cores: one that spins would keep another from its work */
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    _Atomic(loop *) work;      /* NULL between loops */
    atomic_uint generation;    /* counts loops, so that a worker joins each once */
    atomic_int busy, sleeping; /* workers */
    atomic_bool waiting, stop; /* the caller sleeps until none is busy; the end */
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

/* ---- waiting ---- */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

typedef bool news_fn(spl_pool *pool, unsigned seen);

static bool has_work(spl_pool *pool, unsigned seen)
{
    return atomic_load(&pool->generation) != seen || atomic_load(&pool->stop);
}

static bool is_done(spl_pool *pool, unsigned seen)
{
    (void)seen;
    return atomic_load(&pool->busy) == 0;
}

/* Looks out for news for a bounded time. */
static bool spin(spl_pool *pool, news_fn *news, unsigned seen)
{
    double start = spl_now_ms(), pauses_until = start + (pool->crowded ? 0 : pause_ms);
    for (double now = start; now < start + spin_ms; now = spl_now_ms()) {
        for (int i = 0; i < 16; i++) {
            if (news(pool, seen)) return true;
            relax();
        }
        if (now >= pauses_until) sched_yield();
    }
    return news(pool, seen);
}

static void sleep_for_work(spl_pool *pool, unsigned seen)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleeping, 1);
    while (!has_work(pool, seen)) pthread_cond_wait(&pool->wake, &pool->mutex);
    atomic_fetch_sub(&pool->sleeping, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void wait_until_done(spl_pool *pool)
{
    if (spin(pool, is_done, 0)) return;
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->waiting, true);
    while (!is_done(pool, 0)) pthread_cond_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->waiting, false);
    pthread_mutex_unlock(&pool->mutex);
}

static void *worker(void *argument)
{
    spl_pool *pool = argument;
    unsigned seen = 0;
    for (;;) {
        if (!spin(pool, has_work, seen)) sleep_for_work(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        seen = atomic_load(&pool->generation);
        atomic_fetch_add(&pool->busy, 1);
        loop *l = atomic_load(&pool->work);
        if (l) run_pieces(l); /* else it comes after the loop was over */
        if (atomic_fetch_sub(&pool->busy, 1) > 1 || !atomic_load(&pool->waiting)) continue;
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
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
    pool->crowded = pool->thread_count > core_count();
    pool->threads = spl_new(&a, (size_t)pool->thread_count, sizeof *pool->threads);
    if (!pool->threads) {
        spl_pool_destroy(pool);
        return spl_fail_memory(error, "the worker threads");
    }
    if (!start_workers(pool)) {
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
    atomic_store(&pool->stop, true);
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
    atomic_store(&pool->work, &l);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleeping) > 0) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
    }
    run_pieces(&l);
    atomic_store(&pool->work, NULL); /* a worker that comes late finds nothing to do */
    wait_until_done(pool);
}
