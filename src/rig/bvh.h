/* Biovision hierarchy files (.bvh): a skeleton of offsets and its motion, frame by frame.
 *
 * There is no standard; this is what the files agree on. A joint's rotation is the product of its rotation channels in
 * their order (Zrotation Yrotation Xrotation: Rz Ry Rx), angles in degrees. Position channels are the joint's place
 * relative to its parent and stand instead of the OFFSET; a joint below a root whose position channels are zero in
 * every frame stays at its OFFSET (some programs write them so). All rotations zero is the rest pose. */
#ifndef SPL_RIG_BVH_H
#define SPL_RIG_BVH_H

#include "math/quat.h"

#include <supple/base.h>

enum {
    SPL_BVH_LARGEST = 1 << 29, /* bytes of a file */
    SPL_BVH_JOINTS = 4096,
    SPL_BVH_DEPTH = 256,
    SPL_BVH_CHANNELS = 6,     /* of one joint */
    SPL_BVH_FRAMES = 1 << 23, /* times in single precision are still distinct */
};

/* What a channel sets: 0 to 2 a position along x, y, z; 3 to 5 a rotation about it. */
typedef struct spl_bvh_joint {
    char *name;
    int32_t parent; /* always lower; -1 for a root */
    spl_vec3 offset;
    bool has_end; /* an end site: `end` is its offset */
    spl_vec3 end;
    int32_t channel_count, first_channel; /* in a frame */
    uint8_t channel[SPL_BVH_CHANNELS];
    bool still; /* its position channels say nothing */
} spl_bvh_joint;

typedef struct spl_bvh {
    supple_allocator allocator;
    int32_t joint_count;
    spl_bvh_joint *joint; /* in the file's order: parents before children */
    int32_t channel_count;
    int32_t frame_count; /* at least 1 */
    double frame_time;   /* seconds, from 1e-4 to 1000 */
    double *value;       /* frame_count x channel_count */
    bool has_more;       /* rows behind the stated number of frames, which were left out */
} spl_bvh;

/* Reads a file's text. A malformed one is SUPPLE_ERROR_INPUT with "NAME:LINE: ..."; *out is then zeroed. */
supple_result spl_bvh_parse(const void *text, size_t size, const char *name, const supple_allocator *a, spl_bvh *out,
                            supple_error *error);

void spl_bvh_release(spl_bvh *bvh);

/* World rotations and places of all joints in a frame, in the file's axes and unit; -1: the rest pose, roots at their
 * OFFSET. `position` may be NULL. */
void spl_bvh_pose(const spl_bvh *bvh, int32_t frame, spl_quat *rotation, spl_vec3 *position);

#endif
