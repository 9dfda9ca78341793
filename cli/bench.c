/* `supple bench`: the benchmark programs (bench/bench_NAME.c) by their names. They are programs of their own because
 * they measure the library's insides; the tool only finds and runs them. */
#include "beside.h"
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_BENCHES = 64, NAME_SIZE = 48, KILLED = 128 };

/* In the order in which `all` runs them. Programs that are there without a line here come after these. */
static const struct {
    const char *name, *summary;
} known[] = {
    {"linear", "linear and dualquat against the memory's speed"},
    {"body", "from a character to flesh: from scratch, from the cache, by resolution"},
    {"upsample", "from a body's surface to the visual mesh: the weights once, then a frame"},
    {"sparse", "factorise and solve on lattices of tetrahedra, ours beside CHOLMOD"},
    {"upsample_grid", "the projective paper's figure 5: kinds of upsampling beside each other"},
    {"fem", "the materials, in nanoseconds a call, beside naive twins"},
    {"steklov", "the Steklov-Poincare paper's tables: surface and volume, with and without contacts"},
    {"mixed", "the mixed paper's sizes: a frame by its parts, solver by solver, beside the authors' times"},
    {"weights", "weights of bones on tetrahedra: bounded biharmonic by its stages, heat, the file's own"},
    {"contact", "finding contacts, and measuring penetration, on posed characters"},
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

static volatile sig_atomic_t child, stopped;

/* Ctrl-C in a terminal reaches the child by itself; a signal sent to the tool alone is passed on. */
static void forward(int signal_number)
{
    stopped = 1;
    if (child > 0) kill((pid_t)child, signal_number);
}

/* Starts a program by its arguments, without a shell. The signals wait until its number is known. */
static int start(const char *path, char **argv, pid_t *pid)
{
    sigset_t waiting, before;
    posix_spawnattr_t how;
    sigemptyset(&waiting);
    sigaddset(&waiting, SIGINT);
    sigaddset(&waiting, SIGTERM);
    int reason = posix_spawnattr_init(&how);
    if (reason) return reason;
    sigprocmask(SIG_BLOCK, &waiting, &before);
    posix_spawnattr_setsigmask(&how, &before);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    fflush(NULL);
    reason = stopped ? EINTR : posix_spawn(pid, path, NULL, &how, argv, environ);
    child = reason ? 0 : (sig_atomic_t)*pid;
    sigprocmask(SIG_SETMASK, &before, NULL);
    posix_spawnattr_destroy(&how);
    return reason;
}

/* Runs one to its end; its exit code, or 128 + the signal that ended it, as a shell has it. */
static int run_program(const char *path, char **argv)
{
    pid_t pid;
    int status = 0, reason = start(path, argv, &pid);
    if (reason && stopped) return KILLED + SIGINT;
    if (reason) return cli_usage_error("%.200s cannot be run: %s", path, strerror(reason));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}

static int run_named(const char *name, const char *const *arguments, int count)
{
    char path[PATH_MAX], *argv[CLI_MAX_VALUES + 2];
    if (!find_program(name, path, sizeof path))
        return *summary_of(name)
                   ? cli_usage_error("benchmark '%.40s' is not built; `make bench` builds and runs all", name)
                   : cli_usage_error("'%.40s' is no benchmark; `supple bench` lists them", name);
    argv[0] = path;
    for (int i = 0; i < count; i++) argv[i + 1] = (char *)arguments[i];
    argv[count + 1] = NULL;
    return run_program(path, argv);
}

static int print_list(const bench_list *list)
{
    for (int i = 0; i < list->count; i++) printf("  %-10s %s\n", list->name[i], summary_of(list->name[i]));
    return 0;
}

static int run_all(const bench_list *list)
{
    int code = 0;
    for (int i = 0; i < list->count && code == 0 && !stopped; i++) {
        printf("%s== %s\n", i ? "\n" : "", list->name[i]);
        code = run_named(list->name[i], NULL, 0);
    }
    return code;
}

static int run(const cli_arguments *arguments)
{
    bench_list list = {.count = 0};
    const char *name = arguments->operand_count ? arguments->operands[0] : NULL;
    bool all = name && strcmp(name, "all") == 0;
    signal(SIGINT, forward);
    signal(SIGTERM, forward);
    if (name && !all) return run_named(name, arguments->operands + 1, arguments->operand_count - 1);
    if (arguments->operand_count > 1) return cli_usage_error("`supple bench all` takes no words after it");
    find_all(&list);
    if (list.count == 0)
        return cli_usage_error("no benchmarks are built here; `make bench` in the sources builds and runs them");
    return all ? run_all(&list) : print_list(&list);
}

static void print_notes(void)
{
    puts("Without NAME: a list. `all` runs each with its defaults. Words after -- go to the benchmark, for example\n"
         "supple bench linear -- --threads 1. Its exit code is the tool's.");
}

const cli_verb cli_verb_bench = {
    .name = "bench",
    .usage = "[NAME|all] [-- ARGUMENTS]",
    .summary = "the papers' tables, on this machine; without a name, list them",
    .operand_count = CLI_MAX_VALUES - 1,
    .run = run,
    .notes = print_notes,
};
