/* The volumetric formulation (section 7): conjugate gradients on all free vertices, the twin that the surface
 * formulation is measured against. The preconditioner is the incomplete factor of the rest shape's matrix, conjugated
 * by the vertices' rotations ("skinned"). */
#ifndef SPL_METHODS_STEKLOV_VOLUME_H
#define SPL_METHODS_STEKLOV_VOLUME_H

#include "methods/steklov/active.h"
#include "sparse/factor.h"
#include "sparse/ic3.h"
#include "sparse/pcg.h"

typedef enum spl_steklov_preconditioner {
    SPL_PRECONDITION_CONTACT, /* skinned, with the contacts' springs in it */
    SPL_PRECONDITION_SKINNED, /* without them: the paper's */
    SPL_PRECONDITION_NONE,
    SPL_PRECONDITION_DIRECT, /* the pose's own matrix factorised, springs' diagonals included */
} spl_steklov_preconditioner;

/* What stands for A^-1 in conjugate gradients in place of the volume's own incomplete factor. */
typedef struct spl_inverse {
    void (*apply)(void *context, const double *x, double *y); /* y = it times x, 3 a node; NULL: the factor */
    supple_result (*stiffen)(void *context, bool springs,
                             supple_error *error); /* with the springs' diagonals, or not */
    void *context;
} spl_inverse;

typedef struct spl_volume {
    spl_exrotated *system;
    spl_springs *springs;
    spl_steklov_preconditioner precondition;
    int32_t max_iterations;
    double *lower;       /* A by its lower triangle, for direct */
    spl_pattern pattern; /* for direct */
    spl_ic3 *ic;         /* NULL: there is `inverse`, or another way */
    spl_inverse inverse;
    spl_active active; /* for springs along planes */
    bool stalled;      /* it has, in this frame: steps are Newton's */
    spl_zone zone;     /* of contacts that are in the preconditioner */
    spl_factor *factor;
    spl_pcg *pcg;
    double *dx, *image; /* a step, and room */
    double *history;    /* NULL, or max_iterations + 1: of the last solve, for tests and benches */
} spl_volume;

typedef struct spl_volume_options {
    spl_steklov_preconditioner precondition;
    int32_t max_iterations;
    bool single;  /* the incomplete factor in float */
    bool history; /* keep the residuals of solves */
    const supple_solver_backend *backend;
    spl_inverse inverse; /* for precondition = contact or skinned */
} spl_volume_options;

/* The system is in the rest pose. */
supple_result spl_volume_create(spl_exrotated *system, spl_springs *springs, const spl_volume_options *options,
                                spl_volume *out, supple_error *error);
void spl_volume_release(spl_volume *v);

extern const spl_formulation spl_formulation_volume; /* its state is a spl_volume */

#endif
