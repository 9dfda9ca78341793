/* Small dense algebra: a few hundred unknowns. */
#ifndef SPL_MATH_DENSE_H
#define SPL_MATH_DENSE_H

#include <stddef.h>

/* The sum of products of n numbers, in one order however the compiler vectorises it. */
double spl_dense_dot(const double *a, const double *b, size_t n);

/* Eigenvalues of a symmetric n x n matrix (destroyed), falling, and its eigenvectors as columns of `vectors`. Jacobi's
 * method: slow, never fails, and exact to rounding also for the small eigenvalues. */
void spl_eigen_symmetric(double *matrix, size_t n, double *values, double *vectors);

/* Makes the columns of a rows x columns matrix (row major) orthonormal. A column that lies in the span of those before
 * it becomes zero. */
void spl_orthonormalise(double *matrix, size_t rows, size_t columns);

#endif
