/* Lips: two sheets of skin at one place, back to back, that different joints move. So a mouth is modelled that is
 * closed in the bind pose. Welded they would be one sheet inside the flesh, and the jaws one lump.
 *
 * The mesher tells limbs apart by the gap between them, however narrow (stuff.h). Here the sheets get one: each moves
 * into its own flesh by a hair. */
#ifndef SPL_BODY_LIPS_H
#define SPL_BODY_LIPS_H

#include "scene/parts.h"

#include <supple/body.h>

typedef struct spl_lips_input {
    const supple_scene *scene;
    const spl_part *part;
    int32_t part_count;
    const int32_t *merged_into;    /* by node, as in spl_bones */
    const int32_t *first_triangle; /* by part, and one more, and ... */
    const uint8_t *role;           /* ... by triangle of the scene: only flesh counts (spl_roles) */
    const supple_allocator *allocator;
} spl_lips_input;

/* Moves vertices (`position`, the scene's in the bind pose) by 4e-6 of the flesh's diagonal where lips are closed;
 * *parted is at how many places. */
supple_result spl_lips_part(const spl_lips_input *input, float *position, int32_t *parted, supple_error *error);

#endif
