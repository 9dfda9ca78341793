/* Bones: the segments of a skeleton that move flesh.
 *
 * Conventions: joints with influence only; one segment for each child with influence (control joints between them are
 * skipped); a joint at the place of its parent merges into it; copies of a skeleton (copies.h) are one; a root at the
 * origin that moves next to nothing is left out; a leaf gets its direction and length from the skin it moves (and
 * better ones from the flesh, body/leaves.h). Places are those of the bind pose, in the skin's mesh space. */
#ifndef SPL_RIG_BONES_H
#define SPL_RIG_BONES_H

#include "scene/scene.h"

typedef struct spl_bone {
    int32_t node;   /* the joint's node */
    int32_t joint;  /* the joint's index in a pose */
    int32_t parent; /* index into the bones, always lower; -1 for a root */
    spl_vec3 head, tail;
    int32_t of; /* the node of the joint that it is a segment of; not `node` where that was merged with another later */
} spl_bone;

typedef struct spl_bones {
    supple_allocator allocator;
    int32_t bone_count;
    spl_bone *bone; /* parents before children */
    int32_t node_count;
    double *influence; /* node_count: sum of the weights of a joint over all vertices */
    int32_t
        *merged_into; /* node_count: the joint whose bones carry this one's flesh; itself, another, or -1 for none */
    int32_t *same;    /* node_count: the first node that this one is a copy of; itself if it is none */
} spl_bones;

supple_result spl_bones_make(const supple_scene *scene, const supple_allocator *a, spl_bones *out, supple_error *error);
void spl_bones_release(spl_bones *bones);

/* Gives the bones of a joint, and all that was merged into it, to another joint that has bones. */
void spl_bones_merge(spl_bones *bones, int32_t node, int32_t into);

/* Whether a joint bends at a bone's head: it has a parent of another joint, and is the first of its own. */
bool spl_bones_bends(const spl_bones *bones, int32_t b);

#endif
