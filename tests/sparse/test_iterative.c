#include "failing.h"
#include "sparse/factor.h"
#include "sparse/ic0.h"
#include "sparse/matrices.h"
#include "sparse/pcg.h"
#include "test.h"

/* The operator of a matrix, for pcg.h. */
typedef struct product {
    spl_rows rows;
    const double *values;
    spl_pool *pool;
} product;

static void multiply(void *context, const double *x, double *y, int32_t k)
{
    product *p = context;
    spl_rows_multiply(&p->rows, p->values, x, k, y, p->pool);
}

/* The 7-point Laplacian of a cube, positive definite: condition number about 0.4 side^2. */
static matrix grid(int side)
{
    supple_allocator a = spl_allocator_of(NULL);
    int n = side * side * side;
    int32_t *pairs = malloc((size_t)n * 6 * sizeof *pairs);
    size_t count = 0;
    for (int v = 0; v < n; v++) {
        const int step[3] = {1, side, side * side}, at[3] = {v % side, v / side % side, v / side / side};
        for (int c = 0; c < 3; c++)
            if (at[c] + 1 < side) pairs[2 * count] = v, pairs[2 * count++ + 1] = v + step[c];
    }
    matrix m = {.n = (size_t)n};
    if (spl_pattern_from_pairs(n, 1, pairs, count, &a, &m.pattern, NULL) != SUPPLE_OK) abort();
    m.values = malloc(m.pattern.start[n] * sizeof *m.values);
    for (int j = 0; j < n; j++)
        for (size_t e = m.pattern.start[j]; e < m.pattern.start[j + 1]; e++)
            m.values[e] = m.pattern.row[e] == j ? 6 : -1;
    free(pairs);
    return m;
}

TEST(ic0_is_exact_without_fill)
{
    supple_allocator a = spl_allocator_of(NULL);
    static const shape exact[] = {DIAGONAL, TRIDIAGONAL, DENSE};
    for (int s = 0; s < 3; s++)
        for (int block = 1; block <= 3; block += 2)
            for (int32_t k = 1; k <= 4; k++) {
                matrix m = matrix_make(exact[s], 40, block, 4);
                spl_ic0 *f;
                double shift = 0, *A = matrix_dense(&m), *b = random_vector(m.n * (size_t)k, 1);
                double *x = malloc(m.n * (size_t)k * sizeof *x);
                REQUIRE(spl_ic0_create(&m.pattern, &a, &f, NULL) == SUPPLE_OK);
                REQUIRE(spl_ic0_factorise(f, m.values, &shift, NULL) == SUPPLE_OK);
                CHECK(shift == 0);
                spl_ic0_solve(f, b, x, k);
                CHECK(dense_residual(A, x, b, m.n, (size_t)k) < 1e-13);
                spl_ic0_destroy(f);
                free(A);
                free(b);
                free(x);
                matrix_free(&m);
            }
}

/* (L L^T)_ij = a_ij wherever A has an entry: what defines IC(0). */
TEST(ic0_keeps_the_pattern_and_the_entries_there)
{
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = grid(5);
    spl_ic0 *f;
    REQUIRE(spl_ic0_create(&m.pattern, &a, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_ic0_factorise(f, m.values, NULL, NULL) == SUPPLE_OK);
    const spl_pattern *p = spl_ic0_pattern(f);
    REQUIRE(p->n == m.pattern.n && p->start[p->n] == m.pattern.start[p->n]);
    CHECK(memcmp(p->row, m.pattern.row, p->start[p->n] * sizeof *p->row) == 0);
    double *L = calloc(m.n * m.n, sizeof *L);
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++)
            L[(size_t)p->row[e] * m.n + (size_t)j] = spl_ic0_values(f)[e];
    for (int32_t j = 0; j < p->n; j++)
        for (size_t e = p->start[j]; e < p->start[j + 1]; e++) {
            double sum = 0;
            for (size_t c = 0; c < m.n; c++) sum += L[(size_t)p->row[e] * m.n + c] * L[(size_t)j * m.n + c];
            CHECK_NEAR(sum, m.values[e], 1e-13);
        }
    free(L);
    spl_ic0_destroy(f);
    matrix_free(&m);
}

/* Positive definite, but its incomplete factor breaks down without a shift: Kershaw's matrix. */
TEST(ic0_shifts_until_it_succeeds)
{
    supple_allocator a = spl_allocator_of(NULL);
    const int32_t pairs[] = {0, 1, 1, 2, 2, 3, 0, 3};
    spl_pattern p;
    REQUIRE(spl_pattern_from_pairs(4, 1, pairs, 4, &a, &p, NULL) == SUPPLE_OK);
    const double values[] = {3, -2, 2, 3, -2, 3, -2, 3};
    spl_ic0 *f;
    spl_factor *exact;
    supple_error error;
    double shift = 0;
    REQUIRE(spl_factor_create(&p, NULL, &a, NULL, &exact, NULL) == SUPPLE_OK);
    CHECK(spl_factor_factorise(exact, values, NULL) == SUPPLE_OK); /* it is positive definite */
    REQUIRE(spl_ic0_create(&p, &a, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_ic0_factorise(f, values, &shift, NULL) == SUPPLE_OK);
    CHECK(shift > 0 && shift < 1);
    const double bad[] = {3, -2, 2, 3, -2, 0, -2, 3}, worse[] = {3, -2, NAN, 3, -2, 3, -2, 3};
    CHECK(spl_ic0_factorise(f, bad, NULL, &error) == SUPPLE_ERROR_SOLVE && strstr(error.message, "unknown 2"));
    CHECK(spl_ic0_factorise(f, worse, NULL, NULL) == SUPPLE_ERROR_SOLVE);
    spl_ic0_destroy(f);
    spl_factor_destroy(exact);
    spl_pattern_release(&p, &a);
}

/* Iterations for the grid with and without the preconditioner, against the direct solution. */
static int32_t iterations_of(const matrix *m, bool ic0, int32_t k, spl_pool *pool, double *x)
{
    supple_allocator a = spl_allocator_of(NULL);
    product A = {.values = m->values, .pool = pool};
    spl_ic0 *f = NULL;
    spl_pcg *w = NULL;
    spl_pcg_result r = {.iterations = -1};
    if (spl_rows_create(&m->pattern, &a, &A.rows, NULL) == SUPPLE_OK &&
        spl_ic0_create(&m->pattern, &a, &f, NULL) == SUPPLE_OK &&
        spl_ic0_factorise(f, m->values, NULL, NULL) == SUPPLE_OK &&
        spl_pcg_create(m->n, k, &a, pool, &w, NULL) == SUPPLE_OK) {
        double *b = random_vector(m->n * (size_t)k, 8), history[500];
        spl_pcg_problem p = {.multiply = multiply,
                             .multiply_context = &A,
                             .precondition = ic0 ? spl_ic0_precondition : NULL,
                             .precondition_context = f,
                             .tolerance = 1e-10,
                             .max_iterations = 499,
                             .history = history};
        for (size_t i = 0; i < m->n * (size_t)k; i++) x[i] = 0;
        r = spl_pcg_solve(w, &p, b, x, k);
        CHECK(r.status == SPL_PCG_CONVERGED && r.residual <= 1.1e-10);
        CHECK(fabs(history[0] - 1) < 1e-12 && history[r.iterations] <= 1e-10 && history[r.iterations - 1] > 1e-10);
        free(b);
    }
    spl_pcg_destroy(w);
    spl_ic0_destroy(f);
    spl_rows_release(&A.rows, &a);
    return r.iterations;
}

TEST(pcg_equals_the_direct_solution)
{
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = grid(12);
    spl_factor *f;
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
    for (int32_t k = 1; k <= 3; k += 2) {
        double *x = malloc(3 * m.n * sizeof *x), *y = random_vector(m.n * (size_t)k, 8);
        REQUIRE(spl_factor_solve(f, y, k, NULL) == SUPPLE_OK);
        int32_t plain = iterations_of(&m, false, k, NULL, x);
        for (size_t i = 0; i < m.n * (size_t)k; i++) CHECK_NEAR(x[i], y[i], 1e-9);
        int32_t preconditioned = iterations_of(&m, true, k, NULL, x);
        for (size_t i = 0; i < m.n * (size_t)k; i++) CHECK_NEAR(x[i], y[i], 1e-9);
        /* |e| falls by (sqrt(c) - 1) / (sqrt(c) + 1) an iteration, c = cot^2(pi / 26) = 68: at most 98 for 1e-10. */
        CHECK(plain > 25 && plain < 98 && preconditioned > 5 && preconditioned < plain / 2);
        free(x);
        free(y);
    }
    spl_factor_destroy(f);
    matrix_free(&m);
}

TEST(pcg_bits_do_not_depend_on_threads)
{
    matrix m = grid(14);
    double *x[4];
    for (int t = 0; t < 4; t++) {
        supple_config config = supple_config_default();
        config.thread_count = t == 3 ? 7 : t;
        spl_pool *pool = NULL;
        REQUIRE(t == 0 || spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        x[t] = malloc(3 * m.n * sizeof *x[t]);
        iterations_of(&m, true, 3, pool, x[t]);
        CHECK(memcmp(x[t], x[0], 3 * m.n * sizeof *x[t]) == 0);
        spl_pool_destroy(pool);
    }
    for (int t = 0; t < 4; t++) free(x[t]);
    matrix_free(&m);
}

static void negative(void *context, const double *x, double *y, int32_t k)
{
    size_t n = *(size_t *)context * (size_t)k;
    for (size_t i = 0; i < n; i++) y[i] = i % 2 ? -x[i] : 0.5 * x[i];
}

static void broken(void *context, const double *x, double *y, int32_t k)
{
    size_t n = *(size_t *)context * (size_t)k;
    for (size_t i = 0; i < n; i++) y[i] = x[i] != 0 ? (double)NAN : 0;
}

TEST(pcg_reports_how_it_went)
{
    supple_allocator a = spl_allocator_of(NULL);
    size_t n = 50;
    spl_pcg *w;
    REQUIRE(spl_pcg_create(n, 2, &a, NULL, &w, NULL) == SUPPLE_OK);
    double b[100], x[100] = {0};
    for (int i = 0; i < 100; i++) b[i] = i % 4 < 2 ? 1 : 3;
    spl_pcg_problem p = {.multiply = negative, .multiply_context = &n, .tolerance = 1e-8, .max_iterations = 10};
    CHECK(spl_pcg_solve(w, &p, b, x, 1).status == SPL_PCG_BREAKDOWN);
    p.multiply = broken;
    CHECK(spl_pcg_solve(w, &p, b, x, 2).status == SPL_PCG_NOT_FINITE);
    matrix m = grid(3);
    product A = {.values = m.values};
    REQUIRE(spl_rows_create(&m.pattern, &a, &A.rows, NULL) == SUPPLE_OK);
    spl_pcg_destroy(w);
    REQUIRE(spl_pcg_create(m.n, 2, &a, NULL, &w, NULL) == SUPPLE_OK);
    p = (spl_pcg_problem){.multiply = multiply, .multiply_context = &A, .tolerance = 1e-12, .max_iterations = 2};
    spl_pcg_result r = spl_pcg_solve(w, &p, b, x, 2);
    CHECK(r.status == SPL_PCG_LIMIT && r.iterations == 2 && r.residual > 1e-12);
    for (int i = 0; i < 54; i++) b[i] = i % 2 ? 0 : 1e-3, x[i] = 7; /* one side is zero: its x is 0 at once */
    p.max_iterations = 100;
    r = spl_pcg_solve(w, &p, b, x, 2);
    CHECK(r.status == SPL_PCG_CONVERGED && x[1] == 0 && x[0] != 0);
    for (int i = 0; i < 54; i++) x[i] = 0;
    p.absolute = true;
    p.tolerance = 1; /* |b| is below it already */
    r = spl_pcg_solve(w, &p, b, x, 2);
    CHECK(r.status == SPL_PCG_CONVERGED && r.iterations == 0);
    spl_rows_release(&A.rows, &a);
    spl_pcg_destroy(w);
    CHECK(spl_pcg_create(5, 9, &a, NULL, &w, NULL) == SUPPLE_ERROR_ARGUMENT && !w);
    matrix_free(&m);
}

TEST(every_allocation_may_fail)
{
    matrix m = grid(4);
    bool done = false;
    for (long n = 0; !done && n < 60; n++) {
        failing state = {.fail_at = n};
        supple_allocator a = failing_allocator(&state);
        spl_ic0 *f = NULL;
        spl_pcg *w = NULL;
        supple_result r = spl_ic0_create(&m.pattern, &a, &f, NULL);
        if (r == SUPPLE_OK) r = spl_pcg_create(m.n, 3, &a, NULL, &w, NULL);
        done = r == SUPPLE_OK;
        CHECK(done || (r == SUPPLE_ERROR_MEMORY && !(f && w)));
        spl_pcg_destroy(w);
        spl_ic0_destroy(f);
        CHECK(state.live == 0);
    }
    CHECK(done);
    matrix_free(&m);
}

TEST_CASES(RUN(ic0_is_exact_without_fill), RUN(ic0_keeps_the_pattern_and_the_entries_there),
           RUN(ic0_shifts_until_it_succeeds), RUN(pcg_equals_the_direct_solution),
           RUN(pcg_bits_do_not_depend_on_threads), RUN(pcg_reports_how_it_went), RUN(every_allocation_may_fail))
