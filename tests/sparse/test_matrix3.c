#include "failing.h"
#include "sparse/matrices.h"
#include "sparse/matrix3.h"
#include "test.h"

static spl_pool *pool_of(int threads)
{
    supple_config config = supple_config_default();
    spl_pool *pool = NULL;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

/* A x by the dense matrix, by the lower triangle's rows and by the rows under test. */
static void compare(const matrix *m, spl_pool *pool, uint64_t seed)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_matrix3 rows;
    spl_rows twin;
    REQUIRE(spl_matrix3_create(&m->pattern, &a, &rows, NULL) == SUPPLE_OK);
    REQUIRE(spl_rows_create(&m->pattern, &a, &twin, NULL) == SUPPLE_OK);
    spl_matrix3_fill(&rows, m->values, pool);
    double *x = random_vector(m->n, seed), *y = calloc(m->n + 1, sizeof *y), *z = calloc(m->n + 1, sizeof *z);
    double *A = matrix_dense(m), largest = 0, dense = 0, sparse = 0;
    spl_matrix3_multiply(&rows, x, y, pool);
    spl_rows_multiply(&twin, m->values, x, 1, z, pool);
    for (size_t i = 0; i < m->n; i++) {
        double sum = 0;
        for (size_t j = 0; j < m->n; j++) sum += A[i * m->n + j] * x[j];
        largest = fmax(largest, fabs(sum));
        dense = fmax(dense, fabs(sum - y[i]));
        sparse = fmax(sparse, fabs(z[i] - y[i]));
    }
    CHECK(largest > 0);
    CHECK_NEAR(dense, 0, 1e-14 * largest);
    CHECK_NEAR(sparse, 0, 1e-14 * largest);
    CHECK(spl_matrix3_bytes(&rows) == rows.rows.start[m->pattern.n] * 76);
    spl_matrix3_release(&rows, &a);
    CHECK(spl_matrix3_bytes(&rows) == 0);
    spl_rows_release(&twin, &a);
    free(A);
    free(x);
    free(y);
    free(z);
}

TEST(products_equal_those_of_the_dense_matrix)
{
    spl_pool *pool = pool_of(2);
    for (int s = 0; s < SHAPES; s++)
        for (int n = 1; n < 60; n = 2 * n + 1) {
            matrix m = matrix_make((shape)s, n, 3, (uint64_t)(100 * s + n));
            compare(&m, pool, (uint64_t)n);
            matrix_free(&m);
        }
    spl_pool_destroy(pool);
}

/* A diagonal block counts by its lower triangle: what stands above is never read. */
TEST(the_upper_triangle_of_a_diagonal_block_is_not_read)
{
    spl_pool *pool = pool_of(1);
    matrix m = matrix_make(TRIDIAGONAL, 9, 3, 5);
    for (int32_t j = 0; j < 9; j++) {
        double *B = m.values + 9 * m.pattern.start[j];
        B[3] = B[6] = B[7] = NAN;
    }
    compare(&m, pool, 3);
    matrix_free(&m);
    spl_pool_destroy(pool);
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = matrix_make(TRIDIAGONAL, 3000, 3, 8);
    double *x = random_vector(m.n, 4), *first = NULL;
    for (int threads = 1; threads <= 7; threads += 3) {
        spl_pool *pool = pool_of(threads);
        spl_matrix3 rows;
        REQUIRE(spl_matrix3_create(&m.pattern, &a, &rows, NULL) == SUPPLE_OK);
        double *y = calloc(m.n, sizeof *y);
        spl_matrix3_fill(&rows, m.values, pool);
        spl_matrix3_multiply(&rows, x, y, pool);
        if (first) CHECK(!memcmp(first, y, m.n * sizeof *y));
        if (!first)
            first = y;
        else
            free(y);
        spl_matrix3_release(&rows, &a);
        spl_pool_destroy(pool);
    }
    free(first);
    free(x);
    matrix_free(&m);
}

/* The same matrix object takes new values as often as it likes. */
TEST(a_second_fill_replaces_the_first)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pool *pool = pool_of(1);
    matrix m = matrix_make(RANDOM_THIN, 40, 3, 21);
    spl_matrix3 rows;
    REQUIRE(spl_matrix3_create(&m.pattern, &a, &rows, NULL) == SUPPLE_OK);
    double *x = random_vector(m.n, 4), *y = calloc(m.n, sizeof *y), *z = calloc(m.n, sizeof *z);
    spl_matrix3_fill(&rows, m.values, pool);
    spl_matrix3_multiply(&rows, x, y, pool);
    for (size_t i = 0; i < spl_pattern_values(&m.pattern); i++) m.values[i] *= -2;
    spl_matrix3_fill(&rows, m.values, pool);
    spl_matrix3_multiply(&rows, x, z, pool);
    for (size_t i = 0; i < m.n; i++) CHECK(z[i] == -2 * y[i]);
    free(x);
    free(y);
    free(z);
    spl_matrix3_release(&rows, &a);
    matrix_free(&m);
    spl_pool_destroy(pool);
}

TEST(memory_may_run_out)
{
    matrix m = matrix_make(ARROW, 12, 3, 2);
    long n = 0;
    for (bool ended = false; !ended; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        supple_error error = {0};
        spl_matrix3 rows;
        supple_result result = spl_matrix3_create(&m.pattern, &a, &rows, &error);
        bool made = result == SUPPLE_OK;
        ended = made && f.requests <= n; /* some requests may fail without harm */
        if (made)
            spl_matrix3_release(&rows, &a);
        else
            CHECK(result == SUPPLE_ERROR_MEMORY && error.code == SUPPLE_ERROR_MEMORY && error.message[0]);
        CHECK(f.live == 0);
    }
    CHECK(n > 3);
    matrix_free(&m);
}

TEST_CASES(RUN(products_equal_those_of_the_dense_matrix), RUN(the_upper_triangle_of_a_diagonal_block_is_not_read),
           RUN(the_bits_do_not_depend_on_the_threads), RUN(a_second_fill_replaces_the_first), RUN(memory_may_run_out))
