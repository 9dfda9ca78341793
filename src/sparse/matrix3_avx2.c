#include "math/simd8.h"
#include "sparse/matrix3.h"

/* A column of a block is one vector, whose fourth lane is the next column's and ends in a sum that nobody reads. */
void spl_matrix3_rows_avx2(const spl_matrix3 *m, const double *x, double *y, size_t begin, size_t end)
{
    const spl_rows *r = &m->rows;
    for (size_t row = begin; row < end; row++) {
        __m256d a = _mm256_setzero_pd(), b = a, c = a;
        const double *B = m->value + 9 * r->start[row];
        for (size_t at = r->start[row]; at < r->start[row + 1]; at++, B += 9) {
            const double *p = x + 3 * (size_t)r->column[at];
            a = _mm256_fmadd_pd(_mm256_loadu_pd(B), _mm256_broadcast_sd(p), a);
            b = _mm256_fmadd_pd(_mm256_loadu_pd(B + 3), _mm256_broadcast_sd(p + 1), b);
            c = _mm256_fmadd_pd(_mm256_loadu_pd(B + 6), _mm256_broadcast_sd(p + 2), c);
        }
        a = _mm256_add_pd(_mm256_add_pd(a, b), c);
        _mm_storeu_pd(y + 3 * row, _mm256_castpd256_pd128(a));
        _mm_store_sd(y + 3 * row + 2, _mm256_extractf128_pd(a, 1));
    }
}
