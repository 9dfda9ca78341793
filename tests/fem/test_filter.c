#include "fem/filter.h"

#include "fem/box.h"
#include "test.h"

#define SLACK 0.1

/* Tets of their own four vertices each, with rest shapes, positions and steps at random. */
typedef struct crowd {
    int32_t count;
    int32_t *tet;
    double *rest, *x, *d;
    spl_elements e;
} crowd;

static spl_vec3 vertex(const double *x, int32_t v)
{
    return spl_v3(x[3 * v], x[3 * v + 1], x[3 * v + 2]);
}

/* Four points of size `size`, of more than a thousandth of their cube. */
static void random_tet(double *p, double size, uint64_t *seed)
{
    const int32_t corner[4] = {0, 1, 2, 3};
    do {
        for (int i = 0; i < 12; i++) p[i] = size * random_real(seed);
    } while (!(box_det(p, corner) > 1e-3 * size * size * size));
}

/* x = F X + t of one tet. */
static void place(int32_t k, const spl_mat3 *F, const double *X, double *x)
{
    for (int i = 0; i < 4; i++) {
        spl_vec3 p = spl_mat3_apply(F, vertex(X, 4 * k + i));
        x[12 * k + 3 * i] = p.x, x[12 * k + 3 * i + 1] = p.y, x[12 * k + 3 * i + 2] = p.z;
    }
}

static bool crowd_make(crowd *c, int32_t count, uint64_t *seed)
{
    supple_allocator a = spl_allocator_of(NULL);
    *c = (crowd){.count = count};
    c->tet = malloc(4 * (size_t)count * sizeof *c->tet);
    c->rest = malloc(12 * (size_t)count * sizeof *c->rest);
    c->x = malloc(12 * (size_t)count * sizeof *c->x);
    c->d = malloc(12 * (size_t)count * sizeof *c->d);
    for (int32_t i = 0; i < 4 * count; i++) c->tet[i] = i;
    for (int32_t k = 0; k < count; k++) random_tet(c->rest + 12 * k, 0.1, seed);
    memcpy(c->x, c->rest, 12 * (size_t)count * sizeof *c->x);
    memset(c->d, 0, 12 * (size_t)count * sizeof *c->d);
    return spl_elements_create(c->rest, 4 * count, c->tet, count, &a, &c->e, NULL) == SUPPLE_OK;
}

static void crowd_free(crowd *c)
{
    spl_elements_release(&c->e);
    free(c->tet);
    free(c->rest);
    free(c->x);
    free(c->d);
}

/* One tet of the crowd as a mesh of its own. */
static spl_elements alone(const crowd *c, int32_t k)
{
    static const int32_t corner[4] = {0, 1, 2, 3};
    return (spl_elements){.vertex_count = 4,
                          .count = 1,
                          .tet = corner,
                          .gradient = c->e.gradient + 12 * (size_t)k,
                          .volume = c->e.volume + k};
}

static double step_of(const crowd *c, int32_t k, double slack)
{
    spl_elements one = alone(c, k);
    return spl_inversion_filter(&one, NULL, c->x + 12 * k, c->d + 12 * k, slack, NULL);
}

/* det F of a tet at x + t d. */
static double det_at(const crowd *c, int32_t k, double t)
{
    spl_elements one = alone(c, k);
    double y[12];
    for (int i = 0; i < 12; i++) y[i] = c->x[12 * k + i] + t * c->d[12 * k + i];
    spl_mat3 F = spl_element_F(&one, 0, y);
    return spl_mat3_det(&F);
}

/* Twins are found by their volumes from edges, in long double: not by F, cofactors or coefficients. */
static long double volume_at(const crowd *c, int32_t k, long double t)
{
    const double *x = c->x + 12 * k, *d = c->d + 12 * k;
    long double e[9];
    for (int i = 0; i < 9; i++) {
        int a = i % 3;
        e[i] = ((long double)x[3 + i] - x[a]) + t * ((long double)d[3 + i] - d[a]);
    }
    return e[0] * (e[4] * e[8] - e[5] * e[7]) - e[1] * (e[3] * e[8] - e[5] * e[6]) + e[2] * (e[3] * e[7] - e[4] * e[6]);
}

/* ---- random tets ------------------------------------------------------------------------------------------------ */

/* Positions and steps of many kinds: deformed a little or much, nearly flat, steps from tiny to huge, in one plane, of
 * one vertex, turning, shrinking to a point. */
static void random_motion(crowd *c, int32_t k, uint64_t *seed)
{
    double flat = k % 5 == 0 ? pow(10, 4 * (random_real(seed) - 1)) : 0.6 + 0.4 * random_real(seed);
    double far = pow(10, 2.5 * random_real(seed) - 0.5);
    spl_mat3 F = random_singular(seed, 1.2 + 0.5 * random_real(seed), 1 + 0.4 * random_real(seed), flat), dF;
    place(k, &F, c->rest, c->x);
    for (int i = 0; i < 12; i++) c->d[12 * k + i] = 0.1 * far * random_real(seed);
    switch (k % 8) {
    case 0: /* one vertex */
        for (int i = 3; i < 12; i++) c->d[12 * k + i] = 0;
        break;
    case 1: /* dF of rank 1 or 2: the cubic is linear or a parabola */
        dF = random_singular(seed, far, k % 16 < 8 ? 0 : far, 0);
        place(k, &dF, c->rest, c->d);
        break;
    case 2: /* to its image in the origin, or turned: double and triple roots */
        dF = k % 16 < 8 ? spl_mat3_scale(&F, -far) : spl_quat_to_mat3(random_rotation(seed));
        dF = k % 16 < 8 ? dF : spl_mat3_mul(&dF, &F);
        if (k % 16 >= 8) dF = spl_mat3_sub(&dF, &F);
        place(k, &dF, c->rest, c->d);
        break;
    default:
        break;
    }
}

/* The first of `samples` even samples at which the volume is below `part` of what it was; INFINITY if none. */
static double first_below(const crowd *c, int32_t k, double until, int samples, double part)
{
    long double bound = (long double)part * volume_at(c, k, 0);
    for (int i = 1; i <= samples; i++) {
        double t = until * i / samples;
        if (volume_at(c, k, t) < bound) return t;
    }
    return INFINITY;
}

/* Is the volume below the slack, but for rounding, somewhere between t and (1 + by) t? */
static bool falls_within(const crowd *c, int32_t k, double t, double by)
{
    long double begin = volume_at(c, k, 0), bound = (SLACK + 1e-9L / (long double)det_at(c, k, 0)) * begin;
    for (int i = 32; i > 0; i--)
        if (volume_at(c, k, fmin(t * (1 + by * i / 32), 1)) < bound) return true;
    return false;
}

typedef struct tally {
    int whole, cut, early, tiny;
} tally;

/* Never late: det F as computed at the end, and the volume at samples on the way. Not uselessly early: the volume is
 * below the slack before t has grown by a hundredth; how often it is not before a millionth is counted. */
static void try_tet(const crowd *c, int32_t k, tally *n)
{
    double t = step_of(c, k, SLACK), begin = det_at(c, k, 0);
    int before = test_failures;
    CHECK(t > 0 && t <= 1 && det_at(c, k, t) >= SLACK * begin);
    CHECK(first_below(c, k, t, 8, SLACK * (1 - 1e-9)) == INFINITY);
    n->whole += t == 1, n->cut += t < 1, n->tiny += t < 1e-4;
    if (t < 1 && !falls_within(c, k, t, 1e-6)) {
        n->early++;
        CHECK(falls_within(c, k, t, 1e-2));
    }
    if (test_failures > before && before < TEST_SHOWN)
        printf("    kind %d: step %.17g, det F %g, then %g\n", (int)(k % 16), t, begin, det_at(c, k, t));
}

TEST(a_million_random_tets)
{
    uint64_t seed = 1;
    int batches = test_size(100, 4);
    tally n = {0};
    crowd c;
    REQUIRE(crowd_make(&c, 10000, &seed));
    for (int i = 0; i < batches; i++)
        for (int32_t k = 0; k < c.count; k++) {
            random_motion(&c, k, &seed);
            try_tet(&c, k, &n);
        }
    CHECK(n.whole > n.cut / 10 && n.cut > n.whole / 10 && n.tiny > 0);
    CHECK(n.early < n.cut / 1000);
    crowd_free(&c);
}

/* Thousands of samples for each of fewer tets: nothing happens between the samples of the test before. */
TEST(dense_samples)
{
    uint64_t seed = 2;
    int32_t count = test_size(4000, 400);
    crowd c;
    REQUIRE(crowd_make(&c, count, &seed));
    for (int32_t k = 0; k < count; k++) {
        random_motion(&c, k, &seed);
        double t = step_of(&c, k, SLACK), first = first_below(&c, k, 1, 2000, SLACK), begin = det_at(&c, k, 0);
        CHECK(t <= first);
        CHECK(first_below(&c, k, t, 2000, SLACK * (1 - 1e-9)) == INFINITY);
        if (first == INFINITY) CHECK(t == 1 || first_below(&c, k, 1, 200000, SLACK + 1e-9 / begin) < INFINITY);
    }
    crowd_free(&c);
}

/* ---- cases that are known --------------------------------------------------------------------------------------- */

static double step_along(const spl_mat3 *F, const spl_mat3 *dF, double slack)
{
    uint64_t seed = 3;
    crowd c;
    if (!crowd_make(&c, 1, &seed)) return NAN;
    place(0, F, c.rest, c.x);
    place(0, dF, c.rest, c.d);
    double t = step_of(&c, 0, slack);
    crowd_free(&c);
    return t;
}

TEST(steps_that_are_known)
{
    spl_mat3 one = spl_mat3_identity(), none = {{0}}, grow = spl_mat3_diagonal(3, 0, 9);
    spl_mat3 line = spl_mat3_diagonal(-2, 0, 0), square = spl_mat3_diagonal(-2, -2, 0);
    spl_mat3 cube = spl_mat3_diagonal(-2, -2, -2), mirror = spl_mat3_diagonal(-2, 0, 0);
    spl_mat3 slide = {{0, 0, 0, 1e6, 0, 0, 0, 0, 0}}, turned = spl_mat3_diagonal(-2, -2, 0);
    CHECK(step_along(&one, &none, 0.1) == 1);
    CHECK(step_along(&one, &grow, 0.1) == 1);
    CHECK_NEAR(step_along(&one, &line, 0.1), 0.45, 1e-9);                  /* 1 - 2 t = 0.1 */
    CHECK_NEAR(step_along(&one, &square, 0.1), (1 - sqrt(0.1)) / 2, 1e-9); /* (1 - 2 t)^2: at 1 it is whole again */
    CHECK_NEAR(step_along(&one, &cube, 0.1), (1 - cbrt(0.1)) / 2, 1e-9);   /* (1 - 2 t)^3 */
    CHECK_NEAR(step_along(&one, &mirror, 0.5), 0.25, 1e-9);
    CHECK_NEAR(step_along(&one, &turned, 0.001), (1 - sqrt(0.001)) / 2, 1e-9);
    CHECK(step_along(&one, &slide, 0.1) == 1); /* shear keeps the volume, however far */
    spl_mat3 touch = spl_mat3_diagonal(-1.5, -1.5, 0), fast = spl_mat3_diagonal(-1e8, 0, 0);
    CHECK_NEAR(step_along(&one, &touch, 0.25), 1.0 / 3, 1e-8); /* (1 - 1.5 t)^2 */
    CHECK_NEAR(step_along(&one, &fast, 0.1), 0.9e-8, 1e-16);
}

/* det = 1 - 4 p t + 4 p t^2 in [0, 1], least at t = 1/2: 1 - p. At p = 0.9 it touches the slack of 0.1. */
TEST(a_graze_is_no_miss)
{
    spl_mat3 one = spl_mat3_identity();
    for (int i = -3; i <= 3; i++) {
        double p = 0.9 + 1e-6 * i, re = -2 * p, im = sqrt(4 * p - 4 * p * p); /* |1 + (re + i im) t|^2 */
        spl_mat3 dF = {{re, im, 0, -im, re, 0, 0, 0, 0}};
        double t = step_along(&one, &dF, 0.1);
        if (i < 0)
            CHECK(t == 1);
        else
            CHECK_NEAR(t, 0.5, 2e-3);
    }
}

TEST(tets_without_volume_and_steps_without_numbers)
{
    spl_mat3 one = spl_mat3_identity(), flat = spl_mat3_diagonal(1, 1, 0), mirror = spl_mat3_diagonal(1, 1, -1);
    spl_mat3 line = spl_mat3_diagonal(-2, 0, 0), bad = line, huge = spl_mat3_diagonal(1e200, 1e200, 1e200);
    CHECK(step_along(&flat, &line, 0.1) == 1 && step_along(&mirror, &line, 0.1) == 1);
    bad.m[4] = NAN;
    CHECK(step_along(&one, &bad, 0.1) == 0);
    bad.m[4] = INFINITY;
    CHECK(step_along(&one, &bad, 0.1) == 0 && step_along(&one, &huge, 0.1) == 0);
    /* the step before it turns is far below the smallest part of x */
    spl_mat3 far = spl_mat3_diagonal(-1e60, 0, 0);
    double t = step_along(&one, &far, 0.1);
    CHECK(t >= 0 && t <= 0.9e-60);
}

/* Tets so thin that their det F is close to its rounding stop before they turn, and are not stuck. */
TEST(thin_tets_still_move)
{
    uint64_t seed = 4;
    for (int i = 0; i < 2000; i++) {
        double thin = pow(10, -3 - 9.0 * i / 2000);
        crowd c;
        REQUIRE(crowd_make(&c, 1, &seed));
        spl_mat3 F = random_singular(&seed, 1, 1, thin), dF = spl_mat3_scale(&F, -2);
        place(0, &F, c.rest, c.x);
        place(0, &dF, c.rest, c.d);
        double t = step_of(&c, 0, SLACK), begin = det_at(&c, 0, 0);
        if (begin > 0) CHECK(t > 0.01 && t < 0.5 && det_at(&c, 0, t) >= SLACK * begin);
        crowd_free(&c);
    }
}

/* ---- meshes ----------------------------------------------------------------------------------------------------- */

/* The step of a mesh is the smallest of its tets, the same bits at any number of threads, and all hold at it. */
TEST(same_bits_at_any_number_of_threads)
{
    static const int32_t threads[] = {0, 1, 2, 7}; /* 0: without a pool */
    uint64_t seed = 6;
    box b;
    REQUIRE(box_make(9, 8, 7, &b));
    size_t numbers = 3 * (size_t)b.e.vertex_count;
    double *d = malloc(numbers * sizeof *d), *y = malloc(numbers * sizeof *y), first = 0;
    spl_mat3 A = random_singular(&seed, 1.1, 1, 0.8);
    box_map(&b, &A, spl_v3(3, 2, 1));
    for (int step = 0; step < 12; step++) {
        for (size_t i = 0; i < numbers; i++) d[i] = (step + 1) * 0.1 * random_real(&seed);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            supple_config config = supple_config_default();
            config.thread_count = threads[t];
            spl_pool *pool = NULL;
            REQUIRE(t == 0 || spl_pool_create(&config, &pool, NULL) == SUPPLE_OK);
            double s = spl_inversion_filter(&b.e, NULL, b.x, d, SLACK, pool);
            if (t == 0) first = s;
            CHECK(s == first && s > 0);
            spl_pool_destroy(pool);
        }
        for (size_t i = 0; i < numbers; i++) y[i] = b.x[i] + first * d[i];
        double least = INFINITY;
        for (int32_t k = 0; k < b.e.count; k++) {
            spl_mat3 F = spl_element_F(&b.e, k, b.x), G = spl_element_F(&b.e, k, y);
            least = fmin(least, spl_mat3_det(&G) / spl_mat3_det(&F));
        }
        CHECK(least >= SLACK * (1 - 1e-15) && (first == 1 || least < SLACK * (1 + 1e-6)));
        memcpy(b.x, y, numbers * sizeof *y); /* ten steps of this leave nothing inverted */
    }
    int32_t held, open;
    spl_inversion_count(&b.e, NULL, b.x, &held, &open);
    CHECK(held == 0 && open == 0);
    free(d);
    free(y);
    box_free(&b);
}

/* Two tets that share nothing; the first would turn. */
TEST(held_tets_are_exempt_and_counted)
{
    uint64_t seed = 7;
    crowd c;
    REQUIRE(crowd_make(&c, 2, &seed));
    spl_mat3 turn = spl_mat3_diagonal(-2, 0, 0), shrink = spl_mat3_diagonal(-1.25, 0, 0), none = {{0}};
    int32_t held[8] = {0, 0, 0, 0, -1, -1, -1, -1}, held_count, free_count;
    place(0, &turn, c.rest, c.d);
    place(1, &shrink, c.rest, c.d);
    CHECK_NEAR(spl_inversion_filter(&c.e, NULL, c.x, c.d, 0.1, NULL), 0.45, 1e-9);
    CHECK_NEAR(spl_inversion_filter(&c.e, held, c.x, c.d, 0.1, NULL), 0.72, 1e-9);
    held[2] = -1; /* one free corner is enough */
    CHECK_NEAR(spl_inversion_filter(&c.e, held, c.x, c.d, 0.1, NULL), 0.45, 1e-9);
    held[2] = 0;
    c.d[0] = NAN; /* of no concern */
    CHECK_NEAR(spl_inversion_filter(&c.e, held, c.x, c.d, 0.1, NULL), 0.72, 1e-9);
    spl_mat3 mirror = spl_mat3_diagonal(1, -1, 1), one = spl_mat3_identity();
    for (int i = 0; i < 4; i++) { /* upright, mirrored; flat counts as mirrored */
        place(0, i & 1 ? &mirror : &one, c.rest, c.x);
        place(1, i & 2 ? &none : &one, c.rest, c.x);
        spl_inversion_count(&c.e, held, c.x, &held_count, &free_count);
        CHECK(held_count == (i & 1) && free_count == i / 2);
        spl_inversion_count(&c.e, NULL, c.x, &held_count, &free_count);
        CHECK(held_count == 0 && free_count == (i & 1) + i / 2);
    }
    spl_elements empty = {0};
    CHECK(spl_inversion_filter(&empty, NULL, NULL, NULL, 0.1, NULL) == 1);
    crowd_free(&c);
}

TEST_CASES(RUN(a_million_random_tets), RUN(dense_samples), RUN(steps_that_are_known), RUN(a_graze_is_no_miss),
           RUN(tets_without_volume_and_steps_without_numbers), RUN(thin_tets_still_move),
           RUN(same_bits_at_any_number_of_threads), RUN(held_tets_are_exempt_and_counted))
