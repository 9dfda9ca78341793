/* Newton's method on the equilibrium of a pose (equation 3): forces, contacts found afresh before every step, and a
 * step by one of two formulations. Elastic forces are affine in x, so that they are summed over tets once a frame and
 * then follow by products with A. */
#ifndef SPL_METHODS_STEKLOV_NEWTON_H
#define SPL_METHODS_STEKLOV_NEWTON_H

#include "methods/steklov/springs.h"

/* What a frame did. Times in milliseconds. */
typedef struct spl_steklov_stats {
    double ms_skinning, ms_stiffness, ms_force, ms_contact;
    double ms_interior, ms_boundary; /* the volume formulation's solves count as the boundary's */
    double ms_precondition;          /* factors made again for contacts */
    int32_t interior_solves, interior_iterations, boundary_iterations;
    int32_t newton, pairs, cycles;
    double shortest;    /* smallest share of a step that was taken */
    int32_t breakdowns; /* solves that ended because an operator was not definite */
    double contraction; /* mean factor of the residual a step, over steps with the same contacts; NAN without any */
    double residual;    /* of --metrics, with contacts found afresh */
    double moved;       /* the longest way of a vertex in the last step, m */
    bool converged, same_set;
} spl_steklov_stats;

typedef struct spl_newton spl_newton;

/* A formulation: how a step is found. */
typedef struct spl_formulation {
    const char *name;
    /* Before the first step of a pose: the interior brought to equilibrium, or nothing. `goal` is the tolerance, N. */
    supple_result (*begin)(void *state, spl_newton *n, double goal, supple_error *error);
    /* A step for the residual n->residual (3 a node) to about `goal`, N: moves n->x and n->force by spl_newton_move. */
    supple_result (*step)(void *state, spl_newton *n, double goal, supple_error *error);
} spl_formulation;

struct spl_newton {
    spl_exrotated *system;
    spl_springs *springs;
    const spl_formulation *formulation;
    void *state;
    double *x;             /* 3 x vertices, the caller's */
    double *force;         /* 3 a node: elastic and external */
    double *residual;      /* 3 a node: the springs' too */
    double *best;          /* 3 x vertices */
    double *past, *change; /* 3 a node: from the last frame's start to its end, and less the same a frame before */
    double *start;         /* 3 a node: where this frame began */
    int32_t past_count;    /* how many of them are known */
    bool slow;             /* the last step left more than half of the residual */
    bool follows;          /* contacts came and went within the last step (active.h) */
    double last_scale;     /* of the residual, at the last solution; 0: unknown */
    spl_steklov_stats stats;
};

typedef struct spl_newton_options {
    double tolerance;
    int32_t max_steps;
    double still; /* m: a step that moves no vertex farther ends the frame, too; 0: only the residual does */
    bool frozen;  /* the springs are those that are there already, active or not: for comparisons */
} spl_newton_options;

supple_result spl_newton_create(spl_exrotated *system, spl_springs *springs, spl_newton *out, supple_error *error);
void spl_newton_release(spl_newton *n);

/* x += dx, and the forces' answer: of all nodes (SPL_ALL), the interior (SPL_II) or the boundary (SPL_BB). */
void spl_newton_move(spl_newton *n, spl_quarter which, const double *dx);

/* The same by the share of dx that lowers the energy most, known contacts included (SPL_ALL or SPL_BB); dx is scaled by
 * it. All of dx is what stats.moved measures. `curvature` is dx . A dx, of the boundary's operator where that is it. */
void spl_newton_search(spl_newton *n, spl_quarter which, double *dx, double curvature);

/* Forgets the last frame. */
void spl_newton_forget(spl_newton *n);

/* Counts the ways of nodes by dx, 3 each, in stats.moved. */
void spl_newton_measure(spl_newton *n, const double *dx, size_t nodes);

/* From x to the equilibrium of the system's pose. A tolerance that was not reached is only in the stats; x is then the
 * best one found. SUPPLE_ERROR_SOLVE where numbers stop being finite. */
supple_result spl_newton_solve(spl_newton *n, const spl_newton_options *o, double *x, supple_error *error);

#endif
