#include "bench_compare.h"

#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_INPUT_BYTES = 64 << 20, KEY_SIZE = 1024 };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* ---- reading ---- */

static const char *const names[] = {"bench", "table", "row", "quantity", "kind", "unit"};

static bool is_row(const json_t *row)
{
    size_t length = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *name = json_object_get(row, names[i]);
        if (!json_is_string(name)) return false;
        length += json_string_length(name) + 1;
    }
    return length < KEY_SIZE;
}

static json_t *refuse(const char *path, json_t *document, const char *why)
{
    cli_usage_error("%.200s: is no run that `supple bench --json` saved: %.160s", path, why);
    json_decref(document);
    return NULL;
}

json_t *cli_bench_load(const char *path)
{
    struct stat st;
    json_error_t error;
    if (stat(path, &st) != 0) {
        cli_usage_error("%.200s: cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > EXIT_INPUT_BYTES)
        return refuse(path, NULL, "not a file of some megabytes");
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!document) return refuse(path, NULL, error.line < 1 ? "it cannot be read" : "it is not JSON");
    const json_t *rows = json_object_get(document, "rows");
    if (!json_is_string(json_object_get(document, "supple")) || !json_is_array(rows))
        return refuse(path, document, "it has no `supple` and `rows`");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!is_row(json_array_get(rows, i))) return refuse(path, document, "a row lacks its names");
    return document;
}

/* ---- judging ---- */

/* By which rows are the same. */
static void key_of(const json_t *row, char key[KEY_SIZE])
{
    snprintf(key, KEY_SIZE, "%s\x1f%s\x1f%s\x1f%s", text_of(row, "bench"), text_of(row, "table"), text_of(row, "row"),
             text_of(row, "quantity"));
}

/* Rows by their keys; borrowed from the document. */
static json_t *index_of(const json_t *document)
{
    json_t *index = json_object();
    json_t *rows = json_object_get(document, "rows");
    char key[KEY_SIZE];
    for (size_t i = 0; i < json_array_size(rows); i++) {
        key_of(json_array_get(rows, i), key);
        json_object_set(index, key, json_array_get(rows, i));
    }
    return index;
}

/* A measurement as a time, whatever it was: less is better. */
typedef struct measured {
    double best, quartile, median;
    bool known;
} measured;

static measured measured_of(const json_t *row)
{
    bool more = strcmp(text_of(row, "better"), "more") == 0;
    measured m = {number_of(row, more ? "max" : "min"), number_of(row, more ? "high" : "low"), number_of(row, "median"),
                  false};
    if (more) m = (measured){1 / m.best, 1 / m.quartile, 1 / m.median, false};
    m.known = isfinite(m.best) && m.best > 0;
    return m;
}

static double noise_of(const json_t *row, const measured *m)
{
    double runs = number_of(row, "runs");
    if (runs >= 3 && isfinite(m->quartile)) return fmin(fmax(m->quartile / m->best - 1, 0), 0.5);
    if (strcmp(text_of(row, "kind"), "memory") == 0) return 0.02;
    return strcmp(text_of(row, "kind"), "processor") == 0 ? 0.05 : 0.15;
}

static bool is_judged(const json_t *row)
{
    static const char *const kinds[] = {"time", "processor", "memory", "rate"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(text_of(row, "kind"), kinds[i]) == 0) return true;
    return false;
}

/* What else differs between two runs: how much slower the machine's limits are, and how busy it was. */
typedef struct conditions {
    double drift; /* the median over the limits; NAN if they were not measured in both */
    double most;  /* of any limit, as a share: 0.1 for 10% either way */
    double busy;  /* the larger share of the processors that other programs used */
} conditions;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static conditions conditions_of(const json_t *old_rows, const json_t *new_rows, const json_t *before,
                                const json_t *after)
{
    enum { MOST_LIMITS = 64 };
    double factor[MOST_LIMITS], was = number_of(json_object_get(before, "machine"), "others"),
                                is = number_of(json_object_get(after, "machine"), "others");
    size_t count = 0;
    const char *key;
    json_t *row;
    conditions c = {NAN, 0, fmax(0, fmin(1, fmax(isnan(was) ? 0 : was, isnan(is) ? 0 : is)))};
    json_object_foreach((json_t *)old_rows, key, row)
    {
        const json_t *other = json_object_get(new_rows, key);
        if (!other || count == MOST_LIMITS || strcmp(text_of(row, "bench"), "limits") != 0) continue;
        double old = number_of(row, "max"), new = number_of(other, "max");
        if (!(old > 0 && new > 0)) continue;
        c.most = fmax(c.most, fmax(old / new, new / old) - 1);
        factor[count++] = old / new;
    }
    qsort(factor, count, sizeof *factor, by_value);
    if (count > 0) c.drift = sqrt(factor[(count - 1) / 2] * factor[count / 2]);
    return c;
}

typedef struct judgement {
    double ratio, bound;
    const char *verdict;
} judgement;

/* A single measurement, or one too short for the clock, says nothing on a busy machine. */
static bool can_judge(const json_t *row, const measured *m, const conditions *c)
{
    enum { REPEATED = 3 };
    bool memory = strcmp(text_of(row, "kind"), "memory") == 0;
    if (!memory && strcmp(text_of(row, "unit"), "ms") == 0 && m->best < 1e-3) return false;
    return memory || c->busy < 0.2 || (number_of(row, "runs") >= REPEATED && isfinite(m->quartile));
}

static judgement judge(const json_t *old_row, const json_t *new_row, const conditions *c)
{
    measured old = measured_of(old_row), new = measured_of(new_row);
    bool memory = strcmp(text_of(old_row, "kind"), "memory") == 0;
    double machine = isfinite(c->drift) && !memory ? c->drift : 1;
    judgement j = {new.best / old.best / machine, NAN, "same"};
    if (!old.known || !new.known) return (judgement){NAN, NAN, "unknown"};
    if (!can_judge(old_row, &old, c) || !can_judge(new_row, &new, c)) return (judgement){j.ratio, NAN, "unjudged"};
    double busy = memory ? 0 : strcmp(text_of(old_row, "kind"), "processor") == 0 ? c->busy / 2 : c->busy;
    j.bound = 1 + 0.05 + noise_of(old_row, &old) + noise_of(new_row, &new) + (memory ? 0 : c->most) + busy;
    double middle = new.median / old.median / machine;
    if (!isfinite(middle)) middle = j.ratio;
    if (j.ratio > j.bound && middle > j.bound) j.verdict = "slower";
    if (j.ratio < 1 / j.bound && middle < 1 / j.bound) j.verdict = "faster";
    return j;
}

static bool is_more(const json_t *row)
{
    return strcmp(text_of(row, "better"), "more") == 0;
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void add(json_t *list, const json_t *row, const json_t *old, const json_t *new, judgement j)
{
    const char *value = is_more(row) ? "max" : "min";
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "bench", text_of(row, "bench"), "table",
                        text_of(row, "table"), "row", text_of(row, "row"), "quantity", text_of(row, "quantity"), "unit",
                        text_of(row, "unit"), "old", real(number_of(old, value)), "new", real(number_of(new, value)),
                        "ratio", real(j.ratio), "bound", real(j.bound), "verdict", j.verdict));
}

/* A pair that is in both. */
static void add_pair(json_t *list, const json_t *old, const json_t *new, const conditions *c)
{
    judgement j = {NAN, NAN, "same"};
    if (is_judged(old) && strcmp(text_of(old, "kind"), text_of(new, "kind")) == 0) {
        j = judge(old, new, c);
        add(list, old, old, new, j);
    } else if (strcmp(text_of(old, "kind"), "count") == 0 && number_of(old, "min") != number_of(new, "min")) {
        j.verdict = "changed";
        add(list, old, old, new, j);
    }
}

/* Whether any row is of a benchmark. */
static bool has_bench(const json_t *document, const char *name)
{
    const json_t *rows = json_object_get(document, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strcmp(text_of(json_array_get(rows, i), "bench"), name) == 0) return true;
    return false;
}

static void add_all(json_t *list, const json_t *old_rows, const json_t *new_rows, const json_t *before,
                    const json_t *after, const conditions *c)
{
    judgement none = {NAN, NAN, "missing"};
    const char *key;
    json_t *row;
    json_object_foreach((json_t *)old_rows, key, row)
    {
        const json_t *new = json_object_get(new_rows, key);
        if (strcmp(text_of(row, "bench"), "limits") == 0) continue;
        if (new)
            add_pair(list, row, new, c);
        else if (has_bench(after, text_of(row, "bench")))
            add(list, row, row, NULL, none);
    }
    none.verdict = "new";
    json_object_foreach((json_t *)new_rows, key,
                        row) if (!json_object_get(old_rows, key) && has_bench(before, text_of(row, "bench")))
        add(list, row, NULL, row, none);
}

static int count_of(const json_t *list, const char *verdict)
{
    int n = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        n += strcmp(text_of(json_array_get(list, i), "verdict"), verdict) == 0;
    return n;
}

/* Benchmarks of the old run that the new one did not run. */
static json_t *not_run(const json_t *before, const json_t *after)
{
    json_t *list = json_array(), *seen = json_object();
    const json_t *rows = json_object_get(before, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *name = text_of(json_array_get(rows, i), "bench");
        if (json_object_get(seen, name) || has_bench(after, name)) continue;
        json_object_set_new(seen, name, json_true());
        json_array_append_new(list, json_string(name));
    }
    json_decref(seen);
    return list;
}

json_t *cli_bench_compare(const json_t *before, const json_t *after)
{
    json_t *old_rows = index_of(before), *new_rows = index_of(after), *list = json_array();
    conditions c = conditions_of(old_rows, new_rows, before, after);
    add_all(list, old_rows, new_rows, before, after, &c);
    json_decref(old_rows);
    json_decref(new_rows);
    return json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:o}", "drift", real(c.drift), "largest_drift",
                     real(c.most), "busy", real(c.busy), "slower", count_of(list, "slower"), "faster",
                     count_of(list, "faster"), "same", count_of(list, "same"), "unjudged", count_of(list, "unjudged"),
                     "rows", list, "not_run", not_run(before, after));
}

/* ---- printing ---- */

/* Names come from a file: nothing that a terminal would obey. */
static void print_safe(const char *text, FILE *out)
{
    for (; *text; text++) fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, out);
}

static void print_name(const json_t *row, FILE *out)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0) fputs(" / ", out);
        print_safe(text_of(row, names[i]), out);
    }
}

static int by_ratio(const void *a, const void *b)
{
    double x = fabs(log(number_of(*(json_t *const *)a, "ratio"))),
           y = fabs(log(number_of(*(json_t *const *)b, "ratio")));
    return (x < y) - (x > y);
}

static void print_row(const json_t *row, FILE *out)
{
    double old = number_of(row, "old"), new = number_of(row, "new"), ratio = number_of(row, "ratio");
    fputs("    ", out);
    print_name(row, out);
    if (isfinite(old)) fprintf(out, ": %.4g", old);
    if (isfinite(old) && isfinite(new)) fprintf(out, " -> %.4g ", new);
    if (isfinite(old) && isfinite(new)) print_safe(text_of(row, "unit"), out);
    if (isfinite(ratio)) fprintf(out, ", %.2f times as long (noise up to %.2f)", ratio, number_of(row, "bound"));
    fputc('\n', out);
}

/* Those of one verdict, the largest change first. */
static void print_verdict(const json_t *list, const char *verdict, const char *title, FILE *out)
{
    size_t n = json_array_size(list), count = 0;
    json_t **row = calloc(n + 1, sizeof *row);
    for (size_t i = 0; row && i < n; i++)
        if (strcmp(text_of(json_array_get(list, i), "verdict"), verdict) == 0) row[count++] = json_array_get(list, i);
    if (row && count > 0 && isfinite(number_of(row[0], "ratio"))) qsort(row, count, sizeof *row, by_ratio);
    if (count > 0) fprintf(out, "%s\n", title);
    for (size_t i = 0; i < count; i++) print_row(row[i], out);
    free(row);
}

static void print_machine(const json_t *comparison, const json_t *before, const json_t *after, FILE *out)
{
    double drift = number_of(comparison, "drift"), busy = number_of(comparison, "busy");
    const json_t *old = json_object_get(before, "machine"), *new = json_object_get(after, "machine");
    fputs("before: supple ", out);
    print_safe(text_of(before, "supple"), out);
    fputs(", ", out);
    print_safe(text_of(before, "date"), out);
    fputs(", ", out);
    print_safe(text_of(old, "processor"), out);
    fputs("\nnow:    supple ", out);
    print_safe(text_of(after, "supple"), out);
    fputs(", ", out);
    print_safe(text_of(after, "date"), out);
    fputs(", ", out);
    print_safe(text_of(new, "processor"), out);
    fputc('\n', out);
    if (strcmp(text_of(old, "processor"), text_of(new, "processor")) != 0)
        fputs("another processor: only large changes mean something\n", out);
    if (strcmp(text_of(before, "mode"), text_of(after, "mode")) != 0)
        fputs("one run is --quick or --full and the other is not\n", out);
    if (!isfinite(drift))
        fputs("the machine's limits were not measured in both runs\n", out);
    else if (fabs(drift - 1) < 0.03)
        fputs("the machine's limits are as they were\n", out);
    else
        fprintf(out, "the machine as a whole is %.0f%% %s than it was, by its limits; times below are without that\n",
                100 * fabs(drift > 1 ? drift - 1 : 1 / drift - 1), drift > 1 ? "slower" : "quicker");
    if (busy >= 0.2)
        fprintf(out,
                "other programs used up to %.0f%% of the processors: noise is taken to be larger by as much, and what "
                "was measured once is not judged\n",
                100 * busy);
}

void cli_bench_print(const json_t *comparison, const json_t *before, const json_t *after, FILE *out)
{
    const json_t *list = json_object_get(comparison, "rows"), *missing = json_object_get(comparison, "not_run");
    print_machine(comparison, before, after, out);
    print_verdict(list, "slower", "slower:", out);
    print_verdict(list, "faster", "faster:", out);
    print_verdict(list, "changed", "counts that changed:", out);
    print_verdict(list, "missing", "rows of the saved run that are missing now:", out);
    print_verdict(list, "new", "rows that the saved run does not have:", out);
    for (size_t i = 0; i < json_array_size(missing); i++) {
        fputs(i ? ", " : "not run now: ", out);
        print_safe(json_string_value(json_array_get(missing, i)), out);
        if (i + 1 == json_array_size(missing)) fputc('\n', out);
    }
    double unjudged = number_of(comparison, "unjudged");
    fprintf(out, "%.0f slower, %.0f faster, %.0f the same", number_of(comparison, "slower"),
            number_of(comparison, "faster"), number_of(comparison, "same"));
    if (unjudged > 0) fprintf(out, ", %.0f not judged", unjudged);
    fputc('\n', out);
}
