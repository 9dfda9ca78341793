/* Options by table: one table drives the parser, the checks and --help. */
#ifndef SUPPLE_CLI_OPTIONS_H
#define SUPPLE_CLI_OPTIONS_H

#include <stdbool.h>

typedef struct cli_option {
    const char *name;     /* "--fps", or "-o" */
    const char *argument; /* "N"; "[N]" for a number that may be left out; NULL for a switch */
    const char *help;     /* one line, with the default */
    bool repeats;         /* may be given more than once */
} cli_option;

enum { CLI_MAX_VALUES = 128 };

/* For verbs that read files; cli_config sees to it. */
#define CLI_VERBOSE_OPTION                                                                                             \
    {                                                                                                                  \
        "--verbose", NULL, "also say on stderr how a file was imported, and what the cache had", false                 \
    }

/* What was given. Values point into argv. */
typedef struct cli_arguments {
    const cli_option *options;
    int option_count;
    int operand_count, value_count;
    const char *operands[CLI_MAX_VALUES];
    struct {
        int option;
        const char *value;
    } values[CLI_MAX_VALUES];
    bool help;
} cli_arguments;

/* Sorts argv into options and operands; false and a message on stderr for what the table does not have. */
bool cli_parse(int argc, char **argv, const cli_option *options, int option_count, cli_arguments *out);

/* The index-th value of an option, NULL if it was not given that often. A switch has the value "". */
const char *cli_get(const cli_arguments *arguments, const char *name, int index);

/* How often an option was given. */
int cli_count(const cli_arguments *arguments, const char *name);

#endif
