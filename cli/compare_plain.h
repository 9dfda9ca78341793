/* What the files that write the page without a player share. */
#ifndef SUPPLE_CLI_COMPARE_PLAIN_H
#define SUPPLE_CLI_COMPARE_PLAIN_H

#include "compare_blobs.h"
#include "compare_html.h"

#include <jansson.h>

typedef struct cli_plain {
    FILE *out;
    const cli_blobs *blobs;
    json_t *report, *words; /* as cli_compare_json has it; report/words.json */
    const json_t *methods;  /* of the report */
} cli_plain;

/* NAN where it is none. */
double cli_plain_number(const json_t *value);

/* "" where there is none. */
const char *cli_plain_string(const json_t *object, const char *key);

/* Markup of ours. */
void cli_plain_put(const cli_plain *p, const char *markup);

/* <tag>text</tag>; the tag may bring attributes of ours. What stands in `backquotes` is code. */
void cli_plain_element(const cli_plain *p, const char *tag, const char *text);

/* A table's cell, <td> with attributes of ours and markup of ours after the number. */
void cli_plain_cell(const cli_plain *p, const char *tag, cli_html_show show, double value, const char *after);

/* compare_plain_frames.c: the section with every frame's numbers. */
void cli_plain_frames(const cli_plain *p);

#endif
