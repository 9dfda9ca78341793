#include "contact/collider_file.h"

#include "core/file.h"
#include "core/json.h"
#include "core/memory.h"

#include <stdio.h>

#define FARTHEST 1e9 /* coordinates and radius */

enum { MOST_COLLIDERS = 1000, MOST_KEYS = 1000000 };

static bool fail_memory(spl_json *j)
{
    j->result = spl_fail_memory(j->error, "colliders");
    return false;
}

static bool has(const json_t *object, const char *key)
{
    return json_object_get(object, key) != NULL;
}

static bool read_vector(spl_json *j, const json_t *object, const char *key, spl_vec3 *out)
{
    double v[3] = {out->x, out->y, out->z};
    if (!spl_json_numbers(j, object, key, 3, -FARTHEST, FARTHEST, v)) return false;
    *out = spl_v3(v[0], v[1], v[2]);
    return true;
}

/* The object of one kind: all its keys, and no others. */
static bool read_shape(spl_json *j, const json_t *object, const char *kind, const char *const *keys,
                       spl_collider_shape *out)
{
    const json_t *shape = NULL;
    if (!spl_json_object(j, object, kind, &shape)) return false;
    if (!spl_json_known(j, shape, keys)) return false;
    for (int k = 0; keys[k]; k++)
        if (!has(shape, keys[k])) return spl_json_fail(j, "\"%s\" needs \"%s\"", kind, keys[k]);
    if (!read_vector(j, shape, keys[0], &out->a)) return false;
    if (out->kind != SPL_COLLIDER_SPHERE && !read_vector(j, shape, keys[1], &out->b)) return false;
    if (out->kind == SPL_COLLIDER_PLANE)
        return spl_norm(out->b) > 0 || spl_json_fail(j, "\"normal\" must have a direction");
    return spl_json_number(j, shape, "radius", 1e-9, FARTHEST, "", &out->radius);
}

static bool read_kind(spl_json *j, const json_t *object, spl_collider_shape *out)
{
    static const char *const sphere[] = {"center", "radius", NULL};
    static const char *const capsule[] = {"from", "to", "radius", NULL};
    static const char *const plane[] = {"point", "normal", NULL};
    if (has(object, "sphere") + has(object, "capsule") + has(object, "plane") != 1)
        return spl_json_fail(j, "takes one of \"sphere\", \"capsule\" and \"plane\"");
    out->kind = has(object, "sphere")    ? SPL_COLLIDER_SPHERE
                : has(object, "capsule") ? SPL_COLLIDER_CAPSULE
                                         : SPL_COLLIDER_PLANE;
    if (out->kind == SPL_COLLIDER_SPHERE) return read_shape(j, object, "sphere", sphere, out);
    if (out->kind == SPL_COLLIDER_CAPSULE) return read_shape(j, object, "capsule", capsule, out);
    return read_shape(j, object, "plane", plane, out);
}

static bool read_key(spl_json *j, const json_t *object, spl_collider_key *out)
{
    static const char *const keys[] = {"time", "move", "turn", NULL};
    double turn[4] = {0, 0, 0, 1};
    if (!json_is_object(object)) return spl_json_fail(j, "\"keys\" has something that is not an object");
    if (!spl_json_known(j, object, keys) || !spl_json_number(j, object, "time", -1e6, 1e6, " s", &out->time) ||
        !read_vector(j, object, "move", &out->move) || !spl_json_numbers(j, object, "turn", 4, -1, 1, turn))
        return false;
    if (!has(object, "time")) return spl_json_fail(j, "a key needs \"time\"");
    out->turn = spl_quat_normalise(spl_quat_make(turn[0], turn[1], turn[2], turn[3]));
    return true;
}

static bool read_keys(spl_json *j, const json_t *object, const supple_allocator *a, spl_collider_item *out)
{
    const json_t *list = NULL;
    if (!spl_json_array(j, object, "keys", &list)) return false;
    if (!list) return true;
    size_t count = json_array_size(list);
    if (count == 0 || count > MOST_KEYS) return spl_json_fail(j, "\"keys\" takes 1 to %d of them", MOST_KEYS);
    out->key = spl_new(a, count, sizeof *out->key);
    if (!out->key) return fail_memory(j);
    out->key_count = (int32_t)count;
    for (size_t i = 0; i < count; i++) {
        if (!read_key(j, json_array_get(list, i), &out->key[i])) return false;
        if (i > 0 && !(out->key[i].time > out->key[i - 1].time)) return spl_json_fail(j, "times of \"keys\" must rise");
    }
    return true;
}

static bool read_item(spl_json *j, const json_t *object, int32_t index, const supple_allocator *a,
                      spl_collider_item *out)
{
    static const char *const keys[] = {"name", "sphere", "capsule", "plane", "keys", "comment", NULL};
    const char *name = NULL, *comment = NULL;
    snprintf(j->where, sizeof j->where, "colliders[%d]", (int)index);
    if (!json_is_object(object)) return spl_json_fail(j, "is not an object");
    if (!spl_json_string(j, object, "name", &name)) return false;
    if (name) snprintf(j->where, sizeof j->where, "collider '%.60s'", name);
    return spl_json_known(j, object, keys) && spl_json_string(j, object, "comment", &comment) &&
           read_kind(j, object, &out->shape) && read_keys(j, object, a, out);
}

static bool read_root(spl_json *j, const json_t *root, spl_collider_file *out)
{
    static const char *const keys[] = {"colliders", "comment", NULL};
    const json_t *list = NULL;
    const char *comment = NULL;
    if (!spl_json_known(j, root, keys) || !spl_json_string(j, root, "comment", &comment) ||
        !spl_json_array(j, root, "colliders", &list))
        return false;
    size_t count = list ? json_array_size(list) : 0;
    if (count == 0 || count > MOST_COLLIDERS)
        return spl_json_fail(j, "needs \"colliders\", a list of 1 to %d things", MOST_COLLIDERS);
    out->item = spl_new(&out->allocator, count, sizeof *out->item);
    if (!out->item) return fail_memory(j);
    out->count = (int32_t)count;
    for (int32_t i = 0; i < out->count; i++)
        if (!read_item(j, json_array_get(list, (size_t)i), i, &out->allocator, &out->item[i])) return false;
    return true;
}

supple_result spl_collider_file_parse(const void *text, size_t size, const char *name, const supple_allocator *a,
                                      spl_collider_file *out, supple_error *error)
{
    spl_json j = {.name = name, .error = error};
    *out = (spl_collider_file){.allocator = *a};
    json_t *root = spl_json_parse(&j, text, size);
    if (root) read_root(&j, root, out);
    json_decref(root);
    if (j.result != SUPPLE_OK) spl_collider_file_release(out);
    return j.result;
}

supple_result spl_collider_file_load(const char *path, const supple_allocator *a, spl_collider_file *out,
                                     supple_error *error)
{
    uint8_t *text;
    size_t size;
    *out = (spl_collider_file){0};
    supple_result result = spl_file_read(path, SPL_JSON_LARGEST, a, &text, &size, error);
    if (result != SUPPLE_OK) return result;
    result = spl_collider_file_parse(text, size, path, a, out, error);
    spl_free(a, text);
    return result;
}

void spl_collider_file_release(spl_collider_file *file)
{
    if (!file->allocator.release) return;
    for (int32_t i = 0; i < file->count; i++) spl_free(&file->allocator, file->item[i].key);
    spl_free(&file->allocator, file->item);
    *file = (spl_collider_file){0};
}

/* ---- motion ---- */

static spl_collider_key key_at(const spl_collider_item *item, double time)
{
    int32_t last = item->key_count - 1, k = 0;
    while (k < last && item->key[k + 1].time <= time) k++;
    spl_collider_key key = item->key[k];
    if (k == last || time <= key.time) return key;
    const spl_collider_key *next = &item->key[k + 1];
    double t = (time - key.time) / (next->time - key.time);
    key.move = spl_lerp(key.move, next->move, t);
    key.turn = spl_quat_slerp(key.turn, next->turn, t);
    return key;
}

spl_collider_shape spl_collider_item_at(const spl_collider_item *item, double time)
{
    spl_collider_shape s = item->shape;
    if (item->key_count == 0) return s;
    spl_collider_key key = key_at(item, time);
    if (s.kind == SPL_COLLIDER_CAPSULE) {
        spl_vec3 middle = spl_lerp(s.a, s.b, 0.5), half = spl_quat_rotate(key.turn, spl_sub(s.b, middle));
        s.a = spl_add(spl_sub(middle, half), key.move);
        s.b = spl_add(spl_add(middle, half), key.move);
        return s;
    }
    s.a = spl_add(s.a, key.move);
    if (s.kind == SPL_COLLIDER_PLANE) s.b = spl_quat_rotate(key.turn, s.b);
    return s;
}
