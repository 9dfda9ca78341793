/* Images through libpng and libjpeg.
 *
 * Both libraries report errors by longjmp. Each codec keeps everything it owns in one struct that lives in the caller
 * of the function with the setjmp, and that function changes no local of its own: so nothing is clobbered and nothing
 * leaks. libpng takes its memory from our allocator; libjpeg has its own pool, which is bounded. */
#include "scene/image.h"

#include "core/error.h"
#include "core/memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>
#include <png.h>

enum { SIDE_MAX = 16384, PIXELS_MAX = 1 << 26, SCANS_MAX = 200, COMPRESSION = 6 };

/* Deflate cannot do better than 1032 to 1: a file that promises more is not worth allocating for. */
static const size_t DEFLATE_RATIO = 1040;
static const size_t PNG_CHUNK_BYTES = 8u << 20;
static const long JPEG_BYTES = 256l << 20;

void spl_pixels_free(spl_pixels *pixels, const supple_allocator *a)
{
    spl_free(a, pixels->rgba);
    *pixels = (spl_pixels){0};
}

/* What both codecs share: where the pixels go and why decoding ended. */
typedef struct codec {
    const supple_allocator *allocator;
    const uint8_t *data;
    size_t size, at;
    spl_pixels pixels;
    bool out_of_memory;
    char why[200];
} codec;

static void explain(codec *c, const char *why)
{
    snprintf(c->why, sizeof c->why, "%s", why);
}

/* Bounds the size and allocates the pixels; false with the reason kept. */
static bool make_pixels(codec *c, uint32_t width, uint32_t height)
{
    if (width == 0 || height == 0 || width > SIDE_MAX || height > SIDE_MAX ||
        (size_t)width * height > (size_t)PIXELS_MAX) {
        snprintf(c->why, sizeof c->why, "%u x %u pixels; at most %d a side and %d in all are read", width, height,
                 SIDE_MAX, PIXELS_MAX);
        return false;
    }
    c->pixels.width = (int32_t)width;
    c->pixels.height = (int32_t)height;
    c->pixels.rgba = spl_new(c->allocator, (size_t)width * height, 4);
    if (!c->pixels.rgba) c->out_of_memory = true;
    return c->pixels.rgba != NULL;
}

static uint8_t *row_of(const codec *c, int32_t y)
{
    return c->pixels.rgba + 4 * (size_t)c->pixels.width * (size_t)y;
}

/* --- PNG --- */

typedef struct png_codec {
    codec base;
    png_structp png;
    png_infop info;
    uint8_t *out; /* encoding: the bytes so far */
    size_t out_size, out_capacity;
} png_codec;

static void png_on_error(png_structp png, png_const_charp message)
{
    png_codec *p = png_get_error_ptr(png);
    if (!p->base.why[0]) explain(&p->base, message);
    png_longjmp(png, 1);
}

/* Warnings are not told, but for the one whose error says nothing: "Invalid IHDR data". */
static void png_on_warning(png_structp png, png_const_charp message)
{
    png_codec *p = png_get_error_ptr(png);
    if (!strstr(message, "exceeds user limit")) return;
    snprintf(p->base.why, sizeof p->base.why, "too large; at most %d pixels a side are read", SIDE_MAX);
}

static png_voidp png_allocate(png_structp png, png_alloc_size_t size)
{
    png_codec *p = png_get_mem_ptr(png);
    const supple_allocator *a = p->base.allocator;
    void *block = a->allocate(a->user, size);
    if (!block) p->base.out_of_memory = true;
    return block;
}

static void png_release(png_structp png, png_voidp block)
{
    png_codec *p = png_get_mem_ptr(png);
    spl_free(p->base.allocator, block);
}

static void png_take_bytes(png_structp png, png_bytep to, size_t count)
{
    codec *c = png_get_io_ptr(png);
    if (count > c->size - c->at) png_error(png, "the data ends early");
    memcpy(to, c->data + c->at, count);
    c->at += count;
}

static void png_set_limits(png_codec *p)
{
    /* Text and profiles are of no use here, and are where decompression bombs hide. */
    static const uint8_t ignored[] = "iCCP\0iTXt\0tEXt\0zTXt\0sPLT\0eXIf\0hIST";
    png_set_user_limits(p->png, SIDE_MAX, SIDE_MAX);
    png_set_chunk_cache_max(p->png, 64);
    png_set_chunk_malloc_max(p->png, PNG_CHUNK_BYTES);
    png_set_keep_unknown_chunks(p->png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_set_keep_unknown_chunks(p->png, PNG_HANDLE_CHUNK_NEVER, ignored, (int)(sizeof ignored / 5));
}

/* Whatever is stored comes out as 8-bit RGBA. */
static int png_set_rgba(png_codec *p)
{
    png_set_expand(p->png);
    png_set_scale_16(p->png);
    png_set_gray_to_rgb(p->png);
    png_set_add_alpha(p->png, 0xff, PNG_FILLER_AFTER);
    int passes = png_set_interlace_handling(p->png);
    png_read_update_info(p->png, p->info);
    return passes;
}

static void png_read_pixels(png_codec *p)
{
    png_set_limits(p);
    png_read_info(p->png, p->info);
    uint32_t height = png_get_image_height(p->png, p->info);
    size_t stored = png_get_rowbytes(p->png, p->info);
    if (stored * height / DEFLATE_RATIO > p->base.size) png_error(p->png, "it is too short for its size in pixels");
    int passes = png_set_rgba(p);
    if (!make_pixels(&p->base, png_get_image_width(p->png, p->info), height)) png_error(p->png, "no room");
    if (png_get_rowbytes(p->png, p->info) != 4 * (size_t)p->base.pixels.width)
        png_error(p->png, "an unknown pixel layout");
    for (int pass = 0; pass < passes; pass++)
        for (int32_t y = 0; y < p->base.pixels.height; y++) png_read_row(p->png, row_of(&p->base, y), NULL);
    png_read_end(p->png, NULL);
}

/* No local of this function changes after setjmp. */
static bool png_guarded(png_codec *p, void (*work)(png_codec *))
{
    if (setjmp(png_jmpbuf(p->png))) return false;
    work(p);
    return true;
}

static bool png_decode(png_codec *p)
{
    p->png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, png_on_error, png_on_warning, p, png_allocate, png_release);
    if (p->png) p->info = png_create_info_struct(p->png);
    if (!p->info) p->base.out_of_memory = true;
    bool ok = false;
    if (p->info) {
        png_set_read_fn(p->png, &p->base, png_take_bytes);
        ok = png_guarded(p, png_read_pixels);
    }
    png_destroy_read_struct(&p->png, &p->info, NULL);
    return ok;
}

/* --- JPEG --- */

typedef struct jpeg_codec {
    codec base;
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
} jpeg_codec;

static void jpeg_on_error(j_common_ptr jpeg)
{
    jpeg_codec *j = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    if (!j->base.why[0]) {
        jpeg->err->format_message(jpeg, text);
        explain(&j->base, text);
    }
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY) j->base.out_of_memory = true;
    longjmp(j->escape, 1);
}

/* libjpeg fills what is missing with grey and goes on; we would rather say so. Harmless oddities of writers pass. */
static void jpeg_on_message(j_common_ptr jpeg, int level)
{
    int code = jpeg->err->msg_code;
    if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR) return;
    jpeg_on_error(jpeg);
}

static void jpeg_on_output(j_common_ptr jpeg)
{
    (void)jpeg;
}

/* A small file can ask for thousands of passes over a large image. */
static void jpeg_on_progress(j_common_ptr jpeg)
{
    jpeg_codec *j = jpeg->client_data;
    if (j->jpeg.input_scan_number <= SCANS_MAX) return;
    explain(&j->base, "it has too many scans");
    longjmp(j->escape, 1);
}

/* Three bytes a pixel to four in place, from the right end. */
static void rgb_to_rgba(uint8_t *row, int32_t width)
{
    for (int32_t x = width - 1; x >= 0; x--) {
        uint8_t r = row[3 * x], g = row[3 * x + 1], b = row[3 * x + 2];
        row[4 * x] = r, row[4 * x + 1] = g, row[4 * x + 2] = b, row[4 * x + 3] = 255;
    }
}

/* Ink to light, without a profile. Adobe stores 255 for no ink. */
static void cmyk_to_rgba(uint8_t *row, int32_t width, bool adobe)
{
    for (int32_t x = 0; x < width; x++) {
        uint8_t *p = row + 4 * x;
        unsigned k = adobe ? p[3] : 255u - p[3];
        for (int i = 0; i < 3; i++) {
            unsigned light = adobe ? p[i] : 255u - p[i];
            p[i] = (uint8_t)((light * k + 127) / 255);
        }
        p[3] = 255;
    }
}

static bool jpeg_read_pixels(jpeg_codec *j)
{
    jpeg_create_decompress(&j->jpeg);
    j->jpeg.client_data = j;
    j->jpeg.progress = &j->progress;
    j->jpeg.mem->max_memory_to_use = JPEG_BYTES;
    jpeg_mem_src(&j->jpeg, j->base.data, (unsigned long)j->base.size);
    jpeg_read_header(&j->jpeg, TRUE);
    if (!make_pixels(&j->base, j->jpeg.image_width, j->jpeg.image_height)) return false;
    bool cmyk = j->jpeg.jpeg_color_space == JCS_CMYK || j->jpeg.jpeg_color_space == JCS_YCCK;
    j->jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
    j->jpeg.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&j->jpeg);
    while (j->jpeg.output_scanline < j->jpeg.output_height) {
        JSAMPROW row = row_of(&j->base, (int32_t)j->jpeg.output_scanline);
        jpeg_read_scanlines(&j->jpeg, &row, 1);
        if (cmyk)
            cmyk_to_rgba(row, j->base.pixels.width, j->jpeg.saw_Adobe_marker != 0);
        else
            rgb_to_rgba(row, j->base.pixels.width);
    }
    jpeg_finish_decompress(&j->jpeg);
    return true;
}

/* No local of this function changes after setjmp; those of jpeg_read_pixels are not used after the jump. */
static bool jpeg_guarded(jpeg_codec *j)
{
    if (setjmp(j->escape)) return false;
    return jpeg_read_pixels(j);
}

static bool jpeg_decode(jpeg_codec *j)
{
    j->jpeg.err = jpeg_std_error(&j->errors);
    j->jpeg.client_data = j; /* jpeg_create_decompress keeps it and `err` */
    j->errors.error_exit = jpeg_on_error;
    j->errors.emit_message = jpeg_on_message;
    j->errors.output_message = jpeg_on_output;
    j->progress.progress_monitor = jpeg_on_progress;
    bool ok = jpeg_guarded(j);
    jpeg_destroy_decompress(&j->jpeg);
    return ok;
}

/* --- Both --- */

static supple_result finish_decode(bool ok, codec *c, const char *kind, spl_pixels *out, supple_error *error)
{
    if (ok) {
        *out = c->pixels;
        return SUPPLE_OK;
    }
    spl_pixels_free(&c->pixels, c->allocator);
    if (c->out_of_memory) return spl_fail_memory(error, "an image");
    return spl_fail(error, SUPPLE_ERROR_INPUT, "cannot read a %s image: %s", kind, c->why);
}

supple_result spl_image_decode(const uint8_t *data, size_t size, const supple_allocator *a, spl_pixels *out,
                               supple_error *error)
{
    *out = (spl_pixels){0};
    codec base = {.allocator = a, .data = data, .size = size};
    if (size >= 8 && png_sig_cmp(data, 0, 8) == 0) {
        png_codec p = {.base = base};
        bool ok = png_decode(&p);
        return finish_decode(ok, &p.base, "PNG", out, error);
    }
    if (size >= 3 && data[0] == 0xff && data[1] == 0xd8 && data[2] == 0xff) {
        jpeg_codec j = {.base = base};
        bool ok = jpeg_decode(&j);
        return finish_decode(ok, &j.base, "JPEG", out, error);
    }
    return spl_fail(error, SUPPLE_ERROR_INPUT, "cannot read an image: it is neither PNG nor JPEG");
}

/* --- Encoding --- */

static void png_give_bytes(png_structp png, png_bytep from, size_t count)
{
    png_codec *p = png_get_io_ptr(png);
    if (count > p->out_capacity - p->out_size) {
        size_t capacity = p->out_capacity + p->out_capacity / 2 + count;
        uint8_t *grown = spl_resize(p->base.allocator, p->out, capacity, 1);
        if (!grown) {
            p->base.out_of_memory = true;
            png_error(png, "memory is out");
        }
        p->out = grown;
        p->out_capacity = capacity;
    }
    memcpy(p->out + p->out_size, from, count);
    p->out_size += count;
}

static void png_no_flush(png_structp png)
{
    (void)png;
}

static bool is_opaque(const spl_pixels *pixels)
{
    size_t count = (size_t)pixels->width * (size_t)pixels->height;
    for (size_t i = 0; i < count; i++)
        if (pixels->rgba[4 * i + 3] != 255) return false;
    return true;
}

/* Fixed level and filters and no time stamp: the same pixels give the same bytes. */
static void png_write_pixels(png_codec *p)
{
    bool opaque = is_opaque(&p->base.pixels);
    png_set_compression_level(p->png, COMPRESSION);
    png_set_filter(p->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE | PNG_FILTER_SUB | PNG_FILTER_UP | PNG_FILTER_PAETH);
    png_set_IHDR(p->png, p->info, (uint32_t)p->base.pixels.width, (uint32_t)p->base.pixels.height, 8,
                 opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(p->png, p->info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(p->png, p->info);
    if (opaque) png_set_filler(p->png, 0, PNG_FILLER_AFTER);
    for (int32_t y = 0; y < p->base.pixels.height; y++) png_write_row(p->png, row_of(&p->base, y));
    png_write_end(p->png, p->info);
}

supple_result spl_image_encode_png(const spl_pixels *pixels, const supple_allocator *a, uint8_t **data, size_t *size,
                                   supple_error *error)
{
    *data = NULL;
    *size = 0;
    if (pixels->width < 1 || pixels->height < 1 || pixels->width > SIDE_MAX || pixels->height > SIDE_MAX)
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "cannot write a PNG image of %d x %d pixels", pixels->width,
                        pixels->height);
    png_codec p = {.base = {.allocator = a, .pixels = *pixels}};
    p.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &p, png_on_error, png_on_warning, &p, png_allocate,
                                      png_release);
    if (p.png) p.info = png_create_info_struct(p.png);
    bool ok = false;
    if (p.info) {
        png_set_write_fn(p.png, &p, png_give_bytes, png_no_flush);
        ok = png_guarded(&p, png_write_pixels);
    }
    png_destroy_write_struct(&p.png, &p.info);
    if (!ok) {
        spl_free(a, p.out);
        if (p.base.out_of_memory || !p.base.why[0]) return spl_fail_memory(error, "a PNG image");
        return spl_fail(error, SUPPLE_ERROR_OUTPUT, "cannot encode a PNG image: %s", p.base.why);
    }
    *data = p.out;
    *size = p.out_size;
    return SUPPLE_OK;
}
