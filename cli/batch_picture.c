/* Contact sheets made small for a page: our own PNG files (8 bits, no interlacing), read and written with zlib alone.
 */
#include "batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum {
    WIDTH = 420,
    HEIGHT = 260,
    LARGEST_SIDE = 20000,
    LARGEST_FILE = 64 << 20,
    CHUNK_HEAD = 8,
    CHUNK = 12,
    HEADER = 13
};
static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

typedef struct picture {
    uint8_t *file; /* as it is on the disk */
    uint8_t *rows; /* of raw.height rows: a filter byte and the pixels */
    size_t file_size, rows_size;
    uint32_t width, height, channels;
} picture;

static uint32_t number(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put_number(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

static bool read_file(const char *path, picture *p)
{
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LARGEST_FILE ? fopen(path, "rb") : NULL;
    if (!file) return false;
    p->file_size = (size_t)st.st_size;
    p->file = malloc(p->file_size + 1);
    bool good = p->file && fread(p->file, 1, p->file_size, file) == p->file_size;
    fclose(file);
    return good && p->file_size > sizeof signature && memcmp(p->file, signature, sizeof signature) == 0;
}

static bool take_header(picture *p, const uint8_t *data, uint32_t size)
{
    if (size != HEADER) return false;
    p->width = number(data);
    p->height = number(data + 4);
    p->channels = data[9] == 2 ? 3 : data[9] == 6 ? 4 : 0;
    bool good = data[8] == 8 && p->channels && data[10] == 0 && data[11] == 0 && data[12] == 0;
    if (!good || p->width < 1 || p->height < 1 || p->width > LARGEST_SIDE || p->height > LARGEST_SIDE) return false;
    p->rows_size = (size_t)p->height * (1 + (size_t)p->width * p->channels);
    p->rows = p->rows_size <= 4 * (size_t)LARGEST_FILE ? malloc(p->rows_size) : NULL;
    return p->rows != NULL;
}

/* Unpacks all IDAT chunks. */
static bool inflate_rows(picture *p)
{
    z_stream z = {0};
    int state = Z_OK;
    if (inflateInit(&z) != Z_OK) return false;
    for (size_t at = sizeof signature; at + CHUNK <= p->file_size && state == Z_OK;) {
        uint32_t size = number(p->file + at);
        uint8_t *data = p->file + at + CHUNK_HEAD;
        if (size > p->file_size - at - CHUNK) break;
        if (memcmp(data - 4, "IHDR", 4) == 0) {
            if (p->rows || !take_header(p, data, size)) break;
            z.next_out = p->rows;
            z.avail_out = (uInt)p->rows_size;
        } else if (memcmp(data - 4, "IDAT", 4) == 0) {
            if (!p->rows) break;
            z.next_in = data;
            z.avail_in = size;
            state = inflate(&z, Z_NO_FLUSH);
        }
        at += CHUNK + size;
    }
    bool good = state == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return good;
}

static int predictor(int left, int up, int corner)
{
    int p = left + up - corner, a = abs(p - left), b = abs(p - up), c = abs(p - corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

/* Takes the filters of PNG back, row by row. */
static bool unfilter(picture *p)
{
    size_t length = (size_t)p->width * p->channels;
    for (uint32_t y = 0; y < p->height; y++) {
        uint8_t *row = p->rows + y * (length + 1) + 1, filter = row[-1];
        const uint8_t *above = y ? row - length - 1 : NULL;
        if (filter > 4) return false;
        for (size_t i = 0; i < length; i++) {
            int left = i >= p->channels ? row[i - p->channels] : 0, up = above ? above[i] : 0;
            int corner = above && i >= p->channels ? above[i - p->channels] : 0;
            int add = filter == 1   ? left
                      : filter == 2 ? up
                      : filter == 3 ? (left + up) / 2
                      : filter == 4 ? predictor(left, up, corner)
                                    : 0;
            row[i] = (uint8_t)(row[i] + add);
        }
    }
    return true;
}

/* Means over squares of `factor` pixels, as rows of RGB with a filter byte. */
static uint8_t *shrink(const picture *p, uint32_t factor, uint32_t width, uint32_t height)
{
    size_t length = (size_t)p->width * p->channels + 1, out_length = 3 * (size_t)width + 1;
    uint8_t *out = calloc(out_length * height, 1);
    for (uint32_t y = 0; out && y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t sum = 0;
                for (uint32_t v = 0; v < factor; v++)
                    for (uint32_t u = 0; u < factor; u++)
                        sum += p->rows[(y * factor + v) * length + 1 + (x * factor + u) * p->channels + c];
                out[y * out_length + 1 + 3 * x + c] = (uint8_t)((sum + factor * factor / 2) / (factor * factor));
            }
    return out;
}

static uint8_t *put_chunk(uint8_t *to, const char *type, const uint8_t *data, uint32_t size)
{
    put_number(to, size);
    memcpy(to + 4, type, 4);
    if (size) memcpy(to + CHUNK_HEAD, data, size);
    put_number(to + CHUNK_HEAD + size, (uint32_t)crc32(crc32(0, NULL, 0), to + 4, size + 4));
    return to + CHUNK + size;
}

static void *compose(const uint8_t *rows, uint32_t width, uint32_t height, size_t *size)
{
    uLong raw = (uLong)height * (3 * (uLong)width + 1);
    uLongf packed = compressBound(raw);
    uint8_t *data = malloc(packed), *file = NULL, header[HEADER] = {0};
    put_number(header, width);
    put_number(header + 4, height);
    header[8] = 8;
    header[9] = 2;
    if (data && compress2(data, &packed, rows, raw, 9) == Z_OK)
        file = malloc(sizeof signature + 3 * CHUNK + HEADER + packed);
    if (file) {
        memcpy(file, signature, sizeof signature);
        uint8_t *to = put_chunk(file + sizeof signature, "IHDR", header, HEADER);
        to = put_chunk(to, "IDAT", data, (uint32_t)packed);
        to = put_chunk(to, "IEND", NULL, 0);
        *size = (size_t)(to - file);
    }
    free(data);
    return file;
}

void *cli_batch_picture(const char *path, size_t *size)
{
    picture p = {0};
    void *file = NULL;
    if (read_file(path, &p) && inflate_rows(&p) && unfilter(&p)) {
        uint32_t across = (p.width + WIDTH - 1) / WIDTH, down = (p.height + HEIGHT - 1) / HEIGHT;
        uint32_t factor = across > down ? across : down;
        uint32_t width = p.width / factor, height = p.height / factor;
        uint8_t *rows = width && height ? shrink(&p, factor, width, height) : NULL;
        if (rows) file = compose(rows, width, height, size);
        free(rows);
    }
    free(p.file);
    free(p.rows);
    return file;
}
