#include "child.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KILLED = 128, TICK_MS = 500, PATIENCE_MS = 2000 };

static volatile sig_atomic_t child, stopped;

/* Ctrl-C in a terminal reaches the child by itself; a signal sent to the tool alone is passed on. */
static void forward(int signal_number)
{
    stopped = signal_number;
    if (child > 0) kill((pid_t)child, signal_number);
}

void cli_child_catch(void)
{
    signal(SIGINT, forward);
    signal(SIGTERM, forward);
    if (signal(SIGHUP, forward) == SIG_IGN) signal(SIGHUP, SIG_IGN); /* nohup */
}

bool cli_child_stopped(void)
{
    return stopped != 0;
}

int cli_child_stopped_exit(void)
{
    return KILLED + (stopped ? (int)stopped : SIGINT);
}

/* The signals wait until the child's number is known. `messages` is its stderr, -1: ours. */
static int start(const char *path, char **argv, int messages, pid_t *pid)
{
    sigset_t waiting, before;
    posix_spawnattr_t how;
    posix_spawn_file_actions_t files;
    sigemptyset(&waiting);
    sigaddset(&waiting, SIGINT);
    sigaddset(&waiting, SIGTERM);
    sigaddset(&waiting, SIGHUP);
    int reason = posix_spawnattr_init(&how);
    if (reason) return reason;
    reason = posix_spawn_file_actions_init(&files);
    if (reason == 0 && messages >= 0) reason = posix_spawn_file_actions_adddup2(&files, messages, STDERR_FILENO);
    if (reason == 0 && messages >= 0)
        reason = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    sigprocmask(SIG_BLOCK, &waiting, &before);
    posix_spawnattr_setsigmask(&how, &before);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    fflush(NULL);
    if (reason == 0) reason = stopped ? EINTR : posix_spawn(pid, path, &files, &how, argv, environ);
    child = reason ? 0 : (sig_atomic_t)*pid;
    sigprocmask(SIG_SETMASK, &before, NULL);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return reason;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Hands on what the child says until it closes its end, which it does by ending. */
static void listen_to(pid_t pid, int pipe_end, const cli_listener *listener)
{
    char text[4096];
    int64_t since = 0; /* when the first signal was seen */
    for (;;) {
        struct pollfd ready = {.fd = pipe_end, .events = POLLIN};
        int count = poll(&ready, 1, TICK_MS);
        if (count < 0 && errno != EINTR) break;
        ssize_t size = 0;
        if (count > 0) {
            size = read(pipe_end, text, sizeof text);
            if (size == 0 || (size < 0 && errno != EINTR)) break;
        }
        if (stopped && since == 0) since = now_ms();
        bool late = stopped && now_ms() - since > PATIENCE_MS;
        if (!listener->hear(listener->user, text, size > 0 ? (size_t)size : 0) || late) kill(pid, SIGKILL);
    }
}

int cli_child_run(const char *path, char **argv, const cli_listener *listener)
{
    int ends[2] = {-1, -1}, reason = 0;
    pid_t pid = 0;
    if (listener && pipe2(ends, O_CLOEXEC) != 0) reason = errno;
    if (!reason) reason = start(path, argv, ends[1], &pid);
    if (ends[1] >= 0) close(ends[1]);
    int code;
    if (reason && stopped) {
        code = KILLED + SIGINT;
    } else if (reason) {
        code = cli_usage_error("%.200s cannot be run: %s", path, strerror(reason));
    } else {
        if (listener) listen_to(pid, ends[0], listener);
        code = wait_for(pid);
    }
    if (ends[0] >= 0) close(ends[0]);
    return code;
}
