/* Progress on a terminal and Ctrl-C. */
#ifndef SUPPLE_CLI_PROGRESS_H
#define SUPPLE_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct cli_progress {
    bool shown;         /* lines are printed */
    bool open;          /* a line is on the screen, to be erased */
    double start, last; /* seconds */
    const char *label;
} cli_progress;

/* `mode` is auto, always or never (NULL: auto). False and a message for anything else. */
bool cli_progress_init(cli_progress *progress, const char *mode);

/* Starts counting a run of frames. */
void cli_progress_begin(cli_progress *progress, const char *label);

/* Frame `done` of `total` is finished. */
void cli_progress_update(cli_progress *progress, int done, int total);

/* Takes the line off the screen. */
void cli_progress_end(cli_progress *progress);

/* From here on Ctrl-C (and a polite kill) asks the run to stop; a second one ends the program at once. */
void cli_catch_interrupt(void);
bool cli_interrupted(void);

#endif
