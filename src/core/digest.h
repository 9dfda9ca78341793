/* A 128-bit hash of a stream of bytes, the same on every machine: keys of the cache and checksums of stored arrays. It
 * is fast (one multiplication per 8 bytes in four independent lanes) and not for adversaries: whoever can choose both
 * inputs can make two of them collide. */
#ifndef SPL_CORE_DIGEST_H
#define SPL_CORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct spl_key {
    uint64_t part[2];
} spl_key;

typedef struct spl_digest {
    uint64_t lane[4];
    uint64_t length;    /* bytes so far */
    uint8_t buffer[32]; /* the last length % 32 bytes */
} spl_digest;

spl_digest spl_digest_begin(void);
void spl_digest_bytes(spl_digest *d, const void *data, size_t size);
spl_key spl_digest_end(const spl_digest *d);

/* Fields of a key. Each is marked by its kind and length, so that no two lists of fields look alike. */
void spl_digest_text(spl_digest *d, const char *text); /* NULL differs from "" */
void spl_digest_integer(spl_digest *d, int64_t value);
void spl_digest_real(spl_digest *d, double value); /* by its bits */

/* An array of `count` numbers of `width` bytes (1, 2, 4 or 8) in this machine's byte order. */
void spl_digest_array(spl_digest *d, const void *data, size_t count, size_t width);

/* The hash of one block. */
spl_key spl_digest_of(const void *data, size_t size);

#endif
