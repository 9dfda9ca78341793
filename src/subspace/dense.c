/* The plain twins of the dense kernels: what they compute, in the simplest words. */
#include "subspace/dense.h"

#include "math/cpu.h"

static void product(const spl_product *p)
{
    for (int32_t i = 0; i < p->m; i++) {
        double *c = p->C + (size_t)i * p->ldc;
        int32_t first = p->upper ? i & ~3 : 0;
        for (int32_t k = 0; k < p->k; k++) {
            const double *b = p->B + (size_t)k * p->ldb;
            double a = p->sign * p->A[(size_t)k * p->lda + (size_t)i];
            for (int32_t j = first; j < p->n; j++) c[j] += a * b[j];
        }
    }
}

static void contract(const double *table, int32_t terms, size_t length, int32_t sets, const double *coefficient,
                     double *const *out)
{
    for (int32_t s = 0; s < sets; s++) {
        const double *c = coefficient + s * terms;
        double *y = out[s];
        for (size_t i = 0; i < length; i++) y[i] = c[0] * table[i];
        for (int32_t t = 1; t < terms; t++) {
            const double *x = table + (size_t)t * length;
            for (size_t i = 0; i < length; i++) y[i] += c[t] * x[i];
        }
    }
}

static void multiply(const double *M, int32_t rows, int32_t columns, size_t ld, const double *x, double *y)
{
    for (int32_t i = 0; i < rows; i++, M += ld) {
        double sum = 0;
        for (int32_t j = 0; j < columns; j++) sum += M[j] * x[j];
        y[i] += sum;
    }
}

static void multiply_transposed(const double *M, int32_t rows, int32_t columns, size_t ld, const double *x, double *y)
{
    for (int32_t i = 0; i < rows; i++, M += ld)
        for (int32_t j = 0; j < columns; j++) y[j] += x[i] * M[j];
}

static void scale9(const double H[81], double by, const double *G, int32_t n, double *T)
{
    for (int32_t c = 0; c < 9; c++) {
        double *t = T + (size_t)c * (size_t)n;
        for (int32_t j = 0; j < n; j++) t[j] = 0;
        for (int32_t d = 0; d < 9; d++) {
            const double *g = G + (size_t)d * (size_t)n;
            double h = by * H[9 * c + d];
            for (int32_t j = 0; j < n; j++) t[j] += h * g[j];
        }
    }
}

static void rows3(const double *M, size_t columns, const double *x, double y[3])
{
    for (size_t r = 0; r < 3; r++, M += columns) {
        y[r] = 0;
        for (size_t j = 0; j < columns; j++) y[r] += M[j] * x[j];
    }
}

const spl_dense_kernels spl_dense_kernels_plain = {
    .product = product,
    .contract = contract,
    .multiply = multiply,
    .multiply_transposed = multiply_transposed,
    .rows3 = rows3,
    .scale9 = scale9,
};

const spl_dense_kernels *spl_dense_kernels_of(bool plain)
{
#ifdef SPL_HAVE_AVX2
    if (!plain && spl_cpu_has_avx2()) return &spl_dense_kernels_avx2;
#endif
    (void)plain;
    return &spl_dense_kernels_plain;
}
