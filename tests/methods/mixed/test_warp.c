#include "failing.h"
#include "fem/box.h"
#include "methods/mixed/warp.h"
#include "sparse/dense.h"
#include "statics/statics.h"
#include "test.h"

/* A box whose bottom is held and turned, with rotations, pins and forces: one problem for all ways to solve it. */
typedef struct problem {
    box box;
    int32_t *held;
    double *mu, *lambda, *rotation, *turn, *force, *spring;
    spl_pin pin[2];
    spl_pool *pool;
    supple_allocator allocator;
} problem;

static void identity9(double *to, int32_t count)
{
    for (int32_t i = 0; i < 9 * count; i++) to[i] = i % 9 % 4 == 0;
}

static void problem_make(problem *p, int32_t n, int32_t height, double angle)
{
    supple_config config = supple_config_default();
    uint64_t seed = 17;
    *p = (problem){.allocator = spl_allocator_of(NULL)};
    if (!box_make(n, n, height, &p->box) || spl_pool_create(&config, &p->pool, NULL) != SUPPLE_OK) abort();
    int32_t vertices = p->box.mesh.vertex_count, tets = p->box.mesh.tet_count;
    p->held = calloc((size_t)vertices, sizeof *p->held);
    p->mu = calloc((size_t)tets, sizeof *p->mu);
    p->lambda = calloc((size_t)tets, sizeof *p->lambda);
    p->rotation = calloc((size_t)tets, 9 * sizeof(double));
    p->turn = calloc((size_t)vertices, 9 * sizeof(double));
    p->force = calloc((size_t)vertices, 3 * sizeof(double));
    p->spring = calloc((size_t)vertices, sizeof(double));
    identity9(p->turn, vertices);
    for (int32_t k = 0; k < tets; k++) {
        spl_lame(1e4 * (1.5 + random_real(&seed)), 0.4, &p->mu[k], &p->lambda[k]);
        spl_vec3 axis = random_vector(&seed);
        spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(axis, angle * random_real(&seed)));
        memcpy(p->rotation + 9 * k, R.m, sizeof R.m);
    }
    int32_t at = 0;
    for (int32_t v = 0; v < vertices; v++) {
        p->held[v] = p->box.mesh.unknown[v] < 0 ? 0 : -1;
        for (int c = 0; c < 3; c++) p->force[3 * v + c] = 100 * random_real(&seed);
        if (p->held[v] >= 0 || v % 11 != 5 || at == 2) continue;
        p->pin[at] = (spl_pin){v, {0.3, 2, 1.5 + at}, 3e3 * (1 + at)};
        at++;
    }
    for (int i = 0; i < 2; i++) p->spring[p->pin[i].vertex] += p->pin[i].stiffness;
}

static void problem_free(problem *p)
{
    spl_pool_destroy(p->pool);
    free(p->held);
    free(p->mu);
    free(p->lambda);
    free(p->rotation);
    free(p->turn);
    free(p->force);
    free(p->spring);
    box_free(&p->box);
}

/* The rest shape with its bottom turned. */
static double *problem_start(const problem *p)
{
    int32_t n = p->box.mesh.vertex_count;
    double *x = malloc((size_t)n * 3 * sizeof *x);
    spl_quat q = spl_quat_axis_angle(spl_v3(1, 2, 0), 0.6);
    for (int32_t v = 0; v < n; v++) {
        const double *X = p->box.mesh.points + 3 * v;
        spl_vec3 y = spl_v3(X[0], X[1], X[2]);
        if (p->held[v] >= 0) y = spl_quat_rotate(q, y);
        memcpy(x + 3 * v, &y, sizeof y);
    }
    return x;
}

static spl_warp_input input_of(const problem *p, spl_warp_solver solver)
{
    return (spl_warp_input){.elements = &p->box.e,
                            .rest = p->box.mesh.points,
                            .mu = p->mu,
                            .lambda = p->lambda,
                            .held = p->held,
                            .spring = p->spring,
                            .solver = solver,
                            .floor = 1e-12};
}

static spl_warp_problem solve_of(const problem *p, double tolerance)
{
    return (spl_warp_problem){.rotation = p->rotation,
                              .turn = p->turn,
                              .pin = p->pin,
                              .pin_count = 2,
                              .force = p->force,
                              .tolerance = tolerance,
                              .max_iterations = 4000};
}

static double *solve(const problem *p, spl_warp_solver solver, bool plain, double tolerance, spl_warp_stats *stats)
{
    spl_warp_input in = input_of(p, solver);
    spl_warp_problem s = solve_of(p, tolerance);
    supple_error error = {0};
    spl_warp *w = NULL;
    double *x = problem_start(p);
    in.plain = plain;
    if (spl_warp_create(&in, &p->allocator, p->pool, &w, &error) != SUPPLE_OK ||
        spl_warp_solve(w, &s, x, stats, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        abort();
    }
    spl_warp_destroy(w);
    return x;
}

static double largest_difference(const double *a, const double *b, int32_t count)
{
    double most = 0;
    for (int32_t i = 0; i < count; i++) most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* ---- the paper's own system ---- */

/* [R]: vec(F) = [R] s with s = (xx, yy, zz, yz, xz, xy) of S, F = R S; 9 x 6 by rows. */
static void paper_matrix(const double *R, double M[9][6])
{
    static const int at[6][2] = {{0, 0}, {1, 1}, {2, 2}, {1, 2}, {0, 2}, {0, 1}};
    memset(M, 0, 54 * sizeof(double));
    for (int i = 0; i < 6; i++)
        for (int r = 0; r < 3; r++) {
            M[3 * at[i][1] + r][i] += R[3 * at[i][0] + r];
            if (i > 2) M[3 * at[i][0] + r][i] += R[3 * at[i][1] + r];
        }
}

/* [R]^+ = ([R]^T [R])^-1 [R]^T, by elimination: 6 x 9. */
static void pseudo_inverse(const double *R, double out[6][9])
{
    double M[9][6], A[36] = {0};
    paper_matrix(R, M);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int k = 0; k < 9; k++) A[6 * i + j] += M[k][i] * M[k][j];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 9; k++) out[i][k] = M[k][i];
    dense_solve(A, out[0], 6, 9);
}

/* d vec(F) / d x of a corner: F[r, c] = sum_i x_i[r] g_i[c], with the lattice's own gradients. */
static double corner_slope(const double g[4][3], int corner, int axis, int entry)
{
    return entry % 3 == axis ? g[corner][entry / 3] : 0;
}

/* Stationarity of sum W psi(s) + springs - f.x + l.(s - [R]^+ B x) in s, x and l (eq. 9 with six multipliers). */
static void fill_kkt(const problem *p, const double *start, double *A, double *b, size_t n)
{
    size_t m = 6 * (size_t)p->box.mesh.tet_count, free_count = n - 2 * m;
    const lattice *mesh = &p->box.mesh;
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        double g[4][3], W = lattice_gradients(mesh, t, g), G[6][9], mu = p->mu[t], lambda = p->lambda[t];
        size_t s = 6 * (size_t)t, l = m + free_count + s;
        pseudo_inverse(p->rotation + 9 * t, G);
        for (size_t i = 0; i < 6; i++) {
            A[(s + i) * n + s + i] = W * mu * (i < 3 ? 2 : 4);
            A[(s + i) * n + l + i] = A[(l + i) * n + s + i] = 1;
            if (i < 3) b[s + i] = W * (2 * mu + 3 * lambda);
            for (size_t j = 0; i < 3 && j < 3; j++) A[(s + i) * n + s + j] += W * lambda;
            for (int c = 0; c < 12; c++) {
                int32_t v = mesh->tets[4 * t + c / 3], row = mesh->unknown[v];
                double slope = 0;
                for (int k = 0; k < 9; k++) slope += G[i][k] * corner_slope(g, c / 3, c % 3, k);
                size_t x = m + 3 * (size_t)(row < 0 ? 0 : row) + (size_t)(c % 3);
                if (row < 0)
                    b[l + i] += slope * start[3 * v + c % 3];
                else
                    A[(l + i) * n + x] = A[x * n + l + i] = A[(l + i) * n + x] - slope;
            }
        }
    }
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        for (size_t c = 0; mesh->unknown[v] >= 0 && c < 3; c++)
            b[m + 3 * (size_t)mesh->unknown[v] + c] = p->force[3 * (size_t)v + c];
    for (int i = 0; i < 2; i++)
        for (size_t c = 0; c < 3; c++) {
            size_t x = m + 3 * (size_t)mesh->unknown[p->pin[i].vertex] + c;
            A[x * n + x] += p->pin[i].stiffness;
            b[x] += p->pin[i].stiffness * p->pin[i].target[c];
        }
}

/* The solution x of the whole system, by elimination. */
static double *solve_kkt(const problem *p)
{
    const lattice *mesh = &p->box.mesh;
    size_t m = 6 * (size_t)mesh->tet_count, n = 2 * m + 3 * (size_t)mesh->unknown_count;
    double *A = calloc(n * n, sizeof *A), *b = calloc(n, sizeof *b), *x = problem_start(p);
    fill_kkt(p, x, A, b, n);
    dense_solve(A, b, n, 1);
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        if (mesh->unknown[v] >= 0) memcpy(x + 3 * v, b + m + 3 * (size_t)mesh->unknown[v], 3 * sizeof *x);
    free(A);
    free(b);
    return x;
}

TEST(the_condensed_system_is_the_whole_one_with_six_multipliers)
{
    for (int i = 0; i < 3; i++) {
        problem p;
        spl_warp_stats stats;
        problem_make(&p, 2, 2, i == 0 ? 0.0 : i == 1 ? 0.5 : M_PI);
        double *x = solve(&p, SPL_WARP_DIRECT, false, 1e-14, &stats), *kkt = solve_kkt(&p), *start = problem_start(&p);
        CHECK(largest_difference(start, kkt, 3 * p.box.mesh.vertex_count) > 0.1);
        CHECK_NEAR(largest_difference(x, kkt, 3 * p.box.mesh.vertex_count), 0, 1e-8);
        free(x);
        free(kkt);
        free(start);
        problem_free(&p);
    }
}

/* ---- equation 9 as printed ---- */

/* Rank by elimination with full pivoting. */
static int rank_of(double *A, int rows, int columns)
{
    int rank = 0;
    for (double first = 0; rank < rows && rank < columns; rank++) {
        int r = rank, c = rank;
        for (int i = rank; i < rows; i++)
            for (int j = rank; j < columns; j++)
                if (fabs(A[i * columns + j]) > fabs(A[r * columns + c])) r = i, c = j;
        double pivot = A[r * columns + c], t;
        if (rank == 0) first = fabs(pivot);
        if (fabs(pivot) <= 1e-10 * first) break;
        for (int j = 0; j < columns; j++)
            t = A[r * columns + j], A[r * columns + j] = A[rank * columns + j], A[rank * columns + j] = t;
        for (int i = 0; i < rows; i++)
            t = A[i * columns + c], A[i * columns + c] = A[i * columns + rank], A[i * columns + rank] = t;
        for (int i = rank + 1; i < rows; i++) {
            double f = A[i * columns + rank] / pivot;
            for (int j = rank; f != 0 && j < columns; j++) A[i * columns + j] -= f * A[rank * columns + j];
        }
    }
    return rank;
}

/* [R] s = B x for nine rows a tet asks R^T F to be symmetric: the rows that say so, 3 a tet, over the free x. */
static double *symmetry_rows(const problem *p)
{
    static const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    const lattice *mesh = &p->box.mesh;
    int columns = 3 * mesh->unknown_count;
    double *C = calloc((size_t)(3 * mesh->tet_count * columns), sizeof *C);
    for (int32_t t = 0; t < mesh->tet_count; t++) {
        double g[4][3];
        const double *R = p->rotation + 9 * t;
        lattice_gradients(mesh, t, g);
        for (int i = 0; i < 12; i++) {
            int32_t row = mesh->unknown[mesh->tets[4 * t + i / 3]];
            for (int k = 0; row >= 0 && k < 3; k++) { /* (R^T F)[a, b] - (R^T F)[b, a] */
                int a = pair[k][0], b = pair[k][1], axis = i % 3;
                C[(3 * t + k) * columns + 3 * row + axis] +=
                    R[3 * a + axis] * g[i / 3][b] - R[3 * b + axis] * g[i / 3][a];
            }
        }
    }
    return C;
}

/* How far R^T F is from symmetry at x. */
static double asymmetry(const problem *p, const double *x)
{
    double most = 0;
    for (int32_t t = 0; t < p->box.mesh.tet_count; t++) {
        spl_mat3 F = spl_element_F(&p->box.e, t, x), R, A;
        memcpy(R.m, p->rotation + 9 * t, sizeof R.m);
        A = spl_mat3_transposed_mul(&R, &F);
        for (int i = 0; i < 9; i++) most = fmax(most, fabs(A.m[i] - A.m[3 * (i % 3) + i / 3]));
    }
    return most;
}

TEST(with_nine_multipliers_it_locks)
{
    for (int i = 0; i < 2; i++) {
        problem p;
        spl_warp_stats stats;
        problem_make(&p, 2, 3, i ? 0.5 : 0.0);
        int columns = 3 * p.box.mesh.unknown_count;
        double *C = symmetry_rows(&p), *x = solve(&p, SPL_WARP_DIRECT, false, 1e-12, &stats);
        int left = columns - rank_of(C, 3 * p.box.mesh.tet_count, columns);
        printf("    %d of %d degrees of freedom left, R^T F is asymmetric by %.2g\n", left, columns, asymmetry(&p, x));
        CHECK(columns > 100 && left <= columns / 10);
        CHECK(asymmetry(&p, x) > 0.1); /* what six multipliers find, nine forbid */
        free(C);
        free(x);
        problem_free(&p);
    }
}

/* ---- ways to solve ---- */

TEST(all_solvers_agree_with_newton)
{
    problem p;
    problem_make(&p, 4, 6, 0.7);
    double *truth = problem_start(&p);
    spl_statics_options options = spl_statics_options_default();
    spl_statics_problem s = {.law = &spl_law_mixed,
                             .mu = p.mu,
                             .lambda = p.lambda,
                             .rotation = p.rotation,
                             .pin = p.pin,
                             .pin_count = 2,
                             .force = p.force};
    spl_statics *newton;
    spl_statics_stats solved;
    options.tolerance = 1e-13;
    REQUIRE(spl_statics_create(&p.box.e, p.held, &p.allocator, p.pool, &options, &newton, NULL) == SUPPLE_OK);
    REQUIRE(spl_statics_solve(newton, &s, truth, &solved, NULL) == SUPPLE_OK && solved.converged);
    for (int solver = SPL_WARP_LEVELS; solver <= SPL_WARP_DIRECT; solver++)
        for (int plain = 0; plain < 2; plain++) {
            spl_warp_stats stats;
            double *x = solve(&p, (spl_warp_solver)solver, plain, 1e-12, &stats);
            CHECK(stats.residual <= 1e-12 && stats.iterations >= 1 && stats.bytes > 0);
            if (solver == SPL_WARP_DIRECT) CHECK(stats.iterations <= 3);
            CHECK_NEAR(largest_difference(x, truth, 3 * p.box.mesh.vertex_count), 0, 1e-8);
            free(x);
        }
    spl_statics_destroy(newton);
    free(truth);
    problem_free(&p);
}

/* The conjugated rest factor is A's own where one rotation serves all: a step or two, as its numbers are floats. */
TEST(the_rest_factor_follows_a_rotation)
{
    problem p;
    uint64_t seed = 4;
    spl_warp_stats stats;
    problem_make(&p, 4, 6, 0);
    spl_mat3 R = spl_quat_to_mat3(random_rotation(&seed));
    for (int32_t k = 0; k < p.box.mesh.tet_count; k++) memcpy(p.rotation + 9 * k, R.m, sizeof R.m);
    for (int32_t v = 0; v < p.box.mesh.vertex_count; v++) memcpy(p.turn + 9 * v, R.m, sizeof R.m);
    free(solve(&p, SPL_WARP_REST, false, 1e-6, &stats));
    CHECK(stats.iterations <= 2);
    int turned = stats.iterations;
    identity9(p.turn, p.box.mesh.vertex_count);
    free(solve(&p, SPL_WARP_REST, false, 1e-6, &stats));
    CHECK(stats.iterations > 3 * turned);
    problem_free(&p);
}

/* Solves that differ in their springs alone keep A and, where x is the same, the elastic forces: the bits of solves
 * that make both anew. Other rotations are other solves. */
TEST(what_stays_the_same_is_not_made_again)
{
    for (int solver = SPL_WARP_LEVELS; solver <= SPL_WARP_DIRECT; solver++) {
        problem p;
        problem_make(&p, 3, 4, 0.7);
        int32_t n = p.box.mesh.vertex_count, at = 0;
        spl_warp_input in = input_of(&p, (spl_warp_solver)solver);
        spl_warp_problem s = solve_of(&p, 1e-3);
        spl_warp_stats stats;
        spl_warp *w[2] = {NULL, NULL};
        double *x[2] = {problem_start(&p), problem_start(&p)};
        while (p.held[at] >= 0) at++;
        spl_contact_spring spring = {
            .vertex = at, .corner = {-1, -1, -1}, .normal = spl_v3(0, 1, 0), .stiffness = 1e4, .along = true};
        for (int k = 0; k < 2; k++) {
            s = solve_of(&p, 1e-3);
            REQUIRE(spl_warp_create(&in, &p.allocator, p.pool, &w[k], NULL) == SUPPLE_OK);
            CHECK(spl_warp_solve(w[k], &s, x[k], &stats, NULL) == SUPPLE_OK && stats.ms_assembly > 0);
            s.follow_up = true;
            s.tolerance = 1e-9;
            s.touch = &spring;
            s.touch_count = 1;
            s.same = k == 1;
            CHECK(spl_warp_solve(w[k], &s, x[k], &stats, NULL) == SUPPLE_OK && stats.converged);
            CHECK((stats.ms_assembly > 0) == (k == 0));
        }
        CHECK(!memcmp(x[0], x[1], 3 * (size_t)n * sizeof **x));
        for (int32_t i = 0; i < 9 * p.box.e.count; i++) p.rotation[i] = i % 9 % 4 == 0;
        for (int k = 0; k < 2; k++) {
            s.same = false;
            CHECK(spl_warp_solve(w[k], &s, x[k], &stats, NULL) == SUPPLE_OK && stats.converged &&
                  stats.ms_assembly > 0);
            spl_warp_destroy(w[k]);
        }
        CHECK(!memcmp(x[0], x[1], 3 * (size_t)n * sizeof **x));
        free(x[0]);
        free(x[1]);
        problem_free(&p);
    }
}

TEST(limits_and_faults)
{
    problem p;
    problem_make(&p, 3, 4, 0.7);
    int32_t n = p.box.mesh.vertex_count;
    spl_warp_input in = input_of(&p, SPL_WARP_REST);
    spl_warp_problem s = solve_of(&p, 1e-10);
    spl_warp_stats stats;
    supple_error error = {0};
    spl_warp *w = NULL;
    REQUIRE(spl_warp_create(&in, &p.allocator, p.pool, &w, NULL) == SUPPLE_OK);
    double *x = problem_start(&p), *copy = problem_start(&p);
    s.max_iterations = 2; /* not reached is no failure */
    CHECK(spl_warp_solve(w, &s, x, &stats, &error) == SUPPLE_OK && stats.residual > 1e-10 && stats.iterations == 2);
    s.max_iterations = 4000;
    CHECK(spl_warp_solve(w, &s, x, &stats, &error) == SUPPLE_OK && stats.residual <= 1e-10);
    CHECK(spl_warp_solve(w, &s, x, &stats, &error) == SUPPLE_OK && stats.iterations <= 2); /* it is there */
    x[3 * (n - 1)] = NAN;
    CHECK(spl_warp_solve(w, &s, x, &stats, &error) == SUPPLE_ERROR_SOLVE && error.message[0]);
    memcpy(x, copy, 3 * (size_t)n * sizeof *x); /* and the next one is none the worse */
    CHECK(spl_warp_solve(w, &s, x, &stats, &error) == SUPPLE_OK && stats.residual <= 1e-10);
    spl_warp_destroy(w);
    spl_warp_destroy(NULL);
    for (int32_t v = 0; v < n; v++) p.held[v] = 0; /* nothing is free */
    REQUIRE(spl_warp_create(&in, &p.allocator, p.pool, &w, NULL) == SUPPLE_OK);
    memcpy(x, copy, 3 * (size_t)n * sizeof *x);
    CHECK(spl_warp_solve(w, &s, x, &stats, &error) == SUPPLE_OK && !memcmp(x, copy, 3 * (size_t)n * sizeof *x));
    spl_warp_destroy(w);
    free(x);
    free(copy);
    problem_free(&p);
}

/* Every allocation of every solver fails once; a solve makes none. */
TEST(memory_may_run_out)
{
    problem p;
    problem_make(&p, 2, 3, 0.7);
    double *x = problem_start(&p);
    for (int solver = SPL_WARP_LEVELS; solver <= SPL_WARP_DIRECT; solver++) {
        long n = 0;
        for (bool ended = false; !ended; n++) {
            failing f = {.fail_at = n};
            supple_allocator a = failing_allocator(&f);
            spl_warp_input in = input_of(&p, (spl_warp_solver)solver);
            spl_warp_problem s = solve_of(&p, 1e-10);
            spl_warp_stats stats;
            spl_warp *w = NULL;
            supple_result result = spl_warp_create(&in, &a, p.pool, &w, NULL);
            bool made = result == SUPPLE_OK;
            ended = made && f.requests <= n; /* some requests may fail without harm */
            CHECK(made || (result == SUPPLE_ERROR_MEMORY && !w));
            long before = f.requests;
            if (made) CHECK(spl_warp_solve(w, &s, x, &stats, NULL) == SUPPLE_OK && f.requests == before);
            spl_warp_destroy(w);
            CHECK(f.live == 0);
        }
        CHECK(n > 15);
    }
    free(x);
    problem_free(&p);
}

TEST_CASES(RUN(the_condensed_system_is_the_whole_one_with_six_multipliers), RUN(with_nine_multipliers_it_locks),
           RUN(all_solvers_agree_with_newton), RUN(the_rest_factor_follows_a_rotation),
           RUN(what_stays_the_same_is_not_made_again), RUN(limits_and_faults), RUN(memory_may_run_out))
