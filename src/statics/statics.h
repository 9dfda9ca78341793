/* The quasistatic solver that everything is measured against: Newton's method with a line search on projected Hessians.
 *
 * It minimises sum_k W_k psi(F_k) + sum_p k_p/2 |x_p - target_p|^2 - f . x + extra(x) over the free vertices, for any
 * law. Held vertices stay where x has them. Pattern and ordering are analysed once. */
#ifndef SPL_STATICS_STATICS_H
#define SPL_STATICS_STATICS_H

#include "core/threads.h"
#include "fem/elements.h"
#include "fem/extra.h"
#include "fem/law.h"
#include "fem/pin.h"
#include "sparse/pattern.h"

#include <supple/plugin.h>

/* One quasistatic problem. All arrays are borrowed for the call. */
typedef struct spl_statics_problem {
    const spl_law *law;
    const double *mu, *lambda; /* by tet */
    const double *rotation;    /* 9 a tet, column-major, for laws that need one; else NULL */
    const spl_pin *pin;
    int32_t pin_count;
    const double *force;    /* 3 x vertex_count, external; or NULL */
    const spl_extra *extra; /* or NULL */
    const int32_t *firm;    /* by vertex, as `held`: what a motion prescribes, held or not in this solve; NULL: held */
} spl_statics_problem;

typedef enum spl_statics_solver {
    SPL_STATICS_DIRECT, /* factorise every Newton step */
    SPL_STATICS_PCG,    /* conjugate gradients, incomplete Cholesky: less memory on large meshes */
} spl_statics_solver;

/* The shape at rest, of which a preconditioner for PCG is made once (levels.h), instead of an incomplete factor of
 * every matrix: for problems without an extra. All is read at creation. */
typedef struct spl_statics_rest {
    const spl_law *law;
    const double *position;    /* 3 a vertex */
    const double *mu, *lambda; /* by tet */
    const spl_pin *pin;
    int32_t pin_count;
} spl_statics_rest;

typedef struct spl_statics_options {
    spl_statics_solver solver;
    const spl_statics_rest *rest; /* or NULL */
    double tolerance;             /* on the residual below */
    int32_t max_iterations;       /* Newton steps */
    const supple_solver_backend *backend;
    double size;  /* L of the residual: diagonal of the rest shape's bounding box; 0: cube root of its volume */
    double still; /* a whole step that moves no vertex by more than this ends the solve, metres; 0: never */
    const supple_config *config; /* its progress is asked before each step whether to go on; NULL: always */
    double *history;             /* NULL, or max_iterations + 1 numbers: the residual before each step and at the end */
} spl_statics_options;

spl_statics_options spl_statics_options_default(void); /* direct, 1e-8, 200 */

/* Milliseconds by stage, all Newton steps together. */
typedef struct spl_statics_times {
    double evaluate;  /* energy and forces */
    double hessian;   /* element Hessians */
    double assemble;  /* their sum */
    double factorise; /* or the incomplete factor */
    double solve;     /* back substitution or conjugate gradients */
    double total;
} spl_statics_times;

typedef struct spl_statics_stats {
    bool converged;
    int32_t iterations, inner; /* Newton steps; PCG iterations in all */
    double residual;           /* as spl_residual defines it */
    double energy;
    int32_t exact;          /* steps with the exact Hessian */
    int32_t factorisations; /* those that failed count too */
    int32_t analyses;       /* of patterns that contacts changed */
    int32_t evaluations;    /* of energy and forces */
    int32_t islands;        /* pieces with free vertices and fewer than three held or pinned ones */
    bool restarted;         /* the start was given up for a better one (docs/reference.md) */
    bool still;             /* converged because the last step was whole and no longer than options.still */
    double shortest;        /* share of a step that the extra allowed, at least */
    bool softened;          /* the law's barrier could not be kept: the answer is the stable neo-Hookean one */
    int32_t exempt;         /* tets that were left out, see spl_statics_exempt */
    bool rounding;          /* converged because the forces are what rounding leaves, as in a rigid motion */
    spl_statics_times ms;
} spl_statics_stats;

typedef struct spl_statics spl_statics;

/* Prepares for one mesh and one set of held vertices (held[v] >= 0: a bone's vertex, as spl_body.bone; -1 free), which
 * is copied; elements, pool and options->history must outlive the solver. */
supple_result spl_statics_create(const spl_elements *elements, const int32_t *held, const supple_allocator *a,
                                 spl_pool *pool, const spl_statics_options *options, spl_statics **out,
                                 supple_error *error);
void spl_statics_destroy(spl_statics *s);

/* Solves from the x given (3 x vertex_count, held vertices at their places), which may be collapsed, random or
 * inverted. SUPPLE_ERROR_SOLVE if the numbers are not finite or no descent is possible; not having converged is in the
 * stats. Where an extra or the law bounds steps, a solve that is wedged in ends where it is, not converged.
 *
 * With a law that is a barrier no step inverts a tet (fem/filter.h). If some are inverted at the start, a solve with
 * the stable neo-Hookean law comes first; where that leaves any, its answer stands. */
supple_result spl_statics_solve(spl_statics *s, const spl_statics_problem *problem, double *x, spl_statics_stats *stats,
                                supple_error *error);

/* By tet: those that the last solve left out, being inverted at its start with all corners firm. Belongs to the solver.
 * NULL where its law was no barrier. */
const bool *spl_statics_exempt(const spl_statics *s);

#endif
