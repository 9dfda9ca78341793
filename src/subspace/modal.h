/* Vibrations of the whole body about its rest shape: the lowest modes of K psi = lambda M psi with held vertices fixed
 * (shift-invert Lanczos by ARPACK on our factor of K), and their modal derivatives (Barbic and James 2005):
 *
 *     K Phi_ij = -(dK/du . psi_j) psi_i,      symmetric in i and j. */
#ifndef SPL_SUBSPACE_MODAL_H
#define SPL_SUBSPACE_MODAL_H

#include "body/solid.h"
#include "fem/law.h"

typedef struct spl_modal {
    supple_allocator allocator;
    int32_t vertex_count, mode_count, derivative_count;
    double *value;      /* lambda, rising, 1/s^2 */
    double *mode;       /* mode_count x (3 x vertex_count), mass-orthonormal, 0 at held vertices */
    int32_t *pair;      /* 2 x derivative_count: i <= j, those of largest weight lambda_1^2 / (lambda_i lambda_j);
                         * rising by j, then i */
    double *derivative; /* derivative_count x (3 x vertex_count) */
} spl_modal;

/* `modes` from 1; there are at most as many as unknowns, less one. Loose pieces hang on the solid's springs. On failure
 * *out is zero. SUPPLE_ERROR_ARGUMENT in a build without ARPACK. */
supple_result spl_modal_create(const spl_solid *solid, const spl_law *law, int32_t modes, int32_t derivatives,
                               const supple_config *config, spl_pool *pool, spl_modal *out, supple_error *error);
void spl_modal_release(spl_modal *m);

/* How the body gives way to forces, linearly about its rest shape: u = K \ f in place, `count` of 3 x vertex_count
 * numbers; what acts on held vertices is lost. */
supple_result spl_modal_respond(const spl_solid *solid, const spl_law *law, double *force, int32_t count,
                                const supple_config *config, spl_pool *pool, supple_error *error);

#endif
