#include "contact/barrier.h"

#include "contact/barrier_mesh.h"
#include "contact/blocks.h"
#include "core/hash.h"
#include "failing.h"

/* Blocks of 1 m in a row along x, a bone each, with a barrier between them. */
typedef struct row {
    blocks b;
    barrier_mesh m;
    spl_barrier *barrier;
    int32_t n; /* coordinates */
} row;

static row make_row(int32_t count, int32_t cells, double gap, double width, double reach, int32_t threads)
{
    row r;
    supple_allocator a = spl_allocator_of(NULL);
    spl_barrier_options options = spl_barrier_options_default();
    options.width = width;
    blocks_make(&r.b, count, cells, gap, &a, threads);
    const spl_tets *t = &r.b.body.tets;
    r.m = barrier_mesh_make(r.b.x, t->vertex_count, t->tet, t->tet_count, r.b.per, 0);
    for (int32_t v = 0; v < t->vertex_count; v++) r.m.reach[v] = reach;
    r.barrier = barrier_mesh_barrier(&r.m, &options, r.b.pool);
    r.n = 3 * t->vertex_count;
    return r;
}

static void free_row(row *r)
{
    spl_barrier_destroy(r->barrier);
    barrier_mesh_free(&r->m);
    blocks_free(&r->b);
}

static double energy_at(spl_barrier *b, const double *x)
{
    const spl_extra *e = spl_barrier_extra(b);
    return e->begin(e->context, x, NULL) == SUPPLE_OK ? e->energy(e->context, x) : NAN;
}

static double random_number(uint64_t *state) /* -1 to 1 */
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return 2 * ((double)(*state >> 11) * 0x1p-53) - 1;
}

/* The second block to a distance from the first, turned off its grid, each vertex moved by up to `jitter`. */
static void bring_near(row *r, double gap, double distance, double jitter)
{
    uint64_t seed = 7;
    blocks_move(&r->b, 1, spl_v3(distance - gap, 0.0317, 0.0171));
    for (int32_t i = 0; i < r->n; i++) r->b.x[i] += jitter * random_number(&seed);
}

/* ---- energy and forces ---- */

TEST(it_acts_below_its_width_and_offsets_count)
{
    double energy;
    for (int k = 0; k < 2; k++) {
        double reach = k ? 0.01 : 0;
        row r = make_row(2, 2, 0.5, 0.05, reach, 1);
        CHECK(energy_at(r.barrier, r.b.x) == 0); /* at rest */
        bring_near(&r, 0.5, 2 * reach + 0.0501, 0);
        CHECK(energy_at(r.barrier, r.b.x) == 0);
        CHECK(spl_barrier_look(r.barrier).pairs == 0);
        bring_near(&r, 0.5, 2 * reach + 0.04, 0);
        REQUIRE(spl_barrier_measure(r.barrier, r.b.x, &energy) != NULL);
        CHECK(energy > 0 && isfinite(energy));
        CHECK(spl_barrier_look(r.barrier).pairs > 0);
        CHECK_NEAR(spl_barrier_look(r.barrier).gap, 0.04, 1e-12);
        CHECK_NEAR(spl_barrier_active(r.barrier, 0)->offset, 2 * reach, 1e-12);
        bring_near(&r, 0.5, 2 * reach - (k ? 1e-4 : 0), 0);
        CHECK(k == 0 || energy_at(r.barrier, r.b.x) == INFINITY);
        free_row(&r);
    }
}

/* Forces and moments of each block. */
static void add_up(const row *r, const double *force, double sum[2][6])
{
    memset(sum, 0, 12 * sizeof(double));
    for (int32_t v = 0; 3 * v < r->n; v++) {
        const double *f = force + 3 * v, *p = r->b.x + 3 * v;
        for (int c = 0; c < 3; c++) {
            sum[v / r->b.per][c] += f[c];
            sum[v / r->b.per][3 + c] += p[(c + 1) % 3] * f[(c + 2) % 3] - p[(c + 2) % 3] * f[(c + 1) % 3];
        }
    }
}

TEST(forces_push_apart_and_cancel_with_their_moments)
{
    row r = make_row(2, 3, 0.5, 0.05, 0.005, 1);
    double sum[2][6], energy;
    bring_near(&r, 0.5, 0.03, 0.005);
    const double *force = spl_barrier_measure(r.barrier, r.b.x, &energy);
    REQUIRE(force != NULL);
    add_up(&r, force, sum);
    CHECK(sum[1][0] > 0.01 && sum[0][0] < -0.01);
    for (int c = 0; c < 6; c++) CHECK_NEAR(sum[0][c], -sum[1][c], 1e-12 * sum[1][0]);
    free_row(&r);
}

TEST(the_forces_are_the_slope_of_the_energy)
{
    row r = make_row(2, 2, 0.5, 0.05, 0.005, 1);
    double energy, h = 1e-6, *force = malloc((size_t)r.n * sizeof *force), most = 0;
    int acting = 0;
    bring_near(&r, 0.5, 0.03, 0.005);
    const double *own = spl_barrier_measure(r.barrier, r.b.x, &energy);
    REQUIRE(own != NULL);
    memcpy(force, own, (size_t)r.n * sizeof *force);
    for (int32_t i = 0; i < r.n; i++) most = fmax(most, fabs(force[i]));
    for (int32_t i = 0; i < r.n; i++) {
        double kept = r.b.x[i], side[2];
        for (int s = 0; s < 2; s++) {
            r.b.x[i] = kept + (s ? h : -h);
            side[s] = energy_at(r.barrier, r.b.x);
        }
        r.b.x[i] = kept;
        CHECK_NEAR(force[i], (side[0] - side[1]) / (2 * h), 1e-5 * most);
        acting += fabs(force[i]) > 1e-3 * most;
    }
    CHECK(acting > 20);
    free(force);
    free_row(&r);
}

/* ---- what is no pair ---- */

TEST(what_is_exempt_on_both_sides_is_no_pair)
{
    for (int k = 0; k < 2; k++) { /* the first block is exempt; then both */
        supple_allocator a = spl_allocator_of(NULL);
        spl_barrier_options options = spl_barrier_options_default();
        bool exempt[16];
        blocks b;
        double share;
        options.width = 0.05;
        for (int v = 0; v < 16; v++) exempt[v] = k || v < 8;
        blocks_make(&b, 2, 1, 0.02, &a, 1);
        barrier_mesh m = barrier_mesh_make(b.x, 16, b.body.tets.tet, 12, 8, 0);
        spl_barrier *barrier = barrier_mesh_barrier(&m, &options, b.pool);
        spl_barrier_exempt(barrier, exempt);
        CHECK(energy_at(barrier, b.x) == 0); /* at rest: nearer than the width */
        blocks_move(&b, 1, spl_v3(-0.015, 0, 0));
        CHECK(k ? energy_at(barrier, b.x) == 0 : energy_at(barrier, b.x) > 0);
        double d[48] = {0};
        for (int v = 8; v < 16; v++) d[3 * v] = -0.01;
        REQUIRE(spl_barrier_max_step(barrier, b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
        CHECK(k ? share == 1 : share < 0.5 && share > 0);
        spl_barrier_exempt(barrier, NULL);
        CHECK(energy_at(barrier, b.x) > 0);
        spl_barrier_destroy(barrier);
        barrier_mesh_free(&m);
        blocks_free(&b);
    }
}

TEST(what_crosses_at_rest_is_no_pair)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_barrier_options options = spl_barrier_options_default();
    blocks b;
    double share, d[72] = {0};
    options.width = 0.05;
    blocks_make(&b, 3, 1, 0.5, &a, 1);
    blocks_move(&b, 1, spl_v3(-0.7, 0.031, 0.017)); /* into the first; the third stands free */
    barrier_mesh m = barrier_mesh_make(b.x, 24, b.body.tets.tet, 18, 8, 0);
    spl_barrier *barrier = barrier_mesh_barrier(&m, &options, b.pool);
    int32_t overlaps = spl_barrier_look(barrier).overlaps;
    CHECK(overlaps > 4 && overlaps <= 16);
    CHECK(energy_at(barrier, b.x) == 0);
    for (int v = 8; v < 16; v++) d[3 * v] = -0.5; /* deeper: free */
    REQUIRE(spl_barrier_max_step(barrier, b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
    CHECK(share == 1);
    memset(d, 0, sizeof d);
    for (int v = 16; v < 24; v++) d[3 * v] = -2; /* the third into the others: not */
    REQUIRE(spl_barrier_max_step(barrier, b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
    CHECK(share < 0.7);
    spl_barrier_destroy(barrier);
    barrier_mesh_free(&m);
    blocks_free(&b);
}

TEST(without_self_only_the_world_is_met)
{
    supple_allocator a = spl_allocator_of(NULL);
    blocks b;
    double share, x[51], d[51] = {0}, r = 0.2, energy;
    blocks_make(&b, 2, 1, 0.5, &a, 1);
    barrier_mesh m = barrier_mesh_make(b.x, 16, b.body.tets.tet, 12, 8, r);
    for (int self = 0; self < 2; self++) {
        spl_barrier_options options = {.self = self, .width = 0.05, .stiffness = 1};
        spl_barrier *barrier = barrier_mesh_barrier(&m, &options, b.pool);
        memcpy(x, b.x, 48 * sizeof *x);
        x[48] = 0.52, x[49] = 0.43, x[50] = 3;
        memset(d, 0, sizeof d);
        for (int v = 8; v < 16; v++) d[3 * v] = -1;
        REQUIRE(spl_barrier_max_step(barrier, x, d, 0.2, &share, NULL) == SUPPLE_OK);
        CHECK(self ? share < 0.5 : share == 1);
        memset(d, 0, sizeof d);
        d[50] = -100; /* the ball at the first block's top, 2 m below */
        REQUIRE(spl_barrier_max_step(barrier, x, d, 0.2, &share, NULL) == SUPPLE_OK);
        CHECK(share < (2 - r) / 100 && share > 0.75 * (2 - r) / 100);
        x[50] = 1 + r + 0.02;
        const double *force = spl_barrier_measure(barrier, x, &energy);
        REQUIRE(force != NULL);
        CHECK(energy > 0 && force[50] > 0);
        CHECK_NEAR(spl_barrier_look(barrier).gap, 0.02, 1e-12);
        spl_barrier_destroy(barrier);
    }
    barrier_mesh_free(&m);
    blocks_free(&b);
}

/* ---- steps ---- */

/* Towards each other, and each vertex anywhere. */
static void random_step(const row *r, uint64_t *seed, double *d)
{
    for (int32_t v = 0; 3 * v < r->n; v++)
        for (int c = 0; c < 3; c++) d[3 * v + c] = random_number(seed) + (c == 0 ? 1 - v / r->b.per : 0);
}

static int32_t crossings_after(row *r, const double *d, double share, double *y)
{
    for (int32_t i = 0; i < r->n; i++) y[i] = r->b.x[i] + share * d[i];
    return spl_barrier_crossings(r->barrier, y);
}

TEST(no_step_leads_an_edge_through_a_triangle)
{
    row r = make_row(3, 1, 0.5, 0.05, 0.002, 1);
    uint64_t seed = 3;
    double d[72], y[72], share, rest[72];
    int unbounded = 0, moved = 0, tries = test_size(1000, 100);
    REQUIRE(r.n == 72);
    memcpy(rest, r.b.x, sizeof rest);
    for (int k = 0; k < tries; k++) {
        if (k % 10 == 0) memcpy(r.b.x, rest, sizeof rest);
        random_step(&r, &seed, d);
        unbounded += crossings_after(&r, d, 1, y) > 0;
        REQUIRE(spl_barrier_max_step(r.barrier, r.b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
        CHECK(share >= 0 && share <= 1);
        CHECK(crossings_after(&r, d, share / 2, y) == 0);
        CHECK(crossings_after(&r, d, share, y) == 0);
        moved += share > 1e-3;
        CHECK(isfinite(energy_at(r.barrier, y)));
        memcpy(r.b.x, y, sizeof y);
    }
    CHECK(unbounded > tries * 9 / 10); /* whole steps would not do */
    CHECK(moved > tries / 4);
    free_row(&r);
}

static uint64_t play(int32_t threads)
{
    row r = make_row(2, 7, 0.5, 0.05, 0.002, threads);
    uint64_t seed = 5, hash = 0;
    double *d = malloc((size_t)r.n * sizeof *d), share, energy;
    const spl_extra *extra = spl_barrier_extra(r.barrier);
    const int32_t *vertex;
    const double *values;
    bring_near(&r, 0.5, 0.03, 0.002);
    for (int k = 0; k < 4; k++) {
        random_step(&r, &seed, d);
        for (int32_t i = 0; i < r.n; i++) d[i] *= 0.02;
        CHECK(spl_barrier_max_step(r.barrier, r.b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
        for (int32_t i = 0; i < r.n; i++) r.b.x[i] += share * d[i];
        const double *force = spl_barrier_measure(r.barrier, r.b.x, &energy);
        hash = spl_hash(force, (size_t)r.n * sizeof *force, hash);
        int32_t count = extra->elements(extra->context, 0, &vertex, &values);
        CHECK(count > 500);
        hash = spl_hash(values, 90 * (size_t)count * sizeof *values, hash);
        hash = spl_hash(vertex, 4 * (size_t)count * sizeof *vertex, hash);
        hash = spl_hash(&share, sizeof share, spl_hash(&energy, sizeof energy, hash));
    }
    free(d);
    free_row(&r);
    return hash;
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    uint64_t one = play(1);
    CHECK(play(2) == one);
    CHECK(play(3) == one);
}

/* ---- bones that give way ---- */

static void towards(const row *r, double by, double *d)
{
    memset(d, 0, (size_t)r->n * sizeof *d);
    for (int32_t v = r->b.per; 3 * v < r->n; v++) d[3 * v] = -by;
}

TEST(released_bones_pass_and_are_taken_back_apart)
{
    row r = make_row(2, 1, 0.5, 0.05, 0, 1);
    double d[48], y[48], share;
    int32_t count;
    bool keep[9] = {0}, marked[3] = {0};
    REQUIRE(r.m.surface.bone_count == 3);
    bring_near(&r, 0.5, 0.1, 0);
    towards(&r, 0.04, d);
    REQUIRE(spl_barrier_give_way(r.barrier, r.b.x, d, 0.5, &count, NULL) == SUPPLE_OK);
    CHECK(count == 0 && spl_barrier_released_count(r.barrier) == 0); /* nothing stops it */
    towards(&r, 0.6, d);
    REQUIRE(spl_barrier_give_way(r.barrier, r.b.x, d, 0.5, &count, NULL) == SUPPLE_OK);
    CHECK(count == 1 && spl_barrier_released(r.barrier, 0, 1) && spl_barrier_released(r.barrier, 1, 0));
    CHECK(!spl_barrier_released(r.barrier, 0, 0));
    REQUIRE(spl_barrier_max_step(r.barrier, r.b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
    CHECK(share == 1);
    CHECK(crossings_after(&r, d, 1, y) == 0 && energy_at(r.barrier, y) == 0);
    CHECK(spl_barrier_mark_crossing(r.barrier, y, marked) && marked[0] && marked[1] && !marked[2]);
    REQUIRE(spl_barrier_take_back(r.barrier, y, NULL, &count, NULL) == SUPPLE_OK);
    CHECK(count == 1 && spl_barrier_released_count(r.barrier) == 1); /* they cross still */
    keep[1] = keep[3] = true;
    REQUIRE(spl_barrier_take_back(r.barrier, r.b.x, keep, &count, NULL) == SUPPLE_OK);
    CHECK(count == 0 && spl_barrier_released_count(r.barrier) == 1);
    REQUIRE(spl_barrier_take_back(r.barrier, r.b.x, NULL, &count, NULL) == SUPPLE_OK);
    CHECK(count == 0 && spl_barrier_released_count(r.barrier) == 0);
    CHECK(spl_barrier_crossings(r.barrier, y) > 0);
    REQUIRE(spl_barrier_max_step(r.barrier, r.b.x, d, 0.2, &share, NULL) == SUPPLE_OK);
    CHECK(share < 0.1 / 0.6);
    free_row(&r);
}

TEST(offsets_alone_give_way_and_nothing_is_released)
{
    row r = make_row(2, 1, 0.5, 0.01, 0.02, 1);
    double d[48], ease[9];
    int32_t count = 1, calls = 0;
    bring_near(&r, 0.5, 0.06, 0);
    towards(&r, 0.5, d);
    for (; calls < 20 && count > 0; calls++)
        REQUIRE(spl_barrier_thin_out(r.barrier, r.b.x, d, 0.5, &count, NULL) == SUPPLE_OK);
    spl_barrier_keep(r.barrier, ease);
    CHECK(calls > 2 && calls < 8 && ease[1] > 0 && ease[1] < 0.2);
    CHECK(spl_barrier_released_count(r.barrier) == 0); /* what has no offset still stops the step */
    REQUIRE(spl_barrier_give_way(r.barrier, r.b.x, d, 0.5, &count, NULL) == SUPPLE_OK);
    CHECK(count == 1 && spl_barrier_released(r.barrier, 0, 1));
    free_row(&r);
}

TEST(offsets_ease_and_grow_again)
{
    row r = make_row(2, 1, 0.5, 0.01, 0.02, 1);
    double d[48], ease[9], before, after;
    int32_t count, calls = 0;
    bring_near(&r, 0.5, 0.06, 0);
    towards(&r, 0.03, d);
    REQUIRE(spl_barrier_max_step(r.barrier, r.b.x, d, 0.1, &before, NULL) == SUPPLE_OK);
    CHECK(before <= 0.02 / 0.03);
    REQUIRE(spl_barrier_give_way(r.barrier, r.b.x, d, 0.5, &count, NULL) == SUPPLE_OK);
    spl_barrier_keep(r.barrier, ease);
    CHECK(count == 1 && ease[1] == 0.5 && ease[3] == 0.5 && ease[0] == 1);
    REQUIRE(spl_barrier_max_step(r.barrier, r.b.x, d, 0.1, &after, NULL) == SUPPLE_OK);
    CHECK(after == 1);
    bring_near(&r, 0.5, 0.03, 0);
    CHECK(isfinite(energy_at(r.barrier, r.b.x)));
    REQUIRE(spl_barrier_take_back(r.barrier, r.b.x, NULL, &count, NULL) == SUPPLE_OK);
    spl_barrier_keep(r.barrier, ease);
    CHECK_NEAR(ease[1], 0.8 * 0.03 / 0.04, 1e-9);
    CHECK(isfinite(energy_at(r.barrier, r.b.x)));
    bring_near(&r, 0.5, 0.2, 0);
    REQUIRE(spl_barrier_take_back(r.barrier, r.b.x, NULL, &count, NULL) == SUPPLE_OK);
    spl_barrier_keep(r.barrier, ease);
    CHECK(ease[1] == 1 && ease[3] == 1);
    towards(&r, 0.5, d);
    for (; calls < 20 && spl_barrier_released_count(r.barrier) == 0; calls++)
        REQUIRE(spl_barrier_give_way(r.barrier, r.b.x, d, 0.5, &count, NULL) == SUPPLE_OK);
    CHECK(calls > 2 && calls < 8);
    for (int i = 0; i < 9; i++) ease[i] = 1;
    spl_barrier_restore(r.barrier, ease);
    CHECK(spl_barrier_released_count(r.barrier) == 0);
    free_row(&r);
}

/* ---- memory ---- */

/* One run with the n-th request refused. True: there was no n-th. */
static bool survives(const row *r, const double *d, long n)
{
    failing f = {.fail_at = n};
    supple_allocator a = failing_allocator(&f);
    spl_barrier_options options = spl_barrier_options_default();
    spl_barrier *b = NULL;
    const int32_t *vertex;
    const double *values;
    double share, energy;
    int32_t count, bones;
    bool marked[3] = {0};
    options.width = 0.05;
    supple_result result = spl_barrier_create(&r->m.surface, &options, &a, NULL, &b, NULL);
    CHECK((result == SUPPLE_OK) == (b != NULL));
    if (result == SUPPLE_OK) result = spl_barrier_max_step(b, r->b.x, d, 0.2, &share, NULL);
    if (result == SUPPLE_OK && !spl_barrier_measure(b, r->b.x, &energy)) result = SUPPLE_ERROR_MEMORY;
    if (result == SUPPLE_OK && spl_barrier_extra(b)->elements(b, 0, &vertex, &values) < 0) result = SUPPLE_ERROR_MEMORY;
    if (result == SUPPLE_OK) result = spl_barrier_give_way(b, r->b.x, d, 0, &bones, NULL);
    if (result == SUPPLE_OK && !spl_barrier_mark_crossing(b, r->b.x, marked)) result = SUPPLE_ERROR_MEMORY;
    if (result == SUPPLE_OK) result = spl_barrier_take_back(b, r->b.x, NULL, &count, NULL);
    CHECK(result == SUPPLE_OK ? f.requests <= n : result == SUPPLE_ERROR_MEMORY && f.requests > n);
    spl_barrier_destroy(b);
    CHECK(f.live == 0);
    return f.requests <= n;
}

TEST(every_allocation_may_fail)
{
    row r = make_row(2, 2, 0.5, 0.05, 0.005, 1);
    double *d = malloc((size_t)r.n * sizeof *d);
    long n = 0;
    bring_near(&r, 0.5, 0.03, 0);
    towards(&r, 0.5, d);
    while (n < 1000 && !survives(&r, d, n)) n++;
    CHECK(n > 20 && n < 1000);
    free(d);
    free_row(&r);
}

TEST_CASES(RUN(it_acts_below_its_width_and_offsets_count), RUN(forces_push_apart_and_cancel_with_their_moments),
           RUN(the_forces_are_the_slope_of_the_energy), RUN(what_is_exempt_on_both_sides_is_no_pair),
           RUN(what_crosses_at_rest_is_no_pair), RUN(without_self_only_the_world_is_met),
           RUN(no_step_leads_an_edge_through_a_triangle), RUN(the_bits_do_not_depend_on_the_threads),
           RUN(released_bones_pass_and_are_taken_back_apart), RUN(offsets_alone_give_way_and_nothing_is_released),
           RUN(offsets_ease_and_grow_again), RUN(every_allocation_may_fail))
