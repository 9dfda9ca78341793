/* MD5 (RFC 1321): the digests that Alembic files carry with their samples. Not for secrets. */
#ifndef SPL_CORE_MD5_H
#define SPL_CORE_MD5_H

#include <stddef.h>
#include <stdint.h>

typedef struct spl_md5 {
    uint32_t state[4];
    uint64_t length;    /* bytes so far */
    uint8_t buffer[64]; /* the last length % 64 bytes */
} spl_md5;

spl_md5 spl_md5_begin(void);
void spl_md5_bytes(spl_md5 *md5, const void *data, size_t size);
void spl_md5_end(const spl_md5 *md5, uint8_t out[16]);

#endif
