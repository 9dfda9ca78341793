/* Bounded biharmonic weights (Jacobson, Baran, Popovic and Sorkine 2011) on tetrahedra.
 *
 * For each bone on its own, with Q = L M^-1 L (L the cotangent stiffness of the tets, M their lumped masses),
 *
 *     minimise 1/2 w^T Q w,   0 <= w <= 1,   w = 1 where the bone holds, 0 where another does.
 *
 * As in the paper's own practice the partition of unity is imposed afterwards, by division
 * (spl_weight_table_normalise): optimality holds before, sums of 1 after.
 *
 * L is factorised once, Q never: conjugate gradients with L^-1 M L^-1 (bbw_part.c) find all bones' minimisers without
 * bounds, side by side. From there each bone goes on by projected Newton (bbw_newton.c), the bones in parallel. A
 * bone's weights vanish in much of the body: a round factorises only the part of L where they move.
 *
 * Converged means: residual = max |w - clamp(w - Q w / diag Q, 0, 1)| <= 1e-7, the length of a projected gradient step
 * in the metric of Q's diagonal, which has the unit of a weight; bounds and held vertices hold exactly. */
#ifndef SPL_BODY_BBW_H
#define SPL_BODY_BBW_H

#include "body/weight_table.h"

typedef struct spl_bbw_report {
    int32_t unknowns;    /* free vertices */
    int32_t bones;       /* that hold vertices */
    int32_t rounds;      /* of Newton, all bones together */
    int32_t iterations;  /* of conjugate gradients: of starts (eight at a time) and rounds */
    int32_t most_rounds; /* of one bone */
    int32_t unfinished;  /* bones that the limit of rounds stopped */
    double mean_part;    /* of the unknowns that move in a round */
    double residual;     /* the largest, as above */
    double ms_system;    /* assembling L, */
    double ms_factor;    /* factorising it, */
    double ms_start;     /* the bones' minimisers without bounds, */
    double ms_bounds;    /* with bounds */
} spl_bbw_report;

/* The weights before normalisation. Every connected piece must have held vertices; a bone without any has weight 0.
 * `report` may be NULL; `config` too: its progress function hears of the stage "weights" and may cancel between bones.
 * The same bits at any number of threads. */
supple_result spl_bbw(const spl_harmonic_input *in, const supple_config *config, spl_pool *pool,
                      const supple_allocator *a, spl_weight_table *out, spl_bbw_report *report, supple_error *error);

#endif
