/* Weights of a character's bones on its tetrahedra, per stage.
 *
 *     bench_weights [--quick] [FILE [TETS [CELLS]]]      default: demo:hero within 30,000; CELLS is a resolution
 * instead
 */
#include "body/bbw.h"
#include "body/diffuse.h"
#include "body/solid.h"
#include "core/threads.h"
#include "core/timer.h"
#include "measure.h"
#include "record.h"

#include <supple/supple.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void fail(const supple_error *error)
{
    fprintf(stderr, "%s\n", error->message);
    exit(error->code ? (int)error->code : 1);
}

/* Bounded biharmonic weights of 30,000 tets and 20 bones: libigl's active set, and the goal. */
static void record_bbw(const char *table, double ms, double busy, const spl_bbw_report *r, bool usual)
{
    bench_row row = {.table = table, .row = "bbw", .quantity = "time", .kind = BENCH_MS, .spread = bench_single(ms)};
    row.paper = usual ? 46000 : 0;
    row.wanted = usual ? 5000 : 0;
    bench_record(&row);
    bench_value(table, "bbw", "processor", BENCH_CPU_MS, busy);
    bench_value(table, "bbw", "system", BENCH_MS, r->ms_system);
    bench_value(table, "bbw", "factor", BENCH_MS, r->ms_factor);
    bench_value(table, "bbw", "without bounds", BENCH_MS, r->ms_start);
    bench_value(table, "bbw", "with bounds", BENCH_MS, r->ms_bounds);
    bench_value(table, "bbw", "rounds", BENCH_COUNT, r->rounds);
    bench_value(table, "bbw", "iterations", BENCH_COUNT, r->iterations);
}

static void run_bbw(const char *title, const spl_harmonic_input *in, spl_pool *pool, const supple_allocator *a)
{
    spl_weight_table table;
    spl_bbw_report r;
    supple_error error = {0};
    double start = spl_now_ms(), work = (double)clock();
    if (spl_bbw(in, NULL, pool, a, &table, &r, &error) != SUPPLE_OK) fail(&error);
    double ms = spl_now_ms() - start, busy = 1e3 * ((double)clock() - work) / CLOCKS_PER_SEC;
    record_bbw(title, ms, busy, &r, r.bones >= 20 && r.unknowns > 3000);
    int32_t maxima;
    if (spl_weight_table_maxima(&table, in->elements, in->held, NULL, &maxima, &error) != SUPPLE_OK) fail(&error);
    printf(
        "  bbw     %8.0f ms (%.0f ms of all cores): system %.0f, factor %.0f, without bounds %.0f, with bounds %.0f\n",
        ms, busy, r.ms_system, r.ms_factor, r.ms_start, r.ms_bounds);
    printf("          %d unknowns, %d bones, %d rounds (most %d) on %.0f unknowns in the mean, %d iterations; residual "
           "%.1e, %d "
           "unfinished, %d local maxima\n",
           (int)r.unknowns, (int)r.bones, (int)r.rounds, (int)r.most_rounds, r.mean_part, (int)r.iterations, r.residual,
           (int)r.unfinished, (int)maxima);
    if (r.unknowns > 0 && r.bones >= 20)
        printf("          to compare: 30,000 tets, 20 bones by libigl's active set, 46,000 ms; the goal is 5,000 ms\n");
    spl_weight_table_release(&table);
}

static void report(const char *title, const char *name, double start, spl_weight_table *table)
{
    double ms = spl_now_ms() - start;
    bench_value(title, name, "time", BENCH_MS, ms);
    printf("  %-7s %8.0f ms\n", name, ms);
    if (table) spl_weight_table_release(table);
}

static void run_others(const char *title, const spl_harmonic_input *in, const spl_solid *solid, spl_pool *pool)
{
    spl_weight_table table;
    spl_bone_weights weights;
    supple_error error = {0};
    const supple_allocator *a = &solid->allocator;
    double start = spl_now_ms();
    if (spl_heat_weights(in, solid->drive.rest, pool, a, &table, &error) != SUPPLE_OK) fail(&error);
    report(title, "heat", start, &table);
    start = spl_now_ms();
    if (spl_own_weights(solid->body, in->elements, in->backend, pool, a, &table, &error) != SUPPLE_OK) fail(&error);
    report(title, "own", start, &table);
    start = spl_now_ms();
    if (spl_harmonic_weights(in, pool, a, &weights, &error) != SUPPLE_OK) fail(&error);
    report(title, "harmonic", start, NULL);
    spl_bone_weights_release(&weights);
}

static void run(const supple_scene *scene, int32_t tets, int32_t cells, const supple_config *config)
{
    supple_body_config bc = supple_body_config_default();
    supple_body *body;
    supple_error error = {0};
    spl_pool *pool;
    bc.max_tets = tets;
    bc.resolution = cells;
    if (supple_body_create(scene, &bc, config, &body, &error) != SUPPLE_OK) fail(&error);
    if (spl_pool_create(config, &pool, &error) != SUPPLE_OK) fail(&error);
    spl_solid solid;
    if (spl_solid_create(&body->body, NULL, config, pool, &solid, &error) != SUPPLE_OK) fail(&error);
    printf("%d tets, %d vertices, %d bones\n", (int)body->info.tets, (int)body->info.vertices, (int)body->info.bones);
    int32_t *held = malloc((size_t)body->info.vertices * sizeof *held);
    for (int32_t v = 0; v < body->info.vertices; v++)
        held[v] = body->body.bone[v] >= 0 ? body->body.bone[v] : solid.island[v];
    spl_harmonic_input in = {&solid.elements, held, body->info.bones, config->solver};
    char title[64];
    snprintf(title, sizeof title, "%s %d", cells ? "cells" : "most tets", (int)(cells ? cells : tets));
    run_bbw(title, &in, pool, &solid.allocator);
    run_others(title, &in, &solid, pool);
    free(held);
    spl_solid_release(&solid);
    spl_pool_destroy(pool);
    supple_body_destroy(body);
}

int main(int argc, char **argv)
{
    bool quick = bench_begin("weights", &argc, argv).quick;
    const char *name = argc > 1 ? argv[1] : quick ? "demo:arm" : "demo:hero";
    int32_t tets = argc > 2 ? atoi(argv[2]) : quick ? 3000 : 30000;
    supple_config config = supple_config_default();
    supple_scene *scene;
    supple_error error;
    if (supple_scene_load_file(name, &config, &scene, &error) != SUPPLE_OK) fail(&error);
    run(scene, tets, argc > 3 ? atoi(argv[3]) : 0, &config);
    supple_scene_destroy(scene);
    return 0;
}
