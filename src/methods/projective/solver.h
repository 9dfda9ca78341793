/* Projective dynamics with one factor (fast projective skinning, equations 1 and 2, Algorithm 1).
 *
 * The global step solves (M / h^2 + Q^T Q) x = M s / h^2 + Q^T p. With forces r(x) = -dE/dx at the projections p(x) it
 * is the same as
 *
 *     A dx = r(x),   A = M / h^2 + sum_k 2 mu_k W_k g_i . g_j + springs,   x <- x + dx
 *
 * which needs no Q, takes bones' vertices out of the unknowns (section 4.3) without more ado, and bears float: x is
 * double, r is accurate where it is small, and dx needs few digits. One scalar factor serves three coordinates.
 *
 * Contacts are ties between few vertices; A with them is never factorised (global.h). */
#ifndef SPL_METHODS_PROJECTIVE_SOLVER_H
#define SPL_METHODS_PROJECTIVE_SOLVER_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/pin.h"
#include "methods/projective/pace.h"
#include "methods/projective/ties.h"

typedef struct spl_pd_input {
    const spl_elements *elements;
    const double *mu;     /* by tet; borrowed as all */
    const double *lambda; /* by tet: of corot; NULL: arap */
    const double *bulk;   /* by tet: w of volume constraints; NULL: none */
    const double *mass;   /* by vertex, kg; NULL: none. Read at creation */
    const int32_t *held;  /* by vertex: prescribed if not negative */
    const double *spring; /* by vertex: stiffness of its pins in all, N/m; NULL: none. Read at creation */
    double floor;         /* of the residual's scale, newtons */
    spl_pace_kind pace;
    int32_t tie_capacity; /* these four: global.h */
    int32_t direct_ties;
    const bool *may_touch;
    int32_t inner;
    bool plain; /* without SIMD, for tests */
} spl_pd_input;

/* One step, or one equilibrium. */
typedef struct spl_pd_problem {
    double dt;             /* seconds; 0: quasistatic */
    const double *inertia; /* 3 x vertices: s = x + h v; NULL where dt is 0 */
    const spl_pin *pin;
    int32_t pin_count;
    const double *force; /* 3 x vertices, external; or NULL */
    const spl_tie *tie;  /* contacts */
    int32_t tie_count;
    int32_t iterations; /* at most */
    double tolerance;   /* on the residual, 0: all iterations */
} spl_pd_problem;

typedef struct spl_pd_stats {
    int32_t iterations; /* global steps */
    int32_t rejected;   /* accelerated steps that were taken back */
    double residual;    /* before the last global step, or at the end if it is small enough; --metrics' but for held
                           corners, whose forces do not count: a little larger */
    double energy;      /* there: of tets with a free corner, springs, inertia and external forces */
    bool converged;
    int32_t inner;                                  /* conjugate gradient iterations in all */
    int32_t columns;                                /* of A^-1 that new contacts needed */
    double ms_local, ms_gather, ms_global, ms_pace; /* by stage */
    double ms_ties, ms_factor;                      /* preparation: of contacts, of a new time step */
} spl_pd_stats;

typedef struct spl_pd spl_pd;

/* A problem as an engine sees it. */
typedef struct spl_pd_view {
    const spl_pd_input *in;
    int32_t node_count;
    const int32_t *unknown, *vertex; /* by vertex: its node, or -1; by node: its vertex */
    const spl_pattern *pattern;
    double dt;            /* of the values; negative: none yet */
    const double *values; /* of A */
    const double *x;      /* 4 a vertex */
    const double *anchor; /* 3 a node: where inertia and springs pull it, */
    const double *pull;   /* by node: with this stiffness */
    const double *force;  /* 3 a node: external */
    const spl_tie *tie;
    int32_t tie_count;
    const int32_t *body_end; /* several bodies in one: by body, the node after its last; all but the last are multiples
                                of SPL_CL_BLOCK (cl/device.h), filled up by nodes that nothing moves. NULL: one */
    int32_t body_count;
} spl_pd_view;

/* Sums over a body at x. */
typedef struct spl_pd_sums {
    double energy, squares, magnitude; /* energy; |r|^2; squared sums of the lengths of corners' forces, by node */
} spl_pd_sums;

/* Where iterations run instead of here: on a device. Vectors stand there and have names (vectors.h). A failure is kept
 * until `outcome` tells it; what is asked for after it does nothing. */
typedef struct spl_pd_engine spl_pd_engine;
struct spl_pd_engine {
    spl_pace pace;
    float *r, *r_before, *dx;
    void (*begin)(spl_pd_engine *e, const spl_pd_view *problem);
    /* The local step at x, with so many Newton steps, and forces into r; sums may be NULL. */
    void (*evaluate)(spl_pd_engine *e, const float *r, int newton, spl_pd_sums *sums);
    int32_t (*solve)(spl_pd_engine *e, float *dx); /* dx <- A^-1 dx, roughly; returns inner iterations */
    void (*advance)(spl_pd_engine *e, const float *dx);
    void (*go_back)(spl_pd_engine *e);
    void (*end)(spl_pd_engine *e, double *x); /* x of the nodes into 4 a vertex */
    void (*forget)(spl_pd_engine *e);         /* rotations */
    supple_result (*outcome)(const spl_pd_engine *e, supple_error *error);
    void (*destroy)(spl_pd_engine *e);
};

supple_result spl_pd_create(const spl_pd_input *in, const supple_allocator *a, spl_pool *pool, spl_pd **out,
                            supple_error *error);
void spl_pd_destroy(spl_pd *p); /* accepts NULL */

/* Solves from the x given, whose held vertices stand where they belong. A time step that differs from the last one's
 * makes a new factor; nothing is allocated. SUPPLE_ERROR_SOLVE if numbers stop being finite, A cannot be factorised or
 * an engine has failed: x is then as it was. */
supple_result spl_pd_solve(spl_pd *p, const spl_pd_problem *q, double *x, spl_pd_stats *stats, supple_error *error);

/* Runs the next problems on an engine, which stays the caller's; NULL: here again. */
void spl_pd_use(spl_pd *p, spl_pd_engine *engine);

/* What an engine is made from; x and the rest of a problem are not there yet. */
spl_pd_view spl_pd_look(const spl_pd *p);

/* For those who run a problem themselves: the problem as an engine sees it, borrowed until the next call, and its end:
 * x from 4 numbers a vertex; false, and x as it was, if they are not finite. */
spl_pd_view spl_pd_stage(spl_pd *p, const spl_pd_problem *q, const double *x);
bool spl_pd_unstage(spl_pd *p, const double *x4, double *x);

/* Newton steps of the first local step, the bones having moved, and of the others. */
enum { SPL_PD_FIRST = 3, SPL_PD_LATER = 1 };

/* Forgets rotations. */
void spl_pd_forget(spl_pd *p);

/* By vertex: A's diagonal without inertia, N/m: what contact stiffness is measured by. */
double spl_pd_diagonal(const spl_pd *p, int32_t vertex);

/* Bytes that one solve with the factor reads. */
double spl_pd_factor_bytes(const spl_pd *p);

/* A history of energies for tests: NULL, or room for `iterations` of the next solves. */
void spl_pd_record(spl_pd *p, double *energy);

#endif
