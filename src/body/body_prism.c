#include "body/body_prism.h"

#include "body/body_cache.h"
#include "body/flesh_private.h"
#include "body/tets_store.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* Of the budget of tetrahedra, which the prisms' own number stays below, is what the flesh under the skin gets: on a
 * human, 60,000 give 4,500 skin vertices and 27,000 tetrahedra of prisms. */
#define FLESH_SHARE 0.6
enum { VERSION = 4, COUNTS = 9, NUMBERS = SPL_FLESH_REPORT_NUMBERS + COUNTS + 2 };

static spl_flesh_options flesh_options(const spl_body_options *options)
{
    spl_flesh_options o = options->flesh;
    o.max_tets = (int32_t)(FLESH_SHARE * o.max_tets);
    return o;
}

/* ---- making ---- */

/* How well the skin fits the surface, and the shapes of the tetrahedra, into the flesh's report. */
static supple_result measure(spl_body *body, const spl_tets *tets, const spl_tree *tree, spl_pool *pool,
                             supple_error *error)
{
    flesh f = {.a = &body->allocator,
               .pool = pool,
               .given = &body->surface,
               .surface = body->surface, /* borrowed: nothing of it is released here */
               .frame = {.axis = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, .size = 1},
               .cell = body->flesh.cell,
               .tets = *tets,
               .report = body->flesh};
    supple_result result = spl_winding_make(tree, f.a, &f.winding, error);
    f.report.mean_distance = f.report.max_distance = f.report.area_lost = f.report.surface_volume = 0;
    if (result == SUPPLE_OK) result = spl_flesh_measure(&f, error);
    spl_winding_release(&f.winding);
    body->flesh = f.report;
    return result;
}

static supple_result make(spl_body *body, const spl_body_options *options, const spl_tree *tree,
                          const supple_config *config, spl_pool *pool, spl_cache *cache, spl_prisms *out,
                          supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    spl_flesh_options how = flesh_options(options);
    spl_tets tets;
    spl_place *place;
    bool cached;
    supple_result result =
        spl_flesh_cached(cache, &body->surface, &how, config, pool, a, &tets, &place, &body->flesh, &cached, error);
    if (result != SUPPLE_OK) return result;
    spl_attach_input in = spl_body_attach_input(body, &tets, place, tree);
    result = spl_progress(config, "prisms", 0, error);
    if (result == SUPPLE_OK) result = spl_leaves_fit(&in, &body->bones, &body->leaves, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "prisms", 0.3, error);
    if (result == SUPPLE_OK) result = spl_prisms_make(&in, pool, out, error);
    spl_tets_release(&tets);
    spl_free(a, place);
    if (result != SUPPLE_OK) return result;
    body->flesh.component_count = out->report.pieces;
    result = measure(body, &out->tets, tree, pool, error);
    if (result == SUPPLE_OK) result = spl_progress(config, "prisms", 1, error);
    if (result != SUPPLE_OK) spl_prisms_release(out);
    return result;
}

/* ---- the cache ---- */

static spl_key key_of(const spl_body *body, const spl_flesh_options *o)
{
    const spl_surface *s = &body->surface;
    const spl_skin_weights *w = &body->weights;
    size_t n = (size_t)s->vertex_count;
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, s->position, 3 * n, sizeof(double));
    spl_digest_array(&d, s->triangle, 3 * (size_t)s->triangle_count, sizeof *s->triangle);
    spl_digest_array(&d, w->first, n + 1, sizeof *w->first);
    spl_digest_array(&d, w->node, (size_t)w->first[n], sizeof *w->node);
    spl_digest_array(&d, w->weight, (size_t)w->first[n], sizeof *w->weight);
    for (int32_t k = 0; k < body->bones.bone_count; k++) {
        const spl_bone *b = &body->bones.bone[k];
        spl_digest_integer(&d, b->node);
        spl_digest_integer(&d, b->parent);
        spl_digest_array(&d, &b->head, 3, sizeof(double));
        spl_digest_array(&d, &b->tail, 3, sizeof(double));
    }
    spl_digest_integer(&d, o->resolution);
    spl_digest_integer(&d, o->max_tets);
    return spl_digest_end(&d);
}

static void move_reports(double *n, spl_body *body, spl_prism_report *r, bool pack)
{
    int32_t *counts[COUNTS] = {&r->split, &r->cut, &r->crumbs, &r->pieces, &r->held,
                               &r->free,  &r->off, &r->cores,  &r->empty};
    double *reals[2] = {&r->reached, &r->edge};
    spl_flesh_report_move(n, &body->flesh, pack);
    n += SPL_FLESH_REPORT_NUMBERS;
    for (int i = 0; i < COUNTS; i++, n++) {
        if (pack)
            *n = *counts[i];
        else
            *counts[i] = (int32_t)*n;
    }
    for (int i = 0; i < 2; i++, n++) {
        if (pack)
            *n = *reals[i];
        else
            *reals[i] = *n;
    }
}

static void publish(spl_cache *cache, const spl_store_id *id, spl_body *body, spl_prisms *p)
{
    const supple_allocator *a = &body->allocator;
    size_t n = (size_t)p->tets.vertex_count, bones = (size_t)body->bones.bone_count;
    double numbers[NUMBERS];
    spl_vec3 *tail = spl_new(a, bones, sizeof *tail);
    spl_store_writer *w = tail ? spl_cache_begin(cache, id) : NULL;
    bool made = w != NULL;
    for (size_t k = 0; made && k < bones; k++) tail[k] = body->bones.bone[k].tail;
    if (made) {
        move_reports(numbers, body, &p->report, true);
        spl_tets_put(w, &p->tets, NULL);
        spl_store_add(w, "prism", SPL_STORE_I32, 1, (size_t)p->tets.tet_count, p->prism, NULL);
        spl_store_add(w, "bone", SPL_STORE_I32, 1, n, p->bone, NULL);
        spl_store_add(w, "tail", SPL_STORE_F64, 3, bones, tail, NULL);
        spl_store_add(w, "report", SPL_STORE_F64, 1, NUMBERS, numbers, NULL);
        made = spl_places_put(w, p->place, n, a);
    }
    if (made)
        spl_cache_publish(cache, w);
    else
        spl_store_discard(w);
    spl_free(a, tail);
}

/* Arrays of a store, checked: it may have been edited. */
static supple_result fetch_arrays(const spl_store_reader *r, spl_body *body, spl_prisms *p, supple_error *error)
{
    const supple_allocator *a = &body->allocator;
    size_t n = (size_t)p->tets.vertex_count, m = (size_t)p->tets.tet_count, bones = (size_t)body->bones.bone_count;
    const void *prism, *bone, *tail;
    spl_store_want want = {"prism", SPL_STORE_I32, 1, m, m, 0, p->tets.surface_count - 1, false};
    supple_result result = spl_store_get(r, &want, &prism, NULL, error);
    want = (spl_store_want){"bone", SPL_STORE_I32, 1, n, n, -1, body->bones.bone_count - 1, false};
    if (result == SUPPLE_OK) result = spl_store_get(r, &want, &bone, NULL, error);
    want = (spl_store_want){"tail", SPL_STORE_F64, 3, bones, bones, 0, 0, true};
    if (result == SUPPLE_OK) result = spl_store_get(r, &want, &tail, NULL, error);
    if (result != SUPPLE_OK) return result;
    p->prism = spl_new(a, m, sizeof *p->prism);
    p->bone = spl_new(a, n, sizeof *p->bone);
    p->place = spl_new(a, n, sizeof *p->place);
    if (!p->prism || !p->bone || !p->place) return spl_fail_memory(error, "the prisms");
    memcpy(p->prism, prism, m * sizeof *p->prism);
    memcpy(p->bone, bone, n * sizeof *p->bone);
    result = spl_places_take(r, body->surface.triangle_count, n, p->place, error);
    for (size_t k = 0; result == SUPPLE_OK && k < bones; k++)
        memcpy(&body->bones.bone[k].tail, (const spl_vec3 *)tail + k, sizeof(spl_vec3));
    return result;
}

static supple_result fetch(const spl_store_reader *r, spl_body *body, spl_prisms *p, supple_error *error)
{
    const void *numbers;
    double copy[NUMBERS];
    spl_store_want want = {"report", SPL_STORE_F64, 1, NUMBERS, NUMBERS, 0, 0, false};
    supple_result result = spl_store_get(r, &want, &numbers, NULL, error);
    if (result == SUPPLE_OK) result = spl_tets_take(r, &body->allocator, &p->tets, error);
    if (result != SUPPLE_OK) return result;
    memcpy(copy, numbers, sizeof copy);
    for (int i = 0; i < NUMBERS; i++)
        if (!(fabs(copy[i]) < 2e9))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "a number of the report is out of range");
    result = fetch_arrays(r, body, p, error);
    if (result != SUPPLE_OK) return result;
    move_reports(copy, body, &p->report, false);
    body->flesh.surface_volume = 0; /* a surface that is open has none: NAN is not stored */
    for (int32_t c = 0; c < body->surface.component_count; c++)
        body->flesh.surface_volume += body->surface.closed[c] ? body->surface.volume[c] : NAN;
    return SUPPLE_OK;
}

/* SUPPLE_ERROR_INPUT if nothing (of use) is there. */
static supple_result find(spl_cache *cache, const spl_store_id *id, spl_body *body, spl_prisms *p, supple_error *error)
{
    spl_store_reader *found = spl_cache_find(cache, id);
    supple_error reason = {0};
    if (!found) return SUPPLE_ERROR_INPUT;
    supple_result result = fetch(found, body, p, &reason);
    if (result == SUPPLE_ERROR_INPUT) {
        spl_cache_reject(cache, id, found, reason.message);
    } else
        spl_store_close(found);
    if (result != SUPPLE_OK) spl_prisms_release(p);
    if (error && result != SUPPLE_OK) *error = reason;
    return result;
}

supple_result spl_body_make_prisms(spl_body *body, const spl_body_options *options, const spl_tree *tree,
                                   const supple_config *config, spl_pool *pool, spl_cache *cache, supple_error *error)
{
    spl_flesh_options how = flesh_options(options);
    spl_store_id id = {"prisms", VERSION, key_of(body, &how)};
    spl_prisms p = {.tets = {.allocator = body->allocator}};
    supple_result result = find(cache, &id, body, &p, error);
    body->cached = result == SUPPLE_OK;
    if (result == SUPPLE_ERROR_INPUT) {
        result = make(body, options, tree, config, pool, cache, &p, error);
        if (result == SUPPLE_OK) publish(cache, &id, body, &p);
    }
    if (result != SUPPLE_OK) return result;
    body->tets = p.tets;
    body->prism = p.prism;
    body->bone = p.bone;
    body->place = p.place;
    body->prisms = p.report;
    body->attach.constrained = p.report.held;
    body->attach.empty = p.report.empty;
    if (p.report.empty) spl_log(config, SUPPLE_LOG_WARNING, "%d bones hold no flesh", (int)p.report.empty);
    return SUPPLE_OK;
}
