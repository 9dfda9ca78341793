#include "hints.h"

#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 40, FAR = 1000 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

int cli_distance(const char *a, const char *b)
{
    int n = (int)strnlen(a, LONGEST + 1), m = (int)strnlen(b, LONGEST + 1);
    int rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    if (n > LONGEST || m > LONGEST) return FAR;
    for (int k = 0; k <= m; k++) last[k] = k;
    for (int i = 1; i <= n; i++) {
        row[0] = i;
        for (int k = 1; k <= m; k++) {
            row[k] = least(least(last[k], row[k - 1]) + 1, last[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], before[k - 2] + 1);
        }
        int *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

/* What other tools call it, and what it is here. */
static const char *const elsewhere[][2] = {
    {"--output", "-o"},
    {"--out", "-o"},
    {"--outfile", "-o"},
    {"--animation", "--clip"},
    {"--anim", "--clip"},
    {"--action", "--clip"},
    {"--take", "--clip"},
    {"-c", "--clip"},
    {"-m", "--method"},
    {"--solver", "--method"},
    {"--bvh", "--motion"},
    {"--framerate", "--fps"},
    {"--rate", "--fps"},
    {"-r", "--fps"},
    {"--range", "--frames"},
    {"--start", "--frames"},
    {"--end", "--frames"},
    {"-j", "--threads"},
    {"-t", "--threads"},
    {"--jobs", "--threads"},
    {"-q", "--progress"},
    {"--quiet", "--progress"},
    {"--gpu", "--device"},
    {"--opencl", "--device"},
    {"--physics", "--dynamics"},
    {"--jiggle", "--dynamics"},
    {"--scale", "--size"},
    {"--param", "--set"},
    {"-s", "--set"},
    {"-D", "--set"},
    {"--stats", "--metrics"},
    {"--preview", "-o"},
};

static const char *of_these(const char *name, const cli_option *options, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(options[i].name, name) == 0) return options[i].name;
    return NULL;
}

const char *cli_option_meant(const char *word, size_t length, const cli_option *options, int count)
{
    char name[LONGEST + 1];
    const char *found = NULL;
    if (length > LONGEST) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere && !found; i++)
        if (strcmp(elsewhere[i][0], name) == 0) found = of_these(elsewhere[i][1], options, count);
    if (found || length < 5) return found; /* too short to be mistyped */
    int nearest = length < 8 ? 2 : 3;      /* letters that may be wrong, and one */
    for (int i = 0; i < count; i++) {
        int d = strncmp(options[i].name, name, length) == 0 ? 0 : cli_distance(name, options[i].name);
        if (d >= nearest) continue;
        nearest = d;
        found = options[i].name;
    }
    return found;
}

int cli_check_writable(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;
    const char *slash = strrchr(path, '/');
    int length = !slash ? 1 : slash == path ? 1 : (int)(slash - path);
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
    bool there = stat(path, &st) == 0;
    int reason = there && S_ISDIR(st.st_mode) ? EISDIR : access(folder, W_OK) != 0 ? errno : 0;
    if (!reason && there && !S_ISREG(st.st_mode)) { /* a device, a pipe: no file can take its place */
        cli_say("%.200s: cannot be written: it is not a regular file", path);
        return SUPPLE_ERROR_OUTPUT;
    }
    if (reason == ENOENT)
        cli_say("%.200s: cannot be written: there is no folder '%.200s'; make it first", path, folder);
    else if (reason)
        cli_say("%.200s: cannot be written: %s", path, strerror(reason));
    return reason ? SUPPLE_ERROR_OUTPUT : 0;
}
