#include "geom/distance.h"
#include "geom/random_pairs.h"
#include "test.h"

/* The slow twin: convex functions of two places, searched by thirds within thirds, in long double. */
typedef struct twin {
    spl_pair_kind kind;
    const double (*x)[3];
} twin;

static long double square_at(const twin *w, long double s, long double t)
{
    long double weight[4] = {1 - s, s, -(1 - t), -t}, square = 0;
    if (w->kind == SPL_PAIR_POINT_TRIANGLE) {
        weight[0] = 1;
        weight[1] = -(1 - s);
        weight[2] = -s * (1 - t);
        weight[3] = -s * t;
    }
    for (int k = 0; k < 3; k++) {
        long double r = 0;
        for (int i = 0; i < 4; i++) r += weight[i] * (long double)w->x[i][k];
        square += r * r;
    }
    return square;
}

static long double least_inner(const twin *w, long double s)
{
    long double a = 0, b = 1;
    for (int i = 0; i < 100; i++) {
        long double p = a + (b - a) / 3, q = b - (b - a) / 3;
        if (square_at(w, s, p) < square_at(w, s, q))
            b = q;
        else
            a = p;
    }
    return square_at(w, s, (a + b) / 2);
}

static double twin_distance(spl_pair_kind kind, const double x[4][3])
{
    twin w = {kind, x};
    long double a = 0, b = 1;
    for (int i = 0; i < 100; i++) {
        long double p = a + (b - a) / 3, q = b - (b - a) / 3;
        if (least_inner(&w, p) < least_inner(&w, q))
            b = q;
        else
            a = p;
    }
    long double least = fminl(least_inner(&w, (a + b) / 2), fminl(least_inner(&w, 0), least_inner(&w, 1)));
    return (double)sqrtl(least);
}

/* Weights are those of places of the two, and give the distance: it cannot be too small. */
static void check_weights(spl_pair_kind kind, const double x[4][3], const spl_nearest *n)
{
    int split = spl_pair_split(kind);
    long double square = 0;
    double first = 0, second = 0;
    for (int i = 0; i < 4; i++) {
        CHECK(i < split ? n->w[i] >= 0 : n->w[i] <= 0);
        *(i < split ? &first : &second) += n->w[i];
    }
    CHECK_NEAR(first, 1, 1e-15);
    CHECK_NEAR(second, -1, 1e-15);
    for (int k = 0; k < 3; k++) {
        long double r = 0;
        for (int i = 0; i < 4; i++) r += (long double)n->w[i] * (long double)x[i][k];
        square += r * r;
    }
    CHECK_NEAR(sqrt(n->square), sqrtl(square), 2e-15);
}

static void check_shape(spl_pair_kind kind, int shape, int count)
{
    random_state r = {(uint64_t)(10 * shape + (int)kind + 1)};
    for (int i = 0; i < count; i++) {
        double x[4][3];
        random_pair(&r, shape, x);
        spl_nearest n = spl_pair_nearest(kind, (const double(*)[3])x);
        check_weights(kind, (const double(*)[3])x, &n);
        CHECK_NEAR(sqrt(n.square), twin_distance(kind, (const double(*)[3])x), 4e-15);
    }
}

TEST(points_and_triangles_agree_with_a_slow_search)
{
    for (int shape = 0; shape < SHAPES; shape++) check_shape(SPL_PAIR_POINT_TRIANGLE, shape, test_size(150, 10));
}

TEST(edges_agree_with_a_slow_search)
{
    for (int shape = 0; shape < SHAPES; shape++) check_shape(SPL_PAIR_EDGE_EDGE, shape, test_size(150, 10));
}

/* Many more pairs, against a grid of places. */
TEST(no_sampled_place_is_nearer)
{
    random_state r = {7};
    for (int i = 0; i < test_size(500000, 3000); i++) {
        double x[4][3];
        random_pair(&r, i % SHAPES, x);
        spl_pair_kind kind = i / SHAPES % 2 ? SPL_PAIR_EDGE_EDGE : SPL_PAIR_POINT_TRIANGLE;
        double distance = sqrt(spl_pair_nearest(kind, (const double(*)[3])x).square);
        twin w = {kind, (const double(*)[3])x};
        for (int k = 0; k < 25; k++)
            CHECK(distance <= (double)sqrtl(square_at(&w, k / 5 * 0.25L, k % 5 * 0.25L)) + 2e-15);
    }
}

/* Edges that are turned by 1e-3 down to 1e-16, where 2x2 systems of equations lose everything, in frames in which no
 * number is exact. They cross at a distance of 0.01, by construction. */
TEST(nearly_parallel_edges_keep_their_digits)
{
    random_state r = {3};
    for (int halved = 0; halved < 47; halved++) {
        double turn = ldexp(1e-3, -halved);
        double u[3], n[3], v[3], x[4][3], length = 0, along = 0;
        random_vector(&r, 1, u);
        random_vector(&r, 1, n);
        for (int k = 0; k < 3; k++) length += u[k] * u[k];
        for (int k = 0; k < 3; k++) u[k] /= sqrt(length);
        for (int k = 0; k < 3; k++) along += n[k] * u[k];
        for (int k = 0; k < 3; k++) n[k] -= along * u[k];
        length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3; k++) n[k] /= length;
        for (int k = 0; k < 3; k++) v[k] = u[(k + 1) % 3] * n[(k + 2) % 3] - u[(k + 2) % 3] * n[(k + 1) % 3];
        for (int k = 0; k < 3; k++) {
            x[0][k] = -1.1 * u[k];
            x[1][k] = 1.3 * u[k];
            x[2][k] = 0.01 * n[k] - 0.7 * (u[k] + turn * v[k]);
            x[3][k] = 0.01 * n[k] + 0.9 * (u[k] + turn * v[k]);
        }
        spl_nearest at = spl_pair_nearest(SPL_PAIR_EDGE_EDGE, (const double(*)[3])x);
        CHECK_NEAR(sqrt(at.square), 0.01, 5e-16);
    }
}

TEST(parallel_edges_are_nearest_at_an_end)
{
    double x[4][3] = {{0, 0, 0}, {1, 0, 0}, {0.25, 1, 0}, {3, 1, 0}};
    spl_nearest n = spl_pair_nearest(SPL_PAIR_EDGE_EDGE, (const double(*)[3])x);
    CHECK(n.square == 1);
    random_state r = {4};
    for (int i = 0; i < 10000; i++) { /* parallel to rounding */
        double stretch = random_signed(&r), shift = random_signed(&r);
        random_pair(&r, SHAPE_ANY, x);
        for (int k = 0; k < 3; k++) {
            x[2][k] = x[0][k] + shift * (x[1][k] - x[0][k]) + 0.1 * (k == 0);
            x[3][k] = x[2][k] + stretch * (x[1][k] - x[0][k]);
        }
        n = spl_pair_nearest(SPL_PAIR_EDGE_EDGE, (const double(*)[3])x);
        CHECK(n.w[0] == 0 || n.w[1] == 0 || n.w[2] == 0 || n.w[3] == 0 || fabs(stretch) < 0.1);
    }
}

TEST(corners_without_a_part_have_weight_zero)
{
    double beside[4][3] = {{-1, 0.5, 0.25}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    double beyond[4][3] = {{-1, -2, 0.5}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    double above[4][3] = {{0.25, 0.25, 2}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    spl_nearest n = spl_pair_nearest(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])beside);
    CHECK(n.w[2] == 0 && n.w[1] == -0.5 && n.w[3] == -0.5);
    n = spl_pair_nearest(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])beyond);
    CHECK(n.w[1] == -1 && n.w[2] == 0 && n.w[3] == 0);
    n = spl_pair_nearest(SPL_PAIR_POINT_TRIANGLE, (const double(*)[3])above);
    CHECK(n.square == 4 && n.w[1] == -0.5 && n.w[2] == -0.25 && n.w[3] == -0.25);
    double ends[4][3] = {{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {3, 2, 0}};
    n = spl_pair_nearest(SPL_PAIR_EDGE_EDGE, (const double(*)[3])ends);
    CHECK(n.w[0] == 0 && n.w[1] == 1 && n.w[2] == -1 && n.w[3] == 0 && n.square == 2);
}

/* A ball's centre is an edge of one vertex twice. */
TEST(an_edge_of_one_vertex_is_a_point)
{
    double x[4][3] = {{0.5, 1, 0}, {0.5, 1, 0}, {0, 0, 0}, {2, 0, 0}};
    spl_nearest n = spl_pair_nearest(SPL_PAIR_EDGE_EDGE, (const double(*)[3])x);
    CHECK(n.square == 1 && n.w[0] == 1 && n.w[1] == 0 && n.w[2] == -0.75 && n.w[3] == -0.25);
    memcpy(x[2], x[3], sizeof x[2]);
    n = spl_pair_nearest(SPL_PAIR_EDGE_EDGE, (const double(*)[3])x);
    CHECK(n.square == 3.25 && n.w[0] == 1 && n.w[1] == 0 && n.w[2] == -1 && n.w[3] == 0);
}

TEST(what_is_no_number_gives_none)
{
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < 2; kind++) {
            double x[4][3] = {{0, 0, 1}, {0, 1, 1}, {1, 0, 0}, {0, 1, 0}};
            x[i][1] = NAN;
            spl_nearest n = spl_pair_nearest((spl_pair_kind)kind, (const double(*)[3])x);
            CHECK(!(n.square < INFINITY));
        }
}

TEST_CASES(RUN(points_and_triangles_agree_with_a_slow_search), RUN(edges_agree_with_a_slow_search),
           RUN(no_sampled_place_is_nearer), RUN(nearly_parallel_edges_keep_their_digits),
           RUN(parallel_edges_are_nearest_at_an_end), RUN(corners_without_a_part_have_weight_zero),
           RUN(an_edge_of_one_vertex_is_a_point), RUN(what_is_no_number_gives_none))
