/* A simulation: one frame is pose -> morphs -> method -> (on demand) normals. */
#ifndef SPL_SIM_SIM_H
#define SPL_SIM_SIM_H

#include "geom/shading.h"
#include "methods/method.h"
#include "scene/parts.h"
#include "sim/amount.h"
#include "sim/crossing.h"
#include "sim/dynamics.h"
#include "slide/slide.h"

struct supple_sim {
    const supple_scene *scene;
    supple_config config;
    supple_allocator allocator;
    spl_pool *pool;
    const spl_method *method;
    const spl_method *wanted; /* what it would be if the character had flesh; NULL where it is that */
    void *state;              /* the method's */
    double *parameter;        /* the method's, in the order of its table */
    double common[SPL_FLESH_PARAMETERS];
    spl_method_context context;
    spl_flesh_sim flesh; /* of a method that moves a body */
    bool has_flesh;
    spl_dynamics dynamics;
    spl_amount amount;    /* of what flesh does, that is shown */
    spl_crossings *cross; /* what is shown, through itself; NULL: it is not measured */
    bool *trusted;        /* by vertex, of the frame that is measured: where trust is 1 */
    double fps;           /* of the clips' frame numbers */
    bool lead_in;         /* what comes before a range of a clip is played where it counts */
    int32_t frame;        /* the next one of host poses */
    int32_t max_tets;     /* of a body that "auto" made fit a budget; 0: the method's own */
    bool ready;           /* the method's init succeeded */
    spl_pose pose;
    spl_part *part;
    int32_t part_count;
    spl_shading **shading; /* one a part */
    bool has_morphs;
    float *rest;           /* 3 x vertex_count: mesh space, morphs applied */
    float *position;       /* 3 x vertex_count: world space */
    float *last;           /* the same, of the frame before: while one is made, what stands if it fails */
    spl_slide_frame slide; /* of the last step, the sliding stage's; corner_uv NULL where no skin slides */
    spl_slide *skin;       /* that stage, or NULL */
    double slide_parameter[SPL_SLIDE_PARAMETERS];
    int32_t slide_clip; /* of the last frame that it saw, -1 for poses of the host */
    double slide_time;
    bool slide_loop;                           /* clips are cycles for the skin too */
    struct supple_device *device, *own_device; /* NULL: the processor; what was opened here */
    struct spl_cl_visual *visual;              /* the mesh on the device, once it was asked for; or NULL */
    float *shown;                              /* 3 x vertex_count: normals on their way to it */
    supple_setup setup;
    supple_stats stats;
};

/* A frame of flesh in the present pose. */
spl_flesh_frame spl_sim_flesh_frame(supple_sim *sim);

/* Which moment the pose is of, for methods, forces and colliders. */
void spl_sim_set_time(supple_sim *sim, int32_t clip, double time);

/* The pose of a clip's moment, and its morphs. */
void spl_sim_pose_clip(supple_sim *sim, int32_t clip, double time);

/* The method's part of a frame, with its times; what is only measured is not in them. */
supple_result spl_sim_deform(supple_sim *sim, supple_stats *stats, supple_error *error);

/* Plays what comes before a frame of a clip, where frames depend on those before them (supple_sim_lead_in), from the
 * present state on. */
supple_result spl_sim_lead_in(supple_sim *sim, int32_t clip, int32_t first_frame, double fps, supple_error *error);

/* Forgets the past of method and flesh. */
void spl_sim_forget(supple_sim *sim);

#endif
