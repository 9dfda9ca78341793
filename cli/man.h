/* What the tool says about itself to other programs, from the tables that drive the parser and --help: its manual page
 * and the answers that the shell's completion asks for. Both are hidden options: `supple --man`, `supple --complete`.
 */
#ifndef SUPPLE_CLI_MAN_H
#define SUPPLE_CLI_MAN_H

#include "cli.h"

/* Prints supple(1) in the man macros. 0, or the exit code after a message. */
int cli_print_man(const cli_verb *const *verbs, int count);

/* Prints what the last of `words` (those after `supple`, as far as the cursor) may become: a word a line, and
 * `:files ENDING ...` or `:folders` where a file or a folder may stand. Silent about everything else; 0. */
int cli_complete(const cli_verb *const *verbs, int count, int word_count, char **words);

/* What a verb prints below its options, as a string to be freed; NULL if it prints nothing or memory ran out. */
char *cli_notes(const cli_verb *verb);

#endif
