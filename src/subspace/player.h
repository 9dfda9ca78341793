/* Playing a model: the reduced equations of motion of all domains, coupled by springs at their interfaces (multi-domain
 * paper, sections 3 and 4, appendix A). Nothing here depends on the number of tets or vertices of the body, but for
 * reading positions out.
 *
 * A step finds q of
 *
 *     M qdd + C qd + f_int(q) = f_ext + f_c + f_damp + f_rigid + f_qv        (4), or without the inertia
 *
 * by at most `newton` iterations on the block-sparse Jacobian. The frames' motion is given, so the coupling is linear
 * within a step and its matrices are made once. f_rigid, f_qv and the swept part of (16) have no symmetric Jacobian and
 * are left out of it, but not of the balance: lagging them by a step, as the paper does, feeds energy to what spins
 * (measured: 1.9 times as much after 3 s at 4 rad/s and 120 Hz). */
#ifndef SPL_SUBSPACE_PLAYER_H
#define SPL_SUBSPACE_PLAYER_H

#include "contact/collider.h"
#include "core/threads.h"
#include "subspace/model.h"

/* The motion of a domain's frame at one moment. omega and alpha are in the frame's own axes, R^T omega. */
typedef struct spl_frame_motion {
    spl_mat3 R;
    spl_vec3 t;
    spl_vec3 v, a;         /* velocity and acceleration of t, world */
    spl_vec3 omega, alpha; /* 1/s, 1/s^2 */
} spl_frame_motion;

typedef struct spl_player_options {
    bool fst;              /* sandwich transforms; off: the per-vertex twin */
    bool full_damping;     /* all of (16); off: the approximation of (17) */
    int32_t newton;        /* most iterations of a step; 0: 3 in motion, 12 without, where frames are far apart */
    double tolerance;      /* of a step, on |residual| over the forces' sum */
    double kappa, kappa_d; /* of the interfaces: springs of kappa E / edge by area, dampers of kappa_d (s) times that */
    double alpha, beta;    /* Rayleigh: C = alpha M + beta K at rest */
    bool single;           /* cubature and reading in float (lanes.h), where tolerance, law and processor allow it */
    double rho; /* what a step leaves of the fastest swings, 0 to 1 (player_private.h); 1: trapezoidal Newmark */
    const struct spl_player *like; /* of the same model, fst, damping and `single`, outlives this one: its tables are
                                    * read, so that many players of one model fit a cache; NULL: tables of its own */
    double contact;       /* stiffness of contacts with colliders by area, times E / edge; 0: none are answered */
    int32_t contact_most; /* contacts of a domain that there is room for */
    double clash;         /* stiffness of contacts of flesh with flesh (clash.h), likewise; 0: none are answered */
    int32_t clash_most;   /* of these in all */
} spl_player_options;

spl_player_options spl_player_options_default(void);

/* What acts from outside in a step. */
typedef struct spl_player_input {
    const spl_frame_motion *frame; /* by domain */
    const double *held;  /* 3 x body vertices: world places of held vertices; those of cubature tets are read, and
                          * where flesh meets flesh those of the surface */
    spl_vec3 gravity;    /* m/s^2, world */
    const double *force; /* by domain after domain, rank numbers each: further reduced forces; or NULL */
    double dt;           /* 0: quasistatic */
    const spl_colliders *colliders; /* where they are at the end of the step; NULL: none */
} spl_player_input;

typedef struct spl_player_stats {
    int32_t iterations;
    bool converged;
    double residual;    /* |sum of forces| / sum of |forces| */
    double energy;      /* of the tets and of the interfaces, joules */
    double gap;         /* largest distance of two copies of an interface vertex; only where asked for, else NAN */
    double outside;     /* largest |q_k| over the training's reach */
    int32_t contacts;   /* that press at the end of the step */
    int32_t dropped;    /* contacts that there was no room for */
    int32_t clashes;    /* of flesh with flesh, that press at the end of the step */
    double penetration; /* metres: how deep a surface vertex is in a collider at the end of the step */
    double ms_coupling, ms_cubature, ms_solve, ms_contact;
} spl_player_stats;

typedef struct spl_player spl_player;

supple_result spl_player_create(const spl_model *model, const spl_player_options *options, spl_pool *pool,
                                const supple_allocator *a, spl_player **out, supple_error *error);
void spl_player_destroy(spl_player *p);
void spl_player_reset(spl_player *p);

/* One step. SUPPLE_ERROR_SOLVE where numbers are not finite: the state is then that of a reset. */
supple_result spl_player_step(spl_player *p, const spl_player_input *in, spl_player_stats *stats, supple_error *error);

/* The state, rank numbers for domain after domain: to show, to keep, to put back. */
int32_t spl_player_size(const spl_player *p);  /* sum of the ranks */
double spl_player_extent(const spl_player *p); /* metres: half the diagonal of all domains at rest */
void spl_player_state(const spl_player *p, double *q, double *qd, double *qdd);
void spl_player_set_coordinates(spl_player *p, const double *q); /* these alone: to read places of other shapes */
void spl_player_set_state(spl_player *p, const double *q, const double *qd, const double *qdd);

/* World places of body vertices: those listed (NULL: all free ones), copies at seams averaged; threaded. `x`: 3 x body
 * vertices, others are left. Lists are made once by spl_player_list. */
typedef struct spl_player_list spl_player_list;
supple_result spl_player_list_create(const spl_player *p, const int32_t *vertex, int32_t count, spl_player_list **out,
                                     supple_error *error);
/* The same list for another player of the model; `from` must outlive it. */
supple_result spl_player_list_like(const spl_player_list *from, const spl_player *p, spl_player_list **out,
                                   supple_error *error);
void spl_player_list_destroy(spl_player_list *l);
void spl_player_read(const spl_player *p, const spl_player_list *list, const spl_frame_motion *frame, double *x);

/* Largest distance of two copies of an interface vertex, metres. */
double spl_player_gap(const spl_player *p, const spl_frame_motion *frame);

#endif
