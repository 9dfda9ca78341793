/* Fast projective skinning on an OpenCL device: the paper's table 1 (matrix formats, one and three coordinates),
 * kernels by events, and the rows of its figure 3 and table 2 on limbs of prisms of the same sizes.
 *
 *     bench_cl [--quick] [--device cl[:N]] [--steps N]
 *
 * Device times of PoCL, which is the processor behind OpenCL's interface, say nothing about GPUs. */
#include "core/timer.h"
#include "measure.h"
#include "methods/projective/cl/batch.h"
#include "methods/projective/cl/engine_private.h"
#include "methods/projective/tube.h"
#include "record.h"
#include "sim/sim.h"

#include <string.h>

typedef struct options {
    bool quick;
    const char *device;
    int32_t steps;
} options;

/* Skin vertices as in the paper's table 2: cylinder, character low, mid and high. */
static const struct {
    const char *name;
    int32_t around, rings;
    double authors_cpu, authors_gpu, authors_cpu_touch, authors_gpu_touch; /* t_sim; t_col, ms */
} SIZES[] = {{"800", 20, 40, 1.8, 1.7, 5.0, 0.6},
             {"3.8k", 45, 85, 6.6, 1.8, 22, 2.0},
             {"9.6k", 70, 137, 17.2, 2.9, 57, 5.4},
             {"18k", 96, 188, 33.8, 4.0, 106, 14.1}};

enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES, TIES = 90 };

static void stop(const supple_error *error)
{
    fprintf(stderr, "bench_cl: %s\n", error->message);
    exit((int)error->code); /* 1 is `supple bench --fail`'s */
}

static supple_device *open_device(const options *o, const char *source, bool profile)
{
    supple_device *d;
    supple_error error = {0};
    spl_device_options how = {.source = source, .profile = profile};
    if (spl_device_open(o->device, &how, NULL, &d, &error) != SUPPLE_OK) stop(&error);
    return d;
}

/* ---- a limb ---- */

typedef struct scene {
    tube t;
    spl_pd *pd;
    double *x, *s, *spring;
    int32_t *none;
    spl_pin *pin;
    int32_t pin_count;
    spl_tie tie[TIES];
} scene;

/* Anchors as springs (Projective Skinning 2018) instead of held vertices: figure 3's other half. */
static void soften(scene *c, spl_pd_input *in)
{
    size_t n = (size_t)c->t.vertex_count;
    c->none = malloc(n * sizeof *c->none);
    c->spring = calloc(n, sizeof *c->spring);
    c->pin = calloc(n, sizeof *c->pin);
    for (size_t v = 0; v < n; v++) {
        c->none[v] = -1;
        if (c->t.held[v] < 0) continue;
        c->spring[v] = 5e4;
        c->pin[c->pin_count++] = (spl_pin){.vertex = (int32_t)v, .stiffness = c->spring[v]};
    }
    in->held = c->none;
    in->spring = c->spring;
}

static scene *scene_make(int32_t around, int32_t rings, bool soft, spl_pool *pool)
{
    scene *c = calloc(1, sizeof *c);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    c->t = tube_make(around, rings);
    spl_pd_input in = {.elements = &c->t.elements,
                       .mu = c->t.mu,
                       .mass = c->t.mass,
                       .held = c->t.held,
                       .floor = 1e-12,
                       .pace = SPL_PACE_NONE,
                       .tie_capacity = TIES,
                       .direct_ties = TIES};
    if (soft) soften(c, &in);
    if (spl_pd_create(&in, &a, pool, &c->pd, &error) != SUPPLE_OK) stop(&error);
    size_t n = 3 * (size_t)c->t.vertex_count;
    c->x = malloc(n * sizeof *c->x);
    c->s = malloc(n * sizeof *c->s);
    for (int32_t j = 0; j < TIES; j++) { /* one end's skin against the other's */
        int32_t v = j % c->t.skin, w = c->t.skin - 2 * around + j % (around - 1);
        c->tie[j] = (spl_tie){.vertex = {v, w, w + 1, w + around},
                              .coefficient = {1, -0.4, -0.3, -0.3},
                              .offset = spl_v3(-0.6, 0, 0),
                              .normal = spl_v3(1, 0, 0),
                              .stiffness = 20};
    }
    return c;
}

static void scene_free(scene *c)
{
    spl_pd_destroy(c->pd);
    tube_free(&c->t);
    void *blocks[] = {c->x, c->s, c->spring, c->none, c->pin, c};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
}

/* Steps of 1/60 s in which the limb bends; the least time of one, ms. */
static double play(scene *c, spl_pd_engine *engine, int32_t ties, int32_t steps)
{
    double least = INFINITY;
    size_t n = 3 * (size_t)c->t.vertex_count;
    memcpy(c->x, c->t.rest, n * sizeof *c->x);
    spl_pd_use(c->pd, engine);
    for (int32_t k = 0; k < steps; k++) {
        supple_error error = {0};
        spl_pd_stats stats;
        memcpy(c->s, c->x, n * sizeof *c->s);
        tube_pose(&c->t, 40 * sin(0.1 * k), 20 * sin(0.07 * k), c->x);
        for (int32_t i = 0; i < c->pin_count; i++)
            memcpy(c->pin[i].target, c->x + 3 * (size_t)c->pin[i].vertex, sizeof c->pin[i].target);
        spl_pd_problem q = {.dt = 1.0 / 60,
                            .inertia = c->s,
                            .pin = c->pin,
                            .pin_count = c->pin_count,
                            .tie = c->tie,
                            .tie_count = ties,
                            .iterations = 10};
        double start = spl_now_ms();
        if (spl_pd_solve(c->pd, &q, c->x, &stats, &error) != SUPPLE_OK) stop(&error);
        double ms = spl_now_ms() - start;
        if (k > 0 && ms < least) least = ms;
    }
    spl_pd_use(c->pd, NULL);
    return least;
}

static spl_cl_engine *engine_make(supple_device *d, const scene *c)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_pd_engine *engine;
    if (spl_cl_engine_create(d, c->pd, 10, &a, &engine, &error) != SUPPLE_OK) stop(&error);
    return (spl_cl_engine *)engine;
}

/* ---- figure 3 and table 2 ---- */

/* A size on the processor and on the device. The authors' are of a 6-core Xeon and of a GTX 1080 Ti. */
static void record_steps(int i, double ms[2][3], int32_t runs)
{
    static const char *const NAMES[] = {"bones hold", "bones by springs", "contacts"};
    const double authors[2][3] = {{SIZES[i].authors_cpu, 0, SIZES[i].authors_cpu + SIZES[i].authors_cpu_touch},
                                  {SIZES[i].authors_gpu, 0, SIZES[i].authors_gpu + SIZES[i].authors_gpu_touch}};
    char row[48];
    for (int where = 0; where < 2; where++)
        for (int k = 0; k < 3; k++) {
            snprintf(row, sizeof row, "%s skin vertices, %s", SIZES[i].name, where ? "device" : "processor");
            bench_record(&(bench_row){.table = "figure 3 and table 2",
                                      .row = row,
                                      .quantity = NAMES[k],
                                      .kind = BENCH_MS,
                                      .spread = bench_least(ms[where][k], runs),
                                      .paper = authors[where][k]});
        }
}

static void run_steps(const options *o, supple_device *d)
{
    printf(
        "\nFigure 3 and table 2: one step (10 iterations; the device's with 10 of conjugate gradients each), the least "
        "of %d, "
        "ms.\nProcessor: one thread, one factor. hard: bones hold their vertices; soft: by springs. ties: %d contacts, "
        "hard. fps: 1000 / ms of hard.\nAuthors: a 6-core Xeon with 12 threads; a GTX 1080 Ti.\n\n",
        (int)o->steps - 1, TIES);
    printf("%6s %8s | %8s %8s %8s %6s | %8s %8s %8s %6s | authors: cpu  gpu, with contacts\n", "skin", "tets",
           "cpu hard", "soft", "ties", "fps", "dev hard", "soft", "ties", "fps");
    for (int i = 0; i < (o->quick ? 2 : SIZE_COUNT); i++) {
        double ms[2][3];
        for (int soft = 0; soft < 2; soft++) {
            scene *c = scene_make(SIZES[i].around, SIZES[i].rings, soft, NULL);
            spl_cl_engine *e = engine_make(d, c);
            ms[0][soft] = play(c, NULL, 0, o->steps);
            ms[1][soft] = play(c, &e->base, 0, o->steps);
            if (!soft) {
                ms[0][2] = play(c, NULL, TIES, o->steps);
                ms[1][2] = play(c, &e->base, TIES, o->steps);
            }
            e->base.destroy(&e->base);
            if (soft) {
                printf("%6s %8d | %8.2f %8.2f %8.2f %6.0f | %8.2f %8.2f %8.2f %6.0f | %.1f %.1f, %.1f %.1f\n",
                       SIZES[i].name, (int)c->t.tet_count, ms[0][0], ms[0][1], ms[0][2], 1000 / ms[0][0], ms[1][0],
                       ms[1][1], ms[1][2], 1000 / ms[1][0], SIZES[i].authors_cpu, SIZES[i].authors_gpu,
                       SIZES[i].authors_cpu + SIZES[i].authors_cpu_touch,
                       SIZES[i].authors_gpu + SIZES[i].authors_gpu_touch);
                fflush(stdout);
                record_steps(i, ms, o->steps - 1);
            }
            scene_free(c);
        }
    }
}

/* Bytes that one launch of a kernel reads and writes at least, 0: not told. */
static double bytes_of(const spl_cl_engine *e, int kernel)
{
    double n = e->node_count, tets = e->tet_count, four = sizeof(cl_float4);
    switch (kernel) {
    case SPL_K_PROJECT:
        return tets * (four + 44 + 2 * four + 4 * four) + 2 * four * e->vertex_count;
    case SPL_K_MULTIPLY:
        return (double)spl_hybrid_count(&e->matrix).hybrid + 2 * four * n;
    case SPL_K_BEGIN:
        return n * (4 * four + 4);
    case SPL_K_STEP:
        return n * (6 * four + 4);
    case SPL_K_TURN:
        return n * (3 * four + 4);
    case SPL_K_GATHER:
        return 4 * tets * (four + 4) + n * 8 * four;
    case SPL_K_ADVANCE:
        return n * 7 * four;
    case SPL_K_PRESS:
        return (double)e->tie_count * 10 * four;
    case SPL_K_COMBINE: /* from one vector, and to one */
        return n * 2 * four;
    default:
        return 0;
    }
}

static void run_kernels(const options *o)
{
    supple_device *d = open_device(o, NULL, true);
    printf(
        "\nKernels by events: microseconds of one launch (the mean), launches of a step, MB a launch at least, GB/s\n");
    for (int i = 0; i < (o->quick ? 1 : SIZE_COUNT); i++) {
        scene *c = scene_make(SIZES[i].around, SIZES[i].rings, false, NULL);
        spl_cl_engine *e = engine_make(d, c);
        int32_t steps = o->steps < 6 ? o->steps : 6;
        play(c, &e->base, TIES, steps);
        printf("%s skin vertices, %d tets, %.1f MB on the device:\n", SIZES[i].name, (int)c->t.tet_count,
               (double)e->work.bytes * 1e-6);
        for (int k = 0; k < SPL_K_COUNT; k++) {
            const spl_cl_kernel *at = &e->kernel[k];
            if (at->launches == 0) continue;
            double us = 1e3 * at->ms / (double)at->launches, mb = 1e-6 * bytes_of(e, k);
            char row[64];
            snprintf(row, sizeof row, "%s skin vertices, %s", SIZES[i].name, at->name);
            bench_value("kernels", row, "launch", BENCH_NS, 1e3 * us);
            if (mb > 0) bench_value("kernels", row, "launch bandwidth", BENCH_GB_S, 1e3 * mb / us);
            if (mb > 0) bench_value("kernels", row, "launch bytes", BENCH_MB, mb);
            printf("    %-12s %9.1f us  x %4.0f", at->name, us, (double)at->launches / steps);
            if (mb > 0) printf("  %8.3f MB  %6.2f GB/s", mb, 1e3 * mb / us);
            printf("\n");
        }
        e->base.destroy(&e->base);
        scene_free(c);
    }
    supple_device_close(d);
}

/* ---- several bodies ---- */

enum { CROWD = 8 };

/* Limbs of 800 skin vertices one after the other, and as one. */
static void run_crowd(const options *o, supple_device *d)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    scene *c[CROWD];
    spl_cl_engine *e[CROWD];
    spl_pd *pd[CROWD];
    spl_cl_batch *batch;
    spl_pd_problem q[CROWD];
    spl_cl_batch_part part[CROWD];
    double apart = 0, least = INFINITY;
    for (int i = 0; i < CROWD; i++) {
        c[i] = scene_make(SIZES[0].around, SIZES[0].rings, false, NULL);
        e[i] = engine_make(d, c[i]);
        pd[i] = c[i]->pd;
        apart += play(c[i], &e[i]->base, 0, o->steps);
    }
    if (spl_cl_batch_create(d, pd, CROWD, 10, &a, &batch, &error) != SUPPLE_OK) stop(&error);
    for (int32_t k = 0; k < o->steps; k++) {
        for (int i = 0; i < CROWD; i++) {
            memcpy(c[i]->s, c[i]->x, 3 * (size_t)c[i]->t.vertex_count * sizeof(double));
            tube_pose(&c[i]->t, 40 * sin(0.1 * k), 20 * sin(0.07 * k), c[i]->x);
            q[i] = (spl_pd_problem){.dt = 1.0 / 60, .inertia = c[i]->s, .iterations = 10};
            part[i] = (spl_cl_batch_part){.problem = &q[i], .x = c[i]->x};
        }
        double start = spl_now_ms();
        if (spl_cl_batch_solve(batch, part, &error) != SUPPLE_OK) stop(&error);
        double ms = spl_now_ms() - start;
        if (k > 0 && ms < least) least = ms;
    }
    printf("\n%d bodies of 800 skin vertices: a step of each in turn %.1f ms, in one launch %.1f ms\n", CROWD, apart,
           least);
    spl_cl_batch_destroy(batch);
    for (int i = 0; i < CROWD; i++) {
        e[i]->base.destroy(&e[i]->base);
        scene_free(c[i]);
    }
}

/* ---- table 1 ---- */

/* y = A x in CRS and ELL (padded to the longest row), in both at once (a row a work-item: the paper's CRS + ELL), and
 * ours, where the group reads the CRS part; of one and of three coordinates. Made for this table alone; the solver's
 * own kernel has a scalar product at its end. ours goes through a block by whatever size work-groups have. */
#define FORMATS_OF(T)                                                                                                  \
    "__kernel void crs_" #T "(int n, __global const uint *start, __global const float *value, "                        \
    "__global const ushort *column, __global const " #T " *x, __global " #T " *y) {\n"                                 \
    "int i = get_global_id(0); if (i >= n) return; " #T " s = 0.0f;\n"                                                 \
    "for (uint k = start[i]; k < start[i + 1]; k++) s += value[k] * x[column[k]]; y[i] = s; }\n"                       \
    "__kernel void ell_" #T "(int n, int width, __global const float *value, __global const ushort *column, "          \
    "__global const " #T " *x, __global " #T " *y) {\n"                                                                \
    "int i = get_global_id(0); if (i >= n) return; " #T " s = 0.0f;\n"                                                 \
    "for (int e = 0; e < width; e++) s += value[e * n + i] * x[column[e * n + i]]; y[i] = s; }\n"                      \
    "__kernel void both_" #T "(int n, int block, int ell, __global const float *diagonal, "                            \
    "__global const float *value, __global const ushort *column, __global const uint *start, "                         \
    "__global const float *rest, __global const ushort *rest_column, __global const " #T " *x, "                       \
    "__global " #T " *y) {\n"                                                                                          \
    "int i = get_global_id(0); if (i >= n) return; " #T " s = diagonal[i] * x[i];\n"                                   \
    "for (int e = 0; e < ell; e++) { int k = (i / block * ell + e) * block + i % block; "                              \
    "s += value[k] * x[column[k]]; }\n"                                                                                \
    "for (uint k = start[i]; k < start[i + 1]; k++) s += rest[k] * x[rest_column[k]]; y[i] = s; }\n"                   \
    "__kernel void ours_" #T "(int n, int block, int ell, __global const float *diagonal, "                            \
    "__global const float *value, __global const ushort *column, __global const uint *start, "                         \
    "__global const float *rest, __global const ushort *rest_column, __global const " #T " *x, "                       \
    "__global " #T " *y, __local " #T " *product) {\n"                                                                 \
    "int g = get_group_id(0), me = get_local_id(0), w = get_local_size(0);\n"                                          \
    "int first = g * block, end = min(first + block, n); uint from = start[first], to = start[end];\n"                 \
    "for (uint k = from + me; k < to; k += w) product[k - from] = rest[k] * x[rest_column[k]];\n"                      \
    "barrier(CLK_LOCAL_MEM_FENCE);\n"                                                                                  \
    "for (int i = first + me; i < end; i += w) { " #T " s = diagonal[i] * x[i];\n"                                     \
    "for (int e = 0; e < ell; e++) { int k = (g * ell + e) * block + i - first; s += value[k] * x[column[k]]; }\n"     \
    "for (uint k = start[i]; k < start[i + 1]; k++) s += product[k - from]; y[i] = s; } }\n"

static const char FORMATS[] = FORMATS_OF(float) FORMATS_OF(float4);

/* The matrix by rows and as ELL, columns of 16 bits. */
typedef struct formats {
    spl_hybrid h;
    uint32_t *start;
    float *value, *ell_value;
    uint16_t *column, *ell_column;
    int32_t longest;
} formats;

static void formats_make(const spl_rows *rows, const double *values, formats *f)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    size_t n = (size_t)rows->n;
    if (spl_hybrid_create(rows, SPL_CL_BLOCK, false, &a, &f->h, &error) != SUPPLE_OK) stop(&error);
    spl_hybrid_set(&f->h, values);
    f->longest = spl_hybrid_count(&f->h).longest;
    f->start = malloc((n + 1) * sizeof *f->start);
    f->value = malloc(rows->start[n] * sizeof *f->value);
    f->column = malloc(rows->start[n] * sizeof *f->column);
    f->ell_value = calloc(n * (size_t)f->longest, sizeof *f->ell_value);
    f->ell_column = calloc(n * (size_t)f->longest, sizeof *f->ell_column);
    for (size_t i = 0; i <= n; i++) f->start[i] = (uint32_t)rows->start[i];
    for (size_t i = 0; i < n; i++)
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
            size_t at = (k - rows->start[i]) * n + i;
            f->value[k] = f->ell_value[at] = (float)values[rows->entry[k]];
            f->column[k] = f->ell_column[at] = (uint16_t)rows->column[k];
        }
}

static void formats_free(formats *f)
{
    spl_hybrid_release(&f->h);
    void *blocks[] = {f->start, f->value, f->column, f->ell_value, f->ell_column};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
}

enum { CRS, PADDED, BOTH, OURS, KINDS };

/* The least of many launches of so many groups (0: a row a work-item), microseconds. */
static double launch(spl_cl_work *w, const char *name, const spl_cl_argument *list, cl_uint count, size_t n,
                     size_t groups)
{
    spl_cl_kernel k;
    double least = INFINITY;
    spl_cl_kernel_make(w, name, &k);
    spl_cl_arguments(w, &k, list, count);
    for (int i = 0; i < 60; i++) {
        k.ms = 0;
        spl_cl_launch(w, &k, groups > 0 ? groups : (n + k.items - 1) / k.items);
        if (1e3 * k.ms < least) least = 1e3 * k.ms;
    }
    spl_cl_kernel_drop(w->device, &k);
    return least;
}

#define A(x) SPL_CL_ARGUMENT(x)

/* Whether the device's y is A x. */
static void check_product(spl_cl_work *w, const formats *f, cl_mem y, const float *x, int width, const char *name)
{
    size_t count = (size_t)f->h.n * (size_t)width;
    float *there = calloc(count, sizeof *there), *here = calloc(count, sizeof *here);
    double worst = 0, size = 0;
    spl_hybrid_multiply(&f->h, x, width, here);
    spl_cl_read(w, y, there, count * sizeof *there, true);
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)(there[i] - here[i])));
        size = fmax(size, fabs((double)here[i]));
    }
    free(there), free(here);
    if (w->failed != CL_SUCCESS || worst <= 1e-5 * size) return;
    fprintf(stderr, "bench_cl: %s multiplies wrongly: off by %g of %g\n", name, worst, size);
    exit(1);
}

/* All four with elements of `width` floats; NAN for ours where a block's rest is too much for local memory. */
static void time_formats(supple_device *d, const formats *f, const char *type, int width, double us[KINDS])
{
    spl_cl_work w = {.device = d};
    const spl_hybrid *h = &f->h;
    size_t n = (size_t)h->n, entries = f->start[n], size = (size_t)width * sizeof(float);
    size_t local = (spl_hybrid_fullest(h) + 1) * size;
    cl_int rows = h->n, longest = f->longest, ell = h->ell, block = h->block;
    float *x = calloc(n, size);
    for (size_t i = 0; i < n * (size_t)width; i++) x[i] = (float)(i % 17) * 0.1F;
    cl_mem b[] = {spl_cl_buffer(&w, n + 1, 4, f->start),
                  spl_cl_buffer(&w, entries, 4, f->value),
                  spl_cl_buffer(&w, entries, 2, f->column),
                  spl_cl_buffer(&w, n * (size_t)f->longest, 4, f->ell_value),
                  spl_cl_buffer(&w, n * (size_t)f->longest, 2, f->ell_column),
                  spl_cl_buffer(&w, n, 4, h->diagonal),
                  spl_cl_buffer(&w, h->ell_count, 4, h->ell_value),
                  spl_cl_buffer(&w, h->ell_count, 2, h->ell_column),
                  spl_cl_buffer(&w, n + 1, 4, h->start),
                  spl_cl_buffer(&w, h->rest_count, 4, h->rest_value),
                  spl_cl_buffer(&w, h->rest_count, 2, h->rest_column),
                  spl_cl_buffer(&w, n, size, x),
                  spl_cl_buffer(&w, n, size, NULL)};
    const spl_cl_argument crs[] = {A(rows), A(b[0]), A(b[1]), A(b[2]), A(b[11]), A(b[12])};
    const spl_cl_argument pad[] = {A(rows), A(longest), A(b[3]), A(b[4]), A(b[11]), A(b[12])};
    const spl_cl_argument ours[] = {A(rows), A(block), A(ell),   A(b[5]),  A(b[6]),  A(b[7]),
                                    A(b[8]), A(b[9]),  A(b[10]), A(b[11]), A(b[12]), SPL_CL_LOCAL(local)};
    const struct {
        const char *name;
        const spl_cl_argument *list;
        cl_uint count;
    } kind[KINDS] = {{"crs", crs, 6}, {"ell", pad, 6}, {"both", ours, 11}, {"ours", ours, 12}};
    for (int i = 0; i < KINDS; i++) {
        char name[32];
        us[i] = NAN;
        if (i == OURS && local > d->local_bytes) continue;
        snprintf(name, sizeof name, "%s_%s", kind[i].name, type);
        us[i] = launch(&w, name, kind[i].list, kind[i].count, n, i == OURS ? (size_t)h->blocks : 0);
        check_product(&w, f, b[12], x, width, name);
    }
    supple_error error = {0};
    spl_cl_finish(&w);
    if (spl_cl_outcome(&w, &error) != SUPPLE_OK) stop(&error);
    for (size_t i = 0; i < sizeof b / sizeof *b; i++) spl_cl_drop(d, b[i]);
    free(x);
}

/* The processor's product by rows, one thread, double; microseconds. */
static double time_rows(const spl_rows *rows, const double *values, int32_t k)
{
    size_t n = (size_t)rows->n * (size_t)k;
    double *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y), least = INFINITY;
    for (size_t i = 0; i < n; i++) x[i] = (double)(i % 17) * 0.1;
    for (int i = 0; i < 30; i++) {
        double start = spl_now_ms();
        spl_rows_multiply(rows, values, x, k, y, NULL);
        double us = 1e3 * (spl_now_ms() - start);
        if (us < least) least = us;
    }
    free(x), free(y);
    return least;
}

static void record_formats(const char *name, spl_hybrid_bytes b, double us[2][KINDS + 1])
{
    static const char *const TIMES[] = {"processor", "CRS", "ELL", "CRS + ELL", "ours"};
    const double bytes[] = {(double)b.crs, (double)b.ell, (double)b.hybrid};
    static const char *const SIZES_OF[] = {"CRS memory", "ELL memory", "ours memory"};
    char row[48];
    snprintf(row, sizeof row, "%s", name);
    for (int i = 0; i < 3; i++) bench_value("table 1", row, SIZES_OF[i], BENCH_MB, 1e-6 * bytes[i]);
    for (int wide = 0; wide < 2; wide++)
        for (int i = 0; i <= KINDS; i++) {
            snprintf(row, sizeof row, "%s, %s", name, wide ? "3D" : "1D");
            if (isfinite(us[wide][i])) bench_value("table 1", row, TIMES[i], BENCH_NS, 1e3 * us[wide][i]);
        }
}

/* One row of the table: A of a solver that has taken a step. */
static void print_formats(supple_device *d, const char *name, const spl_pd *pd)
{
    spl_pd_view v = spl_pd_look(pd);
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_rows rows;
    formats f = {0};
    double us[2][KINDS + 1];
    if (spl_rows_create(v.pattern, &a, &rows, &error) != SUPPLE_OK) stop(&error);
    formats_make(&rows, v.values, &f);
    for (int wide = 0; wide < 2; wide++) {
        us[wide][0] = time_rows(&rows, v.values, wide ? 3 : 1);
        time_formats(d, &f, wide ? "float4" : "float", wide ? 4 : 1, us[wide] + 1);
    }
    spl_hybrid_bytes b = spl_hybrid_count(&f.h);
    printf("%5s %6d %2d to %2d | %8.0f %8.0f %8.0f %8.0f%% %8.0f%%", name, (int)rows.n, (int)b.shortest, (int)b.longest,
           1e-3 * (double)b.hybrid, 1e-3 * (double)b.ell, 1e-3 * (double)b.crs,
           100 * ((double)b.ell_entries / (double)b.entries - 1),
           100 * (double)(f.h.ell_count - (size_t)rows.n * (size_t)f.h.ell) / (double)b.entries);
    for (int wide = 0; wide < 2; wide++) {
        printf(" |");
        for (int i = 0; i <= KINDS; i++) printf(" %7.1f", us[wide][i]);
    }
    printf("\n");
    fflush(stdout);
    record_formats(name, b, us);
    formats_free(&f);
    spl_rows_release(&rows, &a);
}

/* The flesh of `hero`, whose rows differ more than those of a limb of prisms. */
static void print_hero(supple_device *d)
{
    supple_scene *hero;
    supple_sim *sim;
    supple_error error = {0};
    supple_allocator a = spl_allocator_of(NULL);
    supple_sim_config sc = supple_sim_config_default();
    sc.method = "projective";
    if (supple_scene_load_file("demo:hero", NULL, &hero, &error) != SUPPLE_OK) stop(&error);
    if (supple_sim_create(hero, &sc, NULL, &sim, &error) != SUPPLE_OK) stop(&error);
    const spl_solid *solid = &sim->flesh.solid;
    spl_pd_input in = {.elements = &solid->elements,
                       .mu = solid->material.mu,
                       .held = sim->flesh.body->bone,
                       .floor = 1e-12,
                       .pace = SPL_PACE_NONE};
    spl_pd *pd;
    spl_pd_stats stats;
    spl_pd_problem q = {.iterations = 1};
    if (spl_pd_create(&in, &a, NULL, &pd, &error) != SUPPLE_OK) stop(&error);
    if (spl_pd_solve(pd, &q, sim->flesh.x, &stats, &error) != SUPPLE_OK) stop(&error);
    print_formats(d, "hero", pd);
    spl_pd_destroy(pd);
    supple_sim_destroy(sim);
    supple_scene_destroy(hero);
}

static void run_formats(const options *o)
{
    static const struct {
        const char *name;
        int32_t around, rings;
    } LIMBS[] = {{"800", 20, 40}, {"3.8k", 45, 85}, {"9.6k", 70, 137}, {"18k", 96, 188}, {"30k", 120, 250}};
    supple_device *d = open_device(o, FORMATS, true);
    printf(
        "Table 1: A's formats; kB of values and indices (16 bits a column), zeros that ELL and ours store, of the "
        "entries,\nand products in microseconds: the processor's (rows, double, one thread) and the device's kernels "
        "by events,\nof one and of three coordinates. both: CRS + ELL, a row a work-item; ours: the group reads the "
        "CRS part into local memory.\n\n");
    printf("%5s %6s %8s | %8s %8s %8s %9s %9s", "skin", "rows", "long", "ours kB", "ELL", "CRS", "ELL zeros", "ours");
    for (int wide = 0; wide < 2; wide++)
        printf(" | %7s %7s %7s %7s %7s", wide ? "3D cpu" : "1D cpu", "CRS", "ELL", "both", "ours");
    printf("\n");
    print_hero(d);
    for (size_t i = 0; i < (o->quick ? 2 : sizeof LIMBS / sizeof *LIMBS); i++) {
        scene *c = scene_make(LIMBS[i].around, LIMBS[i].rings, false, NULL);
        play(c, NULL, 0, 2); /* A's values */
        print_formats(d, LIMBS[i].name, c->pd);
        scene_free(c);
    }
    printf("authors, GTX 1080 Ti, 30k (their ns are taken for microseconds): 1D cpu 393, CRS 23.3, ELL 16.9, both "
           "17.7, ours 8.3; 3D 510, 35.1, 22.0, 26.1, 18.5\n");
    supple_device_close(d);
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("cl", &argc, argv);
    options o = {.steps = 12, .quick = how.quick};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--device") && i + 1 < argc)
            o.device = argv[++i];
        else if (!strcmp(argv[i], "--steps") && i + 1 < argc && atoi(argv[i + 1]) > 1)
            o.steps = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: bench_cl [--quick] [--device cl[:N]] [--steps N]\n");
            return 2;
        }
    }
    supple_device *d = NULL;
    supple_error error = {0};
    if (!o.device && spl_device_open("cl", &(spl_device_options){0}, NULL, &d, &error) != SUPPLE_OK) {
        printf("%s: nothing is measured\n", error.message); /* `supple bench all` goes on */
        return 0;
    }
    if (!d) d = open_device(&o, NULL, false);
    if (!o.device) o.device = "cl";
    printf("Device: %s\n", supple_device_name(d));
    if (strstr(supple_device_name(d), "Portable Computing"))
        printf("It is the processor: these times say nothing about GPUs.\n");
    printf("\n");
    run_formats(&o);
    run_kernels(&o);
    run_steps(&o, d);
    run_crowd(&o, d);
    supple_device_close(d);
    return 0;
}
