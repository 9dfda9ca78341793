/* Flesh against flesh by the barrier of contact/barrier.h, solved: nothing crosses in any iterate, forces cancel. */
#include "contact/blocks.h"
#include "statics/watched.h"

/* ---- two cubes ---- */

/* Two blocks of `cells`, 0.1 m apart in x; the outer sides are held. */
static flesh two_cubes(int32_t cells)
{
    blocks b;
    supple_allocator a = spl_allocator_of(NULL);
    blocks_make(&b, 2, cells, 0.1, &a, 1);
    const spl_tets *t = &b.body.tets;
    flesh f = flesh_new(t->vertex_count, t->tet_count);
    blocks_move(&b, 1, spl_v3(0, 0.0317, 0.0171));
    memcpy(f.rest, b.x, 3 * (size_t)f.vertex_count * sizeof *f.rest);
    memcpy(f.tet, t->tet, 4 * (size_t)f.tet_count * sizeof *f.tet);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        if (fabs(f.rest[3 * v]) < 1e-9) f.held[v] = 0;
        if (fabs(f.rest[3 * v] - 2.1) < 1e-9) f.held[v] = 1;
    }
    flesh_finish(&f);
    blocks_free(&b);
    return f;
}

TEST(two_cubes_that_are_pressed_never_cross_and_their_forces_cancel)
{
    static const spl_statics_solver solver[] = {SPL_STATICS_DIRECT, SPL_STATICS_PCG};
    spl_pool *pool = pool_of(2);
    flesh f = two_cubes(3);
    barrier_mesh m = mesh_of(&f, f.vertex_count / 2);
    double *goal = malloc(3 * (size_t)f.vertex_count * sizeof *goal), energy, reached[2] = {0};
    memcpy(goal, f.rest, 3 * (size_t)f.vertex_count * sizeof *goal);
    for (int32_t v = 0; v < f.vertex_count; v++)
        if (f.held[v] == 1) goal[3 * v] -= 0.5; /* 0.4 m too much: a fifth of both */
    for (int k = 0; k < 2; k++) {
        spl_statics_options options = spl_statics_options_default();
        options.solver = solver[k];
        options.tolerance = 1e-7;
        options.still = 1e-4; /* as the method ends its frames */
        spl_statics *s = flesh_solver(&f, &options, pool);
        watched w = watch(&m, NULL, pool);
        memcpy(f.x, f.rest, 3 * (size_t)f.vertex_count * sizeof *f.x);
        int rounds = push(&f, s, &w, goal, NULL, f.x);
        CHECK(rounds > 1);
        CHECK(w.crossings == 0 && w.infinite == 0 && w.looks > 20);
        const double *force = spl_barrier_measure(w.barrier, f.x, &energy);
        double sum[2][3] = {{0}}, size = 0;
        for (int32_t i = 0; i < 3 * f.vertex_count; i++) sum[2 * i / (3 * f.vertex_count)][i % 3] += force[i];
        for (int c = 0; c < 3; c++) {
            size = fmax(size, fabs(sum[1][c]));
            CHECK_NEAR(sum[0][c], -sum[1][c], 1e-9 * fabs(sum[1][0]));
        }
        CHECK(sum[1][0] > 500 && size == sum[1][0]); /* 1e4 Pa, 1 m^2, a fifth: about 2 kN without bulging */
        CHECK(spl_barrier_look(w.barrier).gap > 0 && spl_barrier_look(w.barrier).pairs > 10);
        reached[k] = sum[1][0];
        printf("    %d rounds, %d looks, %.0f N, %d pairs\n", rounds, (int)w.looks, sum[1][0],
               (int)spl_barrier_look(w.barrier).pairs);
        unwatch(&w);
        spl_statics_destroy(s);
    }
    /* 2245 N at a residual of 1e-7. The projected Hessian is stiff against sliding, steps are short, and `still` ends
     * them early: by 5 and 8%. */
    for (int k = 0; k < 2; k++) CHECK_NEAR(reached[k], 2245, 0.1 * 2245);
    barrier_mesh_free(&m);
    free(goal);
    flesh_free(&f);
    spl_pool_destroy(pool);
}

/* One held, one free and pulled towards it by a weight: what the contact carries is the weight. */
TEST(contact_carries_what_presses)
{
    spl_pool *pool = pool_of(1);
    flesh f = two_cubes(2);
    int32_t half = f.vertex_count / 2;
    for (int32_t v = half; v < f.vertex_count; v++) f.held[v] = -1;
    barrier_mesh m = mesh_of(&f, half);
    double *force = calloc(3 * (size_t)f.vertex_count, sizeof *force), weight = 200, energy, sum[3] = {0};
    for (int32_t v = half; v < f.vertex_count; v++) force[3 * v] = -weight / half;
    spl_pin hang[27] = {{0}}; /* sideways nothing holds it: weak springs, which are counted */
    REQUIRE(half == 27);
    for (int k = 0; k < 27; k++) {
        hang[k] = (spl_pin){.vertex = half + k, .stiffness = 1};
        memcpy(hang[k].target, f.rest + 3 * (half + k), sizeof hang[k].target);
    }
    spl_statics_options options = spl_statics_options_default();
    options.still = 1e-5;
    spl_statics *s = flesh_solver(&f, &options, pool);
    watched w = watch(&m, NULL, pool);
    w.extra.context = &w;
    spl_statics_problem problem = flesh_problem(&f, &spl_law_corot);
    problem.extra = &w.extra;
    problem.force = force;
    problem.pin = hang;
    problem.pin_count = 27;
    spl_statics_stats stats;
    REQUIRE(spl_statics_solve(s, &problem, f.x, &stats, NULL) == SUPPLE_OK);
    CHECK(stats.converged && w.crossings == 0 && w.infinite == 0 && stats.shortest < 1);
    const double *carried = spl_barrier_measure(w.barrier, f.x, &energy);
    for (int32_t i = 3 * half; i < 3 * f.vertex_count; i++) sum[i % 3] += carried[i];
    for (int k = 0; k < 27; k++) sum[0] += hang[k].target[0] - f.x[3 * (half + k)];
    CHECK_NEAR(sum[0], weight, 0.01 * weight);
    unwatch(&w);
    spl_statics_destroy(s);
    barrier_mesh_free(&m);
    free(force);
    flesh_free(&f);
    spl_pool_destroy(pool);
}

/* ---- a sheet that is folded, a strip that is rolled up ---- */

/* The goal of the held ends at a time t from 0 to 1. */
typedef void ends_fn(const flesh *f, double t, double *goal);

/* The end at x = 1 swings over the other one and comes down to 1 mm above it. */
static void fold(const flesh *f, double t, double *goal)
{
    double down = fmax(0, 2 * t - 1), angle = M_PI * fmin(1, 2 * t);
    for (int32_t v = 0; v < f->vertex_count; v++) {
        if (f->held[v] != 1) continue;
        double x = f->rest[3 * v] - 0.5, z = f->rest[3 * v + 2];
        goal[3 * v] = 0.5 + x * cos(angle) - z * sin(angle);
        goal[3 * v + 2] = x * sin(angle) + z * cos(angle) + 0.1 * fmin(1, 2 * t) - 0.019 * down;
    }
}

/* The end at x = 1 winds in a spiral about y. */
static void roll(const flesh *f, double t, double *goal)
{
    double angle = 3.2 * M_PI * t, way = 0.9 * t;
    for (int32_t v = 0; v < f->vertex_count; v++) {
        if (f->held[v] != 1) continue;
        double x = f->rest[3 * v] - 1, z = f->rest[3 * v + 2] - 0.02;
        goal[3 * v] = 1 - way + x * cos(angle) - z * sin(angle);
        goal[3 * v + 2] = 0.02 + 0.05 * sin(M_PI * t) + x * sin(angle) + z * cos(angle);
    }
}

/* What is before `table` is held where it is. */
static void play_strip(int nx, double table, ends_fn *ends, int steps, int32_t *touching)
{
    spl_pool *pool = pool_of(2);
    flesh f = flesh_box(nx, 1, 1, 1, 0.1, 0.04, 0);
    for (int32_t v = 0; v < f.vertex_count; v++) {
        if (f.rest[3 * v] < table) f.held[v] = 0;
        if (f.rest[3 * v] > 1 - 1.5 / nx) f.held[v] = 1;
    }
    barrier_mesh m = mesh_of(&f, f.vertex_count);
    spl_barrier_options options = spl_barrier_options_default();
    options.width = 0.005;
    watched w = watch(&m, &options, pool);
    spl_statics_options so = spl_statics_options_default();
    so.tolerance = 1e-6;
    so.still = 1e-4;
    spl_statics *s = flesh_solver(&f, &so, pool);
    double *goal = malloc(3 * (size_t)f.vertex_count * sizeof *goal);
    int rounds = 0, arrived = 0;
    *touching = 0;
    memcpy(goal, f.rest, 3 * (size_t)f.vertex_count * sizeof *goal);
    for (int k = 1; k <= steps; k++) {
        ends(&f, (double)k / steps, goal);
        int took = push(&f, s, &w, goal, NULL, f.x);
        rounds += took;
        arrived += took > 0;
        *touching += spl_barrier_look(w.barrier).pairs > 0;
    }
    printf("    %d rounds, %d of %d arrived, %d looks, touching in %d steps\n", rounds, arrived, steps, (int)w.looks,
           (int)*touching);
    CHECK(w.crossings == 0);
    CHECK(w.infinite == 0);
    CHECK(arrived == steps);
    free(goal);
    unwatch(&w);
    spl_statics_destroy(s);
    barrier_mesh_free(&m);
    flesh_free(&f);
    spl_pool_destroy(pool);
}

TEST(a_folded_sheet_lies_on_itself)
{
    int32_t touching;
    play_strip(14, 0.4, fold, 20, &touching);
    CHECK(touching > 2);
}

TEST(a_strip_is_rolled_up_tight)
{
    int32_t touching;
    play_strip(24, 0.06, roll, 32, &touching);
    CHECK(touching > 8);
}

TEST_CASES(RUN(two_cubes_that_are_pressed_never_cross_and_their_forces_cancel), RUN(contact_carries_what_presses),
           RUN(a_folded_sheet_lies_on_itself), RUN(a_strip_is_rolled_up_tight))
