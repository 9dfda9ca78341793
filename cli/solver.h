/* `--solver`: which sparse solver the methods use. A verb that solves puts CLI_SOLVER_OPTION into its table and calls
 * cli_load_solver once its config stands. */
#ifndef SUPPLE_CLI_SOLVER_H
#define SUPPLE_CLI_SOLVER_H

#include "cli.h"

#define CLI_SOLVER_OPTION                                                                                              \
    {                                                                                                                  \
        "--solver", "NAME", "own, cholmod (its plug-in, under the GPL, must be installed) or auto (own)", false        \
    }

/* Sets config->solver as --solver asks: `own` and `auto` leave the library's, `cholmod` loads the plug-in that lies
 * beside the tool or in the library's folder and keeps it until the program ends. 0, or exit code 2 and a line on
 * stderr. */
int cli_load_solver(const cli_arguments *arguments, supple_config *config);

#endif
