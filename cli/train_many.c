#include "train_many.h"

#include "beside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARES = 1000000 };

/* ---- what is asked for ---- */

/* K/N: both whole, 1 <= K <= N. */
static int read_share(const char *text, supple_train_config *tc)
{
    char *end;
    long share = strtol(text, &end, 10), shares = 0;
    bool good = strspn(text, "0123456789") > 0 && *end == '/' && strspn(end + 1, "0123456789") > 0;
    if (good) shares = strtol(end + 1, &end, 10);
    if (!good || *end || share < 1 || shares > MOST_SHARES || share > shares)
        return cli_usage_error("--solve %.40s: takes K/N, the K-th of N shares, K from 1 to N, N up to %d", text,
                               MOST_SHARES);
    tc->share = (int32_t)share;
    tc->shares = (int32_t)shares;
    return 0;
}

static int read_numbers(const cli_arguments *arguments, supple_train_config *tc, cli_many *out)
{
    const char *workers = cli_get(arguments, "--sbatch", 0), *lease = cli_get(arguments, "--lease", 0);
    double number;
    if (workers && (!cli_number(workers, 1, MOST_SHARES, &number) || number != (int32_t)number))
        return cli_usage_error("--sbatch %.40s: takes a number of workers from 1 to %d", workers, MOST_SHARES);
    if (workers) out->sbatch = (int32_t)number;
    if (lease && !cli_number(lease, 0.1, 86400, &tc->lease))
        return cli_usage_error("--lease %.40s: takes seconds from 0.1 to 86400", lease);
    return 0;
}

int cli_many_read(const cli_arguments *arguments, supple_train_config *tc, cli_many *out)
{
    static const char *const ways[] = {"--solve", "--finish", "--mpi", "--sbatch"};
    const char *way = NULL, *share = cli_get(arguments, "--solve", 0);
    *out = (cli_many){.mpi = cli_count(arguments, "--mpi") > 0, .part = share != NULL};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (cli_count(arguments, ways[i]) == 0) continue;
        if (way) return cli_usage_error("%s and %s do not go together", way, ways[i]);
        way = ways[i];
    }
    if (way && cli_count(arguments, "--quick") > 0)
        return cli_usage_error("%s and --quick do not go together: that takes seconds, and solves no poses", way);
    if (cli_count(arguments, "--lease") > 0 && (!way || out->mpi))
        return cli_usage_error("--lease is for claims in a shared folder: --solve, --finish or --sbatch");
    if (cli_count(arguments, "--finish") > 0) tc->share = tc->shares = 1;
    int code = share ? read_share(share, tc) : 0;
    return code ? code : read_numbers(arguments, tc, out);
}

/* ---- MPI ---- */

#define PLUGIN "libsupple-mpi.so"

static const char *const folders[] = {".", SUPPLE_LIB_FROM_BIN, NULL};

/* It is never closed: MPI has threads of its own. */
static supple_plugin *plugin;

int cli_many_join(cli_many *many, supple_train_config *tc)
{
    char path[PATH_MAX];
    supple_error error;
    if (!cli_beside(folders, PLUGIN, path, sizeof path))
        return cli_usage_error("--mpi: there is no " PLUGIN " beside the tool or in its library folder; it is built "
                               "where MPI is installed (libopenmpi-dev)");
    if (supple_plugin_open(path, &plugin, &error) != SUPPLE_OK) return cli_usage_error("--mpi: %s", error.message);
    const supple_exchange_backend *backend = supple_plugin_exchange(plugin);
    if (!backend) return cli_usage_error("--mpi: " PLUGIN " has no messages for this version of supple");
    if (backend->join(&many->exchange, &error) != SUPPLE_OK) return cli_fail(&error);
    many->part = many->exchange.rank > 0;
    tc->exchange = &many->exchange;
    return 0;
}

void cli_many_leave(const cli_many *many, int code)
{
    const supple_exchange_backend *backend = supple_plugin_exchange(plugin);
    if (!many->exchange.send || !backend) return;
    if (code == 0)
        backend->leave();
    else
        backend->abandon(code);
}
