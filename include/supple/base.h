/* Supple: results, errors and the services a host may provide (memory, log, progress, threads).
 *
 * Conventions, stated once for all headers:
 *   - every fallible call returns supple_result and takes an optional supple_error (may be NULL);
 *   - on failure *out is NULL and the previous state stands; destroy functions accept NULL;
 *   - matrices are column-major 4x4; quaternions are x, y, z, w; lengths are in the input file's unit unless a name
 * says otherwise; strings are UTF-8;
 *   - there is no global state: two scenes or simulations may be used from two threads at the same time, one object
 *     from one thread at a time. A constant object (a scene) may be shared by any number of threads. */
#ifndef SUPPLE_BASE_H
#define SUPPLE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers, by its numbers and whole; supple_version() has that of the library. */
#define SUPPLE_VERSION_MAJOR 0
#define SUPPLE_VERSION_MINOR 1
#define SUPPLE_VERSION_PATCH 0
#define SUPPLE_VERSION       "0.1.0"

#if defined(_WIN32)
#define SUPPLE_API __declspec(dllexport)
#else
#define SUPPLE_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a call succeeded. The numbers from 2 to 5 are also the tool's exit codes. */
typedef enum supple_result {
    SUPPLE_OK = 0,
    SUPPLE_ERROR_ARGUMENT = 2,  /* a wrong option, name or value given by the caller */
    SUPPLE_ERROR_INPUT = 3,     /* a file that is missing, malformed or has nothing to work on */
    SUPPLE_ERROR_OUTPUT = 4,    /* an output that cannot be written */
    SUPPLE_ERROR_SOLVE = 5,     /* a solve that failed */
    SUPPLE_ERROR_MEMORY = 6,    /* an allocation failed */
    SUPPLE_ERROR_CANCELLED = 7, /* the progress callback asked to stop */
} supple_result;

/* What went wrong, for a person: one line that says what failed, where, and what to try. */
typedef struct supple_error {
    supple_result code; /* what the call returned */
    char message[256];  /* without a newline */
} supple_error;

/* Where memory comes from. All three functions are given, or none (then malloc, realloc and free are used). */
typedef struct supple_allocator {
    void *(*allocate)(void *user, size_t size);                /* NULL on failure */
    void *(*reallocate)(void *user, void *block, size_t size); /* NULL on failure, the old block then stands */
    void (*release)(void *user, void *block);                  /* accepts NULL */
    void *user;                                                /* handed to each of them */
} supple_allocator;

/* How much a line of the log matters. */
typedef enum supple_log_level {
    SUPPLE_LOG_INFO = 0,    /* what was chosen or found */
    SUPPLE_LOG_WARNING = 1, /* something that a person should look at */
} supple_log_level;

/* Receives one line without a newline. Called on the thread that called the library. */
typedef void supple_log_fn(void *user, supple_log_level level, const char *message);

/* Reports how far a stage has come (0 to 1). Returns false to cancel; the call then ends with SUPPLE_ERROR_CANCELLED.
 * A stage without a name ("", 0) only asks whether to go on: inside of a frame that takes long. */
typedef bool supple_progress_fn(void *user, const char *stage, double fraction);

/* The host's own threads. `run` must call task(context, i) once for every i in [0, count), in any order and on any
 * threads, and return when all have returned. Results do not depend on how it schedules them. */
typedef struct supple_tasks {
    void (*run)(void *user, void (*task)(void *context, int32_t index), void *context, int32_t count); /* see above */
    void *user;           /* handed to run */
    int32_t thread_count; /* how many run at once, at least 1; a hint for how finely work is cut */
} supple_tasks;

/* The services a host provides. Start from supple_config_default(). */
typedef struct supple_config {
    uint32_t cookie;            /* set by supple_config_default(), checked by every call that takes a config */
    int32_t thread_count;       /* threads of the library's own pool; 0: one per core */
    supple_allocator allocator; /* all NULL: malloc */
    supple_log_fn *log;         /* NULL: silent */
    void *log_user;             /* handed to it */
    bool verbose;               /* the log also has what explains a run: how a file was imported, what the cache had */
    supple_progress_fn *progress;               /* NULL: none */
    void *progress_user;                        /* handed to it */
    supple_tasks tasks;                         /* run NULL: the library's own pool of thread_count threads */
    const struct supple_solver_backend *solver; /* from a plug-in (supple/plugin.h); NULL: the library's own */
} supple_config;

/* The default configuration: malloc, silent, one thread per core. */
SUPPLE_API supple_config supple_config_default(void);

/* The version of the library that is running, as "major.minor.patch". */
SUPPLE_API const char *supple_version(void);

/* A short English name of a result code, never NULL. */
SUPPLE_API const char *supple_result_name(supple_result result);

#ifdef __cplusplus
}
#endif
#endif
