/* The largest eigenvalues of a symmetric operator that is known by its products alone: ARPACK's implicitly restarted
 * Lanczos method. */
#ifndef SPL_SUBSPACE_LANCZOS_H
#define SPL_SUBSPACE_LANCZOS_H

#include <supple/base.h>

typedef struct spl_lanczos {
    int32_t n;     /* unknowns */
    int32_t count; /* eigenvalues wanted, 1 to n - 1 */
    double tolerance;
    supple_result (*apply)(void *context, const double *x, double *y, supple_error *error); /* y = A x */
    void *context;
} spl_lanczos;

/* value: count numbers, falling; vector: count x n, orthonormal, the component of largest size positive. Of two calls
 * in two threads one waits: ARPACK keeps its state in static variables. SUPPLE_ERROR_SOLVE where it does not converge;
 * SUPPLE_ERROR_ARGUMENT in a build without ARPACK. */
supple_result spl_lanczos_largest(const spl_lanczos *p, const supple_allocator *a, double *value, double *vector,
                                  supple_error *error);

#endif
