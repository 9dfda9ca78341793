/* libFuzzer target: any bytes as a .glb or .gltf in memory. Whatever loads must hold together; names and clips are
 * touched as a caller would. */
#include <supple/scene.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    supple_scene *scene;
    supple_error error = {0};
    supple_result result = supple_scene_load_memory(data, size, "fuzz", NULL, &scene, &error);
    if ((result == SUPPLE_OK) != (scene != NULL)) abort();
    if (result && (error.code != result || !error.message[0] || strchr(error.message, '\n'))) abort();
    if (!scene) return 0;
    for (int32_t i = 0; i < supple_scene_joint_count(scene); i++)
        if (!supple_scene_joint_name(scene, i)) abort();
    for (int32_t i = 0; i < supple_scene_clip_count(scene) && i < 100; i++)
        if (supple_scene_clip_find(scene, supple_scene_clip_name(scene, i)) != i) abort();
    supple_scene_destroy(scene);
    return 0;
}
