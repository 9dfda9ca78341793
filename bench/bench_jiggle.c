/* The hero's walk, stopped in the middle of a stride: how far flesh still is from where it comes to rest, over time,
 * with dynamics and without.
 *
 *     bench_jiggle [--quick] [--method NAME] [--model FILE] [--resolution N]
 *     bench_jiggle | scripts/plot-jiggle > docs/images/dynamics-stop.svg
 *
 * A line of the table: seconds since the stop, and millimetres of the vertex that is farthest off, of the 1 in 100 that
 * are, and without dynamics of the farthest. */
#include "record.h"

#include <supple/supple.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 60, BEFORE = 30, AFTER = 120 };

typedef struct curve {
    double most[AFTER], hundredth[AFTER]; /* millimetres */
} curve;

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Distances of each frame's vertices from the last frame's. */
static void measure(const float *shown, size_t vertex_count, double *scratch, curve *out)
{
    const float *rest = shown + 3 * vertex_count * (AFTER - 1);
    for (int k = 0; k < AFTER; k++) {
        const float *x = shown + 3 * vertex_count * (size_t)k;
        for (size_t v = 0; v < vertex_count; v++)
            scratch[v] = 1e3 * hypot(hypot(x[3 * v] - rest[3 * v], x[3 * v + 1] - rest[3 * v + 1]),
                                     x[3 * v + 2] - rest[3 * v + 2]);
        qsort(scratch, vertex_count, sizeof *scratch, smaller);
        out->most[k] = scratch[vertex_count - 1];
        out->hundredth[k] = scratch[(vertex_count - 1) * 99 / 100];
    }
}

/* Walks for half a second, then holds the pose. */
static supple_result play(supple_scene *scene, supple_sim *sim, bool dynamics, float *matrix, float *shown,
                          supple_error *error)
{
    int32_t joints = supple_scene_joint_count(scene), clip = supple_scene_clip_find(scene, "walk");
    size_t frame = 3 * (size_t)supple_scene_vertex_count(scene);
    supple_result result = SUPPLE_OK;
    for (int k = 0; k < BEFORE + AFTER && result == SUPPLE_OK; k++) {
        if (k <= BEFORE) result = supple_scene_pose(scene, clip, k / (double)RATE, matrix, joints, error);
        if (result != SUPPLE_OK) break;
        result = dynamics ? supple_sim_step_pose_dt(sim, matrix, joints, 1.0 / RATE, error)
                          : supple_sim_step_pose(sim, matrix, joints, error);
        if (k >= BEFORE) supple_sim_read_positions(sim, shown + frame * (size_t)(k - BEFORE), 3 * sizeof *shown);
    }
    return result;
}

static supple_result run(supple_scene *scene, supple_sim_config config, bool dynamics, curve *out, supple_error *error)
{
    supple_sim *sim = NULL;
    size_t n = (size_t)supple_scene_vertex_count(scene);
    config.dynamics = dynamics;
    float *shown = calloc(3 * n * AFTER, sizeof *shown);
    float *matrix = calloc(16 * (size_t)supple_scene_joint_count(scene), sizeof *matrix);
    double *scratch = calloc(n, sizeof *scratch);
    supple_result result = shown && matrix && scratch ? SUPPLE_OK : SUPPLE_ERROR_MEMORY;
    if (result == SUPPLE_OK) result = supple_sim_create(scene, &config, NULL, &sim, error);
    if (result == SUPPLE_OK) result = play(scene, sim, dynamics, matrix, shown, error);
    if (result == SUPPLE_OK) measure(shown, n, scratch, out);
    supple_sim_destroy(sim);
    free(shown);
    free(matrix);
    free(scratch);
    return result;
}

/* How far off flesh is at the stop, and when the last vertex comes below a tenth of that. */
static void record(const curve *on, const curve *off)
{
    int last = 0;
    for (int k = 0; k < AFTER; k++)
        if (on->most[k] > 0.1 * on->most[0]) last = k;
    bench_value("walk stops", "with dynamics", "farthest at the stop, mm", BENCH_ERROR, on->most[0]);
    bench_value("walk stops", "with dynamics", "1 in 100 at the stop, mm", BENCH_ERROR, on->hundredth[0]);
    bench_value("walk stops", "with dynamics", "seconds until a tenth is left", BENCH_ERROR, (last + 1) / (double)RATE);
    bench_value("walk stops", "without dynamics", "farthest at the stop, mm", BENCH_ERROR, off->most[0]);
}

int main(int count, char **argument)
{
    supple_body_config body = supple_body_config_default();
    supple_sim_config config = supple_sim_config_default();
    const char *model_file = NULL;
    supple_model *model = NULL;
    supple_scene *scene = NULL;
    supple_error error = {0};
    static curve on, off;
    config.method = "projective";
    config.body_config = &body;
    if (bench_begin("jiggle", &count, argument).quick) body.resolution = 20;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(argument[i], "--method") == 0) config.method = argument[i + 1];
        if (strcmp(argument[i], "--model") == 0) model_file = argument[i + 1];
        if (strcmp(argument[i], "--resolution") == 0) body.resolution = atoi(argument[i + 1]);
    }
    supple_result result = supple_scene_load_file("demo:hero", NULL, &scene, &error);
    if (result == SUPPLE_OK && model_file) {
        result = supple_model_load(model_file, NULL, &model, &error);
        config.model = model;
        config.method = "subspace";
        config.body_config = NULL;
    }
    if (result == SUPPLE_OK) result = run(scene, config, true, &on, &error);
    if (result == SUPPLE_OK) result = run(scene, config, false, &off, &error);
    supple_model_destroy(model);
    supple_scene_destroy(scene);
    if (result != SUPPLE_OK) {
        fprintf(stderr, "bench_jiggle: %s\n", error.message);
        return 1;
    }
    record(&on, &off);
    printf("| seconds | farthest, mm | 1 in 100 | without dynamics |\n|---|---|---|---|\n");
    for (int k = 0; k < AFTER; k++)
        printf("| %.4f | %.3f | %.3f | %.3f |\n", k / (double)RATE, on.most[k], on.hundredth[k], off.most[k]);
    return 0;
}
