#include "geom/ccd.h"
#include "geom/random_pairs.h"
#include "test.h"

/* Motions of a pair. */
enum {
    MOTION_ANY,
    MOTION_FAST,     /* hundreds of times its size, as of things at 100 m/s */
    MOTION_TOGETHER, /* little of its own, and far with the other */
    MOTION_GRAZING,  /* across the way between them */
    MOTION_TURNING,  /* one of the two turns as a whole */
    MOTION_AT,       /* one goes straight for a place of the other */
    MOTIONS
};

typedef struct trial {
    spl_pair_kind kind;
    double x[4][3], d[4][3], offset, slack;
    double rate; /* bound of the distance's change in time 1 */
} trial;

static double distance_at(const trial *c, double t)
{
    double y[4][3];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) y[i][k] = c->x[i][k] + t * c->d[i][k];
    return sqrt(spl_pair_nearest(c->kind, (const double(*)[3])y).square);
}

static void add_to(trial *c, int begin, int end, double factor, const double by[3])
{
    for (int i = begin; i < end; i++)
        for (int k = 0; k < 3; k++) c->d[i][k] += factor * by[k];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* The way from the second to the first. */
static void way_of(const trial *c, double way[3])
{
    spl_nearest n = spl_pair_nearest(c->kind, (const double(*)[3])c->x);
    for (int k = 0; k < 3; k++) {
        way[k] = 0;
        for (int i = 0; i < 4; i++) way[k] += n.w[i] * c->x[i][k];
    }
}

static void move(random_state *r, int motion, trial *c)
{
    int split = spl_pair_split(c->kind);
    double size = motion == MOTION_FAST ? 300 : random_size(r, 0.01, 3), v[3], way[3];
    way_of(c, way);
    for (int i = 0; i < 4; i++)
        random_vector(r, motion == MOTION_ANY || motion == MOTION_FAST ? size : 0.1 * size, c->d[i]);
    random_vector(r, 1, v);
    if (motion == MOTION_TOGETHER) add_to(c, 0, 4, 100, v);
    if (motion == MOTION_AT) add_to(c, 0, split, -random_size(r, 0.5, 100), way);
    if (motion == MOTION_GRAZING) {
        double across[3];
        memset(c->d, 0, sizeof c->d);
        cross(way, v, across);
        add_to(c, 0, split, random_size(r, 0.1, 100), across);
        add_to(c, 0, split, -random_size(r, 0.1, 1), way);
    }
    if (motion == MOTION_TURNING)
        for (int i = split; i < 4; i++) { /* half a turn about an axis through a place near the corner */
            double arm[3];
            for (int k = 0; k < 3; k++) arm[k] = c->x[i][k] - c->x[split][k];
            cross(v, arm, c->d[i]);
            add_to(c, i, i + 1, -1, arm);
        }
}

/* How fast the distance may change, for the proof below: the fastest corners of both, seen from a place between. */
static double rate_of(const trial *c)
{
    int split = spl_pair_split(c->kind);
    double most[2] = {0};
    for (int i = 0; i < 4; i++) {
        double square = 0;
        for (int k = 0; k < 3; k++) {
            double way = c->d[i][k] - 0.5 * (c->d[0][k] + c->d[3][k]);
            square += way * way;
        }
        most[i >= split] = fmax(most[i >= split], sqrt(square));
    }
    return most[0] + most[1];
}

static trial random_trial(random_state *r, int i)
{
    trial c = {.kind = i % 2 ? SPL_PAIR_EDGE_EDGE : SPL_PAIR_POINT_TRIANGLE, .slack = 0.1};
    double distance = 0;
    while (!(distance > 1e-6)) {
        random_pair(r, i / 2 % SHAPES, c.x);
        distance = distance_at(&c, 0);
    }
    move(r, i / (2 * SHAPES) % MOTIONS, &c);
    c.offset = i % 3 == 0 ? 0 : distance * (1 - random_size(r, 0.01, 1));
    if (i % 7 == 0) c.slack = 0.5;
    c.rate = rate_of(&c);
    return c;
}

/* Proves by halving that the distance stays above the offset from `a` to `b`: around a middle it changes by no more
 * than rate times half the time. False: not proved. Shares nothing with how the time was found but the distance. */
static bool stays_clear(const trial *c, double a, double b, int depth)
{
    double middle = (a + b) / 2, distance = distance_at(c, middle);
    if (distance <= c->offset) return false;
    if (distance - c->rate * (b - a) / 2 > c->offset) return true;
    return depth > 0 && stays_clear(c, a, middle, depth - 1) && stays_clear(c, middle, b, depth - 1);
}

/* Every other of `count` trials, which are all of one kind. */
static void check_never_late(int first, int count)
{
    random_state r = {(uint64_t)first + 1};
    int met = 0;
    for (int i = first; i < count; i += 2) {
        trial c = random_trial(&r, i);
        double gap = distance_at(&c, 0) - c.offset;
        double t = spl_pair_ccd(c.kind, (const double(*)[3])c.x, (const double(*)[3])c.d, c.offset, c.slack, 1);
        CHECK(t >= 0 && t <= 1);
        CHECK(stays_clear(&c, 0, t, 50));
        CHECK(distance_at(&c, t) - c.offset >= c.slack * gap - 1e-13);
        met += t < 1;
    }
    CHECK(met > count / 10 && met < count / 2 - count / 10);
}

TEST(half_a_million_points_and_triangles_are_never_late)
{
    check_never_late(0, test_size(1000000, 20000));
}

TEST(half_a_million_pairs_of_edges_are_never_late)
{
    check_never_late(1, test_size(1000000, 20000));
}

/* Where it stops, the gap is what was to be left, and a tenth of that at most. */
TEST(a_million_random_pairs_are_not_early)
{
    random_state r = {2};
    int count = test_size(1000000, 20000), met = 0, early = 0;
    for (int i = 0; i < count; i++) {
        trial c = random_trial(&r, i);
        double left = c.slack * (distance_at(&c, 0) - c.offset);
        double t = spl_pair_ccd(c.kind, (const double(*)[3])c.x, (const double(*)[3])c.d, c.offset, c.slack, 1);
        if (t >= 1) continue;
        met++;
        early += distance_at(&c, t) - c.offset > 1.1 * left + 1e-13;
    }
    CHECK(met > count / 5);
    CHECK(early <= met / 1000); /* out of steps: 7 in 10,000 of these, turns by more than a radian next to each other */
}

/* Two meet head on: the time is known. */
TEST(a_head_on_pair_stops_where_it_should)
{
    double x[4][3] = {{0.2, 0.2, 1.5}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, d[4][3] = {{0, 0, -100}};
    double t = spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0.5, 0.1, 1);
    CHECK_NEAR(t, 0.009, 1e-15); /* 0.9 of the gap of 1 at 100 */
    CHECK(spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0.5, 0.1, 0.004) ==
          0.004);
    for (int i = 1; i < 4; i++) d[i][2] = -100;
    CHECK(spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0.5, 0.1, 1) == 1);
}

/* Past each other at 1e-3, by a thousand times that and more: the paper's steps alone would be ten thousands. */
TEST(what_slides_past_is_let_by)
{
    double x[4][3] = {{0, 0.1, 1e-3}, {-1, 0, 0}, {6, 0, 0}, {5, 1, 0}}, d[4][3] = {{100, 0, 0}};
    CHECK(spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0, 0.1, 1) == 1);
    double y[4][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 1e-3}, {0, 1, 1e-3}},
           e[4][3] = {{0}, {0}, {3, -100, 0}, {3, -100, 0}};
    CHECK(spl_pair_ccd(SPL_PAIR_EDGE_EDGE, (const double(*)[3])y, (const double(*)[3])e, 0, 0.1, 1) == 1);
    e[2][2] = e[3][2] = -0.09; /* down to a tenth after a hundredth, when the edge is past by half its length */
    CHECK_NEAR(spl_pair_ccd(SPL_PAIR_EDGE_EDGE, (const double(*)[3])y, (const double(*)[3])e, 0, 0.1, 1), 0.01, 1e-4);
}

TEST(no_gap_and_no_number_give_no_time)
{
    double x[4][3] = {{0.2, 0.2, 0.5}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, d[4][3] = {{0, 0, 1}};
    CHECK(spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0.5, 0.1, 1) == 0);
    CHECK(spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0.4, 0.1, 1) == 1);
    for (int i = 0; i < 24; i++) {
        double y[2][4][3];
        memcpy(y[0], x, sizeof x);
        memcpy(y[1], d, sizeof d);
        y[i / 12][i / 3 % 4][i % 3] = i % 2 ? NAN : INFINITY;
        CHECK(spl_pair_ccd(SPL_PAIR_EDGE_EDGE, (const double(*)[3])y[0], (const double(*)[3])y[1], 0, 0.1, 1) == 0);
    }
}

TEST(what_stands_still_has_all_the_time)
{
    double x[4][3] = {{0.2, 0.2, 0.5}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, d[4][3] = {{0}};
    CHECK(spl_pair_ccd(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])x, (const double(*)[3])d, 0.4, 0.1, 1) == 1);
}

TEST_CASES(RUN(half_a_million_points_and_triangles_are_never_late), RUN(half_a_million_pairs_of_edges_are_never_late),
           RUN(a_million_random_pairs_are_not_early), RUN(a_head_on_pair_stops_where_it_should),
           RUN(what_slides_past_is_let_by), RUN(no_gap_and_no_number_give_no_time),
           RUN(what_stands_still_has_all_the_time))
