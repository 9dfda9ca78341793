#include "compare_blobs.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Takes `data` over. */
static int append(cli_blobs *blobs, cli_blob blob)
{
    if (blobs->count == blobs->room) {
        int room = blobs->room ? 2 * blobs->room : 32;
        cli_blob *larger = realloc(blobs->blob, (size_t)room * sizeof *larger);
        if (!larger) {
            free(blob.data);
            return -1;
        }
        blobs->blob = larger;
        blobs->room = room;
    }
    blobs->blob[blobs->count] = blob;
    return blobs->count++;
}

int cli_blobs_add(cli_blobs *blobs, const char *type, const void *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    if (!copy) return -1;
    memcpy(copy, data, size);
    return append(blobs, (cli_blob){type, copy, size, size});
}

int cli_blobs_add_deflated(cli_blobs *blobs, const void *data, size_t size)
{
    uLongf length = compressBound((uLong)size);
    uint8_t *packed = malloc(length);
    if (!packed) return -1;
    /* 6 of 9: the last levels cost three times the time for 2% on positions. */
    if (compress2(packed, &length, data, (uLong)size, 6) != Z_OK) {
        free(packed);
        return -1;
    }
    uint8_t *fitting = realloc(packed, length);
    return append(blobs, (cli_blob){"deflate", fitting ? fitting : packed, length, size});
}

void cli_blobs_cut(cli_blobs *blobs, int count)
{
    while (blobs->count > count) free(blobs->blob[--blobs->count].data);
    if (count > 0) return;
    free(blobs->blob);
    *blobs = (cli_blobs){0};
}

static size_t base64_length(size_t size)
{
    return 4 * ((size + 2) / 3);
}

size_t cli_blobs_length(const cli_blobs *blobs)
{
    size_t sum = 0;
    for (int i = 0; i < blobs->count; i++) sum += base64_length(blobs->blob[i].size);
    return sum;
}

size_t cli_blob_base64(const cli_blob *blob, char *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *p = blob->data;
    char *start = out;
    size_t left = blob->size;
    for (; left >= 3; left -= 3, p += 3) {
        *out++ = digit[p[0] >> 2];
        *out++ = digit[(p[0] & 3) << 4 | p[1] >> 4];
        *out++ = digit[(p[1] & 15) << 2 | p[2] >> 6];
        *out++ = digit[p[2] & 63];
    }
    if (left > 0) {
        int second = left == 2 ? p[1] : 0;
        *out++ = digit[p[0] >> 2];
        *out++ = digit[(p[0] & 3) << 4 | second >> 4];
        *out++ = left == 2 ? digit[(second & 15) << 2] : '=';
        *out++ = '=';
    }
    return (size_t)(out - start);
}
