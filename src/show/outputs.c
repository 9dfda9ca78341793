/* The table of output formats: `-o` by ending. */
#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/writer.h"
#include "show/movie.h"
#include "show/sheet.h"

#include <stdio.h>
#include <string.h>

static const spl_format *const formats[] = {
    &spl_format_glb, &spl_format_gltf, &spl_format_vrm,  &spl_format_npy, &spl_format_pc2, &spl_format_mdd,
    &spl_format_obj, &spl_format_abc,  &spl_format_usda, &spl_format_png, &spl_format_mp4,
};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

supple_result supple_output_check(const char *path, supple_error *error)
{
    if (spl_format_find(formats, FORMAT_COUNT, path)) return SUPPLE_OK;
    char list[160] = "";
    for (int i = 0; i < FORMAT_COUNT; i++) {
        strncat(list, i ? ", " : "", sizeof list - strlen(list) - 1);
        strncat(list, formats[i]->ending, sizeof list - strlen(list) - 1);
    }
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%.80s: no output format has this ending; there are %s", path, list);
}

bool supple_output_takes_ranges(const char *path)
{
    const spl_format *format = spl_format_find(formats, FORMAT_COUNT, path);
    return format && format->takes_ranges;
}

bool supple_output_takes_slide(const char *path)
{
    const spl_format *format = spl_format_find(formats, FORMAT_COUNT, path);
    return format && format->takes_slide;
}

const char *supple_output_ending(int32_t index)
{
    return index >= 0 && index < FORMAT_COUNT ? formats[index]->ending : NULL;
}

const char *supple_output_summary(int32_t index)
{
    return index >= 0 && index < FORMAT_COUNT ? formats[index]->summary : NULL;
}

bool supple_output_variant(const char *path, const char *name, char *out, size_t size)
{
    supple_allocator a = spl_allocator_of(NULL);
    char *safe = spl_safe_name(name, "clip", &a);
    if (!safe) return false;
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
    int length = snprintf(out, size, "%.*s.%s%s", (int)stem, path, safe, path + stem);
    spl_free(&a, safe);
    return length > 0 && (size_t)length < size;
}

supple_result supple_writer_open(const supple_scene *scene, const char *path, const supple_plan *plan,
                                 const supple_config *config, supple_writer **out, supple_error *error)
{
    return spl_writer_open_with(formats, FORMAT_COUNT, scene, path, plan, config, out, error);
}
