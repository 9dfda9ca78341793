/* The page where the one with the player was not built (`make report`): the same report, words and style as HTML,
 * without a script: pictures, the table, and every frame's numbers. */
#include "compare_plain.h"
#include "child.h"
#include "compare.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* report/style.css and report/words.json, as cmake/embed.cmake made them. */
extern const char cli_report_style[], cli_report_words[];

enum { FRAME_WIDTH = 300, STRIP_HEIGHT = 230, STRIP_LEAST = 480, NAMES = 180 };

double cli_plain_number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *cli_plain_string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

void cli_plain_put(const cli_plain *p, const char *markup)
{
    fputs(markup, p->out);
}

void cli_plain_element(const cli_plain *p, const char *tag, const char *text)
{
    fprintf(p->out, "<%s>", tag);
    cli_html_sentence(p->out, text);
    fprintf(p->out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void cli_plain_cell(const cli_plain *p, const char *tag, cli_html_show show, double value, const char *after)
{
    char text[CLI_HTML_NUMBER];
    fprintf(p->out, "<%s>", tag);
    cli_html_text(p->out, cli_html_number(text, show, value)); /* it may begin with "<" */
    fprintf(p->out, "%s</td>", after);
}

/* ---- head and foot ---- */

static void fact(const cli_plain *p, cli_html_show show, double value, const char *unit, const char *what)
{
    char text[CLI_HTML_NUMBER];
    if (!isfinite(value)) return;
    cli_plain_put(p, "<li><b>");
    cli_html_text(p->out, cli_html_number(text, show, value));
    fprintf(p->out, "%s</b> ", unit);
    cli_html_text(p->out, what);
    cli_plain_put(p, "</li>\n");
}

static void facts(const cli_plain *p)
{
    const json_t *input = json_object_get(p->report, "input"), *clips = json_object_get(p->report, "clips"), *item;
    char text[CLI_HTML_NUMBER];
    size_t i;
    double frames = 0, ran = 0;
    cli_plain_put(p, "<ul id=\"facts\" class=\"facts\">\n");
    fact(p, CLI_HTML_GROUPED, cli_plain_number(json_object_get(input, "vertices")), "", "vertices");
    fact(p, CLI_HTML_GROUPED, cli_plain_number(json_object_get(input, "triangles")), "", "triangles");
    fact(p, CLI_HTML_GROUPED, cli_plain_number(json_object_get(input, "joints")), "", "joints");
    fact(p, CLI_HTML_SHORT, cli_plain_number(json_object_get(input, "size_m")), " m", "large");
    json_array_foreach(clips, i, item) frames += cli_plain_number(json_object_get(item, "frames"));
    fprintf(p->out, "<li><b>%s</b> frames of ", cli_html_number(text, CLI_HTML_GROUPED, frames));
    json_array_foreach(clips, i, item)
    {
        cli_plain_put(p, i ? ", " : "");
        cli_html_text(p->out, cli_plain_string(item, "name"));
    }
    fprintf(p->out, ", %s a second</li>\n",
            cli_html_number(text, CLI_HTML_SHORT, cli_plain_number(json_object_get(p->report, "fps"))));
    json_array_foreach(p->methods, i, item) ran += json_is_object(json_object_get(item, "table"));
    fprintf(p->out, "<li><b>%.0f</b> of %d methods ran</li>\n</ul>\n", ran, (int)json_array_size(p->methods));
}

static void texts(const cli_plain *p, const json_t *list, const char *open, const char *tag)
{
    const json_t *text;
    size_t i;
    if (json_array_size(list) == 0) return;
    cli_plain_put(p, open);
    json_array_foreach(list, i, text) cli_plain_element(p, tag, json_string_value(text));
    cli_plain_put(p, "</ul>\n");
}

static void head(const cli_plain *p)
{
    const json_t *advice = json_object_get(p->report, "recommendation");
    const char *name = cli_plain_string(json_object_get(p->report, "input"), "name");
    cli_plain_put(
        p,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src "
        "data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    cli_html_text(p->out, name);
    fprintf(p->out, ": skinning methods compared</title>\n<style>\n%s</style>\n</head>\n<body>\n", cli_report_style);
    cli_plain_put(
        p, "<header id=\"top\">\n<p class=\"brand\">Supple &middot; skinning methods compared</p>\n<h1 id=\"name\">");
    cli_html_text(p->out, name);
    cli_plain_put(p, "</h1>\n");
    facts(p);
    texts(p, json_object_get(p->report, "notes"), "<ul class=\"told\">\n", "li class=\"note\"");
    if (json_is_object(advice)) {
        cli_plain_put(p, "<section id=\"advice\" class=\"advice\">\n<h2>Recommended: <span id=\"advice-method\">");
        cli_html_text(p->out, cli_plain_string(advice, "method"));
        cli_plain_put(p, "</span></h2>\n");
        cli_plain_element(p, "p", cli_plain_string(advice, "summary"));
        texts(p, json_object_get(advice, "reasons"), "<ul id=\"advice-reasons\">\n", "li");
        cli_plain_put(p, "</section>\n");
    }
    cli_plain_put(p, "</header>\n<main id=\"content\">\n");
}

static void foot(const cli_plain *p, const char *json)
{
    const json_t *machine = json_object_get(p->report, "machine"), *item;
    const char *processor = cli_plain_string(machine, "processor");
    char text[CLI_HTML_NUMBER];
    size_t i;
    cli_plain_put(p, "</main>\n<footer id=\"footer\">\n<h2>How the numbers are defined</h2>\n<dl>\n");
    json_array_foreach(json_object_get(p->words, "definitions"), i, item)
    {
        cli_plain_element(p, "dt", json_string_value(json_array_get(item, 0)));
        cli_plain_element(p, "dd", json_string_value(json_array_get(item, 1)));
    }
    cli_plain_put(p, "</dl>\n<p id=\"origin\">Made by Supple ");
    cli_html_text(p->out, cli_plain_string(p->report, "supple"));
    fprintf(p->out, " &middot; %.0f threads &middot; ", cli_plain_number(json_object_get(p->report, "threads")));
    cli_html_text(p->out, processor);
    fprintf(p->out, "%s%.0f cores &middot; in %s<br><code>", *processor ? ", " : "",
            cli_plain_number(json_object_get(machine, "cores")),
            cli_html_number(text, CLI_HTML_DURATION, 1000 * cli_plain_number(json_object_get(p->report, "elapsed_s"))));
    cli_html_text(p->out, cli_plain_string(p->report, "command"));
    fprintf(p->out,
            "</code></p>\n</footer>\n<script type=\"application/json\" id=\"supple-report\">%s</script>\n</body>\n"
            "</html>\n",
            json);
}

/* ---- the table ---- */

static double table_value(const json_t *method, const json_t *column)
{
    return cli_plain_number(json_object_get(json_object_get(method, "table"), cli_plain_string(column, "key")));
}

static bool measured(const cli_plain *p, const json_t *column)
{
    const json_t *method;
    size_t i;
    json_array_foreach(p->methods, i, method) if (isfinite(table_value(method, column))) return true;
    return false;
}

/* `reference` is no distance from itself, which is no merit. */
static bool competes(const json_t *method, const json_t *column)
{
    return isfinite(table_value(method, column)) && !(json_is_true(json_object_get(column, "trivial")) &&
                                                      strcmp(cli_plain_string(method, "name"), "reference") == 0);
}

/* The best value of a column as it is shown; "" where all are shown the same. */
static void best_of(const cli_plain *p, const json_t *column, char best[CLI_HTML_NUMBER])
{
    cli_html_show show = cli_html_show_named(cli_plain_string(column, "show"));
    double wanted = cli_plain_number(json_object_get(column, "best")), least = INFINITY;
    const json_t *method;
    char text[CLI_HTML_NUMBER];
    bool differ = false;
    size_t i;
    *best = 0;
    json_array_foreach(p->methods, i, method)
    {
        double value = table_value(method, column), rank = isfinite(wanted) ? fabs(wanted - value) : value;
        if (!competes(method, column)) continue;
        cli_html_number(text, show, value);
        differ = differ || (*best && strcmp(text, best) != 0);
        if (rank >= least) continue;
        least = rank;
        memcpy(best, text, sizeof text);
    }
    if (!differ) *best = 0;
}

static void table_head(const cli_plain *p, const json_t *columns)
{
    const json_t *column;
    size_t i;
    cli_plain_put(p, "<thead><tr><th scope=\"col\">Method</th>\n");
    json_array_foreach(columns, i, column)
    {
        if (!measured(p, column)) continue;
        cli_plain_put(p, "<th scope=\"col\" title=\"");
        cli_html_text(p->out, cli_plain_string(column, "help"));
        cli_plain_put(p, "\"><span class=\"sort\">");
        cli_html_text(p->out, cli_plain_string(column, "title"));
        fprintf(p->out, " <span class=\"unit\">%s</span></span></th>\n", cli_plain_string(column, "unit"));
    }
    cli_plain_put(p, "</tr></thead>\n");
}

static void table_row(const cli_plain *p, const json_t *columns, const json_t *method)
{
    const json_t *column;
    const char *advised = cli_plain_string(json_object_get(p->report, "recommendation"), "method");
    char best[CLI_HTML_NUMBER], text[CLI_HTML_NUMBER];
    size_t i;
    cli_plain_put(p, "<tr><th scope=\"row\">");
    cli_html_text(p->out, cli_plain_string(method, "name"));
    cli_plain_put(p, strcmp(cli_plain_string(method, "name"), advised) == 0
                         ? " <span class=\"chip\">recommended</span></th>"
                         : "</th>");
    json_array_foreach(columns, i, column)
    {
        cli_html_show show = cli_html_show_named(cli_plain_string(column, "show"));
        double value = table_value(method, column);
        if (!measured(p, column)) continue;
        best_of(p, column, best);
        bool mark = competes(method, column) && strcmp(cli_html_number(text, show, value), best) == 0;
        cli_plain_cell(p, mark ? "td class=\"best\"" : "td", show, value,
                       mark ? "<span class=\"mark\" title=\"best of this column\">&#9733;</span>" : "");
    }
    cli_plain_put(p, "</tr>\n");
}

static void table(const cli_plain *p)
{
    const json_t *columns = json_object_get(p->words, "columns"), *method;
    size_t i;
    cli_plain_put(p,
                  "<section id=\"table\" class=\"card\">\n<h2>Cost and quality</h2>\n<div class=\"scroll\"><table>\n");
    table_head(p, columns);
    cli_plain_put(p, "<tbody>\n");
    json_array_foreach(p->methods, i, method) if (json_is_object(json_object_get(method, "table")))
        table_row(p, columns, method);
    cli_plain_put(p, "</tbody></table></div>\n<p class=\"quiet under\">&#9733; marks the best of a column.</p>\n<dl "
                     "class=\"notes\">\n");
    json_array_foreach(p->methods, i, method)
    {
        cli_plain_element(p, "dt", cli_plain_string(method, "name"));
        cli_plain_put(p, "<dd>");
        cli_html_sentence(p->out, cli_plain_string(method, "summary"));
        if (*cli_plain_string(method, "note"))
            cli_plain_element(p, "span class=\"note\"", cli_plain_string(method, "note"));
        cli_plain_put(p, "</dd>\n");
    }
    cli_plain_put(p, "</dl>\n</section>\n");
}

/* ---- pictures ---- */

/* Width over height of a PNG, whose size stands in its first bytes. */
static double aspect(const cli_blob *png)
{
    const uint8_t *d = png->data;
    uint32_t width = (uint32_t)d[16] << 24 | (uint32_t)d[17] << 16 | (uint32_t)d[18] << 8 | d[19];
    uint32_t height = (uint32_t)d[20] << 24 | (uint32_t)d[21] << 16 | (uint32_t)d[22] << 8 | d[23];
    return height > 0 ? (double)width / height : 1;
}

static void base64(const cli_plain *p, const cli_blob *blob)
{
    enum { PIECE = 3 * 1024 };
    char text[4 * PIECE / 3];
    for (size_t at = 0; at < blob->size; at += PIECE) {
        cli_blob piece = {.data = blob->data + at, .size = blob->size - at < PIECE ? blob->size - at : PIECE};
        fwrite(text, 1, cli_blob_base64(&piece, text), p->out);
    }
}

static void picture(const cli_plain *p, const cli_blob *png, const char *title, const char *method)
{
    cli_plain_put(p, "<span class=\"row-name\">");
    cli_html_text(p->out, method);
    cli_plain_put(p, "</span><span class=\"picture\" style=\"cursor:auto\"><img alt=\"");
    cli_html_text(p->out, title);
    cli_plain_put(p, ": ");
    cli_html_text(p->out, method);
    cli_plain_put(p, "\" src=\"data:image/png;base64,");
    base64(p, png);
    cli_plain_put(p, "\"></span>\n");
}

static void view(const cli_plain *p, const json_t *view)
{
    const json_t *frames = json_object_get(view, "frames"), *images = json_object_get(view, "images"), *item;
    const json_t *clips = json_object_get(p->report, "clips"),
                 *clip = json_array_get(clips, (size_t)cli_plain_number(json_object_get(view, "clip")));
    double first = cli_plain_number(json_object_get(clip, "first_frame")), count = (double)json_array_size(frames),
           width = 0;
    size_t i;
    json_array_foreach(p->methods, i, item)
    {
        const json_t *image = json_object_get(images, cli_plain_string(item, "name"));
        if (image) width = fmax(width, STRIP_HEIGHT * aspect(&p->blobs->blob[json_integer_value(image)]));
    }
    width = fmin(fmax(width, STRIP_LEAST), FRAME_WIDTH * fmax(2, count)); /* few frames are not blown up */
    cli_plain_put(p, "<figure class=\"view\">\n<figcaption>");
    cli_plain_element(p, "h3", cli_plain_string(view, "title"));
    fprintf(p->out, "</figcaption>\n<div class=\"scroll\"><div class=\"strip\" style=\"max-width:%.0fpx\">\n",
            NAMES + width);
    cli_plain_put(p, "<span class=\"corner\">frame</span><span class=\"captions\">");
    json_array_foreach(frames, i, item) fprintf(p->out, "<span>%.0f</span>", first + cli_plain_number(item));
    cli_plain_put(p, "</span>\n");
    json_array_foreach(p->methods, i, item)
    {
        const json_t *image = json_object_get(images, cli_plain_string(item, "name"));
        if (image)
            picture(p, &p->blobs->blob[json_integer_value(image)], cli_plain_string(view, "title"),
                    cli_plain_string(item, "name"));
    }
    cli_plain_put(p, "</div></div>\n</figure>\n");
}

static void pictures(const cli_plain *p)
{
    const json_t *item;
    size_t i;
    cli_plain_put(p, "<section id=\"strips\" class=\"card\">\n<h2>Pictures</h2>\n"
                     "<p class=\"quiet\">The same frames and camera for every method.</p>\n");
    json_array_foreach(json_object_get(p->report, "views"), i, item) view(p, item);
    cli_plain_put(p, "</section>\n");
}

/* ---- the whole ---- */

/* The page's text, to be freed; NULL without memory. */
static char *compose(const cli_compare *c, size_t *size)
{
    char *text = NULL, *json = NULL;
    json_t *bare = cli_compare_json(c, false);
    cli_plain p = {.out = open_memstream(&text, size), .blobs = &c->blobs};
    p.report = cli_compare_json(c, true);
    p.words = json_loads(cli_report_words, 0, NULL);
    p.methods = json_object_get(p.report, "methods");
    json = cli_compare_text(bare);
    bool good = p.out && p.report && p.words && json;
    if (good) {
        head(&p);
        table(&p);
        pictures(&p);
        cli_plain_frames(&p);
        foot(&p, json);
        good = !ferror(p.out);
    }
    if (p.out) good = fclose(p.out) == 0 && good;
    json_decref(bare);
    json_decref(p.report);
    json_decref(p.words);
    free(json);
    if (good) return text;
    free(text);
    return NULL;
}

int cli_compare_plain(cli_compare *c)
{
    supple_error error;
    size_t size = 0;
    int code = cli_compare_views(c);
    if (code) return code;
    if (c->shown) cli_progress_line("page");
    char *text = compose(c, &size);
    if (!text)
        code = cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the page"});
    else if (size > (size_t)(1e6 * c->page_mb))
        code = cli_compare_too_large(c);
    else if (cli_child_stopped())
        code = cli_child_stopped_exit();
    else if (supple_bytes_write(c->output, text, size, &error) != SUPPLE_OK)
        code = cli_compare_fail(&error);
    free(text);
    return code;
}
