/* The two rest poses of a retargeting, brought together: what is constant over the frames. */
#ifndef SPL_RIG_RETARGET_REST_H
#define SPL_RIG_RETARGET_REST_H

#include "rig/retarget.h"

/* Arrays over the character's joints, in the order of the match. */
typedef struct spl_rest {
    supple_allocator allocator;
    spl_vec3 *place;    /* at the character's rest (the pose its mesh was modelled in), world */
    spl_quat *rotation; /* R0 */
    spl_quat *correct;  /* C */
    int32_t *carrier;   /* the joint it is fixed to, wherever its node hangs; -1: its node's parent */
    spl_vec3 *shift;    /* where a copy of the skeleton stands, from its carrier's */
    int32_t *above;     /* the nearest joint with a match that it hangs on, or -1 */
    int32_t *order;     /* node_count: nodes, each behind the one its place is found from */
    int32_t *from_node; /* node_count: the node a node's place is found from; -1 for none */
    spl_mat4 modelled;  /* from the first skin's mesh space to the world, at that rest */
    spl_vec3 *from;     /* source_count: the motion's rest, in its own axes */
    spl_quat axes;      /* A */
    spl_vec3 up;        /* of the character, unit, an axis of its world */
    double scale;       /* character's lengths over the motion's */
    int32_t hips, thigh[2], foot[2], toe[2]; /* joints, or -1; left, right */
} spl_rest;

supple_result spl_rest_make(const supple_scene *scene, const spl_bvh *bvh, const spl_match *match, spl_rest *out,
                            supple_error *error);
void spl_rest_release(spl_rest *rest);

/* The rotation in a transform; scale and shear are left out, and where it mirrors, that its x axis does. */
spl_quat spl_rest_rotation(const spl_mat4 *m);

#endif
