#include "body_options.h"

#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool parse_role(const char *text, char *name, size_t size, supple_part_rule *rule)
{
    static const char *const names[] = {"flesh", "follow", "rigid", "skip", "own"};
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= size) return false;
    snprintf(name, size, "%.*s", (int)(equals - text), text);
    rule->pattern = name;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(equals + 1, names[i]) == 0) {
            rule->role = (supple_role)i;
            return true;
        }
    return false;
}

int cli_body_config(const cli_arguments *arguments, supple_body_config *bc, bool only)
{
    static char names[CLI_MAX_VALUES][128];
    static supple_part_rule rules[CLI_MAX_VALUES];
    const char *text = cli_get(arguments, "--body", 0);
    if (text && strcmp(text, "prism") == 0)
        bc->kind = SUPPLE_BODY_PRISM;
    else if (text && supple_tets_known(text))
        bc->tet_file = text;
    else if (text && strcmp(text, "tets") != 0)
        return cli_usage_error("--body %.60s: takes tets, prism, or a .msh, .mesh or .vtk file", text);
    text = cli_get(arguments, "--resolution", 0);
    double value = 0;
    if (text && (!cli_number(text, 1, 1e9, &value) || value != floor(value)))
        return cli_usage_error("--resolution %.40s: takes a whole number of cells", text);
    if (text && value > 2000) return cli_usage_error("--resolution %.40s: takes 4 to 2000 cells", text);
    bc->resolution = (int32_t)value;
    text = cli_get(arguments, "--size", 0);
    if (text && strcmp(text, "file") == 0)
        bc->size_m = SUPPLE_SIZE_FILE;
    else if (text && !cli_number(text, 1e-6, 1e6, &bc->size_m))
        return cli_usage_error("--size %.40s: takes metres, from 1e-6 to 1e6, or file", text);
    bc->rules = rules;
    bc->rule_count = cli_count(arguments, "--part");
    for (int i = 0; i < bc->rule_count; i++) {
        text = cli_get(arguments, "--part", i);
        if (!parse_role(text, names[i], sizeof names[i], &rules[i]))
            return cli_usage_error("--part %.60s: takes NAME=flesh, follow, own, rigid or skip", text);
    }
    for (int i = 0; (text = cli_get(arguments, "--set", i)); i++) {
        bool budget = strncmp(text, "max-tets=", 9) == 0, grade = strncmp(text, "grade=", 6) == 0;
        if (!budget && !grade && !only) continue;
        if (grade && strcmp(text + 6, "on") != 0 && strcmp(text + 6, "off") != 0)
            return cli_usage_error("--set %.60s: takes grade=on or grade=off", text);
        if (!grade && (!budget || !cli_number(text + 9, 100, 1e8, &value)))
            return cli_usage_error("--set %.60s: takes max-tets=N, from 100 to 100000000, or grade=on", text);
        if (grade)
            bc->grade = strcmp(text + 6, "on") == 0;
        else
            bc->max_tets = (int32_t)value;
    }
    bc->cache = !cli_get(arguments, "--no-cache", 0);
    return 0;
}
