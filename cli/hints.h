/* What somebody may have meant by a word that is wrong, and what can be known of an output before any work. */
#ifndef SUPPLE_CLI_HINTS_H
#define SUPPLE_CLI_HINTS_H

#include "options.h"

#include <stddef.h>

/* How many letters must be changed, added, left out or swapped with their neighbour to make one word of the other;
 * words longer than 40 letters are far from all. */
int cli_distance(const char *a, const char *b);

/* The option of this list that `word` (its first `length` letters) was meant to be: mistyped, or as other tools call
 * it. NULL if none is near. */
const char *cli_option_meant(const char *word, size_t length, const cli_option *options, int count);

/* Whether a file can be made at this path, as far as its folder tells: 0, or a message and exit code 4. */
int cli_check_writable(const char *path);

#endif
