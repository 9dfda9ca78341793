/* What a host does with a file, done with any bytes: load, look over, pose, deform, read. Shared by the fuzzer and by
 * the test that replays what the fuzzer found. */
#ifndef SPL_TESTS_FUZZ_EXERCISE_H
#define SPL_TESTS_FUZZ_EXERCISE_H

#include <supple/supple.h>
#include <supple/tools.h>

#include <stdlib.h>

enum { EXERCISE_VERTICES = 200000 }; /* more only cost time */

static void exercise_sim(const supple_scene *scene, const supple_config *config)
{
    supple_sim *sim;
    if (supple_sim_create(scene, NULL, config, &sim, NULL) != SUPPLE_OK) return;
    float *buffer = malloc(4 * sizeof(float) * (size_t)(supple_scene_vertex_count(scene) + 1));
    for (int32_t clip = -1; buffer && clip < supple_scene_clip_count(scene) && clip < 3; clip++) {
        double middle = 0.5 * supple_scene_clip_duration(scene, clip);
        if (supple_sim_step_clip(sim, clip, middle, NULL) != SUPPLE_OK) continue;
        supple_sim_read_positions(sim, buffer, 3 * sizeof(float));
        supple_sim_read_normals(sim, buffer, 3 * sizeof(float));
        supple_sim_read_tangents(sim, buffer, 4 * sizeof(float));
    }
    free(buffer);
    supple_sim_destroy(sim);
}

/* Returns what loading returned. */
static supple_result exercise(const void *data, size_t size)
{
    supple_config config = supple_config_default();
    config.thread_count = 1;
    supple_scene *scene;
    supple_error error;
    supple_result result = supple_scene_load_memory(data, size, "fuzz", &config, &scene, &error);
    if (result != SUPPLE_OK) {
        /* A refusal must come with a reason and without an object. */
        if (scene || !error.message[0]) abort();
        return result;
    }
    supple_report *report;
    if (supple_scene_inspect(scene, &config, &report, NULL) == SUPPLE_OK) supple_report_destroy(report);
    if (supple_scene_vertex_count(scene) <= EXERCISE_VERTICES) exercise_sim(scene, &config);
    supple_scene_destroy(scene);
    return result;
}

#endif
