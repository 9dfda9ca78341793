/* A body's tetrahedra in the cache: what takes long to make. Parts, bones and attachments are made again each time. */
#ifndef SPL_BODY_BODY_CACHE_H
#define SPL_BODY_BODY_CACHE_H

#include "body/flesh.h"
#include "core/cache.h"

/* spl_flesh_make, or what it gave before for the same surface and options. */
supple_result spl_flesh_cached(spl_cache *cache, const spl_surface *surface, const spl_flesh_options *options,
                               const supple_config *config, spl_pool *pool, const supple_allocator *a, spl_tets *out,
                               spl_place **place, spl_flesh_report *report, bool *cached, supple_error *error);

#endif
