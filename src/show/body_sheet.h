/* A body at a glance, as one PNG: its surface, the tetrahedra inside, bones and what they hold, the visual mesh again.
 */
#ifndef SPL_SHOW_BODY_SHEET_H
#define SPL_SHOW_BODY_SHEET_H

#include "body/body.h"
#include "scene/image.h"

/* Four panels side by side, standing as the file's rest pose does. The pixels are freed with spl_pixels_free. */
supple_result spl_body_draw(const spl_body *body, const supple_config *config, spl_pool *pool, spl_pixels *out,
                            supple_error *error);

/* The map from body space to the file's rest pose, y up, as the joint that holds most of the body has it. */
supple_result spl_body_stand(const spl_body *body, spl_mat4 *out, supple_error *error);

/* A colour for a bone, in linear light; neighbours in number differ. */
void spl_bone_color(int32_t bone, float out[3]);

#endif
