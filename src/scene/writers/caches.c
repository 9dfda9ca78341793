/* Point caches: a header, then the positions of one mesh frame after frame. One file for each mesh instance, because a
 * cache drives one object: the path itself for a single one, out.NAME.pc2 for several.
 *   .pc2  "POINTCACHE2\0", version, points, start, sample rate, samples; little endian (3ds Max, Blender)
 *   .mdd  frames, points, the frames' times in seconds; big endian (LightWave, Blender) */
#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/writer.h"

#include <string.h>

enum { FILE_LIMIT = 500 }; /* open at once; the usual limit of a process is 1024 */

typedef struct cache_writer {
    supple_writer base;
    spl_output *outputs; /* one for each mesh instance */
    int32_t output_count;
} cache_writer;

static supple_result open_outputs(cache_writer *w, char **names, supple_error *error)
{
    const supple_scene *scene = w->base.scene;
    for (; w->output_count < scene->instance_count; w->output_count++) {
        char *path = scene->instance_count == 1 ? spl_strdup(&w->base.allocator, w->base.path)
                                                : spl_writer_sibling(&w->base, names[w->output_count], NULL);
        if (!path) return spl_fail_memory(error, "an output path");
        supple_result result = spl_writer_output(&w->base, path, &w->outputs[w->output_count], error);
        spl_free(&w->base.allocator, path);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

static supple_result cache_open(cache_writer *w, supple_error *error)
{
    const supple_scene *scene = w->base.scene;
    if (scene->instance_count > FILE_LIMIT)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "%s: would be %d files, at most %d are possible; write .npy or .glb", w->base.path,
                        (int)scene->instance_count, FILE_LIMIT);
    w->outputs = spl_new(&w->base.allocator, (size_t)scene->instance_count, sizeof *w->outputs);
    char **names = spl_instance_names(scene, &w->base.allocator);
    supple_result result = w->outputs && names ? open_outputs(w, names, error) : spl_fail_memory(error, "outputs");
    spl_names_free(names, scene->instance_count, &w->base.allocator);
    return result;
}

static supple_result cache_frame(supple_writer *writer, const supple_frame *frame, bool big_endian, supple_error *error)
{
    cache_writer *w = (cache_writer *)writer;
    const float *points = spl_writer_points(writer, frame->position);
    for (int32_t i = 0; i < w->output_count; i++) {
        const spl_instance *instance = &writer->scene->instance[i];
        const float *position = points + 3 * (size_t)instance->first_point;
        supple_result result =
            spl_output_floats(&w->outputs[i], position, 3 * (size_t)instance->point_count, big_endian, error);
        if (result != SUPPLE_OK) return result;
    }
    return SUPPLE_OK;
}

/* All files or none: what was renamed before one failed is removed again. */
static supple_result cache_close(supple_writer *writer, supple_error *error)
{
    cache_writer *w = (cache_writer *)writer;
    return spl_outputs_commit(w->outputs, w->output_count, &writer->allocator, error);
}

static void cache_release(supple_writer *writer)
{
    cache_writer *w = (cache_writer *)writer;
    for (int32_t i = 0; i < w->output_count; i++) spl_output_discard(&w->outputs[i]);
    spl_free(&writer->allocator, w->outputs);
}

/* ---- pc2 -------------------------------------------------------------------------------------------------------- */

static supple_result pc2_open(supple_writer *writer, supple_error *error)
{
    cache_writer *w = (cache_writer *)writer;
    supple_result result = cache_open(w, error);
    for (int32_t i = 0; i < w->output_count && result == SUPPLE_OK; i++) {
        uint8_t header[32] = "POINTCACHE2";
        spl_put_u32(header + 12, 1, false); /* version */
        spl_put_u32(header + 16, (uint32_t)writer->scene->instance[i].point_count, false);
        spl_put_f32(header + 20, 0, false); /* start */
        spl_put_f32(header + 24, 1, false); /* samples a frame */
        spl_put_u32(header + 28, (uint32_t)writer->frame_total, false);
        result = spl_output_bytes(&w->outputs[i], header, sizeof header, error);
    }
    return result;
}

static supple_result pc2_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    return cache_frame(writer, frame, false, error);
}

const spl_format spl_format_pc2 = {
    .ending = ".pc2",
    .summary = "point cache of each mesh (Blender's Mesh Cache, 3ds Max)",
    .state_size = sizeof(cache_writer),
    .open = pc2_open,
    .frame = pc2_frame,
    .close = cache_close,
    .release = cache_release,
};

/* ---- mdd -------------------------------------------------------------------------------------------------------- */

static supple_result mdd_header(const supple_writer *writer, spl_output *output, int32_t points, supple_error *error)
{
    uint8_t word[8];
    spl_put_u32(word, (uint32_t)writer->frame_total, true);
    spl_put_u32(word + 4, (uint32_t)points, true);
    supple_result result = spl_output_bytes(output, word, 8, error);
    for (int32_t k = 0; k < writer->frame_total && result == SUPPLE_OK; k++) {
        spl_put_f32(word, (float)(k / writer->fps), true);
        result = spl_output_bytes(output, word, 4, error);
    }
    return result;
}

static supple_result mdd_open(supple_writer *writer, supple_error *error)
{
    cache_writer *w = (cache_writer *)writer;
    supple_result result = cache_open(w, error);
    for (int32_t i = 0; i < w->output_count && result == SUPPLE_OK; i++)
        result = mdd_header(writer, &w->outputs[i], writer->scene->instance[i].point_count, error);
    return result;
}

static supple_result mdd_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    return cache_frame(writer, frame, true, error);
}

const spl_format spl_format_mdd = {
    .ending = ".mdd",
    .summary = "point cache of each mesh (LightWave, Blender)",
    .state_size = sizeof(cache_writer),
    .open = mdd_open,
    .frame = mdd_frame,
    .close = cache_close,
    .release = cache_release,
};
