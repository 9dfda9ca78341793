#include "files.h"

#include "cli.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The folder that a path's last name stands in. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    int length = slash == path ? 1 : slash ? (int)(slash - path) : 1;
    snprintf(folder, PATH_MAX, "%.*s", length, slash ? path : ".");
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_entry(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether two paths are, or will be, one file. */
static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    char folder[2][PATH_MAX];
    int there = (stat(a, &x) == 0) + (stat(b, &y) == 0);
    if (there == 2) return same_entry(&x, &y);
    if (there == 1 || strcmp(last_name(a), last_name(b)) != 0) return false;
    folder_of(a, folder[0]);
    folder_of(b, folder[1]);
    return stat(folder[0], &x) == 0 && stat(folder[1], &y) == 0 && same_entry(&x, &y);
}

static bool is_output(const cli_arguments *arguments, int value)
{
    const char *name = arguments->options[arguments->values[value].option].name;
    return strcmp(name, "-o") == 0 || strcmp(name, "--metrics") == 0;
}

/* An output against what is read. A word that is no file ("--clip walk") is none here either. */
static int check_inputs(const cli_arguments *arguments, const char *output)
{
    struct stat st;
    if (stat(output, &st) != 0) return 0;
    for (int i = 0; i < arguments->operand_count; i++)
        if (is_same(output, arguments->operands[i]))
            return cli_usage_error("%.200s: would overwrite the input; choose another name or folder", output);
    for (int i = 0; i < arguments->value_count; i++) {
        const char *option = arguments->options[arguments->values[i].option].name, *value = arguments->values[i].value;
        if (!is_output(arguments, i) && is_same(output, value))
            return cli_usage_error("%.200s: would overwrite the file of %s; choose another name or folder", output,
                                   option);
    }
    return 0;
}

int cli_check_files(const cli_arguments *arguments)
{
    for (int i = 0; i < arguments->value_count; i++) {
        if (!is_output(arguments, i)) continue;
        const char *output = arguments->values[i].value;
        int code = check_inputs(arguments, output);
        for (int k = 0; k < i && code == 0; k++)
            if (is_output(arguments, k) && is_same(output, arguments->values[k].value))
                code = cli_usage_error("%.200s is given twice as an output", output);
        if (code) return code;
    }
    return 0;
}
