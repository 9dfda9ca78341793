#include "contact/bounded_move.h"

#include "contact/barrier_mesh.h"
#include "contact/blocks.h"
#include "core/hash.h"
#include "failing.h"

/* Two blocks of 1 m, half a metre apart along x, a bone each. */
typedef struct pair {
    blocks b;
    barrier_mesh m;
    spl_barrier *barrier;
    spl_bounded_move *mover;
    int32_t n; /* coordinates */
} pair;

static pair make_pair(int32_t threads)
{
    pair p;
    supple_allocator a = spl_allocator_of(NULL);
    spl_barrier_options options = spl_barrier_options_default();
    options.self = true;
    options.width = 0.02;
    blocks_make(&p.b, 2, 3, 0.5, &a, threads);
    const spl_tets *t = &p.b.body.tets;
    p.m = barrier_mesh_make(p.b.x, t->vertex_count, t->tet, t->tet_count, p.b.per, 0);
    p.barrier = barrier_mesh_barrier(&p.m, &options, p.b.pool);
    p.n = 3 * t->vertex_count;
    if (spl_bounded_move_create(p.barrier, &a, &p.mover, NULL) != SUPPLE_OK) abort();
    return p;
}

static void free_pair(pair *p)
{
    spl_bounded_move_destroy(p->mover);
    spl_barrier_destroy(p->barrier);
    barrier_mesh_free(&p->m);
    blocks_free(&p->b);
}

/* The second block by `x` along x and a little aside, each vertex by up to `noise` anywhere. */
static void set_step(const pair *p, double x, double noise, uint64_t seed, double *d)
{
    for (int32_t i = 0; i < p->n; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        d[i] = noise * (2 * ((double)(seed >> 11) * 0x1p-53) - 1);
        if (i / 3 >= p->b.per) d[i] += i % 3 == 0 ? x : 0.013;
    }
}

static int32_t crossings_on_the_way(const pair *p, const double *x, const double *d)
{
    double *y = malloc((size_t)p->n * sizeof *y);
    int32_t sum = 0;
    for (int k = 1; k <= 8; k++) {
        for (int32_t i = 0; i < p->n; i++) y[i] = x[i] + k / 8.0 * d[i];
        sum += spl_barrier_crossings(p->barrier, y);
    }
    free(y);
    return sum;
}

TEST(a_free_step_stays_as_it_is)
{
    pair p = make_pair(1);
    double *d = malloc((size_t)p.n * sizeof *d), *was = malloc((size_t)p.n * sizeof *d);
    int32_t cut;
    set_step(&p, -0.3, 1e-3, 1, d);
    memcpy(was, d, (size_t)p.n * sizeof *d);
    CHECK(spl_bounded_move_make(p.mover, p.b.x, d, &cut, NULL) == SUPPLE_OK && cut == -1);
    CHECK(memcmp(was, d, (size_t)p.n * sizeof *d) == 0);
    free(was);
    free(d);
    free_pair(&p);
}

/* Pushed right through each other, again and again from where they came: nothing ever crosses, and they come close. */
TEST(nothing_crosses_on_the_way)
{
    pair p = make_pair(1);
    double *d = malloc((size_t)p.n * sizeof *d), *y = malloc((size_t)p.n * sizeof *y);
    memcpy(y, p.b.x, (size_t)p.n * sizeof *y);
    for (int k = 0; k < test_size(20, 4); k++) {
        int32_t cut;
        set_step(&p, -0.4, 0.1, (uint64_t)k + 2, d);
        CHECK(k < 2 || crossings_on_the_way(&p, y, d) > 0);
        REQUIRE(spl_bounded_move_make(p.mover, y, d, &cut, NULL) == SUPPLE_OK);
        CHECK(crossings_on_the_way(&p, y, d) == 0);
        for (int32_t i = 0; i < p.n; i++) y[i] += d[i];
    }
    free(y);
    free(d);
    free_pair(&p);
}

/* A block that comes down straight on another, both free: each gives way by half of what is missing. */
TEST(both_sides_give_way_alike)
{
    pair p = make_pair(1);
    double *d = calloc((size_t)p.n, sizeof *d), mean[2] = {0, 0};
    int32_t cut, faces[2] = {0, 0};
    for (int32_t v = p.b.per; v < 2 * p.b.per; v++) d[3 * v] = -0.7;
    REQUIRE(spl_bounded_move_make(p.mover, p.b.x, d, &cut, NULL) == SUPPLE_OK && cut == 0);
    for (int32_t v = 0; v < 2 * p.b.per; v++) {
        double x = p.b.x[3 * v];
        if (fabs(x - 1) > 1e-9 && fabs(x - 1.5) > 1e-9) continue; /* the sides that face each other */
        int side = v >= p.b.per;
        mean[side] += d[3 * v] + (side ? 0.7 : 0);
        faces[side]++;
    }
    CHECK(faces[0] == 16 && faces[1] == 16);
    CHECK_NEAR(mean[1] / 16, 0.1, 0.02);
    CHECK_NEAR(mean[0] / 16, -mean[1] / 16, 1e-3);
    free(d);
    free_pair(&p);
}

static uint64_t play(int32_t threads)
{
    pair p = make_pair(threads);
    double *d = malloc((size_t)p.n * sizeof *d);
    int32_t cut;
    uint64_t hash = 0;
    for (int k = 0; k < 3; k++) {
        set_step(&p, -0.9, 0.05, (uint64_t)k + 9, d);
        CHECK(spl_bounded_move_make(p.mover, p.b.x, d, &cut, NULL) == SUPPLE_OK);
        hash = spl_hash(d, (size_t)p.n * sizeof *d, hash);
    }
    free(d);
    free_pair(&p);
    return hash;
}

TEST(the_bits_do_not_depend_on_the_threads)
{
    uint64_t one = play(1);
    CHECK(play(2) == one && play(3) == one);
}

TEST_CASES(RUN(a_free_step_stays_as_it_is), RUN(nothing_crosses_on_the_way), RUN(both_sides_give_way_alike),
           RUN(the_bits_do_not_depend_on_the_threads))
