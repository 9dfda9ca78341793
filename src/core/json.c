#include "core/json.h"

#include "core/memory.h"

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

/* ---- a text to jansson ---- */

/* jansson collects a token in a buffer that grows, and takes a token that could not grow for a shorter one: a file
 * would be read wrongly without a word. So the text is given to it as the second element of an array, whose first is a
 * string as long as any token of the text: the buffer grows there or nowhere, and whether it did can be seen. */
typedef struct piece {
    const char *text; /* NULL: as many x */
    size_t size;
} piece;

enum { PIECES = 5 };

typedef struct feed {
    piece piece[PIECES];
    size_t at, done; /* the piece, and what of it was given */
} feed;

static size_t feed_bytes(void *out, size_t room, void *user)
{
    feed *f = user;
    size_t given = 0;
    while (given < room && f->at < PIECES) {
        const piece *p = &f->piece[f->at];
        size_t left = p->size - f->done, count = left < room - given ? left : room - given;
        if (count && p->text) memcpy((char *)out + given, p->text + f->done, count);
        if (count && !p->text) memset((char *)out + given, 'x', count);
        given += count;
        f->done += count;
        if (f->done < p->size) break;
        f->at++;
        f->done = 0;
    }
    return given;
}

/* The longest run of bytes that can be one token. */
static size_t longest_token(const char *text, size_t size)
{
    size_t longest = 0, start = 0;
    bool quoted = false;
    for (size_t i = 0; i <= size; i++) {
        char c = i < size ? text[i] : ',';
        if (quoted && c == '\\' && i < size) {
            i++;
            continue;
        }
        bool quote = c == '"', ends = i == size || (!quoted && strchr(" \t\r\n,:[]{}", c));
        if (quote) quoted = !quoted;
        if (!ends && !quote) continue;
        if (i - start + 1 > longest) longest = i - start + 1;
        start = quote && quoted ? i : i + 1;
    }
    return longest;
}

static json_t *load_once(const void *text, size_t size, size_t flags, json_error_t *said)
{
    size_t longest = longest_token(text, size);
    feed f = {.piece = {{"[\"", 2}, {NULL, longest}, {"\",", 2}, {text, size}, {"]", 1}}};
    json_t *pair = json_load_callback(feed_bytes, &f, flags, said), *root = NULL;
    if (!pair) return NULL;
    if (json_string_length(json_array_get(pair, 0)) != longest)
        *said = (json_error_t){.line = -1};
    else if (json_array_size(pair) != 2) /* "1, 2" */
        *said = (json_error_t){.line = 1};
    else
        root = json_incref(json_array_get(pair, 1));
    json_decref(pair);
    return root;
}

static bool out_of_memory(const json_error_t *said)
{
    return said->line < 0 || json_error_code(said) == json_error_out_of_memory;
}

/* jansson tells other failed allocations as mistakes of the text: what is wrong with the text is wrong the second time
 * too. Lines and columns are those of the text alone. */
json_t *spl_json_load(const void *text, size_t size, size_t flags, spl_json_why *why)
{
    json_error_t said;
    json_t *root = load_once(text, size, flags, &said);
    if (!root) root = load_once(text, size, flags, &said);
    if (root) return root;
    if (!out_of_memory(&said)) root = json_loadb(text, size, flags, &said);
    *why = (spl_json_why){.no_memory = root || out_of_memory(&said), .line = said.line, .column = said.column};
    json_decref(root);
    bool nul = strstr(said.text, "JSON_ALLOW_NUL") != NULL; /* a switch of jansson's, and none of ours */
    snprintf(why->text, sizeof why->text, "%.90s", nul ? "a text has \\u0000 in it" : said.text);
    return NULL;
}

/* Counted first: json_dumps gives a text that was cut short by a failed allocation for a whole one. */
char *spl_json_text(const json_t *root, size_t flags, const supple_allocator *a)
{
    size_t size = root ? json_dumpb(root, NULL, 0, flags) : 0;
    char *text = size ? spl_new(a, size + 1, 1) : NULL;
    if (text && json_dumpb(root, text, size, flags) == size) return text;
    spl_free(a, text);
    return NULL;
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
    spl_json_why why;
    json_t *root = spl_json_load(from, size, JSON_REJECT_DUPLICATES, &why);
    if (!root && why.no_memory) j->result = spl_fail_memory(j->error, j->name);
    if (!root && !why.no_memory)
        spl_json_fail(j, "not valid JSON at line %d, column %d: %s", why.line, why.column, why.text);
    if (!root) return NULL;
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
