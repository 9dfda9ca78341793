/* How far joints turn: what training poses are drawn from.
 *
 * A joint's range is a box of turns (rig/turns.h) with a bound on their angle. It comes from a file of limits, or from
 * the character's clips: the turns they have, widened a little, and no less than a small turn about any axis, because
 * other motions will want joints that these clips leave alone. */
#ifndef SPL_SUBSPACE_RANGES_H
#define SPL_SUBSPACE_RANGES_H

#include "rig/turns.h"

typedef struct spl_joint_range {
    spl_vec3 low, high; /* radians */
    double most;        /* largest angle, radians */
    double shift;       /* how far clips move it away from where it hangs, in the world's unit */
} spl_joint_range;

typedef struct spl_joint_ranges {
    supple_allocator allocator;
    int32_t joint_count;
    int32_t *node; /* by joint: its node; joints below another joint only where there is one root, which moves all
                    * flesh alike */
    bool *root;    /* by joint: is one of several roots */
    bool turns;    /* clips turn such a one */
    spl_joint_range *range;
    int32_t frame_count; /* of clips that were looked at */
} spl_joint_ranges;

/* From clips: `clip` lists `clip_count` of them; NULL: all. Without any, every joint turns by up to `least` radians. */
supple_result spl_joint_ranges_infer(const supple_scene *scene, const int32_t *clip, int32_t clip_count, double least,
                                     spl_joint_ranges *out, supple_error *error);

/* From a file, over what the clips say:
 *
 *     {"joints": {"elbow.L": {"min": [-10, 0, 0], "max": [150, 0, 0]}, "fingers*": {"still": true}}}
 *
 * Degrees, about the joint's own axes in the rest pose; a name may end in * for all that begin so. A name without a
 * joint is SUPPLE_ERROR_INPUT. */
supple_result spl_joint_ranges_read(spl_joint_ranges *ranges, const supple_scene *scene, const char *path,
                                    supple_error *error);
supple_result spl_joint_ranges_parse(spl_joint_ranges *ranges, const supple_scene *scene, const void *text, size_t size,
                                     const char *name, supple_error *error);
void spl_joint_ranges_release(spl_joint_ranges *r);

/* `count` poses from the ranges: joint_count moves each, turns alone, one pose after another. Every coordinate of every
 * joint is stratified over the poses (a Latin hypercube), so that few poses reach all of its range. Depends on the seed
 * alone.
 */
void spl_joint_ranges_draw(const spl_joint_ranges *r, int32_t count, uint64_t seed, spl_joint_move *move);

/* Poses of clips instead, with what joints move away from where they hang: `count` frames, evenly spread over the
 * clips' times. */
supple_result spl_joint_ranges_frames(const spl_joint_ranges *r, const supple_scene *scene, const int32_t *clip,
                                      int32_t clip_count, int32_t count, spl_joint_move *move, supple_error *error);

#endif
