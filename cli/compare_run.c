/* One child a method: `supple skin IN --method M ... --metrics TMP/M.json -o TMP/M.npy`. So its numbers are those of a
 * run on its own, its memory is its own, and its failure is its own too. */
#include "child.h"
#include "compare.h"
#include "compare_hear.h"
#include "progress.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 2 * CLI_MAX_VALUES + 64, TEXT = 64, ROUNDS = 3 };

/* A child's command line. Words point into the tool's own, into the scene, or into the texts here. */
typedef struct command {
    char *word[WORDS];
    int count;
    char fps[TEXT], frames[TEXT], metrics[CLI_COMPARE_PATH], output[CLI_COMPARE_PATH], trust[CLI_COMPARE_PATH];
    char clip[CLI_MAX_VALUES][16]; /* numbers of clips whose name is taken */
} command;

/* What a child is given as it was given to us. */
static const char *const passed[] = {
    "--motion",       "--map",     "--body",     "--resolution", "--part",   "--size",
    "--material",     "--forces",  "--dynamics", "--preroll",    "--loop",   "--gravity",
    "--root-inertia", "--collide", "--collider", "--threads",    "--solver", "--no-cache",
};
enum { PASSED = sizeof passed / sizeof *passed };

static void add(command *cmd, const char *word)
{
    if (cmd->count < WORDS - 1) cmd->word[cmd->count++] = (char *)word; /* posix_spawn changes none of them */
}

static void add_pair(command *cmd, const char *option, const char *value)
{
    add(cmd, option);
    add(cmd, value);
}

static bool is_passed(const char *name)
{
    for (int i = 0; i < PASSED; i++)
        if (strcmp(passed[i], name) == 0) return true;
    return false;
}

static void add_passed(command *cmd, const cli_arguments *a)
{
    for (int i = 0; i < a->value_count; i++) {
        const cli_option *o = &a->options[a->values[i].option];
        if (!is_passed(o->name)) continue;
        add(cmd, o->name);
        if (o->argument && *a->values[i].value) add(cmd, a->values[i].value);
    }
}

bool cli_compare_takes(int32_t method, const char *setting)
{
    size_t length = strcspn(setting, "=");
    if (strncmp(setting, "max-tets=", 9) == 0 || strncmp(setting, "grade=", 6) == 0) return true;
    supple_parameter p;
    for (int32_t i = 0; supple_method_parameter(method, i, &p); i++)
        if (strlen(p.name) == length && strncmp(p.name, setting, length) == 0) return true;
    return false;
}

static void add_settings(command *cmd, const cli_arguments *a, const cli_compare_method *m)
{
    const char *text;
    for (int i = 0; (text = cli_get(a, "--set", i)); i++)
        if (cli_compare_takes(m->index, text)) add_pair(cmd, "--set", text);
}

/* Whether the ranges are all clips in the file's order, for which there is one word. */
static bool is_all(const cli_compare *c)
{
    bool all = c->motion < 0 && c->range_count == supple_scene_clip_count(c->scene);
    for (int r = 0; r < c->range_count; r++) all = all && c->ranges[r].clip == r;
    return all && c->range_count > 1;
}

static void add_clips(command *cmd, const cli_compare *c)
{
    if (is_all(c)) {
        add_pair(cmd, "--clip", "all");
        return;
    }
    for (int r = 0; c->motion < 0 && r < c->range_count && r < CLI_MAX_VALUES; r++) {
        int32_t clip = c->ranges[r].clip;
        if (clip < 0) continue;
        const char *name = supple_scene_clip_name(c->scene, clip);
        if (strcmp(name, "all") == 0) { /* that word means something else */
            snprintf(cmd->clip[r], sizeof cmd->clip[r], "%d", (int)clip);
            name = cmd->clip[r];
        }
        add_pair(cmd, "--clip", name);
    }
}

/* The first of every `stride` frames, and the last, as numbers at fps / stride. */
static int32_t first_of(const supple_range *range, int32_t stride)
{
    return (range->first_frame + stride - 1) / stride;
}

static int32_t last_of(const supple_range *range, int32_t stride)
{
    return (range->first_frame + range->frame_count - 1) / stride;
}

static int32_t rows_of(const supple_range *range, int32_t stride)
{
    int32_t rows = last_of(range, stride) - first_of(range, stride) + 1;
    return rows > 0 ? rows : 0;
}

/* Every k-th frame is what a frame rate of fps / k asks for: frame i of it is frame k i. */
static void add_frames(command *cmd, const cli_compare *c, int32_t stride)
{
    const char *fps = cli_get(c->arguments, "--fps", 0), *frames = cli_get(c->arguments, "--frames", 0);
    if (stride > 1) {
        snprintf(cmd->fps, sizeof cmd->fps, "%.17g", c->fps / stride);
        fps = cmd->fps;
    }
    if (stride > 1 && frames) {
        snprintf(cmd->frames, sizeof cmd->frames, "%d:%d", (int)first_of(c->ranges, stride),
                 (int)last_of(c->ranges, stride));
        frames = cmd->frames;
    }
    if (fps) add_pair(cmd, "--fps", fps);
    if (frames) add_pair(cmd, "--frames", frames);
}

static bool make_command(command *cmd, const cli_compare *c, const cli_compare_method *m)
{
    const char *model = cli_get(c->arguments, "--model", 0);
    cmd->count = 0;
    int a = snprintf(cmd->metrics, sizeof cmd->metrics, "%s/%s.json", c->folder, m->name);
    int b = snprintf(cmd->output, sizeof cmd->output, "%s/%s.npy", c->folder, m->name);
    add(cmd, c->tool);
    add(cmd, "skin");
    add_pair(cmd, "--method", m->name);
    add_clips(cmd, c);
    add_frames(cmd, c, m->stride);
    add_passed(cmd, c->arguments);
    add_settings(cmd, c->arguments, m);
    if (model && strcmp(m->name, "subspace") == 0) add_pair(cmd, "--model", model);
    add_pair(cmd, "--progress", "always");
    add_pair(cmd, "--metrics", cmd->metrics);
    add_pair(cmd, "-o", cmd->output);
    int t = snprintf(cmd->trust, sizeof cmd->trust, "%s/%s.png", c->folder, m->name);
    if (c->output) { /* the page shows where flesh is trusted */
        add_pair(cmd, "-o", cmd->trust);
        add_pair(cmd, "--set", "show=trust");
    }
    add_pair(cmd, "--", c->input);
    cmd->word[cmd->count] = NULL;
    return a > 0 && b > 0 && t > 0 && (size_t)a < sizeof cmd->metrics && (size_t)b < sizeof cmd->output &&
           (size_t)t < sizeof cmd->trust;
}

/* ---- what a child leaves ---- */

/* A frame that was not run: its place in the clip, and null for the rest. */
static json_t *blank_frame(const json_t *like)
{
    json_t *blank = json_deep_copy(like);
    const char *key, *part;
    json_t *value, *inner;
    void *next;
    json_object_foreach_safe(blank, next, key, value)
    {
        if (strcmp(key, "clip") == 0) continue;
        if (strcmp(key, "ms") != 0) {
            json_object_set_new(blank, key, json_null());
            continue;
        }
        void *after;
        json_object_foreach_safe(value, after, part, inner) json_object_set_new(value, part, json_null());
    }
    return blank;
}

/* An entry for every frame of all clips, numbered as in the clip. False if the child did not leave one a row. */
static bool spread_frames(const cli_compare *c, cli_compare_method *m)
{
    json_t *frames = json_object_get(m->metrics, "frames"), *all = json_array();
    size_t next = 0;
    for (int r = 0; r < c->range_count; r++)
        for (int32_t k = 0; k < c->ranges[r].frame_count; k++) {
            int32_t number = c->ranges[r].first_frame + k;
            bool ran = number % m->stride == 0;
            json_t *frame = json_array_get(frames, ran ? next++ : 0);
            frame = ran ? json_incref(frame) : blank_frame(frame);
            json_object_set_new(
                frame, "clip",
                json_string(c->ranges[r].clip < 0 ? "rest" : supple_scene_clip_name(c->scene, c->ranges[r].clip)));
            json_object_set_new(frame, "frame", json_integer(number));
            json_object_set_new(frame, "time", json_real(number / c->fps));
            json_array_append_new(all, frame);
        }
    bool whole = next == json_array_size(frames) && (int)json_array_size(all) == c->frame_total;
    json_object_set_new(m->metrics, "frames", all);
    return whole;
}

/* The metrics and the files of frames. */
static bool collect(cli_compare *c, cli_compare_method *m, const command *cmd)
{
    m->metrics = json_load_file(cmd->metrics, 0, NULL);
    m->frames = calloc((size_t)c->range_count, sizeof *m->frames);
    for (int r = 0; m->frames && r < c->range_count; r++) m->frames[r].file = -1;
    if (!m->metrics || !m->frames) return false;
    if (m->stride > 1 && !spread_frames(c, m)) return false;
    if ((int)json_array_size(json_object_get(m->metrics, "frames")) != c->frame_total) return false;
    for (int r = 0; r < c->range_count; r++) {
        char path[CLI_COMPARE_PATH];
        const char *name = cmd->output;
        if (c->range_count > 1) {
            if (!supple_output_variant(cmd->output, supple_scene_clip_name(c->scene, c->ranges[r].clip), path,
                                       sizeof path))
                return false;
            name = path;
        }
        if (!cli_frames_open(&m->frames[r], name, rows_of(&c->ranges[r], m->stride))) return false;
    }
    return true;
}

/* ---- the runs ---- */

static int32_t rows_at(const cli_compare *c, int32_t stride)
{
    int32_t rows = 0;
    for (int r = 0; r < c->range_count; r++) rows += rows_of(&c->ranges[r], stride);
    return rows;
}

static int run_once(cli_compare *c, cli_compare_method *m, int number, cli_hearing *h, command *cmd)
{
    snprintf(h->label, sizeof h->label, "%d/%d %s", number + 1, c->method_count, m->name);
    h->shown = c->shown;
    h->rows = rows_at(c, m->stride);
    h->start = cli_compare_now();
    if (!make_command(cmd, c, m)) return cli_usage_error("the folder for temporary files has too long a path");
    cli_listener listener = {cli_hear, h};
    int code = cli_child_run(c->tool, cmd->word, &listener);
    cli_progress_wipe();
    return code;
}

/* The smallest stride whose frames fit into the time, by what was seen of a run of all frames. Frames farther apart
 * take longer: twice as long as neighbours, and about as the square root of their distance, but hardly longer than the
 * first, which starts from nothing. At least two frames are left. */
static int32_t fitting_stride(const cli_compare *c, const cli_hearing *h, double seconds)
{
    double frame = cli_hear_frame_s(h), first = fmax(h->first_s, frame);
    int32_t stride = 2;
    for (; rows_at(c, stride + 1) >= 2 && stride < c->frame_total; stride++) {
        double each = fmin(frame * fmax(2, sqrt((double)stride)), first);
        if (first + (rows_at(c, stride) - 1) * each <= seconds) break;
    }
    return stride;
}

/* The reference: whole clips if they fit into its time, else every second, third... frame. A run that is ended late
 * leaves at least a third of the time for the next; and since frames differ, one that has fewer frames already may take
 * twice its time before it is given up for one with fewer still. */
static int run_limited(cli_compare *c, cli_compare_method *m, int number, cli_hearing *h, command *cmd)
{
    for (int round = 0; round < ROUNDS; round++) {
        *h = (cli_hearing){.limit_s = (round ? 2 : 1) * c->reference_s};
        int code = run_once(c, m, number, h, cmd);
        if (!h->over || cli_child_stopped()) return code;
        double left = fmax(c->reference_s - (cli_compare_now() - h->start), c->reference_s / 3);
        m->stride = round ? 3 * m->stride : fitting_stride(c, h, left);
        if (rows_at(c, m->stride) < 1) break;
    }
    m->stride = 1;
    snprintf(h->last, sizeof h->last, "did not get far enough within %g s; --reference-time SECONDS allows more, 0 any",
             c->reference_s);
    return SUPPLE_ERROR_SOLVE;
}

/* Notes on a run that came to its end. */
static void note_run(cli_compare *c, cli_compare_method *m, const cli_hearing *h)
{
    if (m->stride > 1)
        cli_compare_note(m, "run on one frame in %d (%d of %d) to stay within %g s; --reference-time SECONDS sets it",
                         (int)m->stride, (int)rows_at(c, m->stride), c->frame_total, c->reference_s);
    if (*h->frame_warnings) cli_compare_note(m, "%s", h->frame_warnings);
    const char *text;
    for (int i = 0; (text = cli_get(c->arguments, "--set", i)); i++)
        if (!cli_compare_takes(m->index, text))
            cli_compare_note(m, "has no parameter %.*s", (int)strcspn(text, "="), text);
    for (int i = 0; i < h->setup_count; i++) cli_compare_tell(c, "%s", h->setup_warning[i]);
}

static int run_method(cli_compare *c, int number, char *reason, size_t size)
{
    cli_compare_method *m = &c->method[number];
    static cli_hearing h; /* large */
    static command cmd;
    h = (cli_hearing){.limit_s = INFINITY};
    m->stride = 1;
    bool limited = strcmp(m->name, "reference") == 0 && c->reference_s > 0;
    int code = limited ? run_limited(c, m, number, &h, &cmd) : run_once(c, m, number, &h, &cmd);
    if (cli_child_stopped()) return cli_child_stopped_exit();
    m->ran = code == 0 && collect(c, m, &cmd);
    if (m->ran) {
        note_run(c, m, &h);
        return 0;
    }
    const char *why = *h.last ? h.last : "its output could not be read";
    if (code > 128 && !h.over) /* no line of its own */
        snprintf(h.last, sizeof h.last, "was ended by signal %d (%s)", code - 128, strsignal(code - 128)), why = h.last;
    cli_compare_note(m, "%s", why);
    snprintf(reason, size, "%.20s: %.200s", m->name, why);
    return code ? code : SUPPLE_ERROR_SOLVE;
}

int cli_compare_run(cli_compare *c)
{
    char first_reason[256] = "", reason[256];
    int first_code = 0, ran = 0;
    for (int i = 0; i < c->method_count; i++) {
        int code = run_method(c, i, reason, sizeof reason);
        if (cli_child_stopped()) return cli_child_stopped_exit();
        if (code == 0) ran++;
        if (code == 0 || first_code) continue;
        first_code = code > 128 ? SUPPLE_ERROR_SOLVE : code;
        memcpy(first_reason, reason, sizeof first_reason);
    }
    if (ran > 0) return 0;
    cli_say("no method ran: %s", first_reason);
    return first_code;
}
