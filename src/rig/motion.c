/* Motions from files, added to a scene as clips. */
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/memory.h"
#include "rig/retarget.h"
#include "scene/readers/pc2.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_SIZE = 128 };
#define PC2_LARGEST ((size_t)8 << 30)

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n > m && strcasecmp(path + n - m, ending) == 0;
}

/* The file's name without folder and ending; a number behind it where the scene has such a clip. */
static char *clip_name(const supple_scene *scene, const char *path)
{
    char base[NAME_SIZE], name[NAME_SIZE + 16];
    const char *slash = strrchr(path, '/');
    snprintf(base, sizeof base, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(base, '.');
    if (dot && dot != base) *dot = 0;
    spl_sanitise(base);
    snprintf(name, sizeof name, "%s", base);
    for (int n = 2;; n++) {
        bool taken = false;
        for (int32_t i = 0; i < scene->clip_count; i++) taken = taken || strcmp(scene->clip[i].name, name) == 0;
        if (!taken) return spl_strdup(&scene->allocator, name);
        snprintf(name, sizeof name, "%s %d", base, n);
    }
}

/* ---- the two kinds ---------------------------------------------------------------------------------------------- */

static supple_result put_on(supple_scene *scene, const spl_bvh *bvh, const char *map, size_t map_size,
                            const supple_motion *motion, const supple_config *config, spl_clip *clip,
                            supple_error *error)
{
    spl_match match;
    supple_result result = spl_match_make(scene, bvh, map, map_size, motion->map_path, &match, error);
    if (result != SUPPLE_OK) return result;
    if (match.matched == 0)
        result =
            spl_fail(error, SUPPLE_ERROR_INPUT,
                     "%.100s: none of its joints has a name like one of the character's; name them in a map (--map)",
                     motion->path);
    else
        spl_match_report(&match, scene, bvh, motion->path, config);
    if (result == SUPPLE_OK) result = spl_retarget(scene, bvh, &match, clip, error);
    spl_match_release(&match);
    return result;
}

static supple_result read_bvh(supple_scene *scene, const uint8_t *data, size_t size, const supple_motion *motion,
                              const supple_config *config, spl_clip *clip, supple_error *error)
{
    uint8_t *map = NULL;
    size_t map_size = 0;
    spl_bvh bvh;
    supple_result result = SUPPLE_OK;
    if (motion->map_path)
        result = spl_file_read(motion->map_path, SPL_JSON_LARGEST, &scene->allocator, &map, &map_size, error);
    if (result != SUPPLE_OK) return result;
    result = spl_bvh_parse(data, size, motion->path, &scene->allocator, &bvh, error);
    if (result == SUPPLE_OK) {
        if (bvh.has_more)
            spl_log(config, SUPPLE_LOG_WARNING, "%.100s: has more rows than the %d frames it states; they are left out",
                    motion->path, (int)bvh.frame_count);
        result = put_on(scene, &bvh, (const char *)map, map_size, motion, config, clip, error);
        spl_bvh_release(&bvh);
    }
    spl_free(&scene->allocator, map);
    return result;
}

static supple_result read_pc2(supple_scene *scene, const uint8_t *data, size_t size, const supple_motion *motion,
                              spl_clip *clip, supple_error *error)
{
    spl_pc2 cache;
    supple_result result =
        spl_pc2_parse(data, size, motion->path, scene->vertex_count, &scene->allocator, &cache, error);
    if (result != SUPPLE_OK) return result;
    clip->fps = (motion->fps > 0 ? motion->fps : 30) / cache.spacing;
    clip->duration = (cache.sample_count - 1) / clip->fps;
    clip->sample = cache.sample;
    clip->sample_count = cache.sample_count;
    return SUPPLE_OK;
}

/* ---- into the scene --------------------------------------------------------------------------------------------- */

/* Outputs must not be written over it. */
static bool remember_file(supple_scene *scene, const char *path)
{
    char *copy = spl_strdup(&scene->allocator, path);
    char **grown =
        copy ? spl_resize(&scene->allocator, scene->file, (size_t)scene->file_count + 1, sizeof *grown) : NULL;
    if (!grown) {
        spl_free(&scene->allocator, copy);
        return false;
    }
    scene->file = grown;
    scene->file[scene->file_count++] = copy;
    return true;
}

static void free_clip(const supple_allocator *a, spl_clip *clip)
{
    for (int32_t i = 0; i < clip->channel_count; i++) {
        spl_free(a, clip->channel[i].time);
        spl_free(a, clip->channel[i].value);
    }
    spl_free(a, clip->channel);
    spl_free(a, clip->sample);
    spl_free(a, clip->name);
}

static supple_result append(supple_scene *scene, const spl_clip *clip, const supple_motion *motion, supple_error *error)
{
    spl_clip *grown = spl_resize(&scene->allocator, scene->clip, (size_t)scene->clip_count + 1, sizeof *grown);
    if (!grown) return spl_fail_memory(error, "the clips");
    scene->clip = grown;
    if (!motion->data && !remember_file(scene, motion->path)) return spl_fail_memory(error, "file names");
    scene->clip[scene->clip_count++] = *clip;
    return SUPPLE_OK;
}

static supple_result read_motion(supple_scene *scene, const supple_motion *motion, const supple_config *config,
                                 spl_clip *clip, supple_error *error)
{
    const supple_allocator *a = &scene->allocator;
    bool bvh = ends_in(motion->path, ".bvh");
    if (!bvh && !ends_in(motion->path, ".pc2"))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.120s: a motion is a .bvh or a .pc2 file", motion->path);
    if (motion->map_path && !bvh)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a map of joints goes with a .bvh motion, not with a .pc2");
    uint8_t *bytes = NULL;
    const uint8_t *data = motion->data;
    size_t size = motion->size;
    supple_result result = SUPPLE_OK;
    if (!data) {
        result = spl_file_read(motion->path, bvh ? SPL_BVH_LARGEST : PC2_LARGEST, a, &bytes, &size, error);
        if (result != SUPPLE_OK) return result;
        data = bytes;
    }
    clip->name = clip_name(scene, motion->path);
    if (!clip->name)
        result = spl_fail_memory(error, "a clip's name");
    else
        result = bvh ? read_bvh(scene, data, size, motion, config, clip, error)
                     : read_pc2(scene, data, size, motion, clip, error);
    spl_free(a, bytes);
    return result;
}

supple_result supple_scene_add_motion(supple_scene *scene, const supple_motion *motion, const supple_config *config,
                                      int32_t *clip, supple_error *error)
{
    *clip = -1;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    if (!motion || !motion->path) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a motion without a path");
    if (motion->fps != 0 && !(motion->fps >= 1e-3 && motion->fps <= 1e4))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a motion's fps takes a number from 0.001 to 10000");
    if (scene->clip_count == INT32_MAX) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "too many clips");
    spl_clip made = {.animation = -1};
    result = read_motion(scene, motion, config, &made, error);
    if (result == SUPPLE_OK) result = append(scene, &made, motion, error);
    if (result != SUPPLE_OK) {
        free_clip(&scene->allocator, &made);
        return result;
    }
    *clip = scene->clip_count - 1;
    return SUPPLE_OK;
}
