/* The sparse K_b(0) in the cache: its numbers, in the order of its pattern, under a key of the matrix that they come
 * from. The pattern is made again. A file that makes no sense is made again too, after a warning. */
#ifndef SPL_METHODS_STEKLOV_BOUNDARY_STORE_H
#define SPL_METHODS_STEKLOV_BOUNDARY_STORE_H

#include "core/cache.h"
#include "methods/steklov/boundary.h"

/* spl_boundary_create, or what it gave before for the same system; nothing is looked for or kept where the body is not
 * (--no-cache). `afresh`: what is there is not used but replaced. `config` may be NULL. */
supple_result spl_boundary_cached(const spl_exrotated *system, int32_t distance, bool compensate, bool afresh,
                                  const supple_config *config, spl_boundary *out, supple_error *error);

#endif
