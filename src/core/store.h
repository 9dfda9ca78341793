/* A container of named, typed arrays in one file: what the cache keeps and what a model file (.supple) is.
 *
 * Layout, all little-endian:
 *   header    128 bytes: magic, container version, counts and sizes, kind, key, content version, hashes of table and
 * header payloads  each at the next multiple of 64 bytes, zeros between table     at the next multiple of 64: 96 bytes
 * a section: name, type, width, count, offset, size, 128-bit hash There is one layout for given arrays, so a reader
 * accepts nothing else: no gaps, no overlaps, no bytes behind the end.
 *
 * A file is untrusted, its hashes too: they find damage, not malice. What the arrays mean (indices, ranges) is for the
 * user of the arrays to say, in spl_store_want. */
#ifndef SPL_CORE_STORE_H
#define SPL_CORE_STORE_H

#include "core/digest.h"

#include <supple/base.h>

typedef enum spl_store_type {
    SPL_STORE_U8 = 1,
    SPL_STORE_I32 = 2,
    SPL_STORE_I64 = 3,
    SPL_STORE_F32 = 4,
    SPL_STORE_F64 = 5,
} spl_store_type;

/* Bytes of one number; 0 for an unknown type. */
size_t spl_store_type_size(spl_store_type type);

enum { SPL_STORE_NAME = 48, SPL_STORE_KIND = 32, SPL_STORE_SECTIONS = 4096 };

/* What a file is: all three must agree when it is read. */
typedef struct spl_store_id {
    const char *kind; /* "body", "subspace", ...: shorter than SPL_STORE_KIND */
    uint32_t version; /* of the meaning of the arrays */
    spl_key key;      /* of what they were computed from */
} spl_store_id;

/* ---- writing ---- */

typedef struct spl_store_writer spl_store_writer;

/* Begins a file beside `path`; it appears there at commit. */
supple_result spl_store_create(const char *path, const spl_store_id *id, const supple_config *config,
                               spl_store_writer **out, supple_error *error);

/* Adds `count` elements of `width` numbers each. The name is of a-z A-Z 0-9 . _ - / and new. A failure is remembered:
 * further calls and the commit return it. */
supple_result spl_store_add(spl_store_writer *writer, const char *name, spl_store_type type, uint32_t width,
                            size_t count, const void *data, supple_error *error);

/* Completes the file and frees the writer, whatever the result. */
supple_result spl_store_commit(spl_store_writer *writer, supple_error *error);

/* Frees the writer; nothing appears. Accepts NULL. */
void spl_store_discard(spl_store_writer *writer);

/* ---- reading ---- */

typedef struct spl_store_reader spl_store_reader;

/* Reads and checks a whole file. With an id, another kind, version or key is SUPPLE_ERROR_INPUT, as is every damage;
 * the message names the file. With `id` NULL any file will do: ask spl_store_identity. */
supple_result spl_store_open(const char *path, const spl_store_id *id, const supple_config *config,
                             spl_store_reader **out, supple_error *error);

/* The same from bytes, which are not needed afterwards; `name` is for messages. */
supple_result spl_store_open_memory(const void *data, size_t size, const char *name, const spl_store_id *id,
                                    const supple_config *config, spl_store_reader **out, supple_error *error);

/* Accepts NULL. Arrays got from the reader end with it. */
void spl_store_close(spl_store_reader *reader);

spl_store_id spl_store_identity(const spl_store_reader *reader);

int32_t spl_store_count(const spl_store_reader *reader);
const char *spl_store_name(const spl_store_reader *reader, int32_t section);

/* What the caller can use. */
typedef struct spl_store_want {
    const char *name;
    spl_store_type type;
    uint32_t width;              /* numbers per element */
    size_t count_min, count_max; /* elements */
    int64_t lowest, highest;     /* of whole numbers, inclusive */
    bool any;                    /* whole numbers are not held against the range */
} spl_store_want;

/* The array, aligned to 64 bytes, as stored. A missing section, another type or width, a count or a number out of range
 * and a real number that is not finite are SUPPLE_ERROR_INPUT. `count` may be NULL if count_min = count_max. */
supple_result spl_store_get(const spl_store_reader *reader, const spl_store_want *want, const void **data,
                            size_t *count, supple_error *error);

/* The same as a copy from the config's allocator, to be freed by the caller. */
supple_result spl_store_copy(const spl_store_reader *reader, const spl_store_want *want, void **data, size_t *count,
                             supple_error *error);

#endif
