/* What the files of <supple/playback.h> share. */
#ifndef SPL_SUBSPACE_PLAYBACK_PRIVATE_H
#define SPL_SUBSPACE_PLAYBACK_PRIVATE_H

#include "contact/collider.h"
#include "core/threads.h"
#include "subspace/model_public.h"
#include "subspace/motion.h"

enum { SPL_PLAYER_PAST = 2 };

struct supple_player {
    supple_allocator allocator;
    const spl_model *model;
    supple_player_config config;
    spl_pool *pool;
    spl_body body; /* bones and held vertices alone */
    spl_drive drive;
    spl_pose pose; /* the joints' matrices */
    spl_player *player;
    spl_player_list *list;
    spl_vec3 gravity;        /* the solver's */
    double *held;            /* 3 x held vertices */
    double *x;               /* 3 x the body's vertices: those that are held or on the surface */
    float *position;         /* 3 x the surface's vertices, world */
    float *normal;           /* the same: room */
    spl_own_pose own;        /* the file's own skinning of the surface */
    float *amount;           /* by the surface's vertices: the host's wish times the model's trust */
    bool blended;            /* one of them is below 1 */
    double *kept;            /* 3 x coordinates of the flesh: the state before a step */
    spl_quat *kept_relative; /* by bone: the drive's, before a step */
    bool *kept_turned;
    spl_frame_motion *frame;
    spl_frame *now, *past[SPL_PLAYER_PAST]; /* by domain; earlier ones, the last first */
    int32_t past_count;
    double last_dt;
    bool started;
    double owed;            /* fixed steps: seconds since the last one */
    float *given, *between; /* 16 x joints: the last call's matrices; of a time between two calls */
    double *before, *mixed; /* coordinates of the flesh: at the last fixed step but one; room */
    spl_frame *kept_past[SPL_PLAYER_PAST];
    int32_t collider_count;             /* in use */
    spl_colliders *colliders;           /* NULL: there is room for none */
    spl_collider_shape *place, *placed; /* where they go in this call, and where they were; the solver's */
    spl_visual_frame visual;            /* of the visual mesh, where there is room for it */
    supple_player_stats stats;
};

/* The solver's positions of the surface, as floats in the world. False, and the last ones stand, where they are not
 * finite. */
bool spl_playback_show(supple_player *p);

#endif
