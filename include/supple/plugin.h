/* Supple: solvers and messages from plug-ins. The library needs none of them: its own sparse factorisation serves
 * alone. libsupple-cholmod.so (see src/sparse/cholmod) brings CHOLMOD's supernodal one, which can be faster on large,
 * thick bodies (it has METIS's ordering) and whose licence is the GNU GPL: a host that loads it takes on its terms, so
 * it is never loaded unasked.
 *
 *     supple_plugin *plugin;
 *     if (supple_plugin_open("libsupple-cholmod.so", &plugin, &error) == SUPPLE_OK)
 *         config.solver = supple_plugin_solver(plugin);
 */
#ifndef SUPPLE_PLUGIN_H
#define SUPPLE_PLUGIN_H

#include <supple/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the table below; a plug-in with another one is refused. */
#define SUPPLE_SOLVER_BACKEND_VERSION 1

/* A direct solver for symmetric positive definite sparse matrices, as a table of functions. Matrices are lower
 * triangles by compressed columns, rows ascending, with every diagonal entry. A factor is used by one thread at a time;
 * different factors by different threads. Memory of the factor comes from the solver's own allocator. */
typedef struct supple_solver_backend {
    uint32_t version;    /* SUPPLE_SOLVER_BACKEND_VERSION */
    const char *name;    /* for messages */
    const char *licence; /* of the code behind it, for people */

    /* Analyses a pattern of n columns; start has n + 1 entries. */
    supple_result (*create)(int32_t n, const size_t *start, const int32_t *row, void **factor, supple_error *error);

    /* Factorises the matrix with these values. If it is not positive definite, SUPPLE_ERROR_SOLVE and the column where
     * that showed (-1 if unknown) in *column. */
    supple_result (*factorise)(void *factor, const double *values, int32_t *column, supple_error *error);

    /* x = A \ x for k right-hand sides, interleaved: x[i * k + c]. */
    supple_result (*solve)(void *factor, double *x, int32_t k, supple_error *error);

    /* Entries of the factor, with the zeros it stores. */
    double (*entries)(const void *factor);

    void (*destroy)(void *factor); /* accepts NULL */
} supple_solver_backend;

/* ---- processes that train together ---- */

/* Of the table below; a plug-in with another one is refused. */
#define SUPPLE_EXCHANGE_VERSION 1

/* Messages between the processes of one training, as a table of functions: libsupple-mpi.so fills it by MPI, a host may
 * by anything else. Bytes arrive whole and, from one process to another, in order. Only one thread at a time calls. */
typedef struct supple_exchange {
    int32_t rank, size; /* which of how many this process is, from 0 */
    void *user;         /* handed to each of the functions */

    /* Sends bytes to a process; may wait until it receives them. */
    supple_result (*send)(void *user, int32_t to, const void *data, size_t size, supple_error *error);

    /* Takes a message that has arrived, of at most `room` bytes: *size is 0 if there is none. Never waits. */
    supple_result (*receive)(void *user, int32_t *from, void *data, size_t room, size_t *size, supple_error *error);
} supple_exchange;

/* What a plug-in for messages brings. */
typedef struct supple_exchange_backend {
    uint32_t version; /* SUPPLE_EXCHANGE_VERSION */
    const char *name; /* for messages */

    /* Joins the other processes. Once in a process. */
    supple_result (*join)(supple_exchange *out, supple_error *error);

    /* Waits for the others, and leaves. */
    void (*leave)(void);

    /* Ends all processes at once; does not return. */
    void (*abandon)(int exit_code);
} supple_exchange_backend;

/* A loaded plug-in. It must outlive everything that was made with its solver. */
typedef struct supple_plugin supple_plugin;

/* Loads a plug-in by its path (or a name that the dynamic linker finds). */
SUPPLE_API supple_result supple_plugin_open(const char *path, supple_plugin **out, supple_error *error);

/* The solver of a plug-in, or NULL; set it as `solver` of a supple_config. */
SUPPLE_API const supple_solver_backend *supple_plugin_solver(const supple_plugin *plugin);

/* What a plug-in brings for messages, or NULL. */
SUPPLE_API const supple_exchange_backend *supple_plugin_exchange(const supple_plugin *plugin);

/* Gives a plug-in back; its code may stay in memory. Accepts NULL. */
SUPPLE_API void supple_plugin_close(supple_plugin *plugin);

#ifdef __cplusplus
}
#endif
#endif
