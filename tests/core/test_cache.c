#include "core/cache.h"

#include "core/memory.h"
#include "failing.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NUMBERS = 1000, NOBODY = 65534 };

typedef struct log_text {
    char text[2000];
    int warnings;
} log_text;

static void keep_log(void *user, supple_log_level level, const char *message)
{
    log_text *log = user;
    size_t n = strlen(log->text);
    log->warnings += level == SUPPLE_LOG_WARNING;
    snprintf(log->text + n, sizeof log->text - n, "%s\n", message);
}

static supple_config logging(log_text *log)
{
    supple_config config = supple_config_default();
    *log = (log_text){0};
    config.log = keep_log;
    config.log_user = log;
    return config;
}

/* A folder of our own below the system's folder for such things. */
static char base[200];

static void enter(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(base, sizeof base, "%s/supple-cache-XXXXXX", tmp && strlen(tmp) < 150 ? tmp : P_tmpdir);
    if (!mkdtemp(base)) abort();
    unsetenv("SUPPLE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", base, 1);
}

static void leave(void)
{
    char command[500];
    snprintf(command, sizeof command, "chmod -R u+rwx '%s'; rm -rf '%s'", base, base);
    if (system(command) != 0) abort();
}

static char *below(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", base, name);
    return path;
}

static spl_store_id id_of(uint64_t n)
{
    return (spl_store_id){"test", 1, {{n, ~n}}};
}

static spl_cache *open_cache(const char *folder, uint64_t limit, const supple_config *config)
{
    spl_cache *cache = NULL;
    spl_cache_options options = {.folder = folder, .limit = limit};
    if (spl_cache_open(&options, config, &cache, NULL) != SUPPLE_OK) abort();
    return cache;
}

static bool publish(spl_cache *cache, uint64_t n)
{
    int32_t numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) numbers[i] = i * (int32_t)n;
    spl_store_id id = id_of(n);
    spl_store_writer *w = spl_cache_begin(cache, &id);
    if (w) spl_store_add(w, "numbers", SPL_STORE_I32, 1, NUMBERS, numbers, NULL);
    return spl_cache_publish(cache, w);
}

static bool find(spl_cache *cache, uint64_t n)
{
    spl_store_id id = id_of(n);
    spl_store_reader *r = spl_cache_find(cache, &id);
    if (!r) return false;
    const void *data;
    spl_store_want want = {"numbers", SPL_STORE_I32, 1, NUMBERS, NUMBERS, 0, 0, true};
    bool good = spl_store_get(r, &want, &data, NULL, NULL) == SUPPLE_OK && ((const int32_t *)data)[7] == 7 * (int)n;
    spl_store_close(r);
    return good;
}

/* The one file of a folder that ends as stores do; its path in `out`. */
static int files_in(const char *folder, char out[800])
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        if (out) snprintf(out, 800, "%s/%s", folder, entry->d_name);
        count++;
    }
    if (dir) closedir(dir);
    return count;
}

TEST(what_was_kept_is_found)
{
    enter();
    log_text log;
    supple_config config = logging(&log);
    spl_cache *cache = open_cache(below("a/b/c"), 0, &config);
    CHECK(!find(cache, 5));
    CHECK(publish(cache, 5) && find(cache, 5) && !find(cache, 6));
    spl_store_id other = id_of(5);
    other.version = 2;
    CHECK(!spl_cache_find(cache, &other));
    struct stat st;
    CHECK(stat(below("a/b/c"), &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(stat(below("a"), &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(log.warnings == 0);
    spl_cache_close(cache);
    cache = open_cache(below("a/b/c"), 0, &config);
    CHECK(find(cache, 5));
    spl_cache_close(cache);
    leave();
}

TEST(the_folder_is_chosen_by_the_environment)
{
    enter();
    log_text log;
    supple_config config = logging(&log);
    char own[400], xdg[400];
    snprintf(own, sizeof own, "%s", below("own"));
    snprintf(xdg, sizeof xdg, "%s", below("xdg"));
    spl_cache *cache = open_cache(NULL, 0, &config);
    CHECK(spl_cache_folder(cache) && strcmp(spl_cache_folder(cache), below(".cache/supple")) == 0);
    spl_cache_close(cache);
    setenv("XDG_CACHE_HOME", xdg, 1);
    cache = open_cache(NULL, 0, &config);
    CHECK(strcmp(spl_cache_folder(cache), below("xdg/supple")) == 0);
    spl_cache_close(cache);
    setenv("SUPPLE_CACHE", own, 1);
    cache = open_cache(NULL, 0, &config);
    CHECK(strcmp(spl_cache_folder(cache), own) == 0 && log.warnings == 0);
    spl_cache_close(cache);
    /* Relative, empty and missing. */
    setenv("SUPPLE_CACHE", "", 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    cache = open_cache(NULL, 0, &config);
    CHECK(strcmp(spl_cache_folder(cache), below(".cache/supple")) == 0 && log.warnings == 0);
    spl_cache_close(cache);
    unsetenv("HOME");
    cache = open_cache(NULL, 0, &config);
    CHECK(!spl_cache_folder(cache) && log.warnings == 1 && strstr(log.text, "no cache"));
    CHECK(!publish(cache, 1) && !find(cache, 1) && log.warnings == 1);
    spl_cache_close(cache);
    spl_cache_options off = {.off = true};
    CHECK(spl_cache_open(&off, &config, &cache, NULL) == SUPPLE_OK && !publish(cache, 1) && log.warnings == 1);
    spl_cache_close(cache);
    leave();
}

TEST(untrusted_folders_are_refused)
{
    enter();
    log_text log;
    supple_config config = logging(&log);
    mkdir(below("open"), 0700);
    chmod(below("open"), 0777);
    spl_cache *cache = open_cache(below("open"), 0, &config);
    CHECK(!spl_cache_folder(cache) && strstr(log.text, "other users may write"));
    spl_cache_close(cache);
    chmod(below("open"), 0770);
    config = logging(&log);
    cache = open_cache(below("open"), 0, &config);
    CHECK(!spl_cache_folder(cache) && log.warnings == 1);
    spl_cache_close(cache);
    config = logging(&log);
    close(open(below("file"), O_CREAT | O_WRONLY, 0600));
    cache = open_cache(below("file"), 0, &config);
    CHECK(!spl_cache_folder(cache) && strstr(log.text, "not a folder"));
    spl_cache_close(cache);
    cache = open_cache(below("file/below"), 0, &config);
    CHECK(!spl_cache_folder(cache) && log.warnings == 2);
    spl_cache_close(cache);
    mkdir(below("theirs"), 0700);
    bool given = chown(below("theirs"), NOBODY, NOBODY) == 0; /* root alone can */
    config = logging(&log);
    cache = open_cache(given ? below("theirs") : "/", 0, &config);
    CHECK(!spl_cache_folder(cache) && strstr(log.text, "another user"));
    spl_cache_close(cache);
    leave();
}

/* Runs a check in a child, as an ordinary user if we are root; its result is the exit code. */
static bool as_user(bool (*check)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        bool ready = geteuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
        _exit(ready && check() ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool read_only_is_a_warning(void)
{
    log_text log;
    supple_config config = logging(&log);
    spl_cache *cache = open_cache(below("ro"), 0, &config);
    bool good = find(cache, 1) && log.warnings == 0; /* reading goes on */
    good = good && !publish(cache, 2) && !publish(cache, 3) && log.warnings == 1 && strstr(log.text, "nothing is kept");
    spl_cache_close(cache);
    return good;
}

static bool unreadable_is_a_warning(void)
{
    log_text log;
    supple_config config = logging(&log);
    spl_cache *cache = open_cache(below("ro"), 0, &config);
    bool good = !spl_cache_folder(cache) && log.warnings == 1;
    spl_cache_close(cache);
    return good;
}

TEST(read_only_and_unreadable_folders_are_warnings)
{
    enter();
    chmod(base, 0755);
    spl_cache *cache = open_cache(below("ro"), 0, NULL);
    char file[800];
    CHECK(publish(cache, 1) && files_in(below("ro"), file) == 1);
    spl_cache_close(cache);
    if (geteuid() == 0) CHECK(chown(below("ro"), NOBODY, NOBODY) == 0 && chown(file, NOBODY, NOBODY) == 0);
    chmod(below("ro"), 0500);
    CHECK(as_user(read_only_is_a_warning));
    chmod(below("ro"), 0);
    CHECK(as_user(unreadable_is_a_warning));
    leave();
}

static bool full_is_a_warning(void)
{
    log_text log;
    supple_config config = logging(&log);
    spl_cache *cache = open_cache(below("full"), 0, &config);
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){2000, 2000}) != 0) return false; /* as a full disk would */
    bool good = !publish(cache, 1) && !publish(cache, 2) && log.warnings == 1 && !find(cache, 1);
    good = good && files_in(below("full"), NULL) == 0; /* not even the unfinished file */
    spl_cache_close(cache);
    return good;
}

TEST(a_full_disk_is_a_warning)
{
    enter();
    chmod(base, 0777);
    CHECK(as_user(full_is_a_warning));
    leave();
}

static void overwrite(const char *path, long at, const char *text)
{
    FILE *f = fopen(path, "r+b");
    if (!f || fseek(f, at, SEEK_SET) != 0 || fwrite(text, 1, strlen(text), f) != strlen(text) || fclose(f)) abort();
}

TEST(bad_files_are_removed_and_made_again)
{
    enter();
    log_text log;
    supple_config config = logging(&log);
    spl_cache *cache = open_cache(below("c"), 0, &config);
    char file[800], other[800];
    for (int kind = 0; kind < 5; kind++) {
        config = logging(&log);
        CHECK(publish(cache, 1) && files_in(below("c"), file) == 1);
        if (kind == 0) overwrite(file, 500, "?"); /* edited */
        if (kind == 1) CHECK(truncate(file, 1000) == 0);
        if (kind == 2) CHECK(truncate(file, 0) == 0);
        if (kind == 3) { /* foreign: another store under this name */
            snprintf(other, sizeof other, "%s", file);
            CHECK(unlink(file) == 0 && publish(cache, 2) && files_in(below("c"), file) == 1);
            CHECK(rename(file, other) == 0);
        }
        if (kind == 4) { /* a link to a good file elsewhere */
            CHECK(rename(file, below("good")) == 0 && symlink(below("good"), file) == 0);
        }
        CHECK(!find(cache, 1) && log.warnings == 1 && strstr(log.text, "removed"));
        CHECK(files_in(below("c"), NULL) == 0);
        CHECK(publish(cache, 1) && find(cache, 1) && log.warnings == 1);
    }
    CHECK(access(below("good"), F_OK) == 0); /* the link went, not what it led to */
    spl_store_id id = id_of(1);
    spl_cache_reject(cache, &id, spl_cache_find(cache, &id), "makes no sense");
    CHECK(files_in(below("c"), NULL) == 0 && log.warnings == 2 && strstr(log.text, "makes no sense"));
    spl_cache_close(cache);
    leave();
}

/* ---- the limit -------------------------------------------------------------------------------------------------- */

/* Sets when a file was last used, in seconds before now. */
static void age(const char *folder, uint64_t n, long seconds)
{
    char path[800];
    struct timespec now, times[2];
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    times[0] = times[1] = now;
    snprintf(path, sizeof path, "%s/test-v1-%016llx%016llx.store", folder, (unsigned long long)n,
             (unsigned long long)~n);
    if (utimensat(AT_FDCWD, path, times, 0) != 0) abort();
}

TEST(the_longest_unused_go_first)
{
    enter();
    const char *folder = below("lru");
    char own[400];
    snprintf(own, sizeof own, "%s", folder);
    spl_cache *cache = open_cache(own, 0, NULL);
    CHECK(publish(cache, 1));
    char file[800];
    struct stat st;
    CHECK(files_in(own, file) == 1 && stat(file, &st) == 0);
    spl_cache_close(cache);
    cache = open_cache(own, 3 * (uint64_t)st.st_size + 10, NULL); /* room for three */
    CHECK(publish(cache, 2) && publish(cache, 3));
    age(own, 1, 300);
    age(own, 2, 200);
    age(own, 3, 100);
    FILE *stranger = fopen(below("lru/notes.txt"), "w"); /* not ours */
    REQUIRE(stranger);
    fclose(stranger);
    CHECK(find(cache, 1)); /* used now: 2 is the oldest */
    CHECK(publish(cache, 4));
    CHECK(find(cache, 1) && !find(cache, 2) && find(cache, 3) && find(cache, 4));
    age(own, 4, 400);
    age(own, 1, 300);
    CHECK(publish(cache, 5));
    CHECK(!find(cache, 4) && find(cache, 1) && find(cache, 3) && find(cache, 5));
    CHECK(access(below("lru/notes.txt"), F_OK) == 0);
    spl_cache_close(cache);
    cache = open_cache(own, 1, NULL); /* less than one file */
    spl_cache_trim(cache);
    CHECK(files_in(own, NULL) == 1);
    spl_cache_close(cache);
    leave();
}

TEST(what_dead_writers_left_goes)
{
    enter();
    spl_cache *cache = open_cache(below("d"), 0, NULL);
    const char *names[] = {"d/test-v1-00.store.partial-AAAAAA", "d/test-v1-00.store.partial-BBBBBB"};
    for (int i = 0; i < 2; i++) close(open(below(names[i]), O_CREAT | O_WRONLY, 0600));
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    CHECK(utimensat(AT_FDCWD, below(names[0]), old, 0) == 0);
    CHECK(publish(cache, 1));
    CHECK(access(below(names[0]), F_OK) != 0 && access(below(names[1]), F_OK) == 0);
    spl_cache_close(cache);
    leave();
}

/* ---- two at once ------------------------------------------------------------------------------------------------ */

static void fill_and_read(unsigned seed)
{
    log_text log;
    supple_config config = logging(&log);
    spl_cache *cache = open_cache(below("two"), 40000, &config); /* small: they evict under each other too */
    bool good = true;
    for (int i = 0; i < 150; i++) {
        uint64_t n = 1 + (seed + (unsigned)i * 7u) % 12u;
        spl_store_id id = id_of(n);
        spl_store_reader *r = spl_cache_find(cache, &id);
        const void *data;
        spl_store_want want = {"numbers", SPL_STORE_I32, 1, NUMBERS, NUMBERS, 0, 0, true};
        if (r) good &= spl_store_get(r, &want, &data, NULL, NULL) == 0 && ((const int32_t *)data)[9] == 9 * (int)n;
        if (!r) good &= publish(cache, n);
        spl_store_close(r);
    }
    good &= log.warnings == 0;
    if (log.text[0]) printf("    %s", log.text);
    fflush(stdout);
    spl_cache_close(cache);
    _exit(good ? 0 : 1);
}

TEST(processes_fill_one_cache_at_once)
{
    enter();
    pid_t child[4];
    fflush(stdout);
    for (unsigned i = 0; i < 4; i++) {
        child[i] = fork();
        if (child[i] == 0) fill_and_read(i % 2); /* in pairs that want the same files in the same order */
    }
    for (int i = 0; i < 4; i++) {
        int status = 1;
        CHECK(child[i] > 0 && waitpid(child[i], &status, 0) == child[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    DIR *dir = opendir(below("two"));
    REQUIRE(dir);
    for (struct dirent *entry; (entry = readdir(dir));) CHECK(!strstr(entry->d_name, "partial"));
    closedir(dir);
    leave();
}

TEST(failing_allocations_are_survived)
{
    enter();
    for (long n = 0;; n++) {
        failing f = {.fail_at = n};
        log_text log;
        supple_config config = logging(&log);
        config.allocator = failing_allocator(&f);
        spl_cache *cache = NULL;
        spl_cache_options options = {.folder = below("m")};
        supple_error error = {0};
        supple_result result = spl_cache_open(&options, &config, &cache, &error);
        CHECK(result == SUPPLE_OK || (result == SUPPLE_ERROR_MEMORY && !cache && error.code == result));
        bool kept = cache && publish(cache, 1), found = cache && find(cache, 1);
        /* Whatever failed was told, once; and what was kept is there for the next. */
        CHECK(!cache || (kept && found) || log.warnings == 1);
        spl_cache_close(cache);
        CHECK(f.live == 0);
        if (f.requests <= n) {
            CHECK(kept && found && n > 10);
            break;
        }
    }
    leave();
}

TEST_CASES(RUN(what_was_kept_is_found), RUN(the_folder_is_chosen_by_the_environment),
           RUN(untrusted_folders_are_refused), RUN(read_only_and_unreadable_folders_are_warnings),
           RUN(a_full_disk_is_a_warning), RUN(bad_files_are_removed_and_made_again), RUN(the_longest_unused_go_first),
           RUN(what_dead_writers_left_goes), RUN(processes_fill_one_cache_at_once),
           RUN(failing_allocations_are_survived))
