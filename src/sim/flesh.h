/* The frame of a method that moves a body: drive the bones, solve, upsample, measure. */
#ifndef SPL_SIM_FLESH_H
#define SPL_SIM_FLESH_H

#include "body/force_file.h"
#include "body/pins.h"
#include "body/squeeze.h"
#include "contact/clear.h"
#include "contact/polish.h"
#include "contact/sunk.h"
#include "contact/yield.h"
#include "methods/skinning.h"
#include "sim/aside.h"
#include "sim/excuse.h"
#include "sim/follow.h"
#include "sim/measure.h"
#include "sim/world.h"
#include "statics/statics.h"

typedef struct spl_flesh_sim {
    supple_allocator allocator;
    supple_body *own;         /* made here; NULL where the caller gave one */
    const supple_body *given; /* either */
    const spl_body *body;
    spl_solid solid;
    spl_material_set materials;
    spl_force_file force_file;
    spl_force_set forces;
    double *force;             /* 3 x vertices, or NULL without forces */
    double *mass;              /* by vertex, lumped, kg; NULL without a force file */
    double *weight;            /* 3 x vertices: the part of `force` that is gravity's; NULL without */
    double *x;                 /* 3 x vertices: the last frame's, or the last step's of dynamics */
    double *velocity;          /* 3 x vertices, m/s; NULL without dynamics */
    double *spare, *answer;    /* 3 x vertices: room; NULL without dynamics */
    double root_inertia;       /* what the root's motion does to the flesh, 0 to 1 */
    spl_mat4 moved;            /* what the root has done to x and velocity before the step under way */
    bool own_start;            /* the method needs no x to start from */
    bool launch;               /* x is in equilibrium, and the next step sets it in motion along with its bones */
    float *posed;              /* the same in body units, float */
    spl_pose_past past;        /* the last frame's pose */
    bool has_past;             /* x and past are a frame's */
    int32_t frame;             /* number of the frame under way: of the clip, or counted from the last reset */
    spl_upsample_frame *rides; /* room for the upsampling */
    spl_skinning others;       /* the file's own skinning */
    float *other;              /* 3 x scene vertices: of what is not upsampled; NULL if all is */
    spl_riders_frame riders;   /* room for what follows */
    float *delta;              /* 3 x scene vertices: morphs in body space; NULL if no riding part has any */
    double *counts;            /* room to count inverted tets */
    bool measures;
    bool baseline;     /* the method moves visual vertices: the body is only measured */
    spl_follow follow; /* of a baseline */
    spl_measure measure;
    spl_world world;           /* colliders */
    spl_contacts *contacts;    /* NULL: none are wanted */
    spl_feasible *feasible;    /* where flesh does not cross itself; NULL without self-contacts */
    spl_polish *polish;        /* of the visual mesh around self-contacts; NULL without */
    spl_squeeze *squeeze;      /* where the body is squeezed its skin gives way, with `clear` */
    spl_clear *clear;          /* keeps the visual mesh clear of itself, of methods with a barrier; NULL without */
    int32_t kinds;             /* bones of the barrier, and colliders */
    double *ease;              /* these x these: room for what is released */
    spl_clear_outcome cleared; /* of the last frame */
    spl_excuses excuses;       /* what a method's barrier could not keep apart; empty without */
    spl_sunk *sunk;            /* bones in other flesh, for springs alone and for yielding; else NULL */
    spl_yield *yield;          /* of bones to flesh; NULL unless it is asked for */
    spl_aside aside;           /* how far that moves limbs */
    double time;               /* of the last pose */
    bool told;                 /* that limbs were turned */
    int32_t stepped;           /* frames since the last reset */
    int32_t verify, verify_of, verified;
    spl_statics *reference; /* for `verify` */
    double *truth;          /* 3 x vertices: the reference's, where verified */
    spl_pins pins;          /* how the reference is held */
} spl_flesh_sim;

/* Parameters of every method that moves a body. */
enum {
    SPL_FLESH_VERIFY,
    SPL_FLESH_TWIST,
    SPL_FLESH_UPSAMPLE,
    SPL_FLESH_POLISH,
    SPL_FLESH_BOUNDED,
    SPL_FLESH_YIELD,
    SPL_FLESH_TRUST,
    SPL_FLESH_OWN,
    SPL_FLESH_PARAMETERS
};
extern const spl_parameter spl_flesh_parameter[SPL_FLESH_PARAMETERS];

typedef struct spl_flesh_setup {
    const supple_scene *scene;
    const supple_sim_config *sim;
    const supple_config *config;
    spl_pool *pool;
    supple_setup *setup;
    const double *common; /* values of spl_flesh_parameter */
    bool baseline;        /* the method moves visual vertices: the body is only measured */
    int32_t max_tets;     /* the method's budget of a body that is made here; 0: none of its own */
    int32_t collide;      /* bits of SUPPLE_COLLIDE_*: contacts to be found for the method */
    bool own_start;       /* the method starts by itself */
    bool own_contacts;    /* the method finds contacts itself */
    bool no_flesh;        /* out: creation failed because the character has no body, not for another reason */
} spl_flesh_setup;

/* Makes (or takes) the body and everything around it. */
supple_result spl_flesh_sim_create(spl_flesh_setup *setup, spl_flesh_sim *out, supple_error *error);
void spl_flesh_sim_release(spl_flesh_sim *f);
void spl_flesh_sim_reset(spl_flesh_sim *f);
const supple_body *spl_flesh_sim_body(const spl_flesh_sim *f);

/* What a frame works with. */
typedef struct spl_flesh_frame {
    const spl_method *method;
    void *state; /* the method's */
    spl_method_context *context;
    spl_pose *pose;    /* limbs that yield are turned in it */
    const float *rest; /* visual vertices as in spl_method.step */
    float *out;
} spl_flesh_frame;

/* Drives the bones to a pose. Where `yield` is on, limbs whose bones are in other flesh are turned aside in it; in
 * motion only while there are contacts. */
supple_result spl_flesh_sim_pose(spl_flesh_sim *f, const spl_method_context *c, spl_pose *pose, supple_error *error);

/* Turns limbs in the pose of a moment after the last one, as they were turned then: for what does not ride on flesh. */
void spl_flesh_sim_turn(spl_flesh_sim *f, spl_pose *pose);

/* Moves the body to a pose: into equilibrium where the context's dt is 0, else by one step of dynamics. Times, and what
 * a method counts, are added to those of earlier steps of the frame. After a failure the body has no past. */
supple_result spl_flesh_sim_advance(spl_flesh_sim *f, const spl_flesh_frame *frame, supple_stats *stats,
                                    supple_error *error);

/* Takes the whole body, x and velocity, along with the root bone's motion from the last pose to this one, without
 * time passing: what a cycle's end needs to be its beginning. */
supple_result spl_flesh_sim_wrap(spl_flesh_sim *f, const spl_method_context *c, spl_pose *pose, supple_error *error);

/* The visual vertices of a body's x (that of the last step, or one near it), and the measures of the last step. */
supple_result spl_flesh_sim_show(spl_flesh_sim *f, const spl_flesh_frame *frame, const double *x, supple_stats *stats,
                                 supple_error *error);

/* What showing x does to what follows, and no more: the mesh's folds are known where the body passes without being
 * shown. */
void spl_flesh_sim_glance(spl_flesh_sim *f, const spl_flesh_frame *frame, const double *x);

/* The measures of a baseline's frame: as if its body were skinned linearly. */
supple_result spl_flesh_sim_follow(spl_flesh_sim *f, const spl_pose *pose, spl_pool *pool, supple_stats *stats,
                                   supple_error *error);

#endif
