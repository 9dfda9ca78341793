/* The solver of projective dynamics on a limb of prisms: descent, the same minimum as Newton's method, momentum,
 * contacts against an assembled system, bits, memory. */
#include "core/memory.h"
#include "core/threads.h"
#include "failing.h"
#include "fem/residual.h"
#include "methods/projective/local.h"
#include "methods/projective/solver.h"
#include "methods/projective/tube.h"
#include "statics/statics.h"
#include "test.h"

#include <supple/base.h>

enum { AROUND = 10, RINGS = 21 };

static spl_pool *pool_of(int32_t threads)
{
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool = NULL;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) abort();
    return pool;
}

static spl_pd_input input_of(const tube *t, spl_pace_kind pace)
{
    return (spl_pd_input){.elements = &t->elements,
                          .mu = t->mu,
                          .mass = t->mass,
                          .held = t->held,
                          .floor = 1e-9,
                          .pace = pace,
                          .tie_capacity = 64,
                          .direct_ties = 64};
}

static spl_pd *pd_of(const spl_pd_input *in, spl_pool *pool)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pd *pd = NULL;
    if (spl_pd_create(in, &a, pool, &pd, &error) != SUPPLE_OK) printf("    %s\n", error.message), abort();
    return pd;
}

static double *start_of(const tube *t, double bend, double twist)
{
    size_t n = 3 * (size_t)t->vertex_count;
    double *x = malloc(n * sizeof *x);
    memcpy(x, t->rest, n * sizeof *x);
    tube_pose(t, bend, twist, x);
    return x;
}

static double largest(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= most)) most = fabs(a[i] - b[i]);
    return most;
}

static bool all_finite(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* From the undeformed skin around a bone that is already bent. Without acceleration each iteration is a minimisation of
 * an upper bound; with it the solver takes back what does not fall, so the records fall too. */
TEST(energy_falls_in_every_iteration)
{
    tube t = tube_make(AROUND, RINGS);
    for (spl_pace_kind pace = SPL_PACE_NONE; pace <= SPL_PACE_AUTO; pace++)
        for (int kind = 0; kind < 4; kind++) {
            spl_pd_input in = input_of(&t, pace);
            if (kind & 2) in.lambda = t.lambda; /* corot */
            spl_pd *pd = pd_of(&in, NULL);
            double *x = start_of(&t, 80, 60), record[60] = {0};
            bool moving = kind & 1;
            spl_pd_problem q = {.dt = moving ? 1.0 / 60 : 0, .inertia = t.rest, .iterations = 60};
            spl_pd_stats stats;
            spl_pd_record(pd, record);
            CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
            CHECK(stats.iterations == 60);
            for (int i = 1; i < 60; i++) CHECK(record[i] <= record[i - 1] * (1 + 2e-6));
            CHECK(record[59] < 0.5 * record[0]);
            spl_pd_destroy(pd);
            free(x);
        }
    tube_free(&t);
}

static void newton(const tube *t, const spl_law *law, const double *lambda, double *x)
{
    spl_statics_options options = spl_statics_options_default();
    options.tolerance = 1e-10;
    supple_allocator a = spl_allocator_of(NULL);
    spl_statics *s = NULL;
    spl_statics_stats stats;
    supple_error error = {0};
    spl_statics_problem p = {.law = law, .mu = t->mu, .lambda = lambda};
    if (spl_statics_create(&t->elements, t->held, &a, NULL, &options, &s, &error) != SUPPLE_OK ||
        spl_statics_solve(s, &p, x, &stats, &error) != SUPPLE_OK)
        printf("    %s\n", error.message), abort();
    CHECK(stats.converged);
    spl_statics_destroy(s);
}

TEST(equilibrium_is_that_of_newtons_method)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count;
    for (int k = 0; k <= 2 * SPL_PACE_AUTO + 1; k++) {
        spl_pace_kind pace = (spl_pace_kind)(k / 2);
        bool corot = k % 2;
        spl_pd_input in = input_of(&t, pace);
        if (corot) in.lambda = t.lambda;
        spl_pd *pd = pd_of(&in, NULL);
        double *x = start_of(&t, 50, 40), *y = malloc(n * sizeof *y);
        spl_pd_problem q = {.iterations = 3000, .tolerance = 2e-6};
        spl_pd_stats stats;
        CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
        CHECK(stats.converged);
        memcpy(y, x, n * sizeof *y);
        newton(&t, corot ? &spl_law_corot : &spl_law_arap, t.lambda, y);
        double far = largest(x, y, n), moved = largest(y, t.rest, n);
        CHECK(far < 1e-6 * t.length);
        CHECK(moved > 0.1);
        if (pace == SPL_PACE_ANDERSON) CHECK(stats.iterations < (corot ? 200 : 100));
        if (pace == SPL_PACE_LBFGS) CHECK(stats.iterations < (corot ? 120 : 50)); /* plain: 403 and 72 */
        spl_pd_destroy(pd);
        free(x);
        free(y);
    }
    tube_free(&t);
}

/* The law that measures volume constraints has the solver's energy: its forces vanish where the solver has settled. */
TEST(volume_constraints_settle_where_their_law_does)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count, tets = (size_t)t.tet_count;
    double *x = start_of(&t, 60, 0), *plain = start_of(&t, 60, 0), ratio[2];
    double *force = calloc(n, sizeof *force), *magnitude = calloc(n, sizeof *magnitude),
           *scratch = calloc(12 * tets + 4 * (tets / 1024 + 1), sizeof *scratch);
    spl_pd_input in = input_of(&t, SPL_PACE_AUTO);
    spl_pd *without = pd_of(&in, NULL);
    in.bulk = t.lambda;
    spl_pd *pd = pd_of(&in, NULL);
    spl_pd_problem q = {.iterations = 2000, .tolerance = 1e-5};
    spl_pd_stats stats;
    CHECK(spl_pd_solve(without, &q, plain, &stats, NULL) == SUPPLE_OK);
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
    CHECK(stats.converged);
    spl_stars stars;
    supple_allocator a = spl_allocator_of(NULL);
    REQUIRE(spl_stars_create(&t.elements, &a, &stars, NULL) == SUPPLE_OK);
    spl_elastic elastic = {&t.elements, &spl_law_projective, t.mu, t.lambda, NULL, NULL};
    spl_elastic_forces(&elastic, &stars, x, force, magnitude, scratch, NULL);
    CHECK(spl_residual(force, magnitude, t.held, t.vertex_count, 0) < 2e-5);
    ratio[0] = spl_strain_measure(&t.elements, plain, NULL, scratch, NULL).volume_ratio;
    ratio[1] = spl_strain_measure(&t.elements, x, NULL, scratch, NULL).volume_ratio;
    CHECK(fabs(ratio[1] - 1) < fabs(ratio[0] - 1));
    spl_stars_release(&stars);
    spl_pd_destroy(pd);
    spl_pd_destroy(without);
    void *blocks[] = {x, plain, force, magnitude, scratch};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    tube_free(&t);
}

TEST(projection_to_a_volume_is_the_nearest)
{
    const double s[][3] = {{1.3, 1.1, 0.9}, {0.8, 0.7, 0.6}, {1.5, 0.5, -0.2}, {1, 1, 1}, {1.01, 1, 1}};
    for (int k = 0; k < 5; k++) {
        double t[3];
        spl_volume_project(s[k], t);
        double product = t[0] * t[1] * t[2], d[3], g[3] = {t[1] * t[2], t[0] * t[2], t[0] * t[1]};
        for (int i = 0; i < 3; i++) d[i] = t[i] - s[k][i];
        CHECK(product > 0.98 - 1e-9 && product < 1.02 + 1e-9);
        for (int i = 0; i < 3; i++) CHECK_NEAR(d[i] * g[(i + 1) % 3], d[(i + 1) % 3] * g[i], 1e-7);
    }
}

static void momentum_of(const tube *t, const double *v, double p[3])
{
    p[0] = p[1] = p[2] = 0;
    for (int32_t i = 0; i < 3 * t->vertex_count; i++) p[i % 3] += t->mass[i / 3] * v[i];
}

/* Nothing holds it, it is thrown bent and stretched: it swings, and its centre goes straight on. */
TEST(momentum_is_kept_without_bones)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count;
    double *x = start_of(&t, 30, 0), *s = malloc(n * sizeof *s), *v = malloc(n * sizeof *v), before[3], after[3];
    for (int32_t i = 0; i < t.vertex_count; i++) t.held[i] = -1;
    for (size_t i = 0; i < n; i++) v[i] = (i % 3 == 0 ? 0.7 : -0.2) + 0.1 * sin((double)i);
    momentum_of(&t, v, before);
    spl_pd_input in = input_of(&t, SPL_PACE_AUTO);
    spl_pd *pd = pd_of(&in, NULL);
    double h = 1.0 / 60;
    for (int k = 0; k < 60; k++) {
        for (size_t i = 0; i < n; i++) s[i] = x[i] + h * v[i];
        for (size_t i = 0; i < n; i++) v[i] = x[i];
        memcpy(x, s, n * sizeof *x);
        spl_pd_problem q = {.dt = h, .inertia = s, .iterations = 10};
        spl_pd_stats stats;
        REQUIRE(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
        for (size_t i = 0; i < n; i++) v[i] = (x[i] - v[i]) / h;
    }
    momentum_of(&t, v, after);
    for (int c = 0; c < 3; c++) CHECK_NEAR(after[c], before[c], 1e-5 * (fabs(before[0]) + fabs(before[1])));
    spl_pd_destroy(pd);
    free(x), free(s), free(v);
    tube_free(&t);
}

/* ---- contacts ---- */

/* Skin vertices of one side tied to triangles of the other, as contacts tie them. */
static int32_t ties_of(const tube *t, const spl_pd *pd, bool sided, spl_tie *tie)
{
    int32_t count = 0;
    for (int32_t r = 3; r + 4 < t->rings; r += 2) {
        int32_t v = r * t->around, a = v + t->around / 2, b = a + 1, c = a + t->around;
        spl_tie made = {.vertex = {v, a, b, c},
                        .coefficient = {1, -0.5, -0.2, -0.3},
                        .offset = spl_v3(0, 0.115, 0.002 * r),
                        .normal = spl_v3(0, r % 4 ? 1 : -1, 0),
                        .stiffness = 10 * spl_pd_diagonal(pd, v),
                        .sided = sided};
        if (r == 5) made.vertex[2] += t->skin; /* a corner that a bone holds */
        if (r == 7) made = (spl_tie){{v, -1, -1, -1}, {1, 0, 0, 0}, spl_v3(0.2, 0.07, 0), {0, 1, 0}, 1e3, sided};
        tie[count++] = made;
    }
    return count;
}

/* One plain global step by hand: A assembled dense with the ties in it, eliminated in double. */
static void dense_step(const tube *t, const spl_tie *tie, int32_t count, const double *x, double *out)
{
    int32_t n = t->skin;
    double *A = calloc((size_t)n * (size_t)n, sizeof *A), *b = calloc(3 * (size_t)n, sizeof *b);
    for (int32_t k = 0; k < t->tet_count; k++) {
        const double *g = t->elements.gradient + 12 * k;
        const int32_t *v = t->tet + 4 * k;
        spl_law_input in = {.F = spl_element_F(&t->elements, k, x), .mu = t->mu[k]};
        spl_mat3 P;
        double f[12], w = 2 * t->mu[k] * t->elements.volume[k];
        spl_law_arap.stress(&in, &P);
        spl_element_forces(&t->elements, k, &P, f);
        for (int i = 0; i < 4; i++) {
            if (v[i] >= n) continue;
            for (int c = 0; c < 3; c++) b[3 * v[i] + c] += f[3 * i + c];
            for (int j = 0; j < 4; j++)
                if (v[j] < n)
                    A[v[i] * n + v[j]] +=
                        w * (g[3 * i] * g[3 * j] + g[3 * i + 1] * g[3 * j + 1] + g[3 * i + 2] * g[3 * j + 2]);
        }
    }
    for (int32_t q = 0; q < count; q++) {
        spl_vec3 d = spl_tie_gap(&tie[q], x, 3);
        const double gap[3] = {d.x, d.y, d.z};
        for (int i = 0; i < 4; i++) {
            int32_t u = tie[q].vertex[i];
            if (u < 0 || u >= n) continue;
            for (int c = 0; c < 3; c++) b[3 * u + c] -= tie[q].stiffness * tie[q].coefficient[i] * gap[c];
            for (int j = 0; j < 4; j++)
                if (tie[q].vertex[j] >= 0 && tie[q].vertex[j] < n)
                    A[u * n + tie[q].vertex[j]] += tie[q].stiffness * tie[q].coefficient[i] * tie[q].coefficient[j];
        }
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = i + 1; k < n; k++) {
            double s = A[k * n + i] / A[i * n + i];
            if (s == 0) continue;
            for (int32_t j = i; j < n; j++) A[k * n + j] -= s * A[i * n + j];
            for (int c = 0; c < 3; c++) b[3 * k + c] -= s * b[3 * i + c];
        }
    memcpy(out, x, 3 * (size_t)t->vertex_count * sizeof *out);
    for (int32_t i = n - 1; i >= 0; i--)
        for (int c = 0; c < 3; c++) {
            for (int32_t j = i + 1; j < n; j++) b[3 * i + c] -= A[i * n + j] * b[3 * j + c];
            b[3 * i + c] /= A[i * n + i];
            out[3 * i + c] += b[3 * i + c];
        }
    free(A);
    free(b);
}

TEST(contacts_equal_a_refactorised_solve)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count;
    int32_t alone = 0;
    for (int sided = 0; sided < 2; sided++)
        for (int way = 0; way < 4; way++) {
            spl_pd_input in = input_of(&t, SPL_PACE_NONE);
            if (way == 1) in.direct_ties = 0; /* conjugate gradients with the factor */
            if (way == 2) in.inner = 1000;    /* Jacobi's, to the end */
            if (way == 3) in.direct_ties = 6; /* with the factor, and the first six */
            spl_pd *pd = pd_of(&in, NULL);
            spl_tie tie[32];
            int32_t count = ties_of(&t, pd, sided, tie);
            double *x = start_of(&t, 20, 10), *y = malloc(n * sizeof *y);
            dense_step(&t, tie, count, x, y);
            spl_pd_problem q = {.tie = tie, .tie_count = count, .iterations = 1};
            spl_pd_stats stats;
            CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
            CHECK((stats.inner > 0) == (way > 0) && (way != 3 || count > 6));
            if (way == 1) alone = stats.inner;
            if (way == 3) CHECK(stats.inner < alone);
            double far = largest(x, y, n);
            if (!(far < (way % 2 ? 1e-3 : 1e-6) * t.length)) printf("    way %d: %g\n", way, far / t.length);
            CHECK(far < (way % 2 ? 1e-3 : 1e-6) * t.length);
            spl_pd_destroy(pd);
            free(x);
            free(y);
        }
    tube_free(&t);
}

/* Columns are kept at the nodes that may touch, and elsewhere nothing may. */
TEST(columns_need_only_what_may_touch)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count;
    bool *may_touch = calloc((size_t)t.vertex_count, sizeof *may_touch);
    double *x[2];
    for (int some = 0; some < 2; some++) {
        spl_pd_input in = input_of(&t, SPL_PACE_NONE);
        in.may_touch = some ? may_touch : NULL;
        spl_tie tie[32];
        spl_pd *pd = pd_of(&in, NULL), *tied = NULL;
        int32_t count = ties_of(&t, pd, true, tie);
        for (int32_t j = 0; j < count; j++)
            for (int i = 0; i < 4; i++)
                if (tie[j].vertex[i] >= 0) may_touch[tie[j].vertex[i]] = true;
        tied = pd_of(&in, NULL); /* that knows of all of them */
        x[some] = start_of(&t, 20, 10);
        spl_pd_problem q = {.tie = tie, .tie_count = count, .iterations = 1};
        spl_pd_stats stats;
        CHECK(spl_pd_solve(tied, &q, x[some], &stats, NULL) == SUPPLE_OK && stats.inner == 0);
        int32_t other = 0;
        while (may_touch[other] || in.held[other] >= 0) other++;
        tie[0].vertex[0] = other;
        double *y = start_of(&t, 20, 10);
        CHECK(spl_pd_solve(tied, &q, y, &stats, NULL) == (some ? SUPPLE_ERROR_SOLVE : SUPPLE_OK));
        free(y);
        spl_pd_destroy(pd);
        spl_pd_destroy(tied);
    }
    CHECK(memcmp(x[0], x[1], n * sizeof *x[0]) == 0);
    free(x[0]), free(x[1]);
    free(may_touch);
    tube_free(&t);
}

TEST(columns_are_kept_and_made_room_for)
{
    tube t = tube_make(AROUND, RINGS);
    spl_pd_input in = input_of(&t, SPL_PACE_NONE);
    in.direct_ties = 8; /* 32 columns */
    spl_pd *pd = pd_of(&in, NULL);
    spl_tie tie[32];
    ties_of(&t, pd, false, tie);
    double *x = start_of(&t, 20, 10);
    spl_pd_problem q = {.tie = tie, .tie_count = 4, .iterations = 1};
    spl_pd_stats stats;
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK && stats.columns > 8);
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK && stats.columns == 0);
    spl_tie first[4];
    memcpy(first, tie, sizeof first);
    for (int32_t r = 0; r < 5; r++) { /* others each time: the first ones are crowded out */
        for (int32_t k = 0; k < 4; k++)
            for (int32_t i = 0; i < 2; i++) tie[k].vertex[i] = (r * 4 + k) * 9 + 3 * i;
        free(x);
        x = start_of(&t, 20, 10);
        CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK && stats.columns > 0);
    }
    double *y = malloc(3 * (size_t)t.vertex_count * sizeof *y);
    free(x);
    x = start_of(&t, 20, 10);
    dense_step(&t, first, 4, x, y);
    q.tie = first; /* and are right when they come back */
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK && stats.columns > 0);
    CHECK(largest(x, y, 3 * (size_t)t.vertex_count) < 1e-6 * t.length);
    free(y);
    q.tie = tie;
    q.tie_count = 7;
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK && stats.columns > 0);
    q.dt = 0.01; /* another matrix */
    q.inertia = x;
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK && stats.columns > 8);
    spl_pd_destroy(pd);
    free(x);
    tube_free(&t);
}

/* Everything moved by the same amount: positions against each other do not change, contacts or not. */
TEST(contacts_do_not_feel_translations)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count;
    spl_pd_input in = input_of(&t, SPL_PACE_AUTO);
    spl_pd *pd = pd_of(&in, NULL);
    spl_tie tie[32];
    int32_t count = ties_of(&t, pd, false, tie) - 5;
    for (int32_t i = 0; i < count; i++)
        if (tie[i].vertex[1] < 0) tie[i] = tie[0];
    double *x = start_of(&t, 20, 10), *y = start_of(&t, 20, 10);
    for (size_t i = 0; i < n; i++) y[i] += i % 3 == 1 ? 0.5 : 0;
    spl_pd_problem q = {.tie = tie, .tie_count = count, .dt = 1.0 / 60, .inertia = x, .iterations = 10};
    spl_pd_stats stats;
    double *s = malloc(n * sizeof *s);
    memcpy(s, x, n * sizeof *s);
    q.inertia = s;
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
    memcpy(s, y, n * sizeof *s);
    spl_pd_forget(pd);
    CHECK(spl_pd_solve(pd, &q, y, &stats, NULL) == SUPPLE_OK);
    for (size_t i = 0; i < n; i++) y[i] -= i % 3 == 1 ? 0.5 : 0;
    CHECK(largest(x, y, n) < 1e-6);
    spl_pd_destroy(pd);
    free(x), free(y), free(s);
    tube_free(&t);
}

/* ---- numbers ---- */

static double *run(const tube *t, double bend, int32_t threads, bool plain)
{
    spl_pool *pool = pool_of(threads);
    spl_pd_input in = input_of(t, SPL_PACE_AUTO);
    in.plain = plain;
    spl_pd *pd = pd_of(&in, pool);
    spl_tie tie[32];
    int32_t count = ties_of(t, pd, true, tie);
    double *x = start_of(t, bend, bend);
    spl_pd_problem q = {.tie = tie, .tie_count = count, .dt = 0.01, .inertia = t->rest, .iterations = 5};
    spl_pd_stats stats;
    CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
    spl_pd_destroy(pd);
    spl_pool_destroy(pool);
    return x;
}

TEST(bits_do_not_depend_on_threads)
{
    tube t = tube_make(24, 61);
    size_t n = 3 * (size_t)t.vertex_count;
    double *one = run(&t, 70, 1, false);
    const int32_t threads[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        double *other = run(&t, 70, threads[i], false);
        CHECK(memcmp(one, other, n * sizeof *one) == 0);
        free(other);
    }
    free(one);
    tube_free(&t);
}

TEST(plain_code_comes_to_the_same)
{
    tube t = tube_make(24, 61);
    double *fast = run(&t, 10, 1, false), *plain = run(&t, 10, 1, true);
    CHECK(largest(fast, plain, 3 * (size_t)t.vertex_count) < 3e-5 * t.length);
    CHECK(largest(fast, t.rest, 3 * (size_t)t.vertex_count) > 0.01 * t.length);
    free(fast);
    free(plain);
    tube_free(&t);
}

/* The local step's forces and rotations against decompositions in double, for tets turned, mirrored, flattened. */
TEST(local_steps_find_polar_rotations)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = (size_t)t.vertex_count;
    int32_t *all = malloc(n * sizeof *all);
    double *x = malloc(4 * n * sizeof *x), *y = malloc(3 * n * sizeof *y);
    for (size_t i = 0; i < n; i++) all[i] = (int32_t)i;
    for (int kind = 0; kind < 4; kind++)
        for (int plain = 0; plain < 2; plain++) {
            spl_local_input in = {
                .elements = &t.elements, .mu = t.mu, .unknown = all, .node_count = t.vertex_count, .plain = plain};
            supple_allocator a = spl_allocator_of(NULL);
            spl_local l;
            REQUIRE(spl_local_create(&in, &a, &l, NULL) == SUPPLE_OK);
            for (size_t i = 0; i < n; i++) {
                spl_vec3 p = spl_v3(t.rest[3 * i], t.rest[3 * i + 1], t.rest[3 * i + 2]);
                spl_vec3 q = tube_turn(&t, p, 170, 170);
                if (kind == 1) q.x = -q.x;
                if (kind == 2) q.y = 1e-9 * q.y;
                if (kind == 3) q = spl_scale(p, 1e5);
                double wave = kind < 2 ? 0.003 * sin(40.0 * (double)i) : 0;
                y[3 * i] = x[4 * i] = q.x + wave;
                y[3 * i + 1] = x[4 * i + 1] = q.y;
                y[3 * i + 2] = x[4 * i + 2] = q.z - wave;
                x[4 * i + 3] = 0;
            }
            double energy = spl_local_step(&l, x, 1, NULL), truth = 0;
            for (int k = 0; k < 3; k++) energy = spl_local_step(&l, x, 1, NULL);
            for (int32_t k = 0; k < t.tet_count; k++) {
                spl_law_input law = {.F = spl_element_F(&t.elements, k, y), .mu = t.mu[k]};
                truth += t.elements.volume[k] * spl_law_arap.energy(&law);
            }
            CHECK_NEAR(energy, truth, 2e-5 * truth);
            spl_local_release(&l);
        }
    free(all), free(x), free(y);
    tube_free(&t);
}

/* ---- what goes wrong ---- */

TEST(numbers_stay_finite_in_bad_company)
{
    tube t = tube_make(AROUND, RINGS);
    size_t n = 3 * (size_t)t.vertex_count;
    const double steps[] = {0, 1e-9, 1e-6, 1e-3, 1};
    for (int32_t k = 0; k < t.tet_count; k++) t.mu[k] *= pow(10, 8 * (double)(k % 17) / 16 - 4);
    for (int massless = 0; massless < 2; massless++)
        for (int k = 0; k < 5; k++) {
            spl_pd_input in = input_of(&t, SPL_PACE_AUTO);
            double *none = calloc((size_t)t.vertex_count, sizeof *none);
            if (massless) in.mass = none;
            spl_pd *pd = pd_of(&in, NULL);
            double *x = start_of(&t, 20, 10), record[30] = {0};
            for (size_t i = 0; i < n; i++)
                if (t.held[i / 3] >= 0) x[i] += 6; /* ten lengths away */
            spl_pd_problem q = {.dt = steps[k], .inertia = t.rest, .iterations = 30};
            spl_pd_stats stats;
            spl_pd_record(pd, record);
            CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
            CHECK(all_finite(x, n));
            CHECK(record[29] <= record[0] * (1 + 1e-5));
            spl_pd_destroy(pd);
            free(x);
            free(none);
        }
    tube_free(&t);
}

TEST(positions_that_are_no_numbers_are_refused)
{
    tube t = tube_make(AROUND, RINGS);
    spl_pd_input in = input_of(&t, SPL_PACE_AUTO);
    spl_pd *pd = pd_of(&in, NULL);
    double *x = start_of(&t, 20, 10);
    x[7] = NAN;
    spl_pd_problem q = {.iterations = 5};
    spl_pd_stats stats;
    supple_error error;
    CHECK(spl_pd_solve(pd, &q, x, &stats, &error) == SUPPLE_ERROR_SOLVE);
    spl_pd_forget(pd);
    free(x);
    x = start_of(&t, 20, 10);
    CHECK(spl_pd_solve(pd, &q, x, &stats, &error) == SUPPLE_OK);
    spl_pd_destroy(pd);
    free(x);
    tube_free(&t);
}

TEST(memory_that_runs_out_is_told)
{
    tube t = tube_make(6, 5);
    spl_pd_input in = input_of(&t, SPL_PACE_AUTO);
    in.direct_ties = 4;
    in.tie_capacity = 16; /* both kinds of solves need memory */
    for (long k = 0;; k++) {
        failing f = {.fail_at = k};
        supple_allocator a = failing_allocator(&f);
        spl_pd *pd = NULL;
        supple_error error = {0};
        supple_result result = spl_pd_create(&in, &a, NULL, &pd, &error);
        if (result == SUPPLE_OK) {
            long made = f.requests;
            double *x = start_of(&t, 20, 10);
            spl_pd_problem q = {.dt = 0.01, .inertia = t.rest, .iterations = 3};
            spl_pd_stats stats;
            CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
            q.dt = 0;
            CHECK(spl_pd_solve(pd, &q, x, &stats, NULL) == SUPPLE_OK);
            CHECK(f.requests == made);
            spl_pd_destroy(pd);
            free(x);
        } else {
            CHECK(result == SUPPLE_ERROR_MEMORY && !pd);
        }
        CHECK(f.live == 0);
        if (result == SUPPLE_OK) break;
    }
    tube_free(&t);
}

TEST_CASES(RUN(energy_falls_in_every_iteration), RUN(equilibrium_is_that_of_newtons_method),
           RUN(volume_constraints_settle_where_their_law_does), RUN(projection_to_a_volume_is_the_nearest),
           RUN(momentum_is_kept_without_bones), RUN(contacts_equal_a_refactorised_solve),
           RUN(columns_need_only_what_may_touch), RUN(columns_are_kept_and_made_room_for),
           RUN(contacts_do_not_feel_translations), RUN(bits_do_not_depend_on_threads),
           RUN(plain_code_comes_to_the_same), RUN(local_steps_find_polar_rotations),
           RUN(numbers_stay_finite_in_bad_company), RUN(positions_that_are_no_numbers_are_refused),
           RUN(memory_that_runs_out_is_told))
