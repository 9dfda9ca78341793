/* The local step of local/global rounds: rotations nearest to the tets' deformation, eight at a time. */
#ifndef SPL_METHODS_MIXED_ROUNDS_H
#define SPL_METHODS_MIXED_ROUNDS_H

#include "core/threads.h"
#include "fem/elements.h"
#include "math/rotation3.h"

typedef struct spl_rounds {
    supple_allocator allocator;
    spl_quatx8 *turn; /* (tets + 7) / 8: where the next Newton iteration starts */
    spl_mat3x8 *F;
} spl_rounds;

supple_result spl_rounds_create(const spl_elements *e, const supple_allocator *a, spl_rounds *out, supple_error *error);
void spl_rounds_release(spl_rounds *r);

/* rotation (9 a tet) <- polar(F(x)), found from the rotation that is there. */
void spl_rounds_rotate(spl_rounds *r, const spl_elements *e, const double *x, double *rotation, spl_pool *pool);

#endif
