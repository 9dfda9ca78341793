/* A motion put onto another skeleton: joints are matched by name, rotations are carried over in world space, rest poses
 * that differ are made up for, the hips move in proportion to the legs.
 *
 * With W the world rotation of a joint of the motion (identity at its rest), A the rotation from the motion's axes to
 * the character's, R0 the world rotation of the character's joint at its rest and C the turn of the character's rest
 * bone into the direction of the motion's, the character's joint is at
 *
 *     R = A W A^T C R0.
 *
 * C is found from the body out, each on top of its parent's, so that it never adds a twist. Limbs take the direction of
 * the motion's bone; for the others (spine, neck, hands, feet) two rest directions that differ by less than
 * SPL_RETARGET_ANATOMY differ by anatomy, not by pose, and C is the parent's. */
#ifndef SPL_RIG_RETARGET_H
#define SPL_RIG_RETARGET_H

#include "rig/bvh.h"
#include "rig/joint_names.h"
#include "rig/pose.h"

#define SPL_RETARGET_ANATOMY 40.0 /* degrees */

/* Joints; a file with more is no character, and is taken as one skeleton, by names alone. */
enum { SPL_MATCH_MOST = 8192 };

/* Which joint of the character takes which joint of the motion. */
typedef struct spl_match {
    supple_allocator allocator;
    int32_t joint_count;       /* of the character: nodes that are joints of a skin */
    int32_t *node;             /* joint_count, parents before children */
    spl_joint_name *name;      /* joint_count */
    int32_t *source;           /* joint_count: a joint of the motion, or -1 */
    int32_t *skeleton;         /* joint_count: joints of one skin, or one above the other, are of one skeleton */
    double *weight;            /* joint_count: what it weighs in all vertices together; 0: it moves none */
    int32_t lead;              /* the skeleton that names are matched on; others follow it */
    int32_t source_count;      /* joints of the motion */
    spl_joint_name *from_name; /* source_count */
    int32_t *target;           /* source_count: index into node, or -1 */
    bool *settled;             /* source_count: the map spoke about it */
    int32_t matched;
} spl_match;

/* Matches joints by name. `map` (NULL: none) is the text of a JSON object {"joint of the motion": "joint of the
 * character" or null} that goes before the names; names it has wrong are SUPPLE_ERROR_INPUT. */
supple_result spl_match_make(const supple_scene *scene, const spl_bvh *bvh, const char *map, size_t map_size,
                             const char *map_name, spl_match *out, supple_error *error);
void spl_match_release(spl_match *match);

/* The character's joint that is a part of the body and has a match; -1 if there is none. */
int32_t spl_match_find(const spl_match *match, spl_body_part part, char side);

/* What a joint with a match is; a map may have put together what names do not. */
spl_joint_name spl_match_name(const spl_match *match, int32_t joint);

/* Logs how many joints were matched and which were not. */
void spl_match_report(const spl_match *match, const supple_scene *scene, const spl_bvh *bvh, const char *name,
                      const supple_config *config);

/* Fills the channels, the duration and the frame rate of a clip whose name is set; on failure the caller frees what it
 * holds. */
supple_result spl_retarget(const supple_scene *scene, const spl_bvh *bvh, const spl_match *match, spl_clip *clip,
                           supple_error *error);

#endif
