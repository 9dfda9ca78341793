/* The page with the player: a template that was made by `make report`, with the report and its blobs set in. */
#include "child.h"
#include "compare.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MARK[] = "<!--supple-report-->";

enum { SMALL = 256, TEMPLATE_MOST = 1 << 25 };

typedef struct page {
    char *template, *text;
    size_t template_size;
    supple_display *display;
} page;

static int page_error(const char *path, const char *why)
{
    cli_say("%.200s: %s", path, why);
    return SUPPLE_ERROR_OUTPUT;
}

int cli_compare_too_large(const cli_compare *c)
{
    return page_error(c->output, "the page would be larger than --page-limit; compare fewer methods or clips");
}

static int read_template(const cli_compare *c, page *p)
{
    FILE *file = fopen(c->template_path, "rb");
    p->template = malloc(TEMPLATE_MOST + 1);
    if (!file || !p->template) {
        if (file) fclose(file);
        return page_error(c->template_path, "cannot be read");
    }
    p->template_size = fread(p->template, 1, TEMPLATE_MOST, file);
    fclose(file);
    p->template[p->template_size] = 0;
    const char *at = strstr(p->template, MARK);
    if (!at || strstr(at + 1, MARK)) return page_error(c->template_path, "is no template of a report");
    return 0;
}

/* ---- making it small enough ---- */

static size_t page_size(const cli_compare *c, const page *p)
{
    return p->template_size + strlen(p->text) + cli_blobs_length(&c->blobs) + SMALL * (size_t)(c->blobs.count + 1);
}

static int make_text(const cli_compare *c, page *p)
{
    json_t *report = cli_compare_json(c, true);
    free(p->text);
    p->text = cli_compare_text(report);
    json_decref(report);
    return p->text ? 0 : cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the report"});
}

/* The mesh and the positions after the pictures; `thin`: every thin-th frame. */
static int fill(cli_compare *c, page *p, int pictures, bool textures, int32_t thin)
{
    cli_blobs_cut(&c->blobs, pictures);
    int code = cli_compare_mesh(c, p->display, textures);
    if (code == 0) code = cli_compare_positions(c, p->display, thin);
    if (code == 0) code = make_text(c, p);
    return code == 0 && cli_child_stopped() ? cli_child_stopped_exit() : code;
}

static int32_t longest(const cli_compare *c)
{
    int32_t most = 1;
    for (int r = 0; r < c->range_count; r++)
        if (c->ranges[r].frame_count > most) most = c->ranges[r].frame_count;
    return most;
}

/* All frames, else every second, third...; textures go only where not even that helps. */
static int fit(cli_compare *c, page *p)
{
    int pictures = c->blobs.count;
    size_t limit = (size_t)(1e6 * c->page_mb);
    int32_t thin = 1, most = longest(c);
    bool textures = true;
    int code = fill(c, p, pictures, textures, thin);
    while (code == 0 && page_size(c, p) > limit) {
        if (thin < most)
            thin = thin * 3 / 2 + 1 < most ? thin * 3 / 2 + 1 : most;
        else if (textures)
            textures = false;
        else
            return cli_compare_too_large(c);
        code = fill(c, p, pictures, textures, thin);
    }
    if (code) return code;
    if (thin > 1)
        cli_compare_tell(c,
                         "the player has one frame in %d and moves evenly between them, to keep the page below %g MB",
                         (int)thin, c->page_mb);
    if (!textures) cli_compare_tell(c, "textures are left out of the player to keep the page below %g MB", c->page_mb);
    return thin > 1 || !textures ? make_text(c, p) : 0;
}

/* ---- writing it ---- */

typedef struct writing {
    char *text;
    size_t used;
} writing;

static void put(writing *w, const char *text, size_t size)
{
    memcpy(w->text + w->used, text, size);
    w->used += size;
}

static void put_text(writing *w, const char *text)
{
    put(w, text, strlen(text));
}

static void put_blob(writing *w, const cli_blob *blob, int number)
{
    char head[SMALL];
    snprintf(head, sizeof head, "\n<script type=\"text/plain\" id=\"supple-blob-%d\">", number);
    put_text(w, head);
    w->used += cli_blob_base64(blob, w->text + w->used);
    put_text(w, "</script>");
}

static int write_page(const cli_compare *c, const page *p)
{
    writing w = {.text = malloc(page_size(c, p) + 2 * SMALL)};
    if (!w.text) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the page"});
    const char *mark = strstr(p->template, MARK), *rest = mark + sizeof MARK - 1;
    put(&w, p->template, (size_t)(mark - p->template));
    put_text(&w, "<script type=\"application/json\" id=\"supple-report\">");
    put_text(&w, p->text);
    put_text(&w, "</script>");
    for (int i = 0; i < c->blobs.count; i++) put_blob(&w, &c->blobs.blob[i], i);
    put(&w, rest, p->template_size - (size_t)(rest - p->template));
    supple_error error;
    int code = supple_bytes_write(c->output, w.text, w.used, &error) == SUPPLE_OK ? 0 : cli_compare_fail(&error);
    free(w.text);
    return code;
}

int cli_compare_page(cli_compare *c)
{
    page p = {0};
    supple_error error;
    int code = read_template(c, &p);
    if (code == 0) code = cli_compare_views(c);
    if (code == 0 && c->shown) cli_progress_line("page");
    if (code == 0 && supple_display_create(c->scene, &c->config, &p.display, &error) != SUPPLE_OK)
        code = cli_compare_fail(&error);
    if (code == 0) code = fit(c, &p);
    if (code == 0 && cli_child_stopped()) code = cli_child_stopped_exit();
    if (code == 0) code = write_page(c, &p);
    supple_display_destroy(p.display);
    free(p.template);
    free(p.text);
    return code;
}
