#include "failing.h"
#include "fem/coarse.h"
#include "math/quat.h"
#include "sparse/matrices.h"
#include "test.h"

static const double CELL = 0.4, LIFT = 1e-5;

typedef struct setup {
    matrix m;
    spl_matrix3 rows;
    double *position, *turn, *x, *y;
    size_t nodes;
} setup;

static double number(uint64_t *seed)
{
    return lattice_random(seed) - 0.5;
}

static void setup_make(setup *s, int nodes, shape kind)
{
    supple_allocator a = spl_allocator_of(NULL);
    uint64_t seed = 7;
    s->m = matrix_make(kind, nodes, 3, 5);
    s->nodes = (size_t)nodes;
    if (spl_matrix3_create(&s->m.pattern, &a, &s->rows, NULL) != SUPPLE_OK) abort();
    spl_matrix3_fill(&s->rows, s->m.values, NULL);
    s->position = random_vector(s->m.n, 2);
    s->x = random_vector(s->m.n, 3);
    s->y = random_vector(s->m.n, 4);
    s->turn = malloc(3 * s->m.n * sizeof *s->turn);
    for (size_t i = 0; i < s->nodes; i++) {
        double qx = number(&seed), qy = number(&seed), qz = number(&seed), qw = number(&seed);
        spl_mat3 R = spl_quat_to_mat3(spl_quat_normalise(spl_quat_make(qx, qy, qz, qw)));
        for (size_t k = 0; k < 9; k++) s->turn[9 * i + k] = R.m[k];
    }
}

static void setup_free(setup *s)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_matrix3_release(&s->rows, &a);
    matrix_free(&s->m);
    free(s->position);
    free(s->turn);
    free(s->x);
    free(s->y);
}

static supple_result make(const setup *s, int32_t most, const supple_allocator *a, spl_pool *pool, spl_coarse **out)
{
    spl_coarse_input in = {.matrix = &s->rows, .position = s->position, .cell = CELL, .most = most};
    return spl_coarse_create(&in, a, pool, out, NULL);
}

/* One column of P a grid point that reaches a node, dense, by products of hats: nothing of the code under test. */
static double *dense_weights(const setup *s, double cell, size_t *count)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, *P = calloc(s->nodes * 1000, sizeof *P);
    *count = 0;
    for (size_t i = 0; i < s->m.n; i++) low[i % 3] = fmin(low[i % 3], s->position[i]);
    for (int point = 0; point < 1000; point++) {
        const int at[3] = {point % 10, point / 10 % 10, point / 100};
        double most = 0;
        for (size_t i = 0; i < s->nodes; i++) {
            double w = 1;
            for (int c = 0; c < 3; c++)
                w *= fmax(0, 1 - fabs((s->position[3 * i + (size_t)c] - low[c]) / cell - at[c]));
            P[s->nodes * *count + i] = w;
            most = fmax(most, w);
        }
        if (most > 1e-6) ++*count;
    }
    return P;
}

/* y + R P (P^T A P)^-1 P^T R^T x by dense matrices, with the same lift of the diagonal: functions may be dependent. */
static void dense_add(const setup *s, double cell, double *y)
{
    size_t count, n = s->m.n, k;
    double *P = dense_weights(s, cell, &count), *A = matrix_dense(&s->m);
    k = 3 * count;
    double *Q = calloc(n * k, sizeof *Q), *AQ = calloc(n * k, sizeof *AQ), *C = calloc(k * k, sizeof *C);
    double *u = calloc(n, sizeof *u), *v = calloc(k, sizeof *v);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < count; f++) Q[i * k + 3 * f + i % 3] = P[s->nodes * f + i / 3];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t c = 0; A[i * n + j] != 0 && c < k; c++) AQ[i * k + c] += A[i * n + j] * Q[j * k + c];
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < k; f++)
            for (size_t c = 0; Q[i * k + f] != 0 && c < k; c++) C[f * k + c] += Q[i * k + f] * AQ[i * k + c];
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) u[i] += s->turn[9 * (i / 3) + 3 * (i % 3) + c] * s->x[i / 3 * 3 + c];
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < k; f++) v[f] += Q[i * k + f] * u[i];
    for (size_t f = 0; f < k; f++) C[f * k + f] *= 1 + LIFT;
    dense_solve(C, v, k, 1);
    for (size_t i = 0; i < n; i++) {
        u[i] = 0;
        for (size_t f = 0; f < k; f++) u[i] += Q[i * k + f] * v[f];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) y[i] += s->turn[9 * (i / 3) + 3 * c + i % 3] * u[i / 3 * 3 + c];
    double *all[] = {P, A, Q, AQ, C, u, v};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

TEST(it_is_the_dense_projection)
{
    supple_allocator a = spl_allocator_of(NULL);
    static const shape SHAPE[] = {TRIDIAGONAL, RANDOM_THICK, ISLANDS};
    for (int i = 0; i < 3; i++) {
        setup s;
        spl_coarse *c;
        size_t count;
        setup_make(&s, 150, SHAPE[i]);
        REQUIRE(make(&s, 1000, &a, NULL, &c) == SUPPLE_OK);
        double *truth = malloc(s.m.n * sizeof *truth), most = 0, distance = 0;
        memcpy(truth, s.y, s.m.n * sizeof *truth);
        dense_add(&s, CELL, truth);
        free(dense_weights(&s, CELL, &count));
        CHECK(spl_coarse_functions(c) == (int32_t)count && count > 50 && spl_coarse_bytes(c) > 0);
        spl_coarse_add(c, s.turn, s.x, s.y);
        for (size_t k = 0; k < s.m.n; k++) {
            most = fmax(most, fabs(truth[k]));
            distance = fmax(distance, fabs(truth[k] - s.y[k]));
        }
        CHECK(most > 0.5);
        CHECK_NEAR(distance, 0, 2e-6);
        spl_coarse_destroy(c);
        free(truth);
        setup_free(&s);
    }
}

/* What P can say is found exactly: y = 0 + P P^-1 u. And no turn is the turn that is none. */
TEST(rigid_translations_are_solved_for)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    spl_coarse *c;
    setup_make(&s, 200, RANDOM_THICK);
    REQUIRE(make(&s, 1000, &a, NULL, &c) == SUPPLE_OK);
    double *u = malloc(s.m.n * sizeof *u), *f = malloc(s.m.n * sizeof *f);
    for (size_t i = 0; i < s.m.n; i++) u[i] = i % 3 == 0 ? 0.3 : i % 3 == 1 ? -1 : 0.1;
    spl_matrix3_multiply(&s.rows, u, f, NULL);
    for (int turned = 0; turned < 2; turned++) {
        for (size_t i = 0; i < 3 * s.m.n; i++) s.turn[i] = i % 9 % 4 == 0;
        memset(s.y, 0, s.m.n * sizeof *s.y);
        spl_coarse_add(c, turned ? s.turn : NULL, f, s.y);
        for (size_t i = 0; i < s.m.n; i++) CHECK_NEAR(s.y[i], u[i], 2e-4);
    }
    spl_coarse_destroy(c);
    free(u);
    free(f);
    setup_free(&s);
}

/* Fewer functions: the grid grows, down to a single cube; a place far away does not make it endless. */
TEST(there_are_never_more_functions_than_asked_for)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    setup_make(&s, 150, TRIDIAGONAL);
    for (int32_t far = 0; far < 2; far++) {
        for (int32_t most = 8; most < 100; most += 13) {
            spl_coarse *c;
            REQUIRE(make(&s, most, &a, NULL, &c) == SUPPLE_OK);
            CHECK(spl_coarse_functions(c) <= most && spl_coarse_functions(c) >= 8);
            spl_coarse_destroy(c);
        }
        s.position[4] = 1e7;
    }
    s.position[7] = NAN;
    spl_coarse *none;
    s.position[4] = INFINITY;
    CHECK(make(&s, 100, &a, NULL, &none) == SUPPLE_ERROR_SOLVE);
    CHECK(!none);
    setup_free(&s);
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    setup_make(&s, 5000, TRIDIAGONAL);
    double *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        supple_config config = supple_config_default();
        spl_pool *pool;
        spl_coarse *c;
        config.thread_count = threads;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        REQUIRE(make(&s, 2000, &a, pool, &c) == SUPPLE_OK);
        double *y = calloc(s.m.n, sizeof *y);
        spl_coarse_add(c, s.turn, s.x, y);
        if (first) CHECK(memcmp(first, y, s.m.n * sizeof *y) == 0);
        if (first) free(y);
        if (!first) first = y;
        spl_coarse_destroy(c);
        spl_pool_destroy(pool);
    }
    free(first);
    setup_free(&s);
}

TEST(every_allocation_may_fail)
{
    setup s;
    setup_make(&s, 60, RANDOM_THIN);
    for (long at = 0;; at++) {
        failing f = {.fail_at = at};
        supple_allocator a = failing_allocator(&f);
        spl_coarse *c;
        supple_result result = make(&s, 1000, &a, NULL, &c);
        CHECK(result == (c ? SUPPLE_OK : SUPPLE_ERROR_MEMORY));
        bool made = c != NULL;
        spl_coarse_destroy(c);
        CHECK(f.live == 0);
        if (made || at > 1000) break;
    }
    setup_free(&s);
}

TEST_CASES(RUN(it_is_the_dense_projection), RUN(rigid_translations_are_solved_for),
           RUN(there_are_never_more_functions_than_asked_for), RUN(the_bits_do_not_depend_on_the_threads),
           RUN(every_allocation_may_fail))
