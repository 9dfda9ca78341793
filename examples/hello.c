/* The smallest useful program on Supple: load a character, play its first clip, read the deformed positions.
 *
 *     hello [FILE.glb | demo:NAME]
 *
 * It prints how tall the character stands in every fifth frame, in the file's unit. */
#include <stdio.h>
#include <stdlib.h>
#include <supple/supple.h>

static float height(const float *position, int32_t vertex_count)
{
    float low = position[1], high = position[1];
    for (int32_t i = 0; i < vertex_count; i++) {
        float y = position[3 * i + 1];
        low = y < low ? y : low;
        high = y > high ? y : high;
    }
    return high - low;
}

static supple_result play(const supple_scene *scene, supple_sim *sim, float *position, supple_error *error)
{
    const double fps = 30;
    int32_t clip = supple_scene_clip_count(scene) > 0 ? 0 : -1; /* -1: the rest pose */
    int32_t frame_count = supple_scene_frame_count(scene, clip, fps);
    for (int32_t frame = 0; frame < frame_count; frame += 5) {
        supple_result result = supple_sim_step_clip(sim, clip, frame / fps, error);
        if (result != SUPPLE_OK) return result;
        supple_sim_read_positions(sim, position, 3 * sizeof(float));
        printf("frame %3d: height %.4f\n", (int)frame, (double)height(position, supple_scene_vertex_count(scene)));
    }
    return SUPPLE_OK;
}

int main(int argc, char **argv)
{
    supple_scene *scene = NULL;
    supple_sim *sim = NULL;
    supple_error error = {0};
    supple_result result = supple_scene_load_file(argc > 1 ? argv[1] : "demo:arm", NULL, &scene, &error);
    if (result == SUPPLE_OK) result = supple_sim_create(scene, NULL, NULL, &sim, &error);
    if (result == SUPPLE_OK) {
        int32_t vertex_count = supple_scene_vertex_count(scene);
        float *position = malloc((size_t)vertex_count * 3 * sizeof(float));
        printf("%d vertices, %d joints, method %s\n", (int)vertex_count, (int)supple_scene_joint_count(scene),
               supple_sim_setup(sim)->method);
        result = position ? play(scene, sim, position, &error) : SUPPLE_ERROR_MEMORY;
        free(position);
    }
    if (result != SUPPLE_OK) fprintf(stderr, "hello: %s: %s\n", supple_result_name(result), error.message);
    supple_sim_destroy(sim);
    supple_scene_destroy(scene);
    return (int)result;
}
