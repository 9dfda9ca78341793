/* Poses are handed out to threads as those that they continue from are done. */
#include "core/error.h"
#include "core/timer.h"
#include "subspace/samples_private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Poses from the first on: where none of them converges none will. */
enum { HOPELESS = 8 };

/* ---- the queue ---- */

void spl_queue_fail(spl_pose_queue *q, supple_result result, const supple_error *error)
{
    pthread_mutex_lock(&q->lock);
    if (q->result == SUPPLE_OK) {
        q->result = result;
        q->error = *error;
    }
    atomic_store(&q->stop, 1);
    pthread_cond_broadcast(&q->freed);
    pthread_mutex_unlock(&q->lock);
}

static spl_pose_tools *take_tools(spl_pose_queue *q)
{
    spl_pose_tools *found = NULL;
    pthread_mutex_lock(&q->lock);
    while (!found) {
        for (int32_t i = 0; i < q->tools_count && !found; i++)
            if (!q->tools[i].busy) found = &q->tools[i];
        if (!found) pthread_cond_wait(&q->freed, &q->lock); /* a host may bring more threads than it said */
    }
    found->busy = true;
    pthread_mutex_unlock(&q->lock);
    return found;
}

static void give_tools(spl_pose_queue *q, spl_pose_tools *w)
{
    pthread_mutex_lock(&q->lock);
    w->busy = false;
    pthread_cond_broadcast(&q->freed);
    pthread_mutex_unlock(&q->lock);
}

int32_t spl_queue_ready(const spl_pose_queue *q)
{
    const spl_samples *s = q->s;
    int32_t best = -1;
    for (int32_t i = 0; i < s->count; i++) {
        bool ready = s->parent[i] < 0 || s->state[s->parent[i]] != SPL_SAMPLE_OPEN;
        if (!ready || q->taken[i] || s->state[i] != SPL_SAMPLE_OPEN) continue;
        if (best < 0 || q->height[i] > q->height[best]) best = i;
    }
    return best;
}

static void measure_chains(spl_pose_queue *q)
{
    const spl_samples *s = q->s;
    for (int32_t i = s->count - 1; i >= 0; i--) {
        int32_t parent = s->parent[i];
        q->height[i]++; /* what waits for it was counted: a parent is always lower */
        if (parent >= 0 && q->height[parent] < q->height[i]) q->height[parent] = q->height[i];
    }
    for (int32_t i = 0; i < s->count && i < HOPELESS; i++) q->height[i] += s->count; /* they tell whether any will do */
}

int32_t spl_sample_start(const spl_samples *s, int32_t i)
{
    int32_t parent = s->parent[i];
    while (parent >= 0 && s->state[parent] != SPL_SAMPLE_SOLVED) parent = s->parent[parent];
    return parent;
}

void spl_queue_settle(spl_pose_queue *q, int32_t i, bool good, double residual)
{
    pthread_mutex_lock(&q->lock);
    q->s->residual[i] = residual;
    q->s->state[i] = good ? SPL_SAMPLE_SOLVED : SPL_SAMPLE_FAILED;
    pthread_mutex_unlock(&q->lock);
}

/* Whether the host wants to stop; asked while there is nothing to do, by its own thread alone. The queue is locked. */
static void ask_host(spl_pose_queue *q)
{
    supple_error error;
    if (!pthread_equal(pthread_self(), q->caller)) return;
    pthread_mutex_unlock(&q->lock);
    if (!q->said && q->under_way == 0 && q->pause_ms > 200)
        spl_log(q->config, SUPPLE_LOG_INFO, "waiting for poses that other processes solve, or that nobody renews");
    q->said = q->said || q->pause_ms > 200;
    supple_result result = spl_progress(q->config, "", 0, &error);
    if (result != SUPPLE_OK) spl_queue_fail(q, result, &error);
    pthread_mutex_lock(&q->lock);
}

/* Until another thread is done, or the shared folder is worth a look. */
static void wait_for_poses(spl_pose_queue *q)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t at = t.tv_nsec + (int64_t)(q->pause_ms * 1e6);
    t.tv_sec += at / 1000000000;
    t.tv_nsec = at % 1000000000;
    if (q->s->options.shares == 0)
        pthread_cond_wait(&q->freed, &q->lock);
    else
        pthread_cond_timedwait(&q->freed, &q->lock, &t);
    if (q->s->options.shares > 0) ask_host(q);
}

/* Takes a pose, and waits for one while others are under way; -1: there will be none. */
static int32_t take_pose(spl_pose_queue *q)
{
    int32_t i = -1;
    bool wait = true, shared = q->s->options.shares > 0;
    pthread_mutex_lock(&q->lock);
    while (!atomic_load(&q->stop)) {
        i = shared ? spl_shared_take(q, &wait) : spl_queue_ready(q);
        if (!shared) wait = q->under_way > 0;
        if (i >= 0 || !wait) break;
        wait_for_poses(q);
    }
    if (atomic_load(&q->stop) && i >= 0) {
        if (shared) spl_claims_give(&q->claims, i);
        i = -1;
    }
    if (i >= 0) {
        q->taken[i] = true;
        q->under_way++;
    }
    pthread_mutex_unlock(&q->lock);
    return i;
}

static void give_pose(spl_pose_queue *q, int32_t i, double ms)
{
    pthread_mutex_lock(&q->lock);
    if (q->s->options.shares > 0) spl_claims_give(&q->claims, i);
    q->busy_ms += ms;
    q->here++;
    q->under_way--;
    pthread_cond_broadcast(&q->freed);
    pthread_mutex_unlock(&q->lock);
}

/* ---- threads ---- */

static supple_result solve_one(spl_pose_queue *q, spl_pose_tools *w, int32_t i, supple_error *error)
{
    spl_samples *s = q->s;
    int32_t from = spl_sample_start(s, i);
    bool good = false;
    double residual = 0;
    supple_result result = from >= 0 && !s->options.skinned ? spl_samples_read(s, from, w->x, error) : SUPPLE_OK;
    if (result == SUPPLE_OK) result = spl_pose_solve(s, q->scene, w, i, from, &good, &residual, error);
    if (result != SUPPLE_OK) return result;
    s->residual[i] = residual;
    if (s->x) memcpy(spl_sample_x(s, i), w->rounded, 3 * (size_t)s->vertex_count * sizeof *w->rounded);
    result = s->x ? SUPPLE_OK : spl_sample_keep(s, i, w->rounded, error);
    if (result == SUPPLE_OK) spl_queue_settle(q, i, good, residual);
    return result;
}

/* Nobody waits for hundreds of poses of which none will do. Whether it happens depends on no thread and no process. */
static supple_result give_up(spl_pose_queue *q, supple_error *error)
{
    const spl_samples *s = q->s;
    int32_t failed = 0;
    pthread_mutex_lock(&q->lock);
    while (failed < s->count && failed < HOPELESS && s->state[failed] == SPL_SAMPLE_FAILED) failed++;
    supple_result result = failed == HOPELESS ? spl_samples_refuse(s, q->scene, failed, error) : SUPPLE_OK;
    pthread_mutex_unlock(&q->lock);
    return result;
}

/* What one thread does: poses, as their parents are done. Which thread takes which changes nothing. */
static void solve_poses(void *context, size_t begin, size_t end)
{
    spl_pose_queue *q = context;
    (void)begin, (void)end;
    spl_pose_tools *w = take_tools(q);
    for (int32_t i = take_pose(q); i >= 0; i = take_pose(q)) {
        supple_error error = {0};
        double start = spl_now_ms();
        supple_result result = solve_one(q, w, i, &error);
        if (result == SUPPLE_OK) result = give_up(q, &error);
        int done = atomic_fetch_add(&q->done, 1) + 1;
        /* the host's callbacks are called by the host's own thread alone */
        if (result == SUPPLE_OK && pthread_equal(pthread_self(), q->caller))
            result = spl_progress(q->config, "training poses", fmin(1, (double)done / q->total), &error);
        if (result != SUPPLE_OK) spl_queue_fail(q, result, &error);
        give_pose(q, i, spl_now_ms() - start);
    }
    give_tools(q, w);
}

static bool any_open(const spl_samples *s)
{
    for (int32_t i = 0; i < s->count; i++)
        if (s->state[i] == SPL_SAMPLE_OPEN) return true;
    return false;
}

static supple_result make_tools(spl_pose_queue *q, const spl_solid *solid, spl_pool *pool, supple_error *error)
{
    spl_samples *s = q->s;
    int32_t count = pool && !s->options.exchange ? spl_pool_thread_count(pool) : 1;
    supple_result result = SUPPLE_OK;
    if (count > s->count) count = s->count > 0 ? s->count : 1;
    q->tools = spl_new(&s->allocator, (size_t)count, sizeof *q->tools);
    if (!q->tools) return spl_fail_memory(error, "the training poses");
    for (int32_t i = 0; i < count && result == SUPPLE_OK; i++) {
        q->tools_count = i + 1;
        result = spl_pose_tools_make(&q->tools[i], s, q->scene, solid, error);
    }
    return result;
}

/* Alone, or with others in the same folder until all poses are read, or until there is nothing left to begin. */
static void run(spl_pose_queue *q, spl_pool *pool)
{
    const spl_sample_options *o = &q->s->options;
    for (bool open = any_open(q->s); open && !atomic_load(&q->stop) && !q->gone;) {
        spl_parallel_for(pool, (size_t)q->tools_count, 1, solve_poses, q);
        open = false;
        if (o->shares > 0 && !o->part) spl_shared_read_all(q, &open);
    }
}

/* Rank 0: threads here, and a dealer for the others. */
static void run_rank_0(spl_pose_queue *q, spl_pool *pool)
{
    spl_dealer *dealer = NULL;
    supple_error error;
    supple_result result = spl_dealer_start(q, &dealer, &error);
    if (result != SUPPLE_OK) spl_queue_fail(q, result, &error);
    run(q, pool);
    spl_dealer_end(dealer);
}

/* ---- the whole ---- */

static supple_result make_folder(const char *folder, supple_error *error)
{
    if (!folder || mkdir(folder, 0777) == 0 || errno == EEXIST) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.200s: cannot be made: %s", folder, strerror(errno));
}

static void report(const spl_pose_queue *q, double ms)
{
    spl_samples *s = q->s;
    const spl_sample_options *o = &s->options;
    for (int32_t i = 0; i < s->count; i++) {
        if (s->state[i] != SPL_SAMPLE_FAILED) continue;
        s->dropped++;
        spl_log(q->config, SUPPLE_LOG_WARNING, "training pose %d did not converge (residual %.1e) and is left out",
                (int)i, s->residual[i]);
    }
    if (o->shares == 0 && !o->exchange) return;
    double workers = o->exchange ? o->exchange->size : q->tools_count;
    double busy = ms > 0 && workers > 0 ? 100 * q->busy_ms / (ms * workers) : 100;
    if (o->exchange)
        spl_log(q->config, SUPPLE_LOG_INFO, "%d of %d poses solved by %d processes, busy %.1f%% of %.2f s",
                (int)q->here, (int)s->count, (int)o->exchange->size, busy, ms / 1e3);
    else
        spl_log(q->config, SUPPLE_LOG_INFO, "%d of %d poses solved here, %d of them taken over; busy %.1f%% of %.2f s",
                (int)q->here, (int)s->count, (int)q->taken_over, busy, ms / 1e3);
}

/* Where solved poses are, and what of them is there. */
static supple_result open_files(spl_pose_queue *q, supple_error *error)
{
    spl_samples *s = q->s;
    const spl_sample_options *o = &s->options;
    supple_result result = make_folder(o->folder, error);
    if (result == SUPPLE_OK) result = spl_samples_sign(s, o->shares > 0, error);
    if (result == SUPPLE_OK && o->shares > 0)
        return spl_claims_open(&q->claims, o->folder, s->count, o->lease, &s->allocator, error);
    for (int32_t i = 0; i < s->count && result == SUPPLE_OK; i++) spl_sample_find(s, i);
    return result;
}

static supple_result prepare(spl_pose_queue *q, const spl_solid *solid, spl_pool *pool, supple_error *error)
{
    spl_samples *s = q->s;
    const spl_sample_options *o = &s->options;
    bool remote = o->exchange && o->exchange->rank > 0, files = o->folder && !o->skinned && !remote;
    size_t n = (size_t)s->count, size;
    q->taken = spl_new(&s->allocator, n, sizeof *q->taken);
    q->height = spl_new(&s->allocator, n, sizeof *q->height);
    if (!files && !remote && spl_mul(n, 3 * (size_t)s->vertex_count, &size))
        s->x = spl_new(&s->allocator, size, sizeof *s->x);
    if (!q->taken || !q->height || (!files && !remote && !s->x)) return spl_fail_memory(error, "the training poses");
    measure_chains(q);
    supple_result result = files ? open_files(q, error) : SUPPLE_OK;
    if (result == SUPPLE_OK && any_open(s)) result = make_tools(q, solid, pool, error);
    for (int32_t i = 0; i < s->count; i++) q->total += s->state[i] == SPL_SAMPLE_OPEN;
    return result;
}

static void release(spl_pose_queue *q)
{
    const supple_allocator *a = &q->s->allocator;
    spl_claims_close(&q->claims);
    for (int32_t i = 0; i < q->tools_count; i++) spl_pose_tools_release(&q->tools[i], a);
    spl_free(a, q->tools);
    spl_free(a, q->taken);
    spl_free(a, q->height);
}

static void start_waiting(spl_pose_queue *q)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&q->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&q->freed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static supple_result solve_all(spl_pose_queue *q, spl_pool *pool, supple_error *error)
{
    const supple_exchange *e = q->s->options.exchange;
    double start = spl_now_ms();
    if (e && e->rank > 0) return spl_exchange_solve(q, q->tools, error);
    if (e)
        run_rank_0(q, pool);
    else
        run(q, pool);
    supple_result result = q->result;
    if (result != SUPPLE_OK && error) *error = q->error;
    if (result == SUPPLE_OK) result = give_up(q, error);
    if (result == SUPPLE_OK && q->gone && !q->s->options.part)
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%.200s: somebody removed it", q->s->options.folder);
    if (result == SUPPLE_OK && q->gone)
        spl_log(q->config, SUPPLE_LOG_INFO, "%.120s is gone: the training was finished", q->s->options.folder);
    if (result == SUPPLE_OK) report(q, spl_now_ms() - start);
    return result;
}

supple_result spl_samples_solve(spl_samples *s, const supple_scene *scene, const spl_solid *solid,
                                const spl_sample_options *options, const supple_config *config, spl_pool *pool,
                                supple_error *error)
{
    spl_pose_queue q = {.s = s, .scene = scene, .config = config, .caller = pthread_self()};
    s->options = *options;
    s->config = config;
    s->character = spl_character_key(solid);
    start_waiting(&q);
    supple_result result = prepare(&q, solid, pool, error);
    if (result == SUPPLE_OK) result = solve_all(&q, pool, error);
    pthread_cond_destroy(&q.freed);
    pthread_mutex_destroy(&q.lock);
    release(&q);
    return result;
}
