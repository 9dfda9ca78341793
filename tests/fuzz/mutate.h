/* Mutations of JSON: bytes changed at random rarely get past a parser. */
#ifndef SPL_TESTS_FUZZ_MUTATE_H
#define SPL_TESTS_FUZZ_MUTATE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

typedef struct mutator {
    unsigned state;
    const char *const *word; /* strings that the format knows */
    unsigned word_count;
} mutator;

static inline uint32_t mutate_next(mutator *m)
{
    m->state = m->state * 1664525u + 1013904223u;
    return m->state >> 8;
}

static inline json_t *mutate_value(mutator *m, const json_t *old)
{
    static const double reals[] = {0.5, -0.0, 1e17, 1e300, -3, 1e-300, 5e-324, 1e-9, 1};
    static const json_int_t whole[] = {-1, 255, 256, 65535, 5121, 5123, 5125, 5126, 2147483647, 4294967296};
    switch (mutate_next(m) % 8) {
    case 0:
        return json_integer(whole[mutate_next(m) % 10]);
    case 1:
        return json_real(reals[mutate_next(m) % 9]);
    case 2:
        return mutate_next(m) % 2 ? json_null() : json_boolean(mutate_next(m) % 2);
    case 3:
        return mutate_next(m) % 2 ? json_array() : json_object();
    case 4:
        return json_string(m->word[mutate_next(m) % m->word_count]);
    case 5:
        if (json_is_real(old)) return json_real(mutate_next(m) % 2 ? -json_real_value(old) : 2 * json_real_value(old));
        return json_integer(json_integer_value(old) < LLONG_MAX ? json_integer_value(old) + 1 : LLONG_MIN);
    default:
        return json_integer(mutate_next(m) % 8);
    }
}

/* Changes one value somewhere below `value`, a container. */
static inline void mutate_json(json_t *value, mutator *m, int depth)
{
    bool list = json_is_array(value);
    size_t count = list ? json_array_size(value) : json_object_size(value);
    if (count == 0) return;
    size_t at = mutate_next(m) % count;
    void *it = list ? NULL : json_object_iter(value);
    for (size_t i = 0; it && i < at; i++) it = json_object_iter_next(value, it);
    json_t *child = list ? json_array_get(value, at) : json_object_iter_value(it);
    bool container = json_is_array(child) || json_is_object(child);
    if (container && depth < 12 && mutate_next(m) % 8) {
        mutate_json(child, m, depth + 1);
        return;
    }
    switch (mutate_next(m) % 8) {
    case 0: /* lost */
        if (list)
            json_array_remove(value, at);
        else
            json_object_del(value, json_object_iter_key(it));
        return;
    case 1: /* doubled; of an object, under another name */
        if (list)
            json_array_append_new(value, json_deep_copy(child));
        else
            json_object_set_new(value, m->word[mutate_next(m) % m->word_count], json_deep_copy(child));
        return;
    default:
        if (list)
            json_array_set_new(value, at, mutate_value(m, child));
        else
            json_object_iter_set_new(value, it, mutate_value(m, child));
    }
}

/* The text with one to three values changed, for free(); NULL if it is no JSON. */
static inline char *mutate_text(const uint8_t *data, size_t size, mutator *m)
{
    json_t *json = json_loadb((const char *)data, size, 0, NULL);
    if (!json) return NULL;
    for (uint32_t i = 1 + mutate_next(m) % 3; i > 0; i--) mutate_json(json, m, 0);
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}

/* Half of the time a whole file of JSON with other values; otherwise other bytes. */
static inline size_t mutate_file(uint8_t *data, size_t size, size_t max_size, mutator *m)
{
    char *text = mutate_next(m) % 2 ? mutate_text(data, size, m) : NULL;
    size_t length = text ? strlen(text) : 0;
    bool fits = text && length <= max_size;
    if (fits) memcpy(data, text, length);
    free(text);
    return fits ? length : LLVMFuzzerMutate(data, size, max_size);
}

#endif
