/* Programs that the tool starts and waits for: by their arguments, never through a shell; Ctrl-C ends them too. */
#ifndef SUPPLE_CLI_CHILD_H
#define SUPPLE_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>

/* Hears what a child says on stderr, as it comes. False: the child is to be killed. Also called, with nothing heard,
 * twice a second. */
typedef struct cli_listener {
    bool (*hear)(void *user, const char *text, size_t size);
    void *user;
} cli_listener;

/* From here on SIGINT and SIGTERM go to the child that runs, and no further one is started. */
void cli_child_catch(void);

/* Whether such a signal has come. */
bool cli_child_stopped(void);

/* What the tool ends with then, as shells count: 128 and the signal's number. */
int cli_child_stopped_exit(void);

/* Runs a program (argv ends in NULL) to its end: its exit code, or 128 + the signal that ended it, as a shell has it;
 * 2 after a message where it cannot be started. With a listener its stderr is heard and its stdout goes nowhere, and
 * one that does not follow a signal within two seconds is killed; without (NULL) it has ours. */
int cli_child_run(const char *path, char **argv, const cli_listener *listener);

#endif
