/* `supple bench`: the benchmark programs (bench/bench_NAME.c) by their names. They are programs of their own because
 * they measure the library's insides; the tool finds and runs them, and keeps and compares what they record. */
#include "bench_compare.h"
#include "bench_run.h"
#include "beside.h"
#include "child.h"
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_BENCHES = 64, NAME_SIZE = 48, KILLED = 128, EXIT_SLOWER = 1 };

/* In the order in which `all` runs them. Programs that are there without a line here come after these. */
static const struct {
    const char *name, *summary;
} known[] = {
    {"limits", "the machine's limits, which shares are of: memory, cache, multiply-adds"},
    {"linear", "linear and dualquat against the memory's speed"},
    {"body", "from a character to flesh: from scratch, from the cache, by resolution"},
    {"upsample", "from a body's surface to the visual mesh: the weights once, then a frame"},
    {"sparse", "factorise and solve on lattices of tetrahedra, ours beside CHOLMOD"},
    {"upsample_grid", "the projective paper's figure 5: kinds of upsampling beside each other"},
    {"fem", "the materials, in nanoseconds a call, beside naive twins"},
    {"steklov", "the Steklov-Poincare paper's tables: surface and volume, with and without contacts"},
    {"mixed", "the mixed paper's sizes: a frame by its parts, solver by solver, beside the authors' times"},
    {"weights", "weights of bones on tetrahedra: bounded biharmonic by its stages, heat, the file's own"},
    {"contact", "finding contacts on posed characters"},
    {"projective", "the projective paper's sizes: a step by its parts, with and without contacts"},
    {"cl", "the same on an OpenCL device: matrix formats, kernels by events, steps"},
    {"subspace", "the multi-domain paper's tables: trained models by ranks and sizes, beside the unreduced solver"},
    {"slide", "sliding skin: the thin skin paper's table 2, and a body of 14k vertices"},
    {"jiggle", "how flesh comes to rest when a walk stops, with and without dynamics"},
};
enum { KNOWN = sizeof known / sizeof *known };

static const char *const folders[] = {"bench", SUPPLE_LIBEXEC_FROM_BIN "/supple", NULL};

typedef struct bench_list {
    char name[MAX_BENCHES][NAME_SIZE];
    int count;
} bench_list;

static const char *summary_of(const char *name)
{
    for (int i = 0; i < KNOWN; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].summary;
    return "";
}

/* The program of a benchmark. The name has no slash in it, so nothing outside the folder is ever run. */
static bool find_program(const char *name, char *path, size_t size)
{
    char file[NAME_SIZE + 8];
    if (!*name || strchr(name, '/') || strlen(name) >= NAME_SIZE) return false;
    snprintf(file, sizeof file, "bench_%s", name);
    return cli_beside(folders, file, path, size) && access(path, X_OK) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Those that are there: the known ones in their order, then others by name. */
static void find_all(bench_list *list)
{
    char path[PATH_MAX];
    for (int i = 0; i < KNOWN; i++)
        if (find_program(known[i].name, path, sizeof path))
            snprintf(list->name[list->count++], NAME_SIZE, "%s", known[i].name);
    int first = list->count;
    DIR *folder = cli_beside(folders, "", path, sizeof path) ? opendir(path) : NULL;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) && list->count < MAX_BENCHES) {
        if (strncmp(entry->d_name, "bench_", 6) != 0 || *summary_of(entry->d_name + 6)) continue;
        if (!find_program(entry->d_name + 6, path, sizeof path)) continue;
        snprintf(list->name[list->count++], NAME_SIZE, "%.*s", NAME_SIZE - 1, entry->d_name + 6);
    }
    if (folder) closedir(folder);
    qsort(list->name[first], (size_t)(list->count - first), NAME_SIZE, by_name);
}

/* What the command line asks for. */
typedef struct request {
    const char *name; /* of a benchmark, "all", or a saved run's file */
    const char *const *words;
    int word_count; /* after the name: for the benchmark */
    const char *before, *device;
    bool json, fail, quick, full;
} request;

static int run_named(const char *name, const request *q)
{
    char path[PATH_MAX], *argv[CLI_MAX_VALUES + 6];
    int count = 0;
    if (!find_program(name, path, sizeof path))
        return *summary_of(name)
                   ? cli_usage_error("benchmark '%.40s' is not built here; `make benches` in the sources builds all",
                                     name)
                   : cli_usage_error("'%.40s' is no benchmark; `supple bench` lists them", name);
    argv[count++] = path;
    if (q->quick) argv[count++] = (char *)"--quick";
    if (q->full) argv[count++] = (char *)"--full";
    if (q->device) argv[count++] = (char *)"--device", argv[count++] = (char *)q->device;
    for (int i = 0; i < q->word_count; i++) argv[count++] = (char *)q->words[i];
    argv[count] = NULL;
    return cli_child_run(path, argv, NULL);
}

static int print_list(const bench_list *list)
{
    for (int i = 0; i < list->count; i++) printf("  %-10s %s\n", list->name[i], summary_of(list->name[i]));
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool is_interrupt(int code)
{
    return code == KILLED + SIGINT || code == KILLED + SIGTERM || code == KILLED + SIGHUP;
}

/* One after the other; a benchmark that fails does not keep the others from running, and the first such exit code is
 * returned. `record` may be NULL. */
static int run_list(const bench_list *list, const request *q, cli_bench_run *record)
{
    int first = 0;
    bool several = strcmp(q->name, "all") == 0;
    for (int i = 0; i < list->count && !is_interrupt(first); i++) {
        double start = now();
        if (several) printf("%s== %s\n", i ? "\n" : "", list->name[i]);
        int code = run_named(list->name[i], q);
        if (record) cli_bench_run_note(record, list->name[i], now() - start, code);
        if (first == 0 || is_interrupt(code)) first = code;
        if (several && !is_interrupt(code))
            cli_say("bench %s took %.1f s%s (%d of %d)", list->name[i], now() - start, code ? " and failed" : "", i + 1,
                    list->count);
    }
    return first;
}

/* ---- runs that are kept and compared ---- */

static int print_json(const json_t *document, FILE *out)
{
    bool ok = json_dumpf(document, out, JSON_INDENT(1) | JSON_REAL_PRECISION(7)) == 0 && fputc('\n', out) != EOF;
    if (fflush(out) == 0 && ok) return 0;
    cli_usage_error("the JSON document cannot be written: %s", strerror(errno));
    return (int)SUPPLE_ERROR_OUTPUT;
}

/* `after` is read; `out` is where JSON goes. */
static int compare(const json_t *before, json_t *after, const request *q, bool alone, FILE *out)
{
    json_t *comparison = cli_bench_compare(before, after);
    int code = q->fail && json_integer_value(json_object_get(comparison, "slower")) > 0 ? EXIT_SLOWER : 0;
    if (!alone || !q->json) cli_bench_print(comparison, before, after, stdout);
    fflush(stdout);
    if (q->json && alone && print_json(comparison, out) != 0) code = (int)SUPPLE_ERROR_OUTPUT;
    if (!alone) json_object_set(after, "compared", comparison);
    json_decref(comparison);
    return code;
}

static int compare_files(const request *q)
{
    json_t *before = cli_bench_load(q->before), *after = before ? cli_bench_load(q->name) : NULL;
    int code = after ? compare(before, after, q, true, stdout) : (int)SUPPLE_ERROR_INPUT;
    json_decref(before);
    json_decref(after);
    return code;
}

/* With --json, stdout carries the document alone: what people read goes to stderr from here on. */
static FILE *take_stdout(bool json)
{
    if (!json) return stdout;
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    FILE *out = kept >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? fdopen(kept, "w") : NULL;
    if (out) fcntl(kept, F_SETFD, FD_CLOEXEC);
    if (!out) cli_usage_error("the standard output cannot be kept apart: %s", strerror(errno));
    return out;
}

/* The machine's limits are measured first, where the list does not have them: shares are of the same run's. */
static int run_recorded(const bench_list *list, const request *q, const json_t *before)
{
    cli_bench_run *record = cli_bench_run_begin(q->quick ? "quick" : q->full ? "full" : "usual");
    FILE *out = record ? take_stdout(q->json) : NULL;
    int code = out ? 0 : (int)SUPPLE_ERROR_OUTPUT;
    request plain = *q;
    plain.word_count = 0;
    plain.device = NULL;
    if (code == 0 && strcmp(list->name[0], "limits") != 0) code = run_named("limits", &plain);
    if (code == 0) code = run_list(list, q, record);
    bool some = code == 0 || (list->count > 1 && out && !is_interrupt(code));
    json_t *document = some ? cli_bench_run_document(record) : NULL;
    if (some && !document) code = (int)SUPPLE_ERROR_OUTPUT;
    int slower = document && before ? compare(before, document, q, false, out) : 0;
    if (document && q->json && print_json(document, out) != 0) code = (int)SUPPLE_ERROR_OUTPUT;
    json_decref(document);
    cli_bench_run_end(record);
    return code ? code : slower;
}

static bool is_file(const char *name)
{
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static int run_request(const bench_list *list, const request *q)
{
    if (!q->json && !q->before) return run_list(list, q, NULL);
    json_t *before = q->before ? cli_bench_load(q->before) : NULL;
    if (q->before && !before) return (int)SUPPLE_ERROR_INPUT;
    int code = run_recorded(list, q, before);
    json_decref(before);
    return code;
}

/* What does not go together. */
static int check(const request *q, const cli_arguments *arguments)
{
    bool all = q->name && strcmp(q->name, "all") == 0;
    if (q->fail && !q->before) return cli_usage_error("--fail needs --compare FILE");
    if (!q->name && arguments->value_count)
        return cli_usage_error("the name of a benchmark is missing, or all; `supple bench` lists them");
    if (q->word_count > 0 && all) return cli_usage_error("`supple bench all` takes no words after it");
    if (q->device && strcmp(q->name, "projective") != 0 && strcmp(q->name, "cl") != 0)
        return cli_usage_error("--device: goes with projective and cl, the benchmarks that run on one");
    return 0;
}

static int run(const cli_arguments *arguments)
{
    request q = {.before = cli_get(arguments, "--compare", 0),
                 .device = cli_get(arguments, "--device", 0),
                 .json = cli_count(arguments, "--json") > 0,
                 .fail = cli_count(arguments, "--fail") > 0,
                 .quick = cli_count(arguments, "--quick") > 0,
                 .full = cli_count(arguments, "--full") > 0};
    bench_list list = {.count = 0};
    char path[PATH_MAX];
    if (arguments->operand_count) q.name = arguments->operands[0];
    q.words = arguments->operands + 1;
    q.word_count = arguments->operand_count > 1 ? arguments->operand_count - 1 : 0;
    bool all = q.name && strcmp(q.name, "all") == 0;
    int code = check(&q, arguments);
    if (code) return code;
    if (q.before && q.name && is_file(q.name)) return compare_files(&q);
    cli_child_catch();
    if (q.name && !all) {
        snprintf(list.name[0], NAME_SIZE, "%.*s", NAME_SIZE - 1, q.name);
        list.count = 1;
        return find_program(q.name, path, sizeof path) ? run_request(&list, &q) : run_named(q.name, &q);
    }
    find_all(&list);
    if (list.count == 0)
        return cli_usage_error("no benchmarks are built here; `make benches` in the sources builds them");
    return all ? run_request(&list, &q) : print_list(&list);
}

static void print_notes(void)
{
    puts("Without NAME: a list. `all` runs each with its defaults, in less than an hour. Words after -- go to the\n"
         "benchmark, for example supple bench linear -- --threads 1. Its exit code is the tool's.\n"
         "Keep a run with supple bench all --json > before.json; then, after a change,\n"
         "supple bench all --compare before.json. supple bench --compare before.json after.json compares two kept "
         "runs.");
}

static const cli_option options[] = {
    {"--json", NULL, "one JSON document on the standard output; tables go to the standard error", false},
    {"--compare", "FILE", "beside a run that --json kept: what is slower beyond noise, what is faster", false},
    {"--fail", NULL, "with --compare: exit code 1 if something is slower", false},
    {"--quick", NULL, "small sizes and few runs: to see that all works, not to measure", false},
    {"--device", "cl[:N]", "projective and cl: the OpenCL device to measure (docs/device.md)", false},
    {"--full", NULL, "also what takes too long for an hour: the papers' own sizes", false},
};

const cli_verb cli_verb_bench = {
    .name = "bench",
    .usage = "[NAME|all] [--json] [-- WORDS]",
    .summary = "the papers' tables, on this machine; without a name, list them",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = CLI_MAX_VALUES - 1,
    .run = run,
    .notes = print_notes,
};
