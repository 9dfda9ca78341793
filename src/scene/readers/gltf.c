#include "scene/readers/gltf.h"

#include "core/file.h"
#include "scene/readers/gltf_private.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The name for messages: a long path gives way to its last part, a long last part to its end. */
static void shorten(const char *path, char *out, size_t size)
{
    enum { LONG_PATH = 70, LONG_NAME = 60 };
    const char *slash = strrchr(path, '/');
    if (strlen(path) > LONG_PATH && slash && slash[1]) path = slash + 1;
    size_t length = strlen(path);
    if (length > LONG_PATH)
        snprintf(out, size, "...%s", path + length - LONG_NAME);
    else
        snprintf(out, size, "%s", path);
    spl_sanitise(out);
}

static bool begin(spl_gltf *g, const char *path, bool from_file, const supple_config *config)
{
    shorten(path, g->name, sizeof g->name);
    supple_allocator a = spl_allocator_of(config);
    g->scene = spl_new(&a, 1, sizeof *g->scene);
    if (!g->scene) return spl_gltf_fail_memory(g, "a scene");
    g->scene->allocator = a;
    g->a = &g->scene->allocator;
    g->scene->from_file = from_file;
    g->scene->path = spl_strdup(g->a, path);
    return g->scene->path ? true : spl_gltf_fail_memory(g, "a path");
}

/* Each instance costs its vertices again in every frame: a mesh drawn a million times is a damaged file too. */
static bool finish(spl_gltf *g)
{
    enum { FRAME_BYTES = 24 }; /* a position and a normal */
    g->result = spl_scene_finish(g->scene, g->error);
    if (g->result) return false;
    g->taken += (size_t)g->scene->vertex_count * FRAME_BYTES;
    void *probe = spl_gltf_new(g, 1, 1, "instances of meshes"); /* checks the bound */
    spl_free(g->a, probe);
    return probe != NULL;
}

static bool progress(spl_gltf *g, const supple_config *config, double fraction)
{
    g->result = spl_progress(config, "load", fraction, g->error);
    return g->result == SUPPLE_OK;
}

/* The order matters: skins name nodes, meshes check their joints against skins, channels need morph counts. */
static bool read_scene(spl_gltf *g, const uint8_t *data, size_t size, const supple_config *config)
{
    return progress(g, config, 0) && spl_gltf_read_document(g, data, size) && progress(g, config, 0.3) &&
           spl_gltf_read_nodes(g) && spl_gltf_read_skins(g) && spl_gltf_read_meshes(g) && spl_gltf_read_weights(g) &&
           progress(g, config, 0.6) && spl_gltf_read_clips(g) && spl_gltf_read_materials(g) &&
           spl_gltf_read_images(g) && finish(g) && progress(g, config, 1);
}

static supple_result end(spl_gltf *g, bool ok, const supple_config *config, supple_scene **out)
{
    if (!ok) {
        supple_scene_destroy(g->scene);
        return g->result;
    }
    for (int32_t i = 0; i < g->scene->warning_count; i++)
        spl_log(config, SUPPLE_LOG_WARNING, "%s: %s", g->name, g->scene->warning[i]);
    *out = g->scene;
    return SUPPLE_OK;
}

/* The folder that other files must be below, without links. */
static bool find_folder(spl_gltf *g, const char *path)
{
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy) return spl_gltf_fail(g, "its path is too long");
    strcpy(copy, path);
    if (!realpath(dirname(copy), g->folder)) return spl_gltf_fail(g, "its folder cannot be found");
    return true;
}

static bool read_file(spl_gltf *g, const char *path, uint8_t **data, size_t *size)
{
    supple_error why;
    supple_result result = spl_file_read(path, SPL_GLTF_MAX_INPUT, g->a, data, size, &why);
    if (result == SUPPLE_OK) return true;
    if (result == SUPPLE_ERROR_MEMORY) return spl_gltf_fail_memory(g, "the input file");
    size_t length = strlen(path); /* the message begins with the path, which may have left no room for the reason */
    bool whole = length < 150 && strlen(why.message) > length + 2;
    return spl_gltf_fail(g, "%s", whole ? why.message + length + 2 : "cannot be read; is it there, and a file?");
}

supple_result spl_gltf_load_file(const char *path, const supple_config *config, supple_scene **out, supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result) return result;
    if (!path || !path[0]) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "no input file given");
    spl_gltf g = {.error = error};
    uint8_t *data = NULL;
    size_t size = 0;
    bool ok = begin(&g, path, true, config) && read_file(&g, path, &data, &size) && find_folder(&g, path) &&
              read_scene(&g, data, size, config);
    if (g.scene) spl_free(g.a, data);
    return end(&g, ok, config, out);
}

supple_result spl_gltf_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                   supple_scene **out, supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result) return result;
    if (!data) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "no data given");
    spl_gltf g = {.error = error};
    bool ok = begin(&g, name && name[0] ? name : "memory", false, config);
    if (ok && size > SPL_GLTF_MAX_INPUT)
        ok = spl_gltf_fail(&g, "larger than the limit of %zu MB", SPL_GLTF_MAX_INPUT >> 20);
    ok = ok && read_scene(&g, data, size, config);
    return end(&g, ok, config, out);
}

supple_result spl_gltf_load_made(const void *data, size_t size, const char *path, const supple_config *config,
                                 supple_scene **out, supple_error *error)
{
    *out = NULL;
    spl_gltf g = {.error = error};
    bool ok = begin(&g, path, true, config) && find_folder(&g, path) && read_scene(&g, data, size, config);
    if (ok && g.shut)
        spl_log_verbose(config, SUPPLE_LOG_INFO, "%s: imported behind a filter of system calls", g.name);
    else if (ok)
        spl_log_verbose(config, SUPPLE_LOG_WARNING,
                        "%s: imported without a filter of system calls: the kernel refuses it, or supple-import is "
                        "built without libseccomp or for a sanitizer; its other limits stand",
                        g.name);
    return end(&g, ok, config, out);
}

supple_result supple_scene_load_memory(const void *data, size_t size, const char *name, const supple_config *config,
                                       supple_scene **out, supple_error *error)
{
    if (!out) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "no place for the scene given");
    return spl_gltf_load_memory(data, size, name, config, out, error);
}
