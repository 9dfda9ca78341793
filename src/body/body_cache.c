#include "body/body_cache.h"

#include "body/tets_store.h"
#include "body/upsample_store.h"
#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* ---- tetrahedra ---- */

enum { FLESH_VERSION = 6, REPORT_NUMBERS = SPL_FLESH_REPORT_NUMBERS };

static spl_key flesh_key(const spl_surface *s, const spl_flesh_options *o)
{
    spl_digest d = spl_digest_begin();
    spl_digest_array(&d, s->position, 3 * (size_t)s->vertex_count, 8);
    spl_digest_array(&d, s->triangle, 3 * (size_t)s->triangle_count, 4);
    spl_digest_integer(&d, o->resolution);
    spl_digest_integer(&d, o->max_tets);
    spl_digest_integer(&d, o->grade);
    spl_digest_integer(&d, o->part);
    return spl_digest_end(&d);
}

/* The report as numbers, in a fixed order; `pack` tells the direction. */
static void move(double *number, double *value, bool pack)
{
    if (pack)
        *number = *value;
    else
        *value = *number;
}

static void move_count(double *number, int32_t *value, bool pack)
{
    if (pack)
        *number = *value;
    else
        *value = (int32_t)*number;
}

void spl_flesh_report_move(double *n, spl_flesh_report *r, bool pack)
{
    int32_t *counts[] = {&r->resolution,
                         &r->passes,
                         &r->crumbs,
                         &r->component_count,
                         &r->stuff.nodes,
                         &r->stuff.doubled,
                         &r->stuff.broken_links,
                         &r->stuff.fronts,
                         &r->stuff.warped,
                         &r->stuff.lattice_points,
                         &r->grade.uniform_tets,
                         &r->grade.uniform_vertices,
                         &r->grade.octants,
                         &r->grade.levels,
                         &r->part.crossings_before,
                         &r->part.crossings,
                         &r->part.sunk,
                         &r->part.near,
                         &r->part.rounds,
                         &r->part.moved,
                         &r->shape.inverted_count,
                         &r->shape.min_dihedral_tet,
                         &r->shape.min_volume_tet};
    double *reals[] = {&r->cell,           &r->mean_distance,    &r->max_distance,       &r->area_lost,
                       &r->shape.volume,   &r->shape.min_volume, &r->shape.min_dihedral, &r->shape.max_dihedral,
                       &r->shape.min_edge, &r->shape.mean_edge,  &r->shape.max_edge,     &r->part.farthest};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) move_count(n++, counts[i], pack);
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) move(n++, reals[i], pack);
    for (int i = 0; i < 18; i++, n++) {
        if (pack)
            *n = (double)r->shape.dihedral_histogram[i];
        else
            r->shape.dihedral_histogram[i] = (int64_t)*n;
    }
}

bool spl_places_put(spl_store_writer *w, const spl_place *place, size_t n, const supple_allocator *a)
{
    int32_t *triangle = spl_new(a, n, sizeof *triangle);
    double *bary = spl_new(a, n, 3 * sizeof *bary);
    for (size_t i = 0; triangle && bary && i < n; i++) {
        triangle[i] = place[i].triangle;
        memcpy(bary + 3 * i, place[i].bary, sizeof place[i].bary);
    }
    bool made = triangle && bary;
    if (made) {
        spl_store_add(w, "place.triangle", SPL_STORE_I32, 1, n, triangle, NULL);
        spl_store_add(w, "place.bary", SPL_STORE_F64, 3, n, bary, NULL);
    }
    spl_free(a, triangle);
    spl_free(a, bary);
    return made;
}

static void publish(spl_cache *cache, const spl_store_id *id, const spl_tets *t, const spl_place *place,
                    spl_flesh_report *report, const supple_allocator *a)
{
    spl_store_writer *w = spl_cache_begin(cache, id);
    double numbers[REPORT_NUMBERS];
    if (!w) return;
    spl_flesh_report_move(numbers, report, true);
    spl_tets_put(w, t, NULL);
    spl_store_add(w, "report", SPL_STORE_F64, 1, REPORT_NUMBERS, numbers, NULL);
    if (spl_places_put(w, place, (size_t)t->vertex_count, a))
        spl_cache_publish(cache, w);
    else
        spl_store_discard(w);
}

supple_result spl_places_take(const spl_store_reader *r, int32_t triangle_count, size_t n, spl_place *place,
                              supple_error *error)
{
    const void *triangle, *bary;
    spl_store_want want = {"place.triangle", SPL_STORE_I32, 1, n, n, -1, triangle_count - 1, false};
    supple_result result = spl_store_get(r, &want, &triangle, NULL, error);
    want = (spl_store_want){"place.bary", SPL_STORE_F64, 3, n, n, 0, 0, false};
    if (result == SUPPLE_OK) result = spl_store_get(r, &want, &bary, NULL, error);
    for (size_t i = 0; result == SUPPLE_OK && i < n; i++) {
        place[i].triangle = ((const int32_t *)triangle)[i];
        memcpy(place[i].bary, (const double *)bary + 3 * i, sizeof place[i].bary);
        for (int k = 0; k < 3 && place[i].triangle >= 0; k++)
            if (!(place[i].bary[k] >= 0 && place[i].bary[k] <= 1))
                return spl_fail(error, SUPPLE_ERROR_INPUT, "a place is off the surface");
    }
    return result;
}

/* What a store holds, checked: it may have been edited. */
static supple_result fetch(const spl_store_reader *r, const spl_surface *s, const supple_allocator *a, spl_tets *out,
                           spl_place **place, spl_flesh_report *report, supple_error *error)
{
    const void *numbers;
    double copy[REPORT_NUMBERS];
    spl_store_want want = {"report", SPL_STORE_F64, 1, REPORT_NUMBERS, REPORT_NUMBERS, 0, 0, false};
    supple_result result = spl_store_get(r, &want, &numbers, NULL, error);
    if (result == SUPPLE_OK) result = spl_tets_take(r, a, out, error);
    if (result != SUPPLE_OK) return result;
    memcpy(copy, numbers, sizeof copy);
    for (int i = 0; i < REPORT_NUMBERS; i++)
        if (!(fabs(copy[i]) < 2e9))
            return spl_fail(error, SUPPLE_ERROR_INPUT, "a number of the report is out of range");
    spl_flesh_report_move(copy, report, false);
    *place = spl_new(a, (size_t)out->vertex_count, sizeof **place);
    if (!*place) return spl_fail_memory(error, "the tetrahedra");
    return spl_places_take(r, s->triangle_count, (size_t)out->vertex_count, *place, error);
}

supple_result spl_flesh_cached(spl_cache *cache, const spl_surface *surface, const spl_flesh_options *options,
                               const supple_config *config, spl_pool *pool, const supple_allocator *a, spl_tets *out,
                               spl_place **place, spl_flesh_report *report, bool *cached, supple_error *error)
{
    spl_store_id id = {"flesh", FLESH_VERSION, flesh_key(surface, options)};
    spl_store_reader *found = spl_cache_find(cache, &id);
    *cached = false;
    *place = NULL;
    *out = (spl_tets){0};
    *report = (spl_flesh_report){0};
    if (found) {
        supple_error reason;
        supple_result result = fetch(found, surface, a, out, place, report, &reason);
        if (result == SUPPLE_OK) {
            report->surface_volume = 0; /* a surface that is open has none: NAN is not stored */
            for (int32_t c = 0; c < surface->component_count; c++)
                report->surface_volume += surface->closed[c] ? surface->volume[c] : NAN;
            spl_store_close(found);
            *cached = true;
            return SUPPLE_OK;
        }
        spl_tets_release(out);
        spl_free(a, *place);
        *place = NULL;
        if (result == SUPPLE_ERROR_MEMORY) {
            spl_store_close(found);
            return spl_fail_memory(error, "the tetrahedra");
        }
        spl_cache_reject(cache, &id, found, reason.message);
    }
    supple_result result = spl_flesh_make(surface, options, config, pool, a, out, place, report, error);
    if (result == SUPPLE_OK) publish(cache, &id, out, *place, report, a);
    return result;
}

/* ---- upsampling ---- */

static spl_key upsample_key(const spl_digest *accepted, const spl_surface *s, const spl_upsample_visual *v,
                            const spl_upsample_options *o)
{
    spl_digest d = *accepted;
    size_t n = (size_t)v->vertex_count;
    spl_digest_array(&d, s->position, 3 * (size_t)s->vertex_count, sizeof(double));
    spl_digest_array(&d, s->triangle, 3 * (size_t)s->triangle_count, sizeof *s->triangle);
    spl_digest_array(&d, s->map, (size_t)s->input_vertex_count, sizeof *s->map);
    spl_digest_array(&d, v->position, 3 * n, sizeof *v->position);
    spl_digest_array(&d, v->normal, v->normal ? 3 * n : 0, sizeof *v->normal);
    spl_digest_array(&d, v->morphs, v->morphs ? n : 0, sizeof *v->morphs);
    spl_digest_array(&d, v->triangle, v->triangle ? 3 * (size_t)v->triangle_count : 0, sizeof *v->triangle);
    spl_digest_integer(&d, o->kind);
    spl_digest_integer(&d, o->neighbours);
    spl_digest_integer(&d, o->normals);
    return spl_digest_end(&d);
}

supple_result spl_upsample_cached(spl_cache *cache, const spl_digest *accepted, const spl_surface *surface,
                                  const spl_upsample_visual *visual, const spl_upsample_options *options,
                                  spl_pool *pool, const supple_allocator *a, spl_upsample **out, supple_error *error)
{
    spl_store_id id = {"upsample", SPL_UPSAMPLE_STORE_VERSION, upsample_key(accepted, surface, visual, options)};
    spl_store_reader *found = spl_cache_find(cache, &id);
    supple_result result = SUPPLE_ERROR_INPUT;
    *out = NULL;
    if (found) {
        supple_error reason = {0};
        result = spl_upsample_take(found, surface, visual, options, a, out, &reason);
        if (result == SUPPLE_ERROR_INPUT) {
            spl_cache_reject(cache, &id, found, reason.message);
        } else {
            spl_store_close(found);
            if (error && result != SUPPLE_OK) *error = reason;
            return result;
        }
    }
    result = spl_upsample_create(surface, visual, options, pool, a, out, error);
    if (result != SUPPLE_OK) return result;
    spl_store_writer *w = spl_cache_begin(cache, &id);
    if (w && spl_upsample_put(w, *out, NULL) != SUPPLE_ERROR_MEMORY)
        spl_cache_publish(cache, w); /* says what else went wrong */
    else
        spl_store_discard(w);
    return SUPPLE_OK;
}
