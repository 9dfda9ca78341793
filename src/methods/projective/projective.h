/* What benchmarks and tests see of the projective method's state. */
#ifndef SPL_METHODS_PROJECTIVE_PROJECTIVE_H
#define SPL_METHODS_PROJECTIVE_PROJECTIVE_H

#include "methods/method.h"
#include "methods/projective/solver.h"

/* The last solve of a state of spl_method_projective. */
const spl_pd_stats *spl_projective_stats(const void *state);

/* Whether its next solve is to run on a device. */
bool spl_projective_on_device(const void *state);

/* A place among bodies that are solved together: its time steps go there. A failure is told once, and the processor
 * goes on. */
typedef struct spl_projective_seat {
    void *self;
    supple_result (*solve)(void *self, const spl_pd_problem *q, double *x, spl_pd_stats *stats, supple_error *error);
} spl_projective_seat;

/* Takes a seat, which must outlive the state or be taken back; NULL: none. False where it has no use for one: without a
 * device, with acceleration, or if it has one. */
bool spl_projective_sit(void *state, const spl_method_context *c, const spl_projective_seat *seat);
spl_pd *spl_projective_pd(void *state);
int32_t spl_projective_inner(const spl_method_context *c);

/* Whether steps of both have the same iterations, inner and outer. */
bool spl_projective_alike(const spl_method_context *a, const spl_method_context *b);

#endif
