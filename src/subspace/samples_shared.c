/* Poses are handed out among processes that share a folder: each looks there for what the others solved, and claims
 * what it takes. */
#include "core/error.h"
#include "core/timer.h"
#include "subspace/samples_private.h"

static const double shortest_pause = 20, longest_pause = 5000; /* ms between two looks at the folder */

static bool is_done(const spl_pose_queue *q, int32_t i)
{
    return q->s->state[i] != SPL_SAMPLE_OPEN || q->claims.pose[i].there;
}

/* Open, not ours yet, and what it continues from is done. */
static bool is_ready(const spl_pose_queue *q, int32_t i)
{
    int32_t parent = q->s->parent[i];
    return !q->taken[i] && !is_done(q, i) && (parent < 0 || is_done(q, parent));
}

/* Of the poses that are ready and that nobody held when we looked, that for which the longest chain waits; among equals
 * one of our own, or the next one from where our part of the list begins, so that few try to take the same. -1: none.
 */
static int32_t find_ready(const spl_pose_queue *q)
{
    const spl_sample_options *o = &q->s->options;
    int32_t count = q->s->count, first = (int32_t)((int64_t)count * (o->share - 1) / o->shares), best = -1, most = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t i = (first + k) % count, weight = 2 * q->height[i] + (i % o->shares == o->share - 1);
        if (weight <= most || q->claims.pose[i].held || !is_ready(q, i)) continue;
        best = i;
        most = weight;
    }
    return best;
}

/* What it continues from is read where others solved it; false: it is damaged, and open again. */
static bool read_start(spl_pose_queue *q, int32_t i)
{
    spl_samples *s = q->s;
    for (int32_t p = s->parent[i]; p >= 0 && s->state[p] != SPL_SAMPLE_SOLVED; p = s->parent[p]) {
        if (s->state[p] == SPL_SAMPLE_OPEN) spl_sample_find(s, p);
        if (s->state[p] == SPL_SAMPLE_SOLVED) break;
        if (s->state[p] == SPL_SAMPLE_FAILED) continue;
        spl_claims_discard(&q->claims, p);
        return false;
    }
    return true;
}

static supple_result look_again(spl_pose_queue *q, supple_error *error)
{
    q->looked = spl_now_ms();
    return spl_claims_scan(&q->claims, &q->gone, error);
}

/* A pose that nobody holds, claimed and ready; -1: there is none. */
static int32_t take_free(spl_pose_queue *q, supple_error *error, supple_result *result)
{
    bool taken = false;
    for (int32_t i = find_ready(q); i >= 0; i = find_ready(q)) {
        *result = spl_claims_take(&q->claims, i, &taken, error);
        if (*result != SUPPLE_OK) return -1;
        if (taken && read_start(q, i)) return i;
        if (taken) spl_claims_give(&q->claims, i);
        if (taken || spl_now_ms() - q->looked < shortest_pause) continue;
        *result = look_again(q, error); /* what we knew is old */
        if (*result != SUPPLE_OK || q->gone) return -1;
    }
    return -1;
}

/* The same of poses whose claims are stale. */
static int32_t take_stale(spl_pose_queue *q, supple_error *error, supple_result *result)
{
    bool taken = false;
    for (int32_t i = 0; i < q->s->count && *result == SUPPLE_OK; i++) {
        if (!q->claims.pose[i].held || !is_ready(q, i)) continue;
        *result = spl_claims_take_over(&q->claims, i, &taken, error);
        if (!taken) continue;
        if (read_start(q, i)) {
            q->taken_over++;
            return i;
        }
        spl_claims_give(&q->claims, i);
    }
    return -1;
}

/* Whether something may still come for us: we stay to the end, or poses are open that nobody holds, or a dead process.
 */
static bool may_come(const spl_pose_queue *q)
{
    for (int32_t i = 0; i < q->s->count; i++) {
        if (is_done(q, i) || q->taken[i]) continue;
        const spl_claim *c = &q->claims.pose[i];
        if (!q->s->options.part || !c->held || c->suspect) return true;
    }
    return false;
}

static void fail_locked(spl_pose_queue *q, supple_result result, const supple_error *error)
{
    if (q->result == SUPPLE_OK) {
        q->result = result;
        q->error = *error;
    }
    atomic_store(&q->stop, 1);
}

int32_t spl_shared_take(spl_pose_queue *q, bool *wait)
{
    supple_error error = {0};
    supple_result result = SUPPLE_OK;
    int32_t i = take_free(q, &error, &result);
    if (i < 0 && result == SUPPLE_OK) {
        result = look_again(q, &error);
        if (result == SUPPLE_OK && !q->gone) i = take_free(q, &error, &result);
        if (result == SUPPLE_OK && !q->gone && i < 0) i = take_stale(q, &error, &result);
    }
    if (result != SUPPLE_OK) fail_locked(q, result, &error);
    double longest = fmin(longest_pause, q->claims.lease / 6);
    q->pause_ms = i >= 0 ? 0 : fmin(fmax(shortest_pause, 1.2 * q->pause_ms), fmax(longest, shortest_pause));
    *wait = result == SUPPLE_OK && !q->gone && may_come(q);
    return i;
}

void spl_shared_read_all(spl_pose_queue *q, bool *open)
{
    spl_samples *s = q->s;
    for (int32_t i = 0; i < s->count; i++) {
        if (s->state[i] != SPL_SAMPLE_OPEN) continue;
        if (q->claims.pose[i].there) spl_sample_find(s, i);
        if (s->state[i] != SPL_SAMPLE_OPEN) continue;
        if (q->claims.pose[i].there) spl_claims_discard(&q->claims, i);
        q->taken[i] = false;
        *open = true;
    }
}
