/* Hinges: pieces of a body that hang on the rest by an edge or a vertex only.
 *
 * Where limbs are thinner than a cell (toes at 68 cells along a body), their tetrahedra may meet others in no common
 * face. The mesh is connected, and still such a piece turns freely: no elastic energy opposes it, and every stiffness
 * matrix of the body is singular. Each gets what holds it. */
#ifndef SPL_BODY_HINGES_H
#define SPL_BODY_HINGES_H

#include "body/attach.h"

/* Adds to bone[] (as spl_attach filled it) so that every piece of tetrahedra connected over faces holds at least one
 * vertex by a bone, and its held vertices and those it shares with pieces that cannot turn are not in one line. The
 * bone is the nearest of the joint that moves the piece most. *held counts the vertices added. */
supple_result spl_hinges_hold(const spl_attach_input *input, int32_t *bone, int32_t *held, supple_error *error);

#endif
