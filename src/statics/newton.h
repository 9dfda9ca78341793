/* What the files of the Newton solver share. A solve walks: newton.c (steps, line search) -> system.c (one linear
 * system), extended.c (the same with contacts) -> point.c (energy, forces and residual of one x); restart.c finds a
 * start where the given one is hopeless.
 */
#ifndef SPL_STATICS_NEWTON_H
#define SPL_STATICS_NEWTON_H

#include "fem/order.h"
#include "fem/residual.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "sparse/ic0.h"
#include "sparse/matrix3.h"
#include "sparse/pcg.h"
#include "statics/levels.h"
#include "statics/statics.h"

/* The system where an extra has elements (extended.c). */
typedef struct spl_extended {
    spl_pattern pattern;
    spl_rows rows;
    spl_factor *factor; /* direct */
    spl_ic0 *ic0;       /* or PCG */
    double shift;       /* where its next factorisation begins */
    size_t *place;      /* by entry of the assembly's pattern: its entry here */
    double *values;
    int32_t *pair; /* 2 each: nodes */
    size_t pair_count, pair_room;
} spl_extended;

struct spl_statics {
    supple_allocator allocator;
    spl_pool *pool;
    const spl_elements *elements;
    spl_statics_options options;
    int32_t *held; /* by vertex */
    spl_node_order order;
    const int32_t *unknown; /* by vertex: its node in the system, -1 where held */
    const int32_t *vertex;  /* by node */
    int32_t *component;     /* by vertex: its piece of the mesh */
    int32_t *anchors;       /* by piece: held vertices */
    int32_t *pinned;        /* by piece: held and pinned ones, of the running solve */
    int32_t free_count;     /* nodes */
    int32_t piece_count;    /* pieces */
    double volume;          /* of the rest shape */
    bool *exempt;           /* by tet: left out of the running solve */
    bool exempts;           /* its law is a barrier */

    spl_stars stars;
    spl_assembly assembly;
    spl_rows rows;      /* or matrix */
    spl_factor *factor; /* direct */
    spl_ic0 *ic0;       /* or PCG ... */
    spl_levels *levels; /* ... with these instead */
    spl_matrix3 matrix; /* likewise */
    spl_pcg *pcg;
    spl_extended extended;

    double *element_values;   /* 90 x tets */
    double *values;           /* of the system */
    double *elastic_values;   /* those of the elements alone, where the law is quadratic: they stay */
    double *diagonal;         /* 9 x nodes: the diagonal blocks without what only the preconditioner has */
    double *block;            /* 9 x vertices: the extra's diagonal blocks */
    double *force;            /* 3 x vertices: elastic, pins, external, extra */
    double *magnitude;        /* vertices */
    double *scratch;          /* of spl_elastic_forces */
    double *trial;            /* 3 x vertices: x along the line, and the start for restarts */
    double *spread, *product; /* 3 x vertices: the extra's operand and result; a step */
    double *rhs, *direction;  /* 3 x nodes */
};

/* Energy and forces at one x. The forces themselves are in s->force. */
typedef struct spl_point {
    double energy;
    double scale; /* sum of the absolute values of the energy's parts: what its rounding is relative to */
    double norm;  /* |force| over the free vertices */
    double residual;
    double noise; /* what rounding alone makes of |force| */
} spl_point;

/* One running solve. */
typedef struct spl_newton {
    spl_statics *s;
    const spl_statics_problem *problem;
    spl_statics_stats *stats;
    supple_error *error;
    spl_elastic elastic;
    double *x;
    double floor;     /* of the residual */
    double stiffness; /* noise of |force| per unit of |x| */
    double scale;     /* least of the energy */
    double unit;      /* mean diagonal of the system */
    double shift;     /* added to the diagonal, in units of `unit` */
    double blend;     /* share of the negative curvature that the next step keeps */
    double exact;     /* of the Hessian that is assembled */
    int patience;     /* steps before it grows */
    bool last_full;   /* the last step was taken whole */
    bool assembled;   /* s->elastic_values has the elements' */
    bool turned;      /* the preconditioner's levels have been, in this solve */
    bool still;       /* and moved nothing by more than options.still */
    spl_point at;
} spl_newton;

/* ---- point.c ---- */

/* What does not change during a solve: floor, noise, pieces without anchors. */
void spl_newton_begin(spl_newton *n);

/* Energy, forces and residual at x. */
spl_point spl_newton_evaluate(spl_newton *n, const double *x);

/* ---- system.c ---- */

typedef enum spl_hessian {
    SPL_HESSIAN_PROJECTED,
    SPL_HESSIAN_BLENDED, /* n->blend times the exact one, the rest projected */
    SPL_HESSIAN_LAPLACE, /* 2 mu I: for restarts */
} spl_hessian;

/* The system's matrix at n->x, with pins, and n->shift. */
void spl_system_assemble(spl_newton *n, spl_hessian kind);

/* Adds to the diagonal, in units of the mean diagonal. */
void spl_system_shift(spl_newton *n, double shift);

/* Factorises, complete or not. SUPPLE_ERROR_SOLVE: not positive definite. `plain`: without the extra's part. */
supple_result spl_system_factorise(spl_newton *n, bool plain);

/* s->direction = A \ s->rhs, the extra's Hessian in A unless `plain`. SUPPLE_ERROR_SOLVE: no use. */
supple_result spl_system_solve(spl_newton *n, bool plain);

/* ---- extended.c ---- */

/* The system's matrix with the extra's elements, which must exist, in s->extended. */
supple_result spl_extended_fill(spl_newton *n);

/* Every solve begins without the pattern of earlier ones: pairs that have parted lose their place, and what was solved
 * before does not change the bits. */
void spl_extended_forget(spl_statics *s);
void spl_extended_release(spl_extended *c, const supple_allocator *a);

/* Whether the extra gives elements. */
static inline bool spl_newton_extends(const spl_newton *n)
{
    return n->problem->extra && n->problem->extra->elements;
}

/* ---- restart.c ---- */

/* Where many tets of n->x are inverted: a start from the held vertices alone, taken if its energy is lower. n->at is
 * that of n->x before and after. */
void spl_newton_restart(spl_newton *n);

/* ---- newton.c ---- */

supple_result spl_newton_run(spl_newton *n);

#endif
