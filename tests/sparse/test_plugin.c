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

TEST_MAIN(RUN(what_is_no_plugin_is_refused), RUN(cholmod_agrees_with_ours), RUN(cholmod_failures_are_named))
