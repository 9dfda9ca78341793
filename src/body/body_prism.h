/* A body of prisms: made from the flesh that the tetrahedra of the other kind would fill, or found in the cache. */
#ifndef SPL_BODY_BODY_PRISM_H
#define SPL_BODY_BODY_PRISM_H

#include "body/body.h"
#include "core/cache.h"

/* Fills tets, prism, place, bone and the reports of a body that has its surface, weights and bones, and fits the leaves
 * of the bones. `tree` is of the surface. */
supple_result spl_body_make_prisms(spl_body *body, const spl_body_options *options, const spl_tree *tree,
                                   const supple_config *config, spl_pool *pool, spl_cache *cache, supple_error *error);

#endif
