/* How bones arrive at a pose while flesh must not pass through flesh.
 *
 * From one pose to the next the bones go along a path (body/pose_path.h) in steps of a few degrees. In each, all
 * vertices are first moved along with them, as far as nothing touches. What bones hold and could not take along then
 * becomes free for a while, drawn to its place by springs: an augmented Lagrangian (Li et al. 2020, supplement) lets
 * bones and flesh make way for each other. When all is in place it is held again, and the flesh is solved for its
 * equilibrium.
 *
 * With a law that is a barrier (fem/law.h) steps are bounded by it too: no tet with a free corner is inverted, unless
 * bones cannot arrive otherwise.
 *
 * Where bones still cannot arrive, because the motion takes them through each other, their pairs are released
 * (barrier.h), for as long as they touch.
 *
 * Things of the world are moved in the same way: their vertices come after the body's and are held like what bones
 * hold. Before the first frame they stand aside, and come in when the body is in its pose. */
#ifndef SPL_METHODS_ARRIVE_H
#define SPL_METHODS_ARRIVE_H

#include "body/pins.h"
#include "body/pose_path.h"
#include "contact/body_surface.h"
#include "contact/held.h"
#include "statics/statics.h"

#include <supple/sim.h>

typedef struct spl_arrival {
    supple_allocator allocator;
    const spl_solid *solid;
    spl_pool *pool;
    spl_statics_options statics;    /* of the held solver */
    const spl_pins *pins;           /* of the held solver: islands */
    const spl_colliders *colliders; /* of the world, or NULL */
    spl_obstacles obstacles;
    spl_body_surface surface; /* vertices of the body, then of obstacles: all arrays of vertices here are of these */
    spl_barrier *barrier;
    spl_elements elements;       /* the solid's, over all vertices; borrowed */
    int32_t *held;               /* by vertex: -1 where it is free */
    spl_statics *solver, *loose; /* bones hold; all is free */
    spl_pose_path path;
    spl_held bones;    /* what they hold firmly */
    bool *crossing;    /* bones x bones, as the barrier's: pairs that cross where the last step led */
    double *kept;      /* the same: the barrier's offsets, to be restored */
    bool *tangled;     /* by bone: room */
    double *x;         /* 3 x vertices: nothing touches */
    double *goal;      /* 3 x vertices: where the step leads */
    double *step;      /* 3 x vertices */
    double *from;      /* 3 x obstacles' vertices: where the frame began */
    spl_pin *pin;      /* of the loose solver: islands, then held vertices */
    double *pull;      /* by pin: its stiffness */
    double *shift;     /* 3 by pin: of its target, from step to step: what it bears over its stiffness */
    int32_t pin_count; /* in all */
    double turn;       /* of a joint in one step at most, radians */
    bool keeps_volume; /* the law is a barrier: no step inverts tets that are not wholly held */
    bool bounded;      /* and the step under way is bounded by that */
    bool begun;        /* a frame has been made, so that obstacles are in place */
    /* what the last frame took */
    int32_t steps;      /* along the path */
    int32_t loosened;   /* of these, in which bones were let loose */
    int32_t iterations; /* Newton steps in all */
    bool disentangled;  /* flesh was drawn in to its bones and grew again (disentangle.h) */
    int32_t freed;      /* pairs of bones that were released in it */
    bool softened;      /* tets stay inverted: the answer is the stable law's */
    bool leapt;         /* there was nothing in the way of the guess, and nothing was solved */
    double missing;     /* how far what bones hold was from its place before something gave way, metres */
} spl_arrival;

typedef struct spl_arrival_options {
    spl_statics_options statics; /* of the held solver */
    spl_barrier_options barrier;
    double turn; /* of a joint in one step at most, radians */
    const spl_colliders *colliders;
} spl_arrival_options;

/* All must outlive it. */
supple_result spl_arrival_create(const spl_solid *solid, const spl_pins *pins, const spl_arrival_options *options,
                                 spl_pool *pool, spl_arrival *out, supple_error *error);
void spl_arrival_release(spl_arrival *a);

/* Back to the bind pose. */
void spl_arrival_reset(spl_arrival *a);

/* What the last frame took, and how many held tets are inverted, for --metrics. */
enum { SPL_ARRIVAL_VALUES = 8 };
void spl_arrival_tell(const spl_arrival *a, int32_t held_inverted, supple_named_value out[SPL_ARRIVAL_VALUES]);

/* Brings the body to the solid's pose and into equilibrium. `problem` is without pins and extra. x gets the
 * result: the vertices of the body. `guess`: the equilibrium without contact, 3 x vertices of the body, or NULL. Where
 * the straight way there is free and the barrier does not act, it is the answer; else flesh goes towards it, as far as
 * nothing touches, before it is solved for. May be x. */
supple_result spl_arrival_frame(spl_arrival *a, const spl_statics_problem *problem, const double *guess, double *x,
                                spl_statics_stats *stats, supple_error *error);

#endif
