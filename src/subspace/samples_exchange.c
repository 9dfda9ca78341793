/* Poses are handed out by messages: rank 0 keeps the list and the files, the others need no folder. What they send is
 * checked as a file would be: it may be of another build. */
#include "core/error.h"
#include "core/timer.h"
#include "subspace/samples_private.h"

#include <float.h>
#include <string.h>
#include <time.h>

typedef enum kind { READY = 1, TASK, RESULT, STOP } kind;

/* What begins every message; places (3 x vertices floats) may follow. */
typedef struct head {
    uint32_t kind;
    int32_t pose, from; /* TASK: from which pose, whose places follow, or -1 */
    uint32_t good;      /* RESULT: converged, and places follow */
    double residual, ms;
    spl_key key; /* READY: of the training */
} head;

static void nap(double ms)
{
    struct timespec t = {0, (long)(1e6 * ms)};
    nanosleep(&t, NULL);
}

static size_t places_size(const spl_samples *s)
{
    return 3 * (size_t)s->vertex_count * sizeof(float);
}

/* ---- rank 0 ---- */

enum { NOTHING = -1, LOADING = -2, STOPPED = -3 }; /* instead of a pose: idle, not heard of yet, told to stop */

struct spl_dealer {
    spl_pose_queue *q;
    const supple_exchange *exchange;
    spl_key key;
    int32_t *at;      /* by rank: the pose it solves, or one of the above */
    uint8_t *message; /* head and places */
    double *x;        /* places as they are read */
    pthread_t thread;
    bool started;
};

static supple_result send_task(spl_dealer *d, int32_t rank, int32_t pose, supple_error *error)
{
    spl_samples *s = d->q->s;
    head h = {.kind = TASK, .pose = pose, .from = s->options.skinned ? -1 : spl_sample_start(s, pose)};
    size_t size = sizeof h;
    if (h.from >= 0) {
        supple_result result = spl_samples_read(s, h.from, d->x, error);
        if (result != SUPPLE_OK) return result;
        float *places = (float *)(void *)(d->message + sizeof h);
        for (size_t k = 0; k < 3 * (size_t)s->vertex_count; k++) places[k] = (float)d->x[k]; /* floats they were */
        size += places_size(s);
    }
    memcpy(d->message, &h, sizeof h);
    return d->exchange->send(d->exchange->user, rank, d->message, size, error);
}

static int32_t take(spl_pose_queue *q)
{
    pthread_mutex_lock(&q->lock);
    int32_t i = atomic_load(&q->stop) ? -1 : spl_queue_ready(q);
    if (i >= 0) {
        q->taken[i] = true;
        q->under_way++;
    }
    pthread_mutex_unlock(&q->lock);
    return i;
}

static void give(spl_pose_queue *q, double ms)
{
    pthread_mutex_lock(&q->lock);
    q->under_way--;
    q->here++;
    q->busy_ms += ms;
    pthread_cond_broadcast(&q->freed);
    pthread_mutex_unlock(&q->lock);
}

static supple_result accept_result(spl_dealer *d, int32_t rank, const head *h, size_t size, supple_error *error)
{
    spl_pose_queue *q = d->q;
    spl_samples *s = q->s;
    size_t wanted = sizeof *h + places_size(s);
    if (d->at[rank] < 0 || h->pose != d->at[rank] || size != wanted || !(h->residual >= 0 && h->residual <= DBL_MAX))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "process %d sent a wrong answer", (int)rank);
    const float *x = (const float *)(const void *)(d->message + sizeof *h);
    s->residual[h->pose] = h->residual;
    if (s->x) memcpy(spl_sample_x(s, h->pose), x, places_size(s));
    supple_result result = s->x ? SUPPLE_OK : spl_sample_keep(s, h->pose, x, error);
    if (result == SUPPLE_OK) spl_queue_settle(q, h->pose, h->good != 0, h->residual);
    d->at[rank] = NOTHING;
    give(q, h->ms);
    return result;
}

static supple_result hear(spl_dealer *d, int32_t rank, size_t size, supple_error *error)
{
    head h;
    memcpy(&h, d->message, sizeof h);
    bool known = rank > 0 && rank < d->exchange->size && size >= sizeof h;
    if (known && h.kind == RESULT) return accept_result(d, rank, &h, size, error);
    if (!known || h.kind != READY || d->at[rank] != LOADING)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "process %d sent what nobody asked for", (int)rank);
    if (memcmp(&h.key, &d->key, sizeof d->key) != 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "process %d trains another character, or with other parameters, or by another build",
                        (int)rank);
    d->at[rank] = NOTHING;
    return SUPPLE_OK;
}

/* Poses for those that have none. */
static supple_result deal(spl_dealer *d, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int32_t r = 1; r < d->exchange->size && result == SUPPLE_OK; r++) {
        int32_t i = d->at[r] == NOTHING ? take(d->q) : -1;
        if (i < 0) continue;
        d->at[r] = i;
        result = send_task(d, r, i, error);
    }
    return result;
}

static bool is_over(spl_pose_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool over = atomic_load(&q->stop) || (q->under_way == 0 && spl_queue_ready(q) < 0);
    pthread_mutex_unlock(&q->lock);
    return over;
}

/* Tells those that wait that there is no more; false: others are still to be heard of. */
static bool stop_all(spl_dealer *d)
{
    head h = {.kind = STOP};
    bool all = true;
    for (int32_t r = 1; r < d->exchange->size; r++) {
        supple_error error;
        if (d->at[r] == NOTHING && d->exchange->send(d->exchange->user, r, &h, sizeof h, &error) == SUPPLE_OK)
            d->at[r] = STOPPED;
        all = all && d->at[r] == STOPPED;
    }
    return all;
}

/* After a failure nobody is waited for: the host ends all processes. */
static void *run_dealer(void *context)
{
    spl_dealer *d = context;
    supple_error error = {0};
    double pause = 0.05;
    for (bool ended = false; !ended && !atomic_load(&d->q->stop);) {
        int32_t rank = 0;
        size_t size = 0, room = sizeof(head) + places_size(d->q->s);
        supple_result result = d->exchange->receive(d->exchange->user, &rank, d->message, room, &size, &error);
        if (result == SUPPLE_OK && size > 0) result = hear(d, rank, size, &error);
        if (result == SUPPLE_OK) result = deal(d, &error);
        if (result != SUPPLE_OK) spl_queue_fail(d->q, result, &error);
        ended = is_over(d->q) && stop_all(d);
        pause = size > 0 ? 0.05 : fmin(1.5 * pause, 2);
        if (size == 0) nap(pause);
    }
    return NULL;
}

static void free_dealer(spl_dealer *d, const supple_allocator *a)
{
    spl_free(a, d->at);
    spl_free(a, d->message);
    spl_free(a, d->x);
    spl_free(a, d);
}

/* What the training and its bits depend on. */
static spl_key key_of(const spl_pose_queue *q)
{
    spl_key k = spl_samples_key(q->s);
    char text[SPL_SAMPLES_MAKER];
    spl_digest d = spl_digest_begin();
    spl_samples_maker(q->s, text);
    spl_digest_array(&d, k.part, 2, sizeof k.part[0]);
    spl_digest_text(&d, text);
    return spl_digest_end(&d);
}

supple_result spl_dealer_start(spl_pose_queue *q, spl_dealer **out, supple_error *error)
{
    const supple_allocator *a = &q->s->allocator;
    const supple_exchange *e = q->s->options.exchange;
    spl_dealer *d = *out = spl_new(a, 1, sizeof *d);
    if (!d) return spl_fail_memory(error, "the list of poses");
    *d = (spl_dealer){.q = q, .exchange = e, .key = key_of(q)};
    d->at = spl_new(a, (size_t)e->size, sizeof *d->at);
    d->message = spl_new(a, sizeof(head) + places_size(q->s), 1);
    d->x = spl_new(a, (size_t)q->s->vertex_count, 3 * sizeof *d->x);
    for (int32_t r = 0; d->at && r < e->size; r++) d->at[r] = LOADING;
    bool room = d->at && d->message && d->x;
    d->started = room && pthread_create(&d->thread, NULL, run_dealer, d) == 0;
    if (d->started) return SUPPLE_OK;
    free_dealer(d, a);
    *out = NULL;
    return spl_fail_memory(error, "the list of poses");
}

void spl_dealer_end(spl_dealer *d)
{
    if (!d) return;
    pthread_join(d->thread, NULL);
    free_dealer(d, &d->q->s->allocator);
}

/* ---- the others ---- */

/* Waits for a message, and asks the host now and then whether to go on. */
static supple_result wait_for(spl_pose_queue *q, uint8_t *message, size_t room, size_t *size, supple_error *error)
{
    const supple_exchange *e = q->s->options.exchange;
    supple_result result = SUPPLE_OK;
    int32_t from = 0;
    *size = 0;
    for (double pause = 0.02; result == SUPPLE_OK;) {
        result = e->receive(e->user, &from, message, room, size, error);
        if (*size > 0 || result != SUPPLE_OK) break;
        nap(pause);
        pause = fmin(1.3 * pause, 2);
        result = spl_progress(q->config, "", 0, error);
    }
    return result;
}

/* One pose, and the answer. */
static supple_result answer(spl_pose_queue *q, spl_pose_tools *w, uint8_t *message, size_t size, supple_error *error)
{
    const spl_samples *s = q->s;
    const supple_exchange *e = s->options.exchange;
    head h;
    memcpy(&h, message, sizeof h);
    size_t wanted = sizeof h + (h.from >= 0 ? places_size(s) : 0);
    if (h.kind != TASK || h.pose < 0 || h.pose >= s->count || h.from < -1 || h.from >= h.pose || size != wanted)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "process 0 sent a wrong pose");
    const float *places = (const float *)(const void *)(message + sizeof h);
    for (size_t k = 0; h.from >= 0 && k < 3 * (size_t)s->vertex_count; k++) w->x[k] = (double)places[k];
    bool good = false;
    double start = spl_now_ms();
    supple_result result = spl_pose_solve(s, q->scene, w, h.pose, h.from, &good, &h.residual, error);
    if (result != SUPPLE_OK) return result;
    h.kind = RESULT;
    h.good = good;
    h.ms = spl_now_ms() - start;
    memcpy(message, &h, sizeof h);
    memcpy(message + sizeof h, w->rounded, places_size(s));
    return e->send(e->user, 0, message, sizeof h + places_size(s), error);
}

supple_result spl_exchange_solve(spl_pose_queue *q, spl_pose_tools *w, supple_error *error)
{
    const supple_exchange *e = q->s->options.exchange;
    size_t room = sizeof(head) + places_size(q->s), size = 0;
    uint8_t *message = spl_new(&q->s->allocator, room, 1);
    if (!message) return spl_fail_memory(error, "messages");
    head h = {.kind = READY, .key = key_of(q)};
    supple_result result = e->send(e->user, 0, &h, sizeof h, error);
    while (result == SUPPLE_OK) {
        result = wait_for(q, message, room, &size, error);
        if (result == SUPPLE_OK && size >= sizeof h) memcpy(&h, message, sizeof h);
        if (result == SUPPLE_OK && size < sizeof h)
            result = spl_fail(error, SUPPLE_ERROR_INPUT, "process 0 sent too little");
        if (result != SUPPLE_OK || h.kind == STOP) break;
        result = answer(q, w, message, size, error);
    }
    spl_free(&q->s->allocator, message);
    return result;
}
