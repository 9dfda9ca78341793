/* `supple --complete`: what a word of a command line may become. Everything is read off the tables that drive --help:
 * an option's argument and help text say which words and which files it takes. */
#include "man.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LARGEST_INPUT = 32 << 20, WORD = 96 };

static const char scene_endings[] = "glb gltf vrm fbx dae";

/* A candidate, if it begins as the word does. Names from files may hold anything: only printable ones are offered. */
static void offer(const char *word, const char *candidate)
{
    if (strncmp(candidate, word, strlen(word)) != 0) return;
    for (const char *c = candidate; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) return;
    puts(candidate);
}

static bool is_ending(const char *text, size_t length)
{
    for (size_t i = 1; i < length; i++)
        if (!islower((unsigned char)text[i]) && !isdigit((unsigned char)text[i])) return false;
    return length > 2 && length < 9 && text[0] == '.';
}

/* Endings such as ".json" that a text names, appended to a list. True if there was one. */
static bool find_endings(const char *text, char *list, size_t size)
{
    bool found = false;
    for (const char *dot = text ? strchr(text, '.') : NULL; dot; dot = strchr(dot + 1, '.')) {
        size_t length = 1 + strcspn(dot + 1, " .,;:)=");
        if (!is_ending(dot, length)) continue;
        found = true;
        size_t used = strlen(list);
        snprintf(list + used, size - used, " %.*s", (int)length - 1, dot + 1);
    }
    return found;
}

static bool offer_files(const cli_option *o)
{
    char list[256] = "";
    bool found = find_endings(o->argument, list, sizeof list);
    if (!found) found = find_endings(o->help, list, sizeof list);
    if (!found && strcmp(o->name, "-o") == 0) { /* the output formats' own table */
        for (int32_t i = 0; supple_output_ending(i); i++) find_endings(supple_output_ending(i), list, sizeof list);
        found = true;
    }
    if (strcmp(o->name, "--collider") == 0) { /* "or closed meshes" */
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, " %s", scene_endings);
    }
    if (found) printf(":files%s\n", list);
    return found;
}

/* A help text without what stands in brackets, and with its "or" as one more comma. */
static void as_list(const char *help, char *out, size_t size)
{
    size_t used = 0;
    int depth = 0;
    for (const char *c = help; *c && used + 3 < size; c++) {
        bool or = depth == 0 && strncmp(c, " or ", 4) == 0;
        depth += *c == '(';
        if (or) out[used++] = ',';
        if (or) c += 3;
        if (depth == 0) out[used++] = or ? ' ' : *c;
        depth -= *c == ')';
    }
    out[used] = 0;
}

/* The words of a help text: "auto, always or never (auto: on a terminal)" has three, "self, world, self,world or none"
 * four. What is longer than a word, or has a dot in it, is prose or a file. */
static void offer_listed(const char *word, const char *help)
{
    char text[256];
    as_list(help, text, sizeof text);
    for (char *piece = text, *next; piece; piece = next) {
        next = strstr(piece, ", ");
        if (next) *next = 0, next += 2;
        piece += strspn(piece, " ");
        piece[strcspn(piece, ":")] = 0;
        size_t length = strlen(piece);
        while (length && strchr(" ,", piece[length - 1])) piece[--length] = 0;
        if (length && !strpbrk(piece, " .")) offer(word, piece);
    }
}

static void offer_choices(const char *word, const char *choices, const char *prefix)
{
    char text[256], *rest = text, whole[2 * WORD];
    snprintf(text, sizeof text, "%s", choices);
    for (char *piece; (piece = strsep(&rest, "|"));) {
        snprintf(whole, sizeof whole, "%s%.90s", prefix, piece);
        if (!isupper((unsigned char)*piece)) offer(word, whole); /* NAME stands for something */
    }
}

/* ---- what --method, --clip and --set take ---- */

static const char *value_of(const char *option, int count, char **words)
{
    for (int i = 1; i + 1 < count; i++)
        if (strcmp(words[i], option) == 0) return words[i + 1];
    return NULL;
}

static void offer_methods(const char *word)
{
    offer(word, "auto");
    for (int32_t i = 0; i < supple_method_count(); i++) offer(word, supple_method_name(i));
}

static const char *input_of(const cli_verb *verb, int count, char **words)
{
    for (int i = 1; i < count - 1; i++) {
        int option = -1;
        for (int k = 0; k < verb->option_count && option < 0; k++)
            if (strcmp(verb->options[k].name, words[i]) == 0) option = k;
        if (option >= 0)
            i += verb->options[option].argument && verb->options[option].argument[0] != '[';
        else if (words[i][0] != '-')
            return words[i];
    }
    return NULL;
}

/* The clips of the input, if it is small enough to be read while somebody waits. */
static void offer_clips(const char *word, const char *input)
{
    struct stat status;
    supple_scene *scene = NULL;
    supple_error error;
    offer(word, "all");
    if (!input) return;
    bool demo = strncmp(input, "demo:", 5) == 0;
    if (!demo && (stat(input, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > LARGEST_INPUT)) return;
    if (supple_scene_load_file(input, NULL, &scene, &error) != SUPPLE_OK) return;
    for (int32_t i = 0; i < supple_scene_clip_count(scene); i++) {
        const char *name = supple_scene_clip_name(scene, i), *bar = strrchr(name, '|');
        bool only = bar && supple_scene_clip_find(scene, bar + 1) == i; /* the part after '|' is enough */
        bool whole = *word && strncmp(name, word, strlen(word)) == 0;
        offer(word, only && !whole ? bar + 1 : name);
    }
    supple_scene_destroy(scene);
}

static void offer_parameter(const char *word, const supple_parameter *p)
{
    char key[WORD];
    snprintf(key, sizeof key, "%.80s=", p->name);
    if (p->choices && strncmp(word, key, strlen(key)) == 0)
        offer_choices(word, p->choices, key);
    else
        offer(word, key);
}

/* Keys that a text names as "key=value": up to and with the "=", or whole where the value is a word of its own. */
static void offer_keys(const char *word, const char *text)
{
    for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '=')) {
        const char *start = equals;
        while (start > text && !strchr(" (\n", start[-1])) start--;
        size_t value = strcspn(equals + 1, " ,:;)\n");
        bool fixed = value > 0 && islower((unsigned char)equals[1]);
        char key[WORD];
        snprintf(key, sizeof key, "%.*s", (int)(equals + 1 - start + (fixed ? (long)value : 0)), start);
        if (equals > start) offer(word, key);
    }
}

static void offer_settings(const cli_verb *verb, const cli_option *o, int count, char **words)
{
    const char *word = words[count - 1], *method = value_of("--method", count, words);
    supple_parameter p;
    offer_keys(word, o->help);
    bool skins = false;
    for (int i = 0; i < verb->option_count; i++) skins = skins || strcmp(verb->options[i].name, "--slide") == 0;
    if (!skins) { /* its keys stand below its options */
        char *notes = cli_notes(verb);
        if (notes) offer_keys(word, notes);
        free(notes);
        return;
    }
    for (int32_t m = 0; m < supple_method_count(); m++)
        if (strcmp(supple_method_name(m), method ? method : "mixed") == 0)
            for (int32_t i = 0; supple_method_parameter(m, i, &p); i++) offer_parameter(word, &p);
    for (int32_t i = 0; supple_slide_parameter(i, &p); i++) offer_parameter(word, &p);
}

/* ---- the line ---- */

static void offer_value(const cli_verb *verb, const cli_option *o, int count, char **words)
{
    const char *word = words[count - 1];
    if (strcmp(o->name, "--method") == 0)
        offer_methods(word);
    else if (strcmp(o->name, "--clip") == 0 || strcmp(o->name, "--clips") == 0)
        offer_clips(word, input_of(verb, count, words));
    else if (strcmp(o->name, "--set") == 0)
        offer_settings(verb, o, count, words);
    else if (strchr(o->argument, '|'))
        offer_choices(word, o->argument, "");
    else if (strcmp(o->argument, "DIR") == 0)
        puts(":folders");
    else {
        if (strstr("MODE LIST KIND NAME", o->argument)) offer_listed(word, o->help);
        offer_files(o);
    }
}

static void offer_operand(const cli_verb *verb, const char *word)
{
    bool demo = strcmp(verb->name, "demo") == 0;
    for (int32_t i = 0; i < supple_demo_count(); i++) {
        char name[WORD];
        snprintf(name, sizeof name, "%s%s", demo ? "" : "demo:", supple_demo_name(i));
        if (demo || strncmp(verb->usage, "IN", 2) == 0) offer(word, name);
    }
    if (!demo && strncmp(verb->usage, "IN", 2) == 0)
        printf(":files %s%s%s\n", scene_endings, strcmp(verb->name, "info") == 0 ? " supple" : "",
               strcmp(verb->name, "mesh") == 0 ? " msh mesh vtk" : "");
    if (strncmp(verb->usage, "FOLDER", 6) == 0) printf(":files json %s\n", scene_endings);
    if (strchr(verb->usage, '|')) { /* "[NAME|all]": words of the verb's own */
        char list[WORD];
        snprintf(list, sizeof list, "%.*s", (int)strcspn(verb->usage + 1, "] "), verb->usage + 1);
        offer_choices(word, list, "");
    }
}

static void complete_verb(const cli_verb *verb, int count, char **words)
{
    const char *word = words[count - 1];
    for (int i = 0; i < verb->option_count; i++) {
        const cli_option *o = &verb->options[i];
        if (count > 2 && o->argument && o->argument[0] != '[' && strcmp(words[count - 2], o->name) == 0) {
            offer_value(verb, o, count, words);
            return;
        }
    }
    if (*word == '-') {
        for (int i = 0; i < verb->option_count; i++) offer(word, verb->options[i].name);
        offer(word, "--help");
    } else
        offer_operand(verb, word);
}

int cli_complete(const cli_verb *const *verbs, int count, int word_count, char **words)
{
    if (word_count < 1) return 0;
    for (int i = 0; i < count && word_count == 1; i++) offer(words[0], verbs[i]->name);
    if (word_count == 1) {
        offer(words[0], "--help");
        offer(words[0], "--version");
    }
    for (int i = 0; i < count && word_count == 2 && strcmp(words[0], "help") == 0; i++) offer(words[1], verbs[i]->name);
    for (int i = 0; i < count && word_count > 1; i++)
        if (strcmp(words[0], verbs[i]->name) == 0) complete_verb(verbs[i], word_count, words);
    return 0;
}
