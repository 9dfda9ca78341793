/* The slow, generic twins of what src/fem does in closed form: derivatives by differences, and the clamping of a 9 x 9
 * matrix's eigenvalues by cyclic Jacobi. For the tests and the benchmark. */
#ifndef SPL_TESTS_FEM_TWIN_H
#define SPL_TESTS_FEM_TWIN_H

#include "fem/law.h"

/* Eigenvalues (the diagonal of A afterwards) and eigenvectors (columns of Q) of a symmetric 9 x 9 matrix. */
static inline void twin_eigen9(double A[81], double Q[81])
{
    for (int i = 0; i < 81; i++) Q[i] = i % 10 == 0;
    for (int sweep = 0; sweep < 60; sweep++) {
        bool turned = false;
        for (int p = 0; p < 9; p++)
            for (int q = p + 1; q < 9; q++) {
                double b = A[9 * p + q], size = fabs(A[10 * p]) + fabs(A[10 * q]);
                if (fabs(b) <= 1e-17 * size || fabs(b) < 1e-300) continue;
                double theta = (A[10 * q] - A[10 * p]) / (2 * b);
                double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1)), c = 1 / hypot(t, 1), s = c * t;
                turned = true;
                for (int k = 0; k < 9; k++) {
                    double x = A[9 * p + k], y = A[9 * q + k], u = Q[9 * p + k], v = Q[9 * q + k];
                    A[9 * p + k] = c * x - s * y, A[9 * q + k] = s * x + c * y;
                    Q[9 * p + k] = c * u - s * v, Q[9 * q + k] = s * u + c * v;
                }
                for (int k = 0; k < 9; k++) {
                    double x = A[9 * k + p], y = A[9 * k + q];
                    A[9 * k + p] = c * x - s * y, A[9 * k + q] = s * x + c * y;
                }
                A[9 * p + q] = A[9 * q + p] = 0;
            }
        if (!turned) return;
    }
}

/* sum of max(lambda, 0) q q^T; returns the smallest eigenvalue of H. */
static inline double twin_clamp9(const double H[81], double out[81])
{
    double A[81], Q[81], least = INFINITY;
    for (int i = 0; i < 81; i++) A[i] = H[i], out[i] = 0;
    twin_eigen9(A, Q);
    for (int k = 0; k < 9; k++) {
        double lambda = A[10 * k];
        least = fmin(least, lambda);
        if (!(lambda > 0)) continue;
        for (int j = 0; j < 9; j++)
            for (int i = 0; i < 9; i++) out[9 * j + i] += lambda * Q[9 * k + i] * Q[9 * k + j];
    }
    return least;
}

/* dW/dF by differences of fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h. */
static inline void twin_stress(const spl_law *law, const spl_law_input *in, double h, spl_mat3 *P)
{
    static const double at[4] = {1, -1, 2, -2}, weight[4] = {8, -8, -1, 1};
    for (int i = 0; i < 9; i++) {
        P->m[i] = 0;
        for (int k = 0; k < 4; k++) {
            spl_law_input moved = *in;
            moved.F.m[i] += at[k] * h;
            P->m[i] += weight[k] * law->energy(&moved) / (12 * h);
        }
    }
}

/* dP/dF likewise. */
static inline void twin_hessian(const spl_law *law, const spl_law_input *in, double h, double H[81])
{
    static const double at[4] = {1, -1, 2, -2}, weight[4] = {8, -8, -1, 1};
    for (int j = 0; j < 9; j++) {
        for (int i = 0; i < 9; i++) H[9 * j + i] = 0;
        for (int k = 0; k < 4; k++) {
            spl_law_input moved = *in;
            spl_mat3 P;
            moved.F.m[j] += at[k] * h;
            law->stress(&moved, &P);
            for (int i = 0; i < 9; i++) H[9 * j + i] += weight[k] * P.m[i] / (12 * h);
        }
    }
}

#endif
