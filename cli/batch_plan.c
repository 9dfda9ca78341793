/* Which jobs there are: characters, their clips, methods; and what they are called. */
#include "batch.h"

#include "hints.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_JOBS = 1000000, NAME_BYTES = 90 };

/* ---- paths ---- */

char *cli_batch_whole(const char *folder, const char *path)
{
    char *out = NULL, *real = NULL;
    const char *slash = strrchr(path, '/');
    if (strncmp(path, "demo:", 5) == 0) return strdup(path);
    if (asprintf(&out, "%s%s%.*s", *path == '/' ? "" : folder, *path == '/' ? "" : "/",
                 slash ? (int)(slash - path) + 1 : 0, path) < 0)
        return NULL;
    real = realpath(out, NULL); /* of the folder: a link has the name that it was given */
    char *whole = NULL;
    if (asprintf(&whole, "%s%s%s", real ? real : out,
                 (real ? real : out)[strlen(real ? real : out) - 1] == '/' ? "" : "/", slash ? slash + 1 : path) < 0)
        whole = NULL;
    free(out);
    free(real);
    return whole;
}

bool cli_batch_is_file(const char *option, const char *value)
{
    static const char *const files[] = {"--motion", "--map",      "--model",       "--material",
                                        "--forces", "--collider", "--slide-config"};
    if (!value) return false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i], option) == 0) return true;
    return strcmp(option, "--body") == 0 && supple_tets_known(value);
}

static bool has_ending(const char *name, const char *const *endings, int count)
{
    const char *dot = strrchr(name, '.');
    for (int i = 0; dot && i < count; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

static bool is_character(const char *name)
{
    static const char *const endings[] = {".glb", ".gltf", ".vrm", ".fbx", ".dae"};
    return has_ending(name, endings, sizeof endings / sizeof *endings);
}

/* ---- values of options ---- */

typedef struct number_option {
    const char *name;
    double min, max;
    bool whole;
} number_option;

static const number_option numbers[] = {
    {"--fps", 1e-3, 1e4, false},     {"--resolution", 1, 1e6, true},  {"--budget", 1e-9, 1e9, false},
    {"--preroll", 0, 1e6, false},    {"--gravity", -1e6, 1e6, false}, {"--threads", 1, 256, true},
    {"--root-inertia", 0, 1, false}, {"--jobs", 1, 1024, true},       {"--memory", 1, 1e9, false},
    {"--time-limit", 0, 1e9, false},
};

typedef struct word_option {
    const char *name, *words;
} word_option;

static const word_option words_of[] = {
    {"--dynamics", "|on|off|"},
    {"--rehearse", "|on|off|"},
    {"--solver", "|own|cholmod|auto|"},
    {"--collide", "|self|world|self,world|world,self|none|"},
};

/* "A:B", "A:", ":B" or "A". */
static bool are_frames(const char *text)
{
    size_t a = strspn(text, "0123456789"), b = text[a] == ':' ? strspn(text + a + 1, "0123456789") : 0;
    size_t end = a + (text[a] == ':') + b;
    if (text[end] || end == 0 || end > 20) return false;
    return !(a && b) || strtol(text, NULL, 10) <= strtol(text + a + 1, NULL, 10);
}

static bool is_method(const char *name)
{
    if (strcmp(name, "auto") == 0) return true;
    for (int32_t i = 0; i < supple_method_count(); i++)
        if (strcmp(supple_method_name(i), name) == 0) return true;
    return false;
}

static const char *wrong_file(const char *path, char *room, size_t size)
{
    struct stat st;
    if (strncmp(path, "demo:", 5) == 0) return NULL;
    int reason = stat(path, &st) != 0 ? errno : access(path, R_OK) != 0 ? errno : 0;
    if (reason)
        snprintf(room, size, "'%.300s' cannot be read: %s", path, strerror(reason));
    else if (!S_ISREG(st.st_mode))
        snprintf(room, size, "'%.300s' is not a regular file", path);
    else
        return NULL;
    return room;
}

static const char *wrong_method(const char *name, char *room, size_t size)
{
    if (is_method(name)) return NULL;
    int used = snprintf(room, size, "there is no method '%.40s'; there are auto", name);
    for (int32_t i = 0; i < supple_method_count(); i++)
        used += snprintf(room + used, size - (size_t)used, ", %s", supple_method_name(i));
    return room;
}

static const char *wrong_ending(const char *ending, char *room, size_t size)
{
    char path[64];
    supple_error error;
    bool plain = ending[0] == '.' && strlen(ending) < 12 && !strchr(ending, '/');
    snprintf(path, sizeof path, "x%.40s", ending);
    if (plain && supple_output_check(path, &error) == SUPPLE_OK) return NULL;
    int used = snprintf(room, size, "'%.40s' is no output; there are", ending);
    for (int32_t i = 0; supple_output_ending(i); i++)
        used += snprintf(room + used, size - (size_t)used, "%s %s", i ? "," : "", supple_output_ending(i));
    return room;
}

const char *cli_batch_wrong(const char *option, const char *value, char *room, size_t size)
{
    char list[64];
    double x;
    if (!value || (!*value && strcmp(option, "--gravity") == 0)) return NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const number_option *n = &numbers[i];
        if (strcmp(n->name, option) != 0) continue;
        if (cli_number(value, n->min, n->max, &x) && (!n->whole || x == (double)(long)x)) return NULL;
        snprintf(room, size, "takes a %snumber from %g to %g, not '%.40s'", n->whole ? "whole " : "", n->min, n->max,
                 value);
        return room;
    }
    for (size_t i = 0; i < sizeof words_of / sizeof *words_of; i++) {
        if (strcmp(words_of[i].name, option) != 0) continue;
        snprintf(list, sizeof list, "|%.50s|", value);
        if (*value && !strchr(value, '|') && strstr(words_of[i].words, list)) return NULL;
        snprintf(room, size, "takes one of %.*s, not '%.40s'", (int)strlen(words_of[i].words) - 2,
                 words_of[i].words + 1, value);
        return room;
    }
    if (strcmp(option, "--frames") == 0 && !are_frames(value)) {
        snprintf(room, size, "takes A:B with 0 <= A <= B, not '%.40s'", value);
        return room;
    }
    bool pair = strcmp(option, "--set") == 0 || strcmp(option, "--part") == 0;
    if (pair && (!strchr(value, '=') || *value == '=')) {
        snprintf(room, size, "takes %s, not '%.40s'", option[2] == 's' ? "KEY=VALUE" : "NAME=ROLE", value);
        return room;
    }
    if (strcmp(option, "--method") == 0) return wrong_method(value, room, size);
    if (strcmp(option, "--ending") == 0) return wrong_ending(value, room, size);
    if (cli_batch_is_file(option, value)) return wrong_file(value, room, size);
    return NULL;
}

/* ---- characters ---- */

/* How `skin` is to be asked for a clip: by its name, unless that means another or none, or would not stay on a line. */
static void add_clip(cli_batch_character *c, const supple_scene *scene, int32_t clip)
{
    const char *name = supple_scene_clip_name(scene, clip);
    char shown[CLI_BATCH_LINE];
    snprintf(shown, sizeof shown, "%s", name);
    supple_text_clean(shown);
    bool plain = *name && strcmp(shown, name) == 0 && strcmp(name, "all") != 0;
    if (plain && supple_scene_clip_find(scene, name) == clip)
        cli_words_add(&c->clips, "%s", name);
    else
        cli_words_add(&c->clips, "%d", (int)clip);
    cli_words_add(&c->names, "%s", *shown ? shown : "?");
}

/* A character, looked into when it is asked for first. What cannot be read is left to its job to say. NULL without
 * memory. */
static const cli_batch_character *find_character(cli_batch *b, const char *path)
{
    for (int i = 0; i < b->character_count; i++)
        if (strcmp(b->character[i].path, path) == 0) return &b->character[i];
    cli_batch_character *larger = realloc(b->character, (size_t)(b->character_count + 1) * sizeof *larger);
    if (!larger) return NULL;
    b->character = larger;
    cli_batch_character *c = &larger[b->character_count];
    *c = (cli_batch_character){.path = strdup(path), .vertices = -1};
    if (!c->path) return NULL;
    b->character_count++;
    supple_config quiet = b->config;
    quiet.log = NULL;
    supple_scene *scene = NULL;
    supple_error error;
    if (b->single || supple_scene_load_file(path, &quiet, &scene, &error) != SUPPLE_OK) return c;
    c->loaded = true;
    c->vertices = supple_scene_vertex_count(scene);
    for (int32_t i = 0; i < supple_scene_clip_count(scene); i++) add_clip(c, scene, i);
    supple_scene_destroy(scene);
    return c;
}

/* ---- jobs ---- */

static cli_batch_job *add_job(cli_batch *b, const cli_batch_entry *entry, const cli_batch_character *c)
{
    if (b->job_count == b->job_room) {
        int room = b->job_room ? 2 * b->job_room : 64;
        cli_batch_job *larger = realloc(b->job, (size_t)room * sizeof *larger);
        if (!larger) return NULL;
        b->job = larger;
        b->job_room = room;
    }
    cli_batch_job *job = &b->job[b->job_count];
    *job =
        (cli_batch_job){.character = strdup(c->path), .vertices = c->vertices, .number = entry->number, .pipe_end = -1};
    if (!job->character) return NULL;
    b->job_count++;
    job->wanted = entry->name ? strdup(entry->name) : NULL;
    cli_words_append(&job->endings, &entry->endings);
    cli_words_append(&job->options, &entry->options);
    bool good = !job->endings.failed && !job->options.failed && (!entry->name || job->wanted);
    return good ? job : NULL;
}

/* A clip as it was asked for, by the file's own name where the file has it. */
static bool set_clip(cli_batch_job *job, const cli_batch_character *c, const char *asked)
{
    if (!asked) return true;
    const char *name = asked;
    for (int i = 0; i < c->clips.count; i++)
        if (strcmp(c->clips.word[i], asked) == 0) name = c->names.word[i];
    job->clip = strdup(asked);
    job->clip_name = strdup(name);
    return job->clip && job->clip_name;
}

static bool add_methods(cli_batch *b, const cli_batch_entry *entry, const cli_batch_character *c, const char *clip)
{
    for (int m = 0; m < entry->methods.count; m++) {
        cli_batch_job *job = b->job_count < MOST_JOBS ? add_job(b, entry, c) : NULL;
        if (!job || !set_clip(job, c, clip)) return false;
        if (!cli_words_have(&b->methods, entry->methods.word[m]))
            cli_words_add(&b->methods, "%s", entry->methods.word[m]);
        for (int i = 0; i < b->methods.count; i++)
            if (strcmp(b->methods.word[i], entry->methods.word[m]) == 0) job->method = b->methods.word[i];
        if (!job->method) return false;
    }
    return true;
}

static bool has_option(const cli_batch_entry *entry, const char *begin)
{
    for (int i = 0; i < entry->options.count; i++)
        if (strncmp(entry->options.word[i], begin, strlen(begin)) == 0) return true;
    return false;
}

/* What is asked for by another name than the file's own goes by that: "Walk" for "Armature|walk", so that the same job
 * is the same however it was asked for. */
static const char *own_name(const cli_batch_character *c, const char *asked)
{
    const char *found = NULL;
    for (int i = 0; i < c->names.count; i++) {
        const char *name = c->names.word[i], *bar = strrchr(name, '|');
        if (strcmp(name, asked) == 0) return c->clips.word[i];
        if (strcasecmp(name, asked) != 0 && !(bar && strcasecmp(bar + 1, asked) == 0)) continue;
        if (found) return asked; /* two: `skin` says so */
        found = c->clips.word[i];
    }
    if (!found && *asked && strspn(asked, "0123456789") == strlen(asked) && strlen(asked) < 9) {
        int index = atoi(asked);
        if (index < c->clips.count) found = c->clips.word[index];
    }
    return found ? found : asked;
}

int cli_batch_expand(cli_batch *b, const cli_batch_entry *entry)
{
    const cli_batch_character *c = find_character(b, entry->character);
    if (!c) return cli_batch_memory_error();
    bool all = entry->clips.count == 0 || (entry->clips.count == 1 && strcmp(entry->clips.word[0], "all") == 0);
    bool good = true;
    bool still = c->loaded && c->clips.count == 0 && entry->number == 0; /* one of a folder that never moves */
    if (has_option(entry, "--motion=") || still || (all && c->clips.count == 0))
        good = add_methods(b, entry, c, NULL);
    else if (all)
        for (int i = 0; i < c->clips.count && good; i++) good = add_methods(b, entry, c, c->clips.word[i]);
    else
        for (int i = 0; i < entry->clips.count && good; i++)
            good = add_methods(b, entry, c, own_name(c, entry->clips.word[i]));
    if (!good && b->job_count >= MOST_JOBS) return cli_usage_error("more than %d jobs", (int)MOST_JOBS);
    return good ? 0 : cli_batch_memory_error();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_characters(const char *path, cli_words *found)
{
    DIR *folder = opendir(path);
    if (!folder) {
        cli_say("%.300s: cannot be read: %s", path, strerror(errno));
        return SUPPLE_ERROR_INPUT;
    }
    for (const struct dirent *e; (e = readdir(folder));)
        if (e->d_name[0] != '.' && is_character(e->d_name)) cli_words_add(found, "%s", e->d_name);
    closedir(folder);
    if (found->count) qsort(found->word, (size_t)found->count, sizeof *found->word, by_text);
    return found->failed ? cli_batch_memory_error() : 0;
}

int cli_batch_folder(cli_batch *b, const char *path, cli_batch_entry *entry)
{
    struct stat st;
    char here[PATH_MAX] = "/";
    bool there = stat(path, &st) == 0, many = there && S_ISDIR(st.st_mode);
    cli_words names = {0};
    if (!getcwd(here, sizeof here)) return cli_usage_error("the current folder is gone");
    int code = many ? list_characters(path, &names) : 0;
    if (!many && !b->single && strncmp(path, "demo:", 5) != 0 && !(there && S_ISREG(st.st_mode))) {
        cli_say("%.300s: %s", path, there ? "is no folder, no list of jobs and no character" : strerror(errno));
        code = SUPPLE_ERROR_INPUT;
    }
    if (!many) cli_words_add(&names, "%s", path);
    for (int i = 0; i < names.count && code == 0; i++) {
        char *within = NULL;
        if (asprintf(&within, "%s%s%s", many ? path : "", many ? "/" : "", names.word[i]) < 0) within = NULL;
        entry->character = within ? cli_batch_whole(here, within) : NULL;
        if (!entry->character)
            code = cli_batch_memory_error();
        else if (!many || (stat(entry->character, &st) == 0 && S_ISREG(st.st_mode)))
            code = cli_batch_expand(b, entry);
        free(entry->character);
        entry->character = NULL;
        free(within);
    }
    cli_words_free(&names);
    if (code == 0 && b->job_count == 0) {
        cli_say("%.300s: no characters in this folder: no .glb, .gltf, .vrm, .fbx or .dae", path);
        code = SUPPLE_ERROR_INPUT;
    }
    return code;
}

void cli_batch_entry_free(cli_batch_entry *entry)
{
    free(entry->character);
    free(entry->name);
    cli_words_free(&entry->clips);
    cli_words_free(&entry->methods);
    cli_words_free(&entry->endings);
    cli_words_free(&entry->options);
    *entry = (cli_batch_entry){0};
}

/* ---- names ---- */

/* What no file system and no shell minds: letters, digits, letters of other languages, and - _ . + within. */
static bool is_safe(unsigned char c, bool first)
{
    bool letter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80 || c == '_';
    return letter || (!first && (c == '-' || c == '.' || c == '+'));
}

bool cli_batch_safe(const char *text, char out[CLI_BATCH_NAME])
{
    static const char *const taken[] = {"report.html", "report.json", "record", "failed", "metrics", "sheet"};
    char clean[CLI_BATCH_LINE];
    size_t used = 0;
    snprintf(clean, sizeof clean, "%s", text);
    supple_text_clean(clean); /* no half characters, no controls: they are '?' now */
    for (const char *c = clean; *c && used < NAME_BYTES; c++, used++)
        out[used] = is_safe((unsigned char)*c, used == 0) ? *c : '_';
    while (used && ((unsigned char)out[used - 1] & 0xc0) == 0x80 && strlen(clean) > used) used--; /* within a letter */
    if (used && (unsigned char)out[used - 1] >= 0xc0) used--;
    while (used && out[used - 1] == '.') used--;
    if (used == 0) out[used++] = '_';
    out[used] = 0;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcasecmp(out, taken[i]) == 0) return false;
    return strcmp(out, text) == 0;
}

static void stem_of(const char *character, char *out, size_t size)
{
    const char *slash = strrchr(character, '/'), *name = slash ? slash + 1 : character;
    if (strncmp(name, "demo:", 5) == 0) name += 5;
    const char *dot = strrchr(name, '.');
    bool ending = slash && dot && dot > name && is_character(dot);
    snprintf(out, size, "%.*s", ending ? (int)(dot - name) : (int)strlen(name), name);
}

/* Character, clip and method, or what was asked for and what tells its jobs apart. */
static bool plain_name(const cli_batch *b, cli_batch_job *job)
{
    char text[CLI_BATCH_LINE], stem[CLI_BATCH_LINE / 4];
    const char *clip = job->clip_name ? job->clip_name : "", *bar = strrchr(clip, '|');
    if (bar && bar[1]) clip = bar + 1;
    if (b->single) { /* it has its name from the batch that printed its line */
        snprintf(job->name, sizeof job->name, "%.*s", CLI_BATCH_NAME - 1, job->wanted);
        return true;
    }
    stem_of(job->character, stem, sizeof stem);
    snprintf(text, sizeof text, "%.200s%s%.200s.%s", job->wanted ? job->wanted : stem, *clip ? "." : "", clip,
             job->method);
    return cli_batch_safe(text, job->name);
}

typedef struct named {
    const char *name, *key;
    int job;
} named;

static int by_letters(const void *a, const void *b)
{
    return strcasecmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Names that others have too, whatever their capitals are, get the beginning of the key behind them. */
static int set_apart(cli_batch *b, bool *changed)
{
    named *list = calloc((size_t)b->job_count + 1, sizeof *list);
    if (!list) return cli_batch_memory_error();
    for (int i = 0; i < b->job_count; i++) list[i] = (named){b->job[i].name, b->job[i].key, i};
    qsort(list, (size_t)b->job_count, sizeof *list, by_letters);
    for (int i = 0; i < b->job_count; i++) {
        bool before = i > 0 && by_letters(&list[i - 1], &list[i]) == 0;
        bool after = i + 1 < b->job_count && by_letters(&list[i], &list[i + 1]) == 0;
        if (before || after) changed[list[i].job] = true;
    }
    free(list);
    for (int i = 0; i < b->job_count; i++) {
        cli_batch_job *job = &b->job[i];
        if (changed[i])
            snprintf(job->name + strlen(job->name), sizeof job->name - strlen(job->name), "~%.12s", job->key);
    }
    return 0;
}

/* The same job twice is a mistake of the list. */
static int check_twice(const cli_batch *b)
{
    named *list = calloc((size_t)b->job_count + 1, sizeof *list);
    if (!list) return cli_batch_memory_error();
    int code = 0;
    for (int i = 0; i < b->job_count; i++) list[i] = (named){b->job[i].name, b->job[i].key, i};
    qsort(list, (size_t)b->job_count, sizeof *list, by_letters);
    for (int i = 1; i < b->job_count && code == 0; i++) {
        if (by_letters(&list[i - 1], &list[i]) != 0) continue;
        int x = b->job[list[i - 1].job].number, y = b->job[list[i].job].number;
        cli_say("%.200s: job %d is the same as job %d", b->arguments->operands[0], x > y ? x : y, x > y ? y : x);
        code = SUPPLE_ERROR_INPUT;
    }
    free(list);
    return code;
}

int cli_batch_name(cli_batch *b)
{
    bool *changed = calloc((size_t)b->job_count + 1, sizeof *changed);
    if (!changed) return cli_batch_memory_error();
    for (int i = 0; i < b->job_count; i++) {
        cli_batch_make_key(b, &b->job[i]);
        changed[i] = !plain_name(b, &b->job[i]);
    }
    int code = b->single ? 0 : set_apart(b, changed);
    free(changed);
    if (b->no_memory) return cli_batch_memory_error();
    return code ? code : check_twice(b);
}
