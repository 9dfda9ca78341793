/* The surface formulation (sections 5 and 6): unknowns are the boundary's vertices; interior ones are in equilibrium
 * with them. A Newton step solves (A~_b + springs) dx_b = f_b, where A~_b = A_bb - A_bi X A_ib with X ~ A_ii^-1 is
 * applied, never formed; then the interior is brought to equilibrium again (figure 2). X is
 *
 *     printed     R L^-T L^-1 R^T, the skinned incomplete factor of the rest shape, once (6.1); divided by the largest
 *                 eigenvalue of its product with A_ii where that is above 1: then X exceeds A_ii^-1, A~_b need not be
 *                 definite, and Newton's steps diverged
 *     polynomial  x1 = C_k(b), x = x1 + C_k(b - A_ii x1), with C_k k Chebyshev steps of the same factor: b - A_ii x is
 *                 p(A_ii M)^2 b, so that X never exceeds A_ii^-1 and A~_b stays definite; far closer
 *
 * That is for comparisons: by default a step is exact. Conjugate gradients on all nodes carry the interior along, and
 * what is known of the surface preconditions them (`exact`): with the incomplete factor for A_ii and K_b for the Schur
 * complement in the block factors of A, contacts as in the volume's solves (zone.h, active.h). The residual of the
 * interior is part of theirs, so that nothing is left to relax.
 *
 * The preconditioner of the surface is the sparse K_b(0) of boundary.h, turned by the boundary's rotations (equation
 * 15), with the contacts' springs on its diagonal where no zone answers them. */
#ifndef SPL_METHODS_STEKLOV_SCHUR_H
#define SPL_METHODS_STEKLOV_SCHUR_H

#include "methods/steklov/boundary.h"
#include "methods/steklov/volume.h"

typedef struct spl_schur_options {
    spl_steklov_preconditioner precondition; /* direct counts as contact */
    int32_t max_iterations;
    int32_t distance; /* of K_b's pattern, edges */
    int32_t degree;   /* k of the Chebyshev steps; 0: as printed */
    bool incomplete;  /* of K_b: an incomplete factor instead of a complete one */
    bool exact;       /* no modified Newton: conjugate gradients with the interior in them; `degree` is of the others */
    bool compensate;  /* what K_b drops goes to its diagonal in any case, not only where it is not definite without */
    bool single;      /* incomplete factors in float */
    bool history;
    const supple_config *config; /* for the cache; may be NULL */
} spl_schur_options;

typedef struct spl_schur {
    spl_exrotated *system;
    spl_springs *springs;
    spl_schur_options options;
    spl_ic3 *ic;      /* of A_ii at rest */
    double low, high; /* eigenvalues of the factor's inverse times A_ii that the polynomial is made for */
    double rest_high; /* the latter in the rest pose */
    double *wave;     /* 3 an interior node: the largest one's vector, of the last pose, in the nodes' axes */
    spl_boundary boundary;
    double lift;        /* share added to K_b's diagonal to make it definite */
    double *value;      /* K_b with springs, 9 an entry */
    spl_factor *factor; /* of it */
    spl_rows rows;      /* of its pattern, for the incomplete one */
    double *row_value;
    spl_ic3 *boundary_ic;
    bool plain_factor;                     /* it has no springs in it */
    spl_pcg *inner, *outer;                /* NULL if exact */
    spl_volume whole;                      /* of an exact step */
    double *side, *inside, *t, *z, *d, *r; /* 3 an interior node */
    double *inner_image;                   /* the same */
    double *dx, *image;                    /* 3 a boundary node */
    float *turned;                         /* 3 a boundary node */
    int32_t *stiff;                        /* boundary nodes that springs act on, numbered from 0 */
    double *history;
} spl_schur;

/* The system is in the rest pose and has its boundary apart. */
supple_result spl_schur_create(spl_exrotated *system, spl_springs *springs, const spl_schur_options *options,
                               spl_schur *out, supple_error *error);
void spl_schur_release(spl_schur *s);

/* y = A~_b x, without springs: for tests. */
void spl_schur_operator(spl_schur *s, const double *x, double *y);

/* y ~ A_ii^-1 x by the operator's X, 3 an interior node. x and y are different. */
void spl_schur_inverse(spl_schur *s, const double *x, double *y);

/* Conjugate gradients on the interior alone: A_ii y = x to |x - A_ii y| <= goal, from the y given. */
spl_pcg_result spl_schur_relax(spl_schur *s, const double *x, double *y, double goal);

/* y = the preconditioner's inverse times x, 3 a boundary node. */
void spl_schur_precondition(spl_schur *s, const double *x, double *y);

extern const spl_formulation spl_formulation_surface; /* its state is a spl_schur */

#endif
