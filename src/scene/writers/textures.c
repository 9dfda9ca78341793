#include "scene/writers/textures.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* The ending of a picture by its first bytes; NULL for what programs do not take. */
static const char *ending_of(const spl_image *image)
{
    if (image->size > 4 && memcmp(image->data, "\x89PNG", 4) == 0) return ".png";
    return image->size > 3 && memcmp(image->data, "\xff\xd8\xff", 3) == 0 ? ".jpg" : NULL;
}

static supple_result write_image(spl_textures *t, const supple_writer *writer, int32_t i, supple_error *error)
{
    const supple_allocator *a = &writer->allocator;
    const spl_image *image = &writer->scene->image[i];
    const char *ending = image->data ? ending_of(image) : NULL;
    char part[32];
    if (!ending || t->name[i]) return SUPPLE_OK;
    snprintf(part, sizeof part, "texture-%d", (int)i);
    char *path = spl_writer_sibling(writer, part, ending), *slash = path ? strrchr(path, '/') : NULL;
    t->name[i] = path ? spl_strdup(a, slash ? slash + 1 : path) : NULL;
    supple_result result =
        t->name[i] ? spl_writer_output(writer, path, &t->output[i], error) : spl_fail_memory(error, "an output path");
    spl_free(a, path);
    return result == SUPPLE_OK ? spl_output_bytes(&t->output[i], image->data, image->size, error) : result;
}

supple_result spl_textures_open(spl_textures *t, const supple_writer *writer, supple_error *error)
{
    const supple_scene *scene = writer->scene;
    size_t n = (size_t)scene->image_count;
    *t = (spl_textures){.count = scene->image_count};
    t->name = spl_new(&writer->allocator, n, sizeof *t->name);
    t->output = spl_new(&writer->allocator, n + 1, sizeof *t->output);
    supple_result result = t->name && t->output ? SUPPLE_OK : spl_fail_memory(error, "the textures' files");
    for (int32_t m = 0; m < scene->material_count && result == SUPPLE_OK; m++) {
        int32_t i = scene->material[m].base_color_image;
        if (i >= 0 && i < scene->image_count) result = write_image(t, writer, i, error);
    }
    return result;
}

const char *spl_textures_of(const spl_textures *t, const supple_scene *scene, int32_t material)
{
    int32_t i = scene->material[material].base_color_image;
    return i >= 0 && i < t->count ? t->name[i] : NULL;
}

supple_result spl_textures_commit(spl_textures *t, spl_output *main, const supple_allocator *a, supple_error *error)
{
    int32_t count = 0;
    if (!t->output) return spl_output_commit(main, error); /* none were asked for */
    for (int32_t i = 0; i < t->count; i++)                 /* those that are, side by side */
        if (t->output[i].stream) {
            spl_output one = t->output[i];
            t->output[i] = (spl_output){0};
            t->output[count++] = one;
        }
    if (main) {
        t->output[count++] = *main;
        *main = (spl_output){0};
    }
    supple_result result = spl_outputs_commit(t->output, count, a, error);
    for (int32_t i = 0; i < count; i++) spl_output_discard(&t->output[i]);
    return result;
}

void spl_textures_release(spl_textures *t, const supple_allocator *a)
{
    for (int32_t i = 0; t->output && i < t->count + 1; i++) spl_output_discard(&t->output[i]);
    for (int32_t i = 0; t->name && i < t->count; i++) spl_free(a, t->name[i]);
    spl_free(a, t->name);
    spl_free(a, t->output);
    *t = (spl_textures){0};
}
