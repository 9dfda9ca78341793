/* Loosening: no tetrahedron has all its corners held by joints that turn against each other.
 *
 * Such a tetrahedron has nothing left to give: where its joint bends, the motion alone turns it inside out, and no
 * solver can help. Of its corners the one farthest from its bone becomes free. */
#ifndef SPL_BODY_LOOSEN_H
#define SPL_BODY_LOOSEN_H

#include "body/attach.h"
#include "body/capsule.h"

/* Whether the bones of a joint hold it firmly: four vertices, not in one line. */
bool spl_joint_is_firm(const spl_attach_input *input, const int32_t *bone, int32_t node);

/* Sets bone[] to -1 where needed; adds to *freed how many vertices became free. A joint is left with less than a firm
 * hold only where all joints of a tetrahedron would be. */
supple_result spl_loosen(const spl_attach_input *input, const spl_capsule *capsules, int32_t *bone, int32_t *freed,
                         supple_error *error);

#endif
