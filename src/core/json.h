/* Small JSON files that a person writes (materials, forces): read strictly, so that a slip of the pen is an error with
 * a place and a reason, not a setting that is silently ignored.
 *
 * Functions return false (NULL) once j->result and the caller's error are set; the message is "FILE: WHERE: ...".
 * Values are optional: an absent key leaves *out alone. */
#ifndef SPL_CORE_JSON_H
#define SPL_CORE_JSON_H

#include "core/error.h"

#include <jansson.h>

/* Larger files, and ones nested deeper, were not written by a person for this purpose. */
enum { SPL_JSON_LARGEST = 4 << 20, SPL_JSON_DEEPEST = 16 };

typedef struct spl_json {
    const char *name;    /* of the file, for messages */
    char where[80];      /* the object being read: "region 'shell'"; "" for the file itself */
    supple_error *error; /* may be NULL */
    supple_result result;
} spl_json;

/* Why a text could not be parsed. */
typedef struct spl_json_why {
    bool no_memory; /* nothing is known of the text */
    int line, column;
    char text[100];
} spl_json_why;

/* json_loadb with a reason that can be told; NULL if the text is no JSON or memory is out. */
json_t *spl_json_load(const void *text, size_t size, size_t flags, spl_json_why *why);

/* The text of a document, for spl_free; NULL if memory is out. */
char *spl_json_text(const json_t *root, size_t flags, const supple_allocator *a);

/* Parses a whole text to its root object, for json_decref. Keys that stand twice in an object are refused. */
json_t *spl_json_parse(spl_json *j, const void *text, size_t size);

/* Records SUPPLE_ERROR_INPUT; always false. */
bool spl_json_fail(spl_json *j, const char *format, ...) SPL_PRINTF(2, 3);

/* Every key of an object is among `keys`, a list that ends in NULL. */
bool spl_json_known(spl_json *j, const json_t *object, const char *const *keys);

/* A number from low to high; `unit` stands behind the range in the message ("" for none). */
bool spl_json_number(spl_json *j, const json_t *object, const char *key, double low, double high, const char *unit,
                     double *out);

/* `count` numbers from low to high. */
bool spl_json_numbers(spl_json *j, const json_t *object, const char *key, size_t count, double low, double high,
                      double *out);

/* A whole number from low to high, also of an array's element: `key` only names it then. */
bool spl_json_whole(spl_json *j, const json_t *object, const char *key, int32_t low, int32_t high, int32_t *out);
bool spl_json_whole_value(spl_json *j, const json_t *value, const char *key, int32_t low, int32_t high, int32_t *out);

/* A string that is not empty; it belongs to the JSON. */
bool spl_json_string(spl_json *j, const json_t *object, const char *key, const char **out);

/* An object; an array. */
bool spl_json_object(spl_json *j, const json_t *object, const char *key, const json_t **out);
bool spl_json_array(spl_json *j, const json_t *object, const char *key, const json_t **out);

#endif
