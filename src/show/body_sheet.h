/* A body at a glance, as one PNG: its surface, the tetrahedra inside, bones and what they hold, the visual mesh again.
 */
#ifndef SPL_SHOW_BODY_SHEET_H
#define SPL_SHOW_BODY_SHEET_H

#include "body/body.h"
#include "scene/image.h"

/* Four panels side by side, standing as the file's rest pose does. The pixels are freed with spl_pixels_free. */
supple_result spl_body_draw(const spl_body *body, const supple_config *config, spl_pool *pool, spl_pixels *out,
                            supple_error *error);

#endif
