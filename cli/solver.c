#include "solver.h"

#include "beside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <supple/plugin.h>

#define PLUGIN "libsupple-cholmod.so"

static const char *const folders[] = {".", SUPPLE_LIB_FROM_BIN, NULL};

/* Whatever was made with its solver needs the plug-in, so it stays open. */
static supple_plugin *plugin;

static int load_cholmod(supple_config *config)
{
    char path[PATH_MAX];
    supple_error error;
    if (!cli_beside(folders, PLUGIN, path, sizeof path))
        return cli_usage_error("--solver cholmod: there is no " PLUGIN " beside the tool or in its library folder; it "
                               "is built where CHOLMOD is installed (libsuitesparse-dev)");
    if (!plugin && supple_plugin_open(path, &plugin, &error) != SUPPLE_OK)
        return cli_usage_error("--solver cholmod: %s", error.message);
    config->solver = supple_plugin_solver(plugin);
    return 0;
}

int cli_load_solver(const cli_arguments *arguments, supple_config *config)
{
    const char *name = cli_get(arguments, "--solver", 0);
    /* `auto` is ours: quicker than CHOLMOD on limbs, level with it on thick bodies (docs/sparse.md), and free of the
     * GPL, which nobody should take on unasked. */
    if (!name || strcmp(name, "auto") == 0 || strcmp(name, "own") == 0) return 0;
    if (strcmp(name, "cholmod") == 0) return load_cholmod(config);
    return cli_usage_error("--solver %.40s: takes auto, own or cholmod", name);
}
