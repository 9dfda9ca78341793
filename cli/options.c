#include "options.h"

#include "cli.h"
#include "hints.h"

#include <string.h>

static int find(const cli_option *options, int count, const char *word, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, word, length) == 0) return i;
    return -1;
}

static bool add_value(cli_arguments *out, int option, const char *value)
{
    const cli_option *o = &out->options[option];
    if (!o->repeats && cli_count(out, o->name) > 0) {
        cli_usage_error("%s is given twice", o->name);
        return false;
    }
    if (out->value_count == CLI_MAX_VALUES) {
        cli_usage_error("more than %d options", CLI_MAX_VALUES);
        return false;
    }
    out->values[out->value_count].option = option;
    out->values[out->value_count++].value = value;
    return true;
}

/* Whether a word can be meant as the number that an option takes or leaves. */
static bool is_number(const char *word)
{
    return *word && strspn(word, "+-.0123456789eE") == strlen(word) && strcspn(word, "0123456789") < strlen(word);
}

/* One option at argv[*at]: "--name value", "--name=value" or "-o value". */
static bool take_option(int argc, char **argv, int *at, cli_arguments *out)
{
    const char *word = argv[*at], *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    int option = find(out->options, out->option_count, word, length);
    if (option < 0) {
        const char *meant = cli_option_meant(word, length, out->options, out->option_count);
        if (meant)
            cli_usage_error("option %.60s is unknown; is it %s? --help lists them", word, meant);
        else
            cli_usage_error("option %.60s is unknown; --help lists them", word);
        return false;
    }
    const cli_option *o = &out->options[option];
    if (!o->argument) {
        if (equals) cli_usage_error("%s takes no value", o->name);
        return !equals && add_value(out, option, "");
    }
    if (equals) return add_value(out, option, equals + 1);
    if (o->argument[0] == '[' && (*at + 1 >= argc || !is_number(argv[*at + 1]))) return add_value(out, option, "");
    if (*at + 1 >= argc) {
        cli_usage_error("%s needs a value: %s %s", o->name, o->name, o->argument);
        return false;
    }
    const char *value = argv[*at + 1]; /* an option of this verb is no value: "--dynamics -o x.glb" */
    if (value[0] == '-' && find(out->options, out->option_count, value, strlen(value)) >= 0) {
        cli_usage_error("%s needs a value before %s: %s %s", o->name, value, o->name, o->argument);
        return false;
    }
    return add_value(out, option, argv[++*at]);
}

bool cli_parse(int argc, char **argv, const cli_option *options, int option_count, cli_arguments *out)
{
    *out = (cli_arguments){.options = options, .option_count = option_count};
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            out->help = true;
            return true;
        }
        if (!only_operands && strcmp(word, "--") == 0)
            only_operands = true;
        else if (!only_operands && word[0] == '-' && word[1]) {
            if (!take_option(argc, argv, &i, out)) return false;
        } else if (out->operand_count < CLI_MAX_VALUES)
            out->operands[out->operand_count++] = word;
    }
    return true;
}

const char *cli_get(const cli_arguments *arguments, const char *name, int index)
{
    for (int i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->options[arguments->values[i].option].name, name) == 0 && index-- == 0)
            return arguments->values[i].value;
    return NULL;
}

int cli_count(const cli_arguments *arguments, const char *name)
{
    int n = 0;
    while (cli_get(arguments, name, n)) n++;
    return n;
}
