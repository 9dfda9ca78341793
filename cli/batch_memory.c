/* How much memory a job will take, and which may start: none that would not fit, unless it is alone. */
#include "batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Peak memory in MB of a body of USUAL tetrahedra: so much, and so many kB a vertex. Measured on 44 characters of 900
 * to 34,000 vertices, the most of them and a little more (docs/batch.md, "Memory"). */
typedef struct method_size {
    const char *method;
    double base, vertex_kb;
} method_size;

static const method_size sizes[] = {
    {"linear", 40, 2.5},   {"dualquat", 40, 2.5},  {"none", 40, 2.5},     {"mixed", 190, 2.5}, {"projective", 120, 2.5},
    {"steklov", 220, 2.5}, {"subspace", 190, 2.5}, {"reference", 400, 4}, {"auto", 220, 2.5},
};
enum { KIND = sizeof sizes / sizeof *sizes, USUAL = 60000 };
static const int32_t UNKNOWN_VERTICES = 50000;
static const double MARGIN = 1.1, KEPT_FREE = 0.05; /* over what was measured; of all memory, for everything else */

double cli_batch_estimate(const char *method, int32_t vertices, double tets)
{
    const method_size *s = &sizes[KIND - 1];
    for (int i = 0; i < KIND; i++)
        if (strcmp(sizes[i].method, method) == 0) s = &sizes[i];
    return s->base * fmax(1, tets / USUAL) + s->vertex_kb * (vertices >= 0 ? vertices : UNKNOWN_VERTICES) / 1024;
}

/* Of --set max-tets=N; 0: as it is usual. */
static double tets_of(const cli_batch_job *job)
{
    double tets = 0;
    for (int i = 0; i < job->options.count; i++)
        if (strncmp(job->options.word[i], "--set=max-tets=", 15) == 0) tets = strtod(job->options.word[i] + 15, NULL);
    return tets;
}

/* Whether two jobs make bodies of the same size: of one character, by one method, with options that say so. */
static bool alike(const cli_batch_job *a, const cli_batch_job *b)
{
    static const char *const sizing[] = {"--resolution=", "--set=max-tets=", "--body=", "--collide=", "--budget="};
    if (strcmp(a->method, b->method) != 0 || strcmp(a->character, b->character) != 0) return false;
    for (size_t k = 0; k < sizeof sizing / sizeof *sizing; k++) {
        const cli_batch_job *pair[] = {a, b, a};
        for (int p = 0; p < 2; p++)
            for (int i = 0; i < pair[p]->options.count; i++) {
                const char *word = pair[p]->options.word[i];
                if (strncmp(word, sizing[k], strlen(sizing[k])) == 0 && !cli_words_have(&pair[p + 1]->options, word))
                    return false;
            }
    }
    return true;
}

double cli_batch_need(const cli_batch *b, const cli_batch_job *job)
{
    double most = 0;
    for (int i = 0; i < b->job_count; i++) {
        const cli_batch_job *like = &b->job[i];
        if (like->state == CLI_BATCH_DONE && alike(like, job))
            most = fmax(most, json_number_value(json_object_get(like->record, "peak_mb")));
    }
    return most > 0 ? MARGIN * most : cli_batch_estimate(job->method, job->vertices, tets_of(job));
}

/* A number of kB or bytes from the first line of a file that begins so; -1: there is none. */
static double read_number(const char *path, const char *begin)
{
    char line[256];
    double value = -1;
    FILE *file = fopen(path, "r");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, begin, strlen(begin)) == 0 && sscanf(line + strlen(begin), "%lf", &value) != 1) value = -1;
    if (file) fclose(file);
    return value;
}

/* What a container may still take, MB; INFINITY without a limit. Memory of files that are read counts as taken, which
 * is the careful side. */
static double free_of_group(void)
{
    double limit = read_number("/sys/fs/cgroup/memory.max", "");
    double taken = read_number("/sys/fs/cgroup/memory.current", "");
    return limit > 0 && taken >= 0 ? (limit - taken) / 1048576 : INFINITY;
}

static double resident_mb(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    double kb = read_number(path, "VmRSS:");
    return kb > 0 ? kb / 1024 : 0;
}

double cli_batch_free(const cli_batch *b)
{
    double total = read_number("/proc/meminfo", "MemTotal:"), available = read_number("/proc/meminfo", "MemAvailable:");
    double taken = 0, coming = 0;
    for (int i = 0; i < b->job_count; i++) {
        if (b->job[i].state != CLI_BATCH_RUNNING) continue;
        double now = b->memory_mb > 0 ? 0 : resident_mb(b->job[i].pid);
        taken += b->job[i].need_mb;
        coming += fmax(0, b->job[i].need_mb - now);
    }
    if (b->memory_mb > 0) return b->memory_mb - taken;
    if (total <= 0 || available < 0) return INFINITY; /* no such file here: as many as were asked for */
    return fmin(available / 1024 - KEPT_FREE * total / 1024, free_of_group()) - coming;
}

int cli_batch_pick(const double *need_mb, const bool *waits, int count, double free_mb, int running)
{
    for (int i = 0; i < count; i++)
        if (waits[i] && (running == 0 || need_mb[i] <= free_mb)) return i;
    return -1;
}
