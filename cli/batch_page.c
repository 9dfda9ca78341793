/* The report as a page that needs nothing beside itself: a table with pictures, the worst first, sorted anew by a small
 * script that the page's policy lets in by its hash. Names and messages come from other people's files: none of them
 * becomes markup. */
#include "batch.h"

#include "compare_blobs.h"
#include "compare_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* report/style.css, report/batch.css and report/sort.js, as cmake/embed.cmake made them. */
extern const char cli_report_style[], cli_report_batch[], cli_report_sort[];

/* sha256 of report/sort.js in base64; tests/cli/test_batch.py says the new one when that changes. */
static const char SCRIPT_HASH[] = "ibneRSgLjqEqyxex8dKBvjrvOj59P+W7JEzBeFgT6gE=";

enum { PICTURES_BYTES = 40 << 20, TOLD_MOST = 400 };

typedef struct column {
    const char *key, *title, *unit, *help;
    cli_html_show show;
    const char *within; /* a part of the summary, or "" for that itself; NULL: of the record */
} column;

static const column columns[] = {
    {"frames", "Frames", "", "frames that were made", CLI_HTML_GROUPED, ""},
    {"worse", "Worse", "", "frames in which something is worse than the file's own skinning", CLI_HTML_GROUPED, ""},
    {"trust", "Trust, lowest", "%", "share of the flesh that is shown in full, in the frame where it is least",
     CLI_HTML_PERCENT, ""},
    {"torn", "Torn", "",
     "edges over three times as long as at rest and as by the file's own skinning, the most in a frame",
     CLI_HTML_GROUPED, "harm"},
    {"crossed", "Crossing triangles", "pairs",
     "pairs of triangles that pass through each other and did not at rest, the most in a frame", CLI_HTML_GROUPED, ""},
    {"max_penetration", "Penetration, deepest", "mm", "how deep skin lies in skin, folds included",
     CLI_HTML_THOUSANDTHS, ""},
    {"inverted", "Inverted", "", "elements turned inside out, the most in a frame", CLI_HTML_GROUPED, ""},
    {"setup_ms", "Set&#8209;up", "", "everything before the first frame, the body included", CLI_HTML_DURATION, ""},
    {"ms_median", "Frame, median", "", "time of a frame, the median of all", CLI_HTML_DURATION, ""},
    {"seconds", "Whole job", "", "from its start to its end, by the clock", CLI_HTML_DURATION, NULL},
    {"peak_mb", "Memory", "MB", "the largest memory of the job", CLI_HTML_GROUPED, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static double value_of(const json_t *job, const column *c)
{
    const json_t *from = c->within ? json_object_get(job, "summary") : job;
    if (c->within && *c->within) from = json_object_get(from, c->within);
    double x = number(json_object_get(from, c->key));
    return strcmp(c->key, "seconds") == 0 ? 1000 * x : x;
}

static bool is_state(const json_t *job, const char *state)
{
    return strcmp(text_of(job, "state"), state) == 0;
}

/* ---- head ---- */

static void fact(FILE *out, cli_html_show show, double value, const char *what)
{
    char text[CLI_HTML_NUMBER];
    fprintf(out, "<li><b>%s</b> %s</li>\n", cli_html_number(text, show, value), what);
}

static void head(FILE *out, const json_t *report)
{
    const json_t *counts = json_object_get(report, "counts");
    double failed = number(json_object_get(counts, "failed")), waiting = number(json_object_get(counts, "waiting"));
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%.0f jobs</title>\n<style>\n%s%s</style>\n"
            "</head>\n<body>\n<header id=\"top\">\n<p class=\"brand\">Supple &middot; batch</p>\n<h1>%.0f jobs</h1>\n"
            "<ul class=\"facts\">\n",
            SCRIPT_HASH, number(json_object_get(counts, "jobs")), cli_report_style, cli_report_batch,
            number(json_object_get(counts, "jobs")));
    fact(out, CLI_HTML_GROUPED, number(json_object_get(counts, "done")), "done");
    if (failed > 0) fact(out, CLI_HTML_GROUPED, failed, "failed");
    if (waiting > 0) fact(out, CLI_HTML_GROUPED, waiting, "not run");
    fact(out, CLI_HTML_DURATION, 1000 * number(json_object_get(report, "seconds")), "in all jobs");
    fact(out, CLI_HTML_DURATION, 1000 * number(json_object_get(report, "processor_s")), "of processor time");
    fputs("</ul>\n</header>\n", out);
}

static void job_label(FILE *out, const json_t *job)
{
    cli_html_text(out, text_of(job, "name"));
}

static void failures(FILE *out, const json_t *jobs)
{
    const json_t *job;
    size_t i;
    bool any = false;
    json_array_foreach(jobs, i, job) any = any || is_state(job, "failed");
    if (!any) return;
    fputs("<section id=\"failures\" class=\"card\">\n<h2>Failed</h2>\n<dl class=\"notes\">\n", out);
    json_array_foreach(jobs, i, job)
    {
        if (!is_state(job, "failed")) continue;
        fputs("<dt>", out);
        job_label(out, job);
        fputs("</dt><dd>", out);
        cli_html_text(out, text_of(job, "line"));
        double code = number(json_object_get(job, "exit"));
        if (isfinite(code)) fprintf(out, " (exit code %.0f)", code);
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n</section>\n", out);
}

/* ---- the table ---- */

static bool measured(const json_t *jobs, const column *c)
{
    const json_t *job;
    size_t i;
    json_array_foreach(jobs, i, job) if (isfinite(value_of(job, c))) return true;
    return false;
}

static void heading(FILE *out, const char *title, const char *unit, const char *help)
{
    fprintf(out, "<th scope=\"col\" aria-sort=\"none\" title=\"");
    cli_html_text(out, help);
    fprintf(out,
            "\"><button class=\"sort\" type=\"button\">%s%s%s%s<span class=\"arrow\" "
            "aria-hidden=\"true\">&#8597;</span></button></th>\n",
            title, *unit ? " <span class=\"unit\">" : "", unit, *unit ? "</span>" : "");
}

static void table_head(FILE *out, const json_t *jobs, bool pictures)
{
    fputs("<thead><tr>\n", out);
    heading(out, "Job", "", "character, clip and method");
    if (pictures) fputs("<th scope=\"col\" class=\"shot\">Frames of it</th>\n", out);
    heading(out, "State", "", "done, failed or not run");
    for (int i = 0; i < COLUMNS; i++)
        if (measured(jobs, &columns[i])) heading(out, columns[i].title, columns[i].unit, columns[i].help);
    fputs("</tr></thead>\n", out);
}

static void picture_cell(FILE *out, const void *png, size_t size, const json_t *job)
{
    char *text = png ? malloc(4 * ((size + 2) / 3) + 1) : NULL;
    fputs("<td class=\"shot\">", out);
    if (text) {
        cli_blob blob = {.data = (uint8_t *)png, .size = size};
        text[cli_blob_base64(&blob, text)] = 0;
        fputs("<button type=\"button\" class=\"picture\"><img alt=\"frames of ", out);
        job_label(out, job);
        fprintf(out, "\" src=\"data:image/png;base64,%s\"></button>", text);
    }
    fputs("</td>", out);
    free(text);
}

static void name_cell(FILE *out, const json_t *job)
{
    const char *method = text_of(job, "method"), *ran = text_of(json_object_get(job, "summary"), "method");
    const char *clip = text_of(job, "clip"), *bar = strrchr(clip, '|');
    if (bar && bar[1]) clip = bar + 1;
    fputs("<th scope=\"row\"><span class=\"job\">", out);
    cli_html_text(out, text_of(job, "character"));
    fputs("</span><span class=\"of\">", out);
    cli_html_text(out, *clip ? clip : "\xe2\x80\x93");
    fputs(" &middot; ", out);
    cli_html_text(out, *ran ? ran : method);
    if (*ran && strcmp(ran, method) != 0) fputs(" (auto)", out);
    fputs("</span></th>", out);
}

static void table_row(FILE *out, const json_t *jobs, const json_t *job, bool pictures, const void *png, size_t size)
{
    char text[CLI_HTML_NUMBER];
    const char *state = text_of(job, "state");
    fprintf(out, "<tr class=\"%s\" data-name=\"",
            is_state(job, "done")     ? "done"
            : is_state(job, "failed") ? "failed"
                                      : "waiting");
    job_label(out, job);
    fputs("\">", out);
    name_cell(out, job);
    if (pictures) picture_cell(out, png, size, job);
    fputs("<td class=\"state\">", out);
    cli_html_text(out, strcmp(state, "waiting") == 0 ? "not run" : state);
    fputs("</td>", out);
    for (int i = 0; i < COLUMNS; i++) {
        double value = value_of(job, &columns[i]);
        if (!measured(jobs, &columns[i])) continue;
        if (isfinite(value))
            fprintf(out, "<td data-value=\"%.9g\">", value);
        else
            fputs("<td>", out);
        cli_html_text(out, cli_html_number(text, columns[i].show, value));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

/* Pictures as long as there is room for them: the worst jobs have theirs. */
static int table(FILE *out, const cli_batch *b, const json_t *jobs, cli_batch_job *const *order)
{
    const json_t *job;
    size_t i, spent = 0;
    int left_out = 0;
    char path[CLI_BATCH_PATH];
    fputs("<section id=\"table\" class=\"card\">\n<h2>Jobs, the worst first</h2>\n<div class=\"scroll\"><table>\n",
          out);
    table_head(out, jobs, b->pictures);
    fputs("<tbody>\n", out);
    json_array_foreach(jobs, i, job)
    {
        size_t size = 0;
        bool wanted = b->pictures && is_state(job, "done") && cli_batch_path(b, order[i], "sheet.png", path);
        void *png = wanted && spent < PICTURES_BYTES ? cli_batch_picture(path, &size) : NULL;
        left_out += wanted && spent >= PICTURES_BYTES;
        spent += size;
        table_row(out, jobs, job, b->pictures, png, size);
        free(png);
    }
    fputs("</tbody></table></div>\n<p class=\"quiet under\">A heading sorts by its column, a picture grows by a click. "
          "Worst first: failed jobs, then by the share of frames that are worse than the file's own skinning, by "
          "penetration over the character's size, by trust.</p>\n",
          out);
    return left_out;
}

/* What jobs said that is no failure. */
static void told(FILE *out, const json_t *jobs)
{
    const json_t *job, *line;
    size_t i, k;
    int shown = 0;
    fputs("<details id=\"told\">\n<summary>What the jobs said</summary>\n<dl class=\"notes\">\n", out);
    json_array_foreach(jobs, i, job)
    {
        const json_t *lines = json_object_get(job, "told");
        if (json_array_size(lines) == 0 || shown++ >= TOLD_MOST) continue;
        fputs("<dt>", out);
        job_label(out, job);
        fputs("</dt><dd>", out);
        json_array_foreach(lines, k, line)
        {
            if (k) fputs("<br>", out);
            cli_html_text(out, json_string_value(line) ? json_string_value(line) : "");
        }
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
    if (shown > TOLD_MOST) fprintf(out, "<p class=\"quiet\">%d more are in report.json.</p>\n", shown - TOLD_MOST);
    fputs("</details>\n", out);
}

char *cli_batch_page(const cli_batch *b, const json_t *report, cli_batch_job *const *order, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    const json_t *jobs = json_object_get(report, "jobs");
    if (!out) return NULL;
    head(out, report);
    failures(out, jobs);
    int left_out = table(out, b, jobs, order);
    if (left_out) fprintf(out, "<p class=\"quiet\">%d pictures are left out, to keep the page small.</p>\n", left_out);
    told(out, jobs);
    fputs("</section>\n<footer>\n<p>Supple ", out);
    cli_html_text(out, text_of(report, "supple"));
    fputs(" &middot; <code>", out);
    cli_html_text(out, text_of(report, "command"));
    fprintf(out, "</code></p>\n</footer>\n<script>%s</script>\n</body>\n</html>\n", cli_report_sort);
    bool good = !ferror(out);
    if (fclose(out) == 0 && good) return text;
    free(text);
    return NULL;
}
