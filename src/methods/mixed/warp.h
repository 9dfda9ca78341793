/* The condensed system of the mixed paper's equation 12 for energies that are quadratic in S, and how it is solved.
 *
 * With R_k given, W_k psi(sym(R_k^T F_k)) is linear elasticity in coordinates turned by R_k, so the element matrices
 * are those of the rest shape, conjugated (h_i = R_k g_i):
 *
 *     K_ij = W (mu (h_i . h_j) I + mu h_j h_i^T + lambda h_i h_j^T)
 *
 * Every frame assembles A from them and solves A dx = f(x) for the correction of a start x, until |f| falls below a
 * tolerance in the measure of --metrics. Pins and springs add k to the diagonal; springs of contacts, of which
 * there are few and not always the same, are no part of A's entries but of its products.
 *
 * The two corrections before say where to start (past.h). Four ways to solve:
 *     levels  conjugate gradients; an incomplete factor of the rest shape and a coarse level (fem/coarse.h), both
 *             turned by a rotation per vertex, precondition. What auto takes
 *     warp    the same with the rest shape's complete factor
 *     scalar  the same with a scalar Laplacian's factor, which no rotation changes, on three coordinates
 *     direct  A factorised every frame */
#ifndef SPL_METHODS_MIXED_WARP_H
#define SPL_METHODS_MIXED_WARP_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/pin.h"
#include "methods/mixed/touch.h"

#include <supple/plugin.h>

typedef enum spl_warp_solver {
    SPL_WARP_AUTO,
    SPL_WARP_LEVELS,
    SPL_WARP_REST,
    SPL_WARP_SCALAR,
    SPL_WARP_DIRECT
} spl_warp_solver;

typedef struct spl_warp_input {
    const spl_elements *elements;
    const double *rest;        /* 3 a vertex: the shape at rest. Read at creation */
    const double *mu, *lambda; /* by tet; borrowed */
    const int32_t *held;       /* by vertex: prescribed if not negative; borrowed */
    const double *spring;      /* by vertex: stiffness of its pins in all, N/m; NULL: none. Read at creation */
    spl_warp_solver solver;
    const supple_solver_backend *backend;
    double floor; /* of the residual's scale, newtons */
    bool plain;   /* without SIMD, for tests */
} spl_warp_input;

/* One solve. */
typedef struct spl_warp_problem {
    const double *rotation; /* 9 a tet, column-major */
    const double *turn;     /* 9 a vertex: rotations for the preconditioner; NULL: means of the tets' around */
    const spl_pin *pin;
    int32_t pin_count;
    const double *force;             /* 3 x vertices, external; or NULL */
    const spl_contact_spring *touch; /* springs of contacts; their corners move along */
    int32_t touch_count;
    const double *spin; /* by tet, Pa: flesh is kept from turning away from R (stiffness.h); NULL: it is free to */
    double tolerance;   /* on the residual of --metrics */
    int32_t max_iterations;
    bool follow_up; /* another solve of a frame: its correction says nothing of the next frame's */
    bool same;      /* rotations, turns and spin are those of the last problem: so is A */
} spl_warp_problem;

typedef struct spl_warp_stats {
    spl_warp_solver solver; /* the one that auto took */
    int32_t iterations;
    double residual; /* reached */
    bool converged;  /* it is small enough, or the forces are less than the residual's floor: rounding */
    double ms_force, ms_assembly, ms_factor; /* of this solve; factor: 0 unless the solver factorises every frame */
    double ms_solve;
    double ms_setup; /* of its creation: analysis, and the factor that is made once */
    double bytes;    /* that one iteration reads: matrix, factor and vectors */
} spl_warp_stats;

typedef struct spl_warp spl_warp;

supple_result spl_warp_create(const spl_warp_input *in, const supple_allocator *a, spl_pool *pool, spl_warp **out,
                              supple_error *error);
void spl_warp_destroy(spl_warp *w); /* accepts NULL */

/* Solves from the x given, whose held vertices stand where they belong. SUPPLE_ERROR_SOLVE if numbers stop being
 * finite or a factorisation fails; a tolerance that was not reached is only in the stats. Allocates nothing. */
supple_result spl_warp_solve(spl_warp *w, const spl_warp_problem *p, double *x, spl_warp_stats *stats,
                             supple_error *error);

/* Forgets the last frames, from whose corrections a solve starts: the next one starts as the first did. */
void spl_warp_forget(spl_warp *w);

/* Forces at x, as the last solve left them (3 x vertices), for tests. */
const double *spl_warp_forces(const spl_warp *w);

#endif
