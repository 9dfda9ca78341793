/* What is known of a job: a key of all that decides about its bytes, and a record beside its outputs that says that
 * they are whole. The record is written last, so that a job that was killed has none. */
#include "batch.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char RECORD[] = "record.json", FAILED[] = "failed.json";
enum { LARGEST_RECORD = 1 << 20, PIECE = 1 << 16, LARGEST_GLTF = 256 << 20 };

/* ---- the key ---- */

/* Two sums that take 8 bytes at a time. They tell files apart that differ by chance, not by malice. */
typedef struct digest {
    uint64_t a, b;
} digest;

static void mix_word(digest *d, uint64_t word)
{
    d->a = (d->a ^ word) * 0x9e3779b97f4a7c15u;
    d->a ^= d->a >> 32;
    d->b = (d->b + word) * 0xc2b2ae3d27d4eb4fu;
    d->b ^= d->b >> 29;
}

static void mix(digest *d, const void *data, size_t size)
{
    const char *bytes = data;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
        mix_word(d, word);
    }
    mix_word(d, size);
}

static void mix_text(digest *d, const char *text)
{
    mix(d, text, strlen(text));
}

static void put_key(const digest *d, char out[CLI_BATCH_KEY])
{
    snprintf(out, CLI_BATCH_KEY, "%016llx%016llx", (unsigned long long)d->a, (unsigned long long)d->b);
}

/* The bytes of a file. One that is not there has a sum too: the job will say what is wrong. */
static void mix_file(digest *d, const char *path)
{
    static char piece[PIECE];
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    size_t size;
    mix_text(d, file ? "file" : "none");
    while (file && (size = fread(piece, 1, sizeof piece, file)) > 0) mix(d, piece, size);
    if (file) fclose(file);
}

/* "a%20b" is "a b". */
static void decode(const char *uri, char *out, size_t size)
{
    size_t used = 0;
    for (unsigned int code; *uri && used + 1 < size; uri++) {
        bool coded = *uri == '%' && sscanf(uri + 1, "%2x", &code) == 1 && uri[1] && uri[2];
        out[used++] = coded ? (char)code : *uri;
        if (coded) uri += 2;
    }
    out[used] = 0;
}

/* Buffers and images that a .gltf names, below its folder. */
static void mix_parts(digest *d, const char *path)
{
    struct stat st;
    size_t length = strlen(path), i;
    if (length < 5 || strcasecmp(path + length - 5, ".gltf") != 0) return;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > LARGEST_GLTF) return;
    json_t *root = json_load_file(path, 0, NULL), *item;
    static const char *const lists[] = {"buffers", "images"};
    for (int k = 0; root && k < 2; k++) json_array_foreach(json_object_get(root, lists[k]), i, item)
        {
            char name[CLI_BATCH_PATH / 2], whole[CLI_BATCH_PATH];
            const char *uri = json_string_value(json_object_get(item, "uri"));
            if (!uri || strncmp(uri, "data:", 5) == 0 || strlen(uri) >= sizeof name) continue;
            decode(uri, name, sizeof name);
            if (*name == '/' || strstr(name, "..")) continue; /* `skin` refuses it too */
            int folder = (int)(strrchr(path, '/') - path);
            if (snprintf(whole, sizeof whole, "%.*s/%s", folder, path, name) < (int)sizeof whole) mix_file(d, whole);
        }
    json_decref(root);
}

/* A file's sum as a text, kept: characters are shared by many jobs. */
static const char *content(cli_batch *b, const char *path)
{
    const char *known = json_string_value(json_object_get(b->contents, path));
    if (known) return known;
    char text[CLI_BATCH_KEY];
    digest d = {1, 2};
    mix_file(&d, path);
    if (strrchr(path, '/')) mix_parts(&d, path);
    put_key(&d, text);
    if (json_object_set_new_nocheck(b->contents, path, json_string(text)) != 0) {
        b->no_memory = true;
        return "";
    }
    return json_string_value(json_object_get(b->contents, path));
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* An option: a file by its contents, so that a folder may be moved; threads are no part of it. */
static void mix_option(cli_batch *b, digest *d, const char *word)
{
    const char *equals = strchr(word, '=');
    char name[64];
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
    if (equals && cli_batch_is_file(name, equals + 1)) {
        mix_text(d, name);
        mix_text(d, last_name(equals + 1));
        mix_text(d, content(b, equals + 1));
    } else
        mix_text(d, word);
}

void cli_batch_make_key(cli_batch *b, cli_batch_job *job)
{
    digest d = {3, 4};
    mix_text(&d, supple_version());
    mix_text(&d, last_name(job->character));
    mix_text(&d, strncmp(job->character, "demo:", 5) == 0 ? "demo" : content(b, job->character));
    mix_text(&d, job->method);
    mix_text(&d, job->clip ? "clip" : "");
    mix_text(&d, job->clip ? job->clip : "");
    for (int i = 0; i < job->endings.count; i++) mix_text(&d, job->endings.word[i]);
    for (int i = 0; i < job->options.count; i++) mix_option(b, &d, job->options.word[i]);
    put_key(&d, job->key);
}

/* ---- what is there ---- */

bool cli_batch_path(const cli_batch *b, const cli_batch_job *job, const char *name, char out[CLI_BATCH_PATH])
{
    int length = snprintf(out, CLI_BATCH_PATH, "%s/%s%s%s", b->folder, job->name, *name ? "/" : "", name);
    return length > 0 && length < CLI_BATCH_PATH;
}

/* A record of this job with this name in its folder; NULL if there is none that can be read. */
static json_t *load(const cli_batch *b, const cli_batch_job *job, const char *name)
{
    char path[CLI_BATCH_PATH];
    struct stat st;
    if (!cli_batch_path(b, job, "", path) || lstat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return NULL; /* a link */
    if (!cli_batch_path(b, job, name, path) || stat(path, &st) != 0) return NULL;
    if (!S_ISREG(st.st_mode) || st.st_size > LARGEST_RECORD) return NULL;
    json_t *record = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(record)) return record;
    json_decref(record);
    return NULL;
}

static bool has_key(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, "key"));
    return text && strcmp(text, key) == 0;
}

/* A name that stands in a record, and is to be a file of the job's own folder. */
static const char *file_name(const json_t *item)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    bool good = name && *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    return good ? name : NULL;
}

/* Whether all its files are there, as long as they were. */
static bool is_whole(const cli_batch *b, const cli_batch_job *job, const json_t *record)
{
    const json_t *files = json_object_get(record, "files"), *item;
    char path[CLI_BATCH_PATH];
    struct stat st;
    size_t i;
    if (json_array_size(files) == 0) return false;
    json_array_foreach(files, i, item)
    {
        const char *name = file_name(item);
        if (!name || !cli_batch_path(b, job, name, path) || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
        if (st.st_size != (off_t)json_integer_value(json_object_get(item, "bytes"))) return false;
    }
    return true;
}

void cli_batch_look(const cli_batch *b, cli_batch_job *job)
{
    json_t *done = load(b, job, RECORD), *failed = load(b, job, FAILED);
    json_decref(job->record);
    job->record = NULL;
    job->state = CLI_BATCH_WAITING;
    if (has_key(done, job->key) && is_whole(b, job, done)) {
        job->record = json_incref(done);
        job->state = CLI_BATCH_DONE;
    } else if (has_key(failed, job->key)) {
        job->record = json_incref(failed);
        job->state = CLI_BATCH_FAILED;
    }
    json_decref(done);
    json_decref(failed);
}

/* ---- before and after a run ---- */

int cli_batch_clear(const cli_batch *b, cli_batch_job *job, char *reason, size_t size)
{
    char path[CLI_BATCH_PATH];
    json_t *old = load(b, job, RECORD), *item;
    size_t i;
    struct stat st;
    bool fits = cli_batch_path(b, job, "", path);
    bool made = fits && (mkdir(path, 0777) == 0 || (errno == EEXIST && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)));
    if (!made) {
        json_decref(old);
        snprintf(reason, size, "%.300s: cannot be made: %s", path, fits ? strerror(errno) : "the path is too long");
        return SUPPLE_ERROR_OUTPUT;
    }
    if (cli_batch_path(b, job, RECORD, path)) unlink(path);
    json_array_foreach(json_object_get(old, "files"), i, item)
    {
        const char *name = file_name(item);
        if (name && cli_batch_path(b, job, name, path)) unlink(path);
    }
    json_decref(old);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* What is there of a job's outputs: the files whose names begin with its name, and its metrics and sheet. */
static json_t *files_of(const cli_batch *b, const cli_batch_job *job)
{
    char path[CLI_BATCH_PATH];
    struct dirent **entry = NULL;
    struct stat st;
    json_t *list = json_array();
    int count = cli_batch_path(b, job, "", path) ? scandir(path, &entry, NULL, by_name) : 0;
    for (int i = 0; i < count; i++) {
        const char *name = entry[i]->d_name;
        bool own = strcmp(name, RECORD) != 0 && strcmp(name, FAILED) != 0 && !strstr(name, ".partial-");
        if (own && cli_batch_path(b, job, name, path) && stat(path, &st) == 0 && S_ISREG(st.st_mode))
            json_array_append_new(list, json_pack("{s:s,s:I}", "name", name, "bytes", (json_int_t)st.st_size));
        free(entry[i]);
    }
    free(entry);
    return list;
}

static json_t *text_or_null(const char *text)
{
    char copy[CLI_BATCH_LINE];
    if (!text) return json_null();
    snprintf(copy, sizeof copy, "%s", text);
    supple_text_clean(copy);
    return json_string(copy);
}

/* What both kinds of record say. */
static json_t *facts_of(const cli_batch_job *job, int code, double processor_s, double peak_mb)
{
    json_t *told = json_array();
    for (int i = 0; i < job->told_count; i++) json_array_append_new(told, text_or_null(job->told[i]));
    json_t *r = json_pack("{s:s,s:s,s:s,s:o,s:o,s:s,s:i,s:f,s:f,s:f,s:o}", "supple", supple_version(), "key", job->key,
                          "name", job->name, "character", text_or_null(last_name(job->character)), "clip",
                          text_or_null(job->clip_name ? job->clip_name : job->clip), "method", job->method, "exit",
                          code, "seconds", cli_batch_now() - job->start, "processor_s", processor_s, "peak_mb", peak_mb,
                          "told", told);
    return r;
}

static bool write_record(const cli_batch *b, const cli_batch_job *job, const char *name, const json_t *record,
                         supple_error *error)
{
    char path[CLI_BATCH_PATH], *text = json_dumps(record, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    bool good =
        text && cli_batch_path(b, job, name, path) && supple_bytes_write(path, text, strlen(text), error) == SUPPLE_OK;
    free(text);
    return good;
}

static void keep_failure(const cli_batch *b, cli_batch_job *job, int code, double processor_s, double peak_mb)
{
    supple_error error;
    job->state = CLI_BATCH_FAILED;
    json_decref(job->record);
    job->record = facts_of(job, code, processor_s, peak_mb);
    json_object_set_new(job->record, "line", text_or_null(job->last));
    struct stat st;
    char path[CLI_BATCH_PATH];
    if (cli_batch_path(b, job, "", path) && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) /* no link to elsewhere */
        write_record(b, job, FAILED, job->record, &error);
}

void cli_batch_keep(const cli_batch *b, cli_batch_job *job, int code, double processor_s, double peak_mb)
{
    char path[CLI_BATCH_PATH];
    supple_error error = {SUPPLE_ERROR_OUTPUT, "its record cannot be written"};
    if (code != 0) {
        keep_failure(b, job, code, processor_s, peak_mb);
        return;
    }
    json_decref(job->record);
    job->record = facts_of(job, 0, processor_s, peak_mb);
    json_t *summary = cli_batch_path(b, job, "metrics.json", path) ? cli_batch_summary(path) : NULL;
    json_object_set_new(job->record, "summary", summary ? summary : json_null());
    json_object_set_new(job->record, "files", files_of(b, job));
    if (!write_record(b, job, RECORD, job->record, &error)) {
        snprintf(job->last, sizeof job->last, "%.300s", error.message);
        keep_failure(b, job, SUPPLE_ERROR_OUTPUT, processor_s, peak_mb);
        return;
    }
    job->state = CLI_BATCH_DONE;
    if (cli_batch_path(b, job, FAILED, path)) unlink(path);
}
