/* An upsampling map in a store: the sections "map/...". Weights take longer to find than all else of a cached body. */
#ifndef SPL_BODY_UPSAMPLE_STORE_H
#define SPL_BODY_UPSAMPLE_STORE_H

#include "body/upsample.h"
#include "core/store.h"

/* Of the meaning of the sections; it belongs into the store's id. */
enum { SPL_UPSAMPLE_STORE_VERSION = 6 };

/* Adds the map. Needs memory for what the file keeps in another order. */
supple_result spl_upsample_put(spl_store_writer *writer, const spl_upsample *u, supple_error *error);

/* Reads it back for the same surface, visual mesh and options: frames come out with the same bits. What does not fit
 * them or itself (an index out of range, a number that is not finite, weights that do not sum to 1) is
 * SUPPLE_ERROR_INPUT; *out is then NULL. `surface` must outlive the map, `visual` is only read here. */
supple_result spl_upsample_take(const spl_store_reader *reader, const spl_surface *surface,
                                const spl_upsample_visual *visual, const spl_upsample_options *options,
                                const supple_allocator *a, spl_upsample **out, supple_error *error);

#endif
