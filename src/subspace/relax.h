/* Poses that are nearly solved, quickly: from where the bones' weights have the flesh, a few steps of a quasi-Newton
 * method (L-BFGS; Nocedal and Wright 2006, 7.4) on the law's energy. The first guess of its inverse Hessian is that of
 * the scalar Laplacian weighted by 2 mu + lambda: one small factor for all poses and all three axes. What training
 * without solved poses learns from. */
#ifndef SPL_SUBSPACE_RELAX_H
#define SPL_SUBSPACE_RELAX_H

#include "body/solid.h"
#include "fem/law.h"

typedef struct spl_relax spl_relax;

/* Bones hold what they hold; loose pieces stay where they are put. The solid and the law must outlive it. */
supple_result spl_relax_create(const spl_solid *solid, const spl_law *law, const supple_config *config,
                               const supple_allocator *a, spl_relax **out, supple_error *error);
void spl_relax_destroy(spl_relax *r); /* accepts NULL */

/* So many steps, fewer where nothing is gained; the energy never rises. x: 3 x vertices. Returns the energy. One thread
 * at a time. */
double spl_relax_run(spl_relax *r, double *x, int32_t steps);

#endif
