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

char *spl_identifier(const char *name, const char *fallback, const supple_allocator *a)
{
    char *text = spl_safe_name(name, fallback, a);
    if (!text) return NULL;
    for (char *c = text; *c; c++)
        if (!is_plain((unsigned char)*c) || *c == '-' || (unsigned char)*c >= 0x80) *c = '_';
    if (*text < '0' || *text > '9') return text;
    size_t length = strlen(text);
    char *longer = spl_resize(a, text, length + 2, 1);
    if (!longer) {
        spl_free(a, text);
        return NULL;
    }
    memmove(longer + 1, longer, length + 1);
    *longer = '_';
    return longer;
}

/* The name with a number behind it; frees the old one. */
static char *numbered(char *name, int32_t number, char dash, const supple_allocator *a)
{
    size_t size = strlen(name) + 13;
    char *longer = spl_new(a, size, 1);
    if (longer) snprintf(longer, size, "%s%c%d", name, dash, (int)number);
    spl_free(a, name);
    return longer;
}

/* How names are made to differ. */
typedef struct naming {
    int32_t count;        /* of all names */
    char dash;            /* before the number */
    const char *reserved; /* a name that is taken already, or NULL */
} naming;

static bool is_taken(char **names, int32_t count, const naming *how, const char *name)
{
    if (how->reserved && strcasecmp(how->reserved, name) == 0) return true;
    for (int32_t i = 0; i < count; i++)
        if (strcasecmp(names[i], name) == 0) return true;
    return false;
}

/* Makes names[i] differ from all before it; with very many names the index alone does it, without a search. */
static bool make_unique(char **names, int32_t i, const naming *how, const supple_allocator *a)
{
    if (how->count > UNIQUE_LIMIT) return (names[i] = numbered(names[i], i, how->dash, a)) != NULL;
    if (!is_taken(names, i, how, names[i])) return true;
    for (int32_t k = 2;; k++) {
        char *base = spl_strdup(a, names[i]);
        char *candidate = base ? numbered(base, k, how->dash, a) : NULL;
        if (!candidate) return false;
        if (is_taken(names, i, how, candidate)) {
            spl_free(a, candidate);
            continue;
        }
        spl_free(a, names[i]);
        names[i] = candidate;
        return true;
    }
}

typedef char *make_name_fn(const char *name, const char *fallback, const supple_allocator *a);

static char **name_instances(const supple_scene *scene, make_name_fn *make, naming how, const supple_allocator *a)
{
    char **names = spl_new(a, (size_t)scene->instance_count, sizeof *names);
    if (!names) return NULL;
    how.count = scene->instance_count;
    for (int32_t i = 0; i < scene->instance_count; i++) {
        names[i] = make(spl_instance_name(scene, i), "mesh", a);
        if (names[i] && make_unique(names, i, &how, a)) continue;
        spl_names_free(names, i + 1, a);
        return NULL;
    }
    return names;
}

char **spl_instance_names(const supple_scene *scene, const supple_allocator *a)
{
    return name_instances(scene, spl_safe_name, (naming){.dash = '-'}, a);
}

char **spl_instance_identifiers(const supple_scene *scene, const char *reserved, const supple_allocator *a)
{
    return name_instances(scene, spl_identifier, (naming){.dash = '_', .reserved = reserved}, a);
}

char **spl_material_identifiers(const supple_scene *scene, const supple_allocator *a)
{
    const naming how = {.count = scene->material_count, .dash = '_'};
    char **names = spl_new(a, (size_t)scene->material_count, sizeof *names);
    for (int32_t i = 0; names && i < scene->material_count; i++) {
        names[i] = spl_identifier(scene->material[i].name, "material", a);
        if (names[i] && make_unique(names, i, &how, a)) continue;
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

void supple_text_clean(char *text)
{
    spl_sanitise(text);
}
