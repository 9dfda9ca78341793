/* The command-line tool: one function a verb, all on the public headers. */
#ifndef SUPPLE_CLI_H
#define SUPPLE_CLI_H

#include "options.h"

#include <supple/supple.h>
#include <supple/tools.h>

/* A verb of the tool: its options, and what it does with them. `run` returns the exit code. */
typedef struct cli_verb {
    const char *name, *usage, *summary;
    const cli_option *options;
    int option_count;
    int operand_count; /* how many words that are no options it takes */
    int (*run)(const cli_arguments *arguments);
    void (*notes)(void); /* prints the end of --help, or NULL */
} cli_verb;

extern const cli_verb cli_verb_skin, cli_verb_info, cli_verb_mesh, cli_verb_weights, cli_verb_train, cli_verb_demo,
    cli_verb_compare, cli_verb_batch, cli_verb_bench;

/* "supple: " and one line on stderr. What names of files or words of the command line bring along (control characters,
 * newlines, broken UTF-8) becomes '?'. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A path or a word as it may be printed. The text is good until the next call. */
const char *cli_shown(const char *text);

/* Prints "supple: message" on stderr and returns the exit code that belongs to the error. */
int cli_fail(const supple_error *error);

/* The same for a wrong command line: exit code 2. */
int cli_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The default config with the log on stderr, and what --threads and --verbose say; false (and a message) if those are
 * wrong. */
bool cli_config(const cli_arguments *arguments, supple_config *config);

/* A number from text in [min, max], the whole text; false if it is none. */
bool cli_number(const char *text, double min, double max, double *out);

#endif
