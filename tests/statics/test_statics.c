#include "statics/statics.h"

#include "failing.h"
#include "fem/residual.h"
#include "statics/flesh.h"
#include "test.h"

/* The identity for every tet: what the laws with a given rotation get. */
static double *identities(const flesh *f)
{
    double *R = calloc(9 * (size_t)f->tet_count, sizeof *R);
    for (int32_t k = 0; k < f->tet_count; k++) R[9 * k] = R[9 * k + 4] = R[9 * k + 8] = 1;
    return R;
}

static double furthest(const flesh *f, const double *x, const double *y)
{
    double most = 0;
    for (int32_t i = 0; i < 3 * f->vertex_count; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most / f->size;
}

/* Holds the vertices where pick() says so. */
static void hold(flesh *f, bool (*pick)(const flesh *f, const double *p))
{
    for (int32_t v = 0; v < f->vertex_count; v++) f->held[v] = pick(f, f->rest + 3 * v) ? 0 : -1;
}

static double limit[3]; /* of the box that the pickers below know */

static bool on_boundary(const flesh *f, const double *p)
{
    (void)f;
    for (int c = 0; c < 3; c++)
        if (p[c] < 1e-9 || p[c] > limit[c] - 1e-9) return true;
    return false;
}
static bool at_left(const flesh *f, const double *p)
{
    (void)f;
    return p[0] < 1e-9;
}
static bool at_ends(const flesh *f, const double *p)
{
    return at_left(f, p) || p[0] > limit[0] - 1e-9;
}

static flesh box(int nx, int ny, int nz, double lx, double ly, double lz, double jitter,
                 bool (*pick)(const flesh *f, const double *p))
{
    flesh f = flesh_box(nx, ny, nz, lx, ly, lz, jitter);
    limit[0] = lx, limit[1] = ly, limit[2] = lz;
    hold(&f, pick);
    return f;
}

/* A beam held at both ends, the right one turned by `degrees` about z and shifted. */
static flesh bent_beam(int cells, double degrees)
{
    flesh f = box(4 * cells, cells, cells, 0.4, 0.1, 0.1, 0.2, at_ends);
    double angle = degrees * 3.14159265358979323846 / 180, c = cos(angle), s = sin(angle);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        double *p = f.x + 3 * v, x = p[0] - 0.2, y = p[1];
        if (f.held[v] < 0 || f.rest[3 * v] < 0.2) continue;
        p[0] = 0.2 + c * x - s * y;
        p[1] = s * x + c * y;
    }
    return f;
}

static bool solve(const flesh *f, const spl_statics_options *options, const spl_statics_problem *problem, double *x,
                  spl_statics_stats *stats)
{
    supple_error error = {0};
    spl_statics *s = flesh_solver(f, options, NULL);
    supple_result result = spl_statics_solve(s, problem, x, stats, &error);
    if (result != SUPPLE_OK) printf("    %s\n", error.message);
    spl_statics_destroy(s);
    return result == SUPPLE_OK;
}

/* An affine displacement of the boundary of an irregular mesh gives the affine map inside, for every law. */
TEST(patch)
{
    static const double A[9] = {1.1, 0.05, -0.02, 0.12, 0.95, 0.03, -0.06, 0.08, 1.04}; /* column-major */
    flesh f = box(5, 4, 3, 1, 0.8, 0.6, 0.25, on_boundary);
    double *want = calloc(3 * (size_t)f.vertex_count, sizeof *want), *R = identities(&f);
    for (int32_t i = 0; i < 3 * f.vertex_count; i++) {
        const double *p = f.rest + 3 * (i / 3);
        want[i] = A[i % 3] * p[0] + A[3 + i % 3] * p[1] + A[6 + i % 3] * p[2];
    }
    for (int32_t l = 0; l < spl_law_count(); l++) {
        spl_statics_problem problem = flesh_problem(&f, spl_law_at(l));
        spl_statics_stats stats;
        if (problem.law->needs_rotation) problem.rotation = R;
        for (int32_t v = 0; v < f.vertex_count; v++)
            memcpy(f.x + 3 * v, (f.held[v] < 0 ? f.rest : want) + 3 * v, 3 * sizeof(double));
        REQUIRE(solve(&f, NULL, &problem, f.x, &stats));
        CHECK(stats.converged && stats.iterations >= 1 && !stats.restarted);
        CHECK_NEAR(furthest(&f, f.x, want), 0, 1e-9);
    }
    free(R);
    free(want);
    flesh_free(&f);
}

/* Where the held vertices have not moved, or moved rigidly, so does the rest. */
TEST(rest_and_rigid_motions)
{
    flesh f = box(6, 3, 3, 1, 0.5, 0.5, 0.25, at_ends);
    double *want = calloc(3 * (size_t)f.vertex_count, sizeof *want);
    const double t[3] = {3, -2, 1}, q[4] = {0.2, 0.4, -0.1, 0.885}, one[3] = {1, 1, 1};
    spl_mat4 motion = spl_mat4_trs(t, q, one);
    for (int rigid = 0; rigid < 2; rigid++)
        for (int32_t l = 0; l < spl_law_count(); l++) {
            spl_statics_problem problem = flesh_problem(&f, spl_law_at(l));
            spl_statics_stats stats;
            if (problem.law->needs_rotation) continue; /* they do as the rotation says: below */
            for (int32_t v = 0; v < f.vertex_count; v++) {
                spl_vec3 p = spl_v3(f.rest[3 * v], f.rest[3 * v + 1], f.rest[3 * v + 2]);
                if (rigid) p = spl_mat4_point(&motion, p);
                memcpy(want + 3 * v, &p, sizeof p);
                memcpy(f.x + 3 * v, f.held[v] < 0 ? f.rest + 3 * v : want + 3 * v, sizeof p);
                if (!rigid || !problem.law->barrier || f.held[v] >= 0) continue;
                for (int c = 0; c < 3; c++) /* a start without inverted tets: moved along, and shaken */
                    f.x[3 * v + c] = want[3 * v + c] + 0.02 * sin(3 * v + 5 * c);
            }
            REQUIRE(solve(&f, NULL, &problem, f.x, &stats));
            CHECK(stats.converged);
            CHECK(rigid ? stats.iterations > 0 : stats.iterations == 0); /* rounding is known for what it is */
            CHECK_NEAR(furthest(&f, f.x, want), 0, rigid ? 1e-9 : 1e-10);
        }
    free(want);
    flesh_free(&f);
}

TEST(given_rotations_turn_the_body)
{
    flesh f = box(6, 3, 3, 1, 0.5, 0.5, 0.25, at_ends);
    double *want = calloc(3 * (size_t)f.vertex_count, sizeof *want), *R = identities(&f);
    const double t[3] = {3, -2, 1}, q[4] = {0.2, 0.4, -0.1, 0.885}, one[3] = {1, 1, 1};
    spl_mat4 motion = spl_mat4_trs(t, q, one);
    spl_mat3 turn = spl_mat3_linear(&motion);
    for (int32_t k = 0; k < f.tet_count; k++) memcpy(R + 9 * k, turn.m, sizeof turn.m);
    const spl_law *laws[] = {&spl_law_exrotated, &spl_law_mixed};
    for (int l = 0; l < 2; l++) {
        spl_statics_problem problem = flesh_problem(&f, laws[l]);
        spl_statics_stats stats;
        problem.rotation = R;
        for (int32_t v = 0; v < f.vertex_count; v++) {
            spl_vec3 p = spl_mat4_point(&motion, spl_v3(f.rest[3 * v], f.rest[3 * v + 1], f.rest[3 * v + 2]));
            memcpy(want + 3 * v, &p, sizeof p);
            memcpy(f.x + 3 * v, f.held[v] < 0 ? f.rest + 3 * v : want + 3 * v, sizeof p);
        }
        REQUIRE(solve(&f, NULL, &problem, f.x, &stats));
        CHECK(stats.converged && stats.iterations <= 2); /* quadratic: one step, one more for its rounding */
        CHECK_NEAR(furthest(&f, f.x, want), 0, 1e-9);
    }
    free(R);
    free(want);
    flesh_free(&f);
}

/* r_(k+1) <= C r_k^2 over the last steps: from 1e-6 to 1e-9 at least, where projected Hessians gain a tenth a step. */
TEST(the_last_steps_converge_quadratically)
{
    const spl_law *laws[] = {&spl_law_corot, &spl_law_neohookean};
    for (int l = 0; l < 2; l++) {
        flesh f = bent_beam(3, 50);
        double history[201];
        spl_statics_options options = spl_statics_options_default();
        options.tolerance = 1e-11;
        options.history = history;
        spl_statics_problem problem = flesh_problem(&f, laws[l]);
        spl_statics_stats stats;
        REQUIRE(solve(&f, &options, &problem, f.x, &stats));
        CHECK(stats.converged && stats.exact >= 2 && history[stats.iterations] == stats.residual);
        int checked = 0;
        for (int k = 0; k < stats.iterations; k++) {
            if (history[k] > 1e-3 || history[k] < 1e-7) continue; /* not near yet; rounding */
            CHECK(history[k + 1] <= 1000 * history[k] * history[k]);
            checked++;
        }
        CHECK(checked >= 2);
        flesh_free(&f);
    }
}

/* Forces vanish where free; all forces together, and their moments, vanish: recomputed here from the law. */
TEST(forces_balance_at_the_solution)
{
    flesh f = bent_beam(3, 60);
    spl_statics_problem problem = flesh_problem(&f, &spl_law_neohookean);
    spl_statics_stats stats;
    REQUIRE(solve(&f, NULL, &problem, f.x, &stats));
    double *force = calloc(3 * (size_t)f.vertex_count, sizeof *force), sum[3] = {0}, turn[3] = {0}, held = 0, left = 0;
    for (int32_t k = 0; k < f.tet_count; k++) {
        spl_law_input in = {.F = spl_element_F(&f.elements, k, f.x), .mu = f.mu[k], .lambda = f.lambda[k]};
        spl_mat3 P;
        double g[12];
        problem.law->stress(&in, &P);
        spl_element_forces(&f.elements, k, &P, g);
        for (int i = 0; i < 12; i++) force[3 * f.tet[4 * k + i / 3] + i % 3] += g[i];
    }
    for (int32_t v = 0; v < f.vertex_count; v++) {
        const double *g = force + 3 * v, *p = f.x + 3 * v;
        double norm = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        if (f.held[v] < 0)
            left = fmax(left, norm);
        else
            held = fmax(held, norm);
        for (int c = 0; c < 3; c++) {
            sum[c] += g[c];
            turn[c] += p[(c + 1) % 3] * g[(c + 2) % 3] - p[(c + 2) % 3] * g[(c + 1) % 3];
        }
    }
    CHECK(left < 1e-7 * held);
    for (int c = 0; c < 3; c++) {
        CHECK_NEAR(sum[c], 0, 1e-9 * held);
        CHECK_NEAR(turn[c], 0, 1e-9 * held);
    }
    free(force);
    flesh_free(&f);
}

TEST(direct_and_pcg_agree)
{
    flesh f = bent_beam(4, 60);
    size_t bytes = 3 * (size_t)f.vertex_count * sizeof(double);
    double *x = malloc(bytes);
    const spl_law *laws[] = {&spl_law_corot, &spl_law_neohookean};
    for (int l = 0; l < 2; l++) {
        spl_statics_problem problem = flesh_problem(&f, laws[l]);
        spl_statics_options options = spl_statics_options_default();
        spl_statics_stats direct, pcg;
        double *y = malloc(bytes);
        options.tolerance = 1e-9;
        memcpy(x, f.x, bytes);
        memcpy(y, f.x, bytes);
        REQUIRE(solve(&f, &options, &problem, x, &direct));
        options.solver = SPL_STATICS_PCG;
        REQUIRE(solve(&f, &options, &problem, y, &pcg));
        CHECK(direct.converged && pcg.converged && direct.inner == 0 && pcg.inner > 0);
        CHECK_NEAR(direct.energy / pcg.energy, 1, 1e-9);
        CHECK_NEAR(furthest(&f, x, y), 0, 1e-7);
        free(y);
    }
    free(x);
    flesh_free(&f);
}

/* Two solvers, and the second with levels of the rest shape. */
enum { WAYS = 3 };

static spl_statics_options way_options(const flesh *f, int way, spl_statics_rest *rest)
{
    spl_statics_options options = spl_statics_options_default();
    *rest = (spl_statics_rest){.law = &spl_law_corot, .position = f->rest, .mu = f->mu, .lambda = f->lambda};
    options.solver = way == 0 ? SPL_STATICS_DIRECT : SPL_STATICS_PCG;
    if (way == 2) options.rest = rest;
    return options;
}

TEST(levels_find_the_same_shape_in_fewer_iterations)
{
    const spl_law *const laws[] = {&spl_law_arap, &spl_law_corot, &spl_law_neohookean, &spl_law_stvk};
    flesh f = bent_beam(6, 60);
    size_t bytes = 3 * (size_t)f.vertex_count * sizeof(double);
    double *x = malloc(bytes), *y = malloc(bytes);
    for (int l = 0; l < 4; l++) {
        spl_statics_rest rest;
        spl_statics_problem problem = flesh_problem(&f, laws[l]);
        spl_statics_stats plain, levels;
        for (int way = 1; way < WAYS; way++) {
            double *to = way == 1 ? x : y;
            spl_statics_options options = way_options(&f, way, &rest);
            rest.law = laws[l];
            memcpy(to, f.x, bytes);
            REQUIRE(solve(&f, &options, &problem, to, way == 1 ? &plain : &levels));
        }
        CHECK(plain.converged && levels.converged);
        CHECK_NEAR(furthest(&f, x, y), 0, 1e-6);
        CHECK(levels.inner < plain.inner);
    }
    free(x);
    free(y);
    flesh_free(&f);
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    flesh f = bent_beam(6, 60);
    size_t bytes = 3 * (size_t)f.vertex_count * sizeof(double);
    double *x[3];
    const int threads[3] = {1, 2, 7};
    for (int way = 0; way < WAYS; way++) {
        for (int t = 0; t < 3; t++) {
            supple_config config = supple_config_default();
            config.thread_count = threads[t];
            spl_pool *pool;
            REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
            spl_statics_rest rest;
            spl_statics_options options = way_options(&f, way, &rest);
            spl_statics *s = flesh_solver(&f, &options, pool);
            spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
            spl_statics_stats stats;
            x[t] = malloc(bytes);
            memcpy(x[t], f.x, bytes);
            flesh_spoil(&f, RANDOM, x[t]);
            CHECK(spl_statics_solve(s, &problem, x[t], &stats, NULL) == SUPPLE_OK && stats.converged);
            CHECK(stats.restarted);
            CHECK(memcmp(x[t], x[0], bytes) == 0);
            spl_statics_destroy(s);
            spl_pool_destroy(pool);
        }
        for (int t = 0; t < 3; t++) free(x[t]);
    }
    flesh_free(&f);
}

TEST(every_allocation_may_fail_and_a_solve_makes_none)
{
    flesh f = bent_beam(1, 30);
    for (int way = 0; way < WAYS; way++) {
        spl_statics_rest rest;
        spl_statics_options options = way_options(&f, way, &rest);
        long n = 0;
        for (bool made = false; !made; n++) {
            failing memory = {.fail_at = n};
            supple_allocator a = failing_allocator(&memory);
            spl_statics *s;
            supple_error error;
            supple_result result = spl_statics_create(&f.elements, f.held, &a, NULL, &options, &s, &error);
            made = result == SUPPLE_OK;
            CHECK(made ? s != NULL : result == SUPPLE_ERROR_MEMORY && !s);
            if (made) {
                spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
                double *x = malloc(3 * (size_t)f.vertex_count * sizeof *x);
                memcpy(x, f.x, 3 * (size_t)f.vertex_count * sizeof *x);
                long before = memory.requests;
                CHECK(spl_statics_solve(s, &problem, x, NULL, NULL) == SUPPLE_OK && memory.requests == before);
                free(x);
            }
            spl_statics_destroy(s);
            CHECK(memory.live == 0);
        }
        CHECK(n > 15);
    }
    flesh_free(&f);
}

TEST(wrong_requests_are_refused)
{
    flesh f = bent_beam(1, 30);
    spl_statics *s = flesh_solver(&f, NULL, NULL);
    supple_error error;
    spl_statics_stats stats;
    spl_statics_problem problem = flesh_problem(&f, &spl_law_exrotated);
    CHECK(spl_statics_solve(s, &problem, f.x, &stats, &error) == SUPPLE_ERROR_ARGUMENT);
    problem = flesh_problem(&f, &spl_law_corot);
    spl_pin pin = {.vertex = f.vertex_count, .stiffness = 1};
    problem.pin = &pin;
    problem.pin_count = 1;
    CHECK(spl_statics_solve(s, &problem, f.x, &stats, &error) == SUPPLE_ERROR_ARGUMENT);
    pin = (spl_pin){.vertex = 0, .stiffness = -1};
    CHECK(spl_statics_solve(s, &problem, f.x, &stats, &error) == SUPPLE_ERROR_ARGUMENT);
    problem.pin_count = 0;
    f.x[7] = NAN;
    CHECK(spl_statics_solve(s, &problem, f.x, &stats, &error) == SUPPLE_ERROR_SOLVE &&
          strstr(error.message, "vertex 2"));
    spl_statics_destroy(s);
    flesh_free(&f);
}

/* Out of steps: said in the stats, and x is better than it was. */
TEST(too_few_steps_are_reported)
{
    flesh f = bent_beam(3, 60);
    double history[3];
    spl_statics_options options = spl_statics_options_default();
    options.max_iterations = 2;
    options.history = history;
    spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
    spl_statics_stats stats;
    REQUIRE(solve(&f, &options, &problem, f.x, &stats));
    CHECK(!stats.converged && stats.iterations == 2 && stats.residual > 1e-8 && history[2] == stats.residual);
    flesh_free(&f);
}

TEST_CASES(RUN(patch), RUN(rest_and_rigid_motions), RUN(given_rotations_turn_the_body),
           RUN(the_last_steps_converge_quadratically), RUN(forces_balance_at_the_solution), RUN(direct_and_pcg_agree),
           RUN(levels_find_the_same_shape_in_fewer_iterations), RUN(the_bits_do_not_depend_on_the_threads),
           RUN(every_allocation_may_fail_and_a_solve_makes_none), RUN(wrong_requests_are_refused),
           RUN(too_few_steps_are_reported))
