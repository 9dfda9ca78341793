/* Bind poses: where skins of one scene meet. */
#ifndef SPL_RIG_BIND_H
#define SPL_RIG_BIND_H

#include "scene/scene.h"

/* A map from one skin's mesh space to another's in the bind pose, through a joint that both have; the identity if there
 * is none. */
spl_mat4 spl_bind_between(const supple_scene *scene, int32_t from, int32_t to);

/* The inverse bind matrix of a node for vertices in the mesh space of skin `home`; false if no skin has the node. */
bool spl_bind_inverse(const supple_scene *scene, int32_t home, int32_t node, spl_mat4 *out);

/* How many units of world space the rest pose makes of one of a skin's mesh space: the geometric mean over its joints
 * of the cube root of the volume ratio. Files of other tools have meshes of metres below nodes that scale by 100. False
 * if memory is out. */
bool spl_bind_scale(const supple_scene *scene, int32_t skin, double *out);

#endif
