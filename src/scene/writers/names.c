/* Names from files, made fit for file names. A name is data of a stranger: it must not leave the output's folder, hide
 * a file, break a line or meet another name. */
#include "core/error.h"
#include "core/memory.h"
#include "scene/writers/writer.h"

#include <string.h>
#include <strings.h>

enum { NAME_LIMIT = 64, UNIQUE_LIMIT = 512 };

/* Whether a byte may stand as it is; bytes of UTF-8 sequences may (spl_sanitise has replaced the broken ones). */
static bool is_plain(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c >= 0x80;
}

char *spl_safe_name(const char *name, const char *fallback, const supple_allocator *a)
{
    char *text = spl_strdup(a, name);
    if (!text) return NULL;
    spl_sanitise(text);
    size_t length = strlen(text);
    if (length > NAME_LIMIT) {
        length = NAME_LIMIT;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* not inside a character */
        text[length] = 0;
    }
    bool any = false;
    for (size_t i = 0; i < length; i++) {
        /* A dot stays between two plain characters: "arm.L" does, ".hidden", ".." and "x." do not. */
        bool dot = text[i] == '.' && i > 0 && is_plain((unsigned char)text[i - 1]) && i + 1 < length &&
                   is_plain((unsigned char)text[i + 1]);
        if (is_plain((unsigned char)text[i]))
            any = true;
        else if (!dot)
            text[i] = '_';
    }
    if (any && text[0] != '-') return text;
    if (any) {
        text[0] = '_'; /* a leading dash reads as an option */
        return text;
    }
    spl_free(a, text);
    return spl_strdup(a, fallback);
}

/* The name with a number behind it; frees the old one. */
static char *numbered(char *name, int32_t number, const supple_allocator *a)
{
    size_t size = strlen(name) + 13;
    char *longer = spl_new(a, size, 1);
    if (longer) snprintf(longer, size, "%s-%d", name, (int)number);
    spl_free(a, name);
    return longer;
}

static bool is_taken(char **names, int32_t count, const char *name)
{
    for (int32_t i = 0; i < count; i++)
        if (strcasecmp(names[i], name) == 0) return true;
    return false;
}

/* Makes names[i] differ from all before it; with very many names the index alone does it, without a search. */
static bool make_unique(char **names, int32_t i, int32_t count, const supple_allocator *a)
{
    if (count > UNIQUE_LIMIT) return (names[i] = numbered(names[i], i, a)) != NULL;
    if (!is_taken(names, i, names[i])) return true;
    for (int32_t k = 2;; k++) {
        char *base = spl_strdup(a, names[i]);
        char *candidate = base ? numbered(base, k, a) : NULL;
        if (!candidate) return false;
        if (is_taken(names, i, candidate)) {
            spl_free(a, candidate);
            continue;
        }
        spl_free(a, names[i]);
        names[i] = candidate;
        return true;
    }
}

char **spl_instance_names(const supple_scene *scene, const supple_allocator *a)
{
    char **names = spl_new(a, (size_t)scene->instance_count, sizeof *names);
    if (!names) return NULL;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        names[i] = spl_safe_name(spl_instance_name(scene, i), "mesh", a);
        if (names[i] && make_unique(names, i, scene->instance_count, a)) continue;
        spl_names_free(names, i + 1, a);
        return NULL;
    }
    return names;
}

void spl_names_free(char **names, int32_t count, const supple_allocator *a)
{
    for (int32_t i = 0; names && i < count; i++) spl_free(a, names[i]);
    spl_free(a, names);
}
