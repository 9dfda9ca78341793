/* How much of what flesh does is shown: own + amount (flesh - own), where `own` is the file's skinning of the same pose
 * and `amount` is what the user wishes times what can be trusted (trust/trust.h).
 *
 * Live, each frame lowers trust where it is worse than own skinning, and what is shown goes after it by bounded steps.
 * A range of a clip that was judged (judge.c) has one trust for all its frames. */
#ifndef SPL_SIM_AMOUNT_H
#define SPL_SIM_AMOUNT_H

#include "methods/method.h"
#include "sim/takes.h"
#include "trust/pops.h"
#include "trust/trust.h"

typedef enum spl_amount_mode {
    SPL_AMOUNT_LIVE,    /* trust falls as frames need it */
    SPL_AMOUNT_SEEING,  /* frames are shown as flesh has them, and lower the bounds */
    SPL_AMOUNT_SETTLED, /* trust stands */
} spl_amount_mode;

typedef struct spl_amount {
    supple_allocator allocator;
    bool on;                /* there is flesh, and trust or a wish for less than all of it */
    bool trusts;            /* else only the wish counts, */
    bool measures;          /* and harm is measured where that was asked for */
    spl_amount_mode mode;   /* of the next step */
    const spl_method *skin; /* how own skinning is done */
    void *skin_state;
    float *own, *flesh; /* 3 x vertices: of the last frame */
    spl_trust_mesh mesh;
    spl_harm_room harm;
    spl_trust trust;
    spl_pops pops;                 /* while a range is judged; else empty */
    float *wish;                   /* by point: the user's */
    float *shown;                  /* by point: the amount that is shown */
    float *target;                 /* by point: where it goes to */
    float *off;                    /* by point: room */
    float *rehearsed;              /* by point: bounds by rehearsal, or 1 */
    float *reached;                /* by point: how far flesh was there */
    bool all;                      /* every amount shown is 1 */
    bool fresh;                    /* nothing was shown since the last reset */
    bool stale;                    /* the target is to be made again */
    int32_t flesh_points, trusted; /* points that flesh moves; those of them with full trust */
    bool *moved;                   /* by point: flesh moves it */
    int32_t clip;                  /* of the range that was judged, and its first and last time */
    double from, to;
    spl_takes takes; /* what was computed of it */
    int32_t take;    /* that the last step showed, -1: none */
} spl_amount;

struct supple_sim;

/* Of a simulation with its method and buffers, before its first step. */
supple_result spl_amount_create(struct supple_sim *sim, const supple_sim_config *sc, supple_error *error);
void spl_amount_release(struct supple_sim *sim);

/* Full trust again, and no past. */
void spl_amount_reset(struct supple_sim *sim);

/* Own skinning of the present pose; before limbs yield. */
supple_result spl_amount_pose(struct supple_sim *sim, supple_error *error);

/* Trust as it is now, at once. */
void spl_amount_settle(struct supple_sim *sim);

/* Keeps trust as it is now: what a reset goes back to. */
void spl_amount_rehearsed(struct supple_sim *sim);

/* A frame that was kept, in place of the method's: into sim->position and *stats; false if there is none. */
bool spl_amount_replay(struct supple_sim *sim, int32_t clip, double time, supple_stats *stats);

/* Whether flesh is taken away from own skinning on purpose: it swings, or something pushes it. */
bool spl_amount_swings(const struct supple_sim *sim);

/* What is shown, in place of the flesh that is in sim->position. */
void spl_amount_show(struct supple_sim *sim, supple_stats *stats);

#endif
