/* Pictures: the whole body, and the joints that bend or twist most, the same frames and cameras for every method. */
#include "child.h"
#include "compare.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_PANELS = 6, JOINT_PANELS = 3, PANELS = BODY_PANELS, JOINTS = 4, JOINT_SIDE = 300, TITLE = 160, CLIPS = 8 };

/* One view: a clip's frames from cameras. */
typedef struct view {
    int range, count, width, height;
    int32_t frame[PANELS]; /* within the range */
    supple_camera camera[PANELS];
    char id[TITLE], title[TITLE];
    const char *kind, *joint; /* joint NULL: the body */
    double degrees;
} view;

typedef struct painter {
    cli_compare *c;
    supple_picture *picture;
    float *points[PANELS]; /* frames of one method */
} painter;

/* Every method has the frames whose numbers the reference's stride divides. */
static int32_t common_stride(const cli_compare *c)
{
    const cli_compare_method *reference = cli_compare_reference(c);
    return reference ? reference->stride : 1;
}

/* Adds the common frame nearest to one; none twice. */
static void add_frame(const cli_compare *c, view *v, int32_t frame)
{
    const supple_range *r = &c->ranges[v->range];
    int32_t stride = common_stride(c), last = r->first_frame + r->frame_count - 1;
    int32_t number = (r->first_frame + frame + stride / 2) / stride * stride;
    if (number > last) number -= stride;
    if (number < r->first_frame) number += stride;
    if (number > last) return;
    for (int i = 0; i < v->count; i++)
        if (v->frame[i] == number - r->first_frame) return;
    v->frame[v->count++] = number - r->first_frame;
}

/* Frames of a method, at the view's moments. */
static bool read_frames(painter *p, const cli_compare_method *m, const view *v)
{
    for (int i = 0; i < v->count; i++)
        if (!cli_compare_frame(p->c, m, v->range, v->frame[i], p->points[i])) return false;
    return true;
}

static const cli_compare_method *first_that_ran(const cli_compare *c)
{
    for (int i = 0; i < c->method_count; i++)
        if (c->method[i].ran) return &c->method[i];
    return NULL;
}

/* ---- drawing ---- */

static int draw_method(painter *p, const cli_compare_method *m, const view *v, json_t *images)
{
    supple_panel panel[PANELS];
    char label[PANELS][64];
    supple_error error;
    void *png;
    size_t size;
    if (!m->ran || !read_frames(p, m, v)) return 0;
    for (int i = 0; i < v->count; i++) {
        snprintf(label[i], sizeof label[i], "%s  %d", m->name, (int)(p->c->ranges[v->range].first_frame + v->frame[i]));
        panel[i] = (supple_panel){p->points[i], v->camera[i], label[i]};
    }
    if (supple_picture_strip(p->picture, panel, v->count, v->width, v->height, &png, &size, &error) != SUPPLE_OK)
        return cli_compare_fail(&error);
    int blob = cli_blobs_add(&p->c->blobs, "image/png", png, size);
    supple_bytes_free(png, &p->c->config);
    if (blob < 0) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the pictures"});
    json_object_set_new(images, m->name, json_integer(blob));
    return 0;
}

static int draw_view(painter *p, const view *v)
{
    json_t *images = json_object(), *frames = json_array();
    int code = 0;
    if (p->c->shown) {
        char line[TITLE + 20];
        snprintf(line, sizeof line, "pictures: %s", v->title);
        cli_progress_line(line);
    }
    for (int i = 0; i < p->c->method_count && code == 0; i++) code = draw_method(p, &p->c->method[i], v, images);
    for (int i = 0; i < v->count; i++) json_array_append_new(frames, json_integer(v->frame[i]));
    json_t *o = json_pack("{s:o,s:o,s:i,s:o,s:o,s:s,s:o,s:o}", "id", cli_compare_string(v->id), "title",
                          cli_compare_string(v->title), "clip", v->range, "frames", frames, "images", images, "kind",
                          v->kind, "joint", v->joint ? cli_compare_string(v->joint) : json_null(), "degrees",
                          isfinite(v->degrees) ? json_real(v->degrees) : json_null());
    if (o)
        json_array_append_new(p->c->views, o);
    else if (code == 0)
        code = cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the pictures"});
    return code;
}

/* ---- what is drawn ---- */

/* With several clips, which one. */
static void title(const cli_compare *c, view *v, const char *text)
{
    const char *clip = c->range_count > 1 ? supple_scene_clip_name(c->scene, c->ranges[v->range].clip) : NULL;
    snprintf(v->title, sizeof v->title, "%.60s%s%.90s", clip ? clip : "", clip ? ": " : "", text);
}

static int draw_body(painter *p, int range)
{
    const cli_compare_method *m = first_that_ran(p->c);
    int32_t last = p->c->ranges[range].frame_count - 1;
    view v = {.range = range, .kind = "body", .degrees = NAN};
    for (int i = 0; i < BODY_PANELS; i++) add_frame(p->c, &v, (int32_t)lround((double)last * i / (BODY_PANELS - 1)));
    if (v.count == 0 || !read_frames(p, m, &v)) return 0;
    double aspect;
    supple_picture_whole(p->picture, (const float *const *)p->points, v.count, v.camera, &aspect);
    v.width = aspect >= 1 ? 240 : 320;
    v.height = (int)lround(v.width * aspect);
    snprintf(v.id, sizeof v.id, range ? "body-%d" : "body", range);
    title(p->c, &v, "whole body");
    return draw_view(p, &v);
}

/* ---- trust ---- */

/* A whole file into a new block; NULL if it cannot be read. */
static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long length = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    void *data = length > 0 ? malloc((size_t)length) : NULL;
    bool whole = data && fseek(file, 0, SEEK_SET) == 0 && fread(data, 1, (size_t)length, file) == (size_t)length;
    if (file) fclose(file);
    if (!whole) free(data);
    *size = whole ? (size_t)length : 0;
    return whole ? data : NULL;
}

/* The sheet on which a method's child has painted trust. */
static int add_trust(painter *p, const cli_compare_method *m, int range, json_t *images)
{
    char path[CLI_COMPARE_PATH], other[CLI_COMPARE_PATH];
    size_t size;
    cli_compare *c = p->c;
    cli_summary s;
    cli_compare_summarise(c, m, &s);
    if (!m->ran || !(s.trust < 1)) return 0; /* all white, or no flesh */
    if (snprintf(path, sizeof path, "%s/%s.png", c->folder, m->name) >= (int)sizeof path) return 0;
    const char *clip = c->range_count > 1 ? supple_scene_clip_name(c->scene, c->ranges[range].clip) : NULL;
    if (clip && !supple_output_variant(path, clip, other, sizeof other)) return 0;
    void *png = read_file(clip ? other : path, &size);
    int blob = png ? cli_blobs_add(&c->blobs, "image/png", png, size) : -1;
    free(png);
    if (blob >= 0) json_object_set_new(images, m->name, json_integer(blob));
    return 0;
}

/* Where flesh is trusted less than in full, of the methods that have such places. */
static int draw_trust(painter *p, int range)
{
    view v = {.range = range, .kind = "trust", .degrees = NAN};
    json_t *images = json_object();
    int code = 0;
    for (int i = 0; i < p->c->method_count && code == 0; i++) code = add_trust(p, &p->c->method[i], range, images);
    if (code || json_object_size(images) == 0) {
        json_decref(images);
        return code;
    }
    snprintf(v.id, sizeof v.id, range ? "trust-%d" : "trust", range);
    title(p->c, &v, "trust: blue where the file's own skinning is shown in place of flesh");
    json_array_append_new(p->c->views,
                          json_pack("{s:o,s:o,s:i,s:o,s:o,s:s,s:o,s:o}", "id", cli_compare_string(v.id), "title",
                                    cli_compare_string(v.title), "clip", v.range, "frames", json_array(), "images",
                                    images, "kind", v.kind, "joint", json_null(), "degrees", json_null()));
    return 0;
}

/* The frame of the largest angle, and one before and after it, a tenth of the clip away; at an end of the clip, those
 * on one side. */
static int draw_joint(painter *p, int range, supple_bends *bends, int index)
{
    const supple_bend *b = supple_bends_get(bends, index);
    const cli_compare_method *m = first_that_ran(p->c);
    int32_t frames = p->c->ranges[range].frame_count, most = b->twists ? b->twist_frame : b->bend_frame;
    int32_t step = frames / 10 > 1 ? frames / 10 : 1;
    view v = {.range = range,
              .width = JOINT_SIDE,
              .height = JOINT_SIDE,
              .joint = b->name,
              .kind = b->twists ? "twist" : "bend"};
    v.degrees = b->twists ? b->twist : b->bend;
    if (step < common_stride(p->c)) step = common_stride(p->c);
    int32_t start = most - step > frames - 1 - 2 * step ? frames - 1 - 2 * step : most - step;
    for (int32_t i = 0, at = start > 0 ? start : 0; i < JOINT_PANELS && at < frames; i++, at += step)
        add_frame(p->c, &v, at);
    supple_error error;
    char text[TITLE];
    if (v.count == 0 || !read_frames(p, m, &v)) return 0;
    if (supple_bends_cameras(bends, index, v.frame, v.count, (const float *const *)p->points, v.camera, &error) !=
        SUPPLE_OK)
        return cli_compare_fail(&error);
    snprintf(v.id, sizeof v.id, "%.60s-%s-%d", b->name, v.kind, range);
    snprintf(text, sizeof text, "%.60s %ss by %.0f degrees", *b->name ? b->name : "a joint", v.kind, v.degrees);
    title(p->c, &v, text);
    return draw_view(p, &v);
}

static int draw_clip(painter *p, int range)
{
    supple_bends *bends;
    supple_error error;
    int joints = p->c->range_count > 2 ? 1 : p->c->range_count > 1 ? 2 : JOINTS;
    int code = draw_body(p, range);
    if (code) return code;
    if (supple_bends_create(p->c->scene, &p->c->ranges[range], p->c->fps, joints, &p->c->config, &bends, &error) !=
        SUPPLE_OK)
        return cli_compare_fail(&error);
    for (int i = 0; code == 0 && supple_bends_get(bends, i); i++) code = draw_joint(p, range, bends, i);
    supple_bends_destroy(bends);
    return code == 0 ? draw_trust(p, range) : code;
}

int cli_compare_views(cli_compare *c)
{
    painter p = {.c = c};
    supple_error error;
    size_t points = (size_t)first_that_ran(c)->frames[0].points;
    bool room = (c->views = json_array()) != NULL;
    for (int i = 0; i < PANELS; i++) room = (p.points[i] = calloc(points + 1, 3 * sizeof(float))) && room;
    int code = room ? 0 : cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the pictures"});
    if (code == 0 && supple_picture_create(c->scene, &c->config, &p.picture, &error) != SUPPLE_OK)
        code = cli_compare_fail(&error);
    if (c->range_count > CLIPS) cli_compare_tell(c, "pictures are of the first %d clips", CLIPS);
    for (int r = 0; r < c->range_count && r < CLIPS && code == 0; r++) code = draw_clip(&p, r);
    supple_picture_destroy(p.picture);
    for (int i = 0; i < PANELS; i++) free(p.points[i]);
    return code;
}
