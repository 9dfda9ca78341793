/* Another program that is fed through its standard input. Arguments go to it as they are: no shell is involved. */
#ifndef SPL_CORE_CHILD_H
#define SPL_CORE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct spl_child {
    pid_t pid; /* 0: not running */
    int input;
} spl_child;

/* Looks for an executable of that name in PATH; false if there is none (or its path does not fit). */
bool spl_child_find(const char *name, char *path, size_t size);

/* Starts a program (argv ends in NULL) whose messages go to the file descriptor `messages` and whose output goes
 * nowhere. It stands in a process group of its own: a terminal's Ctrl-C is for us, who end it. Returns 0 or errno. */
int spl_child_start(spl_child *child, const char *path, char *const argv[], int messages);

/* Feeds it; false (errno is set) once it does not listen any more. Never raises SIGPIPE. */
bool spl_child_write(spl_child *child, const void *data, size_t size);

/* Ends its input and waits: true if it ended well. */
bool spl_child_end(spl_child *child);

/* Kills it if it runs, and waits. Safe on a zeroed or ended child. */
void spl_child_kill(spl_child *child);

#endif
