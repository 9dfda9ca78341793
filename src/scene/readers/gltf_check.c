/* Whether we understand the file at all: its version and the extensions it cannot be read without. */
#include "scene/readers/gltf_private.h"

#include <string.h>

typedef enum support { SUPPORTED, IGNORED, UNDECODED } support;

static const struct {
    const char *name; /* one that ends in '*' stands for all that begin so */
    support how;
} extensions[] = {
    {"KHR_mesh_quantization", SUPPORTED},
    {"KHR_texture_transform", SUPPORTED},
    {"KHR_materials_*", SUPPORTED},
    {"KHR_lights_punctual", SUPPORTED},
    {"KHR_animation_pointer", IGNORED},
    {"KHR_texture_basisu", UNDECODED},
    {"EXT_texture_webp", UNDECODED},
    {"EXT_meshopt_compression", SUPPORTED},
    {"KHR_draco_mesh_compression", SUPPORTED},
    {"VRM", SUPPORTED},
    {"VRMC_*", SUPPORTED},
};

static const struct {
    const char *name, *advice;
} refused[] = {
    {"KHR_meshopt_compression", "re-export without meshopt compression, or with EXT_meshopt_compression"},
};

static bool matches(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    return pattern[n - 1] == '*' ? strncmp(pattern, name, n - 1) == 0 : strcmp(pattern, name) == 0;
}

static bool check_extension(spl_gltf *g, const char *name)
{
    if (strcmp(name, "EXT_meshopt_compression") == 0 && !spl_gltf_has_meshopt())
        return spl_gltf_fail(g, "needs the extension %s, which this build is without: re-export without meshopt", name);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strcmp(refused[i].name, name) == 0)
            return spl_gltf_fail(g, "needs the extension %s, which is not supported: %s", name, refused[i].advice);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        if (!matches(extensions[i].name, name)) continue;
        if (extensions[i].how == IGNORED)
            spl_scene_warn(g->scene, "the extension %s is ignored: what it animates stands still", name);
        if (extensions[i].how == UNDECODED)
            spl_scene_warn(g->scene, "images of the extension %s cannot be decoded; pictures show flat colours", name);
        return true;
    }
    return spl_gltf_fail(g, "needs the unknown extension %.60s: re-export without it", name);
}

/* "2.0", and later minor versions unless the file says that they are needed. */
static bool check_version(spl_gltf *g)
{
    const json_t *asset = json_object_get(g->root, "asset");
    const char *version = json_string_value(json_object_get(asset, "version"));
    const char *needed = json_string_value(json_object_get(asset, "minVersion"));
    if (!version) return spl_gltf_fail(g, "has no asset.version; it is not a glTF file");
    if (strncmp(version, "2.", 2) != 0)
        return spl_gltf_fail(g, "is glTF version '%.20s'; only 2.x is read: export it as glTF 2.0", version);
    if (needed && strcmp(needed, "2.0") != 0)
        return spl_gltf_fail(g, "needs glTF version '%.20s'; export it as glTF 2.0", needed);
    return true;
}

/* What supple-import writes of the file that it read: unit, axis, frame rate, and what a person should know. Anything
 * odd is as good as absent. */
static void read_origin(spl_gltf *g)
{
    const json_t *asset = json_object_get(g->root, "asset"), *line;
    const json_t *origin = json_object_get(json_object_get(asset, "extras"), "supple");
    const char *up = json_string_value(json_object_get(origin, "up"));
    double unit = json_number_value(json_object_get(origin, "unit"));
    double fps = json_number_value(json_object_get(origin, "fps"));
    size_t i;
    g->scene->up = up && strcmp(up, "X") == 0 ? SPL_UP_X : up && strcmp(up, "Z") == 0 ? SPL_UP_Z : SPL_UP_Y;
    if (unit >= 1e-6 && unit <= 1e6) g->scene->unit = unit;
    if (fps >= 1 && fps <= 1000) g->scene->fps = fps;
    g->shut = json_is_true(json_object_get(origin, "sandbox"));
    json_array_foreach(json_object_get(origin, "warnings"), i, line) if (json_is_string(line))
        spl_scene_warn(g->scene, "%s", json_string_value(line));
}

bool spl_gltf_check_asset(spl_gltf *g)
{
    if (!check_version(g)) return false;
    read_origin(g);
    const json_t *required = json_object_get(g->root, "extensionsRequired");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (!name) return spl_gltf_fail(g, "\"extensionsRequired\" holds something that is not a name");
        if (!check_extension(g, name)) return false;
    }
    return true;
}
