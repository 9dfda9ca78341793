/* Tets in a store: the sections "tets/position", "tets/tet" and "tets/surface". */
#ifndef SPL_BODY_TETS_STORE_H
#define SPL_BODY_TETS_STORE_H

#include "body/tets.h"
#include "core/store.h"

/* Adds the mesh with its surface. */
supple_result spl_tets_put(spl_store_writer *writer, const spl_tets *tets, supple_error *error);

/* Reads it back as it was. Indices out of range, positions that are not finite and tets without positive volume are
 * SUPPLE_ERROR_INPUT; *out is then empty. The arrays come from `a`. */
supple_result spl_tets_take(const spl_store_reader *reader, const supple_allocator *a, spl_tets *out,
                            supple_error *error);

#endif
