/* Fast projective skinning on an OpenCL device: the matrix format, and steps against the processor's. */
#include "math/svd3.h"
#include "methods/projective/cl/batch.h"
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
    if (spl_hybrid_create(&m->rows, block, false, &a, &h, NULL) != SUPPLE_OK) return INFINITY;
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
        REQUIRE(spl_hybrid_create(&m.rows, 64, false, &a, &h, NULL) == SUPPLE_OK);
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
    REQUIRE(spl_hybrid_create(&m.rows, 64, false, &a, &h, NULL) == SUPPLE_OK);
    spl_hybrid_bytes b = spl_hybrid_count(&h);
    CHECK(b.longest == 300);
    CHECK(b.entries == m.rows.start[300]);
    CHECK(h.ell_count - 300 * (size_t)h.ell == 20 * (size_t)h.ell);
    CHECK(b.ell > 15 * b.hybrid);
    CHECK(b.hybrid <= b.crs + 20 * (size_t)h.ell * 6);
    spl_hybrid_release(&h);
    matrix_free(&m);
}

/* q = A d by the kernel, against the twin; `piece` products at a time. Returns the largest difference, of q's size. */
static double kernel_error(supple_device *dev, const random_matrix *m, cl_uint piece)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_hybrid h;
    if (spl_hybrid_create(&m->rows, SPL_CL_BLOCK, false, &a, &h, NULL) != SUPPLE_OK) return INFINITY;
    spl_hybrid_set(&h, m->values);
    size_t n = (size_t)h.n, groups = (size_t)h.blocks, index = h.wide ? 4 : 2;
    spl_cl_work w = {.device = dev};
    cl_float4 *store = calloc(2 * n, sizeof *store), *partial = calloc(groups, sizeof *partial);
    cl_int8 *group = aligned_alloc(32, groups * sizeof *group);
    float *x = calloc(n, 3 * sizeof *x), *y = calloc(n, 3 * sizeof *y);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) store[i].s[c] = x[3 * i + c] = (float)(random_number() - 0.5);
    for (size_t g = 0; g < groups; g++) {
        cl_int first = (cl_int)g * SPL_CL_BLOCK, end = first + SPL_CL_BLOCK < h.n ? first + SPL_CL_BLOCK : h.n;
        group[g] = (cl_int8){.s = {first, end, 0, h.ell, first * h.ell, SPL_CL_BLOCK, 0, (cl_int)groups}};
    }
    enum { STORE, DIAGONAL, ELL_VALUE, ELL_COLUMN, START, VALUE, COLUMN, GROUP, DQ, BUFFERS };
    cl_mem b[BUFFERS] = {[STORE] = spl_cl_buffer(&w, 2 * n, sizeof *store, store),
                         [DIAGONAL] = spl_cl_buffer(&w, n, 4, h.diagonal),
                         [ELL_VALUE] = spl_cl_buffer(&w, h.ell_count, 4, h.ell_value),
                         [ELL_COLUMN] = spl_cl_buffer(&w, h.ell_count, index, h.ell_column),
                         [START] = spl_cl_buffer(&w, n + 1, 4, h.start),
                         [VALUE] = spl_cl_buffer(&w, h.rest_count, 4, h.rest_value),
                         [COLUMN] = spl_cl_buffer(&w, h.rest_count, index, h.rest_column),
                         [GROUP] = spl_cl_buffer(&w, groups, sizeof *group, group),
                         [DQ] = spl_cl_buffer(&w, groups, sizeof(cl_float4), NULL)};
    spl_cl_kernel k;
    spl_cl_kernel_make(&w, "cg_multiply", &k);
    cl_uint stride = (cl_uint)n;
    cl_int zero = 0, one = 1, wide = h.wide;
#define ARG SPL_CL_ARGUMENT
    const spl_cl_argument list[] = {ARG(b[STORE]),
                                    ARG(stride),
                                    ARG(zero),
                                    ARG(one),
                                    ARG(b[DIAGONAL]),
                                    ARG(b[ELL_VALUE]),
                                    ARG(b[ELL_COLUMN]),
                                    ARG(b[START]),
                                    ARG(b[VALUE]),
                                    ARG(b[COLUMN]),
                                    ARG(b[START]),
                                    ARG(b[VALUE]),
                                    ARG(b[COLUMN]),
                                    ARG(wide),
                                    ARG(zero),
                                    ARG(b[GROUP]),
                                    ARG(b[DQ]),
                                    ARG(piece),
                                    SPL_CL_LOCAL(piece * sizeof(cl_float4)),
                                    SPL_CL_LOCAL(SPL_CL_BLOCK * sizeof(cl_float4)),
                                    SPL_CL_LOCAL(spl_cl_room(&k))};
    spl_cl_arguments(&w, &k, list, sizeof list / sizeof *list);
    spl_cl_launch(&w, &k, groups);
    spl_cl_read(&w, b[STORE], store, 2 * n * sizeof *store, true);
    spl_cl_read(&w, b[DQ], partial, groups * sizeof *partial, true);
    spl_hybrid_multiply(&h, x, 3, y);
    double worst = w.failed == CL_SUCCESS ? 0 : INFINITY, size = 0, dot = 0, sum = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        worst = fmax(worst, fabs((double)(store[n + i / 3].s[i % 3] - y[i])));
        size = fmax(size, fabs((double)y[i]));
        dot += (double)x[i] * (double)y[i];
    }
    for (size_t g = 0; g < groups; g++) sum += (double)(partial[g].s[0] + partial[g].s[1] + partial[g].s[2]);
    CHECK_NEAR(dot, sum, 1e-5 * size * sqrt((double)n));
    spl_cl_finish(&w);
    spl_cl_kernel_drop(dev, &k);
    for (int i = 0; i < BUFFERS; i++) spl_cl_drop(dev, b[i]);
    free(store), free(partial), free(group), free(x), free(y);
    spl_hybrid_release(&h);
    return worst / size;
}

TEST(the_device_multiplies_as_the_format_does)
{
    NEED_DEVICE();
    static const size_t sizes[] = {1, 13, 64};
    random_matrix m[] = {matrix_make(5, 2, 0, 0), matrix_make(130, 5, 9, 100), matrix_make(64, 0, 64, 0),
                         matrix_make(300, 9, 0, 299), matrix_make(65540, 1, 0, 0)};
    for (size_t s = 0; s < 3; s++) {
        supple_device *d = open_device(sizes[s]);
        REQUIRE(d);
        for (size_t i = 0; i < sizeof m / sizeof *m; i++)
            for (cl_uint piece = 7; piece < 1000; piece += 900) CHECK_NEAR(kernel_error(d, &m[i], piece), 0, 2e-6);
        supple_device_close(d);
    }
    for (size_t i = 0; i < sizeof m / sizeof *m; i++) matrix_free(&m[i]);
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

/* Few enough numbers for a simulator of devices (tests/meta/test_kernels.py): the kernels of acceleration, with ties,
 * over two groups. A bend that is too much for it makes steps be taken back. */
TEST(a_small_accelerated_limb_settles)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    limb *there = limb_make(10, 8, 64, SPL_PACE_ANDERSON, 10);
    spl_tie tie[64];
    spl_pd_stats first = bend(there, d, 0, 2, 0, tie, make_ties(there, tie), 10);
    spl_pd_stats last = bend(there, d, 0, 12, 0, tie, make_ties(there, tie), 10);
    printf("    %d of %d steps taken back\n", last.rejected, last.iterations);
    CHECK(last.energy < first.energy);
    limb_free(there);
    supple_device_close(d);
}

/* Flesh in knots: tets that are mirrored, flat or far from their last rotation. Their energy says whether a rotation is
 * the nearest one. */
TEST(rotations_are_found_in_knots)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    limb *l = limb_make(12, 10, 0, SPL_PACE_NONE, 10);
    supple_allocator a = spl_allocator_of(NULL);
    spl_pd_engine *engine;
    REQUIRE(spl_cl_engine_create(d, l->pd, 10, &a, &engine, NULL) == SUPPLE_OK);
    size_t n = 3 * (size_t)l->t.vertex_count;
    double *x = malloc(n * sizeof *x);
    for (int round = 0; round < 6; round++) {
        for (size_t i = 0; i < n; i++) x[i] = l->t.rest[i] + 0.02 * round * (random_number() - 0.5);
        if (round == 5) /* flat */
            for (size_t i = 0; i < n; i += 3) x[i] = 0.1;
        double energy = 0; /* by the polar decomposition of each tet, in double */
        for (int32_t k = 0; k < l->t.tet_count; k++) {
            const int32_t *tet = l->t.tet + 4 * k;
            if (l->t.held[tet[0]] >= 0 && l->t.held[tet[1]] >= 0 && l->t.held[tet[2]] >= 0 && l->t.held[tet[3]] >= 0)
                continue;
            spl_mat3 F = spl_element_F(&l->t.elements, k, x), R, S;
            spl_polar3(&F, &R, &S);
            double sum = 0, trace = -3;
            for (int i = 0; i < 9; i++) sum += (F.m[i] - R.m[i]) * (F.m[i] - R.m[i]), trace += F.m[i] * R.m[i];
            energy += l->t.elements.volume[k] * (l->t.mu[k] * sum + 0.5 * l->t.lambda[k] * trace * trace);
        }
        spl_pd_stats stats;
        spl_pd_problem q = {.iterations = 1};
        spl_pd_use(l->pd, engine);
        memcpy(l->x, x, n * sizeof *x);
        CHECK(spl_pd_solve(l->pd, &q, l->x, &stats, NULL) == SUPPLE_OK);
        CHECK_NEAR(stats.energy, energy, 2e-5 * energy + 1e-7);
    }
    free(x);
    engine->destroy(engine);
    limb_free(l);
    supple_device_close(d);
}

/* Three limbs of different sizes in one launch: the same bits as each alone. */
TEST(joint_bodies_are_as_alone)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    enum { COUNT = 3 };
    limb *alone[COUNT], *joint[COUNT];
    spl_pd *pd[COUNT];
    spl_pd_problem q[COUNT];
    spl_cl_batch_part part[COUNT] = {{0}};
    spl_tie tie[64];
    for (int k = 0; k < COUNT; k++) {
        alone[k] = limb_make(10 + 6 * k, 12 + 4 * k, 64, SPL_PACE_NONE, 10);
        joint[k] = limb_make(10 + 6 * k, 12 + 4 * k, 64, SPL_PACE_NONE, 10);
        pd[k] = joint[k]->pd;
        tube_pose(&joint[k]->t, 6 * k + 6, 5, joint[k]->x);
        memcpy(alone[k]->x, joint[k]->x, 3 * (size_t)joint[k]->t.vertex_count * sizeof(double));
        q[k] = (spl_pd_problem){
            .dt = 1.0 / (60 + k), .inertia = joint[k]->inertia, .force = joint[k]->force, .iterations = 6};
    }
    q[1].tie = tie;
    q[1].tie_count = make_ties(joint[1], tie);
    spl_cl_batch *batch;
    REQUIRE(spl_cl_batch_create(d, pd, COUNT, 10, &a, &batch, &error) == SUPPLE_OK);
    for (int k = 0; k < COUNT; k++) part[k].problem = &q[k], part[k].x = joint[k]->x;
    CHECK(spl_cl_batch_solve(batch, part, &error) == SUPPLE_OK);
    for (int k = 0; k < COUNT; k++) {
        spl_pd_engine *engine;
        spl_pd_stats stats;
        REQUIRE(spl_cl_engine_create(d, alone[k]->pd, 10, &a, &engine, &error) == SUPPLE_OK);
        spl_pd_use(alone[k]->pd, engine);
        CHECK(spl_pd_solve(alone[k]->pd, &q[k], alone[k]->x, &stats, &error) == SUPPLE_OK);
        CHECK(memcmp(alone[k]->x, joint[k]->x, 3 * (size_t)joint[k]->t.vertex_count * sizeof(double)) == 0);
        CHECK(farthest(alone[k], joint[k]) < 1e-9);
        CHECK(part[k].stats.iterations == 6);
        engine->destroy(engine);
    }
    spl_cl_batch_destroy(batch);
    for (int k = 0; k < COUNT; k++) limb_free(alone[k]), limb_free(joint[k]);
    supple_device_close(d);
}

/* A body whose vertices are all held, and positions that are no numbers. */
TEST(nothing_to_solve_and_nothing_finite)
{
    NEED_DEVICE();
    supple_device *d = open_device(0);
    REQUIRE(d);
    supple_allocator a = spl_allocator_of(NULL);
    limb *l = limb_make(8, 6, 8, SPL_PACE_ANDERSON, 10);
    int32_t *held = calloc((size_t)l->t.vertex_count, sizeof *held);
    spl_pd_input in = {
        .elements = &l->t.elements, .mu = l->t.mu, .mass = l->t.mass, .held = held, .pace = SPL_PACE_AUTO};
    spl_pd *pd;
    spl_pd_engine *engine = NULL;
    spl_pd_stats stats;
    spl_pd_problem q = {.dt = 1.0 / 60, .inertia = l->inertia, .iterations = 4};
    REQUIRE(spl_pd_create(&in, &a, NULL, &pd, NULL) == SUPPLE_OK);
    REQUIRE(spl_cl_engine_create(d, pd, 10, &a, &engine, NULL) == SUPPLE_OK);
    spl_pd_use(pd, engine);
    CHECK(spl_pd_solve(pd, &q, l->x, &stats, NULL) == SUPPLE_OK);
    CHECK(memcmp(l->x, l->t.rest, 3 * (size_t)l->t.vertex_count * sizeof *l->x) == 0);
    engine->destroy(engine);
    spl_pd_destroy(pd);
    supple_error error = {0};
    REQUIRE(spl_cl_engine_create(d, l->pd, 10, &a, &engine, NULL) == SUPPLE_OK);
    spl_pd_use(l->pd, engine);
    l->x[4] = NAN;
    CHECK(spl_pd_solve(l->pd, &q, l->x, &stats, &error) == SUPPLE_ERROR_SOLVE);
    CHECK(strstr(error.message, "not finite"));
    CHECK(isnan(l->x[4]) && l->x[5] == l->t.rest[5]); /* as it was */
    engine->destroy(engine);
    free(held);
    limb_free(l);
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

TEST_CASES(RUN(the_format_multiplies_as_rows_do), RUN(columns_take_sixteen_bits_up_to_65536_rows),
           RUN(nothing_is_padded_but_the_last_block), RUN(a_step_is_the_processors_at_any_work_group_size),
           RUN(the_device_multiplies_as_the_format_does), RUN(rotations_are_found_in_knots),
           RUN(a_small_accelerated_limb_settles), RUN(joint_bodies_are_as_alone),
           RUN(nothing_to_solve_and_nothing_finite), RUN(acceleration_on_the_device_is_the_processors),
           RUN(equilibria_are_those_of_the_factor))
