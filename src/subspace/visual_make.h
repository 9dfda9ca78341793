/* The visual mesh of a model, from the body that it was trained on. */
#ifndef SPL_SUBSPACE_VISUAL_MAKE_H
#define SPL_SUBSPACE_VISUAL_MAKE_H

#include "subspace/model.h"

/* For a rig that is complete but for it. */
supple_result spl_visual_make(const supple_scene *scene, const spl_body *body, const spl_rig *rig,
                              const supple_allocator *a, spl_visual *out, supple_error *error);

#endif
