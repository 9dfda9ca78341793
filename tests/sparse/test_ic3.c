#include "failing.h"
#include "sparse/ic3.h"
#include "sparse/ldlt.h"
#include "sparse/matrices.h"
#include "sparse/matrix3.h"
#include "sparse/reach.h"
#include "test.h"

static spl_pool *pool_of(int threads)
{
    supple_config config = supple_config_default();
    spl_pool *pool = NULL;
    config.thread_count = threads;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

/* Its matrix by rows. */
static spl_matrix3 rows_of(const matrix *m)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_matrix3 out;
    if (spl_matrix3_create(&m->pattern, &a, &out, NULL) != SUPPLE_OK) abort();
    spl_matrix3_fill(&out, m->values, NULL);
    return out;
}

static spl_ic3 *factor_of(const spl_matrix3 *A, spl_ic3_options o, spl_pool *pool, const double *extra)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_ic3 *f = NULL;
    if (spl_ic3_create(&A->rows, A->rows.n, &o, &a, pool, &f, NULL) != SUPPLE_OK) abort();
    if (spl_ic3_factorise(f, A->value, extra, NULL, NULL) != SUPPLE_OK) abort();
    return f;
}

/* Without fill nothing is left out: the factor is exact. */
TEST(it_is_exact_where_there_is_no_fill)
{
    static const shape shapes[] = {DIAGONAL, TRIDIAGONAL, DENSE};
    supple_allocator a = spl_allocator_of(NULL);
    for (int s = 0; s < 3; s++)
        for (int single = 0; single < 2; single++)
            for (int plain = 0; plain < 2; plain++) {
                matrix m = matrix_make(shapes[s], 12, 3, 5);
                spl_matrix3 A = rows_of(&m);
                spl_ic3 *f = factor_of(&A, (spl_ic3_options){.single = single, .plain = plain}, NULL, NULL);
                double *b = random_vector(m.n, 3), *x = random_vector(m.n, 4), *D = matrix_dense(&m);
                spl_ic3_solve(f, NULL, b, x);
                CHECK(dense_residual(D, x, b, m.n, 1) < (single ? 1e-5 : 1e-13));
                spl_ic3_destroy(f);
                spl_matrix3_release(&A, &a);
                free(b), free(x), free(D);
                matrix_free(&m);
            }
}

/* On A's own blocks (U + D) D^-1 (U + D)^T is A: its inverse applied to the product's columns gives the identity, so
 * the factor's product is read off by solving with unit vectors and inverting. */
TEST(it_reproduces_the_matrix_on_its_pattern)
{
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = matrix_make(RANDOM_THICK, 14, 3, 9);
    spl_matrix3 A = rows_of(&m);
    double extra[14 * 9] = {0};
    for (int i = 0; i < 14; i++) extra[9 * i] = extra[9 * i + 4] = extra[9 * i + 8] = 0.1 * i;
    spl_ic3 *f = factor_of(&A, (spl_ic3_options){0}, NULL, extra);
    size_t n = m.n;
    double *D = matrix_dense(&m), *inverse = calloc(n * n, sizeof *inverse), *product = calloc(n * n, sizeof *product);
    for (size_t j = 0; j < n; j++) {
        double *e = calloc(n, sizeof *e), *x = calloc(n, sizeof *x);
        e[j] = 1;
        spl_ic3_solve(f, NULL, e, x);
        for (size_t i = 0; i < n; i++) inverse[i * n + j] = x[i];
        product[j * n + j] = 1;
        free(e), free(x);
    }
    double asymmetry = 0, on = 0, off = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) asymmetry = fmax(asymmetry, fabs(inverse[i * n + j] - inverse[j * n + i]));
    CHECK(asymmetry < 1e-13);
    dense_solve(inverse, product, n, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double d = fabs(product[i * n + j] - D[i * n + j] - (i == j ? extra[9 * (i / 3)] : 0));
            bool in = i / 3 == j / 3 || spl_pattern_find(&m.pattern, (int32_t)(i > j ? i / 3 : j / 3),
                                                         (int32_t)(i > j ? j / 3 : i / 3)) != SIZE_MAX;
            if (in) on = fmax(on, d);
            if (!in) off = fmax(off, d);
        }
    CHECK(on < 1e-10);
    CHECK(off > 1e-3); /* it is incomplete */
    spl_ic3_destroy(f);
    spl_matrix3_release(&A, &a);
    free(D), free(inverse), free(product);
    matrix_free(&m);
}

/* Parts, threads and rotations: the same bits at any number of threads; R M^-1 R^T. */
TEST(parts_run_on_threads_with_the_same_bits)
{
    enum { EACH = 7, PARTS = 5, N = EACH * PARTS + 10 };
    supple_allocator a = spl_allocator_of(NULL);
    int32_t pairs[2 * N * N], cut[PARTS + 1];
    size_t count = 0;
    uint64_t seed = 4;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            if ((i / EACH == j / EACH || i >= EACH * PARTS) && lattice_random(&seed) < 0.4) {
                pairs[2 * count] = i;
                pairs[2 * count++ + 1] = j;
            }
    for (int p = 0; p <= PARTS; p++) cut[p] = EACH * p;
    matrix m = {.n = 3 * N};
    CHECK(spl_pattern_from_pairs(N, 3, pairs, count, &a, &m.pattern, NULL) == SUPPLE_OK);
    m.values = calloc(spl_pattern_values(&m.pattern), sizeof *m.values);
    matrix_fill(&m, &seed);
    spl_matrix3 A = rows_of(&m);
    double *b = random_vector(m.n, 8), turn[9 * N], x[4][3 * N];
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 9; c++) turn[9 * i + c] = (c + 1) % 3 == c / 3; /* a turn of the axes */
    for (int single = 0; single < 2; single++) {
        for (int k = 0; k < 3; k++) {
            spl_pool *pool = pool_of(k == 0 ? 1 : k == 1 ? 2 : 7);
            spl_ic3 *f =
                factor_of(&A, (spl_ic3_options){.single = single, .cut = cut, .part_count = PARTS}, pool, NULL);
            spl_ic3_solve(f, turn, b, x[k]);
            spl_ic3_destroy(f);
            spl_pool_destroy(pool);
        }
        spl_ic3 *f = factor_of(&A, (spl_ic3_options){.single = single}, NULL, NULL);
        double back[3 * N];
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++) back[3 * i + c] = 0;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++)
                for (int r = 0; r < 3; r++) back[3 * i + c] += turn[9 * i + 3 * c + r] * b[3 * i + r];
        spl_ic3_solve(f, NULL, back, back);
        for (int i = 0; i < 3 * N; i++) x[3][i] = 0;
        for (int i = 0; i < N; i++)
            for (int c = 0; c < 3; c++)
                for (int r = 0; r < 3; r++) x[3][3 * i + r] += turn[9 * i + 3 * c + r] * back[3 * i + c];
        spl_ic3_destroy(f);
        CHECK(!memcmp(x[0], x[1], sizeof x[0]) && !memcmp(x[0], x[2], sizeof x[0]));
        for (int i = 0; i < 3 * N; i++) CHECK_NEAR(x[0][i], x[3][i], 1e-12 + single * 1e-6);
    }
    cut[1]++; /* coupled parts are refused */
    spl_ic3 *f = NULL;
    spl_ic3_options o = {.cut = cut, .part_count = PARTS};
    CHECK(spl_ic3_create(&A.rows, N, &o, &a, NULL, &f, NULL) == SUPPLE_ERROR_ARGUMENT && !f);
    spl_matrix3_release(&A, &a);
    free(b);
    matrix_free(&m);
}

/* Stiffened at the last node, after which nothing comes, it is what a factorisation gives; and it can be taken back. */
TEST(stiffening_acts_and_is_taken_back)
{
    enum { N = 12 };
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = matrix_make(DENSE, N, 3, 6);
    spl_matrix3 A = rows_of(&m);
    double extra[9 * N] = {0}, *block = extra + 9 * (N - 1), *b = random_vector(m.n, 3), x[3 * N], y[3 * N], z[3 * N];
    for (int i = 0; i < 9; i++) block[i] = i % 4 == 0 ? 5 : 0.5;
    for (int single = 0; single < 2; single++) {
        spl_ic3 *f = factor_of(&A, (spl_ic3_options){.single = single}, NULL, NULL);
        spl_ic3 *g = factor_of(&A, (spl_ic3_options){.single = single}, NULL, extra);
        int32_t last = N - 1, other = 2;
        spl_ic3_solve(f, NULL, b, x);
        spl_ic3_stiffen(f, &other, 1, block); /* replaced by the next */
        spl_ic3_stiffen(f, &last, 1, block);
        spl_ic3_solve(f, NULL, b, y);
        spl_ic3_solve(g, NULL, b, z);
        for (int i = 0; i < 3 * N; i++) CHECK_NEAR(y[i], z[i], single ? 1e-6 : 1e-14);
        CHECK(fabs(y[3 * N - 1] - x[3 * N - 1]) > 1e-4);
        spl_ic3_stiffen(f, NULL, 0, NULL);
        spl_ic3_solve(f, NULL, b, y);
        for (int i = 0; i < 3 * N; i++) CHECK_NEAR(y[i], x[i], single ? 1e-6 : 1e-14);
        spl_ic3_destroy(f);
        spl_ic3_destroy(g);
    }
    spl_matrix3_release(&A, &a);
    free(b);
    matrix_free(&m);
}

TEST(a_matrix_that_is_not_definite_is_refused_or_shifted)
{
    supple_allocator a = spl_allocator_of(NULL);
    matrix m = matrix_make(DENSE, 8, 3, 2);
    for (size_t e = 0; e < spl_pattern_values(&m.pattern); e++) m.values[e] *= 3; /* no longer dominant */
    for (int32_t j = 0; j < 8; j++)
        for (int c = 0; c < 9; c += 4) m.values[9 * m.pattern.start[j] + (size_t)c] = 1;
    spl_matrix3 A = rows_of(&m);
    spl_ic3 *f = NULL;
    double shift = 0;
    CHECK(spl_ic3_create(&A.rows, 8, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    CHECK(spl_ic3_factorise(f, A.value, NULL, &shift, NULL) == SUPPLE_OK && shift > 0);
    for (size_t q = 0; q < A.rows.start[8]; q++)
        if (A.rows.column[q] == 3) A.value[9 * q] = -1;
    CHECK(spl_ic3_factorise(f, A.value, NULL, &shift, NULL) == SUPPLE_ERROR_SOLVE);
    spl_ic3_destroy(f);
    spl_matrix3_release(&A, &a);
    matrix_free(&m);
}

/* ---- reaches ---- */

/* A sparse right-hand side's solution at a few nodes, against the whole solve. */
TEST(reaches_give_what_whole_solves_give)
{
    static const shape shapes[] = {TRIDIAGONAL, ARROW, RANDOM_THIN, ISLANDS};
    supple_allocator a = spl_allocator_of(NULL);
    for (int s = 0; s < 4; s++) {
        enum { N = 150, SIDES = SPL_REACH_SIDES };
        matrix m = matrix_make(shapes[s], N, 3, 11);
        spl_ldlt_options o = {.single = true};
        spl_ldlt_failure failure;
        spl_ldlt *f = NULL;
        spl_reach *w = NULL;
        REQUIRE(spl_ldlt_create(&m.pattern, &o, &a, NULL, &f, NULL) == SUPPLE_OK);
        REQUIRE(spl_ldlt_factorise(f, m.values, &failure));
        REQUIRE(spl_reach_create(f, &a, &w, NULL) == SUPPLE_OK);
        spl_ldlt_options once = {.single = true, .once = true}; /* the same bits, from half of the memory */
        spl_ldlt *g = NULL;
        spl_reach *v = NULL;
        REQUIRE(spl_ldlt_create(&m.pattern, &once, &a, NULL, &g, NULL) == SUPPLE_OK);
        REQUIRE(spl_ldlt_factorise(g, m.values, &failure));
        REQUIRE(spl_reach_create(g, &a, &v, NULL) == SUPPLE_OK);
        for (int round = 0; round < 5; round++) { /* the second finds the work memory as the first left it */
            int32_t in[2] = {(17 * round + 3) % N, (61 * round + 90) % N}, out[3] = {(29 * round) % N, in[0], N - 1};
            float b[2 * 3 * SIDES], x[3 * 3 * SIDES], z[3 * 3 * SIDES];
            uint64_t seed = (uint64_t)round + 1;
            for (int i = 0; i < 2 * 3 * SIDES; i++) b[i] = (float)(lattice_random(&seed) - 0.5);
            spl_reach_solve(w, in, 2, b, out, 3, x);
            spl_reach_solve(v, in, 2, b, out, 3, z);
            CHECK(memcmp(x, z, sizeof x) == 0);
            for (int side = 0; side < SIDES; side++) {
                double y[3 * N] = {0}, most = 0;
                for (int i = 0; i < 2; i++)
                    for (int c = 0; c < 3; c++) y[3 * in[i] + c] = (double)b[(3 * i + c) * SIDES + side];
                spl_ldlt_solve(f, y, 1);
                for (int i = 0; i < 3 * N; i++) most = fmax(most, fabs(y[i]));
                for (int i = 0; i < 3; i++)
                    for (int c = 0; c < 3; c++)
                        CHECK_NEAR(x[(3 * i + c) * SIDES + side], y[3 * out[i] + c], 1e-5 * most);
            }
        }
        spl_reach_destroy(v);
        spl_ldlt_destroy(g);
        spl_reach_destroy(w);
        spl_ldlt_destroy(f);
        matrix_free(&m);
    }
}

TEST(memory_may_run_out)
{
    matrix m = matrix_make(RANDOM_THIN, 30, 3, 2);
    spl_matrix3 A = rows_of(&m);
    for (long n = 0, ended = 0; !ended; n++) {
        failing fail = {.fail_at = n};
        supple_allocator a = failing_allocator(&fail), plain = spl_allocator_of(NULL);
        spl_ic3_options o = {.single = n % 2};
        spl_ldlt_options single = {.single = true};
        spl_ic3 *f = NULL;
        spl_ldlt *l = NULL;
        spl_reach *w = NULL;
        CHECK(spl_ldlt_create(&m.pattern, &single, &plain, NULL, &l, NULL) == SUPPLE_OK);
        supple_result r = spl_ic3_create(&A.rows, 30, &o, &a, NULL, &f, NULL);
        CHECK(r == SUPPLE_OK || (r == SUPPLE_ERROR_MEMORY && !f));
        if (r == SUPPLE_OK) r = spl_reach_create(l, &a, &w, NULL);
        CHECK(r == SUPPLE_OK || (r == SUPPLE_ERROR_MEMORY && !w));
        ended = r == SUPPLE_OK && fail.requests <= n;
        spl_ic3_destroy(f);
        spl_reach_destroy(w);
        spl_ldlt_destroy(l);
        CHECK(fail.live == 0);
    }
    supple_allocator a = spl_allocator_of(NULL);
    spl_matrix3_release(&A, &a);
    matrix_free(&m);
}

TEST_CASES(RUN(it_is_exact_where_there_is_no_fill), RUN(it_reproduces_the_matrix_on_its_pattern),
           RUN(parts_run_on_threads_with_the_same_bits), RUN(stiffening_acts_and_is_taken_back),
           RUN(a_matrix_that_is_not_definite_is_refused_or_shifted), RUN(reaches_give_what_whole_solves_give),
           RUN(memory_may_run_out))
