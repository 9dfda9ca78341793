/* The last step of making a body: the map from its surface to the visual mesh. */
#ifndef SPL_BODY_BODY_VISUAL_H
#define SPL_BODY_BODY_VISUAL_H

#include "body/body.h"
#include "core/cache.h"

/* Fills `skin` and `upsample` of a body that has all else. */
supple_result spl_body_find_visual(spl_body *body, supple_upsampling upsampling, spl_cache *cache, spl_pool *pool,
                                   supple_error *error);

#endif
