#include "core/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool spl_json_fail(spl_json *j, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    /* A long path must not push the reason out of the message: its end says more than its beginning. */
    size_t length = strlen(j->name), most = 80, skip = length > most ? length - most : 0;
    j->result = spl_fail(j->error, SUPPLE_ERROR_INPUT, "%s%s: %s%s%s", skip ? "..." : "", j->name + skip, j->where,
                         j->where[0] ? ": " : "", what);
    return false;
}

/* The parser recurses; what it is given to recurse into is bounded first. */
static bool is_shallow(const char *text, size_t size)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[') && ++depth > SPL_JSON_DEEPEST)
            return false;
        else if (!quoted && (c == '}' || c == ']'))
            depth--;
    }
    return true;
}

json_t *spl_json_parse(spl_json *j, const void *text, size_t size)
{
    const char *from = text;
    if (size > SPL_JSON_LARGEST) {
        spl_json_fail(j, "larger than the limit of %d MB", SPL_JSON_LARGEST >> 20);
        return NULL;
    }
    if (size >= 3 && memcmp(from, "\xef\xbb\xbf", 3) == 0) { /* editors leave a byte order mark */
        from += 3;
        size -= 3;
    }
    if (!is_shallow(from, size)) {
        spl_json_fail(j, "nested more than %d deep", SPL_JSON_DEEPEST);
        return NULL;
    }
    json_error_t why;
    json_t *root = json_loadb(from, size, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        spl_json_fail(j, "not valid JSON at line %d, column %d: %.90s", why.line, why.column, why.text);
        return NULL;
    }
    if (json_is_object(root)) return root;
    spl_json_fail(j, "its JSON is not an object: it begins with {");
    json_decref(root);
    return NULL;
}

bool spl_json_known(spl_json *j, const json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) /* jansson's iterator takes no const */
    {
        (void)value;
        const char *const *k = keys;
        while (*k && strcmp(*k, key) != 0) k++;
        if (*k) continue;
        char list[120] = "";
        for (k = keys; *k && strlen(list) + strlen(*k) + 3 < sizeof list; k++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k == keys ? "" : ", ", *k);
        return spl_json_fail(j, "unknown key \"%.40s\"; known are %s", key, list);
    }
    return true;
}

bool spl_json_number(spl_json *j, const json_t *object, const char *key, double low, double high, const char *unit,
                     double *out)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return true;
    if (!json_is_number(value)) return spl_json_fail(j, "\"%s\" is not a number", key);
    double number = json_number_value(value);
    if (!(number >= low && number <= high))
        return spl_json_fail(j, "\"%s\" is %.10g; it must be from %g to %g%s%s", key, number, low, high,
                             unit[0] ? " " : "", unit);
    *out = number;
    return true;
}

bool spl_json_numbers(spl_json *j, const json_t *object, const char *key, size_t count, double low, double high,
                      double *out)
{
    const json_t *list = json_object_get(object, key);
    if (!list) return true;
    if (!json_is_array(list) || json_array_size(list) != count)
        return spl_json_fail(j, "\"%s\" is not a list of %zu numbers", key, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_number(value)) return spl_json_fail(j, "\"%s\" is not a list of %zu numbers", key, count);
        out[i] = json_number_value(value);
        if (!(out[i] >= low && out[i] <= high))
            return spl_json_fail(j, "\"%s\" holds %.10g; each must be from %g to %g", key, out[i], low, high);
    }
    return true;
}

bool spl_json_whole_value(spl_json *j, const json_t *value, const char *key, int32_t low, int32_t high, int32_t *out)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || number != floor(number)) return spl_json_fail(j, "\"%s\" wants a whole number", key);
    if (!(number >= low && number <= high))
        return spl_json_fail(j, "\"%s\" has %.0f; it must be from %d to %d", key, number, low, high);
    *out = (int32_t)number;
    return true;
}

bool spl_json_whole(spl_json *j, const json_t *object, const char *key, int32_t low, int32_t high, int32_t *out)
{
    const json_t *value = json_object_get(object, key);
    return !value || spl_json_whole_value(j, value, key, low, high, out);
}

bool spl_json_string(spl_json *j, const json_t *object, const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return true;
    if (!json_is_string(value)) return spl_json_fail(j, "\"%s\" is not a string", key);
    if (json_string_length(value) == 0) return spl_json_fail(j, "\"%s\" is empty", key);
    *out = json_string_value(value);
    return true;
}

bool spl_json_object(spl_json *j, const json_t *object, const char *key, const json_t **out)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return true;
    if (!json_is_object(value)) return spl_json_fail(j, "\"%s\" is not an object", key);
    *out = value;
    return true;
}

bool spl_json_array(spl_json *j, const json_t *object, const char *key, const json_t **out)
{
    const json_t *value = json_object_get(object, key);
    if (!value) return true;
    if (!json_is_array(value)) return spl_json_fail(j, "\"%s\" is not a list", key);
    *out = value;
    return true;
}
