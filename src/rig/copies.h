/* Copies of a skeleton: files of modular characters often have one for each part.
 *
 * Two nodes are copies if they must move alike: their parents are copies (or the same, or both are roots), their local
 * transforms at rest are equal, and no clip animates one otherwise than the other. Joints must also be bound at the
 * same place, and by different skins: within one skin two joints are two. Names do not count. Only what a clip does is
 * known here: a caller that poses nodes itself is expected to pose copies alike. */
#ifndef SPL_RIG_COPIES_H
#define SPL_RIG_COPIES_H

#include "scene/scene.h"

/* Fills same[i] (by node) with the first node, parents before children, that i is a copy of; i itself if there is none.
 */
supple_result spl_copies_find(const supple_scene *scene, const supple_allocator *a, int32_t *same, supple_error *error);

#endif
