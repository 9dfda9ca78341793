/* Eigenvectors of small dense matrices, symmetric and positive semidefinite: one-sided Jacobi. */
#ifndef SPL_SUBSPACE_EIGEN_H
#define SPL_SUBSPACE_EIGEN_H

#include "core/threads.h"

/* G (n x n) becomes G V = V Lambda: its rows become the eigenvectors times their eigenvalues, largest first, and
 * value[i] their lengths. Rows of eigenvalues that are 0 have no direction. `scratch`: n x n numbers. The same bits at
 * any number of threads. */
void spl_eigen_psd(double *G, int32_t n, double *value, double *scratch, spl_pool *pool);

/* The sum of products of n numbers, in one order whatever the compiler vectorises. */
double spl_dense_dot(const double *a, const double *b, size_t n);

#endif
