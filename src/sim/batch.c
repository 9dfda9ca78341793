/* Simulations that are stepped together. Each frame runs on a thread of its own until it comes to a time step; when all
 * that are still under way have come to one, the last of them solves for all. Nobody waits for one that has ended. */
#include "methods/projective/cl/batch.h"
#include "core/error.h"
#include "core/memory.h"
#include "methods/projective/projective.h"
#include "sim/device.h"

#include <pthread.h>

typedef struct seat {
    supple_batch *batch;
    int32_t index;
    supple_sim *sim;
    spl_projective_seat place;
    int32_t clip; /* of the step under way, and the rest of what it is given */
    double time;
    const float *matrices;
    int32_t matrix_count;
    supple_result result;
    supple_error error;
    pthread_t thread;
    bool started;
} seat;

struct supple_batch {
    supple_allocator allocator;
    int32_t count;
    seat *seat;
    spl_cl_batch *joint;
    spl_cl_batch_part *part;
    bool has_lock;
    pthread_mutex_t lock; /* of all below, and of `part` */
    pthread_cond_t turned;
    int32_t running, waiting; /* frames under way; those that have come to a time step */
    uint64_t round;           /* solves so far */
    supple_result result;     /* of the last one */
    supple_error error;
};

/* ---- the meeting ---- */

static void solve_all(supple_batch *b)
{
    b->result = spl_cl_batch_solve(b->joint, b->part, &b->error);
    for (int32_t i = 0; i < b->count; i++) b->part[i].problem = NULL;
    b->waiting = 0;
    b->round++;
    pthread_cond_broadcast(&b->turned);
}

static supple_result meet(void *self, const spl_pd_problem *q, double *x, spl_pd_stats *stats, supple_error *error)
{
    seat *s = self;
    supple_batch *b = s->batch;
    pthread_mutex_lock(&b->lock);
    uint64_t round = b->round;
    b->part[s->index].problem = q;
    b->part[s->index].x = x;
    if (++b->waiting == b->running) solve_all(b);
    while (b->round == round) pthread_cond_wait(&b->turned, &b->lock);
    *stats = b->part[s->index].stats;
    supple_result result = b->result;
    if (result != SUPPLE_OK && error) *error = b->error;
    pthread_mutex_unlock(&b->lock);
    return result;
}

static void leave(supple_batch *b)
{
    pthread_mutex_lock(&b->lock);
    b->running--;
    if (b->waiting > 0 && b->waiting == b->running) solve_all(b);
    pthread_mutex_unlock(&b->lock);
}

/* ---- life ---- */

static supple_result refuse(supple_error *error, int32_t index)
{
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                    "batch: simulation %d is not by method projective on the same shared device, with dynamics and "
                    "accelerate=none, or sits in a batch",
                    (int)index);
}

static supple_result take_seats(supple_batch *b, supple_sim *const *sims, supple_error *error)
{
    for (int32_t i = 0; i < b->count; i++) {
        seat *s = &b->seat[i];
        supple_sim *sim = sims[i];
        bool fits = sim && sim->device && sim->device == sims[0]->device && !sim->own_device && sim->dynamics.on;
        *s = (seat){.batch = b, .index = i, .place = {s, meet}};
        if (!fits || !spl_projective_sit(sim->state, &sim->context, &s->place)) return refuse(error, i);
        s->sim = sim;
        if (!spl_projective_alike(&sim->context, &sims[0]->context))
            return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "batch: simulation %d has not the iterations of the first",
                            (int)i);
    }
    return SUPPLE_OK;
}

static supple_result join(supple_batch *b, supple_error *error)
{
    spl_pd **pd = spl_new(&b->allocator, (size_t)b->count, sizeof(spl_pd *));
    if (!pd) return spl_fail_memory(error, "the batch");
    for (int32_t i = 0; i < b->count; i++) pd[i] = spl_projective_pd(b->seat[i].sim->state);
    const supple_sim *first = b->seat[0].sim;
    supple_result result = spl_cl_batch_create(first->device, pd, b->count, spl_projective_inner(&first->context),
                                               &b->allocator, &b->joint, error);
    spl_free(&b->allocator, pd);
    return result;
}

supple_result supple_batch_create(supple_sim *const *sims, int32_t count, supple_batch **out, supple_error *error)
{
    *out = NULL;
    if (count < 1 || !sims[0]) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "batch: there are no simulations");
    supple_allocator a = sims[0]->allocator;
    supple_batch *b = spl_new(&a, 1, sizeof *b);
    if (!b) return spl_fail_memory(error, "the batch");
    *b = (supple_batch){.allocator = a, .count = count};
    b->seat = spl_new(&a, (size_t)count, sizeof *b->seat);
    b->part = spl_new(&a, (size_t)count, sizeof *b->part);
    supple_result result = b->seat && b->part ? SUPPLE_OK : spl_fail_memory(error, "the batch");
    if (result == SUPPLE_OK) {
        b->has_lock = pthread_mutex_init(&b->lock, NULL) == 0 && pthread_cond_init(&b->turned, NULL) == 0;
        result = b->has_lock ? take_seats(b, sims, error) : spl_fail_memory(error, "the batch");
    }
    if (result == SUPPLE_OK) result = join(b, error);
    if (result == SUPPLE_OK)
        *out = b;
    else
        supple_batch_destroy(b);
    return result;
}

void supple_batch_destroy(supple_batch *b)
{
    if (!b) return;
    supple_allocator a = b->allocator;
    for (int32_t i = 0; b->seat && i < b->count; i++)
        if (b->seat[i].sim) spl_projective_sit(b->seat[i].sim->state, &b->seat[i].sim->context, NULL);
    spl_cl_batch_destroy(b->joint);
    if (b->has_lock) pthread_cond_destroy(&b->turned);
    if (b->has_lock) pthread_mutex_destroy(&b->lock);
    spl_free(&a, b->seat);
    spl_free(&a, b->part);
    spl_free(&a, b);
}

/* ---- a step ---- */

static void *step(void *context)
{
    seat *s = context;
    s->result = s->matrices ? supple_sim_step_pose_dt(s->sim, s->matrices, s->matrix_count, s->time, &s->error)
                            : supple_sim_step_clip(s->sim, s->clip, s->time, &s->error);
    leave(s->batch);
    return NULL;
}

/* The first on this thread; one that gets no thread goes alone afterwards. */
static supple_result step_all(supple_batch *b, supple_error *error)
{
    b->running = b->count;
    for (int32_t i = 1; i < b->count; i++) {
        b->seat[i].started = pthread_create(&b->seat[i].thread, NULL, step, &b->seat[i]) == 0;
        if (!b->seat[i].started) leave(b);
    }
    step(&b->seat[0]);
    for (int32_t i = 1; i < b->count; i++)
        if (b->seat[i].started) pthread_join(b->seat[i].thread, NULL);
    for (int32_t i = 1; i < b->count; i++) {
        if (b->seat[i].started) continue;
        b->running = 1;
        step(&b->seat[i]);
    }
    for (int32_t i = 0; i < b->count; i++) {
        if (b->seat[i].result == SUPPLE_OK) continue;
        if (error) *error = b->seat[i].error;
        return b->seat[i].result;
    }
    return SUPPLE_OK;
}

supple_result supple_batch_step_clip(supple_batch *b, const int32_t *clips, const double *times, supple_error *error)
{
    for (int32_t i = 0; i < b->count; i++) {
        b->seat[i].matrices = NULL;
        b->seat[i].clip = clips[i];
        b->seat[i].time = times[i];
    }
    return step_all(b, error);
}

supple_result supple_batch_step_pose(supple_batch *b, const float *const *matrices, const int32_t *matrix_counts,
                                     double dt, supple_error *error)
{
    for (int32_t i = 0; i < b->count; i++) {
        if (!matrices[i]) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "batch: simulation %d has no pose", (int)i);
        b->seat[i].matrices = matrices[i];
        b->seat[i].matrix_count = matrix_counts[i];
        b->seat[i].time = dt;
    }
    return step_all(b, error);
}
