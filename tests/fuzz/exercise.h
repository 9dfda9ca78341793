/* What a host does with a file, done with any bytes: load, look over, pose, deform, read, write. Shared by the fuzzer
 * and by the test that replays what the fuzzer found. */
#ifndef SPL_TESTS_FUZZ_EXERCISE_H
#define SPL_TESTS_FUZZ_EXERCISE_H

#include <supple/supple.h>
#include <supple/tools.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXERCISE_VERTICES = 200000 }; /* more only cost time */

/* The .glb writer carries through what it does not know, so it meets whatever the reader let pass. */
static void exercise_writer(const supple_scene *scene, supple_sim *sim, float *buffer, const supple_config *config)
{
    const char *path = "fuzz-output.glb"; /* in the folder of the run */
    supple_range range = {-1, 0, 1};
    supple_plan plan = {.ranges = &range, .range_count = 1, .fps = 30};
    supple_writer *writer;
    size_t n = (size_t)supple_scene_vertex_count(scene);
    supple_frame frame = {0, 0, buffer, buffer + 3 * n, buffer + 6 * n, NULL, NULL};
    if (supple_sim_step_clip(sim, -1, 0, NULL) != SUPPLE_OK) return;
    supple_sim_read_positions(sim, buffer, 3 * sizeof(float));
    supple_sim_read_normals(sim, buffer + 3 * n, 3 * sizeof(float));
    supple_sim_read_tangents(sim, buffer + 6 * n, 4 * sizeof(float));
    if (supple_writer_open(scene, path, &plan, config, &writer, NULL) != SUPPLE_OK) return;
    if (supple_writer_frame(writer, &frame, NULL) == SUPPLE_OK)
        supple_writer_close(writer, NULL);
    else
        supple_writer_abort(writer);
    unlink(path);
}

static void exercise_sim(const supple_scene *scene, const supple_config *config)
{
    /* By `linear`: it reads all that a file says of its skin, some 500 times a second; `auto` would solve the flesh of
     * every well-formed mutant, which has taken 41 s for one. */
    supple_sim_config how = supple_sim_config_default();
    supple_sim *sim;
    how.method = "linear";
    if (supple_sim_create(scene, &how, config, &sim, NULL) != SUPPLE_OK) return;
    float *buffer = calloc(10 * (size_t)supple_scene_vertex_count(scene) + 1, sizeof(float));
    for (int32_t clip = -1; buffer && clip < supple_scene_clip_count(scene) && clip < 3; clip++) {
        double middle = 0.5 * supple_scene_clip_duration(scene, clip);
        if (supple_sim_step_clip(sim, clip, middle, NULL) != SUPPLE_OK) continue;
        supple_sim_read_positions(sim, buffer, 3 * sizeof(float));
    }
    if (buffer) exercise_writer(scene, sim, buffer, config);
    free(buffer);
    supple_sim_destroy(sim);
}

static void exercise_names(const supple_scene *scene)
{
    for (int32_t i = 0; i < supple_scene_joint_count(scene); i++)
        if (!supple_scene_joint_name(scene, i)) abort();
    for (int32_t i = 0; i < supple_scene_clip_count(scene) && i < 100; i++)
        if (supple_scene_clip_find(scene, supple_scene_clip_name(scene, i)) != i) abort();
}

/* Returns what loading returned. */
static supple_result exercise(const void *data, size_t size)
{
    supple_config config = supple_config_default();
    config.thread_count = 1;
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = supple_scene_load_memory(data, size, "fuzz", &config, &scene, &error);
    if ((result == SUPPLE_OK) != (scene != NULL)) abort();
    /* A refusal comes with a reason, in one line. */
    if (result && (error.code != result || !error.message[0] || strchr(error.message, '\n'))) abort();
    if (!scene) return result;
    exercise_names(scene);
    supple_report *report;
    if (supple_scene_inspect(scene, &config, &report, NULL) == SUPPLE_OK) supple_report_destroy(report);
    if (supple_scene_vertex_count(scene) <= EXERCISE_VERTICES) exercise_sim(scene, &config);
    supple_scene_destroy(scene);
    return result;
}

#endif
