#include "body/bbw.h"

#include "body/bbw_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <math.h>
#include <pthread.h>

enum { BATCH = 8 };

#define START 1e-3 /* relative residual of the minimisers without bounds */

/* ---- the host's allocator for several threads at once ---- */

typedef struct shared {
    pthread_mutex_t mutex;
    const supple_allocator *a;
} shared;

static void *shared_allocate(void *user, size_t size)
{
    shared *s = user;
    pthread_mutex_lock(&s->mutex);
    void *block = s->a->allocate(s->a->user, size);
    pthread_mutex_unlock(&s->mutex);
    return block;
}

static void *shared_reallocate(void *user, void *block, size_t size)
{
    shared *s = user;
    pthread_mutex_lock(&s->mutex);
    void *grown = s->a->reallocate(s->a->user, block, size);
    pthread_mutex_unlock(&s->mutex);
    return grown;
}

static void shared_release(void *user, void *block)
{
    shared *s = user;
    pthread_mutex_lock(&s->mutex);
    s->a->release(s->a->user, block);
    pthread_mutex_unlock(&s->mutex);
}

/* ---- starts ---- */

/* The minimisers without bounds of up to BATCH bones, Q_ff w_f = - Q_fh w_h, as near as a start needs to be. */
static int32_t solve_batch(const bbw_system *s, bbw_part *all, const int32_t *bones, int count, spl_weight_table *t,
                           double *side, double *room, spl_pool *pool)
{
    size_t n = (size_t)s->n;
    double *w = room, *y = w + n * BATCH, *g = y + n * BATCH;
    for (size_t v = 0; v < n; v++)
        for (int c = 0; c < BATCH; c++) w[v * BATCH + (size_t)c] = c < count && s->in->held[v] == bones[c];
    spl_bbw_gradient(s, w, BATCH, y, g, pool);
    for (size_t i = 0; i < (size_t)s->free_count; i++)
        for (size_t c = 0; c < BATCH; c++) side[i * BATCH + c] = -g[(size_t)s->vertex[i] * BATCH + c];
    int32_t iterations = spl_bbw_part_solve(all, side, w, BATCH, START);
    for (int c = 0; c < count; c++) {
        double *column = t->value + (size_t)bones[c] * n;
        for (size_t v = 0; v < n; v++) column[v] = s->in->held[v] == bones[c];
        for (size_t i = 0; i < (size_t)s->free_count; i++) column[s->vertex[i]] = w[i * BATCH + (size_t)c];
    }
    return iterations;
}

static supple_result start_all(const bbw_system *s, bbw_part *all, const int32_t *bones, int32_t bone_count,
                               spl_weight_table *t, spl_pool *pool, spl_bbw_report *report)
{
    double *side = spl_new(s->a, (size_t)s->free_count, BATCH * sizeof *side);
    double *room = spl_new(s->a, (size_t)s->n, 3 * BATCH * sizeof *room);
    supple_result result = side && room ? SUPPLE_OK : SUPPLE_ERROR_MEMORY;
    for (int32_t b = 0; result == SUPPLE_OK && b < bone_count; b += BATCH) {
        int count = bone_count - b < BATCH ? bone_count - b : BATCH;
        report->iterations += solve_batch(s, all, bones + b, count, t, side, room, pool);
    }
    spl_free(s->a, side);
    spl_free(s->a, room);
    return result;
}

/* All free vertices, of one factor. */
static supple_result make_all(const bbw_system *s, spl_pool *pool, bbw_part **out)
{
    bool *moves = spl_new(s->a, (size_t)s->free_count, sizeof *moves);
    supple_result result = moves ? spl_bbw_part_create(s, BATCH, s->in->backend, s->a, pool, out) : SUPPLE_ERROR_MEMORY;
    for (int32_t i = 0; result == SUPPLE_OK && i < s->free_count; i++) moves[i] = true;
    if (result == SUPPLE_OK) result = spl_bbw_part_set(*out, moves);
    spl_free(s->a, moves);
    return result;
}

/* ---- bounds ---- */

typedef struct work {
    const bbw_system *system;
    const supple_allocator *a; /* for several threads */
    const int32_t *bones;
    size_t first; /* of the bones at hand */
    spl_weight_table *table;
    bbw_result *result;
} work;

static void run_bones(void *context, size_t begin, size_t end)
{
    const work *w = context;
    for (size_t i = w->first + begin; i < w->first + end; i++) {
        double *column = w->table->value + (size_t)w->bones[i] * (size_t)w->system->n;
        w->result[i] = spl_bbw_newton(w->system, w->a, column);
    }
}

static supple_result fail(supple_result result, supple_error *error)
{
    if (result == SUPPLE_ERROR_MEMORY) return spl_fail_memory(error, "the weights");
    return spl_fail(error, SUPPLE_ERROR_SOLVE,
                    "the weights' system is singular: a piece of the body is held by no bone, or flat");
}

static supple_result sum_up(const bbw_result *r, int32_t count, spl_bbw_report *report, supple_error *error)
{
    for (int32_t i = 0; i < count; i++) {
        if (r[i].result != SUPPLE_OK) return fail(r[i].result, error);
        report->rounds += r[i].rounds;
        report->iterations += r[i].iterations;
        report->mean_part += r[i].part;
        report->unfinished += !r[i].finished;
        report->most_rounds = r[i].rounds > report->most_rounds ? r[i].rounds : report->most_rounds;
        report->residual = fmax(report->residual, r[i].residual);
    }
    if (report->rounds) report->mean_part /= report->rounds;
    return SUPPLE_OK;
}

static supple_result bound_all(const bbw_system *s, const int32_t *bones, int32_t bone_count, spl_weight_table *t,
                               const supple_config *config, spl_pool *pool, spl_bbw_report *report, supple_error *error)
{
    shared lock = {.a = s->a};
    supple_allocator a = {shared_allocate, shared_reallocate, shared_release, &lock};
    work w = {.system = s, .a = &a, .bones = bones, .table = t};
    w.result = spl_new(s->a, (size_t)bone_count, sizeof *w.result);
    if (!w.result || pthread_mutex_init(&lock.mutex, NULL) != 0) {
        spl_free(s->a, w.result);
        return spl_fail_memory(error, "the weights");
    }
    supple_result result = SUPPLE_OK;
    size_t count = (size_t)bone_count, step = 4 * (size_t)(pool ? spl_pool_thread_count(pool) : 1);
    for (; w.first < count && result == SUPPLE_OK; w.first += step) { /* a few at a time, for the progress */
        result = spl_progress(config, "weights", (double)w.first / (double)count, error);
        size_t part = count - w.first < step ? count - w.first : step;
        if (result == SUPPLE_OK) spl_parallel_for(pool, part, 1, run_bones, &w);
    }
    pthread_mutex_destroy(&lock.mutex);
    if (result == SUPPLE_OK) result = sum_up(w.result, bone_count, report, error);
    spl_free(s->a, w.result);
    return result;
}

/* ---- all of it ---- */

/* The bones that hold vertices, in order; returns how many. */
static int32_t list_bones(const spl_harmonic_input *in, int32_t *bones)
{
    int32_t count = 0;
    for (int32_t b = 0; b < in->bone_count; b++) bones[b] = 0;
    for (int32_t v = 0; v < in->elements->vertex_count; v++)
        if (in->held[v] >= 0) bones[in->held[v]] = 1;
    for (int32_t b = 0; b < in->bone_count; b++)
        if (bones[b]) bones[count++] = b;
    return count;
}

static supple_result solve(bbw_system *s, int32_t *bones, spl_weight_table *t, const supple_config *config,
                           spl_pool *pool, spl_bbw_report *r, supple_error *error)
{
    bbw_part *all = NULL;
    double start = spl_now_ms();
    supple_result result = spl_bbw_system_make(s, pool, error);
    r->unknowns = s->free_count;
    r->bones = list_bones(s->in, bones);
    r->ms_system = spl_now_ms() - start;
    if (result != SUPPLE_OK || s->free_count == 0) return result;
    start = spl_now_ms();
    result = make_all(s, pool, &all);
    r->ms_factor = spl_now_ms() - start;
    start = spl_now_ms();
    if (result == SUPPLE_OK) result = start_all(s, all, bones, r->bones, t, pool, r);
    spl_bbw_part_destroy(all);
    r->ms_start = spl_now_ms() - start;
    if (result != SUPPLE_OK) return fail(result, error);
    start = spl_now_ms();
    result = bound_all(s, bones, r->bones, t, config, pool, r, error);
    r->ms_bounds = spl_now_ms() - start;
    return result;
}

supple_result spl_bbw(const spl_harmonic_input *in, const supple_config *config, spl_pool *pool,
                      const supple_allocator *a, spl_weight_table *out, spl_bbw_report *report, supple_error *error)
{
    spl_bbw_report unused;
    spl_bbw_report *r = report ? report : &unused;
    bbw_system s = {.in = in, .a = a, .n = in->elements->vertex_count};
    *r = (spl_bbw_report){0};
    supple_result result = spl_weight_table_create(s.n, in->bone_count, a, out, error);
    if (result != SUPPLE_OK) return result;
    int32_t *bones = spl_new(a, (size_t)in->bone_count, sizeof *bones);
    result = bones ? solve(&s, bones, out, config, pool, r, error) : spl_fail_memory(error, "the weights");
    for (int32_t v = 0; result == SUPPLE_OK && v < s.n; v++) /* also where nothing is free */
        if (in->held[v] >= 0) out->value[(size_t)in->held[v] * (size_t)s.n + (size_t)v] = 1;
    spl_free(a, bones);
    spl_bbw_system_release(&s);
    if (result != SUPPLE_OK) spl_weight_table_release(out);
    return result;
}
