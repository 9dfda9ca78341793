/* The biharmonic system that all bones share, and one bone's programme on it. */
#ifndef SPL_BODY_BBW_PRIVATE_H
#define SPL_BODY_BBW_PRIVATE_H

#include "body/bbw.h"
#include "sparse/assembly.h"

typedef struct bbw_system {
    const spl_harmonic_input *in;
    const supple_allocator *a;
    int32_t n, free_count;
    int32_t *unknown;     /* by vertex: its row in Q, -1 if held */
    int32_t *vertex;      /* by row of Q */
    spl_assembly whole;   /* L of all vertices */
    spl_rows rows;        /* both triangles of it */
    double *stiffness;    /* values of L */
    double *inverse_mass; /* by vertex */
    spl_pattern pattern;  /* of Q among the free vertices */
    double *value;        /* of Q */
    double *diagonal;     /* of Q, by row */
} bbw_system;

/* What one bone's programme came to. */
typedef struct bbw_result {
    supple_result result;
    int32_t rounds;
    double part; /* sum over the rounds of the unknowns */
    double residual;
    bool finished;
} bbw_result;

supple_result spl_bbw_system_make(bbw_system *s, spl_pool *pool, supple_error *error);
void spl_bbw_system_release(bbw_system *s);

/* g = Q w, all vertices; `y` is room for as many. */
void spl_bbw_gradient(const bbw_system *s, const double *w, double *y, double *g, spl_pool *pool);

/* Takes w (all vertices) from the minimiser without bounds to the one with bounds. */
bbw_result spl_bbw_newton(const bbw_system *s, const supple_allocator *a, double *w);

#endif
