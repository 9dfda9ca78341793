#include "batch.h"

#include "beside.h"
#include "dynamics_options.h"
#include "hints.h"
#include "progress.h"
#include "solver.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const cli_option options[] = {
    {"-o", "OUTDIR", "the folder for results and the report; made where it is not there", false},
    {"--method", "NAME", "how to deform (auto); give it again for more: a job each", true},
    {"--clip", "NAME", "a clip by name, index, or all (all); give it again for more: a job each", true},
    {"--ending", ".EXT", "what to write of each job, by its ending (.glb); give it again for more", true},
    {"--jobs", "N", "jobs at a time (one per core), as long as their memory fits", false},
    {"--memory", "MB", "what jobs may take together (what is free)", false},
    {"--time-limit", "S", "seconds for a job; 0: no limit (14400)", false},
    {"--print", NULL, "print one command a line for each job that is left, for any queue; run nothing", false},
    {"--report", NULL, "write the report of what is there; run nothing", false},
    {"--no-pictures", NULL, "no contact sheets for the report", false},
    {"--job", "NAME", "the job of one line of --print: one character, clip and method, no report", false},
#define PASSED_FIRST 11
    {"--motion", "FILE", "a motion from elsewhere in place of clips: .bvh, or .pc2 for --method none", false},
    {"--map", "FILE.json", "which joint of a .bvh moves which joint (by their names)", false},
    {"--fps", "N", "frames per second (the motion's or the file's own, else 30)", false},
    {"--frames", "A:B", "frames A to B, both included, from 0, up to the clip's end (the whole clip)", false},
    {"--frames-fast", NULL, "do not solve what comes before --frames A:B, where flesh meets flesh", false},
    CLI_BUDGET_OPTION,
    {"--body", "KIND", "tets, prism, or a .msh, .mesh or .vtk file of your own (tets)", false},
    {"--resolution", "N", "cells along the body's longest axis (chosen by the thinnest limbs)", false},
    {"--part", "NAME=ROLE", "role of a part, by name or number: flesh, follow, own, rigid or skip (by its shape)",
     true},
    {"--size", "METRES", "the character's diagonal for the solver; file: as the file's unit says (by its rig)", false},
    {"--amount", "X", "how much of the flesh is shown, 0 to 1 (1): X, PART=X, or color: by the vertex colour", true},
    {"--strict", NULL, "a job fails where its result is somewhere worse than the file's own skinning", false},
    {"--rehearse", "MODE", "on or off: parts are tried on a coarse body first (on)", false},
    {"--model", "FILE.supple", "a trained model (`supple train`), for method subspace", false},
    {"--material", "FILE.json", "stiffness and density by region (one soft tissue)", false},
    {"--forces", "FILE.json", "external forces on the flesh (none)", false},
    CLI_DYNAMICS_OPTIONS,
    {"--slide", NULL, "skin slides over the body: texture coordinates move (docs/slide.md)", false},
    {"--slide-config", "FILE.json", "regions of that skin: fixed, sliding, softer (all free but borders)", false},
    {"--keep-rig", NULL, "joints' nodes and channels stay in a .glb, which no longer needs them", false},
    {"--set", "KEY=VALUE", "a parameter of the method (`supple skin --help`), max-tets=N, or glb-error=X for .glb",
     true},
    {"--device", "NAME", "cpu, cl or cl:N: an OpenCL device, for method projective (cpu)", false},
    CLI_SOLVER_OPTION,
    {"--no-cache", NULL, "make bodies afresh and keep nothing", false},
#define PASSED_AFTER 2 /* what follows is no part of a job */
    {"--threads", "N", "threads of a job (cores by jobs); results do not depend on it", false},
    {"--progress", "MODE", "auto, always or never (auto: on a terminal)", false},
};
enum { OPTIONS = sizeof options / sizeof *options };
static const double TIME_LIMIT_S = 14400;

void cli_batch_passed(int *first, int *last)
{
    *first = PASSED_FIRST;
    *last = OPTIONS - PASSED_AFTER;
}

int cli_batch_memory_error(void)
{
    return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the jobs"});
}

/* ---- what was asked for ---- */

/* Every value of an option, none of them twice. */
static int take_list(const cli_arguments *a, const char *option, cli_words *out)
{
    char room[700];
    const char *text;
    for (int i = 0; (text = cli_get(a, option, i)); i++) {
        const char *what = cli_batch_wrong(option, text, room, sizeof room);
        if (what) return cli_usage_error("%s: %s", option, what);
        if (cli_words_have(out, text)) return cli_usage_error("%s %.60s: is given twice", option, text);
        cli_words_add(out, "%s", text);
    }
    if (out->count > 1 && strcmp(option, "--clip") == 0 && cli_words_have(out, "all"))
        return cli_usage_error("--clip all: is all there are; leave out the others");
    return 0;
}

/* What goes to `skin`, in the table's order; files by whole paths. */
static int take_passed(const cli_arguments *a, cli_words *out)
{
    char here[PATH_MAX], room[700];
    if (!getcwd(here, sizeof here)) return cli_usage_error("the current folder is gone");
    for (int i = PASSED_FIRST; i < OPTIONS - PASSED_AFTER; i++) {
        const cli_option *o = &options[i];
        const char *value;
        for (int k = 0; (value = cli_get(a, o->name, k)); k++) {
            const char *what = cli_batch_wrong(o->name, o->argument ? value : NULL, room, sizeof room);
            if (what) return cli_usage_error("%s: %s", o->name, what);
            char *whole = cli_batch_is_file(o->name, value) ? cli_batch_whole(here, value) : strdup(value);
            if (!whole) return cli_batch_memory_error();
            cli_words_add(out, o->argument && *value ? "%s=%s" : "%s", o->name, whole);
            free(whole);
        }
    }
    return out->failed ? cli_batch_memory_error() : 0;
}

static bool is_list(const char *path)
{
    const char *dot = strrchr(path, '.');
    struct stat st;
    return dot && strcasecmp(dot, ".json") == 0 && !(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* The entry that the command line makes; without a character. Methods and endings of a list are its own, unless they
 * are given here. */
static int take_entry(const cli_arguments *a, bool list, cli_batch_entry *entry)
{
    int code = take_list(a, "--method", &entry->methods);
    if (code == 0) code = take_list(a, "--clip", &entry->clips);
    if (code == 0) code = take_list(a, "--ending", &entry->endings);
    if (code == 0) code = take_passed(a, &entry->options);
    if (code == 0 && entry->clips.count && cli_get(a, "--motion", 0))
        code = cli_usage_error("--clip and --motion: give one of them");
    if (!list && entry->methods.count == 0) cli_words_add(&entry->methods, "auto");
    if (!list && entry->endings.count == 0) cli_words_add(&entry->endings, ".glb");
    bool failed = entry->methods.failed || entry->clips.failed || entry->endings.failed;
    return code == 0 && failed ? cli_batch_memory_error() : code;
}

static int check_single(const cli_batch *b, const cli_batch_entry *entry, const char *input)
{
    char safe[CLI_BATCH_NAME];
    const char *name = entry->name;
    struct stat st;
    bool folder = stat(input, &st) == 0 && S_ISDIR(st.st_mode);
    bool one = entry->methods.count == 1 && entry->clips.count < 2 && !cli_words_have(&entry->clips, "all");
    if (folder || is_list(input) || !one)
        return cli_usage_error(
            "--job: goes with one character, one --method and at most one --clip, as --print prints it");
    char plain[CLI_BATCH_NAME] = "", *mark;
    snprintf(plain, sizeof plain, "%s", name);
    if (strlen(name) < sizeof plain && (mark = strrchr(plain, '~'))) { /* set apart by its key */
        *mark = 0;
        if (strspn(mark + 1, "0123456789abcdef") != 12 || mark[13])
            return cli_usage_error("--job %.60s: is no name of a job", name);
    }
    if (strlen(name) >= sizeof plain || (!cli_batch_safe(plain, safe) && strcmp(plain, safe) != 0))
        return cli_usage_error("--job %.60s: is no name of a job", name);
    if (cli_get(b->arguments, "--print", 0) || cli_get(b->arguments, "--report", 0))
        return cli_usage_error("--job: does the job; --print and --report do not go with it");
    return 0;
}

static int cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? n : 1;
}

/* Numbers of the command line. */
static int take_numbers(cli_batch *b)
{
    static const char *const names[] = {"--jobs", "--memory", "--time-limit", "--threads"};
    double value[] = {0, 0, TIME_LIMIT_S, 0};
    char room[700];
    for (int i = 0; i < 4; i++) {
        const char *text = cli_get(b->arguments, names[i], 0);
        const char *what = cli_batch_wrong(names[i], text, room, sizeof room);
        if (what) return cli_usage_error("%s: %s", names[i], what);
        if (text) value[i] = strtod(text, NULL);
    }
    b->at_once = (int)value[0];
    b->memory_mb = value[1];
    b->limit_s = value[2];
    b->threads = (int)value[3];
    return 0;
}

/* The folder as a whole path, made if it can be. */
static int take_folder(cli_batch *b)
{
    const char *path = cli_get(b->arguments, "-o", 0);
    struct stat st;
    if (!path) return cli_usage_error("no output: add -o OUTDIR, the folder for results");
    b->made_folder = mkdir(path, 0777) == 0;
    int reason = b->made_folder ? 0 : errno;
    if (reason == EEXIST) reason = stat(path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
    if (!reason && access(path, W_OK | X_OK) != 0) reason = errno;
    char *whole = reason ? NULL : realpath(path, NULL);
    if (!reason && !whole) reason = errno;
    if (!reason && strlen(whole) + 2 * CLI_BATCH_NAME + 64 >= CLI_BATCH_PATH) reason = ENAMETOOLONG;
    if (!reason) snprintf(b->folder, sizeof b->folder, "%s", whole);
    free(whole);
    if (!reason) return 0;
    cli_say("%.300s: cannot be the folder for results: %s", path, strerror(reason));
    return SUPPLE_ERROR_OUTPUT;
}

/* ---- the parts ---- */

static int plan(cli_batch *b)
{
    const char *input = b->arguments->operands[0], *single = cli_get(b->arguments, "--job", 0);
    cli_batch_entry entry = {0};
    b->single = single != NULL;
    bool list = !single && is_list(input);
    int code = take_entry(b->arguments, list, &entry);
    if (code == 0 && single && !(entry.name = strdup(single))) code = cli_batch_memory_error();
    if (code == 0 && single) code = check_single(b, &entry, input);
    if (code == 0) code = take_folder(b);
    if (code == 0) code = list ? cli_batch_jobs(b, input, &entry) : cli_batch_folder(b, input, &entry);
    cli_batch_entry_free(&entry);
    if (code == 0) code = cli_batch_name(b);
    for (int i = 0; i < b->job_count && code == 0; i++) {
        cli_batch_look(b, &b->job[i]);
        b->job[i].resumed = b->job[i].state == CLI_BATCH_DONE;
    }
    if (code != 0 && b->made_folder) rmdir(b->folder); /* it is empty: nothing has run */
    return code;
}

static int print_lines(const cli_batch *b)
{
    int printed = 0;
    for (int i = 0; i < b->job_count; i++) {
        cli_words words = {0};
        if (b->job[i].state == CLI_BATCH_DONE) continue;
        cli_batch_line(b, &b->job[i], &words);
        if (words.failed) return cli_batch_memory_error();
        cli_words_line(stdout, &words);
        cli_words_free(&words);
        printed++;
    }
    if (printed < b->job_count) cli_say("note: %d of %d jobs are done already", b->job_count - printed, b->job_count);
    return 0;
}

/* Those that failed before are tried again; threads are shared out. */
static void prepare(cli_batch *b)
{
    int waiting = 0, all = cores();
    for (int i = 0; i < b->job_count; i++) {
        if (b->job[i].state == CLI_BATCH_FAILED) b->job[i].state = CLI_BATCH_WAITING;
        waiting += b->job[i].state == CLI_BATCH_WAITING;
    }
    if (b->at_once == 0) b->at_once = b->threads ? (all + b->threads - 1) / b->threads : all;
    if (b->at_once > waiting) b->at_once = waiting > 0 ? waiting : 1;
    if (b->threads == 0 && !b->single) b->threads = all > b->at_once ? all / b->at_once : 1;
}

/* One line about failures: the worst of them stand in the report. */
static int tell(const cli_batch *b)
{
    int failed = 0;
    const cli_batch_job *first = NULL;
    for (int i = 0; i < b->job_count; i++) {
        if (b->job[i].state != CLI_BATCH_FAILED) continue;
        if (!first) first = &b->job[i];
        failed++;
    }
    if (b->single) return first ? (int)json_integer_value(json_object_get(first->record, "exit")) : 0;
    if (first) {
        const char *line = json_string_value(json_object_get(first->record, "line"));
        cli_say("%d of %d jobs failed; the first is %s: %.300s", failed, b->job_count, first->name, line ? line : "");
        return SUPPLE_ERROR_SOLVE;
    }
    if (b->shown)
        cli_say("%d job%s done; the report is %.300s/report.html", b->job_count, b->job_count == 1 ? "" : "s",
                b->folder);
    return 0;
}

/* Whether the reports can be written, before hours of work. */
static int check_reports(const cli_batch *b)
{
    char path[CLI_BATCH_PATH + 16];
    snprintf(path, sizeof path, "%s/report.html", b->folder);
    int code = cli_check_writable(path);
    snprintf(path, sizeof path, "%s/report.json", b->folder);
    return code ? code : cli_check_writable(path);
}

static int work(cli_batch *b)
{
    bool only_report = cli_get(b->arguments, "--report", 0) != NULL;
    if (cli_get(b->arguments, "--print", 0)) return print_lines(b);
    int code = b->single ? 0 : check_reports(b);
    if (code) return code;
    bool whole = true;
    if (!only_report) {
        prepare(b);
        whole = cli_batch_run(b);
    }
    if (b->no_memory) return cli_batch_memory_error();
    code = b->single || (!whole && cli_interrupted()) ? 0 : cli_batch_report(b);
    if (!whole) {
        cli_say("stopped; the same command goes on where this one was");
        return cli_interrupted_exit();
    }
    int failed = tell(b);
    return code ? code : failed;
}

static void release(cli_batch *b)
{
    for (int i = 0; i < b->job_count; i++) {
        cli_batch_job *job = &b->job[i];
        free(job->character);
        free(job->clip);
        free(job->clip_name);
        free(job->wanted);
        cli_words_free(&job->endings);
        cli_words_free(&job->options);
        json_decref(job->record);
    }
    for (int i = 0; i < b->character_count; i++) {
        free(b->character[i].path);
        cli_words_free(&b->character[i].clips);
        cli_words_free(&b->character[i].names);
    }
    free(b->job);
    free(b->character);
    cli_words_free(&b->methods);
    json_decref(b->contents);
}

static int run(const cli_arguments *arguments)
{
    cli_batch b = {.arguments = arguments, .start = cli_batch_now()};
    cli_progress progress;
    b.pictures = !cli_get(arguments, "--no-pictures", 0);
    if (arguments->operand_count == 0) return cli_usage_error("no input: supple batch FOLDER|JOBS.json -o OUTDIR");
    if (!cli_config(arguments, &b.config)) return 2;
    if (!cli_progress_init(&progress, cli_get(arguments, "--progress", 0))) return 2;
    b.shown = progress.shown;
    if (!cli_tool_path(b.tool, sizeof b.tool)) return cli_usage_error("the tool's own path is not known");
    b.contents = json_object();
    if (!b.contents) return cli_batch_memory_error();
    int code = take_numbers(&b);
    cli_catch_interrupt();
    if (code == 0) code = plan(&b);
    if (code == 0) code = work(&b);
    release(&b);
    return code;
}

static void print_notes(void)
{
    puts("FOLDER: its .glb, .gltf, .vrm, .fbx and .dae files, each of their clips by each method; also one such file, "
         "or "
         "demo:NAME.\nJOBS.json: {\"defaults\": {...}, \"jobs\": [{\"character\": \"hero.glb\", \"clip\": \"walk\", "
         "\"methods\": [\"mixed\"]}, ...]},\nwith the options above for keys, without their dashes; files are named "
         "from "
         "the folder of the list.\n\nA job's results are OUTDIR/JOB/. What is there already is not made again; what "
         "failed is tried again.");
}

const cli_verb cli_verb_batch = {
    .name = "batch",
    .usage = "FOLDER|JOBS.json -o OUTDIR",
    .summary = "many characters and clips as jobs, here or on any queue, with one report",
    .options = options,
    .option_count = OPTIONS,
    .operand_count = 1,
    .run = run,
    .notes = print_notes,
};
