/* A dense solver to check against. */
#ifndef SPL_TESTS_SPARSE_DENSE_H
#define SPL_TESTS_SPARSE_DENSE_H

#include <math.h>
#include <stddef.h>

/* x = A \ b by Gaussian elimination with row pivoting, k interleaved sides: slow, and nothing of the code under test.
 */
static inline void dense_solve(double *A, double *x, size_t n, size_t k)
{
    for (size_t j = 0; j < n; j++) {
        size_t best = j;
        for (size_t i = j + 1; i < n; i++)
            if (fabs(A[i * n + j]) > fabs(A[best * n + j])) best = i;
        for (size_t c = 0; best != j && c < n; c++) {
            double t = A[j * n + c];
            A[j * n + c] = A[best * n + c], A[best * n + c] = t;
        }
        for (size_t c = 0; best != j && c < k; c++) {
            double t = x[j * k + c];
            x[j * k + c] = x[best * k + c], x[best * k + c] = t;
        }
        for (size_t i = j + 1; i < n; i++) {
            double f = A[i * n + j] / A[j * n + j];
            for (size_t c = j; f != 0 && c < n; c++) A[i * n + c] -= f * A[j * n + c];
            for (size_t c = 0; c < k; c++) x[i * k + c] -= f * x[j * k + c];
        }
    }
    for (size_t j = n; j-- > 0;)
        for (size_t c = 0; c < k; c++) {
            for (size_t i = j + 1; i < n; i++) x[j * k + c] -= A[j * n + i] * x[i * k + c];
            x[j * k + c] /= A[j * n + j];
        }
}

#endif
