/* Texts and numbers as HTML. Texts come from files of other people: none of them becomes markup. */
#ifndef SUPPLE_CLI_COMPARE_HTML_H
#define SUPPLE_CLI_COMPARE_HTML_H

#include <stdbool.h>
#include <stdio.h>

enum { CLI_HTML_NUMBER = 40 };

/* How a number is shown (report/words.json); the same as the page's own script does it. NAN is a dash. */
typedef enum cli_html_show {
    CLI_HTML_SHORT,       /* three digits */
    CLI_HTML_GROUPED,     /* a whole number, its thousands apart */
    CLI_HTML_DURATION,    /* of milliseconds, in the unit that suits it */
    CLI_HTML_PERCENT,     /* of a share */
    CLI_HTML_THOUSANDTHS, /* of a metre, say */
} cli_html_show;

/* By its name in words.json; CLI_HTML_SHORT for any other. */
cli_html_show cli_html_show_named(const char *name);

/* The number's text, in `out`. */
const char *cli_html_number(char out[CLI_HTML_NUMBER], cli_html_show show, double value);

/* UTF-8, in an element or in an attribute's double quotes. Control characters and marks that turn the direction of
 * writing become U+FFFD. */
void cli_html_text(FILE *out, const char *text);

/* The same; what stands between `backquotes` is code. */
void cli_html_sentence(FILE *out, const char *text);

#endif
