/* A film: frames are kept in an unlinked file until the last one has come, because the camera must see them all; then
 * they are drawn one by one and go to ffmpeg as raw pictures. ffmpeg writes to the output's temporary name, which is
 * renamed when it has ended well. */
#include "show/movie.h"

#include "core/child.h"
#include "core/error.h"
#include "core/memory.h"
#include "show/heat.h"
#include "show/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEIGHT = 720, WIDTH_MIN = 480, WIDTH_MAX = 1280, PATH_SIZE = 4096 };

typedef struct movie_writer {
    supple_writer base;
    spl_output output, spool, messages;
    spl_show show;
    spl_child child;
    char ffmpeg[PATH_SIZE];
    float *position, *normal; /* one frame */
    bool has_normal;          /* every frame so far brought normals */
    size_t skin_count;        /* floats of a frame that show how skin has slid; 0: none */
    float *skin, *color;      /* those: coordinates of corners, or stretch of vertices and its colours */
    uint8_t *row;             /* a picture without its alpha */
} movie_writer;

/* What the camera must know. */
typedef struct stage {
    spl_box all;
    spl_vec3 first; /* centre of the first frame */
    bool follows;   /* the character walks farther than half its size, and the camera along */
    double size;
    spl_camera camera;
    spl_show_options options;
} stage;

/* Room for what a frame shows of sliding skin. */
static bool make_skin(movie_writer *w)
{
    const supple_scene *scene = w->base.scene;
    const supple_allocator *a = &w->base.allocator;
    bool trust = w->base.show == SUPPLE_SHOW_TRUST, stretch = trust || w->base.show == SUPPLE_SHOW_STRETCH;
    if (!w->base.slide && !trust) return true;
    w->skin_count = stretch ? (size_t)scene->vertex_count : 6 * (size_t)scene->triangle_count;
    w->skin = spl_new(a, w->skin_count, sizeof *w->skin);
    if (stretch) w->color = spl_new(a, w->skin_count, 3 * sizeof *w->color);
    return w->skin && (w->color || !stretch);
}

static supple_result movie_open(supple_writer *writer, supple_error *error)
{
    movie_writer *w = (movie_writer *)writer;
    size_t n = (size_t)writer->scene->vertex_count;
    if (!spl_child_find("ffmpeg", w->ffmpeg, sizeof w->ffmpeg))
        return spl_fail(error, SUPPLE_ERROR_OUTPUT,
                        "%s: needs ffmpeg, which is not in PATH; install it, or write .png or .glb", writer->path);
    w->has_normal = true;
    w->position = spl_new(&writer->allocator, n, 3 * sizeof *w->position);
    w->normal = spl_new(&writer->allocator, n, 3 * sizeof *w->normal);
    w->row = spl_new(&writer->allocator, (size_t)WIDTH_MAX * HEIGHT, 3);
    if (!w->position || !w->normal || !w->row || !make_skin(w)) return spl_fail_memory(error, "a film");
    supple_result r = spl_show_init(&w->show, writer->scene, &writer->config, error);
    if (r == SUPPLE_OK) r = spl_writer_output(writer, writer->path, &w->output, error);
    if (r == SUPPLE_OK) r = spl_writer_spool(writer, &w->spool, error);
    return r == SUPPLE_OK ? spl_writer_spool(writer, &w->messages, error) : r;
}

static supple_result movie_frame(supple_writer *writer, const supple_frame *frame, supple_error *error)
{
    movie_writer *w = (movie_writer *)writer;
    size_t bytes = 3 * (size_t)writer->scene->vertex_count * sizeof(float);
    if (!frame->normal) w->has_normal = false;
    supple_result r = spl_output_bytes(&w->spool, frame->position, bytes, error);
    const float *normal = frame->normal ? frame->normal : frame->position;
    if (r == SUPPLE_OK) r = spl_output_bytes(&w->spool, normal, bytes, error);
    if (r != SUPPLE_OK || !w->skin) return r;
    const float *skin = writer->show == SUPPLE_SHOW_TRUST ? frame->trust
                        : w->color                        ? frame->slide->stretch
                                                          : frame->slide->corner_uv;
    for (size_t i = 0; !skin && i < w->skin_count; i++) w->skin[i] = 1; /* none was given: at rest, or full */
    return spl_output_bytes(&w->spool, skin ? skin : w->skin, w->skin_count * sizeof *skin, error);
}

static supple_result read_frame(movie_writer *w, int32_t index, supple_error *error)
{
    size_t count = 3 * (size_t)w->base.scene->vertex_count;
    FILE *f = w->spool.stream;
    off_t at = (off_t)((uint64_t)index * (2 * count + w->skin_count) * sizeof(float));
    if (fflush(f) == 0 && fseeko(f, at, SEEK_SET) == 0 && fread(w->position, sizeof(float), count, f) == count &&
        fread(w->normal, sizeof(float), count, f) == count &&
        (!w->skin || fread(w->skin, sizeof(float), w->skin_count, f) == w->skin_count)) {
        spl_scene_upright(w->base.scene, w->position, count / 3);
        spl_scene_upright(w->base.scene, w->normal, count / 3);
        return SUPPLE_OK;
    }
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: the spool cannot be read", w->base.path);
}

/* ---- the camera ------------------------------------------------------------------------------------------------- */

static spl_vec3 shift_of(const stage *s, const spl_box *box)
{
    if (!s->follows || spl_box_is_empty(box)) return spl_v3(0, 0, 0);
    spl_vec3 centre = spl_lerp(box->min, box->max, 0.5);
    return spl_v3(centre.x - s->first.x, 0, centre.z - s->first.z);
}

/* The box of all frames, and whether the camera follows. */
static supple_result survey(movie_writer *w, stage *s, supple_error *error)
{
    double travel = 0;
    supple_result r = SUPPLE_OK;
    s->all = spl_box_empty();
    s->follows = true;
    for (int32_t k = 0; k < w->base.frame_total && r == SUPPLE_OK; k++) {
        r = read_frame(w, k, error);
        if (r != SUPPLE_OK) return r;
        spl_box box = spl_show_box(&w->show, w->position);
        if (spl_box_is_empty(&box)) continue;
        if (s->size == 0) s->first = spl_lerp(box.min, box.max, 0.5);
        spl_box_join(&s->all, &box);
        s->size = fmax(s->size, spl_distance(box.min, box.max));
        travel = fmax(travel, spl_norm(shift_of(s, &box)));
    }
    s->follows = travel >= 0.5 * s->size;
    return r;
}

/* Frames what all frames show; twice, for the shape of the picture comes first. */
static supple_result place_camera(movie_writer *w, stage *s, supple_error *error)
{
    s->options = spl_show_options_default();
    s->options.height = HEIGHT;
    s->options.width = HEIGHT;
    s->options.ground_y = spl_box_is_empty(&s->all) ? 0 : s->all.min.y;
    s->options.grid_step = s->size > 0 ? spl_show_grid_step(s->size) : 1;
    for (int pass = 0; pass < 2; pass++) {
        spl_framing framing = spl_framing_begin(SPL_VIEW_THREE_QUARTER, s->options.width, HEIGHT, 0.06);
        for (int32_t k = 0; k < w->base.frame_total; k++) {
            supple_result r = read_frame(w, k, error);
            if (r != SUPPLE_OK) return r;
            spl_box box = spl_show_box(&w->show, w->position);
            spl_show_frame(&w->show, w->position, shift_of(s, &box), &framing);
        }
        double width = HEIGHT / fmax(spl_framing_aspect(&framing), 0.01);
        s->options.width = (int32_t)fmin(fmax(width, WIDTH_MIN), WIDTH_MAX) / 2 * 2; /* even: colours are halved */
        s->camera = spl_framing_camera(&framing);
    }
    return SUPPLE_OK;
}

/* ---- ffmpeg ----------------------------------------------------------------------------------------------------- */

/* What ffmpeg said last, or why it could not. */
static supple_result blame(movie_writer *w, supple_error *error)
{
    char text[160] = "", *line = text;
    FILE *f = w->messages.stream;
    spl_child_kill(&w->child);
    if (fseeko(f, 0, SEEK_SET) == 0) text[fread(text, 1, sizeof text - 1, f)] = 0;
    line[strcspn(line, "\r\n")] = 0;
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: ffmpeg failed%s%s", w->base.path, *line ? ": " : "", line);
}

static supple_result start(movie_writer *w, const stage *s, supple_error *error)
{
    char size[32], rate[40], *target = spl_new(&w->base.allocator, strlen(w->output.temporary) + 6, 1);
    if (!target) return spl_fail_memory(error, "a path");
    sprintf(target, "file:%s", w->output.temporary); /* whatever the name begins with, it is a file's */
    snprintf(size, sizeof size, "%dx%d", (int)s->options.width, HEIGHT);
    snprintf(rate, sizeof rate, "%lld/1000", (long long)fmax(1, rint(1000 * w->base.fps)));
    const char *argv[] = {"ffmpeg",   "-hide_banner", "-loglevel", "error",      "-y", "-f",  "rawvideo", "-pix_fmt",
                          "rgb24",    "-s",           size,        "-r",         rate, "-i",  "pipe:0",   "-an",
                          "-pix_fmt", "yuv420p",      "-movflags", "+faststart", "-f", "mp4", target,     NULL};
    int r = spl_child_start(&w->child, w->ffmpeg, (char *const *)(void *)argv, fileno(w->messages.stream));
    spl_free(&w->base.allocator, target);
    if (r == 0) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: ffmpeg cannot be started: %s", w->base.path, strerror(r));
}

static supple_result send(movie_writer *w, const spl_pixels *picture, supple_error *error)
{
    size_t count = (size_t)picture->width * (size_t)picture->height;
    for (size_t i = 0; i < count; i++) memcpy(w->row + 3 * i, picture->rgba + 4 * i, 3);
    return spl_child_write(&w->child, w->row, 3 * count) ? SUPPLE_OK : blame(w, error);
}

static supple_result draw_all(movie_writer *w, const stage *s, supple_error *error)
{
    supple_result r = SUPPLE_OK;
    for (int32_t k = 0; k < w->base.frame_total && r == SUPPLE_OK; k++) {
        r = spl_progress(&w->base.config, "drawing", (double)k / w->base.frame_total, error);
        if (r == SUPPLE_OK) r = read_frame(w, k, error);
        if (r != SUPPLE_OK) return r;
        spl_box box = spl_show_box(&w->show, w->position);
        spl_camera camera = s->camera;
        camera.eye = spl_add(camera.eye, shift_of(s, &box));
        spl_pixels picture;
        const float *normal = w->has_normal ? w->normal : NULL;
        spl_show_options options = s->options;
        bool trust = w->base.show == SUPPLE_SHOW_TRUST;
        if (w->color) (trust ? spl_heat_trust : spl_heat_colors)(w->skin, w->skin_count, w->color);
        options.vertex_color = w->color;
        options.corner_uv = w->color ? NULL : w->skin;
        r = spl_show_render(&w->show, w->position, normal, &camera, &options, &picture, error);
        if (r == SUPPLE_OK && w->color) spl_heat_legend(&picture, 10, HEIGHT - SPL_HEAT_HEIGHT - 10, trust);
        if (r == SUPPLE_OK) r = send(w, &picture, error);
        spl_pixels_free(&picture, &w->base.allocator);
    }
    return r;
}

static supple_result movie_close(supple_writer *writer, supple_error *error)
{
    movie_writer *w = (movie_writer *)writer;
    stage s = {0};
    supple_result r = survey(w, &s, error);
    if (r == SUPPLE_OK) r = place_camera(w, &s, error);
    if (r == SUPPLE_OK) r = start(w, &s, error);
    if (r == SUPPLE_OK) r = draw_all(w, &s, error);
    if (r != SUPPLE_OK) return r;
    bool ended = spl_child_end(&w->child);
    if (ended && fseeko(w->output.stream, 0, SEEK_END) == 0 && ftello(w->output.stream) > 0)
        return spl_output_commit(&w->output, error);
    return blame(w, error);
}

static void movie_release(supple_writer *writer)
{
    movie_writer *w = (movie_writer *)writer;
    spl_child_kill(&w->child);
    spl_output_discard(&w->output);
    spl_output_discard(&w->spool);
    spl_output_discard(&w->messages);
    spl_show_release(&w->show);
    spl_free(&writer->allocator, w->position);
    spl_free(&writer->allocator, w->normal);
    spl_free(&writer->allocator, w->row);
    spl_free(&writer->allocator, w->skin);
    spl_free(&writer->allocator, w->color);
}

const spl_format spl_format_mp4 = {
    .ending = ".mp4",
    .summary = "a film of the clip, where ffmpeg is installed",
    .takes_slide = true,
    .state_size = sizeof(movie_writer),
    .open = movie_open,
    .frame = movie_frame,
    .close = movie_close,
    .release = movie_release,
};
