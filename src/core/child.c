#include "core/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool spl_child_find(const char *name, char *path, size_t size)
{
    const char *list = getenv("PATH");
    if (!list || !*list) list = "/usr/local/bin:/usr/bin:/bin";
    while (*list) {
        size_t length = strcspn(list, ":");
        struct stat st;
        int n = snprintf(path, size, "%.*s/%s", (int)length, list, name);
        if (length > 0 && n > 0 && (size_t)n < size && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(path, X_OK) == 0)
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* Where its descriptors go; 0 or an error. */
static int set_files(posix_spawn_file_actions_t *files, int input, int messages)
{
    int r = posix_spawn_file_actions_adddup2(files, input, STDIN_FILENO);
    if (!r) r = posix_spawn_file_actions_adddup2(files, messages, STDERR_FILENO);
    if (!r) r = posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    return r;
}

/* A group of its own, and signals as a program expects them, whatever the host has set. */
static int set_signals(posix_spawnattr_t *how)
{
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGPIPE);
    int r = posix_spawnattr_setflags(how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!r) r = posix_spawnattr_setpgroup(how, 0);
    if (!r) r = posix_spawnattr_setsigmask(how, &none);
    if (!r) r = posix_spawnattr_setsigdefault(how, &usual);
    return r;
}

static int spawn(pid_t *pid, const char *path, char *const argv[], int input, int messages)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int r = posix_spawn_file_actions_init(&files);
    if (r) return r;
    r = posix_spawnattr_init(&how);
    if (r) {
        posix_spawn_file_actions_destroy(&files);
        return r;
    }
    r = set_files(&files, input, messages);
    if (!r) r = set_signals(&how);
    if (!r) r = posix_spawn(pid, path, &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return r;
}

int spl_child_start(spl_child *child, const char *path, char *const argv[], int messages)
{
    int ends[2]; /* a socket and not a pipe: MSG_NOSIGNAL keeps SIGPIPE from the host */
    *child = (spl_child){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    int r = spawn(&child->pid, path, argv, ends[1], messages);
    close(ends[1]);
    if (r) {
        close(ends[0]);
        child->pid = 0;
        return r;
    }
    shutdown(ends[0], SHUT_RD);
    child->input = ends[0];
    return 0;
}

bool spl_child_write(spl_child *child, const void *data, size_t size)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = send(child->input, from, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        from += n;
        size -= (size_t)n;
    }
    return true;
}

/* True if it ended well, or nobody can tell because the host does not keep its children. */
static bool await(spl_child *child)
{
    int status = 0;
    pid_t r;
    while ((r = waitpid(child->pid, &status, 0)) < 0 && errno == EINTR) continue;
    child->pid = 0;
    return r < 0 ? errno == ECHILD : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool spl_child_end(spl_child *child)
{
    close(child->input);
    return await(child);
}

void spl_child_kill(spl_child *child)
{
    if (child->pid <= 0) return;
    kill(child->pid, SIGKILL);
    close(child->input);
    await(child);
}
