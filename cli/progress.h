/* Progress on a terminal and Ctrl-C. */
#ifndef SUPPLE_CLI_PROGRESS_H
#define SUPPLE_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct cli_progress {
    bool shown;         /* lines are printed */
    double start, last; /* seconds */
    const char *label;  /* of a run of frames */
    char stage[48];     /* of the setup that was shown last */
    int total;          /* frames of a clip that a stage of the library is computing; 0: stages are shown as such */
    bool counted;       /* it has */
} cli_progress;

/* `mode` is auto, always or never (NULL: auto). False and a message for anything else. */
bool cli_progress_init(cli_progress *progress, const char *mode);

/* Starts counting a run of frames. */
void cli_progress_begin(cli_progress *progress, const char *label);

/* Frame `done` of `total` is finished. */
void cli_progress_update(cli_progress *progress, int done, int total);

/* For a config's `progress`, with a cli_progress as the user: shows how far a stage of the setup has come, and asks the
 * library to stop once Ctrl-C was pressed. */
bool cli_progress_stage(void *progress, const char *stage, double fraction);

/* Puts a line of one's own on the screen, in place of the last. */
void cli_progress_line(const char *text);

/* Takes the line off the screen. */
void cli_progress_end(cli_progress *progress);

/* The same before a message, by those who know of no run. */
void cli_progress_wipe(void);

/* From here on Ctrl-C (and a polite kill) asks the run to stop; a second one ends the program at once. */
void cli_catch_interrupt(void);
bool cli_interrupted(void);

/* What the program ends with then, as shells count: 128 and the signal's number (130 for Ctrl-C, 143 for a polite
 * kill). */
int cli_interrupted_exit(void);

/* From here on children of this process that are the tool too are asked to stop when this process ends, however it
 * does. False without memory. */
bool cli_children_follow(void);

/* The child's side: asks the system for it, where the parent wants it. */
void cli_follow_parent(void);

/* A closed pipe and a file over its limit are errors of the write, so that what is unfinished can be removed. */
void cli_ignore_write_signals(void);

#endif
