#include "core/hash.h"
#include "core/memory.h"
#include "failing.h"
#include "scene/image.h"
#include "test.h"

#include <setjmp.h>

#include <jpeglib.h>

#include <png.h>

enum { W = 37, H = 23 };

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

static void take_bytes(png_structp png, png_bytep from, size_t count)
{
    bytes *b = png_get_io_ptr(png);
    b->data = realloc(b->data, b->size + count);
    memcpy(b->data + b->size, from, count);
    b->size += count;
}

static void no_flush(png_structp png)
{
    (void)png;
}

/* A PNG by libpng itself, of any kind; rows hold what the kind says, already packed. */
static bytes make_png(int depth, int color, int interlace, const uint8_t *rows, size_t stride)
{
    bytes b = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &b, take_bytes, no_flush);
    png_set_IHDR(png, info, W, H, depth, color, interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (color == PNG_COLOR_TYPE_PALETTE) {
        png_color palette[4] = {{10, 20, 30}, {200, 100, 50}, {0, 255, 0}, {255, 255, 255}};
        uint8_t alpha[2] = {255, 128};
        png_set_PLTE(png, info, palette, 4);
        png_set_tRNS(png, info, alpha, 2, NULL);
    }
    png_write_info(png, info);
    const uint8_t *row[H];
    for (int y = 0; y < H; y++) row[y] = rows + stride * (size_t)y;
    png_write_image(png, (png_bytepp)row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return b;
}

static bytes make_jpeg(J_COLOR_SPACE space, int components, bool progressive, const uint8_t *rows)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    unsigned char *data = NULL;
    unsigned long size = 0;
    jpeg_mem_dest(&jpeg, &data, &size);
    jpeg.image_width = W;
    jpeg.image_height = H;
    jpeg.input_components = components;
    jpeg.in_color_space = space;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 98, TRUE);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    if (progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < H; y++) {
        JSAMPROW row = (JSAMPROW)(rows + y * W * components);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return (bytes){data, size};
}

/* A smooth value that differs by channel. */
static uint8_t ramp(int x, int y, int channel)
{
    return (uint8_t)(40 + 4 * x + 2 * y - 15 * channel);
}

static spl_pixels decode(bytes b, supple_result expected)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels out;
    supple_error error = {0};
    CHECK(spl_image_decode(b.data, b.size, &a, &out, &error) == expected);
    CHECK((expected == SUPPLE_OK) == (out.rgba != NULL));
    if (expected != SUPPLE_OK) CHECK(error.code == expected && error.message[0]);
    return out;
}

static void expect_pixels(bytes b, const uint8_t *rgba, int tolerance)
{
    supple_allocator a = spl_allocator_of(NULL);
    spl_pixels p = decode(b, SUPPLE_OK);
    REQUIRE(p.rgba && p.width == W && p.height == H);
    int worst = 0;
    for (int i = 0; i < 4 * W * H; i++) {
        int d = abs(p.rgba[i] - rgba[i]);
        if (d > worst) worst = d;
    }
    CHECK(worst <= tolerance);
    spl_pixels_free(&p, &a);
    CHECK(p.rgba == NULL);
    free(b.data);
}

TEST(png_colour_kinds)
{
    for (int interlace = 0; interlace < 2; interlace++) {
        uint8_t rows[H * W * 8], rgba[4 * W * H];
        for (int i = 0; i < W * H; i++)
            for (int c = 0; c < 4; c++) rgba[4 * i + c] = rows[4 * i + c] = ramp(i % W, i / W, c);
        expect_pixels(make_png(8, PNG_COLOR_TYPE_RGB_ALPHA, interlace, rows, 4 * W), rgba, 0);
        for (int i = 0; i < W * H; i++)
            for (int c = 0; c < 4; c++) rows[8 * i + 2 * c] = rgba[4 * i + c], rows[8 * i + 2 * c + 1] = 0;
        expect_pixels(make_png(16, PNG_COLOR_TYPE_RGB_ALPHA, interlace, rows, 8 * W), rgba, 1);
        for (int i = 0; i < W * H; i++) {
            for (int c = 0; c < 3; c++) rows[3 * i + c] = rgba[4 * i + c];
            rgba[4 * i + 3] = 255;
        }
        expect_pixels(make_png(8, PNG_COLOR_TYPE_RGB, interlace, rows, 3 * W), rgba, 0);
    }
}

TEST(png_grey_and_palette_kinds)
{
    for (int interlace = 0; interlace < 2; interlace++) {
        uint8_t rows[H * W * 2] = {0}, rgba[4 * W * H];
        for (int i = 0; i < W * H; i++) {
            rows[2 * i] = ramp(i % W, i / W, 0);
            rows[2 * i + 1] = ramp(i % W, i / W, 1);
            for (int c = 0; c < 4; c++) rgba[4 * i + c] = rows[2 * i + (c == 3)];
        }
        expect_pixels(make_png(8, PNG_COLOR_TYPE_GRAY_ALPHA, interlace, rows, 2 * W), rgba, 0);
        memset(rows, 0, sizeof rows);
        for (int i = 0; i < W * H; i++) {
            int bit = (i % W + i / W) % 3 == 0;
            rows[i / W * 5 + i % W / 8] |= (uint8_t)(bit << (7 - i % W % 8));
            for (int c = 0; c < 4; c++) rgba[4 * i + c] = c == 3 || bit ? 255 : 0;
        }
        expect_pixels(make_png(1, PNG_COLOR_TYPE_GRAY, interlace, rows, 5), rgba, 0);
        const uint8_t table[4][4] = {{10, 20, 30, 255}, {200, 100, 50, 128}, {0, 255, 0, 255}, {255, 255, 255, 255}};
        memset(rows, 0, sizeof rows);
        for (int i = 0; i < W * H; i++) {
            int index = (3 * i + i / W) % 4;
            rows[i / W * 10 + i % W / 4] |= (uint8_t)(index << (6 - 2 * (i % W % 4)));
            memcpy(rgba + 4 * i, table[index], 4);
        }
        expect_pixels(make_png(2, PNG_COLOR_TYPE_PALETTE, interlace, rows, 10), rgba, 0);
    }
}

TEST(jpeg_kinds)
{
    uint8_t rows[W * H * 4], rgba[4 * W * H];
    for (int progressive = 0; progressive < 2; progressive++) {
        for (int i = 0; i < W * H; i++) {
            for (int c = 0; c < 3; c++) rgba[4 * i + c] = rows[3 * i + c] = ramp(i % W, i / W, c);
            rgba[4 * i + 3] = 255;
        }
        expect_pixels(make_jpeg(JCS_RGB, 3, progressive, rows), rgba, 6);
        for (int i = 0; i < W * H; i++) {
            rows[i] = ramp(i % W, i / W, 0);
            for (int c = 0; c < 3; c++) rgba[4 * i + c] = rows[i];
        }
        expect_pixels(make_jpeg(JCS_GRAYSCALE, 1, progressive, rows), rgba, 6);
        /* libjpeg writes an Adobe marker with CMYK: 255 is no ink. */
        for (int i = 0; i < W * H; i++) {
            for (int c = 0; c < 4; c++) rows[4 * i + c] = ramp(i % W, i / W, c);
            for (int c = 0; c < 3; c++) rgba[4 * i + c] = (uint8_t)(rows[4 * i + c] * rows[4 * i + 3] / 255);
        }
        expect_pixels(make_jpeg(JCS_CMYK, 4, progressive, rows), rgba, 8);
    }
}

static bytes sample(bool png)
{
    uint8_t rows[W * H * 3];
    for (int i = 0; i < W * H; i++)
        for (int c = 0; c < 3; c++) rows[3 * i + c] = ramp(i % W, i / W, c);
    return png ? make_png(8, PNG_COLOR_TYPE_RGB, 1, rows, 3 * W) : make_jpeg(JCS_RGB, 3, false, rows);
}

TEST(truncations_are_refused)
{
    for (int png = 0; png < 2; png++) {
        bytes b = sample(png);
        for (size_t n = 0; n < b.size; n++) {
            uint8_t *copy = malloc(n + 1); /* of its own size, so that reading past the end is seen */
            memcpy(copy, b.data, n);
            /* A JPEG that lacks only its end marker is refused too. */
            decode((bytes){copy, n}, SUPPLE_ERROR_INPUT);
            free(copy);
        }
        free(b.data);
    }
}

/* Any damage gives pixels or an error, never both or neither; a PNG's critical chunks have checksums. */
TEST(flipped_bytes_are_survived)
{
    supple_allocator a = spl_allocator_of(NULL);
    int refused = 0, total = 0;
    for (int png = 0; png < 2; png++) {
        bytes b = sample(png);
        for (size_t i = 0; i < b.size; i++)
            for (int bit = 0; bit < 8; bit += 3) {
                b.data[i] ^= (uint8_t)(1 << bit);
                spl_pixels out;
                supple_result r = spl_image_decode(b.data, b.size, &a, &out, NULL);
                CHECK((r == SUPPLE_OK || r == SUPPLE_ERROR_INPUT) && (r == SUPPLE_OK) == (out.rgba != NULL));
                if (png) CHECK(r == SUPPLE_ERROR_INPUT);
                refused += r != SUPPLE_OK;
                total++;
                spl_pixels_free(&out, &a);
                b.data[i] ^= (uint8_t)(1 << bit);
            }
        free(b.data);
    }
    printf("    %d of %d damaged images refused\n", refused, total);
}

/* The header promises what the data cannot hold: refused before memory is asked for. */
TEST(huge_sizes_ask_for_no_memory)
{
    const uint8_t sizes[][8] = {{0, 0, 0x40, 0, 0, 0, 0x10, 0}, {0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1}, {0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bytes b = sample(true);
        memcpy(b.data + 16, sizes[i], 8);
        png_uint_32 crc = 0xffffffffu;
        for (int k = 12; k < 29; k++) {
            crc ^= b.data[k];
            for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
        }
        png_save_uint_32(b.data + 29, crc ^ 0xffffffffu);
        decode(b, SUPPLE_ERROR_INPUT);
        free(b.data);
    }
    decode((bytes){(uint8_t *)"GIF89a.....", 11}, SUPPLE_ERROR_INPUT);
}

static spl_pixels picture(uint8_t *rgba, bool opaque)
{
    for (int i = 0; i < W * H; i++)
        for (int c = 0; c < 4; c++) rgba[4 * i + c] = c == 3 && opaque ? 255 : ramp(i % W, i / W, c);
    return (spl_pixels){W, H, rgba};
}

TEST(encoding_round_trips_and_is_deterministic)
{
    supple_allocator a = spl_allocator_of(NULL);
    for (int opaque = 0; opaque < 2; opaque++) {
        uint8_t rgba[4 * W * H];
        spl_pixels p = picture(rgba, opaque);
        bytes one, two;
        REQUIRE(spl_image_encode_png(&p, &a, &one.data, &one.size, NULL) == SUPPLE_OK);
        REQUIRE(spl_image_encode_png(&p, &a, &two.data, &two.size, NULL) == SUPPLE_OK);
        CHECK(one.size == two.size && memcmp(one.data, two.data, one.size) == 0);
        CHECK(one.data[25] == (opaque ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGB_ALPHA));
        free(two.data);
        expect_pixels(one, rgba, 0);
    }
    spl_pixels none = {0};
    bytes b;
    CHECK(spl_image_encode_png(&none, &a, &b.data, &b.size, NULL) == SUPPLE_ERROR_ARGUMENT && !b.data);
}

TEST(every_allocation_may_fail)
{
    uint8_t rgba[4 * W * H];
    spl_pixels p = picture(rgba, true);
    bytes source[2] = {sample(false), sample(true)};
    for (int what = 0; what < 3; what++)
        for (long n = 0;; n++) {
            failing f = {.fail_at = n};
            supple_allocator a = failing_allocator(&f);
            spl_pixels out = {0};
            bytes b = {0};
            supple_error error = {0};
            supple_result r = what < 2 ? spl_image_decode(source[what].data, source[what].size, &a, &out, &error)
                                       : spl_image_encode_png(&p, &a, &b.data, &b.size, &error);
            bool reached = f.requests > n;
            CHECK(r == (reached ? SUPPLE_ERROR_MEMORY : SUPPLE_OK));
            spl_pixels_free(&out, &a);
            spl_free(&a, b.data);
            CHECK(f.live == 0);
            if (!reached) break;
            REQUIRE(n < 1000);
        }
    free(source[0].data);
    free(source[1].data);
}

TEST_CASES(RUN(png_colour_kinds), RUN(png_grey_and_palette_kinds), RUN(jpeg_kinds), RUN(truncations_are_refused),
           RUN(flipped_bytes_are_survived), RUN(huge_sizes_ask_for_no_memory),
           RUN(encoding_round_trips_and_is_deterministic), RUN(every_allocation_may_fail))
