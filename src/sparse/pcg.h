/* Preconditioned conjugate gradients with operators given as callbacks. Several right-hand sides run side by side, each
 * with its own coefficients. Sums are taken over fixed blocks in a fixed order: the same bits at any number of threads,
 * if the operators keep to that too. */
#ifndef SPL_SPARSE_PCG_H
#define SPL_SPARSE_PCG_H

#include "core/threads.h"

enum { SPL_PCG_MAX_SIDES = 8 };

/* y = (operator) x for vectors of k interleaved right-hand sides; x and y are different. */
typedef void spl_operator_fn(void *context, const double *x, double *y, int32_t k);

typedef struct spl_pcg_problem {
    spl_operator_fn *multiply; /* symmetric positive definite */
    void *multiply_context;
    spl_operator_fn *precondition; /* an approximate inverse, symmetric positive definite; NULL: none */
    void *precondition_context;
    double tolerance; /* on |b - A x|, */
    bool absolute;    /* or, the default, on |b - A x| / |b|; for each right-hand side */
    int32_t max_iterations;
    bool from_zero;  /* x is zero: its product need not be computed */
    bool recurrence; /* the result's residual is the recurrence's, not computed afresh: one product less */
    double *history; /* NULL, or max_iterations + 1 numbers: the largest norm before each iteration and at the end */
} spl_pcg_problem;

typedef enum spl_pcg_status {
    SPL_PCG_CONVERGED,
    SPL_PCG_LIMIT,     /* max_iterations were not enough */
    SPL_PCG_BREAKDOWN, /* p . A p <= 0: the operator, or r . z < 0: the preconditioner, is not positive definite */
    SPL_PCG_NOT_FINITE,
} spl_pcg_status;

typedef struct spl_pcg_result {
    spl_pcg_status status;
    int32_t iterations;
    double residual; /* the largest |b - A x| (divided by |b| unless absolute), computed afresh at the end unless
                        `recurrence` */
} spl_pcg_result;

typedef struct spl_pcg spl_pcg;

/* Work memory for n unknowns and up to k right-hand sides (at most SPL_PCG_MAX_SIDES). */
supple_result spl_pcg_create(size_t n, int32_t k, const supple_allocator *a, spl_pool *pool, spl_pcg **out,
                             supple_error *error);
void spl_pcg_destroy(spl_pcg *w);

/* Solves from the x that is given; k of the sides it was created for. On every status x is the best known so far. */
spl_pcg_result spl_pcg_solve(spl_pcg *w, const spl_pcg_problem *p, const double *b, double *x, int32_t k);

#endif
