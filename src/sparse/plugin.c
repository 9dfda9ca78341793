#include "core/error.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <supple/plugin.h>

struct supple_plugin {
    void *handle;
    const supple_solver_backend *solver;
    const supple_exchange_backend *exchange;
};

static bool is_complete(const supple_solver_backend *b)
{
    return b && b->version == SUPPLE_SOLVER_BACKEND_VERSION && b->name && b->licence && b->create && b->factorise &&
           b->solve && b->entries && b->destroy;
}

static bool is_complete_exchange(const supple_exchange_backend *b)
{
    return b && b->version == SUPPLE_EXCHANGE_VERSION && b->name && b->join && b->leave && b->abandon;
}

static const supple_exchange_backend *find_exchange(void *handle)
{
    const supple_exchange_backend *(*backend)(void) = NULL;
    void *symbol = dlsym(handle, "supple_mpi_backend");
    if (!symbol) return NULL;
    memcpy(&backend, &symbol, sizeof backend); /* ISO C has no cast from void * to a function */
    const supple_exchange_backend *found = backend();
    return is_complete_exchange(found) ? found : NULL;
}

/* The plug-in exports one function, which returns its table. */
static const supple_solver_backend *find_backend(void *handle)
{
    const supple_solver_backend *(*backend)(const char *variant) = NULL;
    void *symbol = dlsym(handle, "supple_cholmod_backend");
    if (!symbol) return NULL;
    memcpy(&backend, &symbol, sizeof backend);
    const supple_solver_backend *found = backend(NULL);
    return is_complete(found) ? found : NULL;
}

supple_result supple_plugin_open(const char *path, supple_plugin **out, supple_error *error)
{
    if (!out) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "plug-in: no place for the result");
    *out = NULL;
    if (!path || !*path) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "plug-in: no path given");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        return spl_fail(error, SUPPLE_ERROR_INPUT, "plug-in %.80s cannot be loaded: %.140s", path,
                        reason ? reason : "no reason given");
    }
    const supple_solver_backend *solver = find_backend(handle);
    const supple_exchange_backend *exchange = find_exchange(handle);
    if (!solver && !exchange) {
        dlclose(handle);
        return spl_fail(error, SUPPLE_ERROR_INPUT,
                        "plug-in %.120s has no solver for this version of supple; use the one built with it", path);
    }
    supple_allocator a = spl_allocator_of(NULL);
    supple_plugin *plugin = spl_new(&a, 1, sizeof *plugin);
    if (!plugin) {
        dlclose(handle);
        return spl_fail_memory(error, "a plug-in");
    }
    *plugin = (supple_plugin){handle, solver, exchange};
    *out = plugin;
    return SUPPLE_OK;
}

const supple_solver_backend *supple_plugin_solver(const supple_plugin *plugin)
{
    return plugin ? plugin->solver : NULL;
}

const supple_exchange_backend *supple_plugin_exchange(const supple_plugin *plugin)
{
    return plugin ? plugin->exchange : NULL;
}

void supple_plugin_close(supple_plugin *plugin)
{
    if (!plugin) return;
    supple_allocator a = spl_allocator_of(NULL);
    dlclose(plugin->handle);
    spl_free(&a, plugin);
}
