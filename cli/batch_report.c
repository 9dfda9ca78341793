/* The report: every job's record, the worst first, as JSON and as a page. It is made of records alone, so that it is
 * the same whoever ran the jobs. */
#include "batch.h"

#include "compare_blobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_METRICS = 1 << 30 };

static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *whole(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

/* ---- one job's numbers ---- */

typedef struct extreme {
    const char *key;
    bool least, count;
} extreme;

/* The worst of all frames. */
static const extreme extremes[] = {
    {"crossed", false, true},    {"max_penetration", false, false},
    {"max_fold", false, false},  {"own_penetration", false, false},
    {"inverted", false, true},   {"max_strain", false, false},
    {"residual", false, false},  {"trust", true, false},
    {"yield_deg", false, false}, {"yield_m", false, false},
};
static const extreme harms[] = {
    {"torn", false, true},    {"stretched", false, false}, {"folded", false, false}, {"lost", false, false},
    {"cracks", false, false}, {"far", false, false},       {"strain", false, false},
};

static double worst(const json_t *frames, const char *within, const extreme *e)
{
    const json_t *frame;
    double value = NAN;
    size_t i;
    json_array_foreach(frames, i, frame)
    {
        double x = number(json_object_get(within ? json_object_get(frame, within) : frame, e->key));
        value = e->least ? fmin(value, x) : fmax(value, x);
    }
    return value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_ms(const json_t *frames)
{
    size_t n = 0, i;
    const json_t *frame;
    double *ms = calloc(json_array_size(frames) + 1, sizeof *ms), median = NAN;
    if (!ms) return NAN;
    json_array_foreach(frames, i, frame)
    {
        double t = number(json_object_get(json_object_get(frame, "ms"), "total"));
        if (isfinite(t)) ms[n++] = t;
    }
    qsort(ms, n, sizeof *ms, by_value);
    if (n > 0) median = n % 2 ? ms[n / 2] : 0.5 * (ms[n / 2 - 1] + ms[n / 2]);
    free(ms);
    return median;
}

static int worse_frames(const json_t *frames)
{
    const json_t *frame;
    size_t i;
    int count = 0;
    json_array_foreach(frames, i, frame) count +=
        json_is_string(json_object_get(json_object_get(frame, "harm"), "worse"));
    return count;
}

json_t *cli_batch_summary(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || st.st_size > LARGEST_METRICS) return NULL;
    json_t *metrics = json_load_file(path, 0, NULL), *s = json_object(), *harm = json_object();
    const json_t *frames = json_object_get(metrics, "frames");
    if (!json_is_array(frames) || !s || !harm) {
        json_decref(metrics);
        json_decref(s);
        json_decref(harm);
        return NULL;
    }
    const char *method = json_string_value(json_object_get(metrics, "method"));
    json_object_set_new(s, "method", method ? json_string(method) : json_null());
    json_object_set(s, "input", json_object_get(metrics, "input"));
    json_object_set_new(s, "size_m", real(number(json_object_get(json_object_get(metrics, "body"), "size_m"))));
    json_object_set_new(s, "tets", whole(number(json_object_get(json_object_get(metrics, "body"), "tets"))));
    json_object_set_new(s, "frames", json_integer((json_int_t)json_array_size(frames)));
    json_object_set_new(s, "setup_ms", real(number(json_object_get(json_object_get(metrics, "setup_ms"), "total"))));
    json_object_set_new(s, "ms_median", real(median_ms(frames)));
    json_object_set_new(s, "worse", json_integer(worse_frames(frames)));
    for (size_t i = 0; i < sizeof extremes / sizeof *extremes; i++) {
        double x = worst(frames, NULL, &extremes[i]);
        json_object_set_new(s, extremes[i].key, extremes[i].count ? whole(x) : real(x));
    }
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        double x = worst(frames, "harm", &harms[i]);
        json_object_set_new(harm, harms[i].key, harms[i].count ? whole(x) : real(x));
    }
    json_object_set_new(s, "harm", harm);
    json_decref(metrics);
    return s;
}

/* ---- all of them, the worst first ---- */

/* What failed; frames that are worse than the file's own skinning; flesh in flesh, by the character's size; flesh that
 * is not trusted. */
static void rank_of(const cli_batch_job *job, double rank[4])
{
    const json_t *s = json_object_get(job->record, "summary");
    double frames = number(json_object_get(s, "frames")), size = number(json_object_get(s, "size_m"));
    double depth = number(json_object_get(s, "max_penetration"));
    rank[0] = job->state == CLI_BATCH_FAILED ? 2 : job->state == CLI_BATCH_DONE ? 0 : 1;
    rank[1] = fmax(0, number(json_object_get(s, "worse")) / frames);
    rank[2] = fmax(0, size > 0 ? depth / size : depth);
    rank[3] = fmax(0, 1 - number(json_object_get(s, "trust")));
}

static int by_rank(const void *a, const void *b)
{
    const cli_batch_job *x = *(cli_batch_job *const *)a, *y = *(cli_batch_job *const *)b;
    double p[4], q[4];
    rank_of(x, p);
    rank_of(y, q);
    for (int i = 0; i < 4; i++)
        if (p[i] > q[i] || p[i] < q[i]) return p[i] > q[i] ? -1 : 1;
    return strcmp(x->name, y->name);
}

static const char *const state_names[] = {"waiting", "waiting", "done", "failed"};

/* A record as the report has it: with its state, and every key there. */
static json_t *entry_of(const cli_batch_job *job)
{
    static const char *const keys[] = {"line", "summary", "files"};
    json_t *e = job->record ? json_deep_copy(job->record) : json_object();
    if (!e) return NULL;
    if (!job->record) {
        char name[CLI_BATCH_LINE];
        const char *slash = strrchr(job->character, '/');
        snprintf(name, sizeof name, "%s", slash ? slash + 1 : job->character);
        supple_text_clean(name);
        json_object_set_new(e, "name", json_string(job->name));
        json_object_set_new(e, "character", json_string(name));
        json_object_set_new(e, "clip", job->clip_name ? json_string(job->clip_name) : json_null());
        json_object_set_new(e, "method", json_string(job->method));
        json_object_set_new(e, "told", json_array());
        json_object_set_new(e, "exit", json_null());
    }
    for (int i = 0; i < 3; i++)
        if (!json_object_get(e, keys[i])) json_object_set_new(e, keys[i], json_null());
    json_object_set_new(e, "state", json_string(state_names[job->state]));
    return e;
}

static json_t *command_of(const cli_batch *b)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const cli_arguments *a = b->arguments;
    if (!out) return json_null();
    fputs("supple batch ", out);
    cli_words_quote(out, a->operands[0]);
    for (int i = 0; i < a->value_count; i++) {
        const cli_option *o = &a->options[a->values[i].option];
        if (strcmp(o->name, "--report") == 0) continue;
        fprintf(out, " %s", o->name);
        if (o->argument && *a->values[i].value) {
            putc(' ', out);
            cli_words_quote(out, a->values[i].value);
        }
    }
    json_t *command = NULL;
    if (fclose(out) == 0 && text) {
        supple_text_clean(text);
        command = json_string(text);
    }
    free(text);
    return command ? command : json_null();
}

static json_t *make_report(const cli_batch *b, cli_batch_job *const *order)
{
    int count[4] = {0};
    double seconds = 0, processor = 0;
    json_t *jobs = json_array();
    for (int i = 0; i < b->job_count; i++) {
        const cli_batch_job *job = order[i];
        count[job->state]++;
        seconds += fmax(0, number(json_object_get(job->record, "seconds")));
        processor += fmax(0, number(json_object_get(job->record, "processor_s")));
        json_array_append_new(jobs, entry_of(job));
    }
    json_t *counts = json_pack("{s:i,s:i,s:i,s:i}", "jobs", b->job_count, "done", count[CLI_BATCH_DONE], "failed",
                               count[CLI_BATCH_FAILED], "waiting", count[CLI_BATCH_WAITING] + count[CLI_BATCH_RUNNING]);
    json_t *report = json_pack("{s:s,s:o,s:o,s:f,s:f,s:o}", "supple", supple_version(), "command", command_of(b),
                               "counts", counts, "seconds", seconds, "processor_s", processor, "jobs", jobs);
    return report && json_array_size(jobs) == (size_t)b->job_count ? report : NULL;
}

static int write_text(const cli_batch *b, const char *name, const char *text, size_t size)
{
    char path[CLI_BATCH_PATH];
    supple_error error;
    snprintf(path, sizeof path, "%.*s/%s", CLI_BATCH_PATH - 32, b->folder, name);
    return supple_bytes_write(path, text, size, &error) == SUPPLE_OK ? 0 : cli_fail(&error);
}

int cli_batch_report(cli_batch *b)
{
    size_t size = 0;
    cli_batch_job **order = calloc((size_t)b->job_count + 1, sizeof *order);
    for (int i = 0; order && i < b->job_count; i++) order[i] = &b->job[i];
    if (order) qsort(order, (size_t)b->job_count, sizeof *order, by_rank);
    json_t *report = order ? make_report(b, order) : NULL;
    char *text = report ? json_dumps(report, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    char *page = report ? cli_batch_page(b, report, order, &size) : NULL;
    int code = text && page ? 0 : cli_batch_memory_error();
    if (code == 0) code = write_text(b, "report.json", text, strlen(text));
    if (code == 0) code = write_text(b, "report.html", page, size);
    free(text);
    free(page);
    free(order);
    json_decref(report);
    return code;
}
