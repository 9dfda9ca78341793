/* Small dense algebra for the basis of an animation: a few hundred unknowns. */
#ifndef SPL_SCENE_WRITERS_BASIS_EIGEN_H
#define SPL_SCENE_WRITERS_BASIS_EIGEN_H

#include <stddef.h>

/* Eigenvalues of a symmetric n x n matrix (destroyed), falling, and its eigenvectors as columns of `vectors`. Jacobi's
 * method: slow, never fails, and exact to rounding also for the small eigenvalues. */
void spl_eigen_symmetric(double *matrix, size_t n, double *values, double *vectors);

/* Makes the columns of a rows x columns matrix (row major) orthonormal. A column that lies in the span of those before
 * it becomes zero. */
void spl_orthonormalise(double *matrix, size_t rows, size_t columns);

#endif
