#include "progress.h"

#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;
static bool line_open; /* a line is on the screen, to be erased */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool cli_progress_init(cli_progress *progress, const char *mode)
{
    *progress = (cli_progress){0};
    if (!mode || strcmp(mode, "auto") == 0)
        progress->shown = isatty(STDERR_FILENO);
    else if (strcmp(mode, "always") == 0)
        progress->shown = true;
    else if (strcmp(mode, "never") != 0) {
        cli_usage_error("--progress %.40s: takes auto, always or never", mode);
        return false;
    }
    return true;
}

void cli_progress_begin(cli_progress *progress, const char *label)
{
    progress->label = label;
    progress->start = now();
    progress->last = 0;
}

void cli_progress_update(cli_progress *progress, int done, int total)
{
    if (!progress->shown) return;
    double t = now();
    if (done < total && t - progress->last < 0.1) return; /* ten times a second is enough for a person */
    progress->last = t;
    double rate = done / (t - progress->start + 1e-9), left = (total - done) / rate;
    fprintf(stderr, "\r%.40s  frame %d/%d  %.3g frames/s  %d:%02d left\033[K", progress->label, done, total, rate,
            (int)left / 60, (int)left % 60);
    fflush(stderr);
    line_open = true;
}

bool cli_progress_stage(void *user, const char *stage, double fraction)
{
    cli_progress *progress = user;
    if (!*stage) return !interrupted;
    if (progress->total > 0) {
        progress->counted = true;
        if (fraction > 0) cli_progress_update(progress, (int)(fraction * progress->total + 0.5), progress->total);
        return !interrupted;
    }
    double t = now();
    bool new_stage = strcmp(progress->stage, stage) != 0;
    if (progress->shown && (new_stage || t - progress->last >= 0.1)) {
        snprintf(progress->stage, sizeof progress->stage, "%s", stage);
        progress->last = t;
        fprintf(stderr, "\r%.40s  %.0f%%\033[K", stage, 100 * fraction);
        fflush(stderr);
        line_open = true;
    }
    return !interrupted;
}

void cli_progress_line(const char *text)
{
    char line[160];
    snprintf(line, sizeof line, "%s", text);
    for (char *p = line; *p; p++) /* names of files and clips are no commands to the terminal */
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?';
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    line_open = true;
}

void cli_progress_end(cli_progress *progress)
{
    progress->label = NULL;
    progress->stage[0] = 0;
    cli_progress_wipe();
}

void cli_progress_wipe(void)
{
    if (line_open) fputs("\r\033[K", stderr);
    line_open = false;
}

static void on_interrupt(int signal_number)
{
    interrupted = signal_number;
    signal(signal_number, SIG_DFL);
}

void cli_catch_interrupt(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGXCPU};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], on_interrupt);
    if (signal(SIGHUP, on_interrupt) == SIG_IGN) signal(SIGHUP, SIG_IGN); /* nohup */
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

int cli_interrupted_exit(void)
{
    return 128 + (interrupted ? (int)interrupted : SIGINT);
}

static const char FOLLOWED[] = "SUPPLE_PARENT"; /* in the environment: the process to follow */

bool cli_children_follow(void)
{
    char number[24];
    snprintf(number, sizeof number, "%ld", (long)getpid());
    return setenv(FOLLOWED, number, 1) == 0;
}

void cli_follow_parent(void)
{
    const char *number = getenv(FOLLOWED);
    if (number && strtol(number, NULL, 10) == (long)getppid()) prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void cli_ignore_write_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}
