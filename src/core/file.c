#include "core/file.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static supple_result read_all(FILE *file, const char *path, size_t limit, const supple_allocator *a, uint8_t **data,
                              size_t *size, supple_error *error)
{
    struct stat st;
    if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: not a regular file", path);
    if (st.st_size < 0 || (uintmax_t)st.st_size > limit)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: larger than the limit of %zu MB", path, limit >> 20);
    size_t n = (size_t)st.st_size;
    uint8_t *bytes = spl_new(a, n + 1, 1); /* one zero byte behind the end, for text parsers */
    if (!bytes) return spl_fail_memory(error, path);
    if (fread(bytes, 1, n, file) != n) {
        spl_free(a, bytes);
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: cannot be read to its end", path);
    }
    *data = bytes;
    *size = n;
    return SUPPLE_OK;
}

supple_result spl_file_read(const char *path, size_t limit, const supple_allocator *a, uint8_t **data, size_t *size,
                            supple_error *error)
{
    *data = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block us */
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file) {
        int reason = errno;
        if (fd >= 0) close(fd);
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: %s", path, strerror(reason));
    }
    supple_result result = read_all(file, path, limit, a, data, size, error);
    fclose(file);
    return result;
}

bool spl_file_same(const char *a, const char *b)
{
    struct stat sa, sb;
    return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static supple_result cannot_write(supple_error *error, const char *path, int reason)
{
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: cannot be written: %s", path, strerror(reason));
}

enum { NAME_TRIES = 100 };

/* Makes a new file with a name nobody has: open() applies the user's umask, which mkstemp would not, and nothing of the
 * process is changed. */
static int create_unique(char *name, size_t suffix_at)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (uint64_t i = 0; i < NAME_TRIES; i++) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        uint64_t r = spl_mix((uint64_t)t.tv_nsec ^ (uint64_t)t.tv_sec << 30 ^ (uint64_t)getpid() << 44 ^ i);
        for (char *c = name + suffix_at; *c; c++, r /= 36) *c = digits[r % 36];
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) return fd;
        if (fd < 0) continue;
        struct stat st; /* the lock says that somebody is at it; a sweep may have come between */
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0 || st.st_nlink > 0) return fd;
        close(fd);
    }
    return -1;
}

static const char PARTIAL[] = ".partial-";
enum { PARTIAL_DIGITS = 8 };

/* Whether a name is STEM...partial-XXXXXXXX. */
static bool is_partial(const char *name, const char *stem, size_t stem_length)
{
    size_t length = strlen(name), tail = sizeof PARTIAL - 1 + PARTIAL_DIGITS;
    return length > tail + stem_length && strncmp(name, stem, stem_length) == 0 &&
           memcmp(name + length - tail, PARTIAL, sizeof PARTIAL - 1) == 0;
}

/* What a writer of several files leaves in its folder: frames, materials, and the one it was at. */
static bool is_left_over(const char *name)
{
    size_t length = strlen(name);
    return strcmp(name, "mtl") == 0 || (length > 4 && strcmp(name + length - 4, ".obj") == 0) || strstr(name, PARTIAL);
}

static void empty_folder(int fd)
{
    int copy = dup(fd);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat st;
        bool file = fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
        if (file && is_left_over(entry->d_name)) unlinkat(fd, entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
}

/* Removes an unfinished file or folder if nobody holds its lock: whoever wrote it is dead. */
static void sweep_one(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* some systems lock nothing else */
    if (fd < 0 && errno == EISDIR) fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0) return;
    bool dead = fstat(fd, &st) == 0 && st.st_uid == geteuid() && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) &&
                flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (dead && S_ISDIR(st.st_mode)) empty_folder(fd);
    if (dead) unlinkat(folder, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
    close(fd);
}

void spl_output_sweep(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t length = slash ? (size_t)(slash - path) + 1 : 1;
    if (length >= sizeof folder) return;
    memcpy(folder, slash ? path : ".", length);
    folder[length] = 0;
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (is_partial(entry->d_name, name, dot ? (size_t)(dot - name) : strlen(name)))
            sweep_one(dirfd(dir), entry->d_name);
    closedir(dir);
}

/* The lock of a folder just made, -1 if it is gone: a sweep may have come between. Where folders cannot be locked it
 * goes without. */
static int lock_folder(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fd;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0 || st.st_nlink > 0) return fd;
    close(fd);
    return -1;
}

supple_result spl_output_folder(const char *path, const supple_allocator *a, char **folder, int *lock,
                                supple_error *error)
{
    static const char suffix[] = ".partial-00XXXXXX"; /* as long as that of files */
    size_t length = strlen(path);
    char *name = spl_new(a, length + sizeof suffix, 1);
    *folder = NULL;
    *lock = -1;
    if (!name) return spl_fail_memory(error, "an output path");
    memcpy(name, path, length);
    bool made = true;
    for (int i = 0; i < NAME_TRIES && made && *lock < 0; i++) {
        memcpy(name + length, suffix, sizeof suffix);
        made = mkdtemp(name) != NULL;
        if (made) *lock = lock_folder(name);
    }
    if (*lock >= 0) {
        *folder = name;
        return SUPPLE_OK;
    }
    int reason = errno;
    spl_free(a, name);
    return cannot_write(error, path, reason);
}

/* The temporary file stands in the same folder, so that the rename is atomic. */
supple_result spl_output_open(spl_output *output, const char *path, const supple_allocator *a, supple_error *error)
{
    static const char suffix[PARTIAL_DIGITS + 1] = "........";
    *output = (spl_output){.allocator = *a};
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: exists and is not a regular file", path);
    size_t length = strlen(path), suffix_at = length + sizeof PARTIAL - 1;
    output->path = spl_strdup(a, path);
    output->temporary = spl_new(a, suffix_at + sizeof suffix, 1);
    if (!output->path || !output->temporary) {
        spl_output_discard(output);
        return spl_fail_memory(error, "an output path");
    }
    memcpy(output->temporary, path, length);
    memcpy(output->temporary + length, PARTIAL, sizeof PARTIAL - 1);
    memcpy(output->temporary + suffix_at, suffix, sizeof suffix);
    int fd = create_unique(output->temporary, suffix_at);
    if (fd >= 0) output->stream = fdopen(fd, "w+b");
    if (output->stream) return SUPPLE_OK;
    int reason = errno;
    if (fd >= 0) {
        close(fd);
        unlink(output->temporary);
    }
    spl_free(a, output->temporary);
    output->temporary = NULL;
    spl_output_discard(output);
    return cannot_write(error, path, reason);
}

supple_result spl_output_commit(spl_output *output, supple_error *error)
{
    int reason = 0;
    if (fflush(output->stream) != 0) reason = errno;
    /* The bytes before the name: after a power cut there is the old file or the new one. Not every kind of file can. */
    if (!reason && fsync(fileno(output->stream)) != 0 && errno != EINVAL && errno != ENOSYS) reason = errno;
    if (fclose(output->stream) != 0 && !reason) reason = errno;
    output->stream = NULL;
    if (!reason && rename(output->temporary, output->path) != 0) reason = errno;
    if (reason) {
        supple_result result = cannot_write(error, output->path, reason);
        spl_output_discard(output);
        return result;
    }
    spl_free(&output->allocator, output->temporary);
    output->temporary = NULL;
    spl_output_discard(output);
    return SUPPLE_OK;
}

void spl_output_discard(spl_output *output)
{
    if (output->stream) fclose(output->stream);
    if (output->temporary) unlink(output->temporary);
    if (output->temporary) spl_free(&output->allocator, output->temporary);
    if (output->path) spl_free(&output->allocator, output->path);
    *output = (spl_output){0};
}

supple_result spl_output_bytes(spl_output *output, const void *data, size_t size, supple_error *error)
{
    if (size == 0 || fwrite(data, 1, size, output->stream) == size) return SUPPLE_OK;
    return cannot_write(error, output->path, errno);
}
