/* A body's tetrahedra and upsampling weights in the cache: what takes long to make. Parts, bones and attachments are
 * made again each time. A file that is found to make no sense is made again, after a warning; one that cannot be read
 * for lack of memory is not blamed. */
#ifndef SPL_BODY_BODY_CACHE_H
#define SPL_BODY_BODY_CACHE_H

#include "body/flesh.h"
#include "body/upsample.h"
#include "core/cache.h"

/* spl_flesh_make, or what it gave before for the same surface and options. */
supple_result spl_flesh_cached(spl_cache *cache, const spl_surface *surface, const spl_flesh_options *options,
                               const supple_config *config, spl_pool *pool, const supple_allocator *a, spl_tets *out,
                               spl_place **place, spl_flesh_report *report, bool *cached, supple_error *error);

/* The parts of that which other stores share: a report as numbers, in a fixed order (`pack` tells the direction);
 * places of vertices, and how they come back, checked against a surface's triangles. False if memory is out. */
enum { SPL_FLESH_REPORT_NUMBERS = 35 + 18 };
void spl_flesh_report_move(double *numbers, spl_flesh_report *report, bool pack);
bool spl_places_put(spl_store_writer *writer, const spl_place *place, size_t count, const supple_allocator *a);
supple_result spl_places_take(const spl_store_reader *reader, int32_t triangle_count, size_t count, spl_place *place,
                              supple_error *error);

/* spl_upsample_create, or what it gave before for the same input; `accepted` is the digest of all that
 * visual->accept's answers depend on. */
supple_result spl_upsample_cached(spl_cache *cache, const spl_digest *accepted, const spl_surface *surface,
                                  const spl_upsample_visual *visual, const spl_upsample_options *options,
                                  spl_pool *pool, const supple_allocator *a, spl_upsample **out, supple_error *error);

#endif
