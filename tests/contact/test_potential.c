#include "contact/potential.h"

#include "../test.h"
#include "math/dense.h"

enum { TRIES = 4000 };

static uint64_t state = 88172645463325252u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0 * 2 - 1;
}

/* A pair of unit size whose distance is about `gap` beyond the offset; `parallel`: of edges, nearly so. */
static spl_potential make(double x[4][3], double gap, double parallel)
{
    spl_potential p = {.offset = 0.01, .width = 0.03, .stiffness = 700};
    p.pair.kind = uniform() > 0 || parallel > 0 ? SPL_PAIR_EDGE_EDGE : SPL_PAIR_POINT_TRIANGLE;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) x[i][c] = uniform();
    for (int c = 0; c < 3 && parallel > 0; c++) x[3][c] = x[2][c] + x[1][c] - x[0][c] + parallel * uniform();
    spl_nearest at = spl_pair_nearest((spl_pair_kind)p.pair.kind, x);
    double d = sqrt(at.square), r[3] = {0}, want = 0.01 + gap;
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) r[c] += at.w[i] * x[i][c];
    int first = p.pair.kind == SPL_PAIR_EDGE_EDGE ? 2 : 1;
    for (int i = 0; i < first; i++)
        for (int c = 0; c < 3; c++) x[i][c] += (want - d) * r[c] / d;
    p.parallel = p.pair.kind == SPL_PAIR_EDGE_EDGE ? SPL_POTENTIAL_PARALLEL * 9 : 0;
    return p;
}

static double largest(const double *a, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
    return most;
}

/* Whether the weights that are zero stay so around x: derivatives by differences need one kind of nearest place. */
static bool same_kind(const spl_potential *p, const double x[4][3], double h)
{
    spl_nearest here = spl_pair_nearest((spl_pair_kind)p->pair.kind, x);
    for (int i = 0; i < 12; i++)
        for (int side = -1; side <= 1; side += 2) {
            double y[4][3];
            memcpy(y, x, sizeof y);
            y[i / 3][i % 3] += side * h;
            spl_nearest there = spl_pair_nearest((spl_pair_kind)p->pair.kind, y);
            for (int k = 0; k < 4; k++)
                if ((here.w[k] == 0) != (there.w[k] == 0)) return false;
        }
    return true;
}

static void compare_with_differences(double gap, double parallel, int *compared)
{
    const double h = 1e-6;
    double x[4][3], g[12], low[12], high[12], H[144], error[144];
    spl_potential p = make(x, gap, parallel);
    if (!same_kind(&p, x, h)) return;
    spl_potential_gradient(&p, x, g);
    spl_potential_hessian(&p, x, H);
    for (int i = 0; i < 12; i++) {
        double y[4][3];
        memcpy(y, x, sizeof y);
        y[i / 3][i % 3] = x[i / 3][i % 3] + h;
        double more = spl_potential_gradient(&p, y, high);
        y[i / 3][i % 3] = x[i / 3][i % 3] - h;
        double less = spl_potential_gradient(&p, y, low);
        CHECK_NEAR((more - less) / (2 * h), g[i], 1e-5 * (largest(g, 12) + 1e-3));
        for (int k = 0; k < 12; k++) error[12 * i + k] = (high[k] - low[k]) / (2 * h) - H[12 * i + k];
    }
    CHECK_NEAR(largest(error, 144), 0, 2e-5 * (largest(H, 144) + 1e-2));
    ++*compared;
}

TEST(derivatives_are_those_of_the_energy)
{
    int compared = 0;
    for (int k = 0; k < TRIES; k++) compare_with_differences(0.003 + 0.02 * fabs(uniform()), 0, &compared);
    CHECK(compared > TRIES / 2);
}

TEST(derivatives_of_nearly_parallel_edges_are_too)
{
    int compared = 0;
    for (int k = 0; k < TRIES; k++) compare_with_differences(0.01 + 0.01 * fabs(uniform()), 0.05, &compared);
    CHECK(compared > TRIES / 4);
}

/* v^T H v of blocks in the layout of elements. */
static double form(const double *blocks, const double v[12])
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++, blocks += 9)
            for (int q = 0; q < 9; q++) sum += (i == j ? 1 : 2) * v[3 * i + q % 3] * blocks[q] * v[3 * j + q / 3];
    return sum;
}

TEST(projected_forms_are_not_negative_and_not_below_the_exact_ones)
{
    for (int k = 0; k < TRIES; k++) {
        double x[4][3], H[144], blocks[90], v[12], scale, own = 0;
        spl_potential p = make(x, 0.003 + 0.02 * fabs(uniform()), k % 2 ? 0.05 : 0);
        spl_potential_hessian(&p, x, H);
        spl_potential_projected(&p, x, blocks);
        scale = largest(H, 144);
        for (int i = 0; i < 12; i++) v[i] = uniform();
        for (int i = 0; i < 144; i++) own += v[i / 12] * H[i] * v[i % 12];
        CHECK(form(blocks, v) >= -1e-9 * scale);
        CHECK(form(blocks, v) >= own - 1e-9 * scale);
    }
}

/* Along the way between the nearest places, where only the barrier's own curvature counts, both agree. */
TEST(projected_forms_are_exact_along_the_gap)
{
    for (int k = 0; k < TRIES; k++) {
        double x[4][3], H[144], blocks[90], v[12], r[3] = {0}, own = 0;
        spl_potential p = make(x, 0.003 + 0.02 * fabs(uniform()), 0);
        if (p.pair.kind == SPL_PAIR_EDGE_EDGE) continue;
        spl_nearest at = spl_pair_nearest((spl_pair_kind)p.pair.kind, x);
        for (int i = 0; i < 12; i++) r[i % 3] += at.w[i / 3] * x[i / 3][i % 3];
        for (int i = 0; i < 12; i++) v[i] = i < 3 ? r[i % 3] : 0;
        spl_potential_hessian(&p, x, H);
        spl_potential_projected(&p, x, blocks);
        for (int i = 0; i < 144; i++) own += v[i / 12] * H[i] * v[i % 12];
        CHECK_NEAR(form(blocks, v), own, 1e-6 * fabs(own));
    }
}

TEST(it_is_infinite_at_touch_and_nothing_beyond_its_width)
{
    double x[4][3] = {{0.25, 0.25, 0.010001}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, g[12];
    spl_potential p = {.offset = 0.01, .width = 0.03, .stiffness = 1};
    CHECK(spl_potential_energy(&p, x) > 0);
    CHECK(spl_potential_gradient(&p, x, g) > 0 && g[2] < -100 * p.width);
    x[0][2] = 0.01;
    CHECK(isinf(spl_potential_energy(&p, x)));
    x[0][2] = 0.0400001;
    CHECK(spl_potential_energy(&p, x) == 0);
    x[0][2] = 0.04 - 1e-9; /* and begins there without a step in force or stiffness */
    CHECK(spl_potential_gradient(&p, x, g) < 1e-24 && fabs(g[2]) < 1e-15);
}

TEST_CASES(RUN(derivatives_are_those_of_the_energy), RUN(derivatives_of_nearly_parallel_edges_are_too),
           RUN(projected_forms_are_not_negative_and_not_below_the_exact_ones),
           RUN(projected_forms_are_exact_along_the_gap), RUN(it_is_infinite_at_touch_and_nothing_beyond_its_width))
