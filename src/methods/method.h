/* What every method implements. A method is one file or folder and one line in the registry (methods.c). */
#ifndef SPL_METHODS_METHOD_H
#define SPL_METHODS_METHOD_H

#include "body/solid.h"
#include "contact/barrier.h"
#include "contact/contact.h"
#include "core/threads.h"
#include "fem/law.h"
#include "rig/pose.h"
#include "scene/scene.h"
#include "subspace/model.h"

#include <supple/sim.h>

/* A parameter a method takes by `--set key=value`: drives the defaults, the checks, --help and the docs. */
typedef struct spl_parameter {
    const char *name, *unit; /* unit "" for a pure number */
    double value, min, max;  /* default and range */
    const char *help;
    const char *choices; /* NULL for a number; else words "a|b|c", and the value is the chosen one's index */
} spl_parameter;

/* What a method may use while it is set up and stepped. */
typedef struct spl_method_context {
    const supple_scene *scene;
    const spl_solid *solid;      /* for methods that need a body, else NULL; its bones are in this frame's pose */
    const supple_config *config; /* host services, never NULL */
    const supple_allocator *allocator;
    spl_pool *pool;
    const double *parameter;        /* values in the order of the method's table */
    supple_setup *setup;            /* a method adds its times */
    int32_t clip;                   /* of the frame; -1 for the rest pose and for poses of the host's own */
    double time;                    /* in the clip, seconds; of the host's poses in dynamics: since the first one */
    spl_contacts *contacts;         /* finds contacts for methods that answer them; NULL: none are wanted */
    int32_t collide;                /* bits of SUPPLE_COLLIDE_*: what flesh must not enter */
    const spl_colliders *colliders; /* of the world, in this frame's place; NULL: none */
    double dt;                      /* length of this step in seconds; 0: quasistatic, equilibrium in the pose */
    bool dynamics;                  /* whether there will be steps with dt > 0 */
    bool loop;                      /* clips are cycles */
    double *velocity;               /* 3 x body vertices, m/s: in before the step, out after it; NULL where dt is 0 */
    const spl_mat4 *moved;  /* x and velocity have been taken along by this since the last step; NULL: by nothing */
    double root_inertia;    /* what the root bone's motion does to the flesh, 0 to 1 */
    const spl_model *model; /* a trained one, or NULL */
    bool whole;             /* all of x is wanted; else the vertices of the surface will do */
    spl_vec3 gravity;       /* m/s^2, the solver's space */
    bool pushed;            /* the solid's force is more than its weight */
    const double *mass;     /* by body vertex, lumped, where pushed */
    struct supple_device *device; /* for methods that use one (supple/device.h); NULL: the processor */
} spl_method_context;

typedef enum spl_method_output {
    SPL_OUTPUT_VISUAL, /* writes the visual vertices */
    SPL_OUTPUT_BODY,   /* writes the body's vertices; the frame upsamples them */
} spl_method_output;

/* What a body method solved, for measures, --dump-sim and comparisons: the forces that balance at x. Pointers into the
 * method's state, valid until its next step. */
typedef struct spl_solution {
    const spl_law *law;
    const double *mu, *lambda; /* by tet */
    const double *rotation;    /* 9 a tet, column-major: those an energy used; NULL if it finds its own */
    const int32_t *held;       /* by vertex: the bone that prescribes it, or -1 */
    const spl_pin *pin;
    int32_t pin_count;
    const spl_contact_spring *spring; /* what the contacts were answered with */
    int32_t spring_count;
    spl_barrier *barrier;    /* or with a barrier; NULL: without */
    const double *barrier_x; /* its vertices: those of the body, then of the world */
    double missing;          /* how far bones were from their places before something of it gave way, metres */
    const bool *exempt;      /* by tet: inverted by what bones hold, and left out; NULL: none can be */
    const double *force;     /* 3 x vertices: external forces and those of inertia; NULL: the solid's force alone */
} spl_solution;

enum { SPL_NEEDS_SKIN = 1, SPL_NEEDS_BODY = 2, SPL_NEEDS_MODEL = 4, SPL_NEEDS_ANIMATION = 8 /* of vertices */ };

/* What a method makes of a context: contacts; velocities, where dt > 0. Others are refused where they are asked for. */
enum {
    SPL_ANSWERS_CONTACT = 1,
    SPL_ANSWERS_DYNAMICS = 2,
    SPL_CONTACT_ON_REQUEST = 4, /* unless it is told, it answers colliders alone */
    SPL_MEETS_ALONE = 16,       /* contact is its own: of colliders, and on request of flesh with flesh */
    SPL_FINDS_CONTACTS = 32,    /* by itself: `contacts` is NULL, and nothing is done to the mesh after it */
    SPL_STARTS_ITSELF = 8,      /* it needs no x to start from, and may leave vertices inside the flesh alone */
};

typedef struct spl_method {
    const char *name, *summary;
    unsigned needs, answers; /* SPL_NEEDS_*, SPL_ANSWERS_* */
    spl_method_output output;
    int32_t max_tets; /* budget of a body that is made for it, where nobody asks for another; 0: the body's own */
    const spl_parameter *parameter;
    int32_t parameter_count;
    const char *contact_form; /* a parameter with which, if it is not 0, SPL_FINDS_CONTACTS holds; NULL: none */
    size_t state_size;        /* zeroed by the caller before init */
    supple_result (*init)(void *state, const spl_method_context *context, supple_error *error);
    /* SPL_OUTPUT_VISUAL: deforms `rest` (3 floats a vertex, output order, morphs applied, mesh space) into `out` (world
     * space). */
    supple_result (*step)(void *state, const spl_method_context *context, const spl_pose *pose, const float *rest,
                          float *out, supple_stats *stats, supple_error *error);
    /* SPL_OUTPUT_BODY: finds the body's vertices x (3 a vertex, the solver's space) in the solid's pose. x comes with
     * the last frame's carried along by the bones, or with the rest shape posed by its weights after a reset; in
     * dynamics (dt > 0) with the last step's as they were. */
    supple_result (*solve)(void *state, const spl_method_context *context, double *x, supple_stats *stats,
                           supple_error *error);
    void (*solution)(const void *state, const spl_method_context *context, spl_solution *out);
    /* What a method tells of its last frame beyond supple_stats, for --metrics; NULL where it has nothing to add. The
     * names are the same from frame to frame. */
    const supple_named_value *(*values)(const void *state, int32_t *count);
    void (*reset)(void *state);                                      /* NULL where a method has no memory */
    void (*release)(void *state, const spl_method_context *context); /* accepts a state whose init failed */
} spl_method;

extern const spl_method spl_method_linear, spl_method_dualquat, spl_method_mixed, spl_method_projective,
    spl_method_steklov, spl_method_subspace, spl_method_reference, spl_method_none;

/* The registry. */
int32_t spl_method_count(void);
const spl_method *spl_method_at(int32_t index);
const spl_method *spl_method_find(const char *name); /* NULL if unknown */

#endif
