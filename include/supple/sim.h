/* Supple: a simulation. Create it from a scene, step it with a clip's time or the host's own poses, read positions and
 * normals into the caller's buffers. Nothing is allocated after creation. */
#ifndef SUPPLE_SIM_H
#define SUPPLE_SIM_H

#include <supple/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One character in motion. Mutable; used by one thread at a time. */
typedef struct supple_sim supple_sim;

/* A named parameter of a method, as `--set key=value` of the tool. */
typedef struct supple_setting {
    const char *key;   /* a parameter's name */
    const char *value; /* as text */
} supple_setting;

/* How much of what flesh does is shown of parts whose mesh or material name matches a shell pattern. */
typedef struct supple_part_amount {
    const char *pattern; /* *, ? and [abc]; case does not count */
    double amount;       /* 0: the file's own skinning, 1: flesh */
} supple_part_amount;

/* What to simulate. Start from supple_sim_config_default(). */
typedef struct supple_sim_config {
    uint32_t cookie;                /* set by supple_sim_config_default() */
    const char *method;             /* name of a method, or "auto" (the default), which is logged with its reason */
    const supple_setting *settings; /* parameters that are not to have their defaults */
    int32_t setting_count;          /* how many there are */
    const supple_body *body;        /* for methods that need one; must outlive the simulation. NULL: made here, */
    const supple_body_config *body_config; /* as this says; NULL: by the defaults */
    const supple_model *model; /* a trained one, for method subspace; it must outlive the simulation and says how the
                                  body is made. NULL: none */
    const char *material_file; /* materials by region (docs/materials.md), or NULL */
    const char *force_file;    /* external forces (docs/materials.md), or NULL */
    double fps;                /* frames per second that frame numbers of force files count (30) */
    bool measure;              /* also fill the measures of supple_stats that cost time */
    int32_t frame_total;       /* frames that will be stepped, over which `verify` spreads its own; 0: unknown */
    bool dynamics;             /* flesh has mass and swings (docs/dynamics.md); off: every frame is in equilibrium */
    double substep;            /* length of the steps of dynamics, seconds (1/120), whatever the frame rate */
    double preroll;            /* seconds that are simulated before the first frame, in its pose (0) */
    bool loop;                 /* clips are cycles: play one until it repeats itself, before its first frame */
    double root_inertia; /* what the root bone's motion does to the flesh, from 0 (nothing) to 1 (all, the default) */
    double gravity[3];   /* m/s^2, in the axes of the scene's space (0 0 0) */
    int32_t collide;     /* SUPPLE_COLLIDE_*: what flesh must not enter (SUPPLE_COLLIDE_AUTO) */
    const char *const *colliders; /* files of things in the world (docs/dynamics.md) */
    int32_t collider_count;       /* how many there are */
    bool slide;                   /* skin slides over the body (docs/slide.md): texture coordinates move (off) */
    const char *slide_file;       /* its regions, or NULL: all of it, open borders fixed */
    double budget_ms;   /* what a frame may take on one core, for method "auto" (docs/choosing.md); 0: no limit */
    const char *device; /* NULL or "cpu"; "cl" or "cl:N": an OpenCL device, opened here (supple/device.h) */
    struct supple_device *shared_device; /* or one that is open already, which must outlive the simulation; NULL */
    double amount;                       /* how much of what flesh does is shown (docs/trust.md), 0 to 1 (1), */
    const supple_part_amount *amounts;   /* by part; the last that matches counts */
    int32_t amount_count;                /* how many there are */
    bool amount_by_color; /* and times the vertex colour: the mean of red, green and blue (off). A glTF attribute
                             _SUPPLE_AMOUNT counts by itself */
    bool rehearse; /* where the body is made here: its parts are tried on a coarse one first, and those that cannot be
                      trusted get another role (on); see supple_sim_rehearse for what follows from poses */
    bool lead_in;  /* supple_sim_judge and supple_sim_lead_in play what comes before a range (on) */
} supple_sim_config;

/* What flesh must not enter, as bits: itself, the world's colliders; or what the method does unless it is told. */
enum {
    SUPPLE_COLLIDE_NONE = 0,  /* nothing */
    SUPPLE_COLLIDE_SELF = 1,  /* its own flesh */
    SUPPLE_COLLIDE_WORLD = 2, /* colliders */
    SUPPLE_COLLIDE_AUTO = -1, /* as the method does by itself */
};

/* How a frame is worse than the file's own skinning of the same pose (docs/trust.md). Lengths are shares of the
 * character's diagonal in its rest pose, others shares of all. */
typedef struct supple_harm {
    int32_t torn;     /* edges over 3 times as long as at rest and as by own skinning, above 1%; -1: not measured */
    double stretched; /* of the edges: those over twice as long, above 0.4% */
    double folded;    /* of the area: triangles that face a neighbour, and did not at rest nor by own skinning */
    double lost;      /* how far the middle of a connected piece is from where own skinning has it, at most */
    double cracks;    /* how far copies of a vertex at a seam are apart, at most */
    double far;       /* how far the 99th of a hundred vertices is from own skinning */
    double strain; /* of the strain that own skinning puts into edges (above 25%), what is left; NAN: there is none */
} supple_harm;

/* The first bound that is exceeded, as a word ("torn"), or NULL: nothing is worse. `moving`: flesh swings or is pushed,
 * which takes it away from own skinning without harm. */
SUPPLE_API const char *supple_harm_exceeds(const supple_harm *harm, bool moving);

/* What one step did. Times in milliseconds. A real value that has no meaning for the method is NAN, a count -1. */
typedef struct supple_stats {
    double ms_total, ms_pose, ms_contact, ms_solve, ms_upsample, ms_slide; /* the step, and its stages */
    double ms_checks;             /* trust, and what `measure` asks for: time that is in no stage and not in ms_total */
    int32_t iterations;           /* of the method's own kind */
    bool converged;               /* the method's own tolerance was reached, where it has one */
    double residual, energy;      /* force that is left over, by its scale (docs/command-line.md); joules */
    double volume_ratio;          /* volume over that at rest */
    double min_det_f, max_strain; /* smallest det F, largest |singular value - 1| of a tetrahedron */
    int32_t inverted;             /* tetrahedra turned inside out; also without `measure` */
    int32_t contacts;             /* that were answered */
    int32_t crossed;              /* pairs of triangles of what is shown that cross, and did not at rest */
    double max_penetration;       /* metres: how deep what is shown lies in itself (docs/contact.md), at trust 1 */
    double max_fold;              /* metres: the same, of creases in themselves alone */
    double own_penetration;       /* metres: the same where trust is below 1, as the file's own skinning has it */
    double verify_mean, verify_max; /* distance of the body from `reference`, shares of the diagonal */
    double max_bend_deg;            /* largest angle between a bone and its parent */
    double yield_deg;               /* largest turn of a limb that yields; NAN where none may */
    double yield_m;                 /* the farthest that this moved a joint or a visual vertex, metres */
    supple_harm harm;               /* of what is shown; NAN and -1 where nothing is flesh, or trust is off */
    double trust;                   /* share of the vertices that flesh moves which are trusted in full */
} supple_stats;

/* What creation did, for reports. Times in milliseconds. */
typedef struct supple_setup {
    const char *method;                    /* the method that "auto" chose, or the one asked for */
    int32_t thread_count;                  /* threads that it uses */
    double ms_body, ms_weights, ms_factor; /* NAN: no such stage */
    double ms_flesh;                       /* what else flesh needs: contacts, forces, measures */
    double ms_rest;                        /* the frame at rest, against which contacts and measures are taken */
    double ms_checks;                      /* trust, and how the mesh lies in itself at rest */
    double ms_slide;                       /* sliding skin, its stance included */
    double ms_other, ms_total;             /* all parts but NAN add up to the total */
    double size_m; /* the character's diagonal at rest in the metres of all lengths; NAN: no flesh, no measures */
} supple_setup;

/* Defaults: method "auto", no settings. */
SUPPLE_API supple_sim_config supple_sim_config_default(void);

/* What method "auto" means for a scene and a config, and why. */
typedef struct supple_choice {
    const char *method; /* its name */
    int32_t tets;       /* of the body that goes with it, foretold from the surface; with a budget at most;
                           0: it needs none, or the model has its own */
    double ms;          /* of a frame on one core, estimated from counts alone: it is the same on every machine */
    bool fits;          /* into budget_ms, where that is given */
    char why[256];      /* one clause */
} supple_choice;

/* Says what "auto" will choose, without making a body: supple_sim_create takes the same, unless the flesh turns out to
 * be none. `sim_config` (whose method is not looked at) and `config` may be NULL. */
SUPPLE_API supple_result supple_choose(const supple_scene *scene, const supple_sim_config *sim_config,
                                       const supple_config *config, supple_choice *out, supple_error *error);

/* Number of methods that are built in, their names, and one line about each (NULL if out of range). */
SUPPLE_API int32_t supple_method_count(void);
SUPPLE_API const char *supple_method_name(int32_t index);
SUPPLE_API const char *supple_method_summary(int32_t index);

/* A parameter of a method: a number from min to max, or one of the words "a|b|c" (then the value is a word's index). */
typedef struct supple_parameter {
    const char *name, *unit, *help; /* the key of a supple_setting; "" where it has no unit; one line */
    const char *choices;            /* NULL for a number */
    double value;                   /* the default */
    double min, max;                /* of a number, both allowed */
} supple_parameter;

/* The index-th parameter of a method; false if there is none. */
SUPPLE_API bool supple_method_parameter(int32_t method, int32_t index, supple_parameter *out);

/* The index-th parameter of skin that slides, which a simulation with `slide` takes beside its method's; false if there
 * is none. */
SUPPLE_API bool supple_slide_parameter(int32_t index, supple_parameter *out);

/* Prepares a simulation of a scene, which must outlive it. `sim_config` and `config` may be NULL for the defaults. */
SUPPLE_API supple_result supple_sim_create(const supple_scene *scene, const supple_sim_config *sim_config,
                                           const supple_config *config, supple_sim **out, supple_error *error);

/* Frees a simulation. Accepts NULL. */
SUPPLE_API void supple_sim_destroy(supple_sim *sim);

/* Poses the character at a time of a clip (-1: the file's rest pose), in seconds, and deforms it. */
SUPPLE_API supple_result supple_sim_step_clip(supple_sim *sim, int32_t clip, double time, supple_error *error);

/* Poses the character by the host's matrices and deforms it: 16 floats per joint, column-major world matrices, in the
 * order of supple_scene_joint_name. Nodes that are no joints keep their place relative to their nearest joint above.
 * SUPPLE_ERROR_ARGUMENT for matrices with a number that is not finite or beyond 1e18 or with zeros alone, with the
 * joint's name; the state then stands. Where any step fails the positions are still those of the last one. */
SUPPLE_API supple_result supple_sim_step_pose(supple_sim *sim, const float *matrices, int32_t matrix_count,
                                              supple_error *error);

/* The same, `dt` seconds after the last step (0 to 1; more starts anew). In dynamics supple_sim_step_pose takes 1/fps
 * of the config. Steps of `substep` seconds are simulated as they fall due, with poses in between interpolated; the
 * time that remains is bridged by moving along with the bones, so that any rate will do and dt = 0 shows the same flesh
 * in another pose. Without dynamics dt says nothing. */
SUPPLE_API supple_result supple_sim_step_pose_dt(supple_sim *sim, const float *matrices, int32_t matrix_count,
                                                 double dt, supple_error *error);

/* Forgets the past: the next step starts as the first one did. */
SUPPLE_API void supple_sim_reset(supple_sim *sim);

/* Plays frames first_frame to first_frame + frame_count - 1 of a clip (frame k is at k / fps seconds) without dynamics,
 * and finds how much of the flesh can be trusted in them (docs/trust.md): the steps of these frames that follow show no
 * vertex worse than the file's own skinning, by an amount that is constant over them. With `keep` what was computed is
 * kept, where there are no dynamics, and such a step does not compute it again (supple_sim_dump then has nothing to
 * dump). The next step starts as the first one did. Without flesh, or with trust=off, there is nothing to do. */
SUPPLE_API supple_result supple_sim_judge(supple_sim *sim, int32_t clip, int32_t first_frame, int32_t frame_count,
                                          double fps, bool keep, supple_error *error);

/* Plays frames 0 to first_frame - 1 of a clip (frame k is at k / fps seconds) from the bind pose on, without showing
 * them, so that the frames that follow are those of the whole clip, to the bit. Needed where flesh meets flesh without
 * dynamics: how it lies depends on the way it came. Elsewhere, and with `lead_in` off, there is nothing to do. Forgets
 * the past. supple_sim_judge does the same before it begins. */
SUPPLE_API supple_result supple_sim_lead_in(supple_sim *sim, int32_t clip, int32_t first_frame, double fps,
                                            supple_error *error);

/* Tries poses of the clips and swings of the joints, a dozen at most, without dynamics, and finds how much of the flesh
 * can be trusted in them: what live steps start from. For hosts whose poses are not known before. */
SUPPLE_API supple_result supple_sim_rehearse(supple_sim *sim, supple_error *error);

/* How much of the flesh is shown of each vertex, from 0 to 1: one float a vertex, in output order, in place of what the
 * config says; NULL: all of it. Any time between steps; SUPPLE_ERROR_ARGUMENT for numbers outside 0 to 1. Where
 * neighbours ask for very different amounts, what is shown goes over from one to the other. */
SUPPLE_API supple_result supple_sim_set_amount(supple_sim *sim, const float *amount, supple_error *error);

/* Trust, and the amount that is shown, by vertex: one float each, `stride` in bytes, at least 4. 1 without flesh. */
SUPPLE_API void supple_sim_read_trust(const supple_sim *sim, float *out, size_t stride);
SUPPLE_API void supple_sim_read_amount(const supple_sim *sim, float *out, size_t stride);

/* What of the last step is worse than the file's own skinning, as supple_harm_exceeds says it; NULL if nothing is, or
 * it was not measured. */
SUPPLE_API const char *supple_sim_worse(const supple_sim *sim);

/* Harm of the last step by part (a mesh's primitive, in output order): how many parts, the index-th one's name, and its
 * harm; NULL and false if there is none. */
SUPPLE_API int32_t supple_sim_part_count(const supple_sim *sim);
SUPPLE_API const char *supple_sim_part_name(const supple_sim *sim, int32_t index);
SUPPLE_API bool supple_sim_part_harm(const supple_sim *sim, int32_t index, supple_harm *out);

/* Copies the deformed positions (3 floats a vertex, world space, output order) into a strided buffer.
 * `stride` is in bytes, at least 12. Valid after the first step; before it they are the positions of the rest pose. */
SUPPLE_API void supple_sim_read_positions(const supple_sim *sim, float *out, size_t stride);

/* Computes and copies unit normals of the deformed mesh, as above. They follow the file's normals where it has them and
 * the triangles' where it has none. */
SUPPLE_API void supple_sim_read_normals(supple_sim *sim, float *out, size_t stride);

/* Computes and copies tangents (4 floats a vertex, the last one the file's handedness), for vertices of primitives that
 * have tangents in the file; others are left alone. `stride` at least 16. */
SUPPLE_API void supple_sim_read_tangents(supple_sim *sim, float *out, size_t stride);

/* What the last step did; valid until the next step. */
SUPPLE_API const supple_stats *supple_sim_stats(const supple_sim *sim);

/* The joints whose volume is measured (0 without a body or without `measure`), their names, and the volume of the flesh
 * around each after the last step, 1 at rest. */
SUPPLE_API int32_t supple_sim_joint_count(const supple_sim *sim);
SUPPLE_API const char *supple_sim_joint_name(const supple_sim *sim, int32_t index);
SUPPLE_API double supple_sim_joint_volume(const supple_sim *sim, int32_t index);

/* A number with a name; NAN where it has no meaning. */
typedef struct supple_named_value {
    const char *name; /* as in --metrics */
    double value;     /* or NAN */
} supple_named_value;

/* What the method tells of its last step beyond supple_stats (docs/steklov.md), and after it the sliding skin
 * (docs/slide.md): the index-th value; false if there is none. */
SUPPLE_API bool supple_sim_value(const supple_sim *sim, int32_t index, supple_named_value *out);

/* The body that the simulation moves, or NULL. */
SUPPLE_API const supple_body *supple_sim_body(const supple_sim *sim);

/* What creation did; valid until destruction. */
SUPPLE_API const supple_setup *supple_sim_setup(const supple_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
