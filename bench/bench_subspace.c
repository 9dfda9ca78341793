/* Playing trained models: the multi-domain paper's tables 1 and 2 beside ours.
 *
 *     bench_subspace [--tables] [--growth] [--crowd] [--unreduced] [--large] [--quick] [--full] [--threads N]
 *                    [--steps N] [--rank N] [--models DIR] [--poses DIR] [--model FILE]
 *     bench_subspace --training DIR [--tets N] [--count N]
 *
 * --tables plays hero cut into 6, 16 and 17 domains at the paper's ranks, with transforms and vertex by vertex;
 * --growth 17 domains of rank 20 at more and more tetrahedra; --crowd ten of hero in two threads; --unreduced the same
 * frames solved by `reference`. All by default. Models are trained as subspace_models.h says and left in --models;
 * --poses takes solved poses of `supple train demo:hero --samples 100 --set max-tets=40000 --clip walk --clip reach
 * --keep`. --large or --full take bodies of the paper's sizes, --rank the rows of one rank. --model plays one file of
 * hero's own.
 *
 * --training solves --count more of hero's 100 poses at --tets and keeps them in DIR: called again it goes on.
 *
 * Steps are dynamic, 1/120 s, three Newton iterations at most, hero reaching. `step` is the mean of
 * processor time, which a busy machine hardly changes, and parts are their shares of the wall's time in it; `FST` is
 * the ratio of the quickest couplings. `limit` is the cubature's arithmetic against one thread's multiply-adds in
 * float. */
#include "machine.h"
#include "subspace/dense.h"
#include "subspace_models.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct options {
    bool tables, growth, crowd, unreduced, large, quick;
    int32_t threads, steps, tets, count, rank;
    const char *models, *poses, *model, *training;
    const bench_limits *limits;
} options;

/* ---- one model ---- */

enum { COUPLING, CUBATURE, CHOLESKY, READ, TOTAL, PARTS };

typedef struct measured {
    double part[PARTS]; /* ms, their shares of `cpu` */
    double cpu;         /* ms a step */
    double least;       /* ms of coupling in the quickest step: for ratios, which disturbances would blur */
    double iterations;
    double setup;      /* ms */
    bench_spread step; /* processor ms of single steps */
} measured;

static supple_player *make_player(const supple_model *model, const supple_player *like, bool per_vertex, bool precise,
                                  int32_t threads)
{
    supple_error error = {0};
    supple_player *player = NULL;
    supple_config config = supple_config_default();
    supple_player_config pc = supple_player_config_default();
    config.thread_count = threads;
    pc.per_vertex = per_vertex;
    pc.precise = precise;
    pc.visual = true;
    pc.like = like;
    if (supple_player_create(model, &pc, &config, &player, &error) != SUPPLE_OK) stop(&error);
    return player;
}

static void step(supple_player *player, const motion *m, int32_t k)
{
    supple_error error = {0};
    if (supple_player_step(player, frame_of(m, k), m->joints, m->dt, &error) != SUPPLE_OK) stop(&error);
}

static measured measure(const supple_model *model, const motion *m, bool per_vertex, int32_t threads, int32_t steps)
{
    measured out = {.setup = processor_ms(), .least = INFINITY};
    supple_player *player = make_player(model, NULL, per_vertex, false, threads);
    out.setup = processor_ms() - out.setup;
    for (int32_t k = 0; k < 3; k++) step(player, m, k);
    double start = processor_ms(), *each = calloc((size_t)steps, sizeof *each);
    if (!each) exit(6);
    for (int32_t k = 0; k < steps; k++) {
        double begin = processor_ms();
        step(player, m, k + 3);
        each[k] = processor_ms() - begin;
        const supple_player_stats *s = supple_player_get_stats(player);
        const double part[PARTS] = {s->ms_coupling, s->ms_cubature, s->ms_cholesky, s->ms_read, s->ms_total};
        for (int p = 0; p < PARTS; p++) out.part[p] += part[p];
        out.least = fmin(out.least, s->ms_coupling);
        out.iterations += (double)s->iterations / steps;
    }
    out.cpu = (processor_ms() - start) / steps;
    out.step = bench_spread_of(each, steps);
    free(each);
    double wall = out.part[TOTAL];
    for (int p = 0; p < PARTS; p++) out.part[p] *= out.cpu / wall;
    supple_player_destroy(player);
    return out;
}

/* ---- the tables ---- */

/* A row of the paper's second table, in ms; 0: it has none. */
typedef struct paper_row {
    const char *name;
    int32_t domains, tets; /* of the paper's */
    int32_t rank;
    double slow, coupling, cubature, cholesky, total; /* `slow`: coupling without transforms */
    double unreduced;                                 /* s a frame */
    double bound;                                     /* ms: what a step may take here */
} paper_row;

/* Armadillo's cubature at rank 30 is printed as 3.4, of a step of 91 of which it is 38%: 34 is meant. */
static const paper_row PAPER[] = {{"BigEarGuy", 6, 181751, 20, 83, 1.7, 8, 1.4, 11, 507, 11},
                                  {"BigEarGuy", 6, 181751, 30, 118, 2.1, 13, 3.7, 20, 507, 20},
                                  {"BigEarGuy", 6, 181751, 40, 167, 3.3, 22, 7.6, 34, 507, 34},
                                  {"Armadillo", 16, 194788, 20, 332, 2.9, 20, 14, 42, 415, 42},
                                  {"Armadillo", 16, 194788, 30, 523, 5.2, 34, 44, 91, 415, 91},
                                  {"Armadillo", 16, 194788, 40, 796, 8.3, 128, 100, 243, 415, 243},
                                  {"MocapGuy", 17, 269139, 20, 84, 2.2, 34, 8.3, 45, 263, 45}};
enum { ROWS = sizeof PAPER / sizeof *PAPER };

static int32_t interface_nodes(const supple_model *model)
{
    int32_t n = 0;
    for (int32_t i = 0; i < model->model.interface_count; i++) n += model->model.interface[i].count;
    return n;
}

/* What an iteration's cubature computes at the least, of the player's own kernels in float (subspace/lanes.h): for each
 * tet, with G of 9 x n columns, F = G q and G^T P, four modes of G and what the law makes of them, and half of their
 * symmetric product. An iteration that keeps the last one's system computes less: the number is a bound. */
static double cubature_flops(const supple_model *model)
{
    double flops = 0;
    for (int32_t i = 0; i < model->model.domain_count; i++) {
        const spl_model_domain *d = &model->model.domain[i];
        double n = spl_pad4(d->rank);
        flops += d->cubature_count * (2 * 18 * n + 74 * n + 4 * n * n);
    }
    return flops;
}

static void record_part(const char *table, const char *row, const char *quantity, bench_spread ms, double paper)
{
    bench_record(&(bench_row){
        .table = table, .row = row, .quantity = quantity, .kind = BENCH_CPU_MS, .spread = ms, .paper = paper});
}

/* The share that the cubature reaches. */
static double record_row(const options *o, const char *table, const paper_row *r, const supple_model *model,
                         double megabytes, const measured *fast, const measured *slow)
{
    char row[96];
    const supple_model_info *i = supple_model_get_info(model);
    const double *a = fast->part;
    if (strcmp(table, "growth") == 0)
        snprintf(row, sizeof row, "%d tets", (int)i->tets);
    else
        snprintf(row, sizeof row, "%s, %d domains, rank %d", r->name, (int)i->domains, (int)r->rank);
    bench_record(&(bench_row){.table = table,
                              .row = row,
                              .quantity = "step",
                              .kind = BENCH_CPU_MS,
                              .spread = fast->step,
                              .paper = r->total,
                              .wanted = r->bound});
    record_part(table, row, "coupling by vertices", bench_single(slow->part[COUPLING]), r->slow);
    record_part(table, row, "coupling", bench_single(a[COUPLING]), r->coupling);
    record_part(table, row, "cubature", bench_single(a[CUBATURE]), r->cubature);
    record_part(table, row, "Cholesky", bench_single(a[CHOLESKY]), r->cholesky);
    record_part(table, row, "read", bench_single(a[READ]), 0);
    record_part(table, row, "set-up", bench_single(fast->setup), 0);
    bench_value(table, row, "transforms, times as quick", BENCH_RATIO, slow->least / fast->least);
    bench_value(table, row, "tetrahedra", BENCH_COUNT, i->tets);
    bench_value(table, row, "cubature tets", BENCH_COUNT, i->cubature);
    bench_value(table, row, "iterations", BENCH_COUNT, fast->iterations);
    bench_value(table, row, "file", BENCH_MB, megabytes);
    bench_spread cubature = bench_single(a[CUBATURE]);
    double flops = cubature_flops(model) * fast->iterations * 1e-6, limit = o->limits->fma[1];
    bench_note(table, row, "cubature arithmetic", BENCH_GFLOP_S, bench_inverse(cubature, flops));
    bench_note(table, row, "cubature share", BENCH_SHARE, bench_inverse(cubature, flops / limit));
    return flops / limit / a[CUBATURE];
}

static void print_row(const options *o, const char *table, const paper_row *r, const supple_model *model,
                      double megabytes, const measured *fast, const measured *slow)
{
    const supple_model_info *i = supple_model_get_info(model);
    const double *a = fast->part, share = record_row(o, table, r, model, megabytes, fast, slow);
    if (strcmp(table, "growth") == 0) bench_point("subspace step, processor", i->tets, fast->step.min);
    printf("%-9s %3d %4d %6d %7d %4d %5d | %7.2f %7.3f %5.1fx %7.2f %7.2f %6.2f %7.2f | %5.1f %6.1f %7.0f | %4.0f%% | "
           "%5.0f %-5s",
           r->name, (int)i->domains, (int)i->interfaces, (int)interface_nodes(model), (int)i->tets, (int)r->rank,
           (int)i->cubature, slow->part[COUPLING], a[COUPLING], slow->least / fast->least, a[CUBATURE], a[CHOLESKY],
           a[READ], fast->cpu, fast->iterations, megabytes, fast->setup, 100 * share, r->bound,
           r->bound > 0 && fast->cpu > r->bound ? "no" : "yes");
    if (r->total > 0)
        printf("| %6.0f %6.1f %7.1f %7.1f %6.0f", r->slow, r->coupling, r->cubature, r->cholesky, r->total);
    printf("\n");
    fflush(stdout);
}

static void head(const options *o, const char *title)
{
    printf("\n%s (ms a step, %d thread%s)\n%-9s %3s %4s %6s %7s %4s %5s | %7s %7s %6s %7s %7s %6s %7s | %5s %6s "
           "%7s | %5s | %5s %-5s| %6s %6s %7s %7s %6s\n",
           title, (int)o->threads, o->threads > 1 ? "s" : "", "paper's", "dom", "intf", "nodes", "tets", "rank",
           "cubat", "vertex", "coupl.", "FST", "cubat.", "Chol.", "read", "step", "iter", "MB", "set-up", "limit",
           "bound", "met", "paper:", "coupl.", "cubat.", "Chol.", "step");
    fflush(stdout);
}

static void play_row(const options *o, const char *table, const paper_row *r, int32_t max_tets)
{
    double megabytes;
    model_request q = {max_tets, r->domains, r->rank, o->models, o->poses, 2};
    supple_model *model = find_model(&q, &megabytes);
    motion m = load_motion(model, "reach", 120, o->steps + 3);
    measured fast = measure(model, &m, false, o->threads, o->steps);
    measured slow = measure(model, &m, true, o->threads, o->steps / 4 > 10 ? o->steps / 4 : o->steps);
    print_row(o, table, r, model, megabytes, &fast, &slow);
    free(m.matrices);
    supple_model_destroy(model);
}

static bool wanted(const options *o, int row)
{
    return o->quick ? row == 0 : o->rank == 0 || o->rank == PAPER[row].rank;
}

/* Sizes in tens of thousands, so that models serve several tables. */
static int32_t tets_of(const options *o, int row)
{
    return o->quick ? 2000 : o->large ? (PAPER[row].tets + 5000) / 10000 * 10000 : 40000;
}

static void run_tables(const options *o)
{
    head(o, "The paper's tables 1 and 2: hero cut into as many domains");
    for (int i = 0; i < ROWS; i++)
        if (wanted(o, i))
            play_row(o, o->large ? "the paper's tables" : "the paper's tables, smaller bodies", &PAPER[i],
                     tets_of(o, i));
}

static void run_growth(const options *o)
{
    static const int32_t sizes[] = {20000, 50000, 90000, 270000};
    head(o, "Growth: the same cut and rank, more tetrahedra");
    for (int i = 0; i < (o->quick ? 2 : o->large ? 4 : 3); i++) {
        paper_row r = {.name = "", .domains = 17, .rank = o->quick ? 8 : 20};
        options mine = *o;
        mine.poses = NULL; /* they belong to one size */
        play_row(&mine, "growth", &r, o->quick ? 2000 << i : sizes[i]);
    }
    bench_growth("growth", "subspace step, processor", "tetrahedra");
}

static void run_model(const options *o)
{
    supple_error error = {0};
    supple_model *model = NULL;
    struct stat file;
    if (supple_model_load(o->model, NULL, &model, &error) != SUPPLE_OK) stop(&error);
    motion m = load_motion(model, "reach", 120, o->steps + 3);
    measured fast = measure(model, &m, false, o->threads, o->steps);
    measured slow = measure(model, &m, true, o->threads, o->steps / 4 > 10 ? o->steps / 4 : o->steps);
    paper_row r = {.name = "", .rank = supple_model_get_info(model)->max_rank};
    head(o, o->model);
    print_row(o, "one model", &r, model, stat(o->model, &file) == 0 ? (double)file.st_size / 1e6 : 0, &fast, &slow);
    free(m.matrices);
    supple_model_destroy(model);
}

/* ---- a crowd ---- */

enum { CROWD = 10, CREW = 2 };

typedef struct crew {
    pthread_t thread;
    supple_player *player[CROWD / CREW];
    const motion *m;
    float *buffer; /* positions and normals of one */
    int32_t first, frames;
    double iterations;
} crew;

static void *run_crew(void *argument)
{
    crew *c = argument;
    for (int32_t k = 0; k < c->frames; k++)
        for (int32_t i = 0; i < CROWD / CREW; i++) {
            step(c->player[i], c->m, 7 * (c->first + i) + k);
            c->iterations += supple_player_get_stats(c->player[i])->iterations;
            supple_player_read_visual_positions(c->player[i], c->buffer, 6 * sizeof *c->buffer);
            supple_player_read_visual_normals(c->player[i], c->buffer + 3, 6 * sizeof *c->buffer);
        }
    return NULL;
}

/* Ten players of one model, five in each of two threads, each at another place of the clip. */
typedef struct crowd {
    double rate, cpu, iterations; /* steps a second, ms of processor a step */
} crowd;

static crowd time_crowd(const supple_model *model, const motion *m, bool precise, int32_t frames)
{
    crew all[CREW];
    crowd out = {0};
    struct timespec a, b;
    for (int32_t c = 0; c < CREW; c++) {
        all[c] = (crew){.m = m, .first = c * CROWD / CREW, .frames = frames};
        all[c].buffer = calloc((size_t)supple_model_visual_vertex_count(model), 6 * sizeof *all[c].buffer);
        if (!all[c].buffer) exit(6);
        for (int32_t i = 0; i < CROWD / CREW; i++) {
            all[c].player[i] = make_player(model, c + i > 0 ? all[0].player[0] : NULL, false, precise, 1);
            step(all[c].player[i], m, 7 * (all[c].first + i)); /* finds its equilibrium */
        }
    }
    out.cpu = processor_ms();
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int32_t c = 0; c < CREW; c++)
        if (pthread_create(&all[c].thread, NULL, run_crew, &all[c]) != 0) exit(6);
    for (int32_t c = 0; c < CREW; c++) pthread_join(all[c].thread, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double wall = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
    out.cpu = (processor_ms() - out.cpu) / (CROWD * frames);
    out.rate = 1e3 * CROWD * frames / wall;
    for (int32_t c = 0; c < CREW; c++) out.iterations += all[c].iterations / (CROWD * frames);
    for (int32_t k = CROWD - 1; k >= 0; k--) /* the first one last: the others read its tables */
        supple_player_destroy(all[k / (CROWD / CREW)].player[k % (CROWD / CREW)]);
    for (int32_t c = 0; c < CREW; c++) free(all[c].buffer);
    return out;
}

/* In float and in double by turns; the best of each, as others use the machine too. */
static void run_crowd(const options *o)
{
    double megabytes;
    model_request q = {o->quick ? 2000 : 40000, 0, o->quick ? 8 : 20, o->models, o->poses, 2};
    supple_model *model = find_model(&q, &megabytes);
    motion m = load_motion(model, "walk", 60, 132);
    crowd best[2] = {{.cpu = INFINITY}, {.cpu = INFINITY}};
    for (int32_t k = 0; k < (o->quick ? 2 : 8); k++) {
        crowd c = time_crowd(model, &m, k % 2, o->quick ? 6 : 60);
        best[k % 2].rate = fmax(best[k % 2].rate, c.rate);
        best[k % 2].cpu = fmin(best[k % 2].cpu, c.cpu);
        best[k % 2].iterations = c.iterations;
    }
    const supple_model_info *i = supple_model_get_info(model);
    const char *row = "ten at 60 Hz, two threads";
    bench_record(&(bench_row){.table = "crowd",
                              .row = row,
                              .quantity = "steps a second",
                              .kind = BENCH_RATE,
                              .spread = bench_single(best[0].rate),
                              .wanted = 60 * CROWD});
    bench_value("crowd", row, "step, processor", BENCH_CPU_MS, best[0].cpu);
    bench_value("crowd", row, "step in double, processor", BENCH_CPU_MS, best[1].cpu);
    bench_value("crowd", row, "double / float", BENCH_RATIO, best[1].cpu / best[0].cpu);
    printf("\nA crowd of %d at 60 Hz (%d domains, rank %d in all, %d visual vertices each, positions and normals)\n",
           CROWD, (int)i->domains, (int)i->rank, (int)supple_model_visual_vertex_count(model));
    for (int k = 0; k < 2; k++)
        printf("%s: %.0f steps a second in two threads, %d wanted; %.2f ms of processor time each (%.1f iterations), "
               "%.2f cores at 60 Hz\n",
               k ? "double" : "float", best[k].rate, 60 * CROWD, best[k].cpu, best[k].iterations,
               60e-3 * CROWD * best[k].cpu);
    free(m.matrices);
    supple_model_destroy(model);
}

/* ---- without reduction ---- */

/* The frames of the second table, solved in full, each from the one before. */
static void unreduced(const options *o, const paper_row *r, int32_t max_tets, int32_t frames)
{
    supple_error error = {0};
    supple_config config = supple_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_sim_config sc = supple_sim_config_default();
    supple_setting tolerance = {"tolerance", "1e-4"}; /* that of a step of the player */
    supple_sim *sim = NULL;
    supple_scene *scene = load_hero();
    double megabytes, cpu = 0, newton = 0;
    model_request q = {max_tets, r->domains, r->rank, o->models, o->poses, 2};
    supple_model *model = find_model(&q, &megabytes);
    motion m = load_motion(model, "reach", 120, o->steps + 3);
    measured fast = measure(model, &m, false, 1, o->steps);
    config.thread_count = 1;
    bc.max_tets = max_tets;
    sc.method = "reference";
    sc.body_config = &bc;
    sc.settings = &tolerance;
    sc.setting_count = 1;
    sc.collide = SUPPLE_COLLIDE_NONE;
    if (supple_sim_create(scene, &sc, &config, &sim, &error) != SUPPLE_OK) stop(&error);
    for (int32_t k = 0; k <= frames; k++) { /* half a second into the clip, where it moves */
        double start = processor_ms();
        if (supple_sim_step_clip(sim, supple_scene_clip_find(scene, "reach"), 0.5 + k / 120.0, &error) != SUPPLE_OK)
            stop(&error);
        if (k > 0) cpu += (processor_ms() - start) / frames;
        if (k > 0) newton += (double)supple_sim_stats(sim)->iterations / frames;
    }
    char row[64];
    const char *table = o->large ? "without reduction" : "without reduction, smaller bodies";
    snprintf(row, sizeof row, "%s, %d domains, rank %d", r->name, (int)r->domains, (int)r->rank);
    record_part(table, row, "reference", bench_single(cpu), 1e3 * r->unreduced);
    record_part(table, row, "model", fast.step, 0);
    bench_value(table, row, "reference / model", BENCH_RATIO, cpu / fast.cpu);
    printf("%-9s %7d tets: %8.0f ms a frame by `reference` (%.1f Newton steps), %.2f by the model: %.0f times; the "
           "paper's %.0f s: %.0f times\n",
           r->name, (int)supple_model_get_info(model)->tets, cpu, newton, fast.cpu, cpu / fast.cpu, r->unreduced,
           1e3 * r->unreduced / fast.cpu);
    fflush(stdout);
    free(m.matrices);
    supple_model_destroy(model);
    supple_sim_destroy(sim);
}

static void run_unreduced(const options *o)
{
    printf("\nThe same without reduction (processor time of one core, frames 1/120 s apart)\n");
    for (int i = 0; i < ROWS; i += 3)
        if (wanted(o, i)) unreduced(o, &PAPER[i], tets_of(o, i), o->quick ? 1 : 4);
}

/* ---- training large bodies, a few poses at a time ---- */

/* Ends the training at a share of the poses that were open; 1: never. */
static bool until_enough(void *user, const char *stage, double fraction)
{
    double share = *(const double *)user;
    return strcmp(stage, "training poses") != 0 || share >= 1 || fraction < share;
}

static int32_t count_poses(const char *folder)
{
    int32_t n = 0;
    char path[1024];
    for (int32_t i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "%s/pose-%05d", folder, (int)i);
        n += access(path, R_OK) == 0;
    }
    return n;
}

static void run_training(const options *o)
{
    supple_error error = {0};
    supple_config config = supple_config_default();
    supple_train_config tc = supple_train_config_default();
    supple_body_config bc = supple_body_config_default();
    supple_scene *scene = load_hero();
    supple_body *body = NULL;
    supple_model *model = NULL;
    int32_t clips[2] = {supple_scene_clip_find(scene, "walk"), supple_scene_clip_find(scene, "reach")};
    int32_t before = count_poses(o->training);
    double share = before + o->count >= 100 ? 1 : (double)o->count / (100 - before);
    config.thread_count = o->threads;
    bc.max_tets = o->tets;
    tc.clips = clips;
    tc.clip_count = 2;
    tc.folder = o->training;
    tc.body_config = &bc;
    struct timespec a, b;
    /* the body is made and cached first, so that the poses alone are timed */
    if (supple_body_create(scene, &bc, &config, &body, &error) != SUPPLE_OK) stop(&error);
    int32_t tets = supple_body_get_info(body)->tets;
    supple_body_destroy(body);
    config.progress = until_enough;
    config.progress_user = &share;
    double cpu = processor_ms();
    clock_gettime(CLOCK_MONOTONIC, &a);
    supple_result result = supple_model_train(scene, &tc, &config, &model, &error);
    clock_gettime(CLOCK_MONOTONIC, &b);
    cpu = (processor_ms() - cpu) / 1e3;
    double wall = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
    if (result != SUPPLE_OK && result != SUPPLE_ERROR_CANCELLED) stop(&error);
    int32_t solved = count_poses(o->training) - before;
    char row[48];
    double each = solved ? cpu / solved : NAN;
    snprintf(row, sizeof row, "at most %d tets", (int)o->tets);
    bench_value("training", row, "pose", BENCH_CPU_MS, 1e3 * each);
    bench_value("training", row, "poses before", BENCH_COUNT, before);
    bench_value("training", row, "poses", BENCH_COUNT, solved);
    bench_value("training", row, "peak memory", BENCH_MB, peak_mb());
    printf("%d tets: %d poses were there, %d more in %.1f s of the wall; %.1f s of one core a pose with all set-up, so "
           "%.1f core minutes for 100; %.0f MB\n",
           (int)tets, (int)before, (int)solved, wall, each, each / 0.6, peak_mb());
    if (model) {
        const supple_model_info *i = supple_model_get_info(model);
        bench_value("training", row, "vibrations", BENCH_MS, i->ms_modes);
        bench_value("training", row, "bases", BENCH_MS, i->ms_bases);
        bench_value("training", row, "cubature", BENCH_MS, i->ms_cubature);
        printf("%d domains; vibrations %.1f s, bases %.1f s, cubature %.1f s\n", (int)i->domains, i->ms_modes / 1e3,
               i->ms_bases / 1e3, i->ms_cubature / 1e3);
    }
    supple_model_destroy(model);
}

/* ---- all ---- */

static int usage(void)
{
    fprintf(stderr, "usage: bench_subspace [--tables] [--growth] [--crowd] [--unreduced] [--large] [--quick] [--full] "
                    "[--threads N] [--steps N] [--rank N] [--models DIR] [--poses DIR] [--model FILE]\n"
                    "       bench_subspace --training DIR [--tets N] [--count N]\n");
    return 2;
}

static bool read_options(int argc, char **argv, options *o)
{
    struct {
        const char *name;
        bool *flag;
        int32_t *number;
        const char **text;
    } known[] = {{"--tables", &o->tables, NULL, NULL}, {"--growth", &o->growth, NULL, NULL},
                 {"--crowd", &o->crowd, NULL, NULL},   {"--unreduced", &o->unreduced, NULL, NULL},
                 {"--large", &o->large, NULL, NULL},   {"--threads", NULL, &o->threads, NULL},
                 {"--steps", NULL, &o->steps, NULL},   {"--tets", NULL, &o->tets, NULL},
                 {"--count", NULL, &o->count, NULL},   {"--rank", NULL, &o->rank, NULL},
                 {"--models", NULL, NULL, &o->models}, {"--poses", NULL, NULL, &o->poses},
                 {"--model", NULL, NULL, &o->model},   {"--training", NULL, NULL, &o->training}};
    for (int i = 1; i < argc; i++) {
        size_t k = 0, n = sizeof known / sizeof *known;
        while (k < n && strcmp(known[k].name, argv[i]) != 0) k++;
        if (k == n || (!known[k].flag && ++i == argc)) return false;
        if (known[k].flag) *known[k].flag = true;
        if (known[k].text) *known[k].text = argv[i];
        if (known[k].number && (*known[k].number = atoi(argv[i])) < 1) return false;
    }
    return true;
}

static void remove_models(const char *folder)
{
    char path[1024];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.' && n > 0 && (size_t)n < sizeof path) unlink(path);
    }
    if (dir) closedir(dir);
    rmdir(folder);
}

/* Tables are processes of their own: what one allocates is not in the way of another. */
static int apart(void (*run)(const options *), const options *o)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run(o);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return 5;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    bench_options how = bench_begin("subspace", &argc, argv);
    options o = {.threads = 1, .tets = 180000, .count = 4, .quick = how.quick, .large = how.full};
    char own[] = "bench-models-XXXXXX";
    if (!read_options(argc, argv, &o)) return usage();
    if (o.steps == 0) o.steps = o.quick ? 12 : 480;
    o.limits = bench_limits_get(&how);
    if (o.training) return apart(run_training, &o);
    if (o.model) return apart(run_model, &o);
    if (!o.tables && !o.growth && !o.crowd && !o.unreduced) o.tables = o.growth = o.crowd = o.unreduced = true;
    bool ours = !o.models;
    if (ours && !mkdtemp(own)) return usage();
    if (ours) o.models = own;
    if (!ours) mkdir(o.models, 0777);
    int code = 0;
    load_hero();
    if (o.tables) code = apart(run_tables, &o);
    if (o.growth && !code) code = apart(run_growth, &o);
    if (o.crowd && !code) code = apart(run_crowd, &o);
    if (o.unreduced && !code) code = apart(run_unreduced, &o);
    if (ours) remove_models(own);
    return code;
}
