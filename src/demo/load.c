/* Loading by name: a file, or a built-in character as "demo:NAME". Both take the same way through the reader, so that
 * `demo:hero` is what a file written by `supple demo hero` is. */
#include "core/error.h"
#include "scene/readers/gltf.h"
#include "scene/readers/import.h"

#include <string.h>
#include <supple/tools.h>

supple_result supple_scene_load_file(const char *path, const supple_config *config, supple_scene **out,
                                     supple_error *error)
{
    static const char prefix[] = "demo:";
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    if (spl_import_takes(path)) return spl_import_load_file(path, config, out, error);
    if (strncmp(path, prefix, sizeof prefix - 1) != 0) return spl_gltf_load_file(path, config, out, error);
    void *glb;
    size_t size;
    result = supple_demo_make(path + sizeof prefix - 1, 1, config, &glb, &size, error);
    if (result != SUPPLE_OK) return result;
    result = spl_gltf_load_memory(glb, size, path, config, out, error);
    supple_bytes_free(glb, config);
    return result;
}
