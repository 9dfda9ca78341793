/* Lists of words: command lines that are put together, and how a shell would take them. */
#ifndef SUPPLE_CLI_WORDS_H
#define SUPPLE_CLI_WORDS_H

#include <stdbool.h>
#include <stdio.h>

/* Texts of its own. A zeroed one is empty. */
typedef struct cli_words {
    char **word; /* ends in NULL where there is any */
    int count, room;
    bool failed; /* memory ran out: what was added since is lost */
} cli_words;

/* Adds a text as printf makes it. */
void cli_words_add(cli_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a list has a word. */
bool cli_words_have(const cli_words *words, const char *word);

/* Adds copies of another list's. */
void cli_words_append(cli_words *words, const cli_words *more);

/* Frees the texts; the list is empty again. */
void cli_words_free(cli_words *words);

/* One word as any POSIX shell takes it, on one line whatever is in it: as it is where that is plain, else in quotes.
 * A word with control characters is spelled out by printf, which the shell runs. */
void cli_words_quote(FILE *out, const char *word);

/* All of them with blanks between, and a newline. */
void cli_words_line(FILE *out, const cli_words *words);

#endif
