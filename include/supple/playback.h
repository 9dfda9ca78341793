/* Supple: playing trained models. All that a program needs that ships models and has neither the characters' files nor
 * the code that trains: load a model, make a player, give it the joints' matrices step by step, read the surface.
 *
 *     supple_model *model;     supple_model_load("hero.supple", NULL, &model, &error);
 *     supple_player *player;   supple_player_create(model, NULL, NULL, &player, &error);
 *     each frame:              supple_player_step(player, matrices, supple_model_joint_count(model), 1 / 60.0, &error);
 *                              supple_player_read_positions(player, buffer, sizeof *buffer);
 *
 * A build with -DSUPPLE_RUNTIME_ONLY=ON has this header and base.h, nothing else (docs/embedding.md). */
#ifndef SUPPLE_PLAYBACK_H
#define SUPPLE_PLAYBACK_H

#include <supple/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A trained model. Constant once made: any number of players may share one, in any threads. */
typedef struct supple_model supple_model;

/* What a model is like. */
typedef struct supple_model_info {
    int32_t vertices, tets;           /* of its body */
    int32_t domains, interfaces;      /* parts, and where they meet */
    int32_t rank, min_rank, max_rank; /* sum over the domains; smallest and largest of one */
    int32_t cubature;                 /* tets at which forces are evaluated, in all domains */
    double training_error;            /* largest of the domains' cubatures */
    double frequency;                 /* lowest of the whole body, Hz */
    int32_t poses;                    /* that it was trained on */
    int32_t found, dropped;           /* by training: poses of an earlier run, poses that did not converge; else 0 */
    double ms_poses, ms_modes, ms_bases, ms_cubature, ms_total; /* of the training; 0 for a model that was read */
    const char *law;                                            /* name of the material law it was trained with */
} supple_model_info;

/* Reads a model (.supple); what is read is checked as untrusted input. */
SUPPLE_API supple_result supple_model_load(const char *path, const supple_config *config, supple_model **out,
                                           supple_error *error);

/* The same from the bytes of such a file, which are not needed afterwards: a game's package, an asset of an engine.
 * `name` stands in messages (NULL: "a model"). */
SUPPLE_API supple_result supple_model_load_memory(const void *data, size_t size, const char *name,
                                                  const supple_config *config, supple_model **out, supple_error *error);

/* Frees a model. Accepts NULL. */
SUPPLE_API void supple_model_destroy(supple_model *model);

/* What a model is like; valid while it lives. */
SUPPLE_API const supple_model_info *supple_model_get_info(const supple_model *model);

/* ---- what it is a model of ---- */

/* The joints that move it: those of the character that have bones, parents before children. The name and the parent of
 * one (NULL and -1 if out of range; a root's parent is -1), and its world matrix in the file's rest pose (16 floats,
 * column-major; zeros if out of range). */
SUPPLE_API int32_t supple_model_joint_count(const supple_model *model);
SUPPLE_API const char *supple_model_joint_name(const supple_model *model, int32_t joint);
SUPPLE_API int32_t supple_model_joint_parent(const supple_model *model, int32_t joint);
SUPPLE_API void supple_model_joint_rest(const supple_model *model, int32_t joint, float *matrix);

/* The surface of the flesh: vertices that a player reads out, and triangles between them, counter-clockwise seen from
 * outside, 3 indices each. The array belongs to the model. */
SUPPLE_API int32_t supple_model_vertex_count(const supple_model *model);
SUPPLE_API int32_t supple_model_triangle_count(const supple_model *model);
SUPPLE_API const int32_t *supple_model_triangles(const supple_model *model);

/* How far flesh is trusted at each vertex of that surface, found by training: 1 all of it, 0 the file's own skinning,
 * where flesh of the training's poses tore edges that own skinning does not (docs/trust.md). The array belongs to the
 * model. */
SUPPLE_API const float *supple_model_trust(const supple_model *model);

/* The character's own visual mesh: all vertices of the file in the order in which the tool writes caches (instance by
 * instance, primitive by primitive), and triangles between them. A model of an earlier version has none: 0 and NULL. */
SUPPLE_API int32_t supple_model_visual_vertex_count(const supple_model *model);
SUPPLE_API int32_t supple_model_visual_triangle_count(const supple_model *model);
SUPPLE_API const int32_t *supple_model_visual_triangles(const supple_model *model);

/* ---- playing ---- */

/* How to play. Start from supple_player_config_default(); docs/subspace.md explains the numbers. */
typedef struct supple_player_config {
    uint32_t cookie;     /* set by supple_player_config_default() */
    bool dynamics;       /* flesh has mass and swings (true); off: every step is in equilibrium */
    int32_t iterations;  /* most Newton iterations of a step; 0: 3 in motion, 12 without (0) */
    double tolerance;    /* share of the forces at which a step ends (1e-4) */
    double gravity[3];   /* m/s^2, in the axes of the world (0 0 0) */
    double kappa;        /* stiffness of the springs between domains, times E / edge (20) */
    double kappa_d;      /* their damping, times their stiffness, seconds (5e-4) */
    double alpha, beta;  /* Rayleigh damping by mass, 1/s (0.5), and by stiffness, s (2e-3) */
    bool precise;        /* all in double: the slow twin of the float kernels that play at a tolerance of 1e-5 or more
                          * on processors with AVX2 (false) */
    bool per_vertex;     /* forces between domains vertex by vertex: the slow twin of the transforms (false) */
    int32_t start_steps; /* most steps towards equilibrium in the first pose (10) */
    bool visual;         /* room for the visual mesh, which costs nothing until it is read (false) */
    double fixed_step;   /* seconds; flesh in motion advances by this whatever dt a call has, and what is shown is
                          * interpolated; 0: one step a call, of its dt (0) */
    int32_t colliders;   /* room for so many things of the world, up to 256; 0: nothing touches the flesh (0) */
    double contact;      /* stiffness of contacts with them by area, times E / edge (3000) */
    double self_contact; /* the same of contacts between domains that do not meet at rest: a hand on the belly; 1000 is
                          * good; 0: flesh goes through flesh (0) */
    const struct supple_player
        *like; /* a player of the same model and with the same two switches that outlives this one:
                * its tables are read, which saves memory and time where many play; or NULL */
} supple_player_config;

/* Defaults: the numbers in brackets above. */
SUPPLE_API supple_player_config supple_player_config_default(void);

/* One character in motion. Mutable; used by one thread at a time. */
typedef struct supple_player supple_player;

/* Makes a player of a model, which must outlive it. Everything is allocated here. `player_config` and `config` may be
 * NULL for the defaults; the config's thread_count is that of the player's own pool: 1 where the host has a thread for
 * each character. */
SUPPLE_API supple_result supple_player_create(const supple_model *model, const supple_player_config *player_config,
                                              const supple_config *config, supple_player **out, supple_error *error);

/* Frees a player. Accepts NULL. */
SUPPLE_API void supple_player_destroy(supple_player *player);

/* Moves the joints and then the flesh: 16 floats a joint, column-major world matrices in the file's unit, in the order
 * of supple_model_joint_name; `dt` seconds after the last step, in one time step (1/120 to 1/60 are good; 0, and a
 * player without dynamics: equilibrium). The first step finds equilibrium in its pose, as does one after more than a
 * second and one in which a bone moves farther than the flesh is long. SUPPLE_ERROR_INPUT for matrices with a number
 * that is not finite or beyond 1e18 or with zeros alone, with the joint's name; SUPPLE_ERROR_SOLVE where the flesh's
 * numbers would not be finite. After either the state of the last step stands. */
SUPPLE_API supple_result supple_player_step(supple_player *player, const float *matrices, int32_t matrix_count,
                                            double dt, supple_error *error);

/* A thing of the world that presses on the flesh's surface: world space, the file's unit. */
typedef enum supple_collider_kind {
    SUPPLE_COLLIDER_SPHERE,  /* a: its centre */
    SUPPLE_COLLIDER_CAPSULE, /* a, b: the ends of its axis */
    SUPPLE_COLLIDER_PLANE    /* a: a point of it; b: its normal, of any length but 0; what is below is solid */
} supple_collider_kind;

/* One of these, where it is. */
typedef struct supple_collider {
    supple_collider_kind kind; /* which of them */
    float a[3], b[3];          /* places and directions, by the kind */
    float radius;              /* of spheres and capsules */
} supple_collider;

/* Where things of the world are at the end of the next step, and from then on; those of the same place in the list and
 * the same kind move there evenly while it lasts. Up to as many as the config has room for, copied; 0: none.
 * SUPPLE_ERROR_ARGUMENT for more, another kind, numbers that are not finite, a negative radius or a normal that is 0;
 * the last ones then stand. */
SUPPLE_API supple_result supple_player_set_colliders(supple_player *player, const supple_collider *colliders,
                                                     int32_t count, supple_error *error);

/* Forgets the past: the next step starts as the first one did. */
SUPPLE_API void supple_player_reset(supple_player *player);

/* How much of what flesh does is shown, from the next step on: own + amount (flesh - own), where `own` is the file's
 * own skinning of the pose and the amount is this one (from 0 to 1 for each vertex of the surface, copied; NULL: 1)
 * times the model's trust. The bits of flesh where it is 1, which costs nothing, those of own skinning where it is 0.
 * The flesh itself moves on whatever is shown. SUPPLE_ERROR_ARGUMENT for another number; the last amount then stands.
 */
SUPPLE_API supple_result supple_player_set_amount(supple_player *player, const float *amount, supple_error *error);

/* Copies the surface's positions (3 floats a vertex, world space, the file's unit) into a strided buffer; `stride` is
 * in bytes, at least 12. Zeros before the first step. */
SUPPLE_API void supple_player_read_positions(const supple_player *player, float *out, size_t stride);

/* Computes and copies unit normals, smooth, likewise; +z where the surface has none. */
SUPPLE_API void supple_player_read_normals(supple_player *player, float *out, size_t stride);

/* The visual mesh of the last step, likewise: flesh upsampled from the surface, what rides on it, and the file's own
 * skinning for the rest; own + amount (flesh - own) where the surface's amount is below 1. Joints that move no flesh
 * are taken to stand still against the next one above that does; morph targets are at rest. Computed by the first of
 * the two after a step, which allocate nothing. Nothing happens without config.visual, or for a model without. */
SUPPLE_API void supple_player_read_visual_positions(supple_player *player, float *out, size_t stride);
SUPPLE_API void supple_player_read_visual_normals(supple_player *player, float *out, size_t stride);

/* What the last step did. Times in milliseconds of the wall. */
typedef struct supple_player_stats {
    int32_t iterations;    /* of Newton's method */
    bool converged;        /* the tolerance was reached */
    double residual;       /* |sum of forces| / sum of |forces| */
    double outside;        /* how far the flesh is beyond what training saw: above 8 it is held back by force */
    int32_t steps;         /* time steps of this call; 0: none was due yet */
    int32_t contacts;      /* vertices that colliders press on */
    double penetration;    /* metres: how deep one is in a collider after the step */
    int32_t self_contacts; /* vertices that other flesh presses on */
    double ms_coupling, ms_cubature, ms_cholesky; /* of the solve */
    double ms_read;                               /* vertices from the reduced state */
    double ms_total;                              /* all of it */
} supple_player_stats;

/* Valid until the next step. */
SUPPLE_API const supple_player_stats *supple_player_get_stats(const supple_player *player);

#ifdef __cplusplus
}
#endif
#endif
