/* The runs: so many at a time as were asked for and as fit, each a process of its own with a limit of time. */
#include "batch.h"

#include "progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 200, SHORT_TICK_MS = 5, MOST_AT_ONCE = 1024, IN_VIEW = 256, KILLED = 128 };
static const double PATIENCE_S = 3; /* between a polite signal and the other one */

double cli_batch_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- commands ---- */

static void add_asked(const cli_batch_job *job, cli_words *out)
{
    cli_words_add(out, "--method=%s", job->method);
    if (job->clip) cli_words_add(out, "--clip=%s", job->clip);
    cli_words_append(out, &job->options);
}

bool cli_batch_command(const cli_batch *b, const cli_batch_job *job, cli_words *out)
{
    char path[CLI_BATCH_PATH], name[CLI_BATCH_NAME + 64];
    bool fits = true;
    cli_words_add(out, "%s", b->tool);
    cli_words_add(out, "skin");
    add_asked(job, out);
    if (b->threads > 0) cli_words_add(out, "--threads=%d", b->threads);
    cli_words_add(out, "--progress=never");
    fits = fits && cli_batch_path(b, job, "metrics.json", path);
    cli_words_add(out, "--metrics=%s", path);
    for (int i = 0; i < job->endings.count; i++) {
        snprintf(name, sizeof name, "%s%s", job->name, job->endings.word[i]);
        fits = fits && cli_batch_path(b, job, name, path);
        cli_words_add(out, "-o");
        cli_words_add(out, "%s", path);
    }
    if (b->pictures) {
        fits = fits && cli_batch_path(b, job, "sheet.png", path);
        cli_words_add(out, "-o");
        cli_words_add(out, "%s", path);
    }
    cli_words_add(out, "--");
    cli_words_add(out, "%s", job->character);
    return fits && !out->failed;
}

void cli_batch_line(const cli_batch *b, const cli_batch_job *job, cli_words *out)
{
    cli_words_add(out, "%s", b->tool);
    cli_words_add(out, "batch");
    cli_words_add(out, "--job=%s", job->name);
    add_asked(job, out);
    for (int i = 0; i < job->endings.count; i++) cli_words_add(out, "--ending=%s", job->endings.word[i]);
    const char *threads = cli_get(b->arguments, "--threads", 0), *limit = cli_get(b->arguments, "--time-limit", 0);
    if (threads) cli_words_add(out, "--threads=%s", threads);
    if (limit) cli_words_add(out, "--time-limit=%s", limit);
    if (!b->pictures) cli_words_add(out, "--no-pictures");
    cli_words_add(out, "-o");
    cli_words_add(out, "%s", b->folder);
    cli_words_add(out, "--");
    cli_words_add(out, "%s", job->character);
}

/* ---- what a job says ---- */

static void take_line(cli_batch_job *job)
{
    static const char prefix[] = "supple: ", warning[] = "warning: ";
    const char *text = job->line;
    job->line[job->line_length] = 0;
    job->line_length = 0;
    if (strncmp(text, prefix, sizeof prefix - 1) == 0) text += sizeof prefix - 1;
    if (!*text) return;
    if (strncmp(text, warning, sizeof warning - 1) != 0) snprintf(job->last, sizeof job->last, "%s", text);
    if (job->told_count < CLI_BATCH_TOLD) snprintf(job->told[job->told_count++], CLI_BATCH_LINE, "%s", text);
}

/* False once the other end is closed. */
static bool hear(cli_batch_job *job)
{
    char text[4096];
    ssize_t size = read(job->pipe_end, text, sizeof text);
    if (size < 0) return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < size; i++) {
        if (text[i] == '\n')
            take_line(job);
        else if (job->line_length + 1 < sizeof job->line)
            job->line[job->line_length++] = text[i];
    }
    return size > 0;
}

/* ---- one run ---- */

/* `messages` is its stderr; nothing is read by it and its stdout goes nowhere. */
static int spawn(const char *path, char **argv, int messages, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    int reason = posix_spawn_file_actions_init(&files);
    if (reason) return reason;
    reason = posix_spawn_file_actions_adddup2(&files, messages, STDERR_FILENO);
    if (!reason) reason = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!reason) reason = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    fflush(NULL);
    if (!reason) reason = posix_spawn(pid, path, &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return reason;
}

static void tell_failure(const cli_batch *b, const cli_batch_job *job)
{
    cli_progress_wipe();
    if (b->single)
        cli_say("%s", job->last);
    else
        cli_say("warning: %s: %s", job->name, job->last);
}

/* It failed before it ran. */
static void fail(cli_batch *b, cli_batch_job *job, int code)
{
    cli_batch_keep(b, job, code, 0, 0);
    tell_failure(b, job);
}

static void start(cli_batch *b, cli_batch_job *job, double need_mb)
{
    int ends[2] = {-1, -1};
    cli_words words = {0};
    job->start = cli_batch_now();
    job->need_mb = need_mb;
    job->late = false;
    job->told_at = 0;
    job->told_count = 0;
    job->last[0] = 0;
    int code = cli_batch_clear(b, job, job->last, sizeof job->last);
    if (code == 0 && !cli_batch_command(b, job, &words)) {
        snprintf(job->last, sizeof job->last, "its command is too long");
        code = SUPPLE_ERROR_OUTPUT;
    }
    int reason = code == 0 && pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
    if (code == 0 && !reason) reason = spawn(b->tool, words.word, ends[1], &job->pid);
    if (reason) {
        snprintf(job->last, sizeof job->last, "cannot be started: %s", strerror(reason));
        code = SUPPLE_ERROR_SOLVE;
    }
    if (ends[1] >= 0) close(ends[1]);
    cli_words_free(&words);
    if (code) {
        if (ends[0] >= 0) close(ends[0]);
        fail(b, job, code);
        return;
    }
    job->pipe_end = ends[0];
    job->state = CLI_BATCH_RUNNING;
}

/* What an ended run came to. */
static void finish(cli_batch *b, cli_batch_job *job, int status, const struct rusage *usage)
{
    double processor = (double)usage->ru_utime.tv_sec + (double)usage->ru_stime.tv_sec +
                       1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
    job->state = CLI_BATCH_WAITING;
    if (cli_interrupted() && code != 0) return; /* nobody's fault: it is still to be done */
    if (job->late) {
        snprintf(job->last, sizeof job->last, "took longer than %g s; --time-limit S allows more, 0 any", b->limit_s);
        code = SUPPLE_ERROR_SOLVE;
    } else if (code > KILLED) {
        const char *why = code == KILLED + SIGKILL ? "; was memory out?" : "";
        snprintf(job->last, sizeof job->last, "was ended by signal %d (%s)%s", code - KILLED, strsignal(code - KILLED),
                 why);
        code = SUPPLE_ERROR_SOLVE;
    } else if (code && !*job->last)
        snprintf(job->last, sizeof job->last, "ended with exit code %d and no word", code);
    cli_batch_keep(b, job, code, processor, (double)usage->ru_maxrss / 1024);
    if (job->state == CLI_BATCH_FAILED) tell_failure(b, job);
}

/* True where it has ended. */
static bool reap(cli_batch *b, cli_batch_job *job)
{
    int status;
    struct rusage usage;
    if (wait4(job->pid, &status, WNOHANG, &usage) != job->pid) return false;
    if (job->pipe_end >= 0) {
        fcntl(job->pipe_end, F_SETFL, O_NONBLOCK); /* a program that it started may hold the other end */
        for (int i = 0; i < 64 && hear(job); i++)
            if (errno == EAGAIN) break;
        close(job->pipe_end);
    }
    if (job->line_length) take_line(job);
    job->pipe_end = -1;
    finish(b, job, status, &usage);
    return true;
}

/* Tells it to stop: politely, then not. */
static void stop(cli_batch_job *job)
{
    double now = cli_batch_now();
    if (job->told_at > 0 && now - job->told_at > PATIENCE_S)
        kill(job->pid, SIGKILL);
    else if (!(job->told_at > 0)) {
        kill(job->pid, SIGTERM);
        job->told_at = now;
    }
}

/* ---- all of them ---- */

typedef struct counts {
    int waiting, running, done, failed;
} counts;

static counts count(const cli_batch *b)
{
    counts n = {0};
    for (int i = 0; i < b->job_count; i++) {
        cli_batch_state s = b->job[i].state;
        n.waiting += s == CLI_BATCH_WAITING;
        n.running += s == CLI_BATCH_RUNNING;
        n.done += s == CLI_BATCH_DONE;
        n.failed += s == CLI_BATCH_FAILED;
    }
    return n;
}

static void show(const cli_batch *b)
{
    char line[160] = "", running[80] = "";
    double spent = 0;
    int mine = 0;
    counts n = count(b);
    if (!b->shown) return;
    for (int i = 0; i < b->job_count; i++) {
        const cli_batch_job *job = &b->job[i];
        size_t used = strlen(running);
        if (job->state == CLI_BATCH_RUNNING)
            snprintf(running + used, sizeof running - used, "%s%.40s", used ? ", " : "", job->name);
        if (!job->resumed && job->state != CLI_BATCH_WAITING && job->state != CLI_BATCH_RUNNING) mine++;
    }
    spent = cli_batch_now() - b->start;
    int left = mine ? (int)(spent / mine * (n.waiting + 0.5 * n.running)) : -1;
    int used = snprintf(line, sizeof line, "%d/%d", n.done + n.failed, b->job_count);
    if (n.failed) used += snprintf(line + used, sizeof line - (size_t)used, ", %d failed", n.failed);
    if (left >= 0) used += snprintf(line + used, sizeof line - (size_t)used, "  %d:%02d left", left / 60, left % 60);
    snprintf(line + used, sizeof line - (size_t)used, "  %s", running);
    cli_progress_line(line);
}

/* Starts what may start, of the next IN_VIEW that wait. */
static void fill(cli_batch *b, double *need, bool *waits, int *running)
{
    while (*running < b->at_once && !cli_interrupted()) {
        for (int i = 0, seen = 0; i < b->job_count; i++) {
            waits[i] = b->job[i].state == CLI_BATCH_WAITING && seen++ < IN_VIEW;
            if (waits[i] && !(need[i] > 0)) need[i] = cli_batch_need(b, &b->job[i]);
        }
        int next = cli_batch_pick(need, waits, b->job_count, b->single ? 0 : cli_batch_free(b), *running);
        if (next < 0) return;
        start(b, &b->job[next], need[next]);
        *running += b->job[next].state == CLI_BATCH_RUNNING;
    }
}

/* Like jobs are known better now. */
static void forget_needs(const cli_batch *b, const cli_batch_job *done, double *need)
{
    for (int i = 0; i < b->job_count; i++)
        if (strcmp(b->job[i].character, done->character) == 0) need[i] = 0;
}

/* Waits for words or an end of any of those that run. */
static void wait_for_news(cli_batch *b, struct pollfd *ready, int *who)
{
    int n = 0, silent = 0;
    for (int i = 0; i < b->job_count && n < MOST_AT_ONCE; i++) {
        if (b->job[i].state != CLI_BATCH_RUNNING) continue;
        if (b->job[i].pipe_end < 0) {
            silent++;
            continue;
        }
        ready[n] = (struct pollfd){.fd = b->job[i].pipe_end, .events = POLLIN};
        who[n++] = i;
    }
    if (poll(ready, (nfds_t)n, silent ? SHORT_TICK_MS : TICK_MS) <= 0) return;
    for (int k = 0; k < n; k++) {
        cli_batch_job *job = &b->job[who[k]];
        if (!ready[k].revents || hear(job)) continue;
        close(job->pipe_end);
        job->pipe_end = -1;
    }
}

static void look_after(cli_batch *b, double *need, int *running)
{
    for (int i = 0; i < b->job_count; i++) {
        cli_batch_job *job = &b->job[i];
        if (job->state != CLI_BATCH_RUNNING) continue;
        if (reap(b, job)) {
            --*running;
            forget_needs(b, job, need);
            continue;
        }
        if (b->limit_s > 0 && cli_batch_now() - job->start > b->limit_s) job->late = true;
        if (job->late || cli_interrupted()) stop(job);
    }
}

bool cli_batch_run(cli_batch *b)
{
    int running = 0;
    double *need = calloc((size_t)b->job_count + 1, sizeof *need);
    bool *waits = calloc((size_t)b->job_count + 1, sizeof *waits);
    struct pollfd *ready = calloc(MOST_AT_ONCE, sizeof *ready);
    int *who = calloc(MOST_AT_ONCE, sizeof *who);
    bool good = need && waits && ready && who && cli_children_follow();
    while (good) {
        fill(b, need, waits, &running);
        if (running == 0 && (cli_interrupted() || count(b).waiting == 0)) break;
        show(b);
        wait_for_news(b, ready, who);
        look_after(b, need, &running);
    }
    cli_progress_wipe();
    free(need);
    free(waits);
    free(ready);
    free(who);
    if (!good) b->no_memory = true;
    return good && !cli_interrupted();
}
