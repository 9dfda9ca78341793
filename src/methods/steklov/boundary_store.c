#include "methods/steklov/boundary_store.h"

#include "core/error.h"
#include "core/memory.h"

#include <math.h>

enum { VERSION = 1 };

static spl_key key_of(const spl_exrotated *s, int32_t distance, bool compensate)
{
    const spl_rows *r = &s->matrix.rows;
    size_t n = (size_t)s->order.count, entries = r->start[n];
    spl_digest d = spl_digest_begin();
    spl_digest_integer(&d, s->order.interior);
    spl_digest_integer(&d, distance);
    spl_digest_integer(&d, compensate);
    spl_digest_array(&d, r->start, n + 1, sizeof *r->start);
    spl_digest_array(&d, r->column, entries, sizeof *r->column);
    spl_digest_array(&d, s->matrix.value, 9 * entries, sizeof *s->matrix.value);
    return spl_digest_end(&d);
}

/* What a store holds, checked: it may have been edited. A definite matrix has positive diagonals, and no other entry
 * exceeds the roots of its two. */
static supple_result fetch(const spl_store_reader *reader, spl_boundary *b, supple_error *error)
{
    const spl_pattern *p = &b->pattern;
    size_t entries = p->start[p->n];
    void *value;
    spl_store_want want = {"value", SPL_STORE_F64, 9, entries, entries, 0, 0, false};
    supple_result result = spl_store_copy(reader, &want, &value, NULL, error);
    if (result != SUPPLE_OK) return result;
    b->value = value;
    for (size_t i = 0; i < 3 * (size_t)p->n; i++)
        if (!(b->value[9 * p->start[i / 3] + 4 * (i % 3)] > 0))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "a diagonal entry is not positive");
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
            for (size_t i = 0; i < 9; i++) {
                double row = b->value[9 * p->start[p->row[e]] + 4 * (i % 3)];
                double column = b->value[9 * p->start[j] + 4 * (i / 3)];
                if (fabs(b->value[9 * e + i]) > 1.0001 * sqrt(row) * sqrt(column))
                    return spl_fail(error, SUPPLE_ERROR_INPUT, "an entry is too large");
            }
    b->cached = true;
    return SUPPLE_OK;
}

static void publish(spl_cache *cache, const spl_store_id *id, const spl_boundary *b)
{
    spl_store_writer *w = spl_cache_begin(cache, id);
    if (!w) return;
    spl_store_add(w, "value", SPL_STORE_F64, 9, b->pattern.start[b->pattern.n], b->value, NULL);
    spl_cache_publish(cache, w);
}

/* SUPPLE_ERROR_INPUT: there is none that can be used. */
static supple_result find(spl_cache *cache, const spl_store_id *id, const spl_exrotated *system, int32_t distance,
                          spl_boundary *out, supple_error *error)
{
    spl_store_reader *found = spl_cache_find(cache, id);
    if (!found) return SUPPLE_ERROR_INPUT;
    supple_error reason = {0};
    supple_result result = spl_boundary_pattern(system, distance, out, &reason);
    if (result == SUPPLE_OK) result = fetch(found, out, &reason);
    if (result == SUPPLE_ERROR_INPUT)
        spl_cache_reject(cache, id, found, reason.message);
    else
        spl_store_close(found);
    if (result != SUPPLE_OK) spl_boundary_release(out);
    if (error && result == SUPPLE_ERROR_MEMORY) *error = reason;
    return result;
}

supple_result spl_boundary_cached(const spl_exrotated *system, int32_t distance, bool compensate, bool afresh,
                                  const supple_config *config, spl_boundary *out, supple_error *error)
{
    bool off = !system->solid->body->cache || system->order.count == system->order.interior;
    spl_cache_options where = {.off = off};
    spl_cache *cache = NULL;
    *out = (spl_boundary){0};
    supple_result result = spl_cache_open(&where, config, &cache, error);
    if (result != SUPPLE_OK) return result;
    spl_store_id id = {.kind = "steklov", .version = VERSION};
    if (!off) id.key = key_of(system, distance, compensate);
    result = afresh ? SUPPLE_ERROR_INPUT : find(cache, &id, system, distance, out, error);
    if (result == SUPPLE_ERROR_INPUT) {
        result = spl_boundary_create(system, distance, compensate, out, error);
        if (result == SUPPLE_OK) publish(cache, &id, out);
    }
    spl_cache_close(cache);
    return result;
}
