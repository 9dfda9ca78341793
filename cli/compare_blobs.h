/* Binary pieces of a page: pictures as they are, everything else compressed. */
#ifndef SUPPLE_CLI_COMPARE_BLOBS_H
#define SUPPLE_CLI_COMPARE_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_blob {
    const char *type; /* "image/png", "image/jpeg" or "deflate" */
    uint8_t *data;
    size_t size, raw; /* stored; before compression */
} cli_blob;

typedef struct cli_blobs {
    cli_blob *blob;
    int count, room;
} cli_blobs;

/* Adds a copy of bytes; the blob's number, or -1 without memory. */
int cli_blobs_add(cli_blobs *blobs, const char *type, const void *data, size_t size);

/* The same, compressed by zlib. */
int cli_blobs_add_deflated(cli_blobs *blobs, const void *data, size_t size);

/* Forgets the blobs from number `count` on. */
void cli_blobs_cut(cli_blobs *blobs, int count);

/* Bytes of all as base64. */
size_t cli_blobs_length(const cli_blobs *blobs);

/* base64 of a blob into `out`, which has room for 4 * ((size + 2) / 3) characters; how many. */
size_t cli_blob_base64(const cli_blob *blob, char *out);

#endif
