/* Which joint carries which. A body is one chain of joints from the hips out, but rigs hang joints elsewhere: thighs
 * and spines beside the hips, feet and hands at the root as targets of inverse kinematics, every joint flat below one
 * node, a copy of the skeleton for each part of the clothes. A motion that turns such joints and moves the hips alone
 * tears the skin. So every joint that the nodes would leave behind is fixed to the joint it belongs to. */
#ifndef SPL_RIG_RETARGET_CARRY_H
#define SPL_RIG_RETARGET_CARRY_H

#include "rig/retarget_rest.h"

/* Fills `carrier`, `shift`, `above`, `order` and `from_node` of a rest whose places are known. `joint_of_node` has, for
 * every node, its index in the match or -1. False if memory is out.
 *
 *  - A joint with a match hangs on the next one of the body (foot on shin, thigh on hips), by names.
 *  - A joint above the hips that has more to carry than them moves as the hips do.
 *  - A joint of a copy of the skeleton does what the joint of the same name and place does.
 *  - Others that would stay behind: an IK or twist joint goes with the part it is named after; one with skin goes with
 *    the joint that it shares the most skin with, else with the nearest bone; one without, with a joint at its place.
 */
bool spl_carry_find(const supple_scene *scene, const spl_match *match, const int32_t *joint_of_node, spl_rest *rest);

#endif
