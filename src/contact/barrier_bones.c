/* Pairs of bones that flesh cannot keep apart: released while their motion takes them through each other, and taken
 * back when nothing of theirs touches any more. */
#include "contact/barrier_private.h"
#include "core/error.h"
#include "core/memory.h"
#include "geom/ccd.h"

#include <math.h>

int32_t spl_barrier_bone(const spl_barrier *b, int32_t vertex)
{
    return vertex < b->body_count ? b->bone[vertex] : -1;
}

bool spl_barrier_released(const spl_barrier *b, int32_t bone, int32_t other)
{
    return b->released[(size_t)b->bone_count * (size_t)bone + (size_t)other];
}

void spl_barrier_release(spl_barrier *b, int32_t bone, int32_t other, bool released)
{
    size_t n = (size_t)b->bone_count, p = (size_t)bone, q = (size_t)other;
    b->released[n * p + q] = b->released[n * q + p] = released;
}

int32_t spl_barrier_released_count(const spl_barrier *b)
{
    int32_t count = 0;
    for (int32_t p = 0; p < b->bone_count; p++)
        for (int32_t q = 0; q <= p; q++) count += spl_barrier_released(b, p, q);
    return count;
}

/* ---- which pairs are of released bones ---- */

static bool is_released(const spl_barrier *b, const spl_pair *pair)
{
    int first = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    for (int i = 0; i < first; i++)
        for (int k = first; k < 4; k++)
            if (spl_barrier_released(b, b->bone[pair->v[i]], b->bone[pair->v[k]])) return true;
    return false;
}

/* Both sides have vertices where flesh crosses at rest. */
static bool overlaps(const spl_barrier *b, const spl_pair *pair)
{
    int first = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    bool marked[2] = {false, false};
    for (int i = 0; i < 4; i++) marked[i >= first] = marked[i >= first] || b->overlapping[pair->v[i]];
    return marked[0] && marked[1];
}

bool spl_barrier_refuse(const void *context, const spl_pair *pair)
{
    const spl_barrier *b = context;
    bool world = pair->v[0] >= b->body_count || pair->v[3] >= b->body_count;
    if (world) return b->inverse;
    if (!b->options.self || overlaps(b, pair)) return true;
    return is_released(b, pair) != b->inverse;
}

int32_t spl_barrier_crossings(spl_barrier *b, const double *x)
{
    return spl_pairs_crossings(b->pairs, spl_barrier_all(b, x), b->pool, NULL, NULL);
}

/* ---- releasing ---- */

static int32_t release_pair(spl_barrier *b, const spl_pair *pair)
{
    int first = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    int32_t count = 0;
    for (int i = 0; i < first; i++)
        for (int k = first; k < 4; k++) {
            int32_t p = spl_barrier_bone(b, pair->v[i]), q = spl_barrier_bone(b, pair->v[k]);
            if (p < 0 || q < 0 || spl_barrier_released(b, p, q)) continue;
            spl_barrier_release(b, p, q, true);
            count++;
        }
    return count;
}

supple_result spl_barrier_release_stopping(spl_barrier *b, const double *x, const double *d, double share,
                                           int32_t *count, supple_error *error)
{
    double from[4][3], to[4][3], most;
    supple_result result = spl_barrier_max_step(b, x, d, NULL, 0.1, &most, error);
    *count = 0;
    if (result != SUPPLE_OK) return result;
    const double *step = spl_barrier_all_steps(b, d, NULL);
    for (int32_t i = 0; i < b->count; i++) {
        const spl_potential *p = &b->potential[i];
        if (!(p->width > 0)) continue;
        spl_barrier_corners(&p->pair, b->at, from);
        spl_barrier_corners(&p->pair, step, to);
        if (spl_pair_ccd((spl_pair_kind)p->pair.kind, from, to, p->offset, 0.1, share) < share)
            *count += release_pair(b, &p->pair);
    }
    return SUPPLE_OK;
}

/* ---- taking back ---- */

/* The bones of released pairs that touch: closer than their offset, or crossing. */
static void mark(spl_barrier *b, const spl_pair *pair, bool *touching)
{
    int first = pair->kind == SPL_PAIR_POINT_TRIANGLE ? 1 : 2;
    size_t n = (size_t)b->bone_count;
    for (int i = 0; i < first; i++)
        for (int k = first; k < 4; k++) {
            size_t p = (size_t)b->bone[pair->v[i]], q = (size_t)b->bone[pair->v[k]];
            touching[n * p + q] = touching[n * q + p] = true;
        }
}

typedef struct marking {
    spl_barrier *b;
    bool *touching;
} marking;

static void mark_crossing(void *context, const int32_t edge[2], const int32_t triangle[3])
{
    const marking *m = context;
    for (int i = 0; i < 2; i++) {
        spl_pair pair = {SPL_PAIR_POINT_TRIANGLE, {edge[i], triangle[0], triangle[1], triangle[2]}};
        mark(m->b, &pair, m->touching);
    }
}

static supple_result find_touching(spl_barrier *b, const double *all, bool *touching, supple_error *error)
{
    double corner[4][3];
    marking m = {b, touching};
    supple_result result = spl_barrier_seek(b, all, NULL, error);
    if (result != SUPPLE_OK) return result;
    for (int32_t i = 0; i < b->count; i++) {
        const spl_potential *p = &b->potential[i];
        spl_barrier_corners(&p->pair, all, corner);
        double d = sqrt(spl_pair_nearest((spl_pair_kind)p->pair.kind, corner).square);
        if (p->width > 0 && !(d > p->offset)) mark(b, &p->pair, touching);
    }
    if (spl_pairs_crossings(b->pairs, all, b->pool, mark_crossing, &m) < 0)
        return spl_fail_memory(error, "released contacts");
    return SUPPLE_OK;
}

supple_result spl_barrier_take_back(spl_barrier *b, const double *x, const bool *keep, int32_t *count,
                                    supple_error *error)
{
    *count = 0;
    if (spl_barrier_released_count(b) == 0) return SUPPLE_OK;
    size_t n = (size_t)b->bone_count;
    bool *touching = spl_new(&b->allocator, n * n, sizeof *touching);
    if (!touching) return spl_fail_memory(error, "released contacts");
    b->inverse = true;
    supple_result result = find_touching(b, spl_barrier_all(b, x), touching, error);
    b->inverse = false;
    for (size_t p = 0; result == SUPPLE_OK && p < n; p++)
        for (size_t q = 0; q <= p; q++) {
            size_t at = n * p + q;
            if (!b->released[at] || touching[at] || (keep && keep[at])) continue;
            spl_barrier_release(b, (int32_t)p, (int32_t)q, false);
            ++*count;
        }
    spl_free(&b->allocator, touching);
    return result;
}
