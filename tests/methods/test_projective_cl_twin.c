/* One whole step by a slow twin that shares nothing with the library but the tets: Algorithm 1 with Algorithm 2 inside,
 * in double, A dense, rotations by Higham's iteration. Small enough for a simulator of devices (tests/meta). */
#include "methods/projective_cl.h"

enum { ITERATIONS = 10, INNER = 10 };
static const double STEP = 1.0 / 60;

typedef struct twin {
    const limb *l;
    const spl_tie *tie;
    int32_t tie_count;
    size_t n;                /* vertices; rows of held ones stay 0 */
    double *A, *x, *r;       /* n x n; 3 n */
    double *z, *d, *q, *res; /* 3 n */
} twin;

static bool is_free(const twin *t, int32_t v)
{
    return v >= 0 && t->l->t.held[v] < 0;
}

/* A = M / h^2 + sum (2 mu + 1.5 lambda) W g_i . g_j + sum k c c^T */
static void assemble(twin *t)
{
    const tube *u = &t->l->t;
    for (size_t v = 0; v < t->n; v++)
        if (is_free(t, (int32_t)v)) t->A[v * t->n + v] += u->mass[v] / (STEP * STEP);
    for (size_t k = 0; k < (size_t)u->tet_count; k++) {
        double w = (2 * u->mu[k] + 1.5 * u->lambda[k]) * u->elements.volume[k];
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 4; j++) {
                const double *g = u->elements.gradient + 12 * k + 3 * i, *h = u->elements.gradient + 12 * k + 3 * j;
                int32_t a = u->tet[4 * k + i], b = u->tet[4 * k + j];
                if (!is_free(t, a) || !is_free(t, b)) continue;
                t->A[(size_t)a * t->n + (size_t)b] += w * (g[0] * h[0] + g[1] * h[1] + g[2] * h[2]);
            }
    }
    for (int32_t j = 0; j < t->tie_count; j++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                const spl_tie *tie = &t->tie[j];
                if (!is_free(t, tie->vertex[a]) || !is_free(t, tie->vertex[b])) continue;
                t->A[(size_t)tie->vertex[a] * t->n + (size_t)tie->vertex[b]] +=
                    tie->stiffness * tie->coefficient[a] * tie->coefficient[b];
            }
}

/* The nearest rotation: R <- (R + R^-T) / 2, rows. */
static void polar(const double F[9], double R[9])
{
    memcpy(R, F, 9 * sizeof *R);
    for (int k = 0; k < 40; k++) {
        double C[9], det;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
                C[3 * i + j] = R[3 * a + c] * R[3 * b + d] - R[3 * a + d] * R[3 * b + c];
            }
        det = R[0] * C[0] + R[1] * C[1] + R[2] * C[2];
        for (int i = 0; i < 9; i++) R[i] = 0.5 * (R[i] + C[i] / det);
    }
}

static void add_tet(twin *t, size_t k)
{
    const tube *u = &t->l->t;
    double F[9] = {0}, R[9], trace = -3;
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 0; c < 9; c++)
            F[c] += t->x[3 * (size_t)u->tet[4 * k + i] + c / 3] * u->elements.gradient[12 * k + 3 * i + c % 3];
    polar(F, R);
    for (int c = 0; c < 9; c++) trace += F[c] * R[c];
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 0; c < 9; c++) {
            double P = 2 * u->mu[k] * (F[c] - R[c]) + u->lambda[k] * trace * R[c];
            t->r[3 * (size_t)u->tet[4 * k + i] + c / 3] -=
                u->elements.volume[k] * P * u->elements.gradient[12 * k + 3 * i + c % 3];
        }
}

static void add_tie(twin *t, const spl_tie *tie)
{
    double d[3] = {-tie->offset.x, -tie->offset.y, -tie->offset.z};
    const double n[3] = {tie->normal.x, tie->normal.y, tie->normal.z};
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3 && tie->vertex[i] >= 0; c++) d[c] += tie->coefficient[i] * t->x[3 * tie->vertex[i] + c];
    double along = fmin(d[0] * n[0] + d[1] * n[1] + d[2] * n[2], 0);
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3 && tie->vertex[i] >= 0; c++)
            t->r[3 * tie->vertex[i] + c] -= tie->stiffness * tie->coefficient[i] * (tie->sided ? along * n[c] : d[c]);
}

/* r = -dE/dx */
static void evaluate(twin *t)
{
    const limb *l = t->l;
    for (size_t i = 0; i < 3 * t->n; i++)
        t->r[i] = l->t.mass[i / 3] / (STEP * STEP) * (l->inertia[i] - t->x[i]) + l->force[i];
    for (size_t k = 0; k < (size_t)l->t.tet_count; k++) add_tet(t, k);
    for (int32_t j = 0; j < t->tie_count; j++) add_tie(t, &t->tie[j]);
    for (size_t i = 0; i < 3 * t->n; i++)
        if (!is_free(t, (int32_t)(i / 3))) t->r[i] = 0;
}

/* Algorithm 2 line by line, one coordinate at a time, from nothing: what is solved for is a change. */
static void solve(twin *t, size_t c)
{
    size_t n = t->n;
    double delta = 0;
    for (size_t i = 0; i < n; i++) {
        double b = is_free(t, (int32_t)i) ? t->r[3 * i + c] : 0;
        t->z[i] = 0;
        t->res[i] = b;
        t->d[i] = b == 0 ? 0 : b / t->A[i * n + i];
        delta += t->d[i] * b;
    }
    for (int k = 0; k < INNER; k++) {
        double gamma = delta, alpha = 0;
        for (size_t i = 0; i < n; i++) {
            t->q[i] = 0;
            for (size_t j = 0; j < n; j++) t->q[i] += t->A[i * n + j] * t->d[j];
            alpha += t->d[i] * t->q[i];
        }
        alpha = gamma / alpha;
        delta = 0;
        for (size_t i = 0; i < n; i++) {
            t->z[i] += alpha * t->d[i];
            t->res[i] -= alpha * t->q[i];
            if (t->A[i * n + i] > 0) delta += t->res[i] * t->res[i] / t->A[i * n + i];
        }
        double beta = delta / gamma;
        for (size_t i = 0; i < n; i++)
            if (t->A[i * n + i] > 0) t->d[i] = t->res[i] / t->A[i * n + i] + beta * t->d[i];
    }
}

static void twin_step(const limb *l, const spl_tie *tie, int32_t tie_count, double *x)
{
    size_t n = (size_t)l->t.vertex_count;
    double *memory = calloc(n * n + 7 * n, sizeof *memory);
    twin t = {.l = l, .tie = tie, .tie_count = tie_count, .n = n, .x = x, .A = memory};
    t.r = memory + n * n;
    t.z = t.r + 3 * n;
    t.d = t.z + n;
    t.q = t.d + n;
    t.res = t.q + n;
    assemble(&t);
    for (int k = 0; k < ITERATIONS; k++) {
        evaluate(&t);
        for (size_t c = 0; c < 3; c++) {
            solve(&t, c);
            for (size_t i = 0; i < n; i++) x[3 * i + c] += t.z[i];
        }
    }
    free(memory);
}

/* On the device, or (NULL) by the processor's solver=pcg. Of the limb's length. */
static double difference(supple_device *device, int32_t ties)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pd_engine *engine = NULL;
    spl_pd_stats stats;
    spl_tie tie[64];
    limb *l = limb_make(10, 8, 64, SPL_PACE_NONE, INNER), *slow = limb_make(10, 8, 64, SPL_PACE_NONE, INNER);
    spl_pd_problem q = {.dt = STEP,
                        .inertia = l->inertia,
                        .force = l->force,
                        .tie = tie,
                        .tie_count = ties > 0 ? make_ties(l, tie) : 0,
                        .iterations = ITERATIONS};
    tube_pose(&l->t, 6, 5, l->x);
    memcpy(slow->x, l->x, 3 * (size_t)l->t.vertex_count * sizeof *l->x);
    if (device) CHECK(spl_cl_engine_create(device, l->pd, INNER, &a, &engine, NULL) == SUPPLE_OK);
    spl_pd_use(l->pd, engine);
    CHECK(spl_pd_solve(l->pd, &q, l->x, &stats, NULL) == SUPPLE_OK);
    spl_pd_use(l->pd, NULL);
    twin_step(slow, tie, q.tie_count, slow->x);
    double worst = farthest(l, slow);
    if (engine) engine->destroy(engine);
    limb_free(l), limb_free(slow);
    return worst;
}

TEST(the_processors_step_is_the_slow_twins)
{
    for (int32_t ties = 0; ties < 2; ties++) {
        double worst = difference(NULL, ties);
        printf("    difference %.1e\n", worst);
        CHECK_NEAR(worst, 0, 2e-6);
    }
}

TEST(the_devices_step_is_the_slow_twins)
{
    NEED_DEVICE();
    static const size_t sizes[] = {0, 13};
    for (size_t i = 0; i < 2; i++) {
        supple_device *d = open_device(sizes[i]);
        REQUIRE(d);
        for (int32_t ties = 0; ties < 2; ties++) {
            double worst = difference(d, ties);
            printf("    difference %.1e\n", worst);
            CHECK_NEAR(worst, 0, 2e-6);
        }
        supple_device_close(d);
    }
}

TEST_CASES(RUN(the_processors_step_is_the_slow_twins), RUN(the_devices_step_is_the_slow_twins))
