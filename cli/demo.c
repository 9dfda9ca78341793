#include "cli.h"
#include "hints.h"

#include <stdio.h>
#include <string.h>

static const cli_option options[] = {
    {"-o", "FILE.glb", "where to write it", false},
    {"--detail", "X", "vertices along each edge, times the normal number (1)", false},
};

static int list(void)
{
    for (int32_t i = 0; i < supple_demo_count(); i++) printf("%-10s %s\n", supple_demo_name(i), supple_demo_summary(i));
    return 0;
}

static int run(const cli_arguments *arguments)
{
    const char *path = cli_get(arguments, "-o", 0), *text = cli_get(arguments, "--detail", 0);
    double detail = 1;
    if (arguments->operand_count == 0)
        return path ? cli_usage_error("which character? supple demo NAME -o FILE") : list();
    if (!path) return cli_usage_error("no output: supple demo %.40s -o FILE.glb", arguments->operands[0]);
    size_t length = strlen(path);
    if (length < 4 || strcmp(path + length - 4, ".glb") != 0)
        return cli_usage_error("%.200s: a built-in character is written as .glb", path);
    if (text && !cli_number(text, 1e-3, 1e3, &detail)) return cli_usage_error("--detail %.40s: takes a number", text);
    supple_config config;
    int code = cli_check_writable(path);
    if (code) return code;
    if (!cli_config(arguments, &config)) return 2;
    supple_error error;
    void *glb;
    size_t size;
    if (supple_demo_make(arguments->operands[0], detail, &config, &glb, &size, &error) != SUPPLE_OK)
        return cli_fail(&error);
    supple_result result = supple_bytes_write(path, glb, size, &error);
    supple_bytes_free(glb, &config);
    return result == SUPPLE_OK ? 0 : cli_fail(&error);
}

static void notes(void)
{
    puts("The built-in characters:");
    list();
}

const cli_verb cli_verb_demo = {
    .name = "demo",
    .usage = "NAME -o FILE.glb",
    .summary = "write a built-in character; without a name, list them",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
    .notes = notes,
};
