/* Ogawa, the container of Alembic files: groups and data in one file, children before their parents, little endian.
 *
 * A file is "Ogawa", 0xff (0 while it is written), a 16-bit version 1, and the place of the root group. A group is a
 * count and that many 64-bit children; a child with the top bit set is data (a 64-bit size, then bytes). What is empty
 * has no place: 0 is the empty group, the top bit alone the empty data. */
#ifndef SPL_SCENE_WRITERS_OGAWA_H
#define SPL_SCENE_WRITERS_OGAWA_H

#include "core/file.h"

/* A reference to a group or to data, as it stands in the parent. */
typedef uint64_t spl_ogawa_child;

typedef struct spl_ogawa {
    spl_output *output; /* the caller's */
    uint64_t at;        /* bytes written so far */
} spl_ogawa;

/* Bytes that grow, and a list of children that grows. Failures are remembered and looked at once. */
typedef struct spl_ogawa_bytes {
    const supple_allocator *allocator;
    uint8_t *data;
    size_t size, room;
    bool failed;
} spl_ogawa_bytes;

void spl_ogawa_put(spl_ogawa_bytes *bytes, const void *data, size_t size);
void spl_ogawa_put_int(spl_ogawa_bytes *bytes, uint64_t value, int width); /* `width` bytes */
void spl_ogawa_put_f64(spl_ogawa_bytes *bytes, double value);
void spl_ogawa_bytes_free(spl_ogawa_bytes *bytes);

/* Writes the file's head over an empty output; the root's place comes at the end. */
supple_result spl_ogawa_begin(spl_ogawa *file, spl_output *output, supple_error *error);
supple_result spl_ogawa_end(spl_ogawa *file, spl_ogawa_child root, supple_error *error);

/* Data of some bytes; of bytes with their MD5 before them, as samples are stored. */
supple_result spl_ogawa_data(spl_ogawa *file, const void *bytes, size_t size, spl_ogawa_child *out,
                             supple_error *error);
supple_result spl_ogawa_sample(spl_ogawa *file, const uint8_t key[16], const void *bytes, size_t size,
                               spl_ogawa_child *out, supple_error *error);

/* A group of children; none gives the empty group. */
supple_result spl_ogawa_group(spl_ogawa *file, const spl_ogawa_child *children, size_t count, spl_ogawa_child *out,
                              supple_error *error);

/* The reference to no bytes. */
spl_ogawa_child spl_ogawa_nothing(void);

#endif
