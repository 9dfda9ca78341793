/* The report as JSON: what a page shows, and what --json prints. */
#include "compare.h"
#include "dynamics_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Bytes of the UTF-8 sequence that a text begins with; 0 where there is none. */
static size_t sequence(const char *t)
{
    unsigned char c = (unsigned char)*t;
    size_t count = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    for (size_t i = 1; i < count; i++)
        if (((unsigned char)t[i] & 0xc0) != 0x80) return 0;
    return count;
}

json_t *cli_compare_string(const char *t)
{
    json_t *value = json_string(t);
    char *copy = value ? NULL : strdup(t);
    for (char *at = copy; at && *at;) {
        size_t count = sequence(at);
        if (count == 0) *at = '?';
        at += count ? count : 1;
    }
    if (copy) value = json_string(copy);
    free(copy);
    return value ? value : json_string("?");
}

/* ---- the table ---- */

static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double worst_joint(const json_t *frame)
{
    json_t *joints = json_object_get(frame, "joint_volume");
    const char *key;
    json_t *value;
    double least = NAN;
    json_object_foreach(joints, key, value) least = fmin(least, number(value));
    return least;
}

static void summarise_times(const json_t *frames, cli_summary *s)
{
    size_t n = 0, i;
    json_t *frame;
    double *ms = calloc(json_array_size(frames) + 1, sizeof *ms);
    if (!ms) return;
    json_array_foreach(frames, i, frame)
    {
        double t = number(json_object_get(json_object_get(frame, "ms"), "total"));
        if (isfinite(t)) ms[n++] = t;
    }
    qsort(ms, n, sizeof *ms, by_value);
    if (n > 0) {
        s->ms_min = ms[0];
        s->ms_max = ms[n - 1];
        s->ms_median = n % 2 ? ms[n / 2] : 0.5 * (ms[n / 2 - 1] + ms[n / 2]);
    }
    free(ms);
}

void cli_compare_summarise(const cli_compare *c, const cli_compare_method *m, cli_summary *s)
{
    *s = (cli_summary){.name = m->name,
                       .ran = m->ran,
                       .setup_ms = NAN,
                       .body_ms = NAN,
                       .ms_median = NAN,
                       .ms_min = NAN,
                       .ms_max = NAN,
                       .peak_mb = NAN,
                       .penetration = NAN,
                       .fold = NAN,
                       .crossed = NAN,
                       .joint_volume = NAN,
                       .strain = NAN,
                       .inverted = NAN,
                       .error_mean = NAN,
                       .error_max = NAN,
                       .trust = NAN,
                       .yield_deg = NAN,
                       .yield_m = NAN};
    if (!m->ran) return;
    const json_t *setup = json_object_get(m->metrics, "setup_ms"), *frames = json_object_get(m->metrics, "frames");
    s->setup_ms = number(json_object_get(setup, "total"));
    s->body_ms = number(json_object_get(setup, "body"));
    s->peak_mb = number(json_object_get(m->metrics, "peak_mb"));
    summarise_times(frames, s);
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame)
    {
        s->penetration = fmax(s->penetration, number(json_object_get(frame, "max_penetration")));
        s->fold = fmax(s->fold, number(json_object_get(frame, "max_fold")));
        s->crossed = fmax(s->crossed, number(json_object_get(frame, "crossed")));
        s->strain = fmax(s->strain, number(json_object_get(frame, "max_strain")));
        s->inverted = fmax(s->inverted, number(json_object_get(frame, "inverted")));
        s->joint_volume = fmin(s->joint_volume, worst_joint(frame));
        s->trust = fmin(s->trust, number(json_object_get(frame, "trust")));
        s->yield_deg = fmax(s->yield_deg, number(json_object_get(frame, "yield_deg")));
        s->yield_m = fmax(s->yield_m, number(json_object_get(frame, "yield_m")));
        s->worse += json_is_string(json_object_get(json_object_get(frame, "harm"), "worse"));
    }
    double sum = 0;
    int count = 0;
    for (int k = 0; m->error_mean && k < c->frame_total; k++) {
        if (!isfinite(m->error_mean[k])) continue;
        sum += m->error_mean[k];
        count++;
        s->error_max = fmax(s->error_max, m->error_max[k]);
    }
    if (count > 0) s->error_mean = sum / count;
}

static json_t *whole(double value)
{
    return isfinite(value) ? json_integer((json_int_t)value) : json_null();
}

static json_t *table_of(const cli_summary *s)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "setup_ms", real(s->setup_ms),
                     "body_ms", real(s->body_ms), "ms_median", real(s->ms_median), "ms_min", real(s->ms_min), "ms_max",
                     real(s->ms_max), "peak_mb", real(s->peak_mb), "max_penetration", real(s->penetration), "max_fold",
                     real(s->fold), "crossed", whole(s->crossed), "min_joint_volume", real(s->joint_volume),
                     "max_strain", real(s->strain), "inverted", whole(s->inverted), "error_mean", real(s->error_mean),
                     "error_max", real(s->error_max), "trust", real(s->trust), "worse",
                     isfinite(s->trust) ? json_integer((json_int_t)s->worse) : json_null());
}

/* Null where limbs were not asked to yield. */
static json_t *with_yield(json_t *table, const cli_summary *s)
{
    json_object_set_new(table, "yield_deg", real(s->yield_deg));
    json_object_set_new(table, "yield_m", real(s->yield_m));
    return table;
}

/* ---- methods ---- */

static json_t *errors_of(const cli_compare *c, const cli_compare_method *m)
{
    if (!m->error_mean) return json_null();
    json_t *list = json_array();
    for (int k = 0; k < c->frame_total; k++)
        json_array_append_new(list, isfinite(m->error_mean[k])
                                        ? json_pack("{s:f,s:f}", "mean", m->error_mean[k], "max", m->error_max[k])
                                        : json_null());
    return list;
}

static json_t *method_of(const cli_compare *c, const cli_compare_method *m, bool blobs)
{
    cli_summary s;
    cli_compare_summarise(c, m, &s);
    json_t *o = json_pack("{s:s,s:s,s:o,s:i}", "name", m->name, "summary", m->summary, "note",
                          *m->note ? cli_compare_string(m->note) : json_null(), "stride", (int)m->stride);
    json_object_set_new(o, "metrics", m->ran ? json_incref(m->metrics) : json_null());
    json_object_set_new(o, "table", m->ran ? with_yield(table_of(&s), &s) : json_null());
    json_object_set_new(o, "error", errors_of(c, m));
    json_object_set_new(o, "positions", blobs && m->positions ? json_incref(m->positions) : json_null());
    return o;
}

/* ---- the rest ---- */

static json_t *clips_of(const cli_compare *c)
{
    json_t *list = json_array();
    for (int r = 0; r < c->range_count; r++) {
        const supple_range *range = &c->ranges[r];
        json_array_append_new(
            list,
            json_pack("{s:o,s:i,s:i}", "name",
                      cli_compare_string(range->clip < 0 ? "rest" : supple_scene_clip_name(c->scene, range->clip)),
                      "first_frame", (int)range->first_frame, "frames", (int)range->frame_count));
    }
    return list;
}

static json_t *machine(void)
{
    char line[256], name[256] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !*name && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, sizeof name, "%s", strchr(line, ':') + 1 + strspn(strchr(line, ':') + 1, " \t"));
            name[strcspn(name, "\n")] = 0;
        }
    if (file) fclose(file);
    return json_pack("{s:o,s:i}", "processor", *name ? cli_compare_string(name) : json_null(), "cores",
                     (int)sysconf(_SC_NPROCESSORS_ONLN));
}

static json_t *blobs_of(const cli_blobs *blobs)
{
    json_t *list = json_array();
    for (int i = 0; i < blobs->count; i++) {
        const cli_blob *b = &blobs->blob[i];
        json_array_append_new(
            list, json_pack("{s:s,s:I,s:I}", "type", b->type, "bytes", (json_int_t)b->size, "raw", (json_int_t)b->raw));
    }
    return list;
}

static json_t *input_of(const cli_compare *c)
{
    const char *name = strrchr(c->input, '/') ? strrchr(c->input, '/') + 1 : c->input;
    return json_pack("{s:o,s:i,s:i,s:i,s:o}", "name", cli_compare_string(name), "vertices",
                     (int)supple_scene_vertex_count(c->scene), "triangles", (int)supple_scene_triangle_count(c->scene),
                     "joints", (int)supple_scene_joint_count(c->scene), "size_m", real(c->size_m));
}

static json_t *notes_of(const cli_compare *c)
{
    json_t *list = json_array();
    for (int i = 0; i < c->note_count; i++) json_array_append_new(list, cli_compare_string(c->notes[i]));
    return list;
}

/* What `skin` takes by itself for the same options; NULL where it cannot be said. */
static const char *choice_of_skin(const cli_compare *c)
{
    const char *colliders[CLI_MAX_VALUES];
    supple_sim_config sc = supple_sim_config_default();
    supple_choice choice;
    if (cli_get(c->arguments, "--model", 0)) return "subspace";
    if (cli_dynamics_config(c->arguments, c->scene, colliders, &sc) != 0) return NULL;
    if (supple_choose(c->scene, &sc, &c->config, &choice, NULL) != SUPPLE_OK) return NULL;
    return choice.method;
}

bool cli_compare_advice(const cli_compare *c, cli_advice *advice)
{
    cli_summary all[CLI_COMPARE_METHODS];
    for (int i = 0; i < c->method_count; i++) cli_compare_summarise(c, &c->method[i], &all[i]);
    const char *dynamics = cli_get(c->arguments, "--dynamics", 0);
    cli_advice_case asked = {all,
                             c->method_count,
                             1000 / c->fps,
                             dynamics && strcmp(dynamics, "on") == 0,
                             cli_get(c->arguments, "--model", 0) != NULL,
                             c->size_m,
                             choice_of_skin(c)};
    return cli_advise(&asked, advice);
}

static json_t *recommendation(const cli_compare *c)
{
    cli_advice advice;
    if (!cli_compare_advice(c, &advice)) return json_null();
    json_t *reasons = json_array();
    for (int i = 0; i < advice.reason_count; i++) json_array_append_new(reasons, cli_compare_string(advice.reason[i]));
    return json_pack("{s:s,s:s,s:o}", "method", advice.method, "summary", advice.summary, "reasons", reasons);
}

/* One word of the command line, as a shell would take it. */
static void put_word(char *out, size_t size, const char *word)
{
    size_t used = strlen(out);
    bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%") ==
                              strlen(word);
    if (plain) {
        snprintf(out + used, size - used, " %s", word);
        return;
    }
    char quoted[4096] = " '"; /* within quotes only the quote itself means something: it becomes '\'' */
    size_t n = 2;
    for (; *word && n + 6 < sizeof quoted; word++) {
        if (*word == '\'') {
            memcpy(quoted + n, "'\\'", 3);
            n += 3;
        }
        quoted[n++] = *word;
    }
    quoted[n] = '\'';
    quoted[n + 1] = 0;
    snprintf(out + used, size - used, "%s", quoted);
}

/* What was asked for, so that a reader can ask for it again. */
static json_t *command_of(const cli_compare *c)
{
    char line[4096] = "supple compare";
    put_word(line, sizeof line, c->input);
    for (int i = 0; i < c->arguments->value_count; i++) {
        const cli_option *o = &c->arguments->options[c->arguments->values[i].option];
        put_word(line, sizeof line, o->name);
        if (o->argument && *c->arguments->values[i].value) put_word(line, sizeof line, c->arguments->values[i].value);
    }
    return cli_compare_string(line);
}

/* How many threads the children had. */
static int threads_of(const cli_compare *c)
{
    for (int i = 0; i < c->method_count; i++)
        if (c->method[i].ran) return (int)number(json_object_get(c->method[i].metrics, "threads"));
    return 0;
}

json_t *cli_compare_json(const cli_compare *c, bool blobs)
{
    json_t *o = json_object(), *methods = json_array();
    json_object_set_new(o, "supple", json_string(supple_version()));
    json_object_set_new(o, "command", command_of(c));
    json_object_set_new(o, "input", input_of(c));
    json_object_set_new(o, "threads", json_integer(threads_of(c)));
    json_object_set_new(o, "fps", json_real(c->fps));
    json_object_set_new(o, "metres_per_unit", real(c->metre));
    json_object_set_new(o, "machine", machine());
    json_object_set_new(o, "elapsed_s", json_real(cli_compare_now() - c->start));
    json_object_set_new(o, "clips", clips_of(c));
    if (blobs) {
        json_object_set_new(o, "blobs", blobs_of(&c->blobs));
        json_object_set_new(o, "mesh", c->mesh ? json_incref(c->mesh) : json_null());
        json_object_set_new(o, "views", c->views ? json_incref(c->views) : json_array());
    }
    for (int i = 0; i < c->method_count; i++) json_array_append_new(methods, method_of(c, &c->method[i], blobs));
    json_object_set_new(o, "methods", methods);
    json_object_set_new(o, "recommendation", recommendation(c));
    json_object_set_new(o, "notes", notes_of(c));
    return o;
}

char *cli_compare_text(const json_t *report)
{
    char *plain = report ? json_dumps(report, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    if (!plain) return NULL;
    size_t extra = 0, length = strlen(plain);
    for (const char *p = plain; *p; p++) extra += *p == '<' ? 5 : 0;
    char *safe = malloc(length + extra + 1), *to = safe;
    for (const char *p = plain; safe && *p; p++) { /* "<" occurs within strings only */
        if (*p != '<') {
            *to++ = *p;
        } else {
            memcpy(to, "\\u003c", 6);
            to += 6;
        }
    }
    if (safe) *to = 0;
    free(plain);
    return safe;
}
