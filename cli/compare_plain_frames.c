/* The page without a player: what the other one draws as curves, as tables that are folded away. */
#include "compare_plain.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef double frame_value(const json_t *method, size_t frame);

static const json_t *frame_of(const json_t *method, size_t k)
{
    return json_array_get(json_object_get(json_object_get(method, "metrics"), "frames"), k);
}

static double volume(const json_t *method, size_t k)
{
    json_t *joints = json_object_get(frame_of(method, k), "joint_volume"), *value;
    const char *joint;
    double least = NAN;
    json_object_foreach(joints, joint, value) least = fmin(least, cli_plain_number(value));
    return least;
}

static double penetration(const json_t *method, size_t k)
{
    return cli_plain_number(json_object_get(frame_of(method, k), "max_penetration"));
}

static double fold(const json_t *method, size_t k)
{
    return cli_plain_number(json_object_get(frame_of(method, k), "max_fold"));
}

static double crossed(const json_t *method, size_t k)
{
    return cli_plain_number(json_object_get(frame_of(method, k), "crossed"));
}

static double strain(const json_t *method, size_t k)
{
    return cli_plain_number(json_object_get(frame_of(method, k), "max_strain"));
}

static double error_of(const json_t *method, size_t k, const char *which)
{
    if (strcmp(cli_plain_string(method, "name"), "reference") == 0) return NAN;
    return cli_plain_number(json_object_get(json_array_get(json_object_get(method, "error"), k), which));
}

static double error_largest(const json_t *method, size_t k)
{
    return error_of(method, k, "max");
}

static double error_mean(const json_t *method, size_t k)
{
    return error_of(method, k, "mean");
}

static double frame_time(const json_t *method, size_t k)
{
    return cli_plain_number(json_object_get(json_object_get(frame_of(method, k), "ms"), "total"));
}

/* What the page with the player draws as curves. */
static const struct {
    const char *id, *which; /* in words.json; beyond its title */
    frame_value *value;
} kinds[] = {{"volume", ", lowest of all joints", volume},
             {"penetration", ", deepest", penetration},
             {"penetration", ", folds alone", fold},
             {"crossed", "", crossed},
             {"strain", "", strain},
             {"error", ", largest", error_largest},
             {"error", ", mean", error_mean},
             {"time", "", frame_time}};

/* A table that is folded away, up to its first row: a column a method. */
static void open_table(const cli_plain *p, const json_t *clip, const json_t *about, const char *which, const char *row)
{
    const json_t *method;
    size_t i;
    cli_plain_put(p, "<details><summary>");
    if (json_array_size(json_object_get(p->report, "clips")) > 1) {
        cli_html_text(p->out, cli_plain_string(clip, "name"));
        cli_plain_put(p, ": ");
    }
    fprintf(p->out, "%s%s <span class=\"unit\">%s</span></summary>\n", cli_plain_string(about, "title"), which,
            cli_plain_string(about, "unit"));
    fprintf(p->out, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">%s</th>", row);
    json_array_foreach(p->methods, i, method)
        cli_plain_element(p, "th scope=\"col\"", cli_plain_string(method, "name"));
    cli_plain_put(p, "</tr></thead>\n<tbody>\n");
}

static void close_table(const cli_plain *p)
{
    cli_plain_put(p, "</tbody></table></div></details>\n");
}

/* A row a frame; no table where no method has a number. */
static void frame_table(const cli_plain *p, size_t kind, const json_t *clip, size_t start)
{
    const json_t *about = json_object_get(json_object_get(p->words, "frames"), kinds[kind].id), *method;
    size_t count = (size_t)cli_plain_number(json_object_get(clip, "frames")), i, k;
    double scale = cli_plain_number(json_object_get(about, "scale")),
           first = cli_plain_number(json_object_get(clip, "first_frame"));
    bool some = false;
    for (k = 0; k < count; k++)
        json_array_foreach(p->methods, i, method) some = some || isfinite(kinds[kind].value(method, start + k));
    if (!some) return;
    open_table(p, clip, about, kinds[kind].which, "frame");
    for (k = 0; k < count; k++) {
        fprintf(p->out, "<tr><th scope=\"row\">%.0f</th>", first + (double)k);
        json_array_foreach(p->methods, i, method)
            cli_plain_cell(p, "td", CLI_HTML_SHORT, scale * kinds[kind].value(method, start + k), "");
        cli_plain_put(p, "</tr>\n");
    }
    close_table(p);
}

static double least_volume(const json_t *method, const char *joint, size_t start, size_t count)
{
    double least = NAN;
    for (size_t k = start; k < start + count; k++)
        least =
            fmin(least, cli_plain_number(json_object_get(json_object_get(frame_of(method, k), "joint_volume"), joint)));
    return least;
}

/* A row a joint that any method has a volume of. */
static void joint_table(const cli_plain *p, const json_t *clip, size_t start)
{
    const json_t *about = json_object_get(json_object_get(p->words, "frames"), "volume"), *method;
    size_t count = (size_t)cli_plain_number(json_object_get(clip, "frames")), i;
    json_t *joints = json_object(), *value;
    const char *joint;
    json_array_foreach(p->methods, i, method) for (size_t k = 0; k < count; k++)
        json_object_update(joints, json_object_get(frame_of(method, start + k), "joint_volume"));
    if (json_object_size(joints) > 0) open_table(p, clip, about, " of each joint, lowest of all frames", "joint");
    json_object_foreach(joints, joint, value)
    {
        cli_plain_put(p, "<tr>");
        cli_plain_element(p, "th scope=\"row\"", joint);
        json_array_foreach(p->methods, i, method)
            cli_plain_cell(p, "td", CLI_HTML_PERCENT, least_volume(method, joint, start, count), "");
        cli_plain_put(p, "</tr>\n");
    }
    if (json_object_size(joints) > 0) close_table(p);
    json_decref(joints);
}

void cli_plain_frames(const cli_plain *p)
{
    const json_t *clip;
    size_t i, start = 0;
    cli_plain_put(p, "<section id=\"frames\" class=\"card\">\n<h2>Over the frames</h2>\n");
    json_array_foreach(json_object_get(p->report, "clips"), i, clip)
    {
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) frame_table(p, kind, clip, start);
        joint_table(p, clip, start);
        start += (size_t)cli_plain_number(json_object_get(clip, "frames"));
    }
    cli_plain_put(p, "</section>\n");
}
