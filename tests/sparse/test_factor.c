#include "sparse/factor.h"

#include "failing.h"
#include "sparse/assembly.h"
#include "sparse/matrices.h"
#include "sparse/symbolic.h"
#include "test.h"

/* Factorises, solves k sides and returns the residual; in float too. NAN if anything fails. */
static double solve_error(const matrix *m, const double *A, int32_t k, bool single, bool plain)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    supple_error error = {0};
    double result = NAN;
    size_t count = m->n * (size_t)k;
    double *b = random_vector(count, 11), *x = malloc((count + 1) * sizeof *x);
    float *s = malloc((count + 1) * sizeof *s);
    spl_factor_options o = {.single = single, .plain = plain};
    if (spl_factor_create(&m->pattern, &o, &a, NULL, &f, &error) == SUPPLE_OK &&
        spl_factor_factorise(f, m->values, &error) == SUPPLE_OK) {
        for (size_t i = 0; i < count; i++) x[i] = b[i], s[i] = (float)b[i];
        supple_result r = single ? spl_factor_solve_float(f, s, k, &error) : spl_factor_solve(f, x, k, &error);
        for (size_t i = 0; single && i < count; i++) x[i] = (double)s[i];
        if (r == SUPPLE_OK) result = dense_residual(A, x, b, m->n, (size_t)k);
    }
    if (error.message[0]) printf("    %s\n", error.message);
    spl_factor_destroy(f);
    free(s);
    free(x);
    free(b);
    return result;
}

TEST(solves_every_shape_like_a_dense_solver)
{
    static const int sizes[] = {1, 2, 3, 7, 8, 9, 30, 90, 150};
    for (int s = 0; s < SHAPES; s++)
        for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
            for (int block = 1; block <= 3; block += 2) {
                matrix m = matrix_make((shape)s, sizes[z], block, (uint64_t)(s * 100 + sizes[z]));
                double *A = matrix_dense(&m);
                for (int32_t k = 1; k <= 9; k += k == 1 ? 2 : 6)
                    for (int plain = 0; plain < 2; plain++) {
                        CHECK(solve_error(&m, A, k, false, plain) < 1e-12);
                        CHECK(solve_error(&m, A, k, true, plain) < 1e-5);
                    }
                free(A);
                matrix_free(&m);
            }
}

TEST(agrees_with_elimination)
{
    matrix m = matrix_make(RANDOM_THIN, 120, 1, 5);
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    double *A = matrix_dense(&m), *x = random_vector(3 * m.n, 2), *y = random_vector(3 * m.n, 2);
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_solve(f, x, 3, NULL) == SUPPLE_OK);
    dense_solve(A, y, m.n, 3);
    for (size_t i = 0; i < 3 * m.n; i++) CHECK_NEAR(x[i], y[i], 1e-13);
    spl_factor_destroy(f);
    free(A);
    free(x);
    free(y);
    matrix_free(&m);
}

TEST(an_empty_matrix_is_fine)
{
    matrix m = matrix_make(DIAGONAL, 0, 1, 1);
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    double x = 4;
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    CHECK(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
    CHECK(spl_factor_solve(f, &x, 1, NULL) == SUPPLE_OK && x == 4);
    spl_factor_destroy(f);
    matrix_free(&m);
}

/* Everything about a mesh problem that a factor needs. */
typedef struct mesh_problem {
    lattice mesh;
    spl_assembly assembly;
    double *values;
    size_t n;
} mesh_problem;

static bool mesh_make(mesh_problem *p, int cells, int block, int held, double mass)
{
    supple_allocator a = spl_allocator_of(NULL);
    p->mesh = lattice_make(cells, cells, cells + 2, held);
    lattice *m = &p->mesh;
    if (spl_assembly_create(m->tets, (size_t)m->tet_count, 4, m->vertex_count, m->unknown, m->unknown_count, block, &a,
                            &p->assembly, NULL) != SUPPLE_OK)
        return false;
    double *elements = lattice_elements(m, block, mass);
    p->values = malloc(spl_pattern_values(&p->assembly.pattern) * sizeof *p->values);
    p->n = spl_pattern_unknowns(&p->assembly.pattern);
    spl_assembly_gather(&p->assembly, elements, p->values, NULL);
    free(elements);
    return true;
}

static void mesh_free(mesh_problem *p)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_assembly_release(&p->assembly, &a);
    lattice_free(&p->mesh);
    free(p->values);
}

TEST(meshes_solve_to_rounding)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int block = 1; block <= 3; block += 2) {
        mesh_problem p;
        REQUIRE(mesh_make(&p, block == 1 ? 9 : 5, block, 1, 0));
        spl_factor *f;
        spl_rows rows;
        REQUIRE(spl_rows_create(&p.assembly.pattern, &a, &rows, NULL) == SUPPLE_OK);
        REQUIRE(spl_factor_create(&p.assembly.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
        for (int32_t k = 1; k <= 6; k++) {
            double *b = random_vector(p.n * (size_t)k, 3), *x = random_vector(p.n * (size_t)k, 3);
            double *y = random_vector(p.n * (size_t)k, 4), r2 = 0, b2 = 0;
            REQUIRE(spl_factor_factorise(f, p.values, NULL) == SUPPLE_OK);
            REQUIRE(spl_factor_solve(f, x, k, NULL) == SUPPLE_OK);
            spl_rows_multiply(&rows, p.values, x, k, y, NULL);
            for (size_t i = 0; i < p.n * (size_t)k; i++) r2 += pow(y[i] - b[i], 2), b2 += b[i] * b[i];
            CHECK(sqrt(r2 / b2) < 1e-12);
            free(b);
            free(x);
            free(y);
        }
        spl_rows_release(&rows, &a);
        spl_factor_destroy(f);
        mesh_free(&p);
    }
}

static void solve_on_threads(const mesh_problem *p, int32_t threads, double *x)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    supple_allocator a = spl_allocator_of(NULL);
    spl_pool *pool = NULL;
    spl_factor *f;
    REQUIRE(threads == 0 || spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_create(&p->assembly.pattern, NULL, &a, pool, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_factorise(f, p->values, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_solve(f, x, 3, NULL) == SUPPLE_OK);
    spl_factor_destroy(f);
    spl_pool_destroy(pool);
}

/* Large enough that bins and the divided top of the tree are both used. */
TEST(bits_do_not_depend_on_threads)
{
    static const int32_t threads[] = {0, 1, 2, 7};
    for (int block = 1; block <= 3; block += 2) {
        mesh_problem p;
        REQUIRE(mesh_make(&p, block == 1 ? 12 : 7, block, 1, 0));
        spl_symbolic s;
        supple_allocator a = spl_allocator_of(NULL);
        int32_t top = 0, binned = 0;
        REQUIRE(spl_symbolic_create(&p.assembly.pattern, NULL, &a, &s, NULL) == SUPPLE_OK);
        for (int32_t k = 0; k < s.count; k++)
            top += s.bin[k] == SPL_BINS, binned += s.bin[k] > 0 && s.bin[k] < SPL_BINS;
        CHECK(top > 3 && binned > 50);
        spl_symbolic_release(&s, &a);
        double *first = random_vector(3 * p.n, 9);
        solve_on_threads(&p, threads[0], first);
        for (int t = 1; t < 4; t++) {
            double *x = random_vector(3 * p.n, 9);
            solve_on_threads(&p, threads[t], x);
            CHECK(memcmp(x, first, 3 * p.n * sizeof *x) == 0);
            free(x);
        }
        free(first);
        mesh_free(&p);
    }
}

/* Wide supernodes: chains of panels, whole tiles, partial last ones. */
TEST(dense_matrices_of_any_width)
{
    for (int n = 120; n <= 300; n += 47) {
        matrix m = matrix_make(DENSE, n, 1, 3);
        double *A = matrix_dense(&m);
        CHECK(solve_error(&m, A, 3, false, false) < 1e-12);
        CHECK(solve_error(&m, A, 1, false, true) < 1e-12);
        free(A);
        matrix_free(&m);
    }
}

TEST(pivots_of_both_signs_when_asked)
{
    matrix m = matrix_make(RANDOM_THIN, 80, 1, 21);
    for (int32_t j = 0; j < 80; j += 2) m.values[m.pattern.start[j]] *= -1; /* quasi-definite: strong diagonals */
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    supple_error error;
    double *A = matrix_dense(&m), *b = random_vector(m.n, 5), *x = random_vector(m.n, 5);
    REQUIRE(spl_factor_create(&m.pattern, &(spl_factor_options){.indefinite = true}, &a, NULL, &f, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
    REQUIRE(spl_factor_solve(f, x, 1, NULL) == SUPPLE_OK);
    CHECK(dense_residual(A, x, b, m.n, 1) < 1e-12);
    spl_factor_destroy(f);
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    CHECK(spl_factor_factorise(f, m.values, &error) == SUPPLE_ERROR_SOLVE);
    CHECK(strstr(error.message, "not positive definite"));
    CHECK(spl_factor_solve(f, x, 1, &error) == SUPPLE_ERROR_SOLVE); /* no factor, no solve */
    spl_factor_destroy(f);
    free(A);
    free(b);
    free(x);
    matrix_free(&m);
}

/* Factorises on 0 or 2 threads; checks that both name the same node and say `word`. */
static void expect_failure(const spl_pattern *p, const double *values, const char *word, int32_t node)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    config.thread_count = 2;
    spl_pool *pool;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    int32_t found[2];
    for (int t = 0; t < 2; t++) {
        spl_factor *f;
        supple_error error = {0};
        REQUIRE(spl_factor_create(p, NULL, &a, t ? pool : NULL, &f, NULL) == SUPPLE_OK);
        CHECK(spl_factor_factorise(f, values, &error) == SUPPLE_ERROR_SOLVE);
        CHECK(error.code == SUPPLE_ERROR_SOLVE && strstr(error.message, word));
        found[t] = spl_factor_get_stats(f).failed_node;
        CHECK(node < 0 || found[t] == node);
        spl_factor_destroy(f);
    }
    CHECK(found[0] == found[1] && found[0] >= 0);
    spl_pool_destroy(pool);
}

TEST(failures_are_named)
{
    for (int cells = 2; cells < 9; cells++) /* nothing holds the mesh: rounding errors of either sign for a pivot */
        for (int block = 1; block <= 3; block += 2) {
            mesh_problem p;
            REQUIRE(mesh_make(&p, cells, block, 0, 0));
            expect_failure(&p.assembly.pattern, p.values, "held by no bone", -1);
            mesh_free(&p);
        }
    mesh_problem p;
    REQUIRE(mesh_make(&p, 9, 1, 1, 0));
    const spl_pattern *s = &p.assembly.pattern;
    int32_t node = s->n / 3;
    double keep = p.values[s->start[node]];
    p.values[s->start[node]] = NAN;
    expect_failure(s, p.values, "not finite", -1);
    p.values[s->start[node]] = -keep;
    expect_failure(s, p.values, "not positive definite", -1);
    mesh_free(&p);
    matrix m = matrix_make(DIAGONAL, 20, 1, 3); /* a node without an element */
    m.values[13] = 0;
    expect_failure(&m.pattern, m.values, "no element", 13);
    m.values[13] = -1;
    expect_failure(&m.pattern, m.values, "not positive definite", 13);
    matrix_free(&m);
}

/* Two nodes on a stiff spring, one held softly: weak is not singular, but what drowns in rounding is. */
TEST(weakly_held_is_not_singular)
{
    matrix m = matrix_make(TRIDIAGONAL, 2, 1, 1);
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    m.values[0] = 1 + 1e-9;
    m.values[1] = -1;
    m.values[2] = 1;
    CHECK(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
    m.values[0] = 1 + 1e-13;
    CHECK(spl_factor_factorise(f, m.values, NULL) == SUPPLE_ERROR_SOLVE);
    spl_factor_destroy(f);
    matrix_free(&m);
}

/* After a failure the factor serves again; values may change while the pattern stays. */
TEST(a_factor_is_used_many_times)
{
    matrix m = matrix_make(RANDOM_THIN, 60, 3, 8);
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    for (int round = 0; round < 4; round++) {
        double keep = m.values[0];
        uint64_t seed = 100 + (uint64_t)round;
        matrix_fill(&m, &seed);
        keep = m.values[0];
        m.values[0] = -keep;
        CHECK(spl_factor_factorise(f, m.values, NULL) == SUPPLE_ERROR_SOLVE);
        m.values[0] = keep;
        REQUIRE(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
        double *A = matrix_dense(&m), *b = random_vector(3 * m.n, 5), *x = random_vector(3 * m.n, 5);
        REQUIRE(spl_factor_solve(f, x, 3, NULL) == SUPPLE_OK);
        CHECK(dense_residual(A, x, b, m.n, 3) < 1e-12);
        free(A);
        free(b);
        free(x);
    }
    spl_factor_destroy(f);
    matrix_free(&m);
}

TEST(wrong_arguments_are_refused)
{
    matrix m = matrix_make(TRIDIAGONAL, 5, 1, 1);
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    double x[5] = {0};
    float s[5] = {0};
    REQUIRE(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_OK);
    CHECK(spl_factor_solve(f, x, 1, NULL) == SUPPLE_ERROR_SOLVE);
    REQUIRE(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK);
    CHECK(spl_factor_solve(f, x, 0, NULL) == SUPPLE_ERROR_ARGUMENT);
    CHECK(spl_factor_solve_float(f, s, 1, NULL) == SUPPLE_ERROR_ARGUMENT);
    spl_factor_destroy(f);
    int32_t swap = m.pattern.row[0]; /* the diagonal is not first */
    m.pattern.row[0] = m.pattern.row[1];
    CHECK(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_ERROR_ARGUMENT && !f);
    m.pattern.row[0] = swap;
    m.pattern.row[1] = 5; /* out of range */
    CHECK(spl_factor_create(&m.pattern, NULL, &a, NULL, &f, NULL) == SUPPLE_ERROR_ARGUMENT && !f);
    matrix_free(&m);
}

TEST(every_allocation_may_fail)
{
    matrix m = matrix_make(RANDOM_THIN, 40, 3, 8);
    bool done = false;
    for (long n = 0; !done && n < 200; n++) {
        failing state = {.fail_at = n};
        supple_allocator a = failing_allocator(&state);
        spl_factor *f;
        supple_result r = spl_factor_create(&m.pattern, &(spl_factor_options){.single = true}, &a, NULL, &f, NULL);
        done = r == SUPPLE_OK;
        CHECK(done || (r == SUPPLE_ERROR_MEMORY && !f));
        long taken = state.requests;
        if (done) CHECK(spl_factor_factorise(f, m.values, NULL) == SUPPLE_OK && state.requests == taken);
        spl_factor_destroy(f);
        CHECK(state.live == 0);
    }
    CHECK(done);
    matrix_free(&m);
}

TEST_CASES(RUN(solves_every_shape_like_a_dense_solver), RUN(agrees_with_elimination), RUN(an_empty_matrix_is_fine),
           RUN(meshes_solve_to_rounding), RUN(bits_do_not_depend_on_threads), RUN(dense_matrices_of_any_width),
           RUN(pivots_of_both_signs_when_asked), RUN(failures_are_named), RUN(weakly_held_is_not_singular),
           RUN(a_factor_is_used_many_times), RUN(wrong_arguments_are_refused), RUN(every_allocation_may_fail))
