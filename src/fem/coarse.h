/* The coarse level of a two-level preconditioner for elasticity: what an incomplete factor cannot see, motions that are
 * smooth over many tets, is solved for on few functions.
 *
 * The functions are trilinear on a grid of cubes laid through the body, three unknowns each; P takes their values to
 * the nodes, and with A the matrix of the rest shape
 *
 *     y += P (P^T A P)^-1 P^T x
 *
 * is added to what the fine level gives. In a posed body both levels are turned by a rotation per node. A node's
 * weights add up to 1, so that rigid translations are among the functions, and linear fields as well: rotations,
 * stretches. */
#ifndef SPL_FEM_COARSE_H
#define SPL_FEM_COARSE_H

#include "sparse/matrix3.h"

typedef struct spl_coarse spl_coarse;

typedef struct spl_coarse_input {
    const spl_matrix3 *matrix; /* A, needed only during creation */
    const double *position;    /* 3 a node; likewise */
    double cell;               /* edge of the grid's cubes; it grows until there are few enough functions */
    int32_t most;              /* functions; at least 8 */
    bool plain;                /* without SIMD, for tests */
} spl_coarse_input;

/* Takes all memory and factorises P^T A P. `pool` may be NULL and must outlive the level. */
supple_result spl_coarse_create(const spl_coarse_input *in, const supple_allocator *a, spl_pool *pool, spl_coarse **out,
                                supple_error *error);
void spl_coarse_destroy(spl_coarse *c); /* accepts NULL */

/* y += R P (P^T A P)^-1 P^T R^T x, with the rotations `turn` (9 a node, column-major; NULL: none). x and y are 3 a node
 * and do not overlap. In float. Allocates nothing; the same bits at any number of threads. */
void spl_coarse_add(spl_coarse *c, const double *turn, const double *x, double *y);

/* How many functions there are, and the bytes that one call reads. */
int32_t spl_coarse_functions(const spl_coarse *c);
size_t spl_coarse_bytes(const spl_coarse *c);

#endif
