#include "scene/writers/gltf_slide_texture.h"

#include "core/error.h"
#include "core/memory.h"
#include "scene/image.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 4095, SETS = 8 };

/* How the coordinates of a part are stored: coordinate = TEXCOORD_0 + (q - zero) unit, so that skin which has not slid
 * is drawn at its very place. */
typedef struct code {
    int32_t column;         /* its first vertex among all that are stored; -1: nothing of it slides */
    double low[2], unit[2]; /* texels: the smallest offset; of a step */
    int32_t zero[2];
} code;

typedef struct layout {
    int32_t width, rows; /* texels; of a frame */
    code *code;          /* by part */
} layout;

/* The smallest square, from 2048 texels a side on, that holds frames of so many vertices; false if none does. */
static bool find_layout(size_t vertices, int32_t frames, layout *out)
{
    for (size_t side = 2048; side <= 8192; side *= 2) {
        size_t rows = (vertices + side - 1) / side;
        if (rows * (size_t)frames > side) continue;
        out->rows = (int32_t)rows;
        out->width = (int32_t)((vertices - 1) / rows) + 1;
        return true;
    }
    return false;
}

static const float *uv_of(const spl_bake *bake, const spl_bake_part *part)
{
    const spl_mesh *mesh = &bake->scene->mesh[bake->scene->instance[part->instance].mesh];
    return mesh->primitive[part->primitive].uv;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static supple_result read_frame(spl_gltf_slide *s, const spl_bake *bake, const spl_frames *frames, int32_t k,
                                supple_error *error)
{
    size_t bytes = frames->width * sizeof(float), done = 0;
    while (done < bytes) {
        ssize_t n = pread(frames->file, (char *)s->row + done, bytes - done, (off_t)((size_t)k * bytes + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return spl_fail(error, SUPPLE_ERROR_OUTPUT, "%s: the spool cannot be read: %s", bake->writer->path,
                            n < 0 ? strerror(errno) : "it is cut short");
        done += (size_t)n;
    }
    return SUPPLE_OK;
}

/* How far a coordinate of the frame in s->row is from where it rests, texels. */
static double offset(const spl_gltf_slide *s, const spl_bake_part *part, const float *uv, size_t v, size_t d)
{
    size_t at = (size_t)part->first_vertex + v;
    return s->corner[at] < 0 ? 0 : (double)s->row[3 * at + d] - (double)uv[2 * v + d] * s->size[2 * at + d];
}

static supple_result find_ranges(spl_gltf_slide *s, const spl_bake *bake, const spl_frames *frames, layout *l,
                                 double (*high)[2], supple_error *error)
{
    supple_result result = SUPPLE_OK;
    for (int32_t k = 0; k < frames->count && result == SUPPLE_OK; k++) {
        result = read_frame(s, bake, frames, k, error);
        for (int32_t i = 0; i < bake->part_count && result == SUPPLE_OK; i++) {
            const spl_bake_part *part = &bake->part[i];
            const float *uv = uv_of(bake, part);
            for (size_t c = 0; uv && c < 2 * (size_t)part->vertex_count; c++) {
                double far = offset(s, part, uv, c / 2, c % 2);
                l->code[i].low[c % 2] = fmin(l->code[i].low[c % 2], far);
                high[i][c % 2] = fmax(high[i][c % 2], far);
            }
        }
    }
    return result;
}

/* Parts of which nothing ever leaves its place by a hundredth of a texel are left out. */
static spl_slide_texture choose(const spl_bake *bake, double (*high)[2], layout *l)
{
    size_t vertices = 0;
    for (int32_t i = 0; i < bake->part_count; i++) {
        code *c = &l->code[i];
        double range[2] = {high[i][0] - c->low[0], high[i][1] - c->low[1]};
        c->column = fmax(range[0], range[1]) < 0.01 ? -1 : (int32_t)vertices;
        if (c->column < 0) continue;
        vertices += (size_t)bake->part[i].vertex_count;
        for (int d = 0; d < 2; d++) {
            c->unit[d] = range[d] / (STEPS - 1); /* one step of room, as zero is rounded */
            c->zero[d] = range[d] > 0 ? (int32_t)lround(-c->low[d] / c->unit[d]) : 0;
        }
    }
    if (vertices == 0) return SPL_SLIDE_TEXTURE_NONE;
    if (find_layout(vertices, bake->writer->frame_total, l)) return SPL_SLIDE_TEXTURE_WRITTEN;
    spl_log(
        &bake->writer->config, SUPPLE_LOG_WARNING,
        "%s: the slide of %zu vertices in %d frames does not fit into a texture of 8192 texels a side, and is written "
        "as components; write fewer frames",
        bake->writer->path, vertices, (int)bake->writer->frame_total);
    return SPL_SLIDE_TEXTURE_LARGE;
}

static supple_result fill(spl_gltf_slide *s, const spl_bake *bake, const spl_frames *frames, const layout *l,
                          spl_pixels *pixels, supple_error *error)
{
    for (int32_t k = 0; k < frames->count; k++) {
        supple_result result = read_frame(s, bake, frames, k, error);
        if (result != SUPPLE_OK) return result;
        uint8_t *frame = pixels->rgba + 4 * (size_t)k * (size_t)l->rows * (size_t)l->width;
        for (int32_t i = 0; i < bake->part_count; i++) {
            const spl_bake_part *part = &bake->part[i];
            const code *c = &l->code[i];
            for (size_t v = 0; c->column >= 0 && v < (size_t)part->vertex_count; v++) {
                uint8_t *texel = frame + 4 * ((size_t)c->column + v);
                unsigned q[2] = {0, 0};
                for (size_t d = 0; d < 2; d++) {
                    double far = offset(s, part, uv_of(bake, part), v, d), steps = 0;
                    if (c->unit[d] > 0) steps = fmin(fmax(round(far / c->unit[d]) + c->zero[d], 0), STEPS);
                    q[d] = (unsigned)steps;
                    s->error = fmax(s->error, fabs((steps - c->zero[d]) * c->unit[d] - far));
                }
                texel[0] = (uint8_t)(q[0] >> 4);
                texel[1] = (uint8_t)((q[0] & 15) << 4 | q[1] >> 8);
                texel[2] = (uint8_t)(q[1] & 255);
            }
        }
    }
    return SUPPLE_OK;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* Adds the coordinates of a part's texels in the first frame as the next set that is free; -1: none is, or memory is
 * out. */
static int add_places(spl_bake *bake, const spl_bake_part *part, int32_t column, const layout *l)
{
    json_t *attributes = json_object_get(part->json, "attributes");
    double height = (double)l->rows * bake->writer->frame_total;
    char name[16];
    int set = 1;
    for (; set < SETS; set++) {
        snprintf(name, sizeof name, "TEXCOORD_%d", set);
        if (!json_object_get(attributes, name)) break;
    }
    float *place = set < SETS ? spl_new(&bake->allocator, (size_t)part->vertex_count, 2 * sizeof *place) : NULL;
    if (!place) return -1;
    for (int32_t v = 0; v < part->vertex_count; v++) {
        place[2 * v] = (float)(((column + v) % l->width + 0.5) / l->width);
        place[2 * v + 1] = (float)(((column + v) / l->width + 0.5) / height);
    }
    int32_t accessor = spl_bake_floats(bake, place, (size_t)part->vertex_count, "VEC2", false, true);
    spl_free(&bake->allocator, place);
    if (accessor < 0) return -1;
    spl_bake_set(bake, attributes, name, json_integer(accessor));
    return set;
}

/* {"texture": {"uri", "set", "size": [W, H], "rows", "zero": [u, v], "unit": [u, v]}, "frames": ..., "fps": F} */
static supple_result describe(spl_gltf_slide *s, spl_bake *bake, const layout *l, int32_t i, const char *uri,
                              supple_error *error)
{
    const spl_bake_part *part = &bake->part[i];
    const code *c = &l->code[i];
    const double *size = s->size + 2 * (size_t)part->first_vertex;
    int set = add_places(bake, part, c->column, l);
    if (set < 0) return spl_fail_memory(error, "the slide's texture");
    int32_t height = l->rows * bake->writer->frame_total;
    json_t *texture = json_object();
    spl_bake_set(bake, texture, "uri", json_string(uri));
    spl_bake_set(bake, texture, "set", json_integer(set));
    spl_bake_set(bake, texture, "size", json_pack("[i,i]", (int)l->width, (int)height));
    spl_bake_set(bake, texture, "rows", json_integer(l->rows));
    spl_bake_set(bake, texture, "zero", json_pack("[i,i]", (int)c->zero[0], (int)c->zero[1]));
    spl_bake_set(bake, texture, "unit", json_pack("[f,f]", c->unit[0] / size[0], c->unit[1] / size[1]));
    json_t *slide = json_object();
    spl_bake_set(bake, slide, "texture", texture);
    spl_gltf_slide_describe(bake, part, slide);
    return bake->failed ? spl_fail_memory(error, "the slide's texture") : SUPPLE_OK;
}

static supple_result encode(const spl_pixels *pixels, const spl_bake *bake, spl_output *output, supple_error *error)
{
    uint8_t *png = NULL;
    size_t size = 0;
    supple_result result = spl_image_encode_png(pixels, &bake->allocator, &png, &size, error);
    if (result == SUPPLE_OK) result = spl_output_bytes(output, png, size, error);
    spl_free(&bake->allocator, png);
    return result;
}

static supple_result write_picture(spl_gltf_slide *s, spl_bake *bake, const spl_frames *frames, const layout *l,
                                   spl_output *output, supple_error *error)
{
    spl_pixels pixels = {.width = l->width, .height = l->rows * frames->count};
    size_t texels = (size_t)pixels.width * (size_t)pixels.height;
    pixels.rgba = spl_new(&bake->allocator, texels, 4);
    if (!pixels.rgba) return spl_fail_memory(error, "the slide's texture");
    for (size_t t = 0; t < texels; t++) pixels.rgba[4 * t + 3] = 255;
    supple_result result = fill(s, bake, frames, l, &pixels, error);
    if (result == SUPPLE_OK) result = encode(&pixels, bake, output, error);
    spl_pixels_free(&pixels, &bake->allocator);
    return result;
}

static supple_result write_layout(spl_gltf_slide *s, spl_bake *bake, const spl_frames *frames, const layout *l,
                                  spl_output *output, supple_error *error)
{
    supple_result result = write_picture(s, bake, frames, l, output, error);
    char *uri = spl_output_uri(output->path, &bake->allocator);
    if (result == SUPPLE_OK && !uri) result = spl_fail_memory(error, "an output path");
    for (int32_t i = 0; i < bake->part_count && result == SUPPLE_OK; i++)
        if (l->code[i].column >= 0) result = describe(s, bake, l, i, uri, error);
    spl_free(&bake->allocator, uri);
    if (result == SUPPLE_OK)
        spl_log(&bake->writer->config, SUPPLE_LOG_INFO,
                "%s: sliding skin as a texture of %d x %d texels, off by %.2g texels of the skin's; a viewer needs the "
                "shader of examples/slide-texture-three.js to show it",
                output->path, (int)l->width, (int)(l->rows * frames->count), s->error);
    return result;
}

supple_result spl_slide_texture_write(spl_gltf_slide *s, spl_bake *bake, const spl_frames *frames, spl_output *output,
                                      spl_slide_texture *done, supple_error *error)
{
    const supple_allocator *a = &bake->allocator;
    layout l = {.width = 1, .rows = 1, .code = spl_new(a, (size_t)bake->part_count, sizeof *l.code)};
    double(*high)[2] = spl_new(a, (size_t)bake->part_count, sizeof *high);
    supple_result result =
        l.code && high ? find_ranges(s, bake, frames, &l, high, error) : spl_fail_memory(error, "the slide's texture");
    *done = SPL_SLIDE_TEXTURE_NONE;
    if (result == SUPPLE_OK) *done = choose(bake, high, &l);
    if (*done == SPL_SLIDE_TEXTURE_WRITTEN) result = write_layout(s, bake, frames, &l, output, error);
    spl_free(a, l.code);
    spl_free(a, high);
    return result;
}
