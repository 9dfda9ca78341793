/* Matrices for the tests of src/sparse: random and structured ones, and a dense solver to check against. */
#ifndef SPL_TESTS_SPARSE_MATRICES_H
#define SPL_TESTS_SPARSE_MATRICES_H

#include "core/memory.h"
#include "sparse/dense.h"
#include "sparse/lattice.h"
#include "sparse/pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct matrix {
    spl_pattern pattern;
    double *values;
    size_t n; /* scalar unknowns */
} matrix;

typedef enum shape { DIAGONAL, TRIDIAGONAL, ARROW, RANDOM_THIN, RANDOM_THICK, DENSE, ISLANDS, SHAPES } shape;

static inline int matrix_links(shape s, int i, int j, int n, uint64_t *state) /* i > j */
{
    switch (s) {
    case TRIDIAGONAL:
        return i == j + 1;
    case ARROW:
        return j == 0 || i == n - 1;
    case RANDOM_THIN:
        return lattice_random(state) < 2.5 / n;
    case RANDOM_THICK:
        return lattice_random(state) < 0.2;
    case DENSE:
        return 1;
    case ISLANDS:
        return i / 7 == j / 7 && (i + j) % 3 != 0;
    default:
        return 0;
    }
}

/* Positive definite by diagonal dominance, with entries of both signs. */
static inline void matrix_fill(matrix *m, uint64_t *state)
{
    const spl_pattern *p = &m->pattern;
    int b = p->block;
    double *sum = calloc(m->n + 1, sizeof *sum);
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
            for (int c = 0; c < b; c++)
                for (int r = 0; r < b; r++) {
                    double v = lattice_random(state) - 0.6;
                    m->values[(e * (size_t)b + (size_t)c) * (size_t)b + (size_t)r] = v;
                    sum[p->row[e] * b + r] += fabs(v);
                    sum[j * b + c] += fabs(v);
                }
    for (int32_t j = 0; j < p->n; j++)
        for (int c = 0; c < b; c++)
            m->values[(p->start[j] * (size_t)b + (size_t)c) * (size_t)b + (size_t)c] =
                sum[j * b + c] * (1.01 + lattice_random(state));
    free(sum);
}

static inline matrix matrix_make(shape s, int n, int block, uint64_t seed)
{
    matrix m = {.n = (size_t)(n * block)};
    supple_allocator a = spl_allocator_of(NULL);
    int32_t *pairs = malloc(((size_t)n * (size_t)n + 1) * sizeof *pairs * 2);
    size_t count = 0;
    for (int j = 0; j < n; j++)
        for (int i = j + 1; i < n; i++)
            if (matrix_links(s, i, j, n, &seed)) {
                pairs[2 * count] = (i + j) % 2 ? i : j; /* either order is fine */
                pairs[2 * count++ + 1] = (i + j) % 2 ? j : i;
            }
    if (spl_pattern_from_pairs(n, block, pairs, count, &a, &m.pattern, NULL) != SUPPLE_OK) abort();
    m.values = calloc(spl_pattern_values(&m.pattern) + 1, sizeof *m.values);
    matrix_fill(&m, &seed);
    free(pairs);
    return m;
}

static inline void matrix_free(matrix *m)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pattern_release(&m->pattern, &a);
    free(m->values);
}

static inline double *matrix_dense(const matrix *m) /* n x n, symmetric */
{
    const spl_pattern *p = &m->pattern;
    size_t b = (size_t)p->block;
    double *A = calloc(m->n * m->n + 1, sizeof *A);
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
            for (size_t c = 0; c < b; c++)
                for (size_t r = p->row[e] == j ? c : 0; r < b; r++) {
                    size_t row = (size_t)p->row[e] * b + r, column = (size_t)j * b + c;
                    A[row * m->n + column] = A[column * m->n + row] = m->values[(e * b + c) * b + r];
                }
    return A;
}

/* |A x - b| / |b| by the dense matrix. */
static inline double dense_residual(const double *A, const double *x, const double *b, size_t n, size_t k)
{
    double r2 = 0, b2 = 1e-300;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < k; c++) {
            double sum = -b[i * k + c];
            for (size_t j = 0; j < n; j++) sum += A[i * n + j] * x[j * k + c];
            r2 += sum * sum;
            b2 += b[i * k + c] * b[i * k + c];
        }
    return sqrt(r2 / b2);
}

static inline double *random_vector(size_t count, uint64_t seed)
{
    double *b = malloc((count + 1) * sizeof *b);
    for (size_t i = 0; i < count; i++) b[i] = lattice_random(&seed) - 0.5;
    return b;
}

#endif
