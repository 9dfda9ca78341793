/* Leaves: the last bones of a skeleton, fitted to the flesh they move.
 *
 * A file says where a leaf begins and nothing of where it ends. The rig guesses from the skin (rig/bones.h); the flesh
 * knows better: a leaf runs from its joint through the core of its flesh, where the skin is far, and ends before the
 * skin comes near. So the bone of a head points up into the skull and not into the face, whatever is modelled there. */
#ifndef SPL_BODY_LEAVES_H
#define SPL_BODY_LEAVES_H

#include "body/attach.h"

typedef struct spl_leaves_report {
    int32_t leaves;  /* bones without bones after them */
    int32_t outside; /* of these, not inside the flesh all along: their joint is outside of it, or thin limbs part there
                      */
} spl_leaves_report;

/* Moves the tails of the leaves among `bones` (those of the input, writable). */
supple_result spl_leaves_fit(const spl_attach_input *input, spl_bones *bones, spl_leaves_report *report,
                             supple_error *error);

#endif
