/* The player against the unreduced solver, closed forms, and what must not happen. */
#include "core/memory.h"
#include "failing.h"
#include "subspace/beam.h"
#include "subspace/lanes.h"
#include "test.h"

static const spl_vec3 down = {2, -6, 0};

static spl_player_options exact(void)
{
    spl_player_options o = spl_player_options_default();
    o.tolerance = 1e-10;
    o.newton = 100;
    return o;
}

static spl_player_input still_input(const beam *b, const spl_frame_motion *frame, double dt)
{
    return (spl_player_input){.frame = frame, .held = b->flesh.x, .gravity = down, .dt = dt};
}

/* The unreduced solution under gravity, and an acceleration field besides where given (by rest position). */
static double *reference(const beam *b)
{
    const flesh *f = &b->flesh;
    double *x = malloc(3 * (size_t)f->vertex_count * sizeof *x), *mass = calloc((size_t)f->vertex_count, sizeof *mass);
    double *force = calloc(3 * (size_t)f->vertex_count, sizeof *force);
    for (int32_t k = 0; k < 4 * f->tet_count; k++) mass[f->tet[k]] += b->density * f->elements.volume[k / 4] / 4;
    for (int32_t v = 0; v < f->vertex_count; v++) {
        force[3 * v] = mass[v] * down.x;
        force[3 * v + 1] = mass[v] * down.y;
        force[3 * v + 2] = mass[v] * down.z;
    }
    spl_statics_options o = spl_statics_options_default();
    o.tolerance = 1e-12;
    spl_statics *s = flesh_solver(f, &o, NULL);
    spl_statics_problem problem = flesh_problem(f, b->model.law);
    spl_statics_stats stats;
    problem.force = force;
    memcpy(x, f->x, 3 * (size_t)f->vertex_count * sizeof *x);
    CHECK(spl_statics_solve(s, &problem, x, &stats, NULL) == SUPPLE_OK && stats.converged);
    spl_statics_destroy(s);
    free(mass), free(force);
    return x;
}

static double distance(const beam *b, const double *x, const double *y)
{
    double most = 0;
    for (int32_t i = 0; i < 3 * b->flesh.vertex_count; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* The held end turned and moved, so that held corners of cubature tets are not where the frames put them. */
static void move_held(beam *b, const spl_mat3 *R, spl_vec3 t)
{
    for (int32_t v = 0; v < b->flesh.vertex_count; v++) {
        double *x = b->flesh.x + 3 * v;
        spl_vec3 p = spl_add(spl_mat3_apply(R, spl_v3(x[0], x[1], x[2])), t);
        memcpy(x, &p, sizeof p);
    }
}

/* Largest distance to the unreduced solution, the domains' frames at random about the rest. */
static double error_of(beam *b, double kappa, const double *truth, double *deflection)
{
    spl_player_options o = exact();
    o.kappa = kappa;
    spl_player *p = beam_player(b, &o, NULL);
    spl_frame_motion frame[4];
    spl_player_stats stats;
    uint64_t seed = 3;
    for (int i = 0; i < b->model.domain_count; i++) {
        frame[i] = beam_still();
        frame[i].R = spl_quat_to_mat3(spl_quat_axis_angle(beam_vector(&seed, 1), 0.4 * flesh_random(&seed)));
        frame[i].t = beam_vector(&seed, 0.05);
    }
    spl_player_input in = still_input(b, frame, 0);
    CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK);
    CHECK(stats.converged);
    double *x = malloc(3 * (size_t)b->flesh.vertex_count * sizeof *x);
    beam_read(p, b, frame, x);
    double error = distance(b, x, truth);
    *deflection = distance(b, b->flesh.x, truth);
    spl_player_destroy(p);
    free(x);
    return error;
}

TEST(one_full_domain_is_the_unreduced_solver)
{
    beam b = beam_make(2, 5, 0.1, 1, BEAM_FULL, 0, true);
    spl_mat3 R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 2, 3), 0.7));
    double deflection;
    move_held(&b, &R, spl_v3(0.3, -0.2, 0.1));
    double *truth = reference(&b), error = error_of(&b, 100, truth, &deflection);
    printf("    %.3g of a deflection of %.3g\n", error, deflection);
    CHECK(deflection > 0.05 && error < 1e-6 * deflection);
    free(truth);
    beam_free(&b);
}

TEST(several_full_domains_differ_by_the_inverse_of_kappa)
{
    for (int domains = 2; domains <= 3; domains++) {
        beam b = beam_make(2, 6, 0.1, domains, BEAM_FULL, 0, true);
        double deflection, *truth = reference(&b), error[3];
        for (int k = 0; k < 3; k++) error[k] = error_of(&b, k == 0 ? 100 : k == 1 ? 1000 : 10000, truth, &deflection);
        printf("    %d domains: %.3g %.3g %.3g of %.3g\n", domains, error[0], error[1], error[2], deflection);
        CHECK(error[0] < 0.05 * deflection);
        CHECK(error[1] < 0.15 * error[0] && error[1] > 0.07 * error[0]);
        CHECK(error[2] < 0.15 * error[1] && error[2] > 0.07 * error[1]);
        free(truth);
        beam_free(&b);
    }
}

/* ---- spinning ---- */

/* Force of a spin about the axis through (0.1, ., 0) along y: energy -m/2 w^2 ((x - 0.1)^2 + z^2), for the unreduced
 * solver. */
typedef struct spin {
    const beam *b;
    double *mass, squared;
} spin;

static double spin_energy(void *context, const double *x)
{
    spin *s = context;
    double e = 0;
    for (int32_t v = 0; v < s->b->flesh.vertex_count; v++)
        e -= 0.5 * s->mass[v] * s->squared * (pow(x[3 * v] - 0.1, 2) + pow(x[3 * v + 2], 2));
    return e;
}
static void spin_forces(void *context, const double *x, double *force)
{
    spin *s = context;
    for (int32_t i = 0; i < 3 * s->b->flesh.vertex_count; i++)
        if (i % 3 != 1) force[i] += s->mass[i / 3] * s->squared * (x[i] - (i % 3 == 0 ? 0.1 : 0));
}
static void spin_multiply(void *context, const double *v, double *y)
{
    (void)context, (void)v, (void)y; /* its Hessian is negative: left out */
}
static void spin_diagonal(void *context, double *block)
{
    (void)context, (void)block;
}

static double tip(const beam *b, const double *x)
{
    double most = -1e30;
    for (int32_t v = 0; v < b->flesh.vertex_count; v++) most = fmax(most, x[3 * v + 2]);
    return most;
}

TEST(a_spinning_domain_stretches_as_the_unreduced_solver_says)
{
    beam b = beam_make(2, 6, 0.1, 2, BEAM_POLYNOMIAL, 60, true);
    double omega = 3, h = 1.0 / 120;
    size_t n = 3 * (size_t)b.flesh.vertex_count;
    spl_vec3 axis = {0.1, 0, 0};
    spin s = {&b, calloc(n, sizeof(double)), omega * omega};
    for (int32_t k = 0; k < 4 * b.flesh.tet_count; k++)
        s.mass[b.flesh.tet[k]] += b.density * b.flesh.elements.volume[k / 4] / 4;
    spl_extra extra = {.context = &s,
                       .energy = spin_energy,
                       .add_forces = spin_forces,
                       .multiply = spin_multiply,
                       .add_diagonal = spin_diagonal};
    spl_statics *solver = flesh_solver(&b.flesh, NULL, NULL);
    spl_statics_problem problem = flesh_problem(&b.flesh, b.model.law);
    spl_statics_stats solved;
    problem.extra = &extra;
    double *truth = malloc(n * sizeof *truth), *x = malloc(n * sizeof *x), *rest = malloc(n * sizeof *rest);
    memcpy(truth, b.flesh.x, n * sizeof *x);
    memcpy(rest, b.flesh.x, n * sizeof *x);
    CHECK(spl_statics_solve(solver, &problem, truth, &solved, NULL) == SUPPLE_OK && solved.converged);
    spl_player_options o = spl_player_options_default();
    o.alpha = 4;
    o.kappa = 1000;
    spl_player *p = beam_player(&b, &o, NULL);
    for (int k = 1; k <= 720; k++) { /* six seconds of turning, from poses */
        spl_frame at[3];
        for (int d = 0; d < 3; d++) {
            at[d].R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(0, 1, 0), omega * h * (k + d - 1)));
            at[d].t = spl_sub(axis, spl_mat3_apply(&at[d].R, axis));
        }
        spl_frame_motion frame[2];
        for (int d = 0; d < 2; d++)
            frame[d] = spl_motion_central(&at[0], &at[1], &at[2], h, spl_v3(0.1, 0.1, 0.15 + 0.3 * d));
        for (int32_t v = 0; v < b.flesh.vertex_count; v++) {
            spl_vec3 y = spl_mat3_apply(&at[1].R, spl_v3(rest[3 * v], rest[3 * v + 1], rest[3 * v + 2]));
            y = spl_add(y, at[1].t);
            memcpy(b.flesh.x + 3 * v, &y, sizeof y);
        }
        spl_player_input in = {.frame = frame, .held = b.flesh.x, .dt = h};
        CHECK(spl_player_step(p, &in, NULL, NULL) == SUPPLE_OK);
    }
    memcpy(b.flesh.x, rest, n * sizeof *x);
    spl_frame_motion still[2] = {beam_still(), beam_still()};
    beam_read(p, &b, still, x);
    double stretch = tip(&b, truth) - tip(&b, rest), reduced = tip(&b, x) - tip(&b, rest);
    printf("    the tip moves out by %.4g m, unreduced %.4g m\n", reduced, stretch);
    CHECK(stretch > 0.02);
    CHECK_NEAR(reduced / stretch, 1, 0.02);
    spl_player_destroy(p);
    spl_statics_destroy(solver);
    free(truth), free(x), free(rest), free(s.mass);
    beam_free(&b);
}

/* ---- time stepping ---- */

/* Energy of a beam that is let go, after a number of steps: elastic, springs, kinetic, in the field of gravity. */
static double energy_after(spl_player *p, const beam *b, const spl_frame_motion *frame, double h, int steps)
{
    int32_t n = spl_player_size(p);
    double *q = malloc((size_t)n * sizeof *q), *qd = malloc((size_t)n * sizeof *qd), energy = 0, first = 0;
    spl_player_input in = {.frame = frame, .held = b->flesh.x, .dt = h};
    spl_player_stats stats;
    for (int k = 0; k < steps; k++) {
        if (spl_player_step(p, &in, &stats, NULL) != SUPPLE_OK) return NAN;
        spl_player_state(p, q, qd, NULL);
        energy = stats.energy;
        for (int32_t i = 0; i < n; i++) energy += 0.5 * qd[i] * qd[i];
        if (k == 0) first = energy;
    }
    free(q), free(qd);
    return energy / first;
}

TEST(newmark_keeps_energy_and_damping_takes_it)
{
    beam b = beam_make(2, 6, 0.1, 2, BEAM_POLYNOMIAL, 30, true);
    spl_frame_motion frame[2] = {beam_still(), beam_still()};
    for (int damped = 0; damped < 4; damped++) { /* none, by mass, by stiffness, at the interfaces */
        spl_player_options o = exact();
        o.rho = 1;
        o.alpha = damped == 1 ? 0.5 : 0;
        o.beta = damped == 2 ? 0.005 : 0;
        o.kappa_d = damped == 3 ? 0.1 : 0;
        if (damped == 3) o.kappa = 1; /* loose, so that the interfaces move */
        spl_player *p = beam_player(&b, &o, NULL);
        spl_player_input in = still_input(&b, frame, 0);
        CHECK(spl_player_step(p, &in, NULL, NULL) == SUPPLE_OK); /* bent by gravity, then let go */
        double share = energy_after(p, &b, frame, 1.0 / 240, 240);
        printf("    %.5f\n", share);
        if (damped == 0) CHECK_NEAR(share, 1, 0.01);
        if (damped > 0) CHECK(share < 0.9 && share > 0);
        spl_player_destroy(p);
    }
    beam_free(&b);
}

/* What is left of the energy of a beam without damping: let go under gravity, or with its last mode struck. */
static double left_over(const beam *b, double rho, bool fast, double h, int steps)
{
    spl_frame_motion frame[2] = {beam_still(), beam_still()};
    spl_player_options o = exact();
    double q[60] = {0}, qd[60] = {0};
    o.alpha = o.beta = o.kappa_d = 0;
    o.rho = rho;
    spl_player *p = beam_player(b, &o, NULL);
    spl_player_input in = still_input(b, frame, 0);
    if (spl_player_size(p) != 60) abort();
    if (!fast) CHECK(spl_player_step(p, &in, NULL, NULL) == SUPPLE_OK);
    qd[29] = 0.01;
    if (fast) spl_player_set_state(p, q, qd, q);
    double share = energy_after(p, b, frame, h, steps);
    spl_player_destroy(p);
    return share;
}

/* Swings that are much faster than the steps die out, and the trapezoidal rule keeps them. Slow ones stay. */
TEST(steps_keep_slow_swings_and_not_fast_ones)
{
    beam b = beam_make(2, 6, 0.1, 2, BEAM_POLYNOMIAL, 30, true);
    double usual = spl_player_options_default().rho;
    double slow = left_over(&b, usual, false, 1.0 / 120, 240), fast = left_over(&b, usual, true, 1.0 / 30, 40);
    double kept = left_over(&b, 1, true, 1.0 / 30, 40);
    printf("    slow %.4f, fast %.2g, by the trapezoidal rule %.2g\n", slow, fast, kept);
    CHECK(slow > 0.97 && slow < 1.01);
    CHECK(fast < 0.02 && kept > 0.9);
    beam_free(&b);
}

/* Free oscillation in the lowest mode of a stiff little problem: the period is that of the statics' stiffness. */
TEST(dynamics_settles_where_statics_is)
{
    beam b = beam_make(2, 6, 0.1, 3, BEAM_POLYNOMIAL, 30, true);
    spl_frame_motion frame[3] = {beam_still(), beam_still(), beam_still()};
    spl_player_options o = spl_player_options_default();
    o.tolerance = 1e-8, o.newton = 20, o.alpha = 6;
    spl_player *p = beam_player(&b, &o, NULL), *s = beam_player(&b, &o, NULL);
    spl_player_input in = still_input(&b, frame, 0), moving = still_input(&b, frame, 1.0 / 60);
    double q[90], r[90], far = 0, off = 0;
    CHECK(spl_player_size(p) == 90);
    CHECK(spl_player_step(s, &in, NULL, NULL) == SUPPLE_OK);
    for (int k = 0; k < 300; k++) CHECK(spl_player_step(p, &moving, NULL, NULL) == SUPPLE_OK);
    spl_player_state(p, q, NULL, NULL);
    spl_player_state(s, r, NULL, NULL);
    for (int k = 0; k < 90; k++) far = fmax(far, fabs(r[k])), off = fmax(off, fabs(q[k] - r[k]));
    CHECK(off < 1e-4 * far);
    spl_player_destroy(p);
    spl_player_destroy(s);
    beam_free(&b);
}

/* Three domains on a turning, shaking arm; the state after some steps. */
static void shake(const beam *b, const spl_player_options *o, spl_pool *pool, double *q)
{
    spl_player *p = beam_player(b, o, pool);
    double h = 1.0 / 60, *held = malloc(3 * (size_t)b->flesh.vertex_count * sizeof *held);
    spl_player_stats stats;
    for (int k = 1; k < 40; k++) {
        spl_frame_motion frame[3];
        spl_frame root = {0};
        for (int d = 0; d < 3; d++) {
            spl_frame at[3];
            for (int j = 0; j < 3; j++) {
                double t = (k + j - 1) * h, turn = 0.5 * sin(6 * t) * (d + 1);
                at[j].R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 0.3 * d, 0), turn));
                at[j].t = spl_v3(0.1 * sin(9 * t), 0.05 * d * sin(5 * t), 0);
            }
            frame[d] = spl_motion_central(&at[0], &at[1], &at[2], h, spl_v3(0.1, 0.1, 0.2 * d));
            if (d == 0) root = at[1];
        }
        for (int32_t v = 0; v < b->flesh.vertex_count; v++) {
            const double *x = b->flesh.rest + 3 * v;
            spl_vec3 y = spl_add(spl_mat3_apply(&root.R, spl_v3(x[0], x[1], x[2])), root.t);
            memcpy(held + 3 * v, &y, sizeof y);
        }
        spl_player_input in = {.frame = frame, .held = held, .gravity = down, .dt = h};
        CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK);
        if (k > 1) CHECK(stats.iterations <= 3); /* the first starts from nowhere */
    }
    spl_player_state(p, q, NULL, NULL);
    spl_player_destroy(p);
    free(held);
}

TEST(without_fast_sandwiches_the_motion_is_the_same)
{
    beam b = beam_make(2, 6, 0.1, 3, BEAM_POLYNOMIAL, 24, true);
    for (int full = 0; full < 2; full++) {
        spl_player_options o = spl_player_options_default();
        double q[72], r[72], far = 0, off = 0;
        o.full_damping = full;
        o.tolerance = 1e-9;
        shake(&b, &o, NULL, q);
        o.fst = false;
        shake(&b, &o, NULL, r);
        for (int k = 0; k < 72; k++) far = fmax(far, fabs(q[k])), off = fmax(off, fabs(q[k] - r[k]));
        CHECK(far > 0.01 && off < 1e-8 * far);
    }
    beam_free(&b);
}

TEST(the_same_bits_at_any_number_of_threads)
{
    beam b = beam_make(3, 9, 0.1, 3, BEAM_POLYNOMIAL, 24, true);
    spl_player_options o = spl_player_options_default();
    double one[72], many[72];
    shake(&b, &o, NULL, one);
    for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
        supple_config config = supple_config_default();
        spl_pool *pool;
        config.thread_count = threads;
        CHECK(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
        shake(&b, &o, pool, many);
        CHECK(memcmp(one, many, sizeof one) == 0);
        spl_pool_destroy(pool);
    }
    beam_free(&b);
}

/* Kinetic energy in the turning frame, elastic energy, and minus the centrifugal one about the axis through (0.1, 0.1):
 * what a spin without damping keeps. */
static double spinning_energy(const spl_player *p, const beam *b, const spl_frame_motion *frame, double omega,
                              double elastic)
{
    const spl_model_domain *d = &b->model.domain[0];
    double *x = malloc(3 * (size_t)b->flesh.vertex_count * sizeof *x), qd[30], energy = elastic;
    beam_read(p, b, frame, x);
    spl_player_state(p, NULL, qd, NULL);
    for (int k = 0; k < 30; k++) energy += 0.5 * qd[k] * qd[k];
    for (int32_t k = 0; k < d->vertex_count; k++) {
        const double *at = x + 3 * d->vertex[k], *rest = d->rest + 3 * k;
        energy -= 0.5 * d->mass[k] * omega * omega * (pow(at[0] - 0.1, 2) + pow(at[1] - 0.1, 2));
        energy += 0.5 * d->mass[k] * omega * omega * (pow(rest[0] - 0.1, 2) + pow(rest[1] - 0.1, 2));
    }
    free(x);
    return energy;
}

/* The same swing in float and in double, held corners moving, with vertices read out by either; the bits of the float
 * one do not depend on the number of threads. */
TEST(float_plays_as_double_does)
{
    if (!spl_lanes_known()) SKIP("no AVX2");
    beam b = beam_make(2, 9, 0.1, 3, BEAM_POLYNOMIAL, 18, true);
    b.model.law = &spl_law_corot;
    spl_player_options o = spl_player_options_default();
    spl_pool *pool = NULL;
    supple_config config = supple_config_default();
    config.thread_count = 3;
    REQUIRE(spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
    spl_player *wide = beam_player(&b, &o, NULL), *many = beam_player(&b, &o, pool), *twin;
    o.single = false;
    twin = beam_player(&b, &o, NULL);
    size_t n = 3 * (size_t)b.flesh.vertex_count;
    double *x[3], most = 0, moved = 0;
    for (int k = 0; k < 3; k++) x[k] = malloc(n * sizeof **x);
    spl_player *const all[3] = {wide, many, twin};
    for (int step = 0; step < 60; step++) {
        spl_frame_motion frame[3];
        for (int i = 0; i < 3; i++) {
            frame[i] = beam_still();
            frame[i].R = spl_quat_to_mat3(spl_quat_axis_angle(spl_v3(1, 0, 0), 0.1 * i * sin(0.1 * step)));
            frame[i].t = spl_v3(500, 0.02 * i, -30); /* far from the world's origin */
        }
        for (int k = 0; k < 3; k++) {
            double *held = malloc(n * sizeof *held);
            memcpy(held, b.flesh.x, n * sizeof *held);
            for (size_t v = 0; v < n; v += 3) held[v] += 500, held[v + 2] -= 30;
            spl_player_input in = {.frame = frame, .held = held, .gravity = down, .dt = 1 / 120.0};
            CHECK(spl_player_step(all[k], &in, NULL, NULL) == SUPPLE_OK);
            beam_read(all[k], &b, frame, x[k]);
            free(held);
        }
        CHECK(memcmp(x[0], x[1], n * sizeof **x) == 0);
        for (size_t v = 0; v < n; v++) {
            most = fmax(most, fabs(x[0][v] - x[2][v]));
            if (b.flesh.held[v / 3] < 0)
                moved = fmax(moved, fabs(x[2][v] - b.flesh.rest[v] - (v % 3 == 0 ? 500 : v % 3 == 2 ? -30 : 0)));
        }
    }
    printf("    %.2g of %.2g m\n", most, moved);
    CHECK(moved > 0.05 && most > 0 && most < 1e-4 * moved);
    for (int k = 0; k < 3; k++) {
        free(x[k]);
        spl_player_destroy(all[k]);
    }
    spl_pool_destroy(pool);
    beam_free(&b);
}

/* Coriolis forces do no work. Lagging by a step they would: 1.9 times the energy after these three seconds. */
TEST(a_spin_without_damping_keeps_its_energy)
{
    beam b = beam_make(2, 3, 0.1, 1, BEAM_POLYNOMIAL, 30, true);
    spl_player_options o = exact();
    o.alpha = o.beta = 0;
    spl_player *p = beam_player(&b, &o, NULL);
    double omega = 4, first = 0, least = INFINITY, most = 0;
    spl_frame_motion frame[1] = {beam_still()};
    spl_player_input in = still_input(&b, frame, 0);
    spl_player_stats stats;
    CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK);
    frame[0].omega = spl_v3(0, 0, omega);
    frame[0].a = spl_scale(spl_v3(0.1, 0.1, 0), omega * omega); /* of the origin, which goes round the axis */
    in.gravity = spl_v3(0, 0, 0);
    in.dt = 1.0 / 120;
    for (int k = 0; k < 360; k++) {
        CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK && stats.converged);
        double energy = spinning_energy(p, &b, frame, omega, stats.energy);
        if (k == 0) first = energy;
        least = fmin(least, energy / first);
        most = fmax(most, energy / first);
    }
    printf("    from %.4f to %.4f of %.3g J\n", least, most, first);
    CHECK(first > 0 && least > 0.97 && most < 1.03);
    spl_player_destroy(p);
    beam_free(&b);
}

/* ---- bad states ---- */

TEST(an_inverted_start_recovers)
{
    beam b = beam_make(2, 5, 0.1, 1, BEAM_FULL, 0, true);
    spl_player_options o = spl_player_options_default();
    spl_player *p = beam_player(&b, &o, NULL);
    spl_frame_motion frame[1] = {beam_still()};
    spl_player_input in = still_input(&b, frame, 0);
    int32_t n = spl_player_size(p);
    double *q = malloc((size_t)n * sizeof *q), *x = malloc(3 * (size_t)b.flesh.vertex_count * sizeof *x);
    const spl_model_domain *d = &b.model.domain[0];
    for (int32_t k = 0; k < n; k++) { /* mirrored in z: q = U^T M (x - p) */
        double move = k % 3 == 2 ? -2 * d->rest[k] : 0;
        q[k] = move * sqrt(d->mass[k / 3]);
    }
    spl_player_set_state(p, q, NULL, NULL);
    spl_player_stats stats = {0};
    int steps = 0;
    while (steps < 100 && !stats.converged) {
        CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK);
        steps++;
    }
    printf("    %d steps of three iterations\n", steps);
    CHECK(stats.converged);
    beam_read(p, &b, frame, x);
    double *truth = reference(&b);
    CHECK(distance(&b, x, truth) < 1e-3 * b.flesh.size);
    spl_player_destroy(p);
    free(q), free(x), free(truth);
    beam_free(&b);
}

/* The arm jumps by metres and turns by any angle from one frame to the next, then rests. */
TEST(frames_that_teleport_leave_shapes_bounded)
{
    beam b = beam_make(2, 6, 0.1, 2, BEAM_POLYNOMIAL, 30, true);
    spl_player_options o = spl_player_options_default();
    o.full_damping = true;
    o.alpha = 5;
    spl_player *p = beam_player(&b, &o, NULL);
    double h = 1.0 / 60, *x = malloc(3 * (size_t)b.flesh.vertex_count * sizeof *x), worst = 0, last = 0;
    uint64_t seed = 5;
    spl_frame at[3] = {{spl_mat3_identity(), {0, 0, 0}}};
    at[1] = at[2] = at[0];
    double *rest = malloc(3 * (size_t)b.flesh.vertex_count * sizeof *rest);
    memcpy(rest, b.flesh.x, 3 * (size_t)b.flesh.vertex_count * sizeof *rest);
    for (int k = 0; k < 450; k++) {
        at[0] = at[1], at[1] = at[2];
        spl_frame_motion jump = beam_frame(&seed);
        if (k < 150 && k % 8 == 0) at[2] = (spl_frame){jump.R, spl_scale(jump.t, 30)};
        if (k < 150 && k % 8 == 4) { /* as much as still counts as a motion */
            spl_quat turn = spl_quat_axis_angle(jump.t, 0.5);
            spl_mat3 R = spl_quat_to_mat3(turn);
            at[2] = (spl_frame){spl_mat3_mul(&at[2].R, &R), spl_add(at[2].t, spl_scale(jump.t, 0.3))};
        }
        spl_frame_motion f = spl_motion_central(&at[0], &at[1], &at[2], h, spl_v3(0.1, 0.1, 0.3));
        spl_frame_motion frame[2] = {f, f};
        for (int32_t v = 0; v < b.flesh.vertex_count; v++) {
            spl_vec3 y = spl_add(spl_mat3_apply(&f.R, spl_v3(rest[3 * v], rest[3 * v + 1], rest[3 * v + 2])), f.t);
            memcpy(b.flesh.x + 3 * v, &y, sizeof y);
        }
        spl_player_input in = {.frame = frame, .held = b.flesh.x, .dt = h};
        CHECK(spl_player_step(p, &in, NULL, NULL) == SUPPLE_OK);
        beam_read(p, &b, frame, x);
        last = distance(&b, x, b.flesh.x);
        worst = fmax(worst, last);
    }
    printf("    at most %.3g m off, %.3g at rest, of a beam of 0.6 m\n", worst, last);
    CHECK(worst < 0.6 && last < 0.01);
    spl_player_destroy(p);
    free(x), free(rest);
    beam_free(&b);
}

/* A push as no training had: the coordinates it moves are held back beyond eight times their reach, and it is told. */
TEST(far_outside_the_training_shapes_are_held_back)
{
    beam b = beam_make(2, 4, 0.1, 2, BEAM_POLYNOMIAL, 12, true);
    spl_player_options o = exact();
    spl_frame_motion frame[2] = {beam_still(), beam_still()};
    double force[24], far[2] = {0}, q[24];
    spl_player_stats stats;
    for (int k = 0; k < 24; k++) force[k] = 20 * (k % 3 == 0);
    for (int known = 0; known < 2; known++) {
        for (int d = 0; d < 2; d++)
            for (int k = 0; k < 12; k++) b.model.domain[d].reach[k] = known ? 100 : 0.01;
        spl_player *p = beam_player(&b, &o, NULL);
        spl_player_input in = {.frame = frame, .held = b.flesh.x, .force = force};
        CHECK(spl_player_step(p, &in, &stats, NULL) == SUPPLE_OK && stats.converged);
        spl_player_state(p, q, NULL, NULL);
        for (int k = 0; k < 24; k++) far[known] = fmax(far[known], fabs(q[k]));
        CHECK_NEAR(stats.outside, far[known] / (known ? 100 : 0.01), 1e-9 * stats.outside);
        spl_player_destroy(p);
    }
    printf("    %.3g, without a bound %.3g\n", far[0], far[1]);
    CHECK(far[0] > 0.08 && far[0] < 0.5 * far[1]);
    beam_free(&b);
}

TEST(numbers_that_are_not_finite_reset)
{
    beam b = beam_make(2, 4, 0.1, 2, BEAM_POLYNOMIAL, 12, true);
    spl_player_options o = spl_player_options_default();
    spl_player *p = beam_player(&b, &o, NULL);
    spl_frame_motion frame[2] = {beam_still(), beam_still()};
    spl_player_input in = still_input(&b, frame, 1.0 / 60);
    supple_error error;
    double q[24];
    CHECK(spl_player_step(p, &in, NULL, &error) == SUPPLE_OK);
    frame[1].t.x = NAN;
    CHECK(spl_player_step(p, &in, NULL, &error) == SUPPLE_ERROR_SOLVE);
    spl_player_state(p, q, NULL, NULL);
    for (int k = 0; k < 24; k++) CHECK(q[k] == 0);
    frame[1].t.x = 0;
    CHECK(spl_player_step(p, &in, NULL, &error) == SUPPLE_OK);
    spl_player_destroy(p);
    beam_free(&b);
}

/* Laws that want a rotation, or steps without inverted tets. */
TEST(laws_that_cannot_be_played_are_refused)
{
    beam b = beam_make(2, 4, 0.1, 2, BEAM_POLYNOMIAL, 9, true);
    const spl_law *laws[] = {&spl_law_mixed, &spl_law_log}, *own = b.model.law;
    spl_player_options o = spl_player_options_default();
    supple_allocator a = spl_allocator_of(NULL);
    for (int l = 0; l < 2; l++) {
        spl_player *p = NULL;
        b.model.law = laws[l];
        CHECK(spl_player_create(&b.model, &o, NULL, &a, &p, NULL) == SUPPLE_ERROR_INPUT && !p);
        spl_player_destroy(p);
    }
    b.model.law = own;
    beam_free(&b);
}

/* ---- memory ---- */

TEST(each_allocation_may_fail_and_steps_make_none)
{
    beam b = beam_make(2, 4, 0.1, 2, BEAM_POLYNOMIAL, 9, true);
    spl_frame_motion frame[2] = {beam_still(), beam_still()};
    for (int kind = 0; kind < 2; kind++) {
        spl_player_options o = spl_player_options_default();
        o.fst = kind == 0, o.full_damping = true;
        bool failed = true;
        for (long n = 0; failed && n < 500; n++) {
            failing f = {.fail_at = n};
            supple_allocator a = failing_allocator(&f);
            spl_player *p = NULL;
            spl_player_list *list = NULL;
            supple_result r = spl_player_create(&b.model, &o, NULL, &a, &p, NULL);
            if (r == SUPPLE_OK) r = spl_player_list_create(p, NULL, 0, &list, NULL);
            failed = r != SUPPLE_OK;
            CHECK(!failed || r == SUPPLE_ERROR_MEMORY);
            CHECK(!failed || !list);
            if (!failed) {
                long requests = f.requests;
                spl_player_input in = still_input(&b, frame, 0.01);
                CHECK(spl_player_step(p, &in, NULL, NULL) == SUPPLE_OK);
                spl_player_read(p, list, frame, b.flesh.x);
                CHECK(f.requests == requests && requests > 20);
            }
            spl_player_list_destroy(list);
            spl_player_destroy(p);
            CHECK(f.live == 0);
        }
        CHECK(!failed);
    }
    beam_free(&b);
}

TEST_CASES(RUN(one_full_domain_is_the_unreduced_solver), RUN(several_full_domains_differ_by_the_inverse_of_kappa),
           RUN(a_spinning_domain_stretches_as_the_unreduced_solver_says),
           RUN(newmark_keeps_energy_and_damping_takes_it), RUN(steps_keep_slow_swings_and_not_fast_ones),
           RUN(a_spin_without_damping_keeps_its_energy), RUN(dynamics_settles_where_statics_is),
           RUN(without_fast_sandwiches_the_motion_is_the_same), RUN(the_same_bits_at_any_number_of_threads),
           RUN(float_plays_as_double_does), RUN(an_inverted_start_recovers),
           RUN(frames_that_teleport_leave_shapes_bounded), RUN(far_outside_the_training_shapes_are_held_back),
           RUN(numbers_that_are_not_finite_reset), RUN(laws_that_cannot_be_played_are_refused),
           RUN(each_allocation_may_fail_and_steps_make_none))
