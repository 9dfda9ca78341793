#include "scene/readers/import.h"

#include "core/error.h"
#include "core/file.h"
#include "core/memory.h"
#include "scene/readers/gltf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SPL_LIBEXEC_FROM_LIB
#define SPL_LIBEXEC_FROM_LIB "../libexec"
#endif

enum { MILLISECONDS = 8000, BYTES_A_MILLISECOND = 10000 }; /* small files are done in 0.1 s; large ones get more */
enum { LONGEST_REASON = 300 };

/* What a file of some size can rightly become; more is a program gone wrong. */
#define RESULT_GROUND ((size_t)64 << 20)
#define RESULT_GROWTH 64

bool spl_import_takes(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    return n > 4 && (strcasecmp(path + n - 4, ".fbx") == 0 || strcasecmp(path + n - 4, ".dae") == 0);
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

/* The folder that this code was loaded from: the library's, or the program's that it is linked into. */
static bool own_folder(char *out, size_t size)
{
    Dl_info info;
    void *self;
    bool (*function)(const char *) = spl_import_takes;
    memcpy(&self, &function, sizeof self); /* C has no cast from a function to an object */
    if (!dladdr(self, &info) || !info.dli_fname) return false;
    char *whole = realpath(info.dli_fname, NULL);
    char *slash = whole ? strrchr(whole, '/') : NULL;
    bool fits = slash && (size_t)(slash - whole) < size;
    if (fits) {
        *slash = 0;
        memcpy(out, whole, strlen(whole) + 1);
    }
    free(whole);
    return fits;
}

static bool find_program(char *out, size_t size)
{
    static const char *const places[] = {"supple-import", SPL_LIBEXEC_FROM_LIB "/supple/supple-import"};
    const char *named = secure_getenv("SUPPLE_IMPORT");
    if (named && *named) return snprintf(out, size, "%s", named) < (int)size && access(out, X_OK) == 0;
    char folder[PATH_MAX];
    if (!own_folder(folder, sizeof folder)) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(out, size, "%s/%s", folder, places[i]) < (int)size && access(out, X_OK) == 0) return true;
    return false;
}

/* Starts the program with its output into a pipe, everything else shut off; its input is `from`, if that is not -1.
 * posix_spawn, because a fork of a program with threads may stop for ever. */
static bool start(const char *program, const char *input, int from, pid_t *child, int *output)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    if (from < 0)
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&files, from, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)input, NULL};
    int code = posix_spawn(child, program, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    *output = ends[0];
    if (code != 0) close(ends[0]);
    return code == 0;
}

/* ---- its output ------------------------------------------------------------------------------------------------- */

typedef struct run {
    const supple_allocator *a;
    uint8_t *data;
    size_t size, room, limit;
    bool late, memory; /* took too long; no memory for the output */
    int status;        /* as waitpid has it; -1 if unknown */
} run;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool make_room(run *r)
{
    if (r->size < r->room) return true;
    size_t room = r->room ? 2 * r->room : (size_t)1 << 16;
    if (r->size >= r->limit) return false;
    uint8_t *grown = spl_resize(r->a, r->data, room, 1);
    r->memory = !grown;
    if (!grown) return false;
    r->data = grown;
    r->room = room;
    return true;
}

/* Reads until the program closes its output; false if it has to be ended. */
static bool receive(run *r, int output, int64_t until)
{
    for (;;) {
        int64_t left = until - now_ms();
        if (left <= 0) {
            r->late = true;
            return false;
        }
        struct pollfd wait = {.fd = output, .events = POLLIN};
        int ready = poll(&wait, 1, (int)left);
        if (ready < 0 && errno != EINTR) return false;
        if (ready <= 0) continue;
        if (!make_room(r)) return false;
        ssize_t n = read(output, r->data + r->size, r->room - r->size);
        if (n == 0) return true;
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) r->size += (size_t)n;
    }
}

static void collect(run *r, pid_t child, int output, int64_t until)
{
    bool whole = receive(r, output, until);
    close(output);
    if (!whole) kill(child, SIGKILL);
    pid_t done;
    while ((done = waitpid(child, &r->status, 0)) < 0 && errno == EINTR) {
    }
    if (done < 0) r->status = whole ? 0 : -1; /* the host collects its children itself; the output says how it went */
}

/* ---- the scene -------------------------------------------------------------------------------------------------- */

static supple_result explain(const run *r, const char *name, supple_error *error)
{
    if (r->memory) return spl_fail_memory(error, "what was imported");
    if (r->late)
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "%s: importing it takes too long; it may be damaged: export it again, or as .glb", name);
    bool reason = r->status != -1 && WIFEXITED(r->status) && WEXITSTATUS(r->status) == 1 && r->size > 0;
    if (reason)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: %.*s", name,
                        (int)(r->size < LONGEST_REASON ? r->size : LONGEST_REASON), (const char *)r->data);
    return spl_fail(error, SUPPLE_ERROR_INPUT,
                    "%s: importing it failed; it is damaged or too large: export it again, or as .glb", name);
}

/* Runs a program to its end: with a file's path, or with a mode and what is to be read from `from`. */
static supple_result run_to_end(const char *program, const char *argument, int from, size_t bytes, const char *name,
                                run *r, supple_error *error)
{
    pid_t child;
    int output;
    int64_t until = now_ms() + MILLISECONDS + (int64_t)(bytes / BYTES_A_MILLISECOND);
    if (!start(program, argument, from, &child, &output))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%.100s: supple-import cannot be started: %s", name,
                        strerror(errno));
    collect(r, child, output, until);
    bool good = r->status != -1 && WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0 && r->size > 0 && !r->memory;
    return good && !r->late ? SUPPLE_OK : explain(r, name, error);
}

static supple_result run_program(const char *path, off_t bytes, run *r, supple_error *error)
{
    char program[PATH_MAX], input[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
    if (!realpath(path, input)) return spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s: %s", path, strerror(errno));
    if (!find_program(program, sizeof program))
        return spl_fail(
            error, SUPPLE_ERROR_INPUT,
            "%.100s: FBX and Collada are read by the program supple-import, which is not beside the library; "
            "build or install it, or convert the file to .glb",
            name);
    return run_to_end(program, input, -1, (size_t)bytes, name, r, error);
}

supple_result spl_import_load_file(const char *path, const supple_config *config, supple_scene **out,
                                   supple_error *error)
{
    *out = NULL;
    supple_result result = spl_config_check(config, error);
    if (result != SUPPLE_OK) return result;
    struct stat st;
    if (stat(path, &st) != 0) return spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode)) return spl_fail(error, SUPPLE_ERROR_INPUT, "%.150s: is not a regular file", path);
    supple_allocator a = spl_allocator_of(config);
    run r = {.a = &a, .status = -1, .limit = RESULT_GROUND + RESULT_GROWTH * (size_t)st.st_size};
    result = spl_progress(config, "load", 0, error);
    if (result == SUPPLE_OK) result = run_program(path, st.st_size, &r, error);
    if (result == SUPPLE_OK) result = spl_gltf_load_made(r.data, r.size, path, config, out, error);
    spl_free(&a, r.data);
    return result;
}

/* ---- questions without a file ----------------------------------------------------------------------------------- */

/* A file without a name that holds the bytes, at its beginning; -1 if there can be none. */
static int hold(const uint8_t *bytes, size_t size)
{
    int file = memfd_create("supple-import", MFD_CLOEXEC);
    for (size_t at = 0; file >= 0 && at < size;) {
        ssize_t n = write(file, bytes + at, size - at);
        if (n > 0) at += (size_t)n;
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        close(file);
        return -1;
    }
    if (file >= 0) lseek(file, 0, SEEK_SET);
    return file;
}

supple_result spl_import_decode(const char *mode, const void *question, size_t size, const supple_allocator *a,
                                uint8_t **data, size_t *data_size, supple_error *error)
{
    static const char what[] = "compressed meshes";
    char program[PATH_MAX];
    supple_error why;
    *data = NULL;
    *data_size = 0;
    if (!find_program(program, sizeof program))
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "KHR_draco_mesh_compression is decoded by the program supple-import, which is not beside the "
                        "library; build or install it, or re-export without Draco");
    int from = hold(question, size);
    if (from < 0) return spl_fail_memory(error, what);
    run r = {.a = a, .status = -1, .limit = RESULT_GROUND + RESULT_GROWTH * size};
    supple_result result = run_to_end(program, mode, from, size, what, &r, &why);
    close(from);
    if (result == SUPPLE_OK) {
        *data = r.data;
        *data_size = r.size;
        return SUPPLE_OK;
    }
    spl_free(a, r.data);
    if (result == SUPPLE_ERROR_MEMORY) return spl_fail_memory(error, what);
    size_t skip =
        strncmp(why.message, what, sizeof what - 1) == 0 && why.message[sizeof what - 1] == ':' ? sizeof what + 1 : 0;
    return spl_fail(error, SUPPLE_ERROR_INPUT, "%s", why.message + skip);
}
