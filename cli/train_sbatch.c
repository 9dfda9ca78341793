/* `supple train --sbatch`: the same command as jobs of Slurm, on the standard output. */
#include "beside.h"
#include "train_many.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A growing text; NULL when memory is out. */
typedef struct text {
    char *bytes;
    size_t length;
    FILE *stream;
} text;

/* A part of a word as a shell takes it literally. */
static void put_quoted(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

/* Of the options as they were given, those that both jobs share. */
static bool goes_along(const char *option, bool finish)
{
    return strcmp(option, "--sbatch") != 0 && strcmp(option, "--progress") != 0 &&
           (finish || strcmp(option, "--keep") != 0);
}

static void put_command(FILE *out, const char *tool, const cli_arguments *arguments, int32_t workers, bool finish)
{
    fputs("#!/bin/sh\nexec ", out);
    put_quoted(out, tool);
    fputs(" train", out);
    for (int i = 0; i < arguments->value_count; i++) {
        const cli_option *option = &arguments->options[arguments->values[i].option];
        if (!goes_along(option->name, finish)) continue;
        fprintf(out, " %s", option->name);
        if (option->argument) fputc(option->name[1] == '-' ? '=' : ' ', out);
        if (option->argument) put_quoted(out, arguments->values[i].value);
    }
    if (cli_count(arguments, "--threads") == 0) fputs(" --threads=1", out);
    if (finish)
        fputs(" --finish", out);
    else
        fprintf(out, " --solve=\"$SLURM_ARRAY_TASK_ID/%d\"", (int)workers);
    fputs(" -- ", out);
    put_quoted(out, arguments->operands[0]);
    fputc('\n', out);
}

/* One job: its script stands in the call, up to a line that is not in it. */
static bool put_job(const char *name, const char *options, const char *folder, const char *threads, const text *script)
{
    char end[64] = "END_OF_JOB";
    while (strstr(script->bytes, end) && strlen(end) + 1 < sizeof end) strcat(end, "_");
    if (strstr(script->bytes, end)) return false;
    printf("%s=$(sbatch --parsable --job-name=supple-%s %s --requeue --cpus-per-task=", name, name, options);
    put_quoted(stdout, threads ? threads : "1");
    fputs(" --chdir=", stdout);
    put_quoted(stdout, folder);
    printf(" <<'%s'\n%s%s\n)\n", end, script->bytes, end);
    return true;
}

static bool put_jobs(const cli_arguments *arguments, int32_t workers, const char *tool, const char *folder)
{
    bool good = true;
    const char *threads = cli_get(arguments, "--threads", 0);
    char array[64];
    snprintf(array, sizeof array, "--array=1-%d", (int)workers);
    puts("#!/bin/sh\n# Run this where sbatch is: it submits the workers, and after them, whatever became of them, the "
         "job "
         "that solves what\n# is missing and makes the model.\nset -eu");
    for (int finish = 0; finish < 2 && good; finish++) {
        text t = {0};
        t.stream = open_memstream(&t.bytes, &t.length);
        if (t.stream) put_command(t.stream, tool, arguments, workers, finish);
        good = t.stream && fclose(t.stream) == 0;
        good = good && put_job(finish ? "finish" : "solve", finish ? "--dependency=\"afterany:${solve%%;*}\"" : array,
                               folder, threads, &t);
        free(t.bytes);
    }
    puts("echo \"$solve $finish\"");
    return good;
}

int cli_many_print_jobs(const cli_arguments *arguments, int32_t workers)
{
    char tool[PATH_MAX], folder[PATH_MAX];
    if (!cli_tool_path(tool, sizeof tool) || !getcwd(folder, sizeof folder)) {
        cli_say("--sbatch: the path of this program or of this folder is not known");
        return SUPPLE_ERROR_INPUT;
    }
    if (put_jobs(arguments, workers, tool, folder)) return 0;
    cli_say("--sbatch: no memory, or a file is called as the ends of scripts are");
    return SUPPLE_ERROR_MEMORY;
}
