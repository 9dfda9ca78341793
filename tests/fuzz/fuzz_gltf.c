/* libFuzzer on the glTF reader and on everything that trusts what it let through. `make fuzz` runs it.
 *
 * A built-in character becomes a seed in the first folder that is named; files that are small and have what it lacks
 * (sparse and quantised accessors, morph targets, several skins) come from the repository, by scripts/run-fuzz.
 *
 * Bytes changed at random rarely get past the JSON parser, so half of the mutations change a value of the JSON: of a
 * .gltf, or of a .glb's first chunk (the rest of the file stays). */
#include "exercise.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    void *arm = NULL;
    size_t size = 0;
    for (int i = 1; i < *argc; i++) {
        struct stat is;
        char path[4096];
        if ((*argv)[i][0] == '-' || stat((*argv)[i], &is) != 0 || !S_ISDIR(is.st_mode)) continue;
        snprintf(path, sizeof path, "%s/demo-arm.glb", (*argv)[i]);
        FILE *file = access(path, R_OK) == 0 ? NULL : fopen(path, "wb");
        if (!file) break;
        if (supple_demo_make("arm", 0.25, NULL, &arm, &size, NULL) == SUPPLE_OK) fwrite(arm, 1, size, file);
        fclose(file);
        supple_bytes_free(arm, NULL);
        break;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    exercise(data, size);
    return 0;
}

/* ---- the mutator ------------------------------------------------------------------------------------------------ */

static uint32_t next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static json_t *random_value(unsigned *state, const json_t *old)
{
    static const double reals[] = {0.5, -0.0, 1e17, 1e300, -3, 1e-300};
    static const json_int_t whole[] = {-1, 255, 256, 65535, 5121, 5123, 5125, 5126, 2147483647, 4294967296};
    switch (next(state) % 8) {
    case 0:
        return json_integer(whole[next(state) % 10]);
    case 1:
        return json_real(reals[next(state) % 6]);
    case 2:
        return json_null();
    case 3:
        return next(state) % 2 ? json_array() : json_object();
    case 4:
        return json_string(next(state) % 2 ? "CUBICSPLINE" : "VEC4");
    case 5:
        return json_integer(json_integer_value(old) < LLONG_MAX ? json_integer_value(old) + 1 : LLONG_MIN);
    default:
        return json_integer(next(state) % 8);
    }
}

/* Changes one value somewhere below `value`, a container. */
static void mutate_json(json_t *value, unsigned *state, int depth)
{
    bool list = json_is_array(value);
    size_t count = list ? json_array_size(value) : json_object_size(value);
    if (count == 0) return;
    size_t at = next(state) % count;
    void *it = list ? NULL : json_object_iter(value);
    for (size_t i = 0; it && i < at; i++) it = json_object_iter_next(value, it);
    json_t *child = list ? json_array_get(value, at) : json_object_iter_value(it);
    bool container = json_is_array(child) || json_is_object(child);
    if (container && depth < 12 && next(state) % 8) {
        mutate_json(child, state, depth + 1);
        return;
    }
    switch (next(state) % 8) {
    case 0: /* lost */
        if (list)
            json_array_remove(value, at);
        else
            json_object_del(value, json_object_iter_key(it));
        return;
    case 1: /* doubled */
        if (list) json_array_append_new(value, json_deep_copy(child));
        return;
    default:
        if (list)
            json_array_set_new(value, at, random_value(state, child));
        else
            json_object_iter_set_new(value, it, random_value(state, child));
    }
}

static size_t get_u32(const uint8_t *p)
{
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static void put_u32(uint8_t *p, size_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> 8 * i);
}

/* The file with another JSON; 0 if that does not fit. */
static size_t rebuild(uint8_t *data, size_t size, size_t max_size, size_t begin, size_t end, const char *json)
{
    size_t length = strlen(json), tail = size - end;
    if (begin + length + tail > max_size) return 0;
    memmove(data + begin + length, data + end, tail);
    memcpy(data + begin, json, length);
    size_t total = begin + length + tail;
    if (begin == 20) {
        put_u32(data + 8, total);
        put_u32(data + 12, length);
    }
    return total;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    unsigned state = seed;
    bool binary = size > 20 && memcmp(data, "glTF", 4) == 0;
    size_t begin = binary ? 20 : 0, length = binary ? get_u32(data + 12) : size;
    json_t *json = NULL;
    if (next(&state) % 2 && length <= size - begin) json = json_loadb((const char *)data + begin, length, 0, NULL);
    if (!json) return LLVMFuzzerMutate(data, size, max_size);
    for (uint32_t i = 1 + next(&state) % 3; i > 0; i--) mutate_json(json, &state, 0);
    char *text = json_dumps(json, JSON_COMPACT);
    size_t total = text ? rebuild(data, size, max_size, begin, begin + length, text) : 0;
    free(text);
    json_decref(json);
    return total ? total : LLVMFuzzerMutate(data, size, max_size);
}
