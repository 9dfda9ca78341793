/* The contact sheet as an output format. Of each clip at most eight frames are kept, and they are drawn as soon as the
 * clip's last frame has come, so that memory does not grow with the number of clips or frames. */
#include "show/sheet.h"

#include "core/error.h"
#include "core/memory.h"
#include "show/font.h"
#include "show/heat.h"
#include "show/show.h"

#include <stdio.h>
#include <string.h>

/* Pixels. A sheet of eight columns is PAGE_WIDTH wide; fewer columns get larger cells, up to CELL_MAX. */
enum {
    COLUMNS = 8,
    ROWS = 2,
    PAGE_WIDTH = 1880,
    CELL_MAX = 600,
    MARGIN = 20,
    GUTTER = 4,
    CAPTION = 44,
    LABEL = 30, /* kept free for a label above and below the character */
    SIDE_MAX = 16384,
};

static const spl_view sheet_view[ROWS] = {SPL_VIEW_THREE_QUARTER, SPL_VIEW_SIDE};
static const uint8_t PAPER = 248;
static const uint8_t INK[3] = {52, 56, 64}, PALE[3] = {104, 109, 118};

typedef struct kept_frame {
    int32_t index; /* within its range */
    float *position, *normal;
    float *corner_uv, *color; /* of skin that slides: what the sheet shows of it, or NULL */
    spl_box box;
    spl_vec3 shift; /* of the camera, where it follows the character */
} kept_frame;

typedef struct sheet_writer {
    supple_writer base;
    spl_output output;
    spl_show show;
    spl_pixels page; /* as tall as what has been drawn */
    int32_t columns, cell_width;
    int32_t kept; /* of the current range */
    kept_frame frame[COLUMNS];
    int32_t skipped; /* clips that the page has no room for */
} sheet_writer;

static int32_t column_count(int32_t frames)
{
    return frames < COLUMNS ? frames : COLUMNS;
}

/* The frame shown in a column: evenly spaced, the first and the last included. */
static int32_t column_frame(int32_t frames, int32_t column)
{
    int64_t n = column_count(frames);
    return n > 1 ? (int32_t)((2 * column * ((int64_t)frames - 1) + (n - 1)) / (2 * (n - 1))) : 0;
}

/* Room for what a frame shows of sliding skin. */
static bool make_skin(const sheet_writer *w, kept_frame *f)
{
    const supple_scene *scene = w->base.scene;
    const supple_allocator *a = &w->base.allocator;
    bool trust = w->base.show == SUPPLE_SHOW_TRUST, stretch = trust || w->base.show == SUPPLE_SHOW_STRETCH;
    if (!w->base.slide && !trust) return true;
    if (stretch) f->color = spl_new(a, (size_t)scene->vertex_count, 3 * sizeof *f->color);
    if (!stretch) f->corner_uv = spl_new(a, 3 * (size_t)scene->triangle_count, 2 * sizeof *f->corner_uv);
    return f->color || f->corner_uv;
}

static supple_result sheet_open(supple_writer *writer, supple_error *error)
{
    sheet_writer *w = (sheet_writer *)writer;
    for (int32_t i = 0; i < writer->range_count; i++) {
        int32_t n = column_count(writer->ranges[i].frame_count);
        if (n > w->columns) w->columns = n;
    }
    if (w->columns < 1) return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "a contact sheet needs at least one frame");
    w->cell_width = (PAGE_WIDTH - 2 * MARGIN + GUTTER) / w->columns - GUTTER;
    if (w->cell_width > CELL_MAX) w->cell_width = CELL_MAX;
    w->page.width = 2 * MARGIN + w->columns * (w->cell_width + GUTTER) - GUTTER;
    size_t floats = 3 * (size_t)writer->scene->vertex_count;
    for (int32_t i = 0; i < w->columns; i++) {
        w->frame[i].position = spl_new(&writer->allocator, floats, sizeof(float));
        w->frame[i].normal = spl_new(&writer->allocator, floats, sizeof(float));
        bool ok = w->frame[i].position && w->frame[i].normal && make_skin(w, &w->frame[i]);
        if (!ok) return spl_fail_memory(error, "the frames of a sheet");
    }
    supple_result r = spl_show_init(&w->show, writer->scene, &writer->config, error);
    return r == SUPPLE_OK ? spl_output_open(&w->output, writer->path, &writer->allocator, error) : r;
}

/* --- One clip --- */

/* Where a character walks farther than its own size, the camera walks along (on the floor only); the grid shows how
 * far. Returns the size of the largest frame. */
static double follow(sheet_writer *w, spl_box *all)
{
    double size = 0, travel = 0;
    spl_vec3 first = {0, 0, 0};
    *all = spl_box_empty();
    for (int32_t i = 0; i < w->kept; i++) {
        kept_frame *f = &w->frame[i];
        spl_box_join(all, &f->box);
        f->shift = spl_v3(0, 0, 0);
        if (spl_box_is_empty(&f->box)) continue;
        spl_vec3 centre = spl_lerp(f->box.min, f->box.max, 0.5);
        if (i == 0) first = centre;
        f->shift = spl_v3(centre.x - first.x, 0, centre.z - first.z);
        size = fmax(size, spl_distance(f->box.min, f->box.max));
        travel = fmax(travel, spl_norm(f->shift));
    }
    for (int32_t i = 0; travel < 0.5 * size && i < w->kept; i++) w->frame[i].shift = spl_v3(0, 0, 0);
    return size;
}

/* Makes the page taller by `rows` and returns the first of them, or -1 with the reason. */
static int32_t extend_page(sheet_writer *w, int32_t rows, supple_error *error)
{
    int32_t top = w->page.height;
    size_t stride = 4 * (size_t)w->page.width;
    uint8_t *rgba = spl_resize(&w->base.allocator, w->page.rgba, (size_t)(top + rows), stride);
    if (!rgba) {
        spl_fail_memory(error, "a contact sheet");
        return -1;
    }
    memset(rgba + (size_t)top * stride, PAPER, (size_t)rows * stride);
    for (size_t i = (size_t)top * stride + 3; i < (size_t)(top + rows) * stride; i += 4) rgba[i] = 255;
    w->page.rgba = rgba;
    w->page.height = top + rows;
    return top;
}

static void copy_cell(spl_pixels *page, const spl_pixels *cell, int32_t left, int32_t top)
{
    for (int32_t y = 0; y < cell->height; y++)
        memcpy(page->rgba + 4 * ((size_t)(top + y) * (size_t)page->width + (size_t)left),
               cell->rgba + 4 * (size_t)y * (size_t)cell->width, 4 * (size_t)cell->width);
}

/* Frame number and time in the lower left corner, the view's name in the upper left of the first column. */
static void label_cell(spl_pixels *cell, const supple_writer *writer, const supple_range *range, int32_t index,
                       const char *view)
{
    int32_t frame = range->first_frame + index, scale = cell->width >= 170 ? 2 : 1;
    char text[64];
    snprintf(text, sizeof text, "%d  %.2f s", (int)frame, frame / writer->fps);
    spl_text_draw(cell, 8, cell->height - SPL_GLYPH_HEIGHT * scale - 6, scale, PALE, text);
    if (view) spl_text_draw(cell, 8, 8, scale, PALE, view);
}

typedef struct block {
    const supple_range *range;
    spl_show_options options;
    int32_t top; /* of the first row of cells */
} block;

static supple_result draw_row(sheet_writer *w, const block *b, int32_t row, supple_error *error)
{
    spl_show_options options = b->options, *o = &options;
    spl_framing framing = spl_framing_begin(sheet_view[row], o->width, o->height, 0.05);
    framing.ky = framing.focal / (framing.cy - LABEL);
    for (int32_t i = 0; i < w->kept; i++) spl_show_frame(&w->show, w->frame[i].position, w->frame[i].shift, &framing);
    spl_camera still = spl_framing_camera(&framing);
    for (int32_t i = 0; i < w->kept; i++) {
        spl_camera camera = still;
        camera.eye = spl_add(still.eye, w->frame[i].shift);
        o->corner_uv = w->frame[i].corner_uv;
        o->vertex_color = w->frame[i].color;
        spl_pixels cell;
        supple_result r = spl_show_render(&w->show, w->frame[i].position, w->frame[i].normal, &camera, o, &cell, error);
        if (r != SUPPLE_OK) return r;
        label_cell(&cell, &w->base, b->range, w->frame[i].index, i ? NULL : spl_view_name(sheet_view[row]));
        copy_cell(&w->page, &cell, MARGIN + i * (o->width + GUTTER), b->top + row * (o->height + GUTTER));
        spl_pixels_free(&cell, &w->base.allocator);
    }
    return SUPPLE_OK;
}

/* The file's name without folder and ending; "demo:hero" is "hero". */
static void character_name(const supple_scene *scene, char *name, size_t size)
{
    const char *path = scene->path ? scene->path : "", *slash = strrchr(path, '/');
    if (slash) path = slash + 1;
    if (strncmp(path, "demo:", 5) == 0) path += 5;
    snprintf(name, size, "%s", path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = 0;
}

static void draw_caption(sheet_writer *w, const supple_range *range, int32_t top)
{
    const supple_scene *scene = w->base.scene;
    char name[80], clip[80], about[64];
    character_name(scene, name, sizeof name);
    bool known = range->clip >= 0 && range->clip < scene->clip_count;
    snprintf(clip, sizeof clip, "%s", known ? scene->clip[range->clip].name : "rest pose");
    snprintf(about, sizeof about, "%d frame%s at %g fps", (int)range->frame_count, range->frame_count == 1 ? "" : "s",
             w->base.fps);
    int32_t x = MARGIN + 2, y = top + 12;
    spl_text_draw(&w->page, x, y, 3, INK, name);
    x += spl_text_width(name, 3) + 24;
    spl_text_draw(&w->page, x, y + 7, 2, INK, clip);
    x += spl_text_width(clip, 2) + 24;
    bool trust = w->base.show == SUPPLE_SHOW_TRUST, heat = trust || w->base.show == SUPPLE_SHOW_STRETCH;
    int32_t scale = w->page.width - MARGIN - SPL_HEAT_WIDTH;
    bool fits = !heat || x + spl_text_width(about, 2) < scale; /* a page of one column is narrow */
    if (range->clip >= 0 && fits) spl_text_draw(&w->page, x, y + 7, 2, PALE, about);
    if (heat) spl_heat_legend(&w->page, scale, top + 4, trust);
}

/* Tall enough for the tallest view, within reason. */
static int32_t cell_height(sheet_writer *w)
{
    double aspect = 0;
    for (int32_t row = 0; row < ROWS; row++) {
        spl_framing framing = spl_framing_begin(sheet_view[row], 100, 100, 0);
        for (int32_t i = 0; i < w->kept; i++)
            spl_show_frame(&w->show, w->frame[i].position, w->frame[i].shift, &framing);
        aspect = fmax(aspect, spl_framing_aspect(&framing));
    }
    aspect = fmin(fmax(aspect, 0.62), 1.7);
    return (int32_t)(aspect * 0.9 * w->cell_width) + 2 * LABEL;
}

static supple_result draw_block(sheet_writer *w, const supple_range *range, supple_error *error)
{
    spl_box all;
    double size = follow(w, &all);
    block b = {.range = range, .options = spl_show_options_default()};
    b.options.width = w->cell_width;
    b.options.height = cell_height(w);
    b.options.ground_y = spl_box_is_empty(&all) ? 0 : all.min.y;
    b.options.grid_step = size > 0 ? spl_show_grid_step(size) : 1;
    int32_t rows = CAPTION + ROWS * (b.options.height + GUTTER) + MARGIN / 2;
    if (rows > SIDE_MAX - w->page.height) {
        w->skipped++;
        return SUPPLE_OK;
    }
    int32_t top = extend_page(w, rows, error);
    if (top < 0) return SUPPLE_ERROR_MEMORY;
    draw_caption(w, range, top);
    b.top = top + CAPTION;
    supple_result r = SUPPLE_OK;
    for (int32_t row = 0; row < ROWS && r == SUPPLE_OK; row++) r = draw_row(w, &b, row, error);
    return r;
}

static supple_result sheet_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    sheet_writer *w = (sheet_writer *)writer;
    const supple_range *range = &writer->ranges[frame->range];
    if (frame->index == 0) w->kept = 0;
    if (w->kept < column_count(range->frame_count) && frame->index == column_frame(range->frame_count, w->kept)) {
        kept_frame *f = &w->frame[w->kept++];
        size_t bytes = 3 * (size_t)writer->scene->vertex_count * sizeof(float);
        f->index = frame->index;
        memcpy(f->position, frame->position, bytes);
        if (frame->normal)
            memcpy(f->normal, frame->normal, bytes);
        else
            memset(f->normal, 0, bytes); /* faceted */
        spl_scene_upright(w->base.scene, f->position, (size_t)w->base.scene->vertex_count);
        spl_scene_upright(w->base.scene, f->normal, (size_t)w->base.scene->vertex_count);
        f->box = spl_show_box(&w->show, f->position);
        if (f->corner_uv) memcpy(f->corner_uv, frame->slide->corner_uv, 2 * frame->slide->corners * sizeof(float));
        if (f->color && writer->show == SUPPLE_SHOW_TRUST)
            spl_heat_trust(frame->trust, (size_t)writer->scene->vertex_count, f->color);
        else if (f->color)
            spl_heat_colors(frame->slide->stretch, (size_t)writer->scene->vertex_count, f->color);
    }
    return frame->index == range->frame_count - 1 ? draw_block(w, range, error) : SUPPLE_OK;
}

static supple_result sheet_close(supple_writer *writer, supple_error *error)
{
    sheet_writer *w = (sheet_writer *)writer;
    uint8_t *data;
    size_t size;
    if (w->skipped)
        spl_log(&writer->config, SUPPLE_LOG_WARNING, "%s: no room on the sheet for %d of %d clips", writer->path,
                (int)w->skipped, (int)writer->range_count);
    supple_result r = spl_image_encode_png(&w->page, &writer->allocator, &data, &size, error);
    if (r == SUPPLE_OK) r = spl_output_bytes(&w->output, data, size, error);
    spl_free(&writer->allocator, data);
    return r == SUPPLE_OK ? spl_output_commit(&w->output, error) : r;
}

static void sheet_release(supple_writer *writer)
{
    sheet_writer *w = (sheet_writer *)writer;
    spl_output_discard(&w->output);
    spl_show_release(&w->show);
    spl_free(&writer->allocator, w->page.rgba);
    for (int32_t i = 0; i < COLUMNS; i++) {
        spl_free(&writer->allocator, w->frame[i].position);
        spl_free(&writer->allocator, w->frame[i].normal);
        spl_free(&writer->allocator, w->frame[i].corner_uv);
        spl_free(&writer->allocator, w->frame[i].color);
    }
}

const spl_format spl_format_png = {
    .ending = ".png",
    .summary = "a contact sheet: up to eight frames of each clip, from two sides",
    .takes_ranges = true,
    .takes_slide = true,
    .state_size = sizeof(sheet_writer),
    .open = sheet_open,
    .frame = sheet_frame,
    .close = sheet_close,
    .release = sheet_release,
};
