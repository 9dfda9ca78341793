#include "cli.h"
#include "files.h"
#include "hints.h"
#include "man.h"
#include "progress.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_verb *const verbs[] = {&cli_verb_skin,    &cli_verb_info,  &cli_verb_mesh,
                                        &cli_verb_weights, &cli_verb_train, &cli_verb_demo,
                                        &cli_verb_compare, &cli_verb_batch, &cli_verb_bench};
enum { VERB_COUNT = sizeof verbs / sizeof *verbs, EXIT_USAGE = 2 };

static void say(const char *format, va_list args)
{
    char line[2048];
    vsnprintf(line, sizeof line, format, args);
    supple_text_clean(line);
    fprintf(stderr, "supple: %s\n", line);
}

void cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

const char *cli_shown(const char *text)
{
    static char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", text);
    supple_text_clean(copy);
    return copy;
}

int cli_fail(const supple_error *error)
{
    cli_progress_wipe();
    cli_say("%s", error->message);
    if (error->code == SUPPLE_ERROR_CANCELLED) return cli_interrupted_exit();
    return error->code == SUPPLE_ERROR_MEMORY ? (int)SUPPLE_ERROR_SOLVE : (int)error->code;
}

int cli_usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return EXIT_USAGE;
}

static void log_line(void *user, supple_log_level level, const char *message)
{
    (void)user;
    cli_progress_wipe();
    cli_say("%s%s", level == SUPPLE_LOG_WARNING ? "warning: " : "", message);
}

bool cli_number(const char *text, double min, double max, double *out)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= min && value <= max)) return false;
    *out = value;
    return true;
}

bool cli_config(const cli_arguments *arguments, supple_config *config)
{
    *config = supple_config_default();
    config->log = log_line;
    config->verbose = cli_get(arguments, "--verbose", 0) != NULL;
    const char *text = cli_get(arguments, "--threads", 0);
    double threads = 0;
    if (text && (!cli_number(text, 1, 256, &threads) || threads != (double)(int)threads)) {
        cli_usage_error("--threads %.40s: takes a whole number from 1 to 256", text);
        return false;
    }
    config->thread_count = (int32_t)threads;
    return true;
}

static void print_options(const cli_verb *verb)
{
    for (int i = 0; i < verb->option_count; i++) {
        const cli_option *o = &verb->options[i];
        char head[64];
        snprintf(head, sizeof head, "%s %s", o->name, o->argument ? o->argument : "");
        printf("  %-24s %s\n", head, o->help);
    }
}

static int print_verb_help(const cli_verb *verb)
{
    printf("usage: supple %s %s\n\n%s\n\n", verb->name, verb->usage, verb->summary);
    print_options(verb);
    if (verb->notes) {
        putchar('\n');
        verb->notes();
    }
    return 0;
}

static int print_help(FILE *out)
{
    fprintf(out, "Supple %s: physics-based skinning for rigged characters\n\n", supple_version());
    for (int i = 0; i < VERB_COUNT; i++)
        fprintf(out, "  supple %-7s %-30s %s\n", verbs[i]->name, verbs[i]->usage, verbs[i]->summary);
    fputs("\n`supple VERB --help` explains one. Try: supple skin demo:hero -o hero.glb -o hero.png\n", out);
    return 0;
}

/* A word more than the verb takes: an output without -o, or a name with blanks that the shell took apart. */
static int too_many(const cli_verb *verb, const cli_arguments *arguments)
{
    const char *last = arguments->operands[verb->operand_count];
    char joined[1024] = "";
    for (int i = 0; i < arguments->operand_count; i++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof joined - used, "%s%s", i ? " " : "", arguments->operands[i]);
    }
    if (access(joined, F_OK) == 0)
        return cli_usage_error("'%.60s' is one word too many; a name with blanks stands in quotes: '%.200s'", last,
                               joined);
    for (int i = 0; i < verb->option_count; i++)
        if (strcmp(verb->options[i].name, "-o") == 0 && !cli_get(arguments, "-o", 0))
            return cli_usage_error("'%.60s' is one word too many; an output follows -o: supple %s %.60s -o %.60s", last,
                                   verb->name, arguments->operands[0], last);
    return cli_usage_error("'%.60s' is one word too many; usage: supple %s %s", last, verb->name, verb->usage);
}

static int run_verb(const cli_verb *verb, int argc, char **argv)
{
    cli_arguments arguments;
    if (!cli_parse(argc, argv, verb->options, verb->option_count, &arguments)) return EXIT_USAGE;
    if (arguments.help) return print_verb_help(verb);
    if (arguments.operand_count > verb->operand_count) return too_many(verb, &arguments);
    int code = cli_check_files(&arguments);
    return code ? code : verb->run(&arguments);
}

static const cli_verb *find_verb(const char *name)
{
    for (int i = 0; i < VERB_COUNT; i++)
        if (strcmp(name, verbs[i]->name) == 0) return verbs[i];
    return NULL;
}

static int no_verb(const char *word)
{
    if (strchr(word, '.') || strncmp(word, "demo:", 5) == 0) /* a file: somebody forgot the verb */
        return cli_usage_error("'%.60s' is no verb of supple; to deform it: supple skin %.60s -o out.glb", word, word);
    for (int i = 0; i < VERB_COUNT; i++)
        if (cli_distance(word, verbs[i]->name) <= 2)
            return cli_usage_error("'%.60s' is no verb of supple; is it %s? --help lists them", word, verbs[i]->name);
    return cli_usage_error("'%.60s' is no verb of supple; --help lists them", word);
}

/* `supple help` and `supple help VERB`, for those who try them first. */
static int answer_help(int argc, char **argv)
{
    const cli_verb *verb = argc > 2 ? find_verb(argv[2]) : NULL;
    if (argc > 2 && !verb) return no_verb(argv[2]);
    return verb ? print_verb_help(verb) : print_help(stdout);
}

static int answer(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0) return answer_help(argc, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help(stdout);
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "version") == 0) {
        printf("supple %s\n", supple_version());
        return 0;
    }
    if (strcmp(argv[1], "--man") == 0) return cli_print_man(verbs, VERB_COUNT);
    if (strcmp(argv[1], "--complete") == 0) return cli_complete(verbs, VERB_COUNT, argc - 2, argv + 2);
    const cli_verb *verb = find_verb(argv[1]);
    return verb ? run_verb(verb, argc - 2, argv + 2) : no_verb(argv[1]);
}

/* What was printed has arrived, or it is an error: a full disk behind `supple info --json >FILE` too. Whoever reads no
 * more
 * (`| head`) needs no message. */
static int end_output(int code)
{
    errno = 0;
    bool whole = fflush(stdout) == 0 && !ferror(stdout);
    int reason = errno;
    struct pollfd reader = {.fd = STDOUT_FILENO};
    if (whole) return code;
    if (poll(&reader, 1, 0) > 0 && reader.revents & POLLERR) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (code == 0)
        cli_say("the standard output cannot be written%s%s", reason ? ": " : "", reason ? strerror(reason) : "");
    return code ? code : SUPPLE_ERROR_OUTPUT;
}

int main(int argc, char **argv)
{
    cli_ignore_write_signals();
    cli_follow_parent();
    return end_output(answer(argc, argv));
}
