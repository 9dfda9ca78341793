/* The inner loops of the mixed method: the AVX2 ones beside their plain twins, and both beside fem's own forces. */
#include "failing.h"
#include "fem/box.h"
#include "math/cpu.h"
#include "methods/mixed/warp_private.h"
#include "test.h"

typedef struct setup {
    box b;
    double *mu, *lambda, *spin, *rotation, *spring;
    int32_t *held;
    spl_warp *warp;
} setup;

static void random_state(setup *s, double angle, uint64_t seed)
{
    for (size_t k = 0; k < (size_t)s->b.e.count; k++) {
        spl_quat q = random_rotation(&seed);
        if (angle < 1) q = spl_quat_normalise(spl_quat_make(angle * q.x, angle * q.y, angle * q.z, 1));
        spl_mat3 R = spl_quat_to_mat3(q);
        for (size_t i = 0; i < 9; i++) s->rotation[9 * k + i] = R.m[i];
    }
    memcpy(s->b.x, s->b.mesh.points, 3 * (size_t)s->b.e.vertex_count * sizeof *s->b.x);
}

static supple_result make_warp(setup *s, spl_warp_solver solver, bool plain, const supple_allocator *a, spl_pool *pool)
{
    spl_warp_input in = {.elements = &s->b.e,
                         .rest = s->b.mesh.points,
                         .mu = s->mu,
                         .lambda = s->lambda,
                         .held = s->held,
                         .spring = s->spring,
                         .solver = solver,
                         .floor = 1e-12,
                         .plain = plain};
    return spl_warp_create(&in, a, pool, &s->warp, NULL);
}

static bool setup_make(setup *s, int32_t nx, int32_t ny, int32_t nz)
{
    *s = (setup){0};
    if (!box_make(nx, ny, nz, &s->b)) return false;
    size_t tets = (size_t)s->b.e.count, vertices = (size_t)s->b.e.vertex_count;
    uint64_t seed = 3;
    s->mu = malloc(tets * sizeof *s->mu);
    s->lambda = malloc(tets * sizeof *s->lambda);
    s->spin = malloc(tets * sizeof *s->spin);
    s->rotation = malloc(9 * tets * sizeof *s->rotation);
    s->spring = calloc(vertices, sizeof *s->spring);
    s->held = malloc(vertices * sizeof *s->held);
    for (size_t k = 0; k < tets; k++) {
        s->mu[k] = 2 + random_real(&seed);
        s->lambda[k] = 9 + random_real(&seed);
        s->spin[k] = k % 3 ? 1 + random_real(&seed) : 0;
    }
    for (size_t v = 0; v < vertices; v++) s->held[v] = s->b.mesh.unknown[v] < 0 ? 0 : -1;
    s->spring[vertices / 2] = 5;
    random_state(s, 0.2, 11);
    return true;
}

static void setup_free(setup *s)
{
    spl_warp_destroy(s->warp);
    box_free(&s->b);
    free(s->mu);
    free(s->lambda);
    free(s->spin);
    free(s->rotation);
    free(s->spring);
    free(s->held);
}

static double largest(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - (b ? b[i] : 0)));
    return most;
}

/* Runs both force loops of one set of kernels into the warp's own arrays. */
static void run_forces(const setup *s, const spl_mixed_kernels *kernels)
{
    const spl_warp *w = s->warp;
    spl_pull p = {&s->b.e, s->mu, s->lambda, s->warp->spin, s->rotation, s->b.x, w->h, w->corner};
    spl_sum q = {&w->stars, w->corner, w->force, w->magnitude};
    kernels->pull(&p, 0, (size_t)s->b.e.count);
    kernels->sum(&q, 0, (size_t)s->b.e.vertex_count);
}

static void check_forces(setup *s, const spl_mixed_kernels *kernels)
{
    const spl_warp *w = s->warp;
    size_t vertices = (size_t)s->b.e.vertex_count, tets = (size_t)s->b.e.count;
    double *force = malloc(4 * vertices * sizeof *force), *scratch = malloc((13 * tets + 2) * sizeof *scratch);
    spl_elastic elastic = {&s->b.e, &spl_law_mixed, s->mu, s->lambda, s->rotation, NULL};
    spl_elastic_forces(&elastic, &w->stars, s->b.x, force, force + 3 * vertices, scratch, NULL);
    run_forces(s, kernels);
    double scale = largest(force, NULL, 3 * vertices);
    CHECK(scale > 0.1);
    CHECK_NEAR(largest(w->force, force, 3 * vertices), 0, 1e-13 * scale);
    CHECK_NEAR(largest(w->magnitude, force + 3 * vertices, vertices), 0, 1e-13 * scale);
    free(force);
    free(scratch);
}

TEST(forces_are_those_of_the_law)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    uint64_t seed = 5;
    REQUIRE(setup_make(&s, 4, 3, 5) && make_warp(&s, SPL_WARP_SCALAR, false, &a, NULL) == SUPPLE_OK);
    for (int run = 0; run < 3; run++) {
        random_state(&s, run == 0 ? 0.3 : 1, 17 + (uint64_t)run); /* also wholly random rotations */
        box_shake(&s.b, 0.4, &seed);
        check_forces(&s, &spl_mixed_kernels_plain);
#ifdef SPL_HAVE_AVX2
        if (spl_cpu_has_avx2()) check_forces(&s, &spl_mixed_kernels_avx2);
#endif
    }
    setup_free(&s);
}

/* Forces are linear in x: f(x + d) - f(x) = -A d, springs apart. */
static void check_matrix(bool plain, bool spin)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    uint64_t seed = 9;
    REQUIRE(setup_make(&s, 4, 4, 3) && make_warp(&s, SPL_WARP_SCALAR, plain, &a, NULL) == SUPPLE_OK);
    spl_warp *w = s.warp;
    w->spin = spin ? s.spin : NULL;
    size_t n = (size_t)w->count;
    double *d = malloc(6 * n * sizeof *d), *y = d + 3 * n, *before = malloc(3 * n * sizeof *before);
    for (size_t i = 0; i < 3 * n; i++) d[i] = random_real(&seed);
    run_forces(&s, w->kernels);
    for (size_t i = 0; i < 3 * n; i++) before[i] = w->force[3 * (size_t)w->vertex[i / 3] + i % 3];
    spl_warp_assemble(w);
    spl_matrix3_multiply(&w->matrix, d, y, NULL);
    for (size_t i = 0; i < 3 * n; i++) s.b.x[3 * (size_t)w->vertex[i / 3] + i % 3] += d[i];
    run_forces(&s, w->kernels);
    double scale = largest(y, NULL, 3 * n), worst = 0, sprung = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        double f = w->force[3 * (size_t)w->vertex[i / 3] + i % 3] - w->spring[i / 3] * d[i];
        worst = fmax(worst, fabs(f - before[i] + y[i]));
        sprung += w->spring[i / 3];
    }
    CHECK(sprung > 0);
    CHECK_NEAR(worst, 0, 1e-12 * scale);
    free(d);
    free(before);
    setup_free(&s);
}

TEST(matrix_is_the_derivative_of_the_forces)
{
    for (int i = 0; i < 4; i++) check_matrix(i % 2, i / 2);
}

TEST(twins_make_the_same_matrix)
{
#ifdef SPL_HAVE_AVX2
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    if (!spl_cpu_has_avx2()) SKIP("no AVX2 here");
    REQUIRE(setup_make(&s, 3, 4, 4) && make_warp(&s, SPL_WARP_SCALAR, true, &a, NULL) == SUPPLE_OK);
    spl_warp *w = s.warp;
    size_t values = 9 * w->matrix.rows.start[w->count], n = 3 * (size_t)w->count;
    double *kept = malloc((values + 3 * n) * sizeof *kept), *x = kept + values, *y = x + n, *z = y + n;
    uint64_t seed = 2;
    w->spin = s.spin;
    run_forces(&s, w->kernels);
    spl_warp_assemble(w);
    memcpy(kept, w->matrix.value, values * sizeof *kept);
    w->kernels = &spl_mixed_kernels_avx2;
    memset(w->matrix.value, 0xff, values * sizeof *kept); /* every number must be written */
    spl_warp_assemble(w);
    CHECK_NEAR(largest(w->matrix.value, kept, values), 0, 1e-13 * largest(kept, NULL, values));
    for (size_t i = 0; i < n; i++) x[i] = random_real(&seed);
    spl_matrix3_multiply(&w->matrix, x, y, NULL);
    w->matrix.plain = false;
    spl_matrix3_multiply(&w->matrix, x, z, NULL);
    CHECK_NEAR(largest(y, z, n), 0, 1e-13 * largest(y, NULL, n));
    free(kept);
    setup_free(&s);
#else
    SKIP("built without AVX2");
#endif
}

/* From the lower triangle to rows and back, and a product beside spl_rows_multiply. */
TEST(matrix_by_rows_and_by_its_triangle)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    uint64_t seed = 21;
    REQUIRE(setup_make(&s, 3, 3, 3) && make_warp(&s, SPL_WARP_SCALAR, false, &a, NULL) == SUPPLE_OK);
    spl_warp *w = s.warp;
    size_t values = spl_pattern_values(&w->assembly.pattern), n = 3 * (size_t)w->count;
    double *kept = malloc((values + 3 * n) * sizeof *kept), *x = kept + values, *y = x + n, *z = y + n;
    run_forces(&s, w->kernels);
    spl_warp_assemble(w);
    spl_warp_lower(w);
    memcpy(kept, w->value, values * sizeof *kept);
    spl_matrix3_fill(&w->matrix, kept, NULL);
    spl_warp_lower(w);
    CHECK_NEAR(largest(w->value, kept, values), 0, 1e-13 * largest(kept, NULL, values)); /* diagonals are symmetrised */
    for (size_t i = 0; i < n; i++) x[i] = random_real(&seed);
    spl_rows_multiply(&w->matrix.rows, kept, x, 1, y, NULL);
    spl_matrix3_multiply(&w->matrix, x, z, NULL);
    CHECK_NEAR(largest(y, z, n), 0, 1e-13 * largest(y, NULL, n));
    free(kept);
    setup_free(&s);
}

TEST(the_past_solves_what_lies_in_its_plane)
{
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    uint64_t seed = 33;
    REQUIRE(setup_make(&s, 3, 4, 3) && make_warp(&s, SPL_WARP_SCALAR, false, &a, NULL) == SUPPLE_OK);
    spl_warp *w = s.warp;
    size_t n = 3 * (size_t)w->count;
    double *u = malloc(5 * n * sizeof *u), *v = u + n, *x = v + n, *r = x + n, *f = r + n;
    run_forces(&s, w->kernels);
    spl_warp_assemble(w);
    for (size_t i = 0; i < n; i++) {
        u[i] = random_real(&seed);
        v[i] = u[i] + 0.3 * random_real(&seed); /* not orthogonal */
        x[i] = 2 * u[i] - 3 * v[i];
    }
    spl_matrix3_multiply(&w->matrix, x, f, NULL);
    double scale = largest(f, NULL, n);
    for (int run = 0; run < 3; run++) {
        w->past.count = 0;
        if (run < 2) spl_past_keep(&w->past, u);
        if (run == 0) spl_past_keep(&w->past, v);
        if (run == 1) spl_past_keep(&w->past, u); /* twice the same: a line, not rubbish */
        memset(x, 0, n * sizeof *x);
        memcpy(r, f, n * sizeof *r);
        spl_past_guess(&w->past, &w->matrix, x, r);
        spl_matrix3_multiply(&w->matrix, x, v, NULL);
        for (size_t i = 0; i < n; i++) v[i] = f[i] - v[i] - r[i];
        CHECK_NEAR(largest(v, NULL, n), 0, 1e-11 * scale); /* r is f - A x */
        CHECK(run == 0 ? largest(r, NULL, n) < 1e-10 * scale : largest(r, NULL, n) > 1e-3 * scale);
    }
    free(u);
    setup_free(&s);
}

static double solve(setup *s, double tolerance, spl_warp_stats *stats)
{
    int32_t v = s->b.e.vertex_count / 2;
    spl_pin pin = {v, {s->b.mesh.points[3 * v], 0, 1}, s->spring[v]};
    spl_warp_problem p = {
        .rotation = s->rotation, .pin = &pin, .pin_count = 1, .tolerance = tolerance, .max_iterations = 500};
    supple_result result = spl_warp_solve(s->warp, &p, s->b.x, stats, NULL);
    CHECK(result == SUPPLE_OK);
    return stats->residual;
}

TEST(solvers_and_twins_agree)
{
    static const spl_warp_solver solvers[] = {SPL_WARP_DIRECT, SPL_WARP_AUTO, SPL_WARP_REST, SPL_WARP_SCALAR,
                                              SPL_WARP_LEVELS};
    supple_allocator a = spl_allocator_of(NULL);
    setup s;
    REQUIRE(setup_make(&s, 4, 4, 5));
    size_t n = 3 * (size_t)s.b.e.vertex_count;
    double *truth = malloc(n * sizeof *truth);
    for (int i = 0; i < 10; i++) {
        spl_warp_stats stats;
        random_state(&s, 0.2, 4);
        REQUIRE(make_warp(&s, solvers[i / 2], i % 2, &a, NULL) == SUPPLE_OK);
        CHECK(solve(&s, 1e-11, &stats) <= 1e-11);
        CHECK(stats.solver != SPL_WARP_AUTO && stats.iterations > 0);
        if (i == 0) memcpy(truth, s.b.x, n * sizeof *truth);
        CHECK_NEAR(largest(s.b.x, truth, n), 0, 1e-8);
        spl_warp_destroy(s.warp);
        s.warp = NULL;
    }
    free(truth);
    setup_free(&s);
}

/* A bar that is pulled at its middle: without a coarse level the longer one takes as many times the iterations as it is
 * longer. */
TEST(iterations_hardly_grow_with_the_body)
{
    supple_allocator a = spl_allocator_of(NULL);
    int32_t iterations[2];
    for (int i = 0; i < 2; i++) {
        spl_warp_stats stats;
        setup s;
        REQUIRE(setup_make(&s, 4, 4, i ? 80 : 20));
        random_state(&s, 0, 4);
        REQUIRE(make_warp(&s, SPL_WARP_LEVELS, false, &a, NULL) == SUPPLE_OK);
        CHECK(solve(&s, 1e-6, &stats) <= 1e-6);
        iterations[i] = stats.iterations;
        setup_free(&s);
    }
    printf("    %d and %d iterations\n", (int)iterations[0], (int)iterations[1]);
    CHECK(iterations[1] < 1.5 * iterations[0]);
}

/* A clip of four frames, then one that starts afresh. */
static void play(setup *s, double *out, size_t n)
{
    spl_warp_stats stats;
    for (int frame = 0; frame < 5; frame++) {
        if (frame == 4) spl_warp_forget(s->warp);
        if (frame % 4 == 0) random_state(s, 0.1, 8);
        if (frame % 4) {
            for (size_t i = 0; i < n; i++) s->b.x[i] *= 1 + 0.01 * frame;
        }
        CHECK(solve(s, 1e-8, &stats) <= 1e-8);
        memcpy(out + n * (size_t)frame, s->b.x, n * sizeof *out);
    }
}

TEST(bits_do_not_depend_on_threads_and_forgetting_is_complete)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    double *frames[2] = {NULL, NULL};
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        setup s;
        spl_pool *pool;
        config.thread_count = 1 + 2 * i;
        REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        REQUIRE(setup_make(&s, 8, 8, 8) && make_warp(&s, SPL_WARP_LEVELS, false, &a, pool) == SUPPLE_OK);
        n = 3 * (size_t)s.b.e.vertex_count;
        frames[i] = malloc(5 * n * sizeof(double));
        play(&s, frames[i], n);
        setup_free(&s);
        spl_pool_destroy(pool);
    }
    CHECK(memcmp(frames[0], frames[1], 5 * n * sizeof(double)) == 0);
    CHECK(memcmp(frames[0], frames[0] + 4 * n, n * sizeof(double)) == 0); /* the first frame again */
    CHECK(memcmp(frames[0], frames[0] + n, n * sizeof(double)) != 0);
    free(frames[0]);
    free(frames[1]);
}

/* Two tets that share an edge, one of them held: the other swings about it, and A is singular. A pull along the edge
 * keeps the solution from being free of forces, where no residual is small. */
TEST(a_piece_on_a_hinge_does_not_break_the_factor)
{
    static const spl_warp_solver solvers[] = {SPL_WARP_REST, SPL_WARP_SCALAR, SPL_WARP_LEVELS, SPL_WARP_DIRECT};
    static const double rest[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, -1, 0.2, 0.4, -0.3, -1};
    static const int32_t tet[] = {0, 1, 2, 3, 0, 1, 4, 5}, held[] = {-1, 0, 0, 0, -1, -1};
    static const double mu[] = {1, 1}, lambda[] = {9, 9}, force[18] = {-0.1};
    supple_allocator a = spl_allocator_of(NULL);
    spl_elements e;
    REQUIRE(spl_elements_create(rest, 6, tet, 2, &a, &e, NULL) == SUPPLE_OK);
    for (int i = 0; i < 4; i++) {
        double x[18], rotation[18] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0.8, 0.6, 0, -0.6, 0.8};
        spl_warp_input in = {.elements = &e,
                             .rest = rest,
                             .mu = mu,
                             .lambda = lambda,
                             .held = held,
                             .solver = solvers[i],
                             .floor = 1e-12};
        spl_warp_problem p = {.rotation = rotation, .force = force, .tolerance = 1e-6, .max_iterations = 100};
        spl_warp *w;
        spl_warp_stats stats;
        memcpy(x, rest, sizeof x);
        CHECK(spl_warp_create(&in, &a, NULL, &w, NULL) == SUPPLE_OK);
        CHECK(w && spl_warp_solve(w, &p, x, &stats, NULL) == SUPPLE_OK && stats.residual <= 1e-6);
        CHECK(largest(x, NULL, 18) < 10); /* it turns, it does not fly away */
        spl_warp_destroy(w);
    }
    spl_elements_release(&e);
}

TEST(every_allocation_may_fail)
{
    setup s;
    REQUIRE(setup_make(&s, 2, 2, 3));
    for (int solver = SPL_WARP_AUTO; solver <= SPL_WARP_DIRECT; solver++)
        for (long at = 0;; at++) {
            failing f = {.fail_at = at};
            supple_allocator a = failing_allocator(&f);
            supple_result result = make_warp(&s, (spl_warp_solver)solver, false, &a, NULL);
            CHECK(result == (s.warp ? SUPPLE_OK : SUPPLE_ERROR_MEMORY));
            bool made = s.warp != NULL;
            spl_warp_destroy(s.warp);
            s.warp = NULL;
            CHECK(f.live == 0);
            if (made || at > 1000) break;
        }
    setup_free(&s);
}

TEST_CASES(RUN(forces_are_those_of_the_law), RUN(matrix_is_the_derivative_of_the_forces),
           RUN(twins_make_the_same_matrix), RUN(matrix_by_rows_and_by_its_triangle),
           RUN(the_past_solves_what_lies_in_its_plane), RUN(solvers_and_twins_agree),
           RUN(iterations_hardly_grow_with_the_body), RUN(bits_do_not_depend_on_threads_and_forgetting_is_complete),
           RUN(a_piece_on_a_hinge_does_not_break_the_factor), RUN(every_allocation_may_fail))
