#include "compare.h"

#include "beside.h"
#include "child.h"
#include "dynamics_options.h"
#include "hints.h"
#include "progress.h"
#include "ranges.h"
#include "solver.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static const cli_option options[] = {
    {"-o", "REPORT.html", "the page to write", false},
    {"--methods", "A,B,...", "methods to compare (all that apply)", false},
    {"--clips", "A,B|all", "clips by name or index (the first one)", false},
    {"--model", "FILE.supple", "a trained model (`supple train`): method subspace takes part", false},
    {"--json", NULL, "print the report as JSON, without pictures and positions", false},
    {"--reference-time", "S", "seconds for reference: beyond, every 2nd, 3rd... frame (150; 0: no limit)", false},
    {"--page-limit", "MB", "how large the page may be: the player then has fewer frames (60)", false},
    {"--motion", "FILE.bvh", "a motion from elsewhere, put onto the skeleton", false},
    {"--map", "FILE.json", "which joint of a .bvh moves which joint (by their names)", false},
    {"--fps", "N", "frames per second (the motion's or the file's own, else 30)", false},
    {"--frames", "A:B", "frames A to B, both included, from 0, up to the clip's end (the whole clip)", false},
    {"--body", "KIND", "tets, prism, or a file of your own tetrahedra (tets)", false},
    {"--resolution", "N", "cells along the body's longest axis (chosen by the thinnest limbs)", false},
    {"--part", "NAME=ROLE", "role of a part, by name or number: flesh, follow, own, rigid or skip (by its shape)",
     true},
    {"--size", "METRES", "the character's diagonal for the solver; file: as the file's unit says (by its rig)", false},
    {"--material", "FILE.json", "stiffness and density by region (one soft tissue)", false},
    {"--forces", "FILE.json", "external forces on the flesh (none)", false},
    CLI_DYNAMICS_OPTIONS,
    {"--set", "KEY=VALUE", "a parameter, for the methods that have it; max-tets=N and grade=on for all", true},
    {"--threads", "N", "threads (one per core); results do not depend on it", false},
    {"--progress", "MODE", "auto, always or never (auto: on a terminal)", false},
    CLI_VERBOSE_OPTION,
    CLI_SOLVER_OPTION,
    {"--no-cache", NULL, "make bodies afresh and keep nothing", false},
};

static const char *const order[] = {"linear", "dualquat", "mixed", "projective", "steklov", "subspace", "reference"};
enum { ORDER = sizeof order / sizeof *order };
/* A page is mailed and kept. */
static const double REFERENCE_S = 150, PAGE_MB = 60;

double cli_compare_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_compare_tell(cli_compare *c, const char *format, ...)
{
    if (c->note_count == CLI_COMPARE_NOTES) return;
    char *note = c->notes[c->note_count];
    va_list args;
    va_start(args, format);
    vsnprintf(note, CLI_COMPARE_NOTE, format, args);
    va_end(args);
    for (int i = 0; i < c->note_count; i++)
        if (strcmp(c->notes[i], note) == 0) return; /* every method makes the same body */
    c->note_count++;
}

void cli_compare_note(cli_compare_method *m, const char *format, ...)
{
    size_t used = strlen(m->note);
    if (used > 0) used += (size_t)snprintf(m->note + used, sizeof m->note - used, "; ");
    if (used >= sizeof m->note) return;
    va_list args;
    va_start(args, format);
    vsnprintf(m->note + used, sizeof m->note - used, format, args);
    va_end(args);
}

int cli_compare_fail(const supple_error *error)
{
    return error->code == SUPPLE_ERROR_CANCELLED ? cli_child_stopped_exit() : cli_fail(error);
}

const cli_compare_method *cli_compare_reference(const cli_compare *c)
{
    for (int i = 0; i < c->method_count; i++)
        if (c->method[i].ran && strcmp(c->method[i].name, "reference") == 0) return &c->method[i];
    return NULL;
}

/* ---- what was asked for ---- */

static int add_method(cli_compare *c, const char *name, size_t length)
{
    for (int32_t i = 0; i < supple_method_count(); i++) {
        const char *known = supple_method_name(i);
        if (strlen(known) != length || strncmp(known, name, length) != 0) continue;
        for (int k = 0; k < c->method_count; k++)
            if (c->method[k].index == i) return cli_usage_error("--methods: %s is given twice", known);
        if (strcmp(known, "none") == 0)
            return cli_usage_error("--methods: none plays a vertex animation; there is nothing to compare");
        if (strcmp(known, "subspace") == 0 && !cli_get(c->arguments, "--model", 0))
            return cli_usage_error("--methods: subspace needs a trained model: --model FILE.supple (`supple train`)");
        c->method[c->method_count++] =
            (cli_compare_method){.name = known, .summary = supple_method_summary(i), .index = i, .stride = 1};
        return 0;
    }
    char list[200] = "";
    for (int32_t i = 0; i < supple_method_count(); i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", supple_method_name(i));
    }
    return cli_usage_error("--methods: there is no method '%.*s'; there are %s", (int)(length < 40 ? length : 40), name,
                           list);
}

static int choose_methods(cli_compare *c)
{
    const char *list = cli_get(c->arguments, "--methods", 0);
    bool model = cli_get(c->arguments, "--model", 0) != NULL;
    int code = 0;
    for (int i = 0; !list && i < ORDER && code == 0; i++)
        if (model || strcmp(order[i], "subspace") != 0) code = add_method(c, order[i], strlen(order[i]));
    while (list && code == 0) {
        size_t length = strcspn(list, ",");
        if (c->method_count == CLI_COMPARE_METHODS) return cli_usage_error("--methods: too many");
        code = add_method(c, list, length);
        list = list[length] ? list + length + 1 : NULL;
    }
    return code;
}

/* A setting that no method has is a mistake; one that some do not have is told in their notes. */
static int check_settings(const cli_compare *c)
{
    const char *text;
    for (int i = 0; (text = cli_get(c->arguments, "--set", i)); i++) {
        bool taken = false;
        if (!strchr(text, '=') || *text == '=') return cli_usage_error("--set %.60s: takes KEY=VALUE", text);
        for (int k = 0; k < c->method_count; k++) taken = taken || cli_compare_takes(c->method[k].index, text);
        if (!taken) return cli_usage_error("--set %.60s: no method that is compared has it", text);
    }
    return 0;
}

static void find_template(cli_compare *c)
{
    static const char *const folders[] = {"report", SUPPLE_DATA_FROM_BIN "/supple", NULL};
    if (!cli_beside(folders, "report.html", c->template_path, sizeof c->template_path)) c->template_path[0] = 0;
}

/* Everything about the page that can be wrong is told before the work begins. */
static int check_output(cli_compare *c)
{
    const char *path = c->output;
    if (!path && !c->json) return cli_usage_error("no output: add -o REPORT.html, or --json");
    if (!path) return 0;
    size_t n = strlen(path);
    if (n < 5 || strcasecmp(path + n - 5, ".html") != 0)
        return cli_usage_error("%.200s: the report is a page: its name ends in .html", path);
    find_template(c);
    return cli_check_writable(path);
}

/* --clips as one name, for a name may have commas in it, else as several. The words are cut in `words`. */
static int read_clips(const cli_compare *c, char *words, size_t size, cli_range_request *request)
{
    const char *list = cli_get(c->arguments, "--clips", 0);
    if (!list) return 0;
    if (c->motion >= 0) return cli_usage_error("--clips and --motion: give one of them");
    if ((size_t)snprintf(words, size, "%s", list) >= size) return cli_usage_error("--clips: too long");
    if (supple_scene_clip_find(c->scene, list) >= 0) {
        request->clips[request->clip_count++] = words;
        return 0;
    }
    for (char *word = words; word;) {
        char *comma = strchr(word, ',');
        if (comma) *comma++ = 0;
        request->clips[request->clip_count++] = word;
        word = comma;
        if (word && request->clip_count == CLI_MAX_VALUES)
            return cli_usage_error("--clips: more than %d; `all` is all", CLI_MAX_VALUES);
    }
    return 0;
}

/* Children write a file a clip, named after it. */
static int check_names(const cli_compare *c)
{
    char a[CLI_COMPARE_PATH], b[CLI_COMPARE_PATH];
    for (int r = 0; c->range_count > 1 && r < c->range_count; r++)
        for (int k = 0; k < r; k++) {
            const char *x = supple_scene_clip_name(c->scene, c->ranges[r].clip);
            const char *y = supple_scene_clip_name(c->scene, c->ranges[k].clip);
            if (!supple_output_variant("x", x, a, sizeof a) || !supple_output_variant("x", y, b, sizeof b)) continue;
            if (strcmp(a, b) == 0)
                return cli_usage_error("--clips: %.60s and %.60s are one file name; compare them one by one", y, x);
        }
    return 0;
}

static int choose_frames(cli_compare *c)
{
    char words[1024];
    cli_range_request request = {
        .option = "--clips", .motion = c->motion, .frames = cli_get(c->arguments, "--frames", 0)};
    if (c->motion >= 0 && !cli_get(c->arguments, "--fps", 0)) c->fps = supple_scene_clip_fps(c->scene, c->motion);
    request.fps = c->fps;
    int code = read_clips(c, words, sizeof words, &request);
    if (code == 0) code = cli_choose_ranges(c->scene, &request, &c->config, &c->ranges, &c->range_count);
    for (int r = 0; code == 0 && r < c->range_count; r++) c->frame_total += c->ranges[r].frame_count;
    return code == 0 ? check_names(c) : code;
}

static bool keep_going(void *user, const char *stage, double fraction)
{
    (void)user, (void)stage, (void)fraction;
    return !cli_child_stopped();
}

static int read_numbers(cli_compare *c)
{
    const char *fps = cli_get(c->arguments, "--fps", 0), *seconds = cli_get(c->arguments, "--reference-time", 0);
    c->reference_s = REFERENCE_S;
    if (fps && !cli_number(fps, 1e-3, 1e4, &c->fps))
        return cli_usage_error("--fps %.40s: takes a number from 0.001 to 10000", fps);
    if (seconds && !cli_number(seconds, 0, 1e6, &c->reference_s))
        return cli_usage_error("--reference-time %.40s: takes seconds, 0 for no limit", seconds);
    const char *size = cli_get(c->arguments, "--page-limit", 0);
    c->page_mb = PAGE_MB;
    if (size && !cli_number(size, 0.1, 1000, &c->page_mb))
        return cli_usage_error("--page-limit %.40s: takes megabytes from 0.1 to 1000", size);
    cli_progress progress;
    if (!cli_config(c->arguments, &c->config) || !cli_progress_init(&progress, cli_get(c->arguments, "--progress", 0)))
        return 2;
    c->shown = progress.shown;
    c->config.progress = keep_going;
    return 0;
}

static int load(cli_compare *c)
{
    supple_error error;
    supple_motion motion = {.path = cli_get(c->arguments, "--motion", 0),
                            .map_path = cli_get(c->arguments, "--map", 0)};
    if (supple_scene_load_file(c->input, &c->config, &c->scene, &error) != SUPPLE_OK) return cli_compare_fail(&error);
    if (supple_scene_skin_count(c->scene) == 0) {
        cli_say("%.120s: no skin: nothing binds the mesh to a skeleton; export it with its armature", c->input);
        return SUPPLE_ERROR_INPUT;
    }
    if (!(c->fps > 0)) c->fps = supple_scene_fps(c->scene);
    if (motion.path && supple_scene_add_motion(c->scene, &motion, &c->config, &c->motion, &error) != SUPPLE_OK)
        return cli_compare_fail(&error);
    if (supple_scene_inspect(c->scene, &c->config, &c->report, &error) != SUPPLE_OK) return cli_compare_fail(&error);
    return 0;
}

/* What a unit of the file is in the solver: by the rig, or as --size says. */
static void find_metre(cli_compare *c)
{
    const supple_report *r = c->report;
    const char *given = cli_get(c->arguments, "--size", 0);
    c->size_m = r->size_m;
    if (given && strcmp(given, "file") == 0)
        c->size_m = r->file_m;
    else if (given)
        cli_number(given, 1e-6, 1e6, &c->size_m);
    c->metre = r->size_m > 0 ? r->metre * c->size_m / r->size_m : r->metre;
}

static int check_motion(const cli_compare *c)
{
    const char *path = cli_get(c->arguments, "--motion", 0);
    size_t n = path ? strlen(path) : 0;
    if (n > 4 && strcasecmp(path + n - 4, ".pc2") == 0)
        return cli_usage_error("--motion %.100s: a vertex animation leaves methods nothing to do; takes a .bvh", path);
    return !path && cli_get(c->arguments, "--map", 0) ? cli_usage_error("--map: goes with --motion FILE.bvh") : 0;
}

static int prepare(cli_compare *c)
{
    if (c->arguments->operand_count == 0) return cli_usage_error("no input: supple compare IN -o REPORT.html");
    c->input = c->arguments->operands[0];
    c->output = cli_get(c->arguments, "-o", 0);
    c->json = cli_get(c->arguments, "--json", 0) != NULL;
    int code = choose_methods(c);
    if (code == 0) code = check_settings(c);
    if (code == 0) code = check_motion(c);
    if (code == 0) code = read_numbers(c);
    if (code == 0) code = check_output(c);
    if (code == 0 && !cli_tool_path(c->tool, sizeof c->tool))
        code = cli_usage_error("the tool does not find itself, so it cannot start the methods");
    if (code == 0) code = load(c);
    if (code == 0) code = choose_frames(c);
    if (code == 0) find_metre(c);
    return code;
}

/* ---- the folder for the children's files ---- */

static int make_folder(cli_compare *c)
{
    const char *where = getenv("TMPDIR");
    if (!where || !*where) where = "/tmp";
    int length = snprintf(c->folder, sizeof c->folder, "%s/supple-compare-XXXXXX", where);
    if (length > 0 && (size_t)length < sizeof c->folder && mkdtemp(c->folder)) return 0;
    int reason = (size_t)length < sizeof c->folder ? errno : ENAMETOOLONG;
    c->folder[0] = 0;
    cli_say("%.200s: no folder for temporary files can be made there: %s (TMPDIR names another)", where,
            strerror(reason));
    return SUPPLE_ERROR_OUTPUT;
}

/* Whatever is in it is the children's. */
static void remove_folder(cli_compare *c)
{
    if (!c->folder[0]) return;
    DIR *folder = opendir(c->folder);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
    rmdir(c->folder);
    c->folder[0] = 0;
}

/* ---- the report ---- */

static int print_json(const cli_compare *c)
{
    json_t *report = cli_compare_json(c, false);
    char *text = cli_compare_text(report);
    int code = 0;
    if (!text)
        code = cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the report"});
    else
        puts(text); /* whether it arrives, main() sees */
    free(text);
    json_decref(report);
    return code;
}

/* On a terminal, where the progress was: what there is now, and what it says. */
static void tell_written(const cli_compare *c)
{
    cli_advice advice;
    bool advised = cli_compare_advice(c, &advice);
    cli_progress_wipe();
    cli_say("wrote %.200s%s%s", c->output, advised ? ". " : "", advised ? advice.summary : "");
}

/* What the page will not have is told before the work begins, and on the page. */
static void tell_plain(cli_compare *c)
{
    static const char how[] =
        "the page has pictures and tables, but no player: `make report` in Supple's sources builds it";
    cli_compare_tell(c, "%s", how);
    cli_say("note: %s", how);
}

static int work(cli_compare *c)
{
    int code = make_folder(c);
    if (code == 0 && c->output && !*c->template_path) tell_plain(c);
    if (code == 0) code = cli_compare_run(c);
    if (code == 0) code = cli_compare_errors(c);
    if (code == 0 && c->output) code = *c->template_path ? cli_compare_page(c) : cli_compare_plain(c);
    if (code == 0 && cli_child_stopped()) code = cli_child_stopped_exit();
    if (code == 0 && c->output && c->shown) tell_written(c);
    remove_folder(c); /* before a pipe that nobody reads may end the tool */
    return code == 0 && c->json ? print_json(c) : code;
}

static void release(cli_compare *c)
{
    for (int i = 0; i < c->method_count; i++) {
        cli_compare_method *m = &c->method[i];
        for (int r = 0; m->frames && r < c->range_count; r++) cli_frames_close(&m->frames[r]);
        free(m->frames);
        free(m->error_mean);
        free(m->error_max);
        json_decref(m->metrics);
        json_decref(m->positions);
    }
    remove_folder(c);
    cli_blobs_cut(&c->blobs, 0);
    json_decref(c->views);
    json_decref(c->mesh);
    supple_report_destroy(c->report);
    supple_scene_destroy(c->scene);
    free(c->ranges);
    free(c);
}

static int run(const cli_arguments *arguments)
{
    cli_compare *c = calloc(1, sizeof *c);
    if (!c) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory"});
    c->arguments = arguments;
    c->motion = -1;
    c->start = cli_compare_now();
    cli_child_catch();
    int code = prepare(c);
    if (code == 0) code = work(c);
    cli_progress_wipe();
    if (code && code == cli_child_stopped_exit()) fputs("supple: cancelled; nothing was written\n", stderr);
    release(c);
    return code;
}

static void print_notes(void)
{
    puts("IN: a .glb, .gltf, .vrm, .fbx or .dae file, or demo:NAME (see `supple demo`). Every method runs as `supple "
         "skin`\n"
         "does, in a process of its own: numbers are those of its --metrics. One that cannot run is in the report with "
         "its\n"
         "reason.\n\n"
         "Methods:");
    for (int32_t i = 0; i < supple_method_count(); i++)
        if (strcmp(supple_method_name(i), "none") != 0)
            printf("  %-10s %s\n", supple_method_name(i), supple_method_summary(i));
}

const cli_verb cli_verb_compare = {
    .name = "compare",
    .usage = "IN -o REPORT.html [--json]",
    .summary = "every method side by side: pictures, a 3D player, curves, a recommendation",
    .options = options,
    .option_count = sizeof options / sizeof *options,
    .operand_count = 1,
    .run = run,
    .notes = print_notes,
};
