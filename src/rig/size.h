/* How large a character is for the solver.
 *
 * A file's unit says little: the same horse is written 2.4, 7.6 or 240 units long, and glTF calls them all metres.
 * Flesh in motion depends on it: with the same tissue a character of four times the size swings four times as slowly
 * and sixteen times as far in proportion. So the size comes from the rig, which is the same in any unit:
 *
 *   person    joints are named as a person's (joint_names.h) and stand as one: head, hips and feet in a line. It is
 *             SPL_SIZE_HEIGHT tall in the bind pose, as the built-in hero is.
 *   diagonal  everything else is SPL_SIZE_USUAL metres across, or less where its skin would then be farther from its
 *             bones than SPL_SIZE_FLESH in the mean. Persons of four makers have 6 to 7.5 cm there, so that what
 * swings, and how fast, is as a person's flesh has it, and a little stiffer: heads and tails of animals are thrown
 *             about faster than people are.
 *   asked     the caller gives the diagonal.
 *   file      the caller asks for what the file's unit says. */
#ifndef SPL_RIG_SIZE_H
#define SPL_RIG_SIZE_H

#include "scene/scene.h"

#include <supple/body.h>

#define SPL_SIZE_USUAL  1.0       /* metres: the diagonal of a character that is no person */
#define SPL_SIZE_FLESH  0.05      /* metres: the mean distance of its skin from its bones, at most */
#define SPL_SIZE_HEIGHT 1.7603352 /* metres: of a person; to the digit, so that the hero stays as it is drawn */

typedef enum spl_size_rule {
    SPL_SIZE_BY_PERSON,
    SPL_SIZE_BY_DIAGONAL,
    SPL_SIZE_BY_REQUEST,
    SPL_SIZE_BY_FILE
} spl_size_rule;

typedef struct spl_size {
    spl_size_rule rule;
    double diagonal; /* of all skinned vertices in the bind pose, in units of the first skin's mesh space */
    double metre;    /* metres a unit of that space */
    double world;    /* metres a unit of the world */
    double size_m;   /* the diagonal, metres */
    double file_m;   /* the diagonal, if the file's unit is true, metres */
} spl_size;

/* `asked` is a diagonal in metres, 0 for none or SUPPLE_SIZE_FILE. `position` (3 x the scene's vertices, the world's
 * rest pose) serves where nothing is skinned; NULL: there is none. */
supple_result spl_size_find(const supple_scene *scene, double asked, const float *position, spl_size *out,
                            supple_error *error);

/* What was taken, in a few words for people. */
const char *spl_size_reason(spl_size_rule rule);

#endif
