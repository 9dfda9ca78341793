#include "subspace/nnls.h"

#include "core/memory.h"
#include "failing.h"
#include "subspace/training.h"
#include "test.h"

typedef struct problem {
    int rows, columns;
    double *A, *b; /* by columns */
} problem;

/* `tilt` > 0 makes columns alike: most of the answer is at 0. */
static problem problem_make(int rows, int columns, double tilt, uint64_t seed)
{
    problem p = {rows, columns, malloc((size_t)(rows * columns) * sizeof(double)),
                 malloc((size_t)rows * sizeof(double))};
    for (int i = 0; i < rows * columns; i++) p.A[i] = training_random(&seed) + tilt;
    for (int i = 0; i < rows; i++) p.b[i] = training_random(&seed) + tilt / 2;
    return p;
}

static void problem_free(problem *p)
{
    free(p->A);
    free(p->b);
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void add(spl_nnls *n, const problem *p, const int *number, int j)
{
    double products[200];
    const double *a = p->A + j * p->rows;
    for (int i = 0; i < n->count; i++) products[i] = dot(p->A + number[i] * p->rows, a, p->rows);
    spl_nnls_add(n, products, dot(a, a, p->rows), dot(a, p->b, p->rows));
}

/* x >= 0; A^T (b - A x) is 0 where x is positive, and not positive where it is 0. */
static void check_kkt(const spl_nnls *n, const problem *p, const int *number)
{
    double *left = malloc((size_t)p->rows * sizeof *left), scale = sqrt(dot(p->b, p->b, p->rows));
    memcpy(left, p->b, (size_t)p->rows * sizeof *left);
    for (int k = 0; k < n->count; k++)
        for (int i = 0; i < p->rows; i++) left[i] -= n->x[k] * p->A[number[k] * p->rows + i];
    for (int k = 0; k < n->count; k++) {
        const double *a = p->A + number[k] * p->rows;
        if (dot(a, a, p->rows) == 0) continue;
        double w = dot(a, left, p->rows) / (scale * sqrt(dot(a, a, p->rows)));
        CHECK(n->x[k] >= 0);
        CHECK(w <= 1e-9);
        if (n->x[k] > 0) CHECK(w >= -1e-9);
    }
    free(left);
}

TEST(answers_are_optimal)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int t = 0; t < 60; t++) {
        int rows = 3 + t % 40, columns = 1 + t * 7 % 90, number[90];
        problem p = problem_make(rows, columns, t % 3 * 0.7, (uint64_t)t + 1);
        spl_nnls n;
        REQUIRE(spl_nnls_create(columns, &a, &n, NULL) == SUPPLE_OK);
        for (int j = 0; j < columns; j++) {
            number[j] = j;
            add(&n, &p, number, j);
        }
        spl_nnls_solve(&n);
        check_kkt(&n, &p, number);
        spl_nnls_release(&n);
        problem_free(&p);
    }
}

/* The least |A x - b| over all sets of columns whose own least squares are positive. */
static double brute_force(const problem *p)
{
    double best = dot(p->b, p->b, p->rows);
    for (int set = 1; set < 1 << p->columns; set++) {
        double G[8][9], left[64];
        int member[8], m = 0;
        for (int j = 0; j < p->columns; j++)
            if (set >> j & 1) member[m++] = j;
        for (int i = 0; i < m; i++) {
            for (int j = 0; j < m; j++) G[i][j] = dot(p->A + member[i] * p->rows, p->A + member[j] * p->rows, p->rows);
            G[i][m] = dot(p->A + member[i] * p->rows, p->b, p->rows);
        }
        for (int k = 0; k < m; k++)
            for (int i = 0; i < m; i++)
                for (int j = m; i != k && j >= k; j--) G[i][j] -= G[i][k] / G[k][k] * G[k][j];
        bool positive = true;
        memcpy(left, p->b, (size_t)p->rows * sizeof *left);
        for (int k = 0; k < m; k++) {
            double x = G[k][m] / G[k][k];
            positive = positive && x >= 0;
            for (int i = 0; i < p->rows; i++) left[i] -= x * p->A[member[k] * p->rows + i];
        }
        if (positive) best = fmin(best, dot(left, left, p->rows));
    }
    return best;
}

TEST(answers_are_those_of_brute_force)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int t = 0; t < 100; t++) {
        int number[8], columns = 1 + t % 8;
        problem p = problem_make(9, columns, t % 4 * 0.4, (uint64_t)t + 1000);
        spl_nnls n;
        double left[64];
        REQUIRE(spl_nnls_create(columns, &a, &n, NULL) == SUPPLE_OK);
        memcpy(left, p.b, 9 * sizeof *left);
        for (int j = 0; j < columns; j++) {
            number[j] = j;
            add(&n, &p, number, j);
        }
        spl_nnls_solve(&n);
        for (int j = 0; j < columns; j++)
            for (int i = 0; i < 9; i++) left[i] -= n.x[j] * p.A[j * 9 + i];
        CHECK_NEAR(dot(left, left, 9), brute_force(&p), 1e-12);
        spl_nnls_release(&n);
        problem_free(&p);
    }
}

/* Columns one by one, what is at 0 forgotten: optimal at each step for those that are left. */
TEST(columns_come_and_go)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int t = 0; t < 8; t++) {
        int number[120], dropped = 0;
        int32_t kept[120];
        problem p = problem_make(60, 120, 0.3 + 0.2 * t, (uint64_t)t + 50);
        spl_nnls n;
        double last = INFINITY;
        REQUIRE(spl_nnls_create(120, &a, &n, NULL) == SUPPLE_OK);
        for (int j = 0; j < 120; j++) {
            add(&n, &p, number, j);
            number[n.count - 1] = j;
            spl_nnls_solve(&n);
            check_kkt(&n, &p, number);
            int before = n.count, after = spl_nnls_drop(&n, kept);
            for (int k = 0; k < after; k++) number[k] = number[kept[k]];
            dropped += before - after;
            check_kkt(&n, &p, number);
            double energy = dot(p.b, p.b, 60);
            for (int k = 0; k < after; k++) {
                CHECK(n.x[k] > 0);
                energy -= n.x[k] * n.side[k]; /* |A x - b|^2 = |b|^2 - x.A^T b at the answer */
            }
            CHECK(energy <= last + 1e-12);
            last = energy;
        }
        CHECK(dropped > 10);
        spl_nnls_release(&n);
        problem_free(&p);
    }
}

/* Columns that stand twice, that are 0, that others span: no infinite numbers, still optimal. */
TEST(dependent_columns)
{
    supple_allocator a = spl_allocator_of(NULL);
    problem p = problem_make(10, 30, 0.5, 3);
    spl_nnls n;
    int number[30];
    for (int i = 0; i < 10; i++) {
        p.A[10 + i] = p.A[i];
        p.A[20 + i] = 0;
        p.A[30 + i] = p.A[40 + i] + 2 * p.A[50 + i];
    }
    REQUIRE(spl_nnls_create(30, &a, &n, NULL) == SUPPLE_OK);
    for (int j = 0; j < 30; j++) {
        number[j] = j;
        add(&n, &p, number, j);
    }
    spl_nnls_solve(&n);
    for (int j = 0; j < 30; j++) CHECK(isfinite(n.x[j]));
    check_kkt(&n, &p, number);
    spl_nnls_release(&n);
    problem_free(&p);
}

TEST(memory_runs_out)
{
    bool done = false;
    for (long k = 0; !done && k < 50; k++) {
        failing f = {.fail_at = k};
        supple_allocator a = failing_allocator(&f);
        spl_nnls n;
        supple_result result = spl_nnls_create(20, &a, &n, NULL);
        done = result == SUPPLE_OK;
        CHECK(done || result == SUPPLE_ERROR_MEMORY);
        spl_nnls_release(&n);
        CHECK(f.live == 0);
    }
    CHECK(done);
}

TEST_CASES(RUN(answers_are_optimal), RUN(answers_are_those_of_brute_force), RUN(columns_come_and_go),
           RUN(dependent_columns), RUN(memory_runs_out))
