#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "sparse/matrices.h"
#include "test.h"

TEST(what_is_no_plugin_is_refused)
{
    supple_plugin *plugin = (supple_plugin *)1;
    supple_error error;
    CHECK(supple_plugin_open("no-such-file.so", &plugin, &error) == SUPPLE_ERROR_INPUT && !plugin);
    CHECK(strstr(error.message, "no-such-file.so"));
    CHECK(supple_plugin_open("libm.so.6", &plugin, &error) == SUPPLE_ERROR_INPUT && !plugin);
    CHECK(strstr(error.message, "no solver"));
    CHECK(supple_plugin_open(NULL, &plugin, &error) == SUPPLE_ERROR_ARGUMENT && !plugin);
    CHECK(!supple_plugin_solver(NULL));
    supple_plugin_close(NULL);
}

/* ---- a solver that counts its calls: it divides by the diagonal ---- */

typedef struct counting_factor {
    int32_t n;
    const size_t *start;
    double *diagonal;
} counting_factor;

static struct {
    int create, factorise, solve, destroy;
} calls;

static supple_result counting_create(int32_t n, const size_t *start, const int32_t *row, void **factor,
                                     supple_error *error)
{
    (void)row;
    (void)error;
    calls.create++;
    counting_factor *f = malloc(sizeof *f);
    *f = (counting_factor){.n = n, .diagonal = calloc((size_t)n, sizeof *f->diagonal)};
    size_t *copy = malloc(((size_t)n + 1) * sizeof *copy);
    memcpy(copy, start, ((size_t)n + 1) * sizeof *copy);
    f->start = copy;
    *factor = f;
    return SUPPLE_OK;
}

static supple_result counting_factorise(void *factor, const double *values, int32_t *column, supple_error *error)
{
    (void)column;
    (void)error;
    calls.factorise++;
    counting_factor *f = factor;
    for (int32_t i = 0; i < f->n; i++) f->diagonal[i] = values[f->start[i]];
    return SUPPLE_OK;
}

static supple_result counting_solve(void *factor, double *x, int32_t k, supple_error *error)
{
    (void)error;
    calls.solve++;
    const counting_factor *f = factor;
    for (int32_t i = 0; i < f->n * k; i++) x[i] /= f->diagonal[i / k];
    return SUPPLE_OK;
}

static double counting_entries(const void *factor)
{
    return ((const counting_factor *)factor)->n;
}

static void counting_destroy(void *factor)
{
    calls.destroy++;
    counting_factor *f = factor;
    if (f) free(f->diagonal);
    if (f) free((void *)f->start);
    free(f);
}

static const supple_solver_backend counting = {.version = SUPPLE_SOLVER_BACKEND_VERSION,
                                               .name = "counting",
                                               .licence = "none",
                                               .create = counting_create,
                                               .factorise = counting_factorise,
                                               .solve = counting_solve,
                                               .entries = counting_entries,
                                               .destroy = counting_destroy};

static void solve_twice(const matrix *m, const spl_factor_options *options)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    double *x = random_vector(2 * m->n, 3), *b = random_vector(2 * m->n, 3);
    REQUIRE(spl_factor_create(&m->pattern, options, &a, NULL, &f, NULL) == SUPPLE_OK);
    CHECK(spl_factor_factorise(f, m->values, NULL) == SUPPLE_OK);
    CHECK(spl_factor_solve(f, x, 2, NULL) == SUPPLE_OK);
    for (size_t i = 0; i < 2 * m->n; i++) CHECK_NEAR(x[i] * m->values[m->pattern.start[i / 2]], b[i], 1e-14);
    CHECK(spl_factor_solve(f, x, 1, NULL) == SUPPLE_OK);
    spl_factor_destroy(f);
    free(x);
    free(b);
}

TEST(the_solver_of_a_config_is_called)
{
    matrix m = matrix_make(DIAGONAL, 20, 1, 1);
    supple_config config = supple_config_default();
    config.solver = &counting;
    spl_factor_options options = spl_factor_options_of(&config);
    CHECK(options.backend == &counting && !options.indefinite && !options.single && !options.plain);
    memset(&calls, 0, sizeof calls);
    solve_twice(&m, &options);
    CHECK(calls.create == 1 && calls.factorise == 1 && calls.solve == 2 && calls.destroy == 1);
    options.single = true; /* a backend has no factor in float: ours serves */
    solve_twice(&m, &options);
    config.solver = NULL;
    options = spl_factor_options_of(&config);
    CHECK(!options.backend);
    solve_twice(&m, &options);
    CHECK(!spl_factor_options_of(NULL).backend);
    CHECK(calls.create == 1 && calls.factorise == 1 && calls.solve == 2 && calls.destroy == 1);
    matrix_free(&m);
}

#ifdef SPL_CHOLMOD_PLUGIN
static supple_plugin *open_plugin(void)
{
    supple_plugin *plugin;
    supple_error error = {0};
    if (supple_plugin_open(SPL_CHOLMOD_PLUGIN, &plugin, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    return plugin;
}

/* Solves with both and compares. */
static void compare(const spl_pattern *p, const double *values, int32_t k, const supple_solver_backend *backend)
{
    supple_allocator a = spl_allocator_of(NULL);
    size_t count = spl_pattern_unknowns(p) * (size_t)k;
    double *x[2], size = 0, apart = 0;
    for (int i = 0; i < 2; i++) {
        spl_factor *f;
        supple_error error = {0};
        x[i] = random_vector(count, 5);
        spl_factor_options o = {.backend = i ? backend : NULL};
        REQUIRE(spl_factor_create(p, &o, &a, NULL, &f, NULL) == SUPPLE_OK);
        CHECK(strcmp(spl_factor_get_stats(f).backend, i ? "cholmod" : "supple") == 0);
        CHECK(spl_factor_factorise(f, values, &error) == SUPPLE_OK);
        CHECK(spl_factor_factorise(f, values, &error) == SUPPLE_OK); /* and again */
        CHECK(spl_factor_solve(f, x[i], k, &error) == SUPPLE_OK);
        CHECK(spl_factor_get_stats(f).entries >= (double)spl_pattern_unknowns(p));
        spl_factor_destroy(f);
    }
    for (size_t i = 0; i < count; i++) apart = fmax(apart, fabs(x[0][i] - x[1][i])), size = fmax(size, fabs(x[0][i]));
    CHECK(apart <= 1e-10 * size);
    free(x[0]);
    free(x[1]);
}
#endif

TEST(cholmod_agrees_with_ours)
{
#ifndef SPL_CHOLMOD_PLUGIN
    SKIP("built without CHOLMOD");
#else
    supple_plugin *plugin = open_plugin();
    REQUIRE(plugin);
    const supple_solver_backend *backend = supple_plugin_solver(plugin);
    for (int s = 0; s < SHAPES; s++)
        for (int block = 1; block <= 3; block += 2) {
            matrix m = matrix_make((shape)s, 60, block, 6);
            compare(&m.pattern, m.values, 1, backend);
            compare(&m.pattern, m.values, 3, backend);
            matrix_free(&m);
        }
    supple_allocator a = spl_allocator_of(NULL);
    for (int block = 1; block <= 3; block += 2) { /* 3: large enough for CHOLMOD's supernodes */
        lattice m = lattice_make(7, 7, 7, 1);
        spl_assembly s;
        REQUIRE(spl_assembly_create(m.tets, (size_t)m.tet_count, 4, m.vertex_count, m.unknown, m.unknown_count, block,
                                    &a, &s, NULL) == SUPPLE_OK);
        double *elements = lattice_elements(&m, block, 0), *values = malloc(spl_pattern_values(&s.pattern) * 8);
        spl_assembly_gather(&s, elements, values, NULL);
        compare(&s.pattern, values, 3, backend);
        free(values);
        free(elements);
        spl_assembly_release(&s, &a);
        lattice_free(&m);
    }
    supple_plugin_close(plugin);
#endif
}

TEST(cholmod_failures_are_named)
{
#ifndef SPL_CHOLMOD_PLUGIN
    SKIP("built without CHOLMOD");
#else
    supple_plugin *plugin = open_plugin();
    REQUIRE(plugin);
    supple_allocator a = spl_allocator_of(NULL);
    for (int s = 0; s < SHAPES; s++) {
        matrix m = matrix_make((shape)s, 50, 1, 6);
        spl_factor *f;
        supple_error error;
        spl_factor_options o = {.backend = supple_plugin_solver(plugin)};
        REQUIRE(spl_factor_create(&m.pattern, &o, &a, NULL, &f, NULL) == SUPPLE_OK);
        m.values[m.pattern.start[20]] *= -1;
        CHECK(spl_factor_factorise(f, m.values, &error) == SUPPLE_ERROR_SOLVE);
        CHECK(strstr(error.message, "not positive definite") && spl_factor_get_stats(f).failed_node >= 0);
        double x[50] = {0};
        CHECK(spl_factor_solve(f, x, 1, NULL) == SUPPLE_ERROR_SOLVE);
        m.values[m.pattern.start[20]] *= -1;
        CHECK(spl_factor_factorise(f, m.values, &error) == SUPPLE_OK);
        spl_factor_destroy(f);
        matrix_free(&m);
    }
    supple_plugin_close(plugin);
#endif
}

TEST_CASES(RUN(the_solver_of_a_config_is_called), RUN(what_is_no_plugin_is_refused), RUN(cholmod_agrees_with_ours),
           RUN(cholmod_failures_are_named))
