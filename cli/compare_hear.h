/* What a `supple skin` that runs as a child says: its messages, and how far it is. */
#ifndef SUPPLE_CLI_COMPARE_HEAR_H
#define SUPPLE_CLI_COMPARE_HEAR_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_HEAR_LINE = 400, CLI_HEAR_WARNINGS = 8 };

typedef struct cli_hearing {
    char label[64]; /* what goes before its progress on the screen */
    bool shown;
    double start, limit_s; /* when it began; seconds it may take */
    bool over;             /* it will not come to its end within those: the child was ended */
    char last[CLI_HEAR_LINE];
    char setup_warning[CLI_HEAR_WARNINGS][CLI_HEAR_LINE]; /* before its first frame: on the character */
    int setup_count;
    char frame_warnings[CLI_HEAR_LINE]; /* after that: on the frames */
    int done, total;                    /* frames of the clip under way */
    int frames, rows;                   /* all that are done, and that there are */
    double first_s, now_s;              /* when the first was done, and the last; seconds after the start */
    char line[CLI_HEAR_LINE];
    size_t used;
    int escape; /* characters of an escape sequence that were seen */
} cli_hearing;

/* For a cli_listener, with a cli_hearing as the user. */
bool cli_hear(void *hearing, const char *text, size_t size);

/* Seconds a frame after the first, as far as is known by now: one that is under way for long counts too. */
double cli_hear_frame_s(const cli_hearing *h);

#endif
