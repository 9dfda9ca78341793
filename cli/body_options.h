/* Options about the body that several verbs take. */
#ifndef SUPPLE_CLI_BODY_OPTIONS_H
#define SUPPLE_CLI_BODY_OPTIONS_H

#include "options.h"

#include <supple/body.h>

/* Reads --body, --resolution, --part, --size, --no-cache, --set max-tets=N and grade=on; `only` refuses other settings.
 * 0, or the exit code after a message. */
int cli_body_config(const cli_arguments *arguments, supple_body_config *bc, bool only);

#endif
