/* The mixed method's frame by its parts: what the paper's table 1 asks, how solvers compare, how cost grows.
 *
 *     bench_mixed [--quick] [--paper] [--solvers] [--curve] [--frames N] [--tolerance T] [--one BODY CELLS
 * CLIP SOLVER]
 *
 * Every row is a process of its own that plays a clip through the simulation: peak memory is that of the whole
 * character. Times are milliseconds a frame over the frames after the first: what is the same work in each (rotations
 * and all else as `other`, forces, assembly, factor) the least, `solve` and `cpu`, whose work varies, the median; `min`
 * and `median` are the whole method's wall clock. A busy machine shows in the distance between min and median, and not
 * in cpu, the processor time of the whole step on all threads, upsampling included. `GB/s` is what an iteration of the
 * solve reads and writes, as the solver counts it from its own arrays, and `limit` its share of reading as many bytes
 * again and again. */
#include "machine.h"
#include "measure.h"
#include "methods/mixed/mixed.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/supple.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct subject {
    const char *body;
    int32_t cells;
    const char *clip;
    double python_ms; /* the authors' program at this size on the same machine; 0: no such row */
} subject;

typedef struct options {
    bool quick, paper, solvers, curve;
    int32_t frames;
    const bench_limits *limits;
    const char *tolerance;
} options;

typedef struct row {
    double wall[256], cpu[256], solve[256];
    double force, assembly, factor, other;
    int32_t count;
    double iterations; /* mean */
    int32_t most;
    double residual;
    double pass[256]; /* ms of one iteration */
    int32_t passes;
} row;

static void fail(const supple_error *error)
{
    fprintf(stderr, "bench_mixed: %s\n", error->message);
    exit(1);
}

/* Adds one frame; the first has no past and is left out. */
static void add(row *r, const supple_stats *s, const spl_warp_stats *w, double cpu)
{
    if (r->count == 0) r->force = r->assembly = r->factor = r->other = INFINITY;
    r->cpu[r->count] = cpu;
    r->solve[r->count] = w->ms_solve;
    r->wall[r->count++] = s->ms_solve;
    r->force = fmin(r->force, w->ms_force);
    r->assembly = fmin(r->assembly, w->ms_assembly);
    r->factor = fmin(r->factor, w->ms_factor);
    r->other = fmin(r->other, s->ms_solve - w->ms_force - w->ms_assembly - w->ms_factor - w->ms_solve);
    r->iterations += s->iterations;
    if (w->iterations > 0 && w->bytes > 0) r->pass[r->passes++] = w->ms_solve / w->iterations;
    if (s->iterations > r->most) r->most = s->iterations;
    r->residual = fmax(r->residual, s->residual);
}

/* Sorts them. */
static double median(double *values, int32_t count)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static void head(const char *title)
{
    printf("\n%s\n%-5s %7s %7s %-6s %2s %7s | %6s %6s %6s %6s %9s %7s | %7s %7s %7s | %6s %5s %6s %7s %6s\n", title,
           "body", "verts", "tets", "solver", "th", "setup", "other", "forces", "assem", "factor", "iters", "solve",
           "cpu", "min", "median", "MB", "GB/s", "limit", "resid", "python");
    fflush(stdout);
}

/* The rows that are kept; the solve's share of its limit. */
static double record(const char *table, const char *name, const subject *b, const supple_sim *sim, const row *r,
                     int32_t threads, const options *o)
{
    const spl_warp_stats *w = spl_mixed_stats(sim->state);
    bench_record(&(bench_row){.table = table,
                              .row = name,
                              .quantity = "frame",
                              .kind = BENCH_MS,
                              .spread = bench_spread_of(r->wall, r->count),
                              .paper = b->python_ms});
    bench_note(table, name, "frame, processor", BENCH_CPU_MS, bench_spread_of(r->cpu, r->count));
    bench_note(table, name, "solve", BENCH_MS, bench_spread_of(r->solve, r->count));
    bench_note(table, name, "forces", BENCH_MS, bench_least(r->force, r->count));
    bench_note(table, name, "assembly", BENCH_MS, bench_least(r->assembly, r->count));
    bench_note(table, name, "factor", BENCH_MS, bench_least(r->factor, r->count));
    bench_note(table, name, "other", BENCH_MS, bench_least(r->other, r->count));
    bench_value(table, name, "set-up", BENCH_MS, w->ms_setup);
    bench_value(table, name, "tetrahedra", BENCH_COUNT, supple_body_get_info(supple_sim_body(sim))->tets);
    bench_value(table, name, "iterations", BENCH_COUNT, r->iterations / r->count);
    bench_value(table, name, "peak memory", BENCH_MB, peak_mb());
    if (r->passes == 0) return NAN;
    double limit = bench_read_limit(w->bytes, threads, o->limits->triad[threads]);
    return bench_bandwidth(table, name, "solve", w->bytes, bench_spread_of(r->pass, r->passes), limit);
}

static void print(const char *table, const subject *b, const char *solver, int32_t threads, const supple_sim *sim,
                  row *r, const options *o)
{
    char name[80];
    const supple_body_info *i = supple_body_get_info(supple_sim_body(sim));
    const spl_warp_stats *w = spl_mixed_stats(sim->state);
    snprintf(name, sizeof name, "%s, %d cells, %s, %d thread%s", b->body, (int)b->cells, solver, (int)threads,
             threads > 1 ? "s" : "");
    double mb = peak_mb(), share = record(table, name, b, sim, r, threads, o);
    double typical = median(r->wall, r->count), cpu = median(r->cpu, r->count), solve = median(r->solve, r->count),
           mean = r->iterations / r->count,
           rate = r->passes ? w->bytes * 1e-6 / bench_spread_of(r->pass, r->passes).min : 0;
    if (strcmp(table, "growth") == 0) {
        bench_point("mixed frame", i->tets, r->wall[0]);
        bench_point("mixed frame, processor", i->tets, r->cpu[0]);
    }
    printf("%-5s %7d %7d %-6s %2d %7.0f | %6.2f %6.2f %6.2f %6.2f %5.1f/%3d %7.2f | %7.2f %7.2f %7.2f | %6.0f %5.1f "
           "%5.0f%% "
           "%7.1e ",
           b->body, (int)i->vertices, (int)i->tets, solver, (int)threads, w->ms_setup, r->other, r->force, r->assembly,
           r->factor, mean, (int)r->most, solve, cpu, r->wall[0], typical, mb, rate, 100 * share, r->residual);
    if (b->python_ms > 0) printf("%5.0fx", b->python_ms / typical);
    printf("\n");
    fflush(stdout);
}

static const char *const WORD[] = {"auto", "levels", "warp", "scalar", "direct"};

static void play(const char *table, const subject *b, const char *solver, int32_t threads, const options *o)
{
    char name[32];
    supple_error error;
    supple_scene *scene;
    supple_body *body;
    supple_sim *sim;
    row r = {0};
    snprintf(name, sizeof name, "demo:%s", b->body);
    supple_config config = supple_config_default();
    config.thread_count = threads;
    supple_body_config bc = supple_body_config_default();
    bc.resolution = b->cells;
    bc.cache = false;
    supple_sim_config sc = supple_sim_config_default();
    supple_setting settings[] = {{"tolerance", o->tolerance}, {"solver", solver}};
    sc.method = "mixed";
    sc.settings = settings;
    sc.setting_count = solver ? 2 : 1;
    if (supple_scene_load_file(name, &config, &scene, &error) != SUPPLE_OK) fail(&error);
    if (supple_body_create(scene, &bc, &config, &body, &error) != SUPPLE_OK) fail(&error);
    sc.body = body;
    if (supple_sim_create(scene, &sc, &config, &sim, &error) != SUPPLE_OK) fail(&error);
    int32_t clip = supple_scene_clip_find(scene, b->clip);
    int32_t length = supple_scene_frame_count(scene, clip, 30), count = o->frames < length ? o->frames : length;
    for (int32_t k = 0; k < count; k++) { /* consecutive frames of the clip's middle, where joints bend most */
        double start = processor_ms(), at = ((length - count) / 2 + k) / 30.0;
        if (supple_sim_step_clip(sim, clip, at, &error) != SUPPLE_OK) fail(&error);
        double cpu = processor_ms() - start;
        if (k > 0) add(&r, &sim->stats, spl_mixed_stats(sim->state), cpu);
    }
    print(table, b, WORD[spl_mixed_stats(sim->state)->solver], threads, sim, &r, o);
    supple_sim_destroy(sim);
    supple_body_destroy(body);
    supple_scene_destroy(scene);
}

/* In a process of its own: the peak of memory is the row's. */
static void run(const char *table, const subject *b, const char *solver, int32_t threads, const options *o)
{
    pid_t child = fork();
    if (child == 0) {
        play(table, b, solver, threads, o);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        fprintf(stderr, "bench_mixed: %s of %d cells failed\n", b->body, (int)b->cells);
}

static const subject PAPER[] = {{"hero", 38, "reach", 570}, {"hero", 44, "reach", 810}, {"hero", 48, "reach", 980},
                                {"arm", 40, "bend", 570},   {"arm", 47, "bend", 810},   {"arm", 50, "bend", 980},
                                {"hero", 64, "reach", 0},   {"hero", 113, "reach", 0},  {"sack", 51, "lean", 0}};
static const subject MIDDLE[] = {{"hero", 48, "reach", 0}, {"arm", 64, "bend", 0}, {"sack", 28, "lean", 0}};
static const subject CURVE[] = {{"hero", 14, "reach", 0},  {"hero", 22, "reach", 0}, {"hero", 34, "reach", 0},
                                {"hero", 48, "reach", 0},  {"hero", 64, "reach", 0}, {"hero", 80, "reach", 0},
                                {"hero", 113, "reach", 0}, {"hero", 145, "reach", 0}};

static const subject QUICK[] = {{"arm", 16, "bend", 0}, {"arm", 24, "bend", 0}};

static void run_all(const options *o)
{
    enum { PAPERS = sizeof PAPER / sizeof *PAPER, CURVES = sizeof CURVE / sizeof *CURVE };
    if (o->paper) head("The paper's sizes, and larger ones:");
    for (int i = 0; o->paper && i < (o->quick ? 1 : PAPERS); i++)
        for (int32_t threads = 2; threads >= 1; threads--)
            run("the paper's sizes", o->quick ? &QUICK[1] : &PAPER[i], NULL, threads, o);
    if (o->solvers) head("Solvers:");
    for (int i = 0; o->solvers && i < (o->quick ? 1 : 3); i++)
        for (int k = 1; k < 5; k++) run("solvers", o->quick ? &QUICK[1] : &MIDDLE[i], WORD[k], 1, o);
    if (o->curve) head("Growth:");
    for (int i = 0; o->curve && i < (o->quick ? 2 : CURVES); i++)
        run("growth", o->quick ? &QUICK[i] : &CURVE[i], NULL, 2, o);
    if (!o->curve) return;
    bench_growth("growth", "mixed frame", "tetrahedra");
    bench_growth("growth", "mixed frame, processor", "tetrahedra");
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("mixed", &argc, argv);
    options o = {.frames = 12, .tolerance = "1e-5", .quick = how.quick};
    o.limits = bench_limits_get(&how);
    if (o.quick) o.frames = 4;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--paper"))
            o.paper = true;
        else if (!strcmp(argv[i], "--solvers"))
            o.solvers = true;
        else if (!strcmp(argv[i], "--curve"))
            o.curve = true;
        else if (!strcmp(argv[i], "--frames") && i + 1 < argc && atoi(argv[i + 1]) > 1 && atoi(argv[i + 1]) < 256)
            o.frames = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--tolerance") && i + 1 < argc)
            o.tolerance = argv[++i];
        else if (!strcmp(argv[i], "--one") && i + 4 < argc) {
            subject b = {argv[i + 1], atoi(argv[i + 2]), argv[i + 3], 0};
            head("One:");
            for (int32_t threads = 1; threads <= 2; threads++) run("one", &b, argv[i + 4], threads, &o);
            return 0;
        } else {
            fprintf(stderr, "usage: bench_mixed [--quick] [--paper] [--solvers] [--curve] [--frames N] [--tolerance T] "
                            "[--one BODY CELLS CLIP SOLVER]\n");
            return 2;
        }
    }
    if (!o.paper && !o.solvers && !o.curve) o.paper = o.solvers = o.curve = true;
    run_all(&o);
    return 0;
}
