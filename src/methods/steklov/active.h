/* Conjugate gradients while contacts come and go. The pairs of a frame are kept (springs.h), so that its energy is
 * convex and quadratic by pieces: which piece, only the answer tells. A solve under one set of active springs, a search
 * along it, and a solve under the next one pays for every piece with iterations that the next forgets. Here the set
 * follows every iteration instead:
 *
 *     z = the preconditioner's answer to the true residual, made conjugate to the zone (zone.h)
 *     the energy's minimum over z and the last direction p, springs as they come and go: that is the step and the next
 * p where the set changed: the zone's factor made again, its own correction, and p made conjugate to it again
 *
 * While the set stays these are conjugate gradients. */
#ifndef SPL_METHODS_STEKLOV_ACTIVE_H
#define SPL_METHODS_STEKLOV_ACTIVE_H

#include "methods/steklov/zone.h"

typedef struct spl_active {
    const spl_exrotated *system;
    spl_springs *springs;
    double *dx, *f, *r;        /* 3 a node: the way, the elastic forces and the residual there */
    double *z, *az, *p, *ap;   /* 3 a node: directions and A times them */
    double *along_z, *along_p; /* by known contact: how fast it comes out */
    bool has_last;             /* p is of the same frame; set it to false when A changes */
    bool exact;                /* the residual is zero on the zone */
} spl_active;

typedef struct spl_active_problem {
    spl_zone *zone;
    void (*multiply)(void *context, const double *x, double *y);     /* y = A x, without springs */
    void (*precondition)(void *context, const double *x, double *y); /* without the zone */
    void *context;
    double goal; /* of the residual, N */
    int32_t max_iterations;
} spl_active_problem;

typedef struct spl_active_result {
    double residual;
    int32_t iterations, changes; /* of the set */
    bool finite, definite, stalled;
} spl_active_result;

supple_result spl_active_create(const spl_exrotated *system, spl_springs *springs, spl_active *out,
                                supple_error *error);
void spl_active_release(spl_active *a);

/* From elastic forces `force` with dx = 0 to less than the goal; the way is in a->dx, and the springs' list is of the
 * contacts that are active there. The zone is prepared for the springs that there are. */
spl_active_result spl_active_solve(spl_active *a, const spl_active_problem *p, const double *force);

#endif
