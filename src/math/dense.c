#include "math/dense.h"

#include <math.h>
#include <stdbool.h>

double spl_dense_dot(const double *a, const double *b, size_t n)
{
    double sum[8] = {0};
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[i % 8] += a[i] * b[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

/* Turns rows (or columns) p and q by c, s: `step` from one element to the next, `count` of them. */
static void rotate(double *p, double *q, size_t step, size_t count, double c, double s)
{
    for (size_t i = 0; i < count; i++) {
        double x = p[i * step], y = q[i * step];
        p[i * step] = c * x - s * y;
        q[i * step] = s * x + c * y;
    }
}

/* One rotation that makes the element (p, q) zero (Golub and Van Loan, section 8.5.2); false if it is zero already. */
static bool annihilate(double *a, double *v, size_t n, size_t p, size_t q)
{
    double off = a[p * n + q], x = a[p * n + p], y = a[q * n + q];
    if (fabs(off) <= 1e-16 * sqrt(fabs(x * y)) || off * off < 1e-300) return false;
    double tau = (y - x) / (2 * off);
    double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
    double c = 1 / sqrt(1 + t * t), s = t * c;
    rotate(a + p * n, a + q * n, 1, n, c, s);
    rotate(a + p, a + q, n, n, c, s);
    a[p * n + q] = a[q * n + p] = 0;
    rotate(v + p, v + q, n, n, c, s);
    return true;
}

/* Puts the largest eigenvalue first. */
static void sort(double *values, double *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t k = i + 1; k < n; k++) best = values[k] > values[best] ? k : best;
        double value = values[i];
        values[i] = values[best];
        values[best] = value;
        for (size_t r = 0; best != i && r < n; r++) {
            double x = v[r * n + i];
            v[r * n + i] = v[r * n + best];
            v[r * n + best] = x;
        }
    }
}

void spl_eigen_symmetric(double *a, size_t n, double *values, double *v)
{
    enum { SWEEPS = 30 };
    for (size_t i = 0; i < n * n; i++) v[i] = i / n == i % n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) a[i * n + k] = a[k * n + i] = 0.5 * (a[i * n + k] + a[k * n + i]);
    bool changed = true;
    for (int sweep = 0; changed && sweep < SWEEPS; sweep++) {
        changed = false;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) changed = annihilate(a, v, n, p, q) || changed;
    }
    for (size_t i = 0; i < n; i++) values[i] = a[i * n + i];
    sort(values, v, n);
}

/* Takes from column k its parts along the columns before it; returns its length. */
static double project_out(double *a, size_t rows, size_t columns, size_t k)
{
    double length = 0;
    for (size_t j = 0; j < k; j++) {
        double dot = 0;
        for (size_t r = 0; r < rows; r++) dot += a[r * columns + j] * a[r * columns + k];
        for (size_t r = 0; r < rows; r++) a[r * columns + k] -= dot * a[r * columns + j];
    }
    for (size_t r = 0; r < rows; r++) length += a[r * columns + k] * a[r * columns + k];
    return sqrt(length);
}

void spl_orthonormalise(double *a, size_t rows, size_t columns)
{
    for (size_t k = 0; k < columns; k++) {
        double before = 0;
        for (size_t r = 0; r < rows; r++) before += a[r * columns + k] * a[r * columns + k];
        before = sqrt(before);
        for (size_t r = 0; before > 0 && r < rows; r++) a[r * columns + k] /= before;
        double length = project_out(a, rows, columns, k);
        /* Twice is enough (Kahan and Parlett); what is left of rounding alone is nothing. */
        if (length > 1e-13) {
            for (size_t r = 0; r < rows; r++) a[r * columns + k] /= length;
            length = project_out(a, rows, columns, k);
        }
        double scale = length > 1e-3 ? 1 / length : 0;
        for (size_t r = 0; r < rows; r++) a[r * columns + k] *= scale;
    }
}
