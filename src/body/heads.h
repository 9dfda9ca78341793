/* Heads: flesh at the end of a skeleton, about as thick as its bone is long and wider than where it begins.
 *
 * A capsule fills the core of a limb, but of a head it holds a rod in the middle, and how a jaw hangs on that rod
 * depends on whether the lattice resolves the mouth. A rig means a skull: all of a head's skin follows one joint. So
 * the flesh of such a leaf is held wherever it lies a little below the skin: a measure of the surface alone, the same
 * at every resolution. */
#ifndef SPL_BODY_HEADS_H
#define SPL_BODY_HEADS_H

#include "body/attach.h"
#include "body/capsule.h"

/* Holds the free vertices inside of skulls: bone[v] for each. Returns how many. */
int32_t spl_heads_hold(const spl_attach_input *input, const spl_capsule *capsules, int32_t *bone);

#endif
