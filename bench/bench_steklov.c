/* Steklov-Poincare skinning by its parts: the paper's two tables (section 7), figure 4's iterations, and growth, ours
 * beside the paper's.
 *
 *     bench_steklov [--quick] [--full] [--parts] [--bend] [--figure4] [--curve] [--cells N] [--large] [--threads N]
 *                   [--tolerance T] [--only N]
 *
 * Both criteria stand beside the paper's tables: the residual, and steps that move no vertex by more than 0.1 mm.
 * Every row is a process of its own that plays a clip through the simulation. `cpu` is processor time on all threads,
 * which a busy machine does not change (threads that wait for work spin a little: --threads 1 for the pure sum); all
 * other times are the wall's. --cells sets the size of --bend and --figure4, --large or --full take the paper's sizes;
 * --only runs one character, way or size of those that are asked for, counted from 1. */
#include "machine.h"
#include "measure.h"
#include "methods/steklov/steklov.h"
#include "sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/supple.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct options {
    bool parts, bend, figure4, curve, large, quick;
    int32_t cells, threads, only;
    const char *tolerance;
    const bench_limits *limits;
} options;

/* What to simulate. */
typedef struct subject {
    const char *body, *clip;
    int32_t cells;
    bool graded;
    const char *weights;    /* bounded ones of many bones take minutes on a million tets */
    double paper[7];        /* ms, as its table has them: see head_parts */
    const char *paper_tets; /* and which body */
    int32_t first;          /* only so many frames from the start; 0: some all over the clip */
} subject;

/* A way of solving. */
typedef struct way {
    const char *name, *settings;
} way;

/* A character in a simulation. */
typedef struct stage {
    supple_scene *scene;
    supple_body *body;
    supple_sim *sim;
    int32_t clip, frames;
} stage;

static void fail(const supple_error *error)
{
    fprintf(stderr, "bench_steklov: %s\n", error->message);
    exit(1);
}

/* `settings`: "a=1 b=2", at most 8. */
static int32_t split(char *text, supple_setting *out)
{
    int32_t count = 0;
    for (char *word = strtok(text, " "); word && count < 8; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        out[count++] = (supple_setting){word, equals + 1};
    }
    return count;
}

/* `collider`: a file, or NULL for contact of the flesh with itself, or "" for none. */
static stage raise_curtain(const subject *b, const char *settings, const char *collider, const options *o)
{
    stage s = {0};
    char file[32], text[200];
    supple_setting list[8];
    supple_error error;
    supple_config config = supple_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_sim_config sc = supple_sim_config_default();
    snprintf(file, sizeof file, "demo:%s", b->body);
    snprintf(text, sizeof text, "%s", settings);
    config.thread_count = o->threads;
    bc.resolution = b->cells;
    bc.grade = b->graded;
    bc.max_tets = 3000000;
    sc.method = "steklov";
    sc.collide = !collider ? SUPPLE_COLLIDE_SELF : *collider ? SUPPLE_COLLIDE_WORLD : SUPPLE_COLLIDE_NONE;
    if (collider && *collider) {
        sc.colliders = &collider;
        sc.collider_count = 1;
    }
    sc.setting_count = split(text, list);
    sc.settings = list;
    if (supple_scene_load_file(file, &config, &s.scene, &error) != SUPPLE_OK) fail(&error);
    if (supple_body_create(s.scene, &bc, &config, &s.body, &error) != SUPPLE_OK) fail(&error);
    sc.body = s.body;
    if (supple_sim_create(s.scene, &sc, &config, &s.sim, &error) != SUPPLE_OK) fail(&error);
    s.clip = supple_scene_clip_find(s.scene, b->clip);
    s.frames = supple_scene_frame_count(s.scene, s.clip, 30);
    return s;
}

static void drop_curtain(stage *s)
{
    supple_sim_destroy(s->sim);
    supple_body_destroy(s->body);
    supple_scene_destroy(s->scene);
}

/* A step; its processor time. */
static double play(stage *s, int32_t frame)
{
    supple_error error;
    double start = processor_ms();
    if (supple_sim_step_clip(s->sim, s->clip, frame / 30.0, &error) != SUPPLE_OK) fail(&error);
    return processor_ms() - start;
}

static const spl_steklov_stats *stats_of(const stage *s)
{
    return spl_steklov_last(s->sim->state);
}

/* ---- sums over frames ---- */

enum { MOST_FRAMES = 64 };

typedef struct sums {
    double frames, wall, cpu, contact, skinning, stiffness, force, interior, boundary, precondition;
    double interior_solves, interior_iterations, boundary_iterations, newton, pairs;
    double residual; /* the largest */
    double wall_of[MOST_FRAMES], cpu_of[MOST_FRAMES];
    double pass_of[MOST_FRAMES]; /* ms of an iteration of the boundary's solve */
    int kept, passes;
} sums;

static void add(sums *t, const stage *s, double cpu)
{
    const spl_steklov_stats *k = stats_of(s);
    t->frames++;
    t->wall += supple_sim_stats(s->sim)->ms_solve;
    t->cpu += cpu;
    if (t->kept < MOST_FRAMES) {
        t->wall_of[t->kept] = supple_sim_stats(s->sim)->ms_solve;
        t->cpu_of[t->kept++] = cpu;
    }
    if (t->passes < MOST_FRAMES && k->boundary_iterations > 0)
        t->pass_of[t->passes++] = k->ms_boundary / k->boundary_iterations;
    t->contact += k->ms_contact;
    t->skinning += k->ms_skinning;
    t->stiffness += k->ms_stiffness;
    t->force += k->ms_force;
    t->interior += k->ms_interior;
    t->boundary += k->ms_boundary;
    t->precondition += k->ms_precondition;
    t->interior_solves += k->interior_solves;
    t->interior_iterations += k->interior_iterations;
    t->boundary_iterations += k->boundary_iterations;
    t->newton += k->newton;
    t->pairs += k->pairs;
    t->residual = fmax(t->residual, k->residual);
}

static double per(double sum, double count)
{
    return count > 0 ? sum / count : 0;
}

/* ---- the first table ---- */

static void head_parts(const char *title)
{
    printf("\n%s (ms)\n%-5s %-16s %7s %7s | %6s %6s | %7s %7s | %7s %7s | %8s || %6s %6s %6s %6s %6s | %8s %6s %8s "
           "%7s %6s\n",
           title, "body", "", "verts", "tets", "skin", "stiff", "int. CG", "solve", "bd. CG", "step", "frame", "force",
           "contct", "pairs", "steps", "iters", "cpu", "MB", "set-up", "resid", "limit");
    fflush(stdout);
}

static void print_paper(const subject *b)
{
    const double *p = b->paper;
    printf("%-5s %-16s %7s %7s | %6.0f %6.0f | %7.1f %7.0f | %7.1f %7.0f | %8.0f ||\n", b->body, "paper, 4 cores", "",
           b->paper_tets, p[0], p[1], p[2], p[3], p[4], p[5], p[6]);
    fflush(stdout);
}

/* A part of a frame and the paper's number beside it. */
static void record_part(const char *table, const char *row, const char *quantity, double ms, double paper)
{
    bench_record(&(bench_row){.table = table,
                              .row = row,
                              .quantity = quantity,
                              .kind = BENCH_MS,
                              .spread = bench_single(ms),
                              .paper = paper});
}

/* The rows of the first table and of growth; the share of the limit that the volume's iterations reach, NAN for the
 * surface's. */
static double record_parts(const subject *b, const char *form, const stage *s, const sums *t, const options *o)
{
    char row[96];
    const char *table = b->first   ? "growth"
                        : o->large ? "the paper's first table"
                                   : "the paper's first table, smaller bodies";
    const double *p = b->paper;
    snprintf(row, sizeof row, "%s, %d cells%s, %s", b->body, (int)b->cells, b->graded ? " graded" : "", form);
    bench_record(&(bench_row){.table = table,
                              .row = row,
                              .quantity = "frame",
                              .kind = BENCH_MS,
                              .spread = bench_spread_of(t->wall_of, t->kept),
                              .paper = p[6]});
    bench_note(table, row, "frame, processor", BENCH_CPU_MS, bench_spread_of(t->cpu_of, t->kept));
    record_part(table, row, "skinning", t->skinning / t->frames, p[0]);
    record_part(table, row, "stiffness", t->stiffness / t->frames, p[1]);
    if (t->interior_solves > 0) {
        record_part(table, row, "interior iteration", per(t->interior, t->interior_iterations), p[2]);
        record_part(table, row, "interior solve", per(t->interior, t->interior_solves), p[3]);
    }
    bench_record(&(bench_row){.table = table,
                              .row = row,
                              .quantity = "boundary iteration",
                              .kind = BENCH_MS,
                              .spread = bench_spread_of(t->pass_of, t->passes),
                              .paper = p[4]});
    record_part(table, row, "boundary step", per(t->boundary + t->precondition, t->newton), p[5]);
    record_part(table, row, "forces", t->force / t->frames, 0);
    record_part(table, row, "contacts", t->contact / t->frames, 0);
    record_part(table, row, "set-up", supple_sim_setup(s->sim)->ms_factor, 0);
    bench_value(table, row, "tetrahedra", BENCH_COUNT, supple_body_get_info(s->body)->tets);
    bench_value(table, row, "iterations", BENCH_COUNT, t->boundary_iterations / t->frames);
    bench_value(table, row, "peak memory", BENCH_MB, peak_mb());
    double bytes = spl_steklov_bytes(s->sim->state);
    if (bytes <= 0 || o->threads > BENCH_THREADS) return NAN;
    double limit = bench_read_limit(bytes, o->threads, o->limits->triad[o->threads]);
    return bench_bandwidth(table, row, "boundary iteration", bytes, bench_spread_of(t->pass_of, t->passes), limit);
}

static void play_parts(const subject *b, const way *w, const options *o)
{
    char settings[200];
    const char *form = w->name;
    snprintf(settings, sizeof settings, "%s tolerance=%s weights=%s", w->settings, o->tolerance, b->weights);
    stage s = raise_curtain(b, settings, NULL, o);
    const supple_body_info *i = supple_body_get_info(s.body);
    sums t = {0};
    int32_t step = s.frames > 12 ? s.frames / 12 : 1;
    for (int32_t k = 0; b->first && k < b->first; k++) { /* those before the third know too little of the past */
        double cpu = play(&s, k);
        if (k > 2) add(&t, &s, cpu);
    }
    for (int32_t k = 0; !b->first && k < s.frames; k += step) { /* pairs: the second's start is the frame before */
        play(&s, k);
        if (k + 1 < s.frames) add(&t, &s, play(&s, k + 1));
    }
    double mb = peak_mb(), share = record_parts(b, form, &s, &t, o);
    if (b->first) {
        bench_point("steklov frame", i->tets, bench_spread_of(t.wall_of, t.kept).min);
        bench_point("steklov frame, processor", i->tets, bench_spread_of(t.cpu_of, t.kept).min);
    }
    printf("%-5s %-16s %7d %7d | %6.1f %6.1f | %7.2f %7.1f | %7.2f %7.1f | %8.1f || %6.1f %6.1f %6.0f %6.1f %6.1f | "
           "%8.1f %6.0f %8.0f %7.1e",
           b->body, form, (int)i->vertices, (int)i->tets, t.skinning / t.frames, t.stiffness / t.frames,
           per(t.interior, t.interior_iterations), per(t.interior, t.interior_solves),
           per(t.boundary, t.boundary_iterations), per(t.boundary + t.precondition, t.newton), t.wall / t.frames,
           t.force / t.frames, t.contact / t.frames, t.pairs / t.frames, t.newton / t.frames,
           t.boundary_iterations / t.frames, t.cpu / t.frames, mb, supple_sim_setup(s.sim)->ms_factor, t.residual);
    if (isfinite(share)) printf(" %5.0f%%", 100 * share);
    printf("\n");
    fflush(stdout);
    drop_curtain(&s);
}

/* ---- the second table ---- */

/* Springs are the same in all, along normals. */
static const way WAYS[] = {
    {"surface, as the paper's", "formulation=surface operator=polynomial distance=4 precondition=skinned"},
    {"surface", "formulation=surface"},
    {"volume, as the paper's", "formulation=volume precondition=skinned precision=double"},
    {"volume (default)", "formulation=volume"},
    {"surface, to 0.1 mm", "formulation=surface still=0.1"},
    {"volume, to 0.1 mm", "formulation=volume still=0.1"}};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS, RANGES = 6 };

static const int32_t RANGE_ENDS[RANGES + 1] = {0, 15, 30, 35, 40, 45, 50};

/* The paper's, of 259k tets on 4 cores: pairs, frames of its surface and its volume, ms. */
static const double PAPER_BEND[RANGES][3] = {{0, 349, 293},    {0, 380, 306},    {64, 397, 407},
                                             {239, 619, 1250}, {530, 673, 2110}, {1094, 691, 2770}};

/* The column of the paper's that a way stands beside. */
static int paper_of(int w)
{
    return strncmp(WAYS[w].name, "surface", 7) == 0 ? 1 : 2;
}

/* What the processes of the second table hand to the one that prints it. */
static sums (*bend_sums)[RANGES];
static int32_t *bend_tets;

static void play_bend(const way *w, const options *o)
{
    char settings[200];
    snprintf(settings, sizeof settings, "%s tolerance=%s", w->settings, o->tolerance);
    subject arm = {.body = "arm", .clip = "bend", .cells = o->large ? 120 : o->cells};
    stage s = raise_curtain(&arm, settings, NULL, o);
    *bend_tets = supple_body_get_info(s.body)->tets;
    for (int r = 0; r < RANGES; r++)
        for (int32_t k = RANGE_ENDS[r]; k < RANGE_ENDS[r + 1] && k < s.frames; k++) {
            double cpu = play(&s, k);
            if (k > 0) add(&bend_sums[w - WAYS][r], &s, cpu);
        }
    drop_curtain(&s);
}

/* What contact costs: processor time of the last frames, those of the most pairs, over that of the first, which have
 * none. The paper's surface grows 2 times and its volume 9.5; wanted of the surface form at the paper's size: 2.3. */
static double record_growth(const char *table, int w, const options *o)
{
    const sums *first = &bend_sums[w][0], *last = &bend_sums[w][RANGES - 1];
    double ratio = per(per(last->cpu, last->frames), per(first->cpu, first->frames));
    if (!(ratio > 0)) return NAN;
    bench_row row = {.table = table,
                     .row = WAYS[w].name,
                     .quantity = "growth from no contact to the most",
                     .kind = BENCH_RATIO,
                     .spread = bench_single(ratio),
                     .paper = PAPER_BEND[RANGES - 1][paper_of(w)] / PAPER_BEND[0][paper_of(w)],
                     .wanted = w == 1 && o->large ? 2.3 : 0};
    bench_record(&row);
    return ratio;
}

/* A range of frames by each way that was played; the paper's are of its own two ways. */
static void record_bend(const options *o)
{
    char row[96];
    const char *table = o->large ? "the paper's second table" : "the paper's second table, a smaller body";
    for (int w = 0; w < WAY_COUNT; w++)
        for (int r = 0; r < RANGES; r++) {
            const sums *t = &bend_sums[w][r];
            if (t->frames == 0) continue;
            snprintf(row, sizeof row, "%s, %d to %d degrees", WAYS[w].name, 3 * (int)RANGE_ENDS[r],
                     3 * (int)RANGE_ENDS[r + 1]);
            bench_record(&(bench_row){.table = table,
                                      .row = row,
                                      .quantity = "frame",
                                      .kind = BENCH_MS,
                                      .spread = bench_spread_of(t->wall_of, t->kept),
                                      .paper = PAPER_BEND[r][paper_of(w)]});
            bench_note(table, row, "frame, processor", BENCH_CPU_MS, bench_spread_of(t->cpu_of, t->kept));
            bench_value(table, row, "pairs", BENCH_COUNT, per(t->pairs, t->frames));
            bench_value(table, row, "iterations", BENCH_COUNT, per(t->boundary_iterations, t->frames));
        }
    for (int w = 0; w < WAY_COUNT; w++) {
        double ratio = record_growth(table, w, o);
        if (!isfinite(ratio)) continue;
        printf("%s: the last frames take %.1f times as long as the first (processor)\n", WAYS[w].name, ratio);
    }
}

/* Solves of a step in all ways; then one row for each range of frames. */
static void print_bend(void)
{
    printf("\nThe paper's second table: an arm of %d tets bent to 150 degrees in 50 frames (ms a frame; the paper's: "
           "259k, 4 cores)\n%-14s | %-20s |",
           (int)*bend_tets, "", "paper");
    for (int w = 0; w < WAY_COUNT; w++) printf(" %-47s |", WAYS[w].name);
    printf("\n%-6s %7s | %5s %7s %6s |", "frames", "degrees", "pairs", "surface", "volume");
    for (int w = 0; w < WAY_COUNT; w++)
        printf(" %5s %5s %5s %6s %6s %7s %7s |", "pairs", "steps", "iters", "1 CG", "inter.", "frame", "cpu");
    for (int r = 0; r < RANGES; r++) {
        printf("\n%2d-%-3d %3d-%-3d | %5.0f %7.0f %6.0f |", (int)RANGE_ENDS[r], (int)RANGE_ENDS[r + 1],
               3 * (int)RANGE_ENDS[r], 3 * (int)RANGE_ENDS[r + 1], PAPER_BEND[r][0], PAPER_BEND[r][1],
               PAPER_BEND[r][2]);
        for (int w = 0; w < WAY_COUNT; w++) {
            const sums *t = &bend_sums[w][r];
            printf(" %5.0f %5.1f %5.0f %6.2f %6.1f %7.0f %7.0f |", per(t->pairs, t->frames), per(t->newton, t->frames),
                   per(t->boundary_iterations, t->frames), per(t->boundary, t->boundary_iterations),
                   per(t->interior, t->frames), per(t->wall, t->frames), per(t->cpu, t->frames));
        }
    }
    double worst = 0;
    for (int w = 0; w < WAY_COUNT; w++)
        for (int r = 0; r < RANGES; r++) worst = fmax(worst, bend_sums[w][r].residual);
    printf("\nlargest residual %.1e\n", worst);
}

/* ---- figure 4 ---- */

static const char *const PLANE = "bench_steklov_plane.json";

/* Limits of a solve; 0: none. */
typedef struct limit {
    int32_t steps, iterations;
} limit;

/* Positions of the body after a sharp bend to 90 degrees, perhaps pressed on a plane, by a way of solving that ends at
 * its limits; and how many iterations it took. */
static double *bend_at_once(const char *settings, limit l, bool pressed, const options *o, size_t *count,
                            double *diagonal, int32_t *iterations)
{
    char text[200];
    snprintf(text, sizeof text, "%s tolerance=1e-10 steps=%d iterations=%d", settings, l.steps > 0 ? l.steps : 300,
             l.iterations > 0 ? l.iterations : 5000);
    subject arm = {.body = "arm", .clip = "bend", .cells = o->cells};
    stage s = raise_curtain(&arm, text, pressed ? PLANE : "", o);
    play(&s, 30);
    *count = 3 * (size_t)s.sim->flesh.body->tets.vertex_count;
    *diagonal = s.sim->flesh.solid.diagonal;
    double *x = malloc(*count * sizeof *x);
    if (!x) exit(1);
    memcpy(x, s.sim->flesh.x, *count * sizeof *x);
    *iterations = stats_of(&s)->boundary_iterations;
    drop_curtain(&s);
    return x;
}

static double distance(const double *x, const double *y, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
    return most;
}

/* One row: errors after so many iterations, and the first number of them that is enough. */
static void play_way(const way *w, const double *truth, const options *o)
{
    static const int32_t limits[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96};
    enum { LIMITS = sizeof limits / sizeof *limits };
    int32_t enough = -1, taken;
    printf("%-46s", w->name);
    for (int k = 0; k < LIMITS; k++) {
        size_t n;
        double diagonal, *x = bend_at_once(w->settings, (limit){1, limits[k]}, false, o, &n, &diagonal, &taken);
        double error = distance(x, truth, n) / diagonal;
        printf("%7.3f", 100 * error);
        if (enough < 0 && error < 0.005) enough = limits[k];
        free(x);
        fflush(stdout);
        if (error < 1e-5) break;
    }
    bench_value("figure 4", w->name, "iterations to 0.5%", BENCH_COUNT, enough);
    printf("   0.5%%: %d\n", (int)enough);
}

/* Where contacts are found afresh every step: the iterations of all steps until the error is small. */
static void play_pressed(const way *w, const double *truth, const options *o)
{
    for (int32_t steps = 1; steps <= 40; steps++) {
        size_t n;
        int32_t taken;
        double diagonal, *x = bend_at_once(w->settings, (limit){steps, 0}, true, o, &n, &diagonal, &taken);
        double error = distance(x, truth, n) / diagonal;
        free(x);
        if (error >= 0.005 && steps < 40) continue;
        bench_value("figure 4, pressed on a plane", w->name, "iterations to 0.5%", BENCH_COUNT, taken);
        printf("%-46s %5d iterations in %d steps: %.3f%%\n", w->name, (int)taken, (int)steps, 100 * error);
        fflush(stdout);
        return;
    }
}

static void play_figure4(const options *o)
{
    static const way free_ways[] = {
        {"volume, no preconditioner", "formulation=volume precondition=none"},
        {"surface, no preconditioner", "formulation=surface precondition=none"},
        {"surface, sparse K_b(0), Cholesky", "formulation=surface operator=polynomial distance=4 boundary=cholesky"},
        {"surface, sparse K_b(0), incomplete", "formulation=surface operator=polynomial distance=4"},
        {"surface, exact", "formulation=surface"},
        {"volume, skinned incomplete factor", "formulation=volume precondition=skinned"},
        {"volume, direct", "formulation=volume precondition=direct"}};
    static const way pressed_ways[] = {
        {"volume, no preconditioner", "formulation=volume precondition=none"},
        {"surface, no preconditioner", "formulation=surface precondition=none"},
        {"surface, contacts not in the preconditioner",
         "formulation=surface operator=polynomial distance=4 precondition=skinned"},
        {"surface, contacts in it", "formulation=surface operator=polynomial distance=4"},
        {"surface, exact", "formulation=surface"},
        {"volume, contacts not in the preconditioner", "formulation=volume precondition=skinned"},
        {"volume, contacts in it", "formulation=volume"},
        {"volume, direct", "formulation=volume precondition=direct"}};
    size_t n;
    int32_t taken;
    double diagonal, *truth = bend_at_once("formulation=volume", (limit){0}, false, o, &n, &diagonal, &taken);
    printf(
        "\nFigure 4: largest position error, %% of the diagonal, after 1 2 3 4 5 6 7 8 10 12 14 16 20 24 32 48 64 96 "
        "iterations of the first step:\nan arm bent to 90 degrees at once\n");
    for (size_t w = 0; w < sizeof free_ways / sizeof *free_ways; w++) play_way(&free_ways[w], truth, o);
    free(truth);
    FILE *file = fopen(PLANE, "w");
    if (!file) return;
    fputs("{\"colliders\": [{\"plane\": {\"point\": [0, 0, -0.028], \"normal\": [0, 0, 1]}}]}", file);
    fclose(file);
    printf("the same, pressed on a plane: iterations until the error is below 0.5%%\n");
    truth = bend_at_once("formulation=volume", (limit){0}, true, o, &n, &diagonal, &taken);
    for (size_t w = 0; w < sizeof pressed_ways / sizeof *pressed_ways; w++) play_pressed(&pressed_ways[w], truth, o);
    remove(PLANE);
    free(truth);
}

/* ---- all ---- */

typedef void row_fn(const void *what, const way *w, const options *o);

static void parts_row(const void *what, const way *w, const options *o)
{
    play_parts(what, w, o);
}

static void bend_row(const void *what, const way *w, const options *o)
{
    (void)what;
    play_bend(w, o);
}

static void figure_row(const void *what, const way *w, const options *o)
{
    (void)what;
    (void)w;
    play_figure4(o);
}

/* In a process of its own: the peak of memory is the row's. */
static void run(row_fn *row, const void *what, const way *w, const options *o)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        row(what, w, o);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) fprintf(stderr, "bench_steklov: a row failed\n");
}

#define PAPER_220 {13, 128, 8.7, 54, 17.6, 95, 280}, "220k", 0
#define PAPER_259 {18, 135, 10.8, 97, 23.8, 120, 463}, "259k", 0
#define PAPER_864 {141, 680, 34.8, 579, 57.3, 864, 2282}, "864k", 0
/* By the residual, and by displacement. */
static const way SURFACE[] = {{"surface", "formulation=surface"}, {"surface, 0.1 mm", "formulation=surface still=0.1"}};
static const way VOLUME[] = {{"volume", "formulation=volume"}, {"volume, 0.1 mm", "formulation=volume still=0.1"}};

static const subject SMALL[] = {{"arm", "bend", 64, true, "bounded", PAPER_220},
                                {"arm", "bend", 60, false, "bounded", PAPER_259},
                                {"hero", "reach", 48, false, "bounded", PAPER_864}};
static const subject LARGE[] = {{"arm", "bend", 142, true, "bounded", PAPER_220},
                                {"arm", "bend", 120, false, "bounded", PAPER_259},
                                {"hero", "reach", 173, false, "harmonic", PAPER_864}};
static const subject QUICK = {"arm", "bend", 20, false, "bounded", PAPER_220};
static const int32_t CURVE[] = {40, 60, 85, 120, 150, 190}; /* cells: from 10k to a million tets */

static bool chosen(const options *o, size_t i)
{
    return o->only == 0 || (size_t)o->only == i + 1;
}

static void run_parts(const options *o)
{
    head_parts("The paper's first table, means of 12 frames over the clip");
    for (size_t i = 0; i < (o->quick ? 1 : 3); i++) {
        const subject *b = o->quick ? &QUICK : o->large ? &LARGE[i] : &SMALL[i];
        if (!chosen(o, i)) continue;
        print_paper(b);
        for (int k = 0; k < 2; k++) run(parts_row, b, &SURFACE[k], o);
        for (int k = 0; k < 2; k++) run(parts_row, b, &VOLUME[k], o);
    }
    options whole = *o; /* two of the paper's sizes are quick enough for every run */
    whole.large = true;
    for (size_t i = 0; i < 2 && !o->large && !o->quick && o->only == 0; i++) {
        print_paper(&LARGE[i]);
        for (int k = 0; k < 2; k++) run(parts_row, &LARGE[i], &VOLUME[k], &whole);
    }
}

static void run_bend(const options *o)
{
    size_t bytes = sizeof(sums[WAY_COUNT][RANGES]) + sizeof *bend_tets;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return;
    bend_sums = shared;
    bend_tets = (int32_t *)((char *)shared + sizeof(sums[WAY_COUNT][RANGES]));
    for (size_t i = 0; i < WAY_COUNT; i++)
        if (chosen(o, i)) run(bend_row, NULL, &WAYS[i], o);
    print_bend();
    record_bend(o);
    munmap(shared, bytes);
}

static void run_curve(const options *o)
{
    head_parts("Growth: the first 12 frames, which have no contacts");
    for (size_t i = 0; i < (o->quick ? 2 : o->large ? 6 : 4); i++) {
        int32_t cells = o->quick ? 16 + 8 * (int32_t)i : CURVE[i];
        subject b = {.body = "arm", .clip = "bend", .cells = cells, .weights = "harmonic", .first = 12};
        if (chosen(o, i)) run(parts_row, &b, &VOLUME[0], o);
    }
    bench_growth("growth", "steklov frame", "tetrahedra");
    bench_growth("growth", "steklov frame, processor", "tetrahedra");
}

static void run_all(const options *o)
{
    if (o->parts) run_parts(o);
    if (o->bend) run_bend(o);
    if (o->figure4) run(figure_row, NULL, NULL, o);
    if (o->curve) run_curve(o);
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("steklov", &argc, argv);
    options o = {
        .cells = how.quick ? 14 : 40, .threads = 2, .tolerance = "1e-5", .quick = how.quick, .large = how.full};
    o.limits = bench_limits_get(&how);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--parts"))
            o.parts = true;
        else if (!strcmp(argv[i], "--bend"))
            o.bend = true;
        else if (!strcmp(argv[i], "--figure4"))
            o.figure4 = true;
        else if (!strcmp(argv[i], "--curve"))
            o.curve = true;
        else if (!strcmp(argv[i], "--large"))
            o.large = true;
        else if (!strcmp(argv[i], "--cells") && i + 1 < argc && atoi(argv[i + 1]) > 3)
            o.cells = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--threads") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            o.only = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--tolerance") && i + 1 < argc)
            o.tolerance = argv[++i];
        else {
            fprintf(stderr, "usage: bench_steklov [--quick] [--full] [--parts] [--bend] [--figure4] [--curve] [--cells "
                            "N] [--large] "
                            "[--threads N] [--tolerance T] [--only N]\n");
            return 2;
        }
    }
    if (!o.parts && !o.bend && !o.figure4 && !o.curve) o.parts = o.bend = o.curve = true, o.figure4 = !o.quick;
    run_all(&o);
    return 0;
}
