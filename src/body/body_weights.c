#include "body/body_weights.h"

#include "body/diffuse.h"
#include "core/cache.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/timer.h"

#include <math.h>

enum { VERSION = 1, NUMBERS = 4 }; /* of the stored report: maxima, unknowns, bones, residual */

#define LEAST 1e-6 /* weights below are left out */

typedef struct work {
    const spl_solid *solid;
    spl_weights_kind kind;
    const supple_config *config;
    spl_pool *pool;
    const supple_allocator *a;
    int32_t *held; /* by vertex: the bone that holds it, or that its island hangs on */
    spl_weights_report *report;
} work;

/* ---- the cache ---- */

static spl_key key_of(const work *w)
{
    const spl_body *body = w->solid->body;
    const spl_skin_weights *skin = &body->weights;
    spl_digest d = spl_digest_begin();
    size_t n = (size_t)body->tets.vertex_count;
    spl_digest_integer(&d, w->kind);
    spl_digest_integer(&d, body->bones.bone_count);
    spl_digest_array(&d, w->solid->drive.rest, 3 * n, sizeof(double));
    spl_digest_array(&d, body->tets.tet, 4 * (size_t)body->tets.tet_count, sizeof(int32_t));
    spl_digest_array(&d, w->held, n, sizeof(int32_t));
    if (w->kind != SPL_WEIGHTS_OWN) return spl_digest_end(&d);
    size_t count = (size_t)body->surface.vertex_count;
    spl_digest_array(&d, skin->first, count + 1, sizeof *skin->first);
    spl_digest_array(&d, skin->node, (size_t)skin->first[count], sizeof *skin->node);
    spl_digest_array(&d, skin->weight, (size_t)skin->first[count], sizeof *skin->weight);
    for (int32_t b = 0; b < body->bones.bone_count; b++) spl_digest_integer(&d, body->bones.bone[b].node);
    for (size_t v = 0; v < n; v++) {
        spl_digest_integer(&d, body->place[v].triangle);
        spl_digest_array(&d, body->place[v].bary, 3, sizeof body->place[v].bary[0]);
    }
    return spl_digest_end(&d);
}

/* Only what is not zero is kept: places in the table, rising, and values. */
static void publish(const work *w, spl_cache *cache, const spl_store_id *id, const spl_weight_table *t)
{
    size_t total = (size_t)t->vertex_count * (size_t)t->bone_count, count = 0;
    for (size_t i = 0; i < total; i++) count += t->value[i] != 0;
    spl_store_writer *writer = spl_cache_begin(cache, id);
    int64_t *place = spl_new(w->a, count, sizeof *place);
    double *value = spl_new(w->a, count, sizeof *value);
    if (!writer || !place || !value) {
        spl_store_discard(writer);
    } else {
        const spl_weights_report *r = w->report;
        double numbers[NUMBERS] = {r->maxima, r->bbw.unknowns, r->bbw.bones, r->bbw.residual};
        for (size_t i = 0, at = 0; i < total; i++)
            if (t->value[i] != 0) place[at] = (int64_t)i, value[at++] = t->value[i];
        spl_store_add(writer, "place", SPL_STORE_I64, 1, count, place, NULL);
        spl_store_add(writer, "value", SPL_STORE_F64, 1, count, value, NULL);
        spl_store_add(writer, "report", SPL_STORE_F64, 1, NUMBERS, numbers, NULL);
        spl_cache_publish(cache, writer);
    }
    spl_free(w->a, place);
    spl_free(w->a, value);
}

/* What a store holds, checked: it may have been edited. */
static supple_result fetch(const work *w, const spl_store_reader *r, spl_weight_table *t, supple_error *error)
{
    const void *place, *value, *numbers;
    size_t n = (size_t)t->vertex_count, total = n * (size_t)t->bone_count, count;
    spl_store_want want = {"place", SPL_STORE_I64, 1, n, total, 0, (int64_t)total - 1, false};
    supple_result result = spl_store_get(r, &want, &place, &count, error);
    want = (spl_store_want){"value", SPL_STORE_F64, 1, count, count, 0, 0, false};
    if (result == SUPPLE_OK) result = spl_store_get(r, &want, &value, NULL, error);
    want = (spl_store_want){"report", SPL_STORE_F64, 1, NUMBERS, NUMBERS, 0, 0, false};
    if (result == SUPPLE_OK) result = spl_store_get(r, &want, &numbers, NULL, error);
    if (result != SUPPLE_OK) return result;
    const double *number = numbers;
    for (int i = 0; i < NUMBERS; i++)
        if (!(number[i] >= 0 && number[i] < 2e9))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "a number of the report is out of range");
    for (size_t i = 0; i < count; i++) t->value[((const int64_t *)place)[i]] = ((const double *)value)[i];
    for (size_t v = 0; v < n; v++) {
        double sum = 0;
        for (size_t b = 0; b < (size_t)t->bone_count; b++) {
            if (!(t->value[b * n + v] >= 0)) return spl_fail(error, SUPPLE_ERROR_INPUT, "a weight is out of range");
            sum += t->value[b * n + v];
        }
        if (fabs(sum - 1) > 1e-6) return spl_fail(error, SUPPLE_ERROR_INPUT, "weights do not sum to 1");
    }
    w->report->maxima = (int32_t)number[0];
    w->report->bbw.unknowns = (int32_t)number[1];
    w->report->bbw.bones = (int32_t)number[2];
    w->report->bbw.residual = number[3];
    w->report->cached = true;
    return SUPPLE_OK;
}

/* ---- finding them ---- */

static supple_result find(const work *w, spl_weight_table *t, supple_error *error)
{
    const spl_solid *s = w->solid;
    const supple_solver_backend *backend = w->config ? w->config->solver : NULL;
    spl_harmonic_input in = {&s->elements, w->held, s->body->bones.bone_count, backend};
    if (w->kind == SPL_WEIGHTS_HEAT) return spl_heat_weights(&in, s->drive.rest, w->pool, w->a, t, error);
    if (w->kind == SPL_WEIGHTS_OWN) return spl_own_weights(s->body, &s->elements, backend, w->pool, w->a, t, error);
    supple_result result = spl_bbw(&in, w->config, w->pool, w->a, t, &w->report->bbw, error);
    if (result == SUPPLE_OK && w->report->bbw.unfinished)
        spl_log(w->config, SUPPLE_LOG_WARNING, "the weights of %d bones did not converge: residual %.1e",
                (int)w->report->bbw.unfinished, w->report->bbw.residual);
    return result;
}

static supple_result make(const work *w, spl_weight_table *t, supple_error *error)
{
    const spl_elements *e = &w->solid->elements;
    supple_result result = find(w, t, error);
    if (result != SUPPLE_OK) return result;
    result = spl_weight_table_maxima(t, e, w->held, NULL, &w->report->maxima, error);
    for (int pass = 0; result == SUPPLE_OK && pass < 2; pass++) { /* again for what is left out */
        result = spl_weight_table_normalise(t, e, error);
        for (size_t i = 0; pass == 0 && i < (size_t)t->vertex_count * (size_t)t->bone_count; i++)
            if (t->value[i] < LEAST) t->value[i] = 0;
    }
    if (result != SUPPLE_OK) spl_weight_table_release(t);
    return result;
}

static supple_result find_or_make(const work *w, spl_cache *cache, spl_weight_table *t, supple_error *error)
{
    spl_store_id id = {"weights", VERSION, key_of(w)};
    spl_store_reader *found = spl_cache_find(cache, &id);
    if (found) {
        supple_error reason = {0};
        const spl_body *body = w->solid->body;
        supple_result result = spl_weight_table_create(body->tets.vertex_count, body->bones.bone_count, w->a, t, error);
        if (result == SUPPLE_OK) result = fetch(w, found, t, &reason);
        if (result != SUPPLE_ERROR_INPUT) {
            spl_store_close(found);
            return result;
        }
        spl_weight_table_release(t);
        spl_cache_reject(cache, &id, found, reason.message);
    }
    supple_result result = make(w, t, error);
    if (result == SUPPLE_OK) publish(w, cache, &id, t);
    return result;
}

supple_result spl_body_weights(const spl_solid *solid, spl_weights_kind kind, bool cache, const supple_config *config,
                               spl_pool *pool, spl_weight_table *out, spl_weights_report *report, supple_error *error)
{
    spl_weights_report unused;
    double start = spl_now_ms();
    size_t n = (size_t)solid->body->tets.vertex_count;
    work w = {solid, kind, config, pool, &solid->allocator, NULL, report ? report : &unused};
    spl_cache_options where = {.off = !cache};
    spl_cache *store = NULL;
    *w.report = (spl_weights_report){0};
    *out = (spl_weight_table){0};
    w.held = spl_new(w.a, n, sizeof *w.held);
    supple_result result =
        w.held ? spl_cache_open(&where, config, &store, error) : spl_fail_memory(error, "the weights");
    if (result == SUPPLE_OK) {
        for (size_t v = 0; v < n; v++) w.held[v] = solid->body->bone[v] >= 0 ? solid->body->bone[v] : solid->island[v];
        result = find_or_make(&w, store, out, error);
    }
    spl_cache_close(store);
    spl_free(w.a, w.held);
    w.report->ms = spl_now_ms() - start;
    return result;
}
