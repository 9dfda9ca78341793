/* Force files: what stands in them, key by key. */
#include "body/force_file.h"

#include "core/file.h"
#include "core/json.h"
#include "core/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define STRONGEST 1e9 /* newtons along an axis */
#define FARTHEST  1e9 /* coordinates and radius */

enum { MOST_FORCES = 1000, MOST_FRAMES = 100000000 };

static bool fail_memory(spl_json *j)
{
    j->result = spl_fail_memory(j->error, "forces");
    return false;
}

static bool has(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

/* Each vertex once: a list with a slip would push one of them twice. */
static int compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static bool read_vertices(spl_json *j, const json_t *object, const supple_allocator *a, spl_force *out)
{
    const json_t *list = NULL;
    if (!spl_json_array(j, object, "vertices", &list)) return false;
    if (!list) return true;
    if (json_array_size(list) == 0) return spl_json_fail(j, "\"vertices\" is empty");
    out->vertex = spl_new(a, json_array_size(list), sizeof *out->vertex);
    if (!out->vertex) return fail_memory(j);
    out->vertex_count = (int32_t)json_array_size(list); /* the file's size bounds it */
    for (int32_t i = 0; i < out->vertex_count; i++)
        if (!spl_json_whole_value(j, json_array_get(list, (size_t)i), "vertices", 0, INT32_MAX, &out->vertex[i]))
            return false;
    qsort(out->vertex, (size_t)out->vertex_count, sizeof *out->vertex, compare);
    for (int32_t i = 1; i < out->vertex_count; i++)
        if (out->vertex[i] == out->vertex[i - 1]) return spl_json_fail(j, "\"vertices\" has %d twice", out->vertex[i]);
    return true;
}

static bool read_sphere(spl_json *j, const json_t *object, spl_force *out)
{
    static const char *const keys[] = {"center", "radius", NULL};
    const json_t *sphere = NULL;
    double center[3] = {0};
    if (!spl_json_object(j, object, "sphere", &sphere)) return false;
    if (!sphere) return true;
    if (!has(sphere, "center") || !has(sphere, "radius"))
        return spl_json_fail(j, "\"sphere\" needs \"center\" and \"radius\"");
    if (!spl_json_known(j, sphere, keys) || !spl_json_numbers(j, sphere, "center", 3, -FARTHEST, FARTHEST, center) ||
        !spl_json_number(j, sphere, "radius", 1e-9, FARTHEST, "", &out->radius))
        return false;
    out->center = spl_v3(center[0], center[1], center[2]);
    return true;
}

static bool read_joint(spl_json *j, const json_t *object, const supple_allocator *a, spl_force *out)
{
    const char *joint = NULL;
    if (!spl_json_string(j, object, "joint", &joint)) return false;
    if (!joint) return true;
    out->joint = spl_strdup(a, joint);
    return out->joint || fail_memory(j);
}

static bool read_frames(spl_json *j, const json_t *object, spl_force *out)
{
    double frames[2] = {0};
    out->first = INT32_MIN;
    out->last = INT32_MAX;
    if (!spl_json_whole(j, object, "ramp", 0, MOST_FRAMES, &out->ramp) ||
        !spl_json_numbers(j, object, "frames", 2, 0, MOST_FRAMES, frames))
        return false;
    if (!has(object, "frames")) return true;
    for (int i = 0; i < 2; i++)
        if (frames[i] != floor(frames[i])) return spl_json_fail(j, "\"frames\" wants whole numbers");
    if (frames[0] > frames[1]) return spl_json_fail(j, "\"frames\" ends before it begins");
    out->first = (int32_t)frames[0];
    out->last = (int32_t)frames[1];
    return true;
}

/* Names a force in messages, and sees to it that the name is the only one. */
static bool label_force(spl_json *j, const json_t *object, spl_force_file *file, int32_t index)
{
    const char *name = NULL;
    snprintf(j->where, sizeof j->where, "forces[%d]", index);
    if (!json_is_object(object)) return spl_json_fail(j, "is not an object");
    if (!spl_json_string(j, object, "name", &name)) return false;
    if (name) snprintf(j->where, sizeof j->where, "force '%.60s'", name);
    for (int32_t i = 0; i < index; i++)
        if (strcmp(file->force[i].label, j->where) == 0)
            return spl_json_fail(j, "\"name\" stands twice, at forces[%d] and forces[%d]", i, index);
    file->force[index].label = spl_strdup(&file->allocator, j->where);
    return file->force[index].label || fail_memory(j);
}

static bool read_force(spl_json *j, const json_t *object, spl_force_file *file, int32_t index)
{
    static const char *const keys[] = {"name",   "vertices", "sphere",  "joint", "force",
                                       "frames", "ramp",     "comment", NULL};
    const supple_allocator *a = &file->allocator;
    spl_force *out = &file->force[index];
    const char *comment = NULL;
    double newton[3] = {0};
    if (!label_force(j, object, file, index) || !spl_json_known(j, object, keys) ||
        !spl_json_string(j, object, "comment", &comment) || !read_vertices(j, object, a, out) ||
        !read_sphere(j, object, out) || !read_joint(j, object, a, out) || !read_frames(j, object, out) ||
        !spl_json_numbers(j, object, "force", 3, -STRONGEST, STRONGEST, newton))
        return false;
    if (!has(object, "force")) return spl_json_fail(j, "needs \"force\": three numbers, newtons");
    out->newton = spl_v3(newton[0], newton[1], newton[2]);
    if (has(object, "vertices") + has(object, "sphere") + has(object, "joint") != 1)
        return spl_json_fail(j, "needs exactly one of \"vertices\", \"sphere\" and \"joint\"");
    return true;
}

static bool read_file(spl_json *j, const json_t *root, spl_force_file *file)
{
    static const char *const keys[] = {"forces", "comment", NULL};
    const json_t *list = NULL;
    const char *comment = NULL;
    if (!spl_json_known(j, root, keys) || !spl_json_string(j, root, "comment", &comment) ||
        !spl_json_array(j, root, "forces", &list))
        return false;
    if (!list) return spl_json_fail(j, "has no \"forces\"");
    if (json_array_size(list) > MOST_FORCES)
        return spl_json_fail(j, "\"forces\" has %zu entries; at most %d are read", json_array_size(list), MOST_FORCES);
    file->force = spl_new(&file->allocator, json_array_size(list), sizeof *file->force);
    if (!file->force) return fail_memory(j);
    file->force_count = (int32_t)json_array_size(list);
    for (int32_t i = 0; i < file->force_count; i++)
        if (!read_force(j, json_array_get(list, (size_t)i), file, i)) return false;
    return true;
}

supple_result spl_force_file_parse(const void *text, size_t size, const char *name, const supple_allocator *a,
                                   spl_force_file *out, supple_error *error)
{
    spl_json j = {.name = name, .error = error};
    *out = (spl_force_file){.allocator = *a, .name = spl_strdup(a, name)};
    json_t *root = out->name ? spl_json_parse(&j, text, size) : NULL;
    if (!out->name) fail_memory(&j);
    bool ok = root && read_file(&j, root, out);
    json_decref(root);
    if (ok) return SUPPLE_OK;
    spl_force_file_release(out);
    return j.result;
}

supple_result spl_force_file_load(const char *path, const supple_allocator *a, spl_force_file *out, supple_error *error)
{
    uint8_t *text;
    size_t size;
    *out = (spl_force_file){0};
    supple_result result = spl_file_read(path, SPL_JSON_LARGEST, a, &text, &size, error);
    if (result != SUPPLE_OK) return result;
    result = spl_force_file_parse(text, size, path, a, out, error);
    spl_free(a, text);
    return result;
}

void spl_force_file_release(spl_force_file *file)
{
    for (int32_t i = 0; i < file->force_count; i++) {
        spl_free(&file->allocator, file->force[i].label);
        spl_free(&file->allocator, file->force[i].vertex);
        spl_free(&file->allocator, file->force[i].joint);
    }
    spl_free(&file->allocator, file->force);
    spl_free(&file->allocator, file->name);
    *file = (spl_force_file){0};
}
