/* A list of jobs as JSON: {"defaults": {...}, "jobs": [{...}, ...]}, or the list alone. An entry has the options of the
 * verb for keys. What is wrong is told in one line that names the entry, before anything runs. */
#include "batch.h"

#include "hints.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LARGEST_LIST = 64 << 20, NUMBER = 40 };

typedef struct reader {
    cli_batch *b;
    const char *path;      /* of the list */
    char folder[PATH_MAX]; /* of the list: its files are named from there */
    const cli_batch_entry *asked;
    const json_t *defaults;
    int number; /* of the entry; 0: defaults */
    const char *name;
} reader;

static int wrong(const reader *r, const char *key, const char *what)
{
    char where[160] = "defaults", name[80] = "";
    if (r->name) snprintf(name, sizeof name, " ('%.60s')", r->name);
    if (r->number) snprintf(where, sizeof where, "job %d%s", r->number, name);
    cli_say("%.200s: %s: %s%s%.500s", r->path, where, key ? key : "", key ? ": " : "", what);
    return SUPPLE_ERROR_INPUT;
}

/* ---- keys ---- */

/* The option that a key stands for: its name without dashes; one that repeats may have the plural. NULL: none. */
static const cli_option *option_of(const reader *r, const char *key)
{
    int first, last;
    cli_batch_passed(&first, &last);
    const cli_option *options = r->b->arguments->options;
    for (int i = 0; i < last; i++) {
        const cli_option *o = &options[i];
        char plural[NUMBER];
        bool own =
            strcmp(o->name, "--method") == 0 || strcmp(o->name, "--clip") == 0 || strcmp(o->name, "--ending") == 0;
        if ((i < first && !own) || strncmp(o->name, "--", 2) != 0) continue;
        if (strcmp(o->name + 2, key) == 0) return o;
        snprintf(plural, sizeof plural, "%ss", o->name + 2);
        if (o->repeats && strcmp(plural, key) == 0) return o;
    }
    return NULL;
}

static int unknown(const reader *r, const char *key)
{
    static const char *const own[] = {"character", "name"};
    char text[200], word[NUMBER + 2];
    const cli_verb *verb = &cli_verb_batch;
    int last, first;
    cli_batch_passed(&first, &last);
    snprintf(word, sizeof word, "--%.*s", NUMBER - 1, key);
    const char *meant = cli_option_meant(word, strlen(word), verb->options, last);
    meant = meant && meant[1] == '-' ? meant + 2 : NULL;
    for (int i = 0; i < 2; i++)
        if (cli_distance(key, own[i]) <= 2) meant = own[i];
    if (meant)
        snprintf(text, sizeof text, "there is no key '%.60s'; is it %s?", key, meant);
    else
        snprintf(
            text, sizeof text,
            "there is no key '%.60s'; keys are character, name, clip, method, ending and the options of `supple batch`",
            key);
    return wrong(r, NULL, text);
}

/* An option's value in an entry, or else in the defaults. */
static const json_t *value_of(const reader *r, const json_t *entry, const cli_option *option)
{
    const json_t *objects[] = {entry, r->defaults}, *value;
    const char *key;
    for (int i = 0; i < 2; i++)
        json_object_foreach((json_t *)objects[i], key, value) if (option_of(r, key) == option) return value;
    return NULL;
}

/* ---- values ---- */

/* A text or a number as an option takes it; false for anything else. */
static bool scalar(const json_t *value, char **out)
{
    char number[NUMBER];
    *out = NULL;
    if (json_is_string(value)) {
        *out = strdup(json_string_value(value));
        return strlen(json_string_value(value)) == json_string_length(value);
    }
    if (json_is_integer(value))
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value)) {
        snprintf(number, sizeof number, "%.15g", json_real_value(value));
        if (strtod(number, NULL) != json_real_value(value))
            snprintf(number, sizeof number, "%.17g", json_real_value(value));
    } else
        return false;
    *out = strdup(number);
    return true;
}

/* One value of an option, checked, and added to what it belongs to. `before`: "KEY=" of an object's entry, or "". */
static int take_value(const reader *r, const cli_option *o, const char *before, const json_t *value, cli_words *out,
                      bool bare)
{
    char *text = NULL, *joined = NULL, room[700];
    const char *key = o->name + 2;
    if (!scalar(value, &text)) {
        free(text);
        return wrong(r, key, o->repeats ? "takes a text, a number, or a list of them" : "takes a text or a number");
    }
    bool file = text && cli_batch_is_file(o->name, text);
    if (text && file)
        joined = cli_batch_whole(r->folder, text);
    else if (text && asprintf(&joined, "%s%s", before, text) < 0)
        joined = NULL;
    free(text);
    if (!joined) return cli_batch_memory_error();
    const char *what = *joined ? cli_batch_wrong(o->name, joined, room, sizeof room) : "is empty";
    int code = what ? wrong(r, key, what) : 0;
    if (code == 0 && bare)
        cli_words_add(out, "%s", joined);
    else if (code == 0)
        cli_words_add(out, "%s=%s", o->name, joined);
    free(joined);
    return code;
}

static int take_switch(const reader *r, const cli_option *o, bool on, cli_words *out)
{
    bool choice = o->argument && strcmp(o->argument, "on|off") == 0, optional = o->argument && *o->argument == '[';
    if (o->argument && !choice && !optional) return wrong(r, o->name + 2, "takes a text or a number");
    if (choice)
        cli_words_add(out, "%s=%s", o->name, on ? "on" : "off");
    else if (on)
        cli_words_add(out, "%s", o->name);
    return 0;
}

/* All that a value says: one, a list, or an object where the option takes NAME=VALUE. */
static int take(const reader *r, const cli_option *o, const json_t *value, cli_words *out, bool bare)
{
    const json_t *item;
    const char *key;
    char before[256];
    size_t i;
    int code = 0;
    if (json_is_boolean(value)) return take_switch(r, o, json_is_true(value), out);
    if (!o->argument) return wrong(r, o->name + 2, "takes true or false");
    if (json_is_array(value) && o->repeats) {
        json_array_foreach(value, i, item) if (code == 0) code = take_value(r, o, "", item, out, bare);
        return code;
    }
    bool pairs = o->repeats && (strchr(o->argument, '=') || strcmp(o->name, "--amount") == 0);
    if (!json_is_object(value) || !pairs) return take_value(r, o, "", value, out, bare);
    json_object_foreach((json_t *)value, key, item)
    {
        if (code) break;
        if ((size_t)snprintf(before, sizeof before, "%s=", key) >= sizeof before)
            return wrong(r, o->name + 2, "a name is too long");
        code = take_value(r, o, before, item, out, bare);
    }
    return code;
}

static bool was_asked(const cli_batch_entry *asked, const char *option)
{
    size_t n = strlen(option);
    for (int i = 0; i < asked->options.count; i++) {
        const char *word = asked->options.word[i];
        if (strncmp(word, option, n) == 0 && (word[n] == '=' || !word[n])) return true;
    }
    return false;
}

/* ---- entries ---- */

/* An option of the verb's own that makes several jobs: those of the command line, else of the entry, else one. */
static int take_list(const reader *r, const json_t *object, const char *option, const cli_words *asked,
                     const char *otherwise, cli_words *out)
{
    const cli_option *o = option_of(r, option + 2);
    const json_t *value = asked->count ? NULL : value_of(r, object, o);
    int code = 0;
    cli_words_append(out, asked);
    if (value && json_is_boolean(value)) return wrong(r, option + 2, "takes a text, or a list of them");
    if (value) code = take(r, o, value, out, true);
    if (code == 0 && out->count == 0 && otherwise) cli_words_add(out, "%s", otherwise);
    for (int i = 0; i < out->count && code == 0; i++)
        for (int k = 0; k < i && code == 0; k++)
            if (strcmp(out->word[i], out->word[k]) == 0) code = wrong(r, option + 2, "has something twice");
    return code;
}

static int take_options(const reader *r, const json_t *object, cli_words *out)
{
    int first, last, code = 0;
    cli_batch_passed(&first, &last);
    for (int i = first; i < last && code == 0; i++) {
        const cli_option *o = &r->b->arguments->options[i];
        if (was_asked(r->asked, o->name)) {
            size_t n = strlen(o->name);
            for (int k = 0; k < r->asked->options.count; k++) {
                const char *word = r->asked->options.word[k];
                if (strncmp(word, o->name, n) == 0 && (word[n] == '=' || !word[n])) cli_words_add(out, "%s", word);
            }
            continue;
        }
        const json_t *value = value_of(r, object, o);
        if (value && !json_is_null(value)) code = take(r, o, value, out, false);
    }
    return code;
}

static int check_keys(const reader *r, const json_t *object)
{
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (strcmp(key, "character") == 0 || strcmp(key, "name") == 0) {
            const char *text = json_string_value(value);
            if (!text || !*text || strlen(text) != json_string_length(value)) return wrong(r, key, "takes a text");
            continue;
        }
        const cli_option *o = option_of(r, key);
        if (!o) return unknown(r, key);
        const json_t *other;
        const char *again;
        json_object_foreach((json_t *)object, again, other) if (again != key && option_of(r, again) == o) return wrong(
            r, key, "is there twice, once as its plural");
    }
    return 0;
}

static int check_character(const reader *r, const char *path)
{
    struct stat st;
    char text[500];
    if (strncmp(path, "demo:", 5) == 0) return 0;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) return 0;
    snprintf(text, sizeof text, "there is no file '%.400s'", path);
    return wrong(r, "character", text);
}

static int take_entry(const reader *r, const json_t *object)
{
    cli_batch_entry entry = {.number = r->number};
    const char *character = json_string_value(json_object_get(object, "character"));
    if (!character) character = json_string_value(json_object_get(r->defaults, "character"));
    if (!character) return wrong(r, NULL, "has no character");
    entry.character = cli_batch_whole(r->folder, character);
    entry.name = r->name ? strdup(r->name) : NULL;
    int code = entry.character && (!r->name || entry.name) ? 0 : cli_batch_memory_error();
    if (code == 0) code = check_character(r, entry.character);
    if (code == 0) code = take_list(r, object, "--clip", &r->asked->clips, NULL, &entry.clips);
    if (code == 0) code = take_list(r, object, "--method", &r->asked->methods, "auto", &entry.methods);
    if (code == 0) code = take_list(r, object, "--ending", &r->asked->endings, ".glb", &entry.endings);
    if (code == 0) code = take_options(r, object, &entry.options);
    bool motion = false;
    for (int i = 0; i < entry.options.count; i++)
        motion = motion || strncmp(entry.options.word[i], "--motion=", 9) == 0;
    if (code == 0 && motion && entry.clips.count) code = wrong(r, NULL, "has a clip and a motion; give one of them");
    if (code == 0 && (entry.clips.failed || entry.methods.failed || entry.endings.failed || entry.options.failed))
        code = cli_batch_memory_error();
    if (code == 0) code = cli_batch_expand(r->b, &entry);
    cli_batch_entry_free(&entry);
    return code;
}

static int take_all(reader *r, const json_t *list)
{
    const json_t *object;
    size_t i;
    int code = r->defaults ? check_keys(r, r->defaults) : 0;
    if (code == 0 && json_object_get(r->defaults, "name")) code = wrong(r, "name", "belongs to a job");
    json_array_foreach(list, i, object)
    {
        if (code) break;
        r->number = (int)i + 1;
        r->name = json_string_value(json_object_get(object, "name"));
        if (!json_is_object(object)) code = wrong(r, NULL, "is no object");
        if (code == 0) code = check_keys(r, object);
        if (code == 0) code = take_entry(r, object);
    }
    return code;
}

/* ---- the file ---- */

static int bad_list(const char *path, const char *what)
{
    cli_say("%.300s: %.500s", path, what);
    return SUPPLE_ERROR_INPUT;
}

/* The list and its defaults in a document. */
static int find_list(reader *r, const json_t *root, const json_t **list)
{
    const char *key;
    const json_t *value;
    *list = json_is_array(root) ? root : json_object_get(root, "jobs");
    r->defaults = json_object_get(root, "defaults");
    if (!json_is_array(*list))
        return bad_list(r->path, "no list of jobs: {\"defaults\": {...}, \"jobs\": [{...}, ...]}");
    if (r->defaults && !json_is_object(r->defaults)) return bad_list(r->path, "defaults: is no object");
    json_object_foreach((json_t *)root, key, value) if (strcmp(key, "jobs") != 0 && strcmp(key, "defaults") != 0)
    {
        char text[200];
        snprintf(text, sizeof text, "there is no key '%.60s'; there are defaults and jobs", key);
        return bad_list(r->path, text);
    }
    return json_array_size(*list) ? 0 : bad_list(r->path, "the list of jobs is empty");
}

int cli_batch_jobs(cli_batch *b, const char *path, const cli_batch_entry *asked)
{
    reader r = {.b = b, .path = path, .asked = asked};
    struct stat st;
    json_error_t error;
    char text[700];
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return bad_list(path, "cannot be read: it is no regular file");
    if (st.st_size > LARGEST_LIST) return bad_list(path, "is larger than 64 MB: no list of jobs");
    char *whole = realpath(path, NULL);
    if (!whole) return bad_list(path, "cannot be read");
    snprintf(r.folder, sizeof r.folder, "%.*s", (int)(strrchr(whole, '/') - whole), whole);
    free(whole);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        snprintf(text, sizeof text, "line %d: %.300s", error.line, error.text);
        return bad_list(path, text);
    }
    const json_t *list = NULL;
    int code = find_list(&r, root, &list);
    if (code == 0) code = take_all(&r, list);
    json_decref(root);
    return code;
}
