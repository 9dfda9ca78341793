/* The biharmonic system that all bones share, and one bone's programme on it. */
#ifndef SPL_BODY_BBW_PRIVATE_H
#define SPL_BODY_BBW_PRIVATE_H

#include "body/bbw.h"
#include "sparse/assembly.h"

typedef struct bbw_system {
    const spl_harmonic_input *in;
    const supple_allocator *a;
    int32_t n, free_count;
    int32_t *vertex;      /* the free vertices, ascending */
    spl_assembly whole;   /* L of all vertices */
    spl_rows rows;        /* both triangles of it */
    double *stiffness;    /* values of L */
    double *inverse_mass; /* by vertex */
    double *diagonal;     /* of Q, by free vertex */
} bbw_system;

/* Systems of Q between those free vertices that move. */
typedef struct bbw_part bbw_part;

/* What one bone's programme came to. */
typedef struct bbw_result {
    supple_result result;
    int32_t rounds;
    int32_t iterations;
    double part; /* sum over the rounds of the unknowns */
    double residual;
    bool finished;
} bbw_result;

supple_result spl_bbw_system_make(bbw_system *s, spl_pool *pool, supple_error *error);
void spl_bbw_system_release(bbw_system *s);

/* g = Q w of k interleaved sides, all vertices; `y` is room for as many. */
void spl_bbw_gradient(const bbw_system *s, const double *w, int32_t k, double *y, double *g, spl_pool *pool);

/* For solves of up to `sides` right-hand sides (SPL_PCG_MAX_SIDES). `backend` and `pool` are for the factor, and may be
 * NULL. */
supple_result spl_bbw_part_create(const bbw_system *s, int32_t sides, const supple_solver_backend *backend,
                                  const supple_allocator *a, spl_pool *pool, bbw_part **out);
void spl_bbw_part_destroy(bbw_part *p);

/* From now on these move (by free vertex). Factorises, unless they are those that moved before. */
supple_result spl_bbw_part_set(bbw_part *p, const bool *moves);

/* x = Q_mm \ b over the m that move, to |b - Q_mm x| <= tolerance |b|; b and x by free vertex, k interleaved sides; x
 * is 0 at those that do not move. Returns the iterations. */
int32_t spl_bbw_part_solve(bbw_part *p, const double *b, double *x, int32_t k, double tolerance);

/* Takes w (all vertices) from the minimiser without bounds to the one with bounds. */
bbw_result spl_bbw_newton(const bbw_system *s, const supple_allocator *a, double *w);

#endif
