/* Loosening: no tetrahedron has all its corners held by joints that turn against each other.
 *
 * Such a tetrahedron has nothing left to give: where its joint bends, the motion alone turns it inside out, and no
 * solver can help. Of its corners the one farthest from its bone becomes free. */
#ifndef SPL_BODY_LOOSEN_H
#define SPL_BODY_LOOSEN_H

#include "body/attach.h"
#include "body/capsule.h"

/* Vertices that a joint needs: three that are not in one line fix a rigid motion; four are what it gets if there are as
 * many. */
enum { SPL_HOLD_FIRM = 3, SPL_HOLD_WELL = 4 };

/* Whether the bones of a joint hold so many vertices, not in one line. */
bool spl_joint_holds(const spl_attach_input *input, const int32_t *bone, int32_t node, int32_t least);

/* Sets bone[] to -1 where needed; adds to *freed how many vertices became free. A joint is left with less than a firm
 * hold only where all joints of a tetrahedron would be. */
supple_result spl_loosen(const spl_attach_input *input, const spl_capsule *capsules, int32_t *bone, int32_t *freed,
                         supple_error *error);

#endif
