/* What all outputs share: the plan, the order of frames, and the promise that the input is never overwritten. */
#include "scene/writers/writer.h"

#include "core/error.h"
#include "core/memory.h"
#include "rig/pose.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const spl_format *spl_format_find(const spl_format *const *formats, int count, const char *path)
{
    size_t length = strlen(path);
    for (int i = 0; i < count; i++) {
        size_t n = strlen(formats[i]->ending);
        if (length > n && strcasecmp(path + length - n, formats[i]->ending) == 0) return formats[i];
    }
    return NULL;
}

static supple_result unknown_format(const spl_format *const *formats, int count, const char *path, supple_error *error)
{
    char list[128] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "", formats[i]->ending);
    }
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: no format is written by that ending; there are %s", path, list);
}

static supple_result check_range(const supple_scene *scene, const supple_range *range, supple_error *error)
{
    if (range->clip < -1 || range->clip >= scene->clip_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: clip %d does not exist; the scene has %d",
                        (int)range->clip, (int)scene->clip_count);
    if (range->first_frame < 0 || range->frame_count < 1 || range->first_frame > INT32_MAX - range->frame_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: a range of %d frames from frame %d is not possible",
                        (int)range->frame_count, (int)range->first_frame);
    return SUPPLE_OK;
}

static supple_result check_plan(const spl_format *format, const supple_scene *scene, const supple_plan *plan,
                                int32_t *total, supple_error *error)
{
    if (!plan || !plan->ranges || plan->range_count < 1)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: the plan has no frames");
    if (!(plan->fps >= 1e-3 && plan->fps <= 1e6)) /* NaN fails too; times k / fps stay floats that differ */
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: %g frames a second are not possible", plan->fps);
    if (!(plan->glb_error >= 0 && plan->glb_error <= 1))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: an error of %g of the diagonal is not from 0 to 1",
                        plan->glb_error);
    if (plan->show == SUPPLE_SHOW_STRETCH && !plan->slide)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: there is no stretch to show without sliding skin");
    if (plan->range_count > 1 && !format->takes_ranges)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                        "output: %s holds one clip in a file, not %d; write a file for each or a .glb", format->ending,
                        (int)plan->range_count);
    int64_t sum = 0;
    for (int32_t i = 0; i < plan->range_count; i++) {
        supple_result result = check_range(scene, &plan->ranges[i], error);
        if (result != SUPPLE_OK) return result;
        sum += plan->ranges[i].frame_count;
        if (sum > INT32_MAX) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "output: too many frames");
    }
    *total = (int32_t)sum;
    return SUPPLE_OK;
}

static void free_writer(supple_writer *writer)
{
    supple_allocator a = writer->allocator;
    writer->format->release(writer);
    spl_free(&a, writer->path);
    spl_free(&a, writer->ranges);
    spl_free(&a, writer->points);
    spl_free(&a, writer);
}

/* The part of a writer that does not depend on its format; NULL if memory is out. */
static supple_writer *make_writer(const spl_format *format, const supple_scene *scene, const char *path,
                                  const supple_plan *plan, const supple_config *config)
{
    supple_allocator a = spl_allocator_of(config);
    supple_writer *w = spl_new(&a, 1, format->state_size);
    if (!w) return NULL;
    w->format = format;
    w->allocator = a;
    w->config = config ? *config : supple_config_default();
    w->scene = scene;
    w->fps = plan->fps;
    w->glb_error = plan->glb_error;
    w->keep_rig = plan->keep_rig;
    w->slide = plan->slide;
    w->slide_texture = plan->slide && plan->slide_texture;
    w->show = plan->show;
    w->range_count = plan->range_count;
    w->path = spl_strdup(&a, path);
    w->ranges = spl_new(&a, (size_t)plan->range_count, sizeof *w->ranges);
    bool points = scene->point_vertex != NULL;
    if (points) w->points = spl_new(&a, (size_t)scene->point_count, 3 * sizeof *w->points);
    if (w->path && w->ranges && (w->points || !points)) {
        memcpy(w->ranges, plan->ranges, (size_t)plan->range_count * sizeof *w->ranges);
        return w;
    }
    spl_free(&a, w->path);
    spl_free(&a, w->ranges);
    spl_free(&a, w->points);
    spl_free(&a, w);
    return NULL;
}

supple_result spl_writer_open_with(const spl_format *const *formats, int count, const supple_scene *scene,
                                   const char *path, const supple_plan *plan, const supple_config *config,
                                   supple_writer **out, supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    const spl_format *format = spl_format_find(formats, count, path);
    if (!format) return unknown_format(formats, count, path, error);
    int32_t total = 0;
    result = check_plan(format, scene, plan, &total, error);
    if (result != SUPPLE_OK) return result;
    if (scene->vertex_count < 1)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: has no mesh, so there is nothing to write", scene->path);
    supple_writer *w = make_writer(format, scene, path, plan, config);
    if (!w) return spl_fail_memory(error, "an output");
    w->frame_total = total;
    result = spl_writer_guard(w, path, error);
    if (result == SUPPLE_OK) spl_output_sweep(path);
    if (result == SUPPLE_OK) result = format->open(w, error);
    if (result != SUPPLE_OK)
        free_writer(w);
    else
        *out = w;
    return result;
}

/* Where the next frame belongs. */
static void expected_frame(const supple_writer *writer, int32_t *range, int32_t *index)
{
    *range = 0;
    *index = writer->frames_done;
    while (*range < writer->range_count && *index >= writer->ranges[*range].frame_count)
        *index -= writer->ranges[(*range)++].frame_count;
}

static bool all_finite(const float *values, size_t count)
{
    /* x * 0 is 0 for finite x and NaN otherwise: a sum without branches. */
    float sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] * 0.0f;
    return sum == 0;
}

/* The skin's part of a frame: there if the plan says so, whole, and of numbers. */
static supple_result check_slide(const supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    const supple_slide_frame *s = frame->slide;
    int32_t number = writer->ranges[frame->range].first_frame + frame->index;
    if ((s != NULL) != writer->slide)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: frame %d %s sliding skin, and the plan says otherwise",
                        writer->path, (int)number, s ? "has" : "lacks");
    if (!s) return SUPPLE_OK;
    size_t corners = 3 * (size_t)writer->scene->triangle_count, vertices = (size_t)writer->scene->vertex_count;
    if (!s->corner_uv || s->corners != corners || (s->stretch && s->vertices != vertices))
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: frame %d slides %zu corners of the %zu there are",
                        writer->path, (int)number, s->corners, corners);
    if (!all_finite(s->corner_uv, 2 * corners) || (s->stretch && !all_finite(s->stretch, vertices)))
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "%s: frame %d has skin that is not numbers", writer->path,
                        (int)number);
    return SUPPLE_OK;
}

supple_result supple_writer_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    if (writer->broken)
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: an earlier frame could not be written", writer->path);
    int32_t range, index;
    expected_frame(writer, &range, &index);
    if (range == writer->range_count)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: all %d frames were given", writer->path,
                        (int)writer->frame_total);
    if (frame->range != range || frame->index != index)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: frame %d of range %d was given, frame %d of range %d is due",
                        writer->path, (int)frame->index, (int)frame->range, (int)index, (int)range);
    if (!frame->position) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: a frame without positions", writer->path);
    if (!all_finite(frame->position, 3 * (size_t)writer->scene->vertex_count))
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "%s: frame %d has positions that are not numbers", writer->path,
                        (int)(index + writer->ranges[range].first_frame));
    supple_result result = check_slide(writer, frame, error);
    if (result != SUPPLE_OK) return result;
    result = writer->format->frame(writer, frame, error);
    if (result == SUPPLE_OK)
        writer->frames_done++;
    else
        writer->broken = true;
    return result;
}

supple_result supple_writer_close(supple_writer *writer, supple_error *error)
{
    supple_result result = SUPPLE_OK;
    if (writer->broken)
        result = spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: a frame could not be written", writer->path);
    else if (writer->frames_done != writer->frame_total)
        result = spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: closed after %d of %d frames", writer->path,
                          (int)writer->frames_done, (int)writer->frame_total);
    else
        result = writer->format->close(writer, error);
    free_writer(writer);
    return result;
}

void supple_writer_abort(supple_writer *writer)
{
    if (writer) free_writer(writer);
}

/* ---- for the formats -------------------------------------------------------------------------------------------- */

supple_result spl_writer_guard(const supple_writer *writer, const char *path, supple_error *error)
{
    const supple_scene *scene = writer->scene;
    bool same = scene->from_file && spl_file_same(path, scene->path);
    for (int32_t i = 0; i < scene->file_count && !same; i++) same = spl_file_same(path, scene->file[i]);
    if (!same) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "%s: would overwrite the input; choose another name or folder", path);
}

supple_result spl_writer_output(const supple_writer *writer, const char *path, spl_output *output, supple_error *error)
{
    supple_result result = spl_writer_guard(writer, path, error);
    return result == SUPPLE_OK ? spl_output_open(output, path, &writer->allocator, error) : result;
}

supple_result spl_writer_spool(const supple_writer *writer, spl_output *spool, supple_error *error)
{
    supple_result result = spl_output_open(spool, writer->path, &writer->allocator, error);
    if (result != SUPPLE_OK) return result;
    unlink(spool->temporary);
    spl_free(&writer->allocator, spool->temporary);
    spool->temporary = NULL;
    return SUPPLE_OK;
}

static supple_result commit_all(spl_output *outputs, char **paths, int32_t count, const supple_allocator *a,
                                supple_error *error)
{
    for (int32_t i = 0; i < count; i++) { /* a full disk shows here, before anything has its name */
        if (fflush(outputs[i].stream) != 0)
            return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", outputs[i].path, strerror(errno));
        paths[i] = spl_strdup(a, outputs[i].path);
        if (!paths[i]) return spl_fail_memory(error, "an output path");
    }
    for (int32_t i = 0; i < count; i++) {
        supple_result result = spl_output_commit(&outputs[i], error);
        if (result == SUPPLE_OK) continue;
        while (i-- > 0) unlink(paths[i]);
        return result;
    }
    return SUPPLE_OK;
}

supple_result spl_outputs_commit(spl_output *outputs, int32_t count, const supple_allocator *a, supple_error *error)
{
    char **paths = spl_new(a, (size_t)count, sizeof *paths);
    if (!paths) return spl_fail_memory(error, "output paths");
    supple_result result = commit_all(outputs, paths, count, a, error);
    spl_names_free(paths, count, a);
    return result;
}

char *spl_writer_sibling(const supple_writer *writer, const char *part, const char *ending)
{
    size_t length = strlen(writer->path), stem = length - strlen(writer->format->ending);
    const char *tail = ending ? ending : writer->path + stem;
    size_t size = stem + (part ? strlen(part) + 1 : 0) + strlen(tail) + 1;
    char *path = spl_new(&writer->allocator, size, 1);
    if (path) snprintf(path, size, "%.*s%s%s%s", (int)stem, writer->path, part ? "." : "", part ? part : "", tail);
    return path;
}

const float *spl_writer_points(supple_writer *writer, const float *position)
{
    const supple_scene *scene = writer->scene;
    if (!scene->point_vertex) return position;
    for (size_t i = 0; i < (size_t)scene->point_count; i++)
        memcpy(writer->points + 3 * i, position + 3 * (size_t)scene->point_vertex[i], 3 * sizeof *position);
    return writer->points;
}

bool spl_mesh_has_normals(const spl_mesh *mesh)
{
    bool any = false;
    for (int32_t k = 0; k < mesh->primitive_count; k++) {
        if (mesh->primitive[k].triangle_count && !mesh->primitive[k].normal) return false;
        any = any || mesh->primitive[k].triangle_count;
    }
    return any;
}

bool *spl_writer_mirrored(const supple_writer *writer)
{
    const supple_scene *scene = writer->scene;
    const supple_range *range = &writer->ranges[0];
    spl_pose pose;
    bool *mirrored = spl_new(&writer->allocator, (size_t)scene->instance_count, sizeof *mirrored);
    if (!mirrored || spl_pose_init(&pose, scene, NULL) != SUPPLE_OK) {
        spl_free(&writer->allocator, mirrored);
        return NULL;
    }
    spl_pose_sample(&pose, scene, range->clip, range->first_frame / writer->fps);
    for (int32_t i = 0; i < scene->instance_count; i++) mirrored[i] = spl_pose_mirrors(&pose, scene, i);
    spl_pose_release(&pose);
    return mirrored;
}

void spl_put_u32(uint8_t out[4], uint32_t value, bool big_endian)
{
    for (int i = 0; i < 4; i++) out[big_endian ? 3 - i : i] = (uint8_t)(value >> (8 * i));
}

void spl_put_f32(uint8_t out[4], float value, bool big_endian)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    spl_put_u32(out, bits, big_endian);
}

supple_result spl_output_floats(spl_output *output, const float *values, size_t count, bool big_endian,
                                supple_error *error)
{
    uint8_t block[4096];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < sizeof block / 4 ? count - done : sizeof block / 4;
        for (size_t i = 0; i < n; i++) spl_put_f32(block + 4 * i, values[done + i], big_endian);
        supple_result result = spl_output_bytes(output, block, 4 * n, error);
        if (result != SUPPLE_OK) return result;
        done += n;
    }
    return SUPPLE_OK;
}
