#include "sparse/assembly.h"

#include "failing.h"
#include "sparse/matrices.h"
#include "test.h"

/* The dense matrix by the plain sum over elements and ordered pairs of corners. */
static double *naive(const int32_t *elements, size_t count, int corners, const int32_t *unknown, int nodes, int block,
                     const double *values)
{
    size_t n = (size_t)(nodes * block), b = (size_t)block, pairs = (size_t)(corners * (corners + 1) / 2);
    double *A = calloc(n * n + 1, sizeof *A);
    for (size_t e = 0; e < count; e++)
        for (int i = 0; i < corners; i++)
            for (int j = 0; j < corners; j++) {
                int32_t u = elements[e * (size_t)corners + (size_t)i], v = elements[e * (size_t)corners + (size_t)j];
                if (unknown) u = unknown[u], v = unknown[v];
                if (u < 0 || v < 0) continue;
                size_t pair = (size_t)(i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i);
                const double *m = values + (e * pairs + pair) * b * b;
                for (size_t r = 0; r < b; r++)
                    for (size_t c = 0; c < b; c++)
                        A[((size_t)u * b + r) * n + (size_t)v * b + c] += i >= j ? m[c * b + r] : m[r * b + c];
            }
    return A;
}

/* Random symmetric element matrices: the diagonal pairs have symmetric blocks. */
static double *random_elements(size_t count, int corners, int block, uint64_t seed)
{
    size_t b = (size_t)block, pairs = (size_t)(corners * (corners + 1) / 2);
    double *values = random_vector(count * pairs * b * b, seed);
    for (size_t e = 0; e < count; e++)
        for (int i = 0; i < corners; i++) {
            double *m = values + (e * pairs + (size_t)(i * (i + 1) / 2 + i)) * b * b;
            for (size_t r = 0; r < b; r++)
                for (size_t c = 0; c < r; c++) m[r * b + c] = m[c * b + r];
        }
    return values;
}

static void compare(const int32_t *elements, size_t count, int corners, int vertices, const int32_t *unknown, int nodes,
                    int block)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_assembly s;
    supple_error error;
    REQUIRE(spl_assembly_create(elements, count, corners, vertices, unknown, nodes, block, &a, &s, &error) ==
            SUPPLE_OK);
    CHECK(spl_pattern_check(&s.pattern, NULL) == SUPPLE_OK);
    double *values = random_elements(count, corners, block, 17);
    matrix m = {s.pattern, malloc((spl_pattern_values(&s.pattern) + 1) * sizeof *m.values), (size_t)(nodes * block)};
    spl_assembly_gather(&s, values, m.values, NULL);
    double *A = naive(elements, count, corners, unknown, nodes, block, values), *B = matrix_dense(&m);
    for (size_t i = 0; i < m.n * m.n; i++) CHECK_NEAR(A[i], B[i], 1e-13);
    free(A);
    free(B);
    free(values);
    free(m.values);
    spl_assembly_release(&s, &a);
}

TEST(equals_the_naive_sum)
{
    for (int block = 1; block <= 3; block += 2)
        for (int held = 0; held < 2; held++) {
            lattice m = lattice_make(2, 3, 2, held);
            compare(m.tets, (size_t)m.tet_count, 4, m.vertex_count, m.unknown, m.unknown_count, block);
            compare(m.tets, (size_t)m.tet_count, 4, m.vertex_count, NULL, m.vertex_count, block);
            lattice_free(&m);
        }
}

TEST(springs_triangles_and_ties)
{
    uint64_t seed = 3;
    int32_t elements[60], unknown[20];
    for (int corners = 1; corners <= 6; corners++)
        for (int block = 1; block <= 3; block += 2) {
            for (int i = 0; i < 60; i++) elements[i] = (int32_t)(lattice_random(&seed) * 20);
            for (int i = 0; i < 20; i++)
                unknown[i] = (int32_t)(lattice_random(&seed) * 9) - 1; /* several to one node */
            compare(elements, 60 / (size_t)corners, corners, 20, unknown, 8, block);
        }
    compare(elements, 0, 4, 20, NULL, 20, 1);
}

TEST(bits_do_not_depend_on_threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int block = 1; block <= 3; block += 2) {
        lattice m = lattice_make(9, 9, 9, 1);
        spl_assembly s;
        spl_rows rows;
        REQUIRE(spl_assembly_create(m.tets, (size_t)m.tet_count, 4, m.vertex_count, m.unknown, m.unknown_count, block,
                                    &a, &s, NULL) == SUPPLE_OK);
        REQUIRE(spl_rows_create(&s.pattern, &a, &rows, NULL) == SUPPLE_OK);
        size_t count = spl_pattern_values(&s.pattern), n = 3 * spl_pattern_unknowns(&s.pattern);
        double *elements = lattice_elements(&m, block, 1), *x = random_vector(n, 4), *values[4], *y[4];
        for (int t = 0; t < 4; t++) {
            supple_config config = supple_config_default();
            config.thread_count = t == 3 ? 7 : t;
            spl_pool *pool = NULL;
            REQUIRE(t == 0 || spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
            values[t] = malloc(count * sizeof *values[t]);
            y[t] = malloc(n * sizeof *y[t]);
            spl_assembly_gather(&s, elements, values[t], pool);
            spl_rows_multiply(&rows, values[t], x, 3, y[t], pool);
            CHECK(memcmp(values[t], values[0], count * sizeof *values[t]) == 0);
            CHECK(memcmp(y[t], y[0], n * sizeof *y[t]) == 0);
            spl_pool_destroy(pool);
        }
        for (int t = 0; t < 4; t++) free(values[t]), free(y[t]);
        free(elements);
        free(x);
        spl_rows_release(&rows, &a);
        spl_assembly_release(&s, &a);
        lattice_free(&m);
    }
}

TEST(products_equal_the_dense_ones)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int s = 0; s < SHAPES; s++)
        for (int block = 1; block <= 3; block += 2)
            for (int32_t k = 1; k <= 4; k++) {
                matrix m = matrix_make((shape)s, 25, block, 6);
                spl_rows rows;
                REQUIRE(spl_rows_create(&m.pattern, &a, &rows, NULL) == SUPPLE_OK);
                double *A = matrix_dense(&m), *x = random_vector(m.n * (size_t)k, 3),
                       *y = random_vector(m.n * (size_t)k, 4);
                spl_rows_multiply(&rows, m.values, x, k, y, NULL);
                CHECK(dense_residual(A, x, y, m.n, (size_t)k) < 1e-14);
                spl_rows_release(&rows, &a);
                free(A);
                free(x);
                free(y);
                matrix_free(&m);
            }
}

TEST(patterns_find_expand_and_refuse)
{
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = matrix_make(RANDOM_THIN, 30, 3, 2);
    spl_pattern scalar;
    size_t *source;
    REQUIRE(spl_pattern_expand(&m.pattern, &a, &scalar, &source, NULL) == SUPPLE_OK);
    CHECK(spl_pattern_check(&scalar, NULL) == SUPPLE_OK && scalar.n == 90);
    matrix e = {scalar, malloc(spl_pattern_values(&scalar) * sizeof(double)), 90};
    for (size_t i = 0; i < spl_pattern_values(&scalar); i++) e.values[i] = m.values[source[i]];
    double *A = matrix_dense(&m), *B = matrix_dense(&e);
    CHECK(memcmp(A, B, 90 * 90 * sizeof *A) == 0);
    for (int32_t j = 0; j < 30; j++)
        for (int32_t i = j; i < 30; i++) {
            size_t at = spl_pattern_find(&m.pattern, i, j);
            CHECK(at == SIZE_MAX ? A[3 * i * 90 + 3 * j] == 0 : m.pattern.row[at] == i && at >= m.pattern.start[j]);
        }
    CHECK(spl_pattern_find(&m.pattern, 30, 0) == SIZE_MAX && spl_pattern_find(&m.pattern, 0, 1) == SIZE_MAX);
    free(A);
    free(B);
    free(source);
    matrix_free(&e);
    matrix_free(&m);
    const int32_t pairs[] = {0, 1, 2, 7}, tet[] = {0, 1, 2, 9};
    spl_pattern p;
    spl_assembly s;
    CHECK(spl_pattern_from_pairs(7, 1, pairs, 2, &a, &p, NULL) == SUPPLE_ERROR_ARGUMENT && !p.row);
    CHECK(spl_pattern_from_pairs(8, 2, pairs, 2, &a, &p, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_pattern_from_pairs(-1, 1, pairs, 0, &a, &p, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_assembly_create(tet, 1, 4, 9, NULL, 9, 1, &a, &s, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_assembly_create(tet, 1, 9, 10, NULL, 10, 1, &a, &s, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_assembly_create(tet, 1, 4, 10, NULL, 9, 1, &a, &s, NULL) == SUPPLE_ERROR_ARGUMENT);
}

TEST(every_allocation_may_fail)
{
    lattice m = lattice_make(2, 2, 2, 1);
    bool done = false;
    for (long n = 0; !done && n < 60; n++) {
        failing state = {.fail_at = n};
        supple_allocator a = failing_allocator(&state);
        spl_assembly s;
        spl_rows rows = {0};
        supple_result r = spl_assembly_create(m.tets, (size_t)m.tet_count, 4, m.vertex_count, m.unknown,
                                              m.unknown_count, 3, &a, &s, NULL);
        if (r == SUPPLE_OK) r = spl_rows_create(&s.pattern, &a, &rows, NULL);
        done = r == SUPPLE_OK && state.requests <= n;
        CHECK(r == SUPPLE_OK || r == SUPPLE_ERROR_MEMORY);
        spl_rows_release(&rows, &a);
        spl_assembly_release(&s, &a);
        CHECK(state.live == 0);
    }
    CHECK(done);
    lattice_free(&m);
}

TEST_CASES(RUN(equals_the_naive_sum), RUN(springs_triangles_and_ties), RUN(bits_do_not_depend_on_threads),
           RUN(products_equal_the_dense_ones), RUN(patterns_find_expand_and_refuse), RUN(every_allocation_may_fail))
