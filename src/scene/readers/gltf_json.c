#include "scene/readers/gltf_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool spl_gltf_fail(spl_gltf *g, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    g->result = spl_fail(g->error, SUPPLE_ERROR_INPUT, "%s: %s", g->name, what);
    return false;
}

bool spl_gltf_fail_memory(spl_gltf *g, const char *what)
{
    g->result = spl_fail_memory(g->error, what);
    return false;
}

/* A byte of a file can rightly become many: an 8-bit index of a strip becomes three 32-bit ones, an accessor serves
 * several primitives, a sparse one may be nearly all zeros. The bound leaves room for these and stops a small file
 * that claims gigabytes. */
enum { GROWTH = 64, GROUND = 256 << 20 };

void *spl_gltf_new(spl_gltf *g, size_t count, size_t size, const char *what)
{
    size_t bytes, limit;
    if (!spl_mul(g->input_size, GROWTH, &limit) || limit > SIZE_MAX - GROUND) limit = SIZE_MAX - GROUND;
    limit += GROUND;
    if (!spl_mul(count, size, &bytes) || bytes > limit || g->taken > limit - bytes) {
        spl_gltf_fail(g, "claims %zu %s, more than a file of its size can mean; it is damaged", count, what);
        return NULL;
    }
    void *block = spl_new(g->a, count, size);
    if (block)
        g->taken += bytes;
    else
        spl_gltf_fail_memory(g, what);
    return block;
}

/* spl_gltf_fail about a key of an object: "node 3: "mesh" is ...". */
static bool SPL_PRINTF(5, 6)
    fail_key(spl_gltf *g, const char *kind, int32_t at, const char *key, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (at < 0) return spl_gltf_fail(g, "%s: \"%s\" %s", kind, key, what);
    return spl_gltf_fail(g, "%s %d: \"%s\" %s", kind, at, key, what);
}

/* Whole numbers may be written as 3 or 3.0. */
static bool whole(const json_t *value, double *out)
{
    if (json_is_integer(value)) {
        *out = (double)json_integer_value(value);
        return true;
    }
    *out = json_real_value(value);
    return json_is_real(value) && *out == floor(*out);
}

bool spl_gltf_list(spl_gltf *g, const json_t *object, const char *key, const char *kind, int32_t at, json_t **list,
                   int32_t *count)
{
    *list = json_object_get(object, key);
    *count = 0;
    if (!*list) return true;
    if (!json_is_array(*list) || json_array_size(*list) > INT32_MAX / 2)
        return fail_key(g, kind, at, key, "is not an array");
    *count = (int32_t)json_array_size(*list);
    for (int32_t i = 0; i < *count; i++)
        if (!json_is_object(json_array_get(*list, (size_t)i)))
            return fail_key(g, kind, at, key, "holds something that is not an object at %d", i);
    return true;
}

bool spl_gltf_index(spl_gltf *g, const json_t *object, const char *key, int32_t limit, const char *kind, int32_t at,
                    int32_t *out)
{
    const json_t *value = json_object_get(object, key);
    double number;
    *out = -1;
    if (!value) return true;
    if (!whole(value, &number)) return fail_key(g, kind, at, key, "is not an index");
    if (!(number >= 0 && number < limit))
        return fail_key(g, kind, at, key, "is %.0f, out of range: the file has %d", number, limit);
    *out = (int32_t)number;
    return true;
}

bool spl_gltf_size(spl_gltf *g, const json_t *object, const char *key, size_t fallback, const char *kind, int32_t at,
                   size_t *out)
{
    const json_t *value = json_object_get(object, key);
    double number;
    *out = fallback;
    if (!value) return true;
    if (!whole(value, &number) || number < 0 || number > 9e15) /* all such doubles are exact and fit size_t */
        return fail_key(g, kind, at, key, "is not a size");
    *out = (size_t)number;
    return true;
}

bool spl_gltf_numbers(spl_gltf *g, const json_t *object, const char *key, double *out, size_t count, const char *kind,
                      int32_t at)
{
    const json_t *list = json_object_get(object, key);
    if (!list) return true;
    if (!json_is_array(list) || json_array_size(list) != count)
        return fail_key(g, kind, at, key, "is not an array of %zu numbers", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        double number = json_number_value(value);
        if (!json_is_number(value) || !(fabs(number) <= SPL_GLTF_HUGE))
            return fail_key(g, kind, at, key, "holds something that is not a usable number");
        out[i] = number;
    }
    return true;
}

char *spl_gltf_name(spl_gltf *g, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    char *copy = spl_strdup(g->a, name ? name : "");
    if (copy)
        spl_sanitise(copy);
    else
        spl_gltf_fail_memory(g, "a name");
    return copy;
}
