/* Fast projective skinning on an OpenCL device: the matrix format, and steps against the processor's. */
#include "methods/projective/cl/hybrid.h"
#include "methods/projective_cl.h"

/* ---- the matrix format ---- */

static uint32_t random_state = 1;

static double random_number(void) /* 0 to 1 */
{
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) / (1 << 24);
}

typedef struct random_matrix {
    spl_pattern pattern;
    spl_rows rows;
    double *values;
} random_matrix;

/* `each` random neighbours a row on average; rows before `empty` have none but the diagonal; the last has `full` ones.
 */
static random_matrix matrix_make(int32_t n, int each, int32_t empty, int32_t full)
{
    supple_allocator a = spl_allocator_of(NULL);
    random_matrix m = {0};
    size_t count = 0, room = (size_t)n * (size_t)each + (size_t)full + 1;
    int32_t *pairs = calloc(room, 2 * sizeof *pairs);
    for (int32_t i = empty; i < n; i++)
        for (int k = 0; k < each; k++, count++) {
            pairs[2 * count] = i;
            pairs[2 * count + 1] = empty + (int32_t)(random_number() * (n - empty));
        }
    for (int32_t j = n - 1 - full; j < n - 1; j++, count++) pairs[2 * count] = n - 1, pairs[2 * count + 1] = j;
    if (spl_pattern_from_pairs(n, 1, pairs, count, &a, &m.pattern, NULL) != SUPPLE_OK ||
        spl_rows_create(&m.pattern, &a, &m.rows, NULL) != SUPPLE_OK)
        abort();
    m.values = calloc(spl_pattern_values(&m.pattern) + 1, sizeof *m.values);
    for (size_t k = 0; k < spl_pattern_values(&m.pattern); k++) m.values[k] = random_number() - 0.5;
    free(pairs);
    return m;
}

static void matrix_free(random_matrix *m)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_rows_release(&m->rows, &a);
    spl_pattern_release(&m->pattern, &a);
    free(m->values);
}

/* The largest difference of the format's product from the rows', of the size of the latter. */
static double product_error(const random_matrix *m, int32_t block, int k)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_hybrid h;
    if (spl_hybrid_create(&m->rows, block, &a, &h, NULL) != SUPPLE_OK) return INFINITY;
    spl_hybrid_set(&h, m->values);
    size_t n = (size_t)m->pattern.n * (size_t)k;
    double *x = calloc(n + 1, sizeof *x), *y = calloc(n + 1, sizeof *y), worst = 0, size = 0;
    float *xf = calloc(n + 1, sizeof *xf), *yf = calloc(n + 1, sizeof *yf);
    for (size_t i = 0; i < n; i++) x[i] = (double)(xf[i] = (float)(random_number() - 0.5));
    spl_rows_multiply(&m->rows, m->values, x, k, y, NULL);
    spl_hybrid_multiply(&h, xf, k, yf);
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs(y[i] - (double)yf[i])), size = fmax(size, fabs(y[i]));
    free(x), free(y), free(xf), free(yf);
    spl_hybrid_release(&h);
    return size > 0 ? worst / size : worst;
}

TEST(the_format_multiplies_as_rows_do)
{
    static const struct {
        int32_t n;
        int each;
        int32_t empty, full;
    } cases[] = {{1, 0, 0, 0},     {5, 2, 0, 0},     {64, 6, 0, 0},    {65, 6, 7, 0},
                 {300, 5, 0, 299}, {300, 0, 300, 0}, {1000, 9, 0, 400}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        random_matrix m = matrix_make(cases[i].n, cases[i].each, cases[i].empty, cases[i].full);
        static const int32_t blocks[] = {1, 7, 64};
        for (int b = 0; b < 3; b++)
            for (int k = 1; k <= 3; k += 2) CHECK_NEAR(product_error(&m, blocks[b], k), 0, 2e-6);
        matrix_free(&m);
    }
}

TEST(columns_take_sixteen_bits_up_to_65536_rows)
{
    for (int32_t n = 65536; n <= 65537; n++) {
        supple_allocator a = spl_allocator_of(NULL);
        random_matrix m = matrix_make(n, 1, 0, 0);
        spl_hybrid h;
        REQUIRE(spl_hybrid_create(&m.rows, 64, &a, &h, NULL) == SUPPLE_OK);
        CHECK(h.wide == (n > 65536));
        spl_hybrid_release(&h);
        CHECK_NEAR(product_error(&m, 64, 1), 0, 2e-6);
        matrix_free(&m);
    }
}

TEST(nothing_is_padded_but_the_last_block)
{
    supple_allocator a = spl_allocator_of(NULL);
    random_matrix m = matrix_make(300, 5, 0, 299);
    spl_hybrid h;
    REQUIRE(spl_hybrid_create(&m.rows, 64, &a, &h, NULL) == SUPPLE_OK);
    spl_hybrid_bytes b = spl_hybrid_count(&h);
    CHECK(b.longest == 300);
    CHECK(b.entries == m.rows.start[300]);
    CHECK(h.ell_count - 300 * (size_t)h.ell == 20 * (size_t)h.ell);
    CHECK(b.ell > 15 * b.hybrid);
    CHECK(b.hybrid <= b.crs + 20 * (size_t)h.ell * 6);
    spl_hybrid_release(&h);
    matrix_free(&m);
}

/* ---- steps ---- */

/* One solve of the bent limb from rest, on a device or (NULL) here; returns the stats. */
static spl_pd_stats bend(limb *l, supple_device *device, double dt, int32_t iterations, double tolerance,
                         const spl_tie *tie, int32_t tie_count, int32_t inner)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pd_engine *engine = NULL;
    spl_pd_stats stats = {0};
    if (device && spl_cl_engine_create(device, l->pd, inner, &a, &engine, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        test_failures++;
        return stats;
    }
    spl_pd_use(l->pd, engine);
    memcpy(l->x, l->t.rest, 3 * (size_t)l->t.vertex_count * sizeof *l->x);
    double turn = dt > 0 ? 0.15 : 1; /* one Newton step is exact for small turns alone: what local_avx2.c and the kernel
                                        leave of larger ones is not the same, block by block and tet by tet */
    tube_pose(&l->t, 40 * turn, 30 * turn, l->x);
    spl_pd_problem q = {.dt = dt,
                        .inertia = l->inertia,
                        .force = l->force,
                        .tie = tie,
                        .tie_count = tie_count,
                        .iterations = iterations,
                        .tolerance = tolerance};
    if (spl_pd_solve(l->pd, &q, l->x, &stats, &error) != SUPPLE_OK) {
        printf("    %s\n", error.message);
        test_failures++;
    }
    spl_pd_use(l->pd, NULL);
    if (engine) engine->destroy(engine);
    return stats;
}

static supple_device *open_device(size_t work_group)
{
    supple_device *d;
    supple_error error = {0};
    if (spl_device_open("cl", &(spl_device_options){.work_group = work_group}, NULL, &d, &error) != SUPPLE_OK)
        printf("    %s\n", error.message);
    return d;
}

TEST(a_step_is_the_processors_at_any_work_group_size)
{
    NEED_DEVICE();
    static const size_t sizes[] = {0, 1, 13, 64};
    limb *here = limb_make(16, 24, 64, SPL_PACE_NONE, 10), *there = limb_make(16, 24, 64, SPL_PACE_NONE, 10);
    spl_tie tie[64];
    int32_t ties = make_ties(here, tie);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        supple_device *d = open_device(sizes[i]);
        REQUIRE(d);
        for (int touching = 0; touching < 2; touching++) {
            spl_pd_stats a = bend(here, NULL, 1.0 / 60, 10, 0, tie, touching ? ties : 0, 10);
            spl_pd_stats b = bend(there, d, 1.0 / 60, 10, 0, tie, touching ? ties : 0, 10);
            CHECK_NEAR(farthest(here, there), 0, 2e-6);
            CHECK_NEAR(a.energy, b.energy, 1e-5 * fabs(a.energy));
            CHECK_NEAR(a.residual, b.residual, 1e-4);
        }
        supple_device_close(d);
    }
    limb_free(here), limb_free(there);
}

TEST(acceleration_on_the_device_is_the_processors)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    static const spl_pace_kind kinds[] = {SPL_PACE_CHEBYSHEV, SPL_PACE_ANDERSON, SPL_PACE_LBFGS};
    for (int k = 0; k < 3; k++) {
        limb *here = limb_make(16, 24, 0, kinds[k], 10), *there = limb_make(16, 24, 0, kinds[k], 10);
        spl_pd_stats a = bend(here, NULL, 1.0 / 60, 8, 0, NULL, 0, 10);
        spl_pd_stats b = bend(there, d, 1.0 / 60, 8, 0, NULL, 0, 10);
        CHECK(a.rejected == b.rejected);
        CHECK_NEAR(farthest(here, there), 0, 2e-5);
        limb_free(here), limb_free(there);
    }
    supple_device_close(d);
}

TEST(equilibria_are_those_of_the_factor)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    limb *here = limb_make(16, 24, 64, SPL_PACE_ANDERSON, 0), *there = limb_make(16, 24, 64, SPL_PACE_ANDERSON, 0);
    spl_tie tie[64];
    int32_t ties = make_ties(here, tie);
    for (int touching = 0; touching < 2; touching++) {
        spl_pd_stats a = bend(here, NULL, 0, 2000, 1e-5, tie, touching ? ties : 0, 0);
        spl_pd_stats b = bend(there, d, 0, 2000, 1e-5, tie, touching ? ties : 0, 10);
        CHECK(a.converged && b.converged);
        printf("    iterations %d and %d, difference %.1e\n", a.iterations, b.iterations, farthest(here, there));
        CHECK_NEAR(farthest(here, there), 0, 1e-4);
    }
    limb_free(here), limb_free(there);
    supple_device_close(d);
}

TEST_MAIN(RUN(the_format_multiplies_as_rows_do), RUN(columns_take_sixteen_bits_up_to_65536_rows),
          RUN(nothing_is_padded_but_the_last_block), RUN(a_step_is_the_processors_at_any_work_group_size),
          RUN(acceleration_on_the_device_is_the_processors), RUN(equilibria_are_those_of_the_factor))
