/* What acts beside the flesh: external forces, pins, extra energies; and pieces that nothing holds. */
#include "failing.h"
#include "statics/flesh.h"
#include "test.h"

static spl_statics_stats solve(const flesh *f, const spl_statics_options *options, const spl_statics_problem *problem,
                               double *x)
{
    supple_error error = {0};
    spl_statics_stats stats = {0};
    spl_statics *s = flesh_solver(f, options, NULL);
    if (spl_statics_solve(s, problem, x, &stats, &error) != SUPPLE_OK) printf("    %s\n", error.message);
    spl_statics_destroy(s);
    return stats;
}

/* The deflection of a cantilever's tip under a small load, as a share of Timoshenko's
 * F l^3 / (3 E I) + F l / (kappa A G), kappa = 10 (1 + nu) / (12 + 11 nu) for a rectangle (Cowper 1966). The end face
 * is clamped whole, which Poisson's ratio 0 makes the same as the beam's. */
static double cantilever(int cells, const spl_law *law, spl_statics_stats *stats)
{
    double l = 1, h = 0.25, E = 1e5, nu = 0, load = 1e-3, area = h * h, inertia = h * h * h * h / 12;
    flesh f = flesh_box(4 * cells, cells, cells, l, h, h, 0.1);
    double *force = calloc(3 * (size_t)f.vertex_count, sizeof *force), tip = 0;
    for (int32_t k = 0; k < f.tet_count; k++) spl_lame(E, nu, &f.mu[k], &f.lambda[k]);
    int at_end = (cells + 1) * (cells + 1);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        if (f.rest[3 * v] < 1e-9) f.held[v] = 0;
        if (f.rest[3 * v] > l - 1e-9) force[3 * v + 1] = load / at_end;
    }
    spl_statics_problem problem = flesh_problem(&f, law);
    problem.force = force;
    *stats = solve(&f, NULL, &problem, f.x);
    for (int32_t v = 0; v < f.vertex_count; v++)
        if (f.rest[3 * v] > l - 1e-9) tip += (f.x[3 * v + 1] - f.rest[3 * v + 1]) / at_end;
    double kappa = 10 * (1 + nu) / (12 + 11 * nu), G = E / (2 * (1 + nu));
    free(force);
    flesh_free(&f);
    return tip / (load * l * l * l / (3 * E * inertia) + load * l / (kappa * area * G));
}

/* Linear tets are too stiff; the error falls as the square of the cell. */
TEST(a_cantilever_comes_to_beam_theory)
{
    double last = 1;
    for (int cells = 2; cells <= 8; cells *= 2) {
        spl_statics_stats stats;
        double share = cantilever(cells, &spl_law_corot, &stats), error = 1 - share;
        CHECK(stats.converged && share < 1.01);
        if (cells > 2) CHECK(error < (cells == 4 ? 0.5 : 0.4) * last);
        last = error;
    }
    CHECK(last < 0.06);
}

TEST(all_laws_bend_alike_under_small_loads)
{
    spl_statics_stats stats;
    double corot = cantilever(3, &spl_law_corot, &stats);
    CHECK_NEAR(cantilever(3, &spl_law_neohookean, &stats) / corot, 1, 1e-4);
    CHECK_NEAR(cantilever(3, &spl_law_stvk, &stats) / corot, 1, 1e-4);
    CHECK_NEAR(cantilever(3, &spl_law_arap, &stats) / corot, 1, 1e-4); /* Poisson's ratio 0: lambda is 0 */
}

/* Stiff pins are held vertices, up to k^-1; soft ones give way. */
TEST(pins)
{
    flesh f = flesh_box(6, 2, 2, 0.3, 0.1, 0.1, 0.2);
    size_t bytes = 3 * (size_t)f.vertex_count * sizeof(double);
    double *held = malloc(bytes), *pinned = malloc(bytes);
    spl_pin *pin = calloc((size_t)f.vertex_count, sizeof *pin);
    int32_t count = 0;
    for (int32_t v = 0; v < f.vertex_count; v++) {
        double x = f.rest[3 * v];
        if (x > 1e-9 && x < 0.3 - 1e-9) continue;
        f.held[v] = 0;
        if (x > 0.15) f.x[3 * v + 1] += 0.05, f.x[3 * v] += 0.01;
        pin[count] = (spl_pin){.vertex = v, .stiffness = 1e9};
        memcpy(pin[count++].target, f.x + 3 * v, 3 * sizeof(double));
    }
    spl_statics_problem problem = flesh_problem(&f, &spl_law_neohookean);
    memcpy(held, f.x, bytes);
    memcpy(pinned, f.rest, bytes);
    CHECK(solve(&f, NULL, &problem, held).converged);
    for (int32_t v = 0; v < f.vertex_count; v++) f.held[v] = -1;
    problem.pin = pin;
    problem.pin_count = count;
    spl_statics_stats stats = solve(&f, NULL, &problem, pinned);
    CHECK(stats.converged && stats.islands == 0);
    double most = 0;
    for (int32_t i = 0; i < 3 * f.vertex_count; i++) most = fmax(most, fabs(held[i] - pinned[i]));
    CHECK(most < 1e-6);
    free(pin);
    free(held);
    free(pinned);
    flesh_free(&f);
}

/* ---- an extra energy: k/2 d^2 where a vertex is d below a plane y = height; and bonds between vertices, whose
 * Hessian is not block-diagonal ---- */
typedef struct half_space {
    const flesh *f;
    double height, stiffness, bond;
    int32_t a, b; /* bonded, if bond > 0 */
    double *at;   /* the x of the last forces */
} half_space;

static double hs_energy(void *context, const double *x)
{
    const half_space *h = context;
    double energy = 0;
    for (int32_t v = 0; v < h->f->vertex_count; v++) {
        double d = h->height - x[3 * v + 1];
        if (d > 0) energy += h->stiffness / 2 * d * d;
    }
    for (int c = 0; c < 3; c++) energy += h->bond / 2 * pow(x[3 * h->a + c] - x[3 * h->b + c], 2);
    return energy;
}
static void hs_forces(void *context, const double *x, double *force)
{
    half_space *h = context;
    memcpy(h->at, x, 3 * (size_t)h->f->vertex_count * sizeof *x);
    for (int32_t v = 0; v < h->f->vertex_count; v++) {
        double d = h->height - x[3 * v + 1];
        if (d > 0) force[3 * v + 1] += h->stiffness * d;
    }
    for (int c = 0; c < 3; c++) {
        double d = h->bond * (x[3 * h->a + c] - x[3 * h->b + c]);
        force[3 * h->a + c] -= d;
        force[3 * h->b + c] += d;
    }
}
static void hs_multiply(void *context, const double *v, double *y)
{
    const half_space *h = context;
    for (int32_t u = 0; u < h->f->vertex_count; u++)
        if (h->at[3 * u + 1] < h->height) y[3 * u + 1] += h->stiffness * v[3 * u + 1];
    for (int c = 0; c < 3; c++) {
        double d = h->bond * (v[3 * h->a + c] - v[3 * h->b + c]);
        y[3 * h->a + c] += d;
        y[3 * h->b + c] -= d;
    }
}
static void hs_diagonal(void *context, double *block)
{
    const half_space *h = context;
    for (int32_t u = 0; u < h->f->vertex_count; u++)
        if (h->at[3 * u + 1] < h->height) block[9 * u + 4] += h->stiffness;
    for (int c = 0; c < 3; c++) {
        block[9 * h->a + 4 * c] += h->bond;
        block[9 * h->b + 4 * c] += h->bond;
    }
}

/* A beam held at the left is pressed down by its weight onto a floor: in equilibrium the floor carries what the clamp
 * does not, each vertex below it is pressed up by k d, and a dense check of the forces says so. */
TEST(an_extra_energy_is_in_balance)
{
    flesh f = flesh_box(8, 2, 2, 0.4, 0.1, 0.1, 0.2);
    size_t n = 3 * (size_t)f.vertex_count;
    double *force = calloc(n, sizeof *force), *x[2] = {calloc(n, 8), calloc(n, 8)}, *left = calloc(n, 8);
    half_space h = {
        .f = &f, .height = -0.02, .stiffness = 2e3, .bond = 50, .b = f.vertex_count - 1, .at = calloc(n, 8)};
    h.a = h.b - 8;
    spl_extra extra = {.context = &h,
                       .energy = hs_energy,
                       .add_forces = hs_forces,
                       .multiply = hs_multiply,
                       .add_diagonal = hs_diagonal};
    for (int32_t v = 0; v < f.vertex_count; v++) {
        if (f.rest[3 * v] < 1e-9) f.held[v] = 0;
        force[3 * v + 1] = -0.08;
    }
    spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
    problem.force = force;
    problem.extra = &extra;
    for (int solver = 0; solver < 2; solver++) {
        spl_statics_options options = spl_statics_options_default();
        options.solver = (spl_statics_solver)solver;
        memcpy(x[solver], f.rest, n * sizeof(double));
        spl_statics_stats stats = solve(&f, &options, &problem, x[solver]);
        CHECK(stats.converged && stats.inner > 0 && stats.iterations < 40);
        int below = 0;
        memcpy(left, force, n * sizeof *left);
        for (int32_t k = 0; k < f.tet_count; k++) {
            spl_law_input in = {.F = spl_element_F(&f.elements, k, x[solver]), .mu = f.mu[k], .lambda = f.lambda[k]};
            spl_mat3 P;
            double g[12];
            problem.law->stress(&in, &P);
            spl_element_forces(&f.elements, k, &P, g);
            for (int i = 0; i < 12; i++) left[3 * f.tet[4 * k + i / 3] + i % 3] += g[i];
        }
        hs_forces(&h, x[solver], left);
        for (int32_t v = 0; v < f.vertex_count; v++) {
            below += x[solver][3 * v + 1] < h.height;
            for (int c = 0; c < 3; c++)
                if (f.held[v] < 0) CHECK_NEAR(left[3 * v + c], 0, 1e-6);
        }
        CHECK(below >= 5 && below < f.vertex_count / 2);
    }
    for (size_t i = 0; i < n; i++) CHECK_NEAR(x[0][i], x[1][i], 1e-7);
    free(force);
    free(x[0]);
    free(x[1]);
    free(left);
    free(h.at);
    flesh_free(&f);
}

/* The same spring as an extra energy and as a pin: the same answer. A half-space deep below the body is, on every
 * vertex, a spring along y; here its stiffness is on all vertices at once. */
TEST(an_extra_spring_equals_a_pin)
{
    flesh f = flesh_box(6, 2, 2, 0.3, 0.1, 0.1, 0.2);
    size_t n = 3 * (size_t)f.vertex_count;
    double *x = calloc(n, 8), *y = calloc(n, 8);
    for (int32_t v = 0; v < f.vertex_count; v++)
        if (f.rest[3 * v] < 1e-9) f.held[v] = 0;
    half_space h = {.f = &f, .height = -100, .bond = 30, .a = 0, .b = f.vertex_count - 1, .at = calloc(n, 8)};
    spl_extra extra = {.context = &h,
                       .energy = hs_energy,
                       .add_forces = hs_forces,
                       .multiply = hs_multiply,
                       .add_diagonal = hs_diagonal};
    spl_pin pin = {.vertex = h.b, .stiffness = 30};
    memcpy(pin.target, f.rest, sizeof pin.target); /* vertex 0 is held: the bond to it is a pin */
    spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
    memcpy(x, f.rest, n * 8);
    memcpy(y, f.rest, n * 8);
    problem.extra = &extra;
    spl_statics_stats one = solve(&f, NULL, &problem, x);
    problem.extra = NULL;
    problem.pin = &pin;
    problem.pin_count = 1;
    spl_statics_stats other = solve(&f, NULL, &problem, y);
    CHECK(one.converged && other.converged && f.held[0] >= 0);
    CHECK_NEAR(one.energy, other.energy, 1e-10);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(x[i], y[i], 1e-7);
    CHECK(fabs(x[3 * h.b] - f.rest[3 * h.b]) > 1e-3);
    free(x);
    free(y);
    free(h.at);
    flesh_free(&f);
}

/* Two boxes, one held at its left, one held by nothing: it finds its shape where it is. */
TEST(an_island_is_solved_and_counted)
{
    flesh one = flesh_box(4, 2, 2, 0.2, 0.1, 0.1, 0.2), f = flesh_new(2 * one.vertex_count, 2 * one.tet_count);
    for (int32_t i = 0; i < 3 * f.vertex_count; i++) {
        int32_t from = i % (3 * one.vertex_count);
        f.rest[i] = one.rest[from] + (i > from && i % 3 == 2 ? 0.5 : 0);
    }
    for (int32_t i = 0; i < 4 * f.tet_count; i++)
        f.tet[i] = one.tet[i % (4 * one.tet_count)] + (i < 4 * one.tet_count ? 0 : one.vertex_count);
    flesh_finish(&f);
    for (int32_t v = 0; v < one.vertex_count; v++)
        if (f.rest[3 * v] < 1e-9) f.held[v] = 0;
    uint64_t seed = 9;
    for (int32_t i = 0; i < 3 * f.vertex_count; i++)
        if (f.held[i / 3] < 0) f.x[i] += 0.005 * flesh_random(&seed);
    const spl_law *laws[] = {&spl_law_corot, &spl_law_neohookean};
    double *x = malloc(3 * (size_t)f.vertex_count * sizeof *x);
    for (int l = 0; l < 2; l++)
        for (int solver = 0; solver < 2; solver++) {
            spl_statics_options options = spl_statics_options_default();
            options.solver = (spl_statics_solver)solver;
            spl_statics_problem problem = flesh_problem(&f, laws[l]);
            memcpy(x, f.x, 3 * (size_t)f.vertex_count * sizeof *x);
            spl_statics_stats stats = solve(&f, &options, &problem, x);
            CHECK(stats.islands == 1 && stats.converged);
            CHECK(stats.factorisations == stats.iterations); /* none failed */
            CHECK_NEAR(stats.energy, 0, 1e-9);
        }
    free(x);
    flesh_free(&one);
    flesh_free(&f);
}

TEST_CASES(RUN(a_cantilever_comes_to_beam_theory), RUN(all_laws_bend_alike_under_small_loads), RUN(pins),
           RUN(an_extra_energy_is_in_balance), RUN(an_extra_spring_equals_a_pin), RUN(an_island_is_solved_and_counted))
