/* Sliding skin at the sizes of the paper's table 2 (Li et al. 2013), beside its times, and a body of 14k vertices.
 *
 *     bench_slide [--quick] [--steps N] [--frames N] [--threads N] [--scene FILE]
 *
 * The paper's bodies are not public: sheets and tubes with as many unknowns, triangles and constraints stand for them,
 * each moved by a few millimetres a step. Steps are of 1 ms, as the paper's; one thread, as it had. Times are processor
 * milliseconds a step: T_LS of the linear solver, T_R of all else. The large body's share of the limit is what its
 * linear solves would take at the limits, against what they take: factorisations by their arithmetic in double, and
 * every iteration's solve by reading the factor twice. A person is demo:hero, and FILE: the whole stage, beside the
 * 33 ms that a frame lasts. */
#include "core/memory.h"
#include "machine.h"
#include "measure.h"
#include "slide/uv.h"

#include <supple/supple.h>

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

typedef enum body_kind { TORUS, TUBE, SHEET } body_kind;

typedef struct example {
    const char *name;
    body_kind kind;
    int nu, nv;
    bool shaken;
    int paper_triangles, paper_unknowns, paper_constraints;
    double paper_T, paper_LS, paper_R;
} example;

static const example examples[] = {
    {"torus", TORUS, 24, 24, false, 1152, 1152, 0, 22.44, 14.73, 7.71},
    {"cylinder", TUBE, 22, 29, false, 1276, 1320, 44, 33.72, 25.67, 8.05},
    {"head", SHEET, 45, 18, false, 1593, 1724, 258, 50.75, 39.95, 10.80},
    {"hand", SHEET, 23, 10, false, 445, 516, 118, 9.00, 5.83, 3.17},
    {"cloth", SHEET, 66, 24, false, 3162, 3320, 278, 164.04, 144.75, 19.29},
    {"torus*", TORUS, 24, 24, true, 1152, 1152, 0, 23.37, 14.45, 8.92},
    {"dinosaur", SHEET, 27, 9, true, 461, 560, 198, 6.27, 2.73, 3.54},
};

static spl_vec3 point_of(body_kind kind, double u, double v)
{
    if (kind == TORUS) {
        double r = 0.35 + 0.11 * cos(2 * pi * v);
        return spl_v3(r * cos(2 * pi * u), r * sin(2 * pi * u), 0.11 * sin(2 * pi * v));
    }
    if (kind == TUBE) return spl_v3(0.1 * cos(2 * pi * u), 0.1 * sin(2 * pi * u), 0.4 * v);
    return spl_v3(0.5 * u, 0.2 * v, 0.05 * sin(3 * u) * cos(2 * v));
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_slide: %s\n", what);
    exit(5);
}

static spl_net make_net(const example *e)
{
    int across = e->kind == SHEET ? e->nu + 1 : e->nu, along = e->kind == TORUS ? e->nv : e->nv + 1;
    size_t n = (size_t)(across * along), m = (size_t)(2 * e->nu * e->nv);
    double *position = calloc(3 * n, sizeof *position);
    int32_t *triangle = calloc(3 * m, sizeof *triangle), *t = triangle;
    if (!position || !triangle) fail("out of memory");
    for (int j = 0; j < along; j++)
        for (int i = 0; i < across; i++) {
            spl_vec3 p = point_of(e->kind, (double)i / e->nu, (double)j / e->nv);
            memcpy(position + 3 * (size_t)(j * across + i), &p, sizeof p);
        }
    for (int j = 0; j < e->nv; j++)
        for (int i = 0; i < e->nu; i++) {
            int32_t a = j * across + i, b = j * across + (i + 1) % across, up = (j + 1) % along * across;
            int32_t c = up + i, d = up + (i + 1) % across;
            int32_t quad[6] = {a, b, d, a, d, c};
            memcpy(t, quad, sizeof quad);
            t += 6;
        }
    supple_allocator a = spl_allocator_of(NULL);
    spl_net net;
    supple_error error;
    if (spl_net_make(position, (int32_t)n, triangle, (int32_t)m, &a, &net, &error) != SUPPLE_OK) fail(error.message);
    free(position);
    free(triangle);
    return net;
}

/* Borders fixed; the end of a tube slides along itself. */
static spl_dermis *make_skin(const example *e, const spl_dermis_settings *set, spl_pool *pool)
{
    spl_net net = make_net(e);
    const spl_surface *f = &net.surface;
    uint8_t *hold = calloc((size_t)f->vertex_count, 1);
    int32_t *edge = calloc(6 * (size_t)f->triangle_count, sizeof *edge);
    size_t edges = 0;
    if (!hold || !edge) fail("out of memory");
    for (size_t t = 0; t < (size_t)f->triangle_count; t++)
        for (size_t k = 0; k < 3; k++) {
            int32_t a = f->triangle[3 * t + k], b = f->triangle[3 * t + (k + 1) % 3];
            if (f->across[3 * t + k] >= 0) continue;
            bool slides = e->kind == TUBE && f->position[a].z > 0.2;
            hold[a] = hold[b] = slides ? SPL_HOLD_SLIDING : SPL_HOLD_FIXED;
            if (!slides) continue;
            edge[2 * edges] = a;
            edge[2 * edges++ + 1] = b;
        }
    spl_dermis_parts parts = {.hold = hold, .edge = edge, .edge_count = edges};
    supple_allocator a = spl_allocator_of(NULL);
    spl_dermis *d;
    supple_error error;
    if (spl_dermis_create(&net, set, &parts, pool, &a, &d, &error) != SUPPLE_OK) fail(error.message);
    free(hold);
    free(edge);
    return d;
}

/* The body at a time: swelling here and there, bending, or shaken. */
static void move(const example *e, const spl_dermis *d, double time, spl_vec3 *x)
{
    for (int32_t v = 0; v < d->net.surface.vertex_count; v++) {
        spl_vec3 p = d->net.surface.position[v];
        double s = 0.04 * sin(2 * pi * time), bend = 0.5 * s * sin(9 * p.x + 4 * p.y);
        if (e->kind == TUBE)
            p = spl_v3(p.x * cos(20 * s * p.z) - p.y * sin(20 * s * p.z),
                       p.x * sin(20 * s * p.z) + p.y * cos(20 * s * p.z), p.z);
        else
            p = spl_add(p, spl_v3(s * sin(7 * p.y), s * cos(5 * p.x), bend));
        if (e->shaken) p.x += 0.1 * sin(4 * pi * time);
        x[v] = p;
    }
}

static int32_t count_unknowns(const spl_dermis *d)
{
    return d->rows.n;
}

/* A part of the step beside the paper's. */
static void record_part(const example *e, const char *quantity, double ms, double paper)
{
    bench_record(&(bench_row){.table = "the paper's table 2",
                              .row = e->name,
                              .quantity = quantity,
                              .kind = BENCH_CPU_MS,
                              .spread = bench_single(ms),
                              .paper = paper});
}

static void run_example(const example *e, int steps, int frame_steps)
{
    spl_dermis_settings set = spl_dermis_settings_default();
    set.zeta = e->shaken ? 0.3 : 1;
    set.world = e->shaken;
    spl_dermis *d = make_skin(e, &set, NULL);
    size_t n = (size_t)d->net.surface.vertex_count;
    spl_vec3 *x = calloc(n, sizeof *x);
    if (!x) fail("out of memory");
    double start = 0, linear = 0;
    for (int k = 0; k <= steps + frame_steps; k++) { /* the first frame warms up */
        if (k == frame_steps) {
            start = processor_ms();
            d->stats = (spl_dermis_stats){0};
        }
        move(e, d, 1e-3 * k, x);
        if (spl_dermis_step(d, x, 1e-3, NULL) != SUPPLE_OK) fail("a step failed");
    }
    double T = (processor_ms() - start) / (steps + 1);
    linear = T * d->stats.ms_linear / (d->stats.ms_linear + d->stats.ms_rest);
    record_part(e, "T", T, e->paper_T);
    record_part(e, "T_LS", linear, e->paper_LS);
    record_part(e, "T_R", T - linear, e->paper_R);
    int held = (int)(2 * n) - (int)count_unknowns(d);
    printf("| %s | %d | %d | %d | %.2f | %.2f | %.2f | %.3f | %.3f | %.3f | %.0f |\n", e->name,
           (int)d->net.surface.triangle_count, (int)(2 * n), held, e->paper_T, e->paper_LS, e->paper_R, T, linear,
           T - linear, e->paper_T / T);
    free(x);
    spl_dermis_destroy(d);
}

/* Texture coordinates of a big body: as many charts as a person would cut. */
static spl_slide_uv make_uv(const spl_dermis *d)
{
    size_t m = (size_t)d->net.surface.triangle_count;
    float *uv = calloc(6 * m, sizeof *uv);
    int32_t *input = calloc(m, sizeof *input), *texture = calloc(m, sizeof *texture);
    if (!uv || !input || !texture) fail("out of memory");
    for (size_t t = 0; t < m; t++) {
        input[t] = (int32_t)t;
        for (size_t k = 0; k < 3; k++) {
            spl_vec3 p = d->net.surface.position[d->net.surface.triangle[3 * t + k]];
            uv[6 * t + 2 * k] = (float)(p.x + (d->net.face[t].z > 0 ? 2 : 0));
            uv[6 * t + 2 * k + 1] = (float)p.y;
        }
    }
    supple_allocator a = spl_allocator_of(NULL);
    spl_slide_uv out;
    if (spl_slide_uv_make(&d->net, uv, input, texture, &a, &out, NULL) != SUPPLE_OK) fail("no texture coordinates");
    free(uv);
    free(input);
    free(texture);
    return out;
}

enum { MOST_FRAMES = 512 };

/* What frames of the large body came to. */
typedef struct big {
    double ms[MOST_FRAMES], linear, rest, texture, mb;
    spl_dermis_stats each[MOST_FRAMES];
    int frames, steps, factors, iterations;
} big;

/* What a factorisation and a solve would take at the machine's limits, ms. */
typedef struct least {
    double factor, solve;
} least;

static least least_of(const spl_dermis *d, int threads, const bench_limits *l)
{
    spl_factor_stats s = spl_factor_get_stats(d->factor);
    double read = bench_read_limit((double)s.bytes, threads, l->triad[threads]);
    return (least){s.flops * 1e-6 / (l->fma[threads] / 2), 2e-6 * (double)s.bytes / read};
}

/* The best share of the limit. */
static double record_big(const spl_dermis *d, const big *b, double cpu, int threads, const bench_limits *limits)
{
    char row[64];
    double share[MOST_FRAMES];
    least l = least_of(d, threads, limits);
    for (int k = 0; k < b->frames; k++)
        share[k] = (l.factor * b->each[k].factorisations + l.solve * b->each[k].iterations) / b->each[k].ms_linear;
    bench_spread of = bench_spread_of(share, b->frames);
    snprintf(row, sizeof row, "%d vertices, %d thread%s", (int)d->net.surface.vertex_count, threads,
             threads > 1 ? "s" : "");
    const char *table = "adaptive steps, 30 frames a second";
    bench_note(table, row, "frame", BENCH_MS, bench_spread_of(b->ms, b->frames));
    bench_value(table, row, "frame, processor", BENCH_CPU_MS, cpu / b->frames);
    bench_value(table, row, "linear", BENCH_MS, b->linear / b->frames);
    bench_value(table, row, "rest", BENCH_MS, b->rest / b->frames);
    bench_value(table, row, "texture", BENCH_MS, b->texture / b->frames);
    bench_value(table, row, "steps", BENCH_COUNT, (double)b->steps / b->frames);
    bench_value(table, row, "factorisations", BENCH_COUNT, (double)b->factors / b->frames);
    bench_value(table, row, "peak memory", BENCH_MB, b->mb);
    bench_note(table, row, "linear share", BENCH_SHARE, of);
    return of.max;
}

static void run_big(int side, int frames, int threads, const bench_limits *limits)
{
    example e = {"body", TORUS, side, side, false, 0, 0, 0, 0, 0, 0};
    spl_dermis_settings set = spl_dermis_settings_default();
    spl_pool *pool = make_pool(threads);
    spl_dermis *d = make_skin(&e, &set, pool);
    spl_slide_uv uv = make_uv(d);
    float *corner = calloc(6 * (size_t)d->net.surface.triangle_count, sizeof *corner);
    spl_vec3 *x = calloc((size_t)d->net.surface.vertex_count, sizeof *x);
    if (!corner || !x) fail("out of memory");
    big sum = {0};
    double wall = 0, cpu = processor_ms();
    if (frames > MOST_FRAMES) frames = MOST_FRAMES;
    for (int k = 0; k <= frames; k++) {
        struct timespec a, b, c;
        move(&e, d, k / 30.0, x);
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (spl_dermis_advance(d, x, 1.0 / 30, NULL) != SUPPLE_OK) fail("a frame failed");
        clock_gettime(CLOCK_MONOTONIC, &b);
        spl_slide_uv_update(&uv, d, corner);
        clock_gettime(CLOCK_MONOTONIC, &c);
        double ms = (double)(c.tv_sec - a.tv_sec) * 1e3 + (double)(c.tv_nsec - a.tv_nsec) * 1e-6;
        if (k == 0) {
            cpu = processor_ms();
            continue;
        }
        sum.each[sum.frames] = d->stats;
        wall += sum.ms[sum.frames++] = ms;
        sum.texture += (double)(c.tv_sec - b.tv_sec) * 1e3 + (double)(c.tv_nsec - b.tv_nsec) * 1e-6;
        sum.linear += d->stats.ms_linear;
        sum.rest += d->stats.ms_rest;
        sum.steps += d->stats.steps + d->stats.rejected;
        sum.factors += d->stats.factorisations;
        sum.iterations += d->stats.iterations;
    }
    cpu = processor_ms() - cpu;
    sum.mb = peak_mb();
    double share = record_big(d, &sum, cpu, threads, limits);
    if (threads == 1) bench_point("slide frame", d->net.surface.vertex_count, bench_spread_of(sum.ms, frames).min);
    printf("| %d | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.1f | %.0f | %.0f%% |\n",
           (int)d->net.surface.vertex_count, threads, (double)sum.steps / frames, (double)sum.factors / frames,
           (double)sum.iterations / frames, sum.linear / frames, sum.rest / frames, sum.texture / frames, wall / frames,
           wall / frames / (1000.0 / 30), cpu / frames, sum.mb, 100 * share);
    free(corner);
    free(x);
    spl_slide_uv_release(&uv);
    spl_dermis_destroy(d);
    spl_pool_destroy(pool);
}

/* What a person's frames came to: the whole stage, tethers and texture coordinates included. */
static void record_person(const char *name, int threads, const double *ms, int frames, double cpu)
{
    const char *table = "a person, 30 frames a second";
    char row[64];
    bench_spread spread = bench_spread_of(ms, frames);
    double sum = 0;
    for (int k = 0; k < frames; k++) sum += ms[k];
    snprintf(row, sizeof row, "%s, %d thread%s", name, threads, threads > 1 ? "s" : "");
    bench_note(table, row, "frame", BENCH_MS, spread);
    bench_value(table, row, "of real time", BENCH_RATIO, sum / frames / (1000.0 / 30));
    bench_value(table, row, "frame and skinning, processor", BENCH_CPU_MS, cpu / frames);
}

/* Sums over frames of what the skin says. */
typedef struct told {
    double steps, factors, linear;
} told;

static void listen(const supple_sim *sim, told *sum)
{
    supple_named_value value;
    for (int32_t i = 0; supple_sim_value(sim, i, &value); i++) {
        if (strcmp(value.name, "slide_steps") == 0 || strcmp(value.name, "slide_rejected") == 0)
            sum->steps += value.value;
        if (strcmp(value.name, "slide_factorisations") == 0) sum->factors += value.value;
        if (strcmp(value.name, "slide_linear_ms") == 0) sum->linear += value.value;
    }
}

/* A character's first clip, by linear blend skinning. */
static void run_scene(const char *path, const char *name, int frames, int threads)
{
    supple_config config = supple_config_default();
    supple_sim_config sc = supple_sim_config_default();
    supple_scene *scene = NULL;
    supple_sim *sim = NULL;
    supple_error error;
    config.thread_count = threads;
    sc.method = "linear";
    sc.slide = true;
    if (supple_scene_load_file(path, &config, &scene, &error) != SUPPLE_OK) fail(error.message);
    if (supple_sim_create(scene, &sc, &config, &sim, &error) != SUPPLE_OK) fail(error.message);
    int clip = supple_scene_clip_count(scene) > 0 ? 0 : -1;
    double wall = 0, cpu = 0, ms[MOST_FRAMES];
    told sum = {0};
    if (frames > MOST_FRAMES) frames = MOST_FRAMES;
    for (int k = 0; k <= frames; k++) {
        if (k == 1) cpu = processor_ms();
        if (supple_sim_step_clip(sim, clip, k / 30.0, &error) != SUPPLE_OK) fail(error.message);
        if (k == 0) continue;
        listen(sim, &sum);
        wall += ms[k - 1] = supple_sim_stats(sim)->ms_slide;
    }
    cpu = processor_ms() - cpu;
    record_person(name, threads, ms, frames, cpu);
    printf("| %s | %d | %d | %.1f | %.1f | %.1f | %.1f | %.2f | %.1f | %.0f |\n", name,
           (int)supple_scene_vertex_count(scene), threads, sum.steps / frames, sum.factors / frames,
           sum.linear / frames, wall / frames, wall / frames / (1000.0 / 30), cpu / frames, peak_mb());
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
}

int main(int count, char **argument)
{
    const char *scene = NULL;
    bench_options how = bench_begin("slide", &count, argument);
    const bench_limits *limits = bench_limits_get(&how);
    int steps = how.quick ? 20 : 300, frames = how.quick ? 5 : 60, threads = 2;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--steps") == 0) steps = atoi(argument[i + 1]);
        if (strcmp(argument[i], "--frames") == 0) frames = atoi(argument[i + 1]);
        if (strcmp(argument[i], "--threads") == 0) threads = atoi(argument[i + 1]);
    }
    for (int i = 1; i + 1 < count; i += 2)
        if (strcmp(argument[i], "--scene") == 0) scene = argument[i + 1];
    if (steps < 1 || frames < 1 || threads < 1 || threads > BENCH_THREADS)
        fail("--steps and --frames take 1 or more, --threads 1 or 2");
    printf("Steps of 1 ms, one thread; the paper's times in ms on a 2.66 GHz Core i5 (2013), ours in processor ms.\n\n"
           "| example | triangles | unknowns | held | paper T | T_LS | T_R | ours T | T_LS | T_R | times faster |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) run_example(&examples[i], steps, 30);
    printf("\nAdaptive steps at 30 frames a second, texture coordinates too; ms a frame.\n\n"
           "| vertices | threads | steps | factors | iterations | linear | rest | texture | all | of real time | "
           "processor | peak MB | of the limit |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int side = how.quick ? 20 : 30; side <= (how.quick ? 40 : 120); side *= 2)
        for (int k = 1; k <= threads; k *= 2) run_big(side, frames, k, limits);
    bench_growth("growth", "slide frame", "vertices");
    printf("\nThe first clip of a person, by linear blend skinning, with tethers; ms a frame.\n\n"
           "| person | vertices | threads | steps | factors | linear | all | of real time | processor | peak MB |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 1; k <= threads; k *= 2) run_scene("demo:hero", "hero", frames, k);
    for (int k = 1; scene && k <= threads; k *= 2) run_scene(scene, "--scene", frames, k);
    return 0;
}
