#include "core/cache.h"

#include "core/error.h"
#include "core/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STALE_SECONDS = 3600 }; /* a writer's unfinished file of that age has no writer any more */

static const uint64_t DEFAULT_LIMIT = (uint64_t)2 << 30;
static const char ENDING[] = ".store", PARTIAL[] = ".store.partial-";

struct spl_cache {
    supple_allocator allocator;
    supple_config config;
    char *folder; /* NULL: off */
    uint64_t limit;
    bool warned; /* about not being able to write */
};

const char *spl_cache_folder(const spl_cache *cache)
{
    return cache->folder;
}

/* ---- the folder ------------------------------------------------------------------------------------------------- */

/* a + b as a new string. */
static char *joined(const supple_allocator *a, const char *first, const char *second)
{
    size_t n = strlen(first), m = strlen(second);
    char *text = spl_new(a, n + m + 1, 1);
    if (!text) return NULL;
    memcpy(text, first, n);
    memcpy(text + n, second, m);
    return text;
}

static const char *variable(const char *name)
{
    const char *value = secure_getenv(name); /* nothing of the caller's environment where it cannot be trusted */
    return value && *value ? value : NULL;
}

/* Where the cache is to be. *path stays NULL if the environment names no place; false if memory is out. */
static bool choose_folder(const spl_cache_options *options, const supple_allocator *a, char **path)
{
    const char *own = options->folder && *options->folder ? options->folder : variable("SUPPLE_CACHE");
    const char *xdg = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    *path = NULL;
    if (own)
        *path = spl_strdup(a, own);
    else if (xdg && xdg[0] == '/') /* the XDG specification has relative paths ignored */
        *path = joined(a, xdg, "/supple");
    else if (home && home[0] == '/')
        *path = joined(a, home, "/.cache/supple");
    else
        return true;
    return *path != NULL;
}

/* Makes the folder and those above it that are missing. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES;
        *slash = '/';
        if (failed) return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Why the folder cannot be trusted, or NULL. */
static const char *distrust(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return strerror(errno);
    if (!S_ISDIR(st.st_mode)) return "it is not a folder";
    if (st.st_uid != geteuid()) return "it belongs to another user";
    if (st.st_mode & (S_IWGRP | S_IWOTH)) return "other users may write to it";
    return access(path, R_OK | X_OK) == 0 ? NULL : strerror(errno);
}

/* Takes the folder into use, or says why not. */
static void settle_folder(spl_cache *cache, char *folder)
{
    const char *reason = make_folders(folder) ? distrust(folder) : strerror(errno);
    if (!reason) {
        spl_log_verbose(&cache->config, SUPPLE_LOG_INFO, "cache: %s", folder);
        cache->folder = folder;
        return;
    }
    spl_log(&cache->config, SUPPLE_LOG_WARNING, "no cache: %s: %s", folder, reason);
    spl_free(&cache->allocator, folder);
}

supple_result spl_cache_open(const spl_cache_options *options, const supple_config *config, spl_cache **out,
                             supple_error *error)
{
    static const spl_cache_options defaults = {0};
    if (!options) options = &defaults;
    supple_allocator a = spl_allocator_of(config);
    *out = NULL;
    spl_cache *cache = spl_new(&a, 1, sizeof *cache);
    if (!cache) return spl_fail_memory(error, "the cache");
    cache->allocator = a;
    cache->config = config ? *config : supple_config_default();
    cache->limit = options->limit ? options->limit : DEFAULT_LIMIT;
    char *folder = NULL;
    if (!options->off && !choose_folder(options, &a, &folder)) {
        spl_free(&a, cache);
        return spl_fail_memory(error, "the cache's folder");
    }
    if (folder)
        settle_folder(cache, folder);
    else if (!options->off)
        spl_log(config, SUPPLE_LOG_WARNING, "no cache: none of SUPPLE_CACHE, XDG_CACHE_HOME and HOME is set");
    *out = cache;
    return SUPPLE_OK;
}

void spl_cache_close(spl_cache *cache)
{
    if (!cache) return;
    supple_allocator a = cache->allocator;
    spl_free(&a, cache->folder);
    spl_free(&a, cache);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* FOLDER/KIND-vVERSION-KEY.store, with '-' for the characters of a kind that do not belong in a name. */
static char *file_of(const spl_cache *cache, const spl_store_id *id)
{
    size_t room = strlen(cache->folder) + strlen(id->kind) + 80;
    char *path = spl_new(&cache->allocator, room, 1);
    if (!path) return NULL;
    int start = snprintf(path, room, "%s/", cache->folder);
    snprintf(path + start, room - (size_t)start, "%s-v%u-%016llx%016llx%s", id->kind, (unsigned)id->version,
             (unsigned long long)id->key.part[0], (unsigned long long)id->key.part[1], ENDING);
    for (char *p = path + start; *p; p++)
        if (*p == '/') *p = '-';
    if (path[start] == '.') path[start] = '-';
    return path;
}

static void remove_bad(spl_cache *cache, const char *path, const char *reason)
{
    spl_log(&cache->config, SUPPLE_LOG_WARNING, "cache: %s; %s", reason,
            unlink(path) == 0 ? "removed, to be made again" : "it will be made again");
}

static bool exists(const char *path, struct stat *st)
{
    return lstat(path, st) == 0;
}

/* Opens a file that is there; what is wrong with it goes to the log. */
static spl_store_reader *open_kept(spl_cache *cache, const char *path, struct stat *st, const spl_store_id *id)
{
    spl_store_reader *reader = NULL;
    supple_error error = {0};
    supple_result result = SUPPLE_ERROR_INPUT;
    if (!S_ISREG(st->st_mode)) /* nothing of ours: a link could lead anywhere */
        spl_fail(&error, result, "%s: not a regular file", path);
    else
        result = spl_store_open(path, id, &cache->config, &reader, &error);
    if (result == SUPPLE_OK)
        utimensat(AT_FDCWD, path, NULL, 0); /* used now; on a read-only disk this may fail */
    else if (result == SUPPLE_ERROR_MEMORY)
        spl_log(&cache->config, SUPPLE_LOG_WARNING, "cache: %s", error.message);
    else if (exists(path, st)) /* else another process made room just now */
        remove_bad(cache, path, error.message);
    return reader;
}

spl_store_reader *spl_cache_find(spl_cache *cache, const spl_store_id *id)
{
    if (!cache->folder) return NULL;
    char *path = file_of(cache, id);
    if (!path) spl_log(&cache->config, SUPPLE_LOG_WARNING, "cache: out of memory for a path");
    struct stat st;
    spl_store_reader *reader = path && exists(path, &st) ? open_kept(cache, path, &st, id) : NULL;
    if (path)
        spl_log_verbose(&cache->config, SUPPLE_LOG_INFO, "cache: %s %s", strrchr(path, '/') + 1,
                        reader ? "is there" : "is not there: it is made");
    spl_free(&cache->allocator, path);
    return reader;
}

void spl_cache_reject(spl_cache *cache, const spl_store_id *id, spl_store_reader *reader, const char *reason)
{
    spl_store_close(reader);
    char *path = cache->folder ? file_of(cache, id) : NULL;
    if (path) remove_bad(cache, path, reason);
    spl_free(&cache->allocator, path);
}

/* Once a cache, not once a file. */
static void warn(spl_cache *cache, const supple_error *error)
{
    if (!cache->warned) spl_log(&cache->config, SUPPLE_LOG_WARNING, "cache: nothing is kept: %s", error->message);
    cache->warned = true;
}

spl_store_writer *spl_cache_begin(spl_cache *cache, const spl_store_id *id)
{
    if (!cache->folder) return NULL;
    supple_error error = {0};
    spl_store_writer *writer = NULL;
    char *path = file_of(cache, id);
    supple_result result = path ? spl_store_create(path, id, &cache->config, &writer, &error)
                                : spl_fail_memory(&error, "a path of the cache");
    if (result) warn(cache, &error);
    spl_free(&cache->allocator, path);
    return writer;
}

bool spl_cache_publish(spl_cache *cache, spl_store_writer *writer)
{
    if (!writer) return false;
    supple_error error = {0};
    if (spl_store_commit(writer, &error) != SUPPLE_OK) {
        warn(cache, &error);
        return false;
    }
    spl_cache_trim(cache);
    return true;
}

/* ---- the size limit --------------------------------------------------------------------------------------------- */

typedef struct kept_file {
    char *name;
    uint64_t size;
    struct timespec used;
} kept_file;

typedef struct kept_list {
    kept_file *file;
    size_t count, room;
    uint64_t size;
} kept_list;

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n >= m && strcmp(text + n - m, ending) == 0;
}

/* Longest unused first; by name where the clock is too coarse, so that all processes agree. */
static int by_use(const void *a, const void *b)
{
    const kept_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool keep(kept_list *list, const supple_allocator *a, const char *name, const struct stat *st)
{
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        kept_file *grown = spl_resize(a, list->file, room, sizeof *grown);
        if (!grown) return false;
        list->file = grown;
        list->room = room;
    }
    char *copy = spl_strdup(a, name);
    if (!copy) return false;
    list->file[list->count++] = (kept_file){copy, (uint64_t)st->st_size, st->st_mtim};
    list->size += (uint64_t)st->st_size;
    return true;
}

/* Lists the stores and clears away what dead writers left; other files in the folder are not ours to touch. */
static bool list_files(DIR *dir, const supple_allocator *a, kept_list *list)
{
    time_t now = time(NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        bool store = ends_with(entry->d_name, ENDING), partial = strstr(entry->d_name, PARTIAL) != NULL;
        if (!store && !partial) continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
        if (partial && now - st.st_mtime > STALE_SECONDS) unlinkat(dirfd(dir), entry->d_name, 0);
        if (store && !keep(list, a, entry->d_name, &st)) return false;
    }
    return true;
}

void spl_cache_trim(spl_cache *cache)
{
    DIR *dir = cache->folder ? opendir(cache->folder) : NULL;
    if (!dir) return;
    kept_list list = {0};
    bool listed = list_files(dir, &cache->allocator, &list); /* half a list would make the wrong ones go */
    if (!listed) spl_log(&cache->config, SUPPLE_LOG_WARNING, "cache: out of memory for keeping to the size limit");
    if (listed && list.count) qsort(list.file, list.count, sizeof *list.file, by_use);
    for (size_t i = 0; i < list.count; i++) {
        kept_file *file = list.file + i;
        /* Another process may have removed it first: gone is gone. */
        bool surplus = listed && list.size > cache->limit;
        if (surplus && (unlinkat(dirfd(dir), file->name, 0) == 0 || errno == ENOENT)) list.size -= file->size;
        spl_free(&cache->allocator, file->name);
    }
    spl_free(&cache->allocator, list.file);
    closedir(dir);
}
