#include "scene/writers/gltf_slide.h"

#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/gltf_slide_texture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MOST = 64, SIDE = 1024 /* texels, of textures whose size is not known */ };
static const double BOUND = 0.25, APART = 0.5; /* texels */

void spl_gltf_slide_release(spl_gltf_slide *s, const supple_allocator *a)
{
    spl_output_discard(&s->spool);
    spl_free(a, s->corner);
    spl_free(a, s->size);
    spl_free(a, s->row);
    *s = (spl_gltf_slide){0};
}

/* ---- frames in ----------------------------------------------------------------------------------------------------
 */

/* The size of a material's base colour, by the header of a PNG. */
static void find_size(const supple_scene *scene, int32_t material, double size[2])
{
    int32_t i = material >= 0 ? scene->material[material].base_color_image : -1;
    const spl_image *image = i >= 0 && i < scene->image_count ? &scene->image[i] : NULL;
    size[0] = size[1] = SIDE;
    if (!image || image->size < 24 || memcmp(image->data, "\x89PNG", 4) != 0) return;
    for (size_t c = 0; c < 2; c++) {
        const uint8_t *b = image->data + 16 + 4 * c;
        uint32_t n = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        if (n > 0 && n <= 65536) size[c] = n;
    }
}

supple_result spl_gltf_slide_open(spl_gltf_slide *s, const supple_writer *writer, supple_error *error)
{
    const supple_scene *scene = writer->scene;
    const supple_allocator *a = &writer->allocator;
    size_t n = (size_t)scene->vertex_count;
    int32_t corner = 0;
    s->corner = spl_new(a, n, sizeof *s->corner);
    s->size = spl_new(a, n, 2 * sizeof *s->size);
    s->row = spl_new(a, n, 3 * sizeof *s->row);
    if (!s->corner || !s->size || !s->row) return spl_fail_memory(error, "sliding texture coordinates");
    for (size_t v = 0; v < n; v++) s->corner[v] = -1;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int32_t first = scene->instance[i].first_vertex;
        for (int32_t k = 0; k < mesh->primitive_count; k++) {
            const spl_primitive *p = &mesh->primitive[k];
            double size[2];
            find_size(scene, p->material, size);
            for (int32_t v = 0; v < p->vertex_count; v++) memcpy(s->size + 2 * (size_t)(first + v), size, sizeof size);
            for (int32_t c = 0; p->uv && c < 3 * p->triangle_count; c++)
                if (s->corner[first + p->triangle[c]] < 0) s->corner[first + p->triangle[c]] = corner + c;
            first += p->vertex_count;
            corner += 3 * p->triangle_count;
        }
    }
    return spl_writer_spool(writer, &s->spool, error);
}

/* Remembers how far the corners of a vertex are apart: only one coordinate is written of each. */
static void compare(spl_gltf_slide *s, const supple_scene *scene, const float *uv)
{
    for (int32_t i = 0; i < scene->instance_count; i++) {
        const spl_mesh *mesh = &scene->mesh[scene->instance[i].mesh];
        int32_t first = scene->instance[i].first_vertex;
        for (int32_t k = 0; k < mesh->primitive_count; k++) {
            const spl_primitive *p = &mesh->primitive[k];
            for (int32_t c = 0; c < 3 * p->triangle_count; c++, uv += 2) {
                const float *row = s->row + 3 * (size_t)(first + p->triangle[c]);
                const double *size = s->size + 2 * (size_t)(first + p->triangle[c]);
                for (int d = 0; p->uv && d < 2; d++)
                    s->apart = fmax(s->apart, fabs((double)uv[d] * size[d] - (double)row[d]));
            }
            first += p->vertex_count;
        }
    }
}

supple_result spl_gltf_slide_frame(spl_gltf_slide *s, const supple_writer *writer, const supple_frame *frame,
                                   supple_error *error)
{
    size_t n = (size_t)writer->scene->vertex_count;
    for (size_t v = 0; v < n; v++)
        for (size_t c = 0; c < 3; c++) {
            const float *uv = frame->slide->corner_uv + 2 * (size_t)(s->corner[v] < 0 ? 0 : s->corner[v]);
            s->row[3 * v + c] = c < 2 && s->corner[v] >= 0 ? (float)((double)uv[c] * s->size[2 * v + c]) : 0;
        }
    compare(s, writer->scene, frame->slide->corner_uv);
    return spl_output_bytes(&s->spool, s->row, 3 * n * sizeof *s->row, error);
}

/* ---- the basis ----------------------------------------------------------------------------------------------------
 */

typedef struct part_basis {
    spl_basis basis;
    float *mean, *part, *block; /* of a block of columns */
    float *values;              /* 2 a vertex: the mean, then each component; texture coordinates */
} part_basis;

static supple_result project(spl_gltf_slide *s, const spl_bake *bake, const spl_bake_part *part,
                             const spl_frames *frames, part_basis *b, supple_error *error)
{
    size_t n = (size_t)part->vertex_count, first = 3 * (size_t)part->first_vertex, count = (size_t)b->basis.count;
    size_t most = spl_basis_block(frames);
    const supple_allocator *a = &bake->allocator;
    b->mean = spl_new(a, most, sizeof *b->mean);
    b->part = spl_new(a, most * (count + 1), sizeof *b->part);
    b->block = spl_new(a, most * (size_t)frames->count, sizeof *b->block);
    b->values = spl_new(a, 2 * n * (count + 1), sizeof *b->values);
    if (!b->mean || !b->part || !b->block || !b->values) return spl_fail_memory(error, "sliding texture coordinates");
    for (size_t at = 0; at < 3 * n; at += most) {
        size_t columns = 3 * n - at < most ? 3 * n - at : most;
        supple_result r =
            spl_basis_project(&b->basis, frames, first + at, columns, NULL, b->block, b->mean, b->part, error);
        if (r != SUPPLE_OK) return r;
        s->error = fmax(s->error, spl_basis_measure(&b->basis, b->block, columns, b->part));
        for (size_t k = 0; k <= count; k++)
            for (size_t c = 0; c < columns; c++) {
                size_t v = (at + c) / 3, d = (at + c) % 3;
                const float *from = k ? b->part + (k - 1) * columns : b->mean;
                if (d < 2)
                    b->values[2 * (k * n + v) + d] =
                        (float)((double)from[c] / s->size[2 * ((size_t)part->first_vertex + v) + d]);
            }
    }
    return SUPPLE_OK;
}

/* The number of new floats; memory that is out is remembered. */
static json_t *floats(spl_bake *bake, const float *values, size_t count, const char *type)
{
    int32_t index = spl_bake_floats(bake, values, count, type, false, false);
    if (index < 0) bake->failed = true;
    return json_integer(index);
}

void spl_gltf_slide_describe(spl_bake *bake, const spl_bake_part *part, json_t *slide)
{
    json_t *frames = json_array(), *own = json_object_get(part->json, "extras");
    for (int32_t r = 0; r < bake->writer->range_count; r++)
        spl_bake_append(bake, frames, json_integer(bake->writer->ranges[r].frame_count));
    spl_bake_set(bake, slide, "frames", frames);
    spl_bake_set(bake, slide, "fps", json_real(bake->writer->fps));
    if (json_is_object(own)) {
        spl_bake_set(bake, own, "supple_slide", slide);
        return;
    }
    json_t *extras = json_object();
    spl_bake_set(bake, extras, "supple_slide", slide);
    spl_bake_set(bake, part->json, "extras", extras);
}

/* {"components": [mean, first, ...], "weights": W, "frames": [of each animation], "fps": F} */
static bool describe(spl_bake *bake, const spl_bake_part *part, const part_basis *b)
{
    size_t n = (size_t)part->vertex_count;
    json_t *slide = json_object(), *list = json_array();
    for (int32_t k = 0; k <= b->basis.count; k++)
        spl_bake_append(bake, list, floats(bake, b->values + 2 * n * (size_t)k, n, "VEC2"));
    size_t weights = (size_t)b->basis.frame_count * (size_t)b->basis.count;
    spl_bake_set(bake, slide, "components", list);
    spl_bake_set(bake, slide, "weights", floats(bake, b->basis.weight, weights, "SCALAR"));
    spl_gltf_slide_describe(bake, part, slide);
    return !bake->failed;
}

static supple_result add_part(spl_gltf_slide *s, spl_bake *bake, const spl_bake_part *part, const spl_frames *frames,
                              supple_error *error)
{
    part_basis b = {0};
    const supple_allocator *a = &bake->allocator;
    spl_basis_task task = {.frames = frames,
                           .first = 3 * (size_t)part->first_vertex,
                           .columns = 3 * (size_t)part->vertex_count,
                           .bound = BOUND,
                           .most = MOST,
                           .allocator = a,
                           .config = NULL};
    supple_result result = spl_basis_find(&task, &b.basis, error);
    if (result == SUPPLE_OK && b.basis.count > 0) {
        s->most = b.basis.count > s->most ? b.basis.count : s->most;
        result = project(s, bake, part, frames, &b, error);
        if (result == SUPPLE_OK && !describe(bake, part, &b))
            result = spl_fail_memory(error, "sliding texture coordinates");
    }
    spl_basis_release(&b.basis, a);
    spl_free(a, b.mean);
    spl_free(a, b.part);
    spl_free(a, b.block);
    spl_free(a, b.values);
    return result;
}

static supple_result add_parts(spl_gltf_slide *s, spl_bake *bake, const spl_frames *frames, supple_error *error)
{
    const supple_writer *writer = bake->writer;
    supple_result result = SUPPLE_OK;
    for (int32_t i = 0; i < bake->part_count && result == SUPPLE_OK; i++)
        result = add_part(s, bake, &bake->part[i], frames, error);
    if (result == SUPPLE_OK && s->most)
        spl_log(
            &writer->config, SUPPLE_LOG_INFO,
            "%s: sliding skin as %d component%s, off by %.2g texels; a viewer needs examples/slide-three.js to show it",
            writer->path, (int)s->most, s->most == 1 ? "" : "s", s->error);
    return result;
}

supple_result spl_gltf_slide_close(spl_gltf_slide *s, spl_bake *bake, spl_output *texture, bool *written,
                                   supple_error *error)
{
    *written = false;
    const supple_writer *writer = bake->writer;
    if (s->apart > APART) {
        spl_log(
            &writer->config, SUPPLE_LOG_WARNING,
            "%s: shows no slide: corners of a vertex are %.3g texels apart, and one coordinate is all that a vertex "
            "has there (an atlas mends that)",
            writer->path, s->apart);
        return SUPPLE_OK;
    }
    if (fflush(s->spool.stream) != 0)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", writer->path, strerror(errno));
    spl_frames frames = {fileno(s->spool.stream), writer->frame_total, 3 * (size_t)writer->scene->vertex_count};
    spl_slide_texture done = SPL_SLIDE_TEXTURE_LARGE;
    supple_result result = texture ? spl_slide_texture_write(s, bake, &frames, texture, &done, error) : SUPPLE_OK;
    if (result == SUPPLE_OK && done == SPL_SLIDE_TEXTURE_LARGE) result = add_parts(s, bake, &frames, error);
    *written = done == SPL_SLIDE_TEXTURE_WRITTEN;
    if (result != SUPPLE_OK) return result;
    json_t *buffer = json_array_get(json_object_get(bake->root, "buffers"), 0);
    if (buffer) spl_bake_set(bake, buffer, "byteLength", json_integer((json_int_t)bake->size));
    return bake->failed ? spl_fail_memory(error, "the output's document") : SUPPLE_OK;
}
