#include "bench_run.h"

#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct cli_bench_run {
    FILE *rows;
    const char *mode;
    json_t *benches;
    char load[64]; /* averages at the start */
    double start;  /* seconds */
    double busy;   /* of all processors at the start, seconds; -1: not known */
    double used;   /* processor time of the benchmarks so far, seconds */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What other programs use is the processors' time but for that of our own children. */
static double own_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Seconds that all processors together were busy since the machine started, time stolen by its host included. */
static double busy_seconds(void)
{
    double user, nice, system, idle, wait, irq, soft, steal;
    FILE *file = fopen("/proc/stat", "r");
    int found = file ? fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait, &irq,
                              &soft, &steal)
                     : 0;
    if (file) fclose(file);
    return found == 8 ? (user + nice + system + irq + soft + steal) / (double)sysconf(_SC_CLK_TCK) : -1;
}

/* The rest of a file's first line that begins with a word; "" if there is none. */
static void line_of(const char *path, const char *word, char *out, size_t size)
{
    char line[512];
    FILE *file = fopen(path, "r");
    *out = 0;
    while (file && !*out && fgets(line, sizeof line, file)) {
        if (strncmp(line, word, strlen(word)) != 0) continue;
        const char *text = line + strlen(word);
        text += strspn(text, " \t:");
        snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
    }
    if (file) fclose(file);
}

/* Appending keeps the lines of several processes whole; without a name nothing is left behind. */
static FILE *open_rows(void)
{
    char path[PATH_MAX], number[16];
    const char *where = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/supple-bench-XXXXXX", where && *where ? where : P_tmpdir);
    int fd = mkstemp(path);
    if (fd < 0) {
        cli_usage_error("no file for the rows can be made in %.200s (TMPDIR): %s", where && *where ? where : P_tmpdir,
                        strerror(errno));
        return NULL;
    }
    unlink(path);
    snprintf(number, sizeof number, "%d", fd);
    if (fcntl(fd, F_SETFL, O_APPEND) == 0 && setenv("SUPPLE_BENCH_ROWS", number, 1) == 0) {
        FILE *file = fdopen(fd, "r+");
        if (file) return file;
    }
    close(fd);
    return NULL;
}

cli_bench_run *cli_bench_run_begin(const char *mode)
{
    cli_bench_run *run = calloc(1, sizeof *run);
    if (!run) return NULL;
    run->rows = open_rows();
    run->benches = json_array();
    run->mode = mode;
    run->start = now();
    run->busy = busy_seconds() - own_seconds();
    line_of("/proc/loadavg", "", run->load, sizeof run->load);
    if (run->rows && run->benches) return run;
    cli_bench_run_end(run);
    return NULL;
}

void cli_bench_run_note(cli_bench_run *run, const char *name, double seconds, int code)
{
    double used = own_seconds();
    json_array_append_new(run->benches, json_pack("{s:s, s:f, s:f, s:i}", "name", name, "seconds", seconds,
                                                  "processor_seconds", used - run->used, "exit", code));
    run->used = used;
}

void cli_bench_run_end(cli_bench_run *run)
{
    if (!run) return;
    if (run->rows) fclose(run->rows);
    json_decref(run->benches);
    unsetenv("SUPPLE_BENCH_ROWS");
    free(run);
}

/* ---- the document ---- */

static json_t *load_of(const char *line)
{
    double one, five, fifteen;
    return sscanf(line, "%lf %lf %lf", &one, &five, &fifteen) == 3 ? json_pack("[f, f, f]", one, five, fifteen)
                                                                   : json_null();
}

/* How much of the processors other programs used meanwhile, 0 to 1. */
static json_t *others_of(const cli_bench_run *run)
{
    double busy = busy_seconds(), cores = (double)sysconf(_SC_NPROCESSORS_ONLN), elapsed = now() - run->start;
    if (busy < 0 || elapsed <= 0 || cores < 1) return json_null();
    double share = (busy - own_seconds() - run->busy) / (elapsed * cores);
    return json_real(share < 0 ? 0 : share > 1 ? 1 : share);
}

static json_t *machine_of(const cli_bench_run *run)
{
    char processor[200], load[64], memory[64];
    line_of("/proc/cpuinfo", "model name", processor, sizeof processor);
    line_of("/proc/meminfo", "MemTotal", memory, sizeof memory);
    line_of("/proc/loadavg", "", load, sizeof load);
    return json_pack("{s:s, s:i, s:f, s:o, s:o, s:o}", "processor", processor, "cores",
                     (int)sysconf(_SC_NPROCESSORS_ONLN), "memory_mb", strtod(memory, NULL) / 1024, "load_before",
                     load_of(run->load), "load_after", load_of(load), "others", others_of(run));
}

static json_t *read_rows(FILE *file)
{
    char line[4096];
    json_t *rows = json_array();
    rewind(file);
    while (rows && fgets(line, sizeof line, file)) {
        json_t *row = json_loads(line, 0, NULL);
        if (row && json_array_append_new(rows, row) == 0) continue;
        json_decref(rows);
        rows = NULL;
    }
    return rows;
}

json_t *cli_bench_run_document(const cli_bench_run *run)
{
    char date[32] = "";
    time_t t = time(NULL);
    struct tm utc;
    if (gmtime_r(&t, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *rows = read_rows(run->rows);
    json_t *document = rows ? json_pack("{s:s, s:s, s:s, s:f, s:o, s:O, s:o}", "supple", supple_version(), "date", date,
                                        "mode", run->mode, "seconds", now() - run->start, "machine", machine_of(run),
                                        "benches", run->benches, "rows", rows)
                            : NULL;
    if (!document) cli_usage_error("the benchmarks' rows cannot be read");
    return document;
}
