/* Reading a store: everything is checked before anything is handed out. Files are read, not mapped: a mapping would
 * change or fault under us if another process wrote to the file. */
#include "core/error.h"
#include "core/memory.h"
#include "core/store_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct spl_store_reader {
    supple_allocator allocator;
    char *path;
    uint8_t header[STORE_HEADER];
    uint8_t *directory; /* the table of sections */
    uint8_t *block;     /* as allocated */
    uint8_t *bytes;     /* the file, aligned inside the block */
    uint64_t size, table;
    int32_t section_count;
};

static supple_result damaged(const spl_store_reader *r, supple_error *error, const char *what)
{
    return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: damaged: %s", r->path, what);
}

static const uint8_t *section(const spl_store_reader *r, int32_t i)
{
    return r->directory + (size_t)i * STORE_SECTION;
}

/* ---- the header, and the table: before anything is asked for that they do not account for ------------------------ */

/* A file, or bytes of the host's. */
typedef struct source {
    int fd;
    const uint8_t *data; /* NULL: the file */
    uint64_t size;
} source;

static bool read_bytes(const source *in, uint64_t from, uint8_t *to, uint64_t size)
{
    if (in->data) {
        if (from > in->size || size > in->size - from) return false;
        if (size > 0) memcpy(to, in->data + from, (size_t)size);
        return true;
    }
    while (size > 0) {
        ssize_t n = pread(in->fd, to, size < (1u << 30) ? (size_t)size : (size_t)1 << 30, (off_t)from);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n;
        from += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return true;
}

static supple_result check_header(spl_store_reader *r, supple_error *error)
{
    const uint8_t *h = r->header;
    if (memcmp(h, store_magic, sizeof store_magic) != 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: not a file of supple's", r->path);
    if (store_take(h + AT_VERSION, 4) != STORE_VERSION)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: container version %u, this program reads %d", r->path,
                        (unsigned)store_take(h + AT_VERSION, 4), STORE_VERSION);
    if (!store_same_key(spl_digest_of(h, AT_HEADER_HASH), store_take_key(h + AT_HEADER_HASH)))
        return damaged(r, error, "the header does not match its checksum");
    if (!store_good_name(h + AT_KIND, SPL_STORE_KIND)) return damaged(r, error, "the kind is no name");
    if (store_take(h + AT_ZERO, 8) || store_take(h + AT_CONTENT_VERSION + 4, 4))
        return damaged(r, error, "unknown fields in the header");
    uint64_t count = store_take(h + AT_SECTIONS, 4);
    r->table = store_take(h + AT_TABLE, 8);
    if (store_take(h + AT_SIZE, 8) != r->size) return damaged(r, error, "it is not as long as it says");
    if (count > SPL_STORE_SECTIONS || r->table < STORE_HEADER || r->table % STORE_ALIGN || r->table > r->size ||
        r->size - r->table != count * STORE_SECTION)
        return damaged(r, error, "the table is not where it should be");
    r->section_count = (int32_t)count;
    return SUPPLE_OK;
}

/* Whether a section begins at the next multiple of 64 after *end and is as long as its numbers; *end moves behind it.
 */
static bool good_section(const spl_store_reader *r, int32_t i, uint64_t *end)
{
    const uint8_t *s = section(r, i);
    uint64_t size, offset = store_take(s + AT_OFFSET, 8), bytes = store_take(s + AT_BYTES, 8);
    if (!store_good_name(s + AT_NAME, SPL_STORE_NAME)) return false;
    for (int32_t k = 0; k < i; k++)
        if (memcmp(section(r, k), s, SPL_STORE_NAME) == 0) return false;
    if (!store_array_size((spl_store_type)store_take(s + AT_TYPE, 4), store_take(s + AT_WIDTH, 4),
                          store_take(s + AT_COUNT, 8), &size))
        return false;
    if (size != bytes || offset != store_aligned(*end) || offset > r->table || bytes > r->table - offset) return false;
    *end = offset + bytes;
    return true;
}

static supple_result unsound(const spl_store_reader *r, int32_t i, supple_error *error)
{
    return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: damaged: section %d is not sound", r->path, (int)i);
}

static supple_result read_directory(spl_store_reader *r, const source *in, supple_error *error)
{
    size_t bytes = (size_t)r->section_count * STORE_SECTION;
    uint64_t end = STORE_HEADER;
    r->directory = spl_new(&r->allocator, bytes, 1);
    if (!r->directory) return spl_fail_memory(error, r->path);
    if (!read_bytes(in, r->table, r->directory, bytes)) return damaged(r, error, "cannot be read to its end");
    if (!store_same_key(spl_digest_of(r->directory, bytes), store_take_key(r->header + AT_TABLE_HASH)))
        return damaged(r, error, "the table does not match its checksum");
    for (int32_t i = 0; i < r->section_count; i++)
        if (!good_section(r, i, &end)) return unsound(r, i, error);
    if (store_aligned(end) != r->table) return damaged(r, error, "bytes between the sections and their table");
    return SUPPLE_OK;
}

static supple_result check_identity(const spl_store_reader *r, const spl_store_id *id, supple_error *error)
{
    if (!id) return SUPPLE_OK;
    spl_store_id own = spl_store_identity(r);
    if (strcmp(own.kind, id->kind) != 0)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: holds a '%s', not a '%s'", r->path, own.kind, id->kind);
    if (own.version != id->version)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: version %u of a '%s'; %u is needed: make it again", r->path,
                        (unsigned)own.version, own.kind, (unsigned)id->version);
    if (!store_same_key(own.key, id->key))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: belongs to other inputs", r->path);
    return SUPPLE_OK;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static supple_result read_all(spl_store_reader *r, const source *in, supple_error *error)
{
    if (r->size > SIZE_MAX - STORE_ALIGN) return spl_fail_memory(error, r->path);
    r->block = r->allocator.allocate(r->allocator.user, (size_t)r->size + STORE_ALIGN); /* spl_new would clear it */
    if (!r->block) return spl_fail_memory(error, r->path);
    r->bytes = r->block + (STORE_ALIGN - (uintptr_t)r->block % STORE_ALIGN) % STORE_ALIGN;
    if (!read_bytes(in, 0, r->bytes, r->size)) return damaged(r, error, "cannot be read to its end");
    if (memcmp(r->bytes, r->header, STORE_HEADER) != 0 ||
        (r->section_count > 0 &&
         memcmp(r->bytes + r->table, r->directory, (size_t)r->section_count * STORE_SECTION) != 0))
        return damaged(r, error, "it changed while it was read");
    return SUPPLE_OK;
}

static supple_result read_source(spl_store_reader *r, const source *in, const spl_store_id *id, supple_error *error)
{
    if (in->size < STORE_HEADER) return damaged(r, error, "too short for a header");
    r->size = in->size;
    if (!read_bytes(in, 0, r->header, STORE_HEADER)) return damaged(r, error, "cannot be read to its end");
    supple_result result = check_header(r, error);
    if (!result) result = check_identity(r, id, error);
    if (!result) result = read_directory(r, in, error);
    if (!result) result = read_all(r, in, error);
    return result;
}

static supple_result read_open_file(spl_store_reader *r, int fd, const spl_store_id *id, supple_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: not a regular file", r->path);
    return read_source(r, &(source){.fd = fd, .size = (uint64_t)st.st_size}, id, error);
}

static supple_result read_file(spl_store_reader *r, const spl_store_id *id, supple_error *error)
{
    int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: %s", r->path, strerror(errno));
    supple_result result = read_open_file(r, fd, id, error);
    close(fd);
    return result;
}

static bool all_zero(const uint8_t *p, const uint8_t *end)
{
    while (p < end)
        if (*p++) return false;
    return true;
}

/* Zeros before each section, and the sections' checksums. */
static supple_result check_sections(const spl_store_reader *r, supple_error *error)
{
    uint64_t end = STORE_HEADER;
    for (int32_t i = 0; i < r->section_count; i++) {
        const uint8_t *s = section(r, i);
        uint64_t offset = store_take(s + AT_OFFSET, 8), bytes = store_take(s + AT_BYTES, 8);
        if (!all_zero(r->bytes + end, r->bytes + offset) ||
            !store_same_key(spl_digest_of(r->bytes + offset, (size_t)bytes), store_take_key(s + AT_HASH)))
            return unsound(r, i, error);
        end = offset + bytes;
    }
    if (!all_zero(r->bytes + end, r->bytes + r->table))
        return damaged(r, error, "bytes between the sections and their table");
    return SUPPLE_OK;
}

/* `in` NULL: the file of that name. */
static supple_result open_store(const char *path, const source *in, const spl_store_id *id, const supple_config *config,
                                spl_store_reader **out, supple_error *error)
{
    supple_allocator a = spl_allocator_of(config);
    *out = NULL;
    spl_store_reader *r = spl_new(&a, 1, sizeof *r);
    if (!r) return spl_fail_memory(error, path);
    r->allocator = a;
    r->path = spl_strdup(&a, path);
    supple_result result = !r->path ? spl_fail_memory(error, path)
                           : in     ? read_source(r, in, id, error)
                                    : read_file(r, id, error);
    if (!result) result = check_sections(r, error);
    for (int32_t i = 0; !result && i < r->section_count; i++) {
        const uint8_t *s = section(r, i);
        size_t width = spl_store_type_size((spl_store_type)store_take(s + AT_TYPE, 4));
        spl_store_turn(r->bytes + store_take(s + AT_OFFSET, 8), (size_t)store_take(s + AT_BYTES, 8) / width, width);
    }
    if (result)
        spl_store_close(r);
    else
        *out = r;
    return result;
}

supple_result spl_store_open(const char *path, const spl_store_id *id, const supple_config *config,
                             spl_store_reader **out, supple_error *error)
{
    return open_store(path, NULL, id, config, out, error);
}

supple_result spl_store_open_memory(const void *data, size_t size, const char *name, const spl_store_id *id,
                                    const supple_config *config, spl_store_reader **out, supple_error *error)
{
    static const uint8_t nothing[1] = {0};
    source in = {.fd = -1, .data = data ? data : nothing, .size = data ? size : 0};
    return open_store(name, &in, id, config, out, error);
}

void spl_store_close(spl_store_reader *reader)
{
    if (!reader) return;
    supple_allocator a = reader->allocator;
    spl_free(&a, reader->block);
    spl_free(&a, reader->directory);
    spl_free(&a, reader->path);
    spl_free(&a, reader);
}

/* ---- what is inside --------------------------------------------------------------------------------------------- */

spl_store_id spl_store_identity(const spl_store_reader *reader)
{
    const uint8_t *h = reader->header;
    return (spl_store_id){.kind = (const char *)h + AT_KIND,
                          .version = (uint32_t)store_take(h + AT_CONTENT_VERSION, 4),
                          .key = store_take_key(h + AT_KEY)};
}

int32_t spl_store_count(const spl_store_reader *reader)
{
    return reader->section_count;
}

const char *spl_store_name(const spl_store_reader *reader, int32_t i)
{
    return (const char *)section(reader, i) + AT_NAME;
}

/* A real number is finite unless all bits of its exponent are set. In whole numbers this is done several at a time. */
static bool all_finite32(const uint32_t *bits, size_t count)
{
    const uint32_t mask = 0x7f800000u;
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) bad |= (bits[i] & mask) == mask;
    return !bad;
}

static bool all_finite64(const uint64_t *bits, size_t count)
{
    const uint64_t mask = 0x7ff0000000000000u;
    uint64_t bad = 0;
    for (size_t i = 0; i < count; i++) bad |= (bits[i] & mask) == mask;
    return !bad;
}

#define IN_RANGE(type, name)                                                                                           \
    static bool name(const type *x, size_t count, int64_t lowest, int64_t highest)                                     \
    {                                                                                                                  \
        type low = count ? x[0] : 0, high = low;                                                                       \
        for (size_t i = 0; i < count; i++) {                                                                           \
            low = x[i] < low ? x[i] : low;                                                                             \
            high = x[i] > high ? x[i] : high;                                                                          \
        }                                                                                                              \
        return count == 0 || (low >= lowest && high <= highest);                                                       \
    }
IN_RANGE(uint8_t, u8_in_range)
IN_RANGE(int32_t, i32_in_range)
IN_RANGE(int64_t, i64_in_range)

/* Whether all numbers are within the wanted range, or finite. */
static bool good_numbers(const spl_store_want *want, const void *data, size_t count)
{
    switch (want->type) {
    case SPL_STORE_U8:
        return want->any || u8_in_range(data, count, want->lowest, want->highest);
    case SPL_STORE_I32:
        return want->any || i32_in_range(data, count, want->lowest, want->highest);
    case SPL_STORE_I64:
        return want->any || i64_in_range(data, count, want->lowest, want->highest);
    case SPL_STORE_F32:
        return all_finite32(data, count);
    case SPL_STORE_F64:
        return all_finite64(data, count);
    }
    return false;
}

static const uint8_t *find_section(const spl_store_reader *r, const char *name)
{
    for (int32_t i = 0; i < r->section_count; i++)
        if (strcmp(spl_store_name(r, i), name) == 0) return section(r, i);
    return NULL;
}

supple_result spl_store_get(const spl_store_reader *reader, const spl_store_want *want, const void **data,
                            size_t *count, supple_error *error)
{
    *data = NULL;
    if (count) *count = 0;
    const uint8_t *s = find_section(reader, want->name);
    if (!s) return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: there is no section '%s'", reader->path, want->name);
    uint64_t type = store_take(s + AT_TYPE, 4), width = store_take(s + AT_WIDTH, 4), n = store_take(s + AT_COUNT, 8);
    if (type != (uint64_t)want->type || width != want->width)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: section '%s' has another type", reader->path, want->name);
    if (n < want->count_min || n > want->count_max)
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: section '%s' has %llu elements; %zu to %zu are possible",
                        reader->path, want->name, (unsigned long long)n, want->count_min, want->count_max);
    const uint8_t *numbers = reader->bytes + store_take(s + AT_OFFSET, 8);
    if (!good_numbers(want, numbers, (size_t)(n * width)))
        return spl_fail(error, SUPPLE_ERROR_INPUT, "%s: section '%s' has a number out of range", reader->path,
                        want->name);
    *data = numbers;
    if (count) *count = (size_t)n;
    return SUPPLE_OK;
}

supple_result spl_store_copy(const spl_store_reader *reader, const spl_store_want *want, void **data, size_t *count,
                             supple_error *error)
{
    const void *stored;
    size_t n;
    *data = NULL;
    supple_result result = spl_store_get(reader, want, &stored, &n, error);
    if (result) return result;
    size_t element = spl_store_type_size(want->type) * want->width;
    *data = spl_new(&reader->allocator, n, element);
    if (!*data) return spl_fail_memory(error, want->name);
    memcpy(*data, stored, n * element);
    if (count) *count = n;
    return SUPPLE_OK;
}
