/* Yield: limbs whose bones the motion takes into other flesh are turned aside.
 *
 * Flesh can make up for flesh that overlaps, but not for bones in it: no deformation of a hip brings out a hand whose
 * bones are inside the pelvis. So a pose is corrected before it is solved: where vertices that a bone holds are in
 * flesh of another part of the body, as the skin's weights pose it, the limb is turned about the head of its
 * first long bone until they are out, by the least rotation. Skin and flesh then press as they would have.
 *
 * A limb is a chain of bones, with all that hangs on it, that carries less than an eighth of the body and reaches far:
 * an arm; legs stand, and a head is short. It begins at a joint that moves nothing else. Limbs yield to the rest of the
 * body, not to each other.
 * Bones less than three joints apart are neighbours: what a joint does to itself is left to the flesh. So is what
 * overlaps at rest.
 *
 * A limb keeps the side on which it was turned aside, and what turned it fades within a few tenths of a second once it
 * is out: a hand that the motion takes through a hip slides around it. It comes and goes as on a critically damped
 * spring, so that no frame shows where it began; the flesh makes up for what is left meanwhile. Such a spring whose
 * target stays within an angle A answers with at most 2 A w / e radians a second, w being its rate: the integral of
 * |h'| for its response h(t) = w^2 t exp(-w t).
 *
 * It is off unless it is asked for: what it shows is not the animator's pose. */
#ifndef SPL_CONTACT_YIELD_H
#define SPL_CONTACT_YIELD_H

#include "contact/sunk.h"
#include "rig/pose.h"

typedef struct spl_yield spl_yield;

#define SPL_YIELD_MOST_DEGREES 30.0 /* of a limb's turn: a motion that asks for more is not corrected further */
#define SPL_YIELD_EASE         15.0 /* a second: w, how soon a turn is what it should be */

/* The solid and what finds its bones must outlive it; the latter's room is used. All other room is made here. */
supple_result spl_yield_create(spl_solid *solid, spl_sunk *sunk, const supple_config *config, spl_pool *pool,
                               spl_yield **out, supple_error *error);
void spl_yield_destroy(spl_yield *y); /* accepts NULL */

/* Takes a pose as spl_drive_pose does, `elapsed` seconds after the last one, and corrects both it and the solid's
 * drive. A pose from before the last one, or from long after, is taken without memory. Allocates nothing; the same bits
 * at any number of threads. SUPPLE_ERROR_INPUT where a bone's matrix is not finite. */
supple_result spl_yield_pose(spl_yield *y, spl_pose *pose, double elapsed, spl_pool *pool, supple_error *error);

/* Forgets how limbs were turned. */
void spl_yield_reset(spl_yield *y);

/* Turns a pose's limbs as those of the last pose were, and nothing else: for a moment between poses. */
void spl_yield_turn(const spl_yield *y, spl_pose *pose);

/* The largest angle of the last pose by which a limb was turned, radians. */
double spl_yield_angle(const spl_yield *y);

#endif
