/* Loading by name: a file, or a built-in character as "demo:NAME". Both take the same way through the reader, so that
 * `demo:hero` is what a file written by `supple demo hero` is. */
#include "core/error.h"
#include "scene/readers/gltf.h"
#include "scene/readers/import.h"

#include <string.h>
#include <strings.h>
#include <supple/tools.h>

/* Files that people try and that are no characters, or none that is read: what to do instead. */
static supple_result refuse_others(const char *path, supple_error *error)
{
    static const char *const motions[] = {".bvh", ".pc2"};
    static const char *const scenes[] = {".blend", ".obj", ".usd", ".usda", ".usdc", ".usdz",
                                         ".abc",   ".ma",  ".mb",  ".max",  ".c4d"};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < sizeof motions / sizeof *motions; i++)
        if (strcasecmp(ending, motions[i]) == 0)
            return spl_fail(error, SUPPLE_ERROR_INPUT,
                            "%s: a motion, not a character: supple skin CHARACTER.glb --motion FILE%s", path, ending);
    for (size_t i = 0; ending && i < sizeof scenes / sizeof *scenes; i++)
        if (strcasecmp(ending, scenes[i]) == 0)
            return spl_fail(error, SUPPLE_ERROR_INPUT,
                            "%s: %s is not read; export the character as .glb, with its armature and animation", path,
                            ending);
    return SUPPLE_OK;
}

supple_result supple_scene_load_file(const char *path, const supple_config *config, supple_scene **out,
                                     supple_error *error)
{
    static const char prefix[] = "demo:";
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    if (spl_import_takes(path)) return spl_import_load_file(path, config, out, error);
    if (strncmp(path, prefix, sizeof prefix - 1) != 0) {
        result = refuse_others(path, error);
        return result != SUPPLE_OK ? result : spl_gltf_load_file(path, config, out, error);
    }
    void *glb;
    size_t size;
    result = supple_demo_make(path + sizeof prefix - 1, 1, config, &glb, &size, error);
    if (result != SUPPLE_OK) return result;
    result = spl_gltf_load_memory(glb, size, path, config, out, error);
    supple_bytes_free(glb, config);
    return result;
}
