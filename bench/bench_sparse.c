/* The sparse solvers on lattices of tets. Times are the best of several runs, in milliseconds of one thread's processor
 * time (a busy machine does not change them much), and of the wall clock for more threads. A factor's arithmetic is in
 * double: its limit is half of what multiply-adds in float reach. A solve reads the factor twice, and its limit is the
 * speed of reading as many bytes as it has.
 *
 *     bench_sparse [--quick]     quick: the small scalar problem only
 *     bench_sparse FILE          instead: the body of a character, with its bones held */
#include "body/body.h"
#include "core/memory.h"
#include "core/timer.h"
#include "machine.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "sparse/ic0.h"
#include "sparse/lattice.h"
#include "sparse/pcg.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct problem {
    const char *name;
    spl_pattern *pattern;
    spl_rows rows;
    double *values, *b, *x, *y;
    float *single;
    size_t n;
    double flop_limit, triad; /* GFlop/s of one thread in double; GB/s */
} problem;

static double processor_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void least(double *best, double value)
{
    if (value < *best) *best = value;
}

static double residual(const problem *p, int32_t k)
{
    double r2 = 0, b2 = 0;
    spl_rows_multiply(&p->rows, p->values, p->x, k, p->y, NULL);
    for (size_t i = 0; i < p->n * (size_t)k; i++) {
        r2 += (p->y[i] - p->b[i]) * (p->y[i] - p->b[i]);
        b2 += p->b[i] * p->b[i];
    }
    return sqrt(r2 / b2);
}

enum { MOST_RUNS = 64 };

static bench_spread solve_ms(const problem *p, spl_factor *f, int32_t k, int runs)
{
    double ms[MOST_RUNS];
    for (int run = 0; run < runs; run++) {
        memcpy(p->x, p->b, p->n * (size_t)k * sizeof *p->x);
        double begin = processor_ms();
        spl_factor_solve(f, p->x, k, NULL);
        ms[run] = processor_ms() - begin;
    }
    return bench_spread_of(ms, runs);
}

static bench_spread solve_float_ms(const problem *p, spl_factor *f, int32_t k, int runs)
{
    double ms[MOST_RUNS];
    for (int run = 0; run < runs; run++) {
        for (size_t i = 0; i < p->n * (size_t)k; i++) p->single[i] = (float)p->b[i];
        double begin = processor_ms();
        spl_factor_solve_float(f, p->single, k, NULL);
        ms[run] = processor_ms() - begin;
    }
    for (size_t i = 0; i < p->n * (size_t)k; i++) p->x[i] = (double)p->single[i];
    return bench_spread_of(ms, runs);
}

static bench_spread factor_ms(const problem *p, spl_factor *f, int runs, bool wall)
{
    double ms[MOST_RUNS];
    for (int run = 0; run < runs; run++) {
        double begin = wall ? spl_now_ms() : processor_ms();
        supple_error error;
        if (spl_factor_factorise(f, p->values, &error) != SUPPLE_OK) {
            fprintf(stderr, "%s\n", error.message);
            return bench_single(NAN);
        }
        ms[run] = (wall ? spl_now_ms() : processor_ms()) - begin;
    }
    return bench_spread_of(ms, runs);
}

/* What one solver did; the rows, and one line of the table. */
static void report(const problem *p, const char *solver, const spl_factor_stats *s, double analyse, bench_spread factor,
                   const bench_spread solve[3], double error)
{
    double bytes = 2 * (double)s->bytes, limit = bench_read_limit((double)s->bytes, 1, p->triad);
    bench_value(p->name, solver, "analyse", BENCH_CPU_MS, analyse);
    bench_note(p->name, solver, "factor", BENCH_CPU_MS, factor);
    bench_note(p->name, solver, "solve 1", BENCH_CPU_MS, solve[0]);
    bench_note(p->name, solver, "solve 3", BENCH_CPU_MS, solve[1]);
    bench_note(p->name, solver, "solve 8", BENCH_CPU_MS, solve[2]);
    bench_value(p->name, solver, "factor's size", BENCH_MB, (double)s->bytes * 1e-6);
    if (s->flops > 0) {
        double flops = s->flops * 1e-6;
        bench_note(p->name, solver, "factor arithmetic", BENCH_GFLOP_S, bench_inverse(factor, flops));
        bench_note(p->name, solver, "factor share", BENCH_SHARE, bench_inverse(factor, flops / p->flop_limit));
    }
    double one = bench_bandwidth(p->name, solver, "solve 1", bytes, solve[0], limit);
    double three = bench_bandwidth(p->name, solver, "solve 3", bytes, solve[1], limit);
    printf("  %-20s %8.2f %9.2f %5.1f %4.0f%% %8.1f | %8.3f %8.3f %8.3f | %6.1f %4.0f%% %6.1f %4.0f%% | %8.1e\n",
           solver, analyse, factor.min, s->flops / factor.min * 1e-6,
           100 * s->flops / factor.min * 1e-6 / p->flop_limit, (double)s->bytes * 1e-6, solve[0].min, solve[1].min,
           solve[2].min, one * limit, 100 * one, three * limit, 100 * three, error);
    fflush(stdout);
}

static void run(const problem *p, const supple_solver_backend *backend, int runs)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    spl_factor_options o = {.backend = backend};
    double begin = processor_ms();
    if (spl_factor_create(p->pattern, &o, &a, NULL, &f, NULL) != SUPPLE_OK) return;
    double analyse = processor_ms() - begin;
    bench_spread factor = factor_ms(p, f, runs, false), solve[3];
    solve[0] = solve_ms(p, f, 1, 3 * runs);
    solve[1] = solve_ms(p, f, 3, 3 * runs);
    double error = residual(p, 3);
    solve[2] = solve_ms(p, f, 8, runs);
    spl_factor_stats s = spl_factor_get_stats(f);
    report(p, s.backend, &s, analyse, factor, solve, error);
    spl_factor_destroy(f);
}

static void run_float(const problem *p, int runs)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_factor *f;
    double begin = processor_ms();
    if (spl_factor_create(p->pattern, &(spl_factor_options){.single = true}, &a, NULL, &f, NULL) != SUPPLE_OK) return;
    double analyse = processor_ms() - begin;
    bench_spread factor = factor_ms(p, f, 2, false), solve[3];
    solve[0] = solve_float_ms(p, f, 1, 3 * runs);
    solve[1] = solve_float_ms(p, f, 3, 3 * runs);
    double error = residual(p, 3);
    solve[2] = solve_float_ms(p, f, 8, runs);
    spl_factor_stats s = spl_factor_get_stats(f);
    report(p, "supple-float", &s, analyse, factor, solve, error);
    spl_factor_destroy(f);
}

static void multiply(void *context, const double *x, double *y, int32_t k)
{
    const problem *p = context;
    spl_rows_multiply(&p->rows, p->values, x, k, y, NULL);
}

static void run_pcg(problem *p, int32_t k)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_ic0 *f = NULL;
    spl_pcg *w = NULL;
    double shift = 0, begin = processor_ms();
    if (spl_ic0_create(p->pattern, &a, &f, NULL) == SUPPLE_OK &&
        spl_pcg_create(p->n, k, &a, NULL, &w, NULL) == SUPPLE_OK &&
        spl_ic0_factorise(f, p->values, &shift, NULL) == SUPPLE_OK) {
        double setup = processor_ms() - begin;
        spl_pcg_problem q = {.multiply = multiply,
                             .multiply_context = p,
                             .precondition = spl_ic0_precondition,
                             .precondition_context = f,
                             .tolerance = 1e-6,
                             .max_iterations = 2000};
        for (size_t i = 0; i < p->n * (size_t)k; i++) p->x[i] = 0;
        begin = processor_ms();
        spl_pcg_result r = spl_pcg_solve(w, &q, p->b, p->x, k);
        double ms = processor_ms() - begin;
        char row[32];
        snprintf(row, sizeof row, "pcg-ic0, %d sides", (int)k);
        bench_value(p->name, row, "set-up", BENCH_CPU_MS, setup);
        bench_value(p->name, row, "solve", BENCH_CPU_MS, ms);
        bench_value(p->name, row, "iterations", BENCH_COUNT, r.iterations);
        printf("  %-20s %8.2f %27s | %8.2f in %d iterations, shift %g, residual %.1e\n", row, setup, "", ms,
               (int)r.iterations, shift, r.residual);
        fflush(stdout);
    }
    spl_pcg_destroy(w);
    spl_ic0_destroy(f);
}

static void run_threads(const problem *p, int32_t threads, int runs)
{
    supple_allocator a = spl_allocator_of(NULL);
    supple_config config = supple_config_default();
    config.thread_count = threads;
    spl_pool *pool;
    spl_factor *f;
    if (spl_pool_create(&config, &pool, NULL) != SUPPLE_OK) return;
    if (spl_factor_create(p->pattern, NULL, &a, pool, &f, NULL) == SUPPLE_OK) {
        char row[32];
        bench_spread ms = factor_ms(p, f, runs, true);
        snprintf(row, sizeof row, "supple, %d thread%s", (int)threads, threads > 1 ? "s" : "");
        bench_note(p->name, row, "factor, wall", BENCH_MS, ms);
        printf("  %-20s %8s %9.2f on the wall's clock\n", row, "", ms.min);
    }
    fflush(stdout);
    spl_factor_destroy(f);
    spl_pool_destroy(pool);
}

typedef const supple_solver_backend *backend_fn(const char *variant);

static backend_fn *load_cholmod(void)
{
    backend_fn *function = NULL;
#ifdef SPL_CHOLMOD_PLUGIN
    void *handle = dlopen(SPL_CHOLMOD_PLUGIN, RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    if (handle) symbol = dlsym(handle, "supple_cholmod_backend");
    if (symbol) memcpy(&function, &symbol, sizeof function);
#endif
    return function;
}

/* `mesh` is freed. */
static void measure(const char *name, lattice m, int block, int runs, const bench_limits *limits)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_assembly s;
    double begin = processor_ms();
    if (spl_assembly_create(m.tets, (size_t)m.tet_count, 4, m.vertex_count, m.unknown, m.unknown_count, block, &a, &s,
                            NULL) != SUPPLE_OK)
        return;
    double pattern_ms = processor_ms() - begin, gather_ms = 1e30;
    problem p = {.name = name, .pattern = &s.pattern, .n = spl_pattern_unknowns(&s.pattern)};
    double *elements = lattice_elements(&m, block, 1e-3);
    p.values = malloc(spl_pattern_values(&s.pattern) * sizeof *p.values);
    for (int r = 0; r < 5; r++) {
        begin = processor_ms();
        spl_assembly_gather(&s, elements, p.values, NULL);
        least(&gather_ms, processor_ms() - begin);
    }
    p.flop_limit = limits->fma[1] / 2;
    p.triad = limits->triad[1];
    bench_value(name, "problem", "pattern", BENCH_CPU_MS, pattern_ms);
    bench_value(name, "problem", "assembly", BENCH_CPU_MS, gather_ms);
    bench_value(name, "problem", "unknowns", BENCH_COUNT, (double)p.n);
    printf("\n%s: %d tets, %zu unknowns, %zu entries; pattern %.2f ms, assembly %.2f ms\n"
           "  %-20s %8s %9s %5s %5s %8s | %8s %8s %8s | %6s %5s %6s %5s | %8s\n",
           name, m.tet_count, p.n, s.pattern.start[s.pattern.n], pattern_ms, gather_ms, "solver", "analyse", "factor",
           "GF/s", "limit", "MB", "solve 1", "solve 3", "solve 8", "GB/s 1", "limit", "GB/s 3", "limit", "residual");
    p.b = malloc(p.n * 8 * sizeof *p.b);
    p.x = malloc(p.n * 8 * sizeof *p.x);
    p.y = malloc(p.n * 8 * sizeof *p.y);
    p.single = malloc(p.n * 8 * sizeof *p.single);
    uint64_t state = 3;
    for (size_t i = 0; i < 8 * p.n; i++) p.b[i] = lattice_random(&state) - 0.5;
    if (spl_rows_create(&s.pattern, &a, &p.rows, NULL) == SUPPLE_OK) {
        backend_fn *cholmod = load_cholmod();
        run(&p, NULL, runs);
        run_float(&p, runs);
        run_pcg(&p, 1);
        run_pcg(&p, 3);
        if (cholmod) run(&p, cholmod("simplicial"), block == 3 ? 1 : runs);
        if (cholmod) run(&p, cholmod("supernodal"), runs);
        run_threads(&p, 1, runs);
        run_threads(&p, 2, runs);
        spl_rows_release(&p.rows, &a);
    }
    free(p.single);
    free(p.y);
    free(p.x);
    free(p.b);
    free(p.values);
    free(elements);
    spl_assembly_release(&s, &a);
    lattice_free(&m);
}

/* A character's tetrahedra in the form of a lattice. The cells are scaled to about 1, as a lattice's are. */
static lattice mesh_of(const spl_body *body)
{
    const spl_tets *t = &body->tets;
    lattice m = {.vertex_count = t->vertex_count, .tet_count = t->tet_count};
    m.points = malloc((size_t)t->vertex_count * 3 * sizeof *m.points);
    m.tets = malloc((size_t)t->tet_count * 4 * sizeof *m.tets);
    m.unknown = malloc((size_t)t->vertex_count * sizeof *m.unknown);
    if (!m.points || !m.tets || !m.unknown) exit(SUPPLE_ERROR_MEMORY);
    memcpy(m.tets, t->tet, (size_t)t->tet_count * 4 * sizeof *m.tets);
    for (int32_t v = 0; v < t->vertex_count; v++) {
        const double p[3] = {t->position[v].x, t->position[v].y, t->position[v].z};
        for (int c = 0; c < 3; c++) m.points[3 * v + c] = p[c] / body->flesh.cell;
        m.unknown[v] = body->bone[v] >= 0 ? -1 : m.unknown_count++;
    }
    return m;
}

static int measure_character(const char *file, const bench_limits *limits)
{
    supple_config config = supple_config_default();
    spl_body_options how = spl_body_options_default();
    supple_error error;
    supple_scene *scene;
    spl_pool *pool;
    spl_body body;
    supple_result result = supple_scene_load_file(file, &config, &scene, &error);
    if (result == SUPPLE_OK) result = spl_pool_create(&config, &pool, &error);
    if (result == SUPPLE_OK) result = spl_body_make(scene, &how, &config, pool, &body, &error);
    if (result != SUPPLE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return (int)result;
    }
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    char title[80];
    for (int block = 1; block <= 3; block += 2) {
        snprintf(title, sizeof title, "%.60s-%s", name, block == 1 ? "scalar" : "vector");
        measure(title, mesh_of(&body), block, block == 1 ? 7 : 3, limits);
    }
    spl_body_release(&body);
    spl_pool_destroy(pool);
    supple_scene_destroy(scene);
    return 0;
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("sparse", &argc, argv);
    const bench_limits *l = bench_limits_get(&how);
    if (argc > 1) return measure_character(argv[1], l);
    if (how.quick) {
        measure("small-scalar", lattice_make(5, 5, 20, 1), 1, 5, l);
        return 0;
    }
    measure("limb-scalar", lattice_make(8, 8, 70, 1), 1, 15, l);
    measure("cube-scalar", lattice_make(17, 17, 16, 1), 1, 7, l);
    measure("limb-vector", lattice_make(8, 8, 70, 1), 3, 3, l);
    measure("cube-vector", lattice_make(17, 17, 16, 1), 3, 1, l);
    return 0;
}
