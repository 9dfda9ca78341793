/* A sparse K_b(0) (section 6.3): the Schur complement A_b = A_bb - A_bi A_ii^-1 A_ib of the rest shape (equation 16),
 * kept where boundary vertices are few edges apart. A_ii is factorised once, exactly; then each boundary vertex's
 * columns are solved along the elimination tree (sparse/reach.h), and only what is kept is ever computed. */
#ifndef SPL_METHODS_STEKLOV_BOUNDARY_H
#define SPL_METHODS_STEKLOV_BOUNDARY_H

#include "methods/steklov/exrotated.h"

typedef struct spl_boundary {
    supple_allocator allocator;
    spl_pattern pattern; /* of the boundary nodes, numbered from 0, blocks of 3 */
    double *value;       /* its lower triangle */
    double ms_factor, ms_columns;
    double factor_bytes;
    bool compensated, cached;
} spl_boundary;

/* The pattern alone: pairs of boundary nodes within a distance, in edges of the mesh. */
supple_result spl_boundary_pattern(const spl_exrotated *system, int32_t distance, spl_boundary *out,
                                   supple_error *error);

/* The system is in the rest pose and has its boundary apart. `distance` in edges of the mesh. `compensate`: what is
 * dropped is added to the diagonal by its magnitude, as printed; needs whole columns and takes far longer. */
supple_result spl_boundary_create(const spl_exrotated *system, int32_t distance, bool compensate, spl_boundary *out,
                                  supple_error *error);
void spl_boundary_release(spl_boundary *b);

#endif
