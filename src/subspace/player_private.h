/* What the files of the player share. A step walks: player.c (poses the tables, starts and ends the step) ->
 * player_newton.c (iterations) -> player_force.c (all forces of one q) and player_system.c (the Jacobian). */
#ifndef SPL_SUBSPACE_PLAYER_PRIVATE_H
#define SPL_SUBSPACE_PLAYER_PRIVATE_H

#include "subspace/blocks.h"
#include "subspace/clash.h"
#include "subspace/coupling.h"
#include "subspace/element.h"
#include "subspace/press.h"
#include "subspace/rigid.h"

/* Some tets of one domain: what a thread takes at once. */
typedef struct spl_piece {
    int32_t domain, begin, end;
    double *f, *K; /* its sums: pad, pad x pad */
    double energy;
} spl_piece;

/* Forces at one q. Those but the elastic ones are linear in q within a step. */
typedef struct spl_balance {
    double *elastic, *linear; /* padded as blocks.offset */
    double energy;            /* of the tets, and of contacts */
    double pressed;           /* that of contacts */
    double springs;           /* energy of the interfaces */
    double residual;          /* |sum of forces| / (sum of |forces| + floor) */
    bool finite;
} spl_balance;

struct spl_player {
    supple_allocator allocator;
    const spl_model *model;
    spl_player_options options;
    spl_pool *pool;
    const spl_dense_kernels *kernels;
    int32_t count;    /* domains */
    int32_t size;     /* sum of the ranks */
    size_t *at;       /* by domain, and one more: of its numbers in a wide vector, [q, 1, 0 ...] */
    spl_vec3 *centre; /* by domain: the centre of its masses at rest */
    spl_vec3 *shown;  /* by domain: room for where the centre is in the world */
    double extent;    /* half the diagonal of all domains' rest positions */
    double weight;    /* root of the whole mass: |q| of a displacement by one metre */
    double floor;     /* of the residual */
    bool single;      /* float where that will do */

    spl_element_set *set;   /* by domain */
    spl_rigid *rigid;       /* by domain */
    spl_press *press;       /* by domain: its contacts; NULL where none are answered */
    spl_clash *clash;       /* of flesh with flesh; NULL where none are answered */
    double **rest;          /* by domain: K at rest, pad x pad */
    spl_coupling *coupling; /* by interface */
    spl_blocks blocks;
    int32_t piece_count;
    spl_piece *piece;
    double *sums; /* of the pieces */

    double *q, *qd, *qdd;          /* wide: the state, and the iterate of a running step */
    double *q_n, *qd_n, *qdd_n;    /* wide: at its start */
    double *trial;                 /* wide */
    double *direction;             /* padded */
    double *acting;                /* padded: room for one kind of force */
    double *room;                  /* of the coupling */
    double *drift;                 /* room for one domain's velocities, wide */
    spl_balance now, next;         /* at q, at a trial */
    const spl_player_input *input; /* of the running step */
    spl_frame_motion *frame;       /* by domain: of its centre, this step's */
    bool fresh;                    /* reset: the next step has no step before it */
    int32_t caution;               /* iterations to come that project the Hessians at once */
    bool exact;                    /* the system at hand has exact ones */
    spl_player_stats stats;
};

/* The integrator of Wood, Bossak and Zienkiewicz (1980): Newmark's formulas with
 *
 *     (1 - a) qdd_{n+1} + a qdd_n = forces at n + 1        a = (rho - 1) / (rho + 1)
 *     beta = (1 - a)^2 / 4,  gamma = 1/2 - a
 *
 * of second order for every rho. A step leaves rho of what swings much faster than it, and of slow swings nearly all:
 * noise of a captured motion dies out in a few steps, where the trapezoidal rule (rho = 1) keeps it for good. All
 * forces are those at the end of the step, so that contacts need no others. */
typedef struct spl_newmark {
    double beta, gamma, before; /* before: a */
} spl_newmark;

static inline spl_newmark spl_player_newmark(const spl_player *p)
{
    double a = (p->options.rho - 1) / (p->options.rho + 1);
    return (spl_newmark){(1 - a) * (1 - a) / 4, 0.5 - a, a};
}

/* qd and qdd of the step's q by Newmark's formulas, or by backward Euler's (both 0 where it is quasistatic). */
void spl_player_rates(spl_player *p, const double *q);

/* ---- player_force.c ---- */

/* Tables for this step's frames. */
void spl_player_pose(spl_player *p);

/* How far a coordinate is beyond eight times what the training saw of it, signed, and the stiffness that holds it back
 * there: ten times that of the rest shape, or more for what moves a domain without bending it. Few tets have learnt to
 * resist such shapes. */
double spl_player_over(const spl_player *p, int32_t i, int32_t k, double q, double *stiffness);

/* Forces at q, wide; sets qd and qdd. */
void spl_player_balance(spl_player *p, const double *q, spl_balance *out);

/* ---- player_contact.c ---- */

supple_result spl_player_make_contacts(spl_player *p, supple_error *error);

/* Looks for contacts at p->q, where the step starts from, and arranges the system for those of flesh with flesh. */
void spl_player_find_contacts(spl_player *p);

/* Forces of contacts at q, into the elastic ones. */
void spl_player_add_contacts(spl_player *p, const double *q, spl_balance *out);

/* The stiffest that contacts are in a coordinate of a domain. */
double spl_player_pressing(const spl_player *p, int32_t domain, int32_t k);

/* Whether a domain has contacts in this step of dynamics, and is integrated by backward Euler. */
bool spl_player_touched(const spl_player *p, int32_t domain);

/* After the iterations: what is told of contacts. */
void spl_player_end_contacts(spl_player *p);

/* ---- player_system.c ---- */

/* The Jacobian at the q of the last balance, factorised. False: not positive definite. */
bool spl_player_system(spl_player *p);

/* ---- player_newton.c ---- */

/* From p->q as a start. False: not finite. */
bool spl_player_newton(spl_player *p);

#endif
