/* Files of a command line, looked at before any work: nothing that is read is written over, and no output is given
 * twice. */
#ifndef SUPPLE_CLI_FILES_H
#define SUPPLE_CLI_FILES_H

#include "options.h"

/* Compares every output (-o, --metrics) with every other file that the command line names, by identity: links and hard
 * links are the file. Returns 0, or the exit code of a wrong command line with a message. */
int cli_check_files(const cli_arguments *arguments);

#endif
