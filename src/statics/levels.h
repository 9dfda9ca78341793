/* A preconditioner for Newton's systems that is made once: two levels of the rest shape's matrix, an incomplete factor
 * without fill in blocks of 3 x 3, in float, and a coarse grid (fem/coarse.h). In a posed body both are turned by a
 * rotation per node, that of the flesh around it. */
#ifndef SPL_STATICS_LEVELS_H
#define SPL_STATICS_LEVELS_H

#include "fem/order.h"
#include "fem/residual.h"
#include "sparse/assembly.h"
#include "statics/statics.h"

typedef struct spl_levels spl_levels;

typedef struct spl_levels_input {
    const spl_elements *elements;
    const spl_stars *stars;
    const spl_node_order *order;  /* its nodes are the unknowns */
    const spl_assembly *assembly; /* of 3 x 3 blocks over these nodes */
    const spl_statics_rest *rest; /* read at creation, as the assembly is; the others must outlive the levels */
} spl_levels_input;

/* SUPPLE_ERROR_SOLVE: the rest shape's matrix has no factors. */
supple_result spl_levels_create(const spl_levels_input *in, const supple_allocator *a, spl_pool *pool, spl_levels **out,
                                supple_error *error);
void spl_levels_destroy(spl_levels *l); /* accepts NULL */

/* Turns the levels as the flesh at x (3 a vertex) is turned. */
void spl_levels_turn(spl_levels *l, const double *x);

/* y = about A^-1 x, 3 a node; for pcg.h, with one right-hand side. */
void spl_levels_apply(void *levels, const double *x, double *y, int32_t k);

#endif
